//! A cubic spline with evenly spaced knots, fitted by weighted least squares with a penalty on its bending.
//!
//! Source: Eilers and Marx (1996), Flexible smoothing with B-splines and penalties. The normal equations have four
//! bands, so a fit costs about 60 operations per point and per knot.

use super::settings::SPLINE;
use kernel::lanes::{Block, Lanes};

/// A cubic spline in B-spline form; constant beyond its knots.
#[derive(Clone, Debug, PartialEq)]
pub struct Spline {
    start: f64,
    step: f64,
    coef: Vec<f64>,
}

/// Penalties of a spline: its stiffness at each knot, and its level where there are no points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stiffness {
    /// 1/variance of the second difference at each interior coefficient (one fewer at each end).
    pub bend: Vec<f64>,
    /// 1/variance of the first difference between neighbours among the outermost coefficients.
    pub end_slope: f64,
    /// Number of coefficients at the low and at the high end with the penalty `end_slope`.
    pub ends: (usize, usize),
    /// 1/variance of every coefficient about zero.
    pub level: f64,
}

impl Stiffness {
    /// Divides every bending penalty by `by`. Returns `by`.
    pub fn soften(&mut self, by: f64) -> f64 {
        let factor = 1.0 / by;
        self.bend.iter_mut().for_each(|bend| *bend *= factor);
        by
    }
}

/// The weighted least-squares problem of a spline, with room for its solution; kept between fits for its memory.
///
/// Samples are in columns, padded to whole blocks; entries beyond `len` have no weight.
#[derive(Clone, Debug, Default)]
pub struct LeastSquares {
    /// Value of each sample.
    pub y: Vec<f64>,
    /// 1/variance of each sample.
    pub w: Vec<f64>,
    /// The spline at each sample, as of the last fit.
    pub fitted: Vec<f64>,
    len: usize,
    /// The interval of each sample, and its four B-splines there.
    basis: Vec<(usize, [f64; 4])>,
    penalty: Vec<[f64; 4]>,
    rows: Vec<[f64; 4]>,
    rhs: Vec<f64>,
}

/// The four cubic B-splines that overlap at fraction `f` of an interval.
#[inline(always)]
fn weights<L: Lanes>(f: L) -> [L; 4] {
    let c = |x: f64| L::splat(x);
    let (g, sixth) = (c(1.0) - f, c(1.0 / 6.0));
    let (f2, g2) = (f * f, g * g);
    let inner = |f: L, f2: L| f2.mul_add(f.mul_add(c(0.5), c(-1.0)), c(2.0 / 3.0));
    [g2 * g * sixth, inner(f, f2), inner(g, g2), f2 * f * sixth]
}

/// Value at fraction `f` of the interval with coefficients `c`.
#[inline(always)]
pub(super) fn piece<L: Lanes>(c: [L; 4], f: L) -> L {
    let w = weights(f);
    w[0].mul_add(c[0], w[1] * c[1]) + w[2].mul_add(c[2], w[3] * c[3])
}

/// Value and first two derivatives, per knot, at fraction `f` of the interval with coefficients `c`.
#[inline(always)]
pub(super) fn piece_jet<L: Lanes>(c: [L; 4], f: L) -> [L; 3] {
    let g = L::splat(1.0) - f;
    let d = [c[1] - c[0], c[2] - c[1], c[3] - c[2]];
    let middle = (f * g).mul_add(L::splat(2.0), L::splat(1.0));
    let d1 = L::splat(0.5) * (g * g).mul_add(d[0], middle.mul_add(d[1], f * f * d[2]));
    [piece(c, f), d1, g.mul_add(d[1] - d[0], f * (d[2] - d[1]))]
}

/// A place between two knots.
#[derive(Clone, Copy, Debug)]
pub struct KnotInterval<L> {
    /// Index of the interval.
    pub i: L,
    /// Fraction of the interval, 0 to 1.
    pub f: L,
}

impl Spline {
    /// Zero everywhere.
    #[must_use]
    pub fn zero() -> Self {
        Self { start: 0.0, step: 1.0, coef: vec![0.0; 4] }
    }

    /// Resets the spline to zero over [`from`, `to`] in `intervals` pieces.
    pub fn reset(&mut self, from: f64, to: f64, intervals: usize) {
        let n = intervals.max(1);
        self.start = from;
        // a chain of one strike has no width, and a place is divided by the step
        self.step = ((to - from) / n as f64).max(1e-6);
        self.coef.clear();
        self.coef.resize(n + 3, 0.0);
    }

    /// Extends the spline to cover [`from`, `to`] with whole knots, constant beyond its old ends.
    pub fn extend(&mut self, from: f64, to: f64) {
        let (start, end) = self.ends();
        let more = |by: f64| (by / self.step).ceil().clamp(0.0, SPLINE.extension_most) as usize;
        let (low, high) = (more(start - from), more(to - end));
        if low > 0 {
            let first = self.value(start);
            self.coef.splice(0..0, core::iter::repeat_n(first, low));
            self.start -= low as f64 * self.step;
        }
        if high > 0 {
            let last = self.value(end);
            self.coef.extend(core::iter::repeat_n(last, high));
        }
    }

    /// The coefficients: three more than intervals, at least four; coefficient `i` matters most at knot `i − 1`.
    #[must_use]
    pub fn coef(&self) -> &[f64] {
        &self.coef
    }

    /// The coefficients, to be moved.
    #[must_use]
    pub fn coef_mut(&mut self) -> &mut [f64] {
        &mut self.coef
    }

    /// Number of intervals between knots.
    #[must_use]
    pub fn intervals(&self) -> usize {
        self.coef.len() - 3
    }

    /// First and last knot.
    #[must_use]
    pub fn ends(&self) -> (f64, f64) {
        (self.start, self.start + self.step * self.intervals() as f64)
    }

    /// Knot distance.
    #[must_use]
    pub fn step(&self) -> f64 {
        self.step
    }

    /// Interval and fraction of a place, held inside the knots.
    #[inline(always)]
    #[must_use]
    pub fn locate<L: Lanes>(&self, u: L) -> KnotInterval<L> {
        // beyond its knots the spline is constant: a wing has the shape of the base, without butterflies below zero
        let last = L::splat((self.intervals() - 1) as f64);
        let p = (u - self.start) * (1.0 / self.step);
        let p = p.max(L::splat(0.0)).min(last + 1.0);
        // a knot may count to either side
        let i = (p - 0.5).round().max(L::splat(0.0)).min(last);
        KnotInterval { i, f: p - i }
    }

    /// The coefficients of interval `i`, lane by lane.
    #[inline(always)]
    fn gather<L: Lanes>(&self, i: L) -> [L; 4] {
        // through memory: no gather instruction at every processor level, and a spline is in the first cache
        let mut at = [0.0; Block::N];
        i.store(&mut at);
        let mut c = [[0.0; Block::N]; 4];
        for lane in 0..L::N {
            let first = at[lane] as usize;
            let Some(&[c0, c1, c2, c3]) = self.coef.get(first..first + 4).and_then(<[f64]>::first_chunk) else {
                continue;
            };
            (c[0][lane], c[1][lane], c[2][lane], c[3][lane]) = (c0, c1, c2, c3);
        }
        [L::load(&c[0]), L::load(&c[1]), L::load(&c[2]), L::load(&c[3])]
    }

    /// Value at a place that [`Spline::locate`] found.
    #[inline(always)]
    #[must_use]
    pub fn at<L: Lanes>(&self, at: KnotInterval<L>) -> L {
        piece(self.gather(at.i), at.f)
    }

    /// Value at `u`.
    #[inline(always)]
    #[must_use]
    pub fn value<L: Lanes>(&self, u: L) -> L {
        self.at(self.locate(u))
    }

    /// Value and first two derivatives at `u`; beyond the knots the derivatives are zero.
    #[inline(always)]
    #[must_use]
    pub fn jet<L: Lanes>(&self, u: L) -> [L; 3] {
        let KnotInterval { i, f } = self.locate(u);
        let [value, d1, d2] = piece_jet(self.gather(i), f);
        let (start, end) = self.ends();
        // the value is held beyond, so a slope would not be its derivative
        let inside = L::splat(start).le(u) & u.le(L::splat(end));
        let held = |x: L| L::select(inside, x, L::splat(0.0));
        [value, held(d1 / self.step), held(d2 / (self.step * self.step))]
    }
}

impl LeastSquares {
    /// Takes samples at `places`, `len` of them before the padding, without values or weights yet.
    pub fn begin(&mut self, spline: &Spline, places: &[f64], len: usize) {
        self.len = len;
        for column in [&mut self.y, &mut self.w, &mut self.fitted] {
            column.clear();
            // padding keeps weight zero, so that blocks need no tail
            column.resize(places.len(), 0.0);
        }
        self.basis.clear();
        self.basis.extend(places[..len].iter().map(|&u| {
            let KnotInterval { i, f } = spline.locate(u);
            (i as usize, weights(f))
        }));
    }

    /// Takes the penalties of a spline with `n` coefficients.
    pub fn penalise(&mut self, n: usize, stiffness: &Stiffness) {
        // row i holds the elements (i, i) to (i, i + 3); three more rows spare the solver its ends
        let rows = &mut self.penalty;
        rows.clear();
        rows.resize(n + 3, [stiffness.level, 0.0, 0.0, 0.0]);
        for (i, &w) in (1..n - 1).zip(&stiffness.bend) {
            // (c[i−1] − 2c[i] + c[i+1])²
            rows[i - 1] = [rows[i - 1][0] + w, rows[i - 1][1] - 2.0 * w, rows[i - 1][2] + w, 0.0];
            rows[i] = [rows[i][0] + 4.0 * w, rows[i][1] - 2.0 * w, rows[i][2], 0.0];
            rows[i + 1][0] += w;
        }
        let (low, high) = (stiffness.ends.0.min(n - 1), stiffness.ends.1.min(n - 1));
        for i in (1..=low).chain(n - high..n) {
            rows[i][0] += stiffness.end_slope;
            rows[i - 1][0] += stiffness.end_slope;
            rows[i - 1][1] -= stiffness.end_slope;
        }
    }

    /// Fits the coefficients of `spline` to the samples, and computes [`LeastSquares::fitted`].
    ///
    /// # Domain   weights ≥ 0, at least one penalty above 0 where there are no samples; a system that has no finite
    /// answer changes nothing
    pub fn solve(&mut self, spline: &mut Spline) {
        self.rows.clone_from(&self.penalty);
        self.rhs.clear();
        self.rhs.resize(self.rows.len(), 0.0);
        for ((&(i, b), &w), &y) in self.basis.iter().zip(&self.w).zip(&self.y) {
            let (Some(rows), Some(rhs)) = (self.rows[i..].first_chunk_mut::<4>(), self.rhs[i..].first_chunk_mut::<4>())
            else {
                continue;
            };
            add_sample(rows, rhs, b, w, y);
        }
        solve_banded(&mut self.rows, &mut self.rhs, spline.coef.len());
        // one non-finite sample would spoil every coefficient: the last finite curve is better than none
        let found = &self.rhs[..spline.coef.len()];
        if found.iter().sum::<f64>().is_finite() {
            spline.coef.copy_from_slice(found);
        }
        for (fitted, &(i, b)) in self.fitted.iter_mut().zip(&self.basis) {
            if let Some(c) = spline.coef[i..].first_chunk::<4>() {
                *fitted = (b[0] * c[0] + b[1] * c[1]) + (b[2] * c[2] + b[3] * c[3]);
            }
        }
    }

    /// Effective number of parameters of the last fit: the trace of its influence matrix.
    ///
    /// # Domain   after [`LeastSquares::solve`], whose factors it reads
    /// # Source   the trace is n less that of (BᵀWB + P)⁻¹P, of which only the central bands of the inverse matter;
    /// Hutchinson and de Hoog (1985), Smoothing noisy data with spline functions
    #[must_use]
    pub fn freedom(&self, n: usize) -> f64 {
        // the elements of the inverse among the three coefficients above the one at hand, from the last row up
        let (mut a, mut b, mut c, mut held) = ([0.0; 3], [0.0; 2], 0.0, 0.0);
        for (&[inv, l1, l2, l3], penalty) in self.rows[..n].iter().zip(&self.penalty).rev() {
            let s1 = -(l1 * a[0] + l2 * a[1] + l3 * a[2]);
            let s2 = -(l1 * a[1] + l2 * b[0] + l3 * b[1]);
            let s3 = -(l1 * a[2] + l2 * b[1] + l3 * c);
            let s0 = inv - (l1 * s1 + l2 * s2 + l3 * s3);
            held += s0 * penalty[0] + 2.0 * (s1 * penalty[1] + s2 * penalty[2]);
            (c, b, a) = (b[0], [a[0], a[1]], [s0, s1, s2]);
        }
        n as f64 - held
    }
}

/// Adds w·b·bᵀ and w·b·y.
#[inline(always)]
fn add_sample(rows: &mut [[f64; 4]; 4], rhs: &mut [f64; 4], b: [f64; 4], w: f64, y: f64) {
    let wb = b.map(|b| w * b);
    for p in 0..4 {
        rhs[p] = Lanes::mul_add(wb[p], y, rhs[p]);
        for d in 0..4 - p {
            rows[p][d] = Lanes::mul_add(wb[p], b[p + d], rows[p][d]);
        }
    }
}

/// Solves the first `n` rows in place: LDLᵀ, then both substitutions; `rows` and `rhs` have three more.
fn solve_banded(rows: &mut [[f64; 4]], rhs: &mut [f64], n: usize) {
    let less = |from: f64, a: f64, b: f64| Lanes::neg_mul_add(a, b, from);
    let (mut r, mut s) = ([rows[0], rows[1], rows[2]], [rhs[0], rhs[1], rhs[2]]);
    for i in 0..n {
        let (mut r3, s3) = (rows[i + 3], rhs[i + 3]);
        let [[a0, a1, a2, a3], mut r1, mut r2] = r;
        // no pivots: penalties make the matrix positive definite, and only rounding could break that
        let inv = 1.0 / a0.max(1e-30);
        let (l1, l2, l3) = (a1 * inv, a2 * inv, a3 * inv);
        r1[0] = less(r1[0], l1, a1);
        r1[1] = less(r1[1], l1, a2);
        r1[2] = less(r1[2], l1, a3);
        r2[0] = less(r2[0], l2, a2);
        r2[1] = less(r2[1], l2, a3);
        r3[0] = less(r3[0], l3, a3);
        (rows[i], rhs[i]) = ([inv, l1, l2, l3], s[0] * inv);
        s = [less(s[1], l1, s[0]), less(s[2], l2, s[0]), less(s3, l3, s[0])];
        r = [r1, r2, r3];
    }
    // from the last row up, the three unknowns below it in registers
    let mut x = [0.0; 3];
    for (row, rhs) in rows[..n].iter().zip(&mut rhs[..n]).rev() {
        let new = less(less(less(*rhs, row[3], x[2]), row[2], x[1]), row[1], x[0]);
        x = [new, x[0], x[1]];
        *rhs = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(from: f64, to: f64, intervals: usize, samples: &[(f64, f64, f64)], stiffness: &Stiffness) -> Spline {
        let mut spline = Spline::zero();
        spline.reset(from, to, intervals);
        let mut problem = LeastSquares::default();
        let places: Vec<f64> = samples.iter().map(|s| s.0).collect();
        problem.begin(&spline, &places, places.len());
        for (i, &(_, y, w)) in samples.iter().enumerate() {
            (problem.y[i], problem.w[i]) = (y, w);
        }
        problem.penalise(spline.coef().len(), stiffness);
        problem.solve(&mut spline);
        for (place, fitted) in places.iter().zip(&problem.fitted) {
            assert!((spline.value(*place) - fitted).abs() < 1e-14, "{fitted} at {place}");
        }
        spline
    }

    #[test]
    fn a_cubic_is_reproduced_with_its_derivatives() {
        let f = |u: f64| 0.3 - u + 0.5 * u * u - 0.2 * u * u * u;
        let samples: Vec<_> = (0..60).map(|i| -1.0 + 3.0 * f64::from(i) / 59.0).map(|u| (u, f(u), 1.0)).collect();
        let loose = Stiffness { bend: vec![1e-9; 10], end_slope: 0.0, ends: (0, 0), level: 1e-12 };
        let spline = fitted(-1.0, 2.0, 9, &samples, &loose);
        for u in [-0.97, -0.2, 0.5, 1.3, 1.99] {
            let [v, d1, d2] = spline.jet(u);
            assert!((v - f(u)).abs() < 1e-6 && (v - spline.value(u)).abs() < 1e-15, "value at {u}");
            assert!((d1 - (-1.0 + u - 0.6 * u * u)).abs() < 1e-5, "slope at {u}: {d1}");
            assert!((d2 - (1.0 - 1.2 * u)).abs() < 1e-4, "bend at {u}: {d2}");
        }
    }

    #[test]
    fn freedom_is_what_the_fitted_values_follow_of_the_samples() {
        let places: Vec<f64> = (0..30).map(|i| f64::from(i) / 30.0).collect();
        let stiffness = Stiffness { bend: vec![40.0; 11], end_slope: 3.0, ends: (2, 3), level: 0.5 };
        let mut spline = Spline::zero();
        spline.reset(-0.2, 1.2, 10);
        let mut problem = LeastSquares::default();
        problem.begin(&spline, &places, places.len());
        for (i, w) in problem.w.iter_mut().enumerate() {
            *w = 1.0 + (i % 7) as f64;
        }
        problem.penalise(spline.coef().len(), &stiffness);
        let mut followed = 0.0;
        for i in 0..places.len() {
            problem.y.fill(0.0);
            problem.y[i] = 1.0;
            problem.solve(&mut spline);
            followed += problem.fitted[i];
        }
        let freedom = problem.freedom(spline.coef().len());
        assert!((freedom - followed).abs() < 1e-9 && freedom > 2.0, "{freedom} for {followed}");
    }

    #[test]
    fn stiff_ends_run_flat_where_nothing_is_known() {
        let samples: Vec<_> = (0..20).map(|i| -0.5 + f64::from(i) / 20.0).map(|u| (u, u, 1e4)).collect();
        let stiffness = Stiffness { bend: vec![10.0; 21], end_slope: 1e4, ends: (6, 6), level: 1e-3 };
        let spline = fitted(-2.0, 2.0, 20, &samples, &stiffness);
        assert!((spline.value(0.2) - 0.2).abs() < 0.01);
        assert!(spline.jet(1.99)[1].abs() < 0.02 && spline.value(50.0) < 2.0, "{:?}", spline.jet(1.99));
        assert!((spline.value(2.0) - spline.value(50.0)).abs() < 1e-12);
    }

    #[test]
    fn lanes_read_the_same_as_one_place_at_a_time() {
        let mut spline = Spline::zero();
        spline.reset(-1.0, 2.0, 7);
        for (i, c) in spline.coef_mut().iter_mut().enumerate() {
            *c = (i as f64 * 1.7).sin();
        }
        let u: Vec<f64> = (0..16).map(|i| f64::from(i) * 0.3 - 1.5).collect();
        for half in u.chunks(8) {
            let lanes = spline.value(Block::load(half));
            for (i, &u) in half.iter().enumerate() {
                assert_eq!(lanes.lane(i).to_bits(), spline.value(u).to_bits(), "at {u}");
            }
        }
    }
}
