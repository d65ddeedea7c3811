//! How numbers and counts are spelt in `/health`. Never: what they mean.

use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A number with three decimals: milliseconds of seconds, microseconds of milliseconds.
///
/// # Errors
/// It is no number.
pub(super) fn three_decimals<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    RawValue::from_string(format!("{number:.3}")).map_err(S::Error::custom)?.serialize(to)
}

/// The same, or null.
///
/// # Errors
/// It is no number.
pub(super) fn three_decimals_or_null<S: Serializer>(number: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => three_decimals(number, to),
        None => to.serialize_none(),
    }
}

/// Counts by name, in the order of the list.
///
/// # Errors
/// Those of the serializer.
pub(super) fn by_name<S: Serializer>(counts: &[(&'static str, u64)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(counts.iter().copied())
}
