//! Counts of what bringing early exercise up to date took: which blocks the market had left and why, what was read and
//! solved for them. Never: a value.

use kernel::work::Work;

/// The reason why a block is taken again: the first in this order that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Nothing is remembered, or values of a lower quality.
    New,
    /// A volatility has moved.
    Volatility,
    /// Time has passed.
    Time,
    /// The rate has moved.
    Rate,
    /// The borrow rate has moved.
    Borrow,
    /// The spot has moved.
    Spot,
    /// An exercise boundary has come near.
    Boundary,
    /// The next trading day is another one.
    NextDay,
}

impl Left {
    /// Every reason.
    pub const ALL: [Self; 8] =
        [Self::New, Self::Volatility, Self::Time, Self::Rate, Self::Borrow, Self::Spot, Self::Boundary, Self::NextDay];

    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Volatility => "volatility",
            Self::Time => "time",
            Self::Rate => "rate",
            Self::Borrow => "borrow",
            Self::Spot => "spot",
            Self::Boundary => "boundary",
            Self::NextDay => "next_day",
        }
    }
}

/// Work of bringing early exercise up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlyWork {
    /// Blocks that were looked at and kept.
    pub kept: u64,
    /// Blocks that were taken again, by [`Left`].
    pub left: [u64; Left::ALL.len()],
    /// Blocks that were taken again by setting a second expansion point.
    pub second_points: u64,
    /// Blocks whose premium at other volatilities was taken again, alone or with the rest.
    pub by_volatility: u64,
    /// Pricers built again because time, rates or dividends had left their tables.
    pub rebuilt: u64,
    /// Pricers widened because volatilities or strikes had left their tables.
    pub widened: u64,
    /// Reads and solves.
    pub work: Work,
    /// Time by the clock of the pass, nanoseconds.
    pub nanos: u64,
}

impl EarlyWork {
    /// Blocks that were taken again.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.left.iter().sum()
    }
}

impl core::ops::AddAssign for EarlyWork {
    fn add_assign(&mut self, other: Self) {
        self.kept += other.kept;
        self.left.iter_mut().zip(other.left).for_each(|(sum, n)| *sum += n);
        self.second_points += other.second_points;
        self.by_volatility += other.by_volatility;
        self.rebuilt += other.rebuilt;
        self.widened += other.widened;
        self.work += other.work;
        self.nanos += other.nanos;
    }
}
