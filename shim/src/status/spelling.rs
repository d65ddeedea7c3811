//! Serializers of numbers and counts in `/health`. Never: their meaning.

use api::rows::number::{self, Print};
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Serializes a number with three decimals.
///
/// # Errors
/// The number is NaN or infinite.
pub(super) fn three_decimals<S: Serializer>(x: &f64, to: S) -> Result<S::Ok, S::Error> {
    RawValue::from_string(number::text(*x, Print::Fixed(3))).map_err(S::Error::custom)?.serialize(to)
}

/// Serializes a number with three decimals, or null.
///
/// # Errors
/// The number is NaN or infinite.
pub(super) fn three_decimals_or_null<S: Serializer>(number: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => three_decimals(number, to),
        None => to.serialize_none(),
    }
}

/// Serializes counts by name, in the order of the list.
///
/// # Errors
/// The serializer fails.
pub(super) fn by_name<S: Serializer>(counts: &[(&'static str, u64)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(counts.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Seconds(#[serde(serialize_with = "three_decimals")] f64);

    #[test]
    fn zero_has_no_sign_and_no_number_is_an_error() {
        for (x, text) in [(-0.0, "0.000"), (-1e-9, "0.000"), (-0.25, "-0.250"), (1.0005, "1.000"), (12.0, "12.000")] {
            assert_eq!(serde_json::to_string(&Seconds(x)).unwrap(), text, "{x:e}");
        }
        assert!(serde_json::to_string(&Seconds(f64::NAN)).is_err());
    }
}
