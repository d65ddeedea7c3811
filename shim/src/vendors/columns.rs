//! Columns of numbers as several layers show them: decimals, and what stands there without a value. Never: a name, a unit.

use crate::rows::field::{Field, Missing, Source, num};
use crate::rows::number::Print;
use engine::store::columns::Unit;

/// Up to four decimals; zero without a value, because readers break on null.
#[must_use]
pub const fn or_zero(name: &'static str, source: Source, unit: Unit) -> Field {
    num(name, source, unit, Print::UpTo(4), Missing::Zero)
}

/// Up to four decimals; null without a value.
#[must_use]
pub const fn or_null(name: &'static str, source: Source, unit: Unit) -> Field {
    num(name, source, unit, Print::UpTo(4), Missing::Null)
}

/// Up to four decimals; without a value not even the key, because readers break on null.
#[must_use]
pub const fn or_absent(name: &'static str, source: Source, unit: Unit) -> Field {
    num(name, source, unit, Print::UpTo(4), Missing::Omit)
}

/// Up to four decimals and at least one, because readers infer types from the first rows.
pub const POINT: Print = Print::Point(4);

/// The same decimals; zero without a value, because readers break on null.
#[must_use]
pub const fn pointed(name: &'static str, source: Source, unit: Unit) -> Field {
    num(name, source, unit, POINT, Missing::Zero)
}
