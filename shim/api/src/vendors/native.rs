//! `GET /l1/greeks`: the native record, one row per contract. It carries out every rule of the native interface.

use super::layer::{Layer, Reply, Serve};
use super::native_past::{self, AS_OF, END, INTERVAL, START};
use super::parameter::{A_CONTRACT, A_ROOT, ANY, SYMBOLS};
use crate::past::PastMoments;
use crate::query::parameter::{
    DateList, FiniteNumber, IsoDate, NoEffect, OneWord, Param, Parameters, ReadAs, ReadEach, TrueFalse, WholeNumber,
    WordList, parameters,
};
use crate::query::{Bounds, Query, Rights};
use crate::refusal::Refusal;
use crate::rows::clock::{Stamp, When};
use crate::rows::field::{
    Cell, Field, Hidden, Missing, QuoteCell, QuoteNumber, SliceNumber, Source, Text, dropped, num, own, quoted, strike,
    text, time,
};
use crate::rows::frame::{Format, escape_json};
use crate::rows::number::Print;
use crate::selection::filters::VendorFilters;
use crate::selection::scan::{Condition, RowNumber, Scan};
use crate::selection::unserved::Unserved;
use crate::selection::{Center, Selection};
use engine::store::columns::{Col, Group, Unit};
use history::tables::TableFormat;
use http::Answer;
use kernel::contract::{ContractKey, Symbol};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The native layer.
pub const NATIVE: Layer = native("/l1/greeks", PARAMETERS, Serve::Rows(parse));

/// An endpoint of the native API.
pub(super) const fn native(path: &'static str, parameters: Parameters, serve: Serve) -> Layer {
    Layer { name: "native", path, parameters, is_strict: true, serve, refuse, headers: &[] }
}

/// Every field, in the order of the interface: columns follow the other fields of their group, in the order of the
/// table of columns. All numbers have up to six decimals and are `null` when missing.
pub static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let columns = |groups: &'static [Group]| {
        let of_group = |&group: &Group| Col::ALL.iter().filter(move |col| col.group() == group);
        groups.iter().flat_map(of_group).map(|&col| column(col))
    };
    let mut fields = vec![
        text("underlying", Text::Underlying),
        text("root", Text::Root),
        text("expiry", Text::Expiry),
        strike("strike"),
        text("right", Text::Right(["call", "put"])),
        text("osym", Text::OsiPadded),
        text("greeks", Text::Groups),
        slice("und_price", SliceNumber::UndPrice, Group::Core),
    ];
    fields.extend(columns(&[Group::Core, Group::Extra, Group::Exotic]));
    fields.extend([
        slice("fwd_price", SliceNumber::FwdPrice, Group::Chain),
        text("ex_style", Text::Style(["american", "european"])).within(Group::Chain),
        text("settle", Text::Settle(["am", "pm"])).within(Group::Chain),
        slice("days", SliceNumber::Days, Group::Chain),
        slice("disc_rate", SliceNumber::DiscRate, Group::Chain),
        slice("borr_rate", SliceNumber::BorrRate, Group::Chain),
        slice("divs", SliceNumber::Divs, Group::Chain),
        slice("days_vt", SliceNumber::DaysVt, Group::Vt),
    ]);
    fields.extend(columns(&[Group::Vt, Group::Prob]));
    fields.push(text("exercise", Text::Exercise).within(Group::Exercise));
    fields.extend(columns(&[Group::Exercise]));
    fields.extend([
        quote("bid", QuoteNumber::Bid),
        quote("ask", QuoteNumber::Ask),
        count("bid_size", QuoteNumber::BidSize),
        count("ask_size", QuoteNumber::AskSize),
        quote("mid", QuoteNumber::Mid),
        time("quote_time", When::Quote, Stamp::EasternOffsetMillis).within(Group::Quote),
        count("volume", QuoteNumber::Volume),
        count("open_interest", QuoteNumber::OpenInterest),
        dropped("dropped").within(Group::Quote),
    ]);
    fields
});

/// Additional field of answers with many snapshots: the time of the row's snapshot.
const SNAPSHOT_TIME: Field = time("snapshot_time", When::Snapshot, Stamp::EasternOffsetMillis);
const NO_COUNTS: &str = "min_volume, min_open_interest: this daemon does not serve quotes; start it with --show-quotes";
const SCANS_QUOTES: &str =
    "where, sort: a number of quotes, and this daemon does not serve them; start it with --show-quotes";
const NO_QUOTES: &str = "greeks=quote: this daemon does not serve quotes; start it with --show-quotes";

const SCANS_NOW: &str = "where, sort and limit look through one snapshot of now or of as_of";
const EXERCISE_BY_NAME: &str = "greeks=exercise: computed when it is asked for; name the underlyings";
const EXERCISE_AT_ONCE: &str = "early exercise in where, in sort, or from start to end: eight names at most";
/// Most names whose early exercise is computed before an answer begins, or for each of its snapshots at once.
const EXERCISED_AT_ONCE: usize = 8;
/// Rows of a scan that names no limit.
const SCANNED: usize = 100;
/// Most rows of a scan.
const SCANNED_MOST: usize = 10_000;
const NOT_OF_EVERYTHING: &str = "underlying=* serves one snapshot, as json, csv, ndjson, arrow or parquet";
/// A form of rows: text, or a table of columns.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Text(Format),
    #[cfg_attr(not(feature = "tables"), allow(dead_code, reason = "no word of the build names one"))]
    Table(TableFormat),
}

impl Shape {
    /// The format of text, JSON unless it is named; and that of the table which replaces it, if any.
    pub(super) fn parts(shape: Option<Self>) -> (Format, Option<TableFormat>) {
        match shape {
            None => (Format::Json, None),
            Some(Self::Text(format)) => (format, None),
            Some(Self::Table(table)) => (Format::Json, Some(table)),
        }
    }
}

pub(super) const SHAPES: &[(&str, Shape)] = &[
    ("json", Shape::Text(Format::Json)),
    ("csv", Shape::Text(Format::PointCsv)),
    ("ndjson", Shape::Text(Format::Ndjson)),
    ("html", Shape::Text(Format::Html)),
    #[cfg(feature = "tables")]
    ("arrow", Shape::Table(TableFormat::Arrow)),
    #[cfg(feature = "tables")]
    ("parquet", Shape::Table(TableFormat::Parquet)),
];

/// A column under its own name, in its own unit and group: the native units are those of the columns.
const fn column(col: Col) -> Field {
    num(col.name(), own(col), col.unit(), Print::UpTo(6), Missing::Null).within(col.group())
}

const fn slice(name: &'static str, number: SliceNumber, group: Group) -> Field {
    num(name, Source::Slice(number), Unit::Plain, Print::UpTo(6), Missing::Null).within(group)
}

const fn quote(name: &'static str, number: QuoteNumber) -> Field {
    quote_as(name, number, Print::UpTo(6))
}

/// A count of contracts, which is whole.
const fn count(name: &'static str, number: QuoteNumber) -> Field {
    quote_as(name, number, Print::UpTo(0))
}

const fn quote_as(name: &'static str, number: QuoteNumber, print: Print) -> Field {
    let hidden = Hidden::Verbatim("null");
    quoted(name, QuoteCell { side: None, number, print, missing: Missing::Null, hidden }).within(Group::Quote)
}

parameters! {
    /// The parameters of the interface, and the two that carry credentials and are accepted everywhere.
    PARAMETERS:
    pub(super) const UNDERLYING: Param<ReadEach<Symbol>> = Param::new(
        "underlying",
        SYMBOLS,
        "Underlyings with all their roots, comma-separated: SPX selects SPX and SPXW",
    )
    .such_as("SPY");
    pub(super) const ROOT: Param<ReadEach<Symbol>> = Param::new("root", ReadEach(A_ROOT), "Roots, comma-separated");
    const FORMAT: Param<OneWord<Shape>> = Param::new("format", OneWord(SHAPES), "Format of the response");
    pub(super) const EXP: Param<DateList> =
        Param::new("exp", DateList, "Expiration dates, comma-separated; * selects all [default: *]");
    pub(super) const RIGHT: Param<OneWord<Rights>> = Param::new("right", OneWord(Rights::ANY), "Calls, puts or both");
    pub(super) const MIN_STRIKE: Param<FiniteNumber> = Param::new("min_strike", FiniteNumber, "Minimum strike");
    pub(super) const MAX_STRIKE: Param<FiniteNumber> = Param::new("max_strike", FiniteNumber, "Maximum strike");
    pub(super) const MIN_EXP: Param<IsoDate> = Param::new("min_exp", IsoDate, "First expiration");
    pub(super) const MAX_EXP: Param<IsoDate> = Param::new("max_exp", IsoDate, "Last expiration");
    pub(super) const MIN_DAYS: Param<WholeNumber> =
        Param::new("min_days", WholeNumber::ANY, "Minimum days to settlement");
    pub(super) const MAX_DAYS: Param<WholeNumber> =
        Param::new("max_days", WholeNumber::ANY, "Maximum days to settlement");
    pub(super) const MIN_DELTA: Param<FiniteNumber> = Param::new("min_delta", FiniteNumber, "Minimum absolute delta");
    pub(super) const MAX_DELTA: Param<FiniteNumber> = Param::new("max_delta", FiniteNumber, "Maximum absolute delta");
    const MIN_VOLUME: Param<FiniteNumber> =
        Param::new("min_volume", FiniteNumber, "Minimum volume; needs a daemon with --show-quotes");
    const MIN_OPEN_INTEREST: Param<FiniteNumber> =
        Param::new("min_open_interest", FiniteNumber, "Minimum open interest; needs a daemon with --show-quotes");
    const GREEKS: Param<WordList<Option<Group>>> = Param::new(
        "greeks",
        WordList(GROUP_WORDS),
        "Field groups, comma-separated; all is core, extra, exotic and chain; vt is in variance time, prob are \
         probabilities, exercise is whether to exercise early; quote needs a daemon with --show-quotes [default: core]",
    );
    pub(super) const CENTER: Param<ReadAs<Center>> = Param::new(
        "center",
        ReadAs { read: read_center, wants: "atm, atf or a delta between -100 and 100" },
        "Centre of the strikes of each expiry: atm (spot), atf (forward), or a delta: of the call (0.25 or 25), or \
         negative, of the put (-0.25 or -25)",
    );
    pub(super) const STRIKE_COUNT: Param<WholeNumber> =
        Param::new("strike_count", WholeNumber::from(1), "Strikes around the centre [default: 1]");
    const WHERE: Param<ReadEach<Condition<RowNumber>>> = Param::new(
        "where",
        ReadEach(ReadAs {
            read: |text| Condition::parse(text, number_of),
            wants: "conditions such as gamma>=0.01, of <, <=, >, >= and =",
        }),
        "Conditions that rows fulfil, comma-separated: a number of the row, <, <=, >, >= or =, and a bound",
    );
    const SORT: Param<ReadAs<(RowNumber, bool)>> = Param::new(
        "sort",
        ReadAs { read: read_order, wants: "a number of the row, such as gamma, or -gamma for the largest first" },
        "Order of the rows by a number of theirs; a minus sign puts the largest first",
    );
    const LIMIT: Param<WholeNumber> =
        Param::new("limit", WholeNumber::from(1), "Rows of a scan (where, sort), at most 10000 [default: 100]");
    pub(super) const OSYM: Param<ReadEach<ContractKey>> = Param::new(
        "osym",
        ReadEach(ReadAs { wants: "an OSI symbol", ..A_CONTRACT }),
        "Contracts as padded or compact OSI symbols, comma-separated",
    );
    use AS_OF, START, END, INTERVAL;
    pub(super) const STRICT: Param<TrueFalse> = Param::new(
        "strict",
        TrueFalse,
        "Names and contracts that are not served are a 404; without it they have no rows, and the header Warning \
         names them",
    );
    /// A key that clients send.
    pub const APIKEY: Param<NoEffect> = Param::new("apikey", NoEffect, "Accepted and ignored");
    /// A token that clients send.
    pub const TOKEN: Param<NoEffect> = Param::new("token", NoEffect, "Accepted and ignored");
}

/// The words for groups; `None`: all of them.
const GROUP_WORDS: &[(&str, Option<Group>)] = &[
    (Group::Core.name(), Some(Group::Core)),
    (Group::Extra.name(), Some(Group::Extra)),
    (Group::Exotic.name(), Some(Group::Exotic)),
    (Group::Chain.name(), Some(Group::Chain)),
    (Group::Vt.name(), Some(Group::Vt)),
    (Group::Prob.name(), Some(Group::Prob)),
    (Group::Exercise.name(), Some(Group::Exercise)),
    (Group::Quote.name(), Some(Group::Quote)),
    ("all", None),
];

/// The groups in the order of a row.
const GROUPS: [Group; 8] =
    [Group::Core, Group::Extra, Group::Exotic, Group::Chain, Group::Vt, Group::Prob, Group::Exercise, Group::Quote];

fn parse(query: &Query<'_>) -> Result<Reply, Refusal> {
    let past = native_past::parse(query)?;
    let selection = parse_selection(query)?;
    let groups = parse_groups(query)?;
    let filters = VendorFilters {
        volume: Bounds { least: query.get(&MIN_VOLUME)?, most: None },
        open_interest: Bounds { least: query.get(&MIN_OPEN_INTEREST)?, most: None },
        ..VendorFilters::default()
    };
    let (format, table) = Shape::parts(query.get(&FORMAT)?);
    let shown = |field: &&Field| field.group.is_none_or(|group| groups.iter().any(|&(_, g)| g == group));
    let is_series = past.as_ref().is_some_and(|past| matches!(past.moments, PastMoments::Many(_)));
    if selection.everything && (is_series || format == Format::Html) {
        return Err(Refusal::Conflict { reason: NOT_OF_EVERYTHING });
    }
    let scan = parse_scan(query)?;
    let scans_exercise = scan.as_ref().is_some_and(scans_late);
    if scans_exercise || groups.iter().any(|&(_, group)| group == Group::Exercise) {
        let names = || selection.names().into_iter().collect::<BTreeSet<_>>().len();
        if selection.everything {
            return Err(Refusal::Conflict { reason: EXERCISE_BY_NAME });
        }
        if (scans_exercise || is_series) && names() > EXERCISED_AT_ONCE {
            return Err(Refusal::Conflict { reason: EXERCISE_AT_ONCE });
        }
    }
    if scan.is_some() && is_series {
        return Err(Refusal::Conflict { reason: SCANS_NOW });
    }
    let fields = FIELDS.iter().filter(shown).chain(is_series.then_some(&SNAPSHOT_TIME));
    Ok(Reply {
        selection,
        past,
        format,
        table,
        fields: fields.copied().collect(),
        needs_quotes: needs_quotes(&groups, &filters, scan.as_ref()),
        scan,
        filters,
        unserved: parse_unserved(query)?,
        groups: groups.iter().map(|&(name, _)| name).collect::<Vec<_>>().join(","),
        title: title(query),
        ..Reply::default()
    })
}

/// Parses the selection of contracts.
///
/// # Errors
/// [`Refusal::Missing`] if the query has no name; [`Refusal::Invalid`] for a bad value.
pub(super) fn parse_selection(query: &Query<'_>) -> Result<Selection, Refusal> {
    Ok(Selection { contracts: query.get(&OSYM)?.unwrap_or_default(), ..parse_filters(query)? })
}

/// Parses the selection of contracts without those of [`OSYM`], which some endpoints read themselves.
///
/// # Errors
/// As of [`parse_selection`].
pub(super) fn parse_filters(query: &Query<'_>) -> Result<Selection, Refusal> {
    let everything = query.text(&UNDERLYING) == Some(ANY);
    if names(query).next().is_none() {
        return Err(Refusal::missing("underlying or root"));
    }
    let days = |param| Ok::<_, Refusal>(query.get(param)?.map(|days| days as f64));
    Ok(Selection {
        everything,
        underlyings: if everything { Vec::new() } else { query.get(&UNDERLYING)?.unwrap_or_default() },
        roots: query.get(&ROOT)?.unwrap_or_default(),
        expiries: if query.text(&EXP) == Some(ANY) { None } else { query.get(&EXP)? },
        expiry_min: query.get(&MIN_EXP)?,
        expiry_max: query.get(&MAX_EXP)?,
        strike: Bounds { least: query.get(&MIN_STRIKE)?, most: query.get(&MAX_STRIKE)? },
        days: Bounds { least: days(&MIN_DAYS)?, most: days(&MAX_DAYS)? },
        abs_delta: Bounds { least: query.get(&MIN_DELTA)?, most: query.get(&MAX_DELTA)? },
        rights: query.get(&RIGHT)?.unwrap_or_default(),
        center: query.get(&CENTER)?,
        strike_count: usize::try_from(query.get(&STRIKE_COUNT)?.unwrap_or(1)).unwrap_or(usize::MAX),
        ..Selection::default()
    })
}

/// Treatment of requested names that are not served.
pub(super) fn parse_unserved(query: &Query<'_>) -> Result<Unserved, Refusal> {
    Ok(if query.get(&STRICT)?.unwrap_or(false) { Unserved::Refused } else { Unserved::Warned })
}

/// Parses a search for a few rows; `None`: all rows are wanted.
fn parse_scan(query: &Query<'_>) -> Result<Option<Scan>, Refusal> {
    let (conditions, order) = (query.get(&WHERE)?, query.get(&SORT)?);
    let limit = query.get(&LIMIT)?.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    if conditions.is_none() && order.is_none() && limit.is_none() {
        return Ok(None);
    }
    let limit = limit.unwrap_or(SCANNED);
    if limit > SCANNED_MOST {
        let asked = query.text(&LIMIT).unwrap_or_default();
        return Err(Refusal::invalid(LIMIT.name(), asked, format!("a number of rows from 1 to {SCANNED_MOST}")));
    }
    Ok(Some(Scan { conditions: conditions.unwrap_or_default(), order, limit }))
}

/// True if a scan looks at columns of early exercise.
fn scans_late(scan: &Scan) -> bool {
    let is_late = |number: RowNumber| matches!(number, RowNumber::Column(col) if col.late().is_some());
    let is_ordered = scan.order.is_some_and(|(number, _)| is_late(number));
    is_ordered || scan.conditions.iter().any(|condition| is_late(condition.number))
}

/// The number of a row that a column shows.
fn number_of(name: &str) -> Option<RowNumber> {
    let field = FIELDS.iter().find(|field| field.name.eq_ignore_ascii_case(name.trim()))?;
    match field.cell {
        Cell::Number { source: Source::Own(col), .. } => Some(RowNumber::Column(col)),
        Cell::Number { source: Source::Slice(number), .. } => Some(RowNumber::Expiry(number)),
        Cell::Quoted(QuoteCell { number, .. }) => Some(RowNumber::Quote(number)),
        Cell::Strike => Some(RowNumber::Strike),
        _ => None,
    }
}

fn read_order(text: &str) -> Option<(RowNumber, bool)> {
    let (name, is_falling) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
    Some((number_of(name)?, is_falling))
}

/// The part of a request that needs quotes, for the refusal if quotes are not shown; `None`: none does.
fn needs_quotes(
    groups: &[(&'static str, Group)],
    filters: &VendorFilters,
    scan: Option<&Scan>,
) -> Option<&'static str> {
    let scanned = scan.iter().flat_map(|scan| {
        scan.conditions.iter().map(|condition| condition.number).chain(scan.order.map(|(number, _)| number))
    });
    if scanned.into_iter().any(RowNumber::is_quoted) {
        return Some(SCANS_QUOTES);
    }
    if groups.iter().any(|&(_, group)| group == Group::Quote) {
        return Some(NO_QUOTES);
    }
    (*filters != VendorFilters::default()).then_some(NO_COUNTS)
}

/// `atm`, `atf`, or a delta: of the call if positive, of the put if negative; up to 1 a fraction, above it percent.
fn read_center(text: &str) -> Option<Center> {
    if text.eq_ignore_ascii_case("atm") {
        return Some(Center::AtMoney);
    }
    if text.eq_ignore_ascii_case("atf") {
        return Some(Center::AtForward);
    }
    match text.parse::<f64>() {
        Ok(delta) if delta > 0.0 && delta <= 1.0 => Some(Center::CallDelta(delta)),
        Ok(percent) if percent > 1.0 && percent < 100.0 => Some(Center::CallDelta(percent / 100.0)),
        Ok(delta) if (-1.0..0.0).contains(&delta) => Some(Center::PutDelta(delta)),
        Ok(percent) if percent < -1.0 && percent > -100.0 => Some(Center::PutDelta(percent / 100.0)),
        _ => None,
    }
}

/// The groups wanted, each once, in the order of a row. All of them are those of the interface, without variance
/// time, probabilities, early exercise and quotes.
fn parse_groups(query: &Query<'_>) -> Result<Vec<(&'static str, Group)>, Refusal> {
    let wanted = query.get(&GREEKS)?.unwrap_or_else(|| vec![Some(Group::Core)]);
    let is_in_all = |group: Group| !matches!(group, Group::Vt | Group::Prob | Group::Exercise | Group::Quote);
    let shown = |group: Group| wanted.iter().any(|w| w.map_or(is_in_all(group), |w| w == group));
    Ok(GROUPS.into_iter().filter(|&group| shown(group)).map(|group| (group.name(), group)).collect())
}

/// Requested names, as the request spells them.
fn names<'q>(query: &'q Query<'_>) -> impl Iterator<Item = &'q str> {
    query.items(&UNDERLYING).chain(query.items(&ROOT)).chain(query.items(&OSYM))
}

/// Title of a page: the request in words.
fn title(query: &Query<'_>) -> String {
    format!("{} · Greeks", names(query).collect::<Vec<_>>().join(", ").to_uppercase())
}

/// The refusal of an endpoint outside of the layers.
#[must_use]
pub fn refused(route: &'static str, refusal: &Refusal) -> Answer {
    let answer = Answer::full(route, refusal.status(), "application/json", error_json(refusal));
    refusal.with_retry_after(answer)
}

/// Spells a refusal of the native API.
pub(super) fn refuse(refusal: &Refusal) -> (&'static str, String) {
    ("application/json", error_json(refusal))
}

/// `{"error":"…"}`, on one line.
fn error_json(refusal: &Refusal) -> String {
    let mut text = Vec::new();
    escape_json(&mut text, &refusal.to_string());
    format!("{{\"error\":\"{}\"}}", String::from_utf8_lossy(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::snapshot::Snapshot;

    /// The groups of the interface and their fields, written down again so that the table can be wrong.
    const SPEC: [(&str, &str); 9] = [
        ("", "underlying root expiry strike right osym greeks"),
        ("core", "und_price delta gamma vega theta decay rho svc_theo svc_vol"),
        ("extra", "vanna volga charm veta bid_vol ask_vol prev_vol conf_vol"),
        ("exotic", "speed zomma color ultima vera lambda epsilon"),
        ("chain", "fwd_price ex_style settle days disc_rate borr_rate divs"),
        ("vt", "days_vt decay_vt theta_vt"),
        ("prob", "prob_itm prob_touch density"),
        ("exercise", "exercise exercise_boundary cost_of_waiting"),
        ("quote", "bid ask bid_size ask_size mid quote_time volume open_interest dropped"),
    ];

    fn reply(query: &str) -> Result<Reply, String> {
        let query = Query::parse(query);
        let reply = parse(&query);
        query.only(PARAMETERS).and(reply).map_err(|refusal| format!("{} {refusal}", refusal.status()))
    }

    fn names(query: &str) -> String {
        reply(query).unwrap().fields.iter().map(|field| field.name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn groups_have_the_fields_of_the_interface_in_its_order() {
        let [identity, core, extra, exotic, chain, vt, prob, exercise, quote] = SPEC.map(|(_, names)| names);
        assert_eq!(names("root=A"), format!("{identity} {core}"));
        assert_eq!(names("root=A&greeks=chain"), format!("{identity} {chain}"));
        assert_eq!(names("root=A&greeks=exotic,EXTRA,exotic"), format!("{identity} {extra} {exotic}"));
        assert_eq!(names("root=A&greeks=quote,core"), format!("{identity} {core} {quote}"));
        assert_eq!(names("root=A&greeks=prob,vt,chain"), format!("{identity} {chain} {vt} {prob}"));
        assert_eq!(names("root=A&greeks=exercise"), format!("{identity} {exercise}"));
        let refused = "400 greeks=exercise: computed when it is asked for; name the underlyings";
        for query in ["greeks=exercise", "sort=-cost_of_waiting", "where=exercise_boundary>1"] {
            assert_eq!(reply(&format!("underlying=*&{query}")).map(drop), Err(refused.to_owned()));
        }
        let nine: Vec<&str> = "A,B,C,D,E,F,G,H,I".split(',').collect();
        for query in ["sort=-cost_of_waiting", "where=exercise_boundary>1", "greeks=exercise&start=2026-11-02"] {
            let asked = |n: usize| reply(&format!("root={}&{query}", nine[..n].join(","))).map(drop);
            assert!(asked(9).unwrap_err().contains("eight names at most") && asked(8).is_ok(), "{query}");
        }
        let is_heavy = |query: &str| NATIVE.parse(&Query::parse(query), &Snapshot::empty(Vec::new())).is_heavy;
        assert!(is_heavy("root=A&greeks=exercise") && !is_heavy("root=A"), "small requests wait for no computation");
        assert!(reply("root=A&greeks=all,quote").unwrap().needs_quotes.is_some());
        for all in ["all", "chain,exotic,extra,core", "core,all"] {
            let reply = reply(&format!("root=A&greeks={all}")).unwrap();
            assert_eq!((reply.groups.as_str(), reply.needs_quotes), ("core,extra,exotic,chain", None));
            assert_eq!(names(&format!("root=A&greeks={all}")), format!("{identity} {core} {extra} {exotic} {chain}"));
        }
    }

    #[test]
    fn every_column_that_is_not_for_layers_only_has_its_field() {
        for col in Col::ALL.iter().filter(|col| col.group() != Group::Layer) {
            let field = FIELDS.iter().find(|field| field.name == col.name());
            assert_eq!(field.and_then(|field| field.group), Some(col.group()), "{}", col.name());
        }
    }

    #[test]
    fn a_center_is_a_word_or_a_delta() {
        let center = |text: &str| reply(&format!("root=A&center={text}")).map(|reply| reply.selection.center.unwrap());
        assert_eq!(center("atm"), Ok(Center::AtMoney));
        assert_eq!(center("ATF"), Ok(Center::AtForward));
        assert_eq!(center("25"), Ok(Center::CallDelta(0.25)));
        assert_eq!(center("0.25"), Ok(Center::CallDelta(0.25)));
        assert_eq!(center("1"), Ok(Center::CallDelta(1.0)));
        assert_eq!(center("-25"), Ok(Center::PutDelta(-0.25)));
        assert_eq!(center("-0.25"), Ok(Center::PutDelta(-0.25)));
        for bad in ["0", "-0", "-100", "100", "nan", "inf", "otm", "25d"] {
            assert!(center(bad).unwrap_err().starts_with("400 center: "), "{bad}");
        }
    }

    #[test]
    fn every_refusal_names_its_parameter() {
        for (query, wanted) in [
            ("", "400 underlying or root is required"),
            ("underlying=&root=,", "400 underlying or root is required"),
            ("right=call", "400 underlying or root is required"),
            ("root=A&foo=1", "400 unknown parameter: foo"),
            ("root=A&min_dte=1", "400 unknown parameter: min_dte"),
            ("root=A&Right=call", "400 unknown parameter: Right"),
            ("foo=1", "400 unknown parameter: foo"),
            ("root=A&right=x", "400 right: not one of call, put, both, c, p: x"),
            ("root=A&format=xml", "400 format: not one of json, csv, ndjson, html, arrow, parquet: xml"),
            (
                "root=A&greeks=core,first",
                "400 greeks: not one of core, extra, exotic, chain, vt, prob, exercise, quote, all: first",
            ),
            ("root=A&exp=2026-02-30", "400 exp: not a date: 2026-02-30"),
            ("root=A&exp=2026-12-18,*", "400 exp: not a date: *"),
            ("root=A&min_exp=soon", "400 min_exp: not a date: soon"),
            ("root=A&max_exp=1", "400 max_exp: not a date: 1"),
            ("root=A&min_strike=low", "400 min_strike: not a number: low"),
            ("root=A&max_strike=1e999", "400 max_strike: not a number: 1e999"),
            ("root=A&min_days=1.5", "400 min_days: not an integer: 1.5"),
            ("root=A&max_days=x", "400 max_days: not an integer: x"),
            ("root=A&min_delta=x", "400 min_delta: not a number: x"),
            ("root=A&max_delta=nan", "400 max_delta: not a number: nan"),
            ("root=A&strike_count=0", "400 strike_count: not an integer from 1: 0"),
            ("root=A&strike_count=2.5", "400 strike_count: not an integer from 1: 2.5"),
            ("root=A&as_of=now", "400 as_of: not a date or a time such as 2024-01-03T10:30: now"),
            ("root=A&start=1", "400 start: not a date or a time such as 2024-01-03T10:30: 1"),
            ("root=A&end=2024-02-30", "400 end: not a date or a time such as 2024-01-03T10:30: 2024-02-30"),
            ("root=A&start=2024-01-03&interval=1w", "400 interval: not 30s, 15m, 1h, …, 12h or 1d: 1w"),
            ("root=A&start=2024-01-03&interval=13h", "400 interval: not 30s, 15m, 1h, …, 12h or 1d: 13h"),
            (
                "root=A&as_of=2024-01-03&end=2024-01-04",
                "400 as_of selects one snapshot, start and end a series: give one or the other",
            ),
            ("root=A&interval=1h", "400 interval needs start and end"),
            ("osym=ACME261218X00100000", "400 osym: not an OSI symbol: ACME261218X00100000"),
            ("underlying=A%0AB", "400 underlying: not a symbol: A\nB"),
            ("root=A,%3Cb%3E", "400 root: not a symbol: <b>"),
        ] {
            assert_eq!(reply(query).map(drop), Err(wanted.to_owned()), "{query}");
        }
    }

    #[test]
    fn credentials_pass_and_names_have_many_spellings() {
        assert!(reply("root=A&apikey=x&token=y").is_ok());
        let selection =
            reply("underlying=spx,+brk%2Fb,,BRK.B&root=brk.b&osym=ACME++261218C00100000,acme261218p00100000");
        let selection = selection.unwrap().selection;
        assert_eq!(format!("{:?}", selection.underlyings), "[SPX, BRK.B, BRK.B]");
        assert_eq!(format!("{:?}", selection.roots), "[BRKB]");
        assert_eq!(selection.contracts.len(), 2);
        assert_eq!((selection.strike_count, selection.center, selection.expiries), (1, None, None));
        assert_eq!(reply("root=A&exp=*").unwrap().selection.expiries, None);
        assert_eq!(
            reply("root=A&exp=20261218,2027-01-15").unwrap().selection.expiries.map(|dates| dates.len()),
            Some(2)
        );
    }
}
