//! Black-76: value and every derivative of European options in closed form.
//!
//! Everything is written at fixed X = S − A(0), where the escrowed model is plain Black-Scholes with yield b; the chain
//! rule to S and the time derivatives are [`super::greeks::finish`]'s. Never: a dividend, an early exercise.

use super::dividends::Terms;
use super::elementary::{exp, ln};
use super::greeks::{Derivatives, VolDerivatives};
use super::lanes::{InLanes, Lanes};
use super::normal::{INV_SQRT_2PI, bell, norm_cdf, norm_cdf_given};

/// Least sigma and least sigma·√t that a formula divides by: a volatility of 1 % over one second is 2e-6.
const TINY: f64 = 1e-9;
/// X, K below and 1/X, 1/K above this have no model value.
const HUGE: f64 = 1e150;

/// The numbers of one expiry that the formulas share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Horizon {
    /// Years to settlement.
    pub t: f64,
    /// √t.
    pub root_t: f64,
    /// The discount factor e^(−rt).
    pub df: f64,
    /// e^(−bt).
    pub df_b: f64,
    /// ln(F/X) = (r − b)·t.
    pub drift: f64,
}

impl Horizon {
    /// Numbers of an option that settles in `t` years; a `t` below 0 counts as 0.
    #[must_use]
    pub fn new(t: f64, r: f64, b: f64) -> Self {
        // an expired contract has its payoff as value, not NaN
        let t = t.max(0.0);
        Self { t, root_t: t.sqrt(), df: (-r * t).exp(), df_b: (-b * t).exp(), drift: (r - b) * t }
    }
}

impl From<&Terms> for Horizon {
    fn from(terms: &Terms) -> Self {
        Self::new(terms.t, terms.r, terms.b)
    }
}

/// Terms of the formulas of value and derivatives.
struct Parts<L> {
    sigma: L,
    /// X; like d1 and d2 NaN where an input is outside the domain.
    x: L,
    /// 1/(sigma·√t).
    inv_w: L,
    d1: L,
    d2: L,
    /// N(phi·d1), N(phi·d2).
    n1: L,
    n2: L,
    /// X·e^(−bt), K·e^(−rt).
    xe: L,
    kd: L,
    /// n(d1).
    density: L,
}

#[inline(always)]
fn parts<L: Lanes>(phi: f64, at: &Horizon, x: L, k: L, sigma: L) -> Parts<L> {
    let c = |v: f64| L::splat(v);
    let inside = |v: L| v.gt(c(1.0 / HUGE)) & v.lt(c(HUGE));
    let valid = inside(x) & inside(k) & c(0.0).le(sigma) & sigma.lt(c(HUGE));
    // added to what everything is computed from: a bad input gives NaN in every value, and no branch
    let poison = L::select(valid, c(0.0), c(f64::NAN));
    let x = x + poison;
    let sigma = sigma.max(c(TINY));
    // divided by below; a deviation of 1e-9 gives intrinsic value to the last digit
    let w = (sigma * at.root_t).max(c(TINY));
    let inv_w = c(1.0) / w;
    let d1 = (ln(x / k) + at.drift).mul_add(inv_w, w * 0.5) + poison; // ln alone would lose it
    let d2 = d1 - w;
    let (e1, e2) = (bell(d1), bell(d2));
    Parts {
        sigma,
        x,
        inv_w,
        d1,
        d2,
        n1: norm_cdf_given(d1 * phi, e1),
        n2: norm_cdf_given(d2 * phi, e2),
        xe: x * at.df_b,
        kd: k * at.df,
        density: e1 * INV_SQRT_2PI,
    }
}

impl<L: Lanes> Parts<L> {
    /// V, at least 0.
    #[inline(always)]
    fn value(&self, phi: f64) -> L {
        // the difference of two nearly equal products may come out a rounding below zero
        L::splat(0.0).max((self.xe * self.n1 - self.kd * self.n2) * phi)
    }

    /// vega, volga, ultima.
    #[inline(always)]
    fn by_sigma(&self, at: &Horizon) -> [L; 3] {
        let vega = self.xe * self.density * at.root_t;
        let per_sigma = L::splat(1.0) / self.sigma;
        let (d12, vega_s) = (self.d1 * self.d2, vega * per_sigma);
        let sum = self.d1.mul_add(self.d1, self.d2 * self.d2);
        [vega, vega_s * d12, vega_s * per_sigma * (d12.mul_add(d12, -d12) - sum)]
    }
}

/// Value and every derivative of European options, one option per lane.
///
/// # Shapes    `x`, `k`, `sigma` and the result: lanes; no lane looks at another · `phi`, `at`: shared by all lanes
/// # Units     x = S − A(0), k: currency per share · sigma: per √year · phi: +1 call, −1 put · result: raw units
/// # Domain    1e-150 < x, k < 1e150, sigma ≥ 0; sigma·√t → 0 gives df·max(phi·(fwd − k), 0); elsewhere NaN, in that
/// lane only
/// # Accuracy  every value on golden/european.csv (200 contracts, 50 digits): `european_values_meet_their_bounds`
/// # Source    docs/model.md, "Dynamics"; Black (1976); derivatives by hand, checked against 50-digit differences
#[inline(never)]
pub fn european<L: Lanes>(phi: f64, at: &Horizon, x: L, k: L, sigma: L) -> Derivatives<L> {
    let c = |v: f64| L::splat(v);
    let p = parts(phi, at, x, k, sigma);
    let (inv_x, inv_k, per_sigma) = (c(1.0) / p.x, c(1.0) / k, c(1.0) / p.sigma);
    // xe·n(d1) = kd·n(d2), so derivatives in X and in K share one density
    let xx = c(at.df_b) * p.density * inv_x * p.inv_w;
    let q = p.d1.mul_add(p.inv_w, c(1.0));
    let xx_x = xx * inv_x;
    let by_sigma = p.by_sigma(at);
    let vega_t = by_sigma[0] * at.root_t * per_sigma;
    Derivatives {
        v: p.value(phi),
        x: [c(phi * at.df_b) * p.n1, xx, -(xx_x * q), xx_x * inv_x * (q.mul_add(q, q) - p.inv_w * p.inv_w)],
        sigma: by_sigma,
        x_sigma: -(c(at.df_b) * p.density * p.d2 * per_sigma),
        xx_sigma: xx * per_sigma * p.d1.mul_add(p.d2, c(-1.0)),
        r: c(phi * at.t) * p.kd * p.n2,
        r_sigma: -(vega_t * p.d1),
        b: c(-phi * at.t) * p.xe * p.n1,
        k: [c(-phi * at.df) * p.n2, p.xe * p.density * inv_k * inv_k * p.inv_w],
        d: [p.d1, p.d2],
    }
}

/// Value, vega, volga and ultima only: the same numbers as [`european`], bit for bit.
#[inline(never)]
pub fn european_vol<L: Lanes>(phi: f64, at: &Horizon, x: L, k: L, sigma: L) -> VolDerivatives<L> {
    let p = parts(phi, at, x, k, sigma);
    let [vega, volga, ultima] = p.by_sigma(at);
    VolDerivatives { value: p.value(phi), vega, volga, ultima }
}

/// European values of many places at one date, for one strike and volatility a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct European<L> {
    phi: f64,
    /// ln K less the drift, σ√τ and 1 over it.
    centre: L,
    width: L,
    inverse: L,
    /// e^(−bτ), K·e^(−rτ).
    pub(crate) share: L,
    cash: L,
}

impl<L: Lanes> European<L> {
    /// # Shapes  `tau`: shared by all lanes, or per lane
    /// # Domain  tau > 0, sigma > 0
    pub(crate) fn new<T: InLanes<L>>(phi: f64, k: L, sigma: L, tau: T, r: f64, b: f64) -> Self {
        let width = sigma * tau.sqrt().in_lanes();
        European {
            phi,
            centre: ln(k) - (tau * (r - b)).in_lanes(),
            width,
            inverse: L::splat(1.0) / width,
            share: exp(tau * -b).in_lanes(),
            cash: k * exp(tau * -r).in_lanes(),
        }
    }

    /// The value at `spot`, whose logarithm is `x`.
    #[inline(never)]
    pub(crate) fn at(&self, x: L, spot: L) -> L {
        let phi = L::splat(self.phi);
        let d1 = (x - self.centre).mul_add(self.inverse, self.width * 0.5);
        let d2 = d1 - self.width;
        phi * (spot * self.share * norm_cdf(d1 * phi) - self.cash * norm_cdf(d2 * phi))
    }

    /// Value and first to fourth derivative in ln X.
    #[inline(always)]
    pub(crate) fn slopes(&self, x: L, spot: L) -> [L; 5] {
        let d1 = (x - self.centre).mul_add(self.inverse, self.width * 0.5);
        let (e, share) = (bell(d1), spot * self.share);
        let slope = norm_cdf_given(d1 * self.phi, e) * share * self.phi;
        let bend = share * e * self.inverse * INV_SQRT_2PI;
        let turn = L::splat(1.0) - d1 * self.inverse;
        let cash = norm_cdf((d1 - self.width) * self.phi) * self.cash * self.phi;
        let second = slope + bend + bend * turn;
        [slope - cash, slope, slope + bend, second, second + bend * (turn * turn - self.inverse * self.inverse)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Block;

    const T: f64 = 0.75;
    const R: f64 = 0.043;
    const B: f64 = 0.012;

    fn at() -> Horizon {
        Horizon::new(T, R, B)
    }

    #[test]
    fn put_call_parity_holds() {
        for k in [1.0, 40.0, 90.0, 100.0, 123.0, 900.0] {
            for sigma in [0.0, 0.01, 0.2, 0.9, 3.0] {
                let (call, put) = (european(1.0, &at(), 100.0, k, sigma), european(-1.0, &at(), 100.0, k, sigma));
                let forward = 100.0 * at().df_b - k * at().df;
                assert!((call.v - put.v - forward).abs() <= 4e-16 * (100.0 + k), "k {k} sigma {sigma}");
                assert!((call.x[0] - put.x[0] - at().df_b).abs() <= 4e-16, "k {k} sigma {sigma}");
                assert!((call.x[1] - put.x[1]).abs() <= 1e-300 && (call.sigma[0] - put.sigma[0]).abs() <= 1e-300);
            }
        }
    }

    #[test]
    fn value_is_homogeneous_in_spot_and_strike() {
        for k in [60.0, 100.0, 140.0] {
            let (one, seven) = (european(-1.0, &at(), 100.0, k, 0.3), european(-1.0, &at(), 700.0, 7.0 * k, 0.3));
            assert!((7.0 * one.v - seven.v).abs() <= 1e-13 * 700.0);
            assert!((one.x[0] - seven.x[0]).abs() <= 1e-14);
            let euler = 100.0 * one.x[0] + k * one.k[0];
            assert!((euler - one.v).abs() <= 1e-13 * 100.0, "k {k}: {euler} {}", one.v);
            let second = 1e4 * one.x[1] - k * k * one.k[1];
            assert!(second.abs() <= 1e-12 * 1e4 * one.x[1], "k {k}: {second}");
        }
    }

    #[test]
    fn no_volatility_or_no_time_gives_the_discounted_payoff() {
        for (at, sigma) in [(at(), 0.0), (at(), 1e-12), (Horizon::new(0.0, R, B), 0.3), (Horizon::new(-1.0, R, B), 0.3)]
        {
            for phi in [1.0, -1.0] {
                for k in [50.0, 99.0, 180.0] {
                    let jet = european(phi, &at, 100.0, k, sigma);
                    let payoff = (phi * (100.0 * at.df_b - k * at.df)).max(0.0);
                    assert!((jet.v - payoff).abs() <= 2e-14, "{} {payoff}", jet.v);
                    assert!(
                        jet.x[1] == 0.0 && jet.sigma.iter().all(|v| *v == 0.0) && jet.x_sigma == 0.0 && jet.x[3] == 0.0
                    );
                    let delta = if payoff > 0.0 { phi * at.df_b } else { 0.0 };
                    assert!((jet.x[0] - delta).abs() <= 1e-16);
                }
            }
        }
    }

    #[test]
    fn deep_in_and_out_stay_finite() {
        for k in [1e-3, 1e-1, 1e3, 1e6] {
            for sigma in [1e-9, 1e-3, 0.1, 5.0, 50.0] {
                for phi in [1.0, -1.0] {
                    let j = european(phi, &at(), 100.0, k, sigma);
                    let all = [j.v, j.x[0], j.x[1], j.x[2], j.x[3], j.sigma[0], j.sigma[1], j.sigma[2], j.k[0], j.k[1]];
                    assert!(all.iter().all(|v| v.is_finite()), "phi {phi} k {k} sigma {sigma}: {j:?}");
                    assert!(j.v >= 0.0 && j.v <= if phi > 0.0 { 100.0 } else { k });
                }
            }
        }
    }

    #[test]
    fn nan_stays_in_its_lane() {
        let bad = [f64::NAN, 0.0, -1.0, f64::INFINITY];
        for (i, &bad_k) in bad.iter().enumerate() {
            let mut k = [90.0; 8];
            k[2 * i] = bad_k;
            let mut sigma = [0.3; 8];
            sigma[2 * i + 1] = if i == 1 { f64::NEG_INFINITY } else { bad_k.min(-0.5) };
            let j = european(1.0, &at(), Block::splat(100.0), Block::load(&k), Block::load(&sigma));
            for lane in 0..8 {
                let is_bad = lane == 2 * i || lane == 2 * i + 1;
                for v in [j.v, j.x[0], j.x[1], j.x[3], j.sigma[0], j.sigma[2], j.r, j.b, j.k[0], j.k[1], j.d[0]] {
                    assert_eq!(v.lane(lane).is_nan(), is_bad, "lane {lane} {j:?}");
                }
            }
        }
    }

    #[test]
    fn lanes_equal_the_scalar_bit_for_bit() {
        let k: Vec<f64> = (0..8).map(|i| 55.0 + 13.7 * f64::from(i)).collect();
        let sigma: Vec<f64> = (0..8).map(|i| 0.02 + 0.17 * f64::from(i)).collect();
        for phi in [1.0, -1.0] {
            let lanes = european(phi, &at(), Block::splat(100.0), Block::load(&k), Block::load(&sigma));
            let light = european_vol(phi, &at(), Block::splat(100.0), Block::load(&k), Block::load(&sigma));
            for i in 0..8 {
                let one = european(phi, &at(), 100.0, k[i], sigma[i]);
                let same = |a: Block, b: f64| assert_eq!(a.lane(i).to_bits(), b.to_bits(), "lane {i} of {phi}");
                same(lanes.v, one.v);
                (0..4).for_each(|n| same(lanes.x[n], one.x[n]));
                (0..3).for_each(|n| same(lanes.sigma[n], one.sigma[n]));
                (0..2).for_each(|n| same(lanes.k[n], one.k[n]));
                (0..2).for_each(|n| same(lanes.d[n], one.d[n]));
                for (a, b) in [(lanes.x_sigma, one.x_sigma), (lanes.xx_sigma, one.xx_sigma), (lanes.r, one.r)] {
                    same(a, b);
                }
                same(lanes.r_sigma, one.r_sigma);
                same(lanes.b, one.b);
                same(light.value, one.v);
                same(light.vega, one.sigma[0]);
                same(light.volga, one.sigma[1]);
                same(light.ultima, one.sigma[2]);
            }
        }
    }
}
