//! Reads the status: counts of a snapshot, and its names with problems. Never: a format.

use super::facts::MarketFacts;
use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Uncomputed};
use engine::store::doubt::Doubt;
use kernel::contract::{Style, Symbol, roots::is_adjusted};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of listed names of one kind; all are counted.
const NAMES_LISTED: usize = 100;

/// The status at one moment, to be written as JSON or as metrics.
pub(super) struct Reading {
    pub(super) facts: Arc<MarketFacts>,
    pub(super) simulated: bool,
    pub(super) uptime: Duration,
    /// Time since the last turn of the market loop, seconds.
    pub(super) loop_age_s: f64,
    /// Bytes of old snapshots that readers hold.
    pub(super) old_snapshot_bytes: u64,
    pub(super) snapshot_number: u64,
    /// Age of the snapshot, seconds.
    pub(super) snapshot_age_s: f64,
    pub(super) counts: SnapshotCounts,
    pub(super) rss_bytes: Option<usize>,
}

/// Counts of a snapshot.
pub(super) struct SnapshotCounts {
    pub(super) underlyings: usize,
    pub(super) expiries: usize,
    pub(super) contracts: u64,
    pub(super) pending: usize,
    pub(super) preliminary: usize,
    /// Number of names without Greeks, by [`Uncomputed`], and the first of them.
    pub(super) uncomputed: [usize; Uncomputed::ALL.len()],
    pub(super) uncomputed_names: Vec<(Symbol, Uncomputed)>,
    /// Number of names whose options imply a different spot than the published one, and the first of them.
    pub(super) spot_off: usize,
    pub(super) spot_off_names: Vec<Symbol>,
    /// Number of names whose quotes contradict an assumption, and the first of them.
    pub(super) doubted: usize,
    pub(super) doubted_names: Vec<(Symbol, Doubt)>,
    /// Number of names most of whose quotes do not hold their value, and the first of them.
    pub(super) quotes_missed: usize,
    pub(super) quotes_missed_names: Vec<Symbol>,
    /// Number of names with American options and no source of dividends, and the first of them.
    pub(super) dividends_unknown: usize,
    pub(super) dividends_unknown_names: Vec<Symbol>,
    /// Number of names with mostly quotes that are too old compared with the newest ones, and the first of them.
    pub(super) mostly_stale: usize,
    pub(super) mostly_stale_names: Vec<Symbol>,
    /// Number of names valued at the implied spot because there is no published one, and the first of them.
    pub(super) spot_implied: usize,
    pub(super) spot_implied_names: Vec<Symbol>,
    /// Number of adjusted roots valued from their deliverable, number without one, and the first of the latter.
    pub(super) adjusted_valued: usize,
    pub(super) adjusted_without_terms: usize,
    pub(super) adjusted_without_terms_roots: Vec<Symbol>,
}

impl SnapshotCounts {
    /// Counts a snapshot.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let chains = snapshot.chains();
        let off = |chain: &&Arc<Chain>| chain.spot_off;
        let doubted = || chains.iter().filter_map(|chain| Some((chain.underlying, chain.doubt?)));
        let missed = |chain: &&Arc<Chain>| chain.firm.are_contradicted();
        let unknown = |chain: &&Arc<Chain>| {
            let is_american = chain.slices.iter().any(|slice| slice.style == Style::American);
            is_american && chain.evidence.as_ref().is_some_and(|evidence| !evidence.dividends_known)
        };
        let stale = |chain: &&Arc<Chain>| chain.evidence.as_ref().is_some_and(|evidence| evidence.is_mostly_stale());
        let implied = |chain: &&Arc<Chain>| chain.spot_is_implied();
        let uncomputed = || chains.iter().filter_map(|chain| Some((chain.underlying, chain.uncomputed?)));
        let adjusted = |has_terms: bool| -> BTreeSet<Symbol> {
            let slices =
                chains.iter().flat_map(|chain| &chain.slices).filter(|slice| slice.adjusted && is_adjusted(slice.root));
            slices.filter(|slice| slice.disc_rate.is_finite() == has_terms).map(|slice| slice.root).collect()
        };
        let without_terms = adjusted(false);
        Self {
            adjusted_valued: adjusted(true).len(),
            adjusted_without_terms: without_terms.len(),
            adjusted_without_terms_roots: without_terms.into_iter().take(NAMES_LISTED).collect(),
            underlyings: chains.len(),
            expiries: chains.iter().map(|chain| chain.slices.len()).sum(),
            contracts: chains.iter().map(|chain| u64::from(chain.rows())).sum(),
            // 0 must mean that the whole market is computed, and further names may still appear
            pending: snapshot.pending().len().max(usize::from(!snapshot.is_complete())),
            preliminary: chains.iter().filter(|chain| chain.preliminary).count(),
            uncomputed: Uncomputed::ALL.map(|reason| uncomputed().filter(|&(_, of)| of == reason).count()),
            uncomputed_names: uncomputed().take(NAMES_LISTED).collect(),
            spot_off: chains.iter().filter(off).count(),
            spot_off_names: chains.iter().filter(off).map(|chain| chain.underlying).take(NAMES_LISTED).collect(),
            doubted: doubted().count(),
            doubted_names: doubted().take(NAMES_LISTED).collect(),
            quotes_missed: chains.iter().filter(missed).count(),
            quotes_missed_names: chains.iter().filter(missed).map(|c| c.underlying).take(NAMES_LISTED).collect(),
            dividends_unknown: chains.iter().filter(unknown).count(),
            dividends_unknown_names: chains.iter().filter(unknown).map(|c| c.underlying).take(NAMES_LISTED).collect(),
            mostly_stale: chains.iter().filter(stale).count(),
            mostly_stale_names: chains.iter().filter(stale).map(|c| c.underlying).take(NAMES_LISTED).collect(),
            spot_implied: chains.iter().filter(implied).count(),
            spot_implied_names: chains.iter().filter(implied).map(|c| c.underlying).take(NAMES_LISTED).collect(),
        }
    }
}
