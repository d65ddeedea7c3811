//! The layouts of vendors' responses: where their rows stand, and what their columns mean. Never: code that reads.

use super::columns::Meaning::*;
use super::columns::{AT_CLOSE, Clock, Layout, PLAIN, Rows, may, must};
use jiff::civil::date;

/// A vendor's response.
#[derive(Debug)]
pub(super) struct DocumentLayout {
    /// The steps that lead to the rows: a key, `a|b` for either, `*` for each item of a list, `{}` for each value of an
    /// object, `[a]` for each place of lists side by side, one of which is `a`.
    pub(super) rows: &'static [&'static str],
    /// Columns whose one value stands outside of the rows, with the keys that lead to it.
    pub(super) shared: &'static [(&'static str, &'static [&'static str])],
    /// Meanings of the fields; a dot in a name leads into an object.
    pub(super) layout: Layout,
}

/// Every layout of a response.
pub(super) const DOCUMENTS: [&DocumentLayout; 10] =
    [&CBOE, &TRADIER, &YAHOO, &ORATS, &MASSIVE, &ALPHA_VANTAGE, &INTRINIO, &ALPACA, &MARKETDATA, &SCHWAB];

/// Layouts of responses whose rows people also hold as a table, each object of a response a row.
pub(super) const TABLES: [&Layout; 6] =
    [&YAHOO.layout, &ORATS.layout, &MASSIVE.layout, &ALPHA_VANTAGE.layout, &INTRINIO.layout, &MARKETDATA.layout];

/// The first key of an object on the way to a row.
pub(super) const KEY: &str = "key";
/// The date that the key of an expiration begins with.
pub(super) const EXPIRY: &str = "expiry";
/// Schwab's volatility as a decimal.
pub(super) const VOLATILITY: &str = "decimalVolatility";

/// Cboe's delayed quotes. Name, time and price of the underlying are those that the reader of the feed finds.
pub(super) static CBOE: DocumentLayout = DocumentLayout {
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
