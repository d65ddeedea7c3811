//! Bracketed roots, linear equations, quadrature, Chebyshev, weighted medians. Never: finance.

use crate::lanes::Lanes;
use std::f64::consts::PI;
use std::sync::OnceLock;

/// The weighted median of (value, weight): the value at which half of the weight is reached. `None`: there is no value,
/// or a weight is NaN. The values are sorted.
pub fn weighted_median(of: &mut [(f64, f64)]) -> Option<f64> {
    of.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let half = 0.5 * of.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut sum = 0.0;
    let reached = of.iter().find(|(_, weight)| {
        sum += weight;
        sum >= half
    });
    reached.map(|&(value, _)| value)
}

/// Nodes and weights of Gauss-Legendre quadrature on (0, 1), nodes ascending.
///
/// # Accuracy  1e-15; exact for polynomials to degree 2n − 1: `gauss_legendre_is_exact_to_degree_2n_minus_1`
/// # Source    Newton on the Legendre recurrence from the cosine guess
#[must_use]
pub fn gauss_legendre(n: usize) -> Vec<(f64, f64)> {
    let node = |i: usize| {
        // Tricomi's start: Newton's method then finds each root, and finds none twice
        let mut z = (PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..12 {
            let (value, derivative) = legendre(n, z);
            slope = derivative;
            z -= value / derivative;
        }
        (0.5 * (1.0 - z), 1.0 / ((1.0 - z * z) * slope * slope))
    };
    (0..n).map(node).collect()
}

/// Most nodes of a Gauss rule that is kept. Above the most that any quadrature of a boundary takes.
const MOST_NODES: usize = 64;

/// The Gauss-Legendre rule of `n` nodes on (0, 1), `n` at most 64.
pub fn gauss(n: usize) -> &'static [(f64, f64)] {
    static ALL: [OnceLock<Vec<(f64, f64)>>; MOST_NODES + 1] = [const { OnceLock::new() }; MOST_NODES + 1];
    ALL[n].get_or_init(|| gauss_legendre(n))
}

/// The Legendre polynomial of degree `n` and its derivative.
fn legendre(n: usize, z: f64) -> (f64, f64) {
    let (mut p, mut before) = (1.0, 0.0);
    for j in 0..n {
        let j = j as f64;
        (p, before) = (((2.0 * j + 1.0) * z * p - j * before) / (j + 1.0), p);
    }
    (p, n as f64 * (z * p - before) / (z * z - 1.0))
}

/// The n + 1 Chebyshev-Lobatto points cos(iπ/n), from 1 down to −1.
#[must_use]
pub fn lobatto(n: usize) -> Vec<f64> {
    (0..=n).map(|i| (i as f64 * PI / n as f64).cos()).collect()
}

/// The weights that interpolate values at [`lobatto`] points to `z`: barycentric formula of Berrut and Trefethen
/// (2004).
#[must_use]
pub fn lobatto_row(n: usize, z: f64) -> Vec<f64> {
    let points = lobatto(n);
    // the barycentric weights divide by the distance to each point
    if let Some(hit) = points.iter().position(|p| (z - p).abs() < 1e-14) {
        return (0..=n).map(|i| f64::from(u8::from(i == hit))).collect();
    }
    let end = |i: usize| if i == 0 || i == n { 0.5 } else { 1.0 };
    let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    let row: Vec<f64> = (0..=n).map(|i| sign(i) * end(i) / (z - points[i])).collect();
    let sum: f64 = row.iter().sum();
    row.iter().map(|w| w / sum).collect()
}

/// The matrix from values at [`lobatto`] points to Chebyshev coefficients; row j gives the coefficient of T_j.
#[must_use]
pub fn lobatto_to_chebyshev(n: usize) -> Vec<Vec<f64>> {
    let end = |i: usize| if i == 0 || i == n { 0.5 } else { 1.0 };
    let entry = |j: usize, i: usize| 2.0 / n as f64 * end(i) * end(j) * ((i * j) as f64 * PI / n as f64).cos();
    (0..=n).map(|j| (0..=n).map(|i| entry(j, i)).collect()).collect()
}

/// The Chebyshev polynomials T_0, T_1, … at `u`.
#[inline(always)]
pub fn chebyshev<L: Lanes>(u: L) -> impl Iterator<Item = L> {
    let twice = u + u;
    // T₋₁ = T₁ = u starts the recursion
    let (mut before, mut now) = (u, L::splat(1.0));
    core::iter::repeat_with(
        #[inline(always)]
        move || {
            let term = now;
            (before, now) = (term, twice.mul_add(term, -before));
            term
        },
    )
}

/// Sums a Chebyshev series at several places side by side.
#[inline(always)]
pub fn clenshaw<L: Lanes, const N: usize>(mut terms: impl DoubleEndedIterator<Item = L>, u: &[L; N]) -> [L; N] {
    let twice = u.map(|u| u + u);
    let zero = [L::splat(0.0); N];
    let Some(first) = terms.next() else { return zero };
    let (mut one, mut two) = (zero, zero);
    for term in terms.rev() {
        for i in 0..N {
            (one[i], two[i]) = (twice[i].mul_add(one[i], term - two[i]), one[i]);
        }
    }
    core::array::from_fn(|i| u[i].mul_add(one[i], first - two[i]))
}

/// The `m` roots of T_m, from near 1 down to near −1.
#[must_use]
pub fn chebyshev_roots(m: usize) -> Vec<f64> {
    (0..m).map(|i| ((i as f64 + 0.5) * PI / m as f64).cos()).collect()
}

/// Most roots of [`roots_to_monomials`]: beyond, monomials lose too many digits.
const MOST_ROOTS: usize = 12;

/// The matrix from values at [`chebyshev_roots`] to the coefficients of 1, x, … x^(m−1); m is at most 12.
#[must_use]
pub fn roots_to_monomials(m: usize) -> &'static [Vec<f64>] {
    // every table of a degree needs the same small matrix
    static ALL: [OnceLock<Vec<Vec<f64>>>; MOST_ROOTS + 1] = [const { OnceLock::new() }; MOST_ROOTS + 1];
    ALL[m].get_or_init(|| monomial_matrix(m))
}

fn monomial_matrix(m: usize) -> Vec<Vec<f64>> {
    let powers = chebyshev_as_monomials(m);
    let entry = |p: usize, i: usize| -> f64 {
        let angle = (i as f64 + 0.5) * PI / m as f64;
        let chebyshev = |j: usize| if j == 0 { 1.0 } else { 2.0 } / m as f64 * (j as f64 * angle).cos();
        (0..m).map(|j| powers[j][p] * chebyshev(j)).sum()
    };
    (0..m).map(|p| (0..m).map(|i| entry(p, i)).collect()).collect()
}

/// The monomial coefficients of T_0 to T_(m−1).
fn chebyshev_as_monomials(m: usize) -> Vec<Vec<f64>> {
    let mut t = vec![vec![0.0; m]; m.max(2)];
    t[0][0] = 1.0;
    if m > 1 {
        t[1][1] = 1.0;
    }
    for j in 2..m {
        for p in 0..m {
            let raised = if p > 0 { 2.0 * t[j - 1][p - 1] } else { 0.0 };
            t[j][p] = raised - t[j - 2][p];
        }
    }
    t
}

/// `n` nodes of a quadrature over (0, 1) in t = 1 − e^(−ξ²), ξ from 0 to `until`, crowded at 0 by a sinh from `nearest`
/// on: ξ, t and the weight of each.
pub fn crowded(n: usize, nearest: f64, until: f64) -> Vec<(f64, f64, f64)> {
    let steepness = (until / nearest).asinh();
    let node = |(s, w): (f64, f64)| {
        let xi = nearest * (s * steepness).sinh();
        let weight = w * nearest * steepness * (s * steepness).cosh() * 2.0 * xi * (-xi * xi).exp();
        (xi, -(-xi * xi).exp_m1(), weight)
    };
    gauss_legendre(n).into_iter().map(node).collect()
}

/// Solves a system of linear equations in each lane; the solution is left in `right`. Without pivoting: for matrices
/// that are nearly triangular.
///
/// # Shapes  `matrix`: by row, overwritten; entries beyond the length of `right` are not read
#[inline(always)]
pub fn eliminate<L: Lanes, const N: usize>(matrix: &mut [[L; N]], right: &mut [L]) {
    let n = right.len();
    for p in 0..n {
        let (done, below) = matrix.split_at_mut(p + 1);
        let (solved, left) = right.split_at_mut(p + 1);
        let (pivot, inv) = (&done[p][..n], L::splat(1.0) / done[p][p]);
        for (row, right) in below.iter_mut().zip(left) {
            let factor = row[p] * inv;
            for (entry, above) in row[p + 1..n].iter_mut().zip(&pivot[p + 1..]) {
                *entry = factor.neg_mul_add(*above, *entry);
            }
            *right = factor.neg_mul_add(solved[p], *right);
        }
    }
    for p in (0..n).rev() {
        let later = matrix[p][p + 1..n].iter().zip(&right[p + 1..]);
        let sum = later.fold(right[p], |sum, (entry, solved)| entry.neg_mul_add(*solved, sum));
        right[p] = sum / matrix[p][p];
    }
}

/// A root of `f` between `lo` and `hi`, where `f` has opposite signs; `None` where it has not.
///
/// # Accuracy  |x − root| ≤ `x_tol`, or f(x) = 0; at most 200 evaluations
/// # Source    regula falsi with the Illinois weight, and a bisection whenever three steps have not halved the bracket
pub fn bracketed_root(mut f: impl FnMut(f64) -> f64, lo: f64, hi: f64, x_tol: f64) -> Option<f64> {
    let (mut a, mut b) = (lo, hi);
    let (mut fa, mut fb) = (f(a), f(b));
    if fa == 0.0 {
        return Some(a);
    }
    if fb == 0.0 {
        return Some(b);
    }
    // without a change of sign there may be no root, and the secant would run off
    if fa.is_nan() || fb.is_nan() || (fa > 0.0) == (fb > 0.0) {
        return None;
    }
    let mut width = (b - a).abs();
    for step in 0..200 {
        if (b - a).abs() <= x_tol {
            break;
        }
        let secant = b - fb * (b - a) / (fb - fa);
        // three steps that have not halved the bracket: bisect, as the secant creeps where the function bends
        let slow = step % 3 == 2 && (b - a).abs() > 0.5 * core::mem::replace(&mut width, (b - a).abs());
        let inside = (secant - a) * (secant - b) < 0.0;
        let x = if slow || !inside { 0.5 * (a + b) } else { secant };
        let fx = f(x);
        if fx == 0.0 {
            return Some(x);
        }
        if fx.is_nan() {
            return None;
        }
        if (fx > 0.0) == (fb > 0.0) {
            // the Illinois rule: an end that stays put twice loses half its weight, or convergence would be linear
            fa *= 0.5;
        } else {
            (a, fa) = (b, fb);
        }
        (b, fb) = (x, fx);
    }
    Some(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauss_legendre_is_exact_to_degree_2n_minus_1() {
        for n in [1, 2, 5, 8, 20, 60] {
            let rule = gauss_legendre(n);
            assert!(rule.is_sorted_by(|a, b| a.0 < b.0));
            for degree in 0..2 * n {
                let sum: f64 = rule.iter().map(|(x, w)| w * x.powi(degree as i32)).sum();
                let exact = 1.0 / (degree as f64 + 1.0);
                assert!((sum - exact).abs() <= 1e-14, "{n} nodes, degree {degree}: {sum} not {exact}");
            }
        }
    }

    #[test]
    fn lobatto_interpolates_a_smooth_function() {
        let f = |z: f64| (1.3 * z).sin() + z * z;
        let values: Vec<f64> = lobatto(14).into_iter().map(f).collect();
        let coefficients: Vec<f64> =
            lobatto_to_chebyshev(14).iter().map(|row| row.iter().zip(&values).map(|(m, v)| m * v).sum()).collect();
        for z in [-1.0, -0.83, 0.0, 0.31, 0.999, 1.0] {
            let direct: f64 = lobatto_row(14, z).iter().zip(&values).map(|(w, v)| w * v).sum();
            let series: f64 = coefficients.iter().enumerate().map(|(j, c)| c * (j as f64 * z.acos()).cos()).sum();
            assert!((direct - f(z)).abs() <= 1e-13 && (series - f(z)).abs() <= 1e-13, "{z}: {direct} {series}");
        }
    }

    #[test]
    fn chebyshev_polynomials_are_cosines() {
        for u in [-1.0, -0.37, 0.0, 0.8, 1.0f64] {
            for (n, term) in chebyshev(u).take(40).enumerate() {
                assert!((term - (n as f64 * u.acos()).cos()).abs() < 1e-13, "T_{n}({u}) = {term}");
            }
        }
    }

    #[test]
    fn monomials_pass_through_their_points() {
        let f = |x: f64| (0.7 * x).exp();
        let m = 8;
        let values: Vec<f64> = chebyshev_roots(m).into_iter().map(f).collect();
        let monomials: Vec<f64> =
            roots_to_monomials(m).iter().map(|row| row.iter().zip(&values).map(|(m, v)| m * v).sum()).collect();
        for (x, v) in chebyshev_roots(m).into_iter().zip(&values) {
            let p = monomials.iter().rev().fold(0.0, |acc, c| acc * x + c);
            assert!((p - v).abs() <= 1e-14, "{x}: {p} not {v}");
        }
        assert!((monomials[1] - 0.7).abs() <= 1e-6);
    }

    #[test]
    fn a_weighted_median_has_half_of_the_weight_on_each_side() {
        assert_eq!(weighted_median(&mut [(3.0, 1.0), (1.0, 1.0), (2.0, 1.0)]), Some(2.0));
        assert_eq!(weighted_median(&mut [(1.0, 1.0), (9.0, 5.0), (2.0, 1.0)]), Some(9.0));
        // half exactly: the lower one
        assert_eq!(weighted_median(&mut [(2.0, 1.0), (1.0, 1.0)]), Some(1.0));
        assert_eq!((weighted_median(&mut []), weighted_median(&mut [(1.0, f64::NAN)])), (None, None));
    }

    #[test]
    fn bracketed_root_finds_hard_roots() {
        let tol = 1e-13;
        let root = |f: &dyn Fn(f64) -> f64, lo, hi| bracketed_root(f, lo, hi, tol).unwrap();
        assert!((root(&|x| x * x - 2.0, 0.0, 2.0) - 2.0f64.sqrt()).abs() <= tol);
        assert!((root(&|x| x.powi(9), -1.0, 3.0)).abs() <= 1e-1, "a flat root still ends");
        assert!((root(&|x| (x - 0.3).cbrt(), 0.0, 1e6) - 0.3).abs() <= 1e-9);
        assert!((root(&|x| if x < 0.7 { -1.0 } else { 1e-9 }, 0.0, 1.0) - 0.7).abs() <= 1e-9);
        assert_eq!(bracketed_root(|x| x * x + 1.0, -1.0, 1.0, tol), None);
        assert_eq!(bracketed_root(|_| f64::NAN, -1.0, 1.0, tol), None);
    }
}
