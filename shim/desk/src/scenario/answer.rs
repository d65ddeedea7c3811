//! `GET /l1/scenario`: the request, and its answer in the making.
//!
//! Everything but the reading of the request is done on a thread of its own: a few compute at once and no more. It
//! hands pieces to whoever sends them and waits where these are not taken, so that an answer of any length takes the
//! memory of a few pieces. While it waits for long, others may compute; when nobody takes its pieces any more, it ends.

use super::legs::Legs;
use super::rows::{Cut, PIECE, ScenarioClient, ScenarioWriter};
use api::refusal::Refusal;
use api::rows::frame::Heading;
use api::selection::unserved::warning_header;
use api::vendors::native;
use api::vendors::native_scenario::ScenarioRequest;
use engine::scenario::ScenarioTables;
use engine::snapshot::Snapshot;
use host::faults;
use host::threads::{self, WorkPermit, WorkPermits};
use http::{Answer, Awaited, Progress, Stream};
use jiff::tz::TimeZone;
use kernel::calendar::Calendar;
use kernel::contract::RootTable;
use kernel::position::PositionLine;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::time::{Duration, Instant};

/// Name of the route in metrics.
pub const ROUTE: &str = "scenario";
/// Maximum number of concurrent computations; further requests get status 503.
const AT_ONCE: usize = 4;
/// Maximum number of answers in the making, those that wait for their readers among them.
const ALIVE: usize = 64;
/// Maximum bytes that all pending answers hold.
const HELD_BYTES: usize = 256 << 20;
/// Pieces that wait to be sent.
const PIECES: usize = 4;
/// Pieces that an answer holds where its reader is slow: one in the making, one held back, one handed over.
const PIECES_HELD: usize = PIECES + 3;
/// Bytes that tables of early exercise may take.
const TABLES: usize = 256 << 20;
/// A reader that takes nothing for so long leaves the place to others.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a thread that waits looks again.
const LOOK: Duration = Duration::from_millis(5);

/// Places for scenarios in the making, and the tables that they share.
#[derive(Clone, Debug)]
pub struct ScenarioDesk {
    counts: Arc<ScenarioCounts>,
    tables: Arc<ScenarioTables>,
}

#[derive(Debug, Default)]
struct ScenarioCounts {
    working: WorkPermits,
    alive: WorkPermits,
    held: AtomicUsize,
}

/// Data that a request is answered from.
#[derive(Clone, Debug)]
pub struct ScenarioSurroundings {
    /// The market.
    pub snapshot: Arc<Snapshot>,
    /// The positions.
    pub book: Arc<Vec<PositionLine>>,
    /// Names of roots.
    pub roots: Arc<RootTable>,
    /// Trading days.
    pub calendar: Calendar,
    /// The zone of times.
    pub zone: TimeZone,
    /// Lines below the title of a page.
    pub note: Vec<String>,
}

/// An answer in the making, and its place to compute unless it waits for its reader; given back when it is dropped.
struct ScenarioPlace {
    counts: Arc<ScenarioCounts>,
    _alive: WorkPermit,
    works: Option<WorkPermit>,
    bytes: usize,
}

impl ScenarioPlace {
    fn take(counts: &Arc<ScenarioCounts>) -> Option<Self> {
        let (alive, works) = (counts.alive.take(ALIVE)?, counts.working.take(AT_ONCE)?);
        Some(Self { counts: Arc::clone(counts), _alive: alive, works: Some(works), bytes: 0 })
    }

    /// Notes what the answer holds now; false if all of them hold too much.
    fn holds(&mut self, bytes: usize) -> bool {
        let before = core::mem::replace(&mut self.bytes, bytes);
        let all = self.counts.held.fetch_add(bytes, Ordering::AcqRel).saturating_add(bytes).saturating_sub(before);
        self.counts.held.fetch_sub(before, Ordering::AcqRel);
        bytes <= before || all <= HELD_BYTES
    }
}

impl Drop for ScenarioPlace {
    fn drop(&mut self) {
        self.counts.held.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

impl Default for ScenarioDesk {
    fn default() -> Self {
        Self { counts: Arc::default(), tables: Arc::new(ScenarioTables::new(TABLES)) }
    }
}

impl ScenarioDesk {
    /// Bytes of the tables, and of answers in the making.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.tables.bytes() + self.counts.held.load(Ordering::Relaxed)
    }

    /// The answer to a request.
    #[must_use]
    pub fn answer(&self, request: ScenarioRequest, around: ScenarioSurroundings) -> Answer {
        self.begin(request, around).unwrap_or_else(|refusal| native::refused(ROUTE, &refusal))
    }

    /// An answer that takes as long as a scenario, made on a thread of its own, and with the same tables; it holds at
    /// most about so many bytes. The work sees when its client has gone.
    ///
    /// # Errors
    /// Too many answers are in the making.
    pub(crate) fn compute(
        &self,
        route: &'static str,
        bytes: usize,
        work: impl FnOnce(&ScenarioTables, &AtomicBool) -> Answer + Send + 'static,
    ) -> Result<Answer, Refusal> {
        let mut place = ScenarioPlace::take(&self.counts).ok_or(Refusal::Busy)?;
        if !place.holds(bytes) {
            return Err(Refusal::Busy);
        }
        let (done, answer) = sync_channel(1);
        let tables = Arc::clone(&self.tables);
        let awaited = AwaitedAnswer { route, answer, has_gone: Arc::default() };
        let has_gone = Arc::clone(&awaited.has_gone);
        let work = move || {
            let _place = place;
            faults::here(route);
            // the client may have disconnected
            let _ = done.send(work(&tables, &has_gone));
        };
        threads::spawn_answering(route, work).map_err(|_| Refusal::Busy)?;
        Ok(Answer::awaited(route, awaited))
    }

    fn begin(&self, request: ScenarioRequest, around: ScenarioSurroundings) -> Result<Answer, Refusal> {
        let place = ScenarioPlace::take(&self.counts).ok_or(Refusal::Busy)?;
        let (send, pieces) = sync_channel(PIECES);
        let pieces = ScenarioPieces { pieces, has_gone: Arc::default() };
        let client = RemoteClient { place, pieces: send, has_gone: Arc::clone(&pieces.has_gone), last: None, fixed: 0 };
        let content_type = request.format.frame().content_type;
        let tables = Arc::clone(&self.tables);
        let work = move || {
            faults::here("scenario");
            client.serve(&request, around, &tables);
        };
        threads::spawn_answering("scenario", work).map_err(|_| Refusal::Busy)?;
        Ok(Answer::awaited(ROUTE, AwaitedScenario { pieces: Some(pieces), content_type, warning: None }))
    }
}

/// Message of the thread that computes.
enum Piece {
    /// Warning for the client, before any other piece.
    Warning(String),
    Bytes(Vec<u8>),
    Last(Vec<u8>),
    Refused(Refusal),
}

/// The thread's way to its client.
struct RemoteClient {
    place: ScenarioPlace,
    pieces: SyncSender<Piece>,
    has_gone: Arc<AtomicBool>,
    /// One piece is held back, so that the last one is known to be it and a short answer has a length.
    last: Option<Vec<u8>>,
    /// Bytes that it holds all the time.
    fixed: usize,
}

impl RemoteClient {
    fn serve(mut self, request: &ScenarioRequest, around: ScenarioSurroundings, tables: &ScenarioTables) {
        let ScenarioSurroundings { snapshot, book, roots, calendar, zone, note } = around;
        let legs = Legs::of(request, &snapshot, &book, &roots, &calendar);
        drop((snapshot, book));
        let written = legs.and_then(|legs| {
            // before the first piece, so that no answer ends in its middle for want of room
            self.fixed = legs.bytes(request.grid.len()) + PIECES_HELD * PIECE;
            let lines = note.into_iter().chain(legs.warning.clone()).collect();
            let heading = Heading { title: "Scenarios".to_owned(), lines };
            let warned = legs.warning.clone().map_or(Ok(()), |text| self.hand_over(Piece::Warning(text)));
            let written =
                warned.and_then(|()| ScenarioWriter::new(request, &legs, tables, &zone).write(&heading, &mut self));
            written.map_err(|cut| match cut {
                Cut::TooManyGroups => Refusal::Conflict {
                    reason: "a sum has more than a million values: ask for fewer scenarios, or for sum=total",
                },
                Cut::Gone | Cut::Crowded => Refusal::Busy,
            })
        });
        let last = match written {
            Ok(()) => Piece::Last(self.last.take().unwrap_or_default()),
            Err(refusal) => Piece::Refused(refusal),
        };
        let _ = self.hand_over(last);
    }

    /// Hands a piece over; waits until it is taken.
    fn hand_over(&mut self, mut piece: Piece) -> Result<(), Cut> {
        let began = Instant::now();
        loop {
            match self.pieces.try_send(piece) {
                Ok(()) => break,
                Err(TrySendError::Disconnected(_)) => return Err(Cut::Gone),
                Err(TrySendError::Full(back)) => piece = back,
            }
            if began.elapsed() > PATIENCE {
                self.place.works = None;
            }
            std::thread::sleep(LOOK);
        }
        while self.place.works.is_none() {
            if self.has_gone.load(Ordering::Acquire) {
                return Err(Cut::Gone);
            }
            self.place.works = self.place.counts.working.take(AT_ONCE);
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl ScenarioClient for RemoteClient {
    fn goes_on(&mut self, bytes: usize) -> Result<(), Cut> {
        if self.has_gone.load(Ordering::Acquire) {
            return Err(Cut::Gone);
        }
        if self.place.holds(self.fixed + bytes) { Ok(()) } else { Err(Cut::Crowded) }
    }

    fn takes(&mut self, piece: Vec<u8>) -> Result<(), Cut> {
        self.last.replace(piece).map_or(Ok(()), |before| self.hand_over(Piece::Bytes(before)))
    }
}

/// A whole answer in the making.
struct AwaitedAnswer {
    route: &'static str,
    answer: Receiver<Answer>,
    has_gone: Arc<AtomicBool>,
}

impl Drop for AwaitedAnswer {
    fn drop(&mut self) {
        self.has_gone.store(true, Ordering::Release);
    }
}

impl Awaited for AwaitedAnswer {
    fn look(&mut self) -> Option<Answer> {
        match self.answer.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(failed(self.route)),
        }
    }
}

/// The answer in place of one whose thread has panicked.
fn failed(route: &'static str) -> Answer {
    Answer::full(route, 500, "application/json", r#"{"error":"internal error"}"#)
}

/// An answer whose first piece is in the making.
struct AwaitedScenario {
    pieces: Option<ScenarioPieces>,
    content_type: &'static str,
    warning: Option<String>,
}

impl Awaited for AwaitedScenario {
    fn look(&mut self) -> Option<Answer> {
        let mut answer = match self.pieces.as_ref()?.pieces.try_recv() {
            Ok(Piece::Warning(text)) => {
                self.warning = Some(text);
                return self.look();
            }
            Ok(Piece::Bytes(first)) => {
                let stream = ScenarioStream { first, pieces: self.pieces.take()? };
                Answer::stream(ROUTE, self.content_type, stream)
            }
            Ok(Piece::Last(whole)) => Answer::full(ROUTE, 200, self.content_type, whole),
            Ok(Piece::Refused(refusal)) => return Some(native::refused(ROUTE, &refusal)),
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => return Some(failed(ROUTE)),
        };
        answer.headers.extend(self.warning.as_deref().map(warning_header));
        Some(answer)
    }
}

/// The pieces of an answer. Dropping it stops the thread that makes them.
struct ScenarioPieces {
    pieces: Receiver<Piece>,
    has_gone: Arc<AtomicBool>,
}

impl Drop for ScenarioPieces {
    fn drop(&mut self) {
        self.has_gone.store(true, Ordering::Release);
    }
}

/// The pieces of an answer as they come.
struct ScenarioStream {
    first: Vec<u8>,
    pieces: ScenarioPieces,
}

impl Stream for ScenarioStream {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        if !self.first.is_empty() {
            out.append(&mut self.first);
            return Progress::More;
        }
        match self.pieces.pieces.try_recv() {
            Ok(Piece::Bytes(mut piece)) => {
                out.append(&mut piece);
                Progress::More
            }
            Ok(Piece::Last(mut piece)) => {
                out.append(&mut piece);
                Progress::Done
            }
            Err(TryRecvError::Empty) => Progress::Later,
            Ok(Piece::Refused(_) | Piece::Warning(_)) | Err(TryRecvError::Disconnected) => Progress::Broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for the end of a condition that holds for a moment.
    fn until(is_over: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_over() {
            assert!(began.elapsed() < Duration::from_secs(20));
            std::thread::sleep(LOOK);
        }
    }

    #[test]
    fn work_whose_client_has_gone_ends_and_gives_its_place_back() {
        let desk = ScenarioDesk::default();
        let work = |_: &ScenarioTables, has_gone: &AtomicBool| {
            until(|| has_gone.load(Ordering::Acquire));
            failed("strategy")
        };
        let mut waiting: Vec<Answer> = (0..AT_ONCE).map(|_| desk.compute("strategy", 0, work).unwrap()).collect();
        assert!(matches!(desk.compute("strategy", 0, work), Err(Refusal::Busy)));
        waiting.pop();
        until(|| desk.counts.working.taken() == AT_ONCE - 1);
        assert!(desk.compute("strategy", 0, |_, _| failed("strategy")).is_ok());
    }

    #[test]
    fn answers_that_are_made_whole_count_while_they_are_made() {
        let desk = ScenarioDesk::default();
        let work = |_: &ScenarioTables, has_gone: &AtomicBool| {
            until(|| has_gone.load(Ordering::Acquire));
            failed("positions")
        };
        let first = desk.compute("positions", HELD_BYTES - 1, work).unwrap();
        assert_eq!(desk.bytes(), HELD_BYTES - 1);
        assert!(matches!(desk.compute("positions", 2, work), Err(Refusal::Busy)));
        assert_eq!(desk.bytes(), HELD_BYTES - 1, "a refused one gives back what it was to hold");
        drop(first);
        until(|| desk.bytes() == 0);
    }
}
