//! Premiums beyond the reach of expansions: at a lower and a higher volatility, and on the next trading day. Never: a
//! table.

use super::expansion::{ExpansionPoint, load, rounded};
use kernel::greeks::VolDerivatives;
use kernel::lanes::{BLOCK, Block, Lanes};

/// A volatility within this part of the curve's is no node: its coefficients would be differences of rounding.
const NODE_LEAST: f64 = 0.02;
/// Part of the curve's highest term by which the curve may be off: the next term is a tenth of the last.
const DOUBT_HIGHEST: f64 = 0.1;
/// Part of what the straight piece beyond its nodes adds by which the curve may be off: a premium bends there.
const DOUBT_BEYOND: f64 = 0.5;

/// The numbers of one block, at an expansion point. They change little while the spot moves by a tenth of a deviation:
/// what changes fast is in the expansions, and these are what is left.
#[derive(Clone, Debug)]
pub(super) struct VolPolynomial {
    pub(super) at: ExpansionPoint,
    /// Years to the same time on the next trading day.
    pub(super) step: f64,
    /// Distance of the lower and of the higher volatility, third and fourth coefficient of the premium towards it.
    sides: [[[f32; BLOCK]; 3]; 2],
    /// Value and vega on the next trading day, less those of now.
    later: [[f32; BLOCK]; 2],
    /// Lanes that are exercised on the next trading day.
    pub(super) later_exercised: u8,
}

/// The premium on the next trading day, volatility derivatives, and the lanes that are exercised then.
pub(super) type NextSessionChange = (VolDerivatives<Block>, u8);

impl VolPolynomial {
    /// `now` is the premium at the expansion point, `sides` that at a lower and a higher volatility.
    pub(super) fn new(
        at: ExpansionPoint,
        step: f64,
        now: &VolDerivatives<Block>,
        sides: [(Block, VolDerivatives<Block>); 2],
        later: Option<NextSessionChange>,
    ) -> Self {
        let centre = load(&at.sigma);
        let side = |(sigma, there): (Block, VolDerivatives<Block>)| {
            let c = |v: f64| Block::splat(v);
            let h = sigma - centre;
            let (a1, a2) = (now.vega * h, c(0.5) * now.volga * h * h);
            let miss = there.value - now.value - a1 - a2;
            let slope = there.vega * h - a1 - a2 - a2;
            let none = h.abs().lt(centre * NODE_LEAST) | !h.abs().lt(c(f64::INFINITY));
            let pick = |x: Block| Block::select(none, c(0.0), x);
            [Block::select(none, centre, h), pick(c(4.0) * miss - slope), pick(slope - c(3.0) * miss)].map(rounded)
        };
        let (then, later_exercised) = later.map_or((*now, 0), |(then, exercised)| (then, exercised));
        let later = [then.value - now.value, then.vega - now.vega].map(rounded);
        Self { at, step, sides: sides.map(side), later, later_exercised }
    }

    /// The centre of [`Self::by_sigma`].
    #[inline(always)]
    pub(super) fn centre(&self) -> Block {
        load(&self.at.sigma)
    }

    /// The premium as a function of volatility where it is `now` at the centre.
    #[inline(always)]
    pub(super) fn by_sigma(&self, now: &VolDerivatives<Block>) -> PremiumByVol {
        let centre = self.centre();
        let [down, up] = [&self.sides[0], &self.sides[1]].map(|side| [load(&side[0]), load(&side[1]), load(&side[2])]);
        let below = Block::select(down[0].lt(Block::splat(0.0)), down[0], -down[0]);
        PremiumByVol { centre, p: [now.value, now.vega, now.volga], up, down: [below, down[1], down[2]] }
    }

    /// Change of the premium at `s` and `sigma` until the next trading day, given the charm now.
    #[inline(always)]
    pub(super) fn until_later(&self, s: f64, sigma: Block, charm: Block) -> Block {
        let [value, vega] = [load(&self.later[0]), load(&self.later[1])];
        value + (sigma - self.centre()) * vega + charm * Block::splat((s - self.at.s) * self.step)
    }
}

/// The premium as a function of volatility, at one spot and time: through value, slope and bend at the expansion
/// point's volatility and value and slope at a lower and a higher one, and straight beyond those.
#[derive(Clone, Copy, Debug)]
pub struct PremiumByVol {
    centre: Block,
    /// Value, first and second derivative at the centre.
    p: [Block; 3],
    /// Distance, third and fourth coefficient on either side.
    up: [Block; 3],
    down: [Block; 3],
}

impl PremiumByVol {
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

    /// Value and derivatives in volatility.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, sigma: Block) -> VolDerivatives<Block> {
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
        VolDerivatives {
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
        c(DOUBT_HIGHEST) * u * u * a4.abs() + c(DOUBT_BEYOND) * (beyond * self.at(sigma).vega).abs()
    }
}
