//! All expiries of a name through the steps of the calibration, in their order: the one driver, for passes and tests.
//! Steps that look at one expiry run side by side; those that look at all of a name run between them.
//! Never: a formula, a thread.

use super::carry::{Carries, Carry, ImpliedSpot, SpotSource, median_forward};
use super::clean::clean_quotes;
use super::consistent::{Expiry, ExpiryOrder, Moneyness, drop_out_of_bounds};
use super::doubt::{Instead, Verdict, paid_parts, unusual};
use super::forward::{Parity, fit_forward, fit_wide, keep_alive, keep_near, pair_quotes};
use super::implied::imply_vols;
use super::input::SliceInput;
use super::premium::refine_forward;
use super::scale::wrong_scale;
use super::settings::{CONSISTENCY, DOUBT, PREMIUM};
use super::slice_work::SliceScratch;
pub use super::slice_work::SliceWork;
use super::spot::Reference;
use crate::store::chain::Uncomputed;
use crate::store::doubted::Doubt;
use kernel::contract::{ForwardBasis, Style};
use kernel::quality::Quality;

/// Result of a calibration that all slices of a name share.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    /// The spot.
    pub spot: ImpliedSpot,
    instead: Option<Instead>,
    /// The implied spot is far from the published one.
    is_far: bool,
}

impl Calibration {
    /// The assumption that quotes contradict, so that values are computed without it; `None`: they contradict none.
    #[must_use]
    pub fn doubt(&self) -> Option<Doubt> {
        self.instead.as_ref().map(|instead| instead.doubt).or(self.is_far.then_some(Doubt::Spot))
    }

    /// Counted part of a dividend, by its place among all to come.
    #[must_use]
    pub fn paid(&self, dividend: usize) -> f64 {
        self.instead.as_ref().map_or(1.0, |instead| instead.part(dividend))
    }
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
    /// Takes the slices of a name from quotes to volatilities, into `draft.out` of each, and returns what all of them
    /// together imply. The two lists run in parallel, ascending in time.
    ///
    /// # Domain   the slices of one name, with any quotes, each at its own time
    /// # Errors
    /// No spot is published and the options imply none either, or strikes or prices are in other units.
    /// # Source   docs/model.md, "From quotes to published values", has the steps
    pub fn run(
        &mut self,
        inputs: &[SliceInput<'_>],
        slices: &mut [SliceWork],
        how: &impl SideBySide,
    ) -> Result<Calibration, Uncomputed> {
        self.prior.clear();
        self.prior.extend(slices.iter().map(|slice| slice.state.quoted_borrow.unwrap_or(f64::NAN)));
        let published = inputs.first().map_or(f64::NAN, |input| input.s / input.scale());
        if published > 0.0 || inputs.is_empty() {
            self.run_published(published, inputs, slices, how)
        } else {
            let spot = self.run_unpublished(inputs, slices, how).ok_or(Uncomputed::NoSpot)?;
            Ok(Calibration { spot, ..Calibration::default() })
        }
    }

    /// Calibrates a name with a published spot. An assumption that most pairs of an expiry contradict is replaced.
    ///
    /// # Cost     that of the steps, and a few ns a strike, where nothing is doubted
    fn run_published(
        &mut self,
        published: f64,
        inputs: &[SliceInput<'_>],
        slices: &mut [SliceWork],
        how: &impl SideBySide,
    ) -> Result<Calibration, Uncomputed> {
        // what is contradicted is mostly so in the next pass too: a first look then tells it, and leaves alone what the
        // slices keep of the carry that they are valued on
        let before = slices.iter().find_map(|slice| slice.state.doubted);
        let mut first = match before {
            Some(_) => {
                let about = first_look(inputs);
                let (looked, trial) = self.look(None, published, &about, how);
                looked?;
                Verdict::of(&about, &trial)
            }
            None => Verdict::default(),
        };
        let (mut spot, mut instead) = (None, None);
        if !first.is_contradicted {
            if before.is_some() {
                // what was remembered is of another carry
                slices.iter_mut().for_each(|slice| slice.state.forget());
            }
            spot = Some(self.run_assumed(None, published, inputs, slices, how)?);
            first = Verdict::of(inputs, slices);
        }
        // alternatives that were no better are worth another look when more pairs contradict than did then
        let in_vain = slices.iter().map(|slice| slice.state.in_vain).max().unwrap_or(0);
        if first.is_contradicted && first.against > in_vain {
            instead = self.instead(&first, before, published, inputs, how);
        }
        let spot = match spot {
            Some(spot) if instead.is_none() => spot,
            ran => {
                if ran.is_some() || before != instead.as_ref().map(|instead| instead.doubt) {
                    slices.iter_mut().for_each(|slice| slice.state.forget());
                }
                match self.run_assumed(instead.as_ref(), published, inputs, slices, how) {
                    // a first look found a spot, and the full one none
                    Err(_) if instead.take().is_some() => self.run_assumed(None, published, inputs, slices, how)?,
                    spot => spot?,
                }
            }
        };
        let doubt = instead.as_ref().map(|instead| instead.doubt);
        let in_vain = if first.is_contradicted && doubt.is_none() { first.against.max(in_vain) } else { 0 };
        slices.iter_mut().for_each(|slice| (slice.state.doubted, slice.state.in_vain) = (doubt, in_vain));
        let is_far = spot.off && (spot.s / published).ln().abs() > DOUBT.spot_far;
        Ok(Calibration { spot, instead, is_far })
    }

    /// The best alternative to the assumptions that `first` says are contradicted; `None`: none is better. What was
    /// doubted `before` stays doubted while that is better.
    ///
    /// # Cost     a first look at the name for each of up to five, some ms
    fn instead(
        &mut self,
        first: &Verdict,
        before: Option<Doubt>,
        published: f64,
        inputs: &[SliceInput<'_>],
        how: &impl SideBySide,
    ) -> Option<Instead> {
        let about = first_look(inputs);
        if let Some(instead) = before.filter(|&doubt| doubt != Doubt::Dividends).map(Instead::of) {
            let (looked, trial) = self.look(Some(&instead), published, &about, how);
            if looked.is_ok() && Verdict::of(&about, &trial).is_better_than(first) {
                return Some(instead);
            }
        }
        let mut best: Option<(f64, Instead)> = None;
        let most = inputs.iter().map(|input| input.divs.len()).max().unwrap_or(0);
        let mut open = vec![Instead::of(Doubt::Borrow), Instead::of(Doubt::Spot)];
        // without any dividend the forwards tell what is paid
        let mut unpaid = (most > 0).then(|| Instead::paying(vec![0.0; most]));
        while let Some(instead) = unpaid.clone().or_else(|| open.pop()) {
            let (looked, trial) = self.look(Some(&instead), published, &about, how);
            if unpaid.take().is_some() {
                open.extend(paid_parts(inputs, &trial));
            }
            let Ok(spot) = looked else { continue };
            let verdict = Verdict::of(&about, &trial);
            let loss = verdict.loss(unusual(&instead, published, spot.s, inputs, &trial));
            if verdict.is_better_than(first) && best.as_ref().is_none_or(|(least, _)| loss < *least) {
                best = Some((loss, instead));
            }
        }
        best.map(|(_, instead)| instead)
    }

    /// A first look at a name, by slices that remember nothing.
    fn look(
        &mut self,
        instead: Option<&Instead>,
        published: f64,
        about: &[SliceInput<'_>],
        how: &impl SideBySide,
    ) -> (Result<ImpliedSpot, Uncomputed>, Vec<SliceWork>) {
        let mut trial: Vec<SliceWork> = about.iter().map(|_| SliceWork::default()).collect();
        let prior = core::mem::replace(&mut self.prior, vec![f64::NAN; about.len()]);
        let looked = self.run_assumed(instead, published, about, &mut trial, how);
        self.prior = prior;
        (looked, trial)
    }

    /// The steps with one assumption left out; `None`: with all of them.
    ///
    /// # Errors
    /// The options imply no spot, or strikes or prices are in other units.
    fn run_assumed(
        &mut self,
        instead: Option<&Instead>,
        published: f64,
        inputs: &[SliceInput<'_>],
        slices: &mut [SliceWork],
        how: &impl SideBySide,
    ) -> Result<ImpliedSpot, Uncomputed> {
        let divs = instead.map_or_else(Vec::new, |instead| instead.dividends(inputs));
        let paying: Vec<SliceInput<'_>> =
            inputs.iter().zip(&divs).map(|(of, divs)| SliceInput { divs, ..*of }).collect();
        let inputs = if divs.is_empty() { inputs } else { &paying };
        if instead.is_some_and(|instead| instead.doubt == Doubt::Spot) {
            let mut spot = self.run_unpublished(inputs, slices, how).ok_or(Uncomputed::NoSpot)?;
            spot.off = true;
            let of_spot = inputs.iter().zip(slices).filter(|(input, _)| input.basis == ForwardBasis::Spot);
            of_spot.for_each(|(input, slice)| slice.draft.out.und = published * input.scale());
            return Ok(spot);
        }
        // Quotes that are wrong by themselves are dropped first, as all later steps count votes.
        how.each(slices, |i, slice| slice.clean(&inputs[i]));
        if let Some(why) = wrong_scale(published, inputs, slices) {
            return Err(why);
        }
        if instead.is_some_and(|instead| instead.doubt == Doubt::Borrow) {
            return Ok(self.run_from(SpotSource::Held, inputs, slices, published, how));
        }
        let s = self.reference_spot(published, inputs, slices);
        Ok(self.run_from(SpotSource::Published, inputs, slices, s, how))
    }

    /// The steps where no spot is published, or none is believed; `None`: the options imply none.
    ///
    /// # Domain   as [`ChainCalibration::run`]; the spot of the inputs is not read
    fn run_unpublished(
        &mut self,
        inputs: &[SliceInput<'_>],
        slices: &mut [SliceWork],
        how: &impl SideBySide,
    ) -> Option<ImpliedSpot> {
        let at = |s: f64| -> Vec<SliceInput<'_>> {
            inputs.iter().map(|input| SliceInput { s: s * input.scale(), ..*input }).collect()
        };
        let unknown = at(f64::NAN);
        how.each(slices, |i, slice| slice.clean(&unknown[i]));
        let first = self.spot_of_pairs(&unknown, slices);
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
    ///
    /// # Domain   cleaned slices, with any pairs
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
        let looks = if source == SpotSource::Held { PREMIUM.held_looks } else { 1 };
        for look in 0..looks {
            let carry = &self.carries.carry;
            how.each(slices, |i, slice| {
                if look > 0 {
                    slice.state.shift = 0.0;
                }
                slice.refine(&inputs[i], &carry[i]);
            });
            self.carry(source, inputs, slices, s);
        }
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
        how.each(slices, |i, slice| slice.order_strikes(&inputs[i], s * inputs[i].scale(), source));
        self.order_expiries(inputs, slices, s, source);
        self.carry(source, inputs, slices, s);
    }

    /// The spot that the options are quoted against, about.
    fn reference_spot(&mut self, published: f64, inputs: &[SliceInput<'_>], slices: &[SliceWork]) -> f64 {
        let contributes = |input: &SliceInput<'_>| input.basis == ForwardBasis::Spot && input.shares.is_none();
        let all = inputs.iter().zip(slices).filter(|(input, _)| contributes(input));
        self.reference.spot(published, all.map(|(input, slice)| (*input, &slice.draft.pairs[..])))
    }

    /// The same where no spot is published: what most pairs agree on. Where no forward is one of a spot, the median of
    /// the forwards stands in, as bounds need a price.
    fn spot_of_pairs(&mut self, inputs: &[SliceInput<'_>], slices: &mut [SliceWork]) -> f64 {
        if inputs.iter().any(|input| input.basis == ForwardBasis::Spot) {
            return self.reference_spot(f64::NAN, inputs, slices);
        }
        slices.iter_mut().zip(inputs).for_each(|(slice, input)| {
            slice.first_forward(input, f64::NAN, SpotSource::Implied);
        });
        median_forward(slices.iter().map(|slice| slice.draft.parity))
    }

    /// American quotes that are dearer than later expiries allow are dropped.
    fn order_expiries(&mut self, inputs: &[SliceInput<'_>], slices: &mut [SliceWork], s: f64, source: SpotSource) {
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
            slice.first_forward(input, s * input.scale(), source);
        }
    }

    /// Weighs each slice's forward and borrow against the others'.
    fn carry(&mut self, source: SpotSource, inputs: &[SliceInput<'_>], slices: &[SliceWork], s: f64) {
        self.parity.clear();
        self.parity.extend(slices.iter().map(|slice| slice.draft.parity));
        self.carries.set(source, inputs, &self.parity, s, &self.prior);
    }
}

/// The inputs of a first look.
fn first_look<'a>(inputs: &[SliceInput<'a>]) -> Vec<SliceInput<'a>> {
    inputs.iter().map(|input| SliceInput { quality: input.quality.min(Quality::Preliminary), ..*input }).collect()
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
    fn order_strikes(&mut self, input: &SliceInput<'_>, s: f64, source: SpotSource) {
        // where the spot implies no forward, it still bounds it
        let of_spot = input.basis == ForwardBasis::Spot;
        let spot = if of_spot { s } else { input.s };
        if of_spot {
            drop_out_of_bounds(input, s, &mut self.draft.quotes);
        }
        self.first_forward(input, spot, source);
        if !of_spot {
            drop_out_of_bounds(input, self.draft.parity.fwd, &mut self.draft.quotes);
        }
        let SliceScratch { quotes, order, parity, .. } = &mut self.draft;
        let money = Moneyness {
            s: if of_spot { s } else { parity.fwd },
            sd: parity.sd.min(CONSISTENCY.vol_most * input.t.sqrt()),
        };
        if order.clean(input, &self.state.ladder, money, quotes) {
            self.first_forward(input, spot, source);
        }
    }

    fn first_forward(&mut self, input: &SliceInput<'_>, s: f64, source: SpotSource) {
        let draft = &mut self.draft;
        pair_quotes(&self.state.ladder, &draft.quotes, &mut draft.pairs);
        if source == SpotSource::Held {
            keep_alive(&mut draft.pairs, s, input);
        } else {
            keep_near(&mut draft.pairs, s, input);
        }
        draft.reach = 0.0;
        draft.parity = fit_forward(&draft.pairs, draft.terms.df(), input.t, &mut draft.sorted);
        if source == SpotSource::Held && draft.parity.fwd < s {
            // the pairs that are left lie about the spot
            draft.reach = s / draft.parity.fwd - 1.0;
            draft.parity = fit_wide(&draft.pairs, draft.terms.df(), input.t, draft.reach, &mut draft.sorted);
        }
    }

    /// The forward without early-exercise premium, on the carry that was found with it.
    fn refine(&mut self, input: &SliceInput<'_>, carry: &Carry) {
        if input.style == Style::American {
            self.draft.parity = refine_forward(input, carry, &mut self.state, &mut self.draft);
        }
    }
}
