//! Reference values of American options with dividends, or with two boundaries: solutions for each contract.
//!
//! The derivatives in the spot are those of the solution. All others are differences of solutions at shifted inputs,
//! which are as smooth as the value, up to the boundary. Never: a table, a cache.

use super::moment::FlowTime;
use super::pays::exercised_now;
use super::premium::now::Now;
use crate::black76::{Horizon, european};
use crate::contract::Right;
use crate::dividends::Terms;
use crate::greeks::{Derivatives, VolDerivatives, from_logs};
use crate::lanes::{Block, Lanes, Mask};

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

/// Contracts of the same terms at one X.
#[derive(Default)]
struct Solutions {
    /// ln B now, by contract; NaN: there is no boundary.
    boundary: Vec<f64>,
    /// True where exercise is optimal now, by contract.
    exercised: Vec<bool>,
    /// Value and first four derivatives in ln X, by contract.
    values: Vec<[f64; 5]>,
}

impl Solutions {
    /// Solves `pairs` of strike and volatility, and evaluates them at ln X = `x`.
    fn new(phi: f64, terms: &Terms, x: f64, pairs: &[(f64, f64)]) -> Self {
        let mut all = Self::default();
        for pairs in pairs.chunks(Block::N) {
            let lanes = |of: fn(&(f64, f64)) -> f64| Block::from_fn(|i| of(&pairs[i.min(pairs.len() - 1)]));
            let together = || Now::new(phi, terms, lanes(|pair| pair.0), lanes(|pair| pair.1));
            match (pairs.len() > 1).then(together).flatten() {
                Some(block) => all.add(&block, x, pairs.len()),
                None => pairs.iter().for_each(|(k, sigma)| all.add(&Now::alone(phi, terms, *k, *sigma), x, 1)),
            }
        }
        all
    }

    fn add<L: FlowTime<L>>(&mut self, solved: &Now<L>, x: f64, lanes: usize) {
        let (value, exercised) = (solved.value(L::splat(x)), solved.is_exercised(L::splat(x)));
        self.boundary.extend((0..lanes).map(|i| solved.boundary().lane(i)));
        self.exercised.extend((0..lanes).map(|i| exercised.lane(i)));
        self.values.extend((0..lanes).map(|i| value.map(|value| value.lane(i))));
    }
}

/// One contract, which is solved at its own inputs and at shifted ones.
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
    fn solutions(&self, terms: &Terms, pairs: &[(f64, f64)]) -> Solutions {
        Solutions::new(self.right.phi(), terms, self.x.ln(), pairs)
    }

    /// The strike and volatilities of differences in σ: `n` steps to either side, the own one first.
    fn by_sigma(&self, n: i32) -> Vec<(f64, f64)> {
        let step = SIGMA_STEP * self.sigma;
        let sides = (1..=n).flat_map(|n| [-n, n]).map(|n| (self.k, self.sigma + f64::from(n) * step));
        core::iter::once((self.k, self.sigma)).chain(sides).collect()
    }

    /// The first three σ derivatives, and the first of both derivatives in X, from the solutions of `by_sigma(3)`.
    fn sigma(&self, solved: &Solutions) -> ([f64; 3], [f64; 2]) {
        let step = SIGMA_STEP * self.sigma;
        let at: Vec<SpotSlopes> = solved.values.iter().map(|value| spot_slopes(self.x, *value)).collect();
        let points = [1, 3, 5].map(|i| [at[i], at[i + 1]]);
        let odd = |weights: [f64; 3], which: usize| -> f64 {
            weights.iter().zip(&points).map(|(w, [low, high])| w * (high[which] - low[which])).sum()
        };
        let even: f64 = SECOND.iter().zip(&points).map(|(w, [low, high])| w * (high[0] + low[0])).sum();
        let second = (even + SECOND[3] * at[0][0]) / (step * step);
        let sigma = [odd(FIRST, 0) / step, second, odd(THIRD, 0) / (step * step * step)];
        (sigma, [odd(FIRST, 1) / step, odd(FIRST, 2) / step])
    }

    /// The first two strike derivatives.
    fn strike(&self, middle: f64) -> [f64; 2] {
        let next = self.terms.divs.iter().map(|d| d.t).find(|t| *t > 0.0).unwrap_or(self.terms.t);
        let deviation = self.sigma * next.min(self.terms.t).sqrt();
        let step = (STRIKE_DEVIATION * deviation).clamp(STRIKE_LEAST, STRIKE_STEP) * self.k;
        let pairs = [-2.0, -1.0, 1.0, 2.0].map(|n| (self.k + n * step, self.sigma));
        let values = self.solutions(self.terms, &pairs).values;
        let [a, b, c, d] = [values[0][0], values[1][0], values[2][0], values[3][0]];
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
        let ends = Self::steps(self.terms.r, true);
        let step = SIGMA_STEP * self.sigma;
        let [low, high] = ends.map(|by| {
            let solved = self.solutions(&Terms { r: self.terms.r + by, ..self.terms.clone() }, &self.by_sigma(2));
            let [own, a, b, c, d] = core::array::from_fn(|i| solved.values[i][0]);
            [own, (8.0 * (b - a) - (d - c)) / (12.0 * step)]
        });
        let apart = ends[1] - ends[0];
        [(high[0] - low[0]) / apart, (high[1] - low[1]) / apart]
    }

    /// ∂/∂b.
    fn b(&self, middle: f64) -> f64 {
        // with r < 0 the sign of b decides how many boundaries there are
        let [low, high] = Self::steps(self.terms.b, self.terms.r < -NO_RATE);
        let at = |by: f64| {
            let terms = Terms { b: self.terms.b + by, ..self.terms.clone() };
            self.solutions(&terms, &[(self.k, self.sigma)]).values[0][0]
        };
        let is_free = self.right == Right::Call && self.terms.r.abs() < NO_RATE && self.terms.b.abs() < NO_RATE;
        if is_free {
            // above b = 0 the derivative approaches its limit like 1/ln b, from below it is smooth
            return (3.0 * middle - 4.0 * at(low) + at(2.0 * low)) / (-2.0 * low);
        }
        (at(high) - at(low)) / (high - low)
    }
}

/// Value and the first two derivatives in X.
fn spot_slopes(x: f64, value: [f64; 5]) -> SpotSlopes {
    let [v, x1, x2, ..] = in_x(x, value);
    [v, x1, x2]
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

    /// The solutions of [`Self::by_sigma`]; `None` if the contract has no model value.
    fn own(&self, n: i32) -> Option<Solutions> {
        self.is_in_domain().then(|| self.solutions(self.terms, &self.by_sigma(n)))
    }

    /// Value and derivatives in the order of [`Derivatives`], without d1 and d2; the last is 1 if exercising now is
    /// optimal, and all others are NaN then. NaN without a model value.
    fn numbers(&self) -> [f64; NUMBERS] {
        let mut numbers = [f64::NAN; NUMBERS];
        let Some(solved) = self.own(3) else { return numbers };
        if solved.exercised[0] {
            numbers[NUMBERS - 1] = 1.0;
            return numbers;
        }
        let [v, x1, x2, x3, x4] = in_x(self.x, solved.values[0]);
        let ([vega, volga, ultima], [x_sigma, xx_sigma]) = self.sigma(&solved);
        let ([r, r_sigma], [k1, k2]) = (self.r(), self.strike(v));
        [v, x1, x2, x3, x4, vega, volga, ultima, x_sigma, xx_sigma, r, r_sigma, self.b(v), k1, k2, 0.0]
    }

    /// Value and σ derivatives; the last is 1 if exercising now is optimal.
    fn vol_numbers(&self) -> [f64; 5] {
        let Some(solved) = self.own(3) else { return [f64::NAN; 5] };
        let [value, ..] = solved.values[0];
        if solved.exercised[0] {
            return [value, 0.0, 0.0, 0.0, 1.0];
        }
        let [vega, volga, ultima] = self.sigma(&solved).0;
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
/// # Cost      19 solutions a contract, most of them eight side by side: 4 ms for each date that matters
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
    let of =
        |contract: &Contract<'_>| [contract.own(0).map_or(f64::NAN, |solved| solved.boundary[0].exp() + terms.a(0.0))];
    let [boundary] = each(right, terms, 1.0, [k, sigma], of);
    boundary
}
