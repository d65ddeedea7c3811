//! A job from its first file to its last: gathers and sorts rows, finds units, plans files, keeps existing ones,
//! computes and writes the others. A job that is killed at any moment and started again ends with the same bytes.
//! Never: a clock, an argument.

use crate::gather::{Gathered, InputFacts, RowSource, gather};
use crate::implied_rates::{imply, is_european};
use crate::manifest::{MANIFEST, Manifest, ManifestEntry, job_folder};
use crate::output::FileForm;
use crate::plan::{FilePlan, FileUnit, OutputLayout, plan_files};
use crate::recipe::{Recipe, VERSION, unit_underlying};
use crate::reference::ReferenceSet;
use crate::row::HistoryRow;
use crate::spill::RunFolder;
use crate::tally::{UnitCounts, UnitDoubt, UnitFailure};
use crate::unit::{HistoryUnit, UnitIndex};
use crate::watch::{JobPhase, JobWatch};
use crate::whole::UnitFault;
use crate::work::{Work, path_in, remove_old};
use engine::rates::source::RateOrigin;
use engine::rates::table::RateTable;
use jiff::Timestamp;
use jiff::civil::Date;
use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The folder for unfinished files, in that of the outputs; a job removes it at its end.
pub const WORK: &str = "_work";
const LOCK: &str = "lock";
/// The sorted rows, in the folder for unfinished files.
const SORTED: &str = "sorted";
const SORTED_FOR_RATES: &str = "sorted-for-rates";
/// Rows between two reports of progress while they are sorted.
const ROWS_A_REPORT: u64 = 1 << 16;

/// Inputs and settings of a job.
pub struct HistoryJob<'a> {
    /// Files of quotes.
    pub inputs: &'a [PathBuf],
    /// Files of quotes whose European chains imply the discount curves, in place of the inputs; empty: the inputs.
    pub rates_from: &'a [PathBuf],
    /// The folder of the outputs; created if missing.
    pub out: &'a Path,
    /// Reference data beside the quotes.
    pub reference: &'a ReferenceSet,
    /// Settings of the computation.
    pub recipe: Recipe,
    /// Folders and names of the outputs.
    pub layout: OutputLayout,
    /// The form of the outputs.
    pub form: &'a dyn FileForm,
    /// Threads that read and compute.
    pub threads: usize,
    /// True if incomplete chains are computed too.
    pub allows_partial: bool,
    /// Reads a file.
    pub read: &'a RowSource<'a>,
    /// Receives progress, and stops the job.
    pub watch: &'a dyn JobWatch,
}

/// Outcome of a job.
#[derive(Debug, Default)]
pub struct JobOutcome {
    /// The files that were read.
    pub inputs: Vec<InputFacts>,
    /// Rows read.
    pub rows: u64,
    /// Rows that duplicate the quote of a contract at one time.
    pub duplicates: u64,
    /// Units that were computed.
    pub done: u64,
    /// Units of files that were there already.
    pub skipped: u64,
    /// Units that could not be computed, by day and underlying.
    pub failed: Vec<UnitFailure>,
    /// Units of which something is doubted, by day and underlying.
    pub doubted: Vec<UnitDoubt>,
    /// Files that were written.
    pub files: u64,
    /// Files that were there already.
    pub files_skipped: u64,
    /// Source of the discount curve at the end of each day.
    pub rates: Vec<(Date, RateOrigin)>,
    /// Counts over the computed units.
    pub counts: UnitCounts,
    /// True if the job was stopped before its end.
    pub is_stopped: bool,
}

/// An error that ends a job.
#[derive(Debug)]
pub enum JobError {
    /// Something could not be read or written.
    Io {
        /// The operation.
        what: &'static str,
        /// The system's error.
        cause: io::Error,
    },
    /// Another job writes to the same folder.
    Busy,
    /// The folder has files of an earlier version.
    EarlierVersion,
    /// The folder has files of this other layout.
    OtherLayout(OutputLayout),
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { what, cause } => write!(f, "{what}: {cause}"),
            Self::Busy => f.write_str("another job writes to this folder"),
            Self::EarlierVersion => {
                write!(f, "the folder has a {MANIFEST}, so its files are of an earlier version: name another folder")
            }
            Self::OtherLayout(layout) => {
                let name = layout.name();
                write!(f, "the folder has files of --layout {name}: give that layout, or another folder")
            }
        }
    }
}

impl std::error::Error for JobError {}

fn tried(what: &'static str) -> impl FnOnce(io::Error) -> JobError {
    move |cause| JobError::Io { what, cause }
}

/// Runs a job.
///
/// # Errors
/// The folder of outputs cannot be written to, or another job writes to it. Errors of inputs are in the outcome.
pub fn run(job: &HistoryJob<'_>) -> Result<JobOutcome, JobError> {
    let work = WorkFolder::open(job.out)?;
    if job.out.join(MANIFEST).exists() {
        return Err(JobError::EarlierVersion);
    }
    let own = job_folder(job.out);
    fs::create_dir_all(&own).map_err(tried("making the folder of the manifest"))?;
    let mut manifest = Manifest::open(&own).map_err(tried("reading the manifest"))?;
    let layouts = manifest.files().filter_map(|file| Some(FileUnit::of(Path::new(file))?.layout));
    if let Some(other) = layouts.into_iter().find(|&layout| layout != job.layout) {
        return Err(JobError::OtherLayout(other));
    }
    let sorted = work.path.join(SORTED);
    let runs = RunFolder::new(&work.path);
    let gathered = gather(job.inputs, job.threads, job.reference, &runs, job.read, job.watch);
    let Gathered { files, damaged } = gathered.map_err(tried("writing rows to be sorted"))?;
    let rows = files.iter().map(|file| file.rows).sum();
    let mut outcome = JobOutcome { inputs: files, rows, ..JobOutcome::default() };
    if job.watch.is_stopped() {
        outcome.is_stopped = true;
        return Ok(outcome);
    }
    let mut index = UnitIndex::new(&damaged, job.allows_partial);
    let kept = sort(job, rows, runs, &sorted, &mut index).map_err(tried("sorting rows"))?;
    outcome.duplicates = rows - kept;
    let mut units = index.finish();
    let recorded = job.reference.with_recorded(outcome.inputs.iter().map(|file| &file.read.reference));
    let rates = implied(job, &recorded, &units, &work.path).map_err(tried("reading rows for rates"))?;
    let reference = recorded.with_rates(rates);
    units.iter_mut().for_each(|unit| unit.refer_to(&reference));
    let days: BTreeSet<Date> = units.iter().map(|unit| unit.day).collect();
    outcome.rates = days.iter().map(|&day| (day, reference.rates().on(Timestamp::MAX, day).origin)).collect();
    outcome.failed = units.iter().filter_map(failure_of).collect();
    let made_by = made_by(job);
    let plans = plan_files(&units, job.layout, job.form.extension());
    let plans = missing_or_outdated(job, &units, plans, &made_by, &mut manifest, &mut outcome)?;

    let of_plans = plans.iter().flat_map(|plan| &plan.units).map(|&unit| units[unit].rows);
    job.watch.begin(JobPhase::Computing, of_plans.sum());
    let (out, work_path, sorted) = (job.out, &*work.path, &*sorted);
    let HistoryJob { recipe, form, watch, .. } = *job;
    let (units, plans, made_by) = (&*units, &*plans, &*made_by);
    let all = Work { out, work: work_path, sorted, reference: &reference, recipe, form, units, plans, made_by, watch };
    let worked = all.run(job.threads, &mut manifest).map_err(tried("computing and writing"))?;
    manifest.write().map_err(tried("writing the manifest"))?;
    (outcome.counts, outcome.done, outcome.files) = (worked.counts, worked.units, worked.files);
    outcome.doubted = worked.doubted;
    outcome.doubted.sort_by_key(|doubt| (doubt.day, doubt.underlying));
    outcome.failed.extend(worked.failed);
    outcome.failed.sort_by_key(|failure| (failure.day, failure.underlying));
    outcome.is_stopped = job.watch.is_stopped();
    Ok(outcome)
}

/// The discount curves of a job: the given ones, and for other days those that European chains imply.
fn implied(
    job: &HistoryJob<'_>,
    reference: &ReferenceSet,
    units: &[HistoryUnit],
    work: &Path,
) -> io::Result<RateTable> {
    let mut rates = reference.rates().clone();
    if !rates.implies() {
        return Ok(rates);
    }
    if job.rates_from.is_empty() {
        imply(units, &work.join(SORTED), reference, &mut rates)?;
        return Ok(rates);
    }
    let runs = RunFolder::new(work);
    let days: BTreeSet<Date> = units.iter().map(|unit| unit.day).collect();
    let wanted = |row: &HistoryRow| {
        days.contains(&reference.calendar().eastern(row.quote.ts).date())
            && is_european(unit_underlying(row, reference), reference)
    };
    let read = |file: &Path, take: &mut dyn FnMut(HistoryRow)| {
        (job.read)(file, &mut |row| {
            if wanted(&row) {
                take(row);
            }
        })
    };
    let gathered = gather(job.rates_from, job.threads, reference, &runs, &read, job.watch)?;
    let mut index = UnitIndex::new(&gathered.damaged, job.allows_partial);
    let sorted = work.join(SORTED_FOR_RATES);
    runs.merge(&sorted, |row| if index.take(row) { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) })?;
    imply(&index.finish(), &sorted, reference, &mut rates)?;
    fs::remove_file(&sorted)?;
    Ok(rates)
}

fn failure_of(unit: &HistoryUnit) -> Option<UnitFailure> {
    unit.fault.as_ref().map(|fault| UnitFailure::new(unit, (**fault).clone()))
}

/// Merges the sorted runs, and finds the units. Returns the number of rows.
fn sort(job: &HistoryJob<'_>, rows: u64, runs: RunFolder, sorted: &Path, index: &mut UnitIndex<'_>) -> io::Result<u64> {
    job.watch.begin(JobPhase::Sorting, rows);
    let mut n = 0;
    let kept = runs.merge(sorted, |row| {
        n += 1;
        if n % ROWS_A_REPORT == 0 {
            job.watch.advance(ROWS_A_REPORT, 0);
        }
        if index.take(row) { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    })?;
    job.watch.advance(kept % ROWS_A_REPORT, 0);
    Ok(kept)
}

/// The settings, common to all files of a job, on which the bytes of a file depend.
fn made_by(job: &HistoryJob<'_>) -> String {
    let Recipe { quality, quotes } = job.recipe;
    let quotes = if quotes { "with quotes" } else { "without quotes" };
    format!("greeksd {} recipe {VERSION} {} {quotes}", env!("CARGO_PKG_VERSION"), quality.name())
}

/// The planned files that are missing or out of date. Removes files of units that can no longer be computed.
fn missing_or_outdated(
    job: &HistoryJob<'_>,
    units: &[HistoryUnit],
    plans: Vec<FilePlan>,
    made_by: &str,
    manifest: &mut Manifest,
    outcome: &mut JobOutcome,
) -> Result<Vec<FilePlan>, JobError> {
    let mut left = Vec::new();
    for plan in plans {
        let path = path_in(job.out, &plan.file);
        if plan.units.is_empty() {
            remove_old(&path).map_err(tried("removing a file whose units are faulty"))?;
            manifest.remove(&plan.file);
            continue;
        }
        let is_same = |entry: &&ManifestEntry| {
            let there = fs::metadata(&path).map_or(0, |file| file.len());
            let is_there = entry.bytes == there && (there == 0 || job.form.has_rest(&plan.file));
            entry.from == plan.from.to_string() && entry.made_by == made_by && is_there
        };
        match manifest.get(&plan.file).filter(is_same) {
            None => left.push(plan),
            Some(entry) => {
                let has_failed =
                    |unit: &HistoryUnit| entry.failed.split(' ').any(|name| name == unit.underlying.as_str());
                let of_plan = plan.units.iter().map(|&unit| &units[unit]);
                let failed: Vec<UnitFailure> = of_plan
                    .filter(|unit| has_failed(unit))
                    .map(|unit| UnitFailure::new(unit, UnitFault::Computation))
                    .collect();
                outcome.skipped += (plan.units.len() - failed.len()) as u64;
                outcome.files_skipped += u64::from(entry.bytes > 0);
                outcome.failed.extend(failed);
            }
        }
    }
    Ok(left)
}

/// The folder for a job's unfinished files; removed when the job ends, or emptied by the next one.
struct WorkFolder {
    path: PathBuf,
    /// The lock of this job; the system releases it however the job ends.
    _lock: File,
}

impl WorkFolder {
    fn open(out: &Path) -> Result<Self, JobError> {
        let path = out.join(WORK);
        fs::create_dir_all(&path).map_err(tried("making the folder of outputs"))?;
        let file = File::options().create(true).append(true).open(path.join(LOCK));
        let lock = file.map_err(tried("writing to the folder of outputs"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JobError::Busy),
            Err(TryLockError::Error(cause)) => return Err(tried("locking the folder of outputs")(cause)),
        }
        let folder = Self { path, _lock: lock };
        folder.empty().map_err(tried("removing what an earlier job left"))?;
        Ok(folder)
    }

    /// Removes files that a killed job left.
    fn empty(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name != LOCK) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
