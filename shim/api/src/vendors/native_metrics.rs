//! `GET /l1/metrics`: numbers of a name above its contracts, one row for each name or for each of its expiries. What
//! they mean: docs/metrics.md.

use super::facts::FactForm;
use super::layer::{FactRows, FactTable, Layer, RequestContext, Serve};
use super::native::{APIKEY, STRICT, TOKEN, UNDERLYING, native, parse_unserved};
use super::native_facts::{FORMAT, FactSort, LIMIT, limit_of, order_of, sort_by, word};
use super::native_past::{self, AS_OF};
use super::parameter::ANY;
use crate::metrics::{EXPIRY, ExpiryMetrics, Metric, MetricColumn, NAME, NameMetrics, OfExpiry, OfName};
use crate::picked::Picked;
use crate::query::Query;
use crate::query::parameter::{OneWord, Param, ReadAs, ReadEach, parameters};
use crate::refusal::Refusal;
use crate::rows::clock::{Clock, Stamp};
use crate::rows::frame::{ColumnHead, Format};
use crate::rows::table::Fact;
use crate::selection::Selection;
use engine::closes::{LastSessions, NamePast};
use engine::store::chain::Chain;
use engine::term::{Tenors, TermStructure};
use jiff::Timestamp;
use kernel::contract::Symbol;
use std::collections::BTreeMap;

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
    const SORT: Param<ReadAs<FactSort>> = sort_by(|text| FactSort::parse(text, &[NAME_HEADS, EXPIRY_HEADS]));
    use LIMIT, FORMAT, AS_OF, STRICT, APIKEY, TOKEN;
}

/// Subject of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MetricRows {
    #[default]
    Name,
    Expiry,
}

/// Columns before the numbers.
const NAMED: [ColumnHead<'static>; 2] = [word("underlying"), word("valued_at")];
const MISSING: ColumnHead<'static> = word("missing");

/// The heads of a table of metrics.
const fn heads<F, const N: usize>(columns: &[MetricColumn<F>]) -> [ColumnHead<'static>; N] {
    let mut all = [MISSING; N];
    all[0] = NAMED[0];
    all[1] = NAMED[1];
    let mut i = 0;
    while i < columns.len() {
        all[i + 2] = ColumnHead { name: columns[i].name, is_number: columns[i].is_number };
        i += 1;
    }
    all
}

const NAME_HEADS: &[ColumnHead<'static>] = &heads::<OfName, { NAME.len() + 3 }>(NAME);
const EXPIRY_HEADS: &[ColumnHead<'static>] = &heads::<OfExpiry, { EXPIRY.len() + 3 }>(EXPIRY);

fn parse(query: &Query<'_>) -> Result<FactTable, Refusal> {
    let everything = query.text(&UNDERLYING) == Some(ANY);
    if query.items(&UNDERLYING).next().is_none() {
        return Err(Refusal::missing("underlying"));
    }
    let (heads, rows): (_, FactRows) = match query.get(&BY)?.unwrap_or_default() {
        MetricRows::Name => (NAME_HEADS, names),
        MetricRows::Expiry => (EXPIRY_HEADS, expiries),
    };
    Ok(FactTable {
        selection: Selection {
            everything,
            underlyings: if everything { Vec::new() } else { query.get(&UNDERLYING)?.unwrap_or_default() },
            ..Selection::default()
        },
        unserved: parse_unserved(query)?,
        past: native_past::parse_moment(query)?,
        form: query.get(&FORMAT)?.unwrap_or(FactForm::Text(Format::Json)),
        title: "Metrics",
        heads,
        rows,
        order: order_of(query, &SORT, heads)?,
        limit: limit_of(query)?,
    })
}

/// A row for each name.
fn names(picked: &[Picked], context: &RequestContext<'_>, clock: &Clock) -> Vec<Vec<Fact>> {
    // many names are valued at one instant
    let mut known: BTreeMap<Timestamp, (Tenors, LastSessions)> = BTreeMap::new();
    let calendar = context.calendar;
    let of_name = |of: &Picked| {
        let (term, at) = (TermStructure::of(&of.chain, calendar), of.chain.valued_at);
        let new = || Tenors::new(&term.clock, at);
        let before = || (new(), LastSessions::before(calendar.eastern(at).date(), calendar));
        let (tenors, sessions) = known.entry(at).or_insert_with(before);
        if !tenors.are_of(&term.clock, at) {
            *tenors = new();
        }
        let past = NamePast::of(&of.chain, &term, tenors, &context.closes, sessions, calendar);
        let metrics = NameMetrics::new(&of.chain, &term, tenors, &past);
        row(NAME, |find| find(&metrics), &of.chain, clock)
    };
    picked.iter().map(of_name).collect()
}

/// A row for each expiry of each name.
fn expiries(picked: &[Picked], context: &RequestContext<'_>, clock: &Clock) -> Vec<Vec<Fact>> {
    let mut rows = Vec::new();
    for Picked { chain, .. } in picked {
        let term = TermStructure::of(chain, context.calendar);
        let of = |place: usize| ExpiryMetrics::new(chain, &term, place);
        let all = (0..term.expiries().len()).filter_map(of);
        rows.extend(all.map(|metrics| row(EXPIRY, |find| find(&metrics), chain, clock)));
    }
    rows
}

/// The cells of a row: what names it, its metrics, and why some of them are missing.
fn row<F>(columns: &[MetricColumn<F>], find: impl Fn(&F) -> Metric, chain: &Chain, clock: &Clock) -> Vec<Fact> {
    let valued_at = clock.spell(chain.valued_at, Stamp::EasternOffsetMillis);
    let mut cells = vec![Fact::Word(chain.underlying.to_string()), Fact::Word(valued_at)];
    let mut missing = Vec::new();
    for column in columns {
        cells.push(match find(&column.find) {
            Metric::Number(x) => Fact::Number(x),
            Metric::Word(word) => Fact::Word(word),
            Metric::Missing(why) => {
                missing.push(format!("{}:{why}", column.name));
                Fact::Missing
            }
        });
    }
    cells.push(Fact::Words(missing));
    cells
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
            ("underlying=SPY&sort=vol_vt", "sort names a column of the other rows"),
            ("underlying=SPY&limit=0", "limit: not an integer from 1"),
        ] {
            assert!(parsed(query).unwrap_err().starts_with(why), "{query}: {:?}", parsed(query).map(drop));
        }
    }

    #[test]
    fn every_column_has_its_own_name() {
        for heads in [NAME_HEADS, EXPIRY_HEADS] {
            let names: std::collections::BTreeSet<&str> = heads.iter().map(|head| head.name).collect();
            assert_eq!(names.len(), heads.len());
            assert_eq!(heads.last().map(|head| head.name), Some("missing"));
        }
    }
}
