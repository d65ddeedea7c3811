//! The Greeks: one table, from which come the struct, its array view and everything that is the same for all of them;
//! and the step from derivatives at fixed X = S − A(0) to each of them, the identities and the chain rule, once for all
//! pricing methods.

use super::dividends::Terms;
use super::lanes::Lanes;

/// The unit that a number is published in. A layer asks for the unit it wants and gets the factor from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// No unit, or currency per share: printed as it is.
    Plain,
    /// Per 1 % (of volatility, rate or yield).
    PerPercent,
    /// Per 1.00 (of volatility, rate or yield).
    PerOne,
    /// Per calendar day.
    PerDay,
    /// Per year.
    PerYear,
}

impl Unit {
    /// Divisor that takes a raw derivative of the kernel (per 1.00, per year) to this unit.
    #[must_use]
    pub const fn divisor(self) -> f64 {
        match self {
            Self::PerPercent => 100.0,
            Self::PerDay => 365.0,
            Self::Plain | Self::PerOne | Self::PerYear => 1.0,
        }
    }

    /// Factor that takes a number in this unit to `other`. `None`: the two units measure different things.
    #[must_use]
    pub const fn factor_to(self, other: Self) -> Option<f64> {
        match (self, other) {
            (Self::Plain, Self::Plain)
            | (Self::PerPercent | Self::PerOne, Self::PerPercent | Self::PerOne)
            | (Self::PerDay | Self::PerYear, Self::PerDay | Self::PerYear) => Some(self.divisor() / other.divisor()),
            _ => None,
        }
    }
}

/// A contract at the money, as far as the size of its Greeks goes.
#[derive(Clone, Copy, Debug)]
pub struct AtTheMoney {
    /// Spot, currency per share.
    pub s: f64,
    /// Strike.
    pub k: f64,
    /// Volatility, per √year.
    pub sigma: f64,
    /// Years to settlement.
    pub t: f64,
}

impl AtTheMoney {
    /// Standard deviation of ln S to settlement.
    fn width(&self) -> f64 {
        self.sigma * self.t.sqrt()
    }

    /// φ(0)/(S·σ√t), about.
    fn gamma(&self) -> f64 {
        0.4 / (self.s * self.width())
    }

    /// φ(0)·S·√t, about.
    fn vega(&self) -> f64 {
        0.4 * self.s * self.t.sqrt()
    }
}

macro_rules! greeks {
    ($($field:ident $greek:ident $unit:ident $order:literal $size:expr, $meaning:literal;)*) => {
        /// Every Greek in raw units: vega, rho, epsilon per 1.00, theta and the other time derivatives per year. Sign
        /// conventions: docs/model.md.
        #[derive(Clone, Copy, Debug)]
        pub struct Greeks<L> {
            $(#[doc = $meaning] pub $field: L,)*
        }

        /// One of the Greeks; the value is the first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Greek {
            $(#[doc = $meaning] $greek,)*
        }

        impl Greek {
            /// All of them, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$greek,)*];

            /// The value and its derivatives: the first so many. A sum of values has the sums of all derivatives.
            pub const DERIVATIVES: &[Self] = Self::ALL.split_at(Self::Lambda as usize).0;

            /// Name, as in the golden files and, but for the value, in the native record.
            #[must_use]
            pub const fn name(self) -> &'static str {
                if let Self::Value = self {
                    // what users and vendors call it; the field is named for what it is
                    return "price";
                }
                match self { $(Self::$greek => stringify!($field),)* }
            }

            /// Meaning of the Greek in one line.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$greek => $meaning,)* }
            }

            /// The unit of the native record.
            #[must_use]
            pub const fn unit(self) -> Unit {
                match self { $(Self::$greek => Unit::$unit,)* }
            }

            /// Order of the derivative of the value.
            #[must_use]
            pub const fn order(self) -> u8 {
                match self { $(Self::$greek => $order,)* }
            }

            /// Size of the Greek at the money, raw: the scale of errors where the number itself is small.
            #[must_use]
            pub fn size(self, at: &AtTheMoney) -> f64 {
                let size: fn(&AtTheMoney) -> f64 = match self { $(Self::$greek => $size,)* };
                size(at)
            }
        }

        impl<L: Copy> Greeks<L> {
            /// Each number of two sets put together by `f`.
            #[inline(always)]
            #[must_use]
            pub fn zip(&self, other: &Self, f: impl Fn(L, L) -> L) -> Self {
                Self { $($field: f(self.$field, other.$field),)* }
            }

            /// One of them.
            #[inline(always)]
            #[must_use]
            pub fn get(&self, greek: Greek) -> L {
                match greek { $(Greek::$greek => self.$field,)* }
            }

            /// Every Greek from the number that `f` gives for it.
            #[inline(always)]
            #[must_use]
            pub fn from_fn(mut f: impl FnMut(Greek) -> L) -> Self {
                Self { $($field: f(Greek::$greek),)* }
            }
        }
    };
}

greeks! {
    // field    name      native unit order size at the money          meaning
    value       Value     Plain       0 |at| at.s,                        "V, currency per share";
    delta       Delta     Plain       1 |_| 1.0,                          "dV/dS";
    gamma       Gamma     Plain       2 |at| at.gamma(),                  "d2V/dS2";
    speed       Speed     Plain       3 |at| at.gamma() / (at.s * at.width()), "d3V/dS3";
    vega        Vega      PerPercent  1 |at| at.vega(),                   "dV/dsigma";
    volga       Volga     Plain       2 |at| at.vega() / at.sigma,        "d2V/dsigma2";
    ultima      Ultima    Plain       3 |at| at.vega() / (at.sigma * at.sigma), "d3V/dsigma3";
    vanna       Vanna     Plain       2 |at| 0.4 / at.sigma,              "d2V/(dS dsigma)";
    zomma       Zomma     Plain       3 |at| at.gamma() / at.sigma,       "d3V/(dS2 dsigma)";
    theta       Theta     PerDay      1 |at| 0.5 * at.vega() * at.sigma / at.t, "dV/dt, calendar time forward";
    charm       Charm     PerYear     2 |at| 0.2 / at.t,                  "d2V/(dS dt)";
    color       Color     PerYear     3 |at| at.gamma() / (2.0 * at.t),   "d3V/(dS2 dt)";
    veta        Veta      PerYear     2 |at| at.vega() / (2.0 * at.t),    "d2V/(dsigma dt)";
    rho         Rho       PerPercent  1 |at| at.k * at.t,                 "dV/dr, spot fixed";
    vera        Vera      Plain       2 |at| at.k * at.t * at.t.sqrt(),   "d2V/(dsigma dr)";
    epsilon     Epsilon   PerPercent  1 |at| at.s * at.t,                 "dV/dq, a continuous yield added to b";
    dual_delta  DualDelta Plain       1 |_| 1.0,                          "dV/dK";
    dual_gamma  DualGamma Plain       2 |at| at.gamma(),                  "d2V/dK2";
    // numbers that are no derivatives come last
    lambda      Lambda    Plain       1 |at| 1.0 / at.width(),            "delta times S over V; 0 where V = 0";
    d1          D1        Plain       0 |_| 1.0,                          "Black-76 d1";
    d2          D2        Plain       0 |_| 1.0,                          "Black-76 d2";
}

/// Value and derivatives of one option per lane in (X, sigma, r, b, K), each other input held fixed.
#[derive(Clone, Copy, Debug)]
pub struct Derivatives<L> {
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

/// Value and volatility derivatives only: what an implied volatility needs.
#[derive(Clone, Copy, Debug)]
pub struct VolDerivatives<L> {
    /// Value, currency per share.
    pub value: L,
    /// ∂V/∂σ.
    pub vega: L,
    /// ∂²V/∂σ².
    pub volga: L,
    /// ∂³V/∂σ³.
    pub ultima: L,
}

impl<L: Lanes> Derivatives<L> {
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

    /// `f` of the numbers of both.
    #[inline(always)]
    #[must_use]
    pub fn zip(&self, other: &Self, f: impl Fn(L, L) -> L) -> Self {
        Self {
            v: f(self.v, other.v),
            x: core::array::from_fn(|i| f(self.x[i], other.x[i])),
            sigma: core::array::from_fn(|i| f(self.sigma[i], other.sigma[i])),
            x_sigma: f(self.x_sigma, other.x_sigma),
            xx_sigma: f(self.xx_sigma, other.xx_sigma),
            r: f(self.r, other.r),
            r_sigma: f(self.r_sigma, other.r_sigma),
            b: f(self.b, other.b),
            k: core::array::from_fn(|i| f(self.k[i], other.k[i])),
            d: core::array::from_fn(|i| f(self.d[i], other.d[i])),
        }
    }

    /// Returns `yes` in the lanes of the mask, and `no` in the others.
    #[inline(always)]
    #[must_use]
    pub fn select(mask: L::Mask, yes: &Self, no: &Self) -> Self {
        yes.zip(no, |yes, no| L::select(mask, yes, no))
    }
}

impl<L: Lanes> Greeks<L> {
    /// Returns `yes` in the lanes of the mask, and `no` in the others.
    #[inline(always)]
    #[must_use]
    pub fn select(mask: L::Mask, yes: &Self, no: &Self) -> Self {
        yes.zip(no, |yes, no| L::select(mask, yes, no))
    }
}

impl<L: Lanes> VolDerivatives<L> {
    /// A value that moves with volatility at one pace.
    #[inline(always)]
    #[must_use]
    pub fn straight(value: L, vega: L) -> Self {
        let zero = L::splat(0.0);
        Self { value, vega, volga: zero, ultima: zero }
    }

    /// `f` of the numbers of both.
    #[inline(always)]
    #[must_use]
    pub fn zip(&self, other: &Self, f: impl Fn(L, L) -> L) -> Self {
        Self {
            value: f(self.value, other.value),
            vega: f(self.vega, other.vega),
            volga: f(self.volga, other.volga),
            ultima: f(self.ultima, other.ultima),
        }
    }

    /// Returns `yes` in the lanes of the mask, and `no` in the others.
    #[inline(always)]
    #[must_use]
    pub fn select(mask: L::Mask, yes: &Self, no: &Self) -> Self {
        yes.zip(no, |yes, no| L::select(mask, yes, no))
    }
}

/// From the first four derivatives in the logarithm of a positive number to those in the number, whose `inverse` is
/// 1 over it.
#[inline(always)]
pub(crate) fn from_logs<L: Lanes>([l1, l2, l3, l4]: [L; 4], inverse: L) -> [L; 4] {
    let c = |v: f64| L::splat(v);
    let square = inverse * inverse;
    [
        l1 * inverse,
        (l2 - l1) * square,
        (l3 - c(3.0) * l2 + c(2.0) * l1) * square * inverse,
        (l4 - c(6.0) * l3 + c(11.0) * l2 - c(6.0) * l1) * square * square,
    ]
}

/// The derivative in time of a price or premium at fixed X, from its value and its first two derivatives in ln X: the
/// pricing equation. `half`: σ²/2.
#[inline(always)]
pub(crate) fn by_time<L: Lanes>(r: f64, b: f64, half: L, [v, l1, l2]: [L; 3]) -> L {
    half.neg_mul_add(l2 - l1, L::splat(r) * v - L::splat(r - b) * l1)
}

/// The market of one expiry as the chain rule sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpotInputs {
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

impl SpotInputs {
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
/// # Source    docs/model.md, "Identities"; A(0) moves with r and b, so rho, vera and epsilon take in dA(0)/dr
#[inline(always)]
pub fn finish<L: Lanes>(jet: &Derivatives<L>, at: &SpotInputs, sigma: L) -> Greeks<L> {
    let c = |v: f64| L::splat(v);
    let (x, s) = (c(at.x), c(at.s));
    // the escrowed dividends earn the carry as well, so the drift is that of the whole spot
    let drift = c((at.r - at.b) * at.s);
    let s2x = sigma * sigma * x;
    let h = s2x * x * 0.5;
    let [v_x, v_xx, v_xxx, v_xxxx] = jet.x;
    let [vega, volga, ultima] = jet.sigma;
    // from the differential equation and not by moving time: exact, and of no further evaluation
    let theta = h.neg_mul_add(v_xx, drift.neg_mul_add(v_x, c(at.r) * jet.v));
    // the equation differentiated once in the spot; color twice; veta in σ
    let charm = h.neg_mul_add(v_xxx, (drift + s2x).neg_mul_add(v_xx, c(at.b) * v_x));
    let twice = (c(2.0 * at.b - at.r) - sigma * sigma) * v_xx;
    let color = h.neg_mul_add(v_xxxx, (drift + s2x + s2x).neg_mul_add(v_xxx, twice));
    let veta = drift.neg_mul_add(jet.x_sigma, c(at.r) * vega);
    let veta = h.neg_mul_add(jet.xx_sigma, (sigma * x * x).neg_mul_add(v_xx, veta));
    // rates move the present value of dividends, and with it the escrowed spot: the chain rule adds that part
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
        // an option worth nothing has no leverage, and a division by zero must not leave
        lambda: L::select(jet.v.le(c(0.0)), c(0.0), v_x * s / jet.v),
        dual_delta: jet.k[0],
        dual_gamma: jet.k[1],
        d1: jet.d[0],
        d2: jet.d[1],
    }
}

/// The row of an option whose exercise is optimal now: phi·(S − K), delta phi, everything else 0 (docs/model.md).
#[inline(always)]
pub fn exercised<L: Lanes>(phi: f64, s: f64, k: L, d: [L; 2]) -> Greeks<L> {
    let c = |v: f64| L::splat(v);
    // the payoff itself: nothing but delta and the strike's derivative is left of it
    let (value, zero) = ((c(s) - k) * phi, c(0.0));
    Greeks {
        value,
        delta: c(phi),
        lambda: L::select(value.le(zero), zero, c(phi * s) / value),
        dual_delta: c(-phi),
        d1: d[0],
        d2: d[1],
        ..Greeks::from_fn(|_| zero)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::black76::{Horizon, european};

    #[test]
    fn derivatives_of_powers_come_from_their_logarithms() {
        for (x, p) in [(0.3f64, -1.5), (2.0, 0.5), (80.0, 3.0)] {
            let value = x.powf(p);
            let got = from_logs([p, p * p, p * p * p, p * p * p * p].map(|by| by * value), 1.0 / x);
            let mut want = value;
            for (n, got) in got.into_iter().enumerate() {
                want *= (p - n as f64) / x;
                assert!(
                    (got - want).abs() <= 1e-13 * value * (10.0 / x).powi(n as i32 + 1),
                    "x^{p} at {x}, {n}: {got} {want}"
                );
            }
        }
    }

    #[test]
    fn european_values_age_by_the_pricing_equation() {
        for (phi, r, b, k, sigma) in
            [(1.0, 0.05, 0.02, 90.0, 0.2), (-1.0, 0.03, -0.01, 130.0, 0.4), (-1.0, 0.0, 0.05, 99.0, 0.1)]
        {
            let at = |t: f64| european(phi, &Horizon::new(t, r, b), 100.0, k, sigma);
            let (t, h) = (0.7, 1e-4);
            let jet = at(t);
            let [first, second, ..] = jet.x;
            let logs = [jet.v, first * 100.0, second * 1e4 + first * 100.0];
            let want = (at(t - h).v - at(t + h).v) / (2.0 * h);
            let got = by_time(r, b, 0.5 * sigma * sigma, logs);
            assert!((got - want).abs() < 1e-6, "{got} for {want}");
        }
    }
}
