//! European values of many places at one date. Never: exercise, a date to come.

use crate::elementary::ln;
use crate::lanes::Lanes;
use crate::normal::norm_cdf;

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
}
