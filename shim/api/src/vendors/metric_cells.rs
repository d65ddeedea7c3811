//! Cells of metrics in a table. Never: a column, bytes.

use crate::metrics::{Metric, NAME, NameRow};
use crate::rows::clock::{Clock, LastTime};
use crate::rows::frame::ColumnHead;
use crate::rows::table::{CellLeads, Fact, TableLines};
use jiff::Timestamp;
use kernel::contract::Symbol;

/// Columns before the numbers.
pub(super) const NAMED: [ColumnHead<'static>; 2] =
    [ColumnHead { name: "underlying", is_number: false }, ColumnHead { name: "valued_at", is_number: false }];

/// The cells of a row in a table: what names it, its metrics, and why some of them are missing.
pub(super) fn table_row(
    underlying: Symbol,
    valued_at: Timestamp,
    columns: &[ColumnHead<'static>],
    metrics: &[Metric],
    clock: &Clock,
    times: &mut LastTime,
) -> Vec<Fact> {
    let mut cells = Vec::with_capacity(metrics.len() + NAMED.len() + 1);
    cells.push(Fact::Word(underlying.to_string()));
    cells.push(Fact::Word(times.spell(valued_at, clock)));
    let mut missing = Vec::with_capacity(metrics.len());
    for (column, metric) in columns.iter().zip(metrics) {
        cells.push(fact(*metric));
        if let Metric::Missing(why) = metric {
            missing.push((column.name, *why));
        }
    }
    cells.push(Fact::Reasons(missing));
    cells
}

/// The cell of a metric.
pub(super) fn fact(metric: Metric) -> Fact {
    match metric {
        Metric::Number(x) => Fact::Number(x),
        Metric::Word(word) => Fact::Term(word),
        Metric::Date(date) => Fact::Date(date),
        Metric::Missing(_) => Fact::Missing,
    }
}

/// The cells of a name's row in a table.
pub(super) fn cells(row: &NameRow, clock: &Clock, times: &mut LastTime) -> Vec<Fact> {
    table_row(row.underlying, row.valued_at, NAME, &row.cells, clock, times)
}

/// Appends a name's row to a table: [`cells`], of which numbers are not made first.
pub(super) fn push(
    row: &NameRow,
    lines: &mut TableLines,
    leads: &CellLeads,
    clock: &Clock,
    times: &mut LastTime,
    out: &mut Vec<u8>,
) {
    let mut cells = lines.open_led(leads, out);
    cells.push(&Fact::Word(row.underlying.to_string()));
    cells.push(&Fact::Word(times.spell(row.valued_at, clock)));
    let mut missing = Vec::with_capacity(row.cells.len());
    for (column, metric) in NAME.iter().zip(&row.cells) {
        match metric {
            Metric::Number(x) => cells.number(*x),
            Metric::Missing(why) => {
                missing.push((column.name, *why));
                cells.number(f64::NAN);
            }
            other => cells.push(&fact(*other)),
        }
    }
    cells.push(&Fact::Reasons(missing));
    cells.close();
}

/// The number in a column of a name's row in a table; NaN: it has none.
pub(super) fn number(row: &NameRow, place: usize) -> f64 {
    place.checked_sub(NAMED.len()).map_or(f64::NAN, |place| row.number(place))
}
