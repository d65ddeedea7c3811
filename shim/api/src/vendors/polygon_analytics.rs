//! Massive's Greeks of past days: `GET /options/v1/analytics`, a row for each contract and day, with the inputs that
//! its values were computed from. Everything is one page.

use super::columns::or_null;
use super::layer::{Ending, Layer, Reply, Serve, Wrap};
use super::parameter::FORMAT;
use super::polygon::{head, layer, parse_underlying};
use crate::past::moment::AsOf;
use crate::past::span::{Pace, PastSpan};
use crate::past::{Lacking, PastMoments, PastQuestion, SHOWS_THE_PRESENT};
use crate::query::Query;
use crate::query::parameter::{IsoDate, Param, ReadAs, ReadEach, parameters};
use crate::refusal::Refusal;
use crate::rows::field::{Field, SliceNumber, Text, null, own, slice, strike, text};
use crate::rows::layout::Around;
use crate::selection::Selection;
use engine::store::columns::{Col, Unit};
use kernel::calendar::shift::ShiftDate;
use kernel::contract::{ContractKey, Symbol};
use std::borrow::Cow;

/// Greeks of past days.
pub const ANALYTICS: Layer = layer("/options/v1/analytics", PARAMETERS, Serve::Rows(parse));

parameters! {
    PARAMETERS:
    const TICKER: Param<ReadAs<ContractKey>> = Param::new("ticker", A_TICKER, "Contract");
    const TICKERS: Param<ReadEach<ContractKey>> =
        Param::new("ticker.any_of", ReadEach(A_TICKER), "Contracts, comma-separated");
    const UNDERLYING: Param<ReadAs<Symbol>> =
        Param::new("underlying_ticker", AN_UNDERLYING, "Symbol of the underlying").such_as("SPY");
    const UNDERLYINGS: Param<ReadEach<Symbol>> =
        Param::new("underlying_ticker.any_of", ReadEach(AN_UNDERLYING), "Symbols of underlyings, comma-separated");
    const DATE: Param<IsoDate> = Param::new("date", IsoDate, "Date, for feeds with past data [default: the last day]");
    const DATE_GTE: Param<IsoDate> = Param::new("date.gte", IsoDate, "First date");
    const DATE_GT: Param<IsoDate> = Param::new("date.gt", IsoDate, "Dates after this");
    const DATE_LTE: Param<IsoDate> = Param::new("date.lte", IsoDate, "Last date");
    const DATE_LT: Param<IsoDate> = Param::new("date.lt", IsoDate, "Dates before this");
    use FORMAT;
}

const A_TICKER: ReadAs<ContractKey> =
    ReadAs { read: ContractKey::parse_osi, wants: "a contract such as O:KO261218C00070000" };
const AN_UNDERLYING: ReadAs<Symbol> = ReadAs { read: parse_underlying, wants: "a symbol" };

const FIELDS: &[Field] = &[
    text("ticker", Text::OsiAfter("O:")),
    text("underlying_ticker", Text::UnderlyingOrIndex("I:")),
    text("date", Text::Today),
    text("contract_type", Text::Right(["call", "put"])),
    text("exercise_style", Text::Style(["american", "european"])),
    text("expiration_date", Text::Expiry),
    strike("strike_price"),
    or_null("implied_volatility", own(Col::SvcVol), Unit::Plain),
    or_null("delta", own(Col::Delta), Unit::Plain),
    or_null("gamma", own(Col::Gamma), Unit::Plain),
    or_null("theta", own(Col::Theta), Unit::PerDay),
    or_null("vega", own(Col::Vega), Unit::PerPercent),
    or_null("rho", own(Col::Rho), Unit::PerPercent),
    or_null("underlying_price", slice(SliceNumber::UndPrice), Unit::Plain),
    // dividends are cash here, and in the forward
    null("dividend_yield"),
    or_null("risk_free_rate", slice(SliceNumber::DiscRate), Unit::Plain),
];

fn parse(query: &Query<'_>) -> Result<Reply, Refusal> {
    let contracts: Vec<ContractKey> =
        query.get(&TICKER)?.into_iter().chain(query.get(&TICKERS)?.unwrap_or_default()).collect();
    let mut underlyings: Vec<Symbol> =
        query.get(&UNDERLYING)?.into_iter().chain(query.get(&UNDERLYINGS)?.unwrap_or_default()).collect();
    if contracts.is_empty() && underlyings.is_empty() {
        return Err(Refusal::missing("ticker or underlying_ticker"));
    }
    // a contract with its underlying beside it selects that contract alone
    if !contracts.is_empty() {
        underlyings.clear();
    }
    let title = contracts.iter().map(|key| key.root).chain(underlyings.iter().copied()).next();
    Ok(Reply {
        selection: Selection { underlyings, contracts, ..Selection::default() },
        past: Some(past(query)?),
        format: query.get(&FORMAT)?.unwrap_or_default(),
        fields: FIELDS.to_vec(),
        around: Wrap::Of(around),
        title: title.map_or_else(String::new, |name| format!("{name} · analytics")),
        ..Reply::default()
    })
}

/// The requested day or range of days; without either, the last day.
fn past(query: &Query<'_>) -> Result<PastQuestion, Refusal> {
    let day = query.get(&DATE)?;
    let after = query.get(&DATE_GT)?.map(|date| date.plus_days(1));
    let before = query.get(&DATE_LT)?.map(|date| date.plus_days(-1));
    let first = [query.get(&DATE_GTE)?, after].into_iter().flatten().max();
    let last = [query.get(&DATE_LTE)?, before].into_iter().flatten().min();
    let moments = match (day, first, last) {
        (Some(_), None, None) | (None, None, None) => PastMoments::One(day.map_or(AsOf::Latest, AsOf::Day)),
        (Some(_), ..) => {
            return Err(Refusal::Conflict { reason: "date selects one day, date.gte and the like several" });
        }
        (None, first, last) => {
            let span = PastSpan::between(first.map_or(AsOf::Latest, AsOf::Day), last.map_or(AsOf::Latest, AsOf::Day));
            PastMoments::Many(PastSpan { every: Pace::Day, ..span })
        }
    };
    Ok(PastQuestion { moments, if_live: Some(SHOWS_THE_PRESENT), if_none: Lacking::refusal })
}

fn around(ending: &Ending<'_>) -> Around {
    Around { open: Cow::Owned(format!("{}[", head(ending.clock))), close: Cow::Borrowed("]}") }
}
