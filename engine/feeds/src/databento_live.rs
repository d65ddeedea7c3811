//! A live stream of Databento, record by record, as the vendor's library passes them on. Never: a socket, a layout.

use super::databento::{
    CBBO_1M, CBBO_1S, CMBP_1, DEFINITION, End, File, HEADER_BYTES, Instrument, Instruments, SYMBOL_MAPPING,
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
    /// Number of the last returned record, by instrument.
    taken: Vec<usize>,
}

impl DbnRecords {
    /// A stream from its beginning.
    #[must_use]
    pub fn new(source: &Path, version: u8, roots: RootTable) -> Self {
        let intake = Intake::new(source, Report::default());
        let file = File { intake, instruments: Instruments::default(), until: None };
        Self { source: source.to_path_buf(), roots, version, file, place: 0, taken: Vec::new() }
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

    /// Returns the last quote of every contract with a new one, and the report of the records since the last call.
    pub fn take(&mut self) -> (Batch, Report) {
        let new = Intake::new(&self.source, Report::default());
        let mut intake = std::mem::replace(&mut self.file.intake, new);
        let listed = &mut self.file.instruments.listed;
        self.taken.resize(listed.len(), 0);
        for (listed, taken) in listed.iter_mut().zip(&mut self.taken) {
            match (&listed.instrument, listed.last) {
                (Ok(Instrument::Option { underlying, contract }), Some((place, quote))) if place > *taken => {
                    let (underlying, contract) = (*underlying, *contract);
                    intake.keep(place, "raw_symbol", QuoteRecord { underlying, contract, ..quote });
                    *taken = place;
                }
                (Ok(Instrument::Share(_)), _) => intake.keep_spots(listed.spot.take()),
                _ => {}
            }
        }
        intake.finish()
    }
}
