//! All expiries of a name through the steps of the calibration, in their order: the one driver, for passes and tests.
//! Steps that look at one expiry run side by side; those that look at all of a name run between them.
//! Never: a formula, a thread.

use super::carry::{Carries, Carry, ImpliedSpot, SpotSource, median_forward};
use super::clean::clean_quotes;
use super::consistent::{Expiry, ExpiryOrder, Moneyness, drop_out_of_bounds};
use super::forward::{Parity, fit_forward, keep_near, pair_quotes};
use super::implied::imply_vols;
use super::input::SliceInput;
use super::premium::refine_forward;
use super::settings::CONSISTENCY;
use super::slice_work::{SliceScratch, SliceState};
use super::spot::Reference;
use kernel::contract::{ForwardBasis, Style};

/// One expiry on its way through a pass.
#[derive(Debug, Default)]
pub struct SliceWork {
    /// State between passes.
    pub state: SliceState,
    /// Results of the steps so far.
    pub draft: SliceScratch,
}

/// How the slices of a name are worked on where none looks at another.
pub trait SideBySide {
    /// Calls `step` once for each slice, with its place; in any order, on any thread.
    fn each(&self, slices: &mut [SliceWork], step: impl Fn(usize, &mut SliceWork) + Send + Sync);
}

/// One slice after the other, on this thread.
#[derive(Clone, Copy, Debug)]
pub struct OneByOne;

impl SideBySide for OneByOne {
    fn each(&self, slices: &mut [SliceWork], step: impl Fn(usize, &mut SliceWork) + Send + Sync) {
        slices.iter_mut().enumerate().for_each(|(i, slice)| step(i, slice));
    }
}

/// Calibrates the expiries of one name together; kept for its memory.
#[derive(Debug, Default)]
pub struct ChainCalibration {
    /// Forward that each slice implies alone.
    parity: Vec<Parity>,
    /// Borrow of the last pass by slice; NaN: none.
    prior: Vec<f64>,
    reference: Reference,
    order: ExpiryOrder,
    carries: Carries,
}

impl ChainCalibration {
    /// Takes the slices of a name from quotes to volatilities, into `draft.out` of each, and returns the
    /// implied spot; `None` if no spot is published and the options imply none either. The two lists run in parallel,
    /// ascending in time.
    ///
    /// # Domain   the slices of one name, with any quotes, each at its own time
    /// # Source   docs/model.md, "From quotes to published values", has the steps
    pub fn run(
        &mut self,
        inputs: &[SliceInput<'_>],
        slices: &mut [SliceWork],
        how: &impl SideBySide,
    ) -> Option<ImpliedSpot> {
        self.prior.clear();
        self.prior.extend(slices.iter().map(|slice| slice.state.quoted_borrow.unwrap_or(f64::NAN)));
        // Quotes that are wrong by themselves are dropped first, as all later steps count votes.
        how.each(slices, |i, slice| slice.clean(&inputs[i]));
        let published = inputs.first().map_or(f64::NAN, |input| input.s / input.scale());
        if published > 0.0 || inputs.is_empty() {
            let s = self.reference_spot(published, inputs, slices);
            return Some(self.run_from(SpotSource::Published, inputs, slices, s, how));
        }
        let at = |s: f64| -> Vec<SliceInput<'_>> {
            inputs.iter().map(|input| SliceInput { s: s * input.scale(), ..*input }).collect()
        };
        let first = self.spot_of_pairs(inputs, slices);
        if first.is_nan() {
            return None;
        }
        let about = at(first);
        how.each(slices, |i, slice| slice.clean(&about[i]));
        if inputs.iter().all(|input| input.basis == ForwardBasis::Parity) {
            return Some(self.run_from(SpotSource::Implied, &about, slices, first, how));
        }
        // Most pairs agree on the first spot within a few percent. The carry of all expiries implies it well enough to
        // clean the quotes again, now as if it were published.
        self.first_carry(SpotSource::Implied, &about, slices, first, how);
        let implied = self.carries.spot;
        if implied.is_unknown() {
            return None;
        }
        let about = at(implied.s);
        how.each(slices, |i, slice| slice.clean(&about[i]));
        let spot = self.run_from(SpotSource::Implied, &about, slices, implied.s, how);
        (!spot.is_unknown()).then_some(spot)
    }

    /// The steps after the first cleaning, `s` being the spot that the options are quoted against, about.
    fn run_from(
        &mut self,
        source: SpotSource,
        inputs: &[SliceInput<'_>],
        slices: &mut [SliceWork],
        s: f64,
        how: &impl SideBySide,
    ) -> ImpliedSpot {
        self.first_carry(source, inputs, slices, s, how);
        // the premium depends on borrow and borrow on the forward that the premium is taken out of: a second look at
        // the carry is enough, as the premium moves a forward by little and borrow moves the premium by less
        let carry = &self.carries.carry;
        how.each(slices, |i, slice| slice.refine(&inputs[i], &carry[i]));
        self.carry(source, inputs, slices, s);
        let carry = &self.carries.carry;
        // overrides of one expiry carry no information about the others: they are applied after the carry of all is
        // solved
        how.each(slices, |i, SliceWork { state, draft }| {
            state.quoted_borrow = Some(carry[i].b);
            imply_vols(&inputs[i], &carry[i].knowing(&inputs[i]), state, draft);
        });
        self.carries.spot
    }

    /// First forwards, and the carry that they imply. Bounds need the spot; order in strike needs to know what is
    /// impossible, or one dead quote would be blamed on many good ones; order in expiry needs what order in strike has
    /// left.
    fn first_carry(
        &mut self,
        source: SpotSource,
        inputs: &[SliceInput<'_>],
        slices: &mut [SliceWork],
        s: f64,
        how: &impl SideBySide,
    ) {
        how.each(slices, |i, slice| slice.order_strikes(&inputs[i], s * inputs[i].scale()));
        self.order_expiries(inputs, slices, s);
        self.carry(source, inputs, slices, s);
    }

    /// The spot that the options are quoted against, about.
    fn reference_spot(&mut self, published: f64, inputs: &[SliceInput<'_>], slices: &[SliceWork]) -> f64 {
        let is_heard = |input: &SliceInput<'_>| input.basis == ForwardBasis::Spot && input.shares.is_none();
        let all = inputs.iter().zip(slices).filter(|(input, _)| is_heard(input));
        self.reference.spot(published, all.map(|(input, slice)| (*input, &slice.draft.pairs[..])))
    }

    /// The same where no spot is published: what most pairs agree on. Where no forward is one of a spot, the median of
    /// the forwards stands in, as bounds need a price.
    fn spot_of_pairs(&mut self, inputs: &[SliceInput<'_>], slices: &mut [SliceWork]) -> f64 {
        if inputs.iter().any(|input| input.basis == ForwardBasis::Spot) {
            return self.reference_spot(f64::NAN, inputs, slices);
        }
        slices.iter_mut().zip(inputs).for_each(|(slice, input)| slice.first_forward(input, f64::NAN));
        median_forward(slices.iter().map(|slice| slice.draft.parity))
    }

    /// American quotes that are dearer than later expiries allow are dropped.
    fn order_expiries(&mut self, inputs: &[SliceInput<'_>], slices: &mut [SliceWork], s: f64) {
        let mut ordered: Vec<_> = inputs
            .iter()
            .zip(slices)
            .filter(|(input, _)| {
                input.style == Style::American && input.basis == ForwardBasis::Spot && input.shares.is_none()
            })
            .collect();
        let mut touched = vec![false; ordered.len()];
        let mut expiries: Vec<Expiry<'_>> = ordered
            .iter_mut()
            .map(|(_, slice)| Expiry { ladder: &slice.state.ladder, quotes: &mut slice.draft.quotes })
            .collect();
        self.order.clean(&mut expiries, &mut touched);
        for ((input, slice), _) in ordered.iter_mut().zip(touched).filter(|(_, touched)| *touched) {
            slice.first_forward(input, s * input.scale());
        }
    }

    /// Weighs each slice's forward and borrow against the others'.
    fn carry(&mut self, source: SpotSource, inputs: &[SliceInput<'_>], slices: &[SliceWork], s: f64) {
        self.parity.clear();
        self.parity.extend(slices.iter().map(|slice| slice.draft.parity));
        self.carries.set(source, inputs, &self.parity, s, &self.prior);
    }
}

impl SliceWork {
    /// Drops quotes that are wrong by themselves, and collects the remaining pairs.
    fn clean(&mut self, input: &SliceInput<'_>) {
        let Self { state, draft } = self;
        state.list(input);
        draft.updated = None;
        draft.premium.seen.clear();
        draft.terms.t = input.t;
        draft.terms.r = input.r;
        draft.terms.b = 0.0;
        draft.terms.divs.clear();
        draft.terms.divs.extend_from_slice(input.divs);
        clean_quotes(input, &mut draft.quotes);
        pair_quotes(&state.ladder, &draft.quotes, &mut draft.pairs);
    }

    /// Quotes that cannot live with spot, strike and each other are dropped; a first forward.
    fn order_strikes(&mut self, input: &SliceInput<'_>, s: f64) {
        // where the spot implies no forward, it still bounds it
        let of_spot = input.basis == ForwardBasis::Spot;
        let spot = if of_spot { s } else { input.s };
        if of_spot {
            drop_out_of_bounds(input, s, &mut self.draft.quotes);
        }
        self.first_forward(input, spot);
        if !of_spot {
            drop_out_of_bounds(input, self.draft.parity.fwd, &mut self.draft.quotes);
        }
        let SliceScratch { quotes, order, parity, .. } = &mut self.draft;
        let money = Moneyness {
            s: if of_spot { s } else { parity.fwd },
            sd: parity.sd.min(CONSISTENCY.vol_most * input.t.sqrt()),
        };
        if order.clean(input, &self.state.ladder, money, quotes) {
            self.first_forward(input, spot);
        }
    }

    fn first_forward(&mut self, input: &SliceInput<'_>, s: f64) {
        let draft = &mut self.draft;
        pair_quotes(&self.state.ladder, &draft.quotes, &mut draft.pairs);
        keep_near(&mut draft.pairs, s, input);
        draft.parity = fit_forward(&draft.pairs, draft.terms.df(), input.t, &mut draft.sorted);
    }

    /// The forward without early-exercise premium, on the carry that was found with it.
    fn refine(&mut self, input: &SliceInput<'_>, carry: &Carry) {
        if input.style == Style::American {
            self.draft.parity = refine_forward(input, carry, &mut self.state, &mut self.draft);
        }
    }
}
