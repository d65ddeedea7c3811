//! Input files of a job, and the options that they are read with. Never: a computation.

use crate::arguments::BatchArgs;
use history::gather::FileRead;
use history::layouts::{self, ColumnMap, ReadOptions};
use history::reference::RecordedReference;
use history::row::HistoryRow;
use jiff::SignedDuration;
use jiff::civil::Time;
use jiff::tz::TimeZoneDatabase;
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use kernel::error::said_by_system;
use kernel::report::Report;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum depth of folders: a link may lead in a circle.
const DEPTH: usize = 16;
/// Endings of the names of files of quotes, where a folder is given.
const ENDINGS: [&str; 8] = [".csv", ".csv.gz", ".txt", ".txt.gz", ".zip", ".ndjson", ".ndjson.gz", ".parquet"];
/// Files of a folder that are no quotes.
const BESIDE: [&str; 10] = [
    "readme.txt",
    "deliverables.csv",
    "dividends.csv",
    "rates.csv",
    "overrides.csv",
    "events.csv",
    "underlying_prices.parquet",
    "underlying.parquet",
    "underlying_prices.csv",
    "underlying.csv",
];

/// The input files, and their folders.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Files of quotes, each once, in the order of their paths.
    pub files: Vec<PathBuf>,
    /// The given folders, and those of given files: where reference files may be.
    pub folders: BTreeSet<PathBuf>,
}

impl Inputs {
    /// Finds the input files of the arguments: given files, and all files of quotes in given folders, without the
    /// outputs.
    ///
    /// # Errors
    /// There is no such path, or no file of quotes at all.
    pub fn find(given: &[PathBuf], out: &Path) -> Result<Self, String> {
        let out = fs::canonicalize(out).ok();
        let (mut inputs, mut files, mut seen) = (Self::default(), BTreeSet::new(), BTreeSet::new());
        for path in given {
            let metadata = fs::metadata(path).map_err(|error| absent(path, &error))?;
            if metadata.is_dir() {
                inputs.folders.insert(path.clone());
                list(path, out.as_deref(), DEPTH, &mut files, &mut seen)
                    .map_err(|error| format!("{}: {}", path.display(), said_by_system(error.kind())))?;
            } else {
                inputs.folders.insert(path.parent().unwrap_or(Path::new("")).to_path_buf());
                files.insert(path.clone());
            }
        }
        inputs.files = files.into_iter().collect();
        if inputs.files.is_empty() { Err("no file of quotes found".to_owned()) } else { Ok(inputs) }
    }
}

/// Why a path cannot be read; for the name of a feed, the command to use instead.
fn absent(path: &Path, error: &std::io::Error) -> String {
    let shown = path.display();
    let is_simulated = path.to_str().is_some_and(|name| name == "sim" || name.starts_with("sim:"));
    match is_simulated {
        true => format!("{shown} is a feed, not files of quotes; `greeksd generate DIR` writes days of that market"),
        false => format!("{shown}: {}", said_by_system(error.kind())),
    }
}

/// Adds the files of quotes in a folder and its subfolders; a folder that several links lead to is read once.
fn list(
    folder: &Path,
    out: Option<&Path>,
    depth: usize,
    files: &mut BTreeSet<PathBuf>,
    seen: &mut BTreeSet<PathBuf>,
) -> std::io::Result<()> {
    if !seen.insert(fs::canonicalize(folder)?) {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
        let is_hidden = name.starts_with(['.', '_']);
        let is_out = || out.is_some_and(|out| fs::canonicalize(&path).is_ok_and(|path| path == out));
        if is_hidden || is_out() {
            continue;
        }
        if path.is_dir() {
            if depth > 0 {
                list(&path, out, depth - 1, files, seen)?;
            }
        } else if ENDINGS.iter().any(|ending| name.ends_with(ending)) && !BESIDE.contains(&name.as_str()) {
            files.insert(path);
        }
    }
    Ok(())
}

/// Reads a file of quotes, row by row.
pub(super) fn read(path: &Path, options: &ReadOptions, take: &mut dyn FnMut(HistoryRow)) -> FileRead {
    match layouts::read(path, options, take) {
        Ok(read) => FileRead { layout: read.layout, reference: read.reference, report: read.report, refused: None },
        Err(error) => FileRead {
            layout: "",
            reference: RecordedReference::default(),
            report: Report::default(),
            refused: Some(error.to_string()),
        },
    }
}

/// Reading options of the arguments.
///
/// # Errors
/// An argument that cannot be parsed.
pub fn read_options(args: &BatchArgs, calendar: &Calendar) -> Result<ReadOptions, String> {
    let defaults = ReadOptions::default();
    let columns = args.columns.as_deref().map(ColumnMap::parse).transpose();
    let zone = |name: &String| {
        let zone = TimeZoneDatabase::bundled().get(name);
        zone.map_err(|_| format!("--zone: unknown time zone {name}; an example is America/Chicago"))
    };
    let underlying = |name: &String| Symbol::parse_underlying(name).ok_or_else(|| format!("--underlying: {name}"));
    let clock_time = |text: &String| {
        let wrong = |_| format!("--day-time: not a time of day such as 15:45: {text}");
        text.parse::<Time>().map_err(wrong)
    };
    Ok(ReadOptions {
        columns: columns.map_err(|error| format!("--columns: {error}"))?.unwrap_or_default(),
        decimal: args.text.decimal(),
        dates: args.text.dates(),
        time: args.time,
        zone: args.zone.as_ref().map(zone).transpose()?,
        day_time: args.day_time.as_ref().map(clock_time).transpose()?,
        strike_divisor: args.strike_divisor.unwrap_or(defaults.strike_divisor),
        underlying: args.underlying.as_ref().map(underlying).transpose()?,
        prices: args.prices.clone(),
        every: args.every.as_deref().map(parse_every).transpose()?.unwrap_or(defaults.every),
        calendar: calendar.clone(),
        ..defaults
    })
}

/// Parses the time between two snapshots.
///
/// # Errors
/// The text is no integer number of seconds up to a day.
pub fn parse_every(text: &str) -> Result<SignedDuration, String> {
    let every = text.parse::<SignedDuration>().ok();
    let is_whole = |every: &SignedDuration| every.subsec_nanos() == 0 && (1..=86_400).contains(&every.as_secs());
    every
        .filter(is_whole)
        .ok_or_else(|| format!("--every: not an integer number of seconds up to a day, such as 1m or 30s: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};
    use feeds::text::{DateOrder, Decimal};

    #[test]
    fn what_is_said_of_files_is_read_or_refused() {
        let options = |more: &[&str]| {
            let words = ["batch", "in", "-o", "out"].iter().chain(more);
            let matches = BatchArgs::augment_args(Command::new("batch")).try_get_matches_from(words).unwrap();
            read_options(&BatchArgs::from_arg_matches(&matches).unwrap(), &Calendar::embedded())
        };
        assert_eq!(options(&[]).unwrap().every, SignedDuration::from_mins(1));
        let all = ["--columns", "strike=K", "--zone", "America/Chicago", "--day-time", "15:45", "--every", "30s"];
        let read = options(&[&all[..], &["--underlying", "brk/b", "--strike-divisor", "1000"]].concat()).unwrap();
        assert_eq!((read.every.as_secs(), read.day_time.unwrap().to_string().as_str()), (30, "15:45:00"));
        assert_eq!((read.underlying.unwrap().as_str(), read.strike_divisor.to_bits()), ("BRK.B", 1000f64.to_bits()));
        let read = options(&["--decimal", "comma", "--dates", "day-first", "--time", "2026-11-20T15:42"]).unwrap();
        assert_eq!((read.decimal, read.dates), (Some(Decimal::Comma), Some(DateOrder::DayFirst)));
        assert_eq!(read.time, Some("2026-11-20T20:42:00Z".parse().unwrap()));
        for wrong in [
            ["--columns", "K"],
            ["--zone", "Mars/Olympus"],
            ["--day-time", "late"],
            ["--every", "0s"],
            ["--every", "1500ms"],
            ["--underlying", "?"],
        ] {
            assert!(options(&wrong).unwrap_err().starts_with(wrong[0]), "{wrong:?}");
        }
    }

    #[test]
    fn folders_are_searched_and_what_is_no_quote_left_out() {
        let folder = std::env::temp_dir().join(format!("greeksd-inputs-{}", std::process::id()));
        let out = folder.join("out");
        for file in [
            "a/2024/x.csv",
            "a/y.CSV.GZ",
            "a/dividends.csv",
            "a/README.md",
            "a/.hidden.csv",
            "a/_work/z.csv",
            "out/day=2024-01-03/greeks.csv",
            "b.dat",
        ] {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let find = |given: &[&str]| {
            let given: Vec<PathBuf> = given.iter().map(|name| folder.join(name)).collect();
            Inputs::find(&given, &out).map(|inputs| {
                let name = |path: &PathBuf| path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
                inputs.files.iter().map(name).collect::<Vec<_>>()
            })
        };
        assert_eq!(find(&[""]).unwrap(), ["a/2024/x.csv", "a/y.CSV.GZ"]);
        // what is named is read, whatever it is called, and once
        assert_eq!(find(&["b.dat", "a", "b.dat"]).unwrap(), ["a/2024/x.csv", "a/y.CSV.GZ", "b.dat"]);
        assert!(find(&["nothing"]).unwrap_err().contains("nothing"));
        let feed = Inputs::find(&[PathBuf::from("sim:seed=2")], &out).unwrap_err();
        assert!(feed.contains("greeksd generate"), "{feed}");
        assert_eq!(find(&["out"]).unwrap(), ["out/day=2024-01-03/greeks.csv"], "if it is asked for by name");
        assert!(find(&["a/_work/.."]).is_ok());
        #[cfg(unix)]
        {
            // links in a circle, and two to one folder: each file is read once
            for (at, to) in [("a/2024/loop", "a"), ("a/again", "a/2024"), ("a/2024/self", "a/2024")] {
                std::os::unix::fs::symlink(folder.join(to), folder.join(at)).unwrap();
            }
            assert_eq!(find(&["a"]).unwrap().len(), 2);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
