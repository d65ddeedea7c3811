//! A body that is written while it is sent: what the rows are for the server. Never: a row, a socket.

/// About how many bytes one call of [`Stream::fill`] appends.
pub const PIECE_BYTES: usize = 64 * 1024;

/// True if what is written piece by piece goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Progress {
    /// There is more to come.
    More,
    /// There is more to come, and it is being made: ask again in a moment.
    Later,
    /// No more will come, and what there was is not whole.
    Broken,
    /// That was all.
    Done,
}

/// A body that is written in pieces.
pub trait Stream: Send {
    /// Appends about [`PIECE_BYTES`] to `out`, which may already hold bytes.
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress;

    /// At most about this many bytes will be written in all; `None`: nobody knows, or too many to be kept.
    fn most_bytes(&self) -> Option<usize> {
        None
    }
}
