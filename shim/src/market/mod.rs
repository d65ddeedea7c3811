//! The market loop: takes in what the feed has, computes what is due, publishes. One thread; the passes bring their own.
//!
//! What a feed is stands in [`feed`], what is computed when in [`schedule`]. Never: a socket, a request, a kind of feed.

pub mod clock;
pub mod dir;
pub mod feed;
mod retired;
pub mod schedule;
pub mod sim;
pub mod spec;
pub mod state;
mod tally;

use crate::progress::ProgressLog;
use crate::status::{PassFacts, Status};
use arc_swap::ArcSwap;
use clock::MarketClock;
use engine::contract::Symbol;
use engine::pass::{Computed, Depth, Passes};
use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Uncomputed};
use feed::{Feed, Moment};
use jiff::Timestamp;
use retired::Retired;
use schedule::{Known, LoopSettings, Round, soonest_first};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tally::Tally;

/// The market loop's own state.
pub struct MarketLoop {
    feed: Box<dyn Feed>,
    passes: Passes,
    clock: MarketClock,
    settings: LoopSettings,
    began: Instant,
    market: Arc<ArcSwap<Snapshot>>,
    status: Arc<Status>,
    chains: BTreeMap<Symbol, Arc<Chain>>,
    number: u64,
    tally: Tally,
    retired: Retired,
    /// Some names changed in the last round after their turn.
    has_changed: bool,
}

/// What a round is computed under.
struct Conditions<'a> {
    depth: Depth,
    now: Timestamp,
    listed: &'a BTreeSet<Symbol>,
    /// Ends the round early.
    enough: &'a dyn Fn() -> bool,
}

impl MarketLoop {
    /// A loop that publishes to `market` and reports to `status`.
    #[must_use]
    pub fn new(
        feed: Box<dyn Feed>,
        passes: Passes,
        clock: MarketClock,
        market: Arc<ArcSwap<Snapshot>>,
        status: Arc<Status>,
    ) -> Self {
        Self {
            feed,
            passes,
            clock,
            settings: LoopSettings::default(),
            began: Instant::now(),
            market,
            status,
            chains: BTreeMap::new(),
            number: 0,
            tally: Tally::default(),
            retired: Retired::default(),
            has_changed: false,
        }
    }

    /// One turn: polls the feed and computes what is due, then what is known roughly only. `enough` ends a first
    /// computation early. Returns whether everything that the feed has is published.
    pub fn turn(&mut self, enough: &dyn Fn() -> bool) -> bool {
        self.status.turned();
        let now = self.clock.now();
        let mut due = self.feed.poll(&self.moment(now));
        let listed = self.feed.names();
        let before = self.chains.len();
        self.chains.retain(|name, _| listed.contains(name));
        self.tally.retain(&listed);
        let began = Instant::now();
        let cold = due.iter().filter(|name| !self.chains.contains_key(name));
        let depth = self.settings.depth(cold.map(|&name| self.feed.contracts(name, now)));
        self.sort(&mut due);
        if depth == Depth::Full {
            due.extend(self.known_roughly());
        }
        let mut round = Round::new(due);
        if round.due() > 0 {
            let mut pass = self.compute(&mut round, &Conditions { depth, now, listed: &listed, enough });
            self.tally.time_round(began.elapsed(), self.settings.rounds_kept, &mut pass);
            self.report(now, Some(pass));
        } else {
            if before != self.chains.len() {
                self.publish(&listed);
            }
            self.report(now, None);
        }
        self.has_changed = round.has_changed();
        self.status.holds_old_snapshots(self.retired.sweep());
        self.chains.len() == listed.len()
    }

    /// How long the loop may rest between two turns, at most `refresh`.
    #[must_use]
    pub fn rest(&self, refresh: Duration) -> Duration {
        if self.has_changed {
            Duration::ZERO
        } else {
            self.feed.progress().poll_within.map_or(refresh, |soon| soon.min(refresh))
        }
    }

    fn moment(&self, now: Timestamp) -> Moment<'static> {
        Moment { now, elapsed: self.began.elapsed(), log: &|complaint| tracing::warn!("{complaint}") }
    }

    fn sort(&self, names: &mut [Symbol]) {
        soonest_first(names, |name| self.feed.pays_dividends(name));
    }

    /// The names whose early exercise is known roughly only; the feed hands them out again.
    fn known_roughly(&mut self) -> Vec<Symbol> {
        // a name that failed waits for another quote
        let wanted = |chain: &&Arc<Chain>| chain.rough && !self.tally.is_failing(chain.underlying);
        let mut names: Vec<Symbol> = self.chains.values().filter(wanted).map(|c| c.underlying).collect();
        if !names.is_empty() {
            self.feed.requeue(&names);
            self.sort(&mut names);
        }
        names
    }

    /// Computes a round in batches, each published when it is done.
    fn compute(&mut self, round: &mut Round, conditions: &Conditions<'_>) -> PassFacts {
        let &Conditions { depth, now, listed, enough } = conditions;
        let what = if depth == Depth::Rough { "first look" } else { "full accuracy" };
        let mut progress = ProgressLog::new(what, "names", Some(round.due()), |line| tracing::info!("{line}"));
        let mut pass = PassFacts::default();
        let (mut published, mut reported) = (Instant::now(), Instant::now());
        while round.due() > 0 && !enough() {
            let names = self.next_batch(round, depth);
            let first = names.iter().any(|name| !self.chains.contains_key(name));
            let (computed, failed) = self.run(depth, &names, now);
            self.status.turned();
            let changed = !computed.is_empty() || !failed.is_empty();
            failed.into_iter().for_each(|chain| self.take_failed(chain));
            let before = pass.contracts;
            for Computed { chain, report } in computed {
                self.tell_change(&chain);
                self.tally.count(chain.underlying, report, &mut pass);
                self.replace(chain);
            }
            progress.add(names.len(), pass.contracts - before);
            let is_last = round.due() == 0;
            if is_last || (changed && (!first || published.elapsed() > self.settings.first_publish)) {
                self.publish(listed);
                published = Instant::now();
            }
            if !is_last && reported.elapsed() > self.settings.report_every {
                self.report(now, None);
                reported = Instant::now();
            }
            if !is_last {
                round.note_changed(self.feed.changed(&self.moment(now)));
            }
        }
        progress.end();
        pass
    }

    /// The names of the next batch.
    fn next_batch(&self, round: &mut Round, depth: Depth) -> Vec<Symbol> {
        let threads = u32::try_from(self.passes.threads().max(1)).unwrap_or(u32::MAX);
        let known = |name: Symbol| match self.chains.get(&name) {
            None => Known::Nothing,
            Some(chain) if chain.rough => Known::Roughly(chain.rows()),
            Some(chain) => Known::Fully(chain.rows()),
        };
        let most = self.settings.batch_contracts.saturating_mul(threads);
        round.next_batch(most, |name| self.settings.cost(depth, known(name)))
    }

    /// Takes in a computed chain.
    fn replace(&mut self, chain: Arc<Chain>) {
        // the passes keep the last chain of a name that lost its spot
        let is_kept = chain.uncomputed == Some(Uncomputed::NoSpot);
        let old = self.chains.insert(chain.underlying, chain);
        old.filter(|_| !is_kept).into_iter().for_each(|old| self.retired.add_chain(old));
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
        if self.tally.count_failure(name) {
            tracing::error!("{name}: not computed, for a fault of the program; its last values stay");
        }
        self.chains.entry(name).or_insert(instead);
    }

    /// Computes some names: roughly where that is asked and nothing better is there, else fully. What was computed, and
    /// what failed.
    fn run(&mut self, depth: Depth, names: &[Symbol], now: Timestamp) -> (Vec<Computed>, Vec<Arc<Chain>>) {
        let reference = self.feed.reference().clone();
        let mut books = self.feed.books(names, now, &self.passes);
        // the longest first, so that threads end together
        books.sort_by_cached_key(|(book, _)| Reverse(book.contracts()));
        let chains = &self.chains;
        let is_rough = |name: Symbol| depth == Depth::Rough && chains.get(&name).is_none_or(|chain| chain.rough);
        let (rough, full): (Vec<_>, Vec<_>) = books.into_iter().partition(|(book, _)| is_rough(book.underlying));
        let mut computed = self.passes.run_to(Depth::Rough, reference.market(), &rough);
        let mut failed = self.passes.take_failed();
        computed.append(&mut self.passes.run_to(Depth::Full, reference.market(), &full));
        failed.append(&mut self.passes.take_failed());
        (computed, failed)
    }

    fn publish(&mut self, listed: &BTreeSet<Symbol>) {
        self.number += 1;
        let pending = listed.iter().filter(|name| !self.chains.contains_key(name)).copied().collect();
        let snapshot = Snapshot::new(self.number, self.chains.values().cloned().collect(), pending);
        self.retired.add_snapshot(self.market.swap(Arc::new(snapshot)));
        self.status.holds_old_snapshots(self.retired.sweep());
    }

    fn report(&self, now: Timestamp, pass: Option<PassFacts>) {
        let open = self.feed.reference().calendar.is_open(now);
        let pass = pass.unwrap_or_else(|| self.status.facts().pass);
        self.status.publish(self.tally.facts(open, pass, &self.feed.progress()));
    }
}

#[cfg(test)]
mod tests {
    use super::sim::SimFeed;
    use super::*;
    use ::sim::SimOptions;
    use engine::calendar::Calendar;
    use engine::store::book::Book;
    use feed::{FeedProgress, ReferenceData};
    use std::sync::Mutex;

    fn market_loop() -> MarketLoop {
        let at: Timestamp = "2026-11-20T15:42:00-05:00".parse().unwrap();
        market_loop_over(Box::new(SimFeed::open(SimOptions::default(), at)))
    }

    fn market_loop_over(feed: Box<dyn Feed>) -> MarketLoop {
        let at: Timestamp = "2026-11-20T15:42:00-05:00".parse().unwrap();
        let zone = Calendar::embedded().zone().clone();
        let status = Status::new("sim".to_owned(), true, 1, Box::new(move || at), Box::new(|| Duration::ZERO), zone);
        let market = Arc::new(ArcSwap::from_pointee(Snapshot::empty(Vec::new())));
        MarketLoop::new(feed, Passes::new(1, |_| ()).unwrap(), MarketClock::Fixed(at), market, Arc::new(status))
    }

    #[test]
    fn a_name_that_fails_keeps_its_last_values_and_is_counted() {
        let mut market = market_loop();
        let at = market.clock.now();
        let names: Vec<Symbol> = ["KO", "F"].map(|name| Symbol::parse(name).unwrap()).to_vec();
        let (computed, failed) = market.run(Depth::Rough, &names, at);
        assert_eq!((computed.len(), failed.len()), (2, 0));
        let published = Arc::clone(&computed[0].chain);
        market.chains.insert(published.underlying, Arc::clone(&published));
        for instead in [&computed[0].chain, &computed[1].chain] {
            market.take_failed(Arc::new(Chain { uncomputed: Some(Uncomputed::Failed), ..(**instead).clone() }));
        }
        assert!(Arc::ptr_eq(&market.chains[&published.underlying], &published));
        let other = &market.chains[&computed[1].chain.underlying];
        assert_eq!(other.uncomputed, Some(Uncomputed::Failed));
        assert!(market.known_roughly().is_empty(), "not again before something changes");
        market.report(at, None);
        assert_eq!((market.status.facts().failing, market.status.facts().failures), (2, 2));
        market.feed.requeue(&names);
        let listed = market.feed.names();
        let conditions = Conditions { depth: Depth::Full, now: at, listed: &listed, enough: &|| false };
        market.compute(&mut Round::new(names), &conditions);
        market.report(at, None);
        assert_eq!((market.status.facts().failing, market.status.facts().failures), (0, 2));
    }

    #[test]
    fn what_readers_hold_of_old_snapshots_is_told_and_freed_by_the_loop() {
        let mut market = market_loop();
        let name = Symbol::parse("KO").unwrap();
        let listed: BTreeSet<Symbol> = [name].into();
        let compute = |market: &mut MarketLoop| {
            market.feed.requeue(&[name]);
            let at = market.clock.now();
            let conditions = Conditions { depth: Depth::Full, now: at, listed: &listed, enough: &|| false };
            market.compute(&mut Round::new([name]), &conditions);
        };
        compute(&mut market);
        let reader = market.market.load_full();
        let held = Arc::clone(&reader.chains()[0]);
        assert_eq!(market.status.old_snapshot_bytes(), 0, "it is the one that is published");
        compute(&mut market);
        let bytes = market.status.old_snapshot_bytes();
        assert!(bytes > u64::from(held.rows()) * 200 && bytes < u64::from(held.rows()) * 400, "{bytes}");
        drop(reader);
        compute(&mut market);
        assert_eq!(market.status.old_snapshot_bytes(), bytes, "one chain is held, however many came after it");
        assert_eq!(Arc::strong_count(&held), 2, "the loop is the last to hold it");
        drop(held);
        compute(&mut market);
        assert_eq!(market.status.old_snapshot_bytes(), 0);
    }

    /// Some names of the embedded market, all of which have changed whenever it is looked at.
    struct Restless {
        feed: SimFeed,
        names: Vec<Symbol>,
        batches: Arc<Mutex<Vec<Vec<Symbol>>>>,
    }

    impl Feed for Restless {
        fn poll(&mut self, moment: &Moment<'_>) -> Vec<Symbol> {
            self.feed.poll(moment);
            self.names.clone()
        }

        fn changed(&mut self, _: &Moment<'_>) -> Vec<Symbol> {
            self.feed.requeue(&self.names);
            self.names.clone()
        }

        fn names(&self) -> BTreeSet<Symbol> {
            self.names.iter().copied().collect()
        }

        fn contracts(&self, name: Symbol, now: Timestamp) -> usize {
            self.feed.contracts(name, now)
        }

        fn pays_dividends(&self, name: Symbol) -> bool {
            self.feed.pays_dividends(name)
        }

        fn books<'a>(&'a mut self, names: &[Symbol], now: Timestamp, passes: &Passes) -> Vec<(&'a Book, Timestamp)> {
            self.batches.lock().unwrap().push(names.to_vec());
            self.feed.books(names, now, passes)
        }

        fn reference(&self) -> &ReferenceData {
            self.feed.reference()
        }

        fn progress(&self) -> FeedProgress {
            self.feed.progress()
        }
    }

    #[test]
    fn a_turn_ends_and_publishes_every_name_although_the_feed_never_stands_still() {
        let at: Timestamp = "2026-11-20T15:42:00-05:00".parse().unwrap();
        let feed = SimFeed::open(SimOptions::default(), at);
        // two cold names make a batch
        let names: Vec<Symbol> =
            feed.names().into_iter().filter(|&name| feed.contracts(name, at) < 1500).take(8).collect();
        assert!(names.len() >= 6, "{names:?}");
        let batches = Arc::<Mutex<Vec<Vec<Symbol>>>>::default();
        let feed = Box::new(Restless { feed, names: names.clone(), batches: Arc::clone(&batches) });
        let mut market = market_loop_over(feed);
        assert!(market.turn(&|| false), "every name is published");
        let batches = batches.lock().unwrap().clone();
        assert!(names.iter().all(|name| batches.iter().flatten().any(|handed| handed == name)), "{batches:?}");
        assert_eq!(batches[0], batches[1], "what changes after its turn does not wait for the others: {batches:?}");
        let most = 2 * names.len().div_ceil(batches[0].len());
        assert!(batches.len() <= most, "a round takes twice its batches at most: {batches:?}");
        assert_eq!(market.rest(Duration::from_secs(60)), Duration::ZERO, "there is more to do");
    }
}
