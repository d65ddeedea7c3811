//! Common parts of the native tables of numbers: heads, order and number of rows. Never: a number.

use super::facts::{FactForm, FactOrder};
use crate::query::Query;
use crate::query::parameter::{OneWord, Param, ReadAs, WholeNumber};
use crate::refusal::Refusal;
use crate::rows::frame::{ColumnHead, Format};
#[cfg(feature = "tables")]
use history::tables::TableFormat;

pub(super) const FORMAT: Param<OneWord<FactForm>> =
    Param::new("format", OneWord(FORMS), "Format of the response; prometheus has a gauge for each number");
const FORMS: &[(&str, FactForm)] = &[
    ("json", FactForm::Text(Format::Json)),
    ("csv", FactForm::Text(Format::PointCsv)),
    ("ndjson", FactForm::Text(Format::Ndjson)),
    ("html", FactForm::Text(Format::Html)),
    ("prometheus", FactForm::Gauges),
    #[cfg(feature = "tables")]
    ("arrow", FactForm::Table(TableFormat::Arrow)),
    #[cfg(feature = "tables")]
    ("parquet", FactForm::Table(TableFormat::Parquet)),
];
pub(super) const LIMIT: Param<WholeNumber> = Param::new("limit", WholeNumber::from(1), "Maximum number of rows");

/// The parameter `sort`, read by [`FactSort::parse`].
pub(super) const fn sort_by(read: fn(&str) -> Option<FactSort>) -> Param<ReadAs<FactSort>> {
    Param::new(
        "sort",
        ReadAs { read, wants: "a column of numbers, with - before it for the largest first" },
        "Column of numbers to sort by, ascending; with - before it descending; rows without the number come last",
    )
}

/// By which column rows are sorted.
#[derive(Clone, Copy, Debug)]
pub(super) struct FactSort {
    column: &'static str,
    is_descending: bool,
}

impl FactSort {
    /// A column of numbers among the heads of some tables.
    pub(super) fn parse(text: &str, tables: &[&[ColumnHead<'static>]]) -> Option<Self> {
        let (is_descending, name) = text.strip_prefix('-').map_or((false, text), |name| (true, name));
        let column = tables.iter().copied().flatten().find(|head| head.is_number && head.name == name)?.name;
        Some(Self { column, is_descending })
    }
}

/// The order of rows that a request asks for.
///
/// # Errors
/// [`Refusal::Conflict`]: another table of the endpoint has the column.
pub(super) fn order_of(
    query: &Query<'_>,
    sort: &Param<ReadAs<FactSort>>,
    heads: &[ColumnHead<'_>],
) -> Result<Option<FactOrder>, Refusal> {
    let Some(FactSort { column, is_descending }) = query.get(sort)? else { return Ok(None) };
    let reason = "sort names a column of the other rows: those of names and of expiries differ";
    let place = heads.iter().position(|head| head.name == column).ok_or(Refusal::Conflict { reason })?;
    Ok(Some(FactOrder { place, is_descending }))
}

/// The number of rows that a request asks for at most.
///
/// # Errors
/// As for each parameter.
pub(super) fn limit_of(query: &Query<'_>) -> Result<Option<usize>, Refusal> {
    Ok(query.get(&LIMIT)?.map(|n| usize::try_from(n).unwrap_or(usize::MAX)))
}

/// The head of a column of words.
pub(super) const fn word(name: &'static str) -> ColumnHead<'static> {
    ColumnHead { name, is_number: false }
}

/// The head of a column of numbers.
pub(super) const fn number(name: &'static str) -> ColumnHead<'static> {
    ColumnHead { name, is_number: true }
}
