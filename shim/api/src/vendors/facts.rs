//! The form and the order of tables of numbers. Never: a number of a name.

use crate::rows::binary::{self, content_type};
use crate::rows::frame::{ColumnHead, Format, Heading};
use crate::rows::table::{self, Fact};
use history::tables::TableFormat;
use http::metrics::write_metric;
use std::io;

/// The type of gauges.
const GAUGES: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The form of a table of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactForm {
    /// Text.
    Text(Format),
    /// The text format of Prometheus: a gauge for each number.
    Gauges,
    /// A table of columns.
    Table(TableFormat),
}

/// By which column rows are sorted; those without a number there come last.
#[derive(Clone, Copy, Debug)]
pub struct FactOrder {
    /// Its place.
    pub place: usize,
    /// The largest comes first.
    pub is_descending: bool,
}

impl FactOrder {
    /// Sorts rows.
    pub(super) fn sort(self, rows: &mut [Vec<Fact>]) {
        let number = |row: &Vec<Fact>| match row.get(self.place) {
            Some(Fact::Number(x)) if x.is_finite() => Some(*x),
            _ => None,
        };
        rows.sort_by(|a, b| match (number(a), number(b)) {
            (Some(a), Some(b)) if self.is_descending => b.total_cmp(&a),
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
    }
}

impl FactForm {
    /// The content type and the body of a table.
    ///
    /// # Errors
    /// The library of tables refuses it.
    pub(super) fn write(
        self,
        heading: &Heading,
        columns: &[ColumnHead<'_>],
        rows: &[Vec<Fact>],
    ) -> io::Result<(&'static str, Vec<u8>)> {
        Ok(match self {
            Self::Text(format) => (format.frame().content_type, table::write(format, heading, columns, rows)),
            Self::Gauges => (GAUGES, gauges(columns, rows).into_bytes()),
            Self::Table(format) => (content_type(format), binary::facts(format, columns, rows)?),
        })
    }
}

/// Columns that name a row: labels of gauges.
const LABELS: [&str; 4] = ["underlying", "root", "expiry", "strike"];

/// Writes numbers as gauges in the text format of Prometheus, labelled by the columns that name a row. What is missing
/// has no sample.
fn gauges(columns: &[ColumnHead<'_>], rows: &[Vec<Fact>]) -> String {
    let labels: Vec<Vec<(&str, String)>> = rows.iter().map(|row| labels(columns, row)).collect();
    let mut out = String::new();
    for (place, head) in columns.iter().enumerate().filter(|(_, head)| head.is_number && !LABELS.contains(&head.name)) {
        let mut samples: Vec<(Vec<(&str, &str)>, f64)> = Vec::new();
        for (labels, row) in labels.iter().zip(rows).filter(|(_, row)| row[place].number().is_finite()) {
            let named = labels.iter().map(|(name, text)| (*name, text.as_str()));
            samples.push((named.collect(), row[place].number()));
        }
        if !samples.is_empty() {
            write_metric(&mut out, head.name, "see docs/metrics.md", samples);
        }
    }
    out
}

fn labels(columns: &[ColumnHead<'_>], row: &[Fact]) -> Vec<(&'static str, String)> {
    let text = |name: &str| match columns.iter().zip(row).find(|(head, _)| head.name == name)?.1 {
        Fact::Number(x) => Some(x.to_string()),
        other => other.words(),
    };
    LABELS.into_iter().filter_map(|name| Some((name, text(name)?))).collect()
}
