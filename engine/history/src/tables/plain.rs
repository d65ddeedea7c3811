//! A short table of words and numbers, whole, as Arrow or Parquet: what has no chain behind it. Never: a chain.

use super::rows::{PlainColumn, TableFormat};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::io;
use std::sync::Arc;

/// Writes a table; all columns have as many rows.
///
/// # Errors
/// The library refuses it.
pub fn plain_table(format: TableFormat, columns: &[(&str, PlainColumn)]) -> io::Result<Vec<u8>> {
    let field = |(name, column): &(&str, PlainColumn)| {
        let kind = match column {
            PlainColumn::Words(_) => DataType::Utf8,
            PlainColumn::Numbers(_) => DataType::Float64,
        };
        Field::new(*name, kind, true)
    };
    let array = |(_, column): &(&str, PlainColumn)| -> ArrayRef {
        match column {
            PlainColumn::Words(words) => Arc::new(StringArray::from_iter(words)),
            PlainColumn::Numbers(numbers) => {
                Arc::new(Float64Array::from_iter(numbers.iter().map(|x| x.is_finite().then_some(*x))))
            }
        }
    };
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns.iter().map(array).collect());
    let batch = batch.map_err(io::Error::other)?;
    match format {
        TableFormat::Arrow => {
            let mut writer = StreamWriter::try_new(Vec::new(), &schema).map_err(io::Error::other)?;
            writer.write(&batch).map_err(io::Error::other)?;
            writer.into_inner().map_err(io::Error::other)
        }
        TableFormat::Parquet => {
            let level = ZstdLevel::try_new(1).map_err(io::Error::other)?;
            let properties = WriterProperties::builder()
                .set_created_by(format!("greeksd {}", env!("CARGO_PKG_VERSION")))
                .set_compression(Compression::ZSTD(level))
                .build();
            let writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties));
            let mut writer = writer.map_err(io::Error::other)?;
            writer.write(&batch).map_err(io::Error::other)?;
            writer.into_inner().map_err(io::Error::other)
        }
    }
}
