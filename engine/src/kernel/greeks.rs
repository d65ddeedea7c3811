//! From derivatives at fixed X = S − A(0) to every Greek of MODEL: the identities and the chain rule, once for all
//! pricing methods.

use super::dividends::Terms;
use super::lanes::Lanes;

/// Value and derivatives of one option per lane in (X, sigma, r, b, K), each other input held fixed.
#[derive(Clone, Copy, Debug)]
pub struct Jet<L> {
    /// V.
    pub v: L,
    /// ∂V/∂X to ∂⁴V/∂X⁴.
    pub x: [L; 4],
    /// ∂V/∂σ to ∂³V/∂σ³.
    pub sigma: [L; 3],
    /// ∂²V/∂X∂σ.
    pub x_sigma: L,
    /// ∂³V/∂X²∂σ.
    pub xx_sigma: L,
    /// ∂V/∂r at fixed X.
    pub r: L,
    /// ∂²V/∂r∂σ at fixed X.
    pub r_sigma: L,
    /// ∂V/∂b at fixed X.
    pub b: L,
    /// ∂V/∂K and ∂²V/∂K².
    pub k: [L; 2],
    /// Black-76's d1 and d2.
    pub d: [L; 2],
}

/// Every Greek of MODEL in raw units: vega, rho, epsilon per 1.00, theta and the other time derivatives per year.
#[derive(Clone, Copy, Debug)]
pub struct Greeks<L> {
    /// Value, currency per share.
    pub value: L,
    /// ∂V/∂S.
    pub delta: L,
    /// ∂²V/∂S².
    pub gamma: L,
    /// ∂³V/∂S³.
    pub speed: L,
    /// ∂V/∂σ.
    pub vega: L,
    /// ∂²V/∂σ².
    pub volga: L,
    /// ∂³V/∂σ³.
    pub ultima: L,
    /// ∂²V/∂S∂σ.
    pub vanna: L,
    /// ∂³V/∂S²∂σ.
    pub zomma: L,
    /// ∂V/∂t, calendar time forward, per year.
    pub theta: L,
    /// ∂²V/∂S∂t.
    pub charm: L,
    /// ∂³V/∂S²∂t.
    pub color: L,
    /// ∂²V/∂σ∂t.
    pub veta: L,
    /// ∂V/∂r, spot fixed.
    pub rho: L,
    /// ∂²V/∂σ∂r.
    pub vera: L,
    /// ∂V/∂q, a continuous yield added to b.
    pub epsilon: L,
    /// delta·S/V; 0 where V = 0.
    pub lambda: L,
    /// ∂V/∂K.
    pub dual_delta: L,
    /// ∂²V/∂K².
    pub dual_gamma: L,
    /// Black-76 d1.
    pub d1: L,
    /// Black-76 d2.
    pub d2: L,
}

/// Value and volatility derivatives only: what an implied volatility needs.
#[derive(Clone, Copy, Debug)]
pub struct VolJet<L> {
    /// Value, currency per share.
    pub value: L,
    /// ∂V/∂σ.
    pub vega: L,
    /// ∂²V/∂σ².
    pub volga: L,
    /// ∂³V/∂σ³.
    pub ultima: L,
}

impl<L: Lanes> Jet<L> {
    /// No value, of a contract whose d1 and d2 are `d`.
    #[must_use]
    pub fn nothing(d: [L; 2]) -> Self {
        let zero = L::splat(0.0);
        Self {
            v: zero,
            x: [zero; 4],
            sigma: [zero; 3],
            x_sigma: zero,
            xx_sigma: zero,
            r: zero,
            r_sigma: zero,
            b: zero,
            k: [zero; 2],
            d,
        }
    }

    /// `yes` in the lanes where the mask says so, else `no`.
    #[inline(always)]
    #[must_use]
    pub fn select(mask: L::Mask, yes: &Self, no: &Self) -> Self {
        let pick = |a: L, b: L| L::select(mask, a, b);
        Self {
            v: pick(yes.v, no.v),
            x: core::array::from_fn(|i| pick(yes.x[i], no.x[i])),
            sigma: core::array::from_fn(|i| pick(yes.sigma[i], no.sigma[i])),
            x_sigma: pick(yes.x_sigma, no.x_sigma),
            xx_sigma: pick(yes.xx_sigma, no.xx_sigma),
            r: pick(yes.r, no.r),
            r_sigma: pick(yes.r_sigma, no.r_sigma),
            b: pick(yes.b, no.b),
            k: core::array::from_fn(|i| pick(yes.k[i], no.k[i])),
            d: core::array::from_fn(|i| pick(yes.d[i], no.d[i])),
        }
    }
}

impl<L: Lanes> Greeks<L> {
    /// `yes` in the lanes where the mask says so, else `no`.
    #[inline(always)]
    #[must_use]
    pub fn select(mask: L::Mask, yes: &Self, no: &Self) -> Self {
        let pick = |a: L, b: L| L::select(mask, a, b);
        Self {
            value: pick(yes.value, no.value),
            delta: pick(yes.delta, no.delta),
            gamma: pick(yes.gamma, no.gamma),
            speed: pick(yes.speed, no.speed),
            vega: pick(yes.vega, no.vega),
            volga: pick(yes.volga, no.volga),
            ultima: pick(yes.ultima, no.ultima),
            vanna: pick(yes.vanna, no.vanna),
            zomma: pick(yes.zomma, no.zomma),
            theta: pick(yes.theta, no.theta),
            charm: pick(yes.charm, no.charm),
            color: pick(yes.color, no.color),
            veta: pick(yes.veta, no.veta),
            rho: pick(yes.rho, no.rho),
            vera: pick(yes.vera, no.vera),
            epsilon: pick(yes.epsilon, no.epsilon),
            lambda: pick(yes.lambda, no.lambda),
            dual_delta: pick(yes.dual_delta, no.dual_delta),
            dual_gamma: pick(yes.dual_gamma, no.dual_gamma),
            d1: pick(yes.d1, no.d1),
            d2: pick(yes.d2, no.d2),
        }
    }
}

impl<L: Lanes> VolJet<L> {
    /// `yes` in the lanes where the mask says so, else `no`.
    #[inline(always)]
    #[must_use]
    pub fn select(mask: L::Mask, yes: &Self, no: &Self) -> Self {
        let pick = |a: L, b: L| L::select(mask, a, b);
        Self {
            value: pick(yes.value, no.value),
            vega: pick(yes.vega, no.vega),
            volga: pick(yes.volga, no.volga),
            ultima: pick(yes.ultima, no.ultima),
        }
    }
}

/// The market of one expiry as the chain rule sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Market {
    /// Underlying price, currency per share.
    pub s: f64,
    /// X = S − A(0).
    pub x: f64,
    /// dA(0)/dr = −dA(0)/db.
    pub a0_r: f64,
    /// Risk-free rate, per year.
    pub r: f64,
    /// Borrow rate, per year.
    pub b: f64,
}

impl Market {
    /// At the spot `s`.
    #[must_use]
    pub fn new(terms: &Terms, s: f64) -> Self {
        Self { s, x: s - terms.a(0.0), a0_r: terms.a0_r(), r: terms.r, b: terms.b }
    }
}

/// From derivatives at fixed X to every Greek.
///
/// # Units     raw: per 1.00 of volatility and rate, per year
/// # Domain    wherever holding on is optimal (the identities are the pricing equation); NaN in gives NaN out, by lane
/// # Source    MODEL, "Identities"; A(0) moves with r and b, so rho, vera and epsilon take in dA(0)/dr
#[inline(always)]
pub fn finish<L: Lanes>(jet: &Jet<L>, at: &Market, sigma: L) -> Greeks<L> {
    let c = |v: f64| L::splat(v);
    let (x, s) = (c(at.x), c(at.s));
    let drift = c((at.r - at.b) * at.s);
    let s2x = sigma * sigma * x;
    let h = s2x * x * c(0.5);
    let [v_x, v_xx, v_xxx, v_xxxx] = jet.x;
    let [vega, volga, ultima] = jet.sigma;
    let theta = h.neg_mul_add(v_xx, drift.neg_mul_add(v_x, c(at.r) * jet.v));
    let charm = h.neg_mul_add(v_xxx, (drift + s2x).neg_mul_add(v_xx, c(at.b) * v_x));
    let twice = (c(2.0 * at.b - at.r) - sigma * sigma) * v_xx;
    let color = h.neg_mul_add(v_xxxx, (drift + s2x + s2x).neg_mul_add(v_xxx, twice));
    let veta = drift.neg_mul_add(jet.x_sigma, c(at.r) * vega);
    let veta = h.neg_mul_add(jet.xx_sigma, (sigma * x * x).neg_mul_add(v_xx, veta));
    let a0_r = c(at.a0_r);
    Greeks {
        value: jet.v,
        delta: v_x,
        gamma: v_xx,
        speed: v_xxx,
        vega,
        volga,
        ultima,
        vanna: jet.x_sigma,
        zomma: jet.xx_sigma,
        theta,
        charm,
        color,
        veta,
        rho: a0_r.neg_mul_add(v_x, jet.r),
        vera: a0_r.neg_mul_add(jet.x_sigma, jet.r_sigma),
        epsilon: a0_r.mul_add(v_x, jet.b),
        lambda: L::select(jet.v.le(c(0.0)), c(0.0), v_x * s / jet.v),
        dual_delta: jet.k[0],
        dual_gamma: jet.k[1],
        d1: jet.d[0],
        d2: jet.d[1],
    }
}

/// The row of an option whose exercise is optimal now: phi·(S − K), delta phi, everything else 0 (MODEL).
#[inline(always)]
pub fn exercised<L: Lanes>(phi: f64, s: f64, k: L, d: [L; 2]) -> Greeks<L> {
    let c = |v: f64| L::splat(v);
    let value = (c(s) - k) * c(phi);
    let zero = c(0.0);
    Greeks {
        value,
        delta: c(phi),
        gamma: zero,
        speed: zero,
        vega: zero,
        volga: zero,
        ultima: zero,
        vanna: zero,
        zomma: zero,
        theta: zero,
        charm: zero,
        color: zero,
        veta: zero,
        rho: zero,
        vera: zero,
        epsilon: zero,
        lambda: L::select(value.le(zero), zero, c(phi * s) / value),
        dual_delta: c(-phi),
        dual_gamma: zero,
        d1: d[0],
        d2: d[1],
    }
}
