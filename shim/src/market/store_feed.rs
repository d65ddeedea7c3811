//! A feed of real quotes: its sources deliver into one store, whose books the passes read.
//!
//! Recorded chains are valued at their own quote times. If any source is live, every name is valued at the time of the
//! newest quote of the market; a name without a new quote is valued again when its values have aged. Outside sessions
//! the last values of the session are held (`hours`).

use super::feed::{Feed, FeedProgress, ReferenceData};
use super::rates_watch::RatesWatch;
use super::schedule::Decay;
use engine::pass::Passes;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::Book;
use engine::store::ingest::{Admitted, Ingested, Store};
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use kernel::error::Reason;
use kernel::records::Batch;
use kernel::report::Report;
use restart::last_curve::LastCurve;
use sources::facts::{RecordFacts, SourceFacts, Used};
use sources::hours::Hours;
use sources::precedence::Precedence;
use sources::recorder::RecordTap;
use sources::{Delivery, Moment, Outstanding, QuoteSource};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Maximum number of refused rows, and of unusable files, that are logged for one poll; the others are counted.
const PLACES_SHOWN: usize = 20;

/// Sources and the store that they fill.
pub struct StoreFeed {
    sources: Vec<Box<dyn QuoteSource>>,
    precedence: Precedence,
    hours: Hours,
    store: Box<Store>,
    reference: ReferenceData,
    progress: FeedProgress,
    /// Instant at which every contract is valued; `None`: at the time of quotes.
    fixed: Option<Timestamp>,
    live: Option<Live>,
    /// Recorder of the records that the store takes.
    record: Option<RecordTap>,
    rates: RatesWatch,
    /// File that keeps the curve in force over a restart.
    last_curve: Option<LastCurve>,
}

/// State of a live market.
struct Live {
    /// Time of the newest quote.
    latest: Timestamp,
    /// Instant for which each name was last returned.
    valued: BTreeMap<Symbol, Timestamp>,
    decay: Decay,
}

impl Live {
    /// True if the values of a name have aged.
    fn has_aged(&self, book: &Book) -> bool {
        self.valued.get(&book.underlying).is_some_and(|&valued| {
            let live = book.slices.iter().map(|slice| slice.settles_at).filter(|&settles| settles > valued);
            self.decay.is_due(valued, self.latest, live.min())
        })
    }
}

impl StoreFeed {
    /// A feed of some sources in order of precedence; `fixed` is the instant of a fixed clock.
    #[must_use]
    pub fn new(sources: Vec<Box<dyn QuoteSource>>, fixed: Option<Timestamp>) -> Self {
        let reference = ReferenceData { calendar: Calendar::embedded(), rates: RateTable::default() };
        let store = Box::new(Store::new(RootTable::embedded(), reference.calendar.clone()));
        let is_live = sources.iter().any(|source| source.is_live());
        let is_vendors: Vec<bool> = sources.iter().map(|source| source.is_vendors()).collect();
        let live = || Live { latest: Timestamp::MIN, valued: BTreeMap::new(), decay: Decay::default() };
        Self {
            precedence: Precedence::new(&is_vendors, RootTable::embedded()),
            hours: Hours::new(RootTable::embedded()),
            sources,
            store,
            reference,
            progress: FeedProgress::default(),
            fixed,
            live: is_live.then(live),
            record: None,
            rates: RatesWatch::default(),
            last_curve: None,
        }
    }

    /// Sets the curves for values where the sources have none.
    #[must_use]
    pub fn with_rates(mut self, rates: RateTable) -> Self {
        self.reference.rates = rates;
        self
    }

    /// Adds the file of the last curve: its curve is used where there is no better one, and later curves are saved to
    /// it.
    #[must_use]
    pub fn with_last_curve(mut self, last: Option<LastCurve>) -> Self {
        if let Some((as_of, curve)) = last.as_ref().and_then(LastCurve::kept) {
            self.reference.rates.restore(*as_of, curve.clone());
        }
        self.last_curve = last;
        self
    }

    /// Adds a recorder.
    #[must_use]
    pub fn recording_to(self, record: Option<RecordTap>) -> Self {
        Self { record, ..self }
    }

    /// Takes in the batches of the sources, each polled by `ask`. Returns the names that are due.
    fn take_in(
        &mut self,
        moment: &Moment<'_>,
        ask: impl Fn(&mut dyn QuoteSource, &Moment<'_>) -> Option<Delivery>,
    ) -> Vec<Symbol> {
        let mut any = false;
        for (i, source) in self.sources.iter_mut().enumerate() {
            let Some(Delivery { batch, report }) = ask(source.as_mut(), moment) else { continue };
            log_report(&report, moment.log);
            let batch = if source.is_live() { self.hours.admit(self.store.calendar(), batch) } else { batch };
            let batch = self.precedence.admit(i, batch);
            let ingested = ingest(&mut self.store, batch, moment, self.record.as_mut());
            log_refused(&ingested, moment.log);
            self.progress.records += report.records;
            for (i, n) in self.progress.refused.iter_mut().enumerate() {
                *n += report.refused[i] + ingested.refused[i];
            }
            any = true;
        }
        if any {
            let is_vendors = self.precedence.has_vendors_rates();
            let given_by = if is_vendors { RateSource::Treasury } else { RateSource::User };
            if self.reference.rates.give(given_by, self.store.curves()) {
                self.rates.given_curves_changed();
            }
            self.reference.calendar = self.store.calendar().clone();
        }
        if self.rates.look(&mut self.store, &mut self.reference.rates, moment) {
            // every value depends on the curve
            self.store.books_mut().iter_mut().flat_map(|book| &mut book.slices).for_each(|slice| slice.stale = true);
        }
        self.progress.outside_session = self.hours.held_back();
        if any || self.live.is_some() {
            self.expire(moment.now);
        }
        self.keep_curve();
        self.due()
    }

    /// Drops contracts that have settled: in recorded chains by their own time, else by that of the market.
    fn expire(&mut self, now: Timestamp) {
        let Some(live) = &mut self.live else {
            self.store.expire(self.fixed);
            return;
        };
        let calendar = self.store.calendar();
        let newest = self.store.newest();
        // live records are at most minutes ahead of the clock: a future time must not settle anything, and a time after
        // a close counts as the close
        let newest = newest.map_or(Timestamp::MIN, |newest| calendar.last_session_instant(newest.min(now)));
        live.latest = live.latest.max(newest);
        let late = self.sources.iter().map(|source| source.facts().delay).max().unwrap_or_default();
        let at = self.fixed.unwrap_or_else(|| settled_by(live.latest, now, late, calendar));
        let has_settled = |book: &&Book| book.slices.iter().any(|slice| slice.settles_at <= at);
        let lost: Vec<Symbol> = self.store.books().iter().filter(has_settled).map(|book| book.underlying).collect();
        if !lost.is_empty() {
            self.store.expire(Some(at));
            // the rest of the name is computed again without them
            self.store.mark(&lost, true);
        }
    }

    /// Saves the curve of live values.
    fn keep_curve(&mut self) {
        let (Some(last), Some(live)) = (&mut self.last_curve, &self.live) else { return };
        if live.latest == Timestamp::MIN {
            return;
        }
        let date = self.reference.calendar.eastern(live.latest).date();
        last.keep(&self.reference.rates.on(live.latest, date));
    }

    /// The names with quotes that were not returned yet, and those whose values have aged.
    fn due(&self) -> Vec<Symbol> {
        let is_due = |book: &&Book| {
            let is_stale = book.slices.iter().any(|slice| slice.stale);
            is_stale || self.fixed.is_none() && self.live.as_ref().is_some_and(|live| live.has_aged(book))
        };
        self.store.books().iter().filter(is_due).map(|book| book.underlying).collect()
    }
}

impl Feed for StoreFeed {
    fn poll(&mut self, moment: &Moment<'_>) -> Vec<Symbol> {
        self.take_in(moment, |source, moment| source.take(moment))
    }

    fn changed(&mut self, moment: &Moment<'_>) -> Vec<Symbol> {
        self.take_in(moment, |source, moment| source.take_between(moment))
    }

    fn names(&self) -> BTreeSet<Symbol> {
        self.store.books().iter().filter(|b| !b.slices.is_empty()).map(|b| b.underlying).collect()
    }

    fn lists_later(&self) -> bool {
        self.live.is_some()
    }

    /// All names of the live sources; those of recorded chains are listed from the start.
    fn expected(&self) -> Option<BTreeSet<Symbol>> {
        self.live.as_ref()?;
        let live = self.sources.iter().filter(|source| source.is_live());
        let lists = live.map(|source| source.expected()).collect::<Option<Vec<_>>>()?;
        Some(lists.into_iter().flatten().collect())
    }

    fn outstanding(&self) -> Outstanding {
        self.sources.iter().map(|source| source.outstanding()).fold(Outstanding::default(), |mut all, one| {
            all.names.extend(one.names);
            Outstanding { is_starting: all.is_starting || one.is_starting, ..all }
        })
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

    fn requeue(&mut self, names: &[Symbol]) {
        self.store.mark(names, true);
    }

    fn books<'a>(&'a mut self, names: &[Symbol], _: Timestamp, _: &Passes) -> Vec<(&'a Book, Timestamp)> {
        self.store.mark(names, false);
        let (fixed, latest) = (self.fixed, self.live.as_ref().map(|live| live.latest));
        if let (Some(live), Some(at)) = (&mut self.live, fixed.or(latest)) {
            live.valued.extend(names.iter().map(|&name| (name, at)));
        }
        let wanted = names.iter().filter_map(|&name| self.store.book(name));
        wanted.map(|book| (book, fixed.or(latest).unwrap_or(book.ts))).collect()
    }

    fn reference(&self) -> &ReferenceData {
        &self.reference
    }

    fn progress(&self) -> FeedProgress {
        let facts = self.sources.iter().map(|source| source.facts());
        let (mut files_unusable, mut poll_within) = (0, None);
        for SourceFacts { files_unusable: files, look_within, .. } in facts {
            files_unusable += files;
            poll_within = poll_within.into_iter().chain(look_within).min();
        }
        FeedProgress { files_unusable, poll_within, ..self.progress }
    }

    fn record(&self) -> Option<RecordFacts> {
        self.record.as_ref().map(RecordTap::facts)
    }

    fn book_bytes(&self) -> usize {
        self.store.books().iter().map(Book::bytes).sum()
    }

    fn sources(&self) -> Vec<SourceFacts> {
        let facts = self.sources.iter().map(|source| source.facts());
        facts.enumerate().map(|(i, facts)| SourceFacts { used: self.used(i), ..facts }).collect()
    }
}

impl StoreFeed {
    fn used(&self, source: usize) -> Used {
        let used = self.precedence.used(source);
        if !self.precedence.is_alone() {
            return used;
        }
        let count = |has: fn(&Book) -> bool| self.store.books().iter().filter(|book| has(book)).count();
        Used { quotes: count(|book| !book.slices.is_empty()), spots: count(Book::has_spot), ..used }
    }
}

/// The instant up to which contracts count as settled; `latest` is the time of the newest quote, `late` the delay of
/// quotes. From the session of that quote until the next session begins, it is the clock minus the delay, since the
/// last quotes come before the close. Quotes of another session have only their own time.
fn settled_by(latest: Timestamp, now: Timestamp, late: Duration, calendar: &Calendar) -> Timestamp {
    let shown = now.checked_sub(SignedDuration::try_from(late).unwrap_or_default()).unwrap_or(now);
    let by_clock = calendar.last_session_instant(shown);
    let is_same_session = calendar.eastern(by_clock).date() == calendar.eastern(latest).date();
    if is_same_session { latest.max(by_clock) } else { latest }
}

/// Puts a batch into the store, and hands the records that the store took to the recorder.
fn ingest(store: &mut Store, batch: Batch, moment: &Moment<'_>, record: Option<&mut RecordTap>) -> Ingested {
    let Some(record) = record else { return store.ingest(&batch, moment.latest) };
    let mut admitted = Admitted::default();
    let ingested = store.ingest_with_admitted(&batch, moment.latest, Some(&mut admitted));
    let Admitted { quotes, spots } = admitted;
    let reset = batch.reset.iter().map(|&name| store.roots().canonical(name)).collect();
    record.put(Batch { reset, quotes, spots, ..batch }, moment.now);
    ingested
}

/// Logs the unusable parts of a poll: the first rows and files, then counts of the others by reason.
fn log_report(report: &Report, log: &dyn Fn(&str)) {
    let mut rest = report.refused;
    for place in report.places.iter().take(PLACES_SHOWN) {
        log(&format!("refused: {place}"));
        rest[place.reason as usize] = rest[place.reason as usize].saturating_sub(1);
    }
    let reasons = Reason::ALL.into_iter().zip(rest).filter(|(_, rows)| *rows > 0);
    let reasons: Vec<String> = reasons.map(|(reason, rows)| format!("{rows} {}", reason.name())).collect();
    if !reasons.is_empty() {
        let more = if report.places.is_empty() { "" } else { "more " };
        log(&format!("refused: {} {more}rows: {}", rest.iter().sum::<u64>(), reasons.join(", ")));
    }
    report.errors.iter().take(PLACES_SHOWN).for_each(|error| log(&error.to_string()));
    let files = report.errors.len().saturating_sub(PLACES_SHOWN);
    if files > 0 {
        log(&format!("{files} more unusable files"));
    }
}

/// Logs the number of records that the store refused, by reason.
fn log_refused(ingested: &Ingested, log: &dyn Fn(&str)) {
    let counts = Reason::ALL.iter().zip(ingested.refused).filter(|&(_, n)| n > 0);
    let counts: Vec<String> = counts.map(|(reason, n)| format!("{n} {}", reason.name())).collect();
    if !counts.is_empty() {
        log(&format!("refused: {}", counts.join(", ")));
    }
}
