//! Folders of quotes to folders of Greeks: the same bytes however the work is cut up, stopped or done again, and what
//! is wrong costs itself.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use engine::store::chain::Chain;
use history::job::JobError;
use history::manifest::{MANIFEST, job_folder};
use history::output::{FileAbout, FileForm, GreeksWriter};
use history::plan::OutputLayout;
use history::reference::{ReferenceRecords, ReferenceSet};
use history::tables::ParquetForm;
use history::watch::{JobPhase, JobWatch, Unwatched};
use history::whole::UnitFault;
use kernel::quality::Quality;
use kernel::records::DividendRecord;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{CLOSES, Folder, Plain, csv, greeks, market, rows, time, tree, write_market};

fn failures(outcome: &history::job::JobOutcome) -> Vec<String> {
    outcome.failed.iter().map(|unit| format!("{} {} {}", unit.underlying, unit.day, unit.fault.name())).collect()
}

#[test]
fn pieces_threads_and_orders_give_the_same_bytes() {
    let folder = Folder::new("pieces");
    let days = write_market(&folder.path("in"));
    let all: Vec<PathBuf> = days.iter().flatten().cloned().collect();
    let mut job = Plain::new();
    let outcome = job.run(&all, &folder.path("whole"));
    assert_eq!((failures(&outcome), outcome.done, outcome.files), (vec![], 12, 5));
    let whole = tree(&folder.path("whole"));
    let names: Vec<&str> = whole.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "day=2026-11-17/greeks.parquet",
            "day=2026-11-18/greeks-F.parquet",
            "day=2026-11-18/greeks.parquet",
            "day=2026-11-19/greeks.parquet",
            "day=2026-11-20/greeks.parquet",
        ]
    );
    assert_eq!(outcome.counts.contracts, outcome.rows);
    assert!(outcome.counts.priced > outcome.rows * 9 / 10, "{:?}", outcome.counts);

    // one thread, files backwards, and rows backwards in other files, some of them twice
    job.threads = 1;
    let mixed = folder.path("mixed");
    fs::create_dir_all(&mixed).unwrap();
    let text: Vec<String> = all.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let mut lines: Vec<&str> = text.iter().flat_map(|text| text.lines().skip(1)).collect();
    lines.reverse();
    let mut files = Vec::new();
    for (i, part) in lines.chunks(lines.len() / 3 + 1).enumerate() {
        let path = mixed.join(format!("{i}.csv"));
        fs::write(&path, format!("{}{}\n", support::HEADER, part.join("\n"))).unwrap();
        files.push(path);
    }
    files.push(all[3].clone());
    let again = job.run(&files, &folder.path("mixed-out"));
    assert_eq!(again.rows - again.duplicates, outcome.rows);
    assert!(again.duplicates > 0);
    assert!(tree(&folder.path("mixed-out")) == whole);

    // a job a day, into one folder and into four
    for (i, files) in days.iter().enumerate() {
        job.run(files, &folder.path("by-day"));
        job.run(files, &folder.path(&format!("day-{i}")));
    }
    assert!(tree(&folder.path("by-day")) == whole);
    let mut apart = std::collections::BTreeMap::new();
    (0..days.len()).for_each(|i| apart.extend(greeks(&folder.path(&format!("day-{i}")))));
    assert!(apart == greeks(&folder.path("whole")));
}

#[test]
fn what_is_there_is_left_as_it_is_and_what_changed_is_made_again() {
    let folder = Folder::new("again");
    let days = write_market(&folder.path("in"));
    let all: Vec<PathBuf> = days.iter().flatten().cloned().collect();
    let out = folder.path("out");
    let mut job = Plain::new();
    job.run(&all, &out);
    let first = tree(&out);
    let counts = |outcome: &history::job::JobOutcome| (outcome.files, outcome.files_skipped, outcome.skipped);
    assert_eq!(counts(&job.run(&all, &out)), (0, 5, 12));
    assert!(tree(&out) == first);

    // a file that was damaged or is gone
    fs::remove_file(out.join("day=2026-11-17/greeks.parquet")).unwrap();
    fs::write(out.join("day=2026-11-19/greeks.parquet"), "short").unwrap();
    assert_eq!(counts(&job.run(&all, &out)), (2, 3, 6));
    assert!(tree(&out) == first);

    // a line of the manifest cut off
    let manifest = job_folder(&out).join(MANIFEST);
    let text = fs::read(&manifest).unwrap();
    fs::write(&manifest, &text[..text.len() - 5]).unwrap();
    assert_eq!(counts(&job.run(&all, &out)), (1, 4, 9));
    assert!(tree(&out) == first);

    // a dividend concerns its name from that day back, and nothing after it
    let ko = kernel::contract::Symbol::parse("KO").unwrap();
    let ex_date = jiff::civil::date(2026, 11, 18);
    let market = market(time(CLOSES[0]));
    let mut dividends = market.dividends();
    dividends.push(DividendRecord { underlying: ko, ex_date, amount: 0.25, projected: false });
    job.reference = ReferenceSet::new(&ReferenceRecords { dividends, rates: market.rates(), ..Default::default() });
    assert_eq!(counts(&job.run(&all, &out)), (2, 3, 7));

    // other quotes of one day
    let path = &days[3][0];
    let text = fs::read_to_string(path).unwrap();
    fs::write(
        path,
        text.lines().map(|line| format!("{line}\n")).filter(|line| !line.contains(",call,")).collect::<String>(),
    )
    .unwrap();
    assert_eq!(counts(&job.run(&all, &out)), (1, 4, 9));

    job.recipe.quality = Quality::Full;
    job.reference = support::reference();
    let only = &days[2];
    assert_eq!(counts(&job.run(only, &out)), (1, 0, 0));
    assert_eq!(counts(&job.run(only, &out)), (0, 1, 3));
}

/// Stops a job after so many reports of progress.
struct StopsAfter(AtomicI64);

impl JobWatch for StopsAfter {
    fn begin(&self, _: JobPhase, _: u64) {}

    fn advance(&self, _: u64, _: u64) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed) <= 0
    }
}

#[test]
fn a_stopped_job_leaves_whole_files_and_goes_on() {
    let folder = Folder::new("stopped");
    let days = write_market(&folder.path("in"));
    let all: Vec<PathBuf> = days.iter().flatten().cloned().collect();
    let job = Plain::new();
    job.run(&all, &folder.path("whole"));
    let whole = tree(&folder.path("whole"));
    let (mut stopped, mut kept) = (0, 0);
    for after in [0, 1, 5, 20, 26, 29, 31, 33, 36, 38, 40] {
        let out = folder.path(&format!("out-{after}"));
        let outcome = job.watched(&all, &out, &StopsAfter(AtomicI64::new(after))).unwrap();
        stopped += usize::from(outcome.is_stopped);
        let left = greeks(&out);
        kept += left.len();
        assert!(left.iter().all(|(name, bytes)| whole.get(name) == Some(bytes)), "{after}: a part of a file");
        assert!(!out.join("_work").exists(), "{after}");
        let rest = job.run(&all, &out);
        assert_eq!(rest.files + rest.files_skipped, 5, "{after}");
        assert!(rest.files_skipped as usize <= left.len());
        assert!(tree(&out) == whole, "{after}");
    }
    assert!(stopped >= 8 && kept >= 3, "{stopped} {kept}: stopped at no moment that matters");
}

/// Parquet whose files are finished in the order of their days, each with a note beside it.
struct InOrder {
    form: ParquetForm,
    finished: Arc<Mutex<Vec<String>>>,
}

struct NotedFile {
    writer: Box<dyn GreeksWriter>,
    file: String,
    finished: Arc<Mutex<Vec<String>>>,
}

impl FileForm for InOrder {
    fn extension(&self) -> &'static str {
        self.form.extension()
    }

    fn begin(&self, file: File, about: &FileAbout) -> io::Result<Box<dyn GreeksWriter>> {
        let (writer, finished) = (self.form.begin(file, about)?, Arc::clone(&self.finished));
        Ok(Box::new(NotedFile { writer, file: about.file.clone(), finished }))
    }

    fn is_in_order(&self) -> bool {
        true
    }

    fn has_rest(&self, file: &str) -> bool {
        self.finished.lock().unwrap().iter().any(|finished| finished == file)
    }
}

impl GreeksWriter for NotedFile {
    fn chain(&mut self, chain: &Arc<Chain>) -> io::Result<()> {
        self.writer.chain(chain)
    }

    fn finish(self: Box<Self>) -> io::Result<File> {
        let Self { writer, file, finished } = *self;
        // one that comes first must be waited for
        if file.contains("day=2026-11-17") {
            std::thread::sleep(Duration::from_millis(50));
        }
        finished.lock().unwrap().push(file);
        writer.finish()
    }
}

#[test]
fn files_are_finished_by_day_where_the_form_asks_for_it() {
    let folder = Folder::new("in-order");
    let all: Vec<PathBuf> = write_market(&folder.path("in")).concat();
    let mut job = Plain::new();
    job.threads = 4;
    let form = InOrder { form: ParquetForm::new(job.recipe).unwrap(), finished: Arc::default() };
    let out = folder.path("out");
    let outcome = job.written(&all, &out, &form, &Unwatched).unwrap();
    assert_eq!((failures(&outcome), outcome.files), (vec![], 5));
    let finished = form.finished.lock().unwrap().clone();
    let days: Vec<&str> = finished.iter().map(|file| file.split('/').next().unwrap()).collect();
    assert!(days.len() == 5 && days.is_sorted(), "{finished:?}");
    // a file of which the rest is missing is made again
    form.finished.lock().unwrap().retain(|file| !file.contains("greeks-F"));
    let again = job.written(&all, &out, &form, &Unwatched).unwrap();
    assert_eq!((again.files, again.files_skipped), (1, 4));
    job.run(&all, &folder.path("plain"));
    assert!(greeks(&out) == greeks(&folder.path("plain")));
}

#[test]
fn what_a_killed_job_left_is_taken_away_and_two_jobs_do_not_meet() {
    let folder = Folder::new("left");
    let days = write_market(&folder.path("in"));
    let out = folder.path("out");
    fs::create_dir_all(out.join("_work")).unwrap();
    for left in ["_work/run-0", "_work/sorted", "_work/day=2026-11-17_greeks.parquet"] {
        fs::write(out.join(left), "half of something").unwrap();
    }
    let job = Plain::new();
    let held = fs::File::create(out.join("_work/lock")).unwrap();
    held.lock().unwrap();
    let refused = job.watched(&days[0], &out, &history::watch::Unwatched).unwrap_err();
    assert_eq!(refused.to_string(), "another job writes to this folder");
    drop(held);
    job.run(&days[0], &out);
    assert_eq!(tree(&out).into_keys().collect::<Vec<_>>(), ["day=2026-11-17/greeks.parquet"]);
}

#[test]
fn half_a_chain_is_an_error_and_never_numbers() {
    let folder = Folder::new("half");
    let days = write_market(&folder.path("in"));
    let (out, mut job) = (folder.path("out"), Plain::new());
    job.run(&days[0], &out);
    let whole = greeks(&out);

    // a compressed file that breaks off, another name in a file of its own
    let text = fs::read_to_string(&days[0][1]).unwrap();
    let mut packed = feeds::recording::begin_member();
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let cut = folder.path("cut.csv.gz");
    fs::write(&cut, &packed[..packed.len() * 2 / 3]).unwrap();
    let inputs = [days[0][0].clone(), cut.clone(), days[0][2].clone()];
    let outcome = job.run(&inputs, &out);
    assert_eq!(failures(&outcome), ["KO 2026-11-17 damaged"]);
    let UnitFault::Damaged { file } = &outcome.failed[0].fault else { panic!("{:?}", outcome.failed) };
    assert!(file.ends_with("cut.csv.gz"));
    let without = greeks(&out);
    assert!(without.len() == 1 && without != whole, "the file of the day is another");
    // it stays an error when the rest is there already
    assert_eq!(failures(&job.run(&inputs, &out)), ["KO 2026-11-17 damaged"]);
    // and so does one that is alone: nothing is left of what was there
    assert_eq!(failures(&job.run(std::slice::from_ref(&cut), &out)), ["KO 2026-11-17 damaged"]);
    assert_eq!(greeks(&out).len(), 0);

    // calls of an expiry without its puts, in a file that is whole
    let at = time(CLOSES[0]);
    let mut kept = rows(&market(at), 2, at);
    let first = kept[0];
    for i in 0..history::whole::ONE_SIDED {
        let mut row = first;
        row.quote.contract.expiry = jiff::civil::date(2027, 6, 17);
        (row.quote.contract.strike_milli, row.quote.contract.right) =
            (50_000 + 1000 * i, kernel::contract::Right::Call);
        kept.push(row);
    }
    let one_sided = folder.path("one_sided.csv");
    fs::write(&one_sided, csv(&kept)).unwrap();
    assert_eq!(failures(&job.run(std::slice::from_ref(&one_sided), &out)), ["UBER 2026-11-17 one_sided"]);
    job.allows_partial = true;
    assert_eq!((failures(&job.run(&[one_sided], &out)), greeks(&out).len()), (vec![], 1));

    // within a day a snapshot that lost most of its rows costs the day of its name
    let text = fs::read_to_string(&days[1][0]).unwrap();
    let moment = support::INTRADAY[1];
    let mut seen = 0;
    let short: String = text
        .lines()
        .filter(|line| {
            seen += usize::from(line.starts_with(moment));
            !line.starts_with(moment) || seen < 5
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let path = folder.path("short.csv");
    fs::write(&path, short).unwrap();
    job.allows_partial = false;
    assert_eq!(failures(&job.run(&[path, days[1][1].clone()], &out)), ["F 2026-11-18 few_contracts"]);
    assert!(greeks(&out).keys().any(|name| name == "day=2026-11-18/greeks.parquet"));
    assert!(!greeks(&out).keys().any(|name| name.contains("greeks-F")));
}

#[test]
fn a_bad_row_and_a_bad_file_cost_themselves() {
    let folder = Folder::new("bad");
    let days = write_market(&folder.path("in"));
    let job = Plain::new();
    let good = job.run(&days[0], &folder.path("good"));
    let path = &days[0][0];
    let text = fs::read_to_string(path).unwrap();
    // a further row that is none, one of a contract that has settled, and one that is there twice
    let line = text.lines().nth(1).unwrap();
    let settled = line.replacen(&line.split(',').nth(4).unwrap().to_owned(), "2026-11-13", 1);
    let bad = format!("{text}{}\n{settled}\n", line.replace(",call,", ",neither,"));
    fs::write(path, bad).unwrap();
    let nothing = folder.path("nothing.csv");
    fs::write(&nothing, "this,is,no\nchain,at,all\n").unwrap();
    let outcome = job.run(&[&days[0][..], &[nothing]].concat(), &folder.path("bad"));
    assert_eq!(failures(&outcome), Vec::<String>::new());
    assert!(greeks(&folder.path("bad")) == greeks(&folder.path("good")));
    assert_eq!((outcome.rows, outcome.counts.contracts), (good.rows + 1, good.counts.contracts));
    assert_eq!(outcome.counts.refused[kernel::error::Reason::Expired as usize], 1);
    let refused: Vec<u64> = outcome.inputs.iter().map(|input| input.read.report.refused_total()).collect();
    assert_eq!(refused[0], 1);
    let damage: Vec<bool> = outcome.inputs.iter().map(|input| input.damage().is_some()).collect();
    assert_eq!(damage, [false, false, false, true]);
}

#[test]
fn a_folder_has_files_of_one_layout() {
    let folder = Folder::new("layouts");
    let days = write_market(&folder.path("in"));
    let all: Vec<PathBuf> = days.iter().flatten().cloned().collect();
    let mut job = Plain::new();
    let mut of_layout = Vec::new();
    for layout in [OutputLayout::Day, OutputLayout::Name, OutputLayout::Flat] {
        job.layout = layout;
        let out = folder.path(layout.name());
        let outcome = job.run(&all, &out);
        assert_eq!((failures(&outcome), outcome.done), (vec![], 12));
        let names: Vec<String> = greeks(&out).into_keys().collect();
        let depth = |name: &String| name.split('/').count();
        assert!(names.iter().all(|name| depth(name) == depth(&names[0])), "{names:?}");
        assert!(names.iter().all(|name| name.starts_with("day=") == (layout == OutputLayout::Day)), "{names:?}");
        of_layout.push((names.len(), outcome.counts.contracts));
        // the same again is there already
        assert_eq!((job.run(&all, &out).files, greeks(&out).len()), (0, names.len()));
    }
    assert_eq!(of_layout.iter().map(|(files, _)| *files).collect::<Vec<_>>(), [5, 12, 5]);
    assert!(of_layout.iter().all(|(_, contracts)| *contracts == of_layout[0].1));
    // two layouts in one folder would have every row twice
    job.layout = OutputLayout::Day;
    let refused = job.watched(&all, &folder.path("flat"), &history::watch::Unwatched).unwrap_err();
    assert!(matches!(refused, JobError::OtherLayout(OutputLayout::Flat)), "{refused}");
    fs::write(folder.path("day").join(MANIFEST), "file\n").unwrap();
    let refused = job.watched(&all, &folder.path("day"), &history::watch::Unwatched).unwrap_err();
    assert!(matches!(refused, JobError::EarlierVersion), "{refused}");
}
