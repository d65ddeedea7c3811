//! Parsed requests for other things than rows, and the context in which requests are answered. Never: an answer.

use super::super::facts::{FactForm, FactOrder, FactRow};
use crate::limits::CELLS;
use crate::metrics::{NameRows, RowInputs};
use crate::past::PastQuestion;
use crate::past::day::RequestDays;
use crate::picked::Picked;
use crate::refusal::Refusal;
use crate::rows::clock::{Clock, LastTime, Stamp};
use crate::rows::frame::{ColumnHead, Format};
use crate::rows::layout::Around;
use crate::rows::listing::ListingPiece;
use crate::rows::table::Fact;
use crate::selection::scan::Condition;
use crate::selection::symbols::{SymbolFacts, SymbolSelection};
use crate::selection::unserved::Unserved;
use crate::selection::{Selection, select};
use engine::closes::Closes;
use engine::snapshot::Snapshot;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use std::sync::Arc;

/// Names whose rows are found before those that are not shown are dropped.
const NAMES_OF_A_PART: usize = 64;
/// Most rows of an answer that have what takes long to find without being asked for it.
const ROWS_IN_FULL: usize = 100;

/// A parsed request for a list of expirations.
#[derive(Clone, Debug)]
pub struct List {
    /// The contracts whose expirations are listed.
    pub selection: Selection,
    /// Past moment; `None`: the present.
    pub past: Option<PastQuestion>,
    /// Days that depend on the date of the answer. They replace those of `selection` and `past` in
    /// `LayerRequest::settle`.
    pub days: Option<Box<RequestDays>>,
    /// Text of one expiration.
    pub item: Vec<ListingPiece>,
    /// Text around the expirations.
    pub around: fn(&Clock) -> Around,
    /// Refusal instead of an empty list, in layers that have no empty answer.
    pub when_empty: Option<Refusal>,
}

/// A parsed request for JSON about named underlyings.
#[derive(Clone, Debug)]
pub struct NameList {
    /// The names as the request spells them.
    pub names: Vec<String>,
    /// The names of a past day; empty at present.
    pub symbols: Vec<Symbol>,
    /// Past moment; `None`: the present.
    pub past: Option<PastQuestion>,
    /// Writes the JSON.
    pub write: fn(&[String], &RequestContext<'_>, &Clock) -> Result<String, Refusal>,
}

/// A parsed request for a list of underlyings.
#[derive(Clone, Debug)]
pub struct SymbolList {
    /// Selected underlyings.
    pub selection: SymbolSelection,
    /// Past moment; `None`: the present.
    pub past: Option<PastQuestion>,
    /// Output format.
    pub format: Format,
    /// Columns of the list.
    pub columns: &'static [SymbolColumn],
}

/// A column of a list of underlyings.
#[derive(Clone, Copy, Debug)]
pub struct SymbolColumn {
    /// Name of the column.
    pub name: &'static str,
    /// True if every row shows a number there.
    pub is_number: bool,
    /// Value of the column from the facts, the clock of the answer, and the feed as given to the program.
    pub find: fn(&SymbolFacts, &Clock, &str) -> Fact,
}

/// The rows of a table of underlyings.
pub type FactRows = fn(&[Picked], &RequestContext<'_>, &Clock) -> Vec<FactRow>;

/// A request for a table of numbers of underlyings.
#[derive(Clone, Debug)]
pub struct FactTable {
    /// The underlyings.
    pub selection: Selection,
    /// Treatment of names that are not served.
    pub unserved: Unserved,
    /// Past moments; `None`: now.
    pub past: Option<PastQuestion>,
    /// Format and order of the rows.
    pub form: FactForm,
    /// Title of the table, for people.
    pub title: &'static str,
    /// The columns; of many past moments the last one is the time of the row's snapshot.
    pub heads: &'static [ColumnHead<'static>],
    /// Finds the rows of a snapshot, which have a cell for each column.
    pub rows: FactRows,
    /// All of these are fulfilled by the rows that are shown, each by the number in the column at a place.
    pub conditions: Vec<Condition<usize>>,
    /// In which order they come.
    pub order: Option<FactOrder>,
    /// How many of them are shown.
    pub limit: Option<usize>,
}

impl FactTable {
    /// The rows that are shown. Those that are not are not held, so that a few of the market cost little.
    ///
    /// # Errors
    /// There are more than an answer may have: it is made whole.
    pub fn shown(
        &self,
        picked: &[Picked],
        context: &RequestContext<'_>,
        clock: &Clock,
    ) -> Result<Vec<FactRow>, Refusal> {
        let limit = self.limit.unwrap_or(usize::MAX);
        let mut rows = Vec::new();
        for some in picked.chunks(NAMES_OF_A_PART) {
            rows.extend((self.rows)(some, context, clock).into_iter().filter(|row| self.is_met(row)));
            match self.order {
                Some(order) if rows.len() > limit => order.sort(&mut rows),
                None if rows.len() >= limit => break,
                _ => {}
            }
            rows.truncate(limit);
            if rows.len().saturating_mul(self.heads.len()) > CELLS {
                let reason =
                    "more than three million cells in one answer: name underlyings, or sort and limit the rows";
                return Err(Refusal::Conflict { reason });
            }
        }
        self.cut(&mut rows);
        complete(&mut rows, context);
        Ok(rows)
    }

    /// Sorts rows and drops those that are not shown.
    pub(super) fn cut(&self, rows: &mut Vec<FactRow>) {
        if let Some(order) = self.order {
            order.sort(rows);
        }
        rows.truncate(self.limit.unwrap_or(usize::MAX));
    }

    /// The rows of one of several snapshots, with its time in the last column.
    #[must_use]
    pub fn of_one(&self, context: &RequestContext<'_>) -> Vec<FactRow> {
        // a name may be missing in the snapshots before its listing
        let Ok(picked) = select(context.snapshot, &self.selection) else { return Vec::new() };
        let clock = context.clock();
        let time = clock.spell(context.snapshot.time, Stamp::EasternOffsetMillis);
        let mut rows = (self.rows)(&picked, context, &clock);
        rows.retain(|row| self.is_met(row));
        complete(&mut rows, context);
        let mut times = LastTime::default();
        let timed = |row: FactRow| {
            let mut cells = row.cells(&clock, &mut times).into_owned();
            cells.push(Fact::Word(time.clone()));
            FactRow::Cells(cells)
        };
        rows.into_iter().map(timed).collect()
    }

    fn is_met(&self, row: &FactRow) -> bool {
        self.conditions.iter().all(|of| of.admit(row.number(of.number)))
    }
}

/// Adds what takes long to find to the rows of names, if they are few.
fn complete(rows: &mut [FactRow], context: &RequestContext<'_>) {
    if rows.len() > ROWS_IN_FULL {
        return;
    }
    for row in rows {
        if let FactRow::Metrics(brief) = row
            && let Some(chain) = context.snapshot.chain(brief.underlying)
        {
            *row = FactRow::Metrics(context.rows.full(chain, context.row_inputs()));
        }
    }
}

/// Inputs of an answer besides the request's path and query.
pub struct RequestContext<'a> {
    /// The market.
    pub snapshot: &'a Snapshot,
    /// Closes of sessions that have ended.
    pub closes: Arc<Closes>,
    /// Metrics of names, for all who ask.
    pub rows: &'a NameRows,
    /// Current time; the snapshot's time in answers about the past.
    pub now: Timestamp,
    /// The requested past moment, if any.
    pub asked: Option<Timestamp>,
    /// The zone of the market.
    pub zone: &'a TimeZone,
    /// Calendar, for monthly expirations.
    pub calendar: &'a Calendar,
    /// Table of index roots.
    pub roots: &'a Arc<RootTable>,
    /// The host in the client's request, as the client spells it.
    pub host: Option<&'a str>,
    /// True if slow readers hold more bytes of old snapshots than they may.
    pub is_crowded: bool,
    /// True if the market is open.
    pub market_open: bool,
    /// The feed, as given to the program. One feed has all names.
    pub feed: &'a str,
    /// True if chains have the quotes of the feed.
    pub shows_quotes: bool,
    /// Edition of answers that depend on the snapshot, the closes and the date alone.
    pub edition: Option<u64>,
    /// Returns lines about the snapshot for the heading of a page.
    pub note: &'a dyn Fn() -> Vec<String>,
}

impl RequestContext<'_> {
    /// Inputs of the metrics of names.
    #[must_use]
    pub fn row_inputs(&self) -> RowInputs<'_> {
        RowInputs { closes: &self.closes, calendar: self.calendar, roots: self.roots }
    }

    /// Returns the times of an answer that is made in this context.
    #[must_use]
    pub fn clock(&self) -> Clock {
        Clock::new(self.snapshot.time, self.now, self.zone).answering(self.asked)
    }
}
