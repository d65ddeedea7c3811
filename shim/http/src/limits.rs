//! Every bound of the server, in one place: what a client may send, hold and wait for.

pub use crate::stream::PIECE_BYTES;
use std::time::Duration;

/// Most header lines of a request; more are answered with 431. Browsers send 15 to 25.
pub const HEADERS: usize = 100;

/// Bytes read from a socket at once.
pub(super) const READ_BYTES: usize = 16 * 1024;

/// The bounds that a test may want shorter.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Most bytes of a request's head; more are answered with 431.
    pub head_bytes: usize,
    /// Most bytes of a request's body, which is read and dropped; more are answered with 413.
    pub body_bytes: u64,
    /// Most bytes of the body of a PUT, which is kept until it is answered; 0: PUT is not taken.
    pub put_bytes: u64,
    /// Most bytes of the bodies of PUT that come or wait at one time, by the lengths that their heads name; beyond it
    /// 503.
    pub bodies_bytes: usize,
    /// No further pipelined request is parsed while more bytes than this wait to be sent.
    pub unsent_bytes: usize,
    /// Open connections, those that stream among them. For a further one the longest idle one is closed; where none is
    /// idle it waits in the kernel's queue.
    pub connections: usize,
    /// Time for a whole head, from its first byte; then 408.
    pub head: Duration,
    /// Time for a whole body.
    pub body: Duration,
    /// Time between two requests on a connection.
    pub idle: Duration,
    /// Time in which a client must take [`Limits::write_bytes`] of its answer, or what is left of it. A byte now and
    /// then would hold the chains of an old snapshot for hours.
    pub write: Duration,
    /// See [`Limits::write`].
    pub write_bytes: usize,
    /// Time for one whole answer: the whole market, 400 MB, to a client that takes half a megabyte a second.
    pub answer: Duration,
    /// Time for a client to stop sending after the last answer on its connection.
    pub linger: Duration,
    /// Time for streams to finish after [`super::Server::stop`].
    pub drain: Duration,
    /// How long no connection is accepted when the process has run out of descriptors.
    pub accept_pause: Duration,
    /// Smallest body that is compressed for a client that takes gzip.
    pub gzip_bytes: usize,
    /// Streams compressed at the same time (each holds about 300 KB); further ones go out as they are.
    pub gzip_streams: usize,
    /// True if clients of this machine get gzip, too, when they say that they take it: most clients say so, and a
    /// loopback is faster than any compression.
    pub gzip_loopback: bool,
    /// Bytes of answers that are kept to be sent again, or in parts.
    pub cache_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 32 * 1024,
            body_bytes: 1 << 20,
            put_bytes: 0,
            bodies_bytes: 64 << 20,
            unsent_bytes: 64 * 1024,
            connections: 8192,
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            idle: Duration::from_secs(60),
            write: Duration::from_secs(30),
            write_bytes: 256 * 1024,
            answer: Duration::from_mins(15),
            linger: Duration::from_secs(2),
            drain: Duration::from_secs(5),
            accept_pause: Duration::from_millis(50),
            gzip_bytes: 1024,
            gzip_streams: 64,
            gzip_loopback: false,
            cache_bytes: 64 << 20,
        }
    }
}

impl Limits {
    /// How often deadlines are looked at: a quarter of the shortest, between 5 ms and 1 s.
    pub(super) fn sweep_interval(&self) -> Duration {
        let all = [self.head, self.body, self.idle, self.write, self.answer, self.linger, self.drain];
        let shortest = all.into_iter().min();
        (shortest.unwrap_or_default() / 4).clamp(Duration::from_millis(5), Duration::from_secs(1))
    }
}
