//! Records incoming data: every quote, price, dividend and rate that the store took, in the format of pushed lines, one
//! file per day, so that a day can be read as a feed. A thread of its own compresses and writes. The market loop hands
//! over its records and never waits: records that do not fit into a bounded queue are dropped and counted.
//!
//! A file is a series of gzip members, each written and synced as a whole every few seconds. A crash or a power cut
//! loses the last member; a truncated member is removed when the file is next opened. The day of a file is the Eastern
//! date of the newest quote so far, but not later than that of the market clock, so that a quote with a wrong time does
//! not begin a day. Never: a book, a socket, a key.

use crate::facts::RecordFacts;
use feeds::line_writer::LineWriter;
use feeds::recording::{begin_member, whole_len};
use flate2::write::GzEncoder;
use host::private;
use host::{faults, threads};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use kernel::records::{Batch, DividendRecord, RateRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum number of records that wait for the disk: the listed market and a quarter, about 160 MB.
const WAITING_MOST: usize = 2_000_000;
/// Maximum time until a record is on the disk.
const WRITTEN_WITHIN: Duration = Duration::from_secs(3);
/// Compressed size at which a member is written earlier, bytes.
const MEMBER_MOST: usize = 4 << 20;
/// Lines that are compressed in one call, bytes.
const PIECE: usize = 64 << 10;
/// Bytes at the end of a file that are searched for a truncated member: more than the longest member.
const TAIL: u64 = 16 << 20;
/// Interval between log lines while writing fails.
const LOG_AGAIN: Duration = Duration::from_secs(60);
/// Interval between checks for days to remove.
const PRUNED_EVERY: Duration = Duration::from_secs(60);
/// The name of a day's file before and after the date.
const FILE_BEGIN: &str = "quotes-";
const FILE_END: &str = ".ndjson.gz";
/// Lock file of a folder of recordings.
const LOCK: &str = ".recording";

/// Notice that is logged once when recording starts.
const NOTICE: &str = "the vendor's licence applies to recordings: most vendors allow you to keep quotes for your own use \
    but not to redistribute them";

/// Amount of recordings to keep; the newest day is always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKeep {
    /// Number of days with a file.
    Days(usize),
    /// Number of bytes.
    Bytes(u64),
}

/// Counts shared with the writing thread.
#[derive(Debug, Default)]
struct WriterShared {
    folder: String,
    waiting: AtomicUsize,
    written: AtomicU64,
    dropped: AtomicU64,
    bytes: AtomicU64,
    failing: AtomicBool,
}

/// Message to the writing thread.
enum Message {
    /// Records that the store took, and the time of the market.
    Records(Box<Batch>, Timestamp),
    /// No further records will come.
    End,
}

/// A running recording.
pub struct Recorder {
    to: Sender<Message>,
    ended: Receiver<()>,
    thread: JoinHandle<()>,
    shared: Arc<WriterShared>,
}

/// The market loop's end of a recorder.
#[derive(Clone)]
pub struct RecordTap {
    to: Sender<Message>,
    shared: Arc<WriterShared>,
    /// Resets, dividends and rates of batches that did not fit: they must not be lost, and go with the next batch that
    /// fits.
    held: Batch,
}

impl Recorder {
    /// Starts to record to a folder, which is created if need be; `keep` limits its size.
    ///
    /// # Errors
    /// Why the folder cannot be recorded to, for the user: it cannot be created or written to, or another process uses
    /// it.
    pub fn start(folder: &Path, keep: Option<RecordKeep>) -> Result<Self, String> {
        let wrong = |error: io::Error| format!("record {}: {error}", folder.display());
        let lock = private::claim_folder(folder, LOCK).map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => wrong(io::Error::other("another process records to it")),
            _ => wrong(error),
        })?;
        let shared = Arc::new(WriterShared { folder: folder.display().to_string(), ..WriterShared::default() });
        let ((to, waiting), (end, ended)) = (channel(), channel());
        let (folder_name, known) = (folder.to_path_buf(), Arc::clone(&shared));
        let mut writer = Writer { keep, ..Writer::new(folder_name, known) };
        let write = move || {
            let _held = &lock;
            write_all(&waiting, &mut writer);
            let _ = end.send(());
        };
        let thread = threads::spawn_lasting("record", write).map_err(wrong)?;
        tracing::info!("recording incoming data to {}: {NOTICE}", folder.display());
        Ok(Self { to, ended, thread, shared })
    }

    /// An end for the market loop.
    #[must_use]
    pub fn tap(&self) -> RecordTap {
        RecordTap { to: self.to.clone(), shared: Arc::clone(&self.shared), held: Batch::default() }
    }

    /// Ends the recording: the records so far are written.
    pub fn end(&self) {
        let _ = self.to.send(Message::End);
    }

    /// Waits, at most `patience`, until all records before [`Recorder::end`] are written.
    pub fn finish(self, patience: Duration) {
        match self.ended.recv_timeout(patience) {
            Ok(()) => _ = self.thread.join(),
            Err(_) => tracing::error!("record {}: the last quotes have not been written", self.shared.folder),
        }
    }
}

impl RecordTap {
    /// Hands a batch over, or counts it as dropped if too many records wait. If none waits, a batch of any size fits.
    pub fn put(&mut self, mut batch: Batch, now: Timestamp) {
        let records = batch.quotes.len() + batch.spots.len();
        let waiting = self.shared.waiting.load(Ordering::Acquire);
        if waiting > 0 && waiting + records > WAITING_MOST {
            self.shared.dropped.fetch_add(records as u64, Ordering::Relaxed);
            self.hold(batch);
            return;
        }
        let held = mem::take(&mut self.held);
        batch.reset.extend(held.reset);
        batch.dividends = batch.dividends.or(held.dividends);
        batch.rates = batch.rates.or(held.rates);
        if records > 0 || !batch.reset.is_empty() || batch.dividends.is_some() || batch.rates.is_some() {
            self.shared.waiting.fetch_add(records + 1, Ordering::AcqRel);
            // if the thread has ended, it has logged the reason
            let _ = self.to.send(Message::Records(Box::new(batch), now));
        }
    }

    /// Status of the recorder.
    #[must_use]
    pub fn facts(&self) -> RecordFacts {
        let WriterShared { folder, written, dropped, bytes, failing, .. } = &*self.shared;
        let [written, dropped, bytes] = [written, dropped, bytes].map(|n| n.load(Ordering::Relaxed));
        RecordFacts { folder: folder.clone(), written, dropped, bytes, failing: failing.load(Ordering::Relaxed) }
    }

    fn hold(&mut self, batch: Batch) {
        let held = &mut self.held;
        let forgotten: BTreeSet<Symbol> = held.reset.drain(..).chain(batch.reset).collect();
        held.reset.extend(forgotten);
        held.dividends = batch.dividends.or(held.dividends.take());
        held.rates = batch.rates.or(held.rates.take());
    }
}

/// A batch that is being written. When it is dropped, its records count as written, or as dropped after a panic.
struct BatchInWriting<'b>(&'b Batch, Arc<WriterShared>);

impl Drop for BatchInWriting<'_> {
    fn drop(&mut self) {
        let records = self.0.quotes.len() + self.0.spots.len();
        self.1.waiting.fetch_sub(records + 1, Ordering::AcqRel);
        if std::thread::panicking() {
            self.1.dropped.fetch_add(records as u64, Ordering::Relaxed);
        }
    }
}

/// Writes until the end of the recording. After a panic it is called again with the same writer, which keeps its state.
fn write_all(waiting: &Receiver<Message>, writer: &mut Writer) {
    writer.begin();
    loop {
        match waiting.recv_timeout(writer.due_within()) {
            Ok(Message::Records(batch, now)) => {
                let _counted = BatchInWriting(&batch, Arc::clone(&writer.shared));
                faults::here("record");
                writer.take(&batch, now);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => {
                writer.flush();
                return;
            }
        }
        if writer.due_within().is_zero() {
            writer.flush();
        }
    }
}

/// A member that is being filled.
struct Member {
    encoder: GzEncoder<Vec<u8>>,
    /// Number of quotes and prices in the member.
    records: u64,
    began: Instant,
}

/// Removes the oldest days of a folder beyond `keep`.
fn prune(folder: &Path, keep: RecordKeep) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let day = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let day: Date = name.to_str()?.strip_prefix(FILE_BEGIN)?.strip_suffix(FILE_END)?.parse().ok()?;
        Some((day, entry.path(), entry.metadata().ok()?.len()))
    };
    let mut days: Vec<_> = entries.filter_map(day).collect();
    days.sort_unstable();
    let mut bytes = 0;
    for (n, (_, path, length)) in days.iter().rev().enumerate() {
        bytes += length;
        let is_kept = match keep {
            RecordKeep::Days(most) => n < most,
            RecordKeep::Bytes(most) => bytes <= most,
        };
        if n > 0 && !is_kept {
            match fs::remove_file(path) {
                Ok(()) => tracing::info!("{}: removed, as --record-keep says", path.display()),
                Err(error) => tracing::warn!("{}: {error}; --record-keep cannot remove it", path.display()),
            }
        }
    }
}

/// Writes records as lines into compressed files.
struct Writer {
    folder: PathBuf,
    keep: Option<RecordKeep>,
    pruned: Option<Instant>,
    calendar: Calendar,
    roots: RootTable,
    lines: LineWriter,
    day: Option<Date>,
    file: Option<File>,
    member: Option<Member>,
    /// Lines that are not compressed yet, and the number of quotes and prices among them.
    piece: Vec<u8>,
    records: u64,
    reference: DayReference,
    logged_at: Option<Instant>,
    shared: Arc<WriterShared>,
}

/// Dividends and rates of the file of the day.
#[derive(Default)]
struct DayReference {
    dividends: BTreeMap<(Symbol, Date), DividendRecord>,
    /// By date and the bits of the tenor.
    rates: BTreeMap<(Date, u64), RateRecord>,
    /// True if none of them is in the file yet.
    is_unwritten: bool,
}

impl Writer {
    fn new(folder: PathBuf, shared: Arc<WriterShared>) -> Self {
        Self {
            folder,
            keep: None,
            pruned: None,
            calendar: Calendar::embedded(),
            roots: RootTable::embedded(),
            lines: LineWriter::new(RootTable::embedded()),
            day: None,
            file: None,
            member: None,
            piece: Vec::new(),
            records: 0,
            reference: DayReference::default(),
            logged_at: None,
            shared,
        }
    }

    /// Drops incomplete lines, and reopens the file without its incomplete member. Dividends and rates are written
    /// again.
    fn begin(&mut self) {
        self.piece.clear();
        (self.records, self.file, self.reference.is_unwritten) = (0, None, true);
    }

    /// Takes a batch of the market time `now`.
    fn take(&mut self, batch: &Batch, now: Timestamp) {
        let times = batch.quotes.iter().map(|quote| quote.ts).chain(batch.spots.iter().map(|spot| spot.ts));
        let day = times.max().map(|newest| self.calendar.eastern(newest.min(now)).date());
        if day > self.day {
            self.flush();
            (self.day, self.file, self.reference.is_unwritten) = (day, None, true);
        }
        for &name in &batch.reset {
            self.lines.forget(name, &mut self.piece);
        }
        if let Some(dividends) = &batch.dividends {
            self.set_dividends(dividends);
        }
        if let Some(rates) = &batch.rates {
            self.set_rates(rates);
        }
        if self.day.is_some() && mem::take(&mut self.reference.is_unwritten) {
            self.reference.dividends.values().for_each(|dividend| self.lines.dividend(dividend, &mut self.piece));
            self.reference.rates.values().for_each(|point| self.lines.rate(point, &mut self.piece));
        }
        for spot in &batch.spots {
            self.lines.spot(spot, &mut self.piece);
            self.records += 1;
        }
        for quote in &batch.quotes {
            self.lines.quote(quote, &mut self.piece);
            self.records += 1;
            if self.piece.len() >= PIECE {
                self.compress();
            }
        }
        self.compress();
    }

    /// Writes new and changed dividends, and those that are gone as 0.
    fn set_dividends(&mut self, dividends: &[DividendRecord]) {
        let mut now = BTreeMap::new();
        for dividend in dividends {
            let dividend = DividendRecord { underlying: self.roots.canonical(dividend.underlying), ..*dividend };
            let known = now.entry((dividend.underlying, dividend.ex_date)).or_insert(dividend);
            if dividend.amount > known.amount {
                *known = dividend;
            }
        }
        let before = mem::take(&mut self.reference.dividends);
        for (&(name, date), &gone) in &before {
            // a name without any dividend left stays covered: a dividend of 0 marks it, in the files of later days too
            if now.range((name, Date::MIN)..=(name, Date::MAX)).next().is_none() {
                now.insert((name, date), DividendRecord { amount: 0.0, ..gone });
            }
        }
        if self.day.is_some() && !self.reference.is_unwritten {
            for gone in before.iter().filter(|(key, _)| !now.contains_key(key)).map(|(_, gone)| gone) {
                self.lines.dividend(&DividendRecord { amount: 0.0, ..*gone }, &mut self.piece);
            }
            for (_, dividend) in now.iter().filter(|&(key, dividend)| before.get(key) != Some(dividend)) {
                self.lines.dividend(dividend, &mut self.piece);
            }
        }
        self.reference.dividends = now;
    }

    /// Writes new and changed rates, and those that are gone as missing.
    fn set_rates(&mut self, rates: &[RateRecord]) {
        let usable = rates.iter().filter(|point| point.rate.is_finite());
        let now: BTreeMap<_, _> = usable.map(|point| ((point.date, point.tenor_days.to_bits()), *point)).collect();
        let before = mem::take(&mut self.reference.rates);
        if self.day.is_some() && !self.reference.is_unwritten {
            for gone in before.iter().filter(|(key, _)| !now.contains_key(key)).map(|(_, gone)| gone) {
                self.lines.rate(&RateRecord { rate: f64::NAN, ..*gone }, &mut self.piece);
            }
            for (_, point) in now.iter().filter(|&(key, point)| before.get(key) != Some(point)) {
                self.lines.rate(point, &mut self.piece);
            }
        }
        self.reference.rates = now;
    }

    /// Compresses the lines so far into the member. Before the first quote the day is unknown, and the lines wait.
    fn compress(&mut self) {
        if self.piece.is_empty() || self.day.is_none() {
            return;
        }
        let member =
            self.member.get_or_insert_with(|| Member { encoder: begin_member(), records: 0, began: Instant::now() });
        // writing to memory does not fail
        let _ = member.encoder.write_all(&self.piece);
        member.records += mem::take(&mut self.records);
        self.piece.clear();
        if member.encoder.get_ref().len() >= MEMBER_MOST {
            self.flush();
        }
    }

    /// Time until the member must be written; long if there is none.
    fn due_within(&self) -> Duration {
        let left = |member: &Member| WRITTEN_WITHIN.saturating_sub(member.began.elapsed());
        self.member.as_ref().map_or(LOG_AGAIN, left)
    }

    /// Writes the member. If that fails, its records are lost and counted.
    fn flush(&mut self) {
        let Some(Member { encoder, records, .. }) = self.member.take() else { return };
        let written = encoder.finish().and_then(|bytes| self.append(&bytes).map(|()| bytes.len()));
        self.shared.failing.store(written.is_err(), Ordering::Relaxed);
        match written {
            Ok(bytes) => {
                self.shared.written.fetch_add(records, Ordering::Relaxed);
                self.shared.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
                self.logged_at = None;
                if let Some(keep) = self.keep
                    && self.pruned.is_none_or(|pruned| pruned.elapsed() >= PRUNED_EVERY)
                {
                    prune(&self.folder, keep);
                    self.pruned = Some(Instant::now());
                }
            }
            Err(error) => {
                self.shared.dropped.fetch_add(records, Ordering::Relaxed);
                // the file is reopened without its incomplete member
                (self.file, self.reference.is_unwritten) = (None, true);
                if self.logged_at.is_none_or(|at| at.elapsed() >= LOG_AGAIN) {
                    tracing::error!("record {}: {error}; incoming data are not recorded", self.shared.folder);
                    self.logged_at = Some(Instant::now());
                }
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let day = self.day.unwrap_or_default();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open(&self.folder, day)?),
        };
        file.write_all(bytes)?;
        file.sync_data()
    }
}

/// Opens the file of a day to append to, and removes a truncated member at its end.
fn open(folder: &Path, day: Date) -> io::Result<File> {
    let path = folder.join(format!("{FILE_BEGIN}{day}{FILE_END}"));
    let mut file = private::options().create(true).read(true).append(true).open(&path)?;
    let length = file.metadata()?.len();
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    Read::take(&mut file, TAIL).read_to_end(&mut tail)?;
    let cut = tail.len() - whole_len(&tail);
    if cut > 0 {
        tracing::warn!("{}: removed {cut} bytes of a truncated gzip member", path.display());
        file.set_len(length - cut as u64)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests;
