//! Computes and writes planned files. Several threads take units in their order; a unit that is computed before its
//! turn in a shared file waits, within a bound on the rows that wait. Never: the rules of units.

use crate::manifest::{Manifest, ManifestEntry};
use crate::output::{FileAbout, FileForm, UnfinishedFile};
use crate::packed::PackedRow;
use crate::plan::FilePlan;
use crate::recipe::{Recipe, UnitPasses};
use crate::reference::ReferenceSet;
use crate::reference_digest::digest_words;
use crate::row::HistoryRow;
use crate::spill::SortedRows;
use crate::tally::{UnitCounts, UnitDoubt, UnitFailure};
use crate::unit::HistoryUnit;
use crate::watch::JobWatch;
use crate::whole::UnitFault;
use engine::explain::doubts_of;
use engine::store::chain::Chain;
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::american::SharedBoundaries;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Greatest number of computed rows that wait for their turn, approximately; a row takes 250 bytes.
const ROWS_WAITING: u64 = 300_000;
/// Interval of the checks whether the job is to end.
const PATIENCE: Duration = Duration::from_millis(100);

/// State that all threads share.
pub(crate) struct Work<'a> {
    pub(crate) out: &'a Path,
    /// The folder of unfinished files.
    pub(crate) work: &'a Path,
    pub(crate) sorted: &'a Path,
    pub(crate) reference: &'a ReferenceSet,
    pub(crate) recipe: Recipe,
    pub(crate) form: &'a dyn FileForm,
    pub(crate) units: &'a [HistoryUnit],
    pub(crate) plans: &'a [FilePlan],
    pub(crate) made_by: &'a str,
    pub(crate) watch: &'a dyn JobWatch,
}

/// Outcome of the work.
#[derive(Debug, Default)]
pub(crate) struct WorkOutcome {
    pub(crate) counts: UnitCounts,
    pub(crate) failed: Vec<UnitFailure>,
    pub(crate) doubted: Vec<UnitDoubt>,
    /// Units that were computed.
    pub(crate) units: u64,
    /// Files that were written.
    pub(crate) files: u64,
    /// The first error of reading or writing.
    error: Option<io::Error>,
}

/// Position of a unit: file index and index within the file.
#[derive(Clone, Copy)]
struct UnitPosition {
    plan: usize,
    place: usize,
}

/// An unfinished file that names share.
#[derive(Default)]
struct SharedFile {
    /// Units computed before those that precede them in the file.
    ready: BTreeMap<usize, Option<Arc<Chain>>>,
    next: usize,
    is_writing: bool,
    file: Option<UnfinishedFile>,
    contracts: u64,
    failed: Vec<UnitFailure>,
}

impl Work<'_> {
    /// Computes and writes every planned file on `threads` threads.
    pub(crate) fn run(&self, threads: usize, manifest: &mut Manifest) -> io::Result<WorkOutcome> {
        let positions: Vec<UnitPosition> = self
            .plans
            .iter()
            .enumerate()
            .flat_map(|(plan, of)| (0..of.units.len()).map(move |place| UnitPosition { plan, place }))
            .collect();
        let pool = WorkerPool {
            work: self,
            positions: &positions,
            next: AtomicUsize::new(0),
            shared: self.plans.iter().map(|_| Mutex::default()).collect(),
            waiting: Mutex::new(0),
            freed: Condvar::new(),
            boundaries: SharedBoundaries::default(),
            manifest: Mutex::new(manifest),
            done: Mutex::default(),
            has_failed: AtomicBool::new(false),
            days: Mutex::new(self.days()),
            day_is_done: Condvar::new(),
        };
        std::thread::scope(|scope| {
            let threads = threads.clamp(1, positions.len().max(1));
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| pool.run_worker())).collect();
            let ended = workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))));
            ended.collect::<io::Result<Vec<()>>>()
        })?;
        let mut done = pool.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        // the order must not depend on threads
        done.failed.sort_by_key(|failure| (failure.day, failure.underlying));
        match done.error.take() {
            Some(error) => Err(error),
            None => Ok(done),
        }
    }

    /// The day of a file.
    fn day_of(&self, plan: &FilePlan) -> Option<Date> {
        plan.units.first().map(|&unit| self.units[unit].day)
    }

    /// The number of files of each day.
    fn days(&self) -> BTreeMap<Date, usize> {
        let mut days = BTreeMap::new();
        self.plans.iter().filter_map(|plan| self.day_of(plan)).for_each(|day| *days.entry(day).or_default() += 1);
        days
    }
}

struct WorkerPool<'a, 'm> {
    work: &'a Work<'a>,
    positions: &'a [UnitPosition],
    next: AtomicUsize,
    /// Shared files, by plan.
    shared: Vec<Mutex<SharedFile>>,
    /// Rows of computed units that wait to be written.
    waiting: Mutex<u64>,
    freed: Condvar,
    /// Exercise boundaries that names share, whichever thread computes them.
    boundaries: SharedBoundaries,
    manifest: Mutex<&'m mut Manifest>,
    done: Mutex<WorkOutcome>,
    has_failed: AtomicBool,
    /// Number of files of each day that are left.
    days: Mutex<BTreeMap<Date, usize>>,
    day_is_done: Condvar,
}

/// Ends the work of all threads where one panics: others may wait for its file.
struct EndsAll<'a>(&'a AtomicBool);

impl Drop for EndsAll<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WorkerPool<'_, '_> {
    /// Runs one worker thread until no unit is left.
    fn run_worker(&self) -> io::Result<()> {
        let _ends_all = EndsAll(&self.has_failed);
        let mut passes = UnitPasses::new(self.work.reference, self.work.recipe)?;
        passes.share(self.boundaries.clone());
        while self.wait_for_room() {
            let Some(&position) = self.positions.get(self.next.fetch_add(1, Ordering::Relaxed)) else { break };
            let plan = &self.work.plans[position.plan];
            let unit = &self.work.units[plan.units[position.place]];
            let done = if plan.is_of_name {
                self.own_file(&mut passes, plan, unit)
            } else {
                self.share(&mut passes, position, unit)
            };
            if let Err(error) = done {
                lock(&self.done).error.get_or_insert(error);
                self.has_failed.store(true, Ordering::Release);
                self.freed.notify_all();
                break;
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.work.watch.is_stopped() || self.has_failed.load(Ordering::Acquire)
    }

    /// Waits while too many rows wait for their turn. Returns false if the work is to end. A thread that waits here has
    /// taken no unit, so that every unit that others wait for is being computed.
    fn wait_for_room(&self) -> bool {
        let mut waiting = lock(&self.waiting);
        while *waiting > ROWS_WAITING && !self.is_over() {
            waiting = self.freed.wait_timeout(waiting, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        }
        !self.is_over()
    }

    /// Computes a name that was quoted several times, chain after chain, into a file of its own.
    fn own_file(&self, passes: &mut UnitPasses<'_>, plan: &FilePlan, unit: &HistoryUnit) -> io::Result<()> {
        let mut file = self.create(plan)?;
        let mut contracts = 0;
        let outcome = self.compute(passes, unit, &mut |chain| {
            contracts += u64::from(chain.rows());
            file.chain(&chain)
        })?;
        match outcome {
            Outcome::Stopped => file.discard(),
            Outcome::Failed(fault) => {
                file.discard()?;
                let failed = vec![UnitFailure::new(unit, fault)];
                self.enter(plan, 0, 0, &failed)?;
                lock(&self.done).failed.extend(failed);
                Ok(())
            }
            Outcome::Computed => self.finish(plan, file, contracts, &[]),
        }
    }

    /// Computes a name that was quoted once, and writes the units of the shared file whose turn has come.
    fn share(&self, passes: &mut UnitPasses<'_>, position: UnitPosition, unit: &HistoryUnit) -> io::Result<()> {
        let mut chain = None;
        let outcome = self.compute(passes, unit, &mut |computed| {
            chain = Some(computed);
            Ok(())
        })?;
        let mut shared = lock(&self.shared[position.plan]);
        match outcome {
            Outcome::Stopped => return Ok(()),
            Outcome::Failed(fault) => shared.failed.push(UnitFailure::new(unit, fault)),
            Outcome::Computed => {}
        }
        *lock(&self.waiting) += rows_of(chain.as_ref());
        shared.ready.insert(position.place, chain);
        self.write_ready(shared, position.plan)
    }

    /// Writes the units whose turn has come, unless another thread is writing them already.
    fn write_ready<'s>(&'s self, mut shared: MutexGuard<'s, SharedFile>, plan: usize) -> io::Result<()> {
        if std::mem::replace(&mut shared.is_writing, true) {
            return Ok(());
        }
        let of = &self.work.plans[plan];
        let mut file = match shared.file.take() {
            Some(file) => file,
            None => self.create(of)?,
        };
        loop {
            let next = shared.next;
            let Some(chain) = shared.ready.remove(&next) else { break };
            shared.next += 1;
            shared.contracts += rows_of(chain.as_ref());
            drop(shared);
            *lock(&self.waiting) -= rows_of(chain.as_ref());
            self.freed.notify_all();
            chain.iter().try_for_each(|chain| file.chain(chain))?;
            shared = lock(&self.shared[plan]);
        }
        shared.is_writing = false;
        if shared.next < of.units.len() {
            shared.file = Some(file);
            return Ok(());
        }
        let (contracts, mut failed) = (shared.contracts, std::mem::take(&mut shared.failed));
        drop(shared);
        failed.sort_by_key(|failure| failure.underlying);
        self.finish(of, file, contracts, &failed)?;
        lock(&self.done).failed.extend(failed);
        Ok(())
    }

    fn create(&self, plan: &FilePlan) -> io::Result<UnfinishedFile> {
        let unfinished = self.work.work.join(plan.file.replace('/', "_"));
        let known = digest_words(
            plan.units.iter().map(|&unit| (self.work.units[unit].underlying, self.work.units[unit].known)),
        );
        let origin = |day| self.work.reference.rates().on(Timestamp::MAX, day).origin.to_string();
        let rates = self.work.day_of(plan).map(origin).unwrap_or_default();
        let about = FileAbout { file: plan.file.clone(), known, rates };
        UnfinishedFile::create(self.work.form, &about, unfinished, path_in(self.work.out, &plan.file))
    }

    /// Moves a file to its place, or discards it if it has no rows, and enters it into the manifest.
    fn finish(&self, plan: &FilePlan, file: UnfinishedFile, contracts: u64, failed: &[UnitFailure]) -> io::Result<()> {
        if !self.wait_for_earlier_days(plan) {
            return file.discard();
        }
        let bytes = if contracts > 0 {
            file.finish()?
        } else {
            file.discard()?;
            0
        };
        lock(&self.done).files += u64::from(contracts > 0);
        self.enter(plan, bytes, contracts, failed)
    }

    /// Waits for the files of earlier days, if the form asks for that order. Returns false if the work is to end.
    /// Threads take units by day, so every unit that a file waits for is being computed or written.
    fn wait_for_earlier_days(&self, plan: &FilePlan) -> bool {
        let mut days = lock(&self.days);
        let day = self.work.day_of(plan).filter(|_| self.work.form.is_in_order());
        while day.is_some_and(|day| days.range(..day).next().is_some()) {
            if self.is_over() {
                return false;
            }
            days = self.day_is_done.wait_timeout(days, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Counts a file of a day as done.
    fn leave_day(&self, plan: &FilePlan) {
        let mut days = lock(&self.days);
        if let Some(day) = self.work.day_of(plan)
            && let Some(left) = days.get_mut(&day)
        {
            *left -= 1;
            if *left == 0 {
                days.remove(&day);
                self.day_is_done.notify_all();
            }
        }
    }

    /// Enters a file that was written, or that has no rows, into the manifest.
    fn enter(&self, plan: &FilePlan, bytes: u64, contracts: u64, failed: &[UnitFailure]) -> io::Result<()> {
        self.leave_day(plan);
        if contracts == 0 {
            remove_old(&path_in(self.work.out, &plan.file))?;
        }
        let names: Vec<&str> = failed.iter().map(|failure| failure.underlying.as_str()).collect();
        let (from, made_by) = (plan.from.to_string(), self.work.made_by.to_owned());
        let entry = ManifestEntry { from, made_by, bytes, contracts, failed: names.join(" ") };
        lock(&self.manifest).add(plan.file.clone(), entry)
    }

    /// Computes a unit, snapshot by snapshot.
    fn compute(
        &self,
        passes: &mut UnitPasses<'_>,
        unit: &HistoryUnit,
        take: &mut dyn FnMut(Arc<Chain>) -> io::Result<()>,
    ) -> io::Result<Outcome> {
        let mut rows = SortedRows::open(self.work.sorted, unit.first, unit.rows)?;
        let (mut snapshot, mut counts, mut doubts) = (Vec::new(), UnitCounts::default(), None);
        passes.begin(unit.underlying);
        let mut ahead = next_row(&mut rows)?;
        while let Some(first) = ahead {
            if self.is_over() {
                return Ok(Outcome::Stopped);
            }
            let at: Timestamp = first.quote.ts;
            snapshot.clear();
            while let Some(row) = ahead.filter(|row| row.quote.ts == at) {
                snapshot.push(row);
                ahead = next_row(&mut rows)?;
            }
            let done = match passes.snapshot(at, &snapshot) {
                Ok(done) => done,
                Err(fault) => return Ok(Outcome::Failed(fault)),
            };
            counts.add(&done);
            doubts = doubts.or_else(|| doubts_of(&done.computed.as_ref()?.chain));
            self.work.watch.advance(snapshot.len() as u64, 0);
            done.computed.map_or(Ok(()), |computed| take(computed.chain))?;
        }
        let mut done = lock(&self.done);
        done.counts.absorb(&counts);
        done.doubted.extend(doubts.map(|text| UnitDoubt { day: unit.day, underlying: unit.underlying, text }));
        done.units += 1;
        Ok(Outcome::Computed)
    }
}

/// Outcome of computing a unit.
enum Outcome {
    Computed,
    Failed(UnitFault),
    Stopped,
}

fn rows_of(chain: Option<&Arc<Chain>>) -> u64 {
    chain.map_or(0, |chain| u64::from(chain.rows()))
}

fn next_row(rows: &mut SortedRows) -> io::Result<Option<HistoryRow>> {
    let Some(packed) = rows.next().transpose()? else { return Ok(None) };
    PackedRow::row(&packed).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// A path with slashes, in a folder.
pub(crate) fn path_in(folder: &Path, file: &str) -> PathBuf {
    file.split('/').fold(folder.to_path_buf(), |path, part| path.join(part))
}

/// Removes the outdated file of an earlier run, if there is one.
pub(crate) fn remove_old(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
