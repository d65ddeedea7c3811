//! `greeksd generate`: writes days of the simulated market as files of quotes, with dividends and discount curves. The
//! crate `sim` makes the days; this module has arguments, threads and files. Never: a layout of quotes, a formula.

use crate::arguments::GenerateArgs;
use crate::batch::inputs::parse_every;
use flate2::Compression;
use flate2::write::GzEncoder;
use host::log::say;
use host::progress::ProgressLog;
use jiff::civil::{Date, date};
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::{Calendar, Day};
use kernel::contract::Symbol;
use sim::days::layouts::{
    MadeLayout, PRICES_FILE, PRICES_HEADER, TRUE_GREEKS_HEADER, datashop_eod, write_price, write_true_greeks,
};
use sim::days::{self, MadeReference, MadeSnapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Exit code: the arguments make no sense, or the files cannot be written.
const UNUSABLE: u8 = 2;
/// The folder of the files of quotes.
const QUOTES: &str = "quotes";
/// File of the true volatility and Greeks of every contract. Readers of quotes skip names that begin with `_`.
const TRUTH: &str = "_truth.csv";
/// Default of the first day. It is fixed, so that the same command writes the same files.
const FROM: Date = date(2025, 1, 2);
/// Before this date vendors have no quotes 15 minutes before an early close.
const EARLY_SNAPSHOT_SINCE: Date = date(2020, 2, 5);

/// Runs the command; messages go to standard error.
#[must_use]
pub fn run(args: &GenerateArgs) -> ExitCode {
    let began = Instant::now();
    match Job::new(args).and_then(|job| job.write()) {
        Ok(rows) => {
            if !args.quiet {
                let seconds = began.elapsed().as_secs_f64();
                let (out, days) = (args.output.display(), args.days);
                say(&format!(
                    "{rows} quotes of {days} days in {seconds:.1} s. Next:\n  greeksd batch {out} -o greeks\n  \
                     greeksd serve --feed history:{out} --show-quotes"
                ));
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&format!("greeksd generate: {error}"));
            ExitCode::from(UNUSABLE)
        }
    }
}

/// The days to write, and their layout.
struct Job<'a> {
    args: &'a GenerateArgs,
    layout: MadeLayout,
    /// Time between two snapshots of a day; `None`: a day has one snapshot.
    every: Option<SignedDuration>,
    names: Vec<Symbol>,
    calendar: Calendar,
    sessions: Vec<Date>,
}

/// Counts and reference data of a written day.
#[derive(Default)]
struct DayOutcome {
    rows: u64,
    reference: MadeReference,
    /// Lines of the file of prices.
    prices: Vec<u8>,
    /// Lines of the file of true Greeks.
    truth: Vec<u8>,
}

impl<'a> Job<'a> {
    fn new(args: &'a GenerateArgs) -> Result<Self, String> {
        let layout = layout_of(&args.layout)?;
        let every = args.every.as_deref().map(parse_every).transpose()?;
        if let (Some(_), Some(minutes)) = (every, layout.minutes_before_close()) {
            let times: Vec<&str> =
                MadeLayout::ALL.iter().filter(|l| l.minutes_before_close().is_none()).map(|l| l.name()).collect();
            return Err(format!(
                "--every: {} has one snapshot a day, {}; layouts with times are {}",
                layout.name(),
                if minutes == 0 { "at the close".to_owned() } else { format!("{minutes} minutes before the close") },
                times.join(", ")
            ));
        }
        let names = names_of(&args.names)?;
        let calendar = Calendar::embedded();
        let sessions = days::sessions(&calendar, args.from.unwrap_or(FROM), args.days);
        let is_free = fs::read_dir(&args.output).map_or(true, |mut entries| entries.next().is_none());
        if !is_free {
            return Err(format!("{} is not empty; name a new folder", args.output.display()));
        }
        Ok(Self { args, layout, every, names, calendar, sessions })
    }

    /// Writes all files; returns the number of quotes.
    fn write(&self) -> Result<u64, String> {
        let quotes = self.args.output.join(QUOTES);
        fs::create_dir_all(&quotes).map_err(|error| format!("{}: {error}", quotes.display()))?;
        let threads = self.args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let say: fn(&str) = if self.args.quiet { |_| () } else { say };
        let progress = Mutex::new(ProgressLog::new("generated", "days", Some(self.sessions.len()), say).with_pace());
        let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let done: Mutex<BTreeMap<Date, Result<DayOutcome, String>>> = Mutex::default();
        let work = || {
            while let Some(&date) = self.sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
                if has_failed.load(Ordering::Acquire) {
                    break;
                }
                let outcome = self.day(&quotes, date).map_err(|error| format!("{}: {error}", quotes.display()));
                has_failed.fetch_or(outcome.is_err(), Ordering::AcqRel);
                let rows = outcome.as_ref().map_or(0, |outcome| outcome.rows);
                done.lock().unwrap_or_else(PoisonError::into_inner).insert(date, outcome);
                progress.lock().unwrap_or_else(PoisonError::into_inner).add(1, rows);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, self.sessions.len().max(1)) {
                scope.spawn(work);
            }
        });
        progress.lock().unwrap_or_else(PoisonError::into_inner).end();
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let days = done.into_values().collect::<Result<Vec<DayOutcome>, String>>()?;
        let rows = days.iter().map(|day| day.rows).sum();
        self.beside(days).map_err(|error| format!("{}: {error}", self.args.output.display()))?;
        Ok(rows)
    }

    /// Writes the files beside the quotes: prices, true Greeks, dividends and rates of all days.
    fn beside(&self, days: Vec<DayOutcome>) -> io::Result<()> {
        let out = &self.args.output;
        let mut reference = MadeReference::default();
        let mut prices = create(&out.join(QUOTES).join(PRICES_FILE), self.layout.needs_prices(), PRICES_HEADER)?;
        let mut truth = create(&out.join(TRUTH), self.args.truth, TRUE_GREEKS_HEADER)?;
        for day in days {
            prices.as_mut().map_or(Ok(()), |file| file.write_all(&day.prices))?;
            truth.as_mut().map_or(Ok(()), |file| file.write_all(&day.truth))?;
            reference.extend(day.reference);
        }
        [prices, truth].into_iter().flatten().try_for_each(|mut file| file.flush())?;
        if let Some(mut file) = create(&out.join("dividends.csv"), true, "underlying,ex_date,amount\n")? {
            for dividend in reference.dividend_records() {
                writeln!(file, "{},{},{}", dividend.underlying, dividend.ex_date, dividend.amount)?;
            }
            // a dividend of 0 means that a name pays none
            let payers: BTreeSet<Symbol> = reference.dividend_records().map(|dividend| dividend.underlying).collect();
            if let Some(first) = self.sessions.first() {
                for name in self.names.iter().filter(|name| !payers.contains(name)) {
                    writeln!(file, "{name},{first},0")?;
                }
            }
            file.flush()?;
        }
        if let Some(mut file) = create(&out.join("rates.csv"), true, "date,tenor_days,rate\n")? {
            for point in &reference.rates {
                writeln!(file, "{},{},{}", point.date, point.tenor_days, point.rate)?;
            }
            file.flush()?;
        }
        Ok(())
    }

    /// Writes the quotes of a day.
    fn day(&self, folder: &Path, date: Date) -> io::Result<DayOutcome> {
        let (mut outcome, mut files, mut failed) = (DayOutcome::default(), DayFiles::new(self, folder, date), None);
        let mut before: BTreeMap<Symbol, MadeSnapshot> = BTreeMap::new();
        let instants = self.instants(date);
        let reference = days::snapshots(self.args.seed, &self.names, &instants, self.args.truth, |snapshot| {
            let snapshot = if self.layout.has_pairs() { snapshot.paired() } else { snapshot };
            if self.layout == MadeLayout::DatashopEod && before.len() < self.names.len() {
                before.insert(snapshot.underlying, snapshot);
                return;
            }
            let shown = before.get(&snapshot.underlying).unwrap_or(&snapshot);
            outcome.rows += shown.rows.len() as u64;
            let mut write = || -> io::Result<()> {
                files.write(shown, &snapshot)?;
                if self.layout.needs_prices() {
                    write_price(&self.calendar, &snapshot, &mut outcome.prices)?;
                }
                write_true_greeks(shown, &mut outcome.truth)
            };
            if let Err(error) = write() {
                failed.get_or_insert(error);
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        files.finish()?;
        Ok(DayOutcome { reference, ..outcome })
    }

    /// The instants of the snapshots of a day.
    fn instants(&self, date: Date) -> Vec<Timestamp> {
        let close = days::close(&self.calendar, date);
        let before = |minutes| close.checked_sub(SignedDuration::from_mins(minutes)).unwrap_or(close);
        if let Some(step) = self.every {
            return days::instants(&self.calendar, date, step);
        }
        match self.layout.minutes_before_close() {
            // files of this layout also have the close
            Some(minutes) if self.layout == MadeLayout::DatashopEod => {
                let early_of_old = self.calendar.day(date) == Day::Early && date < EARLY_SNAPSHOT_SINCE;
                vec![if early_of_old { close } else { before(minutes) }, close]
            }
            Some(minutes) => vec![before(minutes)],
            None => vec![close],
        }
    }
}

/// The files of a day while they are written: under other names, and renamed when they are whole.
struct DayFiles<'a> {
    job: &'a Job<'a>,
    folder: &'a Path,
    date: Date,
    files: BTreeMap<String, UnfinishedDay>,
    piece: Vec<u8>,
}

struct UnfinishedDay {
    file: DayFile,
    unfinished: PathBuf,
    path: PathBuf,
}

impl<'a> DayFiles<'a> {
    fn new(job: &'a Job<'a>, folder: &'a Path, date: Date) -> Self {
        Self { job, folder, date, files: BTreeMap::new(), piece: Vec::new() }
    }

    /// Writes a snapshot; layouts with the close also take the snapshot at the close.
    fn write(&mut self, snapshot: &MadeSnapshot, at_close: &MadeSnapshot) -> io::Result<()> {
        let Job { layout, calendar, args, .. } = self.job;
        let mut name = layout.file(self.date, snapshot.underlying);
        if args.gzip {
            name.push_str(".gz");
        }
        if !self.files.contains_key(&name) {
            let unfinished = self.folder.join(format!(".{name}"));
            let file = BufWriter::new(File::create(&unfinished)?);
            let mut file = match args.gzip {
                true => DayFile::Gzip(Box::new(GzEncoder::new(file, Compression::fast()))),
                false => DayFile::Plain(file),
            };
            file.writer().write_all(layout.header().as_bytes())?;
            self.files.insert(name.clone(), UnfinishedDay { file, unfinished, path: self.folder.join(&name) });
        }
        let Some(day) = self.files.get_mut(&name) else { return Ok(()) };
        self.piece.clear();
        match layout {
            MadeLayout::DatashopEod => datashop_eod(calendar, snapshot, at_close, &mut self.piece)?,
            layout => layout.write(calendar, snapshot, &mut self.piece)?,
        }
        day.file.writer().write_all(&self.piece)
    }

    fn finish(self) -> io::Result<()> {
        for UnfinishedDay { file, unfinished, path } in self.files.into_values() {
            file.finish()?;
            fs::rename(unfinished, path)?;
        }
        Ok(())
    }
}

enum DayFile {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl DayFile {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(file) => file,
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut file) => file.flush(),
            Self::Gzip(file) => file.finish()?.flush(),
        }
    }
}

/// Creates a file with its header, if it is wanted.
fn create(path: &Path, is_wanted: bool, header: &str) -> io::Result<Option<BufWriter<File>>> {
    if !is_wanted {
        return Ok(None);
    }
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(header.as_bytes())?;
    Ok(Some(file))
}

/// The layout with this name.
///
/// # Errors
/// No layout has this name: a list of all.
fn layout_of(name: &str) -> Result<MadeLayout, String> {
    MadeLayout::ALL.into_iter().find(|layout| layout.name() == name).ok_or_else(|| {
        let all: Vec<&str> = MadeLayout::ALL.iter().map(|layout| layout.name()).collect();
        format!("--layout: no layout is called {name}; there are {}", all.join(", "))
    })
}

/// Parses `--names`: the number of names, or a list of names.
///
/// # Errors
/// The simulated market has fewer names, or lacks one of them.
fn names_of(text: &str) -> Result<Vec<Symbol>, String> {
    let all = days::names();
    if let Ok(count) = text.parse::<usize>() {
        return if (1..=all.len()).contains(&count) {
            Ok(all[..count].to_vec())
        } else {
            Err(format!("--names: the simulated market has 1 to {} names, not {count}", all.len()))
        };
    }
    let read = |name: &str| {
        let name = name.trim().to_uppercase();
        all.iter().copied().find(|own| own.as_str() == name).ok_or_else(|| {
            let shown: Vec<&str> = all.iter().map(|own| own.as_str()).collect();
            format!("--names: the simulated market has no {name}; it has {}", shown.join(", "))
        })
    };
    let mut names: Vec<Symbol> = Vec::new();
    for name in text.split(',').filter(|name| !name.trim().is_empty()) {
        let name = read(name)?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() { Err("--names: no name".to_owned()) } else { Ok(names) }
}
