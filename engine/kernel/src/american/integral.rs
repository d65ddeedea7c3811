//! The early-exercise premium without dividends, in closed form given the boundary: Kim's integral and its derivatives.
//!
//! While the option lies in the exercise region the holder earns phi·(b·X − r·K) a year more by exercising than by
//! waiting; the premium is the expectation of that stream (Kim, 1990). The spot enters through N(d) alone, so every
//! derivative in it is analytic; the boundary moves with sigma and the rates, and its own derivatives come from
//! [`Boundary`]. Never: a difference of two prices.

use super::boundary::{Boundary, BoundaryAtRates, BoundaryPoint, Rate};
use super::settings::{INTEGRAL, SPOT_NODES};
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::lanes::{Lanes, Mask};
use crate::normal::{INV_SQRT_2PI, bell, norm_cdf_short_given};
use crate::quality::Quality;
use crate::solve::crowded;
use std::sync::LazyLock;

/// A drift over the life above this is great: the spot drifts across the boundary, and the integrand is a step
/// (standard deviations).
const DRIFT: f64 = 4.0;

/// Classes of distance from the boundary, each half as far as the one before. Fewer are inaccurate for a spot next to
/// the boundary.
const DISTANCES: usize = 11;

/// A quadrature over the life of the option: u/t, tau/t = 1 − u/t and the weight of each node.
pub(super) type Rule = Vec<(f64, f64, f64)>;

/// `n` nodes in u = t·(1 − e^(−ξ²)), ξ = `nearest`·sinh: ξ² removes the root at the spot's end, the exponential that at
/// expiry, and the sinh crowds the nodes at u = 0, where the integrand of a spot next to the boundary changes fast.
pub(super) fn rule(n: usize, nearest: f64) -> Rule {
    let node = |(xi, part, weight): (f64, f64, f64)| (part, (-xi * xi).exp(), weight);
    crowded(n, nearest, SPOT_NODES.last).into_iter().map(node).collect()
}

/// The rule with the fewest nodes that serves every lane.
fn serving<L: Lanes>(quality: Quality, reach: &Reach<L>) -> &'static [(f64, f64, f64)] {
    type Rules = [[[Rule; DISTANCES]; 2]; 2];
    static RULES: LazyLock<Rules> = LazyLock::new(|| {
        let of_class = |n: usize, class: usize| {
            rule(n + class * INTEGRAL.more_close, SPOT_NODES.nearest * 0.5f64.powi(class as i32))
        };
        [INTEGRAL.nodes, INTEGRAL.nodes_accurate]
            .map(|n| [n, INTEGRAL.more_drift * n].map(|n| core::array::from_fn(|class| of_class(n, class))))
    });
    let is_far = |class: usize| {
        let least = L::splat(0.5f64.powi(class as i32));
        !reach.distance.lt(least).any()
    };
    let class = (0..DISTANCES - 1).find(|&class| is_far(class)).unwrap_or(DISTANCES - 1);
    let drifts = reach.drift.gt(L::splat(DRIFT)).any();
    &RULES[usize::from(quality == Quality::Reference)][usize::from(drifts)][class]
}

/// Size of an integral, which selects its rule: in standard deviations of ln X over the time that it covers.
pub(super) struct Reach<L> {
    /// |ln(X/B)|, or the deviation until that time begins if greater; infinite where the integral is 0.
    pub(super) distance: L,
    /// |r − b|·t; 0 where the integral is 0.
    pub(super) drift: L,
}

/// Inputs of a premium, one strike and volatility per lane.
pub(super) struct Contract<L> {
    pub(super) phi: f64,
    /// Years until exercise may begin (0: now) and to expiry, rate, borrow rate.
    pub(super) from: f64,
    pub(super) t: f64,
    pub(super) r: f64,
    pub(super) b: f64,
    pub(super) x: L,
    pub(super) k: L,
    /// ln(X/K).
    pub(super) ln_xk: L,
    pub(super) sigma: L,
    /// 1/X, 1/sigma.
    pub(super) inv_x: L,
    pub(super) inv_sigma: L,
}

impl<L: Lanes> Contract<L> {
    /// One option per lane; exercise may begin `from` years from now.
    #[inline(always)]
    pub(super) fn new(phi: f64, terms: &Terms, from: f64, x: L, k: L, sigma: L) -> Self {
        let one = L::splat(1.0);
        let Terms { t, r, b, .. } = *terms;
        Self { phi, from, t, r, b, x, k, ln_xk: ln(x / k), sigma, inv_x: one / x, inv_sigma: one / sigma }
    }
}

/// A premium and its derivatives: in ln X, in sigma, in both, and in the rate in which the boundary has a derivative.
#[derive(Clone, Copy)]
pub(super) struct Premium<L> {
    pub(super) v: L,
    /// First to fourth derivative in ln X.
    pub(super) l: [L; 4],
    pub(super) sigma: [L; 3],
    pub(super) l_sigma: L,
    pub(super) ll_sigma: L,
    pub(super) rate: L,
    pub(super) rate_sigma: L,
}

impl<L: Lanes> Premium<L> {
    pub(super) fn zero() -> Self {
        let z = L::splat(0.0);
        Self { v: z, l: [z; 4], sigma: [z; 3], l_sigma: z, ll_sigma: z, rate: z, rate_sigma: z }
    }

    /// Returns `yes` in the lanes of the mask, and `no` in the others.
    pub(super) fn select(mask: L::Mask, yes: &Self, no: &Self) -> Self {
        let pick = |yes, no| L::select(mask, yes, no);
        Self {
            v: pick(yes.v, no.v),
            l: core::array::from_fn(|i| pick(yes.l[i], no.l[i])),
            sigma: core::array::from_fn(|i| pick(yes.sigma[i], no.sigma[i])),
            l_sigma: pick(yes.l_sigma, no.l_sigma),
            ll_sigma: pick(yes.ll_sigma, no.ll_sigma),
            rate: pick(yes.rate, no.rate),
            rate_sigma: pick(yes.rate_sigma, no.rate_sigma),
        }
    }
}

/// A node of the quadrature: time, weight, discount factors. All lanes share it.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    u: f64,
    weight: f64,
    root_u: f64,
    df: f64,
    df_b: f64,
}

/// Terms of the integrand at one node, from which its derivatives are composed.
pub(super) struct Integrand<L> {
    /// 1/(sigma·√u), d.
    pub(super) g: L,
    pub(super) d: L,
    /// (ln(X/B) + (r − b)u)·g.
    yg: L,
    /// B, b·B, and the yearly cost of exercise: r·K without dividends.
    edge_x: L,
    pub(super) bb: L,
    pub(super) cost: L,
    /// weight·e^(−ru)·n(d).
    pub(super) m: L,
    /// weight·phi·X·e^(−bu)·N(phi·d+), weight·phi·e^(−ru)·N(phi·d).
    pub(super) stock: L,
    pub(super) cash: L,
}

/// The premium with its derivatives, one option per lane; without `FULL` only those in sigma.
///
/// # Domain    spots on the holding side of the boundary, sigma in the table's range; elsewhere the result means
/// nothing
/// # Accuracy  golden/tolerances.csv, american_nodiv
/// # Source    Kim (1990); the number of nodes from self-convergence
#[inline(never)]
pub(super) fn premium<L: Lanes, const FULL: bool>(
    at: &Contract<L>,
    table: &Boundary,
    curve: &BoundaryAtRates,
    reach: &Reach<L>,
    quality: Quality,
) -> Premium<L> {
    let (life, (place, unit)) = (at.t - at.from, table.place(at.sigma));
    let mut sum = Premium::zero();
    for &(part, rest, weight) in serving(quality, reach) {
        let moment = Moment::new(at, at.from + life * part, life * weight);
        let edge = curve.at_time::<FULL>(life * rest).edge(at.sigma, at.inv_sigma, place, unit);
        let f = Integrand::new(at, &moment, &edge, at.k * at.r);
        f.add_sigma::<FULL>(at, &moment, &edge, &mut sum);
        if FULL {
            f.add_spot(at, &mut sum);
            f.add_rate(at, &moment, &edge, table.moved, &mut sum);
        }
    }
    sum
}

/// The yearly flow of exercise when it begins, `at.from` years from now, and its first derivative in sigma.
#[inline(never)]
pub(super) fn earned_first<L: Lanes>(at: &Contract<L>, table: &Boundary, curve: &BoundaryAtRates) -> [L; 2] {
    let mut sum = Premium::zero();
    let moment = Moment::new(at, at.from, 1.0);
    let (place, unit) = table.place(at.sigma);
    let edge = curve.at_time::<false>(at.t - at.from).edge(at.sigma, at.inv_sigma, place, unit);
    Integrand::new(at, &moment, &edge, at.k * at.r).add_sigma::<false>(at, &moment, &edge, &mut sum);
    [sum.v, sum.sigma[0]]
}

impl Moment {
    /// The node `u` years from now.
    #[inline(always)]
    pub(super) fn new<L: Lanes>(at: &Contract<L>, u: f64, weight: f64) -> Self {
        Self { u, weight, root_u: u.sqrt(), df: exp(-at.r * u), df_b: exp(-at.b * u) }
    }
}

impl<L: Lanes> Integrand<L> {
    #[inline(always)]
    pub(super) fn new(at: &Contract<L>, moment: &Moment, edge: &BoundaryPoint<L>, cost: L) -> Self {
        let c = |v: f64| L::splat(v);
        let g = at.inv_sigma * c(1.0 / moment.root_u);
        let yg = (at.ln_xk - edge.y + c((at.r - at.b) * moment.u)) * g;
        let width = at.sigma * moment.root_u;
        let d = width.mul_add(c(-0.5), yg);
        let e = bell(d);
        let edge_x = at.k * exp(edge.y);
        // n(d+) = n(d)·(B/X)·e^(−(r−b)u)
        let e_high = e * edge_x * at.inv_x * c(moment.df / moment.df_b);
        let low = norm_cdf_short_given(d * at.phi, e);
        let high = norm_cdf_short_given((d + width) * at.phi, e_high);
        Self {
            g,
            d,
            yg,
            edge_x,
            bb: edge_x * at.b,
            cost,
            m: e * c(INV_SQRT_2PI * moment.df * moment.weight),
            stock: at.x * high * c(at.phi * moment.df_b * moment.weight),
            cash: low * c(at.phi * moment.df * moment.weight),
        }
    }

    /// Adds the value and its derivatives in sigma; the boundary's own are not negligible in this representation.
    ///
    /// # Shapes  one option per lane; added to `sum`
    #[inline(always)]
    pub(super) fn add_sigma<const FULL: bool>(
        &self,
        at: &Contract<L>,
        moment: &Moment,
        edge: &BoundaryPoint<L>,
        sum: &mut Premium<L>,
    ) {
        let c = |v: f64| L::splat(v);
        let (g, d, bb, rk, root_u) = (self.g, self.d, self.bb, self.cost, c(moment.root_u));
        let per_sigma = at.inv_sigma;
        let [b1, b2, b3] = edge.sigma;
        let yg1 = self.yg * per_sigma;
        let b1g = b1 * g;
        let d1 = -(b1g + yg1 + root_u * 0.5);
        let turn = (b1g + yg1) * per_sigma;
        let d2 = b2.neg_mul_add(g, turn + turn);
        let d3 = (c(3.0) * b2 * per_sigma - b3).mul_add(g, c(-6.0) * turn * per_sigma);
        let high1 = d1 + root_u;
        let q = bb * high1 - rk * d1;
        let q1 = bb * b1.mul_add(high1, d2) - rk * d2;
        let q2 = bb * (b1.mul_add(b1, b2).mul_add(high1, d3) + (b1 + b1) * d2) - rk * d3;
        let dd1 = d * d1;
        sum.v = sum.v + self.stock * at.b - rk * self.cash;
        sum.sigma[0] = self.m.mul_add(q, sum.sigma[0]);
        sum.sigma[1] = self.m.mul_add(dd1.neg_mul_add(q, q1), sum.sigma[1]);
        let curve = d.mul_add(d, c(-1.0)) * d1 * d1 - d * d2;
        sum.sigma[2] = self.m.mul_add((dd1 + dd1).neg_mul_add(q1, curve.mul_add(q, q2)), sum.sigma[2]);
        if FULL {
            let (dg, jump) = (d * g, (rk - bb) * g * per_sigma);
            sum.l_sigma = self.m.mul_add(dg.neg_mul_add(q, jump), sum.l_sigma);
            let bend = d.mul_add(d, c(-1.0)) * g * g;
            sum.ll_sigma = self.m.mul_add(bend * q - (dg + dg) * jump, sum.ll_sigma);
        }
    }

    /// Adds the derivatives in ln X.
    #[inline(always)]
    pub(super) fn add_spot(&self, at: &Contract<L>, sum: &mut Premium<L>) {
        let c = |v: f64| L::splat(v);
        let (d, mg) = (self.d, self.m * self.g);
        let (jump, stock) = ((self.cost - self.bb) * mg, self.stock * at.b);
        let both = self.bb.mul_add(mg, stock);
        let h = self.bb * mg;
        let dg = d * self.g;
        let bend = d.mul_add(d, c(-1.0)) * self.g * self.g;
        let twist = d.mul_add(d, c(-3.0)) * dg * self.g * self.g;
        sum.l[0] = sum.l[0] + stock - jump;
        sum.l[1] += jump.mul_add(dg, both);
        sum.l[2] += jump.neg_mul_add(bend, h.neg_mul_add(dg, both));
        sum.l[3] += jump.mul_add(twist, h.mul_add(bend - dg, both));
    }

    /// Adds the derivatives in the rate that moves the boundary.
    #[inline(always)]
    fn add_rate(&self, at: &Contract<L>, moment: &Moment, edge: &BoundaryPoint<L>, moved: Rate, sum: &mut Premium<L>) {
        let c = |v: f64| L::splat(v);
        let u = moment.u;
        let per_sigma = at.inv_sigma;
        let [b1, ..] = edge.sigma;
        let d1 = -(b1.mul_add(self.g, self.yg * per_sigma) + c(0.5 * moment.root_u));
        let (lead, lead_sigma, d_rate) = match moved {
            Rate::B => {
                let left = c(1.0 - at.b * u);
                (self.stock * left, self.edge_x * (d1 + moment.root_u) * left, -((edge.rate + u) * self.g))
            }
            Rate::R => {
                let left = c(at.r * u - 1.0);
                (at.k * self.cash * left, at.k * d1 * left, -((edge.rate - u) * self.g))
            }
        };
        let jump = self.bb - self.cost;
        let d_rate_sigma = -(edge.rate_sigma * self.g + d_rate * per_sigma);
        let change = (self.bb * b1 - self.d * d1 * jump).mul_add(d_rate, jump * d_rate_sigma);
        sum.rate = sum.rate + lead + self.m * jump * d_rate;
        sum.rate_sigma = self.m.mul_add(lead_sigma + change, sum.rate_sigma);
    }
}
