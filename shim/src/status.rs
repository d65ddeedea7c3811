//! What the daemon says about itself: `/health` and `/metrics`. The daemon's loop replaces the facts after each pass;
//! requests read them. Never: a clock of its own, a lock.

use crate::log;
use crate::rows::frame::escape_json;
use arc_swap::ArcSwap;
use engine::contract::Symbol;
use engine::kernel::american::Counts;
use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Uncomputed};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// In an open market a snapshot older than this is stale: refreshes are at most 5 s apart.
const STALE_AFTER_S: f64 = 15.0;

/// A loop that has not come round for so long hangs: a batch of a cold market takes seconds.
const HANGS_AFTER_S: f64 = 60.0;
/// Names of one kind that are listed at most; all are counted.
const NAMES_LISTED: usize = 100;

/// What does not change while the daemon runs, and the facts of its last pass.
pub struct Status {
    /// The feed, as given to the program.
    pub feed: String,
    /// The data are made up.
    pub simulated: bool,
    /// Threads of the program.
    pub threads: usize,
    /// The time now, as the daemon sees it.
    pub now: Box<dyn Fn() -> Timestamp + Send + Sync>,
    /// Time since the start.
    pub uptime: Box<dyn Fn() -> Duration + Send + Sync>,
    /// The zone that times are shown in.
    pub zone: TimeZone,
    facts: ArcSwap<MarketFacts>,
    /// Uptime when the daemon's loop last came round, milliseconds.
    turned_ms: AtomicU64,
}

/// What the daemon's loop knows after a pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MarketFacts {
    /// The market is in session.
    pub market_open: bool,
    /// Contracts with Greeks.
    pub contracts_priced: u64,
    /// The passes so far.
    pub pass: PassFacts,
    /// Records that the feed delivered.
    pub quotes_received: u64,
    /// Records that were not used, by reason.
    pub quotes_dropped: Vec<(&'static str, u64)>,
    /// Implied volatilities that needed a bracketed search, since the start.
    pub searches: u64,
    /// Blocks of contracts whose early exercise was taken from its tables anew, since the start.
    pub blocks_refreshed: u64,
    /// The tables of early exercise held.
    pub tables: Counts,
    /// Names whose last computation panicked: their chains are older than the pass.
    pub failing: usize,
    /// Files of the feed that cannot be used as they are: what was last read of them is served.
    pub files_unusable: usize,
    /// Computations that panicked, since the start.
    pub failures: u64,
}

/// Times of the passes, and what the last one did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PassFacts {
    /// The last pass, milliseconds.
    pub last_ms: f64,
    /// The median pass.
    pub p50_ms: f64,
    /// The longest pass.
    pub max_ms: f64,
    /// Expiries that the last pass computed.
    pub expiries: u64,
    /// Contracts that the last pass computed.
    pub contracts: u64,
}

/// One reading of everything, to be spelt as JSON or as metrics.
struct Reading {
    facts: Arc<MarketFacts>,
    age_s: f64,
    underlyings: usize,
    expiries: usize,
    contracts: u64,
    pending: usize,
    rough: usize,
    /// How many names are without Greeks, by [`Uncomputed`], and the first of them.
    uncomputed: [usize; Uncomputed::ALL.len()],
    uncomputed_names: Vec<(Symbol, Uncomputed)>,
    /// How many names' options tell another spot than the published one, and the first of them.
    spot_off: usize,
    spot_off_names: Vec<Symbol>,
    rss_bytes: Option<usize>,
}

impl Status {
    /// The status before the first pass.
    #[must_use]
    pub fn new(
        feed: String,
        simulated: bool,
        threads: usize,
        now: Box<dyn Fn() -> Timestamp + Send + Sync>,
        uptime: Box<dyn Fn() -> Duration + Send + Sync>,
        zone: TimeZone,
    ) -> Self {
        Self { feed, simulated, threads, now, uptime, zone, facts: ArcSwap::default(), turned_ms: AtomicU64::new(0) }
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

    /// The daemon's loop has come round: it looked at its feed, or finished a batch of a pass.
    pub fn turned(&self) {
        let ms = u64::try_from((self.uptime)().as_millis()).unwrap_or(u64::MAX);
        self.turned_ms.store(ms, Ordering::Relaxed);
    }

    /// Seconds since the daemon's loop last came round.
    fn loop_age_s(&self) -> f64 {
        let turned = Duration::from_millis(self.turned_ms.load(Ordering::Relaxed));
        (self.uptime)().saturating_sub(turned).as_secs_f64()
    }

    /// `failed`: the daemon's loop hangs; `starting`: some underlyings have no chain yet; `held`: the market is closed
    /// and shows its last session; `stale`: it is open and nothing new came for long; else `ok`.
    #[must_use]
    pub fn word(&self, snapshot: &Snapshot) -> &'static str {
        if snapshot.number > 0 && self.loop_age_s() > HANGS_AFTER_S {
            "failed"
        } else if snapshot.number == 0 || !snapshot.pending().is_empty() {
            // reading a large feed for the first time may take as long as it likes
            "starting"
        } else if !self.facts.load().market_open {
            "held"
        } else if self.age_s(snapshot) > STALE_AFTER_S {
            "stale"
        } else {
            "ok"
        }
    }

    /// The snapshot's time in words: `2026-11-20 15:42:07 EST`.
    #[must_use]
    pub fn time_line(&self, snapshot: &Snapshot) -> String {
        if snapshot.number == 0 {
            return "no snapshot yet".to_owned();
        }
        snapshot.time.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
    }

    /// The body of `/health`.
    #[must_use]
    pub fn health_json(&self, snapshot: &Snapshot) -> String {
        let reading = self.read(snapshot);
        let facts = &reading.facts;
        let mut json = Json::default();
        json.text("status", self.word(snapshot));
        json.text("version", env!("CARGO_PKG_VERSION"));
        json.raw("uptime_s", (self.uptime)().as_secs());
        json.text("feed", &self.feed);
        json.raw("simulated", self.simulated);
        json.text("market", if facts.market_open { "open" } else { "closed" });
        let started = snapshot.number > 0;
        let time = snapshot.time.to_zoned(self.zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string();
        json.optional("snapshot_time", started.then(|| format!("\"{time}\"")));
        json.raw("snapshot_number", snapshot.number);
        json.optional("snapshot_age_s", started.then(|| format!("{:.3}", reading.age_s)));
        json.raw("underlyings", reading.underlyings);
        json.raw("pending", reading.pending);
        json.raw("rough", reading.rough);
        json.raw("uncomputed_count", reading.uncomputed.iter().sum::<usize>());
        json.raw("uncomputed", uncomputed_json(&reading.uncomputed_names));
        json.raw("spot_off", spot_off_json(&reading));
        json.raw("expiries", reading.expiries);
        json.raw("contracts", reading.contracts);
        json.raw("contracts_priced", facts.contracts_priced);
        json.raw("failing", facts.failing);
        json.raw("files_unusable", facts.files_unusable);
        json.raw("loop_age_s", format_args!("{:.3}", self.loop_age_s()));
        json.raw("pass", pass_json(&facts.pass));
        json.raw("quotes", quotes_json(facts));
        json.optional("rss_bytes", reading.rss_bytes);
        json.raw("threads", self.threads);
        json.close()
    }

    /// Appends the same as metrics in Prometheus text form.
    pub fn write_prometheus(&self, snapshot: &Snapshot, out: &mut String) {
        let reading = self.read(snapshot);
        let facts = &reading.facts;
        let gauges: [(&str, &str, f64); 17] = [
            ("uptime_seconds", "Time since the start", (self.uptime)().as_secs_f64()),
            ("simulated", "1 if the data are made up", f64::from(u8::from(self.simulated))),
            ("market_open", "1 while the market is in session", f64::from(u8::from(facts.market_open))),
            ("snapshot_number", "Snapshots published", snapshot.number as f64),
            ("snapshot_age_seconds", "Age of the snapshot", reading.age_s),
            ("underlyings_failing", "Underlyings whose last computation panicked", facts.failing as f64),
            ("feed_files_unusable", "Files of the feed that cannot be used as they are", facts.files_unusable as f64),
            ("loop_age_seconds", "Time since the market loop last came round", self.loop_age_s()),
            ("underlyings", "Underlyings in the snapshot", reading.underlyings as f64),
            ("underlyings_pending", "Underlyings without a snapshot yet", reading.pending as f64),
            ("underlyings_rough", "Underlyings whose early exercise is known roughly only", reading.rough as f64),
            (
                "underlyings_spot_off",
                "Underlyings whose options tell another spot than the published one",
                reading.spot_off as f64,
            ),
            ("expiries", "Expiries (by root) in the snapshot", reading.expiries as f64),
            ("contracts", "Contracts in the snapshot", reading.contracts as f64),
            ("contracts_priced", "Contracts with Greeks", facts.contracts_priced as f64),
            ("pass_last_seconds", "Duration of the last pass", facts.pass.last_ms / 1000.0),
            ("pass_max_seconds", "Duration of the longest pass", facts.pass.max_ms / 1000.0),
        ];
        for (name, help, value) in gauges.into_iter().filter(|(_, _, value)| value.is_finite()) {
            metric(out, name, "gauge", help);
            let _ = writeln!(out, "greeksd_{name} {value}");
        }
        metric(out, "underlyings_uncomputed", "gauge", "Underlyings that are listed without Greeks, by reason");
        for (reason, count) in Uncomputed::ALL.iter().zip(reading.uncomputed) {
            let _ = writeln!(out, "greeksd_underlyings_uncomputed{{reason=\"{}\"}} {count}", reason.name());
        }
        if let Some(bytes) = reading.rss_bytes {
            metric(out, "rss_bytes", "gauge", "Resident memory");
            let _ = writeln!(out, "greeksd_rss_bytes {bytes}");
        }
        let totals = [
            ("chains_failed_total", "Computations of a chain that panicked", facts.failures),
            ("log_lines_dropped_total", "Log lines that standard error did not take in time", log::lines_dropped()),
            ("vol_searches_total", "Implied volatilities that needed a bracketed search", facts.searches),
            (
                "early_blocks_refreshed_total",
                "Blocks of contracts taken from the exercise tables anew",
                facts.blocks_refreshed,
            ),
        ];
        for (name, help, value) in totals {
            metric(out, name, "counter", help);
            let _ = writeln!(out, "greeksd_{name} {value}");
        }
        metric(out, "exercise_tables", "gauge", "Tables of early exercise held, by kind; `european`: none is needed");
        let Counts { boundaries, aligned, anchored, closed, european, refined, accurate } = facts.tables;
        let kinds = [
            ("boundary", boundaries),
            ("aligned", aligned),
            ("anchored", anchored),
            ("closed", closed),
            ("european", european),
        ];
        for (kind, count) in kinds {
            let _ = writeln!(out, "greeksd_exercise_tables{{kind=\"{kind}\"}} {count}");
        }
        metric(
            out,
            "exercise_tables_refined",
            "gauge",
            "Of these, tables that had to be built again to be resolved, by the scheme that did it",
        );
        for (scheme, count) in [("fast", refined - accurate), ("accurate", accurate)] {
            let _ = writeln!(out, "greeksd_exercise_tables_refined{{scheme=\"{scheme}\"}} {count}");
        }
        metric(out, "quotes_received_total", "counter", "Records that the feed delivered");
        let _ = writeln!(out, "greeksd_quotes_received_total {}", facts.quotes_received);
        metric(
            out,
            "quotes_dropped",
            "gauge",
            "Records refused so far, and quotes that the snapshot does without, by reason",
        );
        for (reason, count) in &facts.quotes_dropped {
            let _ = writeln!(out, "greeksd_quotes_dropped{{reason=\"{reason}\"}} {count}");
        }
    }

    fn age_s(&self, snapshot: &Snapshot) -> f64 {
        (self.now)().duration_since(snapshot.time).as_secs_f64()
    }

    fn read(&self, snapshot: &Snapshot) -> Reading {
        let chains = snapshot.chains();
        let off = |chain: &&Arc<Chain>| chain.spot_off;
        let uncomputed = || chains.iter().filter_map(|chain| Some((chain.underlying, chain.uncomputed?)));
        Reading {
            facts: self.facts(),
            age_s: self.age_s(snapshot),
            underlyings: chains.len(),
            expiries: chains.iter().map(|chain| chain.slices.len()).sum(),
            contracts: chains.iter().map(|chain| u64::from(chain.rows())).sum(),
            pending: snapshot.pending().len(),
            rough: chains.iter().filter(|chain| chain.rough).count(),
            uncomputed: Uncomputed::ALL.map(|reason| uncomputed().filter(|&(_, of)| of == reason).count()),
            uncomputed_names: uncomputed().take(NAMES_LISTED).collect(),
            spot_off: chains.iter().filter(off).count(),
            spot_off_names: chains.iter().filter(off).map(|chain| chain.underlying).take(NAMES_LISTED).collect(),
            rss_bytes: memory_stats::memory_stats().map(|stats| stats.physical_mem),
        }
    }
}

fn pass_json(pass: &PassFacts) -> String {
    let mut json = Json::default();
    json.raw("last_ms", format_args!("{:.3}", pass.last_ms));
    json.raw("p50_ms", format_args!("{:.3}", pass.p50_ms));
    json.raw("max_ms", format_args!("{:.3}", pass.max_ms));
    json.raw("expiries", pass.expiries);
    json.raw("contracts", pass.contracts);
    json.close()
}

/// Names without Greeks, each with its reason.
fn uncomputed_json(names: &[(Symbol, Uncomputed)]) -> String {
    array(names.iter().map(|(name, reason)| {
        let mut json = Json::default();
        json.text("underlying", name.as_str());
        json.text("reason", reason.name());
        json.close()
    }))
}

/// Names whose options tell another spot than the published one.
fn spot_off_json(reading: &Reading) -> String {
    let mut json = Json::default();
    json.raw("count", reading.spot_off);
    // a symbol has nothing to escape
    json.raw("underlyings", array(reading.spot_off_names.iter().map(|name| format!("\"{name}\""))));
    json.close()
}

/// A JSON array of finished values.
fn array(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(","))
}

fn quotes_json(facts: &MarketFacts) -> String {
    let mut dropped = Json::default();
    for (reason, count) in &facts.quotes_dropped {
        dropped.raw(reason, count);
    }
    let mut json = Json::default();
    json.raw("received", facts.quotes_received);
    json.raw("dropped", dropped.close());
    json.close()
}

fn metric(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP greeksd_{name} {help}\n# TYPE greeksd_{name} {kind}");
}

/// One JSON object, member by member.
#[derive(Default)]
struct Json(String);

impl Json {
    fn raw(&mut self, name: &str, value: impl std::fmt::Display) {
        let before = if self.0.is_empty() { '{' } else { ',' };
        let _ = write!(self.0, "{before}\"{name}\":{value}");
    }

    fn text(&mut self, name: &str, value: &str) {
        let mut text = Vec::new();
        escape_json(&mut text, value);
        self.raw(name, format_args!("\"{}\"", String::from_utf8_lossy(&text)));
    }

    fn optional(&mut self, name: &str, value: Option<impl std::fmt::Display>) {
        match value {
            Some(value) => self.raw(name, value),
            None => self.raw(name, "null"),
        }
    }

    fn close(self) -> String {
        if self.0.is_empty() { "{}".to_owned() } else { self.0 + "}" }
    }
}
