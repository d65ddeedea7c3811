//! Bodies that are written while they are sent, and their encoding for the wire: gzip, then chunks. Never: a head, a
//! row, a socket.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    /// Appends about [`PIECE_BYTES`](super::limits::PIECE_BYTES) to `out`, which may already hold bytes.
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress;

    /// Approximate maximum bytes of the body; `None`: unknown, or too large to cache.
    fn most_bytes(&self) -> Option<usize> {
        None
    }

    /// Approximate bytes that it holds for this body alone, which count as those of its connection.
    fn held_bytes(&self) -> usize {
        0
    }
}

/// How the client finds the end of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is no body.
    None,
    /// By its length.
    Length(usize),
    /// By the last chunk.
    Chunked,
    /// By the end of the connection (HTTP/1.0).
    UntilClose,
}

impl Framing {
    /// The framing of a body of unknown length.
    pub(super) const fn endless(http10: bool) -> Self {
        if http10 { Self::UntilClose } else { Self::Chunked }
    }
}

/// Level of compression: the fastest one, which suffices for slow links.
const LEVEL: Compression = Compression::new(1);

/// Placeholder for the size of a chunk, 8 hex digits, which is known only when the chunk is complete.
const CHUNK_GAP: &[u8; 10] = b"00000000\r\n";

/// Approximate memory of an encoder, bytes: window, hash chains and code buffers.
const ENCODER_BYTES: usize = 300 * 1024;

/// A body that is being sent.
pub(super) struct Outgoing {
    /// The first piece, made before the head.
    first: Vec<u8>,
    rest: Option<Box<dyn Stream>>,
    gzip: Option<Compressor>,
    chunked: bool,
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing").field("first", &self.first.len()).field("chunked", &self.chunked).finish()
    }
}

impl Outgoing {
    /// A body that begins with `first` and continues with `rest`.
    pub(super) fn new(
        first: Vec<u8>,
        rest: Option<Box<dyn Stream>>,
        gzip: Option<Compressor>,
        framing: Framing,
    ) -> Self {
        Self { first, rest, gzip, chunked: framing == Framing::Chunked }
    }

    /// Approximate bytes of memory, without the data that the stream reads and others count.
    pub(super) fn bytes(&self) -> usize {
        let held = self.rest.as_ref().map_or(0, |rest| rest.held_bytes());
        self.first.capacity() + held + self.gzip.as_ref().map_or(0, |_| ENCODER_BYTES)
    }

    /// Appends the next piece to `out`, framed; `scratch` is for text to be compressed.
    pub(super) fn next(&mut self, out: &mut Vec<u8>, scratch: &mut Vec<u8>) -> Progress {
        let start = out.len();
        if self.chunked {
            // the size is filled in when the chunk is complete, so that no byte is moved
            out.extend_from_slice(CHUNK_GAP);
        }
        let progress = if let Some(gzip) = &mut self.gzip {
            scratch.clear();
            let progress = produce(&mut self.first, &mut self.rest, scratch);
            gzip.write(scratch, progress, out);
            progress
        } else {
            produce(&mut self.first, &mut self.rest, out)
        };
        if self.chunked {
            close_chunk(out, start);
            if progress == Progress::Done {
                out.extend_from_slice(b"0\r\n\r\n");
            }
        }
        progress
    }
}

fn produce(first: &mut Vec<u8>, rest: &mut Option<Box<dyn Stream>>, out: &mut Vec<u8>) -> Progress {
    if !first.is_empty() {
        out.append(&mut std::mem::take(first));
        return if rest.is_some() { Progress::More } else { Progress::Done };
    }
    rest.as_mut().map_or(Progress::Done, |stream| stream.fill(out))
}

/// Writes the size of the chunk whose placeholder begins at `start`; removes the placeholder of an empty chunk, which
/// would end the body.
fn close_chunk(out: &mut Vec<u8>, start: usize) {
    let body = start + CHUNK_GAP.len();
    let size = out.len() - body;
    if size == 0 {
        // a chunk of length 0 would end the body
        out.truncate(start);
        return;
    }
    for (i, digit) in out[start..start + 8].iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(size >> (28 - 4 * i)) & 15];
    }
    out.extend_from_slice(b"\r\n");
}

/// A gzip encoder; holds one of the server's permits for encoders.
pub(super) struct Compressor {
    encoder: GzEncoder<Vec<u8>>,
    permits: Arc<AtomicUsize>,
}

impl Compressor {
    /// An encoder; `None` if all permits are taken.
    pub(super) fn acquire(permits: &Arc<AtomicUsize>) -> Option<Self> {
        let take = |free: usize| free.checked_sub(1);
        permits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        Some(Self { encoder: GzEncoder::new(Vec::new(), LEVEL), permits: Arc::clone(permits) })
    }

    /// Compresses `text`, and appends the output to `out`.
    pub(super) fn write(&mut self, text: &[u8], progress: Progress, out: &mut Vec<u8>) {
        // writing to memory does not fail
        let _ = self.encoder.write_all(text);
        if progress == Progress::Done {
            let _ = self.encoder.try_finish();
        }
        out.append(self.encoder.get_mut());
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        self.permits.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    struct Pieces(Vec<&'static str>);

    impl Stream for Pieces {
        fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
            out.extend_from_slice(self.0.remove(0).as_bytes());
            if self.0.is_empty() { Progress::Done } else { Progress::More }
        }

        fn held_bytes(&self) -> usize {
            1000 * self.0.len()
        }
    }

    fn sent(first: &str, rest: Vec<&'static str>, gzip: Option<Compressor>, framing: Framing) -> Vec<u8> {
        let rest: Option<Box<dyn Stream>> = if rest.is_empty() { None } else { Some(Box::new(Pieces(rest))) };
        let mut outgoing = Outgoing::new(first.as_bytes().to_vec(), rest, gzip, framing);
        let (mut out, mut scratch) = (Vec::new(), Vec::new());
        while outgoing.next(&mut out, &mut scratch) == Progress::More {}
        out
    }

    #[test]
    fn pieces_become_chunks_and_an_empty_piece_does_not_end_the_body() {
        let out = sent("ab", vec!["", "0123456789abcdef", ""], None, Framing::Chunked);
        assert_eq!(out, b"00000002\r\nab\r\n00000010\r\n0123456789abcdef\r\n0\r\n\r\n");
        assert_eq!(sent("ab", vec!["c"], None, Framing::UntilClose), b"abc");
        assert_eq!(sent("ab", vec![], None, Framing::Chunked), b"00000002\r\nab\r\n0\r\n\r\n");
    }

    #[test]
    fn what_a_stream_holds_counts_until_it_is_sent() {
        let rest = Pieces(vec!["a", "b"]);
        let mut outgoing = Outgoing::new(Vec::new(), Some(Box::new(rest)), None, Framing::UntilClose);
        let (before, mut out) = (outgoing.bytes(), Vec::new());
        assert_eq!(outgoing.next(&mut out, &mut Vec::new()), Progress::More);
        assert_eq!((before, outgoing.bytes()), (2000, 1000));
    }

    #[test]
    fn gzip_carries_the_same_text_and_gives_its_place_back() {
        let permits = Arc::new(AtomicUsize::new(1));
        let compressor = Compressor::acquire(&permits);
        assert!(compressor.is_some() && Compressor::acquire(&permits).is_none());
        let out = sent("first,", vec!["second,", "", "third"], compressor, Framing::UntilClose);
        let mut text = String::new();
        flate2::read::GzDecoder::new(&out[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, "first,second,third");
        assert!(Compressor::acquire(&permits).is_some());
    }
}
