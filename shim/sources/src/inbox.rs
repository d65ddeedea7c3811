//! Records that the thread of a source has delivered and the market loop has not taken yet. It holds only the last
//! state of each contract, so the market bounds its size; a source that would exceed the bound waits. Never: the origin
//! of a record.

use super::Delivery;
use feeds::conflate::Conflated;
use host::clock::MarketClock;
use kernel::error::Reason;
use kernel::records::Batch;
use kernel::report::Report;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of waiting contracts of one source: twice the listed market.
pub const WAITING_MOST: usize = 4_000_000;
/// Maximum number of waiting refused records with their places, and of waiting errors.
const PLACES_KEPT: usize = 100;
/// Interval at which a waiting source checks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Queue of records from a source to the market loop.
#[derive(Debug)]
pub struct Inbox {
    waiting: Mutex<Waiting>,
    taken: Condvar,
    /// Maximum number of waiting contracts.
    most: usize,
    clock: MarketClock,
    ending: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    records: Conflated,
    report: Report,
    is_new: bool,
}

impl Inbox {
    /// An inbox for at most `most` contracts; `clock` limits the times of records.
    #[must_use]
    pub fn new(most: usize, clock: MarketClock) -> Self {
        Self { waiting: Mutex::default(), taken: Condvar::new(), most, clock, ending: AtomicBool::new(false) }
    }

    /// Adds a batch; waits while there is no room. Records of a future time are refused here: only the latest state of
    /// a contract is held, so a future one would replace the true one.
    pub fn put(&self, mut batch: Batch, mut report: Report) {
        batch.refuse_ahead(self.clock.latest(), &mut report);
        let mut waiting = self.lock();
        while waiting.records.waiting() >= self.most && !self.is_ending() {
            waiting = self.taken.wait_timeout(waiting, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        waiting.records.add(batch);
        report.refused[Reason::TooMany as usize] += waiting.records.take_refused();
        waiting.report.absorb(report);
        waiting.report.places.truncate(PLACES_KEPT);
        waiting.report.errors.truncate(PLACES_KEPT);
        waiting.is_new = true;
    }

    /// Takes all waiting records; `None`: there are none.
    pub fn take(&self) -> Option<Delivery> {
        let mut waiting = self.lock();
        if !std::mem::take(&mut waiting.is_new) {
            return None;
        }
        let delivery = Delivery { batch: waiting.records.take(), report: std::mem::take(&mut waiting.report) };
        drop(waiting);
        self.taken.notify_all();
        Some(delivery)
    }

    /// Number of quotes and spots so far that later ones replaced while they waited.
    #[must_use]
    pub fn superseded(&self) -> u64 {
        self.lock().records.superseded()
    }

    /// Bytes of waiting records.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lock().records.bytes() as u64
    }

    /// Ends the inbox: delivering threads should end, since no records are taken any more.
    pub fn end(&self) {
        self.ending.store(true, Ordering::Release);
        self.taken.notify_all();
    }

    /// True after [`Inbox::end`].
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // a panic within `put` or `take` leaves usable records
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use feeds::lines::parse_lines;
    use jiff::{SignedDuration, Timestamp};
    use kernel::error::Reason;
    use kernel::records::QuoteRecord;
    use std::path::Path;
    use std::sync::Arc;

    fn quotes(strikes: std::ops::Range<u32>, bid: u32) -> (Batch, Report) {
        let line = |strike: u32| {
            format!("{{\"osym\":\"AA261218C{:08}\",\"bid\":{bid},\"ask\":9,\"time\":1795207320}}\n", strike * 1000)
        };
        parse_lines(Path::new("x"), strikes.map(line).collect::<String>().as_bytes())
    }

    #[test]
    fn what_waits_is_bounded_by_contracts_and_whoever_exceeds_it_waits() {
        let inbox = Arc::new(Inbox::new(10, MarketClock::Running));
        for bid in 1..=100 {
            let (batch, report) = quotes(1..10, bid);
            inbox.put(batch, report);
        }
        let first = inbox.take().unwrap();
        assert_eq!((first.batch.quotes.len(), first.report.records), (9, 900));
        assert!(first.batch.quotes.iter().all(|quote| quote.bid.to_bits() == 100f64.to_bits()));
        assert_eq!((inbox.superseded(), inbox.take().is_none()), (891, true));
        let (batch, report) = quotes(1..12, 1);
        inbox.put(batch, report);
        assert!(inbox.bytes() >= 11 * size_of::<QuoteRecord>() as u64, "{} bytes of 11 quotes", inbox.bytes());
        let other = Arc::clone(&inbox);
        let full = std::thread::spawn(move || {
            let (batch, report) = quotes(20..21, 1);
            other.put(batch, report);
        });
        let mut seen = 0;
        while seen < 12 {
            seen += inbox.take().map_or(0, |delivery| delivery.batch.quotes.len());
        }
        full.join().unwrap();
        assert_eq!(seen, 12, "nothing is lost");
    }

    #[test]
    fn a_quote_from_the_future_is_refused_and_hides_none() {
        let at: Timestamp = "2026-11-20T15:42:00-05:00".parse().unwrap();
        // later than the system's clock, whatever that shows
        let inbox = Inbox::new(10, MarketClock::Fixed(at.max(Timestamp::now())));
        let line = |time: Timestamp, bid: u32| {
            let text = format!("{{\"osym\":\"AA261218C00001000\",\"bid\":{bid},\"ask\":9,\"time\":\"{time}\"}}\n");
            parse_lines(Path::new("x"), text.as_bytes())
        };
        let now = inbox.clock.now();
        for (minutes, bid) in [(-60, 1), (60 * 24 * 365, 2), (3, 3), (1, 4), (-120, 5)] {
            let (batch, report) = line(now + SignedDuration::from_mins(minutes), bid);
            inbox.put(batch, report);
        }
        let Delivery { batch, report } = inbox.take().unwrap();
        assert_eq!(
            batch.quotes.iter().map(|quote| quote.bid as u32).collect::<Vec<_>>(),
            [4],
            "the latest that may be"
        );
        assert_eq!((report.refused[Reason::FromTheFuture as usize], report.refused_total()), (2, 2));
    }

    #[test]
    fn an_end_lets_everybody_go() {
        let inbox = Inbox::new(0, MarketClock::Running);
        inbox.end();
        let (batch, report) = quotes(1..3, 1);
        inbox.put(batch, report);
        assert!(inbox.is_ending());
    }
}
