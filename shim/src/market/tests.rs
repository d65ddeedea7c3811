//! The market loop over the embedded market.

mod fortnight_tests;

use super::sim::SimFeed;
use super::*;
use crate::config::RatesMode;
use ::sim::SimOptions;
use feed::{FeedProgress, ReferenceData};
use kernel::quality::Quality;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

fn market_loop() -> MarketLoop {
    let at: Timestamp = "2026-11-20T15:42:00-05:00".parse().unwrap();
    market_loop_over(Box::new(SimFeed::open(SimOptions::default(), at, RatesMode::Auto)))
}

fn market_loop_over(feed: Box<dyn Feed>) -> MarketLoop {
    let at: Timestamp = "2026-11-20T15:42:00-05:00".parse().unwrap();
    let zone = Calendar::embedded().zone().clone();
    let status = Status::new("sim".to_owned(), true, 1, MarketClock::Fixed(at), Box::new(|| Duration::ZERO), zone);
    let market = Arc::new(ArcSwap::from_pointee(Snapshot::empty(Vec::new())));
    MarketLoop::new(feed, Passes::new(1, |_| ()).unwrap(), MarketClock::Fixed(at), market, Arc::new(status))
}

#[test]
fn a_name_that_fails_keeps_its_last_values_and_is_counted() {
    let mut market = market_loop();
    let at = market.clock.now();
    let names: Vec<Symbol> = ["KO", "F"].map(|name| Symbol::parse(name).unwrap()).to_vec();
    let Ended { computed, failed, .. } = market.run(Quality::Preliminary, &names, at);
    assert_eq!((computed.len(), failed.len()), (2, 0));
    let published = Arc::clone(&computed[0].chain);
    market.chains.insert(published.underlying, Arc::clone(&published));
    for instead in [&computed[0].chain, &computed[1].chain] {
        market.take_failed(Arc::new(Chain { uncomputed: Some(Uncomputed::Failed), ..(**instead).clone() }));
    }
    assert!(Arc::ptr_eq(&market.chains[&published.underlying], &published));
    let other = &market.chains[&computed[1].chain.underlying];
    assert_eq!(other.uncomputed, Some(Uncomputed::Failed));
    assert!(market.preliminary_names().is_empty(), "not again before something changes");
    market.report(at, None);
    assert_eq!((market.status.facts().failing, market.status.facts().failures), (2, 2));
    market.feed.requeue(&names);
    let conditions = Conditions { quality: Quality::Full, now: at, enough: &|| false };
    market.compute(&mut Round::new(names), &conditions);
    market.report(at, None);
    assert_eq!((market.status.facts().failing, market.status.facts().failures), (0, 2));
}

#[test]
fn states_and_books_are_in_the_facts_with_their_bytes() {
    let mut market = market_loop();
    let (name, at) = (Symbol::parse("KO").unwrap(), market.clock.now());
    let mut compute = || {
        market.feed.requeue(&[name]);
        let conditions = Conditions { quality: Quality::Full, now: at, enough: &|| false };
        let pass = market.compute(&mut Round::new([name]), &conditions);
        market.report(at, Some(pass));
        let facts = market.status.facts();
        (facts.state_bytes, facts.book_bytes, u64::from(market.chains[&name].rows()))
    };
    let (states, books, contracts) = compute();
    // a quote is a strike, a right, two prices and a time; tables of an American name are megabytes
    assert!(books > contracts * 33 && books < contracts * 100, "{books} bytes of {contracts} contracts");
    assert!(states > contracts * 100, "{states} bytes of {contracts} contracts");
    let (later, ..) = compute();
    assert!(later < 2 * states, "{later} after {states}: what is replaced does not count");
}

#[test]
fn what_readers_hold_of_old_snapshots_is_told_and_freed_by_the_loop() {
    let mut market = market_loop();
    let name = Symbol::parse("KO").unwrap();
    let compute = |market: &mut MarketLoop| {
        market.feed.requeue(&[name]);
        let at = market.clock.now();
        let conditions = Conditions { quality: Quality::Full, now: at, enough: &|| false };
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

/// Some names of the embedded market; all of them change between two looks.
struct ChangingFeed {
    feed: SimFeed,
    names: Vec<Symbol>,
    batches: Arc<Mutex<Vec<Vec<Symbol>>>>,
}

impl Feed for ChangingFeed {
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

    fn requeue(&mut self, names: &[Symbol]) {
        self.feed.requeue(names);
    }

    fn books<'a>(&'a mut self, names: &[Symbol], now: Timestamp, passes: &Passes) -> Vec<(&'a Book, Timestamp)> {
        self.batches.lock().unwrap().push(names.to_vec());
        self.feed.books(names, now, passes)
    }

    fn reference(&self) -> &ReferenceData {
        self.feed.reference()
    }

    fn book_bytes(&self) -> usize {
        0
    }

    fn progress(&self) -> FeedProgress {
        self.feed.progress()
    }
}

#[test]
fn a_turn_ends_and_publishes_every_name_although_the_feed_never_stands_still() {
    let at: Timestamp = "2026-11-20T15:42:00-05:00".parse().unwrap();
    let feed = SimFeed::open(SimOptions::default(), at, RatesMode::Auto);
    let names: Vec<Symbol> = feed.names().into_iter().filter(|&name| feed.contracts(name, at) < 1500).take(8).collect();
    assert!(names.len() >= 6, "{names:?}");
    let batches = Arc::<Mutex<Vec<Vec<Symbol>>>>::default();
    let feed = Box::new(ChangingFeed { feed, names: names.clone(), batches: Arc::clone(&batches) });
    let mut market = market_loop_over(feed);
    // two names make a batch
    let most = market.contracts(names[0], at) + 1;
    market.settings.batch_contracts = most as u32;
    assert!(market.turn(&|| false), "every name is published");
    let batches = batches.lock().unwrap().clone();
    assert!(names.iter().all(|name| batches.iter().flatten().any(|handed| handed == name)), "{batches:?}");
    assert_eq!(batches[0], batches[1], "what changes after its turn does not wait for the others: {batches:?}");
    let mut of_round: Vec<Symbol> = batches.iter().step_by(2).flatten().copied().collect();
    of_round.sort_unstable();
    assert_eq!(of_round, names, "every second batch is of the round: {batches:?}");
    let contracts: usize = names.iter().map(|&name| market.contracts(name, at)).sum();
    assert!(batches.len() <= 2 * contracts.div_ceil(most), "a round takes twice its batches at most: {batches:?}");
    assert_eq!(market.rest(Duration::from_secs(60)), Duration::ZERO, "there is more to do");
}

#[test]
fn a_slow_name_holds_up_no_batch_and_what_was_postponed_comes_first() {
    /// A millisecond later at each look.
    fn clock() -> u64 {
        static NOW: AtomicU64 = AtomicU64::new(0);
        NOW.fetch_add(1_000_000, Ordering::Relaxed)
    }
    let at: Timestamp = "2026-11-20T15:42:00-05:00".parse().unwrap();
    let feed = SimFeed::open(SimOptions::default(), at, RatesMode::Auto);
    let names: Vec<Symbol> = feed.names().into_iter().filter(|&name| feed.contracts(name, at) < 1500).take(6).collect();
    let batches = Arc::<Mutex<Vec<Vec<Symbol>>>>::default();
    let feed = ChangingFeed { feed, names: names.clone(), batches: Arc::clone(&batches) };
    let mut market = market_loop_over(Box::new(feed));
    market.passes.time_stages(clock);
    market.passes.end_after(Duration::ZERO);
    let mut due = names.clone();
    market.sort(&mut due);
    assert!(market.turn(&|| false), "every name is published");
    let batches = batches.lock().unwrap().clone();
    // each batch computes its first name, and then those that have changed since have their turn
    let [of_round, changed] = [0, 1].map(|first| batches.iter().skip(first).step_by(2).collect::<Vec<_>>());
    assert_eq!(of_round.len(), due.len(), "{batches:?}");
    assert!(of_round.iter().enumerate().all(|(i, batch)| ***batch == due[i..]), "{batches:?}");
    assert!(changed.windows(2).all(|pair| pair[1].starts_with(&pair[0][1..])), "{batches:?}");
}

/// A market with two names at first, and all of them once these two were taken.
struct GrowingFeed(ChangingFeed);

impl Feed for GrowingFeed {
    fn poll(&mut self, moment: &Moment<'_>) -> Vec<Symbol> {
        let all = self.0.poll(moment);
        if self.0.batches.lock().unwrap().is_empty() { all[..2].to_vec() } else { all }
    }

    fn changed(&mut self, _: &Moment<'_>) -> Vec<Symbol> {
        self.0.names.clone()
    }

    fn names(&self) -> BTreeSet<Symbol> {
        self.0.names()
    }

    fn contracts(&self, _: Symbol, _: Timestamp) -> usize {
        60_000
    }

    fn pays_dividends(&self, name: Symbol) -> bool {
        self.0.pays_dividends(name)
    }

    fn requeue(&mut self, names: &[Symbol]) {
        self.0.requeue(names);
    }

    fn books<'a>(&'a mut self, names: &[Symbol], now: Timestamp, passes: &Passes) -> Vec<(&'a Book, Timestamp)> {
        self.0.books(&names[..1], now, passes)
    }

    fn reference(&self) -> &ReferenceData {
        self.0.reference()
    }

    fn book_bytes(&self) -> usize {
        0
    }

    fn progress(&self) -> FeedProgress {
        self.0.progress()
    }
}

#[test]
fn a_market_that_comes_after_its_first_name_is_first_computed_by_a_preliminary_pass() {
    let at: Timestamp = "2026-11-20T15:42:00-05:00".parse().unwrap();
    let feed = SimFeed::open(SimOptions::default(), at, RatesMode::Auto);
    let names: Vec<Symbol> = feed.names().into_iter().filter(|&name| feed.contracts(name, at) < 1500).take(8).collect();
    let feed = GrowingFeed(ChangingFeed { feed, names: names.clone(), batches: Arc::default() });
    let mut market = market_loop_over(Box::new(feed));
    // a round over the first names ends as soon as the others are there
    let conditions = Conditions { quality: Quality::Full, now: at, enough: &|| false };
    let mut round = Round::new(names[..5].to_vec());
    market.compute(&mut round, &conditions);
    assert!(round.due() > 0 && round.has_changed(), "{round:?}");
    assert_eq!(market.quality_for(&names, at), Quality::Preliminary);
}
