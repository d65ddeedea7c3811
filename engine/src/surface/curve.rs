//! The curve of one expiry: a base times the exponential of a spline. Never: a quote.

use super::base::Base;
use super::confidence::{Precision, Support};
use super::settings::SPLINE;
use super::spline::Spline;
use kernel::elementary::{exp, ln};
use kernel::lanes::{Block, Lanes};

/// A fitted expiry.
pub trait Fitted {
    /// True if the expiry has a curve; otherwise every volatility is missing.
    fn is_known(&self) -> bool;

    /// Volatility per √year and confidence, 0 to 1, at a block of strikes, currency per share.
    fn at_strikes(&self, strikes: Block) -> (Block, Block);

    /// The first two derivatives of volatility in ln K at a block of strikes; NaN further than a standard deviation
    /// from the outermost quotes.
    fn bends_at(&self, strikes: Block) -> [Block; 2];
}

/// The fitted volatility of one (root, expiry) as a function of strike.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Forward that moneyness is measured from; NaN: the curve is empty, every volatility is missing.
    pub fwd: f64,
    /// Years to settlement.
    pub t: f64,
    pub(super) base: Base,
    pub(super) spline: Spline,
    pub(super) support: Support,
    /// Precision of the fit to the curve's own quotes alone.
    pub(super) alone: Precision,
    /// Outermost two-sided quotes, on the spline's coordinate.
    pub(super) quoted: (f64, f64),
    /// Outermost two-sided quotes or bounds, on the spline's coordinate.
    pub(super) shaped: (f64, f64),
    /// Log-moneyness of the lowest and the highest listed strike, those of the expiry before included.
    pub(super) listed: (f64, f64),
    /// Weight against other curves: 1 with quotes, small with the shape of neighbours only.
    pub(super) firmness: f64,
    /// Factor by which the spline may bend more than in its first fit, chosen by its own quotes.
    pub(super) softness: f64,
}

/// ln of total variance and its first two derivatives in k = ln(K/F).
#[derive(Clone, Copy, Debug)]
pub struct LnVariance<L = f64> {
    /// ln w.
    pub value: L,
    /// d ln w/dk.
    pub slope: L,
    /// d² ln w/dk².
    pub bend: L,
}

impl Curve {
    /// The empty curve.
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
            softness: 1.0,
        }
    }

    /// Becomes the empty curve.
    pub(super) fn forget(&mut self, t: f64) {
        (self.fwd, self.t, self.base) = (f64::NAN, t, Base::flat(f64::NAN, t));
        // one interval and not none: a reader that asks before it checks must find coefficients
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
        // beyond its knots the curve is extrapolated, and no quote supports it
        let inside = u.lt(L::splat(end)) & L::splat(start).lt(u);
        (vol, L::select(inside, self.support.at(place), L::splat(0.0)))
    }

    /// Volatility at a strike in currency per share, per √year; NaN only if the curve is empty.
    #[must_use]
    pub fn vol(&self, strike: f64) -> f64 {
        self.at_ratio(strike / self.fwd).0
    }

    /// Support of the curve by quotes at a strike, 0 to 1.
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
    #[inline(always)]
    #[must_use]
    pub fn ln_variance_at<L: Lanes>(&self, k: L) -> LnVariance<L> {
        let sd = self.base.sd();
        let x = k / sd;
        let [q, q1, q2] = self.base.ratio_jet(x);
        let [u, u1, u2] = place_jet(spline_place(x));
        let [g, g1, g2] = self.spline.jet(u);
        LnVariance {
            value: ln(q * (sd * sd)) + g * 2.0,
            slope: (q1 + g1 * 2.0 * u1) / sd,
            bend: (q2 + (g2 * u1 * u1 + g1 * u2) * 2.0) / (sd * sd),
        }
    }

    /// 1/variance of ln σ that the quotes give at log-moneyness k, as of the fit to them alone, and the place of k on
    /// the spline's coordinate.
    pub(super) fn precision_at(&self, k: f64) -> (f64, f64) {
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

    /// # Cost     about 6 ns a strike
    fn bends_at(&self, strikes: Block) -> [Block; 2] {
        let k = ln(strikes / self.fwd);
        let LnVariance { value, slope, bend } = self.ln_variance_at(k);
        let half = slope * 0.5;
        let vol = (exp(value) * (1.0 / self.t)).sqrt();
        let x = k * (1.0 / self.base.sd());
        let (low, high) = (deviations(self.quoted.0) - 1.0, deviations(self.quoted.1) + 1.0);
        let is_near = Block::splat(low).lt(x) & x.lt(Block::splat(high));
        // the shape of a neighbour says nothing of this expiry's own chances
        let missing = Block::splat(if self.firmness < 1.0 { f64::NAN } else { 0.0 });
        let known = |y: Block| Block::select(is_near, y, Block::splat(f64::NAN)) + missing;
        [known(vol * half), known(vol * (bend * 0.5 + half * half))]
    }
}

/// The spline's coordinate, the inverse hyperbolic sine: fine near the money, coarse in the wings.
#[inline(always)]
pub(super) fn spline_place<L: Lanes>(x: L) -> L {
    // the absolute value and the sign after: ln(y + √(y² + 1)) loses all digits for large negative y
    let y = (x * (1.0 / SPLINE.linear)).abs();
    let u = ln(y + y.mul_add(y, L::splat(1.0)).sqrt());
    L::select(x.lt(L::splat(0.0)), -u, u)
}

/// Standard deviations at a place of the spline's coordinate.
#[inline(always)]
pub(super) fn deviations<L: Lanes>(u: L) -> L {
    let e = exp(u);
    L::splat(0.5 * SPLINE.linear) * (e - L::splat(1.0) / e)
}

/// A place of the spline's coordinate with its first two derivatives in standard deviations.
#[inline(always)]
pub(super) fn place_jet<L: Lanes>(u: L) -> [L; 3] {
    let e = exp(u);
    let back = L::splat(1.0) / e;
    let (sinh, cosh) = (L::splat(0.5) * (e - back), L::splat(0.5) * (e + back));
    let u1 = L::splat(1.0 / SPLINE.linear) / cosh;
    [u, u1, -(sinh * u1 * u1 * u1 * SPLINE.linear)]
}
