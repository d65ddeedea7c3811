//! What a grid needs to know about its exercise-side edge: the value there.
//! Never: the interior.

use crate::lanes::Lanes;

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
        let cash = k - a;
        let better = (L::splat(phi) * (spot - cash)).gt(self.value(phi, spot));
        self.share = L::select(better, L::splat(1.0), self.share);
        self.cash = L::select(better, cash, self.cash);
    }
}
