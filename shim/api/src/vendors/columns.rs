//! Columns of numbers as several layers show them: decimals, and the substitute for a missing value. Never: a name, a
//! unit.

use crate::rows::field::{Field, Hidden, Missing, QuoteCell, QuoteNumber, Source, num, quoted};
use crate::rows::number::Print;
use engine::store::columns::Unit;
use kernel::contract::Right;

/// A column with up to four decimals; zero if the value is missing, because readers fail on null.
#[must_use]
pub const fn or_zero(name: &'static str, source: Source, unit: Unit) -> Field {
    num(name, source, unit, Print::UpTo(4), Missing::Zero)
}

/// A column with up to four decimals; null if the value is missing.
#[must_use]
pub const fn or_null(name: &'static str, source: Source, unit: Unit) -> Field {
    num(name, source, unit, Print::UpTo(4), Missing::Null)
}

/// A column with up to four decimals; left out with its key if the value is missing, because readers fail on null.
#[must_use]
pub const fn or_absent(name: &'static str, source: Source, unit: Unit) -> Field {
    num(name, source, unit, Print::UpTo(4), Missing::Omit)
}

/// A price of the quote with up to four decimals; zero if it is missing, as at the vendor, or quotes are not shown.
#[must_use]
pub const fn quoted_price(name: &'static str, side: Option<Right>, number: QuoteNumber) -> Field {
    quoted(
        name,
        QuoteCell { side, number, print: Print::UpTo(4), missing: Missing::Zero, hidden: Hidden::Verbatim("0") },
    )
}

/// A number of contracts of the quote; zero if it is missing or quotes are not shown.
#[must_use]
pub const fn quoted_size(name: &'static str, side: Option<Right>, number: QuoteNumber) -> Field {
    quoted(
        name,
        QuoteCell { side, number, print: Print::UpTo(0), missing: Missing::Zero, hidden: Hidden::Verbatim("0") },
    )
}

/// A number of the quote that is printed like other numbers of the layer, its zeros too.
#[must_use]
pub const fn quoted_as(name: &'static str, number: QuoteNumber, print: Print) -> Field {
    quoted(name, QuoteCell { side: None, number, print, missing: Missing::Zero, hidden: Hidden::Zero })
}

/// Up to four decimals and at least one, because readers infer types from the first rows.
pub const POINT: Print = Print::Point(4);

/// A column with [`POINT`] decimals; zero if the value is missing, because readers fail on null.
#[must_use]
pub const fn pointed(name: &'static str, source: Source, unit: Unit) -> Field {
    num(name, source, unit, POINT, Missing::Zero)
}
