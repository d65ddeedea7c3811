//! The volatility of an expiry between and beyond its strikes, from the served column.
//!
//! Monotone cubic interpolation in the logarithm of the strike (Fritsch and Carlson, SIAM Journal on Numerical Analysis
//! 17, 1980), flat beyond the outermost strikes. At a strike it is the served volatility.

use crate::store::chain::{Chain, Slice};
use crate::store::columns::Col;

/// Volatility by strike.
#[derive(Clone, Debug, Default)]
pub(crate) struct StrikeCurve {
    /// ln K, ascending.
    x: Vec<f64>,
    vol: Vec<f64>,
    /// dvol / dx.
    slope: Vec<f64>,
}

impl StrikeCurve {
    /// The curve of a slice.
    pub(crate) fn of(chain: &Chain, slice: &Slice) -> Self {
        let (mut x, mut vol): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        for row in slice.rows.start as usize..slice.rows.end as usize {
            let (at, sigma) = (f64::from(chain.strike_milli[row]).ln(), chain.columns.get(Col::SvcVol)[row]);
            // call and put of a strike share their volatility
            if sigma > 0.0 && x.last().is_none_or(|&last| at > last) {
                x.push(at);
                vol.push(sigma);
            }
        }
        Self { slope: slopes(&x, &vol), x, vol }
    }

    /// The volatility at a strike in thousandths, any positive number; NaN where there is no curve.
    pub(crate) fn at(&self, strike_milli: f64) -> f64 {
        self.jet(strike_milli).0
    }

    /// The volatility there, and its slope in the logarithm of the strike.
    pub(crate) fn jet(&self, strike_milli: f64) -> (f64, f64) {
        let (Some(&first), Some(&last)) = (self.vol.first(), self.vol.last()) else { return (f64::NAN, f64::NAN) };
        let at = strike_milli.ln();
        let above = self.x.partition_point(|&x| x < at);
        if above == 0 {
            return (first, 0.0);
        }
        if above == self.x.len() {
            return (last, 0.0);
        }
        let i = above - 1;
        let h = self.x[above] - self.x[i];
        let s = (at - self.x[i]) / h;
        let (h00, h10) = ((1.0 + 2.0 * s) * (1.0 - s) * (1.0 - s), s * (1.0 - s) * (1.0 - s));
        let (h01, h11) = (s * s * (3.0 - 2.0 * s), s * s * (s - 1.0));
        let [from, to, before, after] = [self.vol[i], self.vol[above], self.slope[i], self.slope[above]];
        let vol = h00 * from + h10 * h * before + h01 * to + h11 * h * after;
        let secant = (to - from) / h;
        let slope = 6.0 * s * (1.0 - s) * secant + (1.0 - s) * (1.0 - 3.0 * s) * before + s * (3.0 * s - 2.0) * after;
        (vol, slope)
    }
}

/// The slopes at the points: harmonic means of those beside, 0 where these differ in sign and at both ends, so that
/// the curve goes over into its flat parts.
fn slopes(x: &[f64], y: &[f64]) -> Vec<f64> {
    let secant = |i: usize| (y[i + 1] - y[i]) / (x[i + 1] - x[i]);
    let inner = |i: usize| {
        let (before, after) = (secant(i - 1), secant(i));
        if before * after <= 0.0 {
            return 0.0;
        }
        let (left, right) = (x[i] - x[i - 1], x[i + 1] - x[i]);
        let (w1, w2) = (2.0 * right + left, right + 2.0 * left);
        (w1 + w2) / (w1 / before + w2 / after)
    };
    (0..x.len()).map(|i| if i == 0 || i + 1 == x.len() { 0.0 } else { inner(i) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(f64, f64)]) -> StrikeCurve {
        let x: Vec<f64> = points.iter().map(|(k, _)| k.ln()).collect();
        let vol: Vec<f64> = points.iter().map(|&(_, vol)| vol).collect();
        StrikeCurve { slope: slopes(&x, &vol), x, vol }
    }

    #[test]
    fn a_curve_goes_through_its_points_and_never_beyond_them() {
        let points = [(80.0, 0.4), (90.0, 0.3), (100.0, 0.22), (105.0, 0.2), (110.0, 0.21), (130.0, 0.26)];
        let curve = curve(&points);
        for (k, vol) in points {
            assert!((curve.at(k) - vol).abs() < 1e-15, "{k}");
        }
        assert!((curve.at(50.0) - 0.4).abs() < 1e-15 && (curve.at(500.0) - 0.26).abs() < 1e-15);
        for pair in points.windows(2) {
            let (low, high) = (pair[0].1.min(pair[1].1), pair[0].1.max(pair[1].1));
            for n in 0..=20 {
                let k = pair[0].0 + (pair[1].0 - pair[0].0) * f64::from(n) / 20.0;
                let (vol, slope) = curve.jet(k);
                let rise = k / 2e-6 * (curve.at(k + 1e-6) - curve.at(k - 1e-6));
                assert!((slope - rise).abs() < 1e-6, "{k}: {slope} {rise}");
                assert!(vol >= low - 1e-15 && vol <= high + 1e-15, "{k}: {vol}");
            }
        }
    }

    #[test]
    fn without_points_there_is_no_volatility() {
        assert!(curve(&[]).at(100.0).is_nan());
        assert!((curve(&[(100.0, 0.2)]).at(90.0) - 0.2).abs() < 1e-15);
    }
}
