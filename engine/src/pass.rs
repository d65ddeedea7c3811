//! Which chains, in what order, on which threads. The only room that names `rayon`. Never: a formula.
//!
//! A pass takes every book with something stale, and turns it into a finished chain (`underlying`): slices of one chain
//! are independent but for the steps that look at neighbours (reference spot, order in expiry, carry, curves). Results
//! are put together in the order of the books, so the same input gives the same bytes on any number of threads.

mod market_data;
mod name_clock;
mod report;
mod stages;
mod task;
mod uncomputed;
mod underlying;

pub use market_data::MarketData;
pub use report::ChainReport;
pub use stages::{Stage, StageTimes};
pub use underlying::ChainState;

use crate::store::book::Book;
use crate::store::chain::Chain;
use crate::store::columns::SpareBlocks;
use crate::store::overrides::Overrides;
use crate::store::session::SessionVols;
use jiff::Timestamp;
use kernel::contract::Symbol;
use kernel::quality::Quality;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use task::Task;
use underlying::Scratch;

/// The stack of a thread of the passes. A thread that waits for the slices of a wide chain takes up whatever work is
/// left, another chain too, on the stack that it has. So how deep it gets is bounded by how many wide chains a run has
/// (some dozens in the whole market), not by one computation, which the 2 MB that are usual hold many times. This is
/// eight times that, and what is not touched costs addresses only. (Wide chains first and alone would bound it too, and
/// leave threads idle at the end of each.)
const STACK_BYTES: usize = 16 << 20;

/// Upper bound on delisted names whose last volatilities are kept.
const LEFT_MOST: usize = 10_000;

/// The passes of a first computation at full accuracy, before which nothing is remembered.
///
/// A single full pass takes its tables at a forward and a borrow rate that it has yet to find. Where its values lie
/// from those that no further pass changes, in bp of the underlying, for 335 names at one close
/// (`passes_of_a_first_snapshot` in `history/tests/recipe.rs`):
///
/// | passes | 90 % | 99 % | vols, 99 %, 1e-4 |
/// |---|---|---|---|
/// | full | 0.0163 | 2.03 | 28.7 |
/// | full, full | 0.0002 | 0.036 | 0.48 |
/// | coarse, full | 0.0001 | 0.033 | 0.46 |
/// | coarse, full, full | 0.0000 | 0.004 | 0.037 |
/// | preliminary, full, full | 0.0000 | 0.000 | 0.000 |
///
/// A coarse look first costs about what it saves, since tables are then built once, where the market is; and the second
/// full pass reads them again for a tenth more. Preliminary passes stay where their lattices are, 8 bp at 99 % with one
/// or with six.
pub const FIRST: &[Quality] = &[Quality::Coarse, Quality::Full, Quality::Full];

/// The threads of the passes, and what each chain keeps from one pass to the next.
#[derive(Debug)]
pub struct Passes {
    pool: rayon::ThreadPool,
    states: BTreeMap<Symbol, ChainState>,
    /// Memory to work in, one for each chain that is in work.
    scratch: Mutex<Vec<Scratch>>,
    /// Memory of chains that nobody reads any more, for the next ones.
    spare: SpareBlocks,
    /// Volatilities of the session before the first pass, if they were saved.
    prior: Arc<SessionVols>,
    /// Chains show the quotes that they were computed from.
    keeps_quotes: bool,
    /// Overrides of feeds and quotes.
    overrides: Arc<Overrides>,
    /// Nanoseconds since any instant, to time stages by.
    clock: fn() -> u64,
    /// Of the last run: chains whose computation panicked.
    failed: Vec<Arc<Chain>>,
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
    /// The system gave no threads.
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
            clock: || 0,
            failed: Vec::new(),
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

    /// Keeps the memory of `chains`, which nobody reads any more, for chains that are computed later.
    pub fn reuse(&self, chains: impl IntoIterator<Item = Chain>) {
        chains.into_iter().for_each(|chain| chain.columns.leave(&self.spare));
    }

    /// Sets what `prev_vol` shows for chains that have not seen a session end.
    pub fn set_prior(&mut self, prior: impl Into<Arc<SessionVols>>) {
        self.prior = prior.into();
    }

    /// Sets the overrides of feeds and quotes from the next run on.
    pub fn set_overrides(&mut self, overrides: impl Into<Arc<Overrides>>) {
        self.overrides = overrides.into();
    }

    /// `f` of each item, side by side on the threads of the passes; the results in the order of the items.
    pub fn map<T: Send, R: Send>(
        &self,
        items: impl IntoIterator<Item = T>,
        f: impl Fn(T) -> R + Send + Sync,
    ) -> Vec<R> {
        let items: Vec<T> = items.into_iter().collect();
        self.pool.install(|| items.into_par_iter().with_max_len(1).map(f).collect())
    }

    /// How many threads compute.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Computes `work`: each book at its instant. The result is in the order of `work`; a chain whose computation
    /// panicked is left out, and what was remembered of it forgotten ([`Passes::take_failed`]).
    pub fn run(&mut self, market: MarketData<'_>, work: &[(&Book, Timestamp)]) -> Vec<Computed> {
        self.run_to(Quality::Full, market, work)
    }

    /// As [`Passes::run`], by the passes [`FIRST`] and as if nothing had been computed of these names before: what it
    /// gives depends on their books alone, but for `prev_vol`.
    pub fn run_first(&mut self, market: MarketData<'_>, work: &[(&Book, Timestamp)]) -> Vec<Computed> {
        for (book, _) in work {
            self.states.entry(book.underlying).and_modify(ChainState::leave);
        }
        self.run_through(FIRST, market, work)
    }

    /// As [`Passes::run`], to a given quality: a preliminary pass over a market costs a tenth of its tables.
    ///
    /// # Cost     PERF.md
    pub fn run_to(&mut self, quality: Quality, market: MarketData<'_>, work: &[(&Book, Timestamp)]) -> Vec<Computed> {
        self.run_through(&[quality], market, work)
    }

    /// Takes each book through passes of these qualities, one after the other: no book waits for others between two.
    ///
    /// # Domain   any books, each once; at least one quality
    fn run_through(
        &mut self,
        qualities: &[Quality],
        market: MarketData<'_>,
        work: &[(&Book, Timestamp)],
    ) -> Vec<Computed> {
        // each chain owns its state while it is computed, so that no lock is needed
        let states: Vec<ChainState> = work.iter().map(|(book, _)| self.take_state(book.underlying)).collect();
        let (unused, spare) = (&self.scratch, &self.spare);
        let (quotes, overrides, clock) = (self.keeps_quotes, &*self.overrides, self.clock);
        let done: Vec<Result<(Computed, ChainState), Arc<Chain>>> = self.pool.install(|| {
            work.par_iter()
                .zip(states)
                .with_max_len(1)
                .map(|(&(book, at), mut state)| {
                    let idle = || unused.lock().unwrap_or_else(PoisonError::into_inner);
                    let mut scratch = idle().pop().unwrap_or_default();
                    let task = |quality| Task { market, book, at, quality, quotes, overrides, spare, clock };
                    let mut worked = ChainReport::default();
                    // bad input never stops the rest, nor does a fault that it finds; state and memory are in pieces
                    // then
                    let compute = || {
                        let mut pass = |&quality: &Quality| {
                            let (chain, report) = underlying::compute(&task(quality), &mut state, &mut scratch);
                            worked = report.after(&worked);
                            Computed { chain, report: worked }
                        };
                        qualities.iter().map(&mut pass).last()
                    };
                    let Ok(Some(computed)) = catch_unwind(AssertUnwindSafe(compute)) else {
                        return Err(uncomputed::failed(&task(Quality::Full)));
                    };
                    idle().push(scratch);
                    Ok((computed, state))
                })
                .collect()
        });
        let mut computed = Vec::with_capacity(done.len());
        self.failed.clear();
        for ((book, _), done) in work.iter().zip(done) {
            match done {
                Ok((result, state)) => {
                    self.states.insert(book.underlying, state);
                    computed.push(result);
                }
                Err(chain) => self.failed.push(chain),
            }
        }
        computed
    }

    /// Forgets what is kept of names that are not `listed`, their last chains and tables of megabytes, but for the
    /// volatilities that they had: those are `prev_vol` when a name is back, of so many names at most.
    pub fn retain(&mut self, listed: &BTreeSet<Symbol>) {
        if self.states.len() > listed.len() + LEFT_MOST {
            self.states.retain(|name, _| listed.contains(name));
        }
        self.states.iter_mut().filter(|(name, _)| !listed.contains(name)).for_each(|(_, state)| state.leave());
    }

    /// Forgets everything of every name, as if nothing had been computed yet: what the next run gives depends on its
    /// books alone.
    pub fn forget(&mut self) {
        self.states.clear();
        self.failed.clear();
    }

    /// Names that the last run could not compute: identity rows, in place of a chain that was never computed.
    pub fn take_failed(&mut self) -> Vec<Arc<Chain>> {
        std::mem::take(&mut self.failed)
    }

    fn take_state(&mut self, underlying: Symbol) -> ChainState {
        self.states.remove(&underlying).unwrap_or_else(|| ChainState::new(Arc::clone(&self.prior)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rates::table::RateTable;
    use kernel::calendar::Calendar;

    #[test]
    fn nothing_is_kept_of_a_name_that_has_left() {
        let (calendar, curves) = (Calendar::embedded(), RateTable::zero());
        let at: Timestamp = "2026-11-20T21:00:00Z".parse().unwrap();
        let names = ["AA", "BB", "CC"].map(|name| Symbol::parse(name).unwrap());
        let book = |underlying| Book {
            underlying,
            spot: 1.0,
            ts: at,
            dividends: Vec::new(),
            projected_from: None,
            dividends_known: true,
            slices: Vec::new(),
        };
        let books = names.map(book);
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
