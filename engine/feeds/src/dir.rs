//! A market folder: `chains/*.csv[.gz]` or one such file, beside them `dividends.csv`, `rates.csv`, `overrides.csv` and
//! `events.csv`, all optional. A recording (`*.ndjson[.gz]`) may stand in the place of a chain file; of a folder of
//! recordings, one a day (`quotes-2026-11-20.ndjson.gz`), the last one counts. Dividends and rates of recordings count
//! where the folder has no file of them.
//!
//! A poll reads what changed since the last one (by time of change and length) and hands over whole underlyings, so
//! that a contract which left its file leaves the market too. Most programs write in place, so a changed file is read
//! when it has not changed for a moment, and one that is worse than before (unreadable, without a header or a row,
//! damaged) changes nothing: its last readable content stays. Never: a clock (the caller has one), a computation.

use super::chains::Chains;
use super::csv::decompress;
use super::events::parse_events;
use super::recording::{is_recording, read_recording};
use super::reference::{parse_days, parse_deliverables, parse_dividends, parse_rates};
use core::mem;
use jiff::civil::Date;
use kernel::contract::{RootTable, Symbol};
use kernel::error::FeedError;
use kernel::limits::{self, Bound};
use kernel::records::{Batch, DividendCover, DividendRecord, QuoteRecord, RateRecord};
use kernel::report::Report;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const DIVIDENDS: &str = "dividends.csv";
const DELIVERABLES: &str = "deliverables.csv";
const RATES: &str = "rates.csv";
const OVERRIDES: &str = "overrides.csv";
const EVENTS: &str = "events.csv";
/// Every file of reference data.
const REFERENCE: [&str; 5] = [DIVIDENDS, DELIVERABLES, RATES, OVERRIDES, EVENTS];
/// Time for which a changed file must not change again: a program that writes in place seldom pauses for longer.
pub const SETTLED: Duration = Duration::from_millis(250);

/// Reads the text of a chain file, whatever its layout; the path is for the report only.
pub type ChainReader = fn(&Path, &[u8]) -> (Chains, Report);

/// A market folder that is read again where it changes.
#[derive(Debug)]
pub struct DirFeed {
    source: Source,
    /// The reader of chain files that are no recordings.
    reader: ChainReader,
    /// Underlyings of roots: files spell one in several ways.
    roots: RootTable,
    /// Folder of dividends, rates and overrides.
    folder: PathBuf,
    /// Content of each chain file.
    chains: BTreeMap<PathBuf, Loaded>,
    /// Stamp of each reference file when it was read; a missing file has none.
    reference: BTreeMap<&'static str, Option<FileStamp>>,
    /// Files that have changed since they were read: their stamp now (`None`: deleted), and the time of the change.
    moving: BTreeMap<PathBuf, (Option<FileStamp>, Duration)>,
    /// Files that cannot be used as they are: an older content is served, or none.
    unusable: BTreeSet<PathBuf>,
    /// Dividends and rates of the recordings among the chain files.
    recorded: Recorded,
    /// The dividends of the folder's own `dividends.csv`.
    given_dividends: Vec<DividendRecord>,
    /// True after the first poll.
    begun: bool,
}

#[derive(Debug)]
enum Source {
    Folder(PathBuf),
    /// A folder of recordings, of which the last one by name counts.
    Recordings(PathBuf),
    File(PathBuf),
    /// There are no chains.
    Nothing,
}

#[derive(Debug)]
struct Loaded {
    stamp: FileStamp,
    /// Underlyings that the store has its rows under.
    underlyings: BTreeSet<Symbol>,
    dividends: Vec<DividendRecord>,
    dividend_cover: DividendCover,
    rates: Vec<RateRecord>,
}

/// Facts of a file that change when it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    changed: Option<SystemTime>,
    bytes: u64,
    /// Number of the file, and the time of any change. They distinguish two writes of one length within one tick of the
    /// clock, and an old file put in its place with its own time. Zero where the system has neither.
    node: (u64, i64, i64),
}

impl FileStamp {
    /// The stamp of a file.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let node = {
            use std::os::unix::fs::MetadataExt;
            // a file replaced within a second by one of the same length has the same time and size, but another node
            (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
        };
        #[cfg(not(unix))]
        let node = (0, 0, 0);
        Self { changed: metadata.modified().ok(), bytes: metadata.len(), node }
    }
}

impl DirFeed {
    /// Finds the parts of a market folder, or of one chain file and the files beside it (one folder up, if it lies in a
    /// folder `chains`, which may be given as well). Nothing is read yet.
    ///
    /// # Errors
    /// There is no such path, or no chain file in the folder.
    pub fn open(path: &Path, reader: ChainReader) -> Result<Self, FeedError> {
        let found = |source, folder: &Path| Ok(Self::of(source, folder, reader));
        if !metadata(path)?.is_dir() {
            let folder = path.parent().unwrap_or(Path::new("."));
            // a chain file given by itself still finds the dividends and rates beside its folder
            let in_chains = folder.file_name().is_some_and(|name| name == "chains");
            let folder = if in_chains { folder.join("..") } else { folder.to_path_buf() };
            return found(Source::File(path.to_path_buf()), &folder);
        }
        let chains = path.join("chains");
        if chains.is_dir() {
            return found(Source::Folder(chains), path);
        }
        let mut single = ["chains.csv", "chains.csv.gz"].iter().map(|name| path.join(name));
        match single.find(|file| file.is_file()) {
            Some(file) => found(Source::File(file), path),
            None if has_recording(path) => found(Source::Recordings(path.to_path_buf()), path),
            // the folder of chains itself
            None if path.ends_with("chains") => found(Source::Folder(path.to_path_buf()), &path.join("..")),
            None => Err(FeedError::NoChains { folder: path.to_path_buf() }),
        }
    }

    /// Opens a folder as [`Self::open`] does, or one without chains that has dividends, rates or overrides.
    ///
    /// # Errors
    /// There is no such path, or nothing of a market in the folder.
    pub fn open_reference(path: &Path, reader: ChainReader) -> Result<Self, FeedError> {
        match Self::open(path, reader) {
            // reference data alone serve another feed
            Err(FeedError::NoChains { .. }) if REFERENCE.iter().any(|name| path.join(name).is_file()) => {
                Ok(Self::of(Source::Nothing, path, reader))
            }
            opened => opened,
        }
    }

    fn of(source: Source, folder: &Path, reader: ChainReader) -> Self {
        let folder = folder.to_path_buf();
        let (chains, reference) = (BTreeMap::new(), BTreeMap::new());
        let (moving, unusable) = (BTreeMap::new(), BTreeSet::new());
        let roots = RootTable::embedded();
        let (recorded, given_dividends) = (Recorded::default(), Vec::new());
        Self {
            source,
            reader,
            roots,
            folder,
            chains,
            reference,
            moving,
            unusable,
            recorded,
            given_dividends,
            begun: false,
        }
    }

    /// Reads files that have changed since the last call and not within [`SETTLED`]; all files at the first call.
    /// `None`: there are none. `at` is the time since some fixed moment.
    ///
    /// A file that cannot be used is an entry of the report. One that could not even be read is tried again at the next
    /// call, others when they change.
    ///
    /// # Errors
    /// The folder itself cannot be listed; the next call tries again.
    pub fn poll(&mut self, at: Duration) -> Result<Option<(Batch, Report)>, FeedError> {
        let files = self.list()?;
        let (mut batch, mut report) = (Batch::default(), Report::default());
        // rebuilt in each poll: a file that is gone or has settled leaves no entry behind
        let before = mem::take(&mut self.moving);
        let mut poll = Poll { before: &before, at, batch: &mut batch, report: &mut report };
        self.poll_reference(&mut poll);
        self.poll_chains(&files, &mut poll);
        self.add_recorded(poll.batch);
        self.begun = true;
        let Batch { reset, dividends, deliverables, rates, days, events, .. } = &batch;
        let has_reference =
            [dividends.is_some(), deliverables.is_some(), rates.is_some(), days.is_some(), events.is_some()];
        let any = !reset.is_empty() || has_reference.contains(&true);
        Ok((any || report.records > 0 || !report.errors.is_empty()).then_some((batch, report)))
    }

    /// True if some file has changed but not yet stood still: another poll should come soon.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.moving.is_empty()
    }

    /// Number of files that cannot be used as they are; their last readable content is served.
    #[must_use]
    pub fn unusable(&self) -> usize {
        self.unusable.len()
    }

    /// The chain files and their states, by name.
    fn list(&self) -> Result<BTreeMap<PathBuf, FileStamp>, FeedError> {
        let folder = match &self.source {
            Source::File(file) => return Ok(BTreeMap::from([(file.clone(), FileStamp::of(&metadata(file)?))])),
            Source::Folder(folder) | Source::Recordings(folder) => folder,
            Source::Nothing => return Ok(BTreeMap::new()),
        };
        let entries = fs::read_dir(folder).map_err(|e| FeedError::Io { file: folder.clone(), kind: e.kind() })?;
        // A file that vanishes between listing and asking is gone, which is no error.
        let paths = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| is_chain_name(path));
        let stamped =
            paths.filter_map(|path| Some((FileStamp::of(&fs::metadata(&path).ok().filter(Metadata::is_file)?), path)));
        let mut files: BTreeMap<PathBuf, FileStamp> = stamped.map(|(stamp, path)| (path, stamp)).collect();
        if matches!(self.source, Source::Recordings(_)) {
            files.retain(|path, _| is_recording(path));
            // a folder of recordings is a history: the newest of them is the present
            files = files.pop_last().into_iter().collect();
        }
        Ok(files)
    }

    /// True if a changed file, or one that was deleted, has not changed again for long enough.
    fn has_settled(&mut self, path: &Path, now: Option<FileStamp>, poll: &Poll<'_>) -> bool {
        let since = poll.before.get(path).filter(|(seen, _)| *seen == now).map_or(poll.at, |&(_, since)| since);
        // at the start nothing was seen before, and waiting would delay the first answer
        if !self.begun || poll.at.saturating_sub(since) >= SETTLED {
            return true;
        }
        self.moving.insert(path.to_path_buf(), (now, since));
        false
    }

    fn poll_chains(&mut self, files: &BTreeMap<PathBuf, FileStamp>, poll: &mut Poll<'_>) {
        let is_changed = |path: &Path, stamp| self.chains.get(path).is_none_or(|old| old.stamp != stamp);
        let changed =
            files.iter().filter(|&(path, stamp)| is_changed(path, *stamp)).map(|(path, &stamp)| (path, stamp));
        let mut changed: Vec<(&PathBuf, FileStamp)> = changed.collect();
        changed.retain(|&(path, stamp)| self.has_settled(path, Some(stamp), poll));
        let mut gone: Vec<PathBuf> = self.chains.keys().filter(|path| !files.contains_key(*path)).cloned().collect();
        // editors replace a file by removing it first
        gone.retain(|path| self.has_settled(path, None, poll));

        let (mut touched, mut read) = (BTreeSet::new(), BTreeSet::new());
        for path in gone {
            touched.extend(self.chains.remove(&path).into_iter().flat_map(|old| old.underlyings));
            self.recorded.is_stale = true;
        }
        for (path, stamp) in changed {
            // what was read stays where the changed file cannot be used: a chain is old rather than gone
            if let Some(chains) = self.read_changed(path, stamp, poll.report) {
                touched.extend(self.chains.remove(path).into_iter().flat_map(|old| old.underlyings));
                self.take(path, stamp, chains, &mut touched, poll.batch);
                read.insert(path.clone());
            }
        }
        // every underlying of a changed file is read whole, from every file that has it
        loop {
            // a name may be in several files: a reset of it needs the rows of all
            let shares = |loaded: &Loaded| !loaded.underlyings.is_disjoint(&touched);
            let more = self.chains.iter().filter(|(path, loaded)| !read.contains(*path) && shares(loaded));
            let more: Vec<(PathBuf, FileStamp)> = more.map(|(path, loaded)| (path.clone(), loaded.stamp)).collect();
            if more.is_empty() {
                break;
            }
            for (path, stamp) in more {
                if let Ok((chains, outcome)) = read_chains(&path, self.reader) {
                    poll.report.absorb(outcome);
                    self.take(&path, stamp, chains, &mut touched, poll.batch);
                }
                read.insert(path);
            }
        }
        poll.batch.reset = touched.into_iter().collect();
        let Self { chains, folder, unusable, .. } = self;
        let is_reference = |path: &Path| REFERENCE.iter().any(|name| folder.join(name) == path);
        unusable.retain(|path| files.contains_key(path) || chains.contains_key(path) || is_reference(path));
    }

    /// Reads a changed chain file; `None` if its earlier content is better.
    fn read_changed(&mut self, path: &Path, stamp: FileStamp, report: &mut Report) -> Option<Chains> {
        let reader = self.reader;
        let (chains, mut outcome) = self.read(path, |path| read_chains(path, reader), report)?;
        if chains.quotes.is_empty() && outcome.errors.is_empty() {
            outcome.errors.push(FeedError::NoRows { file: path.to_path_buf() });
        }
        let is_usable = outcome.errors.is_empty();
        report.absorb(outcome);
        self.mark(path, is_usable);
        match self.chains.get_mut(path) {
            Some(old) if !is_usable => {
                // noted, so that a broken file is read once and not at every poll
                old.stamp = stamp;
                None
            }
            _ => Some(chains),
        }
    }

    /// Adds the records of a chain file to a batch, and keeps its stamp and reference data.
    fn take(
        &mut self,
        path: &Path,
        stamp: FileStamp,
        chains: Chains,
        touched: &mut BTreeSet<Symbol>,
        batch: &mut Batch,
    ) {
        let underlyings = self.underlyings(&chains.quotes);
        touched.extend(&underlyings);
        batch.quotes.extend(chains.quotes);
        batch.spots.extend(chains.spots);
        let Chains { dividends, dividend_cover, rates, .. } = chains;
        self.recorded.is_stale = true;
        self.chains.insert(path.to_path_buf(), Loaded { stamp, underlyings, dividends, dividend_cover, rates });
    }

    /// Dividends and rates of all recordings; a later recording overrides an earlier one.
    fn recorded(&self) -> Recorded {
        let mut all = Recorded::default();
        for loaded in self.chains.values() {
            // keyed by name and ex-date: recordings of two days have the same dividend twice
            all.dividends.extend(loaded.dividends.iter().map(|d| ((d.underlying, d.ex_date), *d)));
            all.dividend_cover.extend(&loaded.dividend_cover);
            all.rates.extend(loaded.rates.iter().map(|r| ((r.date, r.tenor_days.to_bits()), *r)));
        }
        all
    }

    /// Adds dividends and rates of recordings that no file of the folder overrides, if either has changed.
    fn add_recorded(&mut self, batch: &mut Batch) {
        let (mut new_dividends, mut new_rates) = (batch.dividends.is_some(), batch.rates.is_some());
        if self.recorded.is_stale {
            let before = mem::take(&mut self.recorded);
            self.recorded = self.recorded();
            new_dividends |= before.dividends != self.recorded.dividends;
            new_dividends |= before.dividend_cover != self.recorded.dividend_cover;
            new_rates |= before.rates != self.recorded.rates;
        }
        // what the user wrote of a name, or of rates, goes over what was recorded
        self.given_dividends = batch.dividends.take().unwrap_or_else(|| mem::take(&mut self.given_dividends));
        if new_dividends {
            let name = |dividend: &DividendRecord| self.roots.canonical(dividend.underlying);
            let given: BTreeSet<Symbol> = self.given_dividends.iter().map(name).collect();
            let others = self.recorded.dividends.values().filter(|dividend| !given.contains(&name(dividend)));
            batch.dividends = Some(self.given_dividends.iter().chain(others).copied().collect());
        }
        batch.dividend_cover = self.recorded.dividend_cover.clone();
        if new_rates && self.reference.get(RATES).copied().flatten().is_none() {
            batch.rates = Some(self.recorded.rates.values().copied().collect());
        }
    }

    /// The underlyings that the store files quotes under: that of the contract's root, and that of the spot beside it.
    fn underlyings(&self, quotes: &[QuoteRecord]) -> BTreeSet<Symbol> {
        let spelled: BTreeSet<(Symbol, Symbol)> = quotes.iter().map(|q| (q.contract.root, q.underlying)).collect();
        let filed = |(root, underlying): (Symbol, Symbol)| {
            // the root's underlying and the row's own may differ: a reset must reach both
            [self.roots.facts(root, underlying).underlying, self.roots.canonical(underlying)]
        };
        spelled.into_iter().flat_map(filed).collect()
    }

    fn poll_reference(&mut self, poll: &mut Poll<'_>) {
        let dividends = self.reread(DIVIDENDS, parse_dividends, poll);
        let rates = self.reread(RATES, parse_rates, poll);
        poll.batch.deliverables = self.reread(DELIVERABLES, parse_deliverables, poll);
        let days = self.reread(OVERRIDES, parse_days, poll);
        poll.batch.events = self.reread(EVENTS, parse_events, poll);
        (poll.batch.dividends, poll.batch.rates, poll.batch.days) = (dividends, rates, days);
    }

    /// A reference file's records if it changed; none of them if it is not there any more. `None`: as before, also
    /// where the file cannot be used as it is now.
    fn reread<T>(&mut self, name: &'static str, parse: Parse<Vec<T>>, poll: &mut Poll<'_>) -> Option<Vec<T>> {
        let path = self.folder.join(name);
        let stamp = fs::metadata(&path).ok().as_ref().map(FileStamp::of);
        let last = self.reference.get(name).copied().flatten();
        if stamp.is_none() && last.is_none() {
            self.unusable.remove(&path);
        }
        // half a file of dividends would look like a cut of them
        if last == stamp || !self.has_settled(&path, stamp, poll) {
            return None;
        }
        if stamp.is_none() {
            self.mark(&path, true);
            self.reference.insert(name, stamp);
            return Some(Vec::new());
        }
        let (records, outcome) = self.read(&path, |path| read_with(path, parse), poll.report)?;
        self.reference.insert(name, stamp);
        let is_usable = outcome.errors.is_empty();
        poll.report.absorb(outcome);
        self.mark(&path, is_usable);
        // at the start a part is better than nothing; later the whole file before is better than a part
        (is_usable || last.is_none()).then_some(records)
    }

    /// Reads a file; `None` where it cannot be read now, which is an entry of the report the first time.
    fn read<T>(
        &mut self,
        path: &Path,
        read: impl Fn(&Path) -> Result<(T, Report), FeedError>,
        report: &mut Report,
    ) -> Option<(T, Report)> {
        match read(path) {
            Ok(read) => Some(read),
            Err(error) => {
                // reported once, until it can be read again
                if self.unusable.insert(path.to_path_buf()) {
                    report.errors.push(error);
                }
                None
            }
        }
    }

    fn mark(&mut self, path: &Path, is_usable: bool) {
        if is_usable {
            self.unusable.remove(path);
        } else {
            self.unusable.insert(path.to_path_buf());
        }
    }
}

/// Dividends and rates of recordings, by name and date, and by date and tenor.
#[derive(Debug, Default)]
struct Recorded {
    dividends: BTreeMap<(Symbol, Date), DividendRecord>,
    dividend_cover: DividendCover,
    rates: BTreeMap<(Date, u64), RateRecord>,
    /// True if a recording has changed since.
    is_stale: bool,
}

/// One poll: files that were changing before it, its time, and its results.
struct Poll<'a> {
    before: &'a BTreeMap<PathBuf, (Option<FileStamp>, Duration)>,
    at: Duration,
    batch: &'a mut Batch,
    report: &'a mut Report,
}

/// Bytes of a file, whose name is for the report only, to records.
type Parse<T> = fn(&Path, &[u8]) -> (T, Report);

/// Reads, decompresses and parses a file. The readable part of a damaged file is returned, and the damage reported.
///
/// # Errors
/// It cannot be read at all, for now.
fn read_with<T: Default>(path: &Path, parse: Parse<T>) -> Result<(T, Report), FeedError> {
    let Some(raw) = read_raw(path, &limits::FILE_BYTES)? else { return Ok(too_large(path)) };
    let (bytes, damage) = decompress(path, raw);
    let (records, mut report) = parse(path, &bytes);
    report.errors.extend(damage);
    Ok((records, report))
}

/// Reads a chain file or a recording, whatever its name says.
///
/// # Errors
/// It cannot be read at all, for now.
fn read_chains(path: &Path, reader: ChainReader) -> Result<(Chains, Report), FeedError> {
    if !is_recording(path) {
        return read_with(path, reader);
    }
    // before it is opened: opening a pipe waits for a writer
    if !metadata(path)?.is_file() {
        return Err(FeedError::NotAFile { file: path.to_path_buf() });
    }
    let read = File::open(path).and_then(|file| read_recording(path, file));
    read.map_err(|e| FeedError::Io { file: path.to_path_buf(), kind: e.kind() })
}

fn too_large<T: Default>(path: &Path) -> (T, Report) {
    let errors = vec![FeedError::TooLarge { file: path.to_path_buf() }];
    (T::default(), Report { errors, ..Report::default() })
}

/// The bytes of a regular file; `None`: more than `bytes` holds.
///
/// # Errors
/// It is no regular file, or cannot be read, for now.
pub fn read_raw(path: &Path, bytes: &Bound) -> Result<Option<Vec<u8>>, FeedError> {
    // before it is opened: opening a pipe waits for a writer
    if !metadata(path)?.is_file() {
        return Err(FeedError::NotAFile { file: path.to_path_buf() });
    }
    let mut raw = Vec::new();
    let most = bytes.most as u64;
    let read = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut raw));
    match read {
        Ok(bytes) => Ok((bytes as u64 <= most).then_some(raw)),
        Err(e) => Err(FeedError::Io { file: path.to_path_buf(), kind: e.kind() }),
    }
}

/// True if a folder has a recording.
fn has_recording(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).any(|path| is_recording(&path) && is_chain_name(&path))
}

fn metadata(path: &Path) -> Result<Metadata, FeedError> {
    fs::metadata(path).map_err(|e| FeedError::Io { file: path.to_path_buf(), kind: e.kind() })
}

fn is_chain_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let hidden = name.starts_with('.');
    !hidden && (name.ends_with(".csv") || name.ends_with(".csv.gz") || is_recording(path))
}
