//! Option snapshots of Alpaca's market data: `GET /v1beta1/options/snapshots/<symbol>` for a chain and
//! `GET /v1beta1/options/snapshots?symbols=` for contracts by name. Pages of contracts ordered by symbol; a token is the
//! last symbol of a page, and the client repeats its filters.

use super::body::JSON;
use super::columns::{or_null, quoted_price, quoted_size};
use super::layer::{Ending, Layer, Reply, Serve, Wrap};
use crate::cursor;
use crate::query::{Query, Rights};
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

/// A chain.
pub const CHAIN: Layer = layer("/v1beta1/options/snapshots/{symbol}", Serve::Rows(parse_chain));
/// Contracts by name.
pub const CONTRACTS: Layer = layer("/v1beta1/options/snapshots", Serve::Rows(parse_contracts));
/// Everything else of this vendor.
pub const REST: Layer = layer("/v1beta1/{rest*}", Serve::Text(no_endpoint));

const fn layer(path: &'static str, serve: Serve) -> Layer {
    Layer { name: "alpaca", path, serve, refuse, headers: &[] }
}

/// One snapshot. The Greeks are there together or not at all.
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

const LIMIT: i64 = 100;
const LIMIT_MAX: i64 = 1000;
const SYMBOLS_MAX: usize = 100;
const TYPES: &[(&str, Rights)] = &[("call", Rights::Call), ("put", Rights::Put)];

fn parse_chain(query: &Query<'_>) -> Result<Reply, Refusal> {
    let name = query.segment("symbol");
    let symbol = Symbol::parse_underlying(name).ok_or_else(|| Refusal::invalid(UNDERLYING, name, "a symbol"))?;
    let root = query
        .get("root_symbol")
        .map(|root| Symbol::parse_underlying(root).ok_or_else(|| Refusal::invalid("root_symbol", root, "a symbol")));
    let mut selection = Selection::named(symbol);
    selection.roots = root.transpose()?.map(Symbol::bare).into_iter().collect();
    selection.rights = query.rights("type", TYPES)?;
    selection.strike.least = query.number("strike_price_gte")?;
    selection.strike.most = query.number("strike_price_lte")?;
    selection.expiries = query.date("expiration_date")?.map(|date| vec![date]);
    selection.expiry_min = query.date("expiration_date_gte")?;
    selection.expiry_max = query.date("expiration_date_lte")?;
    reply(query, selection, name)
}

fn parse_contracts(query: &Query<'_>) -> Result<Reply, Refusal> {
    let contract = |text| ContractKey::parse_osi(text).ok_or_else(|| Refusal::invalid(CONTRACT, text, "a contract"));
    let contracts = query.list("symbols").map(contract).collect::<Result<Vec<_>, _>>()?;
    match contracts.len() {
        0 => Err(Refusal::missing("symbols")),
        n if n > SYMBOLS_MAX => Err(Refusal::invalid("symbols", &n.to_string(), "up to 100 contracts")),
        _ => reply(query, Selection { contracts, ..Selection::default() }, "contracts"),
    }
}

fn reply(query: &Query<'_>, selection: Selection, name: &str) -> Result<Reply, Refusal> {
    let valued_since = query.get("updated_since").map(parse_since).transpose()?;
    let format = query.word("format", Format::WORDS)?.unwrap_or_default();
    let limit = query.integer("limit", 1..=LIMIT_MAX)?.or((format == Format::Json).then_some(LIMIT));
    let after = query.get("page_token").map(|token| cursor::parse_token("page_token", token)).transpose()?;
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
fn parse_since(text: &str) -> Result<Timestamp, Refusal> {
    let instant = match crate::query::parse_date(text) {
        Some(date) => format!("{date}T00:00:00Z"),
        None => text.replace(' ', "+"),
    };
    instant.parse().map_err(|_| Refusal::invalid("updated_since", text, "a date or an instant"))
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
            if parameter == "limit" && value.parse().is_ok_and(|n: i64| n > LIMIT_MAX) =>
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
