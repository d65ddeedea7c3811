//! Quotes to a forward, a borrow rate and three volatilities per contract, one (root, expiry) at a time.
//! Never: smoothing, a symbol, a clock.

pub mod carry;
pub mod clean;
pub mod consistent;
pub mod forward;
pub mod implied;
pub mod premium;
mod search;
mod searched;
pub mod spot;

use crate::contract::{ForwardBasis, Right, Style};
use crate::early::Early;
use crate::kernel::dividends::{Dividend, Terms};
pub use crate::store::dropped::Drop;
use crate::store::ladder::Ladder;
use carry::{Carries, Carry};
use clean::{Quotes, clean_quotes};
use consistent::{Expiry, ExpiryOrder, Money, StrikeOrder, drop_out_of_bounds};
use forward::{Pair, Parity, fit_forward, keep_near, pair_quotes};
use implied::imply_vols;
use premium::refine_forward;
use searched::Searched;
use spot::Reference;

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
    searched: Vec<Searched>,
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
    premium: premium::Room,
    order: StrikeOrder,
    sorted: Vec<(f64, f64)>,
    found: Vec<Searched>,
    open: Vec<search::Open>,
    /// Blocks whose early exercise was taken anew on the way.
    pub refreshed: usize,
    /// The result.
    pub out: Calibrated,
}

impl Draft {
    /// Time, rates and dividends that the slice is valued on, once its volatilities are implied.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.terms
    }
}

/// Step 1, each slice alone: what is wrong with a quote by itself, and the pairs that are left.
pub fn look(input: &SliceInput, state: &mut SliceState, draft: &mut Draft) {
    state.list(input);
    draft.refreshed = 0;
    draft.terms.t = input.t;
    draft.terms.r = input.r;
    draft.terms.b = 0.0;
    draft.terms.divs.clear();
    draft.terms.divs.extend_from_slice(input.divs);
    clean_quotes(input, &mut draft.quotes);
    pair_quotes(&state.ladder, &draft.quotes, &mut draft.pairs);
}

/// Step 2, all slices of a chain: the spot that the options are quoted against, about.
pub fn reference_spot<'a>(
    reference: &mut Reference,
    slices: impl Iterator<Item = (SliceInput<'a>, &'a Draft)> + Clone,
) -> f64 {
    let published = slices.clone().next().map_or(f64::NAN, |(input, _)| input.s);
    let spots = slices.filter(|(input, _)| input.basis == ForwardBasis::Spot);
    reference.spot(published, spots.map(|(input, draft)| (input, &draft.pairs[..])))
}

/// Volatility above which a straddle is not believed where quotes are weighed by their distance from the money.
const SD_MOST: f64 = 3.0;

/// Step 3, each slice alone: quotes that cannot live with spot, strike and each other are dropped; a first forward.
pub fn look_closer(input: &SliceInput, s: f64, state: &SliceState, draft: &mut Draft) {
    // where the spot tells no forward it still tells about where one can be
    let spot = if input.basis == ForwardBasis::Spot { s } else { input.s };
    let of_spot = input.basis == ForwardBasis::Spot;
    if of_spot {
        drop_out_of_bounds(input, s, &mut draft.quotes);
    }
    first_forward(input, spot, state, draft);
    if !of_spot {
        drop_out_of_bounds(input, draft.parity.fwd, &mut draft.quotes);
    }
    let Draft { quotes, order, parity, .. } = draft;
    let money = Money { s: if of_spot { s } else { parity.fwd }, sd: parity.sd.min(SD_MOST * input.t.sqrt()) };
    if order.clean(input, &state.ladder, money, quotes) {
        first_forward(input, spot, state, draft);
    }
}

fn first_forward(input: &SliceInput, s: f64, state: &SliceState, draft: &mut Draft) {
    pair_quotes(&state.ladder, &draft.quotes, &mut draft.pairs);
    keep_near(&mut draft.pairs, s, input);
    draft.parity = fit_forward(&draft.pairs, draft.terms.df(), input.t, &mut draft.sorted);
}

/// Step 4, all slices of a chain: American quotes that are dearer than later expiries allow are dropped. Ascending in
/// time.
pub fn order_expiries(order: &mut ExpiryOrder, s: f64, slices: Vec<(SliceInput<'_>, &mut SliceState, &mut Draft)>) {
    let mut slices: Vec<_> = slices
        .into_iter()
        .filter(|(input, ..)| input.style == Style::American && input.basis == ForwardBasis::Spot)
        .collect();
    let mut touched = vec![false; slices.len()];
    let mut expiries: Vec<Expiry<'_>> = slices
        .iter_mut()
        .map(|(_, state, draft)| Expiry { ladder: &state.ladder, quotes: &mut draft.quotes })
        .collect();
    order.clean(&mut expiries, &mut touched);
    for ((input, state, draft), _) in slices.iter_mut().zip(touched).filter(|(_, touched)| *touched) {
        first_forward(input, s, state, draft);
    }
}

/// Step 6, each slice alone: the forward without early-exercise premium, on the carry that step 5 found.
pub fn refine(input: &SliceInput, carry: &Carry, state: &mut SliceState, draft: &mut Draft) {
    if input.style == Style::American {
        draft.parity = refine_forward(input, carry, state, draft);
    }
}

/// All steps for the slices of one chain, one after the other.
#[must_use]
pub fn chain(inputs: &[SliceInput], states: &mut [SliceState]) -> Vec<Calibrated> {
    let prior: Vec<f64> = states.iter().map(|s| s.last.map_or(f64::NAN, |l| l.1)).collect();
    let mut drafts: Vec<Draft> = inputs.iter().map(|_| Draft::default()).collect();
    let mut carries = Carries::default();
    for i in 0..inputs.len() {
        look(&inputs[i], &mut states[i], &mut drafts[i]);
    }
    let s = reference_spot(&mut Reference::default(), inputs.iter().copied().zip(&drafts));
    for i in 0..inputs.len() {
        look_closer(&inputs[i], s, &states[i], &mut drafts[i]);
    }
    let all = inputs.iter().zip(&mut *states).zip(&mut drafts).map(|((i, s), d)| (*i, s, d)).collect();
    order_expiries(&mut ExpiryOrder::default(), s, all);
    let parity = |drafts: &[Draft]| drafts.iter().map(|d| d.parity).collect::<Vec<_>>();
    carries.set(inputs, &parity(&drafts), s, &prior);
    for i in 0..inputs.len() {
        refine(&inputs[i], &carries.carry[i], &mut states[i], &mut drafts[i]);
    }
    carries.set(inputs, &parity(&drafts), s, &prior);
    for i in 0..inputs.len() {
        imply_vols(&inputs[i], &carries.carry[i], &mut states[i], &mut drafts[i]);
    }
    drafts.into_iter().map(|draft| draft.out).collect()
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
