//! Pushed bytes to records: lines, tables of Arrow between them, or a stream of DBN, as their first bytes say. Never:
//! the meaning of a field, a socket.

use super::{LineSource, LinesShared};
use feeds::databento_live::DbnStream;
use feeds::lines::LineParser;
use history::layouts::PushedTable;
use history::layouts::pushed::MARK;
use host::clock::MarketClock;
use host::{faults, threads};
use kernel::contract::RootTable;
use kernel::records::Batch;
use kernel::report::Report;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum length of a line, bytes; a usual one has about a hundred.
const LINE_MOST: usize = 64 * 1024;
/// Maximum bytes that the streams of all connections hold while they are read: the instruments of two whole markets.
const HELD_MOST: usize = 1 << 30;
/// Size of a read, bytes: about two thousand lines.
pub(super) const PIECE: usize = 256 * 1024;

/// Why reading ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Everything was read, or the source ends.
    Done,
    /// The first bytes begin no line, no stream of Arrow and no DBN.
    Unknown,
    /// The rest of the source cannot be read, for this reason.
    Refused(String),
    /// Reading failed.
    Broken(ErrorKind),
}

impl Ended {
    /// Says that the first bytes have no form that is read.
    pub(super) const UNKNOWN: &'static str = "it begins with no JSON object, no stream of Arrow and no DBN";
}

/// Bytes that a program pushes.
pub(super) trait PushedBytes: Read {
    /// Called once a whole line, the columns of a table or the metadata of DBN have come.
    fn received(&mut self) {}
}

/// Reads until the end. A web page can make a browser connect and send a request whose body has lines: reading ends at
/// its first line, which is no JSON object. A panic while a piece is parsed is counted for `thread`.
pub(super) fn read_pushed(mut from: impl PushedBytes, name: &str, thread: &'static str, shared: &LinesShared) -> Ended {
    let mut reading = Reading {
        name,
        thread,
        shared,
        parser: LineParser::new(Path::new(name), RootTable::embedded()),
        binary: None,
        begun: false,
        skipping: false,
        has_received: false,
        held: HeldBytes { all: &shared.held, bytes: 0 },
    };
    let (mut buffer, mut held) = (vec![0; PIECE], 0);
    while !shared.inbox.is_ending() {
        let read = match from.read(&mut buffer[held..]) {
            Ok(read) => read,
            // the read timeout of a silent socket
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Ended::Broken(error.kind()),
        };
        let filled = held + read;
        let used = match reading.take(&buffer[..filled], read == 0) {
            Ok(used) => used,
            Err(ended) => return ended,
        };
        if reading.has_received {
            from.received();
        }
        if read == 0 {
            return Ended::Done;
        }
        buffer.copy_within(used..filled, 0);
        held = filled - used;
    }
    Ended::Done
}

/// A stream that is no text.
enum Binary {
    Table(Box<PushedTable>),
    Dbn(Box<DbnStream>),
}

impl Binary {
    fn bytes(&self) -> usize {
        match self {
            Self::Table(table) => table.bytes(),
            Self::Dbn(stream) => stream.bytes(),
        }
    }
}

/// Bytes that one stream holds, counted among those of all until it ends.
struct HeldBytes<'a> {
    all: &'a AtomicUsize,
    bytes: usize,
}

impl HeldBytes<'_> {
    /// Sets the bytes; returns those of all streams.
    fn set(&mut self, bytes: usize) -> usize {
        let before = std::mem::replace(&mut self.bytes, bytes);
        self.all.fetch_add(bytes, Ordering::Relaxed);
        self.all.fetch_sub(before, Ordering::Relaxed).saturating_sub(before)
    }
}

impl Drop for HeldBytes<'_> {
    fn drop(&mut self) {
        self.set(0);
    }
}

struct Reading<'a> {
    name: &'a str,
    thread: &'static str,
    shared: &'a LinesShared,
    parser: LineParser,
    /// The stream in whose middle the bytes are; `None`: at a line.
    binary: Option<Binary>,
    /// True once there was more than blanks.
    begun: bool,
    /// True within the rest of a refused line.
    skipping: bool,
    /// True once a line, the columns of a table or metadata were whole.
    has_received: bool,
    held: HeldBytes<'a>,
}

impl Reading<'_> {
    /// Takes bytes; returns how many were used. The others come again with those that follow.
    fn take(&mut self, bytes: &[u8], is_end: bool) -> Result<usize, Ended> {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            let (more, goes_on) = match self.binary.take() {
                Some(Binary::Table(table)) => self.table(table, rest)?,
                Some(Binary::Dbn(stream)) => (self.dbn(stream, rest)?, false),
                None => self.text(rest, is_end)?,
            };
            used += more;
            if !goes_on {
                break;
            }
        }
        let before = self.held.bytes;
        let all = self.held.set(self.binary.as_ref().map_or(0, Binary::bytes));
        if all > HELD_MOST && self.held.bytes > before {
            return Err(Ended::Refused(format!("the streams of all programs hold more than {} MB", HELD_MOST >> 20)));
        }
        let is_whole = match &self.binary {
            None => true,
            Some(Binary::Table(table)) => table.is_between(),
            Some(Binary::Dbn(stream)) => stream.has_metadata() && used == bytes.len(),
        };
        if is_end && !is_whole { Err(Ended::Broken(ErrorKind::UnexpectedEof)) } else { Ok(used) }
    }

    /// Takes lines, up to where a stream begins; returns how many bytes were used, and whether one does.
    fn text(&mut self, bytes: &[u8], is_end: bool) -> Result<(usize, bool), Ended> {
        let first = bytes.trim_ascii_start();
        if !self.skipping && first.starts_with(&MARK[..1]) {
            (self.binary, self.begun) = (Some(Binary::Table(Box::default())), true);
            return Ok((bytes.len() - first.len(), true));
        }
        if !self.begun && !first.is_empty() {
            if DbnStream::begins(first) {
                (self.binary, self.begun) = (Some(Binary::Dbn(Box::new(DbnStream::new(Path::new(self.name))))), true);
                return Ok((bytes.len() - first.len(), true));
            }
            if !first.starts_with(b"{") {
                return Err(Ended::Unknown);
            }
            self.begun = true;
        }
        // no text has this byte: behind a line it begins a stream
        let newline_before = |bytes: &[u8]| bytes.windows(2).position(|pair| *pair == [b'\n', MARK[0]]);
        let stream = bytes.contains(&MARK[0]).then(|| newline_before(bytes)).flatten().map(|newline| newline + 1);
        let text = &bytes[..stream.unwrap_or(bytes.len())];
        let newline = text.iter().rposition(|&b| b == b'\n').map(|at| at + 1);
        let mut whole = newline.unwrap_or(if is_end { text.len() } else { 0 });
        let mut start = 0;
        if self.skipping && (whole > 0 || is_end) {
            start = text[..whole].iter().position(|&b| b == b'\n').map_or(whole, |at| at + 1);
            self.skipping = false;
        }
        if start < whole {
            self.has_received = true;
            let piece = &text[start..whole];
            // a panic costs the piece; the next one begins with a whole line
            let parsed = threads::guarded(self.thread, || {
                faults::here(self.thread);
                self.parser.parse(piece)
            });
            if let Some((batch, report)) = parsed {
                deliver(self.shared, batch, report);
            } else {
                tracing::error!("{}: internal error; {} bytes of lines are skipped", self.name, piece.len());
                self.parser = LineParser::new(Path::new(self.name), RootTable::embedded());
            }
        }
        if text.len() - whole > LINE_MOST {
            if !self.skipping {
                self.shared.inbox.put(Batch::default(), self.parser.refuse_long());
            }
            (self.skipping, whole) = (true, text.len());
        }
        Ok((whole, stream.is_some()))
    }

    /// Takes bytes of a table; returns the number of used bytes, and true if bytes follow the end of the table.
    fn table(&mut self, mut table: Box<PushedTable>, bytes: &[u8]) -> Result<(usize, bool), Ended> {
        let (parser, shared) = (&mut self.parser, self.shared);
        let read = threads::guarded(self.thread, || {
            faults::here(self.thread);
            // rows before a place that cannot be read count
            table.read(bytes, parser, &mut |batch, report| deliver(shared, batch, report))
        });
        self.has_received |= table.has_schema();
        let read = match read {
            Some(Ok(read)) => read,
            Some(Err(refusal)) => return Err(Ended::Refused(refusal.to_string())),
            None => return Err(Ended::Refused("internal error; the rest of the stream is not read".to_owned())),
        };
        if !read.ended {
            self.binary = Some(Binary::Table(table));
        }
        Ok((read.used, read.ended && read.used < bytes.len()))
    }

    /// Takes bytes of DBN; returns how many were used.
    fn dbn(&mut self, mut stream: Box<DbnStream>, bytes: &[u8]) -> Result<usize, Ended> {
        let read = threads::guarded(self.thread, || {
            faults::here(self.thread);
            let used = stream.read(bytes);
            (used, stream.take())
        });
        let Some((used, (batch, report))) = read else {
            return Err(Ended::Refused("internal error; the rest of the stream is not read".to_owned()));
        };
        self.has_received |= stream.has_metadata();
        deliver(self.shared, batch, report);
        self.binary = Some(Binary::Dbn(stream));
        used.map_err(|instead| Ended::Refused(format!("DBN: {instead}; versions 1 to 3 are read, without compression")))
    }
}

/// Hands records to the market loop, and counts them.
fn deliver(shared: &LinesShared, mut batch: Batch, mut report: Report) {
    if report.records == 0 {
        return;
    }
    // pushed quotes follow the market's clock, even if it is not the system's
    batch.refuse_ahead(shared.clock.now(), &mut report);
    shared.good.fetch_add(report.records - report.refused_total(), Ordering::Relaxed);
    shared.inbox.put(batch, report);
}

impl PushedBytes for io::StdinLock<'_> {}

/// Starts to read standard input. Lines later than the clock are refused; after its end the last values stay in use.
///
/// # Errors
/// The system has no thread for it.
pub fn start_stdin(clock: MarketClock) -> io::Result<LineSource> {
    let shared = LinesShared::new(clock);
    let reader = Arc::clone(&shared);
    threads::spawn_lasting("stdin", move || {
        let ended = read_pushed(io::stdin().lock(), "stdin", "stdin", &reader);
        reader.ended.store(true, Ordering::Relaxed);
        match ended {
            Ended::Done => tracing::info!("stdin: closed; the last values stay in use"),
            Ended::Unknown => tracing::error!("stdin: {}; nothing is read", Ended::UNKNOWN),
            Ended::Refused(why) => tracing::error!("stdin: {why}; the last values stay in use"),
            Ended::Broken(kind) => tracing::error!("stdin: {kind}; the last values stay in use"),
        }
    })?;
    Ok(LineSource::new("stdin:".to_owned(), shared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delivery;
    use host::clock::MarketClock;
    use kernel::error::Reason;

    const LINE: &str = "{\"osym\":\"AA261218C00001000\",\"bid\":1,\"ask\":2,\"time\":1795207320}\n";

    /// Hands out at most so many bytes at once.
    struct Slow<'a>(&'a [u8], usize);

    impl PushedBytes for Slow<'_> {}

    impl Read for Slow<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let n = self.1.min(self.0.len()).min(to.len());
            to[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn read(text: &str, piece: usize) -> (Ended, Delivery) {
        let shared = LinesShared::new(MarketClock::Running);
        let ended = read_pushed(Slow(text.as_bytes(), piece), "x", "test-line", &shared);
        (ended, shared.inbox.take().unwrap_or_default())
    }

    #[test]
    fn lines_are_whole_however_they_come() {
        let text =
            format!("\n{LINE}{}bad\n{}", LINE.replace("1000\"", "2000\""), LINE.trim_end().replace("1000\"", "3000\""));
        for piece in [1, 7, 64, 1000, PIECE] {
            let (ended, delivery) = read(&text, piece);
            assert_eq!((ended, delivery.batch.quotes.len(), delivery.report.records), (Ended::Done, 3, 4), "{piece}");
            assert_eq!(delivery.report.places[0].line, 4);
        }
    }

    #[test]
    fn a_line_without_end_costs_itself_and_no_memory() {
        let long = format!("{{\"x\":\"{}\"}}\n", "y".repeat(3 * PIECE));
        for piece in [1000, 100_000, PIECE] {
            let (ended, delivery) = read(&format!("{LINE}{long}{}", LINE.replace("1000\"", "2000\"")), piece);
            assert_eq!((ended, delivery.batch.quotes.len()), (Ended::Done, 2), "{piece}");
            assert_eq!(delivery.report.refused[Reason::TooLong as usize], 1, "{piece}");
            assert_eq!(delivery.report.refused_total(), 1, "{piece}");
        }
    }

    #[test]
    fn a_fault_over_a_piece_costs_its_lines_alone() {
        let text: String =
            ["1000", "2000", "3000"].map(|strike| LINE.replace("1000\"", &format!("{strike}\""))).concat();
        // the second piece ends in the middle of the third line
        faults::order("test-line");
        let (ended, delivery) = read(&text, LINE.len() + 20);
        assert_eq!((ended, delivery.batch.quotes.len()), (Ended::Done, 2));
        assert_eq!(threads::faults().get("test-line"), Some(&1));
    }

    #[test]
    fn a_request_of_a_browser_is_not_read() {
        let (ended, delivery) = read(&format!("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n{LINE}"), 64);
        assert_eq!((ended, delivery.batch.quotes.len(), delivery.report.records), (Ended::Unknown, 0, 0));
    }

    #[test]
    fn what_all_streams_hold_has_one_bound_and_is_given_back() {
        let shared = LinesShared::new(MarketClock::Running);
        let held = || shared.held.load(Ordering::Relaxed);
        // it ends within its metadata
        let stream = [&b"DBN\x03"[..], &1_000_000_u32.to_le_bytes(), &[0; 5000]].concat();
        let read = || read_pushed(Slow(&stream, 64), "x", "line", &shared);
        assert_eq!((read(), held()), (Ended::Broken(ErrorKind::UnexpectedEof), 0));
        shared.held.store(HELD_MOST, Ordering::Relaxed);
        let ended = read();
        assert!(matches!(&ended, Ended::Refused(why) if why.contains("more than 1024 MB")), "{ended:?}");
        assert_eq!(held(), HELD_MOST);
        assert_eq!(read_pushed(Slow(LINE.as_bytes(), 64), "x", "line", &shared), Ended::Done, "lines hold nothing");
    }

    #[test]
    fn a_stream_that_is_not_read_ends_and_lines_before_it_count() {
        let mut bytes = LINE.as_bytes().to_vec();
        bytes.extend([0xFF; 8]);
        for piece in [1, 64, PIECE] {
            let shared = LinesShared::new(MarketClock::Running);
            let ended = read_pushed(Slow(&bytes, piece), "x", "line", &shared);
            assert!(matches!(ended, Ended::Refused(_)), "{ended:?}");
            assert_eq!(shared.inbox.take().unwrap().batch.quotes.len(), 1, "{piece}");
        }
        for (start, want) in
            [(&b"DBN\x03\0"[..], Ended::Broken(ErrorKind::UnexpectedEof)), (b"GET / HTTP", Ended::Unknown)]
        {
            let shared = LinesShared::new(MarketClock::Running);
            assert_eq!(read_pushed(Slow(start, 3), "x", "line", &shared), want);
        }
        let shared = LinesShared::new(MarketClock::Running);
        assert!(matches!(read_pushed(Slow(b"DELETE / HTTP/1.1", 3), "x", "line", &shared), Ended::Refused(_)));
    }
}
