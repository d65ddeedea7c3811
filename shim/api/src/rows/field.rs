//! One column of an answer: name, source of its value, unit, format, and substitute for a missing value. A layer is a
//! constant table of fields.
//!
//! A table names units and never factors: [`num`] asks the source for the unit it has and takes the factor between the
//! two, and a pair without one does not compile. Objects and arrays inside a row are written as [`open`] … [`close`];
//! formats without nesting join their names with a dot. Never: a vendor, a formula.

use super::clock::{Stamp, When};
use super::number::Print;
pub use super::source::{SliceNumber, Source, call, derived, own, put, slice};
use engine::store::columns::{Group, Unit};
pub use engine::store::quotes::QuoteNumber;
use kernel::contract::Right;
use std::borrow::Cow;

/// One column of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name of the field: JSON key, CSV and HTML header.
    pub name: &'static str,
    /// The native group of the column; `None`: it is part of every answer.
    pub group: Option<Group>,
    /// Content of the column.
    pub cell: Cell,
}

/// Content of a column.
#[derive(Clone, Copy, Debug)]
pub enum Cell {
    /// A word, quoted in JSON.
    Text(Text),
    /// A number: the source's value times the factor to the unit wanted.
    Number {
        /// Source of the value.
        source: Source,
        /// Factor from the source's unit to the layer's unit.
        factor: f64,
        /// Number of decimals.
        print: Print,
        /// Substitute for a missing value.
        missing: Missing,
    },
    /// A number of the contract's quote.
    Quoted(QuoteCell),
    /// A strike, exact, in shortest form.
    Strike,
    /// A strike with decimals of the layer's own; `table` in CSV and HTML.
    StrikeAs {
        /// Format in JSON and NDJSON.
        json: Print,
        /// Format in CSV and HTML.
        table: Print,
    },
    /// A strike in thousandths, an integer.
    StrikeMilli,
    /// Constant text, without quotes: `0`, `null`, `false`.
    Verbatim(&'static str),
    /// `true` if exercise now has a positive payoff, else `false`.
    InTheMoney,
    /// A time, quoted in JSON unless its spelling is a number.
    Time(When, Stamp),
    /// The word for why the contract's quote is not used; null where it is, and where quotes are not shown.
    Dropped,
    /// Calendar days from the current date to expiry, an integer.
    DaysToExpiry,
    /// A word that is the key of the row's object in JSON, and an ordinary column elsewhere. Only as the first field.
    RowKey(Text),
    /// An object or array begins; it ends with the matching [`Cell::Close`].
    Open(Nest),
    /// The innermost object or array ends.
    Close,
}

/// A number of a quote, and its substitutes.
#[derive(Clone, Copy, Debug)]
pub struct QuoteCell {
    /// Right of the contract, in rows by strike; `None`: the contract of [`Source::Own`].
    pub side: Option<Right>,
    /// The number.
    pub number: QuoteNumber,
    /// Number of decimals.
    pub print: Print,
    /// Substitute for a contract without the number.
    pub missing: Missing,
    /// Substitute in every row where quotes are not shown.
    pub hidden: Hidden,
}

/// Substitute for market data where quotes are not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// Constant text in every format, without quotes; `null` is empty in CSV and HTML.
    Verbatim(&'static str),
    /// Zero, printed as the column's numbers are.
    Zero,
}

/// An object or array inside a row.
#[derive(Clone, Copy, Debug)]
pub struct Nest {
    /// True if members have names: an object, not an array.
    pub keyed: bool,
    /// Substitute for a contract without Greeks.
    pub unpriced: Unpriced,
    /// True if formats without nesting put its name and a dot before its members' names.
    pub named: bool,
}

/// Substitute for an object of a contract without Greeks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpriced {
    /// The object with missing members.
    Whole,
    /// `null`.
    Null,
    /// `{}`.
    Empty,
    /// Nothing: the key is left out, too.
    Omit,
}

/// Words of a contract. A pair has the words for the two variants of the engine's enum, in its order.
#[derive(Clone, Copy, Debug)]
pub enum Text {
    /// The underlying's symbol.
    Underlying,
    /// The option root.
    Root,
    /// `YYYY-MM-DD`.
    Expiry,
    /// Call and put.
    Right([&'static str; 2]),
    /// American and European.
    Style([&'static str; 2]),
    /// AM and PM.
    Settle([&'static str; 2]),
    /// OSI symbol, 21 characters, root padded with spaces.
    OsiPadded,
    /// OSI symbol without spaces.
    OsiCompact,
    /// OSI symbol without spaces, behind a prefix: `O:`.
    OsiAfter(&'static str),
    /// Whether to exercise early; nothing where that is unknown.
    Exercise,
    /// The field groups that the answer holds.
    Groups,
    /// The current date in Eastern time, `YYYY-MM-DD`.
    Today,
    /// Constant word.
    Fixed(&'static str),
    /// `AAPL Dec 18 2026 $150.00 Call`: root, expiry, strike, and the words for call and put.
    Description([&'static str; 2]),
    /// The underlying's symbol, behind a prefix if it is an index.
    UnderlyingOrIndex(&'static str),
}

/// Substitute for a missing number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// `null` in JSON, nothing in CSV and HTML.
    Null,
    /// Zero, printed as the column's numbers are.
    Zero,
    /// A dash.
    Dash,
    /// Nothing in JSON: the key is left out, too; `null` in other formats. Never for the first member of an object.
    Omit,
}

impl Field {
    /// Puts the field into a native group.
    #[must_use]
    pub const fn within(self, group: Group) -> Self {
        Self { group: Some(group), ..self }
    }

    /// True if every row shows a number there (a reader aligns those to the right).
    #[must_use]
    pub const fn is_number(&self) -> bool {
        match self.cell {
            Cell::Text(_) | Cell::RowKey(_) | Cell::Dropped => false,
            Cell::Time(_, stamp) => stamp.is_number(),
            _ => true,
        }
    }

    /// True if it is a cell, not the beginning or end of an object.
    #[must_use]
    pub const fn is_cell(&self) -> bool {
        !matches!(self.cell, Cell::Open(_) | Cell::Close)
    }
}

/// The name of each field where objects do not nest: the names of the objects around it and its own, joined with dots.
#[must_use]
pub fn flat_names(fields: &[Field]) -> Vec<Cow<'static, str>> {
    let mut prefix = String::new();
    let mut outer = Vec::new();
    let mut names = Vec::with_capacity(fields.len());
    for field in fields {
        let is_plain = prefix.is_empty();
        names.push(if is_plain { Cow::Borrowed(field.name) } else { Cow::Owned(format!("{prefix}{}", field.name)) });
        match field.cell {
            Cell::Open(nest) => {
                outer.push(prefix.len());
                if nest.named {
                    prefix.push_str(field.name);
                    prefix.push('.');
                }
            }
            Cell::Close => prefix.truncate(outer.pop().unwrap_or_default()),
            _ => {}
        }
    }
    names
}

/// A column of words.
#[must_use]
pub const fn text(name: &'static str, text: Text) -> Field {
    Field { name, group: None, cell: Cell::Text(text) }
}

/// A column of numbers in the unit `wanted`.
#[must_use]
pub const fn num(name: &'static str, source: Source, wanted: Unit, print: Print, missing: Missing) -> Field {
    let factor = factor(source.unit(), wanted);
    Field { name, group: None, cell: Cell::Number { source, factor, print, missing } }
}

/// A column of strikes.
#[must_use]
pub const fn strike(name: &'static str) -> Field {
    Field { name, group: None, cell: Cell::Strike }
}

/// A column that this service has no value for and fills with zero.
#[must_use]
pub const fn zero(name: &'static str) -> Field {
    Field { name, group: None, cell: Cell::Verbatim("0") }
}

/// A column with the same text in every row, without quotes.
#[must_use]
pub const fn verbatim(name: &'static str, text: &'static str) -> Field {
    Field { name, group: None, cell: Cell::Verbatim(text) }
}

/// A column that this service never has a value for.
#[must_use]
pub const fn null(name: &'static str) -> Field {
    verbatim(name, "null")
}

/// A column of zeros that are printed as numbers of the layer: `0.0`, `"0.00"`.
#[must_use]
pub const fn zero_as(name: &'static str, print: Print) -> Field {
    num(name, Source::Zero, Unit::Plain, print, Missing::Zero)
}

/// A column of a number of the quote.
#[must_use]
pub const fn quoted(name: &'static str, quoted: QuoteCell) -> Field {
    Field { name, group: None, cell: Cell::Quoted(quoted) }
}

/// A column of strikes with decimals of the layer's own; `table` in CSV and HTML.
#[must_use]
pub const fn strike_as(name: &'static str, json: Print, table: Print) -> Field {
    Field { name, group: None, cell: Cell::StrikeAs { json, table } }
}

/// A column of strikes in thousandths.
#[must_use]
pub const fn strike_milli(name: &'static str) -> Field {
    Field { name, group: None, cell: Cell::StrikeMilli }
}

/// A column of times.
#[must_use]
pub const fn time(name: &'static str, when: When, stamp: Stamp) -> Field {
    Field { name, group: None, cell: Cell::Time(when, stamp) }
}

/// A column of reasons for which quotes are not used.
#[must_use]
pub const fn dropped(name: &'static str) -> Field {
    Field { name, group: None, cell: Cell::Dropped }
}

/// A column of calendar days to expiry.
#[must_use]
pub const fn days_to_expiry(name: &'static str) -> Field {
    Field { name, group: None, cell: Cell::DaysToExpiry }
}

/// A column of `true` if exercise now has a positive payoff, else `false`.
#[must_use]
pub const fn in_the_money(name: &'static str) -> Field {
    Field { name, group: None, cell: Cell::InTheMoney }
}

/// The word that is the key of the row's object in JSON.
#[must_use]
pub const fn row_key(name: &'static str, text: Text) -> Field {
    Field { name, group: None, cell: Cell::RowKey(text) }
}

/// An object begins. Formats without nesting put its name and a dot before its members' names.
#[must_use]
pub const fn open(name: &'static str, unpriced: Unpriced) -> Field {
    Field { name, group: None, cell: Cell::Open(Nest { keyed: true, unpriced, named: true }) }
}

/// An object begins whose members keep their own names in formats without nesting.
#[must_use]
pub const fn open_bare(name: &'static str) -> Field {
    Field { name, group: None, cell: Cell::Open(Nest { keyed: true, unpriced: Unpriced::Whole, named: false }) }
}

/// An array begins whose members keep their own names in formats without nesting.
#[must_use]
pub const fn open_array(name: &'static str) -> Field {
    Field { name, group: None, cell: Cell::Open(Nest { keyed: false, unpriced: Unpriced::Whole, named: false }) }
}

/// The innermost object or array ends.
#[must_use]
pub const fn close() -> Field {
    Field { name: "", group: None, cell: Cell::Close }
}

/// Factor from unit `from` to unit `to`. A table with units of different quantities does not compile.
const fn factor(from: Unit, to: Unit) -> f64 {
    match from.factor_to(to) {
        Some(factor) => factor,
        None => panic!("no factor leads from the column's unit to the one wanted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::store::columns::Col;

    fn factor_of(field: Field) -> f64 {
        match field.cell {
            Cell::Number { factor, .. } => factor,
            _ => f64::NAN,
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "factors are exact")]
    fn a_table_names_the_unit_and_gets_the_factor() {
        let in_unit = |col, unit| factor_of(num("x", own(col), unit, Print::UpTo(6), Missing::Null));
        assert_eq!(in_unit(Col::Vega, Unit::PerPercent), 1.0);
        assert_eq!(in_unit(Col::Vega, Unit::PerOne), 100.0);
        assert_eq!(in_unit(Col::Veta, Unit::PerDay), 1.0 / 365.0);
        assert_eq!(in_unit(Col::Theta, Unit::PerDay), 1.0);
    }

    #[test]
    fn names_of_members_are_joined_with_dots() {
        let fields = [
            text("a", Text::Root),
            open("b", Unpriced::Null),
            zero("c"),
            open("d", Unpriced::Whole),
            zero("e"),
            close(),
            zero("f"),
            close(),
            open_array("g"),
            zero("h"),
            close(),
            zero("i"),
        ];
        let names = flat_names(&fields);
        let cells = fields.iter().zip(&names).filter(|(field, _)| field.is_cell());
        let shown: Vec<&str> = cells.map(|(_, name)| &**name).collect();
        assert_eq!(shown, ["a", "b.c", "b.d.e", "b.f", "h", "i"]);
    }

    #[test]
    #[should_panic(expected = "no factor")]
    fn per_day_is_not_had_from_per_percent() {
        let _ = num("x", own(Col::Vega), Unit::PerDay, Print::UpTo(6), Missing::Null);
    }
}
