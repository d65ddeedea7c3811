//! Counts of the computation of a chain.

use super::stages::StageTimes;
use crate::calibrate::Drop;
use crate::early::EarlyWork;
use kernel::american::Counts;

/// Counts of the computation of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainReport {
    /// Slices computed.
    pub slices: u32,
    /// Contracts listed, settled ones left out.
    pub contracts: u32,
    /// Contracts with Greeks.
    pub priced: u32,
    /// The calibration found no forward because calls and puts contradict each other. It says so of a whole name;
    /// nothing follows from it where some contract is priced all the same.
    pub contradictory_pairs: bool,
    /// Dropped quotes by [`Drop`].
    pub dropped: [u32; Drop::ALL.len()],
    /// The most dividends in the life of an American expiry that has more than can be counted, and is valued without
    /// any; 0: no expiry has.
    pub dividends_refused: u32,
    /// Implied volatilities that needed a search in a bracket.
    pub searched: u32,
    /// What bringing early exercise up to date took.
    pub early: EarlyWork,
    /// How long each stage took; all 0 without a clock.
    pub stages: StageTimes,
    /// The tables of early exercise that the chain holds.
    pub tables: Counts,
    /// Bytes that the chain keeps from one pass to the next: tables and expansions of early exercise, ladders,
    /// volatilities.
    pub state_bytes: u64,
}

impl ChainReport {
    /// This report of a book's last pass, with the work of the passes before it.
    pub(super) fn after(mut self, before: &Self) -> Self {
        self.searched += before.searched;
        self.early += before.early;
        self.stages.iter_mut().zip(before.stages).for_each(|(sum, stage)| *sum += stage);
        self
    }
}
