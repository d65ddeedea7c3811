//! Starts of the search for a boundary: next to the kink at its end, and while a window of exercise closes. Never: a
//! solution.

use super::at_date::DatePremium;
use super::moment::Contracts;
use super::settings::{PACE_MOST, SAME};
use crate::elementary::{exp, ln};
use crate::lanes::{Lanes, Mask};
use crate::normal::{INV_SQRT_2PI, norm_cdf};

/// Least ln s of the fit of the distance between a boundary and the kink at its end.
const FITTED_FROM: f64 = -17.0;
/// Greatest ln s of the fit of the distance between a boundary and the kink at its end.
const FITTED_TO: f64 = 1.0;
/// Distance of the boundary above rK/b, where it does not begin at the kink (standard deviations). Wilmott, Howison and
/// Dewynne (1995): 0.4517·√2.
pub(super) const ABOVE_LEVEL: f64 = 0.639;
/// A cost of waiting below this counts as none (part of the strike, per year). Its logarithm is capped by the fit.
const COST_LEAST: f64 = 1e-6;
/// Lower bound of a pace in the part of the flow that a moving boundary earns. The share is its square over 2.
const PACE_LEAST: f64 = 1e-6;
/// A boundary counts as at rest if 1/pace is below this. The share is ½ to this.
const AT_REST: f64 = 1e-3;
/// Steps of Newton's method on a Taylor series. Newton's method squares its error.
const SERIES_STEPS: usize = 6;
/// A shorter step on a Taylor series ends the search for its root (deviations until the date). The step after it would
/// be 1e-6.
const SERIES_FOUND: f64 = 1e-3;
/// Longest step on a Taylor series (deviations until the date). The bend changes over a deviation.
const SERIES_STEP: f64 = 0.25;
/// Greatest distance of a root from the place of its series (deviations until the date).
const SERIES_MOST: f64 = 0.5;
/// Most places from which the explicit boundary is approximated. One or two as a rule.
const PLACES: usize = 6;
/// The explicit boundary is found if it lies this near to the place (deviations until the date).
const EXPLICIT_FOUND: f64 = 0.03;

/// Value and derivatives in ln X at a distance of `h`, by the Taylor series.
#[inline(always)]
pub(super) fn carried<L: Lanes, const N: usize>(at: &[L; N], h: L) -> [L; N] {
    core::array::from_fn(
        #[inline(always)]
        |i| (i..N - 1).rev().fold(at[N - 1], |sum, j| (h * sum).mul_add(L::splat(1.0 / (j + 1 - i) as f64), at[j])),
    )
}

/// Fraction of the remaining flow that a boundary earns while it runs away; ξ: the standard deviation of ln X over the
/// time left, over the distance that the boundary covers in it. ½ for a boundary at rest, ξ²/2 for a fast one.
fn earned_share<L: Lanes>(xi: L) -> L {
    let inv = L::splat(1.0) / xi.max(L::splat(PACE_LEAST));
    let density = exp(inv * inv * -0.5) * INV_SQRT_2PI;
    let share = norm_cdf(-inv) + (norm_cdf(inv) - 0.5 - inv * density) / (inv * inv);
    L::select(inv.lt(L::splat(AT_REST)), L::splat(0.5), share)
}

/// The flow that a boundary earns in the `left` years until exercise ends, and its pace ξ; `speed`: its move in ln X a
/// year, `flow`: what exercise at the boundary earns a year.
pub(super) fn earned<L: Lanes>(sigma: L, left: L, speed: L, flow: L) -> [L; 2] {
    let xi = (sigma / (speed.abs() * left.sqrt()).max(L::splat(SAME.divisor))).min(L::splat(PACE_MOST));
    [flow.max(L::splat(0.0)) * left * earned_share(xi), xi]
}

/// ln B and pace from an explicit formula, and the lanes in which the search from ln X = `guess` finds it: value
/// matching, with the flow until exercise ends replaced by the fraction of it that a boundary with this pace earns.
/// `held`: holding less payoff at a ln X with two slopes or more; `earned`: the flow that a boundary there earns and
/// its pace, from value and two slopes; `sign`: 1 for a boundary above which the option is held, −1 for one below;
/// `deviation`: of ln X until the next date.
///
/// # Accuracy  that of a Taylor series over `EXPLICIT_FOUND`; of the formula itself a few hundredths of a deviation
pub(super) fn explicit<L: Lanes, const N: usize>(
    guess: L,
    sign: f64,
    deviation: L,
    held: impl Fn(L) -> [L; N],
    earned: impl Fn(L, [L; 3]) -> [L; 2],
) -> (L, L, L::Mask) {
    let c = L::splat;
    // the root of a Taylor series
    let root = |at: &[L; N], add: L, from: L| {
        let mut h = from;
        for _ in 0..SERIES_STEPS {
            let to = carried(at, h);
            let step = (to[0] + add) * sign / (to[1] * sign).max(c(SAME.divisor));
            let step = step.max(-deviation * SERIES_STEP).min(deviation * SERIES_STEP);
            h -= step;
            if step.abs().lt(deviation * SERIES_FOUND).all() {
                break;
            }
        }
        h.max(-deviation * SERIES_MOST).min(deviation * SERIES_MOST)
    };
    let (mut x, mut pace, mut found) = (guess, c(1.0), guess.lt(guess));
    for _ in 0..PLACES {
        let at = held(x);
        let still = root(&at, c(0.0), c(0.0));
        let there = carried(&at, still);
        let [flow, xi] = earned(x + still, [c(0.0), there[1], there[2]]);
        let moved = root(&at, flow, still);
        (x, pace, found) = (x + moved, xi, moved.abs().lt(deviation * EXPLICIT_FOUND));
        if found.all() {
            break;
        }
    }
    (x, pace, found)
}

/// Approximation of a boundary shortly before the end of a stretch of time.
pub(super) struct BoundaryStart<L> {
    phi: f64,
    sigma: L,
    /// Yearly cost of waiting at the kink, and its slope in ln X.
    cost: [L; 2],
    /// σ times the angle of value and payoff there.
    angle: L,
    none: L,
}

/// Standard deviations by which a boundary lies beyond the kink at its end, a polynomial in (ln s + 8)/8, s being the
/// time left over (σ·angle/cost)²: the obstacle problem W_s = W_yy/2 − 1, W ≥ 0, W(0, y) = max(−y, 0) solved by its
/// integral equation; 0.05 off at most.
const ABOVE: [f64; 5] = [2.270, -1.608, -0.430, -0.447, -0.287];

impl<L: Lanes> BoundaryStart<L> {
    /// The start of a boundary that ends next to the `kink` of the value, in ln X, at the date of the premium `at` or
    /// at expiry. `tau`: years from there to expiry, `escrow`: the dividends to come right before.
    pub(super) fn new(
        contracts: &Contracts<L>,
        [tau, escrow]: [f64; 2],
        at: Option<&DatePremium<L>>,
        k: L,
        kink: L,
    ) -> Self {
        let Contracts { phi, rates: [r, b], sigma, interest, .. } = *contracts;
        let spot = exp(kink);
        let angle = at.map_or(k, |at| {
            let width = sigma * tau.sqrt();
            let d1 = (kink - ln(k) + L::splat((r - b) * tau)) / width + width * 0.5;
            spot - norm_cdf(d1 * phi) * spot * (-b * tau).exp() - at.slope_held()
        });
        let none = k * COST_LEAST;
        let cost = ((spot + escrow) * b - interest) * phi;
        Self { phi, sigma, cost: [cost, spot * b], angle: sigma * angle.max(none), none }
    }

    /// ln B `left` years before the end, where it is `end`.
    pub(super) fn at(&self, left: f64, end: L) -> L {
        let c = L::splat;
        let deviation = self.sigma * left.sqrt();
        // the cost grows up to the boundary
        let cost = self.cost[0] + self.cost[1] * deviation * ABOVE_LEVEL;
        let ln_ratio = ln(cost.max(self.none) / self.angle);
        let q = (ln_ratio + ln_ratio + left.ln()).max(c(FITTED_FROM)).min(c(FITTED_TO));
        let above = ABOVE.iter().rev().fold(c(0.0), |sum, a| sum.mul_add((q + 8.0) * 0.125, c(*a)));
        let away = L::select(self.cost[0].gt(self.none), above, c(ABOVE_LEVEL));
        end + deviation * away * self.phi
    }
}
