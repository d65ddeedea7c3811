//! What tests and benches share: the golden files and the one ruler that errors are measured by, the tolerances that
//! they are held to, recorded chains, seeded randomness. For tests: a missing or damaged file of the repository panics.
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
