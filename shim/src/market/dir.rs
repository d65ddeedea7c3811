//! A folder of files as a feed: what changed is read, what was read is put into books.

use super::feed::{Feed, FeedProgress, Moment, ReferenceData};
use engine::calendar::Calendar;
use engine::contract::{RootTable, Symbol};
use engine::error::{FeedError, Reason};
use engine::feeds::dir::{DirFeed, SETTLED};
use engine::feeds::report::Report;
use engine::pass::Passes;
use engine::store::book::Book;
use engine::store::ingest::{Ingested, Store};
use engine::store::rates::DiscountCurves;
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Places of refused rows, and files that cannot be used, that one poll names in the log; the others are counted.
const PLACES_TOLD: usize = 20;

/// Between two batches of a pass the folder is looked at so often at most: a look costs a system call a file.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How often it is said that the folder itself cannot be read, while it stays so.
const SAY_AGAIN: Duration = Duration::from_secs(60);

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
    /// When it was last said that the folder cannot be read, and why, if it cannot.
    unreadable: Option<(Duration, String)>,
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
            unreadable: None,
        })
    }

    /// Says that the folder cannot be read, unless that was just said.
    fn complain(&mut self, error: &FeedError, moment: &Moment<'_>) {
        let why = error.to_string();
        let is_said = |(at, said): &(Duration, String)| *said == why && moment.elapsed.saturating_sub(*at) < SAY_AGAIN;
        if !self.unreadable.as_ref().is_some_and(is_said) {
            (moment.log)(&format!("{why}; what was last read is served"));
            self.unreadable = Some((moment.elapsed, why));
        }
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
        let polled = self.files.poll(moment.elapsed);
        if polled.is_ok() {
            self.unreadable = None;
        }
        match polled {
            Ok(Some((batch, report))) => {
                tell(&report, moment.log);
                let ingested = self.store.ingest(&batch, moment.latest);
                tell_refused(&ingested, moment.log);
                self.store.expire(self.fixed);
                self.reference.curves = self.store.curves().clone();
                self.reference.calendar = self.store.calendar().clone();
                self.progress.records += report.records;
                for (i, n) in self.progress.refused.iter_mut().enumerate() {
                    *n += report.refused[i] + ingested.refused[i];
                }
            }
            Ok(None) => {}
            Err(error) => self.complain(&error, moment),
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
        let files_unusable = self.files.unusable() + usize::from(self.unreadable.is_some());
        FeedProgress { files_unusable, poll_within, ..self.progress }
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

/// What the store refused of a poll: how many of each kind.
fn tell_refused(ingested: &Ingested, log: &dyn Fn(&str)) {
    let counts = Reason::ALL.iter().zip(ingested.refused).filter(|&(_, n)| n > 0);
    let counts: Vec<String> = counts.map(|(reason, n)| format!("{n} {}", reason.name())).collect();
    if !counts.is_empty() {
        log(&format!("refused: {}", counts.join(", ")));
    }
}
