//! The numbers: kernels and what early exercise adds, against golden files, identities and themselves.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails; tables are printed")]

mod frozen;
mod golden;
mod golden_dividends;
mod identities;
mod levels;
mod preliminary;
mod prepared;
mod properties;
mod refresh;
mod remembered;
mod smooth_dividends;
mod smoothness;
mod unresolved_dividends;
mod validity;
