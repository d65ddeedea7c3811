//! Pushed lines: from standard input, or over connections that other programs open. `feeds::lines` defines the format.
//! Never: the meaning of a line.

pub mod stdin;
pub mod tcp;

use super::facts::{SourceFacts, SourceState};
use super::inbox::{Inbox, WAITING_MOST};
use super::{Delivery, Moment, QuoteSource};
use feeds::lines::LineParser;
use host::clock::MarketClock;
use host::{faults, threads};
use kernel::contract::RootTable;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Maximum length of a line, bytes; a usual one has about a hundred.
const LINE_MOST: usize = 64 * 1024;
/// Size of a read, bytes: about two thousand lines.
const PIECE: usize = 256 * 1024;

/// Source of pushed lines.
#[derive(Debug)]
pub struct LineSource {
    name: String,
    shared: Arc<LinesShared>,
    /// Time of the last usable line, and the number of usable lines then.
    last: Option<(Duration, u64)>,
    now: Duration,
}

/// State shared by the reading threads and the market loop.
#[derive(Debug)]
struct LinesShared {
    inbox: Inbox,
    clock: MarketClock,
    /// Number of usable lines.
    good: AtomicU64,
    connections: AtomicUsize,
    /// Number of rejected connections: too many, or no lines.
    turned_away: AtomicU64,
    /// Number of broken connections.
    broken: AtomicU64,
    ended: AtomicBool,
}

impl LinesShared {
    fn new(clock: MarketClock) -> Arc<Self> {
        Arc::new(Self {
            inbox: Inbox::new(WAITING_MOST, clock),
            clock,
            good: AtomicU64::new(0),
            connections: AtomicUsize::new(0),
            turned_away: AtomicU64::new(0),
            broken: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        })
    }
}

impl LineSource {
    fn new(name: String, shared: Arc<LinesShared>) -> Self {
        Self { name, shared, last: None, now: Duration::ZERO }
    }
}

impl QuoteSource for LineSource {
    fn take(&mut self, moment: &Moment<'_>) -> Option<Delivery> {
        self.now = moment.elapsed;
        let good = self.shared.good.load(Ordering::Relaxed);
        if self.last.map_or(0, |(_, before)| before) != good {
            self.last = Some((moment.elapsed, good));
        }
        self.shared.inbox.take()
    }

    fn facts(&self) -> SourceFacts {
        let LinesShared { inbox, connections, turned_away, broken, ended, .. } = &*self.shared;
        let failures = [("turned_away", turned_away), ("broken", broken)];
        SourceFacts {
            feed: self.name.clone(),
            state: match self.last {
                _ if ended.load(Ordering::Relaxed) => SourceState::Ended,
                None => SourceState::Waiting,
                Some(_) => SourceState::Ok,
            },
            last_success: self.last.map(|(at, _)| self.now.saturating_sub(at)),
            failures: failures.map(|(kind, n)| (kind, n.load(Ordering::Relaxed))).to_vec(),
            connections: connections.load(Ordering::Relaxed),
            superseded: inbox.superseded(),
            waiting_bytes: inbox.bytes(),
            ..SourceFacts::default()
        }
    }
}

impl Drop for LineSource {
    fn drop(&mut self) {
        self.shared.inbox.end();
    }
}

/// Why reading lines ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Everything was read, or the source ends.
    Done,
    /// The first line is no JSON object.
    NotLines,
    /// Reading failed.
    Broken(ErrorKind),
}

/// Reads lines until the end. A web page can make a browser connect and send a request whose body has lines: reading
/// ends at its first line, which is no JSON object. A panic while a piece is parsed is counted for `thread`.
fn read_lines(mut from: impl Read, name: &str, thread: &'static str, shared: &LinesShared) -> Ended {
    let mut parser = LineParser::new(Path::new(name), RootTable::embedded());
    let mut buffer = vec![0; PIECE];
    let (mut held, mut begun, mut skipping) = (0, false, false);
    while !shared.inbox.is_ending() {
        let read = match from.read(&mut buffer[held..]) {
            Ok(read) => read,
            // the read timeout of a silent socket
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Ended::Broken(error.kind()),
        };
        let filled = held + read;
        if !begun && !buffer[..filled].trim_ascii_start().is_empty() {
            if !buffer[..filled].trim_ascii_start().starts_with(b"{") {
                return Ended::NotLines;
            }
            begun = true;
        }
        let is_end = read == 0;
        let newline = buffer[held..filled].iter().rposition(|&b| b == b'\n').map(|i| held + i + 1);
        let mut whole = newline.unwrap_or(if is_end { filled } else { 0 });
        let mut start = 0;
        if skipping && (whole > 0 || is_end) {
            // the rest of a refused line
            start = buffer[..whole].iter().position(|&b| b == b'\n').map_or(whole, |i| i + 1);
            skipping = false;
        }
        if start < whole {
            let piece = &buffer[start..whole];
            // a panic costs the piece; the next one begins with a whole line
            let parsed = threads::guarded(thread, || {
                faults::here(thread);
                parser.parse(piece)
            });
            if let Some((mut batch, mut report)) = parsed {
                // pushed quotes follow the market's clock, even if it is not the system's
                batch.refuse_ahead(shared.clock.now(), &mut report);
                shared.good.fetch_add(report.records - report.refused_total(), Ordering::Relaxed);
                shared.inbox.put(batch, report);
            } else {
                tracing::error!("{name}: internal error; {} bytes of lines are skipped", piece.len());
                parser = LineParser::new(Path::new(name), RootTable::embedded());
            }
        }
        if is_end {
            return Ended::Done;
        }
        if filled - whole > LINE_MOST {
            if !skipping {
                shared.inbox.put(Default::default(), parser.refuse_long());
            }
            (skipping, whole) = (true, filled);
        }
        buffer.copy_within(whole..filled, 0);
        held = filled - whole;
    }
    Ended::Done
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::error::Reason;

    const LINE: &str = "{\"osym\":\"AA261218C00001000\",\"bid\":1,\"ask\":2,\"time\":1795207320}\n";

    /// Hands out at most so many bytes at once.
    struct Slow<'a>(&'a [u8], usize);

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
        let ended = read_lines(Slow(text.as_bytes(), piece), "x", "test-line", &shared);
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
        assert_eq!((ended, delivery.batch.quotes.len(), delivery.report.records), (Ended::NotLines, 0, 0));
    }
}
