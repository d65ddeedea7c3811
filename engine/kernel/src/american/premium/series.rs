//! Arithmetic of series: Chebyshev series and tensor polynomials on intervals, and truncated Taylor series in the five
//! inputs of a price.
//!
//! A table gives the premium as a function of its own coordinates; callers need derivatives in X, σ, K, r and b. Each
//! coordinate is written as a Taylor series, and products of series replace pages of hand-made chain rule. Never: a
//! formula of finance.

use crate::lanes::Lanes;
use crate::solve::{chebyshev_roots, lobatto, lobatto_to_chebyshev, roots_to_monomials};
use core::ops::{Add, Mul, Sub};
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

/// Most terms of a series, of a reference value: more than half as long again as usual.
pub(super) const MOST_TERMS: usize = 160;

/// The Chebyshev-Lobatto points, and the transform from values there to coefficients.
#[derive(Clone, Debug)]
pub(super) struct Lobatto {
    points: Vec<f64>,
    to_coefficients: Vec<Vec<f64>>,
}

impl Lobatto {
    /// Points and transform for series of `terms` terms, at most `MOST_TERMS`.
    pub(super) fn of(terms: usize) -> &'static Self {
        static ALL: [OnceLock<Lobatto>; MOST_TERMS + 1] = [const { OnceLock::new() }; MOST_TERMS + 1];
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

/// Index of each monomial's coefficient. Variables: x = ln X, l = ln σ, q = ln K, r, b, each measured from the point of
/// expansion. The set is closed under division of monomials, so that products of series are exact in it.
pub(super) mod at {
    pub(crate) const ONE: usize = 0;
    pub(crate) const X: usize = ONE + 1;
    pub(crate) const XX: usize = X + 1;
    pub(crate) const XXX: usize = XX + 1;
    pub(crate) const XXXX: usize = XXX + 1;
    pub(crate) const L: usize = XXXX + 1;
    pub(crate) const LL: usize = L + 1;
    pub(crate) const LLL: usize = LL + 1;
    pub(crate) const XL: usize = LLL + 1;
    pub(crate) const XXL: usize = XL + 1;
    pub(crate) const Q: usize = XXL + 1;
    pub(crate) const QQ: usize = Q + 1;
    pub(crate) const R: usize = QQ + 1;
    pub(crate) const RL: usize = R + 1;
    pub(crate) const B: usize = RL + 1;
}
/// Number of monomials.
pub(super) const TERMS: usize = at::B + 1;

/// Coefficients of the monomials of [`at`], not derivatives: ∂²/∂x² is twice the coefficient of x².
#[derive(Clone, Copy, Debug)]
pub(super) struct Taylor<V>(pub(super) [V; TERMS]);

impl<V: Lanes> Taylor<V> {
    /// The constant `c`.
    #[inline(always)]
    pub(super) fn constant(c: V) -> Self {
        let mut terms = [V::splat(0.0); TERMS];
        terms[at::ONE] = c;
        Taylor(terms)
    }

    /// The series with the coefficient of monomial `i` set to `c`.
    #[inline(always)]
    pub(super) fn with(mut self, i: usize, c: V) -> Self {
        self.0[i] = c;
        self
    }

    /// The series times `c`.
    #[inline(always)]
    pub(super) fn scale(self, c: V) -> Self {
        Taylor(core::array::from_fn(
            #[inline(always)]
            |i| self.0[i] * c,
        ))
    }

    /// self + a constant.
    #[inline(always)]
    pub(super) fn plus(mut self, c: V) -> Self {
        self.0[at::ONE] += c;
        self
    }

    /// The series without its constant term.
    #[inline(always)]
    pub(super) fn moving(self) -> Self {
        self.with(at::ONE, V::splat(0.0))
    }

    /// The constant term.
    #[inline(always)]
    pub(super) fn value(&self) -> V {
        self.0[at::ONE]
    }

    /// σ·e^(n·l) as a series, `n` any power: σ itself, 1/σ.
    #[inline(always)]
    pub(super) fn power_of_sigma(value: V, n: f64) -> Self {
        Taylor::constant(value)
            .with(at::L, value * V::splat(n))
            .with(at::LL, value * V::splat(n * n / 2.0))
            .with(at::LLL, value * V::splat(n * n * n / 6.0))
    }

    /// K as a series in q = ln K.
    #[inline(always)]
    pub(super) fn strike(k: V) -> Self {
        Taylor::constant(k).with(at::Q, k).with(at::QQ, k * V::splat(0.5))
    }

    /// f(self), given f and its first four derivatives at the constant term.
    #[inline(never)]
    pub(super) fn compose(&self, f: [V; 5]) -> Self {
        let d = self.moving();
        let c = |i: usize, factorial: f64| f[i] * V::splat(1.0 / factorial);
        // Horner on the nilpotent part
        let mut out = d.scale(c(4, 24.0)).plus(c(3, 6.0));
        out = (out * d).plus(c(2, 2.0));
        out = (out * d).plus(f[1]);
        (out * d).plus(f[0])
    }
}

impl<V: Lanes> Add for Taylor<V> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Taylor(core::array::from_fn(
            #[inline(always)]
            |i| self.0[i] + o.0[i],
        ))
    }
}

impl<V: Lanes> Sub for Taylor<V> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Taylor(core::array::from_fn(
            #[inline(always)]
            |i| self.0[i] - o.0[i],
        ))
    }
}

impl<V: Lanes> Mul for Taylor<V> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        product(&self, &o)
    }
}

/// The product, monomial by monomial.
#[inline(never)]
fn product<V: Lanes>(a: &Taylor<V>, b: &Taylor<V>) -> Taylor<V> {
    use at::{B, L, LL, LLL, ONE, Q, QQ, R, RL, X, XL, XX, XXL, XXX, XXXX};
    let (a, b) = (&a.0, &b.0);
    let both = |i: usize, j: usize| a[i].mul_add(b[j], a[j] * b[i]);
    let square = |i: usize| a[i] * b[i];
    let first = |i: usize| both(ONE, i);
    let second = |i: usize, ii: usize| first(ii) + square(i);
    let third = |i: usize, ii: usize, iii: usize| first(iii) + both(i, ii);
    let mut c = [V::splat(0.0); TERMS];
    c[ONE] = square(ONE);
    c[X] = first(X);
    c[XX] = second(X, XX);
    c[XXX] = third(X, XX, XXX);
    c[XXXX] = first(XXXX) + both(X, XXX) + square(XX);
    c[L] = first(L);
    c[LL] = second(L, LL);
    c[LLL] = third(L, LL, LLL);
    c[XL] = first(XL) + both(X, L);
    c[XXL] = first(XXL) + both(XX, L) + both(X, XL);
    c[Q] = first(Q);
    c[QQ] = second(Q, QQ);
    c[R] = first(R);
    c[RL] = first(RL) + both(R, L);
    c[B] = first(B);
    Taylor(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::american::draws::Draws;

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

    /// Powers of (x, l, q, r, b) of each monomial.
    const POWERS: [[i32; 5]; TERMS] = [
        [0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [2, 0, 0, 0, 0],
        [3, 0, 0, 0, 0],
        [4, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 2, 0, 0, 0],
        [0, 3, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [2, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 2, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 1, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ];

    #[test]
    fn products_are_those_of_polynomials() {
        let mut draws = Draws(11);
        for _ in 0..50 {
            let [a, b]: [Taylor<f64>; 2] =
                core::array::from_fn(|_| Taylor(core::array::from_fn(|_| draws.between(-2.0, 2.0))));
            let got = (a * b).0;
            for (i, of) in POWERS.iter().enumerate() {
                let mut want = 0.0;
                for (j, one) in POWERS.iter().enumerate() {
                    for (k, other) in POWERS.iter().enumerate() {
                        if (0..5).all(|v| one[v] + other[v] == of[v]) {
                            want += a.0[j] * b.0[k];
                        }
                    }
                }
                assert!((got[i] - want).abs() < 1e-12, "{of:?}: {} for {want}", got[i]);
            }
        }
    }

    #[test]
    fn a_function_of_a_series_is_composed_of_its_derivatives() {
        let series = Taylor::constant(0.7).with(at::X, 1.0).with(at::L, -0.5).with(at::Q, 0.2).with(at::XL, 0.3);
        let value = 0.7f64.exp();
        let got = series.compose([value; 5]).0;
        // e^(0.7 + x − l/2 + q/5 + 0.3xl)
        for (i, want) in [
            (at::ONE, 1.0),
            (at::X, 1.0),
            (at::XXXX, 1.0 / 24.0),
            (at::LLL, -0.125 / 6.0),
            (at::XL, -0.5 + 0.3),
            (at::XXL, -0.25 + 0.3),
            (at::QQ, 0.02),
        ] {
            assert!((got[i] / value - want).abs() < 1e-14, "{i}: {} for {want}", got[i] / value);
        }
    }
}
