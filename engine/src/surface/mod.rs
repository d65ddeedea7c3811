//! One smooth curve of volatility per (root, expiry), free of butterfly arbitrage inside the quoted strikes and of
//! calendar arbitrage between neighbours. Never: a price, a symbol, a clock.
//!
//! A curve is an arbitrage-free base ([`base`], three numbers) times the exponential of a penalised spline
//! ([`spline`]): σ(k) = σ_base(k)·e^g(u). Where quotes are dense and tight g follows them; where they are few it
//! shrinks to the base, and where there are none the base keeps the shape of the neighbours.

pub mod arbitrage;
pub mod base;
pub mod confidence;
pub mod fit;
pub mod spline;

pub use fit::fit;

use crate::contract::Right;
use crate::kernel::elementary::{exp, ln};
use base::Base;
use confidence::Support;
use spline::Spline;

/// Everything that the curve of one (root, expiry) is fitted to.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceInput<'a> {
    /// Years to settlement, positive.
    pub t: f64,
    /// Forward, currency per share; NaN: unknown, no curve.
    pub fwd: f64,
    /// Strikes by row, thousandths; ascending.
    pub strike_milli: &'a [u32],
    /// Call or put, by row.
    pub right: &'a [Right],
    /// Volatility at the bid, by row; NaN: none.
    pub vol_bid: &'a [f64],
    /// Volatility at the mid, by row; NaN: none.
    pub vol_mid: &'a [f64],
    /// Volatility at the ask, by row; NaN: none.
    pub vol_ask: &'a [f64],
    /// Whether the row's quote may support the curve.
    pub used: &'a [bool],
}

/// The fitted volatility of one (root, expiry) as a function of strike.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Forward that moneyness is measured from; NaN: nothing is known, every volatility is missing.
    pub fwd: f64,
    /// Years to settlement.
    pub t: f64,
    base: Base,
    spline: Spline,
    support: Support,
    /// Outermost two-sided quotes, on the spline's coordinate.
    quoted: (f64, f64),
    /// Quotes further from the curve than several times their spread.
    pub outliers: u32,
}

/// ln of total variance and its first two derivatives in k = ln(K/F).
#[derive(Clone, Copy, Debug)]
pub struct LnVariance {
    /// ln w.
    pub value: f64,
    /// d ln w/dk.
    pub slope: f64,
    /// d² ln w/dk².
    pub bend: f64,
}

impl Curve {
    /// The curve that knows nothing.
    #[must_use]
    pub fn missing(t: f64) -> Self {
        Self {
            fwd: f64::NAN,
            t,
            base: Base::flat(f64::NAN, t),
            spline: Spline::zero(0.0, 0.0),
            support: Support::default(),
            quoted: (0.0, 0.0),
            outliers: 0,
        }
    }

    /// Volatility at a strike in currency per share, per √year; NaN only where nothing is known of the expiry.
    #[must_use]
    pub fn vol(&self, strike: f64) -> f64 {
        self.vol_at((strike / self.fwd).ln())
    }

    /// Volatility at log-moneyness k = ln(K/F).
    #[must_use]
    pub fn vol_at(&self, k: f64) -> f64 {
        let x = k / self.base.sd();
        self.base.vol(x) * exp(self.spline.value(spline_place(x)))
    }

    /// Total variance σ²t at log-moneyness.
    #[must_use]
    pub fn variance_at(&self, k: f64) -> f64 {
        let vol = self.vol_at(k);
        vol * vol * self.t
    }

    /// ln w with derivatives in k.
    #[must_use]
    pub fn ln_variance_at(&self, k: f64) -> LnVariance {
        let sd = self.base.sd();
        let x = k / sd;
        let base = self.base.ln_variance(x);
        let (u, u1, u2) = spline_place_jet(x);
        let [g, g1, g2] = self.spline.jet(u);
        LnVariance {
            value: base[0] + 2.0 * g,
            slope: (base[1] + 2.0 * g1 * u1) / sd,
            bend: (base[2] + 2.0 * (g2 * u1 * u1 + g1 * u2)) / (sd * sd),
        }
    }

    /// How well the quotes support the curve at a strike, 0 to 1.
    #[must_use]
    pub fn confidence(&self, strike: f64) -> f64 {
        self.support.at(spline_place((strike / self.fwd).ln() / self.base.sd()))
    }

    /// 1/variance of ln σ that the quotes give at log-moneyness k.
    fn precision_at(&self, k: f64) -> f64 {
        self.support.precision(spline_place(k / self.base.sd()))
    }

    /// The spline's coordinate of log-moneyness k.
    fn place_of(&self, k: f64) -> f64 {
        spline_place(k / self.base.sd())
    }

    /// Log-moneyness of a place on the spline's coordinate.
    fn k_of(&self, u: f64) -> f64 {
        LINEAR_SD * u.sinh() * self.base.sd()
    }
}

/// Where in standard deviations the spline's own coordinate turns from linear to logarithmic.
const LINEAR_SD: f64 = 1.5;

/// The spline's coordinate: fine near the money, coarse in the wings.
fn spline_place(x: f64) -> f64 {
    let y = x / LINEAR_SD;
    asinh(y, (1.0 + y * y).sqrt())
}

/// The inverse hyperbolic sine of y, given √(1 + y²).
fn asinh(y: f64, root: f64) -> f64 {
    ln(y.abs() + root).copysign(y)
}

/// The same with its first two derivatives in x.
fn spline_place_jet(x: f64) -> (f64, f64, f64) {
    let y = x / LINEAR_SD;
    let root = (1.0 + y * y).sqrt();
    (asinh(y, root), 1.0 / (LINEAR_SD * root), -y / (LINEAR_SD * LINEAR_SD * root * root * root))
}
