//! The driver of the calibration, for passes and tests: takes all expiries of a name through the steps in their order.
//! Steps that look at one expiry run side by side; those that look at all of a name run between them. Never: a formula,
//! a thread.

use super::alternative::{Alternative, Standing};
use super::carry::{Carries, Carry, median_forward};
use super::clean::clean_quotes;
use super::consistent::{Expiry, ExpiryOrder, Moneyness, drop_out_of_bounds};
use super::doubt::{Verdict, paid_parts, unusual};
use super::forward::{Parity, fit_forward, fit_wide, keep_alive, keep_near, pair_quotes};
use super::implied::imply_vols;
use super::implied_spot::{ImpliedSpot, SpotSource};
use super::input::SliceInput;
use super::premium::refine_forward;
use super::reference_spot::Reference;
use super::settings::{CONSISTENCY, DOUBT, PREMIUM};
use super::slice_work::SliceWork;
use super::units::wrong_scale;
use crate::store::chain::Uncomputed;
use crate::store::doubt::Doubt;
use kernel::contract::{ForwardBasis, Style};
use kernel::dividends::Terms;
use kernel::quality::Quality;
use std::sync::Arc;

/// Result of a calibration that all slices of a name share.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    /// The implied spot.
    pub spot: ImpliedSpot,
    alternative: Option<Alternative>,
    /// True if the implied spot is far from the published one.
    is_far: bool,
}

impl Calibration {
    /// The assumption that quotes contradict, so that values are computed without it; `None`: they contradict none.
    #[must_use]
    pub fn doubt(&self) -> Option<Doubt> {
        self.alternative.as_ref().map(|alternative| alternative.doubt).or(self.is_far.then_some(Doubt::Spot))
    }

    /// Counted part of a dividend, by its place among all to come.
    #[must_use]
    pub fn paid(&self, dividend: usize) -> f64 {
        self.alternative.as_ref().map_or(1.0, |alternative| alternative.part(dividend))
    }
}

/// Runs a step that is independent between the slices of a name.
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
    /// Forward that each slice implies alone, by slice.
    parity: Vec<Parity>,
    /// Borrow of the last pass by slice; NaN: none.
    prior: Vec<f64>,
    reference: Reference,
    order: ExpiryOrder,
    carries: Carries,
}

impl ChainCalibration {
    /// Calibrates the slices of a name from quotes to volatilities, and returns the result
    /// that they share. The two lists run in parallel, ascending in time.
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
        let stands = slices.iter().find_map(|slice| slice.state.doubted.clone());
        let before = stands.as_ref().map(|stands| stands.instead.doubt);
        if let Some(stands) = stands.as_ref().filter(|stands| stands.is_recent(inputs)) {
            let spot = self.run_assumed(Some(&stands.instead), published, inputs, slices, how);
            if let Ok(spot) = spot
                && Verdict::of(inputs, slices).is_better_than(stands.first)
            {
                return Ok(Calibration {
                    is_far: is_far(&spot, published),
                    spot,
                    alternative: Some(stands.instead.clone()),
                });
            }
        }
        // an assumption contradicted in the last pass mostly is so again: a first look finds it without touching the
        // slices' memory of the carry that they are valued on
        let mut first = match before {
            Some(_) => {
                let about = first_look(inputs);
                let (looked, trial) = self.look(None, published, &about, how);
                looked?;
                Verdict::of(&about, &trial)
            }
            None => Verdict::default(),
        };
        let (mut spot, mut alternative) = (None, None);
        if !first.is_contradicted {
            if before.is_some() {
                // the memory is of another carry
                slices.iter_mut().for_each(|slice| slice.state.forget());
            }
            spot = Some(self.run_assumed(None, published, inputs, slices, how)?);
            first = Verdict::of(inputs, slices);
        }
        // alternatives that were no better are tried again once more pairs contradict than before
        let in_vain = slices.iter().map(|slice| slice.state.in_vain).max().unwrap_or(0);
        if first.is_contradicted && first.against > in_vain {
            alternative = self.alternative(&first, before, published, inputs, how);
        }
        let spot = match spot {
            Some(spot) if alternative.is_none() => spot,
            ran => {
                if ran.is_some() || before != alternative.as_ref().map(|alternative| alternative.doubt) {
                    slices.iter_mut().for_each(|slice| slice.state.forget());
                }
                match self.run_assumed(alternative.as_ref(), published, inputs, slices, how) {
                    // the first look found a spot, and the full calibration none
                    Err(_) if alternative.take().is_some() => self.run_assumed(None, published, inputs, slices, how)?,
                    spot => spot?,
                }
            }
        };
        let in_vain = if first.is_contradicted && alternative.is_none() { first.against.max(in_vain) } else { 0 };
        let stands = alternative.clone().map(|instead| Arc::new(Standing::new(instead, first.against, inputs)));
        slices.iter_mut().for_each(|slice| {
            (slice.state.doubted, slice.state.in_vain) = (stands.clone(), in_vain);
        });
        Ok(Calibration { is_far: is_far(&spot, published), spot, alternative })
    }

    /// The best alternative to the assumptions that `first` finds contradicted; `None`: none is better. The assumption
    /// doubted `before` stays doubted while its alternative is better.
    ///
    /// # Cost     a first look at the name for each of up to five, some ms
    fn alternative(
        &mut self,
        first: &Verdict,
        before: Option<Doubt>,
        published: f64,
        inputs: &[SliceInput<'_>],
        how: &impl SideBySide,
    ) -> Option<Alternative> {
        let about = first_look(inputs);
        if let Some(alternative) = before.filter(|&doubt| doubt != Doubt::Dividends).map(Alternative::of) {
            let (looked, trial) = self.look(Some(&alternative), published, &about, how);
            if looked.is_ok() && Verdict::of(&about, &trial).is_better_than(first.against) {
                return Some(alternative);
            }
        }
        let mut best: Option<(f64, Alternative)> = None;
        let most = inputs.iter().map(|input| input.divs.len()).max().unwrap_or(0);
        let mut open = vec![Alternative::of(Doubt::Borrow), Alternative::of(Doubt::Spot)];
        // forwards computed without any dividend show how much is paid
        let mut unpaid = (most > 0).then(|| Alternative::paying(vec![0.0; most]));
        while let Some(alternative) = unpaid.clone().or_else(|| open.pop()) {
            let (looked, trial) = self.look(Some(&alternative), published, &about, how);
            if unpaid.take().is_some() {
                open.extend(paid_parts(inputs, &trial));
            }
            let Ok(spot) = looked else { continue };
            let verdict = Verdict::of(&about, &trial);
            let loss = verdict.loss(unusual(&alternative, published, spot.s, inputs, &trial));
            if verdict.is_better_than(first.against) && best.as_ref().is_none_or(|(least, _)| loss < *least) {
                best = Some((loss, alternative));
            }
        }
        best.map(|(_, alternative)| alternative)
    }

    /// Takes a first look at a name, by slices without memory.
    fn look(
        &mut self,
        alternative: Option<&Alternative>,
        published: f64,
        about: &[SliceInput<'_>],
        how: &impl SideBySide,
    ) -> (Result<ImpliedSpot, Uncomputed>, Vec<SliceWork>) {
        let mut trial: Vec<SliceWork> = about.iter().map(|_| SliceWork::default()).collect();
        let prior = core::mem::replace(&mut self.prior, vec![f64::NAN; about.len()]);
        let looked = self.run_assumed(alternative, published, about, &mut trial, how);
        self.prior = prior;
        (looked, trial)
    }

    /// Runs the steps with one assumption replaced; `None`: with all of them.
    ///
    /// # Errors
    /// The options imply no spot, or strikes or prices are in other units.
    fn run_assumed(
        &mut self,
        alternative: Option<&Alternative>,
        published: f64,
        inputs: &[SliceInput<'_>],
        slices: &mut [SliceWork],
        how: &impl SideBySide,
    ) -> Result<ImpliedSpot, Uncomputed> {
        let divs = alternative.map_or_else(Vec::new, |alternative| alternative.dividends(inputs));
        let paying: Vec<SliceInput<'_>> =
            inputs.iter().zip(&divs).map(|(of, divs)| SliceInput { divs, ..*of }).collect();
        let inputs = if divs.is_empty() { inputs } else { &paying };
        if alternative.is_some_and(|alternative| alternative.doubt == Doubt::Spot) {
            let mut spot = self.run_unpublished(inputs, slices, how).ok_or(Uncomputed::NoSpot)?;
            spot.off = true;
            let of_spot = inputs.iter().zip(slices).filter(|(input, _)| input.basis == ForwardBasis::Spot);
            of_spot.for_each(|(input, slice)| slice.und = published * input.scale());
            return Ok(spot);
        }
        // quotes that are wrong by themselves are dropped first, as all later steps count agreeing quotes
        how.each(slices, |i, slice| slice.clean(&inputs[i]));
        if let Some(why) = wrong_scale(published, inputs, slices) {
            return Err(why);
        }
        if alternative.is_some_and(|alternative| alternative.doubt == Doubt::Borrow) {
            return Ok(self.run_from(SpotSource::Held, inputs, slices, published, how));
        }
        let s = self.reference_spot(published, inputs, slices);
        Ok(self.run_from(SpotSource::Published, inputs, slices, s, how))
    }

    /// Runs the steps without a published spot; `None`: the options imply none.
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

    /// Runs the steps after the first cleaning; `s` is approximately the spot that the options are quoted against.
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
        // the premium depends on borrow, and borrow on the forward without the premium: a second look at the carry is
        // enough, as the premium moves the forward a little and borrow moves the premium less
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
        how.each(slices, |i, slice| {
            slice.state.quoted_borrow = Some(carry[i].b);
            imply_vols(&inputs[i], &carry[i].with_overrides(&inputs[i]), slice);
        });
        self.carries.spot
    }

    /// Finds first forwards, and the carry that they imply. Bounds need the spot. Order in strike comes after bounds,
    /// or one dead quote would cost many good ones. Order in expiry comes after order in strike.
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

    /// The approximate spot that the options are quoted against.
    fn reference_spot(&mut self, published: f64, inputs: &[SliceInput<'_>], slices: &[SliceWork]) -> f64 {
        let contributes = |input: &SliceInput<'_>| input.basis == ForwardBasis::Spot && input.shares.is_none();
        let all = inputs.iter().zip(slices).filter(|(input, _)| contributes(input));
        self.reference.spot(published, all.map(|(input, slice)| (*input, &slice.pairs[..])))
    }

    /// The approximate spot if none is published: the one on which most pairs agree. If no forward is that of a spot,
    /// it is the median forward, as bounds need a price.
    fn spot_of_pairs(&mut self, inputs: &[SliceInput<'_>], slices: &mut [SliceWork]) -> f64 {
        if inputs.iter().any(|input| input.basis == ForwardBasis::Spot) {
            return self.reference_spot(f64::NAN, inputs, slices);
        }
        slices.iter_mut().zip(inputs).for_each(|(slice, input)| {
            slice.first_forward(input, f64::NAN, SpotSource::Implied);
        });
        median_forward(slices.iter().map(|slice| slice.parity))
    }

    /// Drops American quotes that are dearer than later expiries allow.
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
            .map(|(_, slice)| Expiry { ladder: &slice.state.ladder, quotes: &mut slice.quotes })
            .collect();
        self.order.clean(&mut expiries, &mut touched);
        for ((input, slice), _) in ordered.iter_mut().zip(touched).filter(|(_, touched)| *touched) {
            slice.first_forward(input, s * input.scale(), source);
        }
    }

    /// Weighs each slice's forward and borrow against the others'.
    fn carry(&mut self, source: SpotSource, inputs: &[SliceInput<'_>], slices: &[SliceWork], s: f64) {
        self.parity.clear();
        self.parity.extend(slices.iter().map(|slice| slice.parity));
        self.carries.set(source, inputs, &self.parity, s, &self.prior);
    }
}

/// True if the implied spot is far from the published one.
fn is_far(spot: &ImpliedSpot, published: f64) -> bool {
    spot.off && (spot.s / published).ln().abs() > DOUBT.spot_far
}

/// The inputs of a first look.
fn first_look<'a>(inputs: &[SliceInput<'a>]) -> Vec<SliceInput<'a>> {
    inputs.iter().map(|input| SliceInput { quality: input.quality.min(Quality::Preliminary), ..*input }).collect()
}

impl SliceWork {
    /// Drops quotes that are wrong by themselves, and collects the remaining pairs.
    fn clean(&mut self, input: &SliceInput<'_>) {
        self.state.list(input);
        self.updated = None;
        self.premium.seen.clear();
        let Terms { t, r, b, divs } = &mut self.terms;
        (*t, *r, *b) = (input.t, input.r, 0.0);
        divs.clear();
        divs.extend_from_slice(input.divs);
        clean_quotes(input, &mut self.quotes);
        pair_quotes(&self.state.ladder, &self.quotes, &mut self.pairs);
    }

    /// Drops quotes that contradict spot, strike or each other, and finds a first forward.
    fn order_strikes(&mut self, input: &SliceInput<'_>, s: f64, source: SpotSource) {
        // if the spot implies no forward, it still bounds it
        let of_spot = input.basis == ForwardBasis::Spot;
        let spot = if of_spot { s } else { input.s };
        if of_spot {
            drop_out_of_bounds(input, s, &mut self.quotes);
        }
        self.first_forward(input, spot, source);
        if !of_spot {
            drop_out_of_bounds(input, self.parity.fwd, &mut self.quotes);
        }
        let Self { state, quotes, order, parity, .. } = self;
        let money = Moneyness {
            s: if of_spot { s } else { parity.fwd },
            sd: parity.sd.min(CONSISTENCY.vol_most * input.t.sqrt()),
        };
        if order.clean(input, &state.ladder, money, quotes) {
            self.first_forward(input, spot, source);
        }
    }

    fn first_forward(&mut self, input: &SliceInput<'_>, s: f64, source: SpotSource) {
        let Self { pairs, sorted, .. } = self;
        pair_quotes(&self.state.ladder, &self.quotes, pairs);
        if source == SpotSource::Held {
            keep_alive(pairs, s, input);
        } else {
            keep_near(pairs, s, input);
        }
        self.reach = 0.0;
        self.parity = fit_forward(pairs, self.terms.df(), input.t, sorted);
        if source == SpotSource::Held && self.parity.fwd < s {
            // the remaining pairs lie about the spot
            self.reach = s / self.parity.fwd - 1.0;
            self.parity = fit_wide(pairs, self.terms.df(), input.t, self.reach, sorted);
        }
    }

    /// Removes the early-exercise premium from the forward, on the carry that was found with it.
    fn refine(&mut self, input: &SliceInput<'_>, carry: &Carry) {
        if input.style == Style::American {
            self.parity = refine_forward(input, carry, self);
        }
    }
}
