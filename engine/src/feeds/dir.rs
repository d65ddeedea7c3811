//! A market folder: `chains/*.csv[.gz]` or one such file, beside them `dividends.csv`, `rates.csv` and
//! `overrides.csv`, all three optional.
//!
//! A poll reads what changed since the last one (by time of change and length) and hands over whole underlyings, so that
//! a contract which left its file leaves the market too. Never: a clock, a computation.

use super::Batch;
use super::chains::parse_chains;
use super::csv::decompress;
use super::reference::{parse_days, parse_dividends, parse_rates};
use super::report::Report;
use crate::contract::Symbol;
use crate::error::FeedError;
use crate::limits;
use core::mem;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const DIVIDENDS: &str = "dividends.csv";
const RATES: &str = "rates.csv";
const OVERRIDES: &str = "overrides.csv";

/// A market folder that is read again where it changes.
#[derive(Debug)]
pub struct DirFeed {
    source: Source,
    /// Where dividends, rates and overrides are.
    folder: PathBuf,
    /// What was read of each chain file.
    chains: BTreeMap<PathBuf, Loaded>,
    /// The state that each reference file was read in; a file that is not there has none.
    reference: BTreeMap<&'static str, Option<Stamp>>,
}

#[derive(Debug)]
enum Source {
    Folder(PathBuf),
    File(PathBuf),
}

#[derive(Debug)]
struct Loaded {
    stamp: Stamp,
    underlyings: BTreeSet<Symbol>,
}

/// By what a changed file is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    changed: Option<SystemTime>,
    bytes: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self { changed: metadata.modified().ok(), bytes: metadata.len() }
    }
}

impl DirFeed {
    /// Finds the parts of a market folder, or of one chain file and the files beside it (one folder up, if it lies in a
    /// folder `chains`). Nothing is read yet.
    ///
    /// # Errors
    /// There is no such path, or no chain file in the folder.
    pub fn open(path: &Path) -> Result<Self, FeedError> {
        let found = |source, folder: &Path| {
            let folder = folder.to_path_buf();
            Ok(Self { source, folder, chains: BTreeMap::new(), reference: BTreeMap::new() })
        };
        if !metadata(path)?.is_dir() {
            let folder = path.parent().unwrap_or(Path::new("."));
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
            None => Err(FeedError::NoChains { folder: path.to_path_buf() }),
        }
    }

    /// Reads what changed since the last call: the first time everything. `None`: nothing did.
    ///
    /// A file that cannot be used is an entry of the report and is tried again when it changes.
    ///
    /// # Errors
    /// The folder itself cannot be listed; the next call tries again.
    pub fn poll(&mut self) -> Result<Option<(Batch, Report)>, FeedError> {
        let files = self.list()?;
        let (mut batch, mut report) = (Batch::default(), Report::default());
        let reference = self.poll_reference(&mut batch, &mut report);
        let chains = self.poll_chains(&files, &mut batch, &mut report);
        Ok((reference || chains).then_some((batch, report)))
    }

    /// The chain files and their states, by name.
    fn list(&self) -> Result<BTreeMap<PathBuf, Stamp>, FeedError> {
        let folder = match &self.source {
            Source::File(file) => return Ok(BTreeMap::from([(file.clone(), Stamp::of(&metadata(file)?))])),
            Source::Folder(folder) => folder,
        };
        let entries = fs::read_dir(folder).map_err(|e| FeedError::Io { file: folder.clone(), kind: e.kind() })?;
        // A file that vanishes between listing and asking is gone, which is no error.
        let paths = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| is_chain_name(path));
        let stamped =
            paths.filter_map(|path| Some((Stamp::of(&fs::metadata(&path).ok().filter(Metadata::is_file)?), path)));
        Ok(stamped.map(|(stamp, path)| (path, stamp)).collect())
    }

    fn poll_chains(&mut self, files: &BTreeMap<PathBuf, Stamp>, batch: &mut Batch, report: &mut Report) -> bool {
        let is_changed = |path: &Path, stamp| self.chains.get(path).is_none_or(|old| old.stamp != stamp);
        let mut unread: BTreeSet<PathBuf> =
            files.iter().filter(|&(path, stamp)| is_changed(path, *stamp)).map(|(path, _)| path.clone()).collect();
        let gone: Vec<PathBuf> = self.chains.keys().filter(|path| !files.contains_key(*path)).cloned().collect();
        let any = !unread.is_empty() || !gone.is_empty();

        let mut touched = BTreeSet::new();
        for path in unread.iter().chain(&gone) {
            touched.extend(self.chains.remove(path).into_iter().flat_map(|old| old.underlyings));
        }
        // Whatever a changed file has to do with is read whole, from every file that has it.
        let mut read = BTreeSet::new();
        loop {
            for path in mem::take(&mut unread) {
                let (chains, outcome) = read_with(&path, parse_chains);
                report.absorb(outcome);
                let underlyings: BTreeSet<Symbol> = chains.quotes.iter().map(|q| q.underlying).collect();
                touched.extend(&underlyings);
                batch.quotes.extend(chains.quotes);
                batch.spots.extend(chains.spots);
                self.chains.insert(path.clone(), Loaded { stamp: files[&path], underlyings });
                read.insert(path);
            }
            let shares = |loaded: &Loaded| !loaded.underlyings.is_disjoint(&touched);
            let more = self.chains.iter().filter(|(path, loaded)| !read.contains(*path) && shares(loaded));
            unread.extend(more.map(|(path, _)| path.clone()));
            if unread.is_empty() {
                break;
            }
        }
        batch.reset = touched.into_iter().collect();
        any
    }

    fn poll_reference(&mut self, batch: &mut Batch, report: &mut Report) -> bool {
        let dividends = self.reread(DIVIDENDS, parse_dividends, report);
        let rates = self.reread(RATES, parse_rates, report);
        let days = self.reread(OVERRIDES, parse_days, report);
        let any = dividends.is_some() || rates.is_some() || days.is_some();
        (batch.dividends, batch.rates, batch.days) = (dividends, rates, days);
        any
    }

    /// A reference file's records if it changed; none of them if it is not there any more.
    fn reread<T>(&mut self, name: &'static str, parse: Parse<Vec<T>>, report: &mut Report) -> Option<Vec<T>> {
        let path = self.folder.join(name);
        let stamp = fs::metadata(&path).ok().as_ref().map(Stamp::of);
        let last = self.reference.insert(name, stamp).flatten();
        if last == stamp {
            return None;
        }
        if stamp.is_none() {
            return Some(Vec::new());
        }
        let (records, outcome) = read_with(&path, parse);
        report.absorb(outcome);
        Some(records)
    }
}

/// Bytes of a file, whose name is for the report only, to records.
type Parse<T> = fn(&Path, &[u8]) -> (T, Report);

/// Reads, decompresses and parses a file. What can be read of a damaged file is served, and the damage reported.
fn read_with<T: Default>(path: &Path, parse: Parse<T>) -> (T, Report) {
    let failed = |error| (T::default(), Report { errors: vec![error], ..Report::default() });
    match metadata(path) {
        Ok(found) if limits::FILE_BYTES.holds(found.len() as f64) => {}
        Ok(_) => return failed(FeedError::TooLarge { file: path.to_path_buf() }),
        Err(error) => return failed(error),
    }
    let raw = match fs::read(path) {
        Ok(raw) => raw,
        Err(e) => return failed(FeedError::Io { file: path.to_path_buf(), kind: e.kind() }),
    };
    let (bytes, damage) = decompress(path, raw);
    let (records, mut report) = parse(path, &bytes);
    report.errors.extend(damage);
    (records, report)
}

fn metadata(path: &Path) -> Result<Metadata, FeedError> {
    fs::metadata(path).map_err(|e| FeedError::Io { file: path.to_path_buf(), kind: e.kind() })
}

fn is_chain_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let hidden = name.starts_with('.');
    !hidden && (name.ends_with(".csv") || name.ends_with(".csv.gz"))
}
