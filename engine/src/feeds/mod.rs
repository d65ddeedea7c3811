//! What a feed delivers: records, whatever format they came in. One file per source; each turns bytes into records.
//! Never: a computation, a column.

use crate::contract::Symbol;
use jiff::{Timestamp, civil::Date};

pub use crate::contract::ContractKey;

/// A two-sided quote of one contract. NaN: that side is not quoted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuoteRecord {
    /// The quote's own time.
    pub ts: Timestamp,
    /// Underlying symbol.
    pub underlying: Symbol,
    /// Which contract.
    pub contract: ContractKey,
    /// Bid, currency per share; 0 or NaN: none.
    pub bid: f64,
    /// Ask, currency per share; 0 or NaN: none.
    pub ask: f64,
    /// Contracts at the bid; NaN: not recorded.
    pub bid_size: f64,
    /// Contracts at the ask; NaN: not recorded.
    pub ask_size: f64,
}

/// The price of an underlying.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpotRecord {
    /// The price's own time.
    pub ts: Timestamp,
    /// Underlying symbol.
    pub underlying: Symbol,
    /// Currency per share.
    pub price: f64,
}

/// A cash dividend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DividendRecord {
    /// Underlying symbol.
    pub underlying: Symbol,
    /// Ex-dividend date.
    pub ex_date: Date,
    /// Currency per share.
    pub amount: f64,
}

/// One point of a discount curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateRecord {
    /// The date that the curve belongs to.
    pub date: Date,
    /// Days from that date.
    pub tenor_days: f64,
    /// Continuously compounded, per year.
    pub rate: f64,
}
