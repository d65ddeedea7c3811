//! What stands above the rows where a format has a place for it. Never: a row.

/// What an answer says about itself where the format has a place for it.
#[derive(Clone, Debug, Default)]
pub struct Heading {
    /// What was asked for.
    pub title: String,
    /// The facts below it.
    pub lines: Vec<String>,
}

/// The head of one column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnHead<'a> {
    /// Its name, objects around it included.
    pub name: &'a str,
    /// True if every row shows a number there.
    pub is_number: bool,
}
