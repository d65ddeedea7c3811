//! `GET /l1/scenario`: the request, and its answer in the making.
//!
//! Values are computed on a thread of its own, a few requests at once and no more. It hands pieces to whoever sends
//! them and waits where these are not taken, so that an answer of any length takes the memory of a few pieces.

use super::legs::Legs;
use super::rows::{Cut, ScenarioWriter};
use api::query::Query;
use api::refusal::Refusal;
use api::rows::heading::Heading;
use api::vendors::native::error_json;
use api::vendors::native_scenario::{self, ScenarioRequest};
use engine::scenario::ScenarioTables;
use engine::snapshot::Snapshot;
use host::{faults, threads};
use http::{Answer, Awaited, Progress, Stream};
use jiff::tz::TimeZone;
use kernel::calendar::Calendar;
use kernel::contract::RootTable;
use kernel::position::PositionLine;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

/// Under which name requests are counted.
pub const ROUTE: &str = "scenario";
/// Maximum number of concurrent computations; further requests get status 503.
const AT_ONCE: usize = 4;
/// Pieces that wait to be sent.
const PIECES: usize = 4;
/// Bytes that tables of early exercise may take.
const TABLES: usize = 256 << 20;

/// Places for scenarios in the making, and the tables that they share.
#[derive(Clone, Debug)]
pub struct ScenarioDesk {
    running: Arc<AtomicUsize>,
    tables: Arc<ScenarioTables>,
}

/// What a request is answered from.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioSurroundings<'a> {
    /// The market.
    pub snapshot: &'a Snapshot,
    /// The positions.
    pub book: &'a [PositionLine],
    /// Names of roots.
    pub roots: &'a RootTable,
    /// Trading days.
    pub calendar: &'a Calendar,
    /// The zone of times.
    pub zone: &'a TimeZone,
    /// Lines below the title of a page.
    pub note: &'a [String],
}

/// One place; given back when it is dropped.
struct ScenarioPermit(Arc<AtomicUsize>);

impl Drop for ScenarioPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Default for ScenarioDesk {
    fn default() -> Self {
        Self { running: Arc::default(), tables: Arc::new(ScenarioTables::new(TABLES)) }
    }
}

impl ScenarioDesk {
    /// Bytes of the tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.tables.bytes()
    }

    fn take(&self) -> Option<ScenarioPermit> {
        let free = |n: usize| (n < AT_ONCE).then_some(n + 1);
        self.running.fetch_update(Ordering::AcqRel, Ordering::Acquire, free).ok()?;
        Some(ScenarioPermit(Arc::clone(&self.running)))
    }

    /// The answer to a query.
    #[must_use]
    pub fn answer(&self, query: &str, around: &ScenarioSurroundings<'_>) -> Answer {
        self.begin(query, around).unwrap_or_else(|refusal| refused(&refusal))
    }

    fn begin(&self, query: &str, around: &ScenarioSurroundings<'_>) -> Result<Answer, Refusal> {
        let request = native_scenario::parse(&Query::parse(query))?;
        let legs = Legs::of(&request, around.snapshot, around.book, around.roots, around.calendar)?;
        let place = self.take().ok_or(Refusal::Busy)?;
        let (send, pieces) = sync_channel(PIECES);
        let (tables, zone) = (Arc::clone(&self.tables), around.zone.clone());
        let heading = Heading { title: "Scenarios".to_owned(), lines: around.note.to_vec() };
        let content_type = request.format.frame().content_type;
        let work = move || {
            let _place = place;
            faults::here("scenario");
            compute(&request, &legs, &tables, &zone, &heading, &send);
        };
        threads::spawn_once("scenario", work).map_err(|_| Refusal::Busy)?;
        Ok(Answer::awaited(ROUTE, AwaitedScenario { pieces: Some(pieces), content_type }))
    }
}

/// What comes from the thread that computes.
enum Piece {
    Bytes(Vec<u8>),
    Last(Vec<u8>),
    Cut(Cut),
}

fn compute(
    request: &ScenarioRequest,
    legs: &Legs,
    tables: &ScenarioTables,
    zone: &TimeZone,
    heading: &Heading,
    pieces: &SyncSender<Piece>,
) {
    let writer = ScenarioWriter::new(request, legs, tables, zone);
    // one piece is held back, so that the last one is known to be it and a short answer has a length
    let mut held: Option<Vec<u8>> = None;
    let written = writer.write(heading, &mut |piece| match held.replace(piece) {
        Some(before) => pieces.send(Piece::Bytes(before)).is_ok(),
        None => true,
    });
    // the client may have disconnected: then nobody takes a piece
    let _ = pieces.send(match written {
        Ok(()) => Piece::Last(held.unwrap_or_default()),
        Err(cut) => Piece::Cut(cut),
    });
}

fn refused(refusal: &Refusal) -> Answer {
    Answer::full(ROUTE, refusal.status(), "application/json", error_json(refusal))
}

/// An answer whose first piece is in the making.
struct AwaitedScenario {
    pieces: Option<Receiver<Piece>>,
    content_type: &'static str,
}

impl Awaited for AwaitedScenario {
    fn look(&mut self) -> Option<Answer> {
        let first = match self.pieces.as_ref()?.try_recv() {
            Ok(Piece::Bytes(first)) => first,
            Ok(Piece::Last(whole)) => return Some(Answer::full(ROUTE, 200, self.content_type, whole)),
            Ok(Piece::Cut(Cut::TooManyGroups)) => {
                let reason = "a sum has more than a million values: ask for fewer scenarios, or for sum=total";
                return Some(refused(&Refusal::Conflict { reason }));
            }
            Err(TryRecvError::Empty) => return None,
            // its thread has panicked
            Ok(Piece::Cut(Cut::Gone)) | Err(TryRecvError::Disconnected) => {
                return Some(Answer::full(ROUTE, 500, "application/json", r#"{"error":"internal error"}"#));
            }
        };
        let pieces = self.pieces.take()?;
        Some(Answer::stream(ROUTE, self.content_type, ScenarioPieces { first, pieces }))
    }
}

/// The pieces of an answer as they come.
struct ScenarioPieces {
    first: Vec<u8>,
    pieces: Receiver<Piece>,
}

impl Stream for ScenarioPieces {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        if !self.first.is_empty() {
            out.append(&mut self.first);
            return Progress::More;
        }
        match self.pieces.try_recv() {
            Ok(Piece::Bytes(mut piece)) => {
                out.append(&mut piece);
                Progress::More
            }
            Ok(Piece::Last(mut piece)) => {
                out.append(&mut piece);
                Progress::Done
            }
            Err(TryRecvError::Empty) => Progress::Later,
            Ok(Piece::Cut(_)) | Err(TryRecvError::Disconnected) => Progress::Broken,
        }
    }
}
