//! The options chain snapshot of Polygon, now Massive: `GET /v3/snapshot/options/<underlying>` in pages, and
//! `GET /v3/snapshot/options/<underlying>/<contract>` for one. An object is left out or filled, never null: the
//! published clients break on null. The cursor of the next page carries the filters, because clients send nothing else.

use super::body::JSON;
use super::columns::{or_absent, or_null, quoted_price, quoted_size};
use super::layer::{Ending, Layer, Reply, Serve, Wrap};
use super::parameter::{FORMAT, exactly};
use crate::cursor;
use crate::query::parameter::{AnyText, FiniteNumber, IsoDate, OneWord, Param, Parameters, WholeNumber, parameters};
use crate::query::{Bounds, Query, Rights};
use crate::refusal::Refusal;
use crate::rows::clock::{Clock, Stamp, When};
use crate::rows::field::{
    Field, QuoteNumber, SliceNumber, Text, Unpriced, close, derived, open, own, slice, strike, text, time, verbatim,
    zero,
};
use crate::rows::frame::{Format, json_text};
use crate::rows::layout::Around;
use crate::rows::source::Derived;
use crate::selection::Selection;
use crate::selection::order::{Page, Sort};
use engine::store::columns::{Col, Unit};
use kernel::calendar::shift::ShiftDate;
use kernel::contract::{ContractKey, Symbol};
use std::borrow::Cow;

/// The chain of an underlying.
pub const CHAIN: Layer = layer("/v3/snapshot/options/{underlying}", OF_CHAINS, Serve::Rows(parse_chain));
/// One contract.
pub const CONTRACT: Layer =
    layer("/v3/snapshot/options/{underlying}/{contract}", &[&FORMAT], Serve::Rows(parse_contract));
/// Several underlyings in one answer: refused.
pub const UNIVERSAL: Layer = layer("/v3/snapshot", &[], Serve::Text(no_endpoint));
/// All other paths of this vendor: refused.
pub const REST: Layer = layer("/v3/snapshot/{rest*}", &[], Serve::Text(no_endpoint));

pub(super) const fn layer(path: &'static str, parameters: Parameters, serve: Serve) -> Layer {
    Layer { name: "polygon", path, parameters, is_strict: false, serve, refuse, headers: &[] }
}

parameters! {
    OF_CHAINS:
    const CURSOR: Param<AnyText> = Param::new("cursor", AnyText, "Cursor from next_url");
    use FORMAT;
    const LIMIT: Param<WholeNumber> =
        Param::new("limit", WholeNumber { least: 1, most: LIMIT_MAX }, "Contracts per page [default: 10]");
    const SORT: Param<OneWord<Sort>> = Param::new("sort", OneWord(SORTS), "Sort key");
    const ORDER: Param<OneWord<bool>> = Param::new("order", OneWord(ORDERS), "asc or desc");
    const STRIKE_GTE: Param<FiniteNumber> = Param::new("strike_price.gte", FiniteNumber, "Minimum strike");
    const STRIKE_LTE: Param<FiniteNumber> = Param::new("strike_price.lte", FiniteNumber, "Maximum strike");
    const STRIKE: Param<FiniteNumber> = Param::new("strike_price", FiniteNumber, "Strike");
    const STRIKE_GT: Param<FiniteNumber> = Param::new("strike_price.gt", FiniteNumber, "Strikes above this");
    const STRIKE_LT: Param<FiniteNumber> = Param::new("strike_price.lt", FiniteNumber, "Strikes below this");
    const EXPIRATION: Param<IsoDate> = Param::new("expiration_date", IsoDate, "Expiration date");
    const EXPIRATION_GT: Param<IsoDate> = Param::new("expiration_date.gt", IsoDate, "Expirations after this");
    const EXPIRATION_GTE: Param<IsoDate> = Param::new("expiration_date.gte", IsoDate, "First expiration");
    const EXPIRATION_LT: Param<IsoDate> = Param::new("expiration_date.lt", IsoDate, "Expirations before this");
    const EXPIRATION_LTE: Param<IsoDate> = Param::new("expiration_date.lte", IsoDate, "Last expiration");
    const CONTRACT_TYPE: Param<OneWord<Option<Rights>>> = Param::new("contract_type", OneWord(TYPES), "call or put");
}

/// Filters that a cursor carries.
const FILTERS: Parameters = &[
    &STRIKE,
    &STRIKE_GTE,
    &STRIKE_GT,
    &STRIKE_LTE,
    &STRIKE_LT,
    &EXPIRATION,
    &EXPIRATION_GTE,
    &EXPIRATION_GT,
    &EXPIRATION_LTE,
    &EXPIRATION_LT,
    &CONTRACT_TYPE,
];
/// Other parameters that a cursor carries.
const ARRANGEMENT: Parameters = &[&SORT, &ORDER, &LIMIT, &FORMAT];

/// Fields of one contract. This layer has no rho.
pub const FIELDS: &[Field] = &[
    open("details", Unpriced::Whole),
    text("contract_type", Text::Right(["call", "put"])),
    text("exercise_style", Text::Style(["american", "european"])),
    text("expiration_date", Text::Expiry),
    verbatim("shares_per_contract", "100"),
    strike("strike_price"),
    text("ticker", Text::OsiAfter("O:")),
    close(),
    or_absent("break_even_price", derived(Derived::BreakEven), Unit::Plain),
    open("day", Unpriced::Whole),
    zero("close"),
    zero("high"),
    snapshot_time("last_updated"),
    zero("low"),
    zero("open"),
    zero("previous_close"),
    quoted_size("volume", None, QuoteNumber::Volume),
    zero("vwap"),
    zero("change"),
    zero("change_percent"),
    close(),
    or_absent("fmv", own(Col::SvcTheo), Unit::Plain),
    snapshot_time("fmv_last_updated"),
    open("greeks", Unpriced::Empty),
    or_null("delta", own(Col::Delta), Unit::Plain),
    or_null("gamma", own(Col::Gamma), Unit::Plain),
    or_null("theta", own(Col::Theta), Unit::PerDay),
    or_null("vega", own(Col::Vega), Unit::PerPercent),
    close(),
    or_absent("implied_volatility", own(Col::SvcVol), Unit::Plain),
    open("last_quote", Unpriced::Whole),
    quoted_price("ask", None, QuoteNumber::Ask),
    quoted_size("ask_size", None, QuoteNumber::AskSize),
    quoted_price("bid", None, QuoteNumber::Bid),
    quoted_size("bid_size", None, QuoteNumber::BidSize),
    time("last_updated", When::Quote, Stamp::Nanos),
    quoted_price("midpoint", None, QuoteNumber::Mid),
    text("timeframe", Text::Fixed("REAL-TIME")),
    close(),
    open("last_trade", Unpriced::Whole),
    verbatim("conditions", "[]"),
    zero("exchange"),
    zero("price"),
    snapshot_time("sip_timestamp"),
    zero("size"),
    text("timeframe", Text::Fixed("REAL-TIME")),
    close(),
    quoted_size("open_interest", None, QuoteNumber::OpenInterest),
    open("underlying_asset", Unpriced::Whole),
    snapshot_time("last_updated"),
    or_absent("change_to_break_even", derived(Derived::ToBreakEven), Unit::Plain),
    or_absent("price", slice(SliceNumber::UndPrice), Unit::Plain),
    or_absent("value", slice(SliceNumber::UndPrice), Unit::Plain),
    text("ticker", Text::UnderlyingOrIndex("I:")),
    text("timeframe", Text::Fixed("REAL-TIME")),
    close(),
];

const fn snapshot_time(name: &'static str) -> Field {
    time(name, When::Snapshot, Stamp::Nanos)
}

const LIMIT_DEFAULT: i64 = 10;
const LIMIT_MAX: i64 = 250;
/// Address in `next_url` for a client that sends no host.
const HOST: &str = "127.0.0.1:2112";
/// Types of contracts; the vendor's schema has a third type, which no contract has.
const TYPES: &[(&str, Option<Rights>)] = &[("call", Some(Rights::Call)), ("put", Some(Rights::Put)), ("other", None)];
const SORTS: &[(&str, Sort)] =
    &[("ticker", Sort::Ticker), ("expiration_date", Sort::Expiry), ("strike_price", Sort::Strike)];
const ORDERS: &[(&str, bool)] = &[("asc", false), ("desc", true)];

fn parse_chain(query: &Query<'_>) -> Result<Reply, Refusal> {
    let name = query.segment("underlying");
    let symbol = parse_underlying(name).ok_or_else(|| Refusal::invalid("underlying", name, "a symbol"))?;
    let Some(cursor) = query.text(&CURSOR) else { return reply(query, name, symbol, None) };
    let (text, last) = cursor::parse_cursor(CURSOR.name(), cursor)?;
    let before = Query::parse(&text);
    // the cursor's filters apply, so filters beside it must be equal
    let differs = |name: &str| query.first(name).is_some_and(|value| before.first(name) != Some(value));
    if FILTERS.iter().any(|filter| differs(filter.name())) {
        return Err(Refusal::Conflict { reason: "filters differ from those of the previous page" });
    }
    reply(&before, name, symbol, Some(last))
}

fn reply(query: &Query<'_>, name: &str, symbol: Symbol, after: Option<ContractKey>) -> Result<Reply, Refusal> {
    let format = query.get(&FORMAT)?.unwrap_or_default();
    let limit = query.get(&LIMIT)?.or((format == Format::Json).then_some(LIMIT_DEFAULT));
    let page = Page {
        sort: query.get(&SORT)?.unwrap_or(Sort::Ticker),
        descending: query.get(&ORDER)?.unwrap_or(false),
        after,
        limit: limit.and_then(|n| usize::try_from(n).ok()),
        offset: 0,
    };
    Ok(Reply {
        selection: parse_selection(query, symbol)?,
        page,
        format,
        fields: FIELDS.to_vec(),
        around: Wrap::Of(around_page),
        memo: format!(
            "{}?{}",
            cursor::percent_encode(name),
            cursor::filters(query, FILTERS.iter().chain(ARRANGEMENT).map(|param| param.name()))
        ),
        title: format!("{} · options chain snapshot", name.to_uppercase()),
        ..Reply::default()
    })
}

fn parse_selection(query: &Query<'_>, symbol: Symbol) -> Result<Selection, Refusal> {
    let mut selection = Selection::named(symbol);
    let bounds = Bounds { least: query.get(&STRIKE_GTE)?, most: query.get(&STRIKE_LTE)? };
    let exact = exactly(query.get(&STRIKE)?);
    selection.strike = bounds.and(exact);
    selection.strike_above = query.get(&STRIKE_GT)?;
    selection.strike_below = query.get(&STRIKE_LT)?;
    selection.expiries = query.get(&EXPIRATION)?.map(|date| vec![date]);
    let after = query.get(&EXPIRATION_GT)?.map(|date| date.plus_days(1));
    selection.expiry_min = query.get(&EXPIRATION_GTE)?.max(after);
    let before = query.get(&EXPIRATION_LT)?.map(|date| date.plus_days(-1));
    let last = query.get(&EXPIRATION_LTE)?;
    selection.expiry_max = [last, before].into_iter().flatten().min();
    match query.get(&CONTRACT_TYPE)? {
        None => {}
        Some(Some(rights)) => selection.rights = rights,
        Some(None) => selection.expiries = Some(Vec::new()),
    }
    Ok(selection)
}

fn parse_contract(query: &Query<'_>) -> Result<Reply, Refusal> {
    let unlisted = || Refusal::NotListed { reason: "Option Ticker not found." };
    let symbol = parse_underlying(query.segment("underlying")).ok_or_else(unlisted)?;
    let key = ContractKey::parse_osi(query.segment("contract")).ok_or_else(unlisted)?;
    Ok(Reply {
        selection: Selection { contracts: vec![key], ..Selection::named(symbol) },
        format: query.get(&FORMAT)?.unwrap_or_default(),
        fields: FIELDS.to_vec(),
        around: Wrap::Of(around_contract),
        when_empty: Some(unlisted()),
        title: format!("{} · option contract snapshot", query.segment("contract").to_uppercase()),
        ..Reply::default()
    })
}

/// A ticker, of an index with or without its prefix.
pub(super) fn parse_underlying(text: &str) -> Option<Symbol> {
    let prefix = text.get(..2).filter(|prefix| prefix.eq_ignore_ascii_case("I:"));
    Symbol::parse_underlying(&text[prefix.map_or(0, str::len)..])
}

fn around_page(ending: &Ending<'_>) -> Around {
    let next = ending.next.map(|last| {
        let (name, filters) = ending.reply.memo.split_once('?').unwrap_or_default();
        let host = ending.host.unwrap_or(HOST);
        let cursor = cursor::cursor(filters, &last);
        json_text(&format!("http://{host}/v3/snapshot/options/{name}?cursor={cursor}"))
    });
    let close = next.map_or(Cow::Borrowed("]}"), |url| Cow::Owned(format!("],\"next_url\":{url}}}")));
    Around { open: Cow::Owned(format!("{}[", head(ending.clock))), close }
}

fn around_contract(ending: &Ending<'_>) -> Around {
    Around { open: Cow::Owned(head(ending.clock)), close: Cow::Borrowed("}") }
}

/// The request's id is that of its snapshot, so that equal questions have equal answers.
pub(super) fn head(clock: &Clock) -> String {
    format!("{{\"request_id\":\"{:0>32}\",\"status\":\"OK\",\"results\":", clock.snapshot(Stamp::Nanos))
}

fn no_endpoint(_: &Query<'_>) -> Result<String, Refusal> {
    Err(Refusal::UnknownPath)
}

/// `{"status":"NOT_FOUND",…,"message":"…"}` or `{"status":"ERROR",…,"error":"…"}`.
fn refuse(refusal: &Refusal) -> (&'static str, String) {
    let (status, key) = if refusal.status() == 404 { ("NOT_FOUND", "message") } else { ("ERROR", "error") };
    let text = json_text(&refusal.to_string());
    (JSON, format!("{{\"status\":\"{status}\",\"request_id\":\"{:032}\",\"{key}\":{text}}}", 0))
}
