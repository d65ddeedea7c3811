//! A body that is written while it is sent: what the rows are for the server. Never: a row, a socket.

/// About how many bytes one call of [`Stream::fill`] appends.
pub const PIECE_BYTES: usize = 64 * 1024;

/// A body that is written in pieces.
pub trait Stream: Send {
    /// Appends about [`PIECE_BYTES`] to `out`, which may already hold bytes; true when that was all.
    fn fill(&mut self, out: &mut Vec<u8>) -> bool;
}
