//! What a grid needs to know about its ends: how far it reaches, and the value at its exercise-side edge.
//! Never: the interior.

use crate::kernel::elementary::{exp, ln};
use crate::kernel::lanes::Lanes;
use crate::kernel::normal::norm_cdf;

/// Black-76 value in terms of x = ln X.
///
/// # Shapes    x, k, sigma: lanes · the rest: the same for all
/// # Domain    tau > 0, sigma > 0
#[inline(never)]
pub(super) fn european<L: Lanes>(phi: f64, (x, k, sigma): (L, L, L), tau: f64, r: f64, b: f64) -> L {
    let c = |v: f64| L::splat(v);
    let width = sigma * c(tau.sqrt());
    let d1 = (x - ln(k) + c((r - b) * tau)) / width + width * c(0.5);
    let d2 = d1 - width;
    let spot = exp(x) * c((-b * tau).exp()) * norm_cdf(d1 * c(phi));
    c(phi) * (spot - k * c((-r * tau).exp()) * norm_cdf(d2 * c(phi)))
}

/// The best plan laid down in advance at the exercise-side edge: the value of exercising at a date fixed now is
/// φ·(share·X − cash).
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<L> {
    share: L,
    cash: L,
}

impl<L: Lanes> Plan<L> {
    /// Exercise at expiry.
    pub(super) fn at_expiry(k: L) -> Self {
        Plan { share: L::splat(1.0), cash: k }
    }

    /// The plan seen `dt` earlier.
    pub(super) fn wait(&mut self, r: f64, b: f64, dt: f64) {
        self.share *= L::splat((-b * dt).exp());
        self.cash *= L::splat((-r * dt).exp());
    }

    /// The plan's value where the share is worth `spot`.
    pub(super) fn value(&self, phi: f64, spot: L) -> L {
        L::splat(phi) * (spot * self.share - self.cash)
    }

    /// Exercises now, where the dividends still to come are worth `a`, if that is better at `spot`.
    pub(super) fn exercise_if_better(&mut self, phi: f64, spot: L, k: L, a: f64) {
        let cash = k - L::splat(a);
        let better = (L::splat(phi) * (spot - cash)).gt(self.value(phi, spot));
        self.share = L::select(better, L::splat(1.0), self.share);
        self.cash = L::select(better, cash, self.cash);
    }
}
