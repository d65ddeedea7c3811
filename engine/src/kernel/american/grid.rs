//! American options without dividends on a grid: any signs of the rates, also the two boundaries of b < r < 0 (put) and
//! r < b < 0 (call), which listed options have not seen. Slow, and made to be right rather than fast: each block of
//! contracts is solved when it is asked for, and derivatives in sigma and the rates are differences of solutions.
//!
//! The premium is the difference of an American and a European solution on the same grid, so that what the grid gets
//! wrong for both drops out. Never: a table, a dividend.

use super::super::black76::{Horizon, european, european_vol};
use super::super::dividends::Terms;
use super::super::elementary::{exp, ln};
use super::super::greeks::{Jet, VolJet};
use super::super::lanes::Lanes;
use super::boundary::Rate;
use super::integral::{Contract, Premium};
use super::no_dividends::{add, add_vol, at_intrinsic};

/// Nodes on each side of the spot, time steps, half width in standard deviations.
const NODES: usize = 160;
const STEPS: usize = 240;
const WIDTH: f64 = 5.0;
/// Fully implicit steps at the start, against oscillation at the payoff's kink.
const IMPLICIT: usize = 4;
/// Steps of the differences: in sigma as a part of it, in a rate.
const SIGMA_STEP: f64 = 0.04;
const RATE_STEP: f64 = 1e-3;

/// Value and derivatives, and the lanes where exercising now is optimal.
pub(super) fn jet<L: Lanes>(phi: f64, terms: &Terms, x: f64, k: L, sigma: L) -> (Jet<L>, L::Mask) {
    let at = contract(phi, terms, x, k, sigma);
    let moved = if terms.r.abs() >= terms.b.abs() { Rate::B } else { Rate::R };
    let gain = premium(&at, moved);
    let plain = european(phi, &Horizon::from(terms), at.x, k, sigma);
    let jet = add(&plain, &gain, &at, moved);
    (jet, at_intrinsic(phi, jet.v, at.x, k))
}

/// As [`jet`], volatility derivatives only.
pub(super) fn vol_jet<L: Lanes>(phi: f64, terms: &Terms, x: f64, k: L, sigma: L) -> (VolJet<L>, L::Mask) {
    let at = contract(phi, terms, x, k, sigma);
    let plain = european_vol(phi, &Horizon::from(terms), at.x, k, sigma);
    let jet = add_vol(&plain, &by_sigma(&at));
    (jet, at_intrinsic(phi, jet.value, at.x, k))
}

fn contract<L: Lanes>(phi: f64, terms: &Terms, x: f64, k: L, sigma: L) -> Contract<L> {
    let x = L::splat(x);
    Contract { phi, t: terms.t, r: terms.r, b: terms.b, x, k, ln_xk: ln(x / k), sigma, moved_by: [0.0; 2] }
}

/// The premium and its derivatives in ln X and sigma: five solutions.
fn by_sigma<L: Lanes>(at: &Contract<L>) -> Premium<L> {
    let c = |v: f64| L::splat(v);
    let far = |n: f64| solve(at, at.r, at.b, at.sigma * c(1.0 + n * SIGMA_STEP));
    let (low2, low, mid, high, high2) = (far(-2.0), far(-1.0), far(0.0), far(1.0), far(2.0));
    let h = at.sigma * c(SIGMA_STEP);
    let first = |i: usize| (c(8.0) * (high[i] - low[i]) - (high2[i] - low2[i])) / (c(12.0) * h);
    let second = (c(16.0) * (high[0] + low[0]) - high2[0] - low2[0] - c(30.0) * mid[0]) / (c(12.0) * h * h);
    let third = (high2[0] - low2[0] - c(2.0) * (high[0] - low[0])) / (c(2.0) * h * h * h);
    Premium {
        v: mid[0],
        l: [mid[1], mid[2], mid[3], mid[4]],
        sigma: [first(0), second, third],
        l_sigma: first(1),
        ll_sigma: first(2),
        rate: c(0.0),
        rate_sigma: c(0.0),
    }
}

/// The premium and all its derivatives.
fn premium<L: Lanes>(at: &Contract<L>, moved: Rate) -> Premium<L> {
    let c = |v: f64| L::splat(v);
    let value = |by: f64, sigma: L| match moved {
        Rate::R => solve(at, at.r + by, at.b, sigma)[0],
        Rate::B => solve(at, at.r, at.b + by, sigma)[0],
    };
    let slope = |sigma: L| (value(RATE_STEP, sigma) - value(-RATE_STEP, sigma)) * c(0.5 / RATE_STEP);
    let h = at.sigma * c(SIGMA_STEP);
    let rate_sigma = (slope(at.sigma + h) - slope(at.sigma - h)) / (h + h);
    Premium { rate: slope(at.sigma), rate_sigma, ..by_sigma(at) }
}

/// Premium and first to fourth derivative in ln X at the given rates and volatility; the grid is that of the contract's
/// own volatility, so that differences see the model and not the grid.
#[inline(never)]
fn solve<L: Lanes>(at: &Contract<L>, r: f64, b: f64, sigma: L) -> [L; 5] {
    let c = |v: f64| L::splat(v);
    let h = at.sigma * c(WIDTH * at.t.sqrt() / NODES as f64);
    let spot: Vec<L> = (0..=2 * NODES).map(|j| at.x * exp(h * c(j as f64 - NODES as f64))).collect();
    let payoff: Vec<L> = spot.iter().map(|x| c(0.0).max((*x - at.k) * c(at.phi))).collect();
    let exact = |j: usize, tau: f64| european_vol(at.phi, &Horizon::new(tau, r, b), spot[j], at.k, sigma).value;
    let dt = at.t / STEPS as f64;
    // the first step is exact, so that no kink meets the grid
    let mut plain: Vec<L> = (0..spot.len()).map(|j| exact(j, dt)).collect();
    let mut early: Vec<L> = plain.iter().zip(&payoff).map(|(v, p)| v.max(*p)).collect();
    let mut push = vec![c(0.0); spot.len()];
    let generator = Generator::new(h, sigma, r, b);
    for step in 1..STEPS {
        let implicit = if step <= IMPLICIT { 1.0 } else { 0.5 };
        let tau = dt * (step + 1) as f64;
        let last = spot.len() - 1;
        let ends = [exact(0, tau), exact(last, tau)];
        generator.step(&mut plain, &push, dt, implicit, ends, false);
        generator.step(&mut early, &push, dt, implicit, [ends[0].max(payoff[0]), ends[1].max(payoff[last])], true);
        // operator splitting (Ikonen and Toivanen, 2004): project, and keep what the projection pushed
        for ((v, push), payoff) in early.iter_mut().zip(&mut push).zip(&payoff) {
            let projected = payoff.max(*v - *push * c(dt));
            *push += (projected - *v) * c(1.0 / dt);
            *v = projected;
        }
    }
    let p = |n: isize| early[NODES.wrapping_add_signed(n)] - plain[NODES.wrapping_add_signed(n)];
    let (m2, m1, p0, p1, p2) = (p(-2), p(-1), p(0), p(1), p(2));
    let inv = c(1.0) / h;
    [
        p0,
        (c(8.0) * (p1 - m1) - (p2 - m2)) * inv * c(1.0 / 12.0),
        (c(16.0) * (p1 + m1) - p2 - m2 - c(30.0) * p0) * inv * inv * c(1.0 / 12.0),
        (p2 - m2 - c(2.0) * (p1 - m1)) * inv * inv * inv * c(0.5),
        (p2 + m2 - c(4.0) * (p1 + m1) + c(6.0) * p0) * inv * inv * inv * inv,
    ]
}

/// ½sigma²·∂² + (r − b − ½sigma²)·∂ − r on a uniform grid in ln X.
struct Generator<L> {
    low: L,
    mid: L,
    high: L,
}

impl<L: Lanes> Generator<L> {
    fn new(h: L, sigma: L, r: f64, b: f64) -> Self {
        let c = |v: f64| L::splat(v);
        let spread = sigma * sigma * c(0.5) / (h * h);
        let drift = (c(r - b) - sigma * sigma * c(0.5)) / (h + h);
        Self { low: spread - drift, mid: -(spread + spread) - c(r), high: spread + drift }
    }

    /// One step of `dt`: the part `implicit` of it implicit. `ends` are the new values at the edges; with `pushed` the
    /// last projection's push acts as a source.
    fn step(&self, v: &mut [L], push: &[L], dt: f64, implicit: f64, ends: [L; 2], pushed: bool) {
        let c = |v: f64| L::splat(v);
        let (new, old) = (c(dt * implicit), c(dt * (1.0 - implicit)));
        let (a, b, d) = (-(new * self.low), c(1.0) - new * self.mid, -(new * self.high));
        let last = v.len() - 1;
        let mut ratio = vec![c(0.0); last];
        let mut below = v[0];
        v[0] = ends[0];
        for j in 1..last {
            let here = v[j];
            let flow = self.low * below + self.mid * here + self.high * v[j + 1];
            let source = if pushed { push[j] * c(dt) } else { c(0.0) };
            let inv = c(1.0) / (b - a * ratio[j - 1]);
            ratio[j] = d * inv;
            v[j] = (here + old * flow + source - a * v[j - 1]) * inv;
            below = here;
        }
        v[last] = ends[1];
        for j in (1..last).rev() {
            v[j] -= ratio[j] * v[j + 1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A binomial tree of Cox, Ross and Rubinstein: written to be obvious.
    fn tree(phi: f64, (r, b, t): (f64, f64, f64), s: f64, k: f64, sigma: f64) -> f64 {
        let n = 2000;
        let dt = t / f64::from(n);
        let up = (sigma * dt.sqrt()).exp();
        let p = (((r - b) * dt).exp() - 1.0 / up) / (up - 1.0 / up);
        let payoff = |step: i32, ups: i32| (phi * (s * up.powi(2 * ups - step) - k)).max(0.0);
        let mut v: Vec<f64> = (0..=n).map(|i| payoff(n, i)).collect();
        for step in (0..n).rev() {
            for i in 0..=step {
                let hold = (-r * dt).exp() * (p * v[i as usize + 1] + (1.0 - p) * v[i as usize]);
                v[i as usize] = hold.max(payoff(step, i));
            }
        }
        v[0]
    }

    #[test]
    fn two_boundaries_agree_with_a_tree() {
        for (phi, r, b, s, sigma, t) in [
            (-1.0, -0.01, -0.04, 95.0, 0.1, 1.0),
            (-1.0, -0.005, -0.03, 100.0, 0.2, 2.0),
            (-1.0, -0.02, -0.05, 70.0, 0.15, 1.5),
            (1.0, -0.04, -0.01, 105.0, 0.1, 1.0),
            (1.0, -0.06, -0.02, 120.0, 0.2, 2.0),
        ] {
            let terms = Terms { t, r, b, divs: vec![] };
            let (jet, _) = jet(phi, &terms, s, 100.0, sigma);
            let value = tree(phi, (r, b, t), s, 100.0, sigma);
            assert!((jet.v - value).abs() <= 2e-3, "phi {phi} r {r} b {b} s {s}: {} not {value}", jet.v);
            let european = european(phi, &Horizon::from(&terms), s, 100.0, sigma).v;
            assert!(value > european + 0.01, "no premium to test: {value} {european}");
        }
    }

    #[test]
    fn one_boundary_agrees_with_the_integral() {
        use super::super::{Band, Pricer, Scheme};
        use crate::contract::{Right, Style};
        let (terms, band) =
            (Terms { t: 0.5, r: 0.05, b: 0.02, divs: vec![] }, Band { k: (90.0, 110.0), sigma: (0.2, 0.3) });
        for (right, s) in [(Right::Put, 97.0), (Right::Put, 104.0), (Right::Call, 99.0)] {
            let ours = jet(right.phi(), &terms, s, 100.0, 0.25).0;
            let fine =
                Pricer::new(Style::American, right, &terms, &band, Scheme::Accurate).at(&terms, s).greeks(100.0, 0.25);
            for (name, a, b, bound) in [
                ("value", ours.v, fine.value, 5e-4),
                ("delta", ours.x[0], fine.delta, 2e-4),
                ("gamma", ours.x[1], fine.gamma, 1e-4),
                ("vega", ours.sigma[0], fine.vega, 0.02),
                ("volga", ours.sigma[1], fine.volga, 0.5),
                ("vanna", ours.x_sigma, fine.vanna, 0.01),
                ("rho", ours.r, fine.rho, 0.05),
                ("epsilon", ours.b, fine.epsilon, 0.05),
                ("vera", ours.r_sigma, fine.vera, 2.0),
            ] {
                assert!((a - b).abs() <= bound, "{name} of {right:?} at {s}: {a} not {b}");
            }
        }
    }
}
