//! State that all reactors of a server share, and the context in which a reactor drives its connections. Never: a
//! connection.

use super::boundary::Boundary;
use super::cache::ResponseCache;
use super::limits::{Limits, PIECE_BYTES, READ_BYTES};
use super::metrics::Metrics;
use super::response::DateText;
use jiff::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

/// State that all reactors of a server share.
pub(super) struct Shared<A> {
    pub(super) app: Arc<A>,
    pub(super) boundary: Boundary,
    pub(super) limits: Limits,
    pub(super) sweep_interval: Duration,
    pub(super) metrics: Arc<Metrics>,
    pub(super) clock: fn() -> Timestamp,
    pub(super) stopping: AtomicBool,
    pub(super) gzip_permits: Arc<AtomicUsize>,
    /// Bytes of kept request bodies.
    pub(super) body_bytes: Arc<AtomicUsize>,
    pub(super) cache: ResponseCache,
}

/// Context of a reactor in which it drives a connection: shared state, time and buffers.
pub(super) struct ReactorContext<A> {
    /// State that all reactors share.
    pub(super) shared: Arc<Shared<A>>,
    /// True for a bulk reactor.
    pub(super) bulk: bool,
    /// True if the server stops.
    pub(super) stopping: bool,
    /// Start of the current turn.
    pub(super) now: Instant,
    /// Text of the header `Date`.
    pub(super) date: DateText,
    /// Buffer of answers before they are written to the socket.
    pub(super) out: Vec<u8>,
    /// Buffer of the first piece of a body, and of text to be compressed.
    pub(super) piece: Vec<u8>,
    /// Buffer of input from sockets.
    pub(super) input: Box<[u8]>,
}

impl<A> ReactorContext<A> {
    /// The context of a new reactor.
    pub(super) fn new(shared: Arc<Shared<A>>, bulk: bool) -> Self {
        let date = DateText::new(shared.clock);
        let input = vec![0; READ_BYTES].into();
        Self { shared, bulk, stopping: false, now: Instant::now(), date, out: Vec::new(), piece: Vec::new(), input }
    }

    /// Takes back the buffer of a first piece.
    pub(super) fn reclaim(&mut self, piece: Vec<u8>) {
        if piece.capacity() <= 4 * PIECE_BYTES && piece.capacity() > self.piece.capacity() {
            self.piece = piece;
        }
    }
}
