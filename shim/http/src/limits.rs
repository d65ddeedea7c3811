//! All bounds of the server: what a client may send, hold and wait for.

use std::time::Duration;

/// Maximum number of header lines of a request, else 431. Browsers send 15 to 25.
pub const HEADERS: usize = 100;

/// Approximate bytes that one call of [`Stream::fill`](super::Stream::fill) appends.
pub const PIECE_BYTES: usize = 64 * 1024;

/// Size of a read from a socket, bytes.
pub(super) const READ_BYTES: usize = 16 * 1024;

/// The bounds that tests can change.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum bytes of the head of a request, else 431.
    pub head_bytes: usize,
    /// Maximum bytes of the body of a request, which is read and dropped, else 413.
    pub body_bytes: u64,
    /// Maximum bytes of the body of a PUT, which is kept until it is answered; 0: PUT is refused.
    pub put_bytes: u64,
    /// Maximum bytes of all PUT bodies at one time, by the lengths in their heads, else 503.
    pub bodies_bytes: usize,
    /// Maximum bytes that wait to be sent before a further pipelined request is parsed.
    pub unsent_bytes: usize,
    /// Bytes that all connections hold, beyond which a long answer that is made whole gets 503 instead: a client that
    /// does not read it would hold it for minutes.
    pub unread_bytes: u64,
    /// Maximum number of open connections. For a further one the longest idle connection is closed; if none is idle, it
    /// waits in the kernel's queue.
    pub connections: usize,
    /// Time for a whole head from its first byte, else 408.
    pub head: Duration,
    /// Time for a whole body.
    pub body: Duration,
    /// Time between two requests on a connection.
    pub idle: Duration,
    /// Time in which a client must read [`Limits::write_bytes`] of its answer, or the rest of it. Otherwise a slow
    /// client could hold an old snapshot for hours.
    pub write: Duration,
    /// Bytes that a client must read within [`Limits::write`].
    pub write_bytes: usize,
    /// Time for a whole answer: the whole market, 400 MB, to a client that reads half a megabyte a second.
    pub answer: Duration,
    /// Time for a client to stop sending after the last answer on its connection.
    pub linger: Duration,
    /// Time for streams to finish after [`super::Server::stop`].
    pub drain: Duration,
    /// Pause of accepting connections when the process has run out of descriptors.
    pub accept_pause: Duration,
    /// Minimum bytes of a body that is compressed for clients that accept gzip.
    pub gzip_bytes: usize,
    /// Maximum number of concurrent compressed streams (each holds about 300 KB); further ones are sent uncompressed.
    pub gzip_streams: usize,
    /// True if clients on this machine that accept gzip get it, too. Most clients accept it, but the loopback is faster
    /// than any compression.
    pub gzip_loopback: bool,
    /// Maximum bytes of the response cache.
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
            unread_bytes: 256 << 20,
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
    /// Interval at which deadlines are checked: a quarter of the shortest one, between 5 ms and 1 s.
    pub(super) fn sweep_interval(&self) -> Duration {
        let all = [self.head, self.body, self.idle, self.write, self.answer, self.linger, self.drain];
        let shortest = all.into_iter().min();
        (shortest.unwrap_or_default() / 4).clamp(Duration::from_millis(5), Duration::from_secs(1))
    }
}
