//! Answers that are sent more than once: rendered once, kept within a bound while they are current, or while somebody
//! reads them in parts.
//!
//! A body is rendered piece by piece by whichever of its readers needs the next piece first, so no reader waits for
//! another and nothing is rendered that nobody takes. What is asked for once is not kept at all. A body that is read in
//! parts ([`Conditions::is_ranged`]) stays the same for its readers although newer ones exist: their parts belong
//! together. Whoever asks for the whole gets the newest one, whatever others read in parts.
//!
//! A body that is kept no longer lives on while a slow reader has it. Those bodies count, too: beyond twice the bound
//! nothing new is kept, and every answer is a stream of its own.

use super::conditional::Conditions;
use super::request::Request;
use super::response::Head;
use crate::stream::{PIECE_BYTES, Progress, Stream};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Most answers that are kept.
const ENTRIES: usize = 4096;
/// A target that is asked for again within this time is worth keeping. The program that is served hears of each target
/// that often, too.
const AGAIN: Duration = Duration::from_secs(10);
/// Parts follow one another at least this fast; then the next reader begins with a newer body.
const QUIET: Duration = Duration::from_millis(500);
/// How long parts of a body can be had after the last one was taken.
const PINNED: Duration = Duration::from_secs(30);
/// Bodies that are kept and bodies that readers hold take at most this many times the bound of the kept ones.
const ALIVE_MOST: usize = 2;
/// Pieces that one call of the system takes.
const PIECES_AT_ONCE: usize = 4;
/// Most bytes that are rendered in one turn for a client that waits for the whole.
const STEP_BYTES: usize = 8 * PIECE_BYTES;

/// What a request asks for, host and query included: two requests of the same target, at the same edition, have the
/// same body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Target(Box<str>);

impl Target {
    /// That of a request.
    pub(super) fn of(request: &Request<'_>) -> Self {
        let host = request.host().unwrap_or_default();
        Self([host, "\n", request.raw_path(), "?", request.query()].concat().into())
    }
}

/// The answers that are kept.
#[derive(Debug)]
pub(super) struct ResponseCache {
    kept: Mutex<CachedBodies>,
    most_bytes: usize,
    /// Other processes spell other versions.
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct CachedBodies {
    /// Whole bodies and bodies that are read in parts, each under a key of its own.
    entries: HashMap<u64, Entry>,
    /// Bodies that are kept no longer and that a reader may still have.
    gone: Vec<Weak<SharedBody>>,
    /// When targets that are not kept were last asked for.
    asked: HashMap<u64, Instant>,
}

#[derive(Clone, Debug)]
struct Entry {
    target: Target,
    edition: u64,
    body: Arc<SharedBody>,
    made: Instant,
    /// When a part of it was last asked for, if one was.
    ranged: Option<Instant>,
    used: Instant,
}

impl Entry {
    /// True if a request may have this body: it is the newest one, or the one whose parts the reader has.
    fn serves(&self, conditions: &Conditions, edition: Option<u64>, now: Instant) -> bool {
        let is_read = |within: Duration| self.ranged.is_some_and(|at| now < at + within);
        // a reader that begins again soon after another one shares its body, so that a burst of readers renders once;
        // parts that are under way keep theirs for longer
        let may_go_on = if conditions.opens { is_read(QUIET) && now < self.made + AGAIN } else { is_read(PINNED) };
        (conditions.is_ranged && may_go_on) || self.is_current(edition, now)
    }

    fn is_current(&self, edition: Option<u64>, now: Instant) -> bool {
        // ages in an answer are as of when it was made: also a current one is rendered again after a while
        Some(self.edition) == edition && now < self.made + AGAIN
    }
}

impl ResponseCache {
    /// A cache of this many bytes.
    pub(super) fn new(most_bytes: usize) -> Self {
        Self { kept: Mutex::default(), most_bytes, hasher: RandomState::new() }
    }

    /// The body for a request, where it is kept.
    pub(super) fn find(
        &self,
        target: &Target,
        conditions: &Conditions,
        edition: Option<u64>,
        now: Instant,
    ) -> Option<Arc<SharedBody>> {
        let mut kept = self.lock();
        let own = self.key(target, conditions.is_ranged);
        if let Some(entry) = kept.entries.get_mut(&own).filter(|entry| *target == entry.target)
            && entry.serves(conditions, edition, now)
        {
            entry.used = now;
            entry.ranged = if conditions.is_ranged { Some(now) } else { entry.ranged };
            return Some(Arc::clone(&entry.body));
        }
        // the newest body is the same for those who read it whole and those who read it in parts
        let other = kept.entries.get(&self.key(target, !conditions.is_ranged));
        let other = other.filter(|entry| *target == entry.target && entry.is_current(edition, now))?;
        let ranged = conditions.is_ranged.then_some(now);
        let entry = Entry { ranged, used: now, ..other.clone() };
        let body = Arc::clone(&entry.body);
        kept.put(own, entry);
        Some(body)
    }

    /// The tag of a body that is streamed and not kept.
    pub(super) fn etag(&self, target: &Target, edition: u64) -> ETag {
        ETag(self.hasher.hash_one((target, edition)))
    }

    /// True if an answer to a target is worth keeping: parts of it are wanted, or it was asked for a moment ago.
    pub(super) fn wants(&self, target: &Target, conditions: &Conditions, most_bytes: usize, now: Instant) -> bool {
        // one body must not empty the cache
        if most_bytes > self.most_bytes / 2 {
            return false;
        }
        // readers that are slow hold what was kept: nothing is added to that until they are done
        if self.lock().alive() > self.most_bytes.saturating_mul(ALIVE_MOST) {
            return false;
        }
        if conditions.is_ranged {
            return true;
        }
        let mut kept = self.lock();
        if kept.asked.len() >= ENTRIES {
            kept.asked.retain(|_, at| now < *at + AGAIN);
        }
        if kept.asked.len() >= ENTRIES {
            // more distinct targets in ten seconds than entries: nothing of that is worth a memory that grows
            kept.asked.clear();
        }
        kept.asked.insert(self.key(target, false), now).is_some_and(|at| now < at + AGAIN)
    }

    /// Keeps an answer's body.
    pub(super) fn keep(
        &self,
        target: &Target,
        conditions: &Conditions,
        head: Head,
        edition: u64,
        rendered: Rendered,
        now: Instant,
    ) -> Arc<SharedBody> {
        let key = self.key(target, conditions.is_ranged);
        let mut kept = self.lock();
        let etag = self.etag(target, edition);
        // the tag names target and edition, so that a restart or another edition never matches an old body
        let body = Arc::new(SharedBody::new(head, etag, rendered));
        let ranged = conditions.is_ranged.then_some(now);
        let entry = Entry { target: target.clone(), edition, body: Arc::clone(&body), made: now, ranged, used: now };
        kept.put(key, entry);
        // after the new body is in: its own bytes count
        kept.make_room(self.most_bytes, key, now);
        body
    }

    /// Lets go of what is neither current nor being read in parts. Returns the bytes of all bodies that are left, those
    /// that only a reader has included.
    pub(super) fn sweep(&self, edition: Option<u64>, now: Instant) -> usize {
        let mut kept = self.lock();
        let CachedBodies { entries, gone, .. } = &mut *kept;
        entries.retain(|_, entry| {
            let is_read = entry.ranged.is_some_and(|at| now < at + PINNED);
            let stays = is_read || entry.is_current(edition, now);
            if !stays {
                // a slow reader may hold the body; its bytes count until it is done
                gone.push(Arc::downgrade(&entry.body));
            }
            stays
        });
        kept.alive()
    }

    fn key(&self, target: &Target, is_ranged: bool) -> u64 {
        self.hasher.hash_one((target, is_ranged))
    }

    fn lock(&self) -> MutexGuard<'_, CachedBodies> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedBodies {
    fn put(&mut self, key: u64, entry: Entry) {
        // replaced, not yet freed
        if let Some(old) = self.entries.insert(key, entry) {
            self.gone.push(Arc::downgrade(&old.body));
        }
    }

    /// Returns the bytes of every body that is kept or that a reader still has, each counted once.
    fn alive(&mut self) -> usize {
        self.gone.retain(|body| body.strong_count() > 0);
        let kept = self.entries.values().map(|entry| Arc::clone(&entry.body));
        let bodies = kept.chain(self.gone.iter().filter_map(Weak::upgrade));
        // a whole body and its parts are two entries of one memory
        let mut seen = HashSet::new();
        bodies.filter(|body| seen.insert(Arc::as_ptr(body))).map(|body| body.bytes()).sum()
    }

    /// Drops what was not asked for longest until the rest is within the bound; `newest` stays.
    fn make_room(&mut self, most_bytes: usize, newest: u64, now: Instant) {
        let mut by_age: Vec<(Instant, u64, usize)> =
            self.entries.iter().map(|(&key, entry)| (entry.used, key, entry.body.bytes())).collect();
        let mut total: usize = by_age.iter().map(|&(.., bytes)| bytes).sum();
        if total <= most_bytes && self.entries.len() <= ENTRIES {
            return;
        }
        by_age.sort_unstable();
        for (used, key, bytes) in by_age {
            if key != newest && (total > most_bytes || self.entries.len() > ENTRIES) && used <= now {
                if let Some(old) = self.entries.remove(&key) {
                    self.gone.push(Arc::downgrade(&old.body));
                }
                total -= bytes;
            }
        }
    }
}

/// Names one version of one body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ETag(u64);

impl ETag {
    /// As it stands in a head; a body that is compressed is another one.
    pub(super) fn text(self, gzip: bool) -> String {
        format!("\"{:016x}{}\"", self.0, if gzip { "-gzip" } else { "" })
    }
}

/// A body that several answers have.
#[derive(Debug)]
pub(super) struct SharedBody {
    /// Status, type and headers.
    pub(super) head: Head,
    /// Its version.
    pub(super) etag: ETag,
    /// Memory that it takes, or will take at most.
    bytes: AtomicUsize,
    inner: Mutex<Rendered>,
}

/// A body as far as it has been rendered.
pub(super) struct Rendered {
    pieces: Vec<Arc<[u8]>>,
    /// Where each piece ends in the body.
    ends: Vec<usize>,
    /// What renders the rest.
    rest: Option<Box<dyn Stream>>,
    /// At most this many bytes will have been rendered.
    most: usize,
    is_broken: bool,
}

impl std::fmt::Debug for Rendered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rendered").field("pieces", &self.pieces.len()).field("done", &self.rest.is_none()).finish()
    }
}

impl Rendered {
    /// A body that begins with `first`, and is rendered on by `rest` to at most this many bytes.
    pub(super) fn new(first: &[u8], rest: Option<Box<dyn Stream>>, most: usize) -> Self {
        let mut rendered = Self { pieces: Vec::new(), ends: Vec::new(), rest, most, is_broken: false };
        rendered.push(first);
        rendered
    }

    fn push(&mut self, piece: &[u8]) {
        if !piece.is_empty() {
            self.ends.push(self.length() + piece.len());
            self.pieces.push(piece.into());
        }
    }

    fn length(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn is_whole(&self) -> bool {
        self.rest.is_none() && !self.is_broken
    }

    /// Renders one more piece.
    fn more(&mut self, scratch: &mut Vec<u8>) -> Progress {
        // taken out, so that one that panics is not asked again
        let Some(mut rest) = self.rest.take() else {
            return if self.is_broken { Progress::Broken } else { Progress::Done };
        };
        // a panic of the stream leaves this set
        self.is_broken = true;
        scratch.clear();
        let progress = rest.fill(scratch);
        self.push(scratch);
        self.is_broken = progress == Progress::Broken;
        if matches!(progress, Progress::More | Progress::Later) {
            self.rest = Some(rest);
        }
        progress
    }
}

impl SharedBody {
    fn new(head: Head, etag: ETag, rendered: Rendered) -> Self {
        // room is taken for the most that it may become, before it is rendered
        let bytes = if rendered.rest.is_some() { rendered.most } else { rendered.length() };
        Self { head, etag, bytes: AtomicUsize::new(bytes), inner: Mutex::new(rendered) }
    }

    /// Its length, when all of it has been rendered.
    pub(super) fn length(&self) -> Option<usize> {
        let inner = self.lock();
        inner.is_whole().then(|| inner.length())
    }

    /// Renders for a while; [`Progress::Done`] when all has been.
    pub(super) fn render(&self, scratch: &mut Vec<u8>) -> Progress {
        let mut inner = self.lock();
        // a turn of bounded length: other connections of the reactor go on in between
        let stop = inner.length() + STEP_BYTES;
        loop {
            let progress = self.advance(&mut inner, scratch);
            if progress != Progress::More || inner.length() >= stop {
                return progress;
            }
        }
    }

    fn advance(&self, inner: &mut Rendered, scratch: &mut Vec<u8>) -> Progress {
        let progress = inner.more(scratch);
        if progress == Progress::Done {
            self.bytes.store(inner.length(), Ordering::Relaxed);
        }
        progress
    }

    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Rendered> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a shared body, or a part of it.
#[derive(Debug)]
pub(super) struct BodyReader {
    body: Arc<SharedBody>,
    at: usize,
    end: usize,
    scratch: Vec<u8>,
}

impl BodyReader {
    /// These bytes of it.
    pub(super) fn part(body: Arc<SharedBody>, part: Range<usize>) -> Self {
        Self { body, at: part.start, end: part.end, scratch: Vec::new() }
    }
}

impl BodyReader {
    /// Bytes that are the reader's own, beside itself.
    pub(super) fn own_bytes(&self) -> usize {
        self.scratch.capacity()
    }

    /// The next bytes of a body that is whole, where they stand; empty at the end.
    pub(super) fn next_pieces(&self) -> Vec<BodyPiece> {
        let inner = self.body.lock();
        let (mut pieces, mut at) = (Vec::with_capacity(PIECES_AT_ONCE), self.at);
        // pieces are written from where they stand; no byte is copied for a reader
        let first = inner.ends.partition_point(|&end| end <= at);
        for (bytes, &end) in inner.pieces.iter().zip(&inner.ends).skip(first).take(PIECES_AT_ONCE) {
            let starts = end - bytes.len();
            if at >= self.end {
                break;
            }
            let until = self.end.min(end);
            pieces.push(BodyPiece { bytes: Arc::clone(bytes), part: at - starts..until - starts });
            at = until;
        }
        pieces
    }

    /// Notes that the next bytes have been read elsewhere; whether more follow.
    pub(super) fn skip(&mut self, n: usize) -> bool {
        self.at += n;
        self.at < self.end
    }
}

/// A part of a piece of a body.
pub(super) struct BodyPiece {
    bytes: Arc<[u8]>,
    part: Range<usize>,
}

impl std::ops::Deref for BodyPiece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.part.clone()]
    }
}

impl Stream for BodyReader {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        if self.at >= self.end {
            return Progress::Done;
        }
        let mut inner = self.body.lock();
        if self.at >= inner.length() {
            match self.body.advance(&mut inner, &mut self.scratch) {
                Progress::More => {}
                Progress::Done if self.at < inner.length() => {}
                other => return other,
            }
        }
        let piece = inner.ends.partition_point(|&end| end <= self.at);
        // a piece may be empty
        let Some(bytes) = inner.pieces.get(piece).map(Arc::clone) else { return Progress::More };
        let starts = inner.ends[piece] - bytes.len();
        let length = inner.is_whole().then(|| inner.length());
        // other readers go on while this one copies
        drop(inner);
        let from = self.at - starts;
        let until = (self.end - starts).min(bytes.len()).min(from + PIECE_BYTES);
        out.extend_from_slice(&bytes[from..until]);
        self.at = starts + until;
        if self.at >= self.end || length == Some(self.at) { Progress::Done } else { Progress::More }
    }
}
