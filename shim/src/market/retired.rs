//! Replaced snapshots that readers still hold: their size, and where they are freed. Never: a computation.
//!
//! The market loop keeps each replaced snapshot and chain until no reader holds it, so that serving threads never free
//! one: a market is thousands of allocations.

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
    /// Adds a replaced chain.
    pub(super) fn add_chain(&mut self, chain: Arc<Chain>) {
        self.chains.push(chain);
    }

    /// Adds a replaced snapshot.
    pub(super) fn add_snapshot(&mut self, snapshot: Arc<Snapshot>) {
        self.snapshots.push(snapshot);
    }

    /// Frees snapshots that no response holds. Returns the chains that no response holds, so that their memory is
    /// reused, and the bytes of the other chains.
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
