//! Tables of other programs: files of Greeks in Parquet, and streams of Arrow and Parquet. Only files of this folder
//! and the readers of quotes name their libraries, which the feature `tables` brings. A build without it has the same
//! interface (`absent.rs`), whose every function returns an error.

#[cfg(feature = "tables")]
mod arrays;
#[cfg(feature = "tables")]
mod fields;
#[cfg(feature = "tables")]
mod greeks_file;
#[cfg(feature = "tables")]
mod memory;
#[cfg(feature = "tables")]
mod parquet_file;
#[cfg(feature = "tables")]
mod plain;
mod rows;
#[cfg(feature = "tables")]
mod table_writer;

pub use rows::{PlainColumn, StoredChains, TableFormat, TableRows, TableSymbols, TimedChains};

#[cfg(feature = "tables")]
pub use {
    greeks_file::read_chains,
    memory::MemoryForm,
    parquet_file::{ParquetForm, ROW_GROUP},
    plain::PlainWriter,
    table_writer::TableWriter,
};

#[cfg(not(feature = "tables"))]
mod absent;
#[cfg(not(feature = "tables"))]
pub use absent::{AbsentForm as ParquetForm, AbsentPlain as PlainWriter, AbsentWriter as TableWriter, read_chains};
