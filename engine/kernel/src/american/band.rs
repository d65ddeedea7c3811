//! Bands of strikes and volatilities that pricers serve, and counts of what pricers hold.

use super::settings::BOUNDARY;
use crate::quality::Quality;

/// Numbers that a pricer is prepared for; each kind includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Numbers {
    /// Value and derivatives in the volatility.
    ByVolatility,
    /// Every Greek.
    Greeks,
    /// The exercise boundary too.
    Boundary,
}

/// Greatest ratio of the volatilities that one boundary spans.
pub(super) const fn sigma_ratio(quality: Quality) -> f64 {
    match quality {
        Quality::Preliminary | Quality::Full => BOUNDARY.sigma_ratio,
        Quality::Reference => BOUNDARY.sigma_ratio_accurate,
    }
}

/// Strikes and volatilities that a [`Pricer`](super::Pricer) must serve: a rectangle, or one of the many that a chain
/// with a smile needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Least and greatest strike, currency per share.
    pub k: (f64, f64),
    /// Least and greatest volatility, per √year.
    pub sigma: (f64, f64),
}

/// Numbers of boundaries and tables, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Boundaries without dividends.
    pub boundaries: usize,
    /// Premium tables that begin at an exercise boundary, now or at an ex-date.
    pub aligned: usize,
    /// Premium tables where some strikes or volatilities have no boundary: sound prices, worse third-order Greeks.
    pub anchored: usize,
    /// Tables in closed form: calls exercised before one date only, puts exercised after the last date only.
    pub closed: usize,
    /// Pricers and tables where early exercise is provably worthless.
    pub european: usize,
    /// Premium tables that were built again with more strikes and terms. The other fields count them as well.
    pub refined: usize,
}

impl core::ops::AddAssign for Counts {
    fn add_assign(&mut self, o: Self) {
        self.boundaries += o.boundaries;
        self.aligned += o.aligned;
        self.anchored += o.anchored;
        self.closed += o.closed;
        self.european += o.european;
        self.refined += o.refined;
    }
}

impl Band {
    /// True if `inner` lies inside.
    #[must_use]
    pub fn holds(&self, inner: &Self) -> bool {
        let within = |inner: (f64, f64), outer: (f64, f64)| outer.0 <= inner.0 && inner.1 <= outer.1;
        within(inner.k, self.k) && within(inner.sigma, self.sigma)
    }

    /// The least band that holds all of `bands`.
    pub(super) fn around(bands: &[Self]) -> Self {
        bands.iter().copied().reduce(|a, b| a.with(&b)).unwrap_or(Self { k: (1.0, 1.0), sigma: (1.0, 1.0) })
    }

    /// The least band that holds both.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let both = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        Self { k: both(self.k, other.k), sigma: both(self.sigma, other.sigma) }
    }
}

impl AsRef<[Self]> for Band {
    fn as_ref(&self) -> &[Self] {
        core::slice::from_ref(self)
    }
}
