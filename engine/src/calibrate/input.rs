//! Inputs of the calibration of one expiry.

use crate::early::{EarlyExercise, EarlyWork, Valuation};
use crate::store::ladder::Ladder;
use kernel::american::SharedBoundaries;
use kernel::contract::{ForwardBasis, Right, Style, strike_of};
use kernel::dividends::{Dividend, Terms};
use kernel::quality::Quality;

/// Everything that one (root, expiry) is calibrated from.
#[derive(Clone, Copy, Debug)]
pub struct SliceInput<'a> {
    /// Exercise style.
    pub style: Style,
    /// Accuracy of early exercise.
    pub quality: Quality,
    /// Source of the forward.
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
    /// True if an override excludes the quote, by row; empty: no exclusions.
    pub excluded: &'a [bool],
    /// Overrides of forward and borrow.
    pub forced: ForcedCarry,
    /// Shares of the underlying behind a quoted price of an adjusted root; `None`: a standard root. With shares,
    /// prices, strikes, dividends and spot are those of that many shares, and the quotes have no influence on the name.
    pub shares: Option<f64>,
    /// Shift added to the curve's volatilities before values are computed, per √year: 0.01 is a point.
    pub vol_shift: f64,
    /// Exercise boundaries that names share; no number depends on who solved them.
    pub shared: &'a SharedBoundaries,
    /// Nanoseconds since any instant, to time stages by; no number depends on it.
    pub clock: fn() -> u64,
}

/// Overrides of forward and borrow; `None`: implied by quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ForcedCarry {
    /// Forward, currency per share.
    pub fwd: Option<f64>,
    /// Borrow, continuously compounded, per year.
    pub borrow: Option<f64>,
}

impl ForcedCarry {
    /// True if forward or borrow is overridden.
    #[must_use]
    pub const fn is_any(&self) -> bool {
        self.fwd.is_some() || self.borrow.is_some()
    }
}

impl SliceInput<'_> {
    /// Factor from the price of the underlying to prices of this slice.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.shares.unwrap_or(1.0)
    }

    /// Strike of a row, currency per share.
    #[must_use]
    pub fn strike(&self, row: usize) -> f64 {
        strike_of(self.strike_milli[row])
    }

    /// Returns the inputs of the values of this expiry, from a spot and the terms of its carry.
    #[must_use]
    pub fn valuation<'t>(&self, s: f64, terms: &'t Terms) -> Valuation<'t> {
        Valuation { style: self.style, quality: self.quality, s, terms, step: self.step }
    }

    /// Brings early exercise up to date, as [`EarlyExercise::update`]; returns the work done.
    pub fn update_early(
        &self,
        early: &mut EarlyExercise,
        here: &Valuation<'_>,
        ladder: &Ladder,
        sigma: &[f64],
    ) -> EarlyWork {
        let began = (self.clock)();
        let done = early.update(self.shared, here, ladder, sigma);
        EarlyWork { nanos: (self.clock)() - began, ..done }
    }
}
