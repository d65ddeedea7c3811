//! Selected rows as a table of columns, Arrow's stream or Parquet, a batch at a time. Never: a filter, a socket, a
//! text.

use super::field::Field;
use super::frame::ColumnHead;
use super::table::Fact;
use crate::picked::Picked;
use engine::store::chain::Chain;
use history::schema::{FileColumn, served_column};
use history::tables::{PlainColumn, PlainWriter, TableFormat, TableRows, TableSymbols, TableWriter};
use http::{Progress, Stream};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;

/// Approximate bytes of numbers in a batch: few enough for a thread's buffer, enough for a reader.
const BATCH_BYTES: usize = 1 << 20;
/// The columns that name a contract, in the order of `/l1/greeks`.
const CONTRACT: [&str; 6] = ["underlying", "root", "expiry", "strike", "right", "osym"];
/// Average bytes of a cell, words and symbols included.
const CELL_BYTES: usize = 9;
/// Upper bound on the bytes of schema and end together.
const SCHEMA_BYTES: usize = 64 * 1024;

/// The `Content-Type` of a table.
#[must_use]
pub const fn content_type(format: TableFormat) -> &'static str {
    match format {
        TableFormat::Arrow => "application/vnd.apache.arrow.stream",
        TableFormat::Parquet => "application/vnd.apache.parquet",
    }
}

/// A whole table of facts, of which all numbers are one kind of column and everything else is text.
///
/// # Errors
/// The library refuses it.
pub fn facts(format: TableFormat, columns: &[ColumnHead<'_>], rows: &[Cow<'_, [Fact]>]) -> io::Result<Vec<u8>> {
    let mut writer = PlainWriter::new(format, columns.iter().map(|head| (head.name, head.is_number)))?;
    let column = |(place, head): (usize, &ColumnHead<'_>)| match head.is_number {
        true => PlainColumn::Numbers(rows.iter().map(|row| row[place].number()).collect()),
        false => PlainColumn::Words(rows.iter().map(|row| row[place].words()).collect()),
    };
    let (columns, mut out): (Vec<PlainColumn>, _) = (columns.iter().enumerate().map(column).collect(), Vec::new());
    writer.write(&columns, &mut out)?;
    writer.finish(&mut out)?;
    Ok(out)
}

/// An answer that is being written as a table.
pub struct TableStream {
    /// `None`: the table cannot be written.
    writer: Option<TableWriter>,
    /// Remaining rows; each entry is dropped after its last row.
    picked: Vec<Option<Picked>>,
    rows_at_once: usize,
    most_bytes: usize,
    at: TablePosition,
}

/// Position of the next row: chain, range, row.
#[derive(Clone, Copy, Default)]
struct TablePosition {
    chain: usize,
    range: usize,
    row: u32,
}

impl TableStream {
    /// A table of these rows and fields; its schema carries the field groups.
    #[must_use]
    pub fn new(format: TableFormat, fields: &[Field], groups: &str, picked: Vec<Picked>) -> Self {
        let columns: Vec<FileColumn> = fields.iter().filter_map(|field| served_column(field.name)).collect();
        let row_bytes = columns.len() * CELL_BYTES;
        let rows: usize = picked.iter().map(Picked::count).sum();
        let chains: Vec<&Chain> = picked.iter().map(|picked| &*picked.chain).collect();
        let about = about_rates(&chains);
        let symbols = TableSymbols::of(chains.into_iter());
        let writer = TableWriter::new(format, columns, groups, &about, &symbols);
        Self {
            writer: writer.inspect_err(complain).ok(),
            picked: picked.into_iter().map(Some).collect(),
            rows_at_once: (BATCH_BYTES / row_bytes.max(1)).max(1),
            most_bytes: 2 * rows * row_bytes + SCHEMA_BYTES,
            at: TablePosition::default(),
        }
    }

    /// The rows of the next batch, from one or more chains; empty at the end.
    fn next_batch(&mut self) -> Vec<(usize, Vec<Range<u32>>)> {
        let (mut batch, mut room) = (Vec::new(), self.rows_at_once);
        while let (Some(Some(Picked { rows, .. })), 1..) = (self.picked.get(self.at.chain), room) {
            let mut taken = Vec::new();
            while let (Some(range), 1..) = (rows.get(self.at.range), room) {
                let start = self.at.row.max(range.start);
                let end = range.end.min(start.saturating_add(u32::try_from(room).unwrap_or(u32::MAX)));
                room -= (end - start) as usize;
                taken.push(start..end);
                self.at.row = end;
                if end == range.end {
                    (self.at.range, self.at.row) = (self.at.range + 1, 0);
                }
            }
            batch.push((self.at.chain, taken));
            if self.at.range == rows.len() {
                self.at = TablePosition { chain: self.at.chain + 1, ..TablePosition::default() };
            }
        }
        batch
    }

    fn write(&mut self, out: &mut Vec<u8>) -> io::Result<Progress> {
        let batch = self.next_batch();
        let Some(writer) = &mut self.writer else { return Ok(Progress::Broken) };
        if batch.is_empty() {
            writer.finish(out)?;
            return Ok(Progress::Done);
        }
        let chain_at = |at: usize| self.picked.get(at)?.as_ref().map(|picked| &*picked.chain);
        let rows: Vec<TableRows<'_>> =
            batch.iter().filter_map(|(at, rows)| Some(TableRows { chain: chain_at(*at)?, rows })).collect();
        writer.write(&rows, out)?;
        // an old snapshot is held no longer than its rows take
        for (at, _) in batch {
            if at < self.at.chain {
                self.picked[at] = None;
            }
        }
        Ok(Progress::More)
    }
}

/// A table of the rows of many snapshots, one after the other.
pub struct TableParts {
    writer: TableWriter,
    row_bytes: usize,
}

impl TableParts {
    /// A table of these fields, whose rows have these symbols.
    ///
    /// # Errors
    /// The table cannot be written.
    pub fn new(format: TableFormat, fields: &[Field], groups: &str, symbols: &TableSymbols) -> io::Result<Self> {
        let columns: Vec<FileColumn> = fields.iter().filter_map(|field| served_column(field.name)).collect();
        let row_bytes = columns.len() * CELL_BYTES;
        Ok(Self { writer: TableWriter::new(format, columns, groups, &[], symbols)?, row_bytes })
    }

    /// Appends the rows of a snapshot.
    pub fn push(&mut self, picked: &[Picked], out: &mut Vec<u8>) -> Progress {
        let rows: Vec<TableRows<'_>> =
            picked.iter().map(|picked| TableRows { chain: &picked.chain, rows: &picked.rows }).collect();
        match self.writer.write(&rows, out).inspect_err(complain) {
            Ok(()) => Progress::More,
            Err(_) => Progress::Broken,
        }
    }

    /// Ends the table.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Progress {
        match self.writer.finish(out).inspect_err(complain) {
            Ok(()) => Progress::Done,
            Err(_) => Progress::Broken,
        }
    }

    /// Approximate upper bound on the bytes of some rows.
    #[must_use]
    pub fn most_bytes(&self, picked: &[Picked]) -> usize {
        2 * picked.iter().map(Picked::count).sum::<usize>() * self.row_bytes + SCHEMA_BYTES
    }
}

/// Approximate bytes of a row of [`push_rows`] with so many numbers.
#[must_use]
pub const fn row_bytes(numbers: usize) -> usize {
    (CONTRACT.len() + numbers) * CELL_BYTES
}

/// Appends rows as a whole Arrow stream: what names their contracts, then these columns. Its schema carries `event`.
///
/// # Errors
/// The table cannot be written.
pub fn push_rows<'n>(
    columns: impl Iterator<Item = &'n str>,
    event: String,
    picked: &[Picked],
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let columns = CONTRACT.into_iter().chain(columns).filter_map(served_column).collect();
    let symbols = TableSymbols::of(picked.iter().map(|picked| &*picked.chain));
    let about = [("greeksd.event".to_owned(), event)];
    let mut writer = TableWriter::new(TableFormat::Arrow, columns, "", &about, &symbols).inspect_err(complain)?;
    let rows: Vec<TableRows<'_>> =
        picked.iter().map(|picked| TableRows { chain: &picked.chain, rows: &picked.rows }).collect();
    writer.write(&rows, out).inspect_err(complain)?;
    writer.finish(out).inspect_err(complain)
}

/// Metadata of the schema about discount curves: `greeksd.rates` with source and date of each curve of these chains.
fn about_rates(chains: &[&Chain]) -> Vec<(String, String)> {
    let of = |chain: &&Chain| Some(chain.evidence.as_ref()?.rates?.to_string());
    let all: BTreeSet<String> = chains.iter().filter_map(of).collect();
    let text = all.into_iter().collect::<Vec<_>>().join(", ");
    if text.is_empty() { Vec::new() } else { vec![("greeksd.rates".to_owned(), text)] }
}

fn complain(error: &io::Error) {
    tracing::error!(%error, "a table cannot be written");
}

impl Stream for TableStream {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        self.write(out).inspect_err(complain).unwrap_or(Progress::Broken)
    }

    fn most_bytes(&self) -> Option<usize> {
        Some(self.most_bytes)
    }
}
