//! The normal distribution in two dimensions, and its derivatives. Never: finance.

use crate::elementary::{exp, ln};
use crate::lanes::{InLanes, Lanes, Mask};
use crate::normal::{INV_SQRT_2PI, bell, norm_cdf};
use crate::solve::gauss;

/// Greatest correlation, and number of nodes that integrate over correlations up to it: to 5e-12 of the bivariate
/// normal distribution.
///
/// Measured: against 60 nodes, over deviates from −6 to 6; one node less leaves 10 to 100 times as much
const CORRELATIONS: [(f64, usize); 8] =
    [(0.2, 4), (0.4, 5), (0.5, 6), (0.6, 7), (0.75, 8), (0.85, 10), (0.925, 12), (1.0, 16)];

/// Most nodes of an integral over the correlation.
const CORRELATION_NODES: usize = CORRELATIONS[CORRELATIONS.len() - 1].1;
/// Correlation above which the integral over the correlation loses digits: sixteen nodes leave 2e-12 there, more above.
const STEEP: f64 = 0.97;
/// Greatest −(product of two deviates) above the correlation `STEEP`: e^(300/2) is 1e65, whose square is a double.
const PRODUCT_MOST: f64 = 300.0;

/// ∂/∂a and ∂/∂d of P(Z₁ ≤ a, Z₂ ≤ d).
#[inline(always)]
pub(crate) fn normal_pair_slopes<V: Lanes, T: InLanes<V>>(a: V, d: V, correlation: &Correlation<T>) -> [V; 2] {
    let density = |x: V| bell(x) * INV_SQRT_2PI;
    let (rho, inv) = (correlation.rho.in_lanes(), correlation.inverse_rest());
    [density(a) * norm_cdf((d - a * rho) * inv), density(d) * norm_cdf((a - d * rho) * inv)]
}

/// ∂²/∂a², ∂²/∂a∂d and ∂²/∂d² of P(Z₁ ≤ a, Z₂ ≤ d), from its `slopes`.
#[inline(always)]
pub(crate) fn normal_pair_bends<V: Lanes, T: InLanes<V>>(
    a: V,
    d: V,
    slopes: [V; 2],
    correlation: &Correlation<T>,
) -> [V; 3] {
    let (rho, inv) = (correlation.rho.in_lanes(), correlation.inverse_rest());
    let u = (d - a * rho) * inv;
    let joint = bell(a) * bell(u) * inv * (INV_SQRT_2PI * INV_SQRT_2PI);
    [-(a * slopes[0]) - joint * rho, joint, -(d * slopes[1]) - joint * rho]
}

/// ∂^(i+j)/∂a^i∂d^j of the normal distribution in two dimensions at `[i][j]`, i + j ≤ 4.
pub(crate) fn partials<V: Lanes>(a: V, d: V, correlation: &Correlation) -> [[V; 5]; 5] {
    let c = |v: f64| V::splat(v);
    let rho = correlation.rho;
    let q2 = 1.0 - rho * rho;
    let (q, rho_v) = (q2.sqrt(), c(rho));
    let density = |x: V| bell(x) * INV_SQRT_2PI;
    let (u, v) = ((d - rho_v * a) * c(1.0 / q), (a - rho_v * d) * c(1.0 / q));
    let joint = density(a) * density(u) * c(1.0 / q);
    let one = c(1.0);
    let mut n = [[c(0.0); 5]; 5];
    n[0][0] = normal_pair_value(a, d, correlation);
    n[1][1] = joint;
    n[2][1] = -(joint * v) * c(1.0 / q);
    n[1][2] = -(joint * u) * c(1.0 / q);
    n[3][1] = joint * (v * v - one) * c(1.0 / q2);
    n[1][3] = joint * (u * u - one) * c(1.0 / q2);
    n[2][2] = joint * (u * v + rho_v) * c(1.0 / q2);
    [n[1][0], n[0][1]] = normal_pair_slopes(a, d, correlation);
    n[2][0] = -(a * n[1][0]) - rho_v * n[1][1];
    n[0][2] = -(d * n[0][1]) - rho_v * n[1][1];
    n[3][0] = -n[1][0] - a * n[2][0] - rho_v * n[2][1];
    n[0][3] = -n[0][1] - d * n[0][2] - rho_v * n[1][2];
    n[4][0] = c(-2.0) * n[2][0] - a * n[3][0] - rho_v * n[3][1];
    n[0][4] = c(-2.0) * n[0][2] - d * n[0][3] - rho_v * n[1][3];
    n
}

/// A correlation in (0, 1) with the nodes of the integral over it. `T`: shared by all lanes, or per lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Correlation<T = f64> {
    rho: T,
    /// s, 1/(1 − s²) and weight/2π at the nodes on (0, ρ).
    nodes: [(T, T, T); CORRELATION_NODES],
    n: usize,
}

impl<T: Lanes> Correlation<T> {
    pub(crate) fn new(rho: T) -> Self {
        let one = T::splat(1.0);
        let highest = (0..T::N).map(|lane| rho.lane(lane)).fold(0.0, f64::max);
        let rule = gauss(CORRELATIONS.iter().find(|(most, _)| highest <= *most).map_or(CORRELATION_NODES, |(_, n)| *n));
        // in atanh s the integrand is smoother than in s, and next to 1 than in asin s
        let twice = ln((one + rho) / (one - rho));
        let mut nodes = [(T::splat(0.0), one, T::splat(0.0)); CORRELATION_NODES];
        for (node, (x, weight)) in nodes.iter_mut().zip(rule) {
            let s = one - T::splat(2.0) / (exp(twice * *x) + 1.0);
            let square = (one - s) * (one + s);
            *node = (s, one / square, square.sqrt() * twice * (*weight * 0.5 / core::f64::consts::TAU));
        }
        Correlation { rho, nodes, n: rule.len() }
    }

    /// 1/√(1 − ρ²).
    #[inline(always)]
    fn inverse_rest<V: Lanes>(&self) -> V
    where
        T: InLanes<V>,
    {
        let one = T::splat(1.0);
        (one / ((one - self.rho) * (one + self.rho)).sqrt()).in_lanes()
    }
}

/// P(Z₁ ≤ a, Z₂ ≤ d).
#[inline(never)]
pub(crate) fn normal_pair_value<V: Lanes, T: InLanes<V>>(a: V, d: V, rho: &Correlation<T>) -> V {
    let is_steep = V::splat(STEEP).le(rho.rho.in_lanes());
    if !is_steep.any() {
        return pair_by_correlation(a, d, rho);
    }
    let steep = pair_near_one(a, d, rho.rho);
    if is_steep.all() { steep } else { V::select(is_steep, steep, pair_by_correlation(a, d, rho)) }
}

/// N(a)N(d) + ∫₀^ρ exp(−(a² + d² − 2ad·s)/(2(1 − s²)))/(2π√(1 − s²)) ds.
fn pair_by_correlation<V: Lanes, T: InLanes<V>>(a: V, d: V, rho: &Correlation<T>) -> V {
    let (half_squares, product) = ((a * a + d * d) * 0.5, a * d);
    let mut sum = norm_cdf(a) * norm_cdf(d);
    for &(s, inverse, weight) in &rho.nodes[..rho.n] {
        let exponent = (product * s.in_lanes() - half_squares) * inverse.in_lanes();
        sum = exp(exponent).mul_add(weight.in_lanes(), sum);
    }
    sum
}

/// N(min(a, d)) less the integral from ρ to 1, its singular part removed by hand.
fn pair_near_one<V: Lanes, T: InLanes<V>>(a: V, d: V, rho: T) -> V {
    let c = |v: f64| V::splat(v);
    let (one, third, fifth) = (c(1.0), c(1.0 / 3.0), c(1.0 / 5.0));
    let product = (a * d).max(c(-PRODUCT_MOST));
    let q2 = ((T::splat(1.0) - rho) * (T::splat(1.0) + rho)).in_lanes();
    let q = q2.sqrt();
    let (gap, square) = ((a - d).abs(), (a - d) * (a - d));
    let k1 = (c(4.0) - product) * 0.125;
    let k2 = (c(12.0) - product) * 0.0625;
    let head = exp((square / q2 + product) * -0.5);
    let head_series = one - k1 * (square - q2) * (one - k2 * square * fifth) * third + k1 * k2 * q2 * q2 * fifth;
    let mut sum = head * head_series * q;
    let tail = norm_cdf(-(gap / q)) * c(core::f64::consts::TAU.sqrt());
    let tail_series = one - k1 * square * (one - k2 * square * fifth) * third;
    sum -= exp(product * -0.5) * tail * gap * tail_series;
    for &(x, weight) in gauss(CORRELATION_NODES) {
        let y = (q * x) * (q * x);
        let root = (one - y).sqrt();
        let outer = exp((square / y + product) * -0.5);
        let inner = exp(product * (one - root) / (one + root) * -0.5) / root;
        let series = one + k1 * y * (one + k2 * y);
        sum = (outer * (inner - series)).mul_add(q * weight, sum);
    }
    norm_cdf(a.min(d)) - sum * c(1.0 / core::f64::consts::TAU)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ∫ n(z)·N((d − ρz)/√(1−ρ²)) dz up to `a`, by Simpson's rule on a fine grid.
    fn by_brute_force(a: f64, d: f64, rho: f64) -> f64 {
        let n = 40_000;
        let h = (a + 12.0) / f64::from(n);
        let f = |z: f64| (-0.5 * z * z).exp() * INV_SQRT_2PI * norm_cdf((d - rho * z) / (1.0 - rho * rho).sqrt());
        let weight = |i: i32| {
            if i == 0 || i == n {
                1.0
            } else if i % 2 == 1 {
                4.0
            } else {
                2.0
            }
        };
        (0..=n).map(|i| weight(i) * f(-12.0 + h * f64::from(i))).sum::<f64>() * h / 3.0
    }

    #[test]
    fn the_normal_pair_agrees_with_brute_force() {
        for rho in [0.05, 0.3, 0.7, 0.9, 0.93, 0.97, 0.995, 0.9999] {
            for a in [-3.0, -1.1, 0.0, 0.4, 2.5] {
                for d in [-4.0, -0.9, 0.001, 0.4, 1.7, 5.0] {
                    let (got, want) =
                        (normal_pair_value::<f64, f64>(a, d, &Correlation::new(rho)), by_brute_force(a, d, rho));
                    assert!((got - want).abs() < 5e-12, "a {a} d {d} rho {rho}: {got} {want} {:e}", got - want);
                }
            }
        }
    }

    #[test]
    fn partials_agree_with_differences() {
        for rho in [0.2, 0.8, 0.96].map(Correlation::new) {
            let (a, d, h) = (0.3, -0.6, 1e-4);
            let mid = partials::<f64>(a, d, &rho);
            let by_a = [partials::<f64>(a + h, d, &rho), partials::<f64>(a - h, d, &rho)];
            let by_d = [partials::<f64>(a, d + h, &rho), partials::<f64>(a, d - h, &rho)];
            for i in 0..4 {
                for j in 0..4 - i {
                    let (up, down) = (&by_a[0][i][j], &by_a[1][i][j]);
                    let (got, want) = (mid[i + 1][j], (up - down) / (2.0 * h));
                    assert!((got - want).abs() < 1e-5 * (1.0 + want.abs()), "∂a of [{i}][{j}]: {got} {want}");
                    let (got, want) = (mid[i][j + 1], (by_d[0][i][j] - by_d[1][i][j]) / (2.0 * h));
                    assert!((got - want).abs() < 1e-5 * (1.0 + want.abs()), "∂d of [{i}][{j}]: {got} {want}");
                }
            }
        }
    }
}
