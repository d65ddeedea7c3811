//! Volatility from a price.
//!
//! Newton's and its kin converge fast on the logarithm of the time value, which is nearly linear in many volatilities;
//! with value, vega, volga and ultima of one evaluation a step is of third order. A bracket holds every iterate, so
//! that a start far off, or an answer next to the exercise region where vega vanishes, ends in bisection and never in
//! a wrong number. Never: a quote, a spread.

use super::american::{Numbers, Pricer, PricerAt};
use super::black76::{Horizon, european_vol};
use super::dividends::Terms;
use super::elementary::ln;
use super::greeks::VolDerivatives;
use super::lanes::{Lanes, Mask};

/// Evaluations; from a start within 10 % two are enough, bisection over the widest band needs 50.
const MOST_STEPS: usize = 60;
/// A third-order step below this fraction of sigma leaves an error of about its fourth power.
const LAST_STEP: f64 = 3e-4;
/// The search ends at a bracket of this fraction of sigma.
const NARROW: f64 = 1e-13;
/// The search ends at a value that differs from the price by this fraction of the strike.
const HIT: f64 = 1e-11;
/// A value that volatility changes by less than this fraction of the strike does not depend on it.
const FLAT: f64 = 1e-9;
/// Within this fraction of the strike a price equals the exercise value (docs/model.md).
const EQUAL: f64 = 1e-9;

/// Status of an implied volatility: found, or the reason why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImpliedStatus {
    /// Found.
    Ok,
    /// The price is below the value at the least volatility of the band, below the exercise value, or NaN.
    BelowMin,
    /// The price is above the value at the greatest volatility of the band, or its volatility was not found within the
    /// steps.
    AboveMax,
    /// American, and the price equals the exercise value: every low enough volatility gives it.
    AtIntrinsic,
}

/// Volatilities, one per lane.
#[derive(Clone, Copy, Debug)]
pub struct Implied<L: Lanes> {
    /// Per √year; NaN where the status is not [`ImpliedStatus::Ok`].
    pub sigma: L,
    below: L::Mask,
    above: L::Mask,
    at_intrinsic: L::Mask,
}

impl<L: Lanes> Implied<L> {
    /// The status of lane `i`.
    #[must_use]
    pub fn status(&self, i: usize) -> ImpliedStatus {
        if self.at_intrinsic.lane(i) {
            ImpliedStatus::AtIntrinsic
        } else if self.below.lane(i) {
            ImpliedStatus::BelowMin
        } else if self.above.lane(i) {
            ImpliedStatus::AboveMax
        } else {
            ImpliedStatus::Ok
        }
    }
}

/// The volatility in the pricer's band that gives `price`, one contract per lane.
///
/// # Shapes    `k`, `price`, `start` and the result: lanes; no lane changes another by more than the pricer's error
/// # Units     price: currency per share · start, result: per √year
/// # Domain    any price; a `start` that is NaN or outside the band is replaced
/// # Accuracy  golden/iv.csv: European 1e-10 of sigma, American that of the pricer (`engine/tests/kernel/golden.rs`)
/// # Source    Householder's method of order 3 on ln(V − V(0)); Jäckel (2015) for European options in this form
/// # Cost      light evaluations of the pricer: one for a start within 0.03 %, two within about 10 %, three within 40 %
#[inline(never)]
pub fn implied<L: Lanes>(at: &PricerAt<'_>, k: L, price: L, start: L) -> Implied<L> {
    let limits = VolBounds { floor: at.floor(k), exercise: at.exercise_value(k), band: at.band().sigma };
    implied_by(&limits, |sigma| at.vol_derivatives(k, sigma), k, price, start)
}

/// [`implied`] of one contract, which prepares the pricer for the volatilities that it comes to.
pub fn implied_alone(pricer: &mut Pricer, terms: &Terms, s: f64, k: f64, price: f64, start: f64) -> Implied<f64> {
    let at = pricer.at(terms, s);
    let limits = VolBounds { floor: at.floor(k), exercise: at.exercise_value(k), band: at.band().sigma };
    let value = |sigma| pricer.prepare(terms, s, k, sigma, Numbers::ByVolatility).vol_derivatives(k, sigma);
    implied_by(&limits, value, k, price, start)
}

/// Bounds of values and volatilities in a search.
#[derive(Clone, Copy, Debug)]
pub struct VolBounds<L> {
    /// Lower bound of all values, currency per share.
    pub floor: L,
    /// Exercise value, max(0, φ(S − K)), currency per share; NaN for a European option.
    pub exercise: L,
    /// Least and greatest volatility of the search.
    pub band: (f64, f64),
}

/// [`implied`] with any function `value` of volatility; its volga and ultima may be approximate.
///
/// # Shapes    lane by lane; a lane that is done does not change while others continue
/// # Domain    as of [`implied`]; `value` must rise with the volatility
/// # Accuracy  that of `value`; wrong volga and ultima only cost rounds
/// # Source    as of [`implied`]
/// # Cost      a call of `value` a round, for all lanes
#[inline(always)]
pub fn implied_by<L: Lanes>(
    limits: &VolBounds<L>,
    mut value: impl FnMut(L) -> VolDerivatives<L>,
    k: L,
    price: L,
    start: L,
) -> Implied<L> {
    let c = |v: f64| L::splat(v);
    let VolBounds { floor, exercise, band } = *limits;
    let target = price - floor;
    // a price at the exercise value fits every volatility up to the one at which waiting begins to pay
    let equal = (price - exercise).abs().le(k * EQUAL) & exercise.gt(c(0.0));
    let none = !target.gt(c(0.0)) | equal;
    let (least, most) = (c(band.0), c(band.1));
    // NaN fails both comparisons, so a missing start falls back to the middle
    let usable = least.lt(start) & start.lt(most);
    let mut state = Bracket {
        // the middle in ln σ: a band spans orders of magnitude
        sigma: L::select(usable, start, (least * most).sqrt()),
        low: least,
        high: most,
        // masks have no constant: this is false in every lane
        low_seen: none & !none,
        high_seen: none & !none,
        done: none,
        below: none,
        above: none & !none,
    };
    for _ in 0..MOST_STEPS {
        // one slow lane keeps the other seven waiting, so starts come from the pass before
        if state.done.all() {
            break;
        }
        state.step(&value(state.sigma), k, floor, target);
    }
    // equal to the exercise value and, at the least volatility, worth no more than it
    let mut at_intrinsic = equal & state.below;
    if at_intrinsic.any() {
        at_intrinsic = at_intrinsic & value(least).value.le(exercise + k * EQUAL);
    }
    // a volatility not found within the steps is missing
    let missing = state.below | state.above | at_intrinsic | !state.done;
    Implied {
        sigma: L::select(missing, c(f64::NAN), state.sigma),
        below: state.below,
        // high volatilities take most steps: a price not reached within them needs more than the band
        above: state.above | !state.done,
        at_intrinsic,
    }
}

/// Most evaluations of [`implied_near`].
const NEAR_STEPS: usize = 5;

/// European options of a search, one per lane.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'a, L> {
    /// +1 call, −1 put.
    pub phi: f64,
    /// The expiry, shared by all lanes.
    pub at: &'a Horizon,
    /// S − A(0), currency per share.
    pub x: L,
    /// Strike.
    pub k: L,
    /// Lower bound of all values, currency per share.
    pub floor: L,
}

/// Result of [`implied_near`].
#[derive(Clone, Copy, Debug)]
pub struct Near<L: Lanes> {
    /// Volatility per √year; NaN if it was not found within a few steps, or the price has no time value.
    pub sigma: L,
    /// The lanes whose price has a time value: those that have a volatility.
    pub wanted: L::Mask,
    /// The last evaluation, at most a last step from the volatility where that was found.
    pub last: Evaluated<L>,
}

/// Value and its derivatives at a volatility.
#[derive(Clone, Copy, Debug)]
pub struct Evaluated<L: Lanes> {
    sigma: L,
    /// Value less its lower bound, currency per share.
    time_value: L,
    jet: VolDerivatives<L>,
}

impl<L: Lanes> Evaluated<L> {
    /// ∂V/∂σ.
    #[must_use]
    pub fn vega(&self) -> L {
        self.jet.vega
    }

    /// The volatility of a value less its lower bound near this one, by a step of third order; NaN for a value of 0 or
    /// less.
    #[must_use]
    #[inline(always)]
    pub fn near(&self, time_value: L) -> L {
        self.sigma + householder(self.sigma, self.time_value, time_value, &self.jet)
    }
}

/// Volatilities at which European value plus `premium(sigma)` equals `price`, from a `start` near them: no bracket, no
/// table.
///
/// # Units    price: currency per share · start, result: per √year
/// # Domain   as of [`implied`], which must solve the lanes that this leaves
/// # Accuracy that of `premium`: a last step below 3e-4 of sigma leaves its fourth power
/// # Cost     one European evaluation for a start within 0.03 %, two within about 10 %
#[inline(always)]
pub fn implied_near<L: Lanes>(
    sought: &Sought<'_, L>,
    premium: impl Fn(L) -> VolDerivatives<L>,
    price: L,
    start: L,
) -> Near<L> {
    let c = |v: f64| L::splat(v);
    let target = price - sought.floor;
    // a price at its floor may be the exercise value: the bracketed search decides
    let wanted = target.gt(sought.k * EQUAL);
    let mut sigma = start;
    // a lane without a start is left to the bracketed search, too
    let mut done = !(wanted & c(0.0).lt(start));
    let mut found = done & !done;
    let nothing = VolDerivatives::straight(c(0.0), c(0.0));
    let mut last = Evaluated { sigma, time_value: c(0.0), jet: nothing };
    for _ in 0..NEAR_STEPS {
        // blocks without a price are many: wings without bids, rights without time value
        if done.all() {
            break;
        }
        let (plain, early) = (european_vol(sought.phi, sought.at, sought.x, sought.k, sigma), premium(sigma));
        let jet = VolDerivatives {
            value: plain.value + early.value,
            vega: plain.vega + early.vega,
            volga: plain.volga + early.volga,
            ultima: plain.ultima + early.ultima,
        };
        last = Evaluated { sigma, time_value: jet.value - sought.floor, jet };
        let step = householder(sigma, last.time_value, target, &jet);
        // the error after this step is of its fourth power: below 1e-14 of sigma, so that no other is taken
        let close = step.abs().le(sigma * LAST_STEP);
        sigma = L::select(done, sigma, sigma + step);
        // a step that is still large after the last round is no answer
        found = found | (close & !done);
        done = done | close;
    }
    Near { sigma: L::select(found, sigma, c(f64::NAN)), wanted, last }
}

/// An iterate and the bracket of the answer.
struct Bracket<L: Lanes> {
    sigma: L,
    low: L,
    high: L,
    /// True if an end has been evaluated; else it is the end of the band.
    low_seen: L::Mask,
    high_seen: L::Mask,
    done: L::Mask,
    below: L::Mask,
    above: L::Mask,
}

impl<L: Lanes> Bracket<L> {
    /// Updates the bracket with the evaluation at `sigma`, and steps to the next iterate.
    ///
    /// # Source  Householder's step of order 3 in the logarithm of the time value, the middle of the bracket in ln σ
    /// where it leaves that
    #[inline(always)]
    fn step(&mut self, jet: &VolDerivatives<L>, k: L, floor: L, target: L) {
        let c = |v: f64| L::splat(v);
        // a lane that is done must not move again while the others go on: its result may not depend on them
        let live = !self.done;
        let time_value = jet.value - floor;
        // NaN counts as short: the search then looks upwards, where values are regular
        let short = !target.le(time_value);
        // the answer lies outside the band where even its end is short, or too much; and where the value has ceased to
        // depend on volatility, no lower one changes it
        let flat = jet.vega.abs() * self.sigma * c(1.0 / FLAT);
        let outside_low = live
            & !short
            & ((self.sigma.le(self.low) & target.lt(time_value)) | (flat.le(k) & (target + k * FLAT).lt(time_value)));
        let outside_high = live & short & self.high.le(self.sigma);
        self.below = self.below | outside_low;
        self.above = self.above | outside_high;
        // the value rises with volatility, so each try moves one end
        self.low = L::select(live & short, self.sigma, self.low);
        self.high = L::select(live & !short, self.sigma, self.high);
        self.low_seen = self.low_seen | (live & short);
        self.high_seen = self.high_seen | (live & !short);
        let next = self.sigma + householder(self.sigma, time_value, target, jet);
        let inside = self.low.lt(next) & next.lt(self.high);
        let close = inside & (next - self.sigma).abs().le(self.sigma * LAST_STEP);
        let hit = (time_value - target).abs().le(k * HIT);
        // a step beyond the bracket comes from a bend: the middle in ln σ always makes progress
        let middle = (self.low * self.high).sqrt();
        // an end that was never tried may itself be the answer, or show that there is none
        let to_low = next.le(self.low) & !self.low_seen;
        let to_high = self.high.le(next) & !self.high_seen;
        let beside = L::select(hit, self.sigma, L::select(to_low, self.low, L::select(to_high, self.high, middle)));
        let next = L::select(close | (inside & !hit), next, beside);
        // both ends tried and nothing between them: rounding decides, and the search ends
        let narrow = (self.high - self.low).le(self.high * NARROW) & self.low_seen & self.high_seen;
        self.sigma = L::select(live & !outside_low & !outside_high, next, self.sigma);
        self.done = self.done | outside_low | outside_high | close | hit | narrow;
    }
}

/// A step of third order on f = ln(time value/target); NaN or 0 where there is no slope to follow.
#[inline(always)]
fn householder<L: Lanes>(sigma: L, time_value: L, target: L, jet: &VolDerivatives<L>) -> L {
    let c = |v: f64| L::splat(v);
    let per = c(1.0) / time_value;
    // in ln of time value, which is closer to linear in σ far out of the money, where the value itself is flat
    let f = ln(time_value / target);
    let f1 = jet.vega * per;
    let curve = jet.volga * per;
    let f2 = f1.neg_mul_add(f1, curve);
    let f3 = jet.ultima * per - c(3.0) * f1 * curve + c(2.0) * f1 * f1 * f1;
    let newton = -(f / f1);
    let (h2, h3) = (f2 / f1, f3 / f1);
    let denominator = c(1.0) + newton * (h2 + newton * h3 * c(1.0 / 6.0));
    let third = newton * (c(1.0) + c(0.5) * h2 * newton) / denominator;
    let limit = sigma * 0.6;
    // far from the answer the third-order step has poles: Newton's, held to a part of σ, is taken there
    let sound = c(0.3).lt(denominator) & third.abs().lt(limit);
    let step = L::select(sound, third, newton.max(-limit).min(limit));
    // ln of no time value means nothing: look at higher volatilities
    L::select(time_value.gt(c(0.0)), step, limit)
}
