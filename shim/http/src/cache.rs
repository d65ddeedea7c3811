//! Cache of answers that are sent several times: each is rendered once, and kept within a bound while it is current or
//! read in parts.
//!
//! A body is rendered piece by piece by the reader that needs the next piece first, so that no reader waits for another
//! and no unread piece is rendered. An answer that is requested once is not kept. A body that is read in parts
//! ([`Conditions::is_ranged`]) stays the same for its readers although newer ones exist, since the parts must fit
//! together. A request for the whole body gets the newest one.
//!
//! An evicted body lives on while a slow reader holds it, and still counts: beyond twice the bound nothing new is kept,
//! and every answer is a stream of its own.

use super::conditional::Conditions;
use super::framing::{Progress, Stream};
use super::limits::PIECE_BYTES;
use super::request::Request;
use super::response::Head;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Maximum number of kept answers.
const ENTRIES: usize = 4096;
/// A target that is requested again within this time is kept, and its answer is used for at most this time. So the app
/// receives a request for each target at least this often.
const AGAIN: Duration = Duration::from_secs(10);
/// Maximum time since the last read part within which a new reader shares the body.
const QUIET: Duration = Duration::from_millis(500);
/// Time for which a body is kept after its last part was read.
const PINNED: Duration = Duration::from_secs(30);
/// Maximum bytes of kept and evicted bodies, as a multiple of the bound of kept ones.
const ALIVE_MOST: usize = 2;
/// Maximum number of pieces in one system call.
const PIECES_AT_ONCE: usize = 4;
/// Maximum bytes that are rendered in one turn for a client that waits for the whole body.
const STEP_BYTES: usize = 8 * PIECE_BYTES;

/// Host, path and query of a request: two requests with the same target, at the same edition, have the same body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Target(Box<str>);

impl Target {
    /// The target of a request.
    pub(super) fn of(request: &Request<'_>) -> Self {
        let host = request.host().unwrap_or_default();
        Self([host, "\n", request.raw_path(), "?", request.query()].concat().into())
    }
}

/// The cache.
#[derive(Debug)]
pub(super) struct ResponseCache {
    kept: Mutex<CachedBodies>,
    most_bytes: usize,
    /// Hasher with a random key, so that tags differ between processes.
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct CachedBodies {
    /// Kept bodies; a target has one key for whole reads and one for reads in parts.
    entries: HashMap<u64, Entry>,
    /// Evicted bodies that a reader may still hold.
    evicted: Vec<Weak<SharedBody>>,
    /// Times of the last requests for targets that are not kept.
    requested: HashMap<u64, Instant>,
}

#[derive(Clone, Debug)]
struct Entry {
    target: Target,
    edition: u64,
    body: Arc<SharedBody>,
    made: Instant,
    /// Time of the last request for a part.
    ranged: Option<Instant>,
    used: Instant,
}

impl Entry {
    /// True if a request may get this body: it is current, or the reader has parts of it.
    fn serves(&self, conditions: &Conditions, edition: Option<u64>, now: Instant) -> bool {
        let is_read = |within: Duration| self.ranged.is_some_and(|at| now < at + within);
        // a reader that begins soon after another one shares its body, so that a burst of readers renders once; a
        // reader that has parts keeps its body for longer
        let may_go_on = if conditions.opens { is_read(QUIET) && now < self.made + AGAIN } else { is_read(PINNED) };
        (conditions.is_ranged && may_go_on) || self.is_current(edition, now)
    }

    fn is_current(&self, edition: Option<u64>, now: Instant) -> bool {
        // answers contain ages as of their rendering: even a current one is rendered again after a while
        Some(self.edition) == edition && now < self.made + AGAIN
    }
}

impl ResponseCache {
    /// A cache of at most `most_bytes`.
    pub(super) fn new(most_bytes: usize) -> Self {
        Self { kept: Mutex::default(), most_bytes, hasher: RandomState::new() }
    }

    /// The kept body for a request, if there is one.
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
        // reads of the whole and reads in parts share the current body
        let other = kept.entries.get(&self.key(target, !conditions.is_ranged));
        let other = other.filter(|entry| *target == entry.target && entry.is_current(edition, now))?;
        let ranged = conditions.is_ranged.then_some(now);
        let entry = Entry { ranged, used: now, ..other.clone() };
        let body = Arc::clone(&entry.body);
        kept.put(own, entry);
        Some(body)
    }

    /// The tag of a body.
    pub(super) fn etag(&self, target: &Target, edition: u64) -> ETag {
        ETag(self.hasher.hash_one((target, edition)))
    }

    /// True if the answer to a target should be kept: parts of it are requested, or it was requested recently.
    pub(super) fn should_keep(
        &self,
        target: &Target,
        conditions: &Conditions,
        most_bytes: usize,
        now: Instant,
    ) -> bool {
        // one body must not empty the cache
        if most_bytes > self.most_bytes / 2 {
            return false;
        }
        // slow readers hold evicted bodies: nothing new is kept until they are done
        if self.lock().alive() > self.most_bytes.saturating_mul(ALIVE_MOST) {
            return false;
        }
        if conditions.is_ranged {
            return true;
        }
        let mut kept = self.lock();
        if kept.requested.len() >= ENTRIES {
            kept.requested.retain(|_, at| now < *at + AGAIN);
        }
        if kept.requested.len() >= ENTRIES {
            // too many distinct targets in ten seconds: the table must not grow
            kept.requested.clear();
        }
        kept.requested.insert(self.key(target, false), now).is_some_and(|at| now < at + AGAIN)
    }

    /// Keeps the body of an answer.
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
        // after the new body was added, so that its bytes count
        kept.evict(self.most_bytes, key, now);
        body
    }

    /// Evicts bodies that are neither current nor read in parts. Returns the bytes of all bodies, including evicted
    /// ones that readers hold.
    pub(super) fn sweep(&self, edition: Option<u64>, now: Instant) -> usize {
        let mut kept = self.lock();
        let CachedBodies { entries, evicted, .. } = &mut *kept;
        entries.retain(|_, entry| {
            let is_read = entry.ranged.is_some_and(|at| now < at + PINNED);
            let stays = is_read || entry.is_current(edition, now);
            if !stays {
                // a slow reader may hold the body, and its bytes count until then
                evicted.push(Arc::downgrade(&entry.body));
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
            self.evicted.push(Arc::downgrade(&old.body));
        }
    }

    /// Bytes of all bodies that are kept or held by readers, each counted once.
    fn alive(&mut self) -> usize {
        self.evicted.retain(|body| body.strong_count() > 0);
        let kept = self.entries.values().map(|entry| Arc::clone(&entry.body));
        let bodies = kept.chain(self.evicted.iter().filter_map(Weak::upgrade));
        // the two entries of a target may share one body
        let mut seen = HashSet::new();
        bodies.filter(|body| seen.insert(Arc::as_ptr(body))).map(|body| body.bytes()).sum()
    }

    /// Evicts the least recently used bodies until the rest is within the bound; `newest` stays.
    fn evict(&mut self, most_bytes: usize, newest: u64, now: Instant) {
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
                    self.evicted.push(Arc::downgrade(&old.body));
                }
                total -= bytes;
            }
        }
    }
}

/// Tag of a version of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ETag(u64);

impl ETag {
    /// Value of the header `ETag`; a compressed body has another tag.
    pub(super) fn text(self, gzip: bool) -> String {
        format!("\"{:016x}{}\"", self.0, if gzip { "-gzip" } else { "" })
    }
}

/// A body that several answers share.
#[derive(Debug)]
pub(super) struct SharedBody {
    /// Status, type and headers.
    pub(super) head: Head,
    /// Tag of the body.
    pub(super) etag: ETag,
    /// Bytes of the body; before it is complete, the maximum.
    bytes: AtomicUsize,
    inner: Mutex<Rendered>,
}

/// The rendered part of a body, and the stream of the rest.
pub(super) struct Rendered {
    pieces: Vec<Arc<[u8]>>,
    /// Offset of the end of each piece.
    ends: Vec<usize>,
    /// Stream of the rest.
    rest: Option<Box<dyn Stream>>,
    /// Maximum bytes of the complete body.
    most: usize,
    is_broken: bool,
}

impl std::fmt::Debug for Rendered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rendered").field("pieces", &self.pieces.len()).field("done", &self.rest.is_none()).finish()
    }
}

impl Rendered {
    /// A body that begins with `first` and continues with `rest`, of at most `most` bytes.
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
        // taken out, so that a stream that has panicked is not called again
        let Some(mut rest) = self.rest.take() else {
            return if self.is_broken { Progress::Broken } else { Progress::Done };
        };
        // stays set if the stream panics
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
        // the maximum is reserved before the body is rendered
        let bytes = if rendered.rest.is_some() { rendered.most } else { rendered.length() };
        Self { head, etag, bytes: AtomicUsize::new(bytes), inner: Mutex::new(rendered) }
    }

    /// Length of the body, once it is complete.
    pub(super) fn length(&self) -> Option<usize> {
        let inner = self.lock();
        inner.is_whole().then(|| inner.length())
    }

    /// Renders some pieces; [`Progress::Done`] once the body is complete.
    pub(super) fn render(&self, scratch: &mut Vec<u8>) -> Progress {
        let mut inner = self.lock();
        // bounded, so that other connections of the reactor get their turn
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

/// Reader of a shared body, or of a part of it.
#[derive(Debug)]
pub(super) struct BodyReader {
    body: Arc<SharedBody>,
    at: usize,
    end: usize,
    scratch: Vec<u8>,
}

impl BodyReader {
    /// A reader of these bytes.
    pub(super) fn part(body: Arc<SharedBody>, part: Range<usize>) -> Self {
        Self { body, at: part.start, end: part.end, scratch: Vec::new() }
    }
}

impl BodyReader {
    /// Bytes of the reader's own buffer.
    pub(super) fn own_bytes(&self) -> usize {
        self.scratch.capacity()
    }

    /// The next pieces of a complete body, without copying; empty at the end.
    pub(super) fn next_pieces(&self) -> Vec<BodyPiece> {
        let inner = self.body.lock();
        let (mut pieces, mut at) = (Vec::with_capacity(PIECES_AT_ONCE), self.at);
        // the socket writes from the shared pieces
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

    /// Skips bytes that were sent. Returns true if more follow.
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
        // other readers continue while this one copies
        drop(inner);
        let from = self.at - starts;
        let until = (self.end - starts).min(bytes.len()).min(from + PIECE_BYTES);
        out.extend_from_slice(&bytes[from..until]);
        self.at = starts + until;
        if self.at >= self.end || length == Some(self.at) { Progress::Done } else { Progress::More }
    }
}
