//! From a body to bytes on the wire: chunks around pieces, and gzip as a stage of its own between the two.

use crate::stream::{Progress, Stream};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How the client finds the body's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none, and none is expected.
    None,
    /// By its length.
    Length(usize),
    /// By the last chunk.
    Chunked,
    /// By the end of the connection (HTTP/1.0).
    UntilClose,
}

impl Framing {
    /// That of a body whose length is not known.
    pub(super) const fn endless(http10: bool) -> Self {
        if http10 { Self::UntilClose } else { Self::Chunked }
    }
}

/// Compression is for the slow link: the fastest level does.
const LEVEL: Compression = Compression::new(1);

/// Stands for a chunk's size, 8 hex digits, which is known only when the chunk is written.
const CHUNK_GAP: &[u8; 10] = b"00000000\r\n";

/// Memory of an encoder, about: its window, its hash chains and its code buffers.
const ENCODER_BYTES: usize = 300 * 1024;

/// A body on its way out.
pub(super) struct Outgoing {
    /// The piece that was written to find out whether the body fits into one.
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
    /// A body that begins with `first` and goes on with `rest`.
    pub(super) fn new(
        first: Vec<u8>,
        rest: Option<Box<dyn Stream>>,
        gzip: Option<Compressor>,
        framing: Framing,
    ) -> Self {
        Self { first, rest, gzip, chunked: framing == Framing::Chunked }
    }

    /// Bytes held beside itself, about; what the stream reads counts where it is kept.
    pub(super) fn bytes(&self) -> usize {
        self.first.capacity() + self.gzip.as_ref().map_or(0, |_| ENCODER_BYTES)
    }

    /// Appends the next piece to `out`, framed. `scratch` holds text to be compressed.
    pub(super) fn next(&mut self, out: &mut Vec<u8>, scratch: &mut Vec<u8>) -> Progress {
        let start = out.len();
        if self.chunked {
            // room for the size in eight digits, filled in when the chunk's length is counted: no byte moves twice
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

/// Writes the size of the chunk whose gap begins at `start`; takes the gap back where nothing follows it, for an empty
/// chunk would end the body.
fn close_chunk(out: &mut Vec<u8>, start: usize) {
    let body = start + CHUNK_GAP.len();
    let size = out.len() - body;
    if size == 0 {
        // a chunk of length zero is the end of the body
        out.truncate(start);
        return;
    }
    for (i, digit) in out[start..start + 8].iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(size >> (28 - 4 * i)) & 15];
    }
    out.extend_from_slice(b"\r\n");
}

/// A gzip encoder; holds one of the server's places for them.
pub(super) struct Compressor {
    encoder: GzEncoder<Vec<u8>>,
    places: Arc<AtomicUsize>,
}

impl Compressor {
    /// An encoder, unless all places are taken.
    pub(super) fn take_place(places: &Arc<AtomicUsize>) -> Option<Self> {
        let take = |free: usize| free.checked_sub(1);
        places.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        Some(Self { encoder: GzEncoder::new(Vec::new(), LEVEL), places: Arc::clone(places) })
    }

    /// Compresses `text`, appends what has come out to `out`.
    pub(super) fn write(&mut self, text: &[u8], progress: Progress, out: &mut Vec<u8>) {
        // Writing to a Vec does not fail.
        let _ = self.encoder.write_all(text);
        if progress == Progress::Done {
            let _ = self.encoder.try_finish();
        }
        out.append(self.encoder.get_mut());
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        self.places.fetch_add(1, Ordering::Relaxed);
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
    fn gzip_carries_the_same_text_and_gives_its_place_back() {
        let places = Arc::new(AtomicUsize::new(1));
        let compressor = Compressor::take_place(&places);
        assert!(compressor.is_some() && Compressor::take_place(&places).is_none());
        let out = sent("first,", vec!["second,", "", "third"], compressor, Framing::UntilClose);
        let mut text = String::new();
        flate2::read::GzDecoder::new(&out[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, "first,second,third");
        assert!(Compressor::take_place(&places).is_some());
    }
}
