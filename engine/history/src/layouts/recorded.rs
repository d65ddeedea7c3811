//! Recordings, replayed: our own lines in the order of time, and from them the state of every name at regular instants.
//!
//! A day begins with nothing. Snapshots stand at whole multiples of the time between them, within the session, and at
//! its close; each has the last quote of every contract so far, and is made for the names of which anything has changed
//! since the one before. What was quoted before the opening counts from the opening on, what is quoted after the close
//! never. Dividends and rates are those that it ends with.

use super::facts::Facts;
use super::sink::Quotes;
use super::text::Pieces;
use crate::row::HistoryRow;
use feeds::lines::LineParser;
use feeds::recording::begin_member;
use flate2::bufread::GzDecoder;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use kernel::contract::{ContractKey, Symbol};
use kernel::error::{FeedError, Reason, Refused};
use kernel::limits;
use kernel::records::{QuoteRecord, SpotRecord, quoted};
use kernel::report::Report;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

/// The name of the layout.
pub(super) const NAME: &str = "greeksd-recording";
/// A record this far ahead of earlier ones counts once a second one confirms its time.
const AHEAD: SignedDuration = SignedDuration::from_hours(1);
/// A member is held up to this many bytes until its checksum is known.
const HELD: usize = 64 << 20;
/// Maximum number of damaged members that are reported one by one.
const TOLD: usize = 100;

/// Replays lines.
pub(super) fn read(file: &Path, from: impl Read, facts: &Facts<'_>, quotes: &mut Quotes<'_, '_>, report: &mut Report) {
    let mut parser = LineParser::new(file, facts.roots.clone());
    let mut reference = std::mem::take(&mut quotes.reference);
    let mut give = |row| quotes.give(row);
    let mut replay = Replay::new(file, facts, &mut give);
    let mut pieces = Pieces::of(from);
    while let Some(piece) = pieces.next() {
        for line in piece.split_inclusive(|&b| b == b'\n') {
            replay.line += 1;
            if !limits::LINE_BYTES.holds(line.len() as f64) {
                report.absorb_line(parser.refuse_long());
                continue;
            }
            let (batch, refused) = parser.parse(line);
            report.absorb_line(refused);
            batch.dividends.into_iter().flatten().for_each(|dividend| reference.dividend(dividend));
            batch.rates.into_iter().flatten().for_each(|rate| reference.rate(rate));
            batch.reset.into_iter().for_each(|name| replay.forget(name));
            batch.quotes.into_iter().for_each(|quote| replay.take(Record::Quote(quote), report));
            batch.spots.into_iter().for_each(|spot| replay.take(Record::Spot(spot), report));
        }
    }
    replay.end(report);
    quotes.reference = reference;
    if let Some(kind) = pieces.error {
        report.errors.push(FeedError::Io { file: file.to_path_buf(), kind });
    }
}

/// Adds the outcome of a line, of which only the first places are kept.
trait AbsorbLine {
    fn absorb_line(&mut self, line: Report);
}

impl AbsorbLine for Report {
    fn absorb_line(&mut self, line: Self) {
        self.records += line.records;
        line.places.into_iter().for_each(|refused| self.refuse(refused));
        self.errors.extend(line.errors);
    }
}

#[derive(Clone, Copy)]
enum Record {
    Quote(QuoteRecord),
    Spot(SpotRecord),
}

impl Record {
    fn ts(&self) -> Timestamp {
        match self {
            Self::Quote(quote) => quote.ts,
            Self::Spot(spot) => spot.ts,
        }
    }
}

/// State of one name.
#[derive(Default)]
struct Name {
    quotes: BTreeMap<ContractKey, QuoteRecord>,
    spot: Option<SpotRecord>,
    /// Anything since the last snapshot.
    changed: bool,
}

/// A session, as far as it concerns snapshots.
#[derive(Clone, Copy)]
struct Session {
    date: Date,
    open: Timestamp,
    close: Timestamp,
}

struct Replay<'r> {
    file: Arc<std::path::PathBuf>,
    facts: &'r Facts<'r>,
    give: &'r mut dyn FnMut(HistoryRow),
    line: u64,
    names: BTreeMap<Symbol, Name>,
    /// Contracts of all names.
    contracts: usize,
    session: Option<Session>,
    /// The latest time so far.
    latest: Option<Timestamp>,
    /// Time of the next snapshot, if anything has changed since the last.
    due: Option<Timestamp>,
    /// A record far ahead of earlier ones, and its line.
    aside: Option<(Record, u64)>,
}

impl<'r> Replay<'r> {
    fn new(file: &Path, facts: &'r Facts<'r>, give: &'r mut dyn FnMut(HistoryRow)) -> Self {
        Self {
            file: Arc::new(file.to_path_buf()),
            facts,
            give,
            line: 0,
            names: BTreeMap::new(),
            contracts: 0,
            session: None,
            latest: None,
            due: None,
            aside: None,
        }
    }

    fn forget(&mut self, name: Symbol) {
        let gone = self.names.remove(&name);
        self.contracts -= gone.map_or(0, |name| name.quotes.len());
    }

    /// Adds a record, unless no other record is near its time.
    fn take(&mut self, record: Record, report: &mut Report) {
        let ts = record.ts();
        let is_ahead = self.latest.is_none_or(|latest| ts.duration_since(latest) > AHEAD);
        match self.aside.take() {
            Some((aside, line)) if ts.duration_since(aside.ts()) >= -AHEAD => {
                self.apply(aside, line, report);
                self.apply(record, self.line, report);
            }
            aside => {
                if let Some((_, line)) = aside {
                    self.refuse(line, "time", Reason::FromTheFuture, report);
                }
                if is_ahead {
                    self.aside = Some((record, self.line));
                } else {
                    self.apply(record, self.line, report);
                }
            }
        }
    }

    fn end(&mut self, report: &mut Report) {
        match self.aside.take() {
            Some((aside, line)) if self.latest.is_none() => self.apply(aside, line, report),
            Some((_, line)) => self.refuse(line, "time", Reason::FromTheFuture, report),
            None => {}
        }
        self.snapshot();
    }

    fn refuse(&self, line: u64, field: &'static str, reason: Reason, report: &mut Report) {
        report.refuse(Refused { file: Arc::clone(&self.file), line, field, reason, value: String::new() });
    }

    fn apply(&mut self, record: Record, line: u64, report: &mut Report) {
        let ts = record.ts();
        self.latest = self.latest.max(Some(ts));
        if self.due.is_some_and(|due| ts > due) {
            self.snapshot();
        }
        let Some(session) = self.session_of(ts) else { return };
        if ts > session.close {
            return;
        }
        let fits = self.keep(record);
        if !fits {
            return self.refuse(line, "osym", Reason::TooMany, report);
        }
        if self.due.is_none() {
            let from = self.latest.unwrap_or(ts).clamp(session.open, session.close);
            self.due = Some(self.next_instant(from).min(session.close));
        }
    }

    /// The session that a record belongs to, if it is that of now: an older one is over, and a later one begins with
    /// nothing.
    fn session_of(&mut self, ts: Timestamp) -> Option<Session> {
        let calendar = self.facts.calendar();
        let date = calendar.eastern(ts).date();
        if let Some(session) = self.session.filter(|session| session.date >= date) {
            return (session.date == date).then_some(session);
        }
        let (open, close) = calendar.session(date)?;
        self.snapshot();
        self.names.clear();
        self.contracts = 0;
        self.session = Some(Session { date, open, close });
        self.session
    }

    /// Keeps a record. Returns false if there was no room.
    fn keep(&mut self, record: Record) -> bool {
        match record {
            Record::Spot(spot) => {
                let name = self.names.entry(spot.underlying).or_default();
                if name.spot.is_none_or(|kept| spot.precedence(&kept).is_gt()) {
                    name.spot = Some(spot);
                    name.changed = true;
                }
            }
            Record::Quote(quote) => {
                let name = self.names.entry(quote.underlying).or_default();
                match name.quotes.get_mut(&quote.contract) {
                    Some(kept) if quote.precedence(kept).is_le() => return true,
                    Some(kept) => *kept = quote,
                    None if !limits::INSTRUMENTS.holds(self.contracts as f64 + 1.0) => return false,
                    None => {
                        self.contracts += 1;
                        name.quotes.insert(quote.contract, quote);
                    }
                }
                name.changed = true;
            }
        }
        true
    }

    /// The first multiple of the time between snapshots that is not before an instant.
    fn next_instant(&self, from: Timestamp) -> Timestamp {
        let every = self.facts.options.every.as_secs().max(1);
        let whole = from.as_second() + i64::from(from.subsec_nanosecond() > 0);
        let second =
            whole.div_euclid(every).saturating_add(i64::from(whole.rem_euclid(every) > 0)).saturating_mul(every);
        Timestamp::from_second(second).unwrap_or(Timestamp::MAX)
    }

    /// Passes on the names that have changed, as of the due time.
    fn snapshot(&mut self) {
        let (Some(ts), Some(session)) = (self.due.take(), self.session) else { return };
        for name in self.names.values_mut() {
            if !core::mem::take(&mut name.changed) {
                continue;
            }
            let spot = name.spot.map_or(f64::NAN, |spot| quoted(spot.price));
            let live = name.quotes.values().filter(|quote| quote.contract.expiry >= session.date);
            live.for_each(|quote| (self.give)(HistoryRow { quote: QuoteRecord { ts, ..*quote }, spot }));
        }
    }
}

/// The members of a compressed recording, one after the other. One that cannot be read costs itself: reading goes on
/// where the next begins, on a line of its own.
pub(super) struct Members {
    /// Between two members.
    from: Option<BufReader<File>>,
    /// Within one.
    member: Option<GzDecoder<BufReader<File>>>,
    /// Begin of the member.
    start: u64,
    /// Decompressed text, and the part of it that was consumed.
    text: Vec<u8>,
    given: usize,
    /// First bytes of a member that this program writes.
    begin: Vec<u8>,
    /// Members that could not be read.
    pub(super) damaged: usize,
}

impl Members {
    pub(super) fn of(file: File) -> Self {
        // ten bytes that no compressed text holds by chance
        let begin = begin_member().finish().unwrap_or_default().into_iter().take(10).collect();
        Self {
            from: Some(BufReader::with_capacity(1 << 16, file)),
            member: None,
            start: 0,
            text: Vec::new(),
            given: 0,
            begin,
            damaged: 0,
        }
    }

    /// Errors of a report for the members that could not be read.
    pub(super) fn errors(&self, file: &Path) -> impl Iterator<Item = FeedError> {
        let error = FeedError::Io { file: file.to_path_buf(), kind: ErrorKind::InvalidData };
        std::iter::repeat_n(error, self.damaged.min(TOLD))
    }

    /// Decompresses more text. Returns false at the end.
    fn fill(&mut self) -> std::io::Result<bool> {
        self.text.clear();
        self.given = 0;
        while self.text.is_empty() {
            // what was begun and is longer than is held has been handed out, whatever becomes of it
            let (member, is_new) = match (self.member.take(), self.from.take()) {
                (Some(member), _) => (member, false),
                (None, Some(mut from)) => {
                    self.start = from.stream_position()?;
                    if from.fill_buf()?.is_empty() {
                        return Ok(false);
                    }
                    (GzDecoder::new(from), true)
                }
                (None, None) => return Ok(false),
            };
            self.read_member(member, is_new)?;
        }
        Ok(true)
    }

    /// Reads a member to its end, or as much of it as is held.
    fn read_member(&mut self, mut member: GzDecoder<BufReader<File>>, is_new: bool) -> std::io::Result<()> {
        let mut piece = vec![0; 1 << 16];
        while self.text.len() < HELD {
            match member.read(&mut piece) {
                Ok(0) => {
                    self.from = Some(member.into_inner());
                    return Ok(());
                }
                Ok(n) => self.text.extend_from_slice(&piece[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.damaged += 1;
                    if is_new {
                        // what came out of it before the damage was found may be anything
                        self.text.clear();
                    }
                    // a line that was begun before ends here
                    self.text.push(b'\n');
                    return self.skip(member.into_inner());
                }
            }
        }
        self.member = Some(member);
        Ok(())
    }

    /// Goes to where the next member begins.
    fn skip(&mut self, mut from: BufReader<File>) -> std::io::Result<()> {
        let mut at = self.start + 1;
        from.seek(SeekFrom::Start(at))?;
        let mut window: Vec<u8> = Vec::new();
        loop {
            let n = from.fill_buf()?.len();
            if n == 0 {
                return Ok(());
            }
            window.extend_from_slice(from.buffer());
            from.consume(n);
            if let Some(found) = window.windows(self.begin.len()).position(|bytes| bytes == self.begin) {
                from.seek(SeekFrom::Start(at + found as u64))?;
                self.from = Some(from);
                return Ok(());
            }
            let passed = window.len().saturating_sub(self.begin.len() - 1);
            window.drain(..passed);
            at += passed as u64;
        }
    }
}

impl Read for Members {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.given == self.text.len() && !self.fill()? {
            return Ok(0);
        }
        let n = (self.text.len() - self.given).min(into.len());
        into[..n].copy_from_slice(&self.text[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}
