//! Rows of names: computed once for a chain and the closes, and shared by requests, streams and alerts. Never: a
//! formula.

use super::columns::{BY_CHAIN, BY_CLOSES, DayChange, FLIP, Metric, NAME, NameMetrics, PastMetrics, flip};
use engine::closes::{Closes, ClosingRow, LastSessions, NamePast};
use engine::store::chain::Chain;
use engine::term::{Tenors, TermStructure};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::{Calendar, VarianceClock};
use kernel::contract::{RootTable, Symbol};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// Maximum number of names whose rows are kept, 1.5 kB each.
const ROWS_KEPT: usize = 16_384;
/// Times of valuations whose maturities are kept: names of one snapshot are valued at a few.
const TIMES_KEPT: usize = 32;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The metrics of a name.
#[derive(Clone, Debug, PartialEq)]
pub struct NameRow {
    /// Underlying symbol.
    pub underlying: Symbol,
    /// Time of the valuation.
    pub valued_at: Timestamp,
    /// Cells, by [`NAME`].
    pub cells: Box<[Metric]>,
}

impl NameRow {
    /// The number in a column; NaN: it has none.
    #[must_use]
    pub fn number(&self, place: usize) -> f64 {
        match self.cells.get(place) {
            Some(Metric::Number(x)) => *x,
            _ => f64::NAN,
        }
    }
}

/// The metrics of a name by its chain, and what those by closes need of it.
#[derive(Debug)]
pub struct NameDraft {
    underlying: Symbol,
    valued_at: Timestamp,
    cells: Vec<Metric>,
    /// The closing row, where a session has ended by the valuation.
    pub closing: Option<ClosingRow>,
    iv30d: Result<f64, &'static str>,
    price: f64,
    clock: VarianceClock,
    market_share: f64,
}

impl NameDraft {
    /// The metrics of a chain.
    #[must_use]
    pub fn new(chain: &Chain, times: &ValuationTimes, calendar: &Calendar, roots: &RootTable) -> Self {
        let term = TermStructure::of(chain, calendar);
        let tenors = times.tenors(&term.clock, chain.valued_at);
        let metrics = NameMetrics::new(chain, &term, &tenors, roots);
        let mut cells = Vec::with_capacity(NAME.len());
        cells.extend(BY_CHAIN.iter().map(|column| (column.find)(&metrics)));
        let iv30d = Some(metrics.iv_at(30.0)).filter(|vol| vol.is_finite()).ok_or_else(|| metrics.why(30.0));
        let closing = ClosingRow::new(chain, &term, &tenors, metrics.wings, calendar);
        let TermStructure { market_share, clock, .. } = term;
        let (underlying, valued_at, price) = (chain.underlying, chain.valued_at, chain.underlying_price());
        Self { underlying, valued_at, cells, closing, iv30d, price, market_share, clock }
    }

    /// Adds the metrics that take long to find.
    #[must_use]
    pub fn in_full(mut self, chain: &Chain, roots: &RootTable) -> Self {
        self.cells[FLIP] = flip(chain, roots);
        self
    }

    /// The row of the name, where `closes` has those of earlier sessions.
    #[must_use]
    pub fn row(self, closes: &Closes, times: &ValuationTimes, calendar: &Calendar) -> NameRow {
        let Self { underlying, valued_at, mut cells, closing, iv30d, price, clock, market_share } = self;
        let sessions = times.sessions(calendar.eastern(valued_at).date(), calendar);
        let past = NamePast::new(closes.of(underlying), closing.map(|row| row.close), &sessions);
        let change = DayChange::new(price, valued_at, closes.of(underlying), &sessions, calendar);
        let metrics = PastMetrics { past, iv30d, clock: &clock, market_share, change };
        cells.extend(BY_CLOSES.iter().map(|column| (column.find)(&metrics)));
        NameRow { underlying, valued_at, cells: cells.into() }
    }
}

/// Maturities of the last valuations, and the sessions before the last day, for all names that are valued then.
#[derive(Debug, Default)]
pub struct ValuationTimes {
    tenors: Mutex<VecDeque<Arc<Tenors>>>,
    sessions: Mutex<Option<Arc<LastSessions>>>,
}

impl ValuationTimes {
    /// The maturities from an instant.
    fn tenors(&self, clock: &VarianceClock, at: Timestamp) -> Arc<Tenors> {
        let mut all = lock(&self.tenors);
        if let Some(known) = all.iter().find(|known| known.are_of(clock, at)) {
            return Arc::clone(known);
        }
        let new = Arc::new(Tenors::new(clock, at));
        all.truncate(TIMES_KEPT - 1);
        all.push_front(Arc::clone(&new));
        new
    }

    /// The sessions before a date.
    #[must_use]
    pub fn sessions(&self, day: Date, calendar: &Calendar) -> Arc<LastSessions> {
        let mut last = lock(&self.sessions);
        let known = last.take().filter(|known| known.are_before(day));
        Arc::clone(last.insert(known.unwrap_or_else(|| Arc::new(LastSessions::before(day, calendar)))))
    }
}

/// The last row of each name, for all who ask.
#[derive(Debug, Default)]
pub struct NameRows {
    times: ValuationTimes,
    kept: Mutex<HashMap<Symbol, KeptRow>>,
}

/// The rows of a name, once they are computed.
#[derive(Debug, Default)]
struct SharedRows {
    /// The row without what takes long to find.
    brief: OnceLock<Arc<NameRow>>,
    full: OnceLock<Arc<NameRow>>,
}

/// Inputs of rows beside chains.
#[derive(Clone, Copy, Debug)]
pub struct RowInputs<'a> {
    /// Closes of earlier sessions.
    pub closes: &'a Closes,
    /// Sessions.
    pub calendar: &'a Calendar,
    /// Index roots.
    pub roots: &'a RootTable,
}

#[derive(Debug)]
struct KeptRow {
    /// The chain and the changes of the closes that it is of: with both it is the same row.
    of: (Weak<Chain>, u64),
    rows: Arc<SharedRows>,
}

impl KeptRow {
    fn is_of(&self, chain: &Arc<Chain>, closes: u64) -> bool {
        // the place of a chain is not used again while somebody knows it
        self.of.1 == closes && Weak::as_ptr(&self.of.0) == Arc::as_ptr(chain)
    }

    fn brief(&self) -> Option<Arc<NameRow>> {
        self.rows.brief.get().cloned()
    }
}

impl NameRows {
    /// The row of a chain, computed at the first request for it. What takes long to find is missing in it.
    #[must_use]
    pub fn brief(&self, chain: &Arc<Chain>, inputs: RowInputs<'_>) -> Arc<NameRow> {
        let closes = inputs.closes.number();
        // the whole market is asked for at once: a row that is there costs a look
        let known =
            lock(&self.kept).get(&chain.underlying).filter(|of| of.is_of(chain, closes)).and_then(KeptRow::brief);
        known.unwrap_or_else(|| Arc::clone(self.brief_of(&self.shared(chain, closes), chain, inputs)))
    }

    /// The whole row of a chain, computed at the first request for it.
    #[must_use]
    pub fn full(&self, chain: &Arc<Chain>, inputs: RowInputs<'_>) -> Arc<NameRow> {
        let rows = self.shared(chain, inputs.closes.number());
        let new = || {
            let mut row = NameRow::clone(self.brief_of(&rows, chain, inputs));
            row.cells[FLIP] = flip(chain, inputs.roots);
            Arc::new(row)
        };
        Arc::clone(rows.full.get_or_init(new))
    }

    /// The row of a chain with the columns at some places of [`NAME`].
    #[must_use]
    pub fn with(&self, places: &[usize], chain: &Arc<Chain>, inputs: RowInputs<'_>) -> Arc<NameRow> {
        if places.contains(&FLIP) { self.full(chain, inputs) } else { self.brief(chain, inputs) }
    }

    /// Who asks meanwhile for the same row waits for it, and for no other.
    fn brief_of<'r>(&self, rows: &'r SharedRows, chain: &Chain, inputs: RowInputs<'_>) -> &'r Arc<NameRow> {
        let RowInputs { closes, calendar, roots } = inputs;
        let new = || Arc::new(NameDraft::new(chain, &self.times, calendar, roots).row(closes, &self.times, calendar));
        rows.brief.get_or_init(new)
    }

    fn shared(&self, chain: &Arc<Chain>, closes: u64) -> Arc<SharedRows> {
        let mut kept = lock(&self.kept);
        let of = (Arc::downgrade(chain), closes);
        if let Some(known) = kept.get_mut(&chain.underlying) {
            if !known.is_of(chain, closes) {
                *known = KeptRow { of, rows: Arc::default() };
            }
            return Arc::clone(&known.rows);
        }
        if kept.len() >= ROWS_KEPT {
            kept.retain(|_, known| known.of.0.strong_count() > 0);
        }
        let rows = Arc::<SharedRows>::default();
        if kept.len() < ROWS_KEPT {
            kept.insert(chain.underlying, KeptRow { of, rows: Arc::clone(&rows) });
        }
        rows
    }

    /// Bytes held, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let row =
            size_of::<(Symbol, KeptRow)>() + size_of::<NameRow>() + NAME.len().saturating_mul(size_of::<Metric>());
        let kept = lock(&self.kept);
        let full = kept.values().filter(|of| of.rows.full.get().is_some()).count();
        kept.len().saturating_add(full).saturating_mul(row)
    }
}
