//! Value now of the right to exercise at one later date, in closed form.
//!
//! On the exercise side of the boundary at `ts` the premium is payoff less European value, both exactly known; its
//! expectation needs normals in one and two dimensions only (as in Roll 1977, Geske 1979, Whaley 1981, for any
//! boundary). Their correlation √(ts/T) is free of σ, so all derivatives are elementary.
//! Never: a table.

use super::taylor::{Taylor, at};
use crate::american::integral::Premium;
use crate::american::settings::SAME;
use crate::elementary::{exp, ln};
use crate::lanes::{InLanes, Lanes, Mask};
use crate::normal::{INV_SQRT_2PI, bell, norm_cdf, norm_cdf_given};
use crate::solve::gauss_legendre;
use std::sync::LazyLock;

/// Greatest correlation, and number of nodes that integrate over correlations up to it: to 1e-13 of the bivariate
/// normal distribution.
///
/// Measured: against 80 nodes, over deviates from −6 to 6
const CORRELATIONS: [(f64, usize); 8] =
    [(0.2, 5), (0.4, 6), (0.5, 7), (0.6, 8), (0.75, 10), (0.85, 12), (0.925, 14), (1.0, 20)];

/// Most nodes of an integral over the correlation.
const CORRELATION_NODES: usize = CORRELATIONS[CORRELATIONS.len() - 1].1;
/// Steps of Newton's method to the exercise point. From 5 on they hardly move it.
const STEPS: usize = 14;
/// Deviations above the strike beyond which an exercise point counts as none: the loss is below 1e-15 of the strike.
const NOWHERE: f64 = 9.0;
/// Least amount that exercise keeps, and least put that it gives up, parts of the strike: their logarithms are
/// compared.
const LEAST: f64 = 1e-15;
/// Least slope of value less payoff, by which the derivatives of the exercise point divide.
const FOUND: f64 = 1e-9;
/// Correlation above which the integral over the correlation loses digits: twenty nodes leave 6e-15 there, 1e-12 above.
const STEEP: f64 = 0.97;
/// Greatest −(product of two deviates) above the correlation `STEEP`: e^(300/2) is 1e65, whose square is a double.
const PRODUCT_MOST: f64 = 300.0;

/// Terms of exercise at one later date.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exercise {
    pub(super) phi: f64,
    pub(super) r: f64,
    pub(super) b: f64,
    /// Years to the date of exercise and to expiry, `ts` < `t`.
    pub(super) ts: f64,
    pub(super) t: f64,
    /// Dividends that exercise collects, as of `ts`, and their derivative in r (minus that in b).
    pub(super) a: f64,
    pub(super) a_r: f64,
}

/// Inputs of a price as series, one contract per lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs<V> {
    /// X, ln X.
    pub(super) spot: Taylor<V>,
    pub(super) x: Taylor<V>,
    /// K, ln K.
    pub(super) strike: Taylor<V>,
    pub(super) log_strike: Taylor<V>,
    /// σ, 1/σ.
    pub(super) sigma: Taylor<V>,
    pub(super) inverse_sigma: Taylor<V>,
}

impl<V: Lanes> Inputs<V> {
    /// The series of one contract per lane.
    #[inline(never)]
    pub(super) fn new(spot: V, k: V, sigma: V) -> Self {
        let one = V::splat(1.0);
        let c = |v: f64| V::splat(v);
        let exponential = Taylor::constant(spot)
            .with(at::X, spot)
            .with(at::XX, spot * 0.5)
            .with(at::XXX, spot * c(1.0 / 6.0))
            .with(at::XXXX, spot * c(1.0 / 24.0));
        Inputs {
            spot: exponential,
            x: Taylor::constant(ln(spot)).with(at::X, one),
            strike: Taylor::strike(k),
            log_strike: Taylor::constant(ln(k)).with(at::Q, one),
            sigma: Taylor::power_of_sigma(sigma, 1.0),
            inverse_sigma: Taylor::power_of_sigma(one / sigma, -1.0),
        }
    }
}

/// The premium of Kim's integral as a series in X and σ; without `ALL` in σ only.
#[inline(always)]
pub(super) fn premium_series<V: Lanes, const ALL: bool>(premium: &Premium<V>, sigma: V) -> Taylor<V> {
    let c = |v: f64| V::splat(v);
    let [s1, s2, s3] = premium.sigma;
    let (first, variance) = (s1 * sigma, sigma * sigma);
    let second = variance * s2;
    let in_sigma = Taylor::constant(premium.v)
        .with(at::L, first)
        .with(at::LL, (second + first) * 0.5)
        .with(at::LLL, (variance * sigma * s3 + second * 3.0 + first) * c(1.0 / 6.0));
    if !ALL {
        return in_sigma;
    }
    let [l1, l2, l3, l4] = premium.l;
    in_sigma
        .with(at::X, l1)
        .with(at::XX, l2 * 0.5)
        .with(at::XXX, l3 * c(1.0 / 6.0))
        .with(at::XXXX, l4 * c(1.0 / 24.0))
        .with(at::XL, premium.l_sigma * sigma)
        .with(at::XXL, premium.ll_sigma * sigma * 0.5)
}

/// e^(−rate·t), where `rate` moves with the monomial `monomial`.
pub(super) fn discount<V: Lanes>(rate: f64, t: f64, monomial: usize) -> Taylor<V> {
    let df = (-rate * t).exp();
    Taylor::constant(V::splat(df)).with(monomial, V::splat(-t * df))
}

/// (r − b)·t as a series.
pub(super) fn carry<V: Lanes>(r: f64, b: f64, t: f64) -> Taylor<V> {
    let c = |v: f64| V::splat(v);
    Taylor::constant(c((r - b) * t)).with(at::R, c(t)).with(at::B, c(-t))
}

/// e^(−r·ts)·E[payoff − European value at ts, where X is on the exercise side of the boundary].
///
/// # Shapes    `z`: the series of (ln B − x − (r−b)·ts)/(σ√ts) + σ√ts/2
/// # Accuracy  1e-14 of X and K below a correlation of 0.925, 1e-12 above
/// # Source    normals in two dimensions: Drezner and Wesolowsky (1990), Genz (2004)
#[inline(never)]
pub(super) fn exercised_later<V: Lanes>(e: &Exercise, on: &Inputs<V>, z: &Taylor<V>) -> Taylor<V> {
    let c = |v: f64| V::splat(v);
    let phi = c(e.phi);
    let (root_s, root_t) = (e.ts.sqrt(), e.t.sqrt());
    let a2 = z.scale(-phi);
    let a1 = a2 + on.sigma.scale(phi * root_s);
    let spread = on.sigma.scale(c(root_t));
    let forward = on.x - on.log_strike + carry(e.r, e.b, e.t);
    let d1 = ((forward * on.inverse_sigma).scale(c(1.0 / root_t)) + spread.scale(c(0.5))).scale(phi);
    let d2 = d1 - spread.scale(phi);
    let rho = Correlation::new((e.ts / e.t).sqrt());
    let collected = Taylor::constant(c(e.a)).with(at::R, c(e.a_r)).with(at::B, c(-e.a_r));
    let share = discount(e.b, e.ts, at::B) * normal(&a1) - discount(e.b, e.t, at::B) * normal_pair(&a1, &d1, &rho);
    let cash = discount(e.r, e.ts, at::R) * (on.strike - collected) * normal(&a2)
        - discount(e.r, e.t, at::R) * on.strike * normal_pair(&a2, &d2, &rho);
    (on.spot * share - cash).scale(phi)
}

/// A call as of `ts` that is European afterwards. At the exercise point its value is X + A − K, so that the put's value
/// equals the amount that exercise keeps: A and the borrow less the interest on the strike.
struct CallAtExercise<'a, V> {
    e: &'a Exercise,
    k: V,
    ln_k: V,
    tau: f64,
    df: V,
    df_b: V,
    width: V,
}

impl<'a, V: Lanes> CallAtExercise<'a, V> {
    fn new(e: &'a Exercise, on: &Inputs<V>) -> Self {
        let tau = e.t - e.ts;
        let c = |v: f64| V::splat(v);
        Self {
            e,
            k: on.strike.value(),
            ln_k: on.log_strike.value(),
            tau,
            df: c((-e.r * tau).exp()),
            df_b: c((-e.b * tau).exp()),
            width: on.sigma.value() * c(tau.sqrt()),
        }
    }

    fn d1(&self, x: V) -> V {
        (x - self.ln_k + (self.e.r - self.e.b) * self.tau) / self.width + self.width * 0.5
    }

    /// X, N(−d1) and N(−d2) at ln X = `x`.
    fn at(&self, x: V) -> [V; 3] {
        let d1 = self.d1(x);
        [exp(x), norm_cdf(-d1), norm_cdf(self.width - d1)]
    }

    /// Amount that exercise keeps at a spot.
    fn kept(&self, spot: V) -> V {
        let one = V::splat(1.0);
        V::splat(self.e.a) + spot * (one - self.df_b) - self.k * (one - self.df)
    }

    /// The exercise point at ln X = `x` with its derivatives.
    fn series(&self, x: V) -> Taylor<V> {
        let c = |v: f64| V::splat(v);
        let Self { e, k, tau, df, df_b, .. } = *self;
        let one = c(1.0);
        let [spot, n1, n2] = self.at(x);
        let (share, cash) = (spot * df_b * (one - n1), k * df * (one - n2));
        let by_x = spot - share;
        let vega = spot * df_b * bell(self.d1(x)) * c(INV_SQRT_2PI * tau.sqrt());
        let found = (spot * c(FOUND)).lt(by_x.abs());
        let inverse = V::select(found, one / by_x, c(0.0));
        Taylor::constant(x)
            .with(at::L, self.width * c(1.0 / tau.sqrt()) * vega * inverse)
            .with(at::Q, (k - cash) * inverse)
            .with(at::R, (cash * tau - e.a_r) * inverse)
            .with(at::B, (c(e.a_r) - share * tau) * inverse)
    }
}

/// ln of the X above which a call is exercised at `ts`, if it is European afterwards.
///
/// # Shapes    first derivatives only: the value of the option is stationary in the exercise point, so these make its
/// own derivatives right up to the third order
/// # Accuracy  without such an X within `NOWHERE`, that distance itself: the value is off by less than 1e-15
/// of K
#[inline(never)]
pub(super) fn exercise_point<V: Lanes>(e: &Exercise, on: &Inputs<V>) -> Taylor<V> {
    let c = |v: f64| V::splat(v);
    let call = CallAtExercise::new(e, on);
    let CallAtExercise { k, ln_k, df, df_b, width, .. } = call;
    let one = c(1.0);
    let top = ln_k + width * NOWHERE;
    let least = k * c(LEAST);
    // the put is worth its intrinsic value at least, so that the point lies above K − A: where that is far below K,
    // close above
    let low = ln((k - e.a).max(k * c(SAME.strike_left)));
    let start = ln_k + width * width * 0.5;
    let mut x = V::select(low.lt(start - width - width), low, start);
    for _ in 0..STEPS {
        let [spot, n1, n2] = call.at(x);
        let put = (k * df * n2 - spot * df_b * n1).max(least);
        let kept = call.kept(spot);
        let slope = spot * df_b * n1 / put + V::select(kept.gt(least), spot * (one - df_b) / kept.max(least), c(0.0));
        let step = ln(put / kept.max(least)) / slope;
        x = (x + step.max(-width).min(width + width)).min(top);
    }
    call.series(x)
}

/// ln of the X up to which a call with b < 0 is exercised at `ts`: further up waiting earns more than the dividends are
/// worth. Lanes without such an X, which are not exercised at all, have `point`, so that their region is empty; `None`:
/// no lane's end is in reach of the spot.
///
/// # Shapes  as [`exercise_point`]
#[inline(never)]
pub(super) fn exercise_end<V: Lanes>(e: &Exercise, on: &Inputs<V>, point: &Taylor<V>) -> Option<Taylor<V>> {
    let c = |v: f64| V::splat(v);
    let call = CallAtExercise::new(e, on);
    let CallAtExercise { k, df, df_b, width, .. } = call;
    let one = c(1.0);
    // the amount that exercise keeps is 0 there, the put above 0: further down the gain is concave
    let most = (c(e.a) - k * (one - df)) / (df_b - one);
    let (is_some, least) = (c(0.0).lt(most), k * c(SAME.strike_left));
    let reached = on.x.value() + c((e.r - e.b) * e.ts) + on.sigma.value() * c(NOWHERE * e.ts.sqrt());
    let is_far = ln(most.max(least)).gt(reached.max(on.log_strike.value()) + width * NOWHERE);
    if (is_far & is_some).all() {
        return None;
    }
    let mut spot = most.max(least);
    let mut found = is_some;
    for _ in 0..STEPS {
        let [_, n1, n2] = call.at(ln(spot));
        let slope = one - df_b * (one - n1);
        found = found & slope.lt(c(0.0));
        let gain = call.kept(spot) - (k * df * n2 - spot * df_b * n1);
        spot = V::select(found, spot - gain / slope, spot);
    }
    let end = call.series(ln(spot));
    Some(Taylor(core::array::from_fn(|i| V::select(found, end.0[i], point.0[i]))))
}

/// N of a series.
#[inline(never)]
pub(super) fn normal<V: Lanes>(d: &Taylor<V>) -> Taylor<V> {
    let x = d.value();
    let e = bell(x);
    let density = e * V::splat(INV_SQRT_2PI);
    let x2 = x * x;
    let one = V::splat(1.0);
    let three = V::splat(3.0);
    d.compose([norm_cdf_given(x, e), density, -(x * density), (x2 - one) * density, -((x2 - three) * x * density)])
}

/// P(Z₁ ≤ a, Z₂ ≤ d) of two series, correlation `rho`.
#[inline(never)]
fn normal_pair<V: Lanes>(a: &Taylor<V>, d: &Taylor<V>, rho: &Correlation) -> Taylor<V> {
    let c = |v: f64| V::splat(v);
    let n = partials(a.value(), d.value(), rho);
    let (a, d) = (a.moving(), d.moving());
    const FACTORIAL: [f64; 5] = [1.0, 1.0, 2.0, 6.0, 24.0];
    let coefficient = |i: usize, j: usize| n[i][j] * c(1.0 / (FACTORIAL[i] * FACTORIAL[j]));
    // the powers of a that go with d^j, by Horner's rule, and then those of d
    let along_a = |j: usize| {
        let top = 4 - j;
        let mut sum = a.scale(coefficient(top, j)).plus(coefficient(top - 1, j));
        for i in (0..top - 1).rev() {
            sum = (sum * a).plus(coefficient(i, j));
        }
        sum
    };
    let mut sum = d.scale(coefficient(0, 4)) + along_a(3);
    for j in (0..3).rev() {
        sum = sum * d + along_a(j);
    }
    sum
}

/// ∂/∂a and ∂/∂d of P(Z₁ ≤ a, Z₂ ≤ d).
#[inline(always)]
pub(super) fn normal_pair_slopes<V: Lanes, T: InLanes<V>>(a: V, d: V, correlation: &Correlation<T>) -> [V; 2] {
    let density = |x: V| bell(x) * INV_SQRT_2PI;
    let (rho, inv) = (correlation.rho.in_lanes(), correlation.inverse_rest());
    [density(a) * norm_cdf((d - a * rho) * inv), density(d) * norm_cdf((a - d * rho) * inv)]
}

/// ∂²/∂a², ∂²/∂a∂d and ∂²/∂d² of P(Z₁ ≤ a, Z₂ ≤ d), from its `slopes`.
#[inline(always)]
pub(super) fn normal_pair_bends<V: Lanes, T: InLanes<V>>(
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
fn partials<V: Lanes>(a: V, d: V, correlation: &Correlation) -> [[V; 5]; 5] {
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

/// Gauss-Legendre nodes and weights on (0, 1) for correlations up to the first number.
static RULES: LazyLock<[CorrelationRule; CORRELATIONS.len()]> =
    LazyLock::new(|| CORRELATIONS.map(|(most, n)| (most, gauss_legendre(n))));

/// The rule with the most nodes.
const LAST_RULE: usize = CORRELATIONS.len() - 1;

/// The greatest correlation served, and nodes and weights.
type CorrelationRule = (f64, Vec<(f64, f64)>);

/// A correlation in (0, 1) with the nodes of the integral over it. `T`: shared by all lanes, or per lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Correlation<T = f64> {
    rho: T,
    /// s, 1/(1 − s²) and weight/2π at the nodes on (0, ρ).
    nodes: [(T, T, T); CORRELATION_NODES],
    n: usize,
}

impl<T: Lanes> Correlation<T> {
    pub(super) fn new(rho: T) -> Self {
        let one = T::splat(1.0);
        let highest = (0..T::N).map(|lane| rho.lane(lane)).fold(0.0, f64::max);
        let rule = RULES.iter().find(|(most, _)| highest <= *most).map_or(&RULES[LAST_RULE].1, |(_, rule)| rule);
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
pub(super) fn normal_pair_value<V: Lanes, T: InLanes<V>>(a: V, d: V, rho: &Correlation<T>) -> V {
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
    for &(x, weight) in &RULES[LAST_RULE].1 {
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
