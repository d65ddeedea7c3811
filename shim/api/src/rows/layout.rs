//! What an answer shows and in which form: columns, frame, the text around them, how rows are walked. Never: a row.

use super::clock::Clock;
use super::field::{Field, flat_names};
use super::frame::Frame;
use super::heading::{ColumnHead, Heading};
use kernel::contract::RootTable;
use std::borrow::Cow;
use std::sync::Arc;

/// What an answer shows, and in which form.
#[derive(Clone, Debug)]
pub struct AnswerLayout {
    /// Its columns.
    pub fields: Vec<Field>,
    /// What stands around cells and rows.
    pub frame: &'static Frame,
    /// The field groups that it holds, for the columns that say so.
    pub groups: String,
    /// What it says about itself, where the format has a place for it.
    pub heading: Heading,
    /// True if a table begins with the names of its columns.
    pub header: bool,
    /// What stands around all rows in JSON.
    pub around: Around,
    /// In which direction JSON is written.
    pub walk: Walk,
    /// What one row is.
    pub per: Per,
    /// Its times.
    pub clock: Clock,
    /// What is an index.
    pub roots: Arc<RootTable>,
}

/// What stands around all rows in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    /// Before the first row.
    pub open: Cow<'static, str>,
    /// After the last row.
    pub close: Cow<'static, str>,
}

/// In which direction JSON is written. The other formats are always written row by row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walk {
    /// Row by row.
    #[default]
    Rows,
    /// Row by row, each a bare array of its values.
    Arrays,
    /// Column by column: `"name":[…],"name":[…]`.
    Columns,
    /// Row by row, each an object that ends with a list; rows of several snapshots that differ in this list alone are
    /// one, with all their lists.
    Grouped,
}

/// What one row is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// A contract.
    #[default]
    Contract,
    /// A strike of a (root, expiry): call and put side by side.
    Strike,
}

impl Around {
    /// An array and nothing else.
    pub const ARRAY: Self = Self::constant("[", "]");

    /// The same text in every answer.
    #[must_use]
    pub const fn constant(open: &'static str, close: &'static str) -> Self {
        Self { open: Cow::Borrowed(open), close: Cow::Borrowed(close) }
    }
}

impl Default for Around {
    fn default() -> Self {
        Self::ARRAY
    }
}

impl AnswerLayout {
    /// The name of each field in this format.
    #[must_use]
    pub fn names(&self) -> Vec<Cow<'static, str>> {
        if self.frame.nested {
            self.fields.iter().map(|field| Cow::Borrowed(field.name)).collect()
        } else {
            flat_names(&self.fields)
        }
    }

    /// Appends what comes before the first row.
    pub fn push_head(&self, out: &mut Vec<u8>, names: &[Cow<'static, str>]) {
        if self.frame.wrapped {
            out.extend_from_slice(self.around.open.as_bytes());
        }
        if self.header {
            let cells = self.fields.iter().zip(names).filter(|(field, _)| field.is_cell());
            let column = |(field, name): (&Field, _)| (field.is_number(), name);
            let cells: Vec<(bool, &Cow<'static, str>)> = cells.map(column).collect();
            let columns: Vec<ColumnHead<'_>> =
                cells.iter().map(|&(is_number, name)| ColumnHead { name, is_number }).collect();
            (self.frame.head)(out, &self.heading, &columns);
        }
    }

    /// A whole answer that is written column by column, of the text of each column, in pieces.
    #[must_use]
    pub fn around_columns(&self, columns: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut pieces = vec![self.around.open.as_bytes().to_vec()];
        for (i, (name, column)) in self.names().iter().zip(columns).enumerate() {
            let mut head = if i > 0 { b"],\"".to_vec() } else { b"\"".to_vec() };
            (self.frame.escape)(&mut head, name);
            head.extend_from_slice(b"\":[");
            pieces.extend([head, column]);
        }
        if pieces.len() > 1 {
            pieces.push(b"]".to_vec());
        }
        pieces.push(self.around.close.as_bytes().to_vec());
        pieces
    }

    /// Appends what comes after the last row.
    pub fn push_foot(&self, out: &mut Vec<u8>) {
        if self.frame.wrapped {
            out.extend_from_slice(self.around.close.as_bytes());
        }
        out.extend_from_slice(self.frame.foot.as_bytes());
    }
}
