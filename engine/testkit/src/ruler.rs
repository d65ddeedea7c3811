//! The measure of errors: the distance of a number from its reference, for golden files, tests, benches and maps.
//!
//! The error of a Greek is relative to the greater of its reference and a twentieth of its size at the money
//! ([`Greek::size`]): where a number is small an error counts by what it would be worth on a contract that matters.
//! Twice the uncertainty of the reference is subtracted, and a missing number is infinitely far.

use crate::golden::GoldenRow;
use kernel::greeks::{AtTheMoney, Greek, Greeks};

/// The part of the size at the money that an error is at least measured by.
pub const PART: f64 = 0.05;

/// The error of a raw number against a raw reference that is sure to within `doubt`.
#[must_use]
pub fn error(greek: Greek, got: f64, want: f64, doubt: f64, at: &AtTheMoney) -> f64 {
    let off = ((got - want).abs() - 2.0 * doubt).max(0.0) / want.abs().max(PART * greek.size(at));
    if got.is_finite() { off } else { f64::INFINITY }
}

/// The error of one Greek of a golden row; `None` where the file leaves the value open.
#[must_use]
pub fn golden_error(row: &GoldenRow, greek: Greek, greeks: &Greeks<f64>) -> Option<f64> {
    let raw = greek.unit().divisor();
    let want = row.get(greek.name())? * raw;
    let doubt = row.get(&format!("{}_err", greek.name())).unwrap_or(0.0) * raw;
    Some(error(greek, greeks.get(greek), want, doubt, &row.at_the_money()))
}
