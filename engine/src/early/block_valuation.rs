//! Inputs of the valuation of a block of strikes, and their distance from an expansion point. Never: a premium.

use super::expansion::{ExpansionPoint, load, rounded};
use super::validity::MarketLimits;
use super::valuation::Valuation;
use super::work::Left;
use kernel::contract::Right;
use kernel::dividends::SET_BACK;
use kernel::lanes::{BLOCK, Block, Lanes, Mask};

/// Inputs of the valuation of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockValuation<'a> {
    pub(super) here: &'a Valuation<'a>,
    pub(super) right: Right,
    pub(super) k: Block,
    /// In single precision: what an expansion point says it was taken at.
    pub(super) sigma: [f32; BLOCK],
    /// The volatilities as they are asked for.
    asked: Block,
    /// The least of them, the standard deviation of the spot to expiry with it, currency per share.
    pub(super) deviation: f64,
}

impl<'a> BlockValuation<'a> {
    /// `None`: no lane has a volatility.
    pub(super) fn new(here: &'a Valuation<'a>, right: Right, k: Block, sigma: Block) -> Option<Self> {
        let known = sigma.abs().lt(Block::splat(f64::INFINITY));
        if !known.any() {
            return None;
        }
        let vols = Block::select(known, sigma, Block::splat(f64::INFINITY));
        let least = (0..BLOCK).fold(f64::INFINITY, |least, lane| least.min(vols.lane(lane)));
        let deviation = here.s * least * here.terms.t.sqrt();
        Some(Self { here, right, k, sigma: rounded(sigma), asked: sigma, deviation })
    }

    /// The quantity, other than the spot, that has left the limits around an expansion point; `None`: none has.
    pub(super) fn left_besides_spot(&self, at: &ExpansionPoint, limits: &MarketLimits) -> Option<Left> {
        let t = self.here.terms.t;
        let elapsed = at.t - t;
        let by = if limits.scales { at.elapsed(self.here.terms) } else { at.unscaled(self.here.terms) };
        if !self.vols_are_near(at, limits.sigma, by.root) {
            Some(Left::Volatility)
        } else if elapsed < -SET_BACK || elapsed > limits.time * t && !by.is_scaled() {
            Some(Left::Time)
        } else if by.dr.abs() * t > limits.rates {
            Some(Left::Rate)
        } else if by.db.abs() * t > limits.rates {
            Some(Left::Borrow)
        } else {
            None
        }
    }

    /// The quantity that has left the limits around an expansion point; `None`: none has.
    pub(super) fn left(&self, at: &ExpansionPoint, limits: &MarketLimits) -> Option<Left> {
        let spot = || (self.away(at) > limits.spot * self.deviation).then_some(Left::Spot);
        self.left_besides_spot(at, limits).or_else(spot)
    }

    /// True if no volatility has moved by more, over the time of which the part with the root `root` is left.
    fn vols_are_near(&self, at: &ExpansionPoint, by: f64, root: f64) -> bool {
        let before = load(&at.sigma);
        let moved = (self.asked * root - before).abs().gt(before * by);
        let new = before.abs().lt(Block::splat(f64::INFINITY));
        let asked = self.asked.abs().lt(Block::splat(f64::INFINITY));
        !(asked & (moved | !new)).any()
    }

    /// Bound on the move of an exercise boundary since an expansion point: it follows volatility and time.
    pub(super) fn drift(&self, at: &ExpansionPoint) -> f64 {
        let t = self.here.terms.t;
        let before = load(&at.sigma);
        let moved = (self.asked - before).abs() / before;
        let most = (0..BLOCK).fold(0.0, |most: f64, lane| most.max(moved.lane(lane)));
        self.deviation * (most + (at.t - t).max(0.0) / t)
    }

    /// Distance of the spot from that of an expansion point, currency per share.
    pub(super) fn away(&self, at: &ExpansionPoint) -> f64 {
        (self.here.s - at.s).abs()
    }

    pub(super) fn expansion_point(&self, s: f64) -> ExpansionPoint {
        ExpansionPoint::new(s, self.here.terms, self.sigma)
    }
}
