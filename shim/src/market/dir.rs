//! A folder of files as a feed: what changed is read, what was read is put into books.

use super::feed::{Feed, FeedProgress, Moment, ReferenceData};
use engine::calendar::Calendar;
use engine::contract::{RootTable, Symbol};
use engine::error::FeedError;
use engine::feeds::dir::{DirFeed, SETTLED};
use engine::feeds::report::Report;
use engine::pass::Passes;
use engine::store::book::Book;
use engine::store::ingest::Store;
use engine::store::rates::DiscountCurves;
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Places of refused rows, and files that cannot be used, that one poll names in the log; the others are counted.
const PLACES_TOLD: usize = 20;

/// Between two batches of a pass the folder is looked at so often at most: a look costs a system call a file.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A market folder, or one chain file.
pub struct DirectoryFeed {
    files: DirFeed,
    store: Box<Store>,
    reference: ReferenceData,
    progress: FeedProgress,
    /// Contracts are valued at this instant, whatever their own time.
    fixed: Option<Timestamp>,
    /// When it was last looked at.
    looked: Duration,
}

impl DirectoryFeed {
    /// Opens the folder or file; nothing is read yet. `fixed` is the instant of a clock that stands still.
    ///
    /// # Errors
    /// It is not there.
    pub fn open(path: &Path, fixed: Option<Timestamp>) -> Result<Self, FeedError> {
        let reference = ReferenceData { calendar: Calendar::embedded(), curves: DiscountCurves::default() };
        let store = Box::new(Store::new(RootTable::embedded(), reference.calendar.clone()));
        Ok(Self {
            files: DirFeed::open(path)?,
            store,
            reference,
            progress: FeedProgress::default(),
            fixed,
            looked: Duration::ZERO,
        })
    }

    /// The names with quotes that were not handed out.
    fn stale(&self) -> Vec<Symbol> {
        let stale = self.store.books().iter().filter(|b| b.slices.iter().any(|s| s.stale));
        stale.map(|b| b.underlying).collect()
    }
}

impl Feed for DirectoryFeed {
    fn poll(&mut self, moment: &Moment<'_>) -> Vec<Symbol> {
        self.looked = moment.elapsed;
        match self.files.poll(moment.elapsed) {
            Ok(Some((batch, report))) => {
                tell(&report, moment.log);
                let ingested = self.store.ingest(&batch);
                self.store.expire(self.fixed);
                self.reference.curves = self.store.curves().clone();
                self.reference.calendar = self.store.calendar().clone();
                self.progress.records += report.records;
                for (i, n) in self.progress.refused.iter_mut().enumerate() {
                    *n += report.refused[i] + ingested.refused[i];
                }
            }
            Ok(None) => {}
            Err(error) => (moment.log)(&error.to_string()),
        }
        self.stale()
    }

    fn changed(&mut self, moment: &Moment<'_>) -> Vec<Symbol> {
        if moment.elapsed.saturating_sub(self.looked) < LOOK_EVERY { self.stale() } else { self.poll(moment) }
    }

    fn names(&self) -> BTreeSet<Symbol> {
        self.store.books().iter().filter(|b| !b.slices.is_empty()).map(|b| b.underlying).collect()
    }

    fn contracts(&self, name: Symbol, _: Timestamp) -> usize {
        self.store.book(name).map_or(0, Book::rows)
    }

    fn pays_dividends(&self, name: Symbol) -> bool {
        self.store.book(name).is_some_and(|book| !book.dividends.is_empty())
    }

    fn keep_sizes(&mut self) {
        self.store.keep_sizes();
    }

    fn books<'a>(&'a mut self, names: &[Symbol], _: Timestamp, _: &Passes) -> Vec<(&'a Book, Timestamp)> {
        let names: BTreeSet<Symbol> = names.iter().copied().collect();
        for book in self.store.books_mut().iter_mut().filter(|b| names.contains(&b.underlying)) {
            book.slices.iter_mut().for_each(|s| s.stale = false);
        }
        let fixed = self.fixed;
        let wanted = self.store.books().iter().filter(|b| names.contains(&b.underlying));
        wanted.map(|b| (b, fixed.unwrap_or(b.ts))).collect()
    }

    fn reference(&self) -> &ReferenceData {
        &self.reference
    }

    fn progress(&self) -> FeedProgress {
        let poll_within = self.files.is_waiting().then_some(SETTLED);
        FeedProgress { files_unusable: self.files.unusable(), poll_within, ..self.progress }
    }
}

/// What could not be used of a poll: the first places and files, and how many more there are.
fn tell(report: &Report, log: &dyn Fn(&str)) {
    report.places.iter().take(PLACES_TOLD).for_each(|place| log(&format!("refused: {place}")));
    let rows = report.refused_total().saturating_sub(report.places.len().min(PLACES_TOLD) as u64);
    if rows > 0 {
        log(&format!("refused: {rows} more rows"));
    }
    report.errors.iter().take(PLACES_TOLD).for_each(|error| log(&error.to_string()));
    let files = report.errors.len().saturating_sub(PLACES_TOLD);
    if files > 0 {
        log(&format!("{files} more files cannot be used"));
    }
}
