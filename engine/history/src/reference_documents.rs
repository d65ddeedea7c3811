//! Documents of reference data, files or texts in memory, to the records that they have. Never: where documents are
//! looked for.

use crate::reference::ReferenceRecords;
use feeds::csv::decompress;
use feeds::dir::read_raw;
use feeds::events::parse_events;
use feeds::overrides::parse_overrides;
use feeds::reference::{parse_dated_dividends, parse_days, parse_deliverables, parse_rates};
use kernel::error::Refused;
use kernel::limits;
use kernel::report::Report;
use std::path::{Path, PathBuf};

/// A document in CSV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferenceDocument {
    /// A file, compressed or not.
    File(PathBuf),
    /// A text, under the name that refusals give it.
    Text(PathBuf, Vec<u8>),
}

impl ReferenceDocument {
    /// Path or name of the document.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Text(path, _) => path,
        }
    }
}

/// Documents by what they are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferenceDocuments {
    /// Dividends.
    pub dividends: Vec<ReferenceDocument>,
    /// Points of discount curves.
    pub rates: Vec<ReferenceDocument>,
    /// True if every rate is to be zero.
    pub zero_rates: bool,
    /// Dates that the calendar has wrong.
    pub days: Vec<ReferenceDocument>,
    /// Deliverables of adjusted roots.
    pub deliverables: Vec<ReferenceDocument>,
    /// Overrides of feeds and quotes.
    pub overrides: Vec<ReferenceDocument>,
    /// Events that are known by date.
    pub events: Vec<ReferenceDocument>,
}

/// Records read from documents.
#[derive(Clone, Debug, Default)]
pub struct DocumentRecords {
    /// The records.
    pub records: ReferenceRecords,
    /// The documents that they were read from, in that order.
    pub paths: Vec<PathBuf>,
    /// Number of refused rows.
    pub refused: u64,
    /// The first refused rows of each document, with their places.
    pub places: Vec<Refused>,
}

impl ReferenceDocuments {
    /// Reads all of them.
    ///
    /// # Errors
    /// One of them cannot be used, in words: numbers without it would be other numbers.
    pub fn read(&self) -> Result<DocumentRecords, String> {
        let mut read = DocumentRecords::default();
        // a root that the user gives overrides the file beside the quotes: of two rows of one root the last counts
        let mut overrides = read.all(&self.deliverables, parse_deliverables)?;
        overrides.extend(read.all(&self.overrides, parse_overrides)?);
        let dated = read.all(&self.dividends, parse_dated_dividends)?;
        let declared = dated.iter().filter_map(|row| Some((row.record.underlying, row.record.ex_date, row.declared?)));
        read.records = ReferenceRecords {
            dividends: dated.iter().map(|row| row.record).collect(),
            declared: declared.collect(),
            rates: read.all(&self.rates, parse_rates)?,
            zero_rates: self.zero_rates,
            days: read.all(&self.days, parse_days)?,
            overrides,
            events: read.all(&self.events, parse_events)?,
        };
        Ok(read)
    }
}

impl DocumentRecords {
    fn all<T>(
        &mut self,
        documents: &[ReferenceDocument],
        parse: fn(&Path, &[u8]) -> (Vec<T>, Report),
    ) -> Result<Vec<T>, String> {
        let mut all = Vec::new();
        for document in documents {
            let path = document.path();
            let (records, report) = match document {
                ReferenceDocument::Text(_, bytes) => parse(path, bytes),
                ReferenceDocument::File(_) => {
                    let raw = read_raw(path, &limits::FILE_BYTES).map_err(|error| error.to_string())?;
                    let raw = raw.ok_or_else(|| format!("{}: too large", path.display()))?;
                    let (bytes, damage) = decompress(path, raw);
                    if let Some(error) = damage {
                        return Err(error.to_string());
                    }
                    parse(path, &bytes)
                }
            };
            if let Some(error) = report.errors.first() {
                return Err(error.to_string());
            }
            self.refused += report.refused_total();
            self.places.extend(report.places);
            self.paths.push(path.to_path_buf());
            all.extend(records);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &str) -> Vec<ReferenceDocument> {
        vec![ReferenceDocument::Text(PathBuf::from("<rows>"), bytes.as_bytes().to_vec())]
    }

    #[test]
    fn texts_are_read_as_files_are() {
        let dividends = text("underlying,ex_date,amount\nKO,2024-03-14,0.485\nKO,soon,1\n");
        let read = ReferenceDocuments { dividends, ..ReferenceDocuments::default() }.read().unwrap();
        assert_eq!((read.records.dividends.len(), read.refused), (1, 1));
        assert_eq!(read.places[0].to_string(), "<rows>:3: ex_date: not_a_date: `soon`");
        let rates = text("day,rate\n");
        let refused = ReferenceDocuments { rates, ..ReferenceDocuments::default() }.read().unwrap_err();
        assert_eq!(refused, "<rows>: no column `date`");
        let days = vec![ReferenceDocument::File(PathBuf::from("absent.csv"))];
        assert!(ReferenceDocuments { days, ..ReferenceDocuments::default() }.read().is_err());
    }
}
