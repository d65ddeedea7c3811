//! One smooth curve of volatility per (root, expiry), free of butterfly arbitrage inside the quoted strikes and of
//! calendar arbitrage between neighbours. Never: a price, a symbol, a clock.
//!
//! A curve is an arbitrage-free base ([`base`], three numbers) times the exponential of a penalised spline
//! ([`spline`]): σ(k) = σ_base(k)·e^g(u). Where quotes are dense and tight g follows them; where they are few it
//! shrinks to the base, and where there are none the base keeps the shape of the neighbours.
//!
//! A fit starts from nothing every time, so curves depend on the quotes of their pass alone; a [`Fitter`] keeps memory
//! only. Everything that runs over quotes, knots or strikes runs in lanes.

pub mod arbitrage;
pub mod base;
mod calendar;
pub mod confidence;
pub mod fit;
mod quotes;
pub mod spline;

pub use fit::{Fitter, fit};

use crate::contract::Right;
use crate::kernel::elementary::{exp, ln};
use crate::kernel::lanes::{Block, Lanes};
use base::Base;
use confidence::{Precision, Support};
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

/// What a pass reads of a fitted expiry.
pub trait Fitted {
    /// Whether anything is known of the expiry; where nothing is, every volatility is missing.
    fn is_known(&self) -> bool;

    /// Volatility per √year and confidence, 0 to 1, at a block of strikes, currency per share.
    fn at_strikes(&self, strikes: Block) -> (Block, Block);
}

/// A method that turns the volatilities of a chain into one curve per expiry. Another one is another type with this
/// trait, named in [`DefaultSmoother`].
pub trait Smoother: core::fmt::Debug + core::default::Default + Send {
    /// What it fits.
    type Curve: Fitted + Sync;

    /// The curves of all slices of one chain, given in native order.
    fn fit(&mut self, slices: &[SurfaceInput]) -> &[Self::Curve];
}

/// The method in use.
pub type DefaultSmoother = Fitter;

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
    /// The same of the fit to its own quotes alone.
    alone: Precision,
    /// Outermost two-sided quotes, on the spline's coordinate.
    quoted: (f64, f64),
    /// The same and the outermost bounds that it is held to.
    shaped: (f64, f64),
    /// Log-moneyness of the lowest and the highest strike listed, of the expiry before as well.
    listed: (f64, f64),
    /// 1 where it has quotes, little where all it has is the shape of its neighbours.
    firmness: f64,
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
            spline: Spline::zero(),
            support: Support::default(),
            alone: Precision::default(),
            quoted: (0.0, 0.0),
            shaped: (0.0, 0.0),
            listed: (0.0, 0.0),
            firmness: 0.0,
        }
    }

    /// Becomes the curve that knows nothing.
    fn forget(&mut self, t: f64) {
        (self.fwd, self.t, self.base) = (f64::NAN, t, Base::flat(f64::NAN, t));
        self.spline.reset(0.0, 1.0, 1);
        self.support.forget();
        (self.quoted, self.shaped) = ((0.0, 0.0), (0.0, 0.0));
    }

    /// Volatility and confidence at K/F.
    #[inline(always)]
    fn at_ratio<L: Lanes>(&self, ratio: L) -> (L, L) {
        let x = ln(ratio) * L::splat(1.0 / self.base.sd());
        let u = spline_place(x);
        let place = self.spline.locate(u);
        let vol = L::splat(self.base.atm()) * self.base.ratio(x).sqrt() * exp(self.spline.at(place));
        let (start, end) = self.spline.ends();
        let inside = u.lt(L::splat(end)) & L::splat(start).lt(u);
        (vol, L::select(inside, self.support.at(place), L::splat(0.0)))
    }

    /// Volatility at a strike in currency per share, per √year; NaN only where nothing is known of the expiry.
    #[must_use]
    pub fn vol(&self, strike: f64) -> f64 {
        self.at_ratio(strike / self.fwd).0
    }

    /// How well the quotes support the curve at a strike, 0 to 1.
    #[must_use]
    pub fn confidence(&self, strike: f64) -> f64 {
        self.at_ratio(strike / self.fwd).1
    }

    /// Total variance σ²t at log-moneyness.
    #[inline(always)]
    #[must_use]
    pub fn variance_at<L: Lanes>(&self, k: L) -> L {
        let x = k * L::splat(1.0 / self.base.sd());
        let g = self.spline.value(spline_place(x));
        L::splat(self.base.sd() * self.base.sd()) * self.base.ratio(x) * exp(g + g)
    }

    /// ln w with derivatives in k.
    #[must_use]
    pub fn ln_variance_at(&self, k: f64) -> LnVariance {
        let sd = self.base.sd();
        let x = k / sd;
        let [q, q1, q2] = self.base.ratio_jet(x);
        let [u, u1, u2] = place_jet(spline_place(x));
        let [g, g1, g2] = self.spline.jet(u);
        LnVariance {
            value: ln(sd * sd * q) + 2.0 * g,
            slope: (q1 + 2.0 * g1 * u1) / sd,
            bend: (q2 + 2.0 * (g2 * u1 * u1 + g1 * u2)) / (sd * sd),
        }
    }

    /// 1/variance of ln σ that the quotes give at log-moneyness k, as of the fit to them alone, and the place of k on the
    /// spline's coordinate.
    fn precision_at(&self, k: f64) -> (f64, f64) {
        let u = spline_place(k / self.base.sd());
        (self.alone.precision_at(u), u)
    }
}

impl Fitted for Curve {
    fn is_known(&self) -> bool {
        self.fwd > 0.0
    }

    /// # Cost     about 3 ns a strike
    fn at_strikes(&self, strikes: Block) -> (Block, Block) {
        self.at_ratio(strikes / self.fwd)
    }
}

impl Smoother for Fitter {
    type Curve = Curve;

    fn fit(&mut self, slices: &[SurfaceInput]) -> &[Curve] {
        Self::fit(self, slices)
    }
}

/// Where in standard deviations the spline's own coordinate turns from linear to logarithmic.
const LINEAR_SD: f64 = 1.5;

/// The spline's coordinate, the inverse hyperbolic sine: fine near the money, coarse in the wings.
#[inline(always)]
fn spline_place<L: Lanes>(x: L) -> L {
    let y = (x * (1.0 / LINEAR_SD)).abs();
    let u = ln(y + y.mul_add(y, L::splat(1.0)).sqrt());
    L::select(x.lt(L::splat(0.0)), -u, u)
}

/// Standard deviations at a place of the spline's coordinate.
#[inline(always)]
fn deviations<L: Lanes>(u: L) -> L {
    let e = exp(u);
    L::splat(0.5 * LINEAR_SD) * (e - L::splat(1.0) / e)
}

/// A place of the spline's coordinate with its first two derivatives in standard deviations.
#[inline(always)]
fn place_jet<L: Lanes>(u: L) -> [L; 3] {
    let e = exp(u);
    let back = L::splat(1.0) / e;
    let (sinh, cosh) = (L::splat(0.5) * (e - back), L::splat(0.5) * (e + back));
    let u1 = L::splat(1.0 / LINEAR_SD) / cosh;
    [u, u1, -(sinh * u1 * u1 * u1 * LINEAR_SD)]
}
