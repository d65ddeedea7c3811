//! One expiry in a pass: its state from one pass to the next, and the results of the steps.

use super::alternative::Standing;
use super::clean::Quotes;
use super::consistent::StrikeOrder;
use super::forward::{Pair, Parity};
use super::input::SliceInput;
use super::remembered::RememberedVol;
use super::search::Open;
use crate::early::{EarlyExercise, EarlyWork};
use crate::store::drop_reason::DropReason;
use crate::store::evidence::ValueMethod;
use crate::store::firm_quotes::FirmQuotes;
use crate::store::ladder::Ladder;
use kernel::dividends::Terms;
use std::sync::Arc;

/// One expiry on its way through a pass. All but its state is of one pass; vectors are reused in the next.
#[derive(Debug, Default)]
pub struct SliceWork {
    /// State between passes.
    pub state: SliceState,
    /// Time, rates and dividends; with the borrow rate found so far.
    pub terms: Terms,
    /// Cleaned quotes.
    pub(super) quotes: Quotes,
    /// Strikes where call and put both have two sides.
    pub(super) pairs: Vec<Pair>,
    /// Forward that the pairs imply.
    pub parity: Parity,
    /// Minimum distance from the forward within which strikes are near the money, relative to the forward.
    pub(super) reach: f64,
    pub(super) premium: PremiumScratch,
    pub(super) order: StrikeOrder,
    pub(super) sorted: Vec<(f64, f64)>,
    pub(super) found: Vec<RememberedVol>,
    pub(super) open: Vec<Open>,
    /// Work of the early-exercise update before volatilities were implied; `None`: none in this pass.
    pub(super) updated: Option<EarlyWork>,
    /// Forward, currency per share.
    pub fwd: f64,
    /// Standard error of the forward, currency per share; NaN: no parity pair.
    pub fwd_error: f64,
    /// Implied borrow rate to publish, decimal.
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
    /// Reason why the row's quote may not support the curve.
    pub fault: Vec<Option<DropReason>>,
    /// True if the forward found is impossible, so that it is missing.
    pub refused: bool,
    /// Number of volatilities that needed a bracketed search, outside of remembered early exercise.
    pub searched: u32,
    /// Volatilities of the values by strike, padded, if they differ from the curve's.
    pub shifted: Vec<f64>,
    /// Method of each value, by row; `None`: no value.
    pub methods: Vec<Option<ValueMethod>>,
    /// Number of rows with Greeks.
    pub priced: u32,
    /// Work of the early-exercise update at the curve.
    pub late: EarlyWork,
    /// Firm quotes compared with their values.
    pub firm: FirmQuotes,
}

/// State of a slice between passes. It saves work: results depend on it only within the tolerances of [`EarlyExercise`]
/// and of the solvers.
#[derive(Debug, Default)]
pub struct SliceState {
    /// Strikes of the slice.
    pub ladder: Ladder,
    /// Early exercise premiums; empty for a European slice.
    pub early: EarlyExercise,
    /// Volatility of the last curve by strike, padded; empty: none yet.
    pub sigma: Vec<f64>,
    /// Forward and borrow of the last pass.
    pub last: Option<(f64, f64)>,
    /// Borrow of the last pass as implied by quotes, without overrides.
    pub(super) quoted_borrow: Option<f64>,
    /// The last forward without the early-exercise premium less the forward with it, currency per share.
    pub(super) shift: f64,
    /// Alternative to the assumption that quotes of the name contradict; all its slices share it.
    pub(super) doubted: Option<Arc<Standing>>,
    /// Pairs of the name that contradicted an assumption when no alternative was better; 0: none did.
    pub(super) in_vain: u32,
    /// Volatilities that the last pass searched for or recalled.
    pub(super) searched: Vec<RememberedVol>,
}

impl SliceState {
    /// Bytes held, the struct included.
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

    /// Forgets the carry of the last pass and the searches at it. Tables stay, as they hold at any carry nearby.
    pub fn settle(&mut self) {
        self.quoted_borrow = None;
        self.searched.clear();
        (self.doubted, self.in_vain) = (None, 0);
    }

    /// Brings the ladder up to date with a listing.
    pub(super) fn list(&mut self, input: &SliceInput) {
        // a new listing moves rows, and state by row would belong to other contracts
        if !self.ladder.is_of(input.strike_milli, input.right) {
            self.ladder = Ladder::new(input.strike_milli, input.right);
            self.early.forget();
            self.sigma.clear();
            self.searched.clear();
        }
    }
}

impl SliceWork {
    /// Work of early-exercise updates before volatilities were implied.
    #[must_use]
    pub fn early_work(&self) -> EarlyWork {
        self.updated.unwrap_or_default()
    }

    /// The pairs that imply the last forward, with early exercise removed.
    pub fn used_pairs(&self) -> impl Iterator<Item = &Pair> {
        let refined = &self.premium.seen;
        if refined.is_empty() { self.pairs.iter() } else { refined.iter() }
    }

    /// Forgets the values of the slice before: `rows` contracts have none yet.
    pub fn clear_rows(&mut self, rows: usize) {
        self.methods.clear();
        self.methods.resize(rows, None);
        (self.priced, self.late, self.firm) = Default::default();
    }
}

/// Memory of the step that takes early exercise out of the forward.
#[derive(Debug, Default)]
pub(super) struct PremiumScratch {
    pub(super) near: Vec<Pair>,
    pub(super) seen: Vec<Pair>,
    /// Premium of the call less that of the put, by strike: at the forward, and at the bumped forward.
    pub(super) gaps: Vec<f64>,
    pub(super) bumped: Vec<f64>,
    /// Volatility by strike.
    pub(super) vols: Vec<f64>,
    /// Sensitivity of a pair's C − P, premium included, to df·F, by strike.
    pub(super) slope: Vec<f64>,
}
