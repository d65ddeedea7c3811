//! The normal distribution, Gauss-Legendre rules, Chebyshev points and difference formulas.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

unsafe extern "C" {
    /// The C library's complementary error function, which Rust's standard library links but does not export.
    safe fn erfc(x: f64) -> f64;
}

/// N(x), to the last places also far in the left tail.
pub fn cdf(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

/// n(x) = N'(x).
pub fn density(x: f64) -> f64 {
    const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;
    INV_SQRT_TAU * (-0.5 * x * x).exp()
}

/// N(b) − N(a) without cancellation in either tail.
pub fn mass(a: f64, b: f64) -> f64 {
    if a > 0.0 { cdf(-a) - cdf(-b) } else { cdf(b) - cdf(a) }
}

/// Nodes and weights of the Gauss-Legendre rule on [−1, 1].
#[derive(Clone, Debug)]
pub struct Gauss(pub Vec<(f64, f64)>);

impl Gauss {
    /// The rule with `n` nodes: Newton's method on the Legendre polynomial, from the usual cosine guess.
    pub fn new(n: usize) -> Self {
        let legendre = |x: f64| {
            let (mut p, mut before) = (1.0, 0.0);
            for j in 0..n {
                let j = j as f64;
                (p, before) = (((2.0 * j + 1.0) * x * p - j * before) / (j + 1.0), p);
            }
            (p, n as f64 * (x * p - before) / (x * x - 1.0))
        };
        let node = |i: usize| {
            let mut x = -(PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            for _ in 0..8 {
                let (p, slope) = legendre(x);
                x -= p / slope;
            }
            let slope = legendre(x).1;
            (x, 2.0 / ((1.0 - x * x) * slope * slope))
        };
        Self((0..n).map(node).collect())
    }

    /// Nodes and weights on [a, b].
    pub fn on(&self, a: f64, b: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
        self.0.iter().map(move |&(x, w)| (middle + half * x, half * w))
    }
}

/// Σ c_j T_j(u), by Clenshaw's recurrence.
pub fn chebyshev(c: &[f64], u: f64) -> f64 {
    let (mut near, mut far) = (0.0, 0.0);
    for &c in c[1..].iter().rev() {
        (near, far) = (2.0 * u * near - far + c, near);
    }
    u * near - far + c[0]
}

/// The weights w with Σ w_i f(x_i) ≈ f^(order)(0): Fornberg (1988), for any points x.
pub fn difference(x: &[f64], order: usize) -> Vec<f64> {
    let n = x.len();
    let mut w = vec![vec![0.0; n]; order + 1];
    w[0][0] = 1.0;
    let mut before = 1.0;
    for i in 1..n {
        let mut product = 1.0;
        for j in 0..i {
            let gap = x[i] - x[j];
            product *= gap;
            if j + 1 == i {
                for m in (0..=order.min(i)).rev() {
                    let lower = if m > 0 { m as f64 * w[m - 1][i - 1] } else { 0.0 };
                    w[m][i] = before * (lower - x[i - 1] * w[m][i - 1]) / product;
                }
            }
            for m in (0..=order.min(i)).rev() {
                let lower = if m > 0 { m as f64 * w[m - 1][j] } else { 0.0 };
                w[m][j] = (x[i] * w[m][j] - lower) / gap;
            }
        }
        before = product;
    }
    w.pop().unwrap_or_default()
}

/// The solution of a small dense system, with row exchanges.
pub fn linear_solve(mut a: Vec<Vec<f64>>, mut y: Vec<f64>) -> Vec<f64> {
    let n = y.len();
    for i in 0..n {
        let pivot = (i..n).max_by(|&p, &q| a[p][i].abs().total_cmp(&a[q][i].abs())).unwrap_or(i);
        a.swap(i, pivot);
        y.swap(i, pivot);
        if a[i][i] == 0.0 {
            continue; // such an unknown stays where it is
        }
        for k in i + 1..n {
            let factor = a[k][i] / a[i][i];
            if factor != 0.0 {
                let (above, below) = a.split_at_mut(k);
                below[0][i..].iter_mut().zip(&above[i][i..]).for_each(|(x, pivot)| *x -= factor * pivot);
                y[k] -= factor * y[i];
            }
        }
    }
    for i in (0..n).rev() {
        let rest: f64 = (i + 1..n).map(|j| a[i][j] * y[j]).sum();
        y[i] = if a[i][i] == 0.0 { 0.0 } else { (y[i] - rest) / a[i][i] };
    }
    y
}
