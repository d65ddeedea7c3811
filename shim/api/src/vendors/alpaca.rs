//! Option snapshots of Alpaca's market data: `GET /v1beta1/options/snapshots/<symbol>` for a chain and
//! `GET /v1beta1/options/snapshots?symbols=` for contracts by name. Pages of contracts ordered by symbol; a token is
//! the last symbol of a page, and the client repeats its filters.

use super::body::JSON;
use super::columns::{or_null, quoted_price, quoted_size};
use super::layer::{Ending, Layer, Reply, Serve, Wrap};
use super::parameter::{A_ROOT, FORMAT};
use crate::cursor;
use crate::query::parameter::{
    AnyText, FiniteNumber, IsoDate, ItemList, OneWord, Param, Parameters, ReadAs, WholeNumber, parameters,
};
use crate::query::{Query, Rights, parse_date};
use crate::refusal::Refusal;
use crate::rows::clock::{Stamp, When};
use crate::rows::field::{Field, QuoteNumber, Text, Unpriced, close, open, own, row_key, text, time, zero};
use crate::rows::frame::{Format, json_text};
use crate::rows::layout::Around;
use crate::selection::Selection;
use crate::selection::filters::VendorFilters;
use crate::selection::order::{Page, Sort};
use engine::store::columns::{Col, Unit};
use jiff::Timestamp;
use kernel::contract::{ContractKey, Symbol};
use std::borrow::Cow;

/// The chain of an underlying.
pub const CHAIN: Layer = layer("/v1beta1/options/snapshots/{symbol}", OF_CHAINS, Serve::Rows(parse_chain));
/// Contracts by name.
pub const CONTRACTS: Layer = layer(
    "/v1beta1/options/snapshots",
    &[&SYMBOLS, &UPDATED_SINCE, &FORMAT, &LIMIT, &PAGE_TOKEN],
    Serve::Rows(parse_contracts),
);
/// All other paths of this vendor: refused.
pub const REST: Layer = layer("/v1beta1/{rest*}", &[], Serve::Text(no_endpoint));

const fn layer(path: &'static str, parameters: Parameters, serve: Serve) -> Layer {
    Layer { name: "alpaca", path, parameters, is_strict: false, serve, refuse, headers: &[] }
}

parameters! {
    OF_CHAINS:
    const ROOT_SYMBOL: Param<ReadAs<Symbol>> = Param::new("root_symbol", A_ROOT, "Only this root");
    const TYPE: Param<OneWord<Rights>> = Param::new("type", OneWord(TYPES), "call or put");
    const STRIKE_PRICE_GTE: Param<FiniteNumber> = Param::new("strike_price_gte", FiniteNumber, "Minimum strike");
    const STRIKE_PRICE_LTE: Param<FiniteNumber> = Param::new("strike_price_lte", FiniteNumber, "Maximum strike");
    const EXPIRATION_DATE: Param<IsoDate> = Param::new("expiration_date", IsoDate, "Expiration date");
    const EXPIRATION_DATE_GTE: Param<IsoDate> = Param::new("expiration_date_gte", IsoDate, "First expiration");
    const EXPIRATION_DATE_LTE: Param<IsoDate> = Param::new("expiration_date_lte", IsoDate, "Last expiration");
    const UPDATED_SINCE: Param<ReadAs<Timestamp>> = Param::new(
        "updated_since",
        ReadAs { read: read_since, wants: "a date or an instant" },
        "Only contracts valued at or after this time",
    );
    use FORMAT;
    const LIMIT: Param<WholeNumber> =
        Param::new("limit", WholeNumber { least: 1, most: LIMIT_MAX }, "Contracts per page [default: 100]");
    const PAGE_TOKEN: Param<AnyText> = Param::new("page_token", AnyText, "next_page_token of the previous page");
}

const SYMBOLS: Param<ItemList> =
    Param::new("symbols", ItemList, "Contracts, OSI symbols, comma-separated").required("SPY261218C00720000");

/// Fields of one snapshot. It has all Greeks or none.
pub const FIELDS: &[Field] = &[
    row_key("symbol", Text::OsiCompact),
    open("greeks", Unpriced::Null),
    or_null("delta", own(Col::Delta), Unit::Plain),
    or_null("gamma", own(Col::Gamma), Unit::Plain),
    or_null("theta", own(Col::Theta), Unit::PerDay),
    or_null("vega", own(Col::Vega), Unit::PerPercent),
    or_null("rho", own(Col::Rho), Unit::PerPercent),
    close(),
    or_null("impliedVolatility", own(Col::SvcVol), Unit::Plain),
    open("latestTrade", Unpriced::Whole),
    time("t", When::Snapshot, Stamp::UtcIsoMillis),
    text("x", Text::Fixed("")),
    zero("p"),
    zero("s"),
    text("c", Text::Fixed("")),
    close(),
    open("latestQuote", Unpriced::Whole),
    time("t", When::Quote, Stamp::UtcIsoMillis),
    text("bx", Text::Fixed("")),
    quoted_price("bp", None, QuoteNumber::Bid),
    quoted_size("bs", None, QuoteNumber::BidSize),
    text("ax", Text::Fixed("")),
    quoted_price("ap", None, QuoteNumber::Ask),
    quoted_size("as", None, QuoteNumber::AskSize),
    text("c", Text::Fixed("")),
    close(),
];

const LIMIT_DEFAULT: i64 = 100;
const LIMIT_MAX: i64 = 1000;
const SYMBOLS_MAX: usize = 100;
const TYPES: &[(&str, Rights)] = &[("call", Rights::Call), ("put", Rights::Put)];

fn parse_chain(query: &Query<'_>) -> Result<Reply, Refusal> {
    let name = query.segment("symbol");
    let symbol = Symbol::parse_underlying(name).ok_or_else(|| Refusal::invalid(UNDERLYING, name, "a symbol"))?;
    let root = query.get(&ROOT_SYMBOL)?;
    let mut selection = Selection::named(symbol);
    selection.roots = root.into_iter().collect();
    selection.rights = query.get(&TYPE)?.unwrap_or_default();
    selection.strike.least = query.get(&STRIKE_PRICE_GTE)?;
    selection.strike.most = query.get(&STRIKE_PRICE_LTE)?;
    selection.expiries = query.get(&EXPIRATION_DATE)?.map(|date| vec![date]);
    selection.expiry_min = query.get(&EXPIRATION_DATE_GTE)?;
    selection.expiry_max = query.get(&EXPIRATION_DATE_LTE)?;
    reply(query, selection, name)
}

fn parse_contracts(query: &Query<'_>) -> Result<Reply, Refusal> {
    let contract = |text| ContractKey::parse_osi(text).ok_or_else(|| Refusal::invalid(CONTRACT, text, "a contract"));
    let contracts = query.items(&SYMBOLS).map(contract).collect::<Result<Vec<_>, _>>()?;
    match contracts.len() {
        0 => Err(Refusal::missing(SYMBOLS.name())),
        n if n > SYMBOLS_MAX => Err(Refusal::invalid(SYMBOLS.name(), &n.to_string(), "up to 100 contracts")),
        _ => reply(query, Selection { contracts, ..Selection::default() }, "contracts"),
    }
}

fn reply(query: &Query<'_>, selection: Selection, name: &str) -> Result<Reply, Refusal> {
    let valued_since = query.get(&UPDATED_SINCE)?;
    let format = query.get(&FORMAT)?.unwrap_or_default();
    let limit = query.get(&LIMIT)?.or((format == Format::Json).then_some(LIMIT_DEFAULT));
    let after = query.text(&PAGE_TOKEN).map(|token| cursor::parse_token(PAGE_TOKEN.name(), token)).transpose()?;
    Ok(Reply {
        selection,
        filters: VendorFilters { valued_since, ..VendorFilters::default() },
        page: Page { sort: Sort::Ticker, after, limit: limit.and_then(|n| usize::try_from(n).ok()), ..Page::default() },
        format,
        fields: FIELDS.to_vec(),
        around: Wrap::Of(around),
        title: format!("{} · option snapshots", name.to_uppercase()),
        ..Reply::default()
    })
}

/// A date or an instant, in which a `+` may have become a space on the way.
fn read_since(text: &str) -> Option<Timestamp> {
    let instant = match parse_date(text) {
        Some(date) => format!("{date}T00:00:00Z"),
        None => text.replace(' ', "+"),
    };
    instant.parse().ok()
}

fn around(ending: &Ending<'_>) -> Around {
    let token = ending.next.map_or("null".to_owned(), |last| format!("\"{}\"", cursor::token(&last)));
    Around { open: Cow::Borrowed("{\"snapshots\":{"), close: Cow::Owned(format!("}},\"next_page_token\":{token}}}")) }
}

fn no_endpoint(_: &Query<'_>) -> Result<String, Refusal> {
    Err(Refusal::UnknownPath)
}

const UNDERLYING: &str = "underlying symbol";
const CONTRACT: &str = "symbol";

/// `{"message":"…"}`, in the vendor's words where they are known.
fn refuse(refusal: &Refusal) -> (&'static str, String) {
    let message = match refusal {
        Refusal::Invalid { parameter, value, .. } if [UNDERLYING, CONTRACT].contains(&parameter.as_str()) => {
            format!("invalid {parameter}: {value}")
        }
        Refusal::Invalid { parameter, value, .. }
            if parameter == LIMIT.name() && value.parse().is_ok_and(|n: i64| n > LIMIT_MAX) =>
        {
            format!("invalid limit: larger than the allowed maximum of {LIMIT_MAX}")
        }
        Refusal::Invalid { .. } => format!("invalid {refusal}"),
        Refusal::Missing { parameter } => format!("invalid {parameter}: required"),
        Refusal::UnknownPath => "endpoint not found".to_owned(),
        _ => refusal.to_string(),
    };
    (JSON, format!("{{\"message\":{}}}", json_text(&message)))
}
