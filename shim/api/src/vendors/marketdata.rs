//! MarketData.app: `GET /v1/options/chain/<symbol>`, column by column, and the neighbours that its clients call:
//! quotes, expirations, strikes, lookup, user, status. Its clients read four rate headers of every answer, and an
//! answer without rows is a 404.

mod filters;

use super::body::JSON;
use super::columns::{or_null, quoted_price, quoted_size};
use super::layer::{Layer, List, Reply, Serve, Value, Wrap};
use super::parameter::{FORMAT, exactly};
use crate::cursor;
use crate::past::day::{PastDays, RequestDays};
use crate::query::Query;
use crate::query::parameter::{AnyText, FiniteNumber, OneWord, Param, Parameters, TrueFalse, WholeNumber, parameters};
use crate::refusal::Refusal;
use crate::rows::clock::{Clock, Stamp, When};
use crate::rows::field::{
    Field, QuoteNumber, SliceNumber, Text, days_to_expiry, derived, in_the_money, null, own, slice, strike, text, time,
    verbatim,
};
use crate::rows::frame::json_text;
use crate::rows::layout::{Around, Walk};
use crate::rows::listing::{ListingPiece, QUOTED_DATE};
use crate::rows::source::Derived;
use crate::selection::Selection;
use crate::selection::order::{Page, Sort};
use engine::store::columns::{Col, Unit};
use filters::{
    AM, DATE, DELTA, DTE, EXPIRATION, FROM, MIN_OPEN_INTEREST, MIN_VOLUME, MONTH, MONTHLY, NONSTANDARD, PM, QUARTERLY,
    RANGE, SIDE, STRIKE, STRIKE_LIMIT, TO, WEEKLY, YEAR,
};
use jiff::Timestamp;
use kernel::contract::{ContractKey, Symbol};

/// The chain of an underlying.
pub const CHAIN: Layer = layer("/v1/options/chain/{underlying}", OF_CHAINS, Serve::Rows(parse_chain));
/// One contract.
pub const QUOTES: Layer = layer("/v1/options/quotes/{optionSymbol}", OF_CONTRACTS, Serve::Rows(parse_quotes));
/// Expiration dates of an underlying.
pub const EXPIRATIONS: Layer = layer(
    "/v1/options/expirations/{underlying}",
    &[&DATE, &STRIKE_LISTED, &DATE_FORMAT],
    Serve::Listing(parse_expirations),
);
/// Strikes of an underlying by expiration date.
pub const STRIKES: Layer =
    layer("/v1/options/strikes/{underlying}", &[&DATE, &EXPIRATION], Serve::Listing(parse_strikes));
/// The symbol of a contract in words.
pub const LOOKUP: Layer = layer("/v1/options/lookup/{words*}", &[], Serve::Text(lookup));
/// The user: clients with a token request it first.
pub const USER: Layer = layer("/user", &[], Serve::Text(|_| Ok("{}".to_owned())));
/// The vendor's status: clients request it between two tries.
pub const STATUS: Layer = layer("/status", &[], Serve::Text(status));
/// All other paths of this vendor: refused.
pub const REST: Layer = layer("/v1/options/{rest*}", &[], Serve::Text(|_| Err(Refusal::UnknownPath)));

const fn layer(path: &'static str, parameters: Parameters, serve: Serve) -> Layer {
    Layer { name: "marketdata", path, parameters, is_strict: false, serve, refuse, headers: HEADERS }
}

parameters! {
    OF_CHAINS:
    use SIDE, NONSTANDARD, EXPIRATION, FROM, TO, DTE, RANGE, STRIKE_LIMIT, AM, PM, WEEKLY, MONTHLY, QUARTERLY, MONTH,
        YEAR, STRIKE, DELTA, MIN_VOLUME, MIN_OPEN_INTEREST, DATE;
    const DATE_FORMAT: Param<OneWord<(Stamp, &str)>> =
        Param::new("dateformat", OneWord(DATE_FORMATS), "Format of times");
    const HUMAN: Param<TrueFalse> = Param::new("human", TrueFalse, "true gives columns readable names");
    const COLUMNS: Param<AnyText> = Param::new("columns", AnyText, "Only these columns, comma-separated");
    const OFFSET: Param<WholeNumber> =
        Param::new("offset", WholeNumber { least: 0, most: LIMIT_MAX }, "Number of rows to skip");
    const LIMIT: Param<WholeNumber> =
        Param::new("limit", WholeNumber { least: 1, most: LIMIT_MAX }, "Maximum number of rows");
    use FORMAT;
    const HAS_HEADERS: Param<TrueFalse> = Param::new("headers", TrueFalse, "false omits the header of a table");
}
const OF_CONTRACTS: Parameters =
    &[&DATE, &FROM, &TO, &DATE_FORMAT, &HUMAN, &COLUMNS, &OFFSET, &LIMIT, &FORMAT, &HAS_HEADERS];

const STRIKE_LISTED: Param<FiniteNumber> =
    Param::new("strike", FiniteNumber, "Strikes, numbers or ranges, comma-separated");

/// Rate limits in headers; they are never reached.
const HEADERS: &[(&str, Value)] = &[
    ("X-Api-Ratelimit-Limit", Value::Fixed("100000")),
    ("X-Api-Ratelimit-Remaining", Value::Fixed("100000")),
    ("X-Api-Ratelimit-Reset", Value::NextMidnight),
    ("X-Api-Ratelimit-Consumed", Value::Fixed("0")),
    ("Cf-Ray", Value::Fixed("greeksd")),
];

/// The fields of a contract. There is no rho, as a client builds an object of exactly these fields. Each field comes
/// with its title for `human=true`.
const fn table(dates: Stamp, never: &'static str) -> [(Field, &'static str); 25] {
    [
        (text("optionSymbol", Text::OsiCompact), "Symbol"),
        (text("underlying", Text::Underlying), "Underlying"),
        (time("expiration", When::ExpiryFour, dates), "Expiration Date"),
        (text("side", Text::Right(["call", "put"])), "Option Side"),
        (strike("strike"), "Strike"),
        (
            if dates.is_number() { verbatim("firstTraded", never) } else { text("firstTraded", Text::Fixed(never)) },
            "First Traded",
        ),
        (days_to_expiry("dte"), "Days To Expiration"),
        (time("updated", When::Quote, dates), "Date"),
        (quoted_price("bid", None, QuoteNumber::Bid), "Bid"),
        (quoted_size("bidSize", None, QuoteNumber::BidSize), "Bid Size"),
        (quoted_price("mid", None, QuoteNumber::Mid), "Mid"),
        (quoted_price("ask", None, QuoteNumber::Ask), "Ask"),
        (quoted_size("askSize", None, QuoteNumber::AskSize), "Ask Size"),
        (null("last"), "Last"),
        (quoted_size("openInterest", None, QuoteNumber::OpenInterest), "Open Interest"),
        (quoted_size("volume", None, QuoteNumber::Volume), "Volume"),
        (in_the_money("inTheMoney"), "In The Money"),
        (or_null("intrinsicValue", derived(Derived::Intrinsic), Unit::Plain), "Intrinsic Value"),
        (or_null("extrinsicValue", derived(Derived::Extrinsic), Unit::Plain), "Extrinsic Value"),
        (or_null("underlyingPrice", slice(SliceNumber::UndPrice), Unit::Plain), "Underlying Price"),
        (or_null("iv", own(Col::SvcVol), Unit::Plain), "IV"),
        (or_null("delta", own(Col::Delta), Unit::Plain), "Delta"),
        (or_null("gamma", own(Col::Gamma), Unit::Plain), "Gamma"),
        (or_null("theta", own(Col::Theta), Unit::PerDay), "Theta"),
        (or_null("vega", own(Col::Vega), Unit::PerPercent), "Vega"),
    ]
}

/// Spellings of dates, each with its text for the instant 0, which stands for an unknown first trade.
const DATE_FORMATS: &[(&str, (Stamp, &str))] = &[
    ("unix", UNIX),
    ("timestamp", (Stamp::EasternPlainOffset, "1969-12-31 19:00:00 -05:00")),
    ("spreadsheet", (Stamp::Spreadsheet, "25568.79167")),
];
const UNIX: (Stamp, &str) = (Stamp::Seconds, "0");
const NO_CONTRACT: &str = "No option found. Check the symbol of the contract.";
const LIMIT_MAX: i64 = 50_000;

fn parse_chain(query: &Query<'_>) -> Result<Reply, Refusal> {
    let name = query.segment("underlying");
    let mut selection = Selection::named(parse_underlying(name)?);
    let (filters, mut days) = filters::parse(query, &mut selection)?;
    days.past = filters::parse_day_before(query)?;
    let (days, when_empty) = (Some(Box::new(days)), Some(Refusal::NoRows));
    Ok(Reply { selection, days, filters, when_empty, ..reply(query, name)? })
}

fn parse_quotes(query: &Query<'_>) -> Result<Reply, Refusal> {
    let name = query.segment("optionSymbol");
    let key = ContractKey::parse_osi(name).ok_or_else(|| Refusal::invalid("optionSymbol", name, "a contract"))?;
    let days = past_days(filters::parse_days_before(query)?);
    let selection = Selection { contracts: vec![key], ..Selection::default() };
    let when_empty = Some(Refusal::NotListed { reason: NO_CONTRACT });
    Ok(Reply { selection, days, when_empty, ..reply(query, name)? })
}

/// Days of a request in which only the past day depends on the date of the answer.
fn past_days(past: Option<PastDays>) -> Option<Box<RequestDays>> {
    past.map(|past| Box::new(RequestDays { past: Some(past), ..RequestDays::default() }))
}

fn parse_underlying(name: &str) -> Result<Symbol, Refusal> {
    Symbol::parse_underlying(name).ok_or_else(|| Refusal::invalid("underlying", name, "a symbol"))
}

/// The parameters that every list of contracts has.
fn reply(query: &Query<'_>, name: &str) -> Result<Reply, Refusal> {
    let (stamp, never) = query.get(&DATE_FORMAT)?.unwrap_or(UNIX);
    let is_human = query.get(&HUMAN)?.unwrap_or(false);
    let table = table(stamp, never);
    let columns: Option<Vec<&(Field, &str)>> = match query.text(&COLUMNS) {
        None => None,
        Some(_) => Some(parse_columns(query, &table)?),
    };
    let is_whole = columns.is_none() && !is_human;
    let chosen = columns.unwrap_or_else(|| table.iter().collect());
    let word =
        |&(field, human): &(Field, &'static str)| Field { name: if is_human { human } else { field.name }, ..field };
    let count = |param| Ok(query.get(param)?.and_then(|n| usize::try_from(n).ok()));
    Ok(Reply {
        page: Page {
            sort: Sort::CallsFirst,
            offset: count(&OFFSET)?.unwrap_or(0),
            limit: count(&LIMIT)?,
            ..Page::default()
        },
        format: query.get(&FORMAT)?.unwrap_or_default(),
        fields: chosen.into_iter().map(word).collect(),
        walk: Walk::Columns,
        around: Wrap::text(if is_whole { "{\"s\":\"ok\"," } else { "{" }, "}"),
        headless: query.get(&HAS_HEADERS)? == Some(false),
        title: format!("{} · options chain", name.to_uppercase()),
        ..Reply::default()
    })
}

/// The requested columns, in their order, each once, so that there are never more than the table has.
fn parse_columns<'t>(
    query: &Query<'_>,
    table: &'t [(Field, &'static str)],
) -> Result<Vec<&'t (Field, &'static str)>, Refusal> {
    let mut columns: Vec<&(Field, &str)> = Vec::new();
    for name in query.items(&COLUMNS) {
        let found = column(table, name)?;
        if columns.iter().any(|(field, _)| field.name == found.0.name) {
            return Err(Refusal::invalid(COLUMNS.name(), name, "a column that is asked for once"));
        }
        columns.push(found);
    }
    Ok(columns)
}

fn column<'t>(table: &'t [(Field, &'static str)], name: &str) -> Result<&'t (Field, &'static str), Refusal> {
    let found = table.iter().find(|(field, _)| field.name == name);
    found.ok_or_else(|| Refusal::invalid(COLUMNS.name(), name, "a column"))
}

fn parse_expirations(query: &Query<'_>) -> Result<List, Refusal> {
    let days = past_days(filters::parse_day_before(query)?);
    let mut selection = Selection::named(parse_underlying(query.segment("underlying"))?);
    selection.standard_only = true;
    selection.strike = exactly(query.get(&STRIKE_LISTED)?);
    let item = match query.get(&DATE_FORMAT)? {
        None => QUOTED_DATE.to_vec(),
        Some((stamp, _)) if stamp.is_number() => vec![ListingPiece::Midnight(stamp)],
        Some((stamp, _)) => vec![ListingPiece::Text("\""), ListingPiece::Midnight(stamp), ListingPiece::Text("\"")],
    };
    let around = |clock: &Clock| Around {
        open: "{\"s\":\"ok\",\"expirations\":[".into(),
        close: format!("],\"updated\":{}}}", clock.snapshot(Stamp::Seconds)).into(),
    };
    Ok(List { selection, past: None, days, item, around, when_empty: Some(Refusal::NoRows) })
}

fn parse_strikes(query: &Query<'_>) -> Result<List, Refusal> {
    let past = filters::parse_day_before(query)?;
    let mut selection = Selection::named(parse_underlying(query.segment("underlying"))?);
    selection.standard_only = true;
    let days = RequestDays { expiration: filters::parse_expiration(query)?, past, ..RequestDays::default() };
    let around = |clock: &Clock| Around {
        open: format!("{{\"s\":\"ok\",\"updated\":{},", clock.snapshot(Stamp::Seconds)).into(),
        close: "}".into(),
    };
    let days = Some(Box::new(days));
    let item = vec![
        ListingPiece::Text("\""),
        ListingPiece::Date,
        ListingPiece::Text("\":["),
        ListingPiece::Strikes,
        ListingPiece::Text("]"),
    ];
    Ok(List { selection, past: None, days, item, around, when_empty: Some(Refusal::NoRows) })
}

fn lookup(query: &Query<'_>) -> Result<String, Refusal> {
    let words = query.segment("words");
    let key = filters::parse_words(words).ok_or_else(|| Refusal::invalid("optionSymbol", words, "a contract"))?;
    Ok(format!("{{\"s\":\"ok\",\"optionSymbol\":\"{}\"}}", cursor::compact(&key)))
}

fn status(_: &Query<'_>) -> Result<String, Refusal> {
    let body = "{\"s\":\"ok\",\"service\":[\"/v1/options/chain/\"],\"status\":[\"online\"],\"online\":[true]}";
    Ok(body.to_owned())
}

/// `no_data` with the nearest times that have data.
fn no_data(before: Option<Timestamp>, after: Option<Timestamp>) -> String {
    let seconds = |at: Option<Timestamp>| at.map_or_else(|| "null".to_owned(), |at| at.as_second().to_string());
    format!("{{\"s\":\"no_data\",\"nextTime\":{},\"prevTime\":{}}}", seconds(after), seconds(before))
}

/// `{"s":"error","errmsg":"…"}`, or `no_data` where there are no rows.
fn refuse(refusal: &Refusal) -> (&'static str, String) {
    let message = match refusal {
        Refusal::NoRows => return (JSON, no_data(None, None)),
        Refusal::NoSuchTime { before, after, .. } => return (JSON, no_data(*before, *after)),
        Refusal::Invalid { parameter, .. } if parameter == "optionSymbol" => {
            format!("Invalid option symbol. {refusal}")
        }
        Refusal::Invalid { parameter, .. } if parameter == "date" => format!("Invalid date. {refusal}"),
        _ => refusal.to_string(),
    };
    (JSON, format!("{{\"s\":\"error\",\"errmsg\":{}}}", json_text(&message)))
}
