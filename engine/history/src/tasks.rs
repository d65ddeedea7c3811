//! Groups files of quotes into tasks: files that quote the same name on the same day belong together, and so do files
//! whose names share the output of a day. Tasks can be computed separately, also on other machines, to the same bytes.
//! Never: a computation.

use crate::gather::{READERS, RowSource, UnitOfRow, next_of};
use crate::implied_rates::is_european;
use crate::plan::OutputLayout;
use crate::reference::ReferenceSet;
use crate::watch::{JobPhase, JobWatch};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, PoisonError};

/// Files of quotes that one job must compute together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryTask {
    /// The files of quotes.
    pub inputs: Vec<PathBuf>,
    /// Files with European chains of the days of the task, which imply its discount curves.
    pub rates_from: Vec<PathBuf>,
    /// The resulting files of Greeks: paths in the folder of outputs, with slashes.
    pub outputs: Vec<String>,
    /// Rows of quotes.
    pub rows: u64,
}

/// Form of the files of Greeks.
#[derive(Clone, Copy, Debug)]
pub struct TaskForm<'a> {
    /// Folders and names of the files.
    pub layout: OutputLayout,
    /// Extension of their names.
    pub extension: &'a str,
}

/// Units quoted by a file, each with its time, or `None` if it has several.
type Quoted = BTreeMap<(Date, Symbol), Option<Timestamp>>;

/// The tasks of some files, in the order of the first file of each; every file is in one task. Reads every row once.
/// `None`: stopped before the end.
#[must_use]
pub fn tasks(
    inputs: &[PathBuf],
    threads: usize,
    reference: &ReferenceSet,
    read: &RowSource<'_>,
    form: TaskForm<'_>,
    watch: &dyn JobWatch,
) -> Option<Vec<HistoryTask>> {
    watch.begin(JobPhase::Reading, inputs.len() as u64);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let reader = || {
        while let Some((at, file)) = next_of(&next, inputs).filter(|_| !watch.is_stopped()) {
            let (mut quoted, mut rows, mut unit_of) = (Quoted::new(), 0, UnitOfRow::new(reference));
            read(file, &mut |row| {
                add_time(&mut quoted, unit_of.find(&row), Some(row.quote.ts));
                rows += 1;
            });
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(at, (quoted, rows));
            watch.advance(1, rows);
        }
    };
    std::thread::scope(|scope| (0..threads.clamp(1, READERS)).for_each(|_| _ = scope.spawn(reader)));
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    (!watch.is_stopped()).then(|| with_rates(group(inputs, &done, form), inputs, &done, reference))
}

/// Adds the files of European chains to the tasks of their days.
fn with_rates(
    mut tasks: Vec<HistoryTask>,
    inputs: &[PathBuf],
    files: &BTreeMap<usize, (Quoted, u64)>,
    reference: &ReferenceSet,
) -> Vec<HistoryTask> {
    let by_path: BTreeMap<&PathBuf, &Quoted> =
        inputs.iter().enumerate().filter_map(|(at, path)| Some((path, &files.get(&at)?.0))).collect();
    let units = |path: &PathBuf| by_path.get(path).into_iter().flat_map(|quoted| quoted.keys().copied());
    let european: Vec<(&PathBuf, BTreeSet<Date>)> = inputs
        .iter()
        .map(|path| (path, units(path).filter(|&(_, name)| is_european(name, reference)).map(|(day, _)| day).collect()))
        .filter(|(_, days): &(_, BTreeSet<Date>)| !days.is_empty())
        .collect();
    for task in &mut tasks {
        let days: BTreeSet<Date> = task.inputs.iter().flat_map(units).map(|(day, _)| day).collect();
        let has = european.iter().filter(|(_, of)| !of.is_disjoint(&days));
        task.rates_from = has.map(|(path, _)| (*path).clone()).collect();
    }
    tasks
}

/// Records the time at which a unit is quoted; `None` once it has several.
fn add_time(quoted: &mut Quoted, unit: (Date, Symbol), time: Option<Timestamp>) {
    let known = quoted.entry(unit).or_insert(time);
    *known = known.filter(|known| Some(*known) == time);
}

/// Groups files by the units that they quote.
fn group(inputs: &[PathBuf], files: &BTreeMap<usize, (Quoted, u64)>, form: TaskForm<'_>) -> Vec<HistoryTask> {
    let mut all = Quoted::new();
    for (&unit, &time) in files.values().flat_map(|(quoted, _)| quoted) {
        add_time(&mut all, unit, time);
    }
    let output = |(day, underlying): (Date, Symbol)| {
        let is_quoted_once = all.get(&(day, underlying)).is_none_or(Option::is_some);
        let is_of_name = form.layout.is_of_name(is_quoted_once);
        form.layout.file_of(day, is_of_name.then_some(underlying), form.extension)
    };
    let outputs: Vec<BTreeSet<String>> = (0..inputs.len())
        .map(|i| files.get(&i).into_iter().flat_map(|(quoted, _)| quoted.keys()).map(|&unit| output(unit)).collect())
        .collect();
    // each file's group is known by the first file of it
    let mut group: Vec<usize> = (0..inputs.len()).collect();
    let mut first_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (file, outputs) in outputs.iter().enumerate() {
        for output in outputs {
            let other = *first_of.entry(output).or_insert(file);
            let (a, b) = (first(&group, other), first(&group, file));
            group[a.max(b)] = a.min(b);
        }
    }
    let mut tasks: BTreeMap<usize, (HistoryTask, BTreeSet<&str>)> = BTreeMap::new();
    for (file, path) in inputs.iter().enumerate() {
        let (task, of_task) = tasks.entry(first(&group, file)).or_default();
        task.inputs.push(path.clone());
        task.rows += files.get(&file).map_or(0, |&(_, rows)| rows);
        of_task.extend(outputs[file].iter().map(String::as_str));
    }
    let finish = |(task, outputs): (HistoryTask, BTreeSet<&str>)| HistoryTask {
        outputs: outputs.into_iter().map(str::to_owned).collect(),
        ..task
    };
    tasks.into_values().map(finish).collect()
}

fn first(group: &[usize], mut file: usize) -> usize {
    while group[file] != file {
        file = group[file];
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gather::FileRead;
    use crate::reference::RecordedReference;
    use crate::row::HistoryRow;
    use crate::watch::Unwatched;
    use jiff::civil::date;
    use kernel::contract::{ContractKey, Right};
    use kernel::records::{Activity, QuoteRecord};
    use kernel::report::Report;
    use std::path::Path;

    /// A file is what it quotes: `KO@2024-01-03T16:00,F@…`.
    fn read(path: &Path, take: &mut dyn FnMut(HistoryRow)) -> FileRead {
        for word in path.to_str().unwrap().split(',') {
            let (name, time) = word.split_once('@').unwrap();
            let symbol = Symbol::parse(name).unwrap();
            let ts: Timestamp = format!("{time}:00-05:00").parse().unwrap();
            let contract =
                ContractKey { root: symbol, expiry: date(2024, 2, 16), strike_milli: 1000, right: Right::Call };
            let (bid, ask, bid_size, ask_size) = (1.0, 2.0, f64::NAN, f64::NAN);
            take(HistoryRow {
                quote: QuoteRecord {
                    ts,
                    underlying: symbol,
                    contract,
                    bid,
                    ask,
                    bid_size,
                    ask_size,
                    activity: Activity::default(),
                },
                spot: 100.0,
            });
        }
        FileRead { layout: "test", report: Report::default(), reference: RecordedReference::default(), refused: None }
    }

    fn of(files: &[&str]) -> Vec<(usize, Vec<String>)> {
        let inputs: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let form = TaskForm { layout: OutputLayout::Day, extension: "parquet" };
        let tasks = tasks(&inputs, 2, &ReferenceSet::default(), &read, form, &Unwatched).unwrap();
        assert_eq!(tasks.iter().map(|task| task.inputs.len()).sum::<usize>(), files.len());
        tasks.into_iter().map(|task| (task.inputs.len(), task.outputs)).collect()
    }

    #[test]
    fn files_that_share_an_output_are_one_task() {
        let day = |n: u32| format!("day=2024-01-0{n}/greeks.parquet");
        // a day a file
        assert_eq!(
            of(&["KO@2024-01-03T16:00,F@2024-01-03T16:00", "KO@2024-01-04T16:00"]),
            [(1, vec![day(3)]), (1, vec![day(4)])]
        );
        // a name a file: the days are shared, over a third file too
        assert_eq!(
            of(&["KO@2024-01-03T16:00", "F@2024-01-04T16:00", "GE@2024-01-03T16:00,GE@2024-01-04T16:00"]),
            [(3, vec![day(3), day(4)])]
        );
        // names that are quoted several times have files of their own, whichever inputs quote them
        assert_eq!(
            of(&["KO@2024-01-03T10:00,KO@2024-01-03T11:00", "F@2024-01-03T10:00", "F@2024-01-03T11:00"]),
            [
                (1, vec!["day=2024-01-03/greeks-KO.parquet".to_owned()]),
                (2, vec!["day=2024-01-03/greeks-F.parquet".to_owned()])
            ]
        );
    }
}
