//! Chebyshev series and tensor polynomials on intervals. Never: finance.

use crate::american::settings::EVALUATE;
use crate::lanes::Lanes;
use crate::solve::{chebyshev_roots, lobatto, lobatto_to_chebyshev, roots_to_monomials};
use std::sync::OnceLock;

/// An interval with Chebyshev nodes on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// Middle and half width.
    pub(super) centre: f64,
    pub(super) half: f64,
    n: usize,
}

impl Axis {
    /// `n` Chebyshev nodes between `from` and `to`.
    pub(super) fn new(from: f64, to: f64, n: usize) -> Self {
        Axis { centre: 0.5 * (from + to), half: 0.5 * (to - from).abs(), n }
    }

    /// The axis over this interval with `n` nodes.
    pub(super) fn with(self, n: usize) -> Self {
        Axis { n, ..self }
    }

    /// The nodes, in the axis' own coordinate.
    pub(super) fn nodes(&self) -> Vec<f64> {
        chebyshev_roots(self.n).iter().map(|u| self.centre + self.half * u).collect()
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.n
    }

    /// The highest term of the Chebyshev series through values at the nodes.
    pub(super) fn highest(&self, of: impl Fn(usize) -> f64) -> f64 {
        let power = &roots_to_monomials(self.n)[self.n - 1];
        power.iter().enumerate().map(|(i, weight)| weight * of(i)).sum::<f64>() * self.of_leading()
    }

    /// Ratio of the highest term of a Chebyshev series to the coefficient of the highest power: 2^(2−n).
    pub(super) fn of_leading(&self) -> f64 {
        0.5f64.powi(self.n as i32 - 2)
    }

    /// The place with a coordinate in [−1, 1].
    pub(super) fn at<L>(&self, unit: L) -> OnAxis<'_, L> {
        OnAxis { axis: self, unit }
    }

    /// The coordinate of `x` in [−1, 1].
    #[inline(always)]
    pub(super) fn unit<L: Lanes>(&self, x: L) -> L {
        (x - self.centre) * (1.0 / self.half)
    }
}

/// The greatest size of the highest Chebyshev term along each of the axes `s` and `k`, of a function of the node
/// `k·|s| + s`. It estimates the change by one more node.
pub(super) fn bend(s: &Axis, k: &Axis, of: impl Fn(usize) -> f64) -> [f64; 2] {
    let (ns, nk) = (s.len(), k.len());
    let along_s = (0..nk).map(|k| s.highest(|s| of(k * ns + s)).abs()).fold(0.0, f64::max);
    let along_k = (0..ns).map(|s| k.highest(|k| of(k * ns + s)).abs()).fold(0.0, f64::max);
    [along_s, along_k]
}

/// Tensor polynomials in (axis `s`, axis `k`): one for each of `terms`, coefficients `[term][power of k][power of s]`.
/// `values[k·|s| + s][term]` are the values at the nodes.
pub(super) fn fit_tensor(s: &Axis, k: &Axis, values: &[Vec<f64>]) -> Vec<f64> {
    let (ns, nk) = (s.len(), k.len());
    let [s_powers, k_powers] = [ns, nk].map(roots_to_monomials);
    let terms = values[0].len();
    let mut out = vec![0.0; terms * nk * ns];
    let mut along_s = vec![0.0; nk * ns];
    for term in 0..terms {
        for a in 0..nk {
            for p in 0..ns {
                along_s[a * ns + p] = (0..ns).map(|j| s_powers[p][j] * values[a * ns + j][term]).sum();
            }
        }
        for a in 0..nk {
            for p in 0..ns {
                out[(term * nk + a) * ns + p] = (0..nk).map(|j| k_powers[a][j] * along_s[j * ns + p]).sum();
            }
        }
    }
    out
}

/// Value, three derivatives along `s` and two along `k` of one tensor polynomial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local<L> {
    /// F, F_s, F_ss, F_sss.
    pub(super) s: [L; 4],
    /// F_k, F_kk.
    pub(super) k: [L; 2],
}

/// A place on an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnAxis<'a, L> {
    pub(super) axis: &'a Axis,
    /// Coordinate in [−1, 1].
    pub(super) unit: L,
}

/// Evaluates the tensor polynomial `c` and its derivatives; without `ALL`, not those along `k`.
#[inline(always)]
pub(super) fn local<L: Lanes, const ALL: bool>(c: &[f64], s: OnAxis<'_, L>, k: OnAxis<'_, L>) -> Local<L> {
    let (ns, nk, us, uk) = (s.axis.len(), k.axis.len(), s.unit, k.unit);
    let zero = L::splat(0.0);
    let (mut y, mut g) = ([zero; 4], [zero; 2]);
    for i in (0..ns).rev() {
        let mut a = [L::splat(c[(nk - 1) * ns + i]), zero, zero];
        for q in (0..nk - 1).rev() {
            if ALL {
                a[2] = a[2].mul_add(uk, a[1]);
                a[1] = a[1].mul_add(uk, a[0]);
            }
            a[0] = a[0].mul_add(uk, L::splat(c[q * ns + i]));
        }
        y[3] = y[3].mul_add(us, y[2]);
        y[2] = y[2].mul_add(us, y[1]);
        y[1] = y[1].mul_add(us, y[0]);
        y[0] = y[0].mul_add(us, a[0]);
        if ALL {
            g[0] = g[0].mul_add(us, a[1]);
            g[1] = g[1].mul_add(us, a[2]);
        }
    }
    let (is, ik) = (1.0 / s.axis.half, 1.0 / k.axis.half);
    let c = |v: f64| L::splat(v);
    Local {
        s: [y[0], y[1] * is, y[2] * c(2.0 * is * is), y[3] * c(6.0 * is * is * is)],
        k: [g[0] * ik, g[1] * c(2.0 * ik * ik)],
    }
}

/// Value and derivative along `s` of one tensor polynomial.
#[inline(always)]
pub(super) fn local_slope<L: Lanes>(c: &[f64], s: OnAxis<'_, L>, k: OnAxis<'_, L>) -> [L; 2] {
    let (ns, nk, us, uk) = (s.axis.len(), k.axis.len(), s.unit, k.unit);
    let (mut y, mut y1) = (L::splat(0.0), L::splat(0.0));
    for i in (0..ns).rev() {
        let mut a = L::splat(c[(nk - 1) * ns + i]);
        for q in (0..nk - 1).rev() {
            a = a.mul_add(uk, L::splat(c[q * ns + i]));
        }
        y1 = y1.mul_add(us, y);
        y = y.mul_add(us, a);
    }
    [y, y1 * (1.0 / s.axis.half)]
}

/// The Chebyshev-Lobatto points, and the transform from values there to coefficients.
#[derive(Clone, Debug)]
pub(super) struct Lobatto {
    points: Vec<f64>,
    to_coefficients: Vec<Vec<f64>>,
}

impl Lobatto {
    /// Points and transform for series of `terms` terms, at most `EVALUATE.most_terms`.
    pub(super) fn of(terms: usize) -> &'static Self {
        static ALL: [OnceLock<Lobatto>; EVALUATE.most_terms + 1] = [const { OnceLock::new() }; EVALUATE.most_terms + 1];
        ALL[terms]
            .get_or_init(|| Lobatto { points: lobatto(terms - 1), to_coefficients: lobatto_to_chebyshev(terms - 1) })
    }

    /// Coefficients of the series through `f` at the points, one in each lane.
    pub(super) fn lanes<L: Lanes>(&self, f: impl Fn(f64) -> L) -> Vec<L> {
        let values: Vec<L> = self.points.iter().map(|&u| f(u)).collect();
        let product =
            |row: &Vec<f64>| row.iter().zip(&values).fold(L::splat(0.0), |sum, (a, b)| b.mul_add(L::splat(*a), sum));
        self.to_coefficients.iter().map(product).collect()
    }

    /// The points, in [−1, 1].
    pub(super) fn points(&self) -> &[f64] {
        &self.points
    }

    /// Coefficients of the series through `values` at the points.
    pub(super) fn coefficients(&self, values: &[f64]) -> Vec<f64> {
        let product = |row: &Vec<f64>| row.iter().zip(values).map(|(a, b)| a * b).sum();
        self.to_coefficients.iter().map(product).collect()
    }
}

/// The series without those last terms that are below `worth` in all of them.
pub(super) fn without_tail(mut series: Vec<Vec<f64>>, worth: f64) -> Vec<Vec<f64>> {
    let last = |series: &Vec<f64>| series.iter().rposition(|c| c.abs() > worth).unwrap_or(0);
    let keep = series.iter().map(last).max().unwrap_or(0) + 1;
    series.iter_mut().for_each(|series| series.truncate(keep));
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_reproduces_a_polynomial_and_its_derivatives() {
        let (s, k) = (Axis::new(-1.5, 0.5, 5), Axis::new(0.01, 0.02, 3));
        let f = |s: f64, k: f64| (1.0 + s - 2.0 * s * s * s) * (1.0 + 30.0 * k - 1e3 * k * k);
        let mut values = Vec::new();
        for b in k.nodes() {
            for a in s.nodes() {
                values.push(vec![f(a, b)]);
            }
        }
        let c = fit_tensor(&s, &k, &values);
        let (a, b) = (-0.3, 0.013);
        let got = local::<f64, true>(&c, s.at(s.unit(a)), k.at(k.unit(b)));
        let (fs, fk) = (1.0 + a - 2.0 * a * a * a, 1.0 + 30.0 * b - 1e3 * b * b);
        let want = [fs * fk, (1.0 - 6.0 * a * a) * fk, -12.0 * a * fk, -12.0 * fk];
        for (got, want) in got.s.iter().zip(want) {
            assert!((got - want).abs() < 1e-11, "{got} {want}");
        }
        assert!((got.k[0] - fs * (30.0 - 2e3 * b)).abs() < 1e-9);
        assert!((got.k[1] + fs * 2e3).abs() < 1e-7);
    }
}
