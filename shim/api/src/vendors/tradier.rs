//! Tradier (the chains layer): `GET /v1/markets/options/chains`, and the calls that its clients make first: two lists,
//! and the prices of underlyings.

use super::body::{self, JSON};
use super::columns::{or_zero, quoted_price, quoted_size};
use super::layer::{Layer, List, NameList, Reply, RequestContext, Serve, Wrap};
use super::parameter::{FORMAT, SYMBOL, date_or_any, title};
use crate::query::Query;
use crate::query::parameter::{IsoDate, ItemList, OnlyTrue, Param, Parameters};
use crate::refusal::Refusal;
use crate::rows::clock::{Clock, Stamp, When};
use crate::rows::field::{
    Field, QuoteNumber, Text, Unpriced, close, null, open, own, strike, text, time, verbatim, zero,
};
use crate::rows::frame::json_text;
use crate::rows::identity::is_index;
use crate::rows::layout::Around;
use crate::rows::listing::{ListingPiece, QUOTED_DATE};
use crate::rows::number::{self, Print};
use crate::selection::{Selection, not_yet};
use engine::store::chain::Chain;
use engine::store::columns::{Col, Unit};
use kernel::contract::{RootTable, Symbol};

/// The chain of an underlying.
pub const CHAIN: Layer =
    at("/v1/markets/options/chains", &[&SYMBOL, &EXPIRATION, &FORMAT, &GREEKS_WANTED], Serve::Rows(parse));
/// The expirations of an underlying.
pub const EXPIRATIONS: Layer = at(
    "/v1/markets/options/expirations",
    &[&SYMBOL, &CONTRACT_SIZE, &EXPIRATION_TYPE, &WITH_STRIKES],
    Serve::Listing(parse_expirations),
);
/// The prices of underlyings.
pub const QUOTES: Layer = at("/v1/markets/quotes", &[&SYMBOLS], Serve::Names(parse_names));
/// The strikes of an expiration.
pub const STRIKES: Layer =
    at("/v1/markets/options/strikes", &[&SYMBOL, &EXPIRATION.required("2026-12-18")], Serve::Listing(parse_strikes));

const fn at(path: &'static str, parameters: Parameters, serve: Serve) -> Layer {
    Layer { name: "tradier", path, parameters, is_strict: false, serve, refuse, headers: &[] }
}

const EXPIRATION: Param<IsoDate> = Param::new("expiration", IsoDate, "Expiration date [default: all]");
const GREEKS_WANTED: Param<OnlyTrue> = Param::new("greeks", OnlyTrue, "true adds the Greeks");
const CONTRACT_SIZE: Param<OnlyTrue> = Param::new("contractSize", OnlyTrue, "true adds the contract size");
const EXPIRATION_TYPE: Param<OnlyTrue> = Param::new("expirationType", OnlyTrue, "true adds the expiration type");
const WITH_STRIKES: Param<OnlyTrue> = Param::new("strikes", OnlyTrue, "true adds the strikes");
const SYMBOLS: Param<ItemList> = Param::new("symbols", ItemList, "Symbols, comma-separated").required("SPY");

const FIELDS: &[Field] = &[
    text("symbol", Text::OsiCompact),
    text("description", Text::Description(["Call", "Put"])),
    text("exch", EXCHANGE),
    text("type", Text::Fixed("option")),
    zero("last"),
    zero("change"),
    quoted_size("volume", None, QuoteNumber::Volume),
    null("open"),
    null("high"),
    null("low"),
    null("close"),
    quoted_price("bid", None, QuoteNumber::Bid),
    quoted_price("ask", None, QuoteNumber::Ask),
    text("underlying", Text::Underlying),
    strike("strike"),
    null("change_percentage"),
    zero("average_volume"),
    zero("last_volume"),
    time("trade_date", When::Snapshot, Stamp::Millis),
    null("prevclose"),
    zero("week_52_high"),
    zero("week_52_low"),
    quoted_size("bidsize", None, QuoteNumber::BidSize),
    text("bidexch", EXCHANGE),
    time("bid_date", When::Quote, Stamp::Millis),
    quoted_size("asksize", None, QuoteNumber::AskSize),
    text("askexch", EXCHANGE),
    time("ask_date", When::Quote, Stamp::Millis),
    quoted_size("open_interest", None, QuoteNumber::OpenInterest),
    verbatim("contract_size", "100"),
    text("expiration_date", Text::Expiry),
    text("expiration_type", Text::Fixed("standard")),
    text("option_type", Text::Right(["call", "put"])),
    text("root_symbol", Text::Root),
];

/// Additional fields with Greeks. Clients fail on null in them, so zero stands for a missing value.
const GREEKS: &[Field] = &[
    open("greeks", Unpriced::Whole),
    or_zero("delta", own(Col::Delta), Unit::Plain),
    or_zero("gamma", own(Col::Gamma), Unit::Plain),
    or_zero("theta", own(Col::Theta), Unit::PerDay),
    or_zero("vega", own(Col::Vega), Unit::PerPercent),
    or_zero("rho", own(Col::Rho), Unit::PerPercent),
    zero("phi"),
    or_zero("bid_iv", own(Col::BidVol), Unit::Plain),
    or_zero("mid_iv", own(Col::MidVol), Unit::Plain),
    or_zero("ask_iv", own(Col::AskVol), Unit::Plain),
    or_zero("smv_vol", own(Col::SvcVol), Unit::Plain),
    time("updated_at", When::Snapshot, Stamp::UtcPlain),
    close(),
];

/// An arbitrary exchange, as a client refuses rows without one.
const EXCHANGE: Text = Text::Fixed("Z");

const AROUND: Wrap = Wrap::text(r#"{"options":{"option":["#, "]}}");

fn parse(query: &Query<'_>) -> Result<Reply, Refusal> {
    let symbol = query.required(&SYMBOL)?;
    let selection = Selection { expiries: date_or_any(query, &EXPIRATION)?, ..Selection::named(symbol) };
    let format = query.get(&FORMAT)?.unwrap_or_default();
    let fields = if is_true(query, &GREEKS_WANTED)? { [FIELDS, GREEKS].concat() } else { FIELDS.to_vec() };
    Ok(Reply { selection, format, fields, around: AROUND, title: title(symbol), ..Reply::default() })
}

fn parse_expirations(query: &Query<'_>) -> Result<List, Refusal> {
    let selection = Selection::named(query.required(&SYMBOL)?);
    let (size, kind) = (is_true(query, &CONTRACT_SIZE)?, is_true(query, &EXPIRATION_TYPE)?);
    let strikes = is_true(query, &WITH_STRIKES)?;
    if !(size || kind || strikes) {
        let around = |_: &_| Around::constant(r#"{"expirations":{"date":["#, "]}}");
        return Ok(List { selection, past: None, days: None, item: QUOTED_DATE.to_vec(), around, when_empty: None });
    }
    let mut item = vec![ListingPiece::Text(r#"{"date":""#), ListingPiece::Date, ListingPiece::Text("\"")];
    if size {
        item.push(ListingPiece::Text(r#","contract_size":100"#));
    }
    if kind {
        item.push(ListingPiece::Text(r#","expiration_type":"standard""#));
    }
    if strikes {
        item.extend([ListingPiece::Text(r#","strikes":{"strike":["#), ListingPiece::Strikes, ListingPiece::Text("]}")]);
    }
    item.push(ListingPiece::Text("}"));
    let around = |_: &_| Around::constant(r#"{"expirations":{"expiration":["#, "]}}");
    Ok(List { selection, past: None, days: None, item, around, when_empty: None })
}

fn parse_strikes(query: &Query<'_>) -> Result<List, Refusal> {
    let symbol = query.required(&SYMBOL)?;
    query.required_text(&EXPIRATION)?;
    let selection = Selection { expiries: query.get(&EXPIRATION)?.map(|date| vec![date]), ..Selection::named(symbol) };
    let around = |_: &_| Around::constant(r#"{"strikes":{"strike":["#, "]}}");
    Ok(List { selection, past: None, days: None, item: vec![ListingPiece::Strikes], around, when_empty: None })
}

/// Maximum underlyings of one request.
const SYMBOLS_MAX: usize = 100;

fn parse_names(query: &Query<'_>) -> Result<NameList, Refusal> {
    let names: Vec<String> = query.items(&SYMBOLS).map(str::to_owned).collect();
    match names.len() {
        0 => Err(Refusal::missing(SYMBOLS.name())),
        n if n > SYMBOLS_MAX => Err(Refusal::invalid(SYMBOLS.name(), &n.to_string(), "up to 100 symbols")),
        _ => Ok(NameList { names, symbols: Vec::new(), past: None, write: write_quotes }),
    }
}

/// Writes symbol and price of underlyings. The other fields are the same as in rows of contracts.
fn write_quotes(names: &[String], context: &RequestContext<'_>, clock: &Clock) -> Result<String, Refusal> {
    let (mut found, mut unmatched) = (Vec::new(), Vec::new());
    for name in names {
        let symbol = Symbol::parse_underlying(name);
        match symbol.and_then(|symbol| context.snapshot.chain(symbol)) {
            Some(chain) => found.push(quote_of(chain, context.roots, clock)),
            None if symbol.is_some_and(|symbol| context.snapshot.is_pending(symbol)) => {
                return Err(not_yet(context.snapshot, name));
            }
            None => unmatched.push(json_text(name)),
        }
    }
    let mut parts = Vec::new();
    if !found.is_empty() {
        parts.push(format!(r#""quote":[{}]"#, found.join(",\n")));
    }
    if !unmatched.is_empty() {
        parts.push(format!(r#""unmatched_symbols":{{"symbol":[{}]}}"#, unmatched.join(",")));
    }
    Ok(format!(r#"{{"quotes":{{{}}}}}"#, parts.join(",")))
}

fn quote_of(chain: &Chain, roots: &RootTable, clock: &Clock) -> String {
    let (symbol, at) = (chain.underlying, clock.snapshot(Stamp::Millis));
    let last = if chain.spot.is_nan() { "null".to_owned() } else { number::text(chain.spot, Print::UpTo(4)) };
    let kind = if is_index(chain, roots) { "index" } else { "stock" };
    format!(
        concat!(
            r#"{{"symbol":"{symbol}","description":"{symbol}","exch":"Z","type":"{kind}","last":{last},"change":0,"#,
            r#""volume":0,"open":null,"high":null,"low":null,"close":null,"bid":0,"ask":0,"change_percentage":null,"#,
            r#""average_volume":0,"last_volume":0,"trade_date":{at},"prevclose":null,"week_52_high":0,"#,
            r#""week_52_low":0,"bidsize":0,"bidexch":"Z","bid_date":{at},"asksize":0,"askexch":"Z","ask_date":{at}}}"#,
        ),
        symbol = symbol,
        kind = kind,
        last = last,
        at = at
    )
}

fn is_true(query: &Query<'_>, param: &Param<OnlyTrue>) -> Result<bool, Refusal> {
    Ok(query.get(param)?.unwrap_or(false))
}

fn refuse(refusal: &Refusal) -> (&'static str, String) {
    let after = match refusal.status() {
        400 => r#"","detail":{"errorcode":"request.invalid"}}}"#,
        404 => r#"","detail":{"errorcode":"request.unknown"}}}"#,
        _ => r#"","detail":{"errorcode":"upstream.unavailable"}}}"#,
    };
    (JSON, body::with_text(r#"{"fault":{"faultstring":""#, refusal, after))
}
