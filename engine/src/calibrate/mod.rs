//! Quotes to a forward, a borrow rate and three volatilities per contract, one (root, expiry) at a time.
//! Never: smoothing, a symbol, a clock.

pub mod borrow;
pub mod clean;
pub mod forward;
pub mod implied;
#[cfg(test)]
pub(crate) mod testing;

use crate::contract::{ForwardBasis, Right, Style};
use crate::kernel::american::Pricer;
use crate::kernel::dividends::Dividend;

/// Everything that one (root, expiry) is calibrated from.
#[derive(Clone, Copy, Debug)]
pub struct SliceInput<'a> {
    /// Exercise style.
    pub style: Style,
    /// Where the forward comes from.
    pub basis: ForwardBasis,
    /// Years to settlement, positive.
    pub t: f64,
    /// Spot, currency per share.
    pub s: f64,
    /// Continuously compounded rate to settlement.
    pub r: f64,
    /// Dividends with ex-dates in (0, t], ascending.
    pub divs: &'a [Dividend],
    /// Strikes by row, thousandths; ascending, call before put.
    pub strike_milli: &'a [u32],
    /// Call or put, by row.
    pub right: &'a [Right],
    /// Bid by row, currency per share; NaN: none.
    pub bid: &'a [f64],
    /// Ask by row; NaN: none.
    pub ask: &'a [f64],
    /// Age of each quote against the newest of the chain, seconds.
    pub age_s: &'a [f64],
}

/// Why a quote was not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Drop {
    /// Bid above ask.
    Crossed,
    /// No bid: the ask still bounds the volatility.
    NoBid,
    /// No ask.
    NoAsk,
    /// Older than the limit against the rest of its chain.
    Stale,
    /// Wider than the limit.
    TooWide,
    /// Below the least or above the greatest value that any volatility gives.
    NoArbitrage,
    /// Far from what the rest of the expiry agrees on.
    Outlier,
}

impl Drop {
    /// Every reason, in the order of its counts.
    pub const ALL: [Self; 7] =
        [Self::Crossed, Self::NoBid, Self::NoAsk, Self::Stale, Self::TooWide, Self::NoArbitrage, Self::Outlier];

    /// The name in `/health`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crossed => "crossed",
            Self::NoBid => "no_bid",
            Self::NoAsk => "no_ask",
            Self::Stale => "stale",
            Self::TooWide => "too_wide",
            Self::NoArbitrage => "no_arbitrage",
            Self::Outlier => "outlier",
        }
    }
}

/// What a slice keeps from one pass to the next: it only saves work, the result does not depend on it beyond the
/// tolerances of the solvers.
#[derive(Debug, Default)]
pub struct SliceState {
    /// Pricers of calls and puts: boundary and premium tables, valid while the spot moves.
    pub pricers: Option<[Pricer; 2]>,
    /// Forward and borrow of the last pass.
    pub last: Option<(f64, f64)>,
    /// Volatility of the last pass, by row.
    pub sigma: Vec<f64>,
}

/// The calibrated slice.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// Forward, currency per share.
    pub fwd: f64,
    /// Its standard error, currency per share; NaN where there was no parity pair.
    pub fwd_error: f64,
    /// Implied borrow rate, decimal, as published.
    pub borr: f64,
    /// The underlying price to publish: S, or F where parity is the basis.
    pub und: f64,
    /// The spot that `fwd` and `borr` imply together; values are computed from it, so that F is kept exactly.
    pub s: f64,
    /// Volatility at the bid, by row; NaN: none.
    pub vol_bid: Vec<f64>,
    /// Volatility at the mid, by row; NaN: none.
    pub vol_mid: Vec<f64>,
    /// Volatility at the ask, by row; NaN: none.
    pub vol_ask: Vec<f64>,
    /// Whether the row's quote may support the curve.
    pub used: Vec<bool>,
    /// Count of dropped quotes by [`Drop`].
    pub dropped: [u32; Drop::ALL.len()],
}

/// What one slice says of its forward alone, before its neighbours are heard.
#[must_use]
pub fn fit_parity(input: &SliceInput, quotes: &clean::Quotes, _state: &mut SliceState) -> forward::Parity {
    let pairs = forward::pair_quotes(input.strike_milli, input.right, quotes);
    let df = (-input.r * input.t).exp();
    forward::fit_forward(&pairs, df, input.t)
}
