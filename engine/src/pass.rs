//! Chooses the chains of a pass, their order and their threads. The only room that names `rayon`. Never: a formula.
//!
//! A pass takes every book with something stale, and turns it into a finished chain (`underlying`): slices of one chain
//! are independent but for the steps that look at neighbours (reference spot, order in expiry, carry, curves). Results
//! have the order of the books, so the same input gives the same bytes on any number of threads.

mod name_clock;
mod task;
mod uncomputed;
mod underlying;

pub use task::{ChainReport, MarketData, Stage, StageTimes};
pub use underlying::ChainState;

use crate::store::book::Book;
use crate::store::chain::Chain;
use crate::store::columns::SpareBlocks;
use crate::store::overrides::Overrides;
use crate::store::session::SessionVols;
use jiff::Timestamp;
use kernel::american::SharedBoundaries;
use kernel::contract::Symbol;
use kernel::quality::Quality;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use task::Task;
use underlying::Scratch;

/// Stack of a thread of the passes. A thread that waits for the slices of a wide chain takes up other work, possibly
/// another chain, on the same stack. So the depth is bounded by the number of wide chains of a run (some dozens in the
/// whole market), and not by one computation, which fits many times into the usual 2 MB. This is eight times as much;
/// untouched stack costs addresses only. Running wide chains first and alone would bound the depth, too, but leave
/// threads idle at the end of each.
const STACK_BYTES: usize = 16 << 20;

/// Upper bound on delisted names whose last volatilities are kept.
const LEFT_MOST: usize = 10_000;

/// Qualities of the passes of a first computation at full accuracy, without memory of earlier passes.
///
/// A single full pass builds its tables at a forward and a borrow rate that are not final. Distance of its values from
/// those that no further pass changes, in bp of the underlying, for 335 names at one close
/// (`passes_of_a_first_snapshot` in `history/tests/recipe.rs`):
///
/// | passes | 90 % | 99 % | vols, 99 %, 1e-4 |
/// |---|---|---|---|
/// | full | 0.0163 | 2.03 | 28.7 |
/// | full, full | 0.0002 | 0.036 | 0.48 |
/// | preliminary, full, full | 0.0000 | 0.000 | 0.000 |
///
/// After a preliminary pass tables are built once, at the right place; the second full pass reads them again at a tenth
/// of the cost. Values of preliminary passes alone stay 8 bp off at 99 %, with one pass or with six.
pub const FIRST: &[Quality] = &[Quality::Preliminary, Quality::Full, Quality::Full];

/// Threads of the passes, and the state of each chain between passes.
#[derive(Debug)]
pub struct Passes {
    pool: rayon::ThreadPool,
    states: BTreeMap<Symbol, ChainState>,
    /// Working memory, one for each chain in computation.
    scratch: Mutex<Vec<Scratch>>,
    /// Memory of replaced chains without readers, for new chains.
    spare: SpareBlocks,
    /// Volatilities of the session before the first pass, if saved.
    prior: Arc<SessionVols>,
    /// True if chains show the quotes that they were computed from.
    keeps_quotes: bool,
    /// Overrides of feeds and quotes.
    overrides: Arc<Overrides>,
    /// Exercise boundaries that names share.
    shared: SharedBoundaries,
    /// Clock that stages are timed by, nanoseconds since any instant.
    clock: fn() -> u64,
    /// Time after which a run begins no further book, nanoseconds of `clock`.
    within: u64,
    /// Chains of the last run whose computation panicked.
    failed: Vec<Arc<Chain>>,
    /// Names of the last run that were not begun.
    postponed: Vec<Symbol>,
}

/// How a book of a run ended.
enum Outcome {
    Done(Box<(Computed, ChainState)>),
    /// Its computation panicked: identity rows.
    Failed(Arc<Chain>),
    /// Not begun, since the run had lasted too long.
    Postponed(Option<ChainState>),
}

/// One computed underlying.
#[derive(Debug)]
pub struct Computed {
    /// The finished chain.
    pub chain: Arc<Chain>,
    /// Counts of dropped quotes and fallbacks.
    pub report: ChainReport,
}

impl Passes {
    /// `threads` workers (0: one per core); `on_start` runs first on each, to lower its priority.
    ///
    /// # Errors
    /// The system has no threads.
    pub fn new(threads: usize, on_start: impl Fn(usize) + Send + Sync + 'static) -> std::io::Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("pass-{i}"))
            .stack_size(STACK_BYTES)
            .start_handler(on_start)
            .build()
            .map_err(std::io::Error::other)?;
        Ok(Self {
            pool,
            states: BTreeMap::new(),
            scratch: Mutex::default(),
            spare: SpareBlocks::default(),
            prior: Arc::default(),
            keeps_quotes: false,
            overrides: Arc::default(),
            shared: SharedBoundaries::default(),
            clock: || 0,
            within: u64::MAX,
            failed: Vec::new(),
            postponed: Vec::new(),
        })
    }

    /// Chains from here on show the quotes that they were computed from ([`Chain::quotes`]).
    pub fn keep_quotes(&mut self) {
        self.keeps_quotes = true;
    }

    /// Stages are timed by `clock` from here on, nanoseconds since any instant ([`ChainReport::stages`]).
    pub fn time_stages(&mut self, clock: fn() -> u64) {
        self.clock = clock;
    }

    /// A run begins no further book after `within` by the clock of [`Passes::time_stages`], but always one:
    /// it lasts as long as that and its slowest book. [`Passes::take_postponed`] names the others.
    pub fn end_after(&mut self, within: Duration) {
        self.within = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
    }

    /// Keeps the memory of `chains`, which have no readers any more, for later chains.
    pub fn reuse(&self, chains: impl IntoIterator<Item = Chain>) {
        chains.into_iter().for_each(|chain| chain.columns.leave(&self.spare));
    }

    /// Sets `prev_vol` of chains that have not seen the end of a session.
    pub fn set_prior(&mut self, prior: impl Into<Arc<SessionVols>>) {
        self.prior = prior.into();
    }

    /// Shares exercise boundaries with other passes from here on: that saves their solution, and changes no number.
    pub fn share(&mut self, shared: SharedBoundaries) {
        self.shared = shared;
    }

    /// Sets the overrides of feeds and quotes from the next run on.
    pub fn set_overrides(&mut self, overrides: impl Into<Arc<Overrides>>) {
        self.overrides = overrides.into();
    }

    /// Applies `f` to each item in parallel on the threads of the passes; results are in the order of the items.
    pub fn map<T: Send, R: Send>(
        &self,
        items: impl IntoIterator<Item = T>,
        f: impl Fn(T) -> R + Send + Sync,
    ) -> Vec<R> {
        let items: Vec<T> = items.into_iter().collect();
        self.pool.install(|| items.into_par_iter().with_max_len(1).map(f).collect())
    }

    /// Number of compute threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Computes `work`: each book at its instant. Books are begun in the order of `work`, and so is the result; a chain
    /// whose computation panicked is left out and its state forgotten ([`Passes::take_failed`]).
    pub fn run(&mut self, market: MarketData<'_>, work: &[(&Book, Timestamp)]) -> Vec<Computed> {
        self.run_to(Quality::Full, market, work)
    }

    /// As [`Passes::run`], by the passes [`FIRST`] and without state of earlier passes: results depend on the books
    /// alone, except `prev_vol`. A preliminary pass that a name has had is the first of them.
    pub fn run_first(&mut self, market: MarketData<'_>, work: &[(&Book, Timestamp)]) -> Vec<Computed> {
        for (book, _) in work {
            self.states.entry(book.underlying).and_modify(ChainState::begin_anew);
        }
        self.run_through(|state| if state.is_preliminary() { &FIRST[1..] } else { FIRST }, market, work)
    }

    /// As [`Passes::run`], to a given quality: a preliminary pass over a market costs a tenth of its tables.
    ///
    /// # Cost     PERF.md
    pub fn run_to(&mut self, quality: Quality, market: MarketData<'_>, work: &[(&Book, Timestamp)]) -> Vec<Computed> {
        let only = [quality];
        self.run_through(|_| &only, market, work)
    }

    /// Takes each book through passes of the qualities that its state asks for, one after the other: no book waits for
    /// others between two.
    ///
    /// # Domain   any books, each once; at least one quality
    fn run_through<'q>(
        &mut self,
        qualities: impl Fn(&ChainState) -> &'q [Quality] + Sync,
        market: MarketData<'_>,
        work: &[(&Book, Timestamp)],
    ) -> Vec<Computed> {
        // each chain owns its state while it is computed, so that no lock is needed
        let states: Vec<_> = work.iter().map(|(book, _)| self.states.remove(&book.underlying)).collect();
        let (unused, spare, prior) = (&self.scratch, &self.spare, &self.prior);
        let (quotes, overrides, shared, clock) = (self.keeps_quotes, &*self.overrides, &self.shared, self.clock);
        let (began, within) = (clock(), self.within);
        let compute = |(i, (&(book, at), state)): (usize, (&(&Book, Timestamp), Option<ChainState>))| {
            if i > 0 && clock() - began > within {
                return (i, Outcome::Postponed(state));
            }
            let mut state = state.unwrap_or_else(|| ChainState::new(Arc::clone(prior)));
            let passes = qualities(&state);
            let idle = || unused.lock().unwrap_or_else(PoisonError::into_inner);
            let mut scratch = idle().pop().unwrap_or_default();
            let task = |quality| Task { market, book, at, quality, quotes, overrides, spare, shared, clock };
            let mut worked = ChainReport::default();
            // neither bad input nor a panic stops the other chains; the state and memory of this one are lost then
            let compute = || {
                let mut pass = |&quality: &Quality| {
                    let (chain, report) = underlying::compute(&task(quality), &mut state, &mut scratch);
                    worked = report.after(&worked);
                    Computed { chain, report: worked }
                };
                passes.iter().map(&mut pass).last()
            };
            let Ok(Some(computed)) = catch_unwind(AssertUnwindSafe(compute)) else {
                return (i, Outcome::Failed(uncomputed::failed(&task(Quality::Full))));
            };
            idle().push(scratch);
            (i, Outcome::Done(Box::new((computed, state))))
        };
        // each thread takes the next book in order, and helps with the slices of others once none is left
        let mut ended: Vec<(usize, Outcome)> =
            self.pool.install(|| work.iter().zip(states).enumerate().par_bridge().map(compute).collect());
        ended.sort_unstable_by_key(|&(i, _)| i);
        let mut computed = Vec::with_capacity(ended.len());
        (self.failed, self.postponed) = (Vec::new(), Vec::new());
        for (i, outcome) in ended {
            let name = work[i].0.underlying;
            match outcome {
                Outcome::Done(done) => {
                    let (result, state) = *done;
                    self.states.insert(name, state);
                    computed.push(result);
                }
                Outcome::Failed(chain) => self.failed.push(chain),
                Outcome::Postponed(state) => {
                    self.states.extend(state.map(|state| (name, state)));
                    self.postponed.push(name);
                }
            }
        }
        computed
    }

    /// Forgets the state of names that are not `listed`: last chains and megabytes of tables. Their last volatilities
    /// stay, for at most `LEFT_MOST` names: they are `prev_vol` when a name comes back.
    pub fn retain(&mut self, listed: &BTreeSet<Symbol>) {
        if self.states.len() > listed.len() + LEFT_MOST {
            self.states.retain(|name, _| listed.contains(name));
        }
        self.states.iter_mut().filter(|(name, _)| !listed.contains(name)).for_each(|(_, state)| state.leave());
    }

    /// Forgets the state of every name, so that the next run depends on its books alone.
    pub fn forget(&mut self) {
        self.states.clear();
        self.failed.clear();
    }

    /// Chains of names that the last run could not compute: identity rows, for names without an earlier chain.
    pub fn take_failed(&mut self) -> Vec<Arc<Chain>> {
        std::mem::take(&mut self.failed)
    }

    /// Names that the last run has not begun ([`Passes::end_after`]).
    pub fn take_postponed(&mut self) -> Vec<Symbol> {
        std::mem::take(&mut self.postponed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rates::table::RateTable;
    use kernel::calendar::Calendar;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Books without contracts.
    fn books(names: [&str; 3]) -> [Book; 3] {
        names.map(|name| Book {
            underlying: Symbol::parse(name).unwrap(),
            spot: 1.0,
            ts: "2026-11-20T21:00:00Z".parse().unwrap(),
            dividends: Vec::new(),
            projected_from: None,
            dividends_known: true,
            slices: Vec::new(),
        })
    }

    #[test]
    fn a_run_ends_in_time_and_names_what_it_has_not_begun() {
        /// A nanosecond later at each look.
        fn clock() -> u64 {
            static NOW: AtomicU64 = AtomicU64::new(0);
            NOW.fetch_add(1, Ordering::Relaxed)
        }
        let (calendar, curves) = (Calendar::embedded(), RateTable::zero());
        let market = MarketData { calendar: &calendar, rates: &curves };
        let books = books(["CC", "AA", "BB"]);
        let work: Vec<(&Book, Timestamp)> = books.iter().map(|book| (book, book.ts)).collect();
        let mut passes = Passes::new(2, |_| ()).unwrap();
        passes.time_stages(clock);
        let [a, b, c] = [0, 1, 2].map(|i| books[i].underlying);
        let mut run = |within: u64, work: &[(&Book, Timestamp)]| {
            passes.end_after(Duration::from_nanos(within));
            let computed: Vec<Symbol> = passes.run(market, work).iter().map(|of| of.chain.underlying).collect();
            (computed, passes.take_postponed())
        };
        assert_eq!(run(0, &work), (vec![a], vec![b, c]));
        assert_eq!(run(0, &work[1..]), (vec![b], vec![c]));
        assert_eq!(run(1_000_000, &work), (vec![a, b, c], Vec::new()));
    }

    #[test]
    fn nothing_is_kept_of_a_name_that_has_left() {
        let (calendar, curves) = (Calendar::embedded(), RateTable::zero());
        let books = books(["AA", "BB", "CC"]);
        let (at, names) = (books[0].ts, [0, 1, 2].map(|i| books[i].underlying));
        let work: Vec<(&Book, Timestamp)> = books.iter().map(|book| (book, at)).collect();
        let mut passes = Passes::new(1, |_| ()).unwrap();
        let done = passes.run(MarketData { calendar: &calendar, rates: &curves }, &work);
        let held = |done: &[Computed]| done.iter().map(|of| Arc::strong_count(&of.chain) - 1).collect::<Vec<_>>();
        assert_eq!(held(&done), [1, 1, 1]);
        passes.retain(&[names[0], names[2]].into());
        assert_eq!(held(&done), [1, 0, 1]);
        // nor anything at all of too many
        let many = (0..=LEFT_MOST).map(|i| Symbol::parse(&format!("X{i}")).unwrap());
        passes.states.extend(many.map(|name| (name, ChainState::new(Arc::default()))));
        passes.retain(&[names[0]].into());
        assert_eq!(passes.states.keys().copied().collect::<Vec<_>>(), [names[0]]);
        passes.forget();
        assert_eq!((held(&done), passes.states.len()), (vec![0, 0, 0], 0));
    }
}
