//! Columns of numbers as several layers show them: decimals, and what stands there without a value. Never: a name, a
//! unit.

use crate::rows::field::{Field, Hidden, Missing, QuoteCell, QuoteNumber, Source, num, quoted};
use crate::rows::number::Print;
use engine::store::columns::Unit;
use kernel::contract::Right;

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

/// A price of the quote, up to four decimals; zero without one, as this vendor spells it, and where quotes are not
/// shown.
#[must_use]
pub const fn quoted_price(name: &'static str, side: Option<Right>, number: QuoteNumber) -> Field {
    quoted(
        name,
        QuoteCell { side, number, print: Print::UpTo(4), missing: Missing::Zero, hidden: Hidden::Verbatim("0") },
    )
}

/// Contracts of the quote, a whole number; zero without one, and where quotes are not shown.
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

/// The same decimals; zero without a value, because readers break on null.
#[must_use]
pub const fn pointed(name: &'static str, source: Source, unit: Unit) -> Field {
    num(name, source, unit, POINT, Missing::Zero)
}
