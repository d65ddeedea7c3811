//! The daemon's positions and their latest values. One thread reads the file, takes the bodies of requests and values
//! the positions, so that readers see each change as one step. Never: a row.

use super::file::{PositionsFile, ReadPositions, parse};
use super::rows::{event_of, make_as};
use super::texts::LevelEvent;
use super::valued::{SessionValues, ValuedBook};
use api::vendors::native_positions::PositionRows;
use arc_swap::ArcSwap;
use engine::snapshot::Snapshot;
use host::faults;
use host::threads::{self, Yielding};
use http::ReceivedBody;
use kernel::calendar::Calendar;
use kernel::contract::RootTable;
use kernel::position::PositionLine;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Polling interval of file and market.
const LOOK: Duration = Duration::from_millis(100);
/// Name of positions from a request, in messages.
const REQUEST: &str = "PUT /l1/positions";
/// Bytes of replaced books held by readers, above which no further answer is begun.
const OLD_BYTES: usize = 96 << 20;
/// Maximum bytes of the lists and sums of requests that pick positions; above it no further answer is begun.
const REQUEST_BYTES: usize = 64 << 20;
/// Maximum bytes of events held by streams; above it the oldest are taken away.
const EVENT_BYTES: usize = 32 << 20;

/// The positions of the daemon, and their values.
#[derive(Debug)]
pub struct PositionDesk {
    /// Lines and values together, so that no reader mixes two books.
    valued: ArcSwap<ValuedBook>,
    sessions: Mutex<SessionValues>,
    session_bytes: AtomicUsize,
    /// Bytes of the lists and sums of requests that pick positions.
    request_bytes: Arc<AtomicUsize>,
    /// Replaced books that readers still hold.
    old: Mutex<Vec<Arc<ValuedBook>>>,
    /// Events that streams hold, the oldest first.
    events: Mutex<Vec<Arc<LevelEvent>>>,
    puts: Sender<PutJob>,
    /// Receiver of bodies, until the thread takes it.
    arriving: Mutex<Option<Receiver<PutJob>>>,
    roots: Arc<RootTable>,
    calendar: Calendar,
    takes_requests: bool,
    /// True if there is a file, or requests may replace the positions.
    is_used: bool,
}

/// A body with new positions, and the sender for its outcome.
type PutJob = (ReceivedBody, SyncSender<Result<PositionFacts, String>>);

/// Outcome of reading positions from a body or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionFacts {
    /// Name of the file or of the request.
    pub source: String,
    /// Number of lines.
    pub lines: usize,
    /// Number of refused rows.
    pub refused: u64,
    /// The first complaints, with place and reason.
    pub errors: Vec<String>,
}

/// Bytes reserved for the lists and sums of a request; returned when dropped.
#[derive(Debug)]
pub struct RequestBytes {
    of_all: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for RequestBytes {
    fn drop(&mut self) {
        self.of_all.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

impl PositionDesk {
    /// A desk without positions; `takes_requests`: a request may replace them.
    #[must_use]
    pub fn new(roots: Arc<RootTable>, calendar: Calendar, takes_requests: bool, has_file: bool) -> Self {
        let (puts, arriving) = channel();
        Self {
            valued: ArcSwap::default(),
            sessions: Mutex::default(),
            session_bytes: AtomicUsize::new(0),
            request_bytes: Arc::default(),
            old: Mutex::default(),
            events: Mutex::default(),
            puts,
            arriving: Mutex::new(Some(arriving)),
            roots,
            calendar,
            takes_requests,
            is_used: has_file || takes_requests,
        }
    }

    /// True if the daemon can have positions.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.is_used
    }

    /// True if a request may replace the positions.
    #[must_use]
    pub fn takes_requests(&self) -> bool {
        self.takes_requests
    }

    /// The positions.
    #[must_use]
    pub fn lines(&self) -> Arc<Vec<PositionLine>> {
        Arc::clone(&self.valued.load().lines)
    }

    /// The latest values of the positions.
    #[must_use]
    pub fn valued(&self) -> Arc<ValuedBook> {
        self.valued.load_full()
    }

    /// True if slow readers hold too many bytes for another answer.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.old_bytes() > OLD_BYTES
    }

    /// Reserves bytes for the lists and sums of a request; `None`: there is no room.
    #[must_use]
    pub fn admit(&self, bytes: usize) -> Option<RequestBytes> {
        let fits = |all: usize| all.checked_add(bytes).filter(|&all| bytes == 0 || all <= REQUEST_BYTES);
        self.request_bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).ok()?;
        Some(RequestBytes { of_all: Arc::clone(&self.request_bytes), bytes })
    }

    /// Bytes of replaced books that readers hold.
    fn old_bytes(&self) -> usize {
        let now = self.lines();
        let lines = |book: &ValuedBook| if Arc::ptr_eq(&book.lines, &now) { 0 } else { book.lines.capacity() };
        let bytes = |book: &Arc<ValuedBook>| book.bytes() + lines(book) * size_of::<PositionLine>();
        lock(&self.old).iter().map(bytes).sum()
    }

    /// Bytes of positions, values and texts, including replaced ones that readers hold.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let events: usize = lock(&self.events).iter().map(|event| event.bytes()).sum();
        let lines = self.lines().capacity() * size_of::<PositionLine>();
        let own = self.session_bytes.load(Ordering::Relaxed) + self.request_bytes.load(Ordering::Relaxed);
        lines + self.valued.load().bytes() + self.old_bytes() + events + own
    }

    /// The event with the first rows of a level of a book, for streams.
    #[must_use]
    pub fn event(&self, book: &ValuedBook, level: PositionRows) -> Arc<LevelEvent> {
        let event = event_of(book, level);
        self.count(event);
        Arc::clone(event)
    }

    /// Counts the bytes of an event.
    fn count(&self, event: &Arc<LevelEvent>) {
        let mut events = lock(&self.events);
        if !events.iter().any(|known| Arc::ptr_eq(known, event)) {
            events.push(Arc::clone(event));
        }
    }

    /// Hands a body to the thread; its outcome comes when the positions are valued.
    #[must_use]
    pub fn put(&self, body: ReceivedBody) -> Receiver<Result<PositionFacts, String>> {
        let (done, outcome) = sync_channel(1);
        // the receiver lives as long as the desk
        let _ = self.puts.send((body, done));
        outcome
    }

    /// Replaces the positions, and values them.
    pub fn replace(&self, source: &str, read: ReadPositions, snapshot: &Snapshot) -> PositionFacts {
        let facts = PositionFacts {
            source: source.to_owned(),
            lines: read.lines.len(),
            refused: read.refused,
            errors: read.complaints,
        };
        self.publish(Arc::new(read.lines), snapshot);
        facts
    }

    /// Values the positions on a snapshot.
    pub fn value(&self, snapshot: &Snapshot) {
        self.publish(self.lines(), snapshot);
    }

    fn publish(&self, lines: Arc<Vec<PositionLine>>, snapshot: &Snapshot) {
        let sessions = &mut lock(&self.sessions);
        let valued = ValuedBook::of(lines, snapshot, &self.roots, &self.calendar, sessions);
        self.session_bytes.store(sessions.bytes(), Ordering::Relaxed);
        make_as(&valued, &self.valued.load()).for_each(|event| self.count(&event));
        let old = self.valued.swap(Arc::new(valued));
        old.texts.retire();
        lock(&self.old).push(old);
        self.release();
    }

    /// Frees books and events that no reader holds, and takes events away from streams that are too slow.
    fn release(&self) {
        lock(&self.old).retain(|book| Arc::strong_count(book) > 1);
        let mut events = lock(&self.events);
        events.retain(|event| Arc::strong_count(event) > 1);
        let mut held: usize = events.iter().map(|event| event.bytes()).sum();
        for event in &*events {
            if held <= EVENT_BYTES {
                break;
            }
            held -= event.bytes();
            event.take_away();
        }
    }

    /// Replaces the positions by those of a body, and sends the outcome.
    fn take(&self, job: PutJob, snapshot: &Snapshot) {
        faults::here("positions.put");
        let (body, done) = job;
        let read = parse(Path::new(REQUEST), &body).and_then(|read| {
            // to have no positions, a client sends a line with quantity 0
            if read.lines.is_empty() { Err(format!("{REQUEST}: no usable row")) } else { Ok(read) }
        });
        drop(body);
        // the client may have disconnected
        let _ = done.send(read.map(|read| self.replace(REQUEST, read, snapshot)));
    }

    /// Replaces the positions by those of the file, if it has changed.
    fn look(&self, file: &mut PositionsFile, at: Duration, snapshot: &Snapshot) {
        let source = file.path().display().to_string();
        match file.poll(at) {
            None => {}
            Some(Ok(read)) => {
                read.complaints.iter().for_each(|complaint| tracing::warn!("refused: {complaint}"));
                let n = read.lines.len();
                tracing::info!("positions {source}: {n} line{}", if n == 1 { "" } else { "s" });
                self.replace(&source, read, snapshot);
            }
            Some(Err(why)) => tracing::warn!("positions: {why}; the positions stay as they are"),
        }
    }

    /// Starts the thread. It reads the file and the bodies of requests, and values the positions on each snapshot until
    /// `ending`; `passed` is called at each turn, with whether the values are new: rules may change while the market
    /// stands still.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(
        self: &Arc<Self>,
        mut file: Option<PositionsFile>,
        market: Arc<ArcSwap<Snapshot>>,
        ending: Arc<AtomicBool>,
        mut passed: impl FnMut(&Snapshot, &ValuedBook, bool) + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        let desk = Arc::clone(self);
        let began = Instant::now();
        let mut seen: Option<Arc<ValuedBook>> = None;
        let arriving = lock(&self.arriving).take();
        threads::spawn_lasting("positions", move || {
            threads::yield_to_others(Yielding::Answering);
            while !ending.load(Ordering::Acquire) {
                let job = arriving.as_ref().map(|puts| puts.recv_timeout(LOOK));
                let snapshot = market.load_full();
                match job {
                    Some(Ok(job)) => desk.take(job, &snapshot),
                    Some(Err(RecvTimeoutError::Timeout)) => {}
                    Some(Err(RecvTimeoutError::Disconnected)) | None => std::thread::sleep(LOOK),
                }
                if let Some(file) = &mut file {
                    desk.look(file, began.elapsed(), &snapshot);
                }
                if seen.is_none() || desk.valued().snapshot != snapshot.number {
                    desk.value(&snapshot);
                }
                let valued = desk.valued();
                let is_new = !seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &valued));
                if is_new {
                    faults::here("positions");
                }
                passed(&snapshot, &valued, is_new);
                seen = Some(valued);
                desk.release();
            }
        })
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
