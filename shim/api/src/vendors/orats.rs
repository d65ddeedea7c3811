//! ORATS (the strikes layer): `GET /datav2/strikes`, and of past days `GET /datav2/hist/strikes`. One row per (root,
//! expiry, strike), call and put side by side.

use super::body;
use super::columns::{or_zero, quoted_price, quoted_size};
use super::layer::{Layer, Reply, Serve, Wrap};
use super::parameter::{FORMAT, SYMBOLS, exactly, title};
use crate::past::moment::AsOf;
use crate::past::span::{Pace, PastSpan};
use crate::past::{Lacking, PastMoments, PastQuestion, SHOWS_THE_PRESENT};
use crate::query::Query;
use crate::query::parameter::{FiniteNumber, IsoDate, NumberRange, Param, Parameters, ReadEach};
use crate::refusal::Refusal;
use crate::rows::clock::{Stamp, When};
use crate::rows::field::{
    Field, QuoteNumber, SliceNumber, Text, call, days_to_expiry, own, put, slice, strike, text, time, zero,
};
use crate::rows::frame::Format;
use crate::rows::layout::Per;
use crate::selection::Selection;
use engine::store::columns::{Col, Unit};
use kernel::contract::{Right, Symbol};

/// The strikes of an underlying.
pub const STRIKES: Layer = at("/datav2/strikes", NOW, parse);
/// The strikes of a past day.
pub const HIST_STRIKES: Layer = at("/datav2/hist/strikes", OF_A_DAY, |query| parse_day(query, Format::Json));
/// The strikes of a past day, as JSON.
pub const HIST_STRIKES_JSON: Layer = at("/datav2/hist/strikes.json", OF_A_DAY, |query| parse_day(query, Format::Json));
/// The strikes of a past day, as CSV.
pub const HIST_STRIKES_CSV: Layer = at("/datav2/hist/strikes.csv", OF_A_DAY, |query| parse_day(query, Format::Csv));
/// One strike of one expiration, on one day or on all recorded days.
pub const HIST_OPTIONS: Layer = at("/datav2/hist/strikes/options", OF_A_STRIKE, parse_option);
/// The strikes of an underlying, as JSON.
pub const STRIKES_JSON: Layer = at("/datav2/strikes.json", NOW, parse);
/// The strikes of an underlying, as CSV.
pub const STRIKES_CSV: Layer = at("/datav2/strikes.csv", NOW, parse_csv);

const fn at(path: &'static str, parameters: Parameters, parse: fn(&Query<'_>) -> Result<Reply, Refusal>) -> Layer {
    let serve = Serve::Rows(parse);
    Layer { name: "orats", path, parameters, is_strict: false, serve, refuse: body::message, headers: &[] }
}

const NOW: Parameters = &[&TICKER, &DTE, &DELTA, &FORMAT];
const OF_A_DAY: Parameters = &[&TICKER, &DTE, &DELTA, &FORMAT, &TRADE_DATE.required("2026-12-18")];
const OF_A_STRIKE: Parameters = &[&TICKER, &DTE, &DELTA, &FORMAT, &EXPIR_DATE, &STRIKE, &TRADE_DATE];

pub(super) const TICKER: Param<ReadEach<Symbol>> =
    Param::new("ticker", SYMBOLS, "Symbol of the underlying").required("SPY");
const DTE: Param<NumberRange> = Param::new("dte", NumberRange, "Range of calendar days to expiry: min,max");
const DELTA: Param<NumberRange> = Param::new("delta", NumberRange, "Range of the call delta: min,max");
pub(super) const TRADE_DATE: Param<IsoDate> = Param::new("tradeDate", IsoDate, "Date, for feeds with past data");
const EXPIR_DATE: Param<IsoDate> = Param::new("expirDate", IsoDate, "Expiration date").required("2026-12-18");
const STRIKE: Param<FiniteNumber> = Param::new("strike", FiniteNumber, "Strike").required("720");

const FIELDS: &[Field] = &[
    text("ticker", Text::Underlying),
    text("tradeDate", Text::Today),
    text("expirDate", Text::Expiry),
    days_to_expiry("dte"),
    strike("strike"),
    or_zero("stockPrice", slice(SliceNumber::UndPrice), Unit::Plain),
    quoted_size("callVolume", CALL, QuoteNumber::Volume),
    quoted_size("callOpenInterest", CALL, QuoteNumber::OpenInterest),
    quoted_size("callBidSize", CALL, QuoteNumber::BidSize),
    quoted_size("callAskSize", CALL, QuoteNumber::AskSize),
    quoted_size("putVolume", PUT, QuoteNumber::Volume),
    quoted_size("putOpenInterest", PUT, QuoteNumber::OpenInterest),
    quoted_size("putBidSize", PUT, QuoteNumber::BidSize),
    quoted_size("putAskSize", PUT, QuoteNumber::AskSize),
    quoted_price("callBidPrice", CALL, QuoteNumber::Bid),
    or_zero("callValue", call(Col::SvcTheo), Unit::Plain),
    quoted_price("callAskPrice", CALL, QuoteNumber::Ask),
    quoted_price("putBidPrice", PUT, QuoteNumber::Bid),
    or_zero("putValue", put(Col::SvcTheo), Unit::Plain),
    quoted_price("putAskPrice", PUT, QuoteNumber::Ask),
    or_zero("callBidIv", call(Col::BidVol), Unit::Plain),
    or_zero("callMidIv", call(Col::MidVol), Unit::Plain),
    or_zero("callAskIv", call(Col::AskVol), Unit::Plain),
    or_zero("smvVol", own(Col::SvcVol), Unit::Plain),
    or_zero("putBidIv", put(Col::BidVol), Unit::Plain),
    or_zero("putMidIv", put(Col::MidVol), Unit::Plain),
    or_zero("putAskIv", put(Col::AskVol), Unit::Plain),
    zero("residualRate"),
    or_zero("delta", call(Col::Delta), Unit::Plain),
    or_zero("gamma", own(Col::Gamma), Unit::Plain),
    or_zero("theta", own(Col::Theta), Unit::PerDay),
    or_zero("vega", own(Col::Vega), Unit::PerPercent),
    or_zero("rho", own(Col::Rho), Unit::PerPercent),
    zero("phi"),
    or_zero("driftlessTheta", own(Col::Theta), Unit::PerDay),
    or_zero("extSmvVol", own(Col::SvcVol), Unit::Plain),
    or_zero("extCallValue", call(Col::SvcTheo), Unit::Plain),
    or_zero("extPutValue", put(Col::SvcTheo), Unit::Plain),
    or_zero("spotPrice", slice(SliceNumber::UndPrice), Unit::Plain),
    time("updatedAt", When::Snapshot, Stamp::UtcIso),
];

/// Rights of the contracts of a row.
const CALL: Option<Right> = Some(Right::Call);
const PUT: Option<Right> = Some(Right::Put);

/// Maximum tickers of one request, as at the vendor.
const TICKERS_MOST: usize = 10;

const AROUND: Wrap = Wrap::text(r#"{"data":["#, "]}");

fn parse(query: &Query<'_>) -> Result<Reply, Refusal> {
    parse_as(query, Format::Json)
}

fn parse_csv(query: &Query<'_>) -> Result<Reply, Refusal> {
    parse_as(query, Format::Csv)
}

/// Parses a request for all strikes of one day.
fn parse_day(query: &Query<'_>, format: Format) -> Result<Reply, Refusal> {
    let reply = parse_as(query, format)?;
    query.required_text(&TRADE_DATE)?;
    of_all(query, Reply { past: Some(past(query)?), ..reply })
}

/// Parses a request for one strike of one expiration.
fn parse_option(query: &Query<'_>) -> Result<Reply, Refusal> {
    let reply = parse_as(query, Format::Json)?;
    query.required_text(&EXPIR_DATE)?;
    query.required_text(&STRIKE)?;
    let expiries = query.get(&EXPIR_DATE)?.map(|date| vec![date]);
    let strike = exactly(query.get(&STRIKE)?);
    let selection = Selection { expiries, strike, ..reply.selection };
    of_all(query, Reply { past: Some(past(query)?), selection, ..reply })
}

/// The requested tickers, at least one.
pub(super) fn parse_tickers(query: &Query<'_>) -> Result<Vec<Symbol>, Refusal> {
    let tickers = query.get(&TICKER)?.unwrap_or_default();
    match tickers.len() {
        0 => Err(Refusal::missing("ticker")),
        1..=TICKERS_MOST => Ok(tickers),
        _ => Err(Refusal::Conflict { reason: "ticker: at most ten" }),
    }
}

/// The rows of every requested ticker; a single ticker may be an underlying or a root, as in requests for the present.
fn of_all(query: &Query<'_>, reply: Reply) -> Result<Reply, Refusal> {
    let underlyings = parse_tickers(query)?;
    if underlyings.len() == 1 {
        return Ok(reply);
    }
    Ok(Reply { selection: Selection { name: None, underlyings, ..reply.selection }, ..reply })
}

/// The close of the requested day, or of each recorded day.
fn past(query: &Query<'_>) -> Result<PastQuestion, Refusal> {
    let moments = match query.get(&TRADE_DATE)? {
        Some(day) => PastMoments::One(AsOf::Day(day)),
        None => PastMoments::Many(PastSpan { every: Pace::Day, ..PastSpan::between(AsOf::Latest, AsOf::Latest) }),
    };
    Ok(PastQuestion { moments, if_live: Some(SHOWS_THE_PRESENT), if_none: Lacking::refusal })
}

fn parse_as(query: &Query<'_>, format: Format) -> Result<Reply, Refusal> {
    // the interface reads only the first ticker of a list for the present, and all of them for past days
    let symbol = parse_tickers(query)?[0];
    let selection = Selection {
        dte: query.get(&DTE)?.unwrap_or_default(),
        call_delta: query.get(&DELTA)?.unwrap_or_default(),
        ..Selection::named(symbol)
    };
    let format = query.get(&FORMAT)?.unwrap_or(format);
    let (fields, around, title) = (FIELDS.to_vec(), AROUND, title(symbol));
    Ok(Reply { selection, format, per: Per::Strike, fields, around, title, ..Reply::default() })
}
