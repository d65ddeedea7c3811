//! One column of an answer: its name, where its value comes from, the unit wanted, how it is printed, what stands in
//! its place when it is missing. A layer is a constant table of these.
//!
//! A table names units and never factors: [`num`] asks the source for the unit it has and takes the factor between the
//! two, and a pair without one does not compile. Never: a vendor, a number that is computed.

use super::number::Print;
use engine::store::chain::Slice;
use engine::store::columns::{Col, Group, Unit};

/// One column of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name: JSON key, CSV and HTML header.
    pub name: &'static str,
    /// The native group that it belongs to; `None`: in every answer.
    pub group: Option<Group>,
    /// What it shows.
    pub cell: Cell,
}

/// What a column shows.
#[derive(Clone, Copy, Debug)]
pub enum Cell {
    /// A word, quoted in JSON.
    Text(Text),
    /// A number: the source's value times the factor to the unit wanted.
    Number {
        /// Where the value comes from.
        source: Source,
        /// From the unit that the source has to the one that the layer shows.
        factor: f64,
        /// How many decimals.
        print: Print,
        /// What stands there without a value.
        missing: Missing,
    },
    /// A strike, exact, in shortest form.
    Strike,
    /// The same in every row, as it stands: `0`, `null`, `false`.
    Verbatim(&'static str),
}

/// Words of a contract. Pairs are the words for the two cases, in the order of the engine's enum.
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
    /// The field groups that the answer holds.
    Groups,
}

/// Where a number comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A column of the contract.
    Own(Col),
    /// A number of its (root, expiry).
    Slice(SliceNumber),
}

/// The numbers that are constant over one (root, expiry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceNumber {
    /// Underlying price that the slice is valued at.
    UndPrice,
    /// Calibrated forward.
    FwdPrice,
    /// Fractional calendar days to settlement.
    Days,
    /// Rate to settlement.
    DiscRate,
    /// Implied borrow rate.
    BorrRate,
    /// Sum of the dividends to expiry.
    Divs,
}

/// What stands in the place of a missing number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// `null` in JSON, nothing in CSV and HTML.
    Null,
    /// Zero, printed as the column's numbers are.
    Zero,
    /// A dash.
    Dash,
}

impl Field {
    /// The same field as a member of a native group.
    #[must_use]
    pub const fn within(self, group: Group) -> Self {
        Self { group: Some(group), ..self }
    }

    /// Whether every row shows a number there (a reader aligns those to the right).
    #[must_use]
    pub const fn is_number(&self) -> bool {
        !matches!(self.cell, Cell::Text(_))
    }
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

/// A column of the contract itself.
#[must_use]
pub const fn own(col: Col) -> Source {
    Source::Own(col)
}

impl Source {
    /// The unit that the value is stored in.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Self::Own(col) => col.unit(),
            Self::Slice(_) => Unit::Plain,
        }
    }
}

impl SliceNumber {
    /// The value; NaN if it is missing.
    #[must_use]
    pub fn of(self, slice: &Slice) -> f64 {
        match self {
            Self::UndPrice => slice.und_price,
            Self::FwdPrice => slice.fwd_price,
            Self::Days => slice.days,
            Self::DiscRate => slice.disc_rate,
            Self::BorrRate => slice.borr_rate,
            Self::Divs => slice.divs,
        }
    }
}

/// What a number stored in `from` is multiplied with to be in `to`. The only place that knows the 100 and the 365.
const fn factor(from: Unit, to: Unit) -> f64 {
    match (from, to) {
        (Unit::Plain, Unit::Plain)
        | (Unit::PerPercent, Unit::PerPercent)
        | (Unit::PerOne, Unit::PerOne)
        | (Unit::PerDay, Unit::PerDay)
        | (Unit::PerYear, Unit::PerYear) => 1.0,
        (Unit::PerPercent, Unit::PerOne) => 100.0,
        (Unit::PerOne, Unit::PerPercent) => 1.0 / 100.0,
        (Unit::PerDay, Unit::PerYear) => 365.0,
        (Unit::PerYear, Unit::PerDay) => 1.0 / 365.0,
        _ => panic!("no factor leads from the column's unit to the one wanted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    #[should_panic(expected = "no factor")]
    fn per_day_is_not_had_from_per_percent() {
        let _ = num("x", own(Col::Vega), Unit::PerDay, Print::UpTo(6), Missing::Null);
    }
}
