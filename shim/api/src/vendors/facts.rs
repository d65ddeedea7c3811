//! The rows, form and order of tables of numbers. Never: a column.

use super::body::JSON;
use super::metric_cells;
use crate::metrics::{Metric, NameRow};
use crate::rows::binary::{self, content_type};
use crate::rows::clock::{Clock, LastTime};
use crate::rows::frame::{ColumnHead, Format, Heading, json_text};
use crate::rows::table::{CellLeads, Fact, TableLines};
use history::tables::TableFormat;
use http::limits::PIECE_BYTES;
use http::metrics::write_metric;
use http::{Answer, Progress, Stream};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

/// The type of gauges.
const GAUGES: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Bytes of a cell at most, but for the name of its column, and of the text around all rows.
const CELL_BYTES: usize = 48;
const HEAD_BYTES: usize = 16 * 1024;

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

    pub(super) fn cells(&self, clock: &Clock, times: &mut LastTime) -> Cow<'_, [Fact]> {
        match self {
            Self::Cells(cells) => Cow::Borrowed(cells),
            Self::Metrics(row) => Cow::Owned(metric_cells::cells(row, clock, times)),
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
        heading: Heading,
        columns: &'static [ColumnHead<'static>],
        rows: Vec<FactRow>,
        clock: &Clock,
    ) -> Answer {
        if let Self::Text(format) = self {
            return Answer::stream(layer, self.content_type(), FactText::new(format, heading, columns, rows, clock));
        }
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
        heading: Heading,
        columns: &'static [ColumnHead<'static>],
        rows: Vec<FactRow>,
        clock: &Clock,
    ) -> io::Result<Vec<u8>> {
        let all = || -> Vec<Cow<'_, [Fact]>> {
            let mut times = LastTime::default();
            rows.iter().map(|row| row.cells(clock, &mut times)).collect()
        };
        Ok(match self {
            Self::Text(format) => {
                let (mut text, mut out) = (FactText::new(format, heading, columns, rows, clock), Vec::new());
                while text.fill(&mut out) == Progress::More {}
                out
            }
            Self::Gauges => gauges(columns, &all()).into_bytes(),
            Self::Table(format) => binary::facts(format, columns, &all())?,
        })
    }
}

/// A table as text, which is written while it is sent.
struct FactText {
    heading: Heading,
    columns: &'static [ColumnHead<'static>],
    format: Format,
    /// `None`: it has not begun.
    lines: Option<TableLines>,
    leads: CellLeads,
    /// Rows to come.
    rows: std::vec::IntoIter<FactRow>,
    row_bytes: usize,
    clock: Clock,
    times: LastTime,
}

impl FactText {
    fn new(
        format: Format,
        heading: Heading,
        columns: &'static [ColumnHead<'static>],
        rows: Vec<FactRow>,
        clock: &Clock,
    ) -> Self {
        let leads = CellLeads::new(format, columns);
        let row_bytes = size_of::<FactRow>().saturating_add(rows.first().map_or(0, FactRow::bytes));
        let (rows, clock) = (rows.into_iter(), clock.clone());
        Self { heading, columns, format, lines: None, leads, rows, row_bytes, clock, times: LastTime::default() }
    }
}

impl Stream for FactText {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        let stop = out.len().saturating_add(PIECE_BYTES);
        let begin = || TableLines::begin(self.format, &self.heading, self.columns, out);
        let lines = self.lines.get_or_insert_with(begin);
        while out.len() < stop {
            let Some(row) = self.rows.next() else {
                lines.end(out);
                return Progress::Done;
            };
            match &row {
                FactRow::Cells(cells) => lines.push_led(&self.leads, cells, out),
                FactRow::Metrics(row) => {
                    metric_cells::push(row, lines, &self.leads, &self.clock, &mut self.times, out);
                }
            }
        }
        Progress::More
    }

    fn most_bytes(&self) -> Option<usize> {
        // a missing cell is named once more, with its reason
        let cell = |column: &ColumnHead<'_>| column.name.len().saturating_mul(2).saturating_add(CELL_BYTES);
        let row: usize = self.columns.iter().map(cell).sum();
        Some(row.saturating_mul(self.rows.len()).saturating_add(HEAD_BYTES))
    }

    fn held_bytes(&self) -> usize {
        self.row_bytes.saturating_mul(self.rows.len())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::NAME;
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    #[test]
    fn a_row_of_a_name_has_the_text_of_its_cells() {
        let missing = [ColumnHead { name: "missing", is_number: false }];
        let heads: &'static [ColumnHead<'static>] = [&metric_cells::NAMED[..], NAME, &missing[..]].concat().leak();
        let clock = Clock::new(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH, &TimeZone::UTC);
        let all = [
            Metric::Number(-0.25),
            Metric::Missing("no_event"),
            Metric::Word("found"),
            Metric::Date(jiff::civil::date(2026, 1, 9)),
            Metric::Number(3.5e9),
        ];
        let underlying = kernel::contract::Symbol::parse("KO").unwrap();
        let cells = all.into_iter().cycle().take(NAME.len()).collect();
        let row = NameRow { underlying, valued_at: Timestamp::UNIX_EPOCH, cells };
        let cells = FactRow::Cells(metric_cells::cells(&row, &clock, &mut LastTime::default()));
        for format in [Format::Json, Format::Ndjson, Format::PointCsv, Format::Html] {
            let text = |row| FactForm::Text(format).write(Heading::default(), heads, vec![row], &clock).unwrap();
            let [direct, by_cells] = [FactRow::Metrics(Arc::new(row.clone())), cells.clone()].map(text);
            assert_eq!(String::from_utf8(direct).unwrap(), String::from_utf8(by_cells).unwrap());
        }
    }

    #[test]
    fn a_table_is_written_in_pieces_and_counts_the_rows_to_come() {
        const COLUMNS: &[ColumnHead<'static>] =
            &[ColumnHead { name: "underlying", is_number: false }, ColumnHead { name: "iv30d", is_number: true }];
        let clock = Clock::new(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH, &TimeZone::UTC);
        let row = |n: u32| FactRow::Cells(vec![Fact::Word(format!("N{n}")), Fact::Number(f64::from(n))]);
        for format in [Format::Json, Format::PointCsv, Format::Html] {
            let rows: Vec<FactRow> = (0..9000).map(row).collect();
            let whole = FactForm::Text(format).write(Heading::default(), COLUMNS, rows.clone(), &clock).unwrap();
            let mut text = FactText::new(format, Heading::default(), COLUMNS, rows, &clock);
            let (all, most) = (text.held_bytes(), text.most_bytes().unwrap());
            assert!(all > 9000 * 2 * size_of::<Fact>() && most > whole.len(), "{all} {most} {}", whole.len());
            let (mut read, mut pieces) = (Vec::new(), 0);
            loop {
                let mut piece = Vec::new();
                let progress = text.fill(&mut piece);
                assert!(piece.len() < PIECE_BYTES + 1000);
                read.extend(piece);
                pieces += 1;
                if progress == Progress::Done {
                    break;
                }
                assert!(text.held_bytes() < all);
            }
            assert!(read == whole && pieces > 1 && text.held_bytes() == 0, "{pieces}");
        }
    }
}
