//! Recorded days as a source: the end of the last day, or a day replayed along the market's clock.
//!
//! A thread reads the days; its rows wait as the last state of each contract. Never: a layout of a file.

use super::facts::{SourceFacts, SourceState};
use super::inbox::{Inbox, WAITING_MOST};
use super::{Delivery, Moment, Outstanding, QuoteSource};
use history::row::HistoryRow;
use host::clock::MarketClock;
use host::{faults, threads};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::records::{Batch, SpotRecord};
use kernel::report::Report;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval at which a replay hands over quotes that the clock has passed.
const TICK: Duration = Duration::from_millis(20);
/// Interval of checks for a later day, or for changed files of the last day.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Maximum number of rows of a day: about a gigabyte.
const ROWS_MOST: usize = 10_000_000;

/// Access to recorded days.
pub trait DayRows: Send + Sync {
    /// The last day, at or before `by` if it is given, with a fingerprint of its files; `None`: there is none, or it is
    /// not known yet.
    fn last_day(&self, by: Option<Date>) -> Option<(Date, u64)>;

    /// A fingerprint of the files of a day; `None`: there are none.
    fn stamp(&self, day: Date) -> Option<u64>;

    /// The rows of a day up to an instant, in any order, at most `most`.
    ///
    /// # Errors
    /// Why the day is unusable: among others, it has more rows.
    fn rows(&self, day: Date, until: Timestamp, most: usize) -> Result<Vec<HistoryRow>, String>;

    /// Dividends, rates and dates of all days.
    fn reference(&self) -> Batch;

    /// Number of files that are unusable, as a whole or in part.
    fn files_unusable(&self) -> usize {
        0
    }
}

/// Rows that the source delivers.
pub enum Shown {
    /// The last state of the last day, at or before an instant if one is given.
    LastBy(Option<Timestamp>),
    /// The rows of the clock's day, as the clock passes their times.
    Replay,
}

/// Recorded days as a source.
pub struct RecordedSource {
    name: String,
    inbox: Arc<Inbox>,
    is_replay: bool,
    has_read: Arc<AtomicBool>,
    /// True once the first rows were taken.
    has_delivered: bool,
    files_unusable: Box<dyn Fn() -> usize + Send>,
}

impl RecordedSource {
    /// Starts the reading thread.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start<D: DayRows + 'static>(
        name: String,
        days: Arc<D>,
        shown: Shown,
        clock: MarketClock,
    ) -> io::Result<Self> {
        let (inbox, has_read) = (Arc::new(Inbox::new(WAITING_MOST, clock)), Arc::<AtomicBool>::default());
        let is_replay = matches!(shown, Shown::Replay);
        let counted = Arc::clone(&days);
        let files_unusable = Box::new(move || counted.files_unusable());
        let reader = Reader {
            days,
            inbox: Arc::clone(&inbox),
            has_read: Arc::clone(&has_read),
            calendar: Calendar::embedded(),
            name: name.clone(),
        };
        threads::spawn_lasting("recorded", move || match shown {
            Shown::LastBy(by) => reader.show_last(by),
            Shown::Replay => reader.replay(clock),
        })?;
        Ok(Self { name, inbox, is_replay, has_read, has_delivered: false, files_unusable })
    }
}

impl QuoteSource for RecordedSource {
    fn take(&mut self, _: &Moment<'_>) -> Option<Delivery> {
        // checked before the inbox is emptied: rows that come in between are taken with the next poll
        self.has_delivered |= self.has_read.load(Ordering::Acquire);
        self.inbox.take()
    }

    fn is_live(&self) -> bool {
        self.is_replay
    }

    fn outstanding(&self) -> Outstanding {
        // before the first quote of its day a replay has nothing to deliver
        Outstanding { is_starting: !self.is_replay && !self.has_delivered, ..Outstanding::default() }
    }

    fn facts(&self) -> SourceFacts {
        let has_read = self.has_read.load(Ordering::Relaxed);
        SourceFacts {
            feed: self.name.clone(),
            state: if has_read { SourceState::Ok } else { SourceState::Waiting },
            last_success: has_read.then_some(Duration::ZERO),
            superseded: self.inbox.superseded(),
            waiting_bytes: self.inbox.bytes(),
            files_unusable: (self.files_unusable)(),
            ..SourceFacts::default()
        }
    }
}

impl Drop for RecordedSource {
    fn drop(&mut self) {
        self.inbox.end();
    }
}

/// State of the reading thread.
struct Reader<D> {
    days: Arc<D>,
    inbox: Arc<Inbox>,
    has_read: Arc<AtomicBool>,
    calendar: Calendar,
    name: String,
}

impl<D: DayRows> Reader<D> {
    /// Delivers the last state of the last day, and again when there is a later day or its files change.
    fn show_last(&self, by: Option<Timestamp>) {
        let mut shown = None;
        let day_by = by.map(|by| self.calendar.eastern(by).date());
        while !self.inbox.is_ending() {
            faults::here("recorded");
            let last = self.days.last_day(day_by);
            if last != shown
                && let Some((day, _)) = last
            {
                shown = last;
                let rows = self.rows(day, by.unwrap_or(Timestamp::MAX));
                self.put(&rows, true);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Delivers the rows of the clock's day as the clock passes them.
    fn replay(&self, clock: MarketClock) {
        let (mut of, mut rows, mut next) = (None, Vec::new(), 0);
        while !self.inbox.is_ending() {
            faults::here("recorded");
            let now = clock.now();
            let day = self.calendar.eastern(now).date();
            let is_read = self.days.stamp(day).map(|stamp| (day, stamp));
            if is_read.is_some() && of != is_read {
                of = is_read;
                rows = self.rows(day, Timestamp::MAX);
                rows.sort_by_key(|row: &HistoryRow| row.quote.ts);
                next = 0;
                self.put(&[], true);
            }
            let end = next + rows[next..].partition_point(|row| row.quote.ts <= clock.now());
            if end > next {
                self.put(&rows[next..end], false);
                next = end;
            }
            std::thread::sleep(TICK);
        }
    }

    fn rows(&self, day: Date, until: Timestamp) -> Vec<HistoryRow> {
        self.days.rows(day, until, ROWS_MOST).unwrap_or_else(|why| {
            tracing::error!("{}: {day} cannot be served: {why}", self.name);
            Vec::new()
        })
    }

    /// Hands over rows; `is_new`: with the dividends, rates and dates of all days.
    fn put(&self, rows: &[HistoryRow], is_new: bool) {
        let spots = rows.iter().filter(|row| !row.spot.is_nan()).map(|row| {
            let HistoryRow { quote, spot } = row;
            SpotRecord { ts: quote.ts, underlying: quote.underlying, price: *spot }
        });
        let reference = if is_new { self.days.reference() } else { Batch::default() };
        let batch = Batch { quotes: rows.iter().map(|row| row.quote).collect(), spots: spots.collect(), ..reference };
        let report = Report { records: rows.len() as u64, ..Report::default() };
        self.inbox.put(batch, report);
        self.has_read.store(true, Ordering::Release);
    }
}
