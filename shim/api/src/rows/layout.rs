//! Content and form of an answer: columns, frame, text around them, direction of the rows. Never: a row.

use super::clock::Clock;
use super::field::{Field, flat_names};
use super::frame::{ColumnHead, Frame, Heading};
use kernel::contract::RootTable;
use std::borrow::Cow;
use std::sync::Arc;

/// Content and form of an answer.
#[derive(Clone, Debug)]
pub struct AnswerLayout {
    /// Its columns.
    pub fields: Vec<Field>,
    /// Text around cells and rows.
    pub frame: &'static Frame,
    /// Field groups of the answer, for columns that list them.
    pub groups: String,
    /// Heading, in formats that have one.
    pub heading: Heading,
    /// True if a table begins with the names of its columns.
    pub header: bool,
    /// Text around all rows in JSON.
    pub around: Around,
    /// Direction in which JSON is written.
    pub walk: Walk,
    /// Meaning of one row.
    pub per: Per,
    /// Times of the answer.
    pub clock: Clock,
    /// Table of index roots.
    pub roots: Arc<RootTable>,
}

/// Text around all rows in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    /// Text before the first row.
    pub open: Cow<'static, str>,
    /// Text after the last row.
    pub close: Cow<'static, str>,
}

/// Direction in which JSON is written. Other formats always go row by row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walk {
    /// Row by row.
    #[default]
    Rows,
    /// Row by row, each a bare array of its values.
    Arrays,
    /// Column by column: `"name":[…],"name":[…]`.
    Columns,
    /// Row by row, each an object that ends with a list; rows of several snapshots that are equal but for the list are
    /// one row with all lists.
    Grouped,
}

/// Meaning of one row.
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

    /// A constant text around all rows.
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

    /// Appends the text before the first row.
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

    /// Puts the text of each column together to a whole answer, in pieces.
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

    /// Appends the text after the last row.
    pub fn push_foot(&self, out: &mut Vec<u8>) {
        if self.frame.wrapped {
            out.extend_from_slice(self.around.close.as_bytes());
        }
        out.extend_from_slice(self.frame.foot.as_bytes());
    }
}
