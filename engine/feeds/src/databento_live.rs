//! Live streams of Databento's format: record by record as the vendor's library passes them on, or as bytes that a
//! program pushes. Never: a socket, a layout.

use super::databento::{
    CBBO_1M, CBBO_1S, CMBP_1, DEFINITION, End, File, HEADER_BYTES, Instrument, Instruments, MAGIC, METADATA_BYTES,
    SYMBOL_MAPPING,
};
use super::intake::Intake;
use kernel::contract::RootTable;
use kernel::error::Instead;
use kernel::records::{Batch, QuoteRecord};
use kernel::report::Report;
use std::path::{Path, PathBuf};

/// Reads records as they come, of version 2 or 3.
pub struct DbnRecords {
    source: PathBuf,
    roots: RootTable,
    version: u8,
    file: File,
    /// The number of the record.
    place: usize,
}

impl DbnRecords {
    /// A stream before its first record.
    #[must_use]
    pub fn new(source: &Path, version: u8, roots: RootTable) -> Self {
        let intake = Intake::new(source, Report::default());
        let file = File { intake, instruments: Instruments::default(), until: None };
        Self { source: source.to_path_buf(), roots, version, file, place: 0 }
    }

    /// Adds a record with its header.
    ///
    /// # Errors
    /// There are too many instruments.
    pub fn add(&mut self, record: &[u8]) -> Result<(), Instead> {
        if record.len() < HEADER_BYTES {
            return Ok(());
        }
        self.place += 1;
        let added = match record[1] {
            CMBP_1 | CBBO_1S | CBBO_1M => {
                self.file.quote(self.place, record);
                Ok(())
            }
            DEFINITION => self.file.definition(self.place, record, &self.roots),
            SYMBOL_MAPPING => self.file.mapping(record, self.version, &self.roots),
            _ => Ok(()),
        };
        added.map_err(|end| if let End::Instead(what) = end { what } else { Instead::OtherFormat })
    }

    fn bytes(&self) -> usize {
        self.file.instruments.bytes()
    }

    /// Reads the metadata that a stream begins with, after their length.
    fn metadata(&mut self, metadata: &[u8]) -> Result<(), Instead> {
        let read = self.file.mappings(self.version, metadata, &self.roots);
        read.map_err(|end| if let End::Instead(what) = end { what } else { Instead::OtherFormat })
    }

    /// Returns the last quote of every contract with a new one, and the report of the records since the last call.
    pub fn take(&mut self) -> (Batch, Report) {
        let new = Intake::new(&self.source, Report::default());
        let intake = std::mem::replace(&mut self.file.intake, new);
        let (mut quotes, mut spots) = (Vec::new(), Vec::new());
        self.file.instruments.take_changed(|listed| match (&listed.instrument, listed.last) {
            (&Ok(Instrument::Option { underlying, contract }), Some((_, quote))) => {
                quotes.push(QuoteRecord { underlying, contract, ..quote });
            }
            (Ok(Instrument::Share(_)), _) => spots.extend(listed.spot.take()),
            _ => {}
        });
        let (_, report) = intake.finish();
        (Batch { quotes, spots, ..Batch::default() }, report)
    }
}

/// Greatest metadata of a pushed stream, bytes: the symbols of 100,000 contracts with a date each.
const METADATA_MOST: usize = 16 << 20;
/// Bytes before the metadata: the magic number, the version and their length.
const START_BYTES: usize = 8;

/// A stream of plain DBN from its beginning, byte by byte as a program pushes it.
pub struct DbnStream {
    source: PathBuf,
    /// Metadata that have come in part.
    held: Vec<u8>,
    /// The records, once the metadata have come.
    records: Option<DbnRecords>,
}

impl DbnStream {
    /// True if a stream may begin with these bytes, which no line does.
    #[must_use]
    pub fn begins(bytes: &[u8]) -> bool {
        bytes.first() == MAGIC.first()
    }

    /// A stream before its first byte; `source` is named in refusals.
    #[must_use]
    pub fn new(source: &Path) -> Self {
        Self { source: source.to_path_buf(), held: Vec::new(), records: None }
    }

    /// True once the metadata have come, behind which the records are.
    #[must_use]
    pub fn has_metadata(&self) -> bool {
        self.records.is_some()
    }

    /// Approximate bytes held: metadata that have come in part, else the instruments.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.records.as_ref().map_or(self.held.capacity(), DbnRecords::bytes)
    }

    /// Reads whole records from the beginning of `bytes`; returns the number of bytes used. The rest is to come again
    /// with what follows it.
    ///
    /// # Errors
    /// The stream is no DBN of version 1 to 3, damaged, or has too many instruments.
    pub fn read(&mut self, bytes: &[u8]) -> Result<usize, Instead> {
        let mut used = 0;
        while self.records.is_none() {
            let wanted = match self.held.split_first_chunk::<START_BYTES>() {
                None => START_BYTES,
                Some((&[m0, m1, m2, version, l0, l1, l2, l3], _)) => {
                    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
                    if [m0, m1, m2] != *MAGIC || !(1..=3).contains(&version) || length < METADATA_BYTES {
                        return Err(Instead::OtherFormat);
                    }
                    if length > METADATA_MOST {
                        return Err(Instead::TooManyRecords);
                    }
                    START_BYTES.saturating_add(length)
                }
            };
            if self.held.len() == wanted && wanted > START_BYTES {
                let version = self.held.get(3).copied().unwrap_or_default();
                let mut records = DbnRecords::new(&self.source, version, RootTable::embedded());
                records.metadata(self.held.get(START_BYTES..).unwrap_or_default())?;
                (self.records, self.held) = (Some(records), Vec::new());
                break;
            }
            let rest = bytes.get(used..).unwrap_or_default();
            // memory follows what has come, not what a length says
            let take = wanted.saturating_sub(self.held.len()).min(rest.len());
            if take == 0 {
                return Ok(used);
            }
            self.held.extend(rest.iter().take(take));
            used = used.saturating_add(take);
        }
        let Some(records) = &mut self.records else { return Ok(used) };
        while let Some(rest) = bytes.get(used..)
            && let Some(&words) = rest.first()
        {
            let length = usize::from(words).saturating_mul(4);
            if length < HEADER_BYTES {
                return Err(Instead::OtherFormat);
            }
            let Some(record) = rest.get(..length) else { break };
            records.add(record)?;
            used = used.saturating_add(length);
        }
        Ok(used)
    }

    /// Returns what is new, as [`DbnRecords::take`].
    pub fn take(&mut self) -> (Batch, Report) {
        self.records.as_mut().map(DbnRecords::take).unwrap_or_default()
    }
}
