//! Parameters as tables: name, kind of value and help. The one generic parser, [`Query::get`], reads a value of any
//! kind; documents are written from the same table. Never: a parameter's name.

use super::{Bounds, Query, items, parse_date, parse_flag, parse_number, parse_range, parse_word, wanted_integer};
use crate::refusal::Refusal;
use jiff::civil::Date;
use std::fmt;
use std::ops::RangeInclusive;

/// The parameters of an endpoint.
pub type Parameters = &'static [&'static dyn Parameter];

/// Declares the parameters of an endpoint and their table, each at its place in documents. `use` names parameters that
/// are declared elsewhere.
#[macro_export]
macro_rules! parameters {
    ($(#[$doc:meta])* $seen:vis $table:ident: $($rest:tt)*) => {
        $crate::query::parameter::parameters! { @ [$(#[$doc])* $seen const $table] [] $($rest)* }
    };
    (@ [$($table:tt)*] [$($of:ident)*]) => {
        $($table)*: $crate::query::parameter::Parameters = &[$(&$of),*];
    };
    (@ $table:tt [$($of:ident)*] use $($name:ident),+; $($rest:tt)*) => {
        $crate::query::parameter::parameters! { @ $table [$($of)* $($name)+] $($rest)* }
    };
    (
        @ $table:tt [$($of:ident)*]
        $(#[$doc:meta])* $seen:vis const $name:ident: $kind:ty = $param:expr; $($rest:tt)*
    ) => {
        $(#[$doc])* $seen const $name: $kind = $param;
        $crate::query::parameter::parameters! { @ $table [$($of)* $name] $($rest)* }
    };
}
pub use parameters;

/// A parameter of an endpoint, as documents show it.
pub trait Parameter: fmt::Debug + Sync {
    /// The name, as requests spell it.
    fn name(&self) -> &'static str;
    /// Help text.
    fn help(&self) -> &'static str;
    /// Form of the values.
    fn form(&self) -> ParameterForm;
    /// True if requests without the parameter are refused.
    fn is_required(&self) -> bool;
    /// A valid value; empty: documents show none.
    fn example(&self) -> &'static str;
}

/// A parameter whose values are of a [`Kind`].
#[derive(Clone, Copy)]
pub struct Param<K> {
    name: &'static str,
    kind: K,
    help: &'static str,
    example: &'static str,
    is_required: bool,
}

impl<K: Copy> Param<K> {
    /// An optional parameter.
    #[must_use]
    pub const fn new(name: &'static str, kind: K, help: &'static str) -> Self {
        Self { name, kind, help, example: "", is_required: false }
    }

    /// Makes the parameter required. `example` is a valid value.
    #[must_use]
    pub const fn required(self, example: &'static str) -> Self {
        Self { is_required: true, example, ..self }
    }

    /// Adds a valid value, for a parameter of which one of several must be given.
    #[must_use]
    pub const fn such_as(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    /// The name, as requests spell it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<K> fmt::Debug for Param<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Param").field(&self.name).finish()
    }
}

impl<K: Kind> Parameter for Param<K> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn help(&self) -> &'static str {
        self.help
    }

    fn form(&self) -> ParameterForm {
        self.kind.form()
    }

    fn is_required(&self) -> bool {
        self.is_required
    }

    fn example(&self) -> &'static str {
        self.example
    }
}

/// A kind of value, and the parser of its text.
pub trait Kind: Copy + Sync {
    /// Type of a parsed value.
    type Value<'q>;

    /// Reads the text of a parameter's first value that is not empty. `None`: the value counts as absent.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] if the text is no value of this kind.
    fn read<'q>(&self, name: &str, text: &'q str) -> Result<Option<Self::Value<'q>>, Refusal>;

    /// Form of the values in documents.
    fn form(&self) -> ParameterForm;
}

/// Form of the values of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterForm {
    /// Any text.
    Text,
    /// A comma list.
    List,
    /// `YYYY-MM-DD` or `YYYYMMDD`.
    Date,
    /// `YYYYMMDD`.
    Date8,
    /// A comma list of dates.
    Dates,
    /// A finite number.
    Number,
    /// An integer within bounds.
    Integer(RangeInclusive<i64>),
    /// `least,most`.
    Range,
    /// `true` or `false`.
    Flag,
    /// One word of a list.
    Word(Vec<&'static str>),
    /// Words of a list, separated by commas.
    Words(Vec<&'static str>),
}

/// Text that the layer reads itself.
#[derive(Clone, Copy, Debug)]
pub struct AnyText;

/// Text that is accepted and has no effect.
#[derive(Clone, Copy, Debug)]
pub struct NoEffect;

/// A comma list that the layer reads itself, with [`Query::items`].
#[derive(Clone, Copy, Debug)]
pub struct ItemList;

/// `true` in any case; any other text is no, never an error.
#[derive(Clone, Copy, Debug)]
pub struct OnlyTrue;

/// A flag: `true`, `1`, `yes` or `false`, `0`, `no`, in any case.
#[derive(Clone, Copy, Debug)]
pub struct TrueFalse;

/// A finite number.
#[derive(Clone, Copy, Debug)]
pub struct FiniteNumber;

/// An integer from `least` to `most`.
#[derive(Clone, Copy, Debug)]
pub struct WholeNumber {
    /// The least one.
    pub least: i64,
    /// The greatest one.
    pub most: i64,
}

/// A number that is written in thousandths, `100500` for 100.5.
#[derive(Clone, Copy, Debug)]
pub struct Thousandths;

/// Bounds written `least,most`, `least,`, `,most` or `least`.
#[derive(Clone, Copy, Debug)]
pub struct NumberRange;

/// A date, `YYYY-MM-DD` or `YYYYMMDD`.
#[derive(Clone, Copy, Debug)]
pub struct IsoDate;

/// A date written `YYYYMMDD` only.
#[derive(Clone, Copy, Debug)]
pub struct CompactDate;

/// A comma list of dates; one without items counts as absent.
#[derive(Clone, Copy, Debug)]
pub struct DateList;

/// One of a list of words, in any case.
#[derive(Clone, Copy, Debug)]
pub struct OneWord<T: 'static>(pub &'static [(&'static str, T)]);

/// A comma list of words, in any case; one without items counts as absent.
#[derive(Clone, Copy, Debug)]
pub struct WordList<T: 'static>(pub &'static [(&'static str, T)]);

/// Text that a function reads.
#[derive(Debug)]
pub struct ReadAs<T: 'static> {
    /// The function; `None` for what it cannot read.
    pub read: fn(&str) -> Option<T>,
    /// Description of a valid value, for the refusal: `a symbol`.
    pub wants: &'static str,
}

/// A comma list whose items a function reads.
#[derive(Debug)]
pub struct ReadEach<T: 'static>(pub ReadAs<T>);

impl<T> Clone for ReadAs<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ReadAs<T> {}

impl<T> Clone for ReadEach<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ReadEach<T> {}

impl<T> ReadAs<T> {
    /// Reads a text, for the parameter `name`.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] where the function cannot read it.
    pub fn text(&self, name: &str, text: &str) -> Result<T, Refusal> {
        (self.read)(text).ok_or_else(|| Refusal::invalid(name, text, self.wants))
    }
}

impl Kind for AnyText {
    type Value<'q> = &'q str;

    fn read<'q>(&self, _: &str, text: &'q str) -> Result<Option<&'q str>, Refusal> {
        Ok(Some(text))
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Text
    }
}

impl Kind for NoEffect {
    type Value<'q> = ();

    fn read(&self, _: &str, _: &str) -> Result<Option<()>, Refusal> {
        Ok(None)
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Text
    }
}

impl Kind for ItemList {
    type Value<'q> = ();

    fn read(&self, _: &str, _: &str) -> Result<Option<()>, Refusal> {
        Ok(None)
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::List
    }
}

impl Kind for OnlyTrue {
    type Value<'q> = bool;

    fn read(&self, _: &str, text: &str) -> Result<Option<bool>, Refusal> {
        Ok(Some(text.eq_ignore_ascii_case("true")))
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Text
    }
}

impl Kind for TrueFalse {
    type Value<'q> = bool;

    fn read(&self, name: &str, text: &str) -> Result<Option<bool>, Refusal> {
        ReadAs { read: parse_flag, wants: "true or false" }.text(name, text).map(Some)
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Flag
    }
}

impl Kind for FiniteNumber {
    type Value<'q> = f64;

    fn read(&self, name: &str, text: &str) -> Result<Option<f64>, Refusal> {
        ReadAs { read: parse_number, wants: "a number" }.text(name, text).map(Some)
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Number
    }
}

impl WholeNumber {
    /// Any integer.
    pub const ANY: Self = Self { least: i64::MIN, most: i64::MAX };

    /// An integer from `least` on.
    #[must_use]
    pub const fn from(least: i64) -> Self {
        Self { least, most: i64::MAX }
    }
}

impl Kind for WholeNumber {
    type Value<'q> = i64;

    fn read(&self, name: &str, text: &str) -> Result<Option<i64>, Refusal> {
        let bounds = self.least..=self.most;
        match text.parse() {
            Ok(value) if bounds.contains(&value) => Ok(Some(value)),
            _ => Err(Refusal::invalid(name, text, wanted_integer(&bounds))),
        }
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Integer(self.least..=self.most)
    }
}

impl Thousandths {
    const MILLI: WholeNumber = WholeNumber { least: 0, most: u32::MAX as i64 };
}

impl Kind for Thousandths {
    type Value<'q> = f64;

    fn read(&self, name: &str, text: &str) -> Result<Option<f64>, Refusal> {
        Ok(Self::MILLI.read(name, text)?.map(|milli| milli as f64 / 1000.0))
    }

    fn form(&self) -> ParameterForm {
        Self::MILLI.form()
    }
}

impl Kind for NumberRange {
    type Value<'q> = Bounds;

    fn read(&self, name: &str, text: &str) -> Result<Option<Bounds>, Refusal> {
        ReadAs { read: parse_range, wants: "a range min,max" }.text(name, text).map(Some)
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Range
    }
}

const A_DATE: ReadAs<Date> = ReadAs { read: parse_date, wants: "a date" };

impl Kind for IsoDate {
    type Value<'q> = Date;

    fn read(&self, name: &str, text: &str) -> Result<Option<Date>, Refusal> {
        A_DATE.text(name, text).map(Some)
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Date
    }
}

impl Kind for CompactDate {
    type Value<'q> = Date;

    fn read(&self, name: &str, text: &str) -> Result<Option<Date>, Refusal> {
        let date = if text.len() == 8 { parse_date(text) } else { None };
        date.map(Some).ok_or_else(|| Refusal::invalid(name, text, "a date YYYYMMDD"))
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Date8
    }
}

impl Kind for DateList {
    type Value<'q> = Vec<Date>;

    fn read(&self, name: &str, text: &str) -> Result<Option<Vec<Date>>, Refusal> {
        let dates = items(text).map(|item| A_DATE.text(name, item)).collect::<Result<Vec<Date>, _>>()?;
        Ok((!dates.is_empty()).then_some(dates))
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Dates
    }
}

impl<T: Copy + Sync> Kind for OneWord<T> {
    type Value<'q> = T;

    fn read(&self, name: &str, text: &str) -> Result<Option<T>, Refusal> {
        parse_word(name, text, self.0).map(Some)
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Word(self.0.iter().map(|&(word, _)| word).collect())
    }
}

impl<T: Copy + Sync> Kind for WordList<T> {
    type Value<'q> = Vec<T>;

    fn read(&self, name: &str, text: &str) -> Result<Option<Vec<T>>, Refusal> {
        let found = items(text).map(|item| parse_word(name, item, self.0)).collect::<Result<Vec<T>, _>>()?;
        Ok((!found.is_empty()).then_some(found))
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Words(self.0.iter().map(|&(word, _)| word).collect())
    }
}

impl<T> Kind for ReadAs<T> {
    type Value<'q> = T;

    fn read(&self, name: &str, text: &str) -> Result<Option<T>, Refusal> {
        self.text(name, text).map(Some)
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Text
    }
}

impl<T> Kind for ReadEach<T> {
    type Value<'q> = Vec<T>;

    fn read(&self, name: &str, text: &str) -> Result<Option<Vec<T>>, Refusal> {
        items(text).map(|item| self.0.text(name, item)).collect::<Result<Vec<T>, _>>().map(Some)
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::List
    }
}

impl Query<'_> {
    /// Refuses a name that is not in a table of parameters. Names that were read are in the table, so only the others
    /// are checked.
    ///
    /// # Errors
    /// [`Refusal::UnknownParameter`] with the first such name.
    pub fn only(&self, table: Parameters) -> Result<(), Refusal> {
        let is_known = |name: &str| table.iter().any(|known| known.name() == name);
        let mut unread = self.pairs().enumerate().filter(|&(place, _)| !self.is_read(place)).map(|(_, (name, _))| name);
        unread.find(|name| !is_known(name)).map_or(Ok(()), |name| Err(Refusal::unknown_parameter(name)))
    }

    /// Panics in tests if an endpoint reads a parameter that is not in the table.
    #[cfg(test)]
    pub(crate) fn expect_only(&self, table: Parameters) {
        self.expect(table.iter().map(|known| known.name()).collect());
    }

    /// Reads the value of a parameter; `None` if it is absent.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] with parameter and value, where the value is not of the parameter's kind.
    pub fn get<K: Kind>(&self, param: &Param<K>) -> Result<Option<K::Value<'_>>, Refusal> {
        match self.text(param) {
            Some(text) => param.kind.read(param.name, text),
            None => Ok(None),
        }
    }

    /// Reads the value of a parameter that must be there.
    ///
    /// # Errors
    /// [`Refusal::Missing`]; [`Refusal::Invalid`] as for [`Query::get`].
    pub fn required<K: Kind>(&self, param: &Param<K>) -> Result<K::Value<'_>, Refusal> {
        self.get(param)?.ok_or_else(|| Refusal::missing(param.name))
    }

    /// Returns the text of a parameter that must be there.
    ///
    /// # Errors
    /// [`Refusal::Missing`].
    pub fn required_text<K>(&self, param: &Param<K>) -> Result<&str, Refusal> {
        self.text(param).ok_or_else(|| Refusal::missing(param.name))
    }

    /// Returns the text of a parameter's first value that is not empty, trimmed.
    #[must_use]
    pub fn text<K>(&self, param: &Param<K>) -> Option<&str> {
        self.first(param.name)
    }

    /// Returns the items of a parameter's comma list, trimmed, without empty ones; none if the parameter is absent.
    pub fn items<K>(&self, param: &Param<K>) -> impl Iterator<Item = &str> {
        items(self.first(param.name).unwrap_or_default())
    }
}
