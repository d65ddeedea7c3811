//! What the reactors of a server share, and what one of them lends to the connection that it drives.

use super::boundary::Boundary;
use super::cache::ResponseCache;
use super::limits::{Limits, PIECE_BYTES, READ_BYTES};
use super::metrics::Metrics;
use super::response::DateText;
use jiff::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

/// What all reactors of a server share.
pub(super) struct Shared<A> {
    pub(super) app: Arc<A>,
    pub(super) boundary: Boundary,
    pub(super) limits: Limits,
    pub(super) sweep_interval: Duration,
    pub(super) metrics: Arc<Metrics>,
    pub(super) clock: fn() -> Timestamp,
    pub(super) stopping: AtomicBool,
    pub(super) gzip_places: Arc<AtomicUsize>,
    /// Bytes of the bodies that are kept.
    pub(super) body_bytes: Arc<AtomicUsize>,
    pub(super) cache: ResponseCache,
}

/// What a reactor lends to the connection that it drives.
pub(super) struct Turn<A> {
    /// What all reactors share.
    pub(super) shared: Arc<Shared<A>>,
    /// True if this reactor streams.
    pub(super) bulk: bool,
    /// True if the server is being stopped.
    pub(super) stopping: bool,
    /// When this turn began.
    pub(super) now: Instant,
    /// The `Date` of answers.
    pub(super) date: DateText,
    /// Where answers are written before they go to the socket.
    pub(super) out: Vec<u8>,
    /// Where a body's first piece is written, and text that is to be compressed.
    pub(super) piece: Vec<u8>,
    /// Where sockets are read to.
    pub(super) input: Box<[u8]>,
}

impl<A> Turn<A> {
    /// What a reactor begins with.
    pub(super) fn new(shared: Arc<Shared<A>>, bulk: bool) -> Self {
        let date = DateText::new(shared.clock);
        let input = vec![0; READ_BYTES].into();
        Self { shared, bulk, stopping: false, now: Instant::now(), date, out: Vec::new(), piece: Vec::new(), input }
    }

    /// Takes memory back that a body's first piece was written to.
    pub(super) fn lend(&mut self, piece: Vec<u8>) {
        if piece.capacity() <= 4 * PIECE_BYTES && piece.capacity() > self.piece.capacity() {
            self.piece = piece;
        }
    }
}
