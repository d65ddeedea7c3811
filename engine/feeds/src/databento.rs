//! Databento's files and streams (DBN, versions 1 to 3, plain or zstd): consolidated quotes (`cbbo-1s`, `cbbo-1m`,
//! `cmbp-1`), definitions and symbol mappings. Bytes to records. Never: trades, depth, statistics.
//!
//! Records have fixed layouts, little-endian, after a header with their length; other kinds are skipped. The versions
//! differ in the place and length of the symbols of definitions and mappings, which follow from the record's length. A
//! stream has every change; only the last quote of each contract counts.

use super::intake::{Intake, PriceFrom, price_of};
use super::spelling::parse_contract;
use super::times::of_nanos;
use jiff::civil::Date;
use jiff::{Timestamp, tz::TimeZone};
use kernel::contract::ContractKey;
use kernel::contract::{RootTable, Symbol};
use kernel::error::{FeedError, Instead, Reason};
use kernel::limits;
use kernel::records::{Activity, Batch, QuoteRecord, SpotRecord};
use kernel::report::Report;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::path::Path;

pub(super) const MAGIC: &[u8; 3] = b"DBN";
const ZSTD_MAGIC: u32 = 0xFD2F_B528;
/// Frames that carry no data have one of sixteen magic numbers.
const ZSTD_SKIPPED: core::ops::RangeInclusive<u32> = 0x184D_2A50..=0x184D_2A5F;
/// A record's length is a byte that counts words of four bytes.
const RECORD_BYTES: usize = 255 * 4;
pub(super) const HEADER_BYTES: usize = 16;
/// Bytes of metadata before the symbols, without the length field.
pub(super) const METADATA_BYTES: usize = 104;

pub(super) const CMBP_1: u8 = 0xB1;
pub(super) const CBBO_1S: u8 = 0xC0;
pub(super) const CBBO_1M: u8 = 0xC1;
pub(super) const DEFINITION: u8 = 0x13;
pub(super) const SYMBOL_MAPPING: u8 = 0x16;

/// The time of reception is not to be trusted.
const FLAG_BAD_RECEIVED: u8 = 0x08;
/// Something was lost before this quote.
const FLAG_MAYBE_BAD_BOOK: u8 = 0x04;

/// Reads a file, or what came of a stream up to some moment: the last quote of every contract, and of every share the
/// price that its last quote gives. Records after `until` do not count. Contracts that are only defined have no prices.
///
/// A file that breaks off is used up to there. One without a single quote or definition is [`Instead::NoQuotes`].
#[must_use]
pub fn parse_dbn(source: &Path, bytes: &[u8], roots: &RootTable, until: Option<Timestamp>) -> (Batch, Report) {
    let mut stream = Stream::new(bytes);
    let mut file = File { intake: Intake::new(source, Report::default()), instruments: Instruments::default(), until };
    let end = file.read(&mut stream, roots);
    // records and not quotes: a file of definitions alone lists contracts, and is no error
    let seen = file.intake.records();
    let errors = match end {
        Ok(()) if seen > 0 => Vec::new(),
        Ok(()) => vec![FeedError::Instead { file: source.to_path_buf(), what: Instead::NoQuotes }],
        Err(End::Damaged(kind)) => vec![FeedError::Io { file: source.to_path_buf(), kind }],
        Err(End::TooLarge) => vec![FeedError::TooLarge { file: source.to_path_buf() }],
        Err(End::Instead(what)) => vec![FeedError::Instead { file: source.to_path_buf(), what }],
    };
    let File { mut intake, instruments, .. } = file;
    // the last quote of each instrument: a day of updates is a chain at its end
    for listed in instruments.listed {
        match listed.instrument {
            Ok(Instrument::Option { underlying, contract }) => {
                if let Some((place, quote)) = listed.last {
                    intake.keep(place, "raw_symbol", QuoteRecord { underlying, contract, ..quote });
                }
            }
            Ok(Instrument::Share(_)) => intake.keep_spots(listed.spot),
            Err(_) => {}
        }
    }
    intake.finish_with(errors)
}

/// Why reading ended before the end.
pub(super) enum End {
    Damaged(io::ErrorKind),
    TooLarge,
    Instead(Instead),
}

/// Kind of an instrument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Instrument {
    Option { underlying: Symbol, contract: ContractKey },
    Share(Symbol),
}

/// An instrument and its last records; the reason where it is not served.
pub(super) struct ListedInstrument {
    pub(super) instrument: Result<Instrument, Reason>,
    pub(super) last: Option<(usize, QuoteRecord)>,
    pub(super) spot: Option<SpotRecord>,
    /// True while it is among [`Instruments::changed`].
    is_changed: bool,
}

/// Approximate bytes of a symbol and its place in a table.
const SYMBOL_BYTES: usize = 64;

/// Times in which a number means an instrument: nanoseconds, the end excluded.
struct Span {
    from: u64,
    to: u64,
    listed: usize,
}

/// The instruments of a file, by symbol and by number. Numbers are given again every day.
#[derive(Default)]
pub(super) struct Instruments {
    pub(super) listed: Vec<ListedInstrument>,
    /// The places of those with a new record, each once.
    changed: Vec<usize>,
    by_symbol: HashMap<Box<str>, usize>,
    /// Meanings of numbers by the metadata of the file.
    spans: HashMap<u32, Vec<Span>>,
    /// Approximate bytes of the spans, which are not added up at each read of a stream.
    span_bytes: usize,
    /// Meanings of numbers by the last mapping or definition in the stream.
    said: HashMap<u32, usize>,
}

impl Instruments {
    /// The place of a symbol, new or known.
    fn intern(&mut self, symbol: &str, roots: &RootTable) -> Result<usize, End> {
        let symbol = symbol.trim();
        if let Some(&at) = self.by_symbol.get(symbol) {
            return Ok(at);
        }
        let at = self.listed.len();
        // symbols come from the file, so the table that they fill is bounded
        if at as f64 >= limits::INSTRUMENTS.most {
            return Err(End::Instead(Instead::TooManyRecords));
        }
        let instrument = match (parse_contract(symbol), Symbol::parse_underlying(symbol)) {
            (Ok(contract), _) => Ok(Instrument::Option { underlying: roots.underlying_of(contract.root), contract }),
            // what is no contract may be a share: files of both hold the underlying beside its options
            (Err(Reason::NotASymbol), Some(share)) => Ok(Instrument::Share(roots.canonical(share))),
            (Err(reason), _) => Err(reason),
        };
        self.listed.push(ListedInstrument { instrument, last: None, spot: None, is_changed: false });
        self.by_symbol.insert(symbol.into(), at);
        Ok(at)
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let symbols = self.by_symbol.capacity().saturating_mul(SYMBOL_BYTES);
        let numbers = self.said.capacity().saturating_mul(size_of::<(u32, usize)>());
        let listed = self.listed.capacity().saturating_mul(size_of::<ListedInstrument>());
        [listed, symbols, self.span_bytes, numbers].into_iter().fold(0, usize::saturating_add)
    }

    /// Adds a meaning of a number.
    fn put_span(&mut self, id: u32, span: Span) {
        let spans = self.spans.entry(id).or_default();
        let before = spans.capacity();
        spans.push(span);
        let more = spans.capacity().saturating_sub(before).saturating_mul(size_of::<Span>());
        self.span_bytes = self.span_bytes.saturating_add(more);
    }

    /// Notes that an instrument has a new record.
    fn note(&mut self, at: usize) {
        let listed = &mut self.listed[at];
        if !std::mem::replace(&mut listed.is_changed, true) {
            self.changed.push(at);
        }
    }

    /// Takes the instruments with a new record since the last call, in the order in which they got it.
    pub(super) fn take_changed(&mut self, mut take: impl FnMut(&mut ListedInstrument)) {
        for at in std::mem::take(&mut self.changed) {
            self.listed[at].is_changed = false;
            take(&mut self.listed[at]);
        }
    }

    /// The place of the instrument of a number at an instant.
    fn find(&self, id: u32, at: u64) -> Option<usize> {
        let span = self.spans.get(&id).and_then(|spans| {
            // an id is used again for another instrument on another day: the time of the record decides
            let before = spans.partition_point(|span| span.from <= at);
            before.checked_sub(1).map(|i| &spans[i])
        });
        span.filter(|span| at < span.to).map(|span| span.listed).or_else(|| self.said.get(&id).copied())
    }
}

pub(super) struct File {
    pub(super) intake: Intake,
    pub(super) instruments: Instruments,
    pub(super) until: Option<Timestamp>,
}

impl File {
    fn read(&mut self, stream: &mut Stream<'_>, roots: &RootTable) -> Result<(), End> {
        let version = self.metadata(stream, roots)?;
        let mut record = [0u8; RECORD_BYTES];
        for place in 1.. {
            // one buffer of the longest record that the format allows: nothing is allocated for each of millions
            let Some(record) = stream.record(&mut record)? else { break };
            match record[1] {
                CMBP_1 | CBBO_1S | CBBO_1M => self.quote(place, record),
                DEFINITION => self.definition(place, record, roots)?,
                SYMBOL_MAPPING => self.mapping(record, version, roots)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads the metadata at the beginning of a file, and says their version.
    fn metadata(&mut self, stream: &mut Stream<'_>, roots: &RootTable) -> Result<u8, End> {
        let other = || End::Instead(Instead::OtherFormat);
        let mut start = [0u8; 8];
        if !stream.fill(&mut start).unwrap_or(false) {
            return Err(other());
        }
        let version = start[3];
        if &start[..3] != MAGIC || !(1..=3).contains(&version) {
            return Err(other());
        }
        let length = u32_at(&start, 4).unwrap_or_default() as usize;
        // a length from outside is memory only after it is bounded
        if length < METADATA_BYTES || length as f64 > limits::DOCUMENT_BYTES.most {
            return Err(other());
        }
        let mut metadata = Vec::new();
        let read = stream.inner.by_ref().take(length as u64).read_to_end(&mut metadata);
        match read {
            Ok(n) if n == length => {}
            Ok(_) => return Err(End::Damaged(io::ErrorKind::UnexpectedEof)),
            Err(e) => return Err(End::Damaged(e.kind())),
        }
        self.mappings(version, &metadata, roots)?;
        Ok(version)
    }

    /// Reads what numbers stand for from the metadata of a version, which are all there.
    pub(super) fn mappings(&mut self, version: u8, metadata: &[u8], roots: &RootTable) -> Result<(), End> {
        // The length of symbols stands there from version 2 on.
        let symbol_bytes = match version {
            1 => 22,
            _ => usize::from(u16_at(metadata, 45).unwrap_or_default()),
        };
        // A definition of the schema, for which there is room, has never been there.
        let schema_bytes = u32_at(metadata, METADATA_BYTES - 4).unwrap_or_default() as usize;
        let at = METADATA_BYTES.saturating_add(schema_bytes);
        let mut words = MetadataLists { bytes: metadata, at, symbol_bytes };
        match words.mappings(&mut self.instruments, roots) {
            Some(Ok(())) => {
                // sorted once, so that each record finds its instrument by bisection
                self.instruments.spans.values_mut().for_each(|spans| spans.sort_by_key(|span| span.from));
                Ok(())
            }
            Some(Err(end)) => Err(end),
            None => Err(End::Damaged(io::ErrorKind::InvalidData)),
        }
    }

    pub(super) fn quote(&mut self, place: usize, record: &[u8]) {
        let id = u32_at(record, 4).unwrap_or_default();
        let outcome = DatabentoQuote::of(record).and_then(|quote| {
            // a past moment must not see what came after it
            if self.until.is_some_and(|until| quote.ts > until) {
                return Ok(None);
            }
            let at = u64::try_from(quote.ts.as_nanosecond()).unwrap_or_default();
            let number = self.instruments.find(id, at).ok_or(("instrument_id", Reason::NotASymbol))?;
            let listed = &mut self.instruments.listed[number];
            match listed.instrument {
                Ok(Instrument::Option { underlying, contract }) => {
                    let new = quote.record(underlying, contract);
                    // of two at one instant the choice must not depend on the order of records
                    if listed.last.is_none_or(|(_, old)| new.precedence(&old).is_gt()) {
                        listed.last = Some((place, new));
                        self.instruments.note(number);
                    }
                }
                Ok(Instrument::Share(underlying)) => {
                    if let Some(price) = quote.price().filter(|&price| limits::SPOT.holds(price))
                        && listed.spot.is_none_or(|old| old.ts <= quote.ts)
                    {
                        listed.spot = Some(SpotRecord { ts: quote.ts, underlying, price });
                        self.instruments.note(number);
                    }
                }
                Err(reason) => return Err(("raw_symbol", reason)),
            }
            Ok(Some(()))
        });
        match outcome {
            Ok(None) => {}
            Ok(Some(())) => self.intake.count(place, Ok(())),
            Err(fault) => self.intake.count(place, Err(fault)),
        }
    }

    /// A definition lists its contract, and says what its number stands for.
    pub(super) fn definition(&mut self, place: usize, record: &[u8], roots: &RootTable) -> Result<(), End> {
        // Version 3 is longer, and put new fields before the symbol.
        let (from, most) = match record.len() {
            520.. => (238, 71),
            400.. => (200, 71),
            _ => (200, 22),
        };
        let ts = u64_at(record, HEADER_BYTES).and_then(|ts| i64::try_from(ts).ok()).and_then(of_nanos);
        let fault = match (record.get(from..from + most).and_then(text), ts) {
            (None, _) => ("raw_symbol", Reason::Missing),
            (_, None) => ("ts_recv", Reason::NotATime),
            (Some(_), Some(ts)) if self.until.is_some_and(|until| ts > until) => return Ok(()),
            (Some(symbol), Some(ts)) => {
                let at = self.instruments.intern(symbol, roots)?;
                self.instruments.said.insert(u32_at(record, 4).unwrap_or_default(), at);
                let listed = &mut self.instruments.listed[at];
                match listed.instrument {
                    Ok(Instrument::Option { underlying, contract }) => {
                        // a listed contract without a quote belongs to the chain: its curve and value do not need one
                        let none = DatabentoQuote { ts, bid: f64::NAN, ask: f64::NAN, ..DatabentoQuote::NONE };
                        if listed.last.is_none() {
                            listed.last = Some((place, none.record(underlying, contract)));
                            self.instruments.note(at);
                        }
                        self.intake.count(place, Ok(()));
                        return Ok(());
                    }
                    Ok(Instrument::Share(_)) => return Ok(()),
                    Err(reason) => ("raw_symbol", reason),
                }
            }
        };
        self.intake.count(place, Err(fault));
        Ok(())
    }

    /// A mapping of a live stream says what a number stands for.
    pub(super) fn mapping(&mut self, record: &[u8], version: u8, roots: &RootTable) -> Result<(), End> {
        let symbols = if version == 1 || record.len() < 176 { [16..38, 38..60] } else { [17..88, 89..160] };
        let [input, output] = symbols.map(|range| record.get(range).and_then(text));
        // Which of the two is the symbol depends on the question: the other one may be a number or a parent.
        let is_contract = |symbol: &&str| parse_contract(symbol).is_ok();
        if let Some(symbol) = output.filter(is_contract).or(input.filter(is_contract)).or(output) {
            let at = self.instruments.intern(symbol, roots)?;
            self.instruments.said.insert(u32_at(record, 4).unwrap_or_default(), at);
        }
        Ok(())
    }
}

/// The numbers of a quote record. Prices and sizes that are undefined are NaN.
#[derive(Clone, Copy, Debug)]
struct DatabentoQuote {
    ts: Timestamp,
    bid: f64,
    ask: f64,
    bid_size: f64,
    ask_size: f64,
    /// The last trade, where the record has it.
    trade: f64,
}

impl DatabentoQuote {
    const NONE: Self = Self {
        ts: Timestamp::UNIX_EPOCH,
        bid: f64::NAN,
        ask: f64::NAN,
        bid_size: f64::NAN,
        ask_size: f64::NAN,
        trade: f64::NAN,
    };

    fn of(record: &[u8]) -> Result<Self, (&'static str, Reason)> {
        let flags = record.get(30).copied().ok_or(("flags", Reason::Missing))?;
        // the vendor itself doubts the book behind this record
        if flags & FLAG_MAYBE_BAD_BOOK != 0 {
            return Err(("flags", Reason::Doubtful));
        }
        // the time of receipt is the better clock, unless the record says that it is broken
        let (field, at) = if flags & FLAG_BAD_RECEIVED == 0 { ("ts_recv", 32) } else { ("ts_event", 8) };
        let ts = u64_at(record, at).and_then(|ts| i64::try_from(ts).ok()).and_then(of_nanos);
        let price = |field, at| match u64_at(record, at).map(u64::cast_signed) {
            None => Err((field, Reason::Missing)),
            // the format's number for no price
            Some(i64::MAX) => Ok(f64::NAN),
            Some(price) => limits::PRICE.admit(price as f64 / 1e9).map_err(|reason| (field, reason)),
        };
        let size = |field, at| match u32_at(record, at) {
            None => Err((field, Reason::Missing)),
            Some(u32::MAX) => Ok(f64::NAN),
            Some(size) => Ok(f64::from(size)),
        };
        // an update of the book has the price of the update in this field, and no trade
        let is_sampled = record[1] != CMBP_1;
        Ok(Self {
            ts: ts.ok_or((field, Reason::NotATime))?,
            bid: price("bid_px", 48)?,
            ask: price("ask_px", 56)?,
            bid_size: size("bid_sz", 64)?,
            ask_size: size("ask_sz", 68)?,
            trade: if is_sampled { price("price", 16)? } else { f64::NAN },
        })
    }

    fn record(&self, underlying: Symbol, contract: ContractKey) -> QuoteRecord {
        let Self { ts, bid, ask, bid_size, ask_size, .. } = *self;
        QuoteRecord { ts, underlying, contract, bid, ask, bid_size, ask_size, activity: Activity::default() }
    }

    fn price(&self) -> Option<f64> {
        price_of(self.bid, self.ask, self.trade).map(|(PriceFrom::Quote(price) | PriceFrom::Trade(price))| price)
    }
}

/// The lists in the metadata, from some place on.
struct MetadataLists<'a> {
    bytes: &'a [u8],
    at: usize,
    symbol_bytes: usize,
}

impl<'a> MetadataLists<'a> {
    fn number(&mut self) -> Option<u32> {
        let number = u32_at(self.bytes, self.at)?;
        self.at += 4;
        Some(number)
    }

    fn symbol(&mut self) -> Option<&'a str> {
        let bytes = self.bytes.get(self.at..self.at.checked_add(self.symbol_bytes)?)?;
        self.at += self.symbol_bytes;
        text(bytes)
    }

    /// Reads what stands for what: after three lists of symbols, each symbol with its numbers by date, or each number
    /// with its symbols. `None`: the lists go beyond the end.
    fn mappings(&mut self, instruments: &mut Instruments, roots: &RootTable) -> Option<Result<(), End>> {
        for _ in 0..3 {
            let symbols = self.number()? as usize;
            // lists of symbols asked for, resolved in part and not at all: what counts are the mappings behind them
            self.at = self.at.checked_add(symbols.checked_mul(self.symbol_bytes)?)?;
        }
        for _ in 0..self.number()? {
            let one = self.symbol()?;
            for _ in 0..self.number()? {
                let (from, to) = (self.number()?, self.number()?);
                let other = self.symbol()?;
                let (id, symbol) = match (one.parse::<u32>(), other.parse::<u32>()) {
                    // which side is the number depends on how the file was asked for
                    (_, Ok(id)) => (id, one),
                    (Ok(id), _) if !other.is_empty() => (id, other),
                    _ => continue,
                };
                // a mapping with an impossible date costs itself: records of its id are refused one by one
                let (Some(from), Some(to)) = (midnight(from), midnight(to)) else { continue };
                match instruments.intern(symbol, roots) {
                    Ok(listed) => instruments.put_span(id, Span { from, to, listed }),
                    Err(end) => return Some(Err(end)),
                }
            }
        }
        Some(Ok(()))
    }
}

/// The beginning of a date that is written `YYYYMMDD` as a number, in UTC, in nanoseconds since 1970.
fn midnight(date: u32) -> Option<u64> {
    let part = |n: u32| i8::try_from(n).ok();
    let date = Date::new(i16::try_from(date / 10_000).ok()?, part(date / 100 % 100)?, part(date % 100)?).ok()?;
    u64::try_from(TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?.as_nanosecond()).ok()
}

/// A text up to its first zero byte.
fn text(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    core::str::from_utf8(&bytes[..end]).ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// The decompressed bytes, counted.
struct Stream<'a> {
    inner: BufReader<Frames<'a>>,
    read: u64,
}

impl<'a> Stream<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { inner: BufReader::new(Frames { rest: bytes, frame: None, is_plain: bytes.starts_with(MAGIC) }), read: 0 }
    }

    /// Fills a buffer; `false` where there is nothing left at all.
    fn fill(&mut self, out: &mut [u8]) -> Result<bool, End> {
        let mut filled = 0;
        while filled < out.len() {
            match self.inner.read(&mut out[filled..]) {
                Ok(0) if filled == 0 => return Ok(false),
                Ok(0) => return Err(End::Damaged(io::ErrorKind::UnexpectedEof)),
                Ok(n) => filled += n,
                Err(e) => return Err(End::Damaged(e.kind())),
            }
        }
        self.read += filled as u64;
        if self.read as f64 > limits::FILE_BYTES.most { Err(End::TooLarge) } else { Ok(true) }
    }

    /// The next record; `None` at the end.
    fn record<'b>(&mut self, buffer: &'b mut [u8; RECORD_BYTES]) -> Result<Option<&'b [u8]>, End> {
        if !self.fill(&mut buffer[..1])? {
            return Ok(None);
        }
        let length = usize::from(buffer[0]) * 4;
        if length < HEADER_BYTES {
            return Err(End::Damaged(io::ErrorKind::InvalidData));
        }
        match self.fill(&mut buffer[1..length])? {
            true => Ok(Some(&buffer[..length])),
            false => Err(End::Damaged(io::ErrorKind::UnexpectedEof)),
        }
    }
}

/// Plain bytes, or zstd in any number of frames.
struct Frames<'a> {
    rest: &'a [u8],
    frame: Option<Box<StreamingDecoder<&'a [u8], FrameDecoder>>>,
    is_plain: bool,
}

impl Read for Frames<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.is_plain {
            return self.rest.read(out);
        }
        loop {
            if let Some(frame) = &mut self.frame {
                let n = frame.read(out)?;
                if n > 0 || out.is_empty() {
                    return Ok(n);
                }
                self.rest = frame.get_ref();
                self.frame = None;
            } else if self.rest.is_empty() {
                return Ok(0);
            } else {
                match u32_at(self.rest, 0) {
                    Some(ZSTD_MAGIC) => {
                        let frame = StreamingDecoder::new(self.rest).map_err(io::Error::other)?;
                        self.frame = Some(Box::new(frame));
                    }
                    Some(magic) if ZSTD_SKIPPED.contains(&magic) => {
                        let length = u32_at(self.rest, 4).and_then(|length| usize::try_from(length).ok());
                        let end = length.and_then(|length| length.checked_add(8));
                        self.rest = end.and_then(|end| self.rest.get(end..)).ok_or(io::ErrorKind::UnexpectedEof)?;
                    }
                    _ => return Err(io::ErrorKind::InvalidData.into()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
