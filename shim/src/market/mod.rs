//! The market loop: takes in new data of the feed, computes names that are due, and publishes snapshots. It is one
//! thread; the passes have threads of their own.
//!
//! [`feed`] defines feeds, [`schedule`] the order of computation. Never: a socket, a request, a kind of feed.

pub mod feed;
mod notices;
pub mod overrides;
mod rates_watch;
mod retired;
pub mod schedule;
pub mod sessions;
pub mod sim;
pub mod spec;
pub mod store_feed;
mod tally;

use crate::status::{MarketFacts, PassFacts, RateFacts, Status};
use arc_swap::ArcSwap;
use engine::explain::doubts_of;
use engine::pass::{Computed, Passes};
use engine::snapshot::Snapshot;
use engine::store::book::Book;
use engine::store::chain::{Chain, Uncomputed};
use feed::{Feed, ReferenceData};
use host::clock::MarketClock;
use host::progress::ProgressLog;
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use kernel::quality::Quality;
use notices::LoggedFacts;
use overrides::OverridesFile;
use retired::Retired;
use schedule::{LoopSettings, Round, soonest_first};
use sessions::{Sessions, session_of};
use sources::Moment;
use sources::requested::RequestedNames;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tally::Tally;

/// State of the market loop.
pub struct MarketLoop {
    feed: Box<dyn Feed>,
    passes: Passes,
    clock: MarketClock,
    settings: LoopSettings,
    began: Instant,
    market: Arc<ArcSwap<Snapshot>>,
    status: Arc<Status>,
    chains: BTreeMap<Symbol, Arc<Chain>>,
    /// Names whose chains were saved before a restart and are not yet recomputed.
    restored: BTreeSet<Symbol>,
    number: u64,
    tally: Tally,
    /// Facts about rates and dividends that were logged.
    logged: LoggedFacts,
    retired: Retired,
    sessions: Option<Sessions>,
    /// Overrides of feeds and quotes.
    overrides: Option<OverridesFile>,
    /// Names of recent requests.
    requested: Arc<RequestedNames>,
    /// True if some names changed in the last round after they were computed.
    has_changed: bool,
    /// True once all sources of the feed have been read.
    is_complete: bool,
}

/// Accuracy, instant and end of a round.
struct Conditions<'a> {
    quality: Quality,
    now: Timestamp,
    /// True ends the round early.
    enough: &'a dyn Fn() -> bool,
}

/// How the names of a batch ended.
#[derive(Default)]
struct Ended {
    computed: Vec<Computed>,
    failed: Vec<Arc<Chain>>,
    postponed: Vec<Symbol>,
}

impl Ended {
    /// Adds the last run of the passes.
    fn add(&mut self, computed: Vec<Computed>, passes: &mut Passes) {
        self.computed.extend(computed);
        self.failed.extend(passes.take_failed());
        self.postponed.extend(passes.take_postponed());
    }
}

impl MarketLoop {
    /// A loop that publishes to `market` and reports to `status`.
    #[must_use]
    pub fn new(
        feed: Box<dyn Feed>,
        mut passes: Passes,
        clock: MarketClock,
        market: Arc<ArcSwap<Snapshot>>,
        status: Arc<Status>,
    ) -> Self {
        let settings = LoopSettings::default();
        passes.end_after(settings.batch_time);
        Self {
            feed,
            passes,
            clock,
            settings,
            began: Instant::now(),
            market,
            status,
            chains: BTreeMap::new(),
            restored: BTreeSet::new(),
            number: 0,
            tally: Tally::default(),
            logged: LoggedFacts::default(),
            retired: Retired::default(),
            sessions: None,
            overrides: None,
            requested: Arc::default(),
            has_changed: false,
            is_complete: false,
        }
    }

    /// Adds the volatilities of previous sessions.
    #[must_use]
    pub fn with_sessions(self, sessions: Option<Sessions>) -> Self {
        Self { sessions, ..self }
    }

    /// Adds a file of overrides.
    #[must_use]
    pub fn with_overrides(self, overrides: Option<OverridesFile>) -> Self {
        Self { overrides, ..self }
    }

    /// Computes recently requested names before the rest.
    #[must_use]
    pub fn with_requested_names(self, requested: Arc<RequestedNames>) -> Self {
        Self { requested, ..self }
    }

    /// Serves saved chains from now on, each until it is recomputed.
    #[must_use]
    pub fn with_restored(mut self, chains: Vec<Chain>) -> Self {
        self.restored = chains.iter().map(|chain| chain.underlying).collect();
        self.chains = chains.into_iter().map(|chain| (chain.underlying, Arc::new(chain))).collect();
        if !self.chains.is_empty() {
            // clients that see these chains must see that they are restored
            self.report(self.clock.now(), None);
            self.publish();
        }
        self
    }

    /// True if a name has a chain that was computed since the start.
    fn is_known(&self, name: Symbol) -> bool {
        self.chains.contains_key(&name) && !self.restored.contains(&name)
    }

    /// Drops names that are not listed any more. A restored chain waits for its listing: with live feeds until all its
    /// contracts have settled, with recorded ones until all are read.
    fn retain(&mut self, listed: &BTreeSet<Symbol>, now: Timestamp) {
        let (is_live, is_complete) = (self.feed.lists_later(), self.is_complete);
        let has_unsettled = |chain: &Chain| chain.slices.iter().any(|slice| slice.settles_at > now);
        let waits = |chain: &Chain| if is_live { has_unsettled(chain) } else { !is_complete };
        let restored = &self.restored;
        self.chains.retain(|name, chain| listed.contains(name) || (restored.contains(name) && waits(chain)));
        let chains = &self.chains;
        self.restored.retain(|name| chains.contains_key(name));
        self.tally.retain(listed);
    }

    /// One turn: polls the feed and computes names that are due, then names with preliminary values only. `enough` ends
    /// the round early. Returns true if every listed name is published.
    pub fn turn(&mut self, enough: &dyn Fn() -> bool) -> bool {
        self.status.turned();
        let now = self.clock.now();
        let mut due = self.feed.poll(&self.moment(now));
        self.is_complete |= !self.feed.outstanding().is_starting;
        let listed = self.feed.names();
        self.read_overrides(&mut due, &listed);
        let before = self.chains.len();
        self.retain(&listed, now);
        self.passes.retain(&listed);
        let began = Instant::now();
        let quality = self.quality_for(&due, now);
        self.sort(&mut due);
        if quality == Quality::Full {
            due.extend(self.preliminary_names());
        }
        let mut round = Round::new(due);
        if round.due() > 0 {
            let mut pass = self.compute(&mut round, &Conditions { quality, now, enough });
            self.tally.time_round(began.elapsed(), self.settings.rounds_kept, &mut pass);
            self.report(now, Some(pass));
        } else {
            if before != self.chains.len() {
                self.publish();
            }
            self.report(now, None);
        }
        self.log_reference();
        self.publish_pending();
        self.has_changed = round.has_changed();
        if let Some(sessions) = &mut self.sessions {
            let is_open = self.feed.reference().calendar.is_open(now);
            sessions.turned(&self.market.load(), is_open, self.began.elapsed());
        }
        self.sweep();
        listed.iter().all(|&name| self.is_known(name))
    }

    /// Pause until the next turn, at most `refresh`.
    #[must_use]
    pub fn rest(&self, refresh: Duration) -> Duration {
        if self.has_changed {
            Duration::ZERO
        } else {
            let overrides = self.overrides.as_ref().and_then(OverridesFile::poll_within);
            let soon = self.feed.progress().poll_within.into_iter().chain(overrides);
            soon.fold(refresh, Duration::min)
        }
    }

    /// Applies the overrides if they have changed; every name is then recomputed.
    fn read_overrides(&mut self, due: &mut Vec<Symbol>, listed: &BTreeSet<Symbol>) {
        let complain = |complaint: &str| tracing::warn!("{complaint}");
        let Some(file) = &mut self.overrides else { return };
        if let Some(overrides) = file.poll(self.began.elapsed(), &complain) {
            self.passes.set_overrides(overrides);
            *due = listed.iter().copied().collect();
            self.feed.requeue(due);
        }
    }

    fn moment(&self, now: Timestamp) -> Moment<'static> {
        let latest = self.clock.latest();
        Moment { now, latest, elapsed: self.began.elapsed(), log: &|complaint| tracing::warn!("{complaint}") }
    }

    fn sort(&self, names: &mut [Symbol]) {
        soonest_first(names, |name| self.is_awaited(name), |name| self.feed.pays_dividends(name));
    }

    /// True if the name was requested recently.
    fn is_awaited(&self, name: Symbol) -> bool {
        self.requested.since(name).is_some_and(|since| since < self.settings.requested_within)
    }

    /// The names with preliminary values only; the feed returns their books again.
    fn preliminary_names(&mut self) -> Vec<Symbol> {
        // a name whose computation failed waits for another quote
        let wanted = |chain: &&Arc<Chain>| chain.preliminary && !self.tally.is_failing(chain.underlying);
        let mut names: Vec<Symbol> = self.chains.values().filter(wanted).map(|c| c.underlying).collect();
        if !names.is_empty() {
            self.feed.requeue(&names);
            self.sort(&mut names);
        }
        names
    }

    /// Accuracy of a round over some names.
    fn quality_for(&self, names: &[Symbol], now: Timestamp) -> Quality {
        let cold = names.iter().filter(|&&name| !self.is_known(name));
        self.settings.quality(cold.map(|&name| self.feed.contracts(name, now)))
    }

    /// Computes a round in batches, and publishes each.
    fn compute(&mut self, round: &mut Round, conditions: &Conditions<'_>) -> PassFacts {
        let &Conditions { quality, now, enough } = conditions;
        let what = if quality == Quality::Preliminary { "preliminary pass" } else { "full pass" };
        let mut progress = ProgressLog::new(what, "names", Some(round.due()), |line| tracing::info!("{line}"));
        let mut pass = PassFacts::default();
        let (mut published, mut reported) = (Instant::now(), Instant::now());
        while round.due() > 0 && !enough() {
            let most = self.settings.batch_contracts as usize * self.passes.threads();
            let names = round.next_batch(most, |name| self.contracts(name, now));
            let first = names.iter().any(|&name| !self.is_known(name));
            let Ended { computed, failed, postponed } = self.run(quality, &names, now);
            self.status.turned();
            self.feed.requeue(&postponed);
            round.take_back(&postponed);
            let changed = !computed.is_empty() || !failed.is_empty();
            failed.into_iter().for_each(|chain| self.take_failed(chain));
            let before = pass.contracts;
            for Computed { chain, report } in computed {
                self.log_change(&chain);
                if self.tally.count(chain.underlying, report, &mut pass) {
                    let (name, n) = (chain.underlying, report.dividends_refused);
                    tracing::warn!(
                        "{name}: {n} dividends before an expiry are too many: it is valued without dividends"
                    );
                }
                self.replace(chain);
            }
            progress.add(names.len() - postponed.len(), pass.contracts - before);
            let is_last = round.due() == 0;
            if is_last || (changed && (!first || published.elapsed() > self.settings.first_publish)) {
                self.publish();
                published = Instant::now();
            }
            if !is_last && reported.elapsed() > self.settings.report_every {
                self.report(now, None);
                reported = Instant::now();
            }
            if !is_last {
                let changed = self.feed.changed(&self.moment(now));
                let has_grown = quality == Quality::Full && self.quality_for(&changed, now) == Quality::Preliminary;
                round.note_changed(changed, |name| self.is_awaited(name));
                if has_grown {
                    // the feed has listed most of a market since the round began: the next round begins with a
                    // preliminary pass over all of it
                    break;
                }
            }
        }
        progress.end();
        pass
    }

    /// Contracts of a name: those of its chain, or those that are listed before it has one.
    fn contracts(&self, name: Symbol, now: Timestamp) -> usize {
        self.chains.get(&name).map_or_else(|| self.feed.contracts(name, now), |chain| chain.rows() as usize)
    }

    /// Replaces the chain of a name by a computed one.
    fn replace(&mut self, chain: Arc<Chain>) {
        // the passes still hold the last chain of a name that has lost its spot
        let is_kept = chain.uncomputed == Some(Uncomputed::NoSpot);
        let old = self.chains.insert(chain.underlying, Arc::clone(&chain));
        self.restored.remove(&chain.underlying);
        if let (Some(sessions), Some(old)) = (&mut self.sessions, &old) {
            sessions.replaced(old, &chain, &self.feed.reference().calendar);
        }
        old.filter(|_| !is_kept).into_iter().for_each(|old| self.retired.add_chain(old));
    }

    /// Logs that a name cannot be computed, or can be again; once, not at every pass.
    fn log_change(&self, chain: &Chain) {
        let (name, before) = (chain.underlying, self.chains.get(&chain.underlying).and_then(|old| old.uncomputed));
        match chain.uncomputed {
            now if now == before => {}
            Some(why) => {
                let (n, cure) = (chain.rows(), notices::cure(why, name));
                tracing::warn!(
                    "{name}: {n} contract{} without Greeks: {}{cure}",
                    if n == 1 { "" } else { "s" },
                    why.name()
                );
            }
            None => tracing::info!("{name}: has Greeks again"),
        }
        let state = |chain: &Chain| (chain.doubt, chain.firm.are_contradicted());
        let before = self.chains.get(&name).map_or((None, false), |old| state(old.as_ref()));
        match doubts_of(chain) {
            _ if state(chain) == before => {}
            Some(doubts) => tracing::warn!("{name}: {doubts}"),
            None => tracing::info!("{name}: quotes contradict nothing that is assumed any more"),
        }
    }

    /// Handles a name whose computation panicked: it keeps its published chain, or gets `instead` if it has none.
    fn take_failed(&mut self, instead: Arc<Chain>) {
        let name = instead.underlying;
        if self.tally.count_failure(name) {
            tracing::error!("{name}: not computed because of an internal error; its last values are still served");
        }
        self.chains.entry(name).or_insert(instead);
    }

    /// Computes some names: by a preliminary pass if `quality` is preliminary and no full values exist, else fully.
    /// Names are begun in the given order.
    fn run(&mut self, quality: Quality, names: &[Symbol], now: Timestamp) -> Ended {
        let reference = self.feed.reference().clone();
        let places: BTreeMap<Symbol, usize> = names.iter().enumerate().map(|(place, &name)| (name, place)).collect();
        let mut books = self.feed.books(names, now, &self.passes);
        books.sort_by_cached_key(|(book, _)| places.get(&book.underlying).copied());
        let (chains, restored) = (&self.chains, &self.restored);
        let is_preliminary = |name: Symbol| {
            quality == Quality::Preliminary
                && chains.get(&name).is_none_or(|chain| chain.preliminary || restored.contains(&name))
        };
        // a first computation starts from nothing, so that the values equal those of history and batch
        let is_first =
            |name: Symbol| chains.get(&name).is_none_or(|chain| chain.preliminary || restored.contains(&name));
        let mut ended = Ended::default();
        for (session, books) in by_session(books, &reference.calendar) {
            if let Some(sessions) = &mut self.sessions {
                self.passes.set_prior(sessions.before(session));
            }
            let (preliminary, full): (Vec<_>, Vec<_>) =
                books.into_iter().partition(|(book, _)| is_preliminary(book.underlying));
            let (first, again): (Vec<_>, Vec<_>) = full.into_iter().partition(|(book, _)| is_first(book.underlying));
            for (quality, books) in [(Quality::Preliminary, preliminary), (Quality::Full, again)] {
                let computed = self.passes.run_to(quality, reference.market(), &books);
                ended.add(computed, &mut self.passes);
            }
            let computed = self.passes.run_first(reference.market(), &first);
            ended.add(computed, &mut self.passes);
        }
        ended
    }

    /// Publishes the same chains again if the published snapshot lists other pending names: a vendor has answered that
    /// it has no quotes of a name, or all sources have been read.
    fn publish_pending(&mut self) {
        let (quoted, unanswered) = self.missing();
        let has_all_quoted = self.is_complete && quoted.is_empty();
        let mut pending = [quoted, unanswered].concat();
        pending.sort_unstable();
        let shown = self.market.load();
        let is_same = shown.is_complete() == self.is_complete
            && shown.has_all_quoted() == has_all_quoted
            && shown.pending() == pending;
        let is_first = shown.number == 0;
        drop(shown);
        if !is_first && !is_same {
            self.publish();
        }
    }

    /// The names without a chain: those with quotes, and those that vendors have not answered for. Asks the feed for
    /// its list again, since it may have taken in names while others were computed.
    fn missing(&self) -> (Vec<Symbol>, Vec<Symbol>) {
        let listed = self.feed.names();
        let has_none = |name: &Symbol| !self.chains.contains_key(name) && !listed.contains(name);
        let unanswered = self.feed.outstanding().names.into_iter().filter(has_none).collect();
        // a walk along both: a look-up of every name would be most of a publication
        let mut known = self.chains.keys().peekable();
        let is_missing = |name: &&Symbol| {
            while known.next_if(|known| known < name).is_some() {}
            known.peek() != Some(name)
        };
        (listed.iter().filter(is_missing).copied().collect(), unanswered)
    }

    fn publish(&mut self) {
        self.number += 1;
        let (quoted, unanswered) = self.missing();
        let chains = self.chains.values().cloned().collect();
        let snapshot = self.market.load().next(self.number, chains, quoted).awaiting(unanswered);
        let snapshot = if self.is_complete { snapshot } else { snapshot.starting() };
        if self.restored.len() == self.chains.len() {
            self.sessions.iter_mut().for_each(|sessions| sessions.restored(self.number));
        }
        self.retired.add_snapshot(self.market.swap(Arc::new(snapshot)));
        self.sweep();
    }

    /// Hands chains that no response holds to the passes, which reuse their memory.
    fn sweep(&mut self) {
        let (unread, bytes) = self.retired.sweep();
        self.passes.reuse(unread);
        self.status.holds_old_snapshots(bytes);
    }

    /// The discount curve of the newest values; `None` before the first ones.
    fn rate_facts(&self, now: Timestamp) -> Option<RateFacts> {
        let at = self.chains.values().map(|chain| chain.valued_at).max()?.min(now);
        let ReferenceData { calendar, rates } = self.feed.reference();
        Some(RateFacts::of(rates, at, calendar.eastern(at).date()))
    }

    /// Logs the source of the rates, and missing rates and dividends.
    fn log_reference(&mut self) {
        if self.feed.is_simulated() {
            return;
        }
        let (facts, waits) = (self.status.facts(), self.feed.lists_later());
        for (is_warning, line) in self.logged.lines(facts.rates.as_ref(), &self.chains, waits, self.began.elapsed()) {
            if is_warning {
                tracing::warn!("{line}");
            } else {
                tracing::info!("{line}");
            }
        }
    }

    fn report(&self, now: Timestamp, pass: Option<PassFacts>) {
        let open = self.feed.reference().calendar.is_open(now);
        let before = self.status.facts();
        // a sum over every expiry of the market: once a pass, and not each turn
        let book_bytes = if pass.is_some() { self.feed.book_bytes() as u64 } else { before.book_bytes };
        let pass = pass.unwrap_or(before.pass);
        self.status.publish(MarketFacts {
            restored: self.restored.len(),
            record: self.feed.record(),
            state: self.sessions.as_ref().and_then(Sessions::facts),
            overrides: self.overrides.as_ref().map(|file| file.facts().clone()),
            rates: self.rate_facts(now),
            book_bytes,
            session_bytes: self.sessions.as_ref().map_or(0, |sessions| sessions.bytes() as u64),
            ..self.tally.facts(open, pass, &self.feed.progress(), self.feed.sources())
        });
    }
}

/// Groups books with their instants by session, in the given order; mostly there is one session.
fn by_session<'b>(
    books: Vec<(&'b Book, Timestamp)>,
    calendar: &Calendar,
) -> BTreeMap<Date, Vec<(&'b Book, Timestamp)>> {
    let mut sessions: BTreeMap<Date, Vec<(&Book, Timestamp)>> = BTreeMap::new();
    for (book, at) in books {
        sessions.entry(session_of(calendar, at)).or_default().push((book, at));
    }
    sessions
}

#[cfg(test)]
mod tests;
