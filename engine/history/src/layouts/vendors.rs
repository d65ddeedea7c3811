//! The layouts that are known, each a table. The first of them that a header fits is taken. Never: code that reads.

use super::columns::Meaning::*;
use super::columns::{AT_CLOSE, Clock, Layout, PLAIN, Rows, ShownColumns, may, must};
use jiff::civil::date;

/// Every layout of quotes. Those with more columns of their own stand before those with fewer.
pub(super) const LAYOUTS: [&Layout; 15] = [
    &CBOE_QUOTE_TABLE,
    &DATASHOP_EOD,
    &DATASHOP_EOD_CLOSE,
    &DATASHOP_INTERVALS,
    &ORATS,
    &OPTIONSDX,
    &HISTORICAL_OPTION_DATA,
    &OPTIONS_DATASET,
    &DOLTHUB,
    &THETADATA_V2,
    &THETADATA_V3,
    &DATABENTO,
    &OWN,
    &OWN_SYMBOLS,
    &OWN_STRIKES,
];

/// Cboe's quote table, the CSV file of its page of delayed quotes, old and new; what stands before its header are
/// columns too (`quote_table.rs`).
static CBOE_QUOTE_TABLE: Layout = Layout {
    name: "cboe-quote-table",
    rows: Rows::CallAndPut,
    columns: &[
        must("Expiration Date", Expiry),
        must("Strike", Strike),
        must("Calls", CallContract),
        must("Bid", CallBid),
        must("Ask", CallAsk),
        must("Puts", PutContract),
        must("Bid.1", PutBid),
        must("Ask.1", PutAsk),
        may("quote_time", QuoteTime),
        may("und_price", UndPrice),
        may("und_bid", UndBid),
        may("und_ask", UndAsk),
        may("Volume|Vol", CallVolume),
        may("Open Interest|Open Int", CallOpenInterest),
        may("Volume.1|Vol.1", PutVolume),
        may("Open Interest.1|Open Int.1", PutOpenInterest),
    ],
    shown: &[["IV", "Delta", "Gamma", "", "", ""], ["IV.1", "Delta.1", "Gamma.1", "", "", ""]],
    ..PLAIN
};

/// Cboe DataShop, end-of-day summary, with or without calculated columns: the snapshot of 15:45, which is the one of
/// 12:45 on early closes since 2020-02-05; before that date nothing was quoted at 15:45 of such a day, and what stands
/// there is of the close.
static DATASHOP_EOD: Layout = Layout {
    name: "cboe-datashop-eod",
    rows: Rows::Contract,
    clock: Clock::BeforeClose { minutes: 15, early_since: date(2020, 2, 5) },
    columns: &[
        must("underlying_symbol", Underlying),
        must("quote_date", QuoteTime),
        must("root", Root),
        must("expiration", Expiry),
        must("strike", Strike),
        must("option_type", Right),
        must("bid_1545", Bid),
        must("ask_1545", Ask),
        may("bid_size_1545", BidSize),
        may("ask_size_1545", AskSize),
        may("underlying_bid_1545", UndBid),
        may("underlying_ask_1545", UndAsk),
        may("active_underlying_price_1545", UndPrice),
        may("implied_underlying_price_1545", ExpiryPrice),
        may("trade_volume", Volume),
        may("open_interest", OpenInterest),
    ],
    otherwise: Some(&DATASHOP_EOD_CLOSE),
    shown: &[["implied_volatility_1545", "delta_1545", "gamma_1545", "vega_1545", "theta_1545", "rho_1545"]],
    ..PLAIN
};

/// DataShop's end-of-day files without the snapshot before the close: the quotes of the close.
static DATASHOP_EOD_CLOSE: Layout = Layout {
    name: "cboe-datashop-eod-close",
    rows: Rows::Contract,
    clock: AT_CLOSE,
    columns: &[
        must("underlying_symbol", Underlying),
        must("quote_date", QuoteTime),
        must("root", Root),
        must("expiration", Expiry),
        must("strike", Strike),
        must("option_type", Right),
        must("bid_eod", Bid),
        must("ask_eod", Ask),
        may("bid_size_eod", BidSize),
        may("ask_size_eod", AskSize),
        may("underlying_bid_eod", UndBid),
        may("underlying_ask_eod", UndAsk),
        may("trade_volume", Volume),
        may("open_interest", OpenInterest),
    ],
    ..PLAIN
};

/// Cboe DataShop, option intervals of a minute to a day; exports of LiveVol have further columns.
static DATASHOP_INTERVALS: Layout = Layout {
    name: "cboe-datashop-intervals",
    rows: Rows::Contract,
    clock: Clock::Told,
    columns: &[
        must("underlying_symbol", Underlying),
        must("quote_datetime", QuoteTime),
        must("root", Root),
        must("expiration", Expiry),
        must("strike", Strike),
        must("option_type", Right),
        must("bid", Bid),
        must("ask", Ask),
        may("bid_size", BidSize),
        may("ask_size", AskSize),
        may("underlying_bid", UndBid),
        may("underlying_ask", UndAsk),
        may("active_underlying_price", UndPrice),
        may("implied_underlying_price", ExpiryPrice),
        may("trade_volume", Volume),
        may("open_interest", OpenInterest),
    ],
    shown: &[["implied_volatility", "delta", "gamma", "vega", "theta", "rho"]],
    ..PLAIN
};

/// ORATS, strikes of a day: about 14 minutes before the close. `stkPx` of an index is what the options of the row's
/// expiry say; `spot_px` cannot be used.
static ORATS: Layout = Layout {
    name: "orats-strikes",
    rows: Rows::CallAndPut,
    clock: Clock::BeforeClose { minutes: 14, early_since: date(1990, 1, 1) },
    columns: &[
        must("ticker", Underlying),
        must("trade_date", QuoteTime),
        must("stkPx", ShareOrExpiryPrice),
        must("expirDate", Expiry),
        must("strike", Strike),
        must("cBidPx", CallBid),
        must("cAskPx", CallAsk),
        must("pBidPx", PutBid),
        must("pAskPx", PutAsk),
        may("cOpra", CallContract),
        may("pOpra", PutContract),
        may("cVolu", CallVolume),
        may("cOi", CallOpenInterest),
        may("pVolu", PutVolume),
        may("pOi", PutOpenInterest),
    ],
    // the Greeks are the call's
    shown: &[["smoothSmvVol", "delta", "gamma", "vega", "theta", "rho"]],
    former_name: "orats-files",
    ..PLAIN
};

/// OptionsDX, end of day or intervals: neither the underlying nor a root.
static OPTIONSDX: Layout = Layout {
    name: "optionsdx",
    rows: Rows::CallAndPut,
    clock: Clock::Told,
    columns: &[
        must("QUOTE_UNIXTIME", UnixTime),
        must("UNDERLYING_LAST", UndPrice),
        must("EXPIRE_DATE", Expiry),
        must("STRIKE", Strike),
        must("C_BID", CallBid),
        must("C_ASK", CallAsk),
        must("P_BID", PutBid),
        must("P_ASK", PutAsk),
        may("C_SIZE", CallSizes),
        may("P_SIZE", PutSizes),
        may("C_VOLUME", CallVolume),
        may("P_VOLUME", PutVolume),
    ],
    shown: &[
        ["C_IV", "C_DELTA", "C_GAMMA", "C_VEGA", "C_THETA", "C_RHO"],
        ["P_IV", "P_DELTA", "P_GAMMA", "P_VEGA", "P_THETA", "P_RHO"],
    ],
    ..PLAIN
};

/// HistoricalOptionData (HOPTD), L1 to L3, of all times.
static HISTORICAL_OPTION_DATA: Layout = Layout {
    name: "historicaloptiondata",
    rows: Rows::Contract,
    clock: AT_CLOSE,
    columns: &[
        must("UnderlyingSymbol|underlying", Underlying),
        must("UnderlyingPrice|underlying_last", UndPrice),
        must("OptionSymbol|OptionRoot", Contract),
        must("Type", Right),
        must("Expiration", Expiry),
        must("DataDate|quotedate", QuoteTime),
        must("Strike", Strike),
        must("Bid", Bid),
        must("Ask", Ask),
        may("Volume", Volume),
        may("OpenInterest", OpenInterest),
    ],
    shown: &[["IV|impliedvol", "Delta", "Gamma", "Vega", "Theta", ""]],
    ..PLAIN
};

/// The open sets of P. Dubach (options-dataset-hist, options-data), end of day; prices of underlyings in a second file.
static OPTIONS_DATASET: Layout = Layout {
    name: "options-dataset",
    rows: Rows::Contract,
    clock: AT_CLOSE,
    columns: &[
        must("contract_id", Contract),
        must("symbol", Underlying),
        must("expiration", Expiry),
        must("strike", Strike),
        must("type", Right),
        must("date", QuoteTime),
        must("bid", Bid),
        must("ask", Ask),
        may("bid_size", BidSize),
        may("ask_size", AskSize),
        may("underlying_price", UndPrice),
        may("volume", Volume),
        may("open_interest", OpenInterest),
    ],
    shown: &[["implied_volatility", "delta", "gamma", "vega", "theta", "rho"]],
    ..PLAIN
};

/// DoltHub, `post-no-preference/options`, table `option_chain`: end of day, neither root nor price of the underlying.
static DOLTHUB: Layout = Layout {
    name: "dolthub-option-chain",
    rows: Rows::Contract,
    clock: AT_CLOSE,
    columns: &[
        must("date", QuoteTime),
        must("act_symbol", Underlying),
        must("expiration", Expiry),
        must("strike", Strike),
        must("call_put", Right),
        must("bid", Bid),
        must("ask", Ask),
    ],
    shown: &[["vol", "delta", "gamma", "vega", "theta", "rho"]],
    ..PLAIN
};

/// Columns of a vendor's numbers beside our own columns.
const OWN_SHOWN: ShownColumns =
    ["vendor_iv", "vendor_delta", "vendor_gamma", "vendor_vega", "vendor_theta", "vendor_rho"];

/// Columns of ThetaData's numbers.
const THETADATA_SHOWN: ShownColumns = ["implied_vol", "delta", "gamma", "vega", "theta", "rho"];

/// ThetaData's Greeks of version 2: strikes in thousandths, milliseconds of a day.
static THETADATA_V2: Layout = Layout {
    name: "thetadata-v2",
    columns: &[
        must("root", Root),
        must("expiration", Expiry),
        must("strike", Strike),
        must("right", Right),
        must("date", QuoteTime),
        must("ms_of_day", DayMillis),
        must("bid", Bid),
        must("ask", Ask),
        may("underlying_price", UndPrice),
    ],
    shown: &[THETADATA_SHOWN],
    strike_divisor: 1000.0,
    ..PLAIN
};

/// ThetaData's Greeks of version 3.
static THETADATA_V3: Layout = Layout {
    name: "thetadata-v3",
    columns: &[
        must("symbol", Root),
        must("expiration", Expiry),
        must("strike", Strike),
        must("right", Right),
        must("timestamp", QuoteTime),
        must("bid", Bid),
        must("ask", Ask),
        may("underlying_price", UndPrice),
    ],
    shown: &[THETADATA_SHOWN],
    ..PLAIN
};

/// Databento's best bids and offers (CBBO, MBP-1) with symbols; the clock is that of its own receipt.
static DATABENTO: Layout = Layout {
    name: "databento",
    columns: &[
        must("symbol", Contract),
        must("ts_recv", QuoteTime),
        must("bid_px_00", Bid),
        must("ask_px_00", Ask),
        may("bid_sz_00", BidSize),
        may("ask_sz_00", AskSize),
    ],
    ..PLAIN
};

/// Our own columns, a contract a row; a date alone is its close.
static OWN: Layout = Layout {
    name: "greeksd",
    rows: Rows::Contract,
    clock: AT_CLOSE,
    columns: &[
        must("quote_time", QuoteTime),
        must("underlying", Underlying),
        must("expiry", Expiry),
        must("strike", Strike),
        must("right", Right),
        must("bid", Bid),
        must("ask", Ask),
        may("root", Root),
        may("osym", Contract),
        may("und_price", UndPrice),
        may("und_bid", UndBid),
        may("und_ask", UndAsk),
        may("bid_size", BidSize),
        may("ask_size", AskSize),
        may("volume", Volume),
        may("open_interest|oi", OpenInterest),
    ],
    shown: &[OWN_SHOWN],
    ..PLAIN
};

/// Our own columns, the contract by its symbol.
static OWN_SYMBOLS: Layout = Layout {
    name: "greeksd-symbols",
    rows: Rows::Contract,
    clock: AT_CLOSE,
    columns: &[
        must("quote_time", QuoteTime),
        must("osym", Contract),
        must("bid", Bid),
        must("ask", Ask),
        may("underlying", Underlying),
        may("und_price", UndPrice),
        may("und_bid", UndBid),
        may("und_ask", UndAsk),
        may("bid_size", BidSize),
        may("ask_size", AskSize),
        may("volume", Volume),
        may("open_interest|oi", OpenInterest),
    ],
    shown: &[OWN_SHOWN],
    ..PLAIN
};

/// Our own columns, a strike a row.
static OWN_STRIKES: Layout = Layout {
    name: "greeksd-strikes",
    rows: Rows::CallAndPut,
    clock: AT_CLOSE,
    columns: &[
        must("quote_time", QuoteTime),
        must("underlying", Underlying),
        must("expiry", Expiry),
        must("strike", Strike),
        must("call_bid", CallBid),
        must("call_ask", CallAsk),
        must("put_bid", PutBid),
        must("put_ask", PutAsk),
        may("root", Root),
        may("und_price", UndPrice),
        may("und_bid", UndBid),
        may("und_ask", UndAsk),
        may("call_osym", CallContract),
        may("put_osym", PutContract),
        may("call_bid_size", CallBidSize),
        may("call_ask_size", CallAskSize),
        may("put_bid_size", PutBidSize),
        may("put_ask_size", PutAskSize),
        may("call_volume", CallVolume),
        may("call_open_interest", CallOpenInterest),
        may("put_volume", PutVolume),
        may("put_open_interest", PutOpenInterest),
    ],
    ..PLAIN
};

/// Prices of underlyings at the close, beside quotes that have none. Not adjusted: strikes are not, either.
pub(super) static PRICES: Layout = Layout {
    name: "prices",
    rows: Rows::Price,
    clock: AT_CLOSE,
    columns: &[
        must("date|quote_date", QuoteTime),
        must("close", UndPrice),
        may("symbol|underlying|ticker|act_symbol", Underlying),
    ],
    ..PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_layout_hides_another() {
        for (at, later) in LAYOUTS.iter().enumerate() {
            for earlier in &LAYOUTS[..at] {
                // a file with the columns of `later` and no others is not taken for `earlier`
                let has = |names: &str| {
                    let own = later.columns.iter().filter(|column| column.must).flat_map(|c| c.names.split('|'));
                    own.into_iter().any(|name| names.split('|').any(|other| other.eq_ignore_ascii_case(name)))
                };
                let taken = earlier.columns.iter().filter(|column| column.must).all(|column| has(column.names));
                assert!(!taken, "{} is read as {}", later.name, earlier.name);
            }
        }
    }

    #[test]
    fn every_layout_is_in_the_documents() {
        let page = include_str!("../../../../docs/history/layouts.md");
        for layout in LAYOUTS {
            assert!(page.contains(&format!("`{}`", layout.name)), "docs/history/layouts.md lacks {}", layout.name);
        }
    }
}
