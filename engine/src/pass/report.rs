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
    /// True if the calibration found no forward because calls and puts contradict each other. Without effect if a
    /// contract is priced all the same.
    pub contradictory_pairs: bool,
    /// Dropped quotes by [`Drop`].
    pub dropped: [u32; Drop::ALL.len()],
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
