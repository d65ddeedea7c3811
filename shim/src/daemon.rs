//! The market loop: takes in what the feed has, computes what is stale, publishes. One thread; the passes bring their
//! own. Never: a socket, a request.

use crate::progress::Progress;
use crate::source::{Source, borrowed};
use crate::status::{Facts, PassFacts, Status};
use arc_swap::ArcSwap;
use engine::calibrate::Drop;
use engine::contract::Symbol;
use engine::error::Reason;
use engine::feeds::dir::SETTLED;
use engine::kernel::american::Counts;
use engine::pass::{ChainReport, Computed, Depth, Passes};
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use jiff::Timestamp;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// While chains are computed for the first time, finished ones are published at least this often.
const FIRST_PUBLISH: Duration = Duration::from_millis(250);
/// While a pass runs, its counts are brought up to date at most this often: they are sums over all names.
const REPORT_EVERY: Duration = Duration::from_millis(250);
/// Contracts that are computed between two looks at the feed, for each thread: some 40 ms.
const PORTION: u32 = 30_000;
/// Above so many contracts without a chain, every name is looked at roughly first. At full accuracy a contract costs
/// ten times as much the first time as roughly: so many take some ten seconds, and a market below that is better at full
/// accuracy at once.
const ROUGH_ABOVE: usize = 100_000;
/// What a contract counts for in a portion whose early exercise has been looked at roughly only. It costs some fifty times
/// as much as one that is known; but threads wait for each other at the end of a portion, and shorter ones would cost more
/// than they gain while the market is cold.
const FIRST_FULL: u32 = 5;
/// What a name without a chain counts for in a portion: roughly, and at full accuracy.
const COLD_NAME: (u32, u32) = (PORTION / 20, PORTION / 2);
/// Passes whose duration the median is taken of.
const PASSES_KEPT: usize = 101;

/// The instant that the market is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The system's.
    Running,
    /// Stands still.
    Fixed(Timestamp),
}

impl Clock {
    /// Now.
    #[must_use]
    pub fn now(self) -> Timestamp {
        match self {
            Self::Running => Timestamp::now(),
            Self::Fixed(at) => at,
        }
    }
}

/// The market loop's own state.
pub struct Daemon {
    source: Source,
    passes: Passes,
    clock: Clock,
    began: Instant,
    market: Arc<ArcSwap<Snapshot>>,
    status: Arc<Status>,
    chains: BTreeMap<Symbol, Arc<Chain>>,
    reports: BTreeMap<Symbol, ChainReport>,
    number: u64,
    timing: VecDeque<f64>,
    longest_ms: f64,
    searches: u64,
    blocks_refreshed: u64,
    /// Names whose last computation panicked.
    failing: BTreeSet<Symbol>,
    failures: u64,
}

impl Daemon {
    /// A loop that publishes to `market` and reports to `status`.
    #[must_use]
    pub fn new(
        source: Source,
        passes: Passes,
        clock: Clock,
        market: Arc<ArcSwap<Snapshot>>,
        status: Arc<Status>,
    ) -> Self {
        Self {
            source,
            passes,
            clock,
            began: Instant::now(),
            market,
            status,
            chains: BTreeMap::new(),
            reports: BTreeMap::new(),
            number: 0,
            timing: VecDeque::new(),
            longest_ms: 0.0,
            searches: 0,
            blocks_refreshed: 0,
            failing: BTreeSet::new(),
            failures: 0,
        }
    }

    /// One turn: polls the feed and computes what is stale, then what was only looked at roughly before. `enough` ends a
    /// first computation early. Returns whether everything that the feed has is published.
    pub fn turn(&mut self, enough: &dyn Fn() -> bool) -> bool {
        self.status.turned();
        let now = self.clock.now();
        let mut stale = self.source.poll(now, self.began.elapsed(), &|complaint| tracing::warn!("{complaint}"));
        let listed = self.source.underlyings();
        let gone = self.chains.len();
        self.chains.retain(|name, _| listed.contains(name));
        self.reports.retain(|name, _| listed.contains(name));
        self.failing.retain(|name| listed.contains(name));
        let began = Instant::now();
        let mut pass = PassFacts::default();
        let cold: Vec<Symbol> = stale.iter().copied().filter(|name| !self.chains.contains_key(name)).collect();
        let depth = if self.source.exceeds(&cold, now, ROUGH_ABOVE) { Depth::Rough } else { Depth::Full };
        self.source.soonest_first(&mut stale);
        if depth == Depth::Full {
            stale.extend(self.rough(&stale));
        }
        if stale.is_empty() {
            if gone != self.chains.len() {
                self.publish(&listed);
            }
            self.report(now, None);
        } else {
            self.compute((depth, stale), &listed, now, &mut pass, enough);
            self.record(began.elapsed(), &mut pass);
            self.report(now, Some(pass));
        }
        self.chains.len() == listed.len()
    }

    /// How long the loop may rest between two turns, at most `refresh`.
    #[must_use]
    pub fn rest(&self, refresh: Duration) -> Duration {
        if self.source.is_waiting() { refresh.min(SETTLED) } else { refresh }
    }

    /// The names that were looked at roughly only, but for those that are `stale` anyway; the source hands them out again.
    fn rough(&mut self, stale: &[Symbol]) -> Vec<Symbol> {
        // a name that failed waits for another quote
        let wanted = |chain: &&Arc<Chain>| chain.rough && !self.failing.contains(&chain.underlying);
        let mut names: Vec<Symbol> = self.chains.values().filter(wanted).map(|c| c.underlying).collect();
        if names.is_empty() {
            return names;
        }
        self.source.recall(&names);
        let stale: BTreeSet<Symbol> = stale.iter().copied().collect();
        names.retain(|name| !stale.contains(name));
        self.source.soonest_first(&mut names);
        names
    }

    /// Computes `stale` in portions, each published when it is done: what changes meanwhile comes next, so that a name
    /// waits for one portion at most and never for the whole market.
    fn compute(
        &mut self,
        (depth, stale): (Depth, Vec<Symbol>),
        listed: &BTreeSet<Symbol>,
        now: Timestamp,
        pass: &mut PassFacts,
        enough: &dyn Fn() -> bool,
    ) {
        let mut waiting: BTreeSet<Symbol> = stale.iter().copied().collect();
        let mut queue: VecDeque<Symbol> = stale.into();
        let (mut published, mut reported) = (Instant::now(), Instant::now());
        let mut progress =
            Progress::new(if depth == Depth::Rough { "first look" } else { "full accuracy" }, queue.len());
        while !queue.is_empty() && !enough() {
            let names = self.portion(&mut queue, depth);
            names.iter().for_each(|name| _ = waiting.remove(name));
            let first = names.iter().any(|name| !self.chains.contains_key(name));
            let (computed, failed) = self.run(depth, &names, now);
            self.status.turned();
            let changed = !computed.is_empty() || !failed.is_empty();
            failed.into_iter().for_each(|chain| self.take_failed(chain));
            let before = pass.contracts;
            for done in computed {
                pass.expiries += u64::from(done.report.slices);
                pass.contracts += u64::from(done.report.contracts);
                self.searches += u64::from(done.report.searched);
                self.blocks_refreshed += u64::from(done.report.refreshed);
                self.tell_change(&done.chain);
                self.failing.remove(&done.chain.underlying);
                self.reports.insert(done.chain.underlying, done.report);
                self.chains.insert(done.chain.underlying, done.chain);
            }
            progress.add(names.len(), pass.contracts - before);
            if queue.is_empty() || (changed && (!first || published.elapsed() > FIRST_PUBLISH)) {
                self.publish(listed);
                published = Instant::now();
            }
            if !queue.is_empty() && reported.elapsed() > REPORT_EVERY {
                self.report(now, None);
                reported = Instant::now();
            }
            if !queue.is_empty() {
                let log = |complaint: &str| tracing::warn!("{complaint}");
                for name in self.source.changed(now, self.began.elapsed(), &log).into_iter().rev() {
                    if waiting.insert(name) {
                        queue.push_front(name);
                    }
                }
            }
        }
        progress.end();
    }

    /// Says that a name cannot be computed, or can again: once, not at every pass.
    fn tell_change(&self, chain: &Chain) {
        let (name, before) = (chain.underlying, self.chains.get(&chain.underlying).and_then(|old| old.uncomputed));
        match chain.uncomputed {
            now if now == before => {}
            Some(why) => tracing::warn!("{name}: {} contracts without Greeks: {}", chain.rows(), why.name()),
            None => tracing::info!("{name}: computed again"),
        }
    }

    /// A name whose computation panicked keeps the chain that is published; `instead` stands where there is none.
    fn take_failed(&mut self, instead: Arc<Chain>) {
        let name = instead.underlying;
        self.failures += 1;
        if self.failing.insert(name) {
            tracing::error!("{name}: not computed, for a fault of the program; its last values stay");
        }
        self.chains.entry(name).or_insert(instead);
    }

    /// Computes some names: roughly where that is asked and nothing better is there, else fully. What was computed, and
    /// what failed.
    fn run(&mut self, depth: Depth, names: &[Symbol], now: Timestamp) -> (Vec<Computed>, Vec<Arc<Chain>>) {
        let market = self.source.market();
        let mut books = self.source.books(names, now, &self.passes);
        // the longest first, so that threads end together
        books.sort_by_cached_key(|(book, _)| Reverse(book.contracts()));
        let chains = &self.chains;
        let is_rough = |name: Symbol| depth == Depth::Rough && chains.get(&name).is_none_or(|chain| chain.rough);
        let (rough, full): (Vec<_>, Vec<_>) = books.into_iter().partition(|(book, _)| is_rough(book.underlying));
        let mut computed = self.passes.run_to(Depth::Rough, borrowed(&market), &rough);
        let mut failed = self.passes.take_failed();
        computed.append(&mut self.passes.run_to(Depth::Full, borrowed(&market), &full));
        failed.append(&mut self.passes.take_failed());
        (computed, failed)
    }

    /// The next names: as many as make a portion, and a few while they have no chain yet.
    fn portion(&self, queue: &mut VecDeque<Symbol>, depth: Depth) -> Vec<Symbol> {
        let threads = u32::try_from(self.passes.threads().max(1)).unwrap_or(u32::MAX);
        let (mut left, mut names) = (PORTION * threads, Vec::new());
        let cold = if depth == Depth::Rough { COLD_NAME.0 } else { COLD_NAME.1 };
        let cost = |chain: &Arc<Chain>| chain.rows() * if chain.rough { FIRST_FULL } else { 1 };
        while left > 0 {
            let Some(name) = queue.pop_front() else { break };
            left = left.saturating_sub(self.chains.get(&name).map_or(cold, cost));
            names.push(name);
        }
        names
    }

    fn publish(&mut self, listed: &BTreeSet<Symbol>) {
        self.number += 1;
        let pending = listed.iter().filter(|name| !self.chains.contains_key(name)).copied().collect();
        let snapshot = Snapshot::new(self.number, self.chains.values().cloned().collect(), pending);
        self.market.store(Arc::new(snapshot));
    }

    fn record(&mut self, took: Duration, pass: &mut PassFacts) {
        pass.last_ms = took.as_secs_f64() * 1e3;
        self.longest_ms = self.longest_ms.max(pass.last_ms);
        self.timing.push_back(pass.last_ms);
        if self.timing.len() > PASSES_KEPT {
            self.timing.pop_front();
        }
        let mut sorted: Vec<f64> = self.timing.iter().copied().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        pass.p50_ms = sorted[sorted.len() / 2];
        pass.max_ms = self.longest_ms;
    }

    fn report(&self, now: Timestamp, pass: Option<PassFacts>) {
        let (calendar, _) = self.source.market();
        let received = self.source.received();
        self.status.publish(Facts {
            market_open: calendar.is_open(now),
            contracts_priced: self.reports.values().map(|r| u64::from(r.priced)).sum(),
            pass: pass.unwrap_or_else(|| self.status.facts().pass),
            quotes_received: received.records,
            quotes_dropped: by_reason(&received.refused, self.reports.values()),
            searches: self.searches,
            blocks_refreshed: self.blocks_refreshed,
            tables: self.tables(),
            failing: self.failing.len(),
            files_unusable: self.source.files_unusable(),
            failures: self.failures,
        });
    }

    fn tables(&self) -> Counts {
        let mut sum = Counts::default();
        self.reports.values().for_each(|report| sum += report.tables);
        sum
    }
}

/// Records refused so far, and quotes that the chains of the snapshot do without, by reason; reasons that did not occur
/// are left out.
fn by_reason<'r>(
    refused: &[u64; Reason::ALL.len()],
    reports: impl Iterator<Item = &'r ChainReport>,
) -> Vec<(&'static str, u64)> {
    let mut unused = [0; Drop::ALL.len()];
    for report in reports {
        unused.iter_mut().zip(report.dropped).for_each(|(sum, n)| *sum += u64::from(n));
    }
    let refused = Reason::ALL.iter().zip(refused).map(|(reason, &n)| (reason.name(), n));
    let cleaned = Drop::ALL.iter().zip(unused).map(|(drop, n)| (drop.name(), n));
    refused.chain(cleaned).filter(|&(_, n)| n > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FeedSpec;
    use engine::store::chain::Uncomputed;
    use sim::SimOptions;

    fn daemon() -> Daemon {
        let at: Timestamp = "2026-11-20T15:42:00-05:00".parse().unwrap();
        let source = Source::open(&FeedSpec::Sim(SimOptions::default()), at, Some(at)).unwrap();
        let zone = engine::calendar::Calendar::embedded().zone().clone();
        let status = Status::new("sim".to_owned(), true, 1, Box::new(move || at), Box::new(|| Duration::ZERO), zone);
        let market = Arc::new(ArcSwap::from_pointee(Snapshot::empty(Vec::new())));
        Daemon::new(source, Passes::new(1, |_| ()).unwrap(), Clock::Fixed(at), market, Arc::new(status))
    }

    #[test]
    fn a_name_that_fails_keeps_its_last_values_and_is_counted() {
        let mut daemon = daemon();
        let at = daemon.clock.now();
        let names: Vec<Symbol> = ["KO", "F"].map(|name| Symbol::parse(name).unwrap()).to_vec();
        let (computed, failed) = daemon.run(Depth::Rough, &names, at);
        assert_eq!((computed.len(), failed.len()), (2, 0));
        let published = Arc::clone(&computed[0].chain);
        daemon.chains.insert(published.underlying, Arc::clone(&published));
        for instead in [&computed[0].chain, &computed[1].chain] {
            daemon.take_failed(Arc::new(Chain { uncomputed: Some(Uncomputed::Failed), ..(**instead).clone() }));
        }
        assert!(Arc::ptr_eq(&daemon.chains[&published.underlying], &published));
        let other = &daemon.chains[&computed[1].chain.underlying];
        assert_eq!(other.uncomputed, Some(Uncomputed::Failed));
        assert!(daemon.rough(&[]).is_empty(), "not again before something changes");
        daemon.report(at, None);
        assert_eq!((daemon.status.facts().failing, daemon.status.facts().failures), (2, 2));
        daemon.source.recall(&names);
        let listed = daemon.source.underlyings();
        daemon.compute((Depth::Full, names), &listed, at, &mut PassFacts::default(), &|| false);
        daemon.report(at, None);
        assert_eq!((daemon.status.facts().failing, daemon.status.facts().failures), (0, 2));
    }

    #[test]
    fn every_reason_that_occurs_is_shown_by_its_name() {
        for (i, drop) in Drop::ALL.into_iter().enumerate() {
            assert_eq!(drop as usize, i, "{}", drop.name());
            let mut report = ChainReport::default();
            report.dropped[drop as usize] = 2;
            let shown = by_reason(&[0; Reason::ALL.len()], [report, report].iter());
            assert_eq!(shown, [(drop.name(), 4)]);
        }
        for reason in Reason::ALL {
            let mut refused = [0; Reason::ALL.len()];
            refused[reason as usize] = 3;
            assert_eq!(by_reason(&refused, [].iter()), [(reason.name(), 3)]);
        }
        let names: BTreeSet<&str> =
            Drop::ALL.iter().map(|d| d.name()).chain(Reason::ALL.iter().map(|r| r.name())).collect();
        assert_eq!(names.len(), Drop::ALL.len() + Reason::ALL.len(), "one name, one reason");
    }
}
