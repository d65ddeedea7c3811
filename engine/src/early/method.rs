//! Data that accompany a premium: the method of the values of a block, and its premium on the next trading day. Never:
//! a table.

use crate::store::evidence::ValueMethod;
use kernel::lanes::{BLOCK, Block, Lanes, Mask};

/// Premium of a block on the next trading day.
#[derive(Clone, Copy, Debug)]
pub struct NextSession {
    /// The premium then.
    pub premium: Block,
    pub(super) exercised: u8,
}

/// Method of the values of a block.
#[derive(Clone, Copy, Debug)]
pub struct BlockMethod {
    /// Method of the lanes that are not exercised.
    pub(super) waiting: ValueMethod,
    pub(super) exercised: u8,
}

impl BlockMethod {
    /// The method of contracts that cannot be exercised early.
    #[must_use]
    pub fn european() -> Self {
        Self { waiting: ValueMethod::EuropeanStyle, exercised: 0 }
    }

    /// Method of the value of a lane.
    #[must_use]
    pub fn of(&self, lane: usize) -> ValueMethod {
        if self.exercised >> lane & 1 == 1 { ValueMethod::ExercisedNow } else { self.waiting }
    }
}

/// Data that a premium adds beside the numbers.
#[derive(Clone, Copy, Debug)]
pub struct PremiumAdded {
    /// On the next trading day.
    pub next: NextSession,
    /// Method of the values.
    pub method: BlockMethod,
}

impl PremiumAdded {
    pub(super) fn none() -> Self {
        let method = BlockMethod { waiting: ValueMethod::NeverPays, exercised: 0 };
        Self { next: NextSession::none(), method }
    }
}

impl NextSession {
    pub(super) fn none() -> Self {
        Self { premium: Block::splat(0.0), exercised: 0 }
    }

    /// The value then: `european` and the premium, or the exercise value where exercise is optimal.
    #[must_use]
    pub fn value(&self, european: Block, payoff: Block) -> Block {
        // in this order a value that is missing stays missing
        Block::select(mask(self.exercised), payoff, Block::splat(0.0).max(european + self.premium))
    }
}

/// The lanes of a mask.
pub(super) fn bits(mask: <Block as Lanes>::Mask) -> u8 {
    (0..BLOCK).fold(0, |bits, lane| bits | u8::from(mask.lane(lane)) << lane)
}

/// A mask of lanes.
pub(super) fn mask(bits: u8) -> <Block as Lanes>::Mask {
    let lanes = core::array::from_fn::<f64, BLOCK, _>(|lane| f64::from(bits >> lane & 1));
    Block::load(&lanes).gt(Block::splat(0.5))
}
