//! Tables of rows to bytes that others read while they are written: Arrow's stream and Parquet. Never: a socket, a
//! column.

use super::arrays::{ArrayForm, Words};
use super::parquet_file::parquet_properties;
use super::rows::{TableFormat, TableRows, TableSymbols};
use crate::schema::FileColumn;
use arrow_ipc::writer::StreamWriter;
use parquet::arrow::ArrowWriter;
use std::io;

/// A table in the making.
pub struct TableWriter {
    form: ArrayForm,
    words: Words,
    sink: TableSink,
}

enum TableSink {
    Arrow(StreamWriter<Vec<u8>>),
    Parquet(ArrowWriter<Vec<u8>>),
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
        let (words, schema) = (form.words(symbols), form.schema());
        let sink = match format {
            TableFormat::Arrow => {
                TableSink::Arrow(StreamWriter::try_new(Vec::new(), &schema).map_err(io::Error::other)?)
            }
            TableFormat::Parquet => {
                let properties = parquet_properties(form.columns(), &[])?;
                let writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties));
                TableSink::Parquet(writer.map_err(io::Error::other)?)
            }
        };
        Ok(Self { form, words, sink })
    }

    /// Appends rows, and to `out` what has become of the table: all of them in Arrow, a group of rows now and then in
    /// Parquet.
    ///
    /// # Errors
    /// The library refuses them, or they have a symbol that the table has not.
    pub fn write(&mut self, rows: &[TableRows<'_>], out: &mut Vec<u8>) -> io::Result<()> {
        if !rows.iter().all(|rows| self.words.has_all_of(rows.chain)) {
            return Err(io::Error::other("rows with a symbol that the table has not"));
        }
        let batch = self.form.batch(&self.words, rows).map_err(io::Error::other)?;
        match &mut self.sink {
            TableSink::Arrow(writer) => writer.write(&batch).map_err(io::Error::other)?,
            TableSink::Parquet(writer) => writer.write(&batch).map_err(io::Error::other)?,
        }
        self.pass_on(out);
        Ok(())
    }

    /// Ends the table.
    ///
    /// # Errors
    /// The library refuses it.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.sink {
            TableSink::Arrow(writer) => writer.finish().map_err(io::Error::other)?,
            TableSink::Parquet(writer) => drop(writer.finish().map_err(io::Error::other)?),
        }
        self.pass_on(out);
        Ok(())
    }

    fn pass_on(&mut self, out: &mut Vec<u8>) {
        out.append(match &mut self.sink {
            TableSink::Arrow(writer) => writer.get_mut(),
            TableSink::Parquet(writer) => writer.inner_mut(),
        });
    }
}
