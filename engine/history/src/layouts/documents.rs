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
use std::borrow::Cow;
use std::io::Read;
use std::iter;
use std::path::Path;
use std::sync::Arc;

/// A vendor's response.
#[derive(Debug)]
pub(super) struct DocumentLayout {
    /// The steps that lead to the rows: a key, `a|b` for either, `*` for each item of a list, `{}` for each value of an
    /// object, `[a]` for each place of lists side by side, one of which is `a`.
    rows: &'static [&'static str],
    /// Columns whose one value stands outside of the rows, with the keys that lead to it.
    shared: &'static [(&'static str, &'static [&'static str])],
    /// What its columns mean; a dot leads into an object.
    pub(super) layout: Layout,
}

/// Every layout of a response.
pub(super) const DOCUMENTS: [&DocumentLayout; 10] =
    [&CBOE, &TRADIER, &YAHOO, &ORATS, &MASSIVE, &ALPHA_VANTAGE, &INTRINIO, &ALPACA, &MARKETDATA, &SCHWAB];

/// Layouts of responses whose rows people also hold as a table, each object of a response a row.
pub(super) const TABLES: [&Layout; 6] =
    [&YAHOO.layout, &ORATS.layout, &MASSIVE.layout, &ALPHA_VANTAGE.layout, &INTRINIO.layout, &MARKETDATA.layout];

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
            may("volume", Volume),
            may("openInterest", OpenInterest),
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

/// Alpaca's snapshots, by contract; they have no price of the underlying.
static ALPACA: DocumentLayout = DocumentLayout {
    rows: &["snapshots", "{}"],
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

/// MarketData.app's chains, which are columns.
static MARKETDATA: DocumentLayout = DocumentLayout {
    rows: &["[optionSymbol]"],
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

/// Chains of Schwab, formerly TD Ameritrade: maps of expirations (`2026-12-18:23`) and strikes. Volatilities are in
/// percent.
static SCHWAB: DocumentLayout = DocumentLayout {
    rows: &["callExpDateMap|putExpDateMap", "{}", "{}"],
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

/// Names of what is no value of a row: the first key of an object on the way to it, the date that such a key begins
/// with, and Schwab's volatility as a decimal.
const KEY: &str = "key";
const EXPIRY: &str = "expiry";
const VOLATILITY: &str = "decimalVolatility";
/// What Schwab writes for a number that is missing.
const SCHWAB_NONE: f64 = -999.0;

/// A row of a document, where it stands.
#[derive(Clone, Copy)]
struct DocumentRow<'v> {
    of: &'v Value,
    key: Option<&'v str>,
    /// The place in lists side by side.
    place: Option<usize>,
}

impl<'v> DocumentRow<'v> {
    fn new(of: &'v Value) -> Self {
        Self { of, key: None, place: None }
    }

    /// What stands under a name; a dot leads into an object.
    fn value(&self, name: &str) -> Option<&'v Value> {
        let found = name.split('.').try_fold(self.of, |value, key| value.get(key))?;
        self.place.map_or(Some(found), |place| found.get(place))
    }

    /// True if the row has a column, whatever stands there.
    fn has(&self, name: &str) -> bool {
        if matches!(name, KEY | EXPIRY) { self.key.is_some() } else { self.value(name).is_some() }
    }

    /// The columns of lists side by side, with their lengths, the shortest first.
    fn lengths(&self, names: &[&'static str]) -> Vec<(&'static str, usize)> {
        let length = |name: &&'static str| Some((*name, self.of.get(name)?.as_array()?.len()));
        let mut lengths: Vec<_> = names.iter().filter_map(length).collect();
        lengths.sort_by_key(|(_, length)| *length);
        lengths
    }

    /// The text of a column, unless it is none.
    fn text(&self, name: &str) -> Option<Cow<'v, str>> {
        match name {
            KEY => self.key.map(Cow::Borrowed),
            EXPIRY => self.key.and_then(|key| key.split(':').next()).map(Cow::Borrowed),
            VOLATILITY => {
                let percent = self.value("volatility")?.as_f64().filter(|percent| *percent != SCHWAB_NONE)?;
                // as many digits as were printed: a division leaves more
                let text = format!("{:.8}", percent / 100.0);
                Some(Cow::Owned(text.trim_end_matches('0').to_owned()))
            }
            _ => text_of(self.value(name)?),
        }
    }
}

/// Reads every row of a response, which so many bytes were unpacked to.
///
/// # Errors
/// It is too large, is no JSON, is of no known layout, or has columns of unequal length.
pub(super) fn read(
    file: &Path,
    from: impl Read,
    packed: u64,
    facts: &Facts<'_>,
    quotes: &mut Quotes<'_, '_>,
    report: &mut Report,
) -> Result<(), LayoutError> {
    let most = limits::grown(packed).min(limits::JSON_TREE_BYTES.most as u64);
    let too_large = || LayoutError::Unreadable(FeedError::TooLarge { file: file.to_path_buf() });
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| unreadable(file, e.kind()))?;
    if bytes.len() as u64 > most || tree_bytes(&bytes) > limits::JSON_TREE_MEMORY.most as u64 {
        return Err(too_large());
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let document: Value = serde_json::from_slice(bytes)
        .map_err(|error| LayoutError::NotJson { file: file.to_path_buf(), problem: error.to_string() })?;
    let first = |path| found(DocumentRow::new(&document), path).next();
    let fits = |of: &&&DocumentLayout| {
        let has = |row: DocumentRow<'_>| of.layout.columns.iter().all(|column| !column.must || row.has(column.names));
        facts.accepts(&of.layout) && first(of.rows).is_some_and(has)
    };
    let unknown = || LayoutError::UnknownDocument { file: file.to_path_buf() };
    let of = DOCUMENTS.iter().find(fits).ok_or_else(unknown)?;
    let mut shared: Vec<(&str, Cow<'_, str>)> =
        of.shared.iter().filter_map(|(name, path)| Some((*name, text_of(first(path)?.of)?))).collect();
    if of.layout.name == CBOE.layout.name {
        shared = cboe_shared(file, bytes, &document, facts);
    }
    // an optional column that the first row lacks is none of this document
    let stands = |name: &str| first(of.rows).is_some_and(|row| row.text(name).is_some());
    let has = |name: &str| shared.iter().any(|(own, _)| *own == name) || stands(name);
    let own = of.layout.columns.iter().filter(|column| column.must || has(column.names)).map(|column| column.names);
    let shown = of.layout.shown.iter().flatten().copied().filter(|name| !name.is_empty());
    let names: Vec<&str> = own.chain(shown).collect();
    if let Some(row) = first(of.rows).filter(|row| row.place.is_some())
        && let [short, .., long] = *row.lengths(&names)
        && short.1 != long.1
    {
        return Err(LayoutError::Uneven { file: file.to_path_buf(), columns: [short, long] });
    }
    let header: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    quotes.begin(file, Plan::of(file, &header, &[&of.layout], &ColumnMap::default(), &[])?)?;
    let place = Arc::new(file.to_path_buf());
    for (line, row) in (1..).zip(found(DocumentRow::new(&document), of.rows)) {
        let shared_or_own = |name: &&str| {
            let shared = shared.iter().find(|(own, _)| own == name).map(|(_, text)| Cow::Borrowed(&**text));
            shared.or_else(|| row.text(name))
        };
        report.records += 1;
        let cells = DocumentCells(names.iter().map(shared_or_own).collect());
        if let Err((field, reason)) = quotes.row(&cells) {
            let value = quotes.value(&cells, field);
            report.refuse(Refused { file: Arc::clone(&place), line, field, reason, value });
        }
    }
    Ok(())
}

/// The values of a row in the order of the columns.
struct DocumentCells<'v>(Vec<Option<Cow<'v, str>>>);

impl Cells for DocumentCells<'_> {
    fn cell(&self, at: usize) -> Result<Cell<'_>, Reason> {
        self.0.get(at).and_then(Option::as_deref).map_or(Ok(Cell::Empty), |text| Cell::of_text(text.as_bytes()))
    }
}

/// The text of a value, unless it is none.
fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) if number.as_f64() != Some(SCHWAB_NONE) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}

/// Rows at the end of a path through a document; of a list, its items. Nothing is made of them before they are asked
/// for.
fn found<'v>(row: DocumentRow<'v>, path: &'static [&'static str]) -> Box<dyn Iterator<Item = DocumentRow<'v>> + 'v> {
    let items = move |of: &'v Value| of.as_array().into_iter().flatten().map(move |of| DocumentRow { of, ..row });
    let Some((step, rest)) = path.split_first() else {
        return if row.of.is_array() { Box::new(items(row.of)) } else { Box::new(iter::once(row)) };
    };
    if let Some(column) = step.strip_prefix('[').and_then(|step| step.strip_suffix(']')) {
        let rows = row.of.get(column).and_then(Value::as_array).map_or(0, Vec::len);
        return Box::new((0..rows).map(move |place| DocumentRow { place: Some(place), ..row }));
    }
    match *step {
        "*" => Box::new(items(row.of).flat_map(|row| found(row, rest))),
        "{}" => {
            let values = row.of.as_object().into_iter().flatten();
            let values = values.map(move |(key, of)| DocumentRow { of, key: row.key.or(Some(key)), ..row });
            Box::new(values.flat_map(|row| found(row, rest)))
        }
        keys => {
            let values = keys.split('|').filter_map(move |key| row.of.get(key));
            Box::new(values.flat_map(move |of| found(DocumentRow { of, ..row }, rest)))
        }
    }
}

/// How much memory the tree of a document may take: a value what one of a list takes, an object the least that a map
/// takes. What stands in texts counts as well: it is little.
fn tree_bytes(document: &[u8]) -> u64 {
    let bytes = |byte: &u8| match byte {
        b'{' => 640,
        b',' | b'[' => 32,
        _ => 0,
    };
    document.iter().map(bytes).sum()
}

/// Name, time and price of the underlying of a response of Cboe, by the reader of the feed: its times are of several
/// clocks.
fn cboe_shared(
    file: &Path,
    bytes: &[u8],
    document: &Value,
    facts: &Facts<'_>,
) -> Vec<(&'static str, Cow<'static, str>)> {
    let name = ["/data/symbol", "/symbol"].iter().find_map(|path| document.pointer(path)?.as_str());
    let underlying = name.and_then(Symbol::parse_underlying);
    let Some(underlying) = underlying else { return Vec::new() };
    let (batch, _) = parse_cboe(file, bytes, underlying, facts.calendar());
    let time = batch.quotes.first().map(|quote| ("timestamp", quote.ts.to_string()));
    let spot = batch.spots.first().map(|spot| ("current_price", spot.price.to_string()));
    let symbol = Some(("symbol", underlying.as_str().to_owned()));
    [symbol, time, spot].into_iter().flatten().map(|(name, text)| (name, text.into())).collect()
}
