//! Distance that a spot may move before some strike of a block meets its exercise boundary. Never: a premium.

use super::settings::EXPANSION;
use kernel::contract::Right;
use kernel::greeks::Greeks;
use kernel::lanes::{BLOCK, Block, Lanes};

/// The spots around an expansion point at which the same lanes are exercised, currency per share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BoundaryDistance {
    low: f64,
    high: f64,
}

impl BoundaryDistance {
    /// No spot.
    pub(super) fn nowhere() -> Self {
        Self { low: f64::INFINITY, high: f64::NEG_INFINITY }
    }

    /// Every spot.
    pub(super) fn everywhere() -> Self {
        Self { low: f64::NEG_INFINITY, high: f64::INFINITY }
    }

    /// From the boundaries of the lanes; where one is not known, from the value: the time value of a lane that waits
    /// vanishes like ½·gamma·distance², and a lane that is exercised is at least as far from its boundary as the next
    /// one that is exercised too.
    pub(super) fn new(right: Right, s: f64, k: Block, boundary: Block, greeks: &Greeks<Block>, exercised: u8) -> Self {
        let payoff = (Block::splat(s) - k) * Block::splat(right.phi());
        let guessed = ((greeks.value - payoff) * 2.0 / greeks.gamma).sqrt();
        let is = |lane: usize| exercised >> lane & 1 == 1;
        let mut free = Self::everywhere();
        for lane in 0..BLOCK {
            // exercise lies above the boundary of a call, and below that of a put
            let below = (right == Right::Call) == is(lane);
            let known = boundary.lane(lane);
            let away = if known.is_finite() {
                (s - known).abs()
            } else if !is(lane) {
                guessed.lane(lane)
            } else {
                let beside = if right == Right::Put { lane.checked_sub(1) } else { Some(lane + 1) };
                let beside = beside.filter(|&l| l < BLOCK && is(l));
                beside.map_or(0.0, |l| s * (k.lane(lane) / k.lane(l) - 1.0).abs())
            };
            // a distance that is no number changes nothing
            if below {
                free.low = free.low.max(s - away);
            } else {
                free.high = free.high.min(s + away);
            }
        }
        free
    }

    /// True if `s` is still far from a boundary against its distance from the expansion point at `from`; boundaries
    /// have moved by `drift` at most.
    pub(super) fn is_near(&self, from: f64, s: f64, drift: f64) -> bool {
        let reach = |distance: f64| EXPANSION.on_the_way * distance - drift;
        if s < from { from - s <= reach(from - self.low) } else { s - from <= reach(self.high - from) }
    }

    /// True if no boundary lies between the ends nor within `margin` of them.
    pub(super) fn covers(&self, low: f64, high: f64, margin: f64) -> bool {
        self.low + margin <= low && high + margin <= self.high
    }
}
