//! The positions that the daemon has, and their latest values: one place for the file, for requests that replace them,
//! and for everybody who reads.

use super::file::{PositionsFile, ReadPositions, parse};
use super::valued::{SessionValues, ValuedBook};
use arc_swap::ArcSwap;
use engine::snapshot::Snapshot;
use host::threads;
use kernel::calendar::Calendar;
use kernel::contract::RootTable;
use kernel::position::PositionLine;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often file and market are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// The name of positions that a request brought, in messages.
const REQUEST: &str = "PUT /l1/positions";

/// Positions and their values.
#[derive(Debug)]
pub struct PositionDesk {
    book: ArcSwap<Book>,
    valued: ArcSwap<ValuedBook>,
    sessions: Mutex<SessionValues>,
    roots: Arc<RootTable>,
    calendar: Calendar,
    takes_requests: bool,
    /// There is a file, or requests are taken.
    is_used: bool,
}

/// The positions as they were last read.
#[derive(Clone, Debug, Default)]
struct Book {
    /// Counts up with each change.
    version: u64,
    lines: Arc<Vec<PositionLine>>,
    facts: PositionFacts,
}

/// Status of the positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositionFacts {
    /// The file, or the request, that they are from.
    pub source: String,
    /// How many there are.
    pub lines: usize,
    /// Rows that were refused.
    pub refused: u64,
    /// The first complaints, with place and reason; why a file cannot be used.
    pub errors: Vec<String>,
    /// The last version cannot be used; that before still counts.
    pub is_unusable: bool,
}

impl PositionDesk {
    /// A desk without positions; `takes_requests`: they may be replaced by a request.
    #[must_use]
    pub fn new(roots: Arc<RootTable>, calendar: Calendar, takes_requests: bool, has_file: bool) -> Self {
        Self {
            book: ArcSwap::default(),
            valued: ArcSwap::default(),
            sessions: Mutex::default(),
            roots,
            calendar,
            takes_requests,
            is_used: has_file || takes_requests,
        }
    }

    /// True if positions can be had here.
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
        Arc::clone(&self.book.load().lines)
    }

    /// Status.
    #[must_use]
    pub fn facts(&self) -> PositionFacts {
        self.book.load().facts.clone()
    }

    /// The positions as they were last valued.
    #[must_use]
    pub fn valued(&self) -> Arc<ValuedBook> {
        self.valued.load_full()
    }

    /// Takes positions in the place of those that there are.
    pub fn replace(&self, source: &str, read: ReadPositions) {
        let facts = PositionFacts {
            source: source.to_owned(),
            lines: read.lines.len(),
            refused: read.refused,
            errors: read.complaints,
            is_unusable: false,
        };
        let version = self.book.load().version.wrapping_add(1);
        self.book.store(Arc::new(Book { version, lines: Arc::new(read.lines), facts }));
    }

    /// Takes the body of a request; the facts afterwards.
    ///
    /// # Errors
    /// The body is not a table of positions: nothing is changed.
    pub fn put(&self, body: &[u8], snapshot: &Snapshot) -> Result<PositionFacts, String> {
        let read = parse(Path::new(REQUEST), body)?;
        self.replace(REQUEST, read);
        self.value(snapshot);
        Ok(self.facts())
    }

    /// Values the positions on a snapshot.
    pub fn value(&self, snapshot: &Snapshot) {
        let lines = self.lines();
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let valued = ValuedBook::of(&lines, snapshot, &self.roots, &self.calendar, &mut sessions);
        self.valued.store(Arc::new(valued));
    }

    /// Looks at a file; true if the positions have changed.
    fn look(&self, file: &mut PositionsFile, at: Duration) -> bool {
        let source = file.path().display().to_string();
        match file.poll(at) {
            None => false,
            Some(Ok(read)) => {
                read.complaints.iter().for_each(|complaint| tracing::warn!("refused: {complaint}"));
                let n = read.lines.len();
                tracing::info!("positions {source}: {n} line{}", if n == 1 { "" } else { "s" });
                self.replace(&source, read);
                true
            }
            Some(Err(why)) => {
                tracing::warn!("positions: {why}; the last valid version still counts");
                let mut book = Book::clone(&self.book.load());
                (book.facts.is_unusable, book.facts.errors) = (true, vec![why]);
                self.book.store(Arc::new(book));
                false
            }
        }
    }

    /// Starts the thread that reads the file and values the positions at each pass, until `ending`; `passed` is called
    /// after each with the snapshot.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(
        self: &Arc<Self>,
        mut file: Option<PositionsFile>,
        market: Arc<ArcSwap<Snapshot>>,
        ending: Arc<AtomicBool>,
        mut passed: impl FnMut(&Snapshot, &ValuedBook) + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        let desk = Arc::clone(self);
        let began = Instant::now();
        let mut seen = (u64::MAX, u64::MAX);
        threads::spawn_lasting("positions", move || {
            while !ending.load(Ordering::Acquire) {
                if let Some(file) = &mut file {
                    desk.look(file, began.elapsed());
                }
                let snapshot = market.load_full();
                let now = (snapshot.number, desk.book.load().version);
                if now != seen {
                    seen = now;
                    desk.value(&snapshot);
                    passed(&snapshot, &desk.valued());
                }
                std::thread::sleep(LOOK);
            }
        })
    }
}
