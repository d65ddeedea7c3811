//! Reads every row of every input file once, into sorted runs. Never: a layout, a computation.

use crate::packed::PackedRow;
use crate::recipe::unit_underlying;
use crate::reference::{RecordedReference, ReferenceSet};
use crate::row::HistoryRow;
use crate::spill::{RunFolder, RunWriter};
use crate::unit::DamagedUnits;
use crate::watch::{JobPhase, JobWatch};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::contract::Symbol;
use kernel::error::{FeedError, Instead};
use kernel::report::Report;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Greatest number of files read at once: more do not make a disk faster.
pub(crate) const READERS: usize = 8;
/// Bytes of rows held in memory by all readers together.
const WAITING_BYTES: usize = 256 << 20;
/// Rows between two reports of progress.
const ROWS_A_REPORT: u64 = 1 << 14;

/// Outcome of reading a file, beside its rows.
#[derive(Debug)]
pub struct FileRead {
    /// The layout of the file; empty: unknown.
    pub layout: &'static str,
    /// Counts of records. An error in it means that the file is damaged: rows may be missing.
    pub report: Report,
    /// Dividends and rates of a recording.
    pub reference: RecordedReference,
    /// The reason why the file could not be read to its end; `None`: it was.
    pub refused: Option<String>,
}

/// Reads a file, row by row.
pub type RowSource<'a> = dyn Fn(&Path, &mut dyn FnMut(HistoryRow)) -> FileRead + Sync + 'a;

/// An input file and the outcome of reading it.
#[derive(Debug)]
pub struct InputFacts {
    /// Path of the file.
    pub file: PathBuf,
    /// Number of rows accepted.
    pub rows: u64,
    /// Outcome of reading the file.
    pub read: FileRead,
}

impl InputFacts {
    /// The damage of the file as a whole; `None`: none.
    #[must_use]
    pub fn damage(&self) -> Option<String> {
        self.read.refused.clone().or_else(|| self.read.report.errors.first().map(ToString::to_string))
    }

    /// True if the file has rows, and none could be used.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.rows == 0 && self.read.report.refused_total() > 0
    }

    /// True if rows of the file's chains may be lost. A file in an archive that has no quotes at all does not count.
    #[must_use]
    pub fn lacks_rows(&self) -> bool {
        let loses = |error: &FeedError| !matches!(error, FeedError::Instead { what: Instead::OtherFormat, .. });
        self.read.refused.is_some() || self.read.report.errors.iter().any(loses)
    }
}

/// Outcome of reading all input files.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The files, in the order of the inputs.
    pub files: Vec<InputFacts>,
    /// Units with rows in damaged files.
    pub damaged: DamagedUnits,
}

/// Reads files into runs, several files at once.
///
/// # Errors
/// A run cannot be written.
pub fn gather(
    inputs: &[PathBuf],
    threads: usize,
    reference: &ReferenceSet,
    runs: &RunFolder,
    read: &RowSource<'_>,
    watch: &dyn JobWatch,
) -> io::Result<Gathered> {
    let threads = threads.clamp(1, READERS).min(inputs.len().max(1));
    watch.begin(JobPhase::Reading, inputs.len() as u64);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let reader = || -> io::Result<()> {
        let mut writer = RunWriter::new(runs, WAITING_BYTES / threads);
        while let Some((at, file)) = next_of(&next, inputs).filter(|_| !watch.is_stopped()) {
            let mut intake = UnitIntake::new(reference, &mut writer, watch);
            let outcome = read(file, &mut |row| intake.take(&row));
            let (rows, units) = intake.finish()?;
            let facts = InputFacts { file: file.clone(), rows, read: outcome };
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, facts, units));
            watch.advance(1, 0);
        }
        writer.flush()
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..threads).map(|_| scope.spawn(reader)).collect();
        let ended = readers
            .into_iter()
            .map(|reader| reader.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))));
        ended.collect::<io::Result<Vec<()>>>()
    })?;
    let mut files = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    files.sort_by_key(|&(at, ..)| at);
    let mut gathered = Gathered::default();
    for (_, facts, units) in files {
        if facts.lacks_rows() {
            let file = facts.file.display().to_string();
            units.into_iter().for_each(|unit| _ = gathered.damaged.entry(unit).or_insert_with(|| file.clone()));
        }
        gathered.files.push(facts);
    }
    Ok(gathered)
}

/// The next file that no reader has taken.
pub(crate) fn next_of<'i>(next: &AtomicUsize, inputs: &'i [PathBuf]) -> Option<(usize, &'i PathBuf)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, inputs.get(at)?))
}

/// Finds the unit of each row: its Eastern date, and the underlying that it is filed under.
pub(crate) struct UnitOfRow<'a> {
    reference: &'a ReferenceSet,
    /// The last time and its date: consecutive rows often share a time.
    last: Option<(Timestamp, Date)>,
}

impl<'a> UnitOfRow<'a> {
    pub(crate) fn new(reference: &'a ReferenceSet) -> Self {
        Self { reference, last: None }
    }

    pub(crate) fn find(&mut self, row: &HistoryRow) -> (Date, Symbol) {
        let day = match self.last {
            Some((time, day)) if time == row.quote.ts => day,
            _ => self.reference.calendar().eastern(row.quote.ts).date(),
        };
        self.last = Some((row.quote.ts, day));
        (day, unit_underlying(row, self.reference))
    }
}

/// The rows of one file on their way into a run, with their units.
struct UnitIntake<'a, 'f> {
    unit_of: UnitOfRow<'a>,
    writer: &'a mut RunWriter<'f>,
    watch: &'a dyn JobWatch,
    last_unit: Option<(Date, Symbol)>,
    units: BTreeSet<(Date, Symbol)>,
    rows: u64,
    failed: Option<io::Error>,
}

impl<'a, 'f> UnitIntake<'a, 'f> {
    fn new(reference: &'a ReferenceSet, writer: &'a mut RunWriter<'f>, watch: &'a dyn JobWatch) -> Self {
        let (unit_of, last_unit, units) = (UnitOfRow::new(reference), None, BTreeSet::new());
        Self { unit_of, writer, watch, last_unit, units, rows: 0, failed: None }
    }

    fn take(&mut self, row: &HistoryRow) {
        if self.failed.is_some() || self.watch.is_stopped() {
            return;
        }
        let unit = self.unit_of.find(row);
        // readers refuse years that cannot be packed
        let Some(packed) = PackedRow::new(unit.0, unit.1, row) else { return };
        if self.last_unit != Some(unit) {
            self.units.insert(unit);
            self.last_unit = Some(unit);
        }
        self.failed = self.writer.push(packed).err();
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_A_REPORT) {
            self.watch.advance(0, ROWS_A_REPORT);
        }
    }

    fn finish(self) -> io::Result<(u64, BTreeSet<(Date, Symbol)>)> {
        self.watch.advance(0, self.rows % ROWS_A_REPORT);
        self.failed.map_or(Ok((self.rows, self.units)), Err)
    }
}
