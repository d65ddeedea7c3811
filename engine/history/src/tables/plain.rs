//! A table of words and numbers, as Arrow or Parquet, batch by batch, for rows that are not contracts. Never: a chain.

use super::rows::{PlainColumn, TableFormat};
use super::table_writer::TableSink;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::io;
use std::sync::Arc;

/// Rows of a group in Parquet, which its writer holds in memory.
const ROW_GROUP: usize = 2048;

/// Writer of a table.
pub struct PlainWriter {
    schema: SchemaRef,
    sink: TableSink,
}

impl PlainWriter {
    /// Begins a table of these columns, each a name and true if it has numbers.
    ///
    /// # Errors
    /// The library refuses them.
    pub fn new<'a>(format: TableFormat, columns: impl Iterator<Item = (&'a str, bool)>) -> io::Result<Self> {
        let kind = |is_number: bool| if is_number { DataType::Float64 } else { DataType::Utf8 };
        let fields: Vec<Field> = columns.map(|(name, is_number)| Field::new(name, kind(is_number), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let level = ZstdLevel::try_new(1).map_err(io::Error::other)?;
        let properties = WriterProperties::builder()
            .set_created_by(format!("greeksd {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .build();
        Ok(Self { sink: TableSink::new(format, Arc::clone(&schema), properties)?, schema })
    }

    /// Adds rows, and appends the finished bytes of the table to `out`. All columns have the same number of rows.
    ///
    /// # Errors
    /// The library refuses them.
    pub fn write(&mut self, columns: &[PlainColumn], out: &mut Vec<u8>) -> io::Result<()> {
        let array = |column: &PlainColumn| -> ArrayRef {
            match column {
                PlainColumn::Words(words) => Arc::new(StringArray::from_iter(words)),
                PlainColumn::Numbers(numbers) => {
                    Arc::new(Float64Array::from_iter(numbers.iter().map(|x| x.is_finite().then_some(*x))))
                }
            }
        };
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns.iter().map(array).collect());
        self.sink.write(&batch.map_err(io::Error::other)?, out)
    }

    /// Ends the table.
    ///
    /// # Errors
    /// The library refuses it.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.sink.finish(out)
    }
}
