//! Dialect of a text: separator of fields, decimal mark, order of day and month. Never: its detection.

/// Decimal mark of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decimal {
    /// A point; commas separate thousands.
    Point,
    /// A comma; points stand between thousands.
    Comma,
}

/// The order of day and month in a date of numbers whose year is last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DateOrder {
    /// As in the United States.
    MonthFirst,
    /// As in most other countries.
    DayFirst,
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Separator of fields.
    pub separator: u8,
    /// The decimal mark; `None`: unknown, so that each number must show it.
    pub decimal: Option<Decimal>,
    /// The order of day and month; `None`: unknown, so that each date must show it.
    pub dates: Option<DateOrder>,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { separator: b',', decimal: None, dates: None }
    }
}

impl Dialect {
    /// True if a date with slashes begins with its month by custom. Where fields are separated by
    /// semicolons or decimals by commas, the text is from another country.
    #[must_use]
    pub(super) fn is_american(self) -> bool {
        self.separator != b';' && self.decimal != Some(Decimal::Comma)
    }
}
