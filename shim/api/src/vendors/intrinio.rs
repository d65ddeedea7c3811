//! Intrinio's realtime options chain: `GET /options/chain/<symbol>/<expiration>/realtime`, a whole expiration at once,
//! and the list of expirations that its clients ask first.

use super::body::JSON;
use super::columns::{or_null, quoted_size};
use super::layer::{Layer, List, Reply, Serve, Wrap};
use super::parameter::{FORMAT, exactly};
use crate::catalog::{Catalog, CatalogColumn, CatalogJson, CatalogKind, CatalogQuestion};
use crate::query::parameter::{FiniteNumber, IsoDate, OneWord, Param, Parameters, TrueFalse, parameters};
use crate::query::{Bounds, Query, Rights};
use crate::refusal::Refusal;
use crate::rows::clock::{Clock, Stamp, When};
use crate::rows::field::{
    Field, Hidden, Missing, QuoteCell, QuoteNumber, SliceNumber, Text, Unpriced, close, open, own, quoted, slice,
    strike, text, time, zero,
};
use crate::rows::frame::{Format, json_text};
use crate::rows::layout::Around;
use crate::rows::listing::QUOTED_DATE;
use crate::rows::number::Print;
use crate::rows::table::Fact;
use crate::selection::Selection;
use crate::selection::filters::{Money, VendorFilters};
use engine::store::columns::{Col, Unit};
use jiff::civil::Date;
use kernel::contract::Symbol;

/// A chain.
pub const CHAIN: Layer = layer("/options/chain/{symbol}/{expiration}/realtime", OF_CHAINS, Serve::Rows(parse));
/// Expirations, under the three names that clients know.
pub const EXPIRATIONS: Layer =
    layer("/options/expirations/{symbol}", OF_EXPIRATIONS, Serve::Listing(parse_expirations));
/// Expirations of all recorded days together, if the feed has recorded days.
pub const EXPIRATIONS_EOD: Layer =
    layer("/options/expirations/{symbol}/eod", OF_EXPIRATIONS, Serve::Catalog(parse_expirations_of_days));
/// Expirations, under the name of the realtime call.
pub const EXPIRATIONS_REALTIME: Layer =
    layer("/options/expirations/{symbol}/realtime", OF_EXPIRATIONS, Serve::Listing(parse_expirations));
/// All other paths of this vendor: refused.
pub const REST: Layer = layer("/options/{rest*}", &[], Serve::Text(no_endpoint));

pub(super) const fn layer(path: &'static str, parameters: Parameters, serve: Serve) -> Layer {
    Layer { name: "intrinio", path, parameters, is_strict: false, serve, refuse, headers: &[] }
}

parameters! {
    OF_CHAINS:
    pub(super) const OPTION_TYPE: Param<OneWord<Rights>> = Param::new("type", OneWord(TYPES), "call or put");
    pub(super) const STRIKE: Param<FiniteNumber> = Param::new("strike", FiniteNumber, "Strike");
    pub(super) const STRIKE_GREATER_THAN: Param<FiniteNumber> =
        Param::new("strike_greater_than", FiniteNumber, "Strikes above this");
    pub(super) const STRIKE_LESS_THAN: Param<FiniteNumber> =
        Param::new("strike_less_than", FiniteNumber, "Strikes below this");
    pub(super) const INCLUDE_RELATED_SYMBOLS: Param<TrueFalse> =
        Param::new("include_related_symbols", TrueFalse, "true includes adjusted roots");
    const SHOW_STATS: Param<TrueFalse> =
        Param::new("show_stats", TrueFalse, "Adds Greeks and volatility [default: true]");
    const SHOW_EXTENDED_PRICE: Param<TrueFalse> = Param::new("show_extended_price", TrueFalse, "Adds price fields");
    const MONEYNESS: Param<OneWord<Money>> =
        Param::new("moneyness", OneWord(SIDES), "Moneyness: all, in, out of or near the money");
    const VOLUME_GREATER_THAN: Param<FiniteNumber> =
        Param::new("volume_greater_than", FiniteNumber, "Volume above this, where quotes are shown");
    const VOLUME_LESS_THAN: Param<FiniteNumber> =
        Param::new("volume_less_than", FiniteNumber, "Volume below this, where quotes are shown");
    const OPEN_INTEREST_GREATER_THAN: Param<FiniteNumber> =
        Param::new("open_interest_greater_than", FiniteNumber, "Open interest above this, where quotes are shown");
    const OPEN_INTEREST_LESS_THAN: Param<FiniteNumber> =
        Param::new("open_interest_less_than", FiniteNumber, "Open interest below this, where quotes are shown");
    use FORMAT;
}
parameters! {
    OF_EXPIRATIONS:
    const AFTER: Param<IsoDate> = Param::new("after", IsoDate, "First expiration");
    const BEFORE: Param<IsoDate> = Param::new("before", IsoDate, "Last expiration");
}

/// Fields of every row.
pub const FIELDS: &[Field] = &[
    open("option", Unpriced::Whole),
    text("code", Text::OsiCompact),
    text("ticker", Text::Underlying),
    text("expiration", Text::Expiry),
    time("expiration_time", When::Settlement, Stamp::EasternOffset),
    strike("strike"),
    text("type", Text::Right(["call", "put"])),
    close(),
    open("price", Unpriced::Whole),
    zero("last"),
    zero("last_size"),
    snapshot_time("last_timestamp"),
    count("volume", QuoteNumber::Volume),
    side("ask", QuoteNumber::Ask, Print::UpTo(4)),
    side("ask_size", QuoteNumber::AskSize, Print::UpTo(0)),
    time("ask_timestamp", When::Quote, Stamp::UtcOffsetMillis),
    side("bid", QuoteNumber::Bid, Print::UpTo(4)),
    side("bid_size", QuoteNumber::BidSize, Print::UpTo(0)),
    time("bid_timestamp", When::Quote, Stamp::UtcOffsetMillis),
    count("open_interest", QuoteNumber::OpenInterest),
    text("exercise_style", Text::Style(["A", "E"])),
    close(),
];

/// Fields of a row unless `show_stats` is false. This layer has no rho.
pub const STATS: &[Field] = &[
    open("stats", Unpriced::Whole),
    or_null("implied_volatility", own(Col::SvcVol), Unit::Plain),
    or_null("delta", own(Col::Delta), Unit::Plain),
    or_null("gamma", own(Col::Gamma), Unit::Plain),
    or_null("theta", own(Col::Theta), Unit::PerDay),
    or_null("vega", own(Col::Vega), Unit::PerPercent),
    or_null("underlying_price", slice(SliceNumber::UndPrice), Unit::Plain),
    close(),
];

/// Fields of a row with `show_extended_price`.
pub const EXTENDED: &[Field] = &[
    open("extended_price", Unpriced::Whole),
    zero("bid_open"),
    zero("bid_high"),
    zero("bid_low"),
    zero("ask_open"),
    zero("ask_high"),
    zero("ask_low"),
    zero("trade_open"),
    zero("trade_high"),
    zero("trade_low"),
    zero("ask_close"),
    zero("bid_close"),
    zero("trade_close"),
    side("mark", QuoteNumber::Mid, Print::UpTo(4)),
    close(),
];

/// A number of the quote: null where that side is not quoted.
pub(super) const fn side(name: &'static str, number: QuoteNumber, print: Print) -> Field {
    quoted(name, QuoteCell { side: None, number, print, missing: Missing::Null, hidden: Hidden::Verbatim("0") })
}

/// A number of contracts: zero where the feed has none.
const fn count(name: &'static str, number: QuoteNumber) -> Field {
    quoted_size(name, None, number)
}

const fn snapshot_time(name: &'static str) -> Field {
    time(name, When::Snapshot, Stamp::UtcOffsetMillis)
}

const TYPES: &[(&str, Rights)] = &[("call", Rights::Call), ("put", Rights::Put)];

/// Words of moneyness. The vendor defines "near" as within 50 cents of the money; a word is misspelled as in its own
/// documents.
const SIDES: &[(&str, Money)] = &[
    ("all", Money::Any),
    ("in_the_money", Money::In),
    ("out_of_the_money", Money::Out),
    ("out_of_they_money", Money::Out),
    ("near_the_money", Money::Near(0.5)),
];

fn parse(query: &Query<'_>) -> Result<Reply, Refusal> {
    let mut selection = with_strikes(query, of_expiration(query, named(query)?)?)?;
    selection.rights = query.get(&OPTION_TYPE)?.unwrap_or_default();
    selection.standard_only = !query.get(&INCLUDE_RELATED_SYMBOLS)?.unwrap_or(false);
    let mut fields = FIELDS.to_vec();
    if query.get(&SHOW_STATS)?.unwrap_or(true) {
        fields.extend_from_slice(STATS);
    }
    if query.get(&SHOW_EXTENDED_PRICE)?.unwrap_or(false) {
        fields.extend_from_slice(EXTENDED);
    }
    Ok(Reply {
        selection,
        filters: VendorFilters {
            money: query.get(&MONEYNESS)?.unwrap_or_default(),
            volume: beyond(query, &VOLUME_GREATER_THAN, &VOLUME_LESS_THAN)?,
            open_interest: beyond(query, &OPEN_INTEREST_GREATER_THAN, &OPEN_INTEREST_LESS_THAN)?,
            ..VendorFilters::default()
        },
        format: query.get(&FORMAT)?.unwrap_or_default(),
        fields,
        around: Wrap::text("{\"chain\":[", "]}"),
        title: format!("{} · options chain", query.segment("symbol").to_uppercase()),
        ..Reply::default()
    })
}

/// Bounds of a number from the parameters `above` and `below`, exclusive.
fn beyond(query: &Query<'_>, above: &Param<FiniteNumber>, below: &Param<FiniteNumber>) -> Result<Bounds, Refusal> {
    let above = query.get(above)?.map_or_else(Bounds::default, |x| Bounds::above(x, false));
    let below = query.get(below)?.map_or_else(Bounds::default, |x| Bounds::below(x, false));
    Ok(above.and(below))
}

fn parse_expirations(query: &Query<'_>) -> Result<List, Refusal> {
    let mut selection = named(query)?;
    selection.expiry_min = query.get(&AFTER)?;
    selection.expiry_max = query.get(&BEFORE)?;
    let around = |_: &Clock| Around::constant("{\"expirations\":[", "]}");
    Ok(List { selection, past: None, days: None, item: QUOTED_DATE.to_vec(), around, when_empty: None })
}

fn parse_expirations_of_days(query: &Query<'_>) -> Result<Catalog, Refusal> {
    let names = vec![a_symbol(query)?];
    let expiries = (query.get(&AFTER)?, query.get(&BEFORE)?);
    Ok(Catalog {
        question: CatalogQuestion { names, expiries, ..CatalogQuestion::all(CatalogKind::Expirations) },
        format: Format::Json,
        json: CatalogJson::Headed(|_| r#"{"expirations":"#.to_owned()),
        columns: &[CatalogColumn { name: "expiration", is_number: false, find: |of| of_date(of.date) }],
        headers: Vec::new(),
        when_empty: None,
    })
}

fn of_date(date: Option<Date>) -> Fact {
    date.map_or(Fact::Missing, |date| Fact::Word(date.to_string()))
}

/// Restricts a selection to the expiration in the path; `*` selects all.
pub(super) fn of_expiration(query: &Query<'_>, selection: Selection) -> Result<Selection, Refusal> {
    let expiration = query.segment("expiration");
    if expiration == "*" {
        return Ok(selection);
    }
    let date = crate::query::parse_date(expiration);
    let date = date.ok_or_else(|| Refusal::invalid("expiration", expiration, "a date"))?;
    Ok(Selection { expiries: Some(vec![date]), ..selection })
}

/// Restricts a selection to the requested strikes.
pub(super) fn with_strikes(query: &Query<'_>, selection: Selection) -> Result<Selection, Refusal> {
    Ok(Selection {
        strike: exactly(query.get(&STRIKE)?),
        strike_above: query.get(&STRIKE_GREATER_THAN)?,
        strike_below: query.get(&STRIKE_LESS_THAN)?,
        ..selection
    })
}

/// Selects everything of the symbol in the path.
pub(super) fn named(query: &Query<'_>) -> Result<Selection, Refusal> {
    a_symbol(query).map(Selection::named)
}

fn a_symbol(query: &Query<'_>) -> Result<Symbol, Refusal> {
    Symbol::parse_underlying(query.segment("symbol")).ok_or(Refusal::NotListed { reason: "no such symbol" })
}

fn no_endpoint(_: &Query<'_>) -> Result<String, Refusal> {
    Err(Refusal::UnknownPath)
}

/// `{"error":"Bad Request","message":"…"}`.
fn refuse(refusal: &Refusal) -> (&'static str, String) {
    let error = match refusal.status() {
        400 => "Bad Request",
        404 => "Not Found",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Bad Gateway",
    };
    (JSON, format!("{{\"error\":\"{error}\",\"message\":{}}}", json_text(&refusal.to_string())))
}
