//! Shared code of tests and benches: golden files, the measure of errors, tolerances, recorded chains, seeded
//! randomness. A missing or damaged file of the repository panics.
//!
//! # Rooms
//!
//! - golden files, the ruler of errors, accuracy that is aimed at, tolerances, a chain around a contract, recorded
//!   chains, vendors' documents written from quotes, randomness, the shape of the sources, processor time. Never:
//!   anything that the program needs.
//! - `examples/` has reports on American values: errors (`just early-errors`), jumps (`just early-jumps`), times (`just
//!   early-times`), other programs beside this one (`just peers`); on passes: counts, stages, how far moving values are
//!   from fresh ones (`just steady`). Never: a bound that fails a build.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails; tables are printed")]

pub mod aims;
pub mod chain;
pub mod documents;
pub mod golden;
pub mod processor;
pub mod random;
pub mod recorded;
pub mod ruler;
pub mod sources;
pub mod tolerances;

/// The value that a part `p` in [0, 1] of `values` does not exceed; sorts them. NaN: there are none.
pub fn quantile(values: &mut [f64], p: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    if values.is_empty() { f64::NAN } else { values[((values.len() - 1) as f64 * p).round() as usize] }
}
