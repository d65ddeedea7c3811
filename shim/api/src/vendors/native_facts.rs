//! Common parts of the native tables of numbers: heads, conditions, order and number of rows. Never: a number.

use super::facts::{FactForm, FactOrder};
use crate::query::Query;
use crate::query::parameter::{OneWord, Param, ReadAs, ReadEach, WholeNumber};
use crate::refusal::Refusal;
use crate::rows::frame::{ColumnHead, Format};
use crate::selection::scan::Condition;
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

/// A condition on a column of numbers, by its name.
pub(super) type FactCondition = Condition<&'static str>;

/// The parameter `where`, read by [`read_condition`].
pub(super) const fn met_by(read: fn(&str) -> Option<FactCondition>) -> Param<ReadEach<FactCondition>> {
    Param::new(
        "where",
        ReadEach(ReadAs { read, wants: "conditions such as oi_missing<1, of a column of numbers" }),
        "Conditions that rows fulfil, comma-separated: a column of numbers, <, <=, >, >= or =, and a bound; a number \
         that is missing fulfils none",
    )
}

/// A condition on a column of numbers among the heads of some tables.
pub(super) fn read_condition(text: &str, tables: &[&[ColumnHead<'static>]]) -> Option<FactCondition> {
    Condition::parse(text, |name| number_among(tables, name))
}

fn number_among(tables: &[&[ColumnHead<'static>]], name: &str) -> Option<&'static str> {
    tables.iter().copied().flatten().find(|head| head.is_number && head.name == name).map(|head| head.name)
}

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
        Some(Self { column: number_among(tables, name)?, is_descending })
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
    Ok(Some(FactOrder { place: place_of(column, heads)?, is_descending }))
}

/// The conditions of a request, by the places of their columns.
///
/// # Errors
/// [`Refusal::Conflict`]: another table of the endpoint has the column.
pub(super) fn conditions_of(
    query: &Query<'_>,
    met: &Param<ReadEach<FactCondition>>,
    heads: &[ColumnHead<'_>],
) -> Result<Vec<Condition<usize>>, Refusal> {
    let placed =
        |Condition { number, relation, bound }| Ok(Condition { number: place_of(number, heads)?, relation, bound });
    query.get(met)?.unwrap_or_default().into_iter().map(placed).collect()
}

fn place_of(column: &str, heads: &[ColumnHead<'_>]) -> Result<usize, Refusal> {
    let reason = "where and sort name columns of the rows asked for: those of names and of expiries differ";
    heads.iter().position(|head| head.name == column).ok_or(Refusal::Conflict { reason })
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
