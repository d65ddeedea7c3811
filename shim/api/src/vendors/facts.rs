//! The rows, form and order of tables of numbers. Never: a column.

use super::body::JSON;
use super::metric_cells;
use crate::metrics::{Metric, NameRow};
use crate::rows::binary::{self, content_type};
use crate::rows::clock::Clock;
use crate::rows::frame::{ColumnHead, Format, Heading, json_text};
use crate::rows::table::{Fact, TableLines};
use history::tables::TableFormat;
use http::Answer;
use http::metrics::write_metric;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

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

/// A row of a table of numbers.
#[derive(Clone, Debug)]
pub enum FactRow {
    /// Its cells.
    Cells(Vec<Fact>),
    /// The metrics of a name, of which cells are made when they are written.
    Metrics(Arc<NameRow>),
}

impl FactRow {
    /// Bytes held, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Cells(cells) => cells.iter().map(Fact::bytes).sum(),
            Self::Metrics(row) => size_of_val::<[Metric]>(&row.cells),
        }
    }

    /// The number in a column; NaN: it has none.
    pub(super) fn number(&self, place: usize) -> f64 {
        match self {
            Self::Cells(cells) => cells.get(place).map_or(f64::NAN, Fact::number),
            Self::Metrics(row) => metric_cells::number(row, place),
        }
    }

    pub(super) fn cells(&self, clock: &Clock) -> Cow<'_, [Fact]> {
        match self {
            Self::Cells(cells) => Cow::Borrowed(cells),
            Self::Metrics(row) => Cow::Owned(metric_cells::cells(row, clock)),
        }
    }
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
    pub(super) fn sort(self, rows: &mut [FactRow]) {
        let number = |row: &FactRow| Some(row.number(self.place)).filter(|x| x.is_finite());
        rows.sort_by(|a, b| match (number(a), number(b)) {
            (Some(a), Some(b)) if self.is_descending => b.total_cmp(&a),
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
    }
}

impl FactForm {
    /// The content type of a table.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Text(format) => format.frame().content_type,
            Self::Gauges => GAUGES,
            Self::Table(format) => content_type(format),
        }
    }

    /// The answer with a table; times are spelled by `clock`.
    pub(super) fn answer(
        self,
        layer: &'static str,
        heading: &Heading,
        columns: &[ColumnHead<'_>],
        rows: &[FactRow],
        clock: &Clock,
    ) -> Answer {
        match self.write(heading, columns, rows, clock) {
            Ok(body) => Answer::full(layer, 200, self.content_type(), body),
            Err(why) => {
                let body = format!("{{\"error\":{}}}", json_text(&why.to_string()));
                Answer::full(layer, 500, JSON, body)
            }
        }
    }

    /// The body of a table; times are spelled by `clock`.
    ///
    /// # Errors
    /// The library of tables refuses it.
    pub(super) fn write(
        self,
        heading: &Heading,
        columns: &[ColumnHead<'_>],
        rows: &[FactRow],
        clock: &Clock,
    ) -> io::Result<Vec<u8>> {
        let all = || -> Vec<Cow<'_, [Fact]>> { rows.iter().map(|row| row.cells(clock)).collect() };
        Ok(match self {
            Self::Text(format) => {
                let mut out = Vec::new();
                let mut lines = TableLines::begin(format, heading, columns, &mut out);
                for (n, row) in rows.iter().enumerate() {
                    lines.push(columns, &row.cells(clock), &mut out);
                    if n == 0 {
                        // rows are about equally long: the text grows once
                        out.reserve(out.len().saturating_mul(rows.len()));
                    }
                }
                lines.end(&mut out);
                out
            }
            Self::Gauges => gauges(columns, &all()).into_bytes(),
            Self::Table(format) => binary::facts(format, columns, &all())?,
        })
    }
}

/// Columns that name a row: labels of gauges.
const LABELS: [&str; 4] = ["underlying", "root", "expiry", "strike"];

/// Writes numbers as gauges in the text format of Prometheus, labelled by the columns that name a row. What is missing
/// has no sample.
fn gauges(columns: &[ColumnHead<'_>], rows: &[Cow<'_, [Fact]>]) -> String {
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
