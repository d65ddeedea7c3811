//! Support of a curve by quotes: how tight they are near a strike, and how many of them contain the curve. Never: a
//! change of the curve.

use super::settings::CONFIDENCE;
use super::spline::{KnotInterval, Spline};
use kernel::lanes::{Block, Lanes};

/// Precision of the quotes along the spline's coordinate, and the part of them that contain the curve.
#[derive(Clone, Debug, Default)]
pub struct Support {
    /// Sum of 1/half² of the quotes around each knot; quotes that the curve misses count less.
    precision: Vec<f64>,
    /// Part of the quotes that contain the curve, 0 to 1.
    inside: f64,
}

impl Support {
    /// Removes all support.
    pub fn forget(&mut self) {
        self.precision.clear();
        self.inside = 0.0;
    }

    /// Resets to the knots of a spline.
    pub fn begin(&mut self, spline: &Spline) {
        self.precision.clear();
        self.precision.resize(spline.intervals() + 1, 0.0);
    }

    /// Adds a quote: its place and 1/half² in ln σ.
    pub fn add(&mut self, u: f64, weight: f64, spline: &Spline) {
        let KnotInterval { i, f: part } = spline.locate(u);
        let i = i as usize;
        self.precision[i] += weight * (1.0 - part);
        self.precision[i + 1] += weight * part;
    }

    /// Spreads the precision of each knot to its neighbours; `inside` is the part of the quotes that contain the curve.
    pub fn finish(&mut self, inside: f64) {
        self.inside = inside;
        // the two knots before, as they were: the column is overwritten on the way
        let [mut b, mut a] = [0.0; 2];
        for i in 0..self.precision.len() {
            let own = self.precision[i];
            let ahead = |d: usize| self.precision.get(i + d).copied().unwrap_or(0.0);
            let sum = own + CONFIDENCE.beside * (a + ahead(1)) + CONFIDENCE.two_away * (b + ahead(2));
            (b, a) = (a, own);
            self.precision[i] = sum;
        }
    }

    /// 1/variance of ln σ that the quotes give at a place that [`Spline::locate`] found.
    #[inline(always)]
    #[must_use]
    pub fn precision<L: Lanes>(&self, at: KnotInterval<L>) -> L {
        let KnotInterval { i, f: part } = at;
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

    /// Confidence at a place that [`Spline::locate`] found, 0 to 1.
    #[inline(always)]
    #[must_use]
    pub fn at<L: Lanes>(&self, place: KnotInterval<L>) -> L {
        // p/(1 + p): one quote of the half width is a half, a hundred tight ones are nearly one
        let p = self.precision(place) * (CONFIDENCE.half_support * CONFIDENCE.half_support);
        L::splat(self.inside) * p / (L::splat(1.0) + p)
    }
}

/// Precision of a fit along its coordinate, kept while the curve is fitted again.
#[derive(Clone, Debug, Default)]
pub struct Precision {
    start: f64,
    step: f64,
    precision: Vec<f64>,
}

impl Precision {
    /// Copies the support of a curve with this spline.
    pub fn keep(&mut self, support: &Support, spline: &Spline) {
        (self.start, self.step) = (spline.ends().0, spline.step());
        self.precision.clone_from(&support.precision);
    }

    /// 1/variance of ln σ at a place; 0 beyond the knots.
    #[must_use]
    pub fn precision_at(&self, u: f64) -> f64 {
        let at = (u - self.start) / self.step;
        let (i, part) = (at.floor(), at - at.floor());
        // a cast of a negative number would saturate to the first knot
        if at.is_nan() || at < 0.0 {
            return 0.0;
        }
        match self.precision.get(i as usize..i as usize + 2) {
            Some(&[low, high]) => low + part * (high - low),
            _ => 0.0,
        }
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
            support.begin(&spline);
            (0..20).for_each(|i| support.add(0.1 * f64::from(i), 1.0 / (half * half), &spline));
            support.finish(1.0);
            support
        };
        let (tight, wide) = (support(0.005), support(0.3));
        let at = |support: &Support, u: f64| support.at(spline.locate(u));
        assert!(at(&tight, 1.0) > 0.95 && at(&wide, 1.0) < 0.1, "{} {}", at(&tight, 1.0), at(&wide, 1.0));
        assert!(at(&tight, -0.9) < 1e-9 && at(&tight, 99.0) < 1e-9 && at(&Support::default(), 0.0) < 1e-9);
    }
}
