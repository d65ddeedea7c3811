//! A folder of recorded quotes of many days, in any readable layout: an index of names and days, the rows of a day, and
//! the chains computed from them.
//!
//! A thread reads all files when the program starts, and later new and changed ones; until then the index is unknown.
//! Never: a request, a cache.

use super::archive::DayChains;
use super::cache::RecordedDays;
use super::index::DayIndex;
use api::listing::{GatheredContracts, Listing, StrikePool};
use arc_swap::{ArcSwap, ArcSwapOption};
use history::implied_rates::{imply_day, is_european};
use history::layouts::{self, LayoutError, ReadOptions};
use history::plan::FileUnit;
use history::recipe::{self, Recipe, unit_underlying};
use history::reference::{RecordedReference, ReferenceRecords, ReferenceSet};
use history::row::HistoryRow;
use history::tables::{self, StoredChains};
use history::whole::WholenessCheck;
use host::{faults, threads};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::contract::Symbol;
use kernel::records::Batch;
use kernel::records::{Override, OverrideRecord};
use kernel::report::Report;
use sources::recorded::DayRows;
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, SystemTime};
use tools::arguments::ReferencePaths;
use tools::batch::inputs::Inputs;
use tools::batch::reference_files::ReferenceFiles;

/// Interval between scans for new and changed files.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A folder of recorded quotes.
pub struct RecordedFolder {
    path: PathBuf,
    options: ReadOptions,
    /// Reference data of the files.
    named: ReferenceSet,
    /// Reference data of the files and of the recordings.
    reference: ArcSwap<ReferenceSet>,
    /// Reference data with the discount curves that the European chains of a day imply, by day.
    by_day: Mutex<BTreeMap<Date, OfDay>>,
    found: ArcSwapOption<Found>,
    /// True once the log has reported files of Greeks with outdated reference data.
    has_logged_outdated: AtomicBool,
    strikes: Mutex<StrikePool>,
}

/// Reference data of a day with its implied rates, computed once for all requests.
#[derive(Clone, Debug)]
struct OfDay {
    /// Fingerprint of the files of the day.
    stamp: u64,
    reference: Arc<OnceLock<Arc<ReferenceSet>>>,
}

/// Number of days whose discount curves are cached.
const DAYS_MOST: usize = 1024;

/// Contents of the folder.
#[derive(Debug, Default)]
struct Found {
    /// Files of quotes, by path.
    files: BTreeMap<PathBuf, FileFacts>,
    /// Files of computed Greeks, by day, and by name if each name has its own file.
    results: Results,
    index: Arc<DayIndex>,
}

/// A file of quotes.
#[derive(Clone, Debug)]
struct FileFacts {
    /// Fingerprint of the file.
    stamp: u64,
    /// Names, days and contracts of the file.
    units: BTreeMap<(Date, Symbol), Arc<Listing>>,
    /// Dividends and rates of the file, if it is a recording.
    reference: RecordedReference,
    /// True if the file was read to its end.
    is_whole: bool,
}

impl RecordedFolder {
    /// Opens a folder and starts to index it; `overrides` is the file of overrides.
    ///
    /// # Errors
    /// Why the folder, or a file of dividends, rates or overrides in it, cannot be used, for the user.
    pub fn open(path: &Path, overrides: Option<&Path>) -> Result<Arc<Self>, String> {
        let (inputs, _) = find(path)?;
        let files = ReferencePaths { overrides: overrides.map(Path::to_path_buf), ..ReferencePaths::default() };
        let known = ReferenceFiles::read(&files, &inputs)?;
        known.notes.iter().for_each(|note| tracing::info!("{note}"));
        let folder = Arc::new(Self {
            path: path.to_path_buf(),
            options: ReadOptions { calendar: known.reference.calendar().clone(), ..ReadOptions::default() },
            reference: ArcSwap::from_pointee(known.reference.clone()),
            named: known.reference,
            by_day: Mutex::default(),
            found: ArcSwapOption::empty(),
            has_logged_outdated: AtomicBool::new(false),
            strikes: Mutex::default(),
        });
        let weak = Arc::downgrade(&folder);
        let looking = threads::spawn_lasting("folder", move || look(&weak));
        looking.map_err(|error| format!("no thread: {error}"))?;
        Ok(folder)
    }

    /// True if the folder has a day at or before `by` (`None`: any day), or is not indexed yet.
    #[must_use]
    pub fn may_have(&self, by: Option<Date>) -> bool {
        self.index().is_none() || self.last_day(by).is_some()
    }

    /// Indexes new and changed files.
    fn refresh(&self) {
        let (inputs, results) = match find(&self.path) {
            Ok(found) => found,
            Err(why) => {
                tracing::warn!("{why}");
                (Inputs::default(), BTreeMap::new())
            }
        };
        let before = self.found.load_full().unwrap_or_default();
        let mut files = BTreeMap::new();
        for file in inputs.files {
            let Some(stamp) = stamp_of(&file) else { continue };
            let known = before.files.get(&file).filter(|facts| facts.stamp == stamp);
            let facts = known.cloned().unwrap_or_else(|| self.go_through(&file, stamp));
            files.insert(file, facts);
        }
        let is_same =
            |(path, facts): (&PathBuf, &FileFacts)| before.files.get(path).is_some_and(|b| b.stamp == facts.stamp);
        if results == before.results
            && files.len() == before.files.len()
            && files.iter().all(is_same)
            && self.found.load().is_some()
        {
            return;
        }
        let mut index = DayIndex::default();
        for facts in files.values() {
            for (&(day, name), listing) in &facts.units {
                index.note(name, day, facts.stamp);
                index.note_listing(name, day, Arc::clone(listing));
            }
        }
        let days = index.days(&[]);
        if let (Some(first), Some(last)) = (days.first(), days.last()) {
            tracing::info!("{}: {} days from {first} to {last}", self.path.display(), days.len());
        }
        let recorded = self.named.with_recorded(files.values().map(|facts| &facts.reference));
        self.reference.store(Arc::new(recorded));
        self.by_day.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.found.store(Some(Arc::new(Found { files, results, index: Arc::new(index) })));
        drop(before);
        self.strikes.lock().unwrap_or_else(PoisonError::into_inner).sweep();
    }

    /// Indexes a file: its names, days and contracts.
    fn go_through(&self, file: &Path, stamp: u64) -> FileFacts {
        let mut units: BTreeMap<(Date, Symbol), GatheredContracts> = BTreeMap::new();
        let read = layouts::read(file, &self.options, &mut |row| {
            faults::here("folder.file");
            let unit = (self.day_of(&row), unit_underlying(&row, &self.named));
            units.entry(unit).or_default().add(&row.quote.contract);
        });
        let reference = read.as_ref().map(|read| read.reference.clone()).unwrap_or_default();
        let is_whole = whole(read).and_then(|report| usable(file, &report, units.is_empty()));
        let is_whole = is_whole.inspect_err(|why| tracing::warn!("{why}")).is_ok();
        let mut pool = self.strikes.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = units.into_iter().map(|(unit, contracts)| (unit, Arc::new(contracts.into_listing(&mut pool))));
        FileFacts { stamp, units: listed.collect(), reference, is_whole }
    }

    fn day_of(&self, row: &HistoryRow) -> Date {
        self.options.calendar.eastern(row.quote.ts).date()
    }

    /// Reads computed Greeks of a name and day, if they are of the same recipe and neither quotes nor reference data
    /// have changed since.
    fn result(&self, name: Symbol, day: Date, recipe: Recipe) -> Option<DayChains> {
        let found = self.found.load_full()?;
        let file = found.results.get(&(day, Some(name))).or_else(|| found.results.get(&(day, None)))?;
        let of_unit = found.files.iter().filter(|(_, facts)| facts.units.contains_key(&(day, name)));
        let changed = of_unit.map(|(quotes, _)| changed_at(quotes)).max()?;
        if changed_at(file) < changed {
            return None;
        }
        match tables::read_chains(file, (name, day), &self.reference_of(day), recipe) {
            Ok(StoredChains::Same(chains)) => (!chains.is_empty()).then(|| DayChains::new(chains)),
            Ok(StoredChains::OtherRecipe) => None,
            Ok(StoredChains::OtherReference) => {
                if !self.has_logged_outdated.swap(true, Ordering::Relaxed) {
                    let file = file.display();
                    tracing::warn!(
                        "{file}: {name} was computed with different dividends, rates or overrides than the present ones; it and \
                         all files like it are recomputed"
                    );
                }
                None
            }
            Err(why) => {
                tracing::warn!("{why}; {name} on {day} is recomputed from quotes");
                None
            }
        }
    }

    /// Returns the reference data of a day, with the given discount curves, else with those that its European chains
    /// imply.
    fn reference_of(&self, day: Date) -> Arc<ReferenceSet> {
        let reference = self.reference.load_full();
        let (Some(index), Some(stamp)) = (self.index(), self.stamp(day)) else { return reference };
        if !reference.rates().implies() {
            return reference;
        }
        let of_day = {
            let mut days = self.by_day.lock().unwrap_or_else(PoisonError::into_inner);
            if days.len() >= DAYS_MOST {
                days.pop_first();
            }
            let new = || OfDay { stamp, reference: Arc::default() };
            let of_day = days.entry(day).or_insert_with(new);
            if of_day.stamp != stamp {
                *of_day = new();
            }
            Arc::clone(&of_day.reference)
        };
        let implied = of_day.get_or_init(|| {
            let mut rows = Vec::new();
            for name in index.names(day).into_iter().filter(|&name| is_european(name, &reference)) {
                match self.read(day, Some(name), ROWS_MOST) {
                    Ok(of_name) => rows.extend(of_name),
                    Err(why) => tracing::warn!("{name} on {day} is left out of the implied rates of the day: {why}"),
                }
            }
            let mut rates = reference.rates().clone();
            imply_day(rows, &reference, &mut rates);
            Arc::new(reference.with_rates(rates))
        });
        Arc::clone(implied)
    }

    fn index(&self) -> Option<Arc<DayIndex>> {
        self.found.load().as_ref().map(|found| Arc::clone(&found.index))
    }

    /// Reads the rows of a day, of one name or of all; more than `most` rows are an error.
    fn read(&self, day: Date, name: Option<Symbol>, most: usize) -> Result<Vec<HistoryRow>, String> {
        let Some(found) = self.found.load_full() else { return Ok(Vec::new()) };
        let has = |facts: &FileFacts| match name {
            Some(name) => facts.units.contains_key(&(day, name)),
            None => facts.units.keys().any(|&(of, _)| of == day),
        };
        let mut rows = Vec::new();
        for (file, _) in found.files.iter().filter(|(_, facts)| has(facts)) {
            let is_meant = |row: &HistoryRow| {
                self.day_of(row) == day && name.is_none_or(|name| unit_underlying(row, &self.named) == name)
            };
            let read = layouts::read(file, &self.options, &mut |row| {
                if rows.len() <= most && is_meant(&row) {
                    rows.push(row);
                }
            });
            whole(read)?;
        }
        if rows.len() > most { Err(format!("more than {most} rows")) } else { Ok(rows) }
    }
}

/// Returns the report of a file that was read to its end.
///
/// # Errors
/// Where and why the reading stopped before the end.
fn whole(read: Result<layouts::Read, LayoutError>) -> Result<Report, String> {
    let report = read.map_err(|error| error.to_string())?.report;
    report.errors.first().map_or(Ok(()), |error| Err(error.to_string()))?;
    Ok(report)
}

/// Checks that a file has a usable row, or none at all.
///
/// # Errors
/// No row is usable: the first error, with a hint.
fn usable(file: &Path, report: &Report, is_empty: bool) -> Result<(), String> {
    let Some(first) = report.places.first().filter(|_| is_empty) else { return Ok(()) };
    let cure = first.reason.cure().map(|cure| format!(" ({cure})")).unwrap_or_default();
    Err(format!("{}: none of {} rows can be used, such as {first}{cure}", file.display(), report.records))
}

/// Scans the folder periodically until the archive is dropped.
fn look(folder: &Weak<RecordedFolder>) {
    while let Some(folder) = folder.upgrade() {
        faults::here("folder");
        folder.refresh();
        drop(folder);
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Files of Greeks of a folder, by day, and by name if each name has its own file.
type Results = BTreeMap<(Date, Option<Symbol>), PathBuf>;

/// Finds the files of quotes in a folder, and the files of Greeks that `greeksd batch` has written there.
fn find(path: &Path) -> Result<(Inputs, Results), String> {
    // this search is for reading, so there is no folder of results to exclude
    let mut inputs = Inputs::find(&[path.to_path_buf()], Path::new(""))?;
    let is_parquet = |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "parquet");
    let result = |file: &PathBuf| FileUnit::of(file).map(|unit| ((unit.day, unit.name), file.clone()));
    let results = inputs.files.iter().filter(is_parquet).filter_map(result).collect();
    // a file of Greeks without day and name in its path is no file of quotes either
    let is_nameless = |file: &PathBuf| file.file_stem().is_some_and(|name| name == "greeks");
    inputs.files.retain(|file| FileUnit::of(file).is_none() && !is_nameless(file));
    Ok((inputs, results))
}

/// Time of a file's last change.
fn changed_at(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).ok()?.modified().ok()
}

/// Fingerprint of a file, from its length and the time of its last change.
fn stamp_of(file: &Path) -> Option<u64> {
    let facts = fs::metadata(file).ok()?;
    let mut hasher = DefaultHasher::new();
    (file, facts.len(), facts.modified().ok()).hash(&mut hasher);
    Some(hasher.finish())
}

impl DayRows for RecordedFolder {
    fn files_unusable(&self) -> usize {
        self.found.load().as_ref().map_or(0, |found| found.files.values().filter(|facts| !facts.is_whole).count())
    }

    fn last_day(&self, by: Option<Date>) -> Option<(Date, u64)> {
        let days = self.index()?.days(&[]);
        let last = days.into_iter().rfind(|&day| by.is_none_or(|by| day <= by))?;
        Some((last, self.stamp(last)?))
    }

    fn stamp(&self, day: Date) -> Option<u64> {
        let index = self.index()?;
        let mut hasher = DefaultHasher::new();
        let names = index.names(day);
        names.iter().for_each(|&name| index.stamp(name, day).hash(&mut hasher));
        (!names.is_empty()).then(|| hasher.finish())
    }

    fn rows(&self, day: Date, until: Timestamp, most: usize) -> Result<Vec<HistoryRow>, String> {
        let mut rows = self.read(day, None, most)?;
        rows.retain(|row| row.quote.ts <= until);
        Ok(rows)
    }

    fn reference(&self) -> Batch {
        let reference = self.reference.load_full();
        let ReferenceRecords { dividends, rates, days, overrides, events, .. } = reference.records().clone();
        let is_deliverable = |record: &OverrideRecord| matches!(record.what, Override::Deliverable(..));
        let deliverables = overrides.into_iter().filter(is_deliverable).collect();
        Batch {
            dividends: Some(dividends),
            deliverables: Some(deliverables),
            rates: Some(rates),
            days: Some(days),
            events: Some(events),
            ..Batch::default()
        }
    }
}

/// Computes the chains of recorded days.
pub struct ComputedDays {
    folder: Arc<RecordedFolder>,
    recipe: Recipe,
}

/// Maximum rows of one name and day in memory: about a gigabyte.
const ROWS_MOST: usize = 10_000_000;

impl ComputedDays {
    /// Computes the chains of a folder; `quotes`: chains show their quotes.
    #[must_use]
    pub fn new(folder: Arc<RecordedFolder>, quotes: bool) -> Self {
        Self { folder, recipe: Recipe { quotes, ..Recipe::default() } }
    }
}

impl RecordedDays for ComputedDays {
    fn index(&self) -> Option<Arc<DayIndex>> {
        self.folder.index()
    }

    fn compute(&self, name: Symbol, day: Date) -> Result<DayChains, String> {
        if let Some(chains) = self.folder.result(name, day, self.recipe) {
            return Ok(chains);
        }
        let at = |why: String| format!("{name} on {day}: {why}");
        let mut rows = self.folder.read(day, Some(name), ROWS_MOST).map_err(at)?;
        let order = |row: &HistoryRow| {
            let contract = &row.quote.contract;
            (row.quote.ts, contract.expiry, contract.root, contract.strike_milli, contract.right)
        };
        rows.sort_by_key(order);
        let mut check = WholenessCheck::default();
        rows.iter().for_each(|row| check.take(row));
        if let (_, Some(fault)) = check.finish() {
            return Err(at(fault.to_string()));
        }
        let chains = recipe::compute(&rows, Timestamp::MAX, &self.folder.reference_of(day), self.recipe);
        chains.map(DayChains::new).map_err(|fault| at(fault.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_another_one_where_a_file_has_changed() {
        let file = std::env::temp_dir().join(format!("greeksd-stamp-{}", std::process::id()));
        fs::write(&file, "a").unwrap();
        let before = stamp_of(&file);
        assert!(before.is_some() && before == stamp_of(&file));
        fs::write(&file, "ab").unwrap();
        assert_ne!(before, stamp_of(&file));
        fs::remove_file(&file).unwrap();
        assert_eq!(stamp_of(&file), None);
    }
}
