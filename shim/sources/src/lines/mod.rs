//! Pushed lines and tables: from standard input, or over connections that other programs open. `feeds::lines` defines
//! the fields. Never: the meaning of a line.

pub mod reading;
pub mod tcp;

use super::facts::{SourceFacts, SourceState};
use super::inbox::{Inbox, WAITING_MOST};
use super::{Delivery, Moment, QuoteSource};
use host::clock::MarketClock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Source of pushed lines.
#[derive(Debug)]
pub struct LineSource {
    name: String,
    shared: Arc<LinesShared>,
    /// Time of the last usable line, and the number of usable lines then.
    last: Option<(Duration, u64)>,
    now: Duration,
}

/// State shared by the reading threads and the market loop.
#[derive(Debug)]
struct LinesShared {
    inbox: Inbox,
    clock: MarketClock,
    /// Bytes that streams of Arrow and DBN hold while they are read.
    held: AtomicUsize,
    /// Number of usable lines.
    good: AtomicU64,
    connections: AtomicUsize,
    /// Number of rejected connections: too many, or nothing that is read.
    turned_away: AtomicU64,
    /// Number of broken connections.
    broken: AtomicU64,
    ended: AtomicBool,
}

impl LinesShared {
    fn new(clock: MarketClock) -> Arc<Self> {
        Arc::new(Self {
            inbox: Inbox::new(WAITING_MOST, clock),
            clock,
            held: AtomicUsize::new(0),
            good: AtomicU64::new(0),
            connections: AtomicUsize::new(0),
            turned_away: AtomicU64::new(0),
            broken: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        })
    }
}

impl LineSource {
    fn new(name: String, shared: Arc<LinesShared>) -> Self {
        Self { name, shared, last: None, now: Duration::ZERO }
    }
}

impl QuoteSource for LineSource {
    fn take(&mut self, moment: &Moment<'_>) -> Option<Delivery> {
        self.now = moment.elapsed;
        let good = self.shared.good.load(Ordering::Relaxed);
        if self.last.map_or(0, |(_, before)| before) != good {
            self.last = Some((moment.elapsed, good));
        }
        self.shared.inbox.take()
    }

    fn facts(&self) -> SourceFacts {
        let LinesShared { inbox, held, connections, turned_away, broken, ended, .. } = &*self.shared;
        let failures = [("turned_away", turned_away), ("broken", broken)];
        SourceFacts {
            feed: self.name.clone(),
            state: match self.last {
                _ if ended.load(Ordering::Relaxed) => SourceState::Ended,
                None => SourceState::Waiting,
                Some(_) => SourceState::Ok,
            },
            last_success: self.last.map(|(at, _)| self.now.saturating_sub(at)),
            failures: failures.map(|(kind, n)| (kind, n.load(Ordering::Relaxed))).to_vec(),
            connections: connections.load(Ordering::Relaxed),
            superseded: inbox.superseded(),
            waiting_bytes: inbox.bytes() + held.load(Ordering::Relaxed) as u64,
            ..SourceFacts::default()
        }
    }
}

impl Drop for LineSource {
    fn drop(&mut self) {
        self.shared.inbox.end();
    }
}
