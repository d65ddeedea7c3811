//! Reference values of American options with dividends, or with two boundaries: recursions for each contract.
//!
//! The derivatives in the spot are those of the recursion. All others are differences of recursions at shifted inputs,
//! which are as smooth as the value, up to the boundary. Never: a table, a cache.

use super::pays::exercised_now;
use super::recursion::{AmericanOption, Solution};
use crate::black76::{Horizon, european};
use crate::contract::Right;
use crate::dividends::Terms;
use crate::greeks::{Derivatives, VolDerivatives, from_logs};
use crate::lanes::Lanes;

/// Step of σ, for differences over seven points.
const SIGMA_STEP: f64 = 0.012;
/// Upper bound of the step of K.
const STRIKE_STEP: f64 = 4e-3;
/// Step of K in deviations of ln X until the next ex-date.
const STRIKE_DEVIATION: f64 = 0.2;
/// Lower bound of the step of K.
const STRIKE_LEAST: f64 = 5e-4;
/// Step of r and b (per year).
const RATE_STEP: f64 = 2e-4;

/// Greatest step of a rate that must keep its sign, as a part of the rate: half way to 0.
const RATE_PART: f64 = 0.5;
/// Rates nearer to 0, per year, are 0: their difference is taken on one side, or would divide rounding by the step.
const NO_RATE: f64 = 1e-7;

/// Central differences over seven points: weights of the points to the right of the middle; those to the left have the
/// same weights, with opposite sign in odd derivatives. The last of `SECOND` is the weight of the middle.
const FIRST: [f64; 3] = [3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0];
const SECOND: [f64; 4] = [3.0 / 2.0, -3.0 / 20.0, 1.0 / 90.0, -49.0 / 18.0];
const THIRD: [f64; 3] = [-13.0 / 8.0, 1.0, -1.0 / 8.0];

/// One contract, whose recursions are solved at its own inputs and at shifted ones.
struct Contract<'a> {
    right: Right,
    terms: &'a Terms,
    x: f64,
    k: f64,
    sigma: f64,
}

/// Value and first two derivatives in X.
type SpotSlopes = [f64; 3];

impl Contract<'_> {
    fn solution(&self, terms: &Terms, k: f64, sigma: f64) -> Solution {
        Solution::new(&AmericanOption::new(self.right.phi(), terms, k, sigma))
    }

    /// Value and two derivatives in X at `k` and `sigma`, with the rates shifted by `r` and `b`.
    fn moved(&self, r: f64, b: f64, k: f64, sigma: f64) -> SpotSlopes {
        let terms = Terms { r: self.terms.r + r, b: self.terms.b + b, ..self.terms.clone() };
        let [v, x1, x2, ..] = in_x(self.x, self.solution(&terms, k, sigma).value(self.x.ln()));
        [v, x1, x2]
    }

    /// The first three σ derivatives, and the first of both derivatives in X.
    fn sigma(&self, middle: f64) -> ([f64; 3], [f64; 2]) {
        let step = SIGMA_STEP * self.sigma;
        let at = |n: f64| self.moved(0.0, 0.0, self.k, self.sigma + n * step);
        let points = [[at(-1.0), at(1.0)], [at(-2.0), at(2.0)], [at(-3.0), at(3.0)]];
        let odd = |weights: [f64; 3], which: usize| -> f64 {
            weights.iter().zip(&points).map(|(w, [low, high])| w * (high[which] - low[which])).sum()
        };
        let even: f64 = SECOND.iter().zip(&points).map(|(w, [low, high])| w * (high[0] + low[0])).sum();
        let second = (even + SECOND[3] * middle) / (step * step);
        let sigma = [odd(FIRST, 0) / step, second, odd(THIRD, 0) / (step * step * step)];
        (sigma, [odd(FIRST, 1) / step, odd(FIRST, 2) / step])
    }

    /// The first two strike derivatives.
    fn strike(&self, middle: f64) -> [f64; 2] {
        let next = self.terms.divs.iter().map(|d| d.t).find(|t| *t > 0.0).unwrap_or(self.terms.t);
        let deviation = self.sigma * next.min(self.terms.t).sqrt();
        let step = (STRIKE_DEVIATION * deviation).clamp(STRIKE_LEAST, STRIKE_STEP) * self.k;
        let at = |n: f64| self.moved(0.0, 0.0, self.k + n * step, self.sigma)[0];
        let [a, b, c, d] = [at(-2.0), at(-1.0), at(1.0), at(2.0)];
        [(8.0 * (c - b) - (d - a)) / (12.0 * step), (16.0 * (b + c) - a - d - 30.0 * middle) / (12.0 * step * step)]
    }

    /// Steps down and up of a rate. With `keeps_sign` they do not cross 0: the sign then decides the kind of exercise.
    fn steps(rate: f64, keeps_sign: bool) -> [f64; 2] {
        if !keeps_sign {
            return [-RATE_STEP, RATE_STEP];
        }
        if rate.abs() < NO_RATE {
            return [0.0, RATE_STEP];
        }
        let step = RATE_STEP.min(RATE_PART * rate.abs());
        [-step, step]
    }

    /// ∂/∂r and ∂²/∂r∂σ.
    fn r(&self) -> [f64; 2] {
        let [low, high] = Self::steps(self.terms.r, true);
        let step = SIGMA_STEP * self.sigma;
        let at = |r: f64, n: f64| self.moved(r, 0.0, self.k, self.sigma + n * step)[0];
        let slope = |r: f64| (8.0 * (at(r, 1.0) - at(r, -1.0)) - (at(r, 2.0) - at(r, -2.0))) / (12.0 * step);
        let apart = high - low;
        [(at(high, 0.0) - at(low, 0.0)) / apart, (slope(high) - slope(low)) / apart]
    }

    /// ∂/∂b.
    fn b(&self, middle: f64) -> f64 {
        // with r < 0 the sign of b decides how many boundaries there are
        let [low, high] = Self::steps(self.terms.b, self.terms.r < -NO_RATE);
        let at = |b: f64| self.moved(0.0, b, self.k, self.sigma)[0];
        let is_free = self.right == Right::Call && self.terms.r.abs() < NO_RATE && self.terms.b.abs() < NO_RATE;
        if is_free {
            // above b = 0 the derivative approaches its limit like 1/ln b, from below it is smooth
            return (3.0 * middle - 4.0 * at(low) + at(2.0 * low)) / (-2.0 * low);
        }
        (at(high) - at(low)) / (high - low)
    }
}

/// Derivatives in ln X to those in X.
fn in_x(x: f64, [v, logs @ ..]: [f64; 5]) -> [f64; 5] {
    let [x1, x2, x3, x4] = from_logs(logs, 1.0 / x);
    [v, x1, x2, x3, x4]
}

impl Contract<'_> {
    fn is_in_domain(&self) -> bool {
        let all = [self.x, self.k, self.sigma, self.terms.t];
        all.iter().all(|input| *input > 0.0 && input.is_finite())
    }

    /// The recursion at the contract's own inputs; `None` if the contract has no model value.
    fn own(&self) -> Option<Solution> {
        self.is_in_domain().then(|| self.solution(self.terms, self.k, self.sigma))
    }

    /// Value and derivatives in the order of [`Derivatives`], without d1 and d2; the last is 1 if exercising now is
    /// optimal, and all others are NaN then. NaN without a model value.
    fn numbers(&self) -> [f64; NUMBERS] {
        let mut numbers = [f64::NAN; NUMBERS];
        let Some(solution) = self.own() else { return numbers };
        if solution.is_exercised(self.x.ln()) {
            numbers[NUMBERS - 1] = 1.0;
            return numbers;
        }
        let [v, x1, x2, x3, x4] = in_x(self.x, solution.value(self.x.ln()));
        let ([vega, volga, ultima], [x_sigma, xx_sigma]) = self.sigma(v);
        let ([r, r_sigma], [k1, k2]) = (self.r(), self.strike(v));
        [v, x1, x2, x3, x4, vega, volga, ultima, x_sigma, xx_sigma, r, r_sigma, self.b(v), k1, k2, 0.0]
    }

    /// Value and σ derivatives; the last is 1 if exercising now is optimal.
    fn vol_numbers(&self) -> [f64; 5] {
        let Some(solution) = self.own() else { return [f64::NAN; 5] };
        let [value, ..] = solution.value(self.x.ln());
        if solution.is_exercised(self.x.ln()) {
            return [value, 0.0, 0.0, 0.0, 1.0];
        }
        let [vega, volga, ultima] = self.sigma(value).0;
        [value, vega, volga, ultima, 0.0]
    }
}

/// Numbers of [`Contract::numbers`].
const NUMBERS: usize = 16;

/// Numbers of the contract of each lane.
fn each<L: Lanes, const N: usize>(
    right: Right,
    terms: &Terms,
    x: f64,
    [k, sigma]: [L; 2],
    of: impl Fn(&Contract<'_>) -> [f64; N],
) -> [L; N] {
    let contract = |lane: usize| Contract { right, terms, x, k: k.lane(lane), sigma: sigma.lane(lane) };
    let lanes: Vec<[f64; N]> = (0..L::N).map(|lane| of(&contract(lane))).collect();
    core::array::from_fn(|i| L::from_fn(|lane| lanes[lane][i]))
}

/// Value and derivatives at fixed X, and the lanes where exercising now is optimal.
///
/// # Shapes    one contract per lane, each solved alone
/// # Units     as [`Derivatives`]
/// # Domain    X, K, σ, t above 0; NaN elsewhere
/// # Accuracy  golden/tolerances.csv, `american_div_accurate`
/// # Cost      25 recursions a contract: 3 ms without a date that matters, 3 ms more for each of them
pub(super) fn derivatives<L: Lanes>(right: Right, terms: &Terms, x: f64, k: L, sigma: L) -> (Derivatives<L>, L::Mask) {
    let [v, x1, x2, x3, x4, vega, volga, ultima, x_sigma, xx_sigma, r, r_sigma, b, k1, k2, now] =
        each(right, terms, x, [k, sigma], |contract| contract.numbers());
    let now = now.gt(L::splat(0.5)) | exercised_now(right, v, L::splat(x + terms.a(0.0)), k, k.le(k));
    let d = european(right.phi(), &Horizon::from(terms), L::splat(x), k, sigma).d;
    let (x, sigma, k) = ([x1, x2, x3, x4], [vega, volga, ultima], [k1, k2]);
    (Derivatives { v, x, sigma, x_sigma, xx_sigma, r, r_sigma, b, k, d }, now)
}

/// Value and σ derivatives, and the lanes where exercising now is optimal.
pub(super) fn vol_derivatives<L: Lanes>(
    right: Right,
    terms: &Terms,
    x: f64,
    k: L,
    sigma: L,
) -> (VolDerivatives<L>, L::Mask) {
    let [value, vega, volga, ultima, now] = each(right, terms, x, [k, sigma], |contract| contract.vol_numbers());
    let now = now.gt(L::splat(0.5)) | exercised_now(right, value, L::splat(x + terms.a(0.0)), k, k.le(k));
    (VolDerivatives { value, vega, volga, ultima }, now)
}

/// The spot at which exercise becomes optimal; NaN where it does not.
pub(super) fn boundary<L: Lanes>(right: Right, terms: &Terms, k: L, sigma: L) -> L {
    let of = |contract: &Contract<'_>| {
        let ln_b = contract.own().and_then(|solution| solution.boundary());
        [ln_b.map_or(f64::NAN, |ln_b| ln_b.exp() + terms.a(0.0))]
    };
    let [boundary] = each(right, terms, 1.0, [k, sigma], of);
    boundary
}
