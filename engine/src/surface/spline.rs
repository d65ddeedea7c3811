//! A cubic spline with evenly spaced knots, fitted by weighted least squares with a penalty on its bending.
//!
//! Source: Eilers and Marx (1996), Flexible smoothing with B-splines and penalties. The normal equations have four
//! bands, so a fit costs about 60 operations per point and per knot.

/// A cubic spline in B-spline form; constant beyond its knots, up to what its end slopes leave.
#[derive(Clone, Debug, PartialEq)]
pub struct Spline {
    start: f64,
    step: f64,
    coef: Vec<f64>,
}

/// One point to fit, with its weight: 1/variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Place on the spline's axis.
    pub u: f64,
    /// Value there.
    pub y: f64,
    /// 1/variance.
    pub w: f64,
}

/// How stiff the spline is at each knot, and what holds it where there are no points.
#[derive(Clone, Debug, PartialEq)]
pub struct Stiffness {
    /// 1/variance of the second difference at each interior coefficient (one fewer at each end).
    pub bend: Vec<f64>,
    /// 1/variance of the first difference between neighbours among the outermost coefficients.
    pub end_slope: f64,
    /// How many coefficients at the low and at the high end are held by `end_slope`.
    pub ends: (usize, usize),
    /// 1/variance of every coefficient about zero.
    pub level: f64,
}

/// The four cubic B-splines that overlap at fraction `f` of an interval.
#[inline]
fn weights(f: f64) -> [f64; 4] {
    let (g, f2) = (1.0 - f, f * f);
    let f3 = f2 * f;
    [g * g * g / 6.0, (3.0 * f3 - 6.0 * f2 + 4.0) / 6.0, (-3.0 * f3 + 3.0 * f2 + 3.0 * f + 1.0) / 6.0, f3 / 6.0]
}

impl Spline {
    /// Zero over [`from`, `to`].
    #[must_use]
    pub fn zero(from: f64, to: f64) -> Self {
        Self::with_knots(from, to, 1)
    }

    /// Zero over [`from`, `to`] in `intervals` pieces.
    #[must_use]
    pub fn with_knots(from: f64, to: f64, intervals: usize) -> Self {
        let n = intervals.max(1);
        let step = ((to - from) / n as f64).max(1e-6);
        Self { start: from, step, coef: vec![0.0; n + 3] }
    }

    /// Number of coefficients.
    #[must_use]
    pub fn len(&self) -> usize {
        self.coef.len()
    }

    /// Never: there are at least four coefficients.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.coef.is_empty()
    }

    /// The place where coefficient `i` matters most.
    #[must_use]
    pub fn place(&self, i: usize) -> f64 {
        self.start + (i as f64 - 1.0) * self.step
    }

    /// Knot distance.
    #[must_use]
    pub fn step(&self) -> f64 {
        self.step
    }

    /// Moves the coefficients within `knots` of each of the places, given as (place, by), by the greatest amount;
    /// a place beyond the knots counts as the last one.
    pub fn move_near(&mut self, places: &[(f64, f64)], knots: f64, sign: f64) {
        let (first, last) = (self.place(1), self.place(self.coef.len() - 2));
        for i in 0..self.coef.len() {
            let own = self.place(i);
            let near = places.iter().filter(|(u, _)| (u.clamp(first, last) - own).abs() <= knots * self.step);
            self.coef[i] += sign * near.map(|p| p.1).fold(0.0, f64::max);
        }
    }

    /// Takes a quarter of the bend out of every inner coefficient whose (place, knot distance) is chosen.
    pub fn diffuse(&mut self, chosen: impl Fn(f64, f64) -> bool) {
        let old = self.coef.clone();
        for i in 1..old.len() - 1 {
            if chosen(self.place(i), self.step) {
                self.coef[i] += 0.25 * (old[i - 1] - 2.0 * old[i] + old[i + 1]);
            }
        }
    }

    /// Multiplies the whole spline.
    pub fn scale(&mut self, by: f64) {
        self.coef.iter_mut().for_each(|c| *c *= by);
    }

    /// Interval and fraction of a place, held inside the knots.
    #[inline]
    fn locate(&self, u: f64) -> (usize, f64) {
        let last = self.coef.len() - 4;
        let p = ((u - self.start) / self.step).clamp(0.0, (last + 1) as f64);
        let i = (p as usize).min(last);
        (i, p - i as f64)
    }

    /// Value at `u`.
    #[must_use]
    pub fn value(&self, u: f64) -> f64 {
        let (i, f) = self.locate(u);
        let c = &self.coef[i..i + 4];
        weights(f).iter().zip(c).map(|(w, c)| w * c).sum()
    }

    /// Value and first two derivatives at `u`; beyond the knots the derivatives are zero.
    #[must_use]
    pub fn jet(&self, u: f64) -> [f64; 3] {
        let (i, f) = self.locate(u);
        let c = &self.coef[i..i + 4];
        let value = weights(f).iter().zip(c).map(|(w, c)| w * c).sum();
        let end = self.start + self.step * (self.coef.len() - 3) as f64;
        if u < self.start || u > end {
            return [value, 0.0, 0.0];
        }
        let g = 1.0 - f;
        let first = [c[1] - c[0], c[2] - c[1], c[3] - c[2]];
        let d1 = 0.5 * (g * g * first[0] + (1.0 + 2.0 * f * g) * first[1] + f * f * first[2]);
        let d2 = g * (first[1] - first[0]) + f * (first[2] - first[1]);
        [value, d1 / self.step, d2 / (self.step * self.step)]
    }

    /// Fits the coefficients to the samples.
    ///
    /// # Domain   weights ≥ 0, at least one penalty above 0 where there are no samples; a system that has no finite
    /// answer changes nothing
    pub fn fit(&mut self, samples: &[Sample], stiffness: &Stiffness) {
        let n = self.coef.len();
        let mut bands = vec![[0.0f64; 4]; n];
        let mut rhs = vec![0.0f64; n];
        for s in samples {
            let (i, f) = self.locate(s.u);
            let b = weights(f);
            for p in 0..4 {
                let wb = s.w * b[p];
                rhs[i + p] += wb * s.y;
                for q in 0..=p {
                    bands[i + p][p - q] += wb * b[q];
                }
            }
        }
        add_penalties(&mut bands, stiffness);
        solve_banded(&mut bands, &mut rhs);
        if rhs.iter().all(|c| c.is_finite()) {
            self.coef = rhs;
        }
    }
}

/// `bands[i][d]` is the element (i, i − d).
fn add_penalties(bands: &mut [[f64; 4]], stiffness: &Stiffness) {
    let n = bands.len();
    for (i, &w) in (1..n - 1).zip(&stiffness.bend) {
        // (c[i−1] − 2c[i] + c[i+1])²
        bands[i - 1][0] += w;
        bands[i][0] += 4.0 * w;
        bands[i][1] -= 2.0 * w;
        bands[i + 1][0] += w;
        bands[i + 1][1] -= 2.0 * w;
        bands[i + 1][2] += w;
    }
    let (low, high) = (stiffness.ends.0.min(n - 1), stiffness.ends.1.min(n - 1));
    for i in (1..=low).chain(n - high..n) {
        bands[i][0] += stiffness.end_slope;
        bands[i][1] -= stiffness.end_slope;
        bands[i - 1][0] += stiffness.end_slope;
    }
    for row in bands.iter_mut() {
        row[0] += stiffness.level;
    }
}

/// Cholesky in place for three bands under the diagonal, then both substitutions.
fn solve_banded(bands: &mut [[f64; 4]], rhs: &mut [f64]) {
    let n = rhs.len();
    for i in 0..n {
        for d in (0..=i.min(3)).rev() {
            let j = i - d;
            let mut sum = bands[i][d];
            for m in 1..=3 - d {
                if m <= j {
                    sum -= bands[i][d + m] * bands[j][m];
                }
            }
            bands[i][d] = if d == 0 { sum.max(1e-30).sqrt() } else { sum / bands[j][0] };
        }
    }
    for i in 0..n {
        let back: f64 = (1..=i.min(3)).map(|d| bands[i][d] * rhs[i - d]).sum();
        rhs[i] = (rhs[i] - back) / bands[i][0];
    }
    for i in (0..n).rev() {
        let ahead: f64 = (1..=3.min(n - 1 - i)).map(|d| bands[i + d][d] * rhs[i + d]).sum();
        rhs[i] = (rhs[i] - ahead) / bands[i][0];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loose(n: usize) -> Stiffness {
        Stiffness { bend: vec![1e-9; n - 2], end_slope: 0.0, ends: (0, 0), level: 1e-12 }
    }

    #[test]
    fn a_cubic_is_reproduced_with_its_derivatives() {
        let mut spline = Spline::with_knots(-1.0, 2.0, 9);
        let f = |u: f64| 0.3 - u + 0.5 * u * u - 0.2 * u * u * u;
        let samples: Vec<_> =
            (0..60).map(|i| -1.0 + 3.0 * f64::from(i) / 59.0).map(|u| Sample { u, y: f(u), w: 1.0 }).collect();
        let n = spline.len();
        spline.fit(&samples, &loose(n));
        for u in [-0.97, -0.2, 0.5, 1.3, 1.99] {
            let [v, d1, d2] = spline.jet(u);
            assert!((v - f(u)).abs() < 1e-6 && (v - spline.value(u)).abs() < 1e-15, "value at {u}");
            assert!((d1 - (-1.0 + u - 0.6 * u * u)).abs() < 1e-5, "slope at {u}: {d1}");
            assert!((d2 - (1.0 - 1.2 * u)).abs() < 1e-4, "bend at {u}: {d2}");
        }
    }

    #[test]
    fn stiff_ends_run_flat_where_nothing_is_known() {
        let mut spline = Spline::with_knots(-2.0, 2.0, 20);
        let samples: Vec<_> = (0..20).map(|i| -0.5 + f64::from(i) / 20.0).map(|u| Sample { u, y: u, w: 1e4 }).collect();
        let stiffness = Stiffness { bend: vec![10.0; 21], end_slope: 1e4, ends: (6, 6), level: 1e-3 };
        spline.fit(&samples, &stiffness);
        assert!((spline.value(0.2) - 0.2).abs() < 0.01);
        assert!(spline.jet(1.99)[1].abs() < 0.02 && spline.value(50.0) < 2.0, "{:?}", spline.jet(1.99));
        assert!((spline.value(2.0) - spline.value(50.0)).abs() < 1e-12);
    }
}
