//! Heading above the rows, in formats that have one. Never: a row.

/// Heading of an answer, shown in formats that have one.
#[derive(Clone, Debug, Default)]
pub struct Heading {
    /// Title: the request in words.
    pub title: String,
    /// Lines below the title.
    pub lines: Vec<String>,
}

/// The head of one column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnHead<'a> {
    /// Name of the column, with the names of objects around it.
    pub name: &'a str,
    /// True if every row shows a number there.
    pub is_number: bool,
}
