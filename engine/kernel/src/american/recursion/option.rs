//! One American option in the variables of the method: X = S − A(t), x = ln X, time forward from now.

use crate::american::european::European;
use crate::dividends::{Dividend, Terms};

/// Lower bound of the strike less the dividend on the day of expiry. A call with such a strike is the stock.
const STRIKE_LEAST: f64 = 1e-9;

/// Value and first to fourth derivative in x.
pub(super) type Slopes = [f64; 5];

/// One American option.
#[derive(Clone, Debug)]
pub(crate) struct AmericanOption {
    /// +1 for a call, −1 for a put.
    pub(super) phi: f64,
    /// Strike of exercise.
    pub(super) k: f64,
    /// Strike of the European part: a dividend on the day of expiry lowers a call's.
    pub(super) european_k: f64,
    pub(super) sigma: f64,
    /// Years to expiry.
    pub(super) t: f64,
    pub(super) r: f64,
    pub(super) b: f64,
    /// Dividends with ex-dates in (0, t], ascending.
    pub(super) divs: Vec<Dividend>,
}

impl AmericanOption {
    /// The option of one strike and volatility.
    pub(crate) fn new(phi: f64, terms: &Terms, k: f64, sigma: f64) -> Self {
        let Terms { t, r, b, .. } = *terms;
        let divs: Vec<Dividend> =
            terms.divs.iter().filter(|d| d.t > 0.0 && d.t <= t && d.amount > 0.0).copied().collect();
        let last: f64 = divs.iter().filter(|d| d.t >= t).map(|d| d.amount).sum();
        let european_k = if phi > 0.0 { (k - last).max(STRIKE_LEAST * k) } else { k };
        Self { phi, k, european_k, sigma, t, r, b, divs }
    }

    pub(super) fn is_put(&self) -> bool {
        self.phi < 0.0
    }

    /// Standard deviation of ln X over `span` years.
    pub(super) fn width(&self, span: f64) -> f64 {
        self.sigma * span.sqrt()
    }

    /// True if exercise has two boundaries at every time close to expiry.
    pub(super) fn is_double(&self) -> bool {
        let Self { r, b, .. } = *self;
        if self.is_put() { r < 0.0 && b < r } else { b < 0.0 && r < b }
    }

    /// True if exercise between ex-dates can gain.
    pub(super) fn has_flow(&self) -> bool {
        let Self { r, b, .. } = *self;
        if self.is_double() {
            return true;
        }
        if self.is_put() { r > 0.0 || (r == 0.0 && b < 0.0) } else { b > 0.0 || (b == 0.0 && r < 0.0) }
    }

    /// Yearly flow of exercise over holding at X = e^x with dividends to come of `escrow`: φ(b(X + A) − rK).
    pub(super) fn flow(&self, x: f64, escrow: f64) -> f64 {
        self.phi * (self.b * (x.exp() + escrow) - self.r * self.k)
    }

    /// The European value `tau` years before expiry.
    pub(super) fn european(&self, tau: f64) -> European<f64> {
        self.european_of(self.phi, tau)
    }

    /// The European value of the other right, `tau` years before expiry.
    pub(super) fn opposite(&self, tau: f64) -> European<f64> {
        self.european_of(-self.phi, tau)
    }

    fn european_of(&self, phi: f64, tau: f64) -> European<f64> {
        European::new(phi, self.european_k, self.sigma, tau, self.r, self.b)
    }
}
