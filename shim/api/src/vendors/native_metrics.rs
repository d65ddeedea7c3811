//! `GET /l1/metrics`: numbers of a name above its contracts, one row for each name or for each of its expiries. What
//! they mean: docs/metrics.md.

use super::facts::{FactForm, FactRow};
use super::layer::{FactRows, FactTable, Layer, RequestContext, Serve};
use super::metric_cells::{NAMED, fact, table_row};
use super::native::{APIKEY, STRICT, TOKEN, UNDERLYING, native, parse_unserved};
use super::native_facts::{
    FORMAT, FactCondition, FactSort, LIMIT, conditions_of, limit_of, met_by, order_of, read_condition, sort_by, word,
};
use super::native_past::{self, AS_OF, END, INTERVAL, START};
use super::parameter::ANY;
use crate::metrics::{EXPIRY, ExpiryMetrics, FLIP, NAME, NameRow};
use crate::past::PastMoments;
use crate::picked::Picked;
use crate::query::Query;
use crate::query::parameter::{OneWord, Param, ReadAs, ReadEach, parameters};
use crate::refusal::Refusal;
use crate::rows::clock::{Clock, LastTime};
use crate::rows::frame::{ColumnHead, Format, Heading};
use crate::rows::table::{Fact, TableLines};
use crate::selection::Selection;
use engine::term::TermStructure;
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use std::io;
use std::sync::Arc;

/// Metrics of names and expiries.
pub const METRICS: Layer = native("/l1/metrics", PARAMETERS, Serve::Facts(parse));

parameters! {
    PARAMETERS:
    const NAMES: Param<ReadEach<Symbol>> = UNDERLYING.required("SPY");
    const BY: Param<OneWord<MetricRows>> = Param::new(
        "by",
        OneWord(&[("name", MetricRows::Name), ("expiry", MetricRows::Expiry)]),
        "One row for each name, or for each expiry [default: name]",
    );
    const WHERE: Param<ReadEach<FactCondition>> = met_by(|text| read_condition(text, &[NAME_HEADS, EXPIRY_HEADS]));
    const SORT: Param<ReadAs<FactSort>> = sort_by(|text| FactSort::parse(text, &[NAME_HEADS, EXPIRY_HEADS]));
    use LIMIT, FORMAT, AS_OF, START, END, INTERVAL, STRICT, APIKEY, TOKEN;
}

/// Subject of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MetricRows {
    #[default]
    Name,
    Expiry,
}

const MISSING: ColumnHead<'static> = word("missing");

/// The heads of a table of metrics.
const fn heads<const N: usize>(columns: &[ColumnHead<'static>]) -> [ColumnHead<'static>; N] {
    let mut all = [MISSING; N];
    all[0] = NAMED[0];
    all[1] = NAMED[1];
    let mut i = 0;
    while i < columns.len() {
        all[i + NAMED.len()] = columns[i];
        i += 1;
    }
    all
}

/// Heads of the rows of many snapshots: those of one, and its time.
const fn timed<const N: usize>(columns: &[ColumnHead<'static>]) -> [ColumnHead<'static>; N] {
    let mut all = [SNAPSHOT_TIME; N];
    let mut i = 0;
    while i < columns.len() {
        all[i] = columns[i];
        i += 1;
    }
    all
}

const SNAPSHOT_TIME: ColumnHead<'static> = word("snapshot_time");
const OF_NAMED: &str = "start, end and interval: name the underlyings, and take another format than prometheus";

const NAME_HEADS: &[ColumnHead<'static>] = &heads::<{ NAME.len() + 3 }>(NAME);
const EXPIRY_HEADS: &[ColumnHead<'static>] = &heads::<{ EXPIRY.len() + 3 }>(EXPIRY);
const NAME_SERIES: &[ColumnHead<'static>] = &timed::<{ NAME.len() + 4 }>(NAME_HEADS);
const EXPIRY_SERIES: &[ColumnHead<'static>] = &timed::<{ EXPIRY.len() + 4 }>(EXPIRY_HEADS);

fn parse(query: &Query<'_>) -> Result<FactTable, Refusal> {
    let everything = query.text(&UNDERLYING) == Some(ANY);
    if query.items(&UNDERLYING).next().is_none() {
        return Err(Refusal::missing("underlying"));
    }
    let (heads, series, rows): (_, _, FactRows) = match query.get(&BY)?.unwrap_or_default() {
        MetricRows::Name => (NAME_HEADS, NAME_SERIES, names),
        MetricRows::Expiry => (EXPIRY_HEADS, EXPIRY_SERIES, expiries),
    };
    let (past, form) = (native_past::parse(query)?, query.get(&FORMAT)?.unwrap_or(FactForm::Text(Format::Json)));
    let is_series = past.as_ref().is_some_and(|past| matches!(past.moments, PastMoments::Many(_)));
    if is_series && (everything || form == FactForm::Gauges) {
        return Err(Refusal::Conflict { reason: OF_NAMED });
    }
    let heads = if is_series { series } else { heads };
    let (conditions, order) = (conditions_of(query, &WHERE, heads)?, order_of(query, &SORT, heads)?);
    let asks = |place: usize| heads[place].name == NAME[FLIP].name;
    let is_asked = conditions.iter().any(|of| asks(of.number)) || order.is_some_and(|of| asks(of.place));
    Ok(FactTable {
        selection: Selection {
            everything,
            underlyings: if everything { Vec::new() } else { query.get(&UNDERLYING)?.unwrap_or_default() },
            ..Selection::default()
        },
        unserved: parse_unserved(query)?,
        past,
        form,
        title: "Metrics",
        heads,
        rows: if is_asked { names_in_full } else { rows },
        conditions,
        order,
        limit: limit_of(query)?,
    })
}

/// A row for each name.
fn names(picked: &[Picked], context: &RequestContext<'_>, _: &Clock) -> Vec<FactRow> {
    picked.iter().map(|of| FactRow::Metrics(context.rows.brief(&of.chain, context.row_inputs()))).collect()
}

/// A row for each name, with what takes long to find.
fn names_in_full(picked: &[Picked], context: &RequestContext<'_>, _: &Clock) -> Vec<FactRow> {
    picked.iter().map(|of| FactRow::Metrics(context.rows.full(&of.chain, context.row_inputs()))).collect()
}

/// A row for each expiry of each name.
fn expiries(picked: &[Picked], context: &RequestContext<'_>, clock: &Clock) -> Vec<FactRow> {
    let (mut rows, mut times) = (Vec::new(), LastTime::default());
    for Picked { chain, .. } in picked {
        let term = TermStructure::of(chain, context.calendar);
        let all = (0..term.expiries().len()).filter_map(|place| ExpiryMetrics::new(chain, &term, place));
        let cells = all.map(|of| table_row(chain.underlying, chain.valued_at, EXPIRY, &of.cells(), clock, &mut times));
        rows.extend(cells.map(FactRow::Cells));
    }
    rows
}

/// Appends the row of a name as a JSON object, with the columns at some places of [`NAME`].
pub fn push_object(row: &NameRow, places: &[usize], out: &mut Vec<u8>) {
    let heads: Vec<ColumnHead<'_>> = NAMED.into_iter().take(1).chain(places.iter().map(|&place| NAME[place])).collect();
    let cells = places.iter().map(|&place| fact(row.cells[place]));
    let cells: Vec<Fact> = std::iter::once(Fact::Word(row.underlying.to_string())).chain(cells).collect();
    TableLines::within(Format::Json).push(&heads, &cells, out);
}

/// A file of rows, as an answer in its form.
///
/// # Errors
/// The library of tables refuses it.
pub fn file(form: FactForm, rows: Vec<NameRow>, calendar: &Calendar) -> io::Result<Vec<u8>> {
    let last = rows.iter().map(|row| row.valued_at).max().unwrap_or_default();
    let rows: Vec<FactRow> = rows.into_iter().map(|row| FactRow::Metrics(Arc::new(row))).collect();
    form.write(Heading::default(), NAME_HEADS, rows, &Clock::new(last, last, calendar.zone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(query: &str) -> Result<FactTable, String> {
        let query = Query::parse(query);
        query.expect_only(PARAMETERS);
        parse(&query).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_request_names_underlyings_rows_and_their_order() {
        let all = parsed("underlying=*&sort=-iv30d&limit=20").unwrap();
        let order = all.order.unwrap();
        assert!(all.selection.everything && order.is_descending && all.limit == Some(20));
        assert_eq!(all.heads[order.place].name, "iv30d");
        assert_eq!(parsed("underlying=SPY&by=expiry&sort=vol_vt").unwrap().heads.len(), EXPIRY.len() + 3);
        for (query, why) in [
            ("", "underlying is required"),
            ("underlying=SPY&by=strike", "by: not one of name, expiry"),
            ("underlying=SPY&sort=underlying", "sort: not a column of numbers"),
            ("underlying=SPY&sort=vol_vt", "where and sort name columns of the rows asked for"),
            ("underlying=SPY&where=iv30d>0,vol_vt>0", "where and sort name columns of the rows asked for"),
            ("underlying=SPY&where=event_state=1", "where: not conditions such as"),
            ("underlying=SPY&where=iv30d>nan", "where: not conditions such as"),
            ("underlying=*&start=2026-11-02", "start, end and interval: name the underlyings"),
            ("underlying=SPY&end=2026-11-02&format=prometheus", "start, end and interval: name the underlyings"),
            ("underlying=SPY&limit=0", "limit: not an integer from 1"),
        ] {
            assert!(parsed(query).unwrap_err().starts_with(why), "{query}: {:?}", parsed(query).map(drop));
        }
    }

    #[test]
    fn every_column_has_its_own_name() {
        for (heads, last) in [
            (NAME_HEADS, "missing"),
            (EXPIRY_HEADS, "missing"),
            (NAME_SERIES, "snapshot_time"),
            (EXPIRY_SERIES, "snapshot_time"),
        ] {
            let names: std::collections::BTreeSet<&str> = heads.iter().map(|head| head.name).collect();
            assert_eq!(names.len(), heads.len());
            assert_eq!(heads.last().map(|head| head.name), Some(last));
        }
    }
}
