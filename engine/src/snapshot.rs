//! The finished market: a table of chains, its time and number, swapped whole. Never: mutation after publish.
#![warn(clippy::arithmetic_side_effects)]

pub mod saved;

use crate::store::chain::Chain;
use jiff::Timestamp;
use kernel::contract::Symbol;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One consistent market. A request holds one from its first byte to its last.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Counts up from 1; 0 is the empty market before the first pass.
    pub number: u64,
    /// The instant that it shows: the latest valuation time of its chains.
    pub time: Timestamp,
    chains: Vec<Arc<Chain>>,
    /// (root, chain), sorted: which chains list a root. Shared with the snapshots before that list the same.
    roots: Arc<[(Symbol, u32)]>,
    pending: Vec<Symbol>,
    /// Number of pending names without an answer from any vendor.
    unanswered: usize,
    is_complete: bool,
}

impl Snapshot {
    /// The market before the first pass: `pending` are the underlyings that are known but not yet computed.
    #[must_use]
    pub fn empty(pending: Vec<Symbol>) -> Self {
        Self::new(0, Vec::new(), pending).starting()
    }

    /// A market of finished chains, complete; `pending` are underlyings that are known but have no chain yet.
    #[must_use]
    pub fn new(number: u64, mut chains: Vec<Arc<Chain>>, mut pending: Vec<Symbol>) -> Self {
        chains.sort_by_key(|c| c.underlying);
        pending.sort_unstable();
        let time = chains.iter().map(|c| c.valued_at).max().unwrap_or(Timestamp::UNIX_EPOCH);
        let mut roots: Vec<(Symbol, u32)> = Vec::with_capacity(chains.len());
        for (i, chain) in (0u32..).zip(&chains) {
            roots.extend(chain.slices.roots().iter().map(|&root| (root, i)));
        }
        roots.sort_unstable();
        Self { number, time, chains, roots: roots.into(), pending, unanswered: 0, is_complete: true }
    }

    /// [`Snapshot::new`] of chains in ascending order. Where they list what this snapshot lists, only those that are
    /// not its own are read: a market is published dozens of times a second, a few chains new.
    #[must_use]
    pub fn next(&self, number: u64, chains: Vec<Arc<Chain>>, mut pending: Vec<Symbol>) -> Self {
        let Some(time) = self.time_of(&chains) else { return Self::new(number, chains, pending) };
        pending.sort_unstable();
        Self { number, time, chains, roots: Arc::clone(&self.roots), pending, unanswered: 0, is_complete: true }
    }

    /// The instant of `chains` that list the same underlyings and roots as this snapshot's; `None`: they do not, or the
    /// instant goes back.
    fn time_of(&self, chains: &[Arc<Chain>]) -> Option<Timestamp> {
        if self.chains.len() != chains.len() {
            return None;
        }
        let mut time = self.time;
        for (old, new) in self.chains.iter().zip(chains).filter(|(old, new)| !Arc::ptr_eq(old, new)) {
            let is_same = old.underlying == new.underlying && old.slices.roots() == new.slices.roots();
            if !is_same || new.valued_at < old.valued_at {
                return None;
            }
            time = time.max(new.valued_at);
        }
        Some(time)
    }

    /// Marks the snapshot as incomplete, until the feed has been read once: further names may follow.
    #[must_use]
    pub fn starting(self) -> Self {
        Self { is_complete: false, ..self }
    }

    /// Adds, to the pending names, those that have no chain because no vendor has answered for them yet.
    #[must_use]
    pub fn awaiting(mut self, unanswered: impl IntoIterator<Item = Symbol>) -> Self {
        let is_missing = |name: &Symbol| self.chain(*name).is_none() && !self.is_pending(*name);
        let missing: BTreeSet<Symbol> = unanswered.into_iter().filter(is_missing).collect();
        self.unanswered = self.unanswered.saturating_add(missing.len());
        self.pending.extend(missing);
        self.pending.sort_unstable();
        self
    }

    /// Every chain, by underlying.
    #[must_use]
    pub fn chains(&self) -> &[Arc<Chain>] {
        &self.chains
    }

    /// The chain of an underlying.
    #[must_use]
    pub fn chain(&self, underlying: Symbol) -> Option<&Arc<Chain>> {
        let i = self.chains.binary_search_by_key(&underlying, |c| c.underlying).ok()?;
        Some(&self.chains[i])
    }

    /// The chains that list a root (one, but for adjusted leftovers).
    pub fn chains_of_root(&self, root: Symbol) -> impl Iterator<Item = &Arc<Chain>> {
        let start = self.roots.partition_point(|&(r, _)| r < root);
        self.roots[start..].iter().take_while(move |&&(r, _)| r == root).map(|&(_, i)| &self.chains[i as usize])
    }

    /// True if the underlying is known but its first chain is still being computed.
    #[must_use]
    pub fn is_pending(&self, underlying: Symbol) -> bool {
        self.pending.binary_search(&underlying).is_ok()
    }

    /// True if the feed has been read once since the start: names that are neither here nor pending do not exist.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// True if every name that quotes are there for has a chain; what a vendor has not answered for yet may be missing.
    #[must_use]
    pub fn has_all_quoted(&self) -> bool {
        self.is_complete && self.pending.len() == self.unanswered
    }

    /// Underlyings that are known but have no chain yet.
    #[must_use]
    pub fn pending(&self) -> &[Symbol] {
        &self.pending
    }
}
