//! Reference data of a job: the files of dividends, rates, dates and overrides that a job takes. Never: a
//! quote.

use super::inputs::Inputs;
use crate::config::ReferencePaths;
use feeds::csv::decompress;
use feeds::dir::read_raw;
use feeds::overrides::parse_overrides;
use feeds::reference::{parse_dated_dividends, parse_days, parse_deliverables, parse_rates};
use history::reference::{ReferenceRecords, ReferenceSet};
use kernel::limits;
use kernel::report::Report;
use std::path::{Path, PathBuf};

/// Maximum number of refused rows that are reported; all are counted.
const PLACES_TOLD: usize = 5;

/// What `--rates` takes in place of a file, where every rate is to be zero.
const ZERO_RATES: &str = "zero";

/// The files of reference data that a job uses, given or found.
pub(crate) struct NamedFiles {
    dividends: Vec<PathBuf>,
    rates: Vec<PathBuf>,
    days: Vec<PathBuf>,
    deliverables: Vec<PathBuf>,
}

impl NamedFiles {
    /// Returns the options that make another process use the same reference data, wherever its quotes lie;
    /// `--overrides` is only ever given.
    pub(crate) fn options(&self, zero_rates: bool) -> Vec<String> {
        let lists = [
            ("--dividends", &self.dividends),
            ("--rates", &self.rates),
            ("--calendar", &self.days),
            ("--deliverables", &self.deliverables),
        ];
        let files = lists.into_iter().flat_map(|(option, files)| files.iter().map(move |file| (option, file)));
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let named = files.flat_map(|(option, path)| [option.to_owned(), absolute(path).display().to_string()]);
        let zero = ["--rates", ZERO_RATES].into_iter().filter(|_| zero_rates).map(str::to_owned);
        std::iter::once("--reference-as-named".to_owned()).chain(named).chain(zero).collect()
    }
}

/// What a job knows beside the quotes.
pub(crate) struct ReferenceFiles {
    /// What was read.
    pub(crate) records: ReferenceRecords,
    /// What units are computed with.
    pub(crate) reference: ReferenceSet,
    /// What a user should hear before it begins.
    pub(crate) notes: Vec<String>,
    /// The files that it was read from.
    pub(crate) files: Vec<PathBuf>,
    /// The same by what they are.
    pub(crate) named: NamedFiles,
    /// Number of refused rows.
    pub(crate) refused: u64,
}

impl ReferenceFiles {
    /// Reads the files that are named, and where none is those in or beside the folders of quotes.
    ///
    /// # Errors
    /// One of them cannot be used: numbers without it would be other numbers.
    pub(crate) fn read(named: &ReferencePaths, inputs: &Inputs) -> Result<Self, String> {
        let mut reader = Reader::default();
        let found_beside = |name: &str| if named.reference_as_named { Vec::new() } else { beside(inputs, name) };
        let found = |given: &[PathBuf], name: &str| if given.is_empty() { found_beside(name) } else { given.to_vec() };
        let dividends = found(&named.dividends, "dividends.csv");
        let rates = found(&named.rates, "rates.csv");
        let calendar = if named.calendar.is_empty() { found_beside("overrides.csv") } else { named.calendar.clone() };
        let zero_rates = named.rates.iter().any(|path| path == Path::new(ZERO_RATES));
        let rates = if zero_rates { Vec::new() } else { rates };
        let deliverables = found(&named.deliverables, "deliverables.csv");
        // a root that the user gives overrides the file beside the quotes: of two rows of one root the last counts
        let mut overrides = reader.all(&deliverables, parse_deliverables)?;
        overrides.extend(reader.all(named.overrides.as_slice(), parse_overrides)?);
        let dated = reader.all(&dividends, parse_dated_dividends)?;
        let declared = dated.iter().filter_map(|row| Some((row.record.underlying, row.record.ex_date, row.declared?)));
        let records = ReferenceRecords {
            dividends: dated.iter().map(|row| row.record).collect(),
            declared: declared.collect(),
            covers_dividends: !dividends.is_empty(),
            rates: reader.all(&rates, parse_rates)?,
            zero_rates,
            days: reader.all(&calendar, parse_days)?,
            overrides,
        };
        let Reader { files, mut notes, refused } = reader;
        let named = NamedFiles { dividends, rates, days: calendar, deliverables };
        if named.dividends.is_empty() {
            notes.push("no dividends: give dividends.csv or --dividends".to_owned());
        }
        let reference = ReferenceSet::new(&records);
        Ok(Self { records, reference, notes, files, named, refused })
    }
}

/// Files of a name in the folders of quotes, or where there is none in the folders that hold these.
fn beside(inputs: &Inputs, name: &str) -> Vec<PathBuf> {
    let of_folder = |folder: &PathBuf| {
        let outer = if folder.as_os_str().is_empty() { Path::new("..").to_path_buf() } else { folder.join("..") };
        [folder.join(name), outer.join(name)].into_iter().find(|path| path.is_file())
    };
    let mut found: Vec<PathBuf> = inputs.folders.iter().filter_map(of_folder).collect();
    // one file by two ways is one file
    found.sort_by_key(|path| path.canonicalize().ok());
    found.dedup_by_key(|path| path.canonicalize().ok());
    found
}

#[derive(Default)]
struct Reader {
    files: Vec<PathBuf>,
    notes: Vec<String>,
    refused: u64,
}

impl Reader {
    fn all<T>(&mut self, paths: &[PathBuf], parse: fn(&Path, &[u8]) -> (Vec<T>, Report)) -> Result<Vec<T>, String> {
        let mut all = Vec::new();
        for path in paths {
            let raw = read_raw(path, &limits::FILE_BYTES).map_err(|error| error.to_string())?;
            let (bytes, damage) = decompress(path, raw.ok_or_else(|| format!("{}: too large", path.display()))?);
            let (records, report) = parse(path, &bytes);
            if let Some(error) = damage.iter().chain(&report.errors).next() {
                return Err(error.to_string());
            }
            self.refused += report.refused_total();
            self.notes.extend(report.places.iter().take(PLACES_TOLD).map(|refused| format!("refused: {refused}")));
            self.files.push(path.clone());
            all.extend(records);
        }
        Ok(all)
    }
}
