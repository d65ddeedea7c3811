//! Alpha Vantage (the envelope layer): `GET /query`. Every value is a string, and everything
//! about a request is case-insensitive.

use super::body::{self, JSON};
use super::columns::quoted_as;
use super::layer::{Layer, Reply, Serve, Wrap};
use super::parameter::{SYMBOL, title};
use crate::past::moment::AsOf;
use crate::past::{Lacking, PastMoments, PastQuestion, SHOWS_THE_PRESENT};
use crate::query::Query;
use crate::query::parameter::{AnyText, IsoDate, OneWord, Param, TrueFalse, parameters};
use crate::refusal::Refusal;
use crate::rows::field::{Field, Missing, QuoteNumber, Text, num, own, strike_as, text, zero_as};
use crate::rows::frame::Format;
use crate::rows::number::Print;
use crate::selection::Selection;
use engine::store::columns::{Col, Unit};
use kernel::contract::ContractKey;
use std::borrow::Cow;

/// The options of an underlying.
pub const OPTIONS: Layer = Layer {
    name: "alphavantage",
    path: "/query",
    parameters: PARAMETERS,
    is_strict: false,
    serve: Serve::Rows(parse),
    refuse,
    headers: &[],
};

parameters! {
    /// The parameters, whose names are in lower case here and in any case in requests.
    PARAMETERS:
    const FUNCTION: Param<OneWord<Function>> =
        Param::new("function", OneWord(FUNCTIONS), "REALTIME_OPTIONS, or HISTORICAL_OPTIONS for feeds with past data")
            .required("realtime_options");
    use SYMBOL;
    const DATATYPE: Param<OneWord<Format>> = Param::new("datatype", OneWord(Format::WORDS), "Format of the response");
    const FORMAT: Param<AnyText> = Param::new("format", AnyText, "Format of the response");
    const REQUIRE_GREEKS: Param<TrueFalse> =
        Param::new("require_greeks", TrueFalse, "Must be true: all rows have Greeks").such_as("true");
    const DATE: Param<IsoDate> = Param::new("date", IsoDate, "Date [default: the last day]");
    const CONTRACT: Param<AnyText> = Param::new("contract", AnyText, "OSI symbol of one contract");
}

const FIELDS: &[Field] = &[
    text("contractID", Text::OsiCompact),
    text("symbol", Text::Underlying),
    text("expiration", Text::Expiry),
    strike_as("strike", Print::Words(2), Print::Words(2)),
    text("type", Text::Right(["call", "put"])),
    zero_as("last", Print::Words(2)),
    quoted_as("mark", QuoteNumber::Mid, Print::Words(2)),
    quoted_as("bid", QuoteNumber::Bid, Print::Words(2)),
    quoted_as("bid_size", QuoteNumber::BidSize, Print::Words(0)),
    quoted_as("ask", QuoteNumber::Ask, Print::Words(2)),
    quoted_as("ask_size", QuoteNumber::AskSize, Print::Words(0)),
    quoted_as("volume", QuoteNumber::Volume, Print::Words(0)),
    quoted_as("open_interest", QuoteNumber::OpenInterest, Print::Words(0)),
    text("date", Text::Today),
    num("implied_volatility", own(Col::SvcVol), Unit::Plain, Print::Words(5), Missing::Dash),
    num("delta", own(Col::Delta), Unit::Plain, Print::Words(5), Missing::Dash),
    num("gamma", own(Col::Gamma), Unit::Plain, Print::Words(5), Missing::Dash),
    num("theta", own(Col::Theta), Unit::PerDay, Print::Words(5), Missing::Dash),
    num("vega", own(Col::Vega), Unit::PerPercent, Print::Words(5), Missing::Dash),
    num("rho", own(Col::Rho), Unit::PerPercent, Print::Words(5), Missing::Dash),
];

const AROUND: Wrap = Wrap::text(r#"{"endpoint":"Realtime Options","message":"success","data":["#, "]}");
const AROUND_PAST: Wrap = Wrap::text(r#"{"endpoint":"Historical Options","message":"success","data":["#, "]}");

/// Function of a request: the chain of the present or of a past day.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Function {
    Realtime,
    Historical,
}

const FUNCTIONS: &[(&str, Function)] =
    &[("realtime_options", Function::Realtime), ("historical_options", Function::Historical)];

fn parse(query: &Query<'_>) -> Result<Reply, Refusal> {
    let query = &query.clone().with_lowercase_names();
    let function = query.required(&FUNCTION)?;
    let symbol = query.required(&SYMBOL)?;
    let mut format = query.get(&DATATYPE)?.unwrap_or_default();
    if query.text(&FORMAT).is_some_and(|text| text.eq_ignore_ascii_case("html")) {
        format = Format::Html;
    }
    let past = match function {
        Function::Realtime => None,
        Function::Historical => Some(past(query)?),
    };
    if past.is_none() && !query.get(&REQUIRE_GREEKS).is_ok_and(|flag| flag == Some(true)) {
        return Err(Refusal::Unsupported { reason: "require_greeks must be true" });
    }
    let selection = match query.text(&CONTRACT).map(ContractKey::parse_osi) {
        None => Selection::named(symbol),
        Some(Some(contract)) => Selection { contracts: vec![contract], ..Selection::named(symbol) },
        Some(None) => Selection::named(symbol).for_nothing(),
    };
    // A symbol holds letters, digits and a dot only, so that it cannot end the header or the file name.
    let (name, around) = match function {
        Function::Realtime => ("realtime", AROUND),
        Function::Historical => ("historical", AROUND_PAST),
    };
    let file = format!("attachment; filename={name}_options_{symbol}.csv");
    let headers = if format == Format::Csv { vec![("Content-Disposition", Cow::Owned(file))] } else { Vec::new() };
    let (fields, title) = (FIELDS.to_vec(), title(symbol));
    Ok(Reply { selection, past, format, fields, around, headers, title, ..Reply::default() })
}

/// The chain of a day; without a date, of the last day with data.
fn past(query: &Query<'_>) -> Result<PastQuestion, Refusal> {
    let moments = PastMoments::One(query.get(&DATE)?.map_or(AsOf::Latest, AsOf::Day));
    Ok(PastQuestion { moments, if_live: Some(SHOWS_THE_PRESENT), if_none })
}

/// The refusal in the vendor's words, from which its clients detect a day without data, and the nearest days with data.
fn if_none(lacking: &Lacking) -> Refusal {
    let symbol = lacking.names.first().map_or_else(String::new, ToString::to_string);
    let day = lacking.day.map_or_else(String::new, |day| format!(" on date {day}"));
    let words =
        format!("No data for symbol {symbol}{day}. Please specify a valid combination of symbol and trading day.");
    Refusal::EmptyTime { text: format!("{words} ({})", lacking.text()) }
}

fn refuse(refusal: &Refusal) -> (&'static str, String) {
    match refusal {
        Refusal::EmptyTime { .. } => {
            (JSON, body::with_text(r#"{"endpoint":"Historical Options","message":""#, refusal, r#"","data":[]}"#))
        }
        Refusal::NoSnapshot { .. } | Refusal::Busy => (JSON, body::with_text(r#"{"Information":""#, refusal, r#""}"#)),
        Refusal::Unsupported { .. } | Refusal::Damaged { .. } => {
            (JSON, body::with_text(r#"{"Error Message":""#, refusal, r#""}"#))
        }
        _ => (JSON, body::with_text(r#"{"Error Message":"Invalid API call: "#, refusal, r#""}"#)),
    }
}
