//! Intrinio's end-of-day calls, `GET /options/chain/<symbol>/<expiration>/eod` and
//! `GET /options/prices/<contract>/eod`, and its calls of Greeks alone, of one contract and of all contracts of a
//! ticker. What the vendor has of trades is null, for only quotes are recorded.

use super::columns::{or_null, quoted_size};
use super::intrinio::{
    INCLUDE_RELATED_SYMBOLS, OPTION_TYPE, STRIKE, STRIKE_GREATER_THAN, STRIKE_LESS_THAN, layer, named, of_expiration,
    side, with_strikes,
};
use super::layer::{Ending, Layer, Reply, Serve, Wrap};
use super::parameter::FORMAT;
use crate::past::moment::AsOf;
use crate::past::span::{Pace, PastSpan};
use crate::past::{Lacking, PastMoments, PastQuestion, SHOWS_THE_PRESENT};
use crate::query::Query;
use crate::query::parameter::{IsoDate, Param, Parameters};
use crate::refusal::Refusal;
use crate::rows::clock::{Stamp, When};
use crate::rows::field::{Field, QuoteNumber, Text, Unpriced, close, null, open, own, strike, text, time, verbatim};
use crate::rows::frame::json_text;
use crate::rows::layout::Around;
use crate::rows::number::Print;
use crate::selection::Selection;
use engine::store::columns::{Col, Unit};
use jiff::civil::Date;
use kernel::contract::{ContractKey, Right};
use kernel::contract::{osi::OSI_LEN, strike_of};
use std::borrow::Cow;

/// A chain at the end of a day.
pub const CHAIN_EOD: Layer = layer("/options/chain/{symbol}/{expiration}/eod", OF_CHAINS, Serve::Rows(parse_chain));
/// One contract at the end of some days.
pub const PRICES_EOD: Layer = layer("/options/prices/{contract}/eod", OF_PRICES, Serve::Rows(parse_prices));
/// Greeks of one contract.
pub const GREEKS: Layer = layer("/options/greeks/{contract}/realtime", &[&FORMAT], Serve::Rows(parse_greeks));
/// Greeks of all contracts of a ticker.
pub const GREEKS_BY_TICKER: Layer =
    layer("/options/greeks/by_ticker/{symbol}/realtime", OF_GREEKS, Serve::Rows(parse_ticker));

const OF_CHAINS: Parameters =
    &[&OPTION_TYPE, &STRIKE, &STRIKE_GREATER_THAN, &STRIKE_LESS_THAN, &DATE, &INCLUDE_RELATED_SYMBOLS, &FORMAT];
const OF_PRICES: Parameters = &[&START_DATE, &END_DATE, &FORMAT];
const OF_GREEKS: Parameters =
    &[&EXPIRATION_START_DATE, &EXPIRATION_END_DATE, &STRIKE, &STRIKE_GREATER_THAN, &STRIKE_LESS_THAN, &FORMAT];

const DATE: Param<IsoDate> = Param::new("date", IsoDate, "Date, for feeds with past data [default: the last day]");
const START_DATE: Param<IsoDate> = Param::new("start_date", IsoDate, "Start date [default: the first day]");
const END_DATE: Param<IsoDate> = Param::new("end_date", IsoDate, "End date [default: the last day]");
const EXPIRATION_START_DATE: Param<IsoDate> = Param::new("expiration_start_date", IsoDate, "First expiration");
const EXPIRATION_END_DATE: Param<IsoDate> = Param::new("expiration_end_date", IsoDate, "Last expiration");

/// The contract.
const OPTION: &[Field] = &[
    open("option", Unpriced::Whole),
    text("code", Text::OsiCompact),
    text("ticker", Text::Underlying),
    text("expiration", Text::Expiry),
    strike("strike"),
    text("type", Text::Right(["call", "put"])),
    close(),
];

/// A day of a contract.
const PRICES: &[Field] = &[
    text("date", Text::Today),
    null("close"),
    side("close_bid", QuoteNumber::Bid, Print::UpTo(4)),
    side("close_ask", QuoteNumber::Ask, Print::UpTo(4)),
    quoted_size("volume", None, QuoteNumber::Volume),
    null("open"),
    null("open_ask"),
    null("open_bid"),
    quoted_size("open_interest", None, QuoteNumber::OpenInterest),
    null("high"),
    null("low"),
    side("mark", QuoteNumber::Mid, Print::UpTo(4)),
    null("ask_high"),
    null("ask_low"),
    null("bid_high"),
    null("bid_low"),
    or_null("implied_volatility", own(Col::SvcVol), Unit::Plain),
    or_null("delta", own(Col::Delta), Unit::Plain),
    or_null("gamma", own(Col::Gamma), Unit::Plain),
    or_null("theta", own(Col::Theta), Unit::PerDay),
    or_null("vega", own(Col::Vega), Unit::PerPercent),
    null("close_time"),
    null("close_size"),
    time("close_bid_time", When::Quote, Stamp::UtcOffsetMillis),
    side("close_bid_size", QuoteNumber::BidSize, Print::UpTo(0)),
    time("close_ask_time", When::Quote, Stamp::UtcOffsetMillis),
    side("close_ask_size", QuoteNumber::AskSize, Print::UpTo(0)),
    text("exercise_style", Text::Style(["A", "E"])),
];

/// The Greeks of a contract, and the value that they are of.
const SYNTHETIC: &[Field] = &[
    open("greeks", Unpriced::Whole),
    or_null("implied_volatility", own(Col::SvcVol), Unit::Plain),
    or_null("delta", own(Col::Delta), Unit::Plain),
    or_null("gamma", own(Col::Gamma), Unit::Plain),
    or_null("theta", own(Col::Theta), Unit::PerDay),
    or_null("vega", own(Col::Vega), Unit::PerPercent),
    or_null("synthetic_price", own(Col::SvcTheo), Unit::Plain),
    close(),
];

const NO_CONTRACT: Refusal = Refusal::NotListed { reason: "no such contract" };

fn parse_chain(query: &Query<'_>) -> Result<Reply, Refusal> {
    let selection = with_strikes(query, of_expiration(query, named(query)?)?)?;
    let selection = Selection {
        rights: query.get(&OPTION_TYPE)?.unwrap_or_default(),
        standard_only: !query.get(&INCLUDE_RELATED_SYMBOLS)?.unwrap_or(false),
        ..selection
    };
    let moments = PastMoments::One(query.get(&DATE)?.map_or(AsOf::Latest, AsOf::Day));
    Ok(Reply {
        selection,
        past: Some(question(moments)),
        format: query.get(&FORMAT)?.unwrap_or_default(),
        fields: [OPTION, &[open("prices", Unpriced::Whole)], PRICES, &[close()]].concat(),
        around: Wrap::text("{\"chain\":[", "]}"),
        title: format!("{} · options chain, end of day", query.segment("symbol").to_uppercase()),
        ..Reply::default()
    })
}

fn parse_prices(query: &Query<'_>) -> Result<Reply, Refusal> {
    let key = contract(query)?;
    let day = |date: Option<Date>| date.map_or(AsOf::Latest, AsOf::Day);
    let span = PastSpan::between(day(query.get(&START_DATE)?), day(query.get(&END_DATE)?));
    Ok(Reply {
        selection: of_contract(key),
        past: Some(question(PastMoments::Many(PastSpan { every: Pace::Day, ..span }))),
        format: query.get(&FORMAT)?.unwrap_or_default(),
        fields: PRICES.to_vec(),
        around: Wrap::Of(around_prices),
        when_empty: Some(NO_CONTRACT),
        title: format!("{} · prices, end of day", query.segment("contract").to_uppercase()),
        ..Reply::default()
    })
}

fn parse_greeks(query: &Query<'_>) -> Result<Reply, Refusal> {
    Ok(Reply {
        selection: of_contract(contract(query)?),
        format: query.get(&FORMAT)?.unwrap_or_default(),
        fields: of_greeks(),
        around: Wrap::text("", ""),
        when_empty: Some(NO_CONTRACT),
        title: format!("{} · Greeks", query.segment("contract").to_uppercase()),
        ..Reply::default()
    })
}

fn parse_ticker(query: &Query<'_>) -> Result<Reply, Refusal> {
    let selection = with_strikes(query, named(query)?)?;
    Ok(Reply {
        selection: Selection {
            expiry_min: query.get(&EXPIRATION_START_DATE)?,
            expiry_max: query.get(&EXPIRATION_END_DATE)?,
            ..selection
        },
        format: query.get(&FORMAT)?.unwrap_or_default(),
        fields: of_greeks(),
        around: Wrap::Of(around_ticker),
        memo: query.segment("symbol").to_uppercase(),
        title: format!("{} · Greeks", query.segment("symbol").to_uppercase()),
        ..Reply::default()
    })
}

fn of_greeks() -> Vec<Field> {
    [&[verbatim("messages", "[]")], OPTION, SYNTHETIC].concat()
}

fn question(moments: PastMoments) -> PastQuestion {
    PastQuestion { moments, if_live: Some(SHOWS_THE_PRESENT), if_none: Lacking::refusal }
}

fn contract(query: &Query<'_>) -> Result<ContractKey, Refusal> {
    ContractKey::parse_osi(query.segment("contract")).ok_or(NO_CONTRACT)
}

fn of_contract(key: ContractKey) -> Selection {
    Selection { contracts: vec![key], ..Selection::named(key.root) }
}

/// The contract stands behind its days.
fn around_prices(ending: &Ending<'_>) -> Around {
    let Some(key) = ending.reply.selection.contracts.first() else { return Around::ARRAY };
    let mut symbol = [0; OSI_LEN];
    let length = key.write_compact(&mut symbol);
    let code = String::from_utf8_lossy(&symbol[..length]);
    let ContractKey { root, expiry, strike_milli, right } = key;
    let (strike, kind) = (strike_of(*strike_milli), if *right == Right::Call { "call" } else { "put" });
    let option =
        format!(r#"{{"code":"{code}","ticker":"{root}","expiration":"{expiry}","strike":{strike},"type":"{kind}"}}"#);
    Around {
        open: Cow::Borrowed(r#"{"prices":["#),
        close: Cow::Owned(format!(r#"],"option":{option},"next_page":null}}"#)),
    }
}

fn around_ticker(ending: &Ending<'_>) -> Around {
    let ticker = json_text(&ending.reply.memo);
    Around {
        open: Cow::Owned(format!(r#"{{"security":{{"ticker":{ticker}}},"messages":[],"contracts":["#)),
        close: Cow::Borrowed(r#"],"next_page":null}"#),
    }
}
