//! Recorded days as a source: the end of the last one, or one replayed as the market's clock passes the times of its
//! quotes.
//!
//! A thread of its own reads; what it has read waits as the last state of each contract. Never: a layout of a file.

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

/// How often it is looked whether the clock has passed a quote.
const TICK: Duration = Duration::from_millis(20);
/// How often it is looked whether there is another last day, or there are other files of it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Rows of one day that a replay holds at most: about a gigabyte.
const ROWS_MOST: usize = 10_000_000;

/// What has recorded days.
pub trait DayRows: Send + Sync {
    /// The last day at or before another (of all, if none is given), with what stands for its files: `None` while that
    /// is not known yet, or where there is none.
    fn last_day(&self, by: Option<Date>) -> Option<(Date, u64)>;

    /// What stands for the files of a day; `None`: there are none.
    fn stamp(&self, day: Date) -> Option<u64>;

    /// The rows of a day up to an instant, in any order; at most so many.
    ///
    /// # Errors
    /// The day cannot be used, or has more.
    fn rows(&self, day: Date, until: Timestamp, most: usize) -> Result<Vec<HistoryRow>, String>;

    /// What is known beside the quotes of all days.
    fn reference(&self) -> Batch;

    /// Files that cannot be used, or not whole.
    fn files_unusable(&self) -> usize {
        0
    }
}

/// What of the days is shown.
pub enum Shown {
    /// The end of the last day at or before an instant; of the last of all, if none is given.
    LastBy(Option<Timestamp>),
    /// The day of the clock, as it passes the times of the quotes.
    Replay,
}

/// Recorded days as a source.
pub struct RecordedSource {
    name: String,
    inbox: Arc<Inbox>,
    is_replay: bool,
    has_read: Arc<AtomicBool>,
    /// What was read first was handed out.
    has_brought: bool,
    files_unusable: Box<dyn Fn() -> usize + Send>,
}

impl RecordedSource {
    /// Starts to read.
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
        Ok(Self { name, inbox, is_replay, has_read, has_brought: false, files_unusable })
    }
}

impl QuoteSource for RecordedSource {
    fn take(&mut self, _: &Moment<'_>) -> Option<Delivery> {
        // what is read after this look waits for the next one
        self.has_brought |= self.has_read.load(Ordering::Acquire);
        self.inbox.take()
    }

    fn is_live(&self) -> bool {
        self.is_replay
    }

    fn outstanding(&self) -> Outstanding {
        // a replay has what the clock has passed, be that nothing
        Outstanding { is_starting: !self.is_replay && !self.has_brought, ..Outstanding::default() }
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

/// What the thread has.
struct Reader<D> {
    days: Arc<D>,
    inbox: Arc<Inbox>,
    has_read: Arc<AtomicBool>,
    calendar: Calendar,
    name: String,
}

impl<D: DayRows> Reader<D> {
    /// Shows the end of the last day, and of another one when there is one.
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

    /// Shows the day of the clock as it passes.
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

    /// Hands over rows, and what is known beside them if it `is_new`.
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
