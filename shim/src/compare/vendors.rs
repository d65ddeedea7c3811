//! Layouts of vendors' files, one table each: columns and their meanings. The conventions of their Greeks are not
//! listed here; they are found from the numbers ([`engine::compare::Conventions`]). Never: code that reads.

use Meaning::{
    Ask, AskSize, Bid, BidSize, CallAsk, CallBid, CallVol, Day, DayMillis, Delta, Expiry, Gamma, Millis, Osi, PutAsk,
    PutBid, Rho, Right, Root, Seconds, Spot, Strike, StrikeMilli, Theta, Time, Underlying, Vega, Vol,
};

/// Meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// OSI symbol.
    Osi,
    Underlying,
    Root,
    Expiry,
    Strike,
    /// Strike in thousandths.
    StrikeMilli,
    Right,
    Bid,
    Ask,
    BidSize,
    AskSize,
    /// A time with an offset, or of the Eastern clock.
    Time,
    /// Milliseconds since 1970.
    Millis,
    /// Seconds since 1970.
    Seconds,
    /// A date without a time.
    Day,
    /// Milliseconds since midnight, Eastern.
    DayMillis,
    /// Price of the underlying.
    Spot,
    Vol,
    Delta,
    Gamma,
    Vega,
    Theta,
    Rho,
    /// Rows of call and put together: the Greeks are the call's.
    CallBid,
    CallAsk,
    PutBid,
    PutAsk,
    CallVol,
}

/// Where the rows of a file are.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowsPath {
    /// Separated text with a header.
    Text,
    /// JSON: the keys that lead to the lists, `*` for each item of a list, `a|b` for either.
    Json(&'static [&'static str]),
}

/// A vendor's file.
#[derive(Debug)]
pub(super) struct VendorLayout {
    pub(super) name: &'static str,
    pub(super) place: RowsPath,
    pub(super) columns: &'static [(&'static str, Meaning)],
    /// Of a JSON document: where numbers stand that all rows share.
    pub(super) shared: &'static [(&'static [&'static str], Meaning)],
    /// A date without a time is so many minutes before the close of it.
    pub(super) before_close: i64,
}

/// Every layout. A header or document is of the first of which it has all that is needed; those with more of their own
/// stand first.
pub(super) const LAYOUTS: [&VendorLayout; 8] =
    [&CBOE, &TRADIER, &YAHOO, &ORATS_API, &ORATS, &THETADATA_V2, &THETADATA_V3, &OWN];

/// Cboe's delayed quotes.
static CBOE: VendorLayout = VendorLayout {
    name: "cboe",
    place: RowsPath::Json(&["data", "options"]),
    columns: &[
        ("option", Osi),
        ("bid", Bid),
        ("ask", Ask),
        ("bid_size", BidSize),
        ("ask_size", AskSize),
        ("iv", Vol),
        ("delta", Delta),
        ("gamma", Gamma),
        ("vega", Vega),
        ("theta", Theta),
        ("rho", Rho),
    ],
    shared: &[],
    before_close: 0,
};

/// Tradier's chains with Greeks; they have no price of the underlying.
static TRADIER: VendorLayout = VendorLayout {
    name: "tradier",
    place: RowsPath::Json(&["options", "option"]),
    columns: &[
        ("symbol", Osi),
        ("underlying", Underlying),
        ("bid", Bid),
        ("ask", Ask),
        ("bidsize", BidSize),
        ("asksize", AskSize),
        ("bid_date", Millis),
        ("greeks.mid_iv", Vol),
        ("greeks.delta", Delta),
        ("greeks.gamma", Gamma),
        ("greeks.vega", Vega),
        ("greeks.theta", Theta),
        ("greeks.rho", Rho),
    ],
    shared: &[],
    before_close: 0,
};

/// Yahoo's chains: volatilities and no Greeks.
static YAHOO: VendorLayout = VendorLayout {
    name: "yahoo",
    place: RowsPath::Json(&["optionChain", "result", "*", "options", "*", "calls|puts"]),
    columns: &[("contractSymbol", Osi), ("bid", Bid), ("ask", Ask), ("impliedVolatility", Vol)],
    shared: &[
        (&["optionChain", "result", "*", "quote", "regularMarketPrice"], Spot),
        (&["optionChain", "result", "*", "quote", "regularMarketTime"], Seconds),
    ],
    before_close: 0,
};

/// ORATS' strikes by its API.
static ORATS_API: VendorLayout = VendorLayout {
    name: "orats-strikes",
    place: RowsPath::Json(&["data"]),
    columns: &[
        ("ticker", Underlying),
        ("tradeDate", Day),
        ("expirDate", Expiry),
        ("strike", Strike),
        ("stockPrice", Spot),
        ("callBidPrice", CallBid),
        ("callAskPrice", CallAsk),
        ("putBidPrice", PutBid),
        ("putAskPrice", PutAsk),
        ("smvVol", CallVol),
        ("delta", Delta),
        ("gamma", Gamma),
        ("vega", Vega),
        ("theta", Theta),
        ("rho", Rho),
    ],
    shared: &[],
    before_close: 14,
};

/// ORATS' strikes of a day as files.
static ORATS: VendorLayout = VendorLayout {
    name: "orats-files",
    place: RowsPath::Text,
    columns: &[
        ("ticker", Underlying),
        ("trade_date", Day),
        ("expirDate", Expiry),
        ("strike", Strike),
        ("stkPx", Spot),
        ("cBidPx", CallBid),
        ("cAskPx", CallAsk),
        ("pBidPx", PutBid),
        ("pAskPx", PutAsk),
        ("smoothSmvVol", CallVol),
        ("delta", Delta),
        ("gamma", Gamma),
        ("vega", Vega),
        ("theta", Theta),
        ("rho", Rho),
    ],
    shared: &[],
    before_close: 14,
};

/// ThetaData's Greeks of version 2: strikes in thousandths, milliseconds of a day.
static THETADATA_V2: VendorLayout = VendorLayout {
    name: "thetadata-v2",
    place: RowsPath::Text,
    columns: &[
        ("root", Root),
        ("expiration", Expiry),
        ("strike", StrikeMilli),
        ("right", Right),
        ("date", Day),
        ("ms_of_day", DayMillis),
        ("bid", Bid),
        ("ask", Ask),
        ("underlying_price", Spot),
        ("implied_vol", Vol),
        ("delta", Delta),
        ("gamma", Gamma),
        ("vega", Vega),
        ("theta", Theta),
        ("rho", Rho),
    ],
    shared: &[],
    before_close: 0,
};

/// ThetaData's Greeks of version 3.
static THETADATA_V3: VendorLayout = VendorLayout {
    name: "thetadata-v3",
    place: RowsPath::Text,
    columns: &[
        ("symbol", Root),
        ("expiration", Expiry),
        ("strike", Strike),
        ("right", Right),
        ("timestamp", Time),
        ("bid", Bid),
        ("ask", Ask),
        ("underlying_price", Spot),
        ("implied_vol", Vol),
        ("delta", Delta),
        ("gamma", Gamma),
        ("vega", Vega),
        ("theta", Theta),
        ("rho", Rho),
    ],
    shared: &[],
    before_close: 0,
};

/// Our own chains of recorded quotes with a vendor's columns beside them.
static OWN: VendorLayout = VendorLayout {
    name: "greeksd",
    place: RowsPath::Text,
    columns: &[
        ("quote_time", Time),
        ("underlying", Underlying),
        ("und_price", Spot),
        ("root", Root),
        ("expiry", Expiry),
        ("right", Right),
        ("strike", Strike),
        ("bid", Bid),
        ("ask", Ask),
        ("bid_size", BidSize),
        ("ask_size", AskSize),
        ("vendor_iv", Vol),
        ("vendor_delta", Delta),
        ("vendor_gamma", Gamma),
        ("vendor_vega", Vega),
        ("vendor_theta", Theta),
        ("vendor_rho", Rho),
    ],
    shared: &[],
    before_close: 0,
};

impl Meaning {
    /// True if the column is optional.
    pub(super) const fn is_optional(self) -> bool {
        matches!(self, BidSize | AskSize | Gamma | Vega | Theta | Rho | Millis | Underlying | Spot)
    }

    /// Where a Greek stands among those that are compared.
    pub(super) const fn greek(self) -> Option<usize> {
        match self {
            Delta => Some(0),
            Gamma => Some(1),
            Vega => Some(2),
            Theta => Some(3),
            Rho => Some(4),
            _ => None,
        }
    }
}
