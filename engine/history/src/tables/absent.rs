//! The interface of this folder in a build without the feature `tables`: nothing is read, nothing is written.

use super::rows::{PlainColumn, StoredChains, TableFormat, TableRows, TableSymbols};
use crate::output::{FileAbout, FileForm, GreeksWriter};
use crate::recipe::Recipe;
use crate::reference::ReferenceSet;
use crate::schema::FileColumn;
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::path::Path;

const ABSENT: &str = "this program was built without the feature `tables`, which brings Parquet and Arrow";

fn absent<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, ABSENT))
}

/// Parquet files; none can be made.
#[derive(Clone, Copy, Debug)]
pub struct AbsentForm(Infallible);

impl AbsentForm {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn new(_: Recipe) -> io::Result<Self> {
        absent()
    }
}

impl FileForm for AbsentForm {
    fn extension(&self) -> &'static str {
        match self.0 {}
    }

    fn begin(&self, _: File, _: &FileAbout) -> io::Result<Box<dyn GreeksWriter>> {
        match self.0 {}
    }
}

/// A table that is being written; none can be made.
#[derive(Clone, Copy, Debug)]
pub struct AbsentWriter(Infallible);

impl AbsentWriter {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn new(
        _: TableFormat,
        _: Vec<FileColumn>,
        _: &str,
        _: &[(String, String)],
        _: &TableSymbols,
    ) -> io::Result<Self> {
        absent()
    }

    /// Appends rows.
    ///
    /// # Errors
    /// None: there is no table.
    pub fn write(&mut self, _: &[TableRows<'_>], _: &mut Vec<u8>) -> io::Result<()> {
        match self.0 {}
    }

    /// Ends the table.
    ///
    /// # Errors
    /// None: there is no table.
    pub fn finish(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        match self.0 {}
    }
}

/// Refuses.
///
/// # Errors
/// Always.
pub fn read_chains(file: &Path, _: (Symbol, Date), _: &ReferenceSet, _: Recipe) -> Result<StoredChains, String> {
    Err(format!("{}: {ABSENT}", file.display()))
}

/// A table of words and numbers; none can be made.
#[derive(Clone, Copy, Debug)]
pub struct AbsentPlain(Infallible);

impl AbsentPlain {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn new<'a>(_: TableFormat, _: impl Iterator<Item = (&'a str, bool)>) -> io::Result<Self> {
        absent()
    }

    /// Appends rows.
    ///
    /// # Errors
    /// None: there is no table.
    pub fn write(&mut self, _: &[PlainColumn], _: &mut Vec<u8>) -> io::Result<()> {
        match self.0 {}
    }

    /// Ends the table.
    ///
    /// # Errors
    /// None: there is no table.
    pub fn finish(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        match self.0 {}
    }
}
