//! What exercising a call in the last days before an ex-date gains over exercising right before it, in closed form.
//!
//! There the value bends within σ√(time left) of its boundary, finer than any grid. But the boundary is known well
//! enough: it rises from where exercise begins to pay at the ex-date by a number of standard deviations that depends on
//! one ratio only, the cost of waiting to the gain from waiting. Never: a table.

use super::exercise::{Exercise, Inputs, carry, discount, normal};
use super::taylor::{Taylor, at};
use crate::american::settings::{LAST_DAYS, SAME};
use crate::elementary::ln;
use crate::lanes::{Lanes, Mask};
use crate::solve::gauss_legendre;
use std::sync::LazyLock;

/// Where the boundary lies at the ex-date, and how fast the value of waiting falls short of exercise beyond it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kink<V> {
    /// ln X from which on exercise right before the ex-date pays, as a series.
    pub(super) boundary: Taylor<V>,
    /// X, and ∂/∂ln X of payoff less value kept alive, there.
    pub(super) spot: V,
    pub(super) slope: V,
}

/// Standard deviations by which the boundary lies above the kink, a polynomial in (ln s + 8)/8, s being the time left
/// over (σ·slope/cost)²: the obstacle problem W_s = W_yy/2 − 1, W ≥ 0, W(0, y) = max(−y, 0) solved by its integral
/// equation;
/// 0.05 off at most.
const ABOVE: [f64; 5] = [2.270, -1.608, -0.430, -0.447, -0.287];

/// Value of exercise before `e.ts` beyond exercise at it, and which lanes lie above the boundary of now.
///
/// # Accuracy  the gain itself to some percent; it is at most a few 1e-4 of the strike
/// # Source    premium as an integral over the exercise region: Kim (1990), Jacka (1991), Carr, Jarrow and Myneni
/// (1992)
#[inline(never)]
pub(super) fn exercised_before<V: Lanes>(e: &Exercise, on: &Inputs<V>, kink: &Kink<V>) -> (Taylor<V>, V::Mask) {
    static NODES: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| gauss_legendre(LAST_DAYS.nodes));
    let c = |v: f64| V::splat(v);
    let (x, sigma, k) = (on.x.value(), on.sigma.value(), on.strike.value());
    // a year's cost of waiting at the kink
    let cost = (kink.spot + e.a) * e.b - k * e.r;
    let level = ln((k * c(e.r / e.b) - e.a).max(k * c(SAME.strike_left)));
    let ratio = cost.max(k * c(LAST_DAYS.cost_least)) / (sigma * kink.slope);
    let ln_ratio = ln(ratio);
    let above = |left: f64| {
        let q = (ln_ratio + ln_ratio + c(left.ln())).max(c(LAST_DAYS.fitted_from)).min(c(LAST_DAYS.fitted_to));
        let z = (q + 8.0) * c(1.0 / 8.0);
        let (mut h, mut slope) = (c(0.0), c(0.0));
        for a in ABOVE.iter().rev() {
            slope = slope.mul_add(z, h);
            h = h.mul_add(z, c(*a));
        }
        // s goes with 1/σ²
        (h, slope * c(-2.0 / 8.0))
    };
    let boundary = |left: f64| {
        let root = c(left.sqrt());
        let (h, by_l) = above(left);
        let from_kink = kink.boundary + on.sigma * Taylor::constant(h * root).with(at::L, by_l * root);
        let of_level = level + sigma * LAST_DAYS.above_level * root;
        let higher = from_kink.value().lt(of_level);
        let moving = on.log_strike + on.sigma.scale(c(LAST_DAYS.above_level) * root);
        let moving = moving.plus(of_level - moving.value());
        Taylor(core::array::from_fn(|i| V::select(higher, moving.0[i], from_kink.0[i])))
    };
    let now = boundary(e.ts).value();
    let mut sum = Taylor::constant(c(0.0));
    if !(now - sigma * c(LAST_DAYS.out_of_reach * e.ts.sqrt())).lt(x).any() {
        return (sum, x.lt(x));
    }
    let collected = Taylor::constant(c(e.a)).with(at::R, c(e.a_r)).with(at::B, c(-e.a_r));
    let (r, b) = (Taylor::constant(c(e.r)).with(at::R, c(1.0)), Taylor::constant(c(e.b)).with(at::B, c(1.0)));
    let (of_share, of_cash) = (b * on.spot, r * on.strike - b * collected);
    for &(node, weight) in NODES.iter() {
        // u = ts·sin²: smooth where the boundary starts and where the density does
        let angle = core::f64::consts::FRAC_PI_2 * node;
        let (sine, cosine) = angle.sin_cos();
        let (u, left) = (e.ts * sine * sine, e.ts * cosine * cosine);
        let weight = weight * core::f64::consts::PI * e.ts * sine * cosine;
        let root = u.sqrt();
        let distance = on.x - boundary(left) + carry(e.r, e.b, u);
        let spread = on.sigma.scale(c(root));
        let a2 = (distance * on.inverse_sigma).scale(c(1.0 / root)) - spread.scale(c(0.5));
        let a1 = a2 + spread;
        let gain = of_share * discount(e.b, u, at::B) * normal(&a1) - of_cash * discount(e.r, u, at::R) * normal(&a2);
        sum = sum + gain.scale(c(weight));
    }
    (sum, now.lt(x))
}
