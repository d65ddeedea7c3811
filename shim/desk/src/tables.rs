//! Rows of facts as binary tables. Never: the meaning of a fact.

use api::rows::frame::ColumnHead;
use api::rows::table::Fact;
use history::tables::{PlainColumn, PlainWriter, TableFormat};
use std::io;

/// A writer of a table with these columns.
///
/// # Errors
/// The library refuses them.
pub(crate) fn writer(format: TableFormat, columns: &[ColumnHead<'_>]) -> io::Result<PlainWriter> {
    PlainWriter::new(format, columns.iter().map(|column| (column.name, column.is_number)))
}

/// The columns of some rows.
pub(crate) fn columns_of(heads: &[ColumnHead<'_>], rows: &[Vec<Fact>]) -> Vec<PlainColumn> {
    let column = |(place, head): (usize, &ColumnHead<'_>)| {
        let cells = rows.iter().map(|row| &row[place]);
        if head.is_number {
            PlainColumn::Numbers(cells.map(number_of).collect())
        } else {
            PlainColumn::Words(cells.map(word_of).collect())
        }
    };
    heads.iter().enumerate().map(column).collect()
}

/// A whole table.
///
/// # Errors
/// It cannot be written.
pub(crate) fn table_of(format: TableFormat, heads: &[ColumnHead<'_>], rows: &[Vec<Fact>]) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut writer = writer(format, heads)?;
    if !rows.is_empty() {
        writer.write(&columns_of(heads, rows), &mut out)?;
    }
    writer.finish(&mut out)?;
    Ok(out)
}

fn word_of(cell: &Fact) -> Option<String> {
    match cell {
        Fact::Word(word) => Some(word.clone()),
        Fact::Words(words) => Some(words.join(" ")),
        _ => None,
    }
}

fn number_of(cell: &Fact) -> f64 {
    match cell {
        Fact::Number(x) => *x,
        Fact::Count(n) => *n as f64,
        _ => f64::NAN,
    }
}
