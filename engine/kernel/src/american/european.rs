//! European values of many places at one date. Never: exercise, a date to come.

use crate::elementary::ln;
use crate::lanes::Lanes;
use crate::normal::{INV_SQRT_2PI, bell, norm_cdf, norm_cdf_given};

/// Black-76 in terms of X, for one strike and volatility a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct European<L> {
    phi: f64,
    /// ln K less the drift, σ√τ and 1 over it.
    centre: L,
    width: L,
    inverse: L,
    /// e^(−bτ), K·e^(−rτ).
    share: f64,
    cash: L,
}

impl<L: Lanes> European<L> {
    /// # Domain    tau > 0, sigma > 0
    pub(super) fn new(phi: f64, k: L, sigma: L, tau: f64, r: f64, b: f64) -> Self {
        let c = |v: f64| L::splat(v);
        let width = sigma * c(tau.sqrt());
        European {
            phi,
            centre: ln(k) - c((r - b) * tau),
            width,
            inverse: c(1.0) / width,
            share: (-b * tau).exp(),
            cash: k * c((-r * tau).exp()),
        }
    }

    /// The value at `spot`, whose logarithm is `x`.
    #[inline(never)]
    pub(super) fn at(&self, x: L, spot: L) -> L {
        let phi = L::splat(self.phi);
        let d1 = (x - self.centre).mul_add(self.inverse, self.width * 0.5);
        let d2 = d1 - self.width;
        phi * (spot * self.share * norm_cdf(d1 * phi) - self.cash * norm_cdf(d2 * phi))
    }

    /// Value and first to fourth derivative in ln X.
    pub(super) fn slopes(&self, x: L, spot: L) -> [L; 5] {
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
