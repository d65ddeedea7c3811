//! The distribution of the spot at a settlement that the curve of its volatilities implies. Never: a quote.
//!
//! Method: P(S ≤ K) is the slope of undiscounted puts in K, N(−d₂) + n(d₂)·√T·∂σ/∂ln K: what a narrow put spread costs
//! by the curve.
//! Source: Breeden, Litzenberger, "Prices of state-contingent claims implicit in option prices", Journal of Business 51
//! (1978).

use crate::scenario::StrikeCurve;
use crate::store::chain::{Chain, Slice};
use kernel::calendar::years_between;
use kernel::normal::{INV_SQRT_2PI, bell, norm_cdf};

/// The distribution of the spot at a settlement.
#[derive(Clone, Debug)]
pub struct SpotDistribution {
    curve: StrikeCurve,
    fwd: f64,
    root: f64,
}

impl SpotDistribution {
    /// The distribution of a slice; `None`: it has no curve, or has settled, or its contracts deliver something else
    /// than shares.
    #[must_use]
    pub fn of(chain: &Chain, slice: &Slice) -> Option<Self> {
        let t = years_between(chain.valued_at, slice.settles_at);
        let found = Self { curve: StrikeCurve::of(chain, slice), fwd: slice.fwd_price, root: t.max(0.0).sqrt() };
        (found.deviation() > 0.0 && !slice.adjusted).then_some(found)
    }

    /// One standard deviation of the logarithm of the spot, by the volatility at the forward.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        self.vol(self.fwd) * self.root
    }

    /// The volatility of a strike.
    #[must_use]
    pub fn vol(&self, k: f64) -> f64 {
        self.curve.at(k * 1000.0)
    }

    /// The probability of a spot up to `s`.
    #[must_use]
    pub fn below(&self, s: f64) -> f64 {
        if s <= 0.0 {
            return 0.0;
        }
        let (vol, slope) = self.curve.jet(s * 1000.0);
        let deviation = vol * self.root;
        let d2 = (self.fwd / s).ln() / deviation - 0.5 * deviation;
        let tilt = bell(d2) * INV_SQRT_2PI * self.root * slope;
        // beyond the quotes a curve may imply less than nothing
        (norm_cdf(-d2) + tilt).clamp(0.0, 1.0)
    }
}
