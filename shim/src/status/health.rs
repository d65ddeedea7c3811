//! The body of `/health`: its members, in the order in which they are written. Never: a computation.

use super::facts::{MarketFacts, PassFacts, RateFacts};
use super::reading::SnapshotCounts;
use super::spelling::{by_name, three_decimals, three_decimals_or_null};
use engine::store::chain::Uncomputed;
use engine::store::doubt::Doubt;
use kernel::contract::Symbol;
use serde::Serialize;
use sources::facts::{OverrideFacts, RecordFacts, SourceFacts, StateFacts, Used};
use std::collections::BTreeMap;

/// The body of `/health`.
#[derive(Serialize)]
pub(super) struct Health<'a> {
    pub(super) status: &'static str,
    pub(super) version: &'static str,
    /// Name of the daemon, given by the program that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instance: Option<&'a str>,
    pub(super) uptime_s: u64,
    pub(super) feed: &'a str,
    /// Description of the market clock.
    pub(super) clock: String,
    /// Status of each feed.
    pub(super) feeds: Vec<FeedHealth<'a>>,
    pub(super) simulated: bool,
    pub(super) market: &'static str,
    pub(super) snapshot_time: Option<String>,
    pub(super) snapshot_number: u64,
    #[serde(serialize_with = "three_decimals_or_null")]
    pub(super) snapshot_age_s: Option<f64>,
    pub(super) underlyings: usize,
    pub(super) pending: usize,
    pub(super) preliminary: usize,
    /// The former name of `preliminary`, for one release.
    pub(super) rough: usize,
    pub(super) uncomputed_count: usize,
    /// The first of them.
    pub(super) uncomputed: Vec<UncomputedName<'a>>,
    pub(super) spot_off: NamesHealth<'a>,
    pub(super) doubted_count: usize,
    /// The first of them.
    pub(super) doubted: Vec<DoubtedName<'a>>,
    pub(super) quotes_missed: NamesHealth<'a>,
    /// The discount curve in force; null before the first pass.
    pub(super) rates: Option<&'a RateFacts>,
    pub(super) dividends_unknown: NamesHealth<'a>,
    pub(super) mostly_stale: NamesHealth<'a>,
    pub(super) spot_implied: NamesHealth<'a>,
    pub(super) adjusted_roots: AdjustedRoots<'a>,
    pub(super) expiries: usize,
    pub(super) contracts: u64,
    pub(super) contracts_priced: u64,
    pub(super) failing: usize,
    pub(super) files_unusable: usize,
    pub(super) restored: usize,
    /// Status of the recorder; null: not recording.
    pub(super) record: Option<RecordHealth<'a>>,
    /// Status of the state folder; null: none.
    pub(super) state: Option<StateHealth<'a>>,
    /// Number of panics since the start, by thread; the threads continue.
    pub(super) thread_faults: BTreeMap<&'static str, u64>,
    /// Overrides in force; null: no file of overrides.
    pub(super) overrides: Option<OverridesHealth<'a>>,
    #[serde(serialize_with = "three_decimals")]
    pub(super) loop_age_s: f64,
    pub(super) pass: PassFacts,
    pub(super) quotes: Quotes<'a>,
    pub(super) rss_bytes: Option<usize>,
    pub(super) threads: usize,
}

/// Status of a feed.
#[derive(Serialize)]
pub(super) struct FeedHealth<'a> {
    feed: &'a str,
    state: &'static str,
    /// Delay of the quotes, seconds; 0: real time.
    delay_s: u64,
    #[serde(serialize_with = "three_decimals_or_null")]
    last_success_s: Option<f64>,
    requests: u64,
    #[serde(serialize_with = "by_name")]
    failures: &'a [(&'static str, u64)],
    connections: usize,
    superseded: u64,
    /// Items of the feed that are in use.
    used: UsedHealth,
}

/// Numbers of items of a feed that are in use.
#[derive(Serialize)]
struct UsedHealth {
    quotes: usize,
    spots: usize,
    dividends: usize,
    rates: bool,
    days: bool,
}

/// Status of the recorder.
#[derive(Serialize)]
pub(super) struct RecordHealth<'a> {
    folder: &'a str,
    /// Number of quotes and prices on the disk.
    written: u64,
    dropped: u64,
    bytes: u64,
    failing: bool,
}

impl<'a> RecordHealth<'a> {
    /// Status of the recorder.
    pub(super) fn new(facts: &'a RecordFacts) -> Self {
        let RecordFacts { folder, written, dropped, bytes, failing } = facts;
        Self { folder, written: *written, dropped: *dropped, bytes: *bytes, failing: *failing }
    }
}

/// Status of the state folder.
#[derive(Serialize)]
pub(super) struct StateHealth<'a> {
    folder: &'a str,
    /// Time of the last save for a restart; null: not since the start.
    saved_at: Option<String>,
    /// True if the last write failed, or takes longer than ten seconds.
    failing: bool,
}

impl<'a> StateHealth<'a> {
    /// Status of the state folder.
    pub(super) fn new(facts: &'a StateFacts) -> Self {
        let StateFacts { folder, saved_at, failing } = facts;
        Self { folder, saved_at: saved_at.map(|at| format!("{at:.3}")), failing: *failing }
    }
}

/// Status of the file of overrides.
#[derive(Serialize)]
pub(super) struct OverridesHealth<'a> {
    file: &'a str,
    #[serde(serialize_with = "by_name")]
    applied: &'a [(&'static str, u64)],
    refused: u64,
    unusable: bool,
    /// The first of them.
    errors: &'a [String],
}

impl<'a> OverridesHealth<'a> {
    /// Status of the file of overrides.
    pub(super) fn new(facts: &'a OverrideFacts) -> Self {
        let OverrideFacts { file, applied, refused, is_unusable, errors } = facts;
        Self { file, applied, refused: *refused, unusable: *is_unusable, errors }
    }
}

/// A name without Greeks.
#[derive(Serialize)]
pub(super) struct UncomputedName<'a> {
    underlying: &'a str,
    reason: &'static str,
}

/// A name whose quotes contradict an assumption.
#[derive(Serialize)]
pub(super) struct DoubtedName<'a> {
    underlying: &'a str,
    doubt: &'static str,
}

impl<'a> DoubtedName<'a> {
    /// A name and what is doubted of it.
    pub(super) fn new(name: &'a Symbol, doubt: Doubt) -> Self {
        Self { underlying: name.as_str(), doubt: doubt.name() }
    }
}

/// Names with some property: their number, and the first of them.
#[derive(Serialize)]
pub(super) struct NamesHealth<'a> {
    count: usize,
    /// The first of them.
    underlyings: Vec<&'a str>,
}

impl<'a> NamesHealth<'a> {
    /// A count, and the first names.
    pub(super) fn new(count: usize, names: &'a [Symbol]) -> Self {
        Self { count, underlyings: names.iter().map(Symbol::as_str).collect() }
    }
}

/// Counts of the records of the feeds.
#[derive(Serialize)]
pub(super) struct Quotes<'a> {
    received: u64,
    #[serde(serialize_with = "by_name")]
    dropped: &'a [(&'static str, u64)],
}

impl<'a> FeedHealth<'a> {
    /// Status of a feed.
    pub(super) fn new(facts: &'a SourceFacts) -> Self {
        let Used { quotes, spots, dividends, rates, days } = facts.used;
        Self {
            feed: &facts.feed,
            state: facts.state.name(),
            delay_s: facts.delay.as_secs(),
            last_success_s: facts.last_success.map(|age| age.as_secs_f64()),
            requests: facts.requests,
            failures: &facts.failures,
            connections: facts.connections,
            superseded: facts.superseded,
            used: UsedHealth { quotes, spots, dividends, rates, days },
        }
    }
}

impl<'a> UncomputedName<'a> {
    /// A name, and why it has no Greeks.
    pub(super) fn new(name: &'a Symbol, reason: Uncomputed) -> Self {
        Self { underlying: name.as_str(), reason: reason.name() }
    }
}

/// Counts of roots with an adjusted deliverable.
#[derive(Serialize)]
pub(super) struct AdjustedRoots<'a> {
    valued: usize,
    without_terms: usize,
    /// The first roots that are not valued because their deliverable is unknown.
    roots: Vec<&'a str>,
}

impl<'a> AdjustedRoots<'a> {
    /// Counts of a snapshot.
    pub(super) fn of(counts: &'a SnapshotCounts) -> Self {
        Self {
            valued: counts.adjusted_valued,
            without_terms: counts.adjusted_without_terms,
            roots: counts.adjusted_without_terms_roots.iter().map(Symbol::as_str).collect(),
        }
    }
}

impl<'a> Quotes<'a> {
    /// Counts as of the last pass.
    pub(super) fn of(facts: &'a MarketFacts) -> Self {
        Self { received: facts.quotes_received, dropped: &facts.quotes_dropped }
    }
}
