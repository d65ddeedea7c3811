//! The way of an expiry from its chain's moment to that of a scenario: spot, terms and dividends on it. The spot jumps
//! at once and then stands still, but for the dividends that leave it. Never: a value.

use super::shock::{ScenarioGrid, SpotUnit};
use crate::explain::ValueBasis;
use kernel::dividends::{Dividend, Terms};

/// Less than this many years from settlement is settled: a fraction of a second.
const SETTLED: f64 = 1e-9;
/// Rates that agree this well are one.
const SAME: f64 = 1e-12;

/// An expiry on its way.
#[derive(Clone, Debug)]
pub(super) struct ExpiryPath {
    /// Spot now, currency per share.
    s: f64,
    /// Factor from a published spot to `s`.
    scale: f64,
    terms: Terms,
    /// Dividends after expiry, which lower a spot that is given as a level at a later moment.
    after: Vec<Dividend>,
}

impl ExpiryPath {
    /// The way of an expiry whose published spot is `und_price`; `dividends` are all that its chain counts.
    pub(super) fn new(
        basis: &ValueBasis,
        und_price: f64,
        fwd_price: f64,
        dividends: impl Iterator<Item = Dividend>,
        grid: &ScenarioGrid,
    ) -> Self {
        let moved = |d: &Dividend| Dividend { t: d.t, amount: d.amount * grid.dividends };
        let Terms { t, r, b, divs } = &basis.terms;
        let is_own_forward = (b - r).abs() < SAME && (basis.s - fwd_price).abs() <= SAME * fwd_price;
        // an underlying that is its own forward carries nothing: its borrow rate is the discount rate
        let borrow = if is_own_forward { grid.rate } else { grid.borrow };
        let divs = divs.iter().map(moved).filter(|d| d.amount > 0.0).collect();
        Self {
            s: basis.s,
            scale: basis.s / und_price,
            terms: Terms { t: *t, r: r + grid.rate, b: b + borrow, divs },
            after: dividends.filter(|d| d.t > *t).map(|d| moved(&d)).collect(),
        }
    }

    /// True if the expiry has settled `tau` years from now.
    pub(super) fn is_settled(&self, tau: f64) -> bool {
        self.terms.t - tau < SETTLED
    }

    /// Time, rates and dividends `tau` years from now, before settlement.
    pub(super) fn terms(&self, tau: f64) -> Terms {
        let left = self.terms.divs.iter().filter(|d| d.t > tau);
        let divs = left.map(|d| Dividend { t: d.t - tau, amount: d.amount }).collect();
        Terms { t: self.terms.t - tau, r: self.terms.r, b: self.terms.b, divs }
    }

    /// The spot right after a move that leads to a scenario `tau` years from now, all dividends still in it.
    pub(super) fn moved(&self, by: f64, unit: SpotUnit, tau: f64) -> f64 {
        match unit {
            SpotUnit::Percent => self.s * (1.0 + by / 100.0),
            SpotUnit::Points => self.s + by * self.scale,
            SpotUnit::Level => by * self.scale + self.paid_until(tau),
        }
    }

    /// True if a move is none.
    pub(super) fn is_still(&self, by: f64, unit: SpotUnit) -> bool {
        match unit {
            SpotUnit::Percent | SpotUnit::Points => by == 0.0,
            SpotUnit::Level => (by * self.scale - self.s).abs() <= SAME * self.s,
        }
    }

    /// The sum of the dividends that go ex within `tau` years.
    pub(super) fn paid_until(&self, tau: f64) -> f64 {
        self.terms.divs.iter().chain(&self.after).filter(|d| d.t <= tau).map(|d| d.amount).sum()
    }

    /// The dividends that go ex within `tau` years, up to settlement at most.
    pub(super) fn paid_in_life(&self, tau: f64) -> f64 {
        self.paid_until(tau.min(self.terms.t))
    }

    /// The dividends that go ex within `tau` years and before settlement, or at it.
    pub(super) fn ex_dates(&self, tau: f64) -> impl Iterator<Item = Dividend> {
        let until = tau.min(self.terms.t);
        self.terms.divs.iter().copied().filter(move |d| d.t > 0.0 && d.t <= until)
    }
}
