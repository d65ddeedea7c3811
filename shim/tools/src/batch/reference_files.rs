//! Reference data of a job: files of dividends, rates, dates and overrides. Never: a quote.

use super::inputs::Inputs;
use crate::arguments::ReferencePaths;
use history::reference::{ReferenceRecords, ReferenceSet};
use history::reference_documents::{DocumentRecords, ReferenceDocument, ReferenceDocuments};
use kernel::error::Refused;
use std::path::{Path, PathBuf};

/// Maximum number of refused rows that are reported; all are counted.
const PLACES_SHOWN: usize = 5;

/// Value of `--rates` that sets every rate to zero.
const ZERO_RATES: &str = "zero";

/// Files of reference data that a job uses, given or found.
pub struct NamedFiles {
    dividends: Vec<PathBuf>,
    rates: Vec<PathBuf>,
    days: Vec<PathBuf>,
    deliverables: Vec<PathBuf>,
    events: Vec<PathBuf>,
}

impl NamedFiles {
    /// Returns the options that make another process use the same reference data, wherever its quotes lie;
    /// `--overrides` is only ever given.
    pub fn options(&self, zero_rates: bool) -> Vec<String> {
        let lists = [
            ("--dividends", &self.dividends),
            ("--rates", &self.rates),
            ("--calendar", &self.days),
            ("--deliverables", &self.deliverables),
            ("--events", &self.events),
        ];
        let files = lists.into_iter().flat_map(|(option, files)| files.iter().map(move |file| (option, file)));
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let named = files.flat_map(|(option, path)| [option.to_owned(), absolute(path).display().to_string()]);
        let zero = ["--rates", ZERO_RATES].into_iter().filter(|_| zero_rates).map(str::to_owned);
        std::iter::once("--reference-as-named".to_owned()).chain(named).chain(zero).collect()
    }
}

/// Reference data of a job, and the files that they were read from.
pub struct ReferenceFiles {
    /// The records of the files.
    pub records: ReferenceRecords,
    /// The records, prepared for the computation.
    pub reference: ReferenceSet,
    /// Notes for the user before the job begins.
    pub notes: Vec<String>,
    /// The files, in the order in which they were read.
    pub files: Vec<PathBuf>,
    /// The files by kind.
    pub named: NamedFiles,
    /// Number of refused rows.
    pub refused: u64,
    /// The first refused rows of each file.
    pub places: Vec<Refused>,
}

impl ReferenceFiles {
    /// Reads the named files; for a kind without a named file, those in or beside the folders of quotes.
    ///
    /// # Errors
    /// A file cannot be used: without it the numbers would differ.
    pub fn read(named: &ReferencePaths, inputs: &Inputs) -> Result<Self, String> {
        let found_beside = |name: &str| if named.reference_as_named { Vec::new() } else { beside(inputs, name) };
        let found = |given: &[PathBuf], name: &str| if given.is_empty() { found_beside(name) } else { given.to_vec() };
        let dividends = found(&named.dividends, "dividends.csv");
        let rates = found(&named.rates, "rates.csv");
        let calendar = if named.calendar.is_empty() { found_beside("overrides.csv") } else { named.calendar.clone() };
        let zero_rates = named.rates.iter().any(|path| path == Path::new(ZERO_RATES));
        let rates = if zero_rates { Vec::new() } else { rates };
        let deliverables = found(&named.deliverables, "deliverables.csv");
        let events = found(&named.events, "events.csv");
        let files = |paths: &[PathBuf]| paths.iter().cloned().map(ReferenceDocument::File).collect();
        let documents = ReferenceDocuments {
            dividends: files(&dividends),
            rates: files(&rates),
            zero_rates,
            days: files(&calendar),
            deliverables: files(&deliverables),
            overrides: files(named.overrides.as_slice()),
            events: files(&events),
        };
        let DocumentRecords { records, paths, refused, places } = documents.read()?;
        let mut notes: Vec<String> =
            places.iter().take(PLACES_SHOWN).map(|place| format!("refused: {place}")).collect();
        let named = NamedFiles { dividends, rates, days: calendar, deliverables, events };
        if named.dividends.is_empty() {
            notes.push("no dividends: give dividends.csv or --dividends".to_owned());
        }
        let reference = ReferenceSet::new(&records);
        Ok(Self { records, reference, notes, files: paths, named, refused, places })
    }
}

/// Files of a name in the folders of quotes, or else in the folders above these.
fn beside(inputs: &Inputs, name: &str) -> Vec<PathBuf> {
    let of_folder = |folder: &PathBuf| {
        let outer = if folder.as_os_str().is_empty() { Path::new("..").to_path_buf() } else { folder.join("..") };
        [folder.join(name), outer.join(name)].into_iter().find(|path| path.is_file())
    };
    let mut found: Vec<PathBuf> = inputs.folders.iter().filter_map(of_folder).collect();
    // two paths may lead to one file
    found.sort_by_key(|path| path.canonicalize().ok());
    found.dedup_by_key(|path| path.canonicalize().ok());
    found
}
