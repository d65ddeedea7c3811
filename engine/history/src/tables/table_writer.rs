//! Tables of rows to bytes that others read while they are written: Arrow's stream and Parquet. Never: a socket, a
//! column.

use super::arrays::{ArrayForm, Words};
use super::parquet_file::parquet_properties;
use super::rows::{TableFormat, TableRows, TableSymbols};
use crate::schema::FileColumn;
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::io;

/// A table in the making.
pub struct TableWriter {
    form: ArrayForm,
    words: Words,
    sink: TableSink,
}

/// Batches of any table to bytes.
pub(super) enum TableSink {
    Arrow(StreamWriter<Vec<u8>>),
    Parquet(ArrowWriter<Vec<u8>>),
}

impl TableSink {
    /// Begins a table; the properties are those of Parquet.
    ///
    /// # Errors
    /// The library refuses the schema.
    pub(super) fn new(format: TableFormat, schema: SchemaRef, properties: WriterProperties) -> io::Result<Self> {
        Ok(match format {
            TableFormat::Arrow => Self::Arrow(StreamWriter::try_new(Vec::new(), &schema).map_err(io::Error::other)?),
            TableFormat::Parquet => {
                Self::Parquet(ArrowWriter::try_new(Vec::new(), schema, Some(properties)).map_err(io::Error::other)?)
            }
        })
    }

    /// Appends rows, and to `out` what has become of the table: all of them in Arrow, a group of rows now and then in
    /// Parquet.
    ///
    /// # Errors
    /// The library refuses them.
    pub(super) fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Arrow(writer) => writer.write(batch).map_err(io::Error::other)?,
            Self::Parquet(writer) => writer.write(batch).map_err(io::Error::other)?,
        }
        self.pass_on(out);
        Ok(())
    }

    /// Ends the table.
    ///
    /// # Errors
    /// The library refuses it.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Arrow(writer) => writer.finish().map_err(io::Error::other)?,
            Self::Parquet(writer) => drop(writer.finish().map_err(io::Error::other)?),
        }
        self.pass_on(out);
        Ok(())
    }

    fn pass_on(&mut self, out: &mut Vec<u8>) {
        out.append(match self {
            Self::Arrow(writer) => writer.get_mut(),
            Self::Parquet(writer) => writer.inner_mut(),
        });
    }
}

impl TableWriter {
    /// Begins a table of rows with these symbols and no others. Its schema carries `groups`, the field groups, and
    /// `about`.
    ///
    /// # Errors
    /// The library refuses the columns.
    pub fn new(
        format: TableFormat,
        columns: Vec<FileColumn>,
        groups: &str,
        about: &[(String, String)],
        symbols: &TableSymbols,
    ) -> io::Result<Self> {
        let form = ArrayForm::new(columns, groups, about);
        let words = form.words(symbols);
        let sink = TableSink::new(format, form.schema(), parquet_properties(form.columns(), &[])?)?;
        Ok(Self { form, words, sink })
    }

    /// Appends rows, as `TableSink::write` does.
    ///
    /// # Errors
    /// The library refuses them, or they have a symbol that the table has not.
    pub fn write(&mut self, rows: &[TableRows<'_>], out: &mut Vec<u8>) -> io::Result<()> {
        if !rows.iter().all(|rows| self.words.has_all_of(rows.chain)) {
            return Err(io::Error::other("rows with a symbol that the table has not"));
        }
        let batch = self.form.batch(&self.words, rows).map_err(io::Error::other)?;
        self.sink.write(&batch, out)
    }

    /// Ends the table.
    ///
    /// # Errors
    /// The library refuses it.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.sink.finish(out)
    }
}
