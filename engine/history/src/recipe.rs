//! From the quotes of one name and day to its chains: the passes of each snapshot, in their order. Never: a file, a
//! second thread.
//!
//! A unit is one (underlying, Eastern date). It begins with nothing remembered, its snapshots follow in time, and each
//! has the same passes whatever computed before it on this machine; so the same rows give the same bytes however a job
//! is cut up. That is also why `prev_vol` is missing: it would be of the unit before.

use crate::reference::ReferenceSet;
use crate::row::HistoryRow;
use crate::whole::UnitFault;
use engine::pass::{Computed, MarketData, Passes};
use engine::store::chain::Chain;
use engine::store::ingest::{Ingested, Store};
use jiff::Timestamp;
use kernel::american::SharedBoundaries;
use kernel::contract::Symbol;
use kernel::quality::Quality;
use kernel::records::{Batch, DividendCover, SpotRecord};
use std::sync::Arc;

/// Version of the results. It is increased when the same rows give other numbers or another file; files of an older
/// version are computed again.
pub const VERSION: u32 = 9;

/// Settings of the computation of units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    /// Accuracy of early exercise.
    pub quality: Quality,
    /// True if chains show the quotes that they were computed from.
    pub quotes: bool,
}

impl Recipe {
    /// The passes of the first snapshot of a unit, before which nothing is remembered.
    #[must_use]
    pub const fn first(self) -> &'static [Quality] {
        match self.quality {
            Quality::Preliminary => &[Quality::Preliminary],
            Quality::Full => engine::pass::FIRST,
            Quality::Reference => &[Quality::Preliminary, Quality::Reference, Quality::Reference],
        }
    }

    /// The passes of every later snapshot, which starts from the state of the one before. One pass
    /// lies within 0.001 bp of the underlying and 5e-7 of volatility of six, at 99 % of simulated snapshots a minute or
    /// a quarter of an hour apart (`passes_of_later_snapshots`).
    #[must_use]
    pub const fn later(self) -> &'static [Quality] {
        match self.quality {
            Quality::Preliminary => &[Quality::Preliminary],
            Quality::Full => &[Quality::Full],
            Quality::Reference => &[Quality::Reference],
        }
    }

    /// The recipe in words, for the metadata of files.
    #[must_use]
    pub fn text(self) -> String {
        let words = |passes: &[Quality]| passes.iter().map(|quality| quality.name()).collect::<Vec<_>>().join(", ");
        format!("first snapshot of a day: {}; each later one: {}", words(self.first()), words(self.later()))
    }
}

/// Computes units one after the other, and reuses memory.
#[derive(Debug)]
pub struct UnitPasses<'r> {
    reference: &'r ReferenceSet,
    recipe: Recipe,
    store: Store,
    passes: Passes,
    underlying: Option<Symbol>,
    is_begun: bool,
}

/// One snapshot.
#[derive(Debug)]
pub struct UnitSnapshot {
    /// Counts of its rows.
    pub ingested: Ingested,
    /// The chain valued at the snapshot's time, with counts of its quotes; `None`: no row can be used, for example
    /// since every contract has settled.
    pub computed: Option<Computed>,
}

impl<'r> UnitPasses<'r> {
    /// Computes on one thread of its own.
    ///
    /// # Errors
    /// The system gave no thread.
    pub fn new(reference: &'r ReferenceSet, recipe: Recipe) -> std::io::Result<Self> {
        let mut passes = Passes::new(1, |_| ())?;
        passes.set_overrides(Arc::clone(reference.overrides()));
        let mut store = Store::new(reference.roots().clone(), reference.calendar().clone());
        if recipe.quotes {
            passes.keep_quotes();
            store.keep_sizes();
        }
        Ok(Self { reference, recipe, store, passes, underlying: None, is_begun: false })
    }

    /// Shares exercise boundaries with others from here on, as [`Passes::share`] does.
    pub fn share(&mut self, shared: SharedBoundaries) {
        self.passes.share(shared);
    }

    /// Begins a unit: nothing is remembered of the one before.
    pub fn begin(&mut self, underlying: Symbol) {
        self.passes.forget();
        let reset = self.underlying.replace(underlying).into_iter().collect();
        self.store.ingest(&Batch { reset, ..Batch::default() }, Timestamp::MAX);
        self.is_begun = false;
    }

    /// Computes the next snapshot of the unit that was begun: `rows` are all that is quoted at `at`, in any order.
    ///
    /// # Errors
    /// The computation panicked; nothing can follow on it.
    ///
    /// # Domain   rows of the unit's underlying ([`unit_underlying`]); snapshots in order of time
    pub fn snapshot(&mut self, at: Timestamp, rows: &[HistoryRow]) -> Result<UnitSnapshot, UnitFault> {
        let Some(underlying) = self.underlying else {
            return Ok(UnitSnapshot { ingested: Ingested::default(), computed: None });
        };
        if !self.is_begun {
            let day = self.reference.calendar().eastern(at).date();
            let dividends = Some(self.reference.dividends_on(underlying, day));
            // those that are not declared yet leave a name without any
            let is_covered = self.reference.covers_dividends(underlying);
            let dividend_cover = DividendCover { names: is_covered.then_some(underlying).into_iter().collect() };
            self.store.ingest(&Batch { dividends, dividend_cover, ..Batch::default() }, Timestamp::MAX);
        }
        // of several prices the highest counts, as everywhere
        let spot = rows.iter().map(|row| row.spot).filter(|spot| !spot.is_nan()).max_by(f64::total_cmp);
        let batch = Batch {
            // a snapshot is whole: a contract that it does not have is not listed
            reset: vec![underlying],
            quotes: rows.iter().map(|row| row.quote).collect(),
            spots: spot.map(|price| SpotRecord { ts: at, underlying, price }).into_iter().collect(),
            ..Batch::default()
        };
        let ingested = self.store.ingest(&batch, at);
        let qualities = if self.is_begun { self.recipe.later() } else { self.recipe.first() };
        let Some(book) = self.store.book(underlying).filter(|book| book.rows() > 0) else {
            return Ok(UnitSnapshot { ingested, computed: None });
        };
        self.is_begun = true;
        let market = MarketData { calendar: self.reference.calendar(), rates: self.reference.rates() };
        let mut last = None;
        for &quality in qualities {
            last = self.passes.run_to(quality, market, &[(book, at)]).pop();
            if last.is_none() {
                return Err(UnitFault::Computation);
            }
        }
        Ok(UnitSnapshot { ingested, computed: Some(last.ok_or(UnitFault::Computation)?) })
    }
}

/// The underlying whose unit a row belongs to: the one that its root is filed under.
#[must_use]
pub fn unit_underlying(row: &HistoryRow, reference: &ReferenceSet) -> Symbol {
    reference.roots().facts(row.quote.contract.root, row.quote.underlying).underlying
}

/// The chains of one unit, up to an instant: `rows` are of one underlying and Eastern date, in any order. Pure: what is
/// computed up to an instant is what the whole day has there, bit for bit.
///
/// A snapshot without a row that can be used is left out. Whether chains are whole is not asked here
/// ([`WholenessCheck`](crate::whole::WholenessCheck)).
///
/// # Errors
/// The computation panicked, or the system gave no thread.
pub fn compute(
    rows: &[HistoryRow],
    until: Timestamp,
    reference: &ReferenceSet,
    recipe: Recipe,
) -> Result<Vec<(Timestamp, Arc<Chain>)>, UnitFault> {
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let mut sorted: Vec<HistoryRow> = rows.iter().filter(|row| row.quote.ts <= until).copied().collect();
    sorted.sort_by_key(|row| row.quote.ts);
    let mut unit = UnitPasses::new(reference, recipe).map_err(|_| UnitFault::Computation)?;
    unit.begin(unit_underlying(first, reference));
    let mut chains = Vec::new();
    for snapshot in sorted.chunk_by(|a, b| a.quote.ts == b.quote.ts) {
        let at = snapshot[0].quote.ts;
        chains.extend(unit.snapshot(at, snapshot)?.computed.map(|computed| (at, computed.chain)));
    }
    Ok(chains)
}
