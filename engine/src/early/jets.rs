//! The exercise premium of one block of strikes as it was at an anchor, and read nearby: Taylor's series in spot, time,
//! volatility and rates, and a curve in volatility that reaches further. Never: a table, a strike's quote.

use crate::kernel::dividends::Terms;
use crate::kernel::greeks::{Greeks, VolJet};
use crate::kernel::lanes::{BLOCK, Block, Lanes};

/// The numbers of a block, one lane a strike, in single precision: a premium is a small part of a value, and 6e-8 of it
/// is far below the error of the tables.
pub(super) type Numbers = [[f32; BLOCK]; N];

/// Their places.
const N: usize = 26;
const VALUE: usize = 0;
const DELTA: usize = 1;
const GAMMA: usize = 2;
const SPEED: usize = 3;
const VEGA: usize = 4;
const VOLGA: usize = 5;
const ULTIMA: usize = 6;
const VANNA: usize = 7;
const ZOMMA: usize = 8;
const THETA: usize = 9;
const CHARM: usize = 10;
const COLOR: usize = 11;
const VETA: usize = 12;
const RHO: usize = 13;
const VERA: usize = 14;
const EPSILON: usize = 15;
const DUAL_DELTA: usize = 16;
const DUAL_GAMMA: usize = 17;
/// Value and vega of the premium on the next trading day.
const LATER: usize = 18;
const LATER_VEGA: usize = 19;
/// A lower and a higher volatility, and value and slope there.
const LOW: usize = 20;
const HIGH: usize = 23;

/// Where and when jets were taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Anchor {
    /// Spot, currency per share.
    pub(super) s: f64,
    /// Years to settlement.
    pub(super) t: f64,
    /// Rate and borrow rate.
    pub(super) r: f64,
    pub(super) b: f64,
    /// Years to the same time on the next trading day.
    pub(super) step: f64,
}

/// How far a market has moved from an anchor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    pub(super) s: f64,
    /// Years elapsed.
    pub(super) t: f64,
    pub(super) r: f64,
    pub(super) b: f64,
}

impl Moved {
    pub(super) fn new(from: &Anchor, s: f64, terms: &Terms) -> Self {
        Self { s: s - from.s, t: from.t - terms.t, r: terms.r - from.r, b: terms.b - from.b }
    }
}

/// Single precision, and what is left of it.
pub(super) fn rounded(x: Block) -> [f32; BLOCK] {
    let mut wide = [0.0; BLOCK];
    x.store(&mut wide);
    wide.map(|v| v as f32)
}

/// Back from single precision.
#[inline(always)]
pub(super) fn load(from: &[f32; BLOCK]) -> Block {
    Block::load(&from.map(f64::from))
}

/// What a block's numbers are made of: the American Greeks less the European ones, and the premium elsewhere.
pub(super) struct Taken {
    pub(super) american: Greeks<Block>,
    pub(super) european: Greeks<Block>,
    /// Premium, volatility derivatives, on the next trading day.
    pub(super) later: VolJet<Block>,
    /// Premium at two other volatilities.
    pub(super) low: (Block, VolJet<Block>),
    pub(super) high: (Block, VolJet<Block>),
}

impl Taken {
    pub(super) fn numbers(&self) -> Numbers {
        let (a, e) = (&self.american, &self.european);
        let blocks = [
            a.value - e.value,
            a.delta - e.delta,
            a.gamma - e.gamma,
            a.speed - e.speed,
            a.vega - e.vega,
            a.volga - e.volga,
            a.ultima - e.ultima,
            a.vanna - e.vanna,
            a.zomma - e.zomma,
            a.theta - e.theta,
            a.charm - e.charm,
            a.color - e.color,
            a.veta - e.veta,
            a.rho - e.rho,
            a.vera - e.vera,
            a.epsilon - e.epsilon,
            a.dual_delta - e.dual_delta,
            a.dual_gamma - e.dual_gamma,
            self.later.value,
            self.later.vega,
            self.low.0,
            self.low.1.value,
            self.low.1.vega,
            self.high.0,
            self.high.1.value,
            self.high.1.vega,
        ];
        blocks.map(rounded)
    }
}

/// The premium as a function of volatility, at one spot and time: through value, slope and bend at the anchor's
/// volatility and value and slope at a lower and a higher one, and straight beyond those.
#[derive(Clone, Copy, Debug)]
pub struct BySigma {
    centre: Block,
    /// Value, first and second derivative at the centre.
    p: [Block; 3],
    /// Distance, third and fourth coefficient on either side.
    up: [Block; 3],
    down: [Block; 3],
}

impl BySigma {
    /// No premium.
    #[must_use]
    pub fn none() -> Self {
        let (zero, one) = (Block::splat(0.0), Block::splat(1.0));
        Self { centre: zero, p: [zero; 3], up: [one, zero, zero], down: [-one, zero, zero] }
    }

    /// A straight line through `value` with the slope `vega` at `centre`.
    #[must_use]
    pub fn straight(centre: Block, value: Block, vega: Block) -> Self {
        Self { centre, p: [value, vega, Block::splat(0.0)], ..Self::none() }
    }

    pub(super) fn new(numbers: &Numbers, sigma: &[f32; BLOCK], by: &Moved) -> Self {
        let at = |i: usize| load(&numbers[i]);
        let c = |v: f64| Block::splat(v);
        let (ds, dt) = (c(by.s), c(by.t));
        let centre = load(sigma);
        let shift =
            ds * (at(DELTA) + c(0.5) * ds * at(GAMMA)) + dt * at(THETA) + c(by.r) * at(RHO) + c(by.b) * at(EPSILON);
        let p = [
            at(VALUE) + shift,
            at(VEGA) + ds * (at(VANNA) + c(0.5) * ds * at(ZOMMA)) + dt * at(VETA) + c(by.r) * at(VERA),
            at(VOLGA),
        ];
        let side = |node: usize| {
            let h = at(node) - centre;
            let (a1, a2) = (p[1] * h, c(0.5) * p[2] * h * h);
            let miss = at(node + 1) + shift - p[0] - a1 - a2;
            let slope = at(node + 2) * h - a1 - a2 - a2;
            // a node that is no node: a lane whose band ends at its own volatility
            let none = h.abs().lt(centre * c(0.02)) | !h.abs().lt(c(1e3));
            let pick = |x: Block| Block::select(none, c(0.0), x);
            [Block::select(none, centre, h), pick(c(4.0) * miss - slope), pick(slope - c(3.0) * miss)]
        };
        let (down, up) = (side(LOW), side(HIGH));
        Self { centre, p, up, down: [Block::select(down[0].lt(c(0.0)), down[0], -down[0]), down[1], down[2]] }
    }

    /// Value and derivatives in volatility.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, sigma: Block) -> VolJet<Block> {
        let c = |v: f64| Block::splat(v);
        let d = sigma - self.centre;
        let above = d.gt(c(0.0));
        let [h, a3, a4] = core::array::from_fn(|i| Block::select(above, self.up[i], self.down[i]));
        let inv_h = c(1.0) / h;
        let u = (d * inv_h).min(c(1.0));
        let (a1, a2) = (self.p[1] * h, c(0.5) * self.p[2] * h * h);
        let value = self.p[0] + u * (a1 + u * (a2 + u * (a3 + u * a4)));
        let slope = a1 + u * (a2 + a2 + u * (c(3.0) * a3 + c(4.0) * u * a4));
        let bend = a2 + a2 + u * (c(6.0) * a3 + c(12.0) * u * a4);
        let third = c(6.0) * a3 + c(24.0) * u * a4;
        let beyond = d - u * h;
        let vega = slope * inv_h;
        let inside = beyond.abs().le(c(0.0));
        let keep = |x: Block| Block::select(inside, x, c(0.0));
        VolJet {
            value: beyond.mul_add(vega, value),
            vega,
            volga: keep(bend * inv_h * inv_h),
            ultima: keep(third * inv_h * inv_h * inv_h),
        }
    }

    /// About how far the curve may be off at a volatility, currency per share: a tenth of its highest term, and half of
    /// what the straight piece adds.
    #[inline(always)]
    #[must_use]
    pub fn doubt(&self, sigma: Block) -> Block {
        let c = |v: f64| Block::splat(v);
        let d = sigma - self.centre;
        let above = d.gt(c(0.0));
        let [h, _, a4] = core::array::from_fn(|i| Block::select(above, self.up[i], self.down[i]));
        let u = (d / h).min(c(1.0));
        let beyond = d - u * h;
        c(0.1) * u * u * a4.abs() + c(0.5) * (beyond * self.at(sigma).vega).abs()
    }
}

/// Adds the premium of a block to European Greeks of the same strikes at `sigma`: third-order Greeks as at the anchor,
/// the others carried by the next ones. Lambda is left to the caller.
pub(super) fn add(numbers: &Numbers, sigma0: &[f32; BLOCK], by: &Moved, sigma: Block, to: &mut Greeks<Block>) {
    let at = |i: usize| load(&numbers[i]);
    let c = |v: f64| Block::splat(v);
    let (ds, dt, dr, db) = (c(by.s), c(by.t), c(by.r), c(by.b));
    let dv = sigma - load(sigma0);
    let half = c(0.5);
    let sixth = c(1.0 / 6.0);
    let (delta, gamma, speed, vega, volga, ultima) = (at(DELTA), at(GAMMA), at(SPEED), at(VEGA), at(VOLGA), at(ULTIMA));
    let (vanna, zomma, theta, charm, color, veta) = (at(VANNA), at(ZOMMA), at(THETA), at(CHARM), at(COLOR), at(VETA));
    let (rho, vera, epsilon) = (at(RHO), at(VERA), at(EPSILON));
    to.value += at(VALUE)
        + ds * (delta + ds * (half * gamma + ds * sixth * speed))
        + dv * (vega + dv * (half * volga + dv * sixth * ultima) + ds * (vanna + half * ds * zomma))
        + dt * (theta + ds * charm + dv * veta)
        + dr * rho
        + db * epsilon;
    to.delta += delta + ds * (gamma + half * ds * speed) + dv * (vanna + ds * zomma) + dt * (charm + ds * color);
    to.gamma += gamma + ds * speed + dv * zomma + dt * color;
    to.speed += speed;
    to.vega += vega + dv * (volga + half * dv * ultima) + ds * (vanna + half * ds * zomma) + dt * veta + dr * vera;
    to.volga += volga + dv * ultima;
    to.ultima += ultima;
    to.vanna += vanna + ds * zomma;
    to.zomma += zomma;
    to.theta += theta + ds * (charm + half * ds * color) + dv * veta;
    to.charm += charm + ds * color;
    to.color += color;
    to.veta += veta;
    to.rho += rho + dv * vera;
    to.vera += vera;
    to.epsilon += epsilon;
    to.dual_delta += at(DUAL_DELTA);
    to.dual_gamma += at(DUAL_GAMMA);
}

/// The premium on the next trading day, after `step` years.
pub(super) fn later(numbers: &Numbers, sigma0: &[f32; BLOCK], by: &Moved, sigma: Block, step: f64) -> Block {
    let at = |i: usize| load(&numbers[i]);
    let c = |v: f64| Block::splat(v);
    let delta = at(DELTA) + c(step) * at(CHARM);
    at(LATER)
        + c(by.s) * (delta + c(0.5 * by.s) * at(GAMMA))
        + (sigma - load(sigma0)) * at(LATER_VEGA)
        + c(by.t) * at(THETA)
}
