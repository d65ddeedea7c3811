//! Quotes to a forward, a borrow rate and three volatilities per contract, one (root, expiry) at a time.
//! Never: smoothing, a symbol, a clock.

pub mod carry;
pub mod chain;
pub mod clean;
pub mod consistent;
pub mod forward;
pub mod implied;
pub mod premium;
mod remembered;
mod search;
pub mod spot;

use crate::contract::{ForwardBasis, Right, Style};
use crate::early::{Depth, Early, Valuation};
use crate::kernel::dividends::{Dividend, Terms};
pub use crate::store::dropped::Drop;
use crate::store::ladder::Ladder;
use clean::Quotes;
use consistent::StrikeOrder;
use forward::{Pair, Parity};
use remembered::RememberedVol;

/// Everything that one (root, expiry) is calibrated from.
#[derive(Clone, Copy, Debug)]
pub struct SliceInput<'a> {
    /// Exercise style.
    pub style: Style,
    /// How well early exercise is to be known.
    pub depth: Depth,
    /// Where the forward comes from.
    pub basis: ForwardBasis,
    /// Years to settlement, positive.
    pub t: f64,
    /// Spot, currency per share.
    pub s: f64,
    /// Continuously compounded rate to settlement.
    pub r: f64,
    /// Years to the same clock time on the next trading day.
    pub step: f64,
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

impl SliceInput<'_> {
    /// Strike of a row, currency per share.
    #[must_use]
    pub fn strike(&self, row: usize) -> f64 {
        f64::from(self.strike_milli[row]) / 1000.0
    }

    /// What values of this expiry are computed on, from a spot and the terms of its carry.
    #[must_use]
    pub fn valuation<'t>(&self, s: f64, terms: &'t Terms) -> Valuation<'t> {
        Valuation { style: self.style, depth: self.depth, s, terms, step: self.step }
    }
}

/// What a slice keeps from one pass to the next. It saves work: the numbers depend on it only within the bounds of
/// [`Early`] and of the solvers' tolerances.
#[derive(Debug, Default)]
pub struct SliceState {
    /// Its strikes.
    pub ladder: Ladder,
    /// What early exercise adds; empty for a European slice.
    pub early: Early,
    /// Volatility of the last curve by strike, padded; empty: none yet.
    pub sigma: Vec<f64>,
    /// Forward and borrow of the last pass.
    pub last: Option<(f64, f64)>,
    /// The last refined forward less the one that early exercise was not taken out of, currency per share.
    shift: f64,
    /// Volatilities that the last pass had to search for, or to remember.
    searched: Vec<RememberedVol>,
}

impl SliceState {
    /// Brings the ladder up to date with a listing.
    fn list(&mut self, input: &SliceInput) {
        if !self.ladder.is_of(input.strike_milli, input.right) {
            self.ladder = Ladder::new(input.strike_milli, input.right);
            self.early.forget();
            self.sigma.clear();
            self.searched.clear();
        }
    }
}

/// One slice on its way through a pass. Its vectors are used again in the next one.
#[derive(Debug, Default)]
pub struct Draft {
    /// Time, rates and dividends; the borrow rate as far as it is known.
    terms: Terms,
    /// Cleaned quotes.
    quotes: Quotes,
    /// Strikes where call and put both have two sides.
    pairs: Vec<Pair>,
    /// What they say of the forward.
    pub parity: Parity,
    premium: premium::PremiumScratch,
    order: StrikeOrder,
    sorted: Vec<(f64, f64)>,
    found: Vec<RememberedVol>,
    open: Vec<search::Open>,
    /// Blocks whose early exercise was taken anew on the way.
    pub refreshed: usize,
    /// The result.
    pub out: Calibrated,
}

impl Draft {
    /// What the slice is valued on, once its volatilities are implied: time, rates and dividends; and the result.
    pub fn finished(&mut self) -> (&Terms, &mut Calibrated) {
        (&self.terms, &mut self.out)
    }
}

/// The calibrated slice.
#[derive(Clone, Debug, Default)]
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
    /// Why the row's quote may not.
    pub fault: Vec<Option<Drop>>,
    /// The forward found could not be one, and is missing.
    pub refused: bool,
    /// Volatilities that were looked for in a bracket, because what is remembered of early exercise did not reach.
    pub searched: u32,
}

#[cfg(test)]
pub(crate) mod testing;
