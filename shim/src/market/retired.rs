//! What was published and is not any more, for as long as a reader holds it: how much that is, and where it is freed.
//! Never: a computation.
//!
//! The market loop keeps each replaced snapshot and chain until no one else holds it, so that serving threads
//! never free it: a market is thousands of allocations.

use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use std::sync::Arc;

/// Replaced snapshots and chains.
#[derive(Debug, Default)]
pub(super) struct Retired {
    snapshots: Vec<Arc<Snapshot>>,
    chains: Vec<Arc<Chain>>,
}

impl Retired {
    /// Takes a chain that another one has replaced.
    pub(super) fn add_chain(&mut self, chain: Arc<Chain>) {
        self.chains.push(chain);
    }

    /// Takes a snapshot that is published no longer.
    pub(super) fn add_snapshot(&mut self, snapshot: Arc<Snapshot>) {
        self.snapshots.push(snapshot);
    }

    /// Frees snapshots that no response holds. Returns the chains that no response holds, whose memory serves new ones,
    /// and how many bytes the other chains have.
    pub(super) fn sweep(&mut self) -> (Vec<Chain>, u64) {
        // unpublished data cannot be acquired again: a count of one stays one
        self.snapshots.retain(|snapshot| Arc::strong_count(snapshot) > 1);
        let (mut unread, mut read) = (Vec::new(), Vec::new());
        for chain in self.chains.drain(..) {
            match Arc::try_unwrap(chain) {
                Ok(chain) => unread.push(chain),
                Err(chain) => read.push(chain),
            }
        }
        self.chains = read;
        (unread, self.chains.iter().map(|chain| chain.bytes() as u64).sum())
    }
}
