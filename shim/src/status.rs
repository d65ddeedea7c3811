//! Status of the daemon: `/health` and `/metrics`. The market loop replaces the facts after each pass, and requests
//! read them. Never: a clock of its own, a lock.

mod facts;
mod health;
pub mod ledger;
mod prometheus;
mod reading;
mod spelling;

use arc_swap::ArcSwap;
use engine::snapshot::Snapshot;
pub use facts::{MarketFacts, PassFacts, RateFacts};
use health::{
    AdjustedRoots, DoubtedName, FeedHealth, Health, NamesHealth, OverridesHealth, Quotes, RecordHealth, StateHealth,
    UncomputedName,
};
use host::clock::MarketClock;
use host::threads;
use jiff::tz::TimeZone;
use reading::{Reading, SnapshotCounts};
use sources::facts::SourceFacts;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Age above which a snapshot of an open market is stale, seconds: refreshes are at most 5 s apart.
const STALE_AFTER_S: f64 = 15.0;

/// Time without a turn after which the market loop hangs, seconds: a batch of a cold market takes seconds.
const HANGS_AFTER_S: f64 = 60.0;
/// Constants of the running daemon, and the facts of its last pass.
pub struct Status {
    /// The feed, as given to the program.
    pub feed: String,
    /// True if the market is simulated.
    pub simulated: bool,
    /// Number of threads of the program.
    pub threads: usize,
    /// The clock of the market.
    pub clock: MarketClock,
    /// Time since the start.
    pub uptime: Box<dyn Fn() -> Duration + Send + Sync>,
    /// Time zone of shown times.
    pub zone: TimeZone,
    /// Name of the daemon, given by the program that started it.
    pub instance: Option<String>,
    facts: ArcSwap<MarketFacts>,
    /// Uptime at the last turn of the market loop, milliseconds.
    turned_ms: AtomicU64,
    /// Bytes of old snapshots that readers hold.
    old_snapshot_bytes: AtomicU64,
}

impl Status {
    /// The status before the first pass.
    #[must_use]
    pub fn new(
        feed: String,
        simulated: bool,
        threads: usize,
        clock: MarketClock,
        uptime: Box<dyn Fn() -> Duration + Send + Sync>,
        zone: TimeZone,
    ) -> Self {
        let (facts, turned_ms, old_snapshot_bytes) = (ArcSwap::default(), AtomicU64::new(0), AtomicU64::new(0));
        let instance = None;
        Self { feed, simulated, threads, clock, uptime, zone, instance, facts, turned_ms, old_snapshot_bytes }
    }

    /// Replaces the facts, after a pass.
    pub fn publish(&self, facts: MarketFacts) {
        self.facts.store(Arc::new(facts));
    }

    /// The facts of the last pass.
    #[must_use]
    pub fn facts(&self) -> Arc<MarketFacts> {
        self.facts.load_full()
    }

    /// Notes that the market loop has polled its feed, or finished a batch of a pass.
    pub fn turned(&self) {
        let ms = u64::try_from((self.uptime)().as_millis()).unwrap_or(u64::MAX);
        self.turned_ms.store(ms, Ordering::Relaxed);
    }

    /// Sets the bytes of old snapshots that readers hold.
    pub fn holds_old_snapshots(&self, bytes: u64) {
        self.old_snapshot_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Bytes of old snapshots that readers hold, as of the last turn of the market loop.
    #[must_use]
    pub fn old_snapshot_bytes(&self) -> u64 {
        self.old_snapshot_bytes.load(Ordering::Relaxed)
    }

    /// Seconds since the last turn of the market loop.
    fn loop_age_s(&self) -> f64 {
        let turned = Duration::from_millis(self.turned_ms.load(Ordering::Relaxed));
        (self.uptime)().saturating_sub(turned).as_secs_f64()
    }

    /// State of the market. `failed`: the market loop hangs; `starting`: some underlyings have no chain yet, or the
    /// feed has not been read; `stale`: the market is open and the newest quotes are old; `unsaved`: the recording or
    /// the state cannot be written; `held`: the market is closed, and the last session is shown; else `ok`.
    #[must_use]
    pub fn word(&self, snapshot: &Snapshot) -> &'static str {
        if snapshot.number > 0 && self.loop_age_s() > HANGS_AFTER_S {
            "failed"
        } else if snapshot.number == 0 || !snapshot.is_complete() || !snapshot.pending().is_empty() {
            // the first reading of a large feed may take any time
            "starting"
        } else {
            let facts = self.facts.load();
            match facts.market_open {
                true if self.age_s(snapshot) > self.patience_s() => "stale",
                _ if facts.is_unsaved() => "unsaved",
                false => "held",
                true => "ok",
            }
        }
    }

    /// True if the market is whole, and the market loop runs.
    #[must_use]
    pub fn is_ready(&self, snapshot: &Snapshot) -> bool {
        !matches!(self.word(snapshot), "starting" | "failed")
    }

    /// Time of the snapshot: `2026-11-20 15:42:07 EST`.
    #[must_use]
    pub fn time_line(&self, snapshot: &Snapshot) -> String {
        if snapshot.number == 0 {
            return "no snapshot yet".to_owned();
        }
        snapshot.time.to_zoned_datetime(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
    }

    /// Description of the market clock, with instants in the display zone.
    #[must_use]
    pub fn clock_line(&self) -> String {
        let shown =
            |at: jiff::Timestamp| at.to_zoned_datetime(self.zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
        match self.clock {
            MarketClock::Running => "running".to_owned(),
            MarketClock::Fixed(at) => format!("fixed at {}", shown(at)),
            MarketClock::From { start, speed, .. } => format!("from {} at speed {speed}", shown(start)),
        }
    }

    /// The body of `/health`.
    #[must_use]
    pub fn health_json(&self, snapshot: &Snapshot) -> String {
        let reading = self.read(snapshot);
        let Reading { facts, counts, .. } = &reading;
        let started = snapshot.number > 0;
        let time =
            || snapshot.time.to_zoned_datetime(self.zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string();
        let health = Health {
            status: self.word(snapshot),
            version: env!("CARGO_PKG_VERSION"),
            instance: self.instance.as_deref(),
            uptime_s: reading.uptime.as_secs(),
            feed: &self.feed,
            clock: self.clock_line(),
            feeds: facts.sources.iter().map(FeedHealth::new).collect(),
            simulated: self.simulated,
            market: if facts.market_open { "open" } else { "closed" },
            snapshot_time: started.then(time),
            snapshot_number: snapshot.number,
            snapshot_age_s: started.then_some(reading.snapshot_age_s),
            underlyings: counts.underlyings,
            pending: counts.pending,
            preliminary: counts.preliminary,
            rough: counts.preliminary,
            uncomputed_count: counts.uncomputed.iter().sum(),
            uncomputed: counts
                .uncomputed_names
                .iter()
                .map(|(name, reason)| UncomputedName::new(name, *reason))
                .collect(),
            spot_off: NamesHealth::new(counts.spot_off, &counts.spot_off_names),
            doubted_count: counts.doubted,
            doubted: counts.doubted_names.iter().map(|(name, doubt)| DoubtedName::new(name, *doubt)).collect(),
            quotes_missed: NamesHealth::new(counts.quotes_missed, &counts.quotes_missed_names),
            rates: facts.rates.as_ref(),
            dividends_unknown: NamesHealth::new(counts.dividends_unknown, &counts.dividends_unknown_names),
            mostly_stale: NamesHealth::new(counts.mostly_stale, &counts.mostly_stale_names),
            spot_implied: NamesHealth::new(counts.spot_implied, &counts.spot_implied_names),
            adjusted_roots: AdjustedRoots::of(counts),
            expiries: counts.expiries,
            contracts: counts.contracts,
            contracts_priced: facts.contracts_priced,
            failing: facts.failing,
            files_unusable: facts.files_unusable,
            restored: facts.restored,
            record: facts.record.as_ref().map(RecordHealth::new),
            state: facts.state.as_ref().map(StateHealth::new),
            thread_faults: threads::faults(),
            overrides: facts.overrides.as_ref().map(OverridesHealth::new),
            loop_age_s: reading.loop_age_s,
            pass: facts.pass,
            quotes: Quotes::of(facts),
            rss_bytes: reading.rss_bytes,
            threads: self.threads,
        };
        // only a NaN could fail, and no duration is NaN
        serde_json::to_string(&health).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
    }

    /// Appends the facts as metrics in Prometheus text format.
    pub fn write_prometheus(&self, snapshot: &Snapshot, out: &mut String) {
        prometheus::write(&self.read(snapshot), out);
    }

    fn read(&self, snapshot: &Snapshot) -> Reading {
        Reading {
            facts: self.facts(),
            simulated: self.simulated,
            uptime: (self.uptime)(),
            loop_age_s: self.loop_age_s(),
            old_snapshot_bytes: self.old_snapshot_bytes(),
            snapshot_number: snapshot.number,
            snapshot_age_s: self.age_s(snapshot),
            counts: SnapshotCounts::of(snapshot),
            rss_bytes: memory_stats::memory_stats().map(|stats| stats.physical_mem),
        }
    }

    /// Age of the snapshot by the market clock, seconds; 0 if quotes are ahead of the clock.
    fn age_s(&self, snapshot: &Snapshot) -> f64 {
        self.clock.now().duration_since(snapshot.time).as_secs_f64().max(0.0)
    }

    /// Age above which a snapshot is stale, seconds by the market clock: delay and polling interval of the feed with
    /// the least delay, plus [`STALE_AFTER_S`].
    fn patience_s(&self) -> f64 {
        let facts = self.facts.load();
        let late = |source: &SourceFacts| {
            source.delay.as_secs_f64() + (source.every.as_secs_f64() + STALE_AFTER_S) * self.clock.speed()
        };
        let quoting = facts.sources.iter().filter(|source| source.used.quotes > 0);
        quoting.map(late).min_by(f64::total_cmp).unwrap_or(STALE_AFTER_S * self.clock.speed())
    }
}
