//! Chains to Parquet: row groups of a fixed number of rows, zstd, dictionaries for what comes again, NaN as null. The
//! same chains give the same bytes. The only file that writes it. Never: a computation, a path.

use super::arrays::ArrayForm;
use super::fields::pandas_types;
use super::rows::{TableRows, TableSymbols};
use crate::output::{FileAbout, FileForm, GreeksWriter};
use crate::recipe::{Recipe, VERSION};
use crate::reference_digest::{RATES, REFERENCE_DIGESTS};
use crate::schema::{FileColumn, file_columns, file_groups};
use engine::store::chain::Chain;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Rows of a row group: what a reader can leave out at once, and what a writer holds in memory.
pub const ROW_GROUP: usize = 65_536;
/// Level 3 takes a sixth more time for a day of minutes, and its files are smaller by a fiftieth.
const ZSTD_LEVEL: i32 = 1;

/// Parquet files of a recipe.
#[derive(Clone, Debug)]
pub struct ParquetForm {
    arrays: ArrayForm,
    properties: WriterProperties,
}

impl ParquetForm {
    /// Files of a recipe, that say so.
    ///
    /// # Errors
    /// The library refuses the level of compression.
    pub fn new(recipe: Recipe) -> io::Result<Self> {
        let about = about(recipe);
        let arrays = ArrayForm::new(file_columns(recipe), file_groups(recipe), &about);
        let properties = parquet_properties(arrays.columns(), &about)?;
        Ok(Self { arrays, properties })
    }
}

/// Settings of the writer of a table: dictionaries for columns with repeated values, `about` as metadata.
///
/// # Errors
/// The library refuses the level of compression.
pub(crate) fn parquet_properties(columns: &[FileColumn], about: &[(String, String)]) -> io::Result<WriterProperties> {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).map_err(refused)?;
    let facts = about.iter().cloned().chain([pandas_types(columns)]);
    let facts: Vec<KeyValue> = facts.map(|(key, value)| KeyValue::new(key, value)).collect();
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("greeksd {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_dictionary_enabled(false)
        .set_key_value_metadata(Some(facts));
    for column in columns.iter().filter(|column| column.repeats()) {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(column.name), true);
    }
    Ok(properties.build())
}

/// Metadata of a file.
#[must_use]
pub(super) fn about(recipe: Recipe) -> Vec<(String, String)> {
    let facts = [
        ("greeksd.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("greeksd.recipe_version", VERSION.to_string()),
        ("greeksd.accuracy", recipe.quality.name().to_owned()),
        ("greeksd.recipe", recipe.text()),
        ("greeksd.greeks", file_groups(recipe).to_owned()),
        ("greeksd.missing", "null: the value is missing; never zero, never NaN".to_owned()),
        ("greeksd.order", "quote_time where a day has several, then expiry, settle, root, strike, right".to_owned()),
    ];
    facts.map(|(key, value)| (key.to_owned(), value)).to_vec()
}

impl FileForm for ParquetForm {
    fn extension(&self) -> &'static str {
        "parquet"
    }

    fn begin(&self, file: File, about: &FileAbout) -> io::Result<Box<dyn GreeksWriter>> {
        let writer = ArrowWriter::try_new(file, self.arrays.schema(), Some(self.properties.clone()));
        let mut writer = writer.map_err(refused)?;
        for (key, value) in [(REFERENCE_DIGESTS, &about.known), (RATES, &about.rates)] {
            writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value.clone()));
        }
        Ok(Box::new(ParquetWriter { arrays: self.arrays.clone(), writer }))
    }
}

struct ParquetWriter {
    arrays: ArrayForm,
    writer: ArrowWriter<File>,
}

impl GreeksWriter for ParquetWriter {
    fn chain(&mut self, chain: &Arc<Chain>) -> io::Result<()> {
        if chain.rows() == 0 {
            return Ok(());
        }
        let (chain, words) = (&**chain, self.arrays.words(&TableSymbols::of(std::iter::once(&**chain))));
        let all = 0..chain.rows();
        let rows = TableRows { chain, rows: std::slice::from_ref(&all) };
        let batch = self.arrays.batch(&words, &[rows]).map_err(io::Error::other)?;
        self.writer.write(&batch).map_err(refused)
    }

    fn finish(self: Box<Self>) -> io::Result<File> {
        self.writer.into_inner().map_err(refused)
    }
}

fn refused(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}
