//! Reads a premium table: the premium of one contract per lane with every derivative.
//!
//! Both layouts end in the same moments: ∂^(p+i)/∂U^p∂l^i of the premium over K as a function of one coordinate U and
//! of (l, 1/K, r, b). Rates that have moved since the table was built move its coefficients first, and so every
//! derivative. `Now`: U is the series' own coordinate. `AtExDate`: U is the normal deviate at which the
//! boundary is met, the function an integral over the density around it; distances from the boundary scale with σ,
//! so no node of the integral moves with σ, and one chain rule serves both. Calls that are exercised before the date of
//! their table add Kim's (1990) integral along the boundary until then, which the table keeps. Never: a build.

use super::exercise::{
    Exercise, Inputs, carry, discount, exercise_end, exercise_point, exercised_later, last_interval, premium_series,
};
use super::series::{Axis, Local, Taylor, at, local, local_slope};
use super::table::{Layout, RATE_NODES, Rates, TENSORS, Table, UntilDate};
use super::time_between::weights;
use crate::american::boundary::BoundaryPoint;
use crate::american::integral::{Contract, Integrand, Moment, Premium, Rule, rule};
use crate::american::settings::{EVALUATE, SAME, SIZES, UNTIL_DATE};
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::greeks::from_logs;
use crate::lanes::{Lanes, Mask};
use crate::normal::{INV_SQRT_2PI, bell};
use crate::solve::{chebyshev, gauss};
use std::sync::LazyLock;

/// A date nearer than this is soon: derivatives of order n divide the error by (σ√time)^n (years).
const EVALUATE_SOON: f64 = 0.01;

/// Least range of an integral, in units of σ: the rounding of a distance of about 1.
const LENGTH_LEAST: f64 = 1e-12;

/// Most coefficients of one tensor polynomial.
pub(super) const MOST_NODES: usize = SIZES.refined_strikes * SIZES.sigma_nodes;

/// Time and rates of a read of a table, against those of its build.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock<'a> {
    pub(super) r: f64,
    pub(super) b: f64,
    /// Years to expiry and to the date that the table describes.
    pub(super) t: f64,
    pub(super) stop: f64,
    /// Dividends that exercise at `stop` collects, and their derivative in r.
    pub(super) a: f64,
    pub(super) a_r: f64,
    /// Derivatives of the table in the rates, where they are needed.
    pub(super) rates: Option<&'a Rates>,
    /// Moves of r and b since the build.
    pub(super) moved: [f64; 2],
}

/// Nodes and weights on [0, 1] of the integral back from an ex-date `stop` years ahead, and the standard deviations at
/// which the density is cut off. Derivatives of order n divide the error of the integral by (σ√stop)^n.
fn back(stop: f64) -> (&'static [(f64, f64)], f64) {
    let soon = stop < EVALUATE_SOON;
    let (n, window) =
        if soon { (EVALUATE.nodes_soon, EVALUATE.window_soon) } else { (EVALUATE.nodes, EVALUATE.window) };
    (gauss(n), window)
}

/// Derivatives of the premium over K: in the coordinate U and in l = ln σ, in 1/K, in r and in b.
#[derive(Clone, Copy, Debug)]
struct Moments<L> {
    /// ∂^(p+i)/∂U^p∂l^i at `u[p][i]`, p + i ≤ 3 or (4, 0).
    u: [[L; 4]; 5],
    /// ∂/∂(1/K), ∂²/∂(1/K)², ∂²/∂(1/K)∂U.
    k: [L; 3],
    /// ∂/∂r, ∂²/∂r∂l, ∂²/∂r∂U.
    r: [L; 3],
    /// ∂/∂b.
    b: L,
}

impl<L: Lanes> Moments<L> {
    fn zero() -> Self {
        let zero = L::splat(0.0);
        Moments { u: [[zero; 4]; 5], k: [zero; 3], r: [zero; 3], b: zero }
    }

    /// Adds a function `f` of (l, 1/K) times a function of U with derivatives `g`.
    #[inline(always)]
    fn add<const ALL: bool>(&mut self, f: &Local<L>, g: &[L; 5]) {
        for (p, i) in [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (3, 0)] {
            self.u[p][i] = f.s[i].mul_add(g[p], self.u[p][i]);
        }
        if !ALL {
            return;
        }
        self.u[4][0] = f.s[0].mul_add(g[4], self.u[4][0]);
        self.k[0] = f.k[0].mul_add(g[0], self.k[0]);
        self.k[1] = f.k[1].mul_add(g[0], self.k[1]);
        self.k[2] = f.k[0].mul_add(g[1], self.k[2]);
    }

    /// Adds the derivatives in the rates, times `g`: `r`: ∂/∂r and ∂²/∂r∂l, `b`: ∂/∂b.
    #[inline(always)]
    fn add_tangents(&mut self, r: [L; 2], b: L, g: &[L; 5]) {
        self.r[0] = r[0].mul_add(g[0], self.r[0]);
        self.r[1] = r[1].mul_add(g[0], self.r[1]);
        self.r[2] = r[0].mul_add(g[1], self.r[2]);
        self.b = b.mul_add(g[0], self.b);
    }

    /// The premium over K as a series, given the series `u` of U and the strike `k`.
    #[inline(never)]
    fn compose(&self, u: &Taylor<L>, k: L) -> Taylor<L> {
        let c = |v: f64| L::splat(v);
        let inverse = c(1.0) / k;
        let m = &self.u;
        // 1/K = (1 − q + q²/2)/K
        let half_inverse = inverse * 0.5;
        let level = Taylor::constant(m[0][0])
            .with(at::L, m[0][1])
            .with(at::LL, m[0][2] * 0.5)
            .with(at::LLL, m[0][3] * c(1.0 / 6.0))
            .with(at::Q, -(self.k[0] * inverse))
            .with(at::QQ, half_inverse * (self.k[0] + self.k[1] * inverse))
            .with(at::R, self.r[0])
            .with(at::RL, self.r[1])
            .with(at::B, self.b);
        let slope = Taylor::constant(m[1][0])
            .with(at::L, m[1][1])
            .with(at::LL, m[1][2] * 0.5)
            .with(at::Q, -(self.k[2] * inverse))
            .with(at::R, self.r[2]);
        let curve = Taylor::constant(m[2][0]).with(at::L, m[2][1]).scale(c(0.5));
        let d = u.moving();
        // Horner in the moving part of U
        let third = d.scale(m[4][0] * c(1.0 / 24.0)) + Taylor::constant(m[3][0] * c(1.0 / 6.0));
        let second = third * d + curve;
        (second * d + slope) * d + level
    }
}

/// Coordinates of the lanes in a table: ln σ and 1/K, scaled to [−1, 1].
#[derive(Clone, Copy)]
pub(super) struct Units<L> {
    pub(super) sigma: L,
    pub(super) strike: L,
}

impl Table {
    /// Premium over the European value, as a series (without `ALL` in σ only), and the lanes that lie before the begin
    /// of the series: in the exercise region, or where the table has no premium.
    ///
    /// # Shapes  one contract per lane
    /// # Domain  strikes and volatilities of the table's span, a clock before its date
    /// # Cost    as of [`super::PremiumTables::jet`]
    #[inline(never)]
    pub(super) fn premium<L: Lanes, const ALL: bool>(&self, clock: &Clock, on: &Inputs<L>) -> (Taylor<L>, L::Mask) {
        let zero = L::splat(0.0);
        let never = zero.lt(zero);
        if matches!(self.layout, Layout::European | Layout::LowerStrike(_)) {
            return (Taylor::constant(zero), never);
        }
        if matches!(self.layout, Layout::Once) {
            let exercise = self.exercise(clock);
            let beyond = |point: &Taylor<L>| exercised_later(&exercise, on, &self.deviate(clock, on, point));
            let point = exercise_point(&exercise, on);
            let end = if clock.b < -SAME.no_rate { exercise_end(&exercise, on, &point) } else { None };
            let premium = beyond(&point);
            return (end.map_or(premium, |end| premium - beyond(&end)), never);
        }
        if let Layout::LastInterval(boundaries) = &self.layout {
            let terms = Terms { t: clock.t, r: clock.r, b: clock.b, divs: Vec::new() };
            return (last_interval::<L, ALL>(boundaries, &terms, clock.stop, on), never);
        }
        let beta = self.boundary_series(clock, on);
        if matches!(self.layout, Layout::AtExDate | Layout::AnchoredAtExDate) {
            let at_ex_date = self.premium_at_ex_date::<L, ALL>(clock, on, &beta);
            let Some(until) = &self.until else { return (at_ex_date, never) };
            let (before, exercised) = self.until_date::<L, ALL>(until, clock, on);
            return (at_ex_date + before, exercised);
        }
        let outward = L::splat(-self.phi);
        let distance = on.x - beta;
        let u = (distance * on.inverse_sigma).scale(outward * (2.0 / self.reach));
        let unit = u.value();
        let moments = self.moments_now::<L, ALL>(clock, on, unit.max(zero).min(L::splat(2.0)) - 1.0);
        let premium = moments.compose(&u, on.strike.value()) * on.strike;
        let beyond = unit.gt(L::splat(2.0));
        (Taylor(premium.0.map(|p| L::select(beyond, zero, p))), unit.le(zero))
    }

    /// ln B as a series.
    ///
    /// # Shapes  one contract per lane
    /// # Domain  layouts with a boundary or a common anchor
    pub(super) fn boundary_series<L: Lanes>(&self, clock: &Clock, on: &Inputs<L>) -> Taylor<L> {
        let c = |v: f64| L::splat(v);
        let inverse = c(1.0) / on.strike.value();
        let units = self.units(on);
        let n = self.boundary.len();
        let mut moved = [0.0; MOST_NODES];
        moved[..n].copy_from_slice(&self.boundary);
        let mut rates = [c(0.0); 3];
        if let Some(by) = clock.rates {
            for (part, factor) in by.boundary.iter().zip(clock.moved) {
                self.shift(&mut moved, part, factor);
            }
            let (r, b) = self.rate_slopes(&by.boundary, units);
            rates = [r[0], r[1], b];
        }
        let y = local::<L, true>(&moved[..n], self.sigma.at(units.sigma), self.strike.at(units.strike));
        let placed = Taylor::constant(y.s[0])
            .with(at::L, y.s[1])
            .with(at::LL, y.s[2] * 0.5)
            .with(at::LLL, y.s[3] * c(1.0 / 6.0))
            .with(at::Q, -(y.k[0] * inverse))
            .with(at::QQ, c(0.5) * inverse * (y.k[0] + y.k[1] * inverse))
            .with(at::R, rates[0])
            .with(at::RL, rates[1])
            .with(at::B, rates[2]);
        if self.phi > 0.0 {
            return on.log_strike + placed;
        }
        let below = exp(y.s[0]);
        on.log_strike - placed.compose([below; 5])
    }

    /// Adds a tensor on the axes of the rates, times `factor`, to one on the table's own.
    #[inline(always)]
    pub(super) fn shift<C: Copy + Into<f64>>(&self, to: &mut [f64; MOST_NODES], by: &[C; RATE_NODES], factor: f64) {
        let (ns, (rate_ns, _)) = (self.sigma.len(), Rates::NODES);
        for (q, row) in by.chunks_exact(rate_ns).enumerate() {
            for (to, by) in to[q * ns..].iter_mut().zip(row) {
                *to = Lanes::mul_add((*by).into(), factor, *to);
            }
        }
    }

    /// ∂/∂r, ∂²/∂r∂l and ∂/∂b of one term, from its tensors.
    #[inline(always)]
    pub(super) fn rate_slopes<L: Lanes, C: Copy + Into<f64>>(
        &self,
        by: &[[C; RATE_NODES]; 2],
        units: Units<L>,
    ) -> Tangent<L> {
        let (sigma, strike) = self.rate_axes();
        let (s, k) = (sigma.at(units.sigma), strike.at(units.strike));
        let [by_r, by_b]: [[f64; RATE_NODES]; 2] = by.map(|by| by.map(Into::into));
        (local_slope(&by_r, s, k), local_slope(&by_b, s, k)[0])
    }

    fn rate_axes(&self) -> (Axis, Axis) {
        let (ns, nk) = Rates::NODES;
        (self.sigma.with(ns), self.strike.with(nk))
    }

    /// Unit coordinates of the lanes.
    #[inline(always)]
    pub(super) fn units<L: Lanes>(&self, on: &Inputs<L>) -> Units<L> {
        Units {
            sigma: self.sigma.unit(ln(on.sigma.value())),
            strike: self.strike.unit(L::splat(1.0) / on.strike.value()),
        }
    }

    /// One term of the premium's series, at the rates of `clock`, and its derivatives in them.
    #[inline(always)]
    fn term<L: Lanes, const ALL: bool>(&self, clock: &Clock, term: usize, units: Units<L>) -> (Local<L>, Tangent<L>) {
        let zero = L::splat(0.0);
        let n = self.sigma.len() * self.strike.len();
        let mut c = [0.0; MOST_NODES];
        for (c, premium) in c.iter_mut().zip(&self.premium[term * n..(term + 1) * n]) {
            *c = f64::from(*premium);
        }
        let mut slopes = ([zero; 2], zero);
        if let Some(by) = clock.rates.and_then(|rates| rates.premium.get(term)) {
            for (part, factor) in by.iter().zip(clock.moved) {
                self.shift(&mut c, part, factor);
            }
            if ALL {
                slopes = self.rate_slopes(by, units);
            }
        }
        (local::<L, ALL>(&c[..n], self.sigma.at(units.sigma), self.strike.at(units.strike)), slopes)
    }

    /// Layout `Now`: sums the series and its derivatives at `u` in [−1, 1].
    #[inline(never)]
    fn moments_now<L: Lanes, const ALL: bool>(&self, clock: &Clock, on: &Inputs<L>, u: L) -> Moments<L> {
        let zero = L::splat(0.0);
        let units = self.units(on);
        let mut sum = Moments::zero();
        // T and its derivatives, of this term and of the one before
        let (mut before, mut t) = ([zero; 5], [zero; 5]);
        t[0] = L::splat(1.0);
        let twice = u + u;
        for term in 0..self.n_terms() {
            let (f, (r, b)) = self.term::<L, ALL>(clock, term, units);
            sum.add::<ALL>(&f, &t);
            if ALL {
                sum.add_tangents(r, b, &t);
            }
            let half = if term == 0 { 0.5 } else { 1.0 };
            for p in (0..5).rev() {
                let mut next = (twice * half).mul_add(t[p], -before[p]);
                if p > 0 {
                    next = t[p - 1].mul_add(L::splat(2.0 * half * p as f64), next);
                }
                (before[p], t[p]) = (t[p], next);
            }
        }
        sum
    }

    /// Layout `AtExDate`: the integral over the continuation side, and exercise on the other in closed form.
    #[inline(never)]
    fn premium_at_ex_date<L: Lanes, const ALL: bool>(
        &self,
        clock: &Clock,
        on: &Inputs<L>,
        beta: &Taylor<L>,
    ) -> Taylor<L> {
        let z = self.deviate(clock, on, beta);
        let moments = self.moments_at_ex_date::<L, ALL>(clock, on, z.value());
        let kept = moments.compose(&z, on.strike.value()) * on.strike * discount(clock.r, clock.stop, at::R);
        kept + exercised_later(&self.exercise(clock), on, &z)
    }

    fn exercise(&self, clock: &Clock) -> Exercise {
        Exercise { phi: self.phi, r: clock.r, b: clock.b, ts: clock.stop, t: clock.t, a: clock.a, a_r: clock.a_r }
    }

    /// The normal deviate at which the boundary `beta` is met at the table's date.
    fn deviate<L: Lanes>(&self, clock: &Clock, on: &Inputs<L>, beta: &Taylor<L>) -> Taylor<L> {
        let root = clock.stop.sqrt();
        let distance = *beta - on.x - carry(clock.r, clock.b, clock.stop);
        (distance * on.inverse_sigma).scale(L::splat(1.0 / root)) + on.sigma.scale(L::splat(0.5 * root))
    }

    /// Moments of the integral over the continuation side; `z` is the deviate at the boundary.
    ///
    /// # Shapes    one contract per lane
    /// # Accuracy  the nodes of `EVALUATE` within its window; more of both for a date that is soon
    #[inline(never)]
    fn moments_at_ex_date<L: Lanes, const ALL: bool>(&self, clock: &Clock, on: &Inputs<L>, z: L) -> Moments<L> {
        let c = |v: f64| L::splat(v);
        let zero = c(0.0);
        let (root, outward) = (clock.stop.sqrt(), -self.phi);
        let mut sum = Moments::zero();
        // w = outward·(deviate − z)·√ts, the distance from the boundary over σ
        let centre = z * c(-outward * root);
        let (nodes, window) = back(clock.stop);
        let from = (centre - c(window * root)).max(zero).min(c(self.reach));
        let to = (centre + c(window * root)).max(from).min(c(self.reach));
        let length = to - from;
        if !length.gt(c(LENGTH_LEAST)).any() {
            return sum;
        }
        let units = self.units(on);
        let terms = self.n_terms();
        let mut f = [Local { s: [zero; 4], k: [zero; 2] }; EVALUATE.most_terms];
        let mut tangent = [([zero; 2], zero); EVALUATE.most_terms];
        for (term, (f, tangent)) in f.iter_mut().zip(&mut tangent).enumerate().take(terms) {
            (*f, *tangent) = self.term::<L, ALL>(clock, term, units);
        }
        let tangents = clock.rates.map_or(0, |rates| rates.premium.len()).min(terms);
        for &(node, weight) in nodes {
            let w = length.mul_add(c(node), from);
            let deviate = w.mul_add(c(outward / root), z);
            let density = bell(deviate) * length * c(weight * INV_SQRT_2PI / root);
            let u = w * c(2.0 / self.reach) - 1.0;
            let (function, slope) = sum_series::<L, ALL>(&f[..terms], &tangent[..tangents], u);
            let g = hermite(deviate, density);
            sum.add::<ALL>(&function, &g);
            if ALL {
                sum.add_tangents(slope.0, slope.1, &g);
            }
        }
        sum
    }
}

/// (−1)^p·He_p(z)·density, p = 0 to 4: the derivatives of the density in the deviate.
#[inline(always)]
fn hermite<L: Lanes>(z: L, density: L) -> [L; 5] {
    let z2 = z * z;
    let third = (z2 - 3.0) * z;
    let fourth = (z2 - 6.0) * z2 + 3.0;
    [density, -(z * density), (z2 - 1.0) * density, -(third * density), fourth * density]
}

/// ∂/∂r and ∂²/∂r∂l, and ∂/∂b.
type Tangent<L> = ([L; 2], L);

/// Sums Chebyshev series of functions of (l, 1/K) at `u`.
#[inline(always)]
fn sum_series<L: Lanes, const ALL: bool>(f: &[Local<L>], tangents: &[Tangent<L>], u: L) -> (Local<L>, Tangent<L>) {
    let zero = L::splat(0.0);
    let mut sum = Local { s: [zero; 4], k: [zero; 2] };
    let mut slope = ([zero; 2], zero);
    for ((term, f), t) in f.iter().enumerate().zip(chebyshev(u)) {
        for i in 0..4 {
            sum.s[i] = f.s[i].mul_add(t, sum.s[i]);
        }
        if ALL {
            for i in 0..2 {
                sum.k[i] = f.k[i].mul_add(t, sum.k[i]);
            }
        }
        if let Some((r, b)) = tangents.get(term).filter(|_| ALL) {
            slope.0[0] = r[0].mul_add(t, slope.0[0]);
            slope.0[1] = r[1].mul_add(t, slope.0[1]);
            slope.1 = b.mul_add(t, slope.1);
        }
    }
    (sum, slope)
}

/// Deviations below the boundary beyond which exercise gains nothing: the normal probability is below 1e-15.
const OUT_OF_REACH: f64 = 8.0;

/// The tensors of the boundary, evaluated at the strike and volatility of each lane.
struct LocalTensors<L> {
    of: [Local<L>; TENSORS],
    /// Values and slopes along l of ∂/∂r, value of ∂/∂b.
    by_rates: [([L; 2], L); TENSORS],
}

/// The boundary at one time, with its derivatives.
struct BoundaryDerivatives<L> {
    edge: BoundaryPoint<L>,
    /// First and second derivative of ln B in ln K.
    k: [L; 2],
    /// ∂/∂r, ∂²/∂r∂l, ∂/∂b.
    r: L,
    r_l: L,
    b: L,
}

impl<L: Lanes> LocalTensors<L> {
    /// ln(B/K) at `eta`.
    fn value(&self, eta: f64) -> L {
        let zero = L::splat(0.0);
        self.of.iter().zip(weights(eta)).fold(zero, |sum, (of, weight)| of.s[0].mul_add(L::splat(weight), sum))
    }

    /// The boundary at `eta` with its derivatives; without `ALL` only those in sigma.
    #[inline(always)]
    fn at<const ALL: bool>(&self, eta: f64, on: &Contract<L>) -> BoundaryDerivatives<L> {
        let c = |v: f64| L::splat(v);
        let zero = c(0.0);
        let (mut s, mut k, mut r, mut b) = ([zero; 4], [zero; 2], [zero; 2], zero);
        for ((of, by_rates), weight) in self.of.iter().zip(&self.by_rates).zip(weights(eta)) {
            let weight = c(weight);
            s = core::array::from_fn(|i| of.s[i].mul_add(weight, s[i]));
            if ALL {
                k = core::array::from_fn(|i| of.k[i].mul_add(weight, k[i]));
                r = core::array::from_fn(|i| by_rates.0[i].mul_add(weight, r[i]));
                b = by_rates.1.mul_add(weight, b);
            }
        }
        let [y, l1, l2, l3] = s;
        let [s1, s2, s3, _] = from_logs([l1, l2, l3, zero], on.inv_sigma);
        let sigma = [s1, s2, s3];
        // the tensors are functions of 1/K
        let inverse = c(1.0) / on.k;
        let k = [c(1.0) - k[0] * inverse, (k[0] + k[1] * inverse) * inverse];
        BoundaryDerivatives { edge: BoundaryPoint { y, sigma, rate: zero, rate_sigma: zero }, k, r: r[0], r_l: r[1], b }
    }
}

/// The yearly cost of exercise at a moment, rK − bA, and its derivatives in r and b.
struct YearlyCost<L> {
    value: L,
    r: L,
    b: L,
}

/// Sums over moments: the premium, and its derivatives in ln K and the rates.
struct UntilDateSums<L> {
    premium: Premium<L>,
    k: [L; 2],
    r: L,
    r_l: L,
    b: L,
}

impl<L: Lanes> UntilDateSums<L> {
    /// Adds the derivatives of a moment `u` years ahead.
    #[inline(always)]
    fn add(
        &mut self,
        f: &Integrand<L>,
        on: &Contract<L>,
        u: f64,
        place: &BoundaryDerivatives<L>,
        cost: &YearlyCost<L>,
    ) {
        let c = |v: f64| L::splat(v);
        let (jump, interest) = (f.bb - f.cost, on.k * on.r);
        let y_l = place.edge.sigma[0] * on.sigma;
        // ∂d/∂l: 1/σ falls, the drift of ln X too
        let d_l = -(f.d + y_l * f.g) - on.sigma * c(u.sqrt());
        let (d_k, d_r, d_b) = (-(place.k[0] * f.g), (c(u) - place.r) * f.g, -((place.b + u) * f.g));
        let d_r_l = -(place.r_l * f.g + d_r);
        let (bb_k, bb_l) = (f.bb * place.k[0], f.bb * y_l);
        self.k[0] += f.m * jump * d_k - interest * f.cash;
        let bend = (bb_k - interest - interest) * d_k - jump * (f.d * d_k * d_k + place.k[1] * f.g);
        self.k[1] += f.m * bend - interest * f.cash;
        let by_r = f.cost * u - cost.r;
        self.r += f.m * jump * d_r + by_r * f.cash;
        self.r_l += f.m * ((bb_l - jump * f.d * d_l) * d_r + jump * d_r_l + by_r * d_l);
        self.b += f.m * jump * d_b + f.stock * (1.0 - on.b * u) - cost.b * f.cash;
    }

    /// The sums as a series.
    fn series<const ALL: bool>(&self, sigma: L) -> Taylor<L> {
        let series = premium_series::<L, ALL>(&self.premium, sigma);
        if !ALL {
            return series;
        }
        series
            .with(at::Q, self.k[0])
            .with(at::QQ, self.k[1] * 0.5)
            .with(at::R, self.r)
            .with(at::RL, self.r_l)
            .with(at::B, self.b)
    }
}

impl Table {
    /// Value of exercise from now until the table's date, and the lanes that are exercised now.
    ///
    /// # Shapes    one contract per lane
    /// # Accuracy  `premiums_between_dates_are_those_of_the_reference`
    /// # Cost      nothing for a spot far below the boundary; else 2 to 4 µs a contract
    #[inline(never)]
    pub(super) fn until_date<L: Lanes, const ALL: bool>(
        &self,
        until: &UntilDate,
        clock: &Clock,
        on: &Inputs<L>,
    ) -> (Taylor<L>, L::Mask) {
        let c = |v: f64| L::splat(v);
        let zero = c(0.0);
        let (x, sigma, ln_k) = (on.x.value(), on.sigma.value(), on.log_strike.value());
        let width = sigma * clock.stop.sqrt();
        let nothing = (Taylor::constant(zero), x.lt(x));
        if !(ln_k + until.lowest - width * OUT_OF_REACH).lt(x).any() {
            return nothing;
        }
        let tensors = self.tensors::<L, ALL>(until, clock, on);
        let away = (ln_k + tensors.value(self.eta(clock.stop)) - x) / width;
        let now = away.lt(zero);
        let idle = now | c(OUT_OF_REACH).lt(away);
        if idle.all() {
            return (nothing.0, now);
        }
        static RULE: LazyLock<Rule> = LazyLock::new(|| rule(UNTIL_DATE.nodes, UNTIL_DATE.nearest));
        let (r, b) = (clock.r, clock.b);
        let terms = Terms { t: clock.stop, r, b, divs: Vec::new() };
        let contract = Contract::new(self.phi, &terms, 0.0, on.spot.value(), on.strike.value(), sigma);
        let mut sums = UntilDateSums { premium: Premium::zero(), k: [zero; 2], r: zero, r_l: zero, b: zero };
        for &(part, rest, weight) in RULE.iter() {
            let (u, left) = (clock.stop * part, clock.stop * rest);
            let place = tensors.at::<ALL>(self.eta(left), &contract);
            let grown = (-(r - b) * left).exp();
            let (escrow, by_r) = (clock.a * grown, (clock.a_r - clock.a * left) * grown);
            let cost =
                YearlyCost { value: contract.k * r - b * escrow, r: contract.k - b * by_r, b: c(b * by_r - escrow) };
            let moment = Moment::new(&contract, u, weight * clock.stop);
            let f = Integrand::new(&contract, &moment, &place.edge, cost.value);
            f.add_sigma::<ALL>(&contract, &moment, &place.edge, &mut sums.premium);
            if ALL {
                f.add_spot(&contract, &mut sums.premium);
                sums.add(&f, &contract, u, &place, &cost);
            }
        }
        (sums.series::<ALL>(sigma), now)
    }

    /// ln of the X at which exercise becomes optimal now.
    pub(super) fn boundary_until_date<L: Lanes>(&self, until: &UntilDate, clock: &Clock, on: &Inputs<L>) -> L {
        on.log_strike.value() + self.tensors::<L, false>(until, clock, on).value(self.eta(clock.stop))
    }

    /// η `left` years before the table's date.
    fn eta(&self, left: f64) -> f64 {
        (self.stop / left).ln().max(0.0).sqrt()
    }

    /// The tensors of the boundary at the rates of the clock.
    ///
    /// # Shapes  one contract per lane
    fn tensors<L: Lanes, const ALL: bool>(&self, until: &UntilDate, clock: &Clock, on: &Inputs<L>) -> LocalTensors<L> {
        let zero = L::splat(0.0);
        let units: Units<L> = self.units(on);
        let n = self.sigma.len() * self.strike.len();
        let mut at = LocalTensors {
            of: [Local { s: [zero; 4], k: [zero; 2] }; TENSORS],
            by_rates: [([zero; 2], zero); TENSORS],
        };
        let moves = clock.rates.map(|rates| &rates.until);
        // a boundary moves with ln b: it lies above rK/b
        let [by_r, by_b] = clock.moved;
        let own_b = clock.b - by_b;
        let (moved, per_b) = if own_b > 0.0 && clock.b > 0.0 {
            ([by_r, own_b * (clock.b / own_b).ln()], own_b / clock.b)
        } else {
            (clock.moved, 1.0)
        };
        for i in 0..TENSORS {
            let mut c = [0.0; MOST_NODES];
            for (c, own) in c.iter_mut().zip(&until.boundary[i * n..(i + 1) * n]) {
                *c = f64::from(*own);
            }
            if let Some(by) = moves.and_then(|moves| moves.get(i)) {
                for (part, factor) in by.iter().zip(moved) {
                    self.shift(&mut c, part, factor);
                }
                if ALL {
                    let (r, b) = self.rate_slopes(by, units);
                    at.by_rates[i] = (r, b * per_b);
                }
            }
            at.of[i] = local::<L, ALL>(&c[..n], self.sigma.at(units.sigma), self.strike.at(units.strike));
        }
        at
    }
}
