//! One underlying to compute: inputs of its pass, and counts and times of its computation. Never: a computation.

use crate::early::EarlyWork;
use crate::rates::table::RateTable;
use crate::store::book::{Book, BookSlice};
use crate::store::columns::SpareBlocks;
use crate::store::drop_reason::DropReason;
use crate::store::overrides::Overrides;
use crate::store::quotes::ChainQuotes;
use jiff::Timestamp;
use kernel::american::{Counts, SharedBoundaries};
use kernel::calendar::Calendar;
use kernel::quality::Quality;
use std::sync::atomic::{AtomicU64, Ordering};

/// Inputs common to all chains of a pass.
#[derive(Clone, Copy, Debug)]
pub struct MarketData<'a> {
    /// Sessions and settlement instants.
    pub calendar: &'a Calendar,
    /// Discount curves by source.
    pub rates: &'a RateTable,
}

/// A name to compute: book, instant and quality.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task<'a> {
    pub(super) market: MarketData<'a>,
    pub(super) book: &'a Book,
    pub(super) at: Timestamp,
    pub(super) quality: Quality,
    /// True if the chain shows its quotes.
    pub(super) quotes: bool,
    pub(super) overrides: &'a Overrides,
    pub(super) spare: &'a SpareBlocks,
    pub(super) shared: &'a SharedBoundaries,
    /// Clock that stages are timed by, nanoseconds since any instant.
    pub(super) clock: fn() -> u64,
}

impl Task<'_> {
    /// Slices that have not settled; they form the chain.
    pub(super) fn live(&self) -> impl Iterator<Item = &BookSlice> + Clone {
        self.book.slices.iter().filter(|slice| slice.settles_at > self.at)
    }

    /// Quotes of the slices that have not settled; `None` if the chain does not show quotes.
    pub(super) fn chain_quotes(&self) -> Option<Box<ChainQuotes>> {
        self.quotes.then(|| Box::new(ChainQuotes::of(self.live())))
    }
}

/// Counts of the computation of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainReport {
    /// Slices computed.
    pub slices: u32,
    /// Contracts listed, settled ones left out.
    pub contracts: u32,
    /// Contracts with Greeks.
    pub priced: u32,
    /// True if the calibration found no forward because calls and puts contradict each other. Without effect if a
    /// contract is priced all the same.
    pub contradictory_pairs: bool,
    /// Dropped quotes by [`DropReason`].
    pub dropped: [u32; DropReason::ALL.len()],
    /// Greatest number of dividends before an American expiry that has too many and is valued without any; 0: none has.
    pub dividends_refused: u32,
    /// Implied volatilities that needed a search in a bracket.
    pub searched: u32,
    /// Work of early-exercise updates.
    pub early: EarlyWork,
    /// Time of each stage; all 0 without a clock.
    pub stages: StageTimes,
    /// Tables of early exercise that the chain holds.
    pub tables: Counts,
    /// Bytes of the chain's state between passes: tables and expansions of early exercise, ladders, volatilities.
    pub state_bytes: u64,
}

impl ChainReport {
    /// Adds the work of earlier passes to the report of a book's last pass.
    pub(super) fn after(mut self, before: &Self) -> Self {
        self.searched += before.searched;
        self.early += before.early;
        self.stages.iter_mut().zip(before.stages).for_each(|(sum, stage)| *sum += stage);
        self
    }
}

/// A stage of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Quotes to forward, borrow and volatilities, without early exercise.
    Calibrate,
    /// Update of early exercise.
    Early,
    /// Curves.
    Surface,
    /// Values and Greeks, without early exercise.
    Price,
}

impl Stage {
    /// Every stage, in their order.
    pub const ALL: [Self; 4] = [Self::Calibrate, Self::Early, Self::Surface, Self::Price];

    /// Name of the stage in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Calibrate => "calibrate",
            Self::Early => "early_exercise",
            Self::Surface => "surface",
            Self::Price => "price",
        }
    }
}

/// Nanoseconds that threads spent in each stage, by [`Stage`].
pub type StageTimes = [u64; Stage::ALL.len()];

/// Nanoseconds of steps that run in parallel on several threads.
#[derive(Debug, Default)]
pub(super) struct SideTimes {
    /// Sum over all steps.
    steps: AtomicU64,
    /// Elapsed until the last step ended.
    wall: AtomicU64,
}

impl SideTimes {
    pub(super) fn step(&self, nanos: u64) {
        self.steps.fetch_add(nanos, Ordering::Relaxed);
    }

    pub(super) fn wall(&self, nanos: u64) {
        self.wall.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Nanoseconds of all threads in a piece of work with these steps, given its elapsed time `whole`.
    pub(super) fn spent(self, whole: u64) -> u64 {
        whole.saturating_sub(self.wall.into_inner()) + self.steps.into_inner()
    }
}
