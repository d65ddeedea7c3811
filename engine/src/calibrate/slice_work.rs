//! One expiry on its way through the steps: what it keeps from pass to pass, what the steps have found, the result.

use super::clean::Quotes;
use super::consistent::StrikeOrder;
use super::forward::{Pair, Parity};
use super::input::SliceInput;
use super::remembered::RememberedVol;
use super::search::Open;
use crate::early::{EarlyExercise, EarlyWork};
use crate::store::doubted::Doubt;
use crate::store::dropped::Drop;
use crate::store::ladder::Ladder;
use kernel::dividends::{Dividend, Terms};

/// One expiry on its way through a pass.
#[derive(Debug, Default)]
pub struct SliceWork {
    /// State between passes.
    pub state: SliceState,
    /// Results of the steps so far.
    pub draft: SliceScratch,
}

/// State of a slice between passes. It saves work: the numbers depend on it only within the bounds of
/// [`EarlyExercise`] and of the solvers' tolerances.
#[derive(Debug, Default)]
pub struct SliceState {
    /// Its strikes.
    pub ladder: Ladder,
    /// EarlyExercise exercise premiums; empty for a European slice.
    pub early: EarlyExercise,
    /// Volatility of the last curve by strike, padded; empty: none yet.
    pub sigma: Vec<f64>,
    /// Forward and borrow of the last pass.
    pub last: Option<(f64, f64)>,
    /// Borrow of the last pass as implied by quotes, without overrides.
    pub(super) quoted_borrow: Option<f64>,
    /// The last refined forward less the one that early exercise was not taken out of, currency per share.
    pub(super) shift: f64,
    /// Assumption that quotes of the name contradicted in the last pass.
    pub(super) doubted: Option<Doubt>,
    /// Pairs of the name that contradicted an assumption when no alternative was better; 0: none did.
    pub(super) in_vain: u32,
    /// Volatilities that the last pass had to search for, or to remember.
    pub(super) searched: Vec<RememberedVol>,
}

impl SliceState {
    /// Bytes held, itself among them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.ladder.bytes()
            + self.early.bytes()
            + self.sigma.capacity() * size_of::<f64>()
            + self.searched.capacity() * size_of::<RememberedVol>()
    }

    /// Forgets all but the listing.
    pub(super) fn forget(&mut self) {
        let ladder = core::mem::take(&mut self.ladder);
        *self = Self { ladder, ..Self::default() };
    }

    /// Forgets the carry of the last pass and what was searched at it. Tables stay: they hold at any carry nearby.
    pub fn settle(&mut self) {
        self.quoted_borrow = None;
        self.searched.clear();
        (self.doubted, self.in_vain) = (None, 0);
    }

    /// Brings the ladder up to date with a listing.
    pub(super) fn list(&mut self, input: &SliceInput) {
        // a new listing moves rows: what is kept by row would belong to other contracts
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
pub struct SliceScratch {
    /// Time, rates and dividends; with the borrow rate found so far.
    pub(super) terms: Terms,
    /// Cleaned quotes.
    pub(super) quotes: Quotes,
    /// Strikes where call and put both have two sides.
    pub(super) pairs: Vec<Pair>,
    /// Forward that they imply.
    pub parity: Parity,
    /// How far from the forward strikes are near the money at least, as a part of it.
    pub(super) reach: f64,
    pub(super) premium: PremiumScratch,
    pub(super) order: StrikeOrder,
    pub(super) sorted: Vec<(f64, f64)>,
    pub(super) found: Vec<RememberedVol>,
    pub(super) open: Vec<Open>,
    /// Volatilities that values are computed at by strike, padded, where they are not those of the curve.
    shifted: Vec<f64>,
    /// What bringing early exercise up to date took; `None`: it was not in this pass.
    pub(super) updated: Option<EarlyWork>,
    /// The result.
    pub out: Calibrated,
}

impl SliceScratch {
    /// What bringing early exercise up to date took before volatilities were implied.
    #[must_use]
    pub fn early_work(&self) -> EarlyWork {
        self.updated.unwrap_or_default()
    }

    /// The pairs that imply the last forward, with early exercise removed.
    pub fn used_pairs(&self) -> impl Iterator<Item = &Pair> {
        let refined = &self.premium.seen;
        if refined.is_empty() { self.pairs.iter() } else { refined.iter() }
    }

    /// Counted dividends.
    pub fn dividends(&self) -> &[Dividend] {
        &self.terms.divs
    }

    /// Inputs of the values of the slice, once its volatilities are implied: time, rates and dividends; the result; and
    /// room for volatilities by strike.
    pub fn finished(&mut self) -> (&Terms, &mut Calibrated, &mut Vec<f64>) {
        (&self.terms, &mut self.out, &mut self.shifted)
    }
}

/// Memory of the step that takes early exercise out of the forward.
#[derive(Debug, Default)]
pub(super) struct PremiumScratch {
    pub(super) near: Vec<Pair>,
    pub(super) seen: Vec<Pair>,
    /// Premium of the call less that of the put, by strike; the same at the bumped forward.
    pub(super) gaps: Vec<f64>,
    pub(super) bumped: Vec<f64>,
    /// Volatility by strike.
    pub(super) vols: Vec<f64>,
    /// By how much a pair's European C − P and premium follow df·F, by strike.
    pub(super) slope: Vec<f64>,
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
    /// True if the row's quote may support the curve.
    pub used: Vec<bool>,
    /// Why the row's quote may not.
    pub fault: Vec<Option<Drop>>,
    /// The forward found could not be one, and is missing.
    pub refused: bool,
    /// Volatilities that were looked for in a bracket, because what is remembered of early exercise did not reach.
    pub searched: u32,
}
