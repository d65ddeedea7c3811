//! Refused rows for Python. Never: a reason.

use kernel::error::{Reason, Refused};
use pyo3::prelude::*;

/// A refused row, or several rows refused for one reason.
#[derive(Clone, Debug, IntoPyObject)]
pub(crate) struct RefusedRow {
    /// Table or file.
    source: String,
    /// Row from 0 in a table, line from 1 in a file; `None`: unknown.
    row: Option<u64>,
    /// Column; `None`: the whole row.
    field: Option<String>,
    reason: String,
    /// Number of rows.
    count: u64,
    /// Text of the cell; `None`: empty or unknown.
    value: Option<String>,
}

impl RefusedRow {
    /// A row of a table in memory, refused as a whole.
    pub(crate) fn of_table(source: &str, row: u64, reason: &str) -> Self {
        Self {
            source: source.to_owned(),
            row: Some(row),
            field: None,
            reason: reason.to_owned(),
            value: None,
            count: 1,
        }
    }

    /// A row of a table in memory, from 0, refused because of a cell.
    pub(crate) fn of_cell(row: u64, refused: &Refused) -> Self {
        Self { row: Some(row), ..Self::of_document(refused) }
    }

    /// A row with its place in a document.
    pub(crate) fn of_document(refused: &Refused) -> Self {
        Self {
            source: refused.file.display().to_string(),
            row: Some(refused.line),
            field: Some(refused.field.to_owned()),
            reason: refused.reason.name().to_owned(),
            value: Some(refused.value.clone()).filter(|value| !value.is_empty()),
            count: 1,
        }
    }

    /// Rows of which only the numbers by reason are known.
    pub(crate) fn counted(source: &str, counts: &[u64; Reason::ALL.len()]) -> Vec<Self> {
        let some = Reason::ALL.iter().zip(counts).filter(|(_, count)| **count > 0);
        let row = |(reason, &count): (&Reason, &u64)| Self {
            source: source.to_owned(),
            row: None,
            field: None,
            reason: reason.name().to_owned(),
            value: None,
            count,
        };
        some.map(row).collect()
    }
}
