//! Where a block of strikes is valued, and how near that is to an expansion point. Never: a premium.

use super::expansion::{ExpansionPoint, load, rounded};
use super::valuation::Valuation;
use kernel::contract::Right;
use kernel::dividends::Terms;
use kernel::lanes::{BLOCK, Block, Lanes, Mask};

/// Rates may move by this much over the time to expiry.
const RATE_MOVE: f64 = 2e-4;
/// The time to expiry by this fraction of itself.
const TIME_MOVE: f64 = 0.01;
/// How much instants may differ that are the same, years.
pub(super) const SAME_DATE: f64 = 1e-7;

/// Where a block is valued.
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

    /// True if volatilities are within the part `by` of those of an expansion point.
    pub(super) fn still(&self, at: &ExpansionPoint, by: f64) -> bool {
        let before = load(&at.sigma);
        let moved = (self.asked - before).abs().gt(before * by);
        let new = before.abs().lt(Block::splat(f64::INFINITY));
        let asked = self.asked.abs().lt(Block::splat(f64::INFINITY));
        !(asked & (moved | !new)).any()
    }

    /// True if time and rates are near those of an expansion point, `times` as far as usual.
    pub(super) fn near(&self, at: &ExpansionPoint, times: f64) -> bool {
        let Terms { t, r, b, .. } = *self.here.terms;
        let elapsed = at.t - t;
        elapsed >= -SAME_DATE
            && elapsed <= times * TIME_MOVE * t
            && (r - at.r).abs().max((b - at.b).abs()) * t <= times * RATE_MOVE
    }

    /// How far an exercise boundary may have moved since an expansion point: it follows volatility and time.
    pub(super) fn drift(&self, at: &ExpansionPoint) -> f64 {
        let t = self.here.terms.t;
        let before = load(&at.sigma);
        let moved = (self.asked - before).abs() / before;
        let most = (0..BLOCK).fold(0.0, |most: f64, lane| most.max(moved.lane(lane)));
        self.deviation * (most + (at.t - t).max(0.0) / t)
    }

    pub(super) fn away(&self, at: &ExpansionPoint) -> f64 {
        (self.here.s - at.s).abs()
    }

    pub(super) fn expansion_point(&self, s: f64) -> ExpansionPoint {
        ExpansionPoint::new(s, self.here.terms, self.sigma)
    }
}
