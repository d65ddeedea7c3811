//! The interface of bodies that are written while they are sent. Never: a row, a socket.

/// Approximate bytes that one call of [`Stream::fill`] appends.
pub const PIECE_BYTES: usize = 64 * 1024;

/// State of a stream after a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Progress {
    /// More bytes follow.
    More,
    /// More bytes follow, and are still being made: call again in a moment.
    Later,
    /// The stream broke off, and the body is incomplete.
    Broken,
    /// The body is complete.
    Done,
}

/// A body that is written in pieces.
pub trait Stream: Send {
    /// Appends about [`PIECE_BYTES`] to `out`, which may already hold bytes.
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress;

    /// Approximate maximum bytes of the body; `None`: unknown, or too large to cache.
    fn most_bytes(&self) -> Option<usize> {
        None
    }
}
