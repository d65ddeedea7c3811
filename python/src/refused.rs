//! Rows that were refused, as Python gets them. Never: a reason.

use kernel::error::{Reason, Refused};
use pyo3::prelude::*;

/// A refused row, or several that were refused for one reason.
#[derive(Clone, Debug, IntoPyObject)]
pub(crate) struct RefusedRow {
    /// The table, or the file.
    source: String,
    /// The row from 0 in a table, the line from 1 in a file; `None`: unknown.
    row: Option<u64>,
    /// The column; `None`: the row as a whole.
    field: Option<String>,
    reason: String,
    /// How many.
    count: u64,
}

impl RefusedRow {
    /// A row of a table in memory.
    pub(crate) fn of_table(source: &str, row: u64, field: Option<&str>, reason: &str) -> Self {
        let field = field.map(str::to_owned);
        Self { source: source.to_owned(), row: Some(row), field, reason: reason.to_owned(), count: 1 }
    }

    /// A row with its place in a document.
    pub(crate) fn of_document(refused: &Refused) -> Self {
        Self {
            source: refused.file.display().to_string(),
            row: Some(refused.line),
            field: Some(refused.field.to_owned()),
            reason: refused.reason.name().to_owned(),
            count: 1,
        }
    }

    /// Rows that were counted only.
    pub(crate) fn counted(source: &str, counts: &[u64; Reason::ALL.len()]) -> Vec<Self> {
        let some = Reason::ALL.iter().zip(counts).filter(|(_, count)| **count > 0);
        let row = |(reason, &count): (&Reason, &u64)| Self {
            source: source.to_owned(),
            row: None,
            field: None,
            reason: reason.name().to_owned(),
            count,
        };
        some.map(row).collect()
    }
}
