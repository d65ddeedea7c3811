//! The discount curves that the European chains of recorded days imply. Never: a file's layout, a value.
//!
//! A day begins with nothing, and its snapshots are looked at in the order of time, a quarter of an hour at once: the
//! last snapshot of each name in it. So a day has the same curves whatever else is computed, and a day of one snapshot
//! the curve that a daemon has which is shown that snapshot.

use crate::packed::PackedRow;
use crate::recipe::unit_underlying;
use crate::reference::ReferenceSet;
use crate::row::HistoryRow;
use crate::spill::SortedRows;
use crate::unit::HistoryUnit;
use engine::rates::table::RateTable;
use engine::store::european::european_dates;
use engine::store::ingest::Store;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use kernel::contract::{Style, Symbol};
use kernel::records::Batch;
use std::collections::BTreeMap;
use std::io;
use std::iter::Peekable;
use std::path::Path;

/// Snapshots within this time of the first are looked at together: rates do not move in it, and a look at each snapshot
/// of a minute would cost as much as computing them.
const LOOK_EVERY: SignedDuration = SignedDuration::from_mins(15);

/// True if a name has European roots.
#[must_use]
pub fn is_european(underlying: Symbol, reference: &ReferenceSet) -> bool {
    let roots = reference.roots();
    roots.roots_of(underlying).filter_map(|root| roots.get(root)).any(|facts| facts.style == Style::European)
}

/// The European chains of one day, snapshot by snapshot.
#[derive(Debug)]
pub struct EuropeanDay<'r> {
    reference: &'r ReferenceSet,
    store: Store,
    /// Ends with the first snapshot at or after this instant.
    until: Option<Timestamp>,
    /// The last snapshot of each name since the last look.
    waiting: BTreeMap<Symbol, (Timestamp, Vec<HistoryRow>)>,
}

impl<'r> EuropeanDay<'r> {
    /// Returns a day without a snapshot.
    #[must_use]
    pub fn new(reference: &'r ReferenceSet) -> Self {
        let store = Store::new(reference.roots().clone(), reference.calendar().clone());
        Self { reference, store, until: None, waiting: BTreeMap::new() }
    }

    /// Adds a snapshot of a name; snapshots come in the order of time over all names.
    pub fn take(&mut self, underlying: Symbol, at: Timestamp, rows: Vec<HistoryRow>, rates: &mut RateTable) {
        if self.until.is_none_or(|until| at >= until) {
            self.look(rates);
            self.until = at.checked_add(LOOK_EVERY).ok();
        }
        self.waiting.insert(underlying, (at, rows));
    }

    /// Looks at what waits.
    pub fn look(&mut self, rates: &mut RateTable) {
        if self.waiting.is_empty() {
            return;
        }
        for (underlying, (at, rows)) in std::mem::take(&mut self.waiting) {
            let quotes = rows.iter().map(|row| row.quote).collect();
            self.store.ingest(&Batch { reset: vec![underlying], quotes, ..Batch::default() }, at);
        }
        for (date, chains) in european_dates(self.store.books().iter(), self.reference.calendar()) {
            rates.look_at(date, chains.at, &chains.expiries);
        }
    }
}

/// Adds the curves that the rows of one day imply; `rows` are of European names, in any order.
pub fn imply_day(mut rows: Vec<HistoryRow>, reference: &ReferenceSet, rates: &mut RateTable) {
    let key = |row: &HistoryRow| (row.quote.ts, unit_underlying(row, reference));
    rows.sort_by_key(key);
    let mut day = EuropeanDay::new(reference);
    for snapshot in rows.chunk_by(|a, b| key(a) == key(b)) {
        let (at, underlying) = key(&snapshot[0]);
        day.take(underlying, at, snapshot.to_vec(), rates);
    }
    day.look(rates);
}

/// Adds the curves of every day that the units of sorted rows imply.
///
/// # Errors
/// The rows cannot be read.
pub fn imply(units: &[HistoryUnit], sorted: &Path, reference: &ReferenceSet, rates: &mut RateTable) -> io::Result<()> {
    let mut by_day: BTreeMap<Date, Vec<&HistoryUnit>> = BTreeMap::new();
    let usable = |unit: &&HistoryUnit| unit.fault.is_none() && is_european(unit.underlying, reference);
    units.iter().filter(usable).for_each(|unit| by_day.entry(unit.day).or_default().push(unit));
    for units in by_day.values() {
        let mut names = Vec::new();
        for unit in units {
            let rows = SortedRows::open(sorted, unit.first, unit.rows)?;
            names.push(Snapshots { underlying: unit.underlying, rows: rows.peekable() });
        }
        let mut day = EuropeanDay::new(reference);
        // the first in time, of one time in the order of names
        while let Some((at, name)) = earliest(&mut names)? {
            let rows = names[name].take(at)?;
            day.take(names[name].underlying, at, rows, rates);
        }
        day.look(rates);
    }
    Ok(())
}

/// The rows of a unit on their way.
struct Snapshots {
    underlying: Symbol,
    rows: Peekable<SortedRows>,
}

impl Snapshots {
    /// The instant of the next snapshot.
    fn next_at(&mut self) -> io::Result<Option<Timestamp>> {
        match self.rows.peek() {
            None => Ok(None),
            Some(Ok(packed)) => row_of(packed).map(|row| Some(row.quote.ts)),
            Some(Err(error)) => Err(io::Error::from(error.kind())),
        }
    }

    /// The rows of the next snapshot.
    fn take(&mut self, at: Timestamp) -> io::Result<Vec<HistoryRow>> {
        let mut rows = Vec::new();
        while self.next_at()? == Some(at) {
            if let Some(packed) = self.rows.next() {
                rows.push(row_of(&packed?)?);
            }
        }
        Ok(rows)
    }
}

fn row_of(packed: &PackedRow) -> io::Result<HistoryRow> {
    packed.row().ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn earliest(names: &mut [Snapshots]) -> io::Result<Option<(Timestamp, usize)>> {
    let mut first = None;
    for (i, name) in names.iter_mut().enumerate() {
        if let Some(at) = name.next_at()?
            && first.is_none_or(|(earliest, _)| at < earliest)
        {
            first = Some((at, i));
        }
    }
    Ok(first)
}
