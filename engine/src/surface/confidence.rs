//! How well the quotes support a curve: how tight they are near a strike, and how many the curve passes within.
//! Never: a change of the curve.

use super::spline::Spline;
use crate::kernel::lanes::{Block, Lanes};

/// The half width in ln σ at which a curve is half supported.
const HALF_SUPPORT: f64 = 0.04;

/// Precision of the quotes along the spline's coordinate, and how well the curve met them.
#[derive(Clone, Debug, Default)]
pub struct Support {
    /// Sum of 1/half² of the quotes around each knot.
    precision: Vec<f64>,
    /// Part of the quotes that the curve passes within, 0 to 1.
    inside: f64,
}

impl Support {
    /// Nothing is supported.
    pub fn forget(&mut self) {
        self.precision.clear();
        self.inside = 0.0;
    }

    /// Spreads the quotes, each a place and a 1/half² in ln σ, over the knots of a spline.
    pub fn spread(&mut self, quotes: impl Iterator<Item = (f64, f64)>, spline: &Spline, inside: f64) {
        self.inside = inside;
        let n = spline.intervals() + 1;
        self.precision.clear();
        self.precision.resize(n, 0.0);
        for (u, weight) in quotes {
            let (i, part) = spline.locate(u);
            let i = i as usize;
            self.precision[i] += weight * (1.0 - part);
            self.precision[i + 1] += weight * part;
        }
        let [mut b, mut a] = [0.0; 2];
        for i in 0..n {
            let own = self.precision[i];
            let ahead = |d: usize| self.precision.get(i + d).copied().unwrap_or(0.0);
            let sum = own + 0.5 * (a + ahead(1)) + 0.1 * (b + ahead(2));
            (b, a) = (a, own);
            self.precision[i] = sum;
        }
    }

    /// 1/variance of ln σ that the quotes give at a place that [`Spline::locate`] found.
    #[inline(always)]
    #[must_use]
    pub fn precision<L: Lanes>(&self, (i, part): (L, L)) -> L {
        let mut at = [0.0; Block::N];
        i.store(&mut at);
        let mut ends = [[0.0; Block::N]; 2];
        for lane in 0..L::N {
            let first = at[lane] as usize;
            let Some(&[low, high]) = self.precision.get(first..first + 2).and_then(<[f64]>::first_chunk) else {
                continue;
            };
            (ends[0][lane], ends[1][lane]) = (low, high);
        }
        let [low, high] = [L::load(&ends[0]), L::load(&ends[1])];
        part.mul_add(high - low, low)
    }

    /// Confidence at such a place, 0 to 1.
    #[inline(always)]
    #[must_use]
    pub fn at<L: Lanes>(&self, place: (L, L)) -> L {
        let p = self.precision(place) * L::splat(HALF_SUPPORT * HALF_SUPPORT);
        L::splat(self.inside) * p / (L::splat(1.0) + p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tight_quotes_give_confidence_and_it_fades_away_from_them() {
        let mut spline = Spline::zero();
        spline.reset(-1.0, 3.0, 40);
        let support = |half: f64| {
            let mut support = Support::default();
            support.spread((0..20).map(|i| (0.1 * f64::from(i), 1.0 / (half * half))), &spline, 1.0);
            support
        };
        let (tight, wide) = (support(0.005), support(0.3));
        let at = |support: &Support, u: f64| support.at(spline.locate(u));
        assert!(at(&tight, 1.0) > 0.95 && at(&wide, 1.0) < 0.1, "{} {}", at(&tight, 1.0), at(&wide, 1.0));
        assert!(at(&tight, -0.9) < 1e-9 && at(&tight, 99.0) < 1e-9 && at(&Support::default(), 0.0) < 1e-9);
    }
}
