//! Which files are read, and how. Never: what becomes of a row.

use engine::error::FeedError;
use engine::feeds::chains::{Chains, parse_chains};
use engine::feeds::csv::decompress;
use engine::feeds::dir::read_raw;
use engine::feeds::recording::{is_recording, parse_recording};
use engine::feeds::report::Report;
use engine::limits;
use history::gather::FileRead;
use history::row::HistoryRow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders within folders at most: a link may lead in a circle.
const DEPTH: usize = 16;
/// What the names of files of quotes end in, where a folder is given.
const ENDINGS: [&str; 8] = [".csv", ".csv.gz", ".txt", ".txt.gz", ".zip", ".ndjson", ".ndjson.gz", ".parquet"];
/// Files of a folder that are no quotes.
const BESIDE: [&str; 7] = [
    "dividends.csv",
    "rates.csv",
    "overrides.csv",
    "underlying_prices.parquet",
    "underlying.parquet",
    "underlying_prices.csv",
    "underlying.csv",
];

/// What the arguments name.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// Files of quotes, each once, in the order of their paths.
    pub(crate) files: Vec<PathBuf>,
    /// The folders that they were named by: where reference files may be.
    pub(crate) folders: BTreeSet<PathBuf>,
}

impl Inputs {
    /// Finds the files of some arguments: files as they are, folders with all that is in them but for the outputs.
    ///
    /// # Errors
    /// There is no such path, or no file of quotes at all.
    pub(crate) fn find(given: &[PathBuf], out: &Path) -> Result<Self, String> {
        let out = fs::canonicalize(out).ok();
        let (mut inputs, mut files) = (Self::default(), BTreeSet::new());
        for path in given {
            let metadata = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
            if metadata.is_dir() {
                inputs.folders.insert(path.clone());
                list(path, out.as_deref(), DEPTH, &mut files).map_err(|e| format!("{}: {e}", path.display()))?;
            } else {
                inputs.folders.insert(path.parent().unwrap_or(Path::new("")).to_path_buf());
                files.insert(path.clone());
            }
        }
        inputs.files = files.into_iter().collect();
        if inputs.files.is_empty() { Err("no file of quotes is there".to_owned()) } else { Ok(inputs) }
    }
}

fn list(folder: &Path, out: Option<&Path>, depth: usize, files: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
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
                list(&path, out, depth - 1, files)?;
            }
        } else if ENDINGS.iter().any(|ending| name.ends_with(ending)) && !BESIDE.contains(&name.as_str()) {
            files.insert(path);
        }
    }
    Ok(())
}

/// Reads a file of quotes, row by row.
pub(crate) fn read(path: &Path, take: &mut dyn FnMut(HistoryRow)) -> FileRead {
    let (chains, report) = match read_chains(path) {
        Ok(read) => read,
        Err(error) => return FileRead { layout: "", report: Report::default(), refused: Some(error.to_string()) },
    };
    let spots: BTreeMap<_, f64> = chains.spots.iter().map(|spot| ((spot.underlying, spot.ts), spot.price)).collect();
    for quote in chains.quotes {
        let spot = spots.get(&(quote.underlying, quote.ts)).copied().unwrap_or(f64::NAN);
        take(HistoryRow { quote, spot });
    }
    FileRead { layout: "greeksd", report, refused: None }
}

fn read_chains(path: &Path) -> Result<(Chains, Report), FeedError> {
    let raw = read_raw(path, &limits::FILE_BYTES)?.ok_or_else(|| FeedError::TooLarge { file: path.to_path_buf() })?;
    if is_recording(path) {
        return Ok(parse_recording(path, &raw));
    }
    let (bytes, damage) = decompress(path, raw);
    let (chains, mut report) = parse_chains(path, &bytes);
    report.errors.extend(damage);
    Ok((chains, report))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(find(&["out"]).unwrap(), ["out/day=2024-01-03/greeks.csv"], "if it is asked for by name");
        assert!(find(&["a/_work/.."]).is_ok());
        fs::remove_dir_all(folder).unwrap();
    }
}
