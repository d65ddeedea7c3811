//! Responses of vendors' HTTP interfaces saved as JSON: each layout names where its rows stand and what its columns
//! mean, and the rows go the way of any table. Never: a request, a conversion of a number.

use super::cells::{Cell, Cells};
use super::columns::Meaning::*;
use super::columns::{AT_CLOSE, Clock, Layout, PLAIN, Rows, may, must};
use super::facts::Facts;
use super::header::Plan;
use super::options::ColumnMap;
use super::packed::unreadable;
use super::refusal::LayoutError;
use super::sink::{Quotes, Sink};
use feeds::cboe::parse_cboe;
use jiff::civil::date;
use kernel::contract::Symbol;
use kernel::error::{FeedError, Reason, Refused};
use kernel::limits;
use kernel::report::Report;
use serde_json::Value;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// A vendor's response.
#[derive(Debug)]
pub(super) struct DocumentLayout {
    /// The keys that lead to the rows: `*` for each item of a list, `a|b` for either.
    rows: &'static [&'static str],
    /// Columns whose one value stands outside of the rows, with the keys that lead to it.
    shared: &'static [(&'static str, &'static [&'static str])],
    /// What its columns mean; a dot leads into an object.
    pub(super) layout: Layout,
}

/// Every layout of a response.
pub(super) const DOCUMENTS: [&DocumentLayout; 10] =
    [&CBOE, &TRADIER, &YAHOO, &ORATS, &MASSIVE, &ALPHA_VANTAGE, &INTRINIO, &ALPACA, &MARKETDATA, &SCHWAB];

/// Cboe's delayed quotes. Name, time and price of the underlying are those that the reader of the feed finds.
static CBOE: DocumentLayout = DocumentLayout {
    rows: &["data", "options"],
    shared: &[],
    layout: Layout {
        name: "cboe",
        columns: &[
            must("option", Contract),
            must("bid", Bid),
            must("ask", Ask),
            may("bid_size", BidSize),
            may("ask_size", AskSize),
            may("symbol", Underlying),
            may("timestamp", QuoteTime),
            may("current_price", UndPrice),
        ],
        shown: &[["iv", "delta", "gamma", "vega", "theta", "rho"]],
        ..PLAIN
    },
};

/// Tradier's chains with Greeks; they have no price of the underlying.
static TRADIER: DocumentLayout = DocumentLayout {
    rows: &["options", "option"],
    shared: &[],
    layout: Layout {
        name: "tradier",
        columns: &[
            must("symbol", Contract),
            must("bid", Bid),
            must("ask", Ask),
            may("underlying", Underlying),
            may("bidsize", BidSize),
            may("asksize", AskSize),
            may("bid_date", UnixTime),
        ],
        shown: &[["greeks.mid_iv", "greeks.delta", "greeks.gamma", "greeks.vega", "greeks.theta", "greeks.rho"]],
        ..PLAIN
    },
};

/// Yahoo's chains: volatilities and no Greeks.
static YAHOO: DocumentLayout = DocumentLayout {
    rows: &["optionChain", "result", "*", "options", "*", "calls|puts"],
    shared: &[
        ("regularMarketPrice", &["optionChain", "result", "*", "quote", "regularMarketPrice"]),
        ("regularMarketTime", &["optionChain", "result", "*", "quote", "regularMarketTime"]),
    ],
    layout: Layout {
        name: "yahoo",
        columns: &[
            must("contractSymbol", Contract),
            must("bid", Bid),
            must("ask", Ask),
            may("regularMarketPrice", UndPrice),
            may("regularMarketTime", UnixTime),
        ],
        shown: &[["impliedVolatility", "", "", "", "", ""]],
        ..PLAIN
    },
};

/// ORATS' strikes by its API: 14 minutes before the close, the Greeks are the call's.
static ORATS: DocumentLayout = DocumentLayout {
    rows: &["data"],
    shared: &[],
    layout: Layout {
        name: "orats-strikes",
        rows: Rows::CallAndPut,
        clock: Clock::BeforeClose { minutes: 14, early_since: date(1990, 1, 1) },
        columns: &[
            must("ticker", Underlying),
            must("tradeDate", QuoteTime),
            must("expirDate", Expiry),
            must("strike", Strike),
            must("callBidPrice", CallBid),
            must("callAskPrice", CallAsk),
            must("putBidPrice", PutBid),
            must("putAskPrice", PutAsk),
            may("stockPrice", ShareOrExpiryPrice),
        ],
        shown: &[["smvVol", "delta", "gamma", "vega", "theta", "rho"]],
        ..PLAIN
    },
};

/// Massive's (once Polygon's) snapshots of chains.
static MASSIVE: DocumentLayout = DocumentLayout {
    rows: &["results"],
    shared: &[],
    layout: Layout {
        name: "massive",
        columns: &[
            must("details.ticker", Contract),
            must("last_quote.bid", Bid),
            must("last_quote.ask", Ask),
            may("last_quote.bid_size", BidSize),
            may("last_quote.ask_size", AskSize),
            may("last_quote.last_updated", UnixTime),
            may("underlying_asset.price", UndPrice),
        ],
        shown: &[["implied_volatility", "greeks.delta", "greeks.gamma", "greeks.vega", "greeks.theta", ""]],
        ..PLAIN
    },
};

/// Alpha Vantage's chains, of now or of a day; they have no price of the underlying.
static ALPHA_VANTAGE: DocumentLayout = DocumentLayout {
    rows: &["data"],
    shared: &[],
    layout: Layout {
        name: "alpha-vantage",
        clock: AT_CLOSE,
        columns: &[
            must("contractID", Contract),
            must("bid", Bid),
            must("ask", Ask),
            may("symbol", Underlying),
            may("date", QuoteTime),
            may("bid_size", BidSize),
            may("ask_size", AskSize),
        ],
        shown: &[["implied_volatility", "delta", "gamma", "vega", "theta", "rho"]],
        ..PLAIN
    },
};

/// Intrinio's realtime chains.
static INTRINIO: DocumentLayout = DocumentLayout {
    rows: &["chain"],
    shared: &[],
    layout: Layout {
        name: "intrinio",
        columns: &[
            must("option.code", Contract),
            must("price.bid", Bid),
            must("price.ask", Ask),
            may("option.ticker", Underlying),
            may("price.bid_size", BidSize),
            may("price.ask_size", AskSize),
            may("price.bid_timestamp", QuoteTime),
            may("stats.underlying_price", UndPrice),
        ],
        shown: &[["stats.implied_volatility", "stats.delta", "stats.gamma", "stats.vega", "stats.theta", ""]],
        ..PLAIN
    },
};

/// Alpaca's snapshots, by contract ([`by_row`]); they have no price of the underlying.
static ALPACA: DocumentLayout = DocumentLayout {
    rows: &["snapshots"],
    shared: &[],
    layout: Layout {
        name: "alpaca",
        columns: &[
            must(KEY, Contract),
            must("latestQuote.bp", Bid),
            must("latestQuote.ap", Ask),
            may("latestQuote.bs", BidSize),
            may("latestQuote.as", AskSize),
            may("latestQuote.t", QuoteTime),
        ],
        shown: &[["impliedVolatility", "greeks.delta", "greeks.gamma", "greeks.vega", "greeks.theta", "greeks.rho"]],
        ..PLAIN
    },
};

/// MarketData.app's chains, which are columns ([`by_row`]).
static MARKETDATA: DocumentLayout = DocumentLayout {
    rows: &[ROWS],
    shared: &[],
    layout: Layout {
        name: "marketdata",
        columns: &[
            must("optionSymbol", Contract),
            must("bid", Bid),
            must("ask", Ask),
            may("underlying", Underlying),
            may("bidSize", BidSize),
            may("askSize", AskSize),
            may("updated", UnixTime),
            may("underlyingPrice", UndPrice),
        ],
        shown: &[["iv", "delta", "gamma", "vega", "theta", ""]],
        ..PLAIN
    },
};

/// Chains of Schwab, formerly TD Ameritrade: maps of expirations and strikes ([`by_row`]). Volatilities are in percent.
static SCHWAB: DocumentLayout = DocumentLayout {
    rows: &[ROWS],
    shared: &[("underlyingSymbol", &["symbol"]), ("underlyingPrice", &["underlyingPrice"])],
    layout: Layout {
        name: "schwab",
        columns: &[
            must(EXPIRY, Expiry),
            must("strikePrice", Strike),
            must("putCall", Right),
            must("bid", Bid),
            must("ask", Ask),
            may("underlyingSymbol", Underlying),
            may("underlyingPrice", UndPrice),
            may("optionRoot", Root),
            may("bidSize", BidSize),
            may("askSize", AskSize),
            may("quoteTimeInLong", UnixTime),
            may("totalVolume", Volume),
            may("openInterest", OpenInterest),
        ],
        shown: &[[VOLATILITY, "delta", "gamma", "vega", "theta", "rho"]],
        ..PLAIN
    },
};

/// The name of the key that an object stood under.
const KEY: &str = "key";
/// Where the rows of a document in columns are put.
const ROWS: &str = "rows";

/// Where the date of an expiration is put, and a volatility that was in percent.
const EXPIRY: &str = "expiry";
const VOLATILITY: &str = "decimalVolatility";
/// What Schwab writes for a number that is missing.
const SCHWAB_NONE: f64 = -999.0;

/// The contracts in Schwab's maps of expirations (`2026-12-18:23`) and strikes, each with its expiration and decimal
/// volatility; `None`: there is no such map.
fn of_maps(document: &Value) -> Option<Vec<Value>> {
    let maps = ["callExpDateMap", "putExpDateMap"].map(|name| document.get(name).and_then(Value::as_object));
    if maps.iter().all(Option::is_none) {
        return None;
    }
    let mut rows = Vec::new();
    for (key, strikes) in maps.into_iter().flatten().flatten() {
        let expiry = key.split(':').next().unwrap_or_default();
        let contracts = strikes.as_object().into_iter().flatten().filter_map(|(_, of)| of.as_array()).flatten();
        for contract in contracts.filter_map(Value::as_object) {
            let mut row = contract.clone();
            row.retain(|_, value| value.as_f64() != Some(SCHWAB_NONE));
            if let Some(percent) = row.get("volatility").and_then(Value::as_f64) {
                // as many digits as were printed: a division leaves more
                let text = format!("{:.8}", percent / 100.0);
                row.insert(VOLATILITY.to_owned(), Value::String(text.trim_end_matches('0').to_owned()));
            }
            row.insert(EXPIRY.to_owned(), Value::String(expiry.to_owned()));
            rows.push(Value::Object(row));
        }
    }
    Some(rows)
}

/// Makes a list of snapshots by contract, each with its key, and rows of columns and of maps.
fn by_row(mut document: Value) -> Value {
    if let Some(rows) = of_maps(&document) {
        document[ROWS] = Value::Array(rows);
    }
    if let Some(Value::Object(snapshots)) = document.get_mut("snapshots") {
        let with_key = |(key, value): (String, Value)| match value {
            Value::Object(mut of) => {
                of.insert(KEY.to_owned(), Value::String(key));
                Value::Object(of)
            }
            other => other,
        };
        let rows = std::mem::take(snapshots).into_iter().map(with_key).collect();
        document["snapshots"] = Value::Array(rows);
    }
    let columns: Vec<(String, Vec<Value>)> = match document.as_object() {
        Some(of) if of.get("optionSymbol").is_some_and(Value::is_array) => {
            of.iter().filter_map(|(name, column)| Some((name.clone(), column.as_array()?.clone()))).collect()
        }
        _ => return document,
    };
    let rows = columns.iter().map(|(_, column)| column.len()).max().unwrap_or(0);
    let row = |at: usize| {
        let cells = columns.iter().filter_map(|(name, column)| Some((name.clone(), column.get(at)?.clone())));
        Value::Object(cells.collect())
    };
    document[ROWS] = (0..rows).map(row).collect();
    document
}

/// Reads every row of a response.
///
/// # Errors
/// It is too large, is no JSON, or is of no known layout.
pub(super) fn read(
    file: &Path,
    from: impl Read,
    facts: &Facts<'_>,
    quotes: &mut Quotes<'_, '_>,
    report: &mut Report,
) -> Result<(), LayoutError> {
    let most = limits::JSON_TREE_BYTES.most as u64;
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| unreadable(file, e.kind()))?;
    if bytes.len() as u64 > most {
        return Err(LayoutError::Unreadable(FeedError::TooLarge { file: file.to_path_buf() }));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let document: Value = serde_json::from_slice(bytes)
        .map_err(|error| LayoutError::NotJson { file: file.to_path_buf(), problem: error.to_string() })?;
    let document = by_row(document);
    let fits = |of: &&&DocumentLayout| {
        let has = |row: &&Value| of.layout.columns.iter().all(|column| !column.must || at(row, column.names).is_some());
        facts.accepts(&of.layout) && found(&document, of.rows).first().is_some_and(has)
    };
    let unknown = || LayoutError::UnknownDocument { file: file.to_path_buf() };
    let of = DOCUMENTS.iter().find(fits).ok_or_else(unknown)?;
    let rows = found(&document, of.rows);
    let mut shared: Vec<(&str, String)> =
        of.shared.iter().filter_map(|(name, path)| Some((*name, text_of(found(&document, path).first()?)?))).collect();
    if of.layout.name == CBOE.layout.name {
        shared = cboe_shared(file, bytes, &document, facts);
    }
    // an optional column that the first row lacks is none of this document
    let stands = |name: &str| rows.first().is_some_and(|row| at(row, name).is_some_and(|value| !value.is_null()));
    let has = |name: &str| shared.iter().any(|(own, _)| *own == name) || stands(name);
    let own = of.layout.columns.iter().filter(|column| column.must || has(column.names)).map(|column| column.names);
    let shown = of.layout.shown.iter().flatten().copied().filter(|name| !name.is_empty());
    let names: Vec<&str> = own.chain(shown).collect();
    let header: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    quotes.begin(file, Plan::of(file, &header, &[&of.layout], &ColumnMap::default(), &[])?)?;
    let place = Arc::new(file.to_path_buf());
    for (line, row) in (1..).zip(rows) {
        let shared_or_own = |name: &&str| {
            let shared = shared.iter().find(|(own, _)| own == name).map(|(_, text)| text.clone());
            shared.or_else(|| text_of(at(row, name)?))
        };
        let cells = DocumentRow(names.iter().map(shared_or_own).collect());
        report.records += 1;
        if let Err((field, reason)) = quotes.row(&cells) {
            report.refuse(Refused { file: Arc::clone(&place), line, field, reason, value: None });
        }
    }
    Ok(())
}

/// The values of a row in the order of the columns.
struct DocumentRow(Vec<Option<String>>);

impl Cells for DocumentRow {
    fn cell(&self, at: usize) -> Result<Cell<'_>, Reason> {
        self.0.get(at).and_then(Option::as_deref).map_or(Ok(Cell::Empty), |text| Cell::of_text(text.as_bytes()))
    }
}

/// The value of a column.
fn at<'v>(row: &'v Value, name: &str) -> Option<&'v Value> {
    name.split('.').try_fold(row, |value, key| value.get(key))
}

/// The text of a value, unless it is none.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Values at the end of a path through a document; of a list, its items.
fn found<'v>(document: &'v Value, path: &[&str]) -> Vec<&'v Value> {
    let mut at = vec![document];
    for step in path {
        at = at
            .into_iter()
            .flat_map(|value| match *step {
                "*" => value.as_array().into_iter().flatten().collect::<Vec<_>>(),
                keys => keys.split('|').filter_map(|key| value.get(key)).collect(),
            })
            .collect();
    }
    at.into_iter()
        .flat_map(|value| value.as_array().map_or_else(|| vec![value], |items| items.iter().collect()))
        .collect()
}

/// Name, time and price of the underlying of a response of Cboe, by the reader of the feed: its times are of several
/// clocks.
fn cboe_shared(file: &Path, bytes: &[u8], document: &Value, facts: &Facts<'_>) -> Vec<(&'static str, String)> {
    let name = ["/data/symbol", "/symbol"].iter().find_map(|path| document.pointer(path)?.as_str());
    let underlying = name.and_then(|name| Symbol::parse_underlying(name.trim_start_matches(['_', '^'])));
    let Some(underlying) = underlying else { return Vec::new() };
    let (batch, _) = parse_cboe(file, bytes, underlying, facts.calendar());
    let time = batch.quotes.first().map(|quote| ("timestamp", quote.ts.to_string()));
    let spot = batch.spots.first().map(|spot| ("current_price", spot.price.to_string()));
    [Some(("symbol", underlying.as_str().to_owned())), time, spot].into_iter().flatten().collect()
}
