//! A column of the chain, by its index in the [table](kernel::columns) that both viewers share. Never: a number.

use kernel::columns::{Group, VIEWED, ViewedColumn};
use std::fmt;

/// Number of columns.
pub(crate) const N_COLUMNS: usize = VIEWED.len();
/// Width of a column with the gap before it, characters.
pub(crate) const COLUMN_WIDTH: u16 = 8;

/// A column, by its index in the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Column(u8);

impl Column {
    /// All columns, in the order of the table.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..N_COLUMNS).filter_map(|i| u8::try_from(i).ok()).map(Self)
    }

    /// The column with this name in the API.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().find(|column| column.facts().name == name)
    }

    /// The columns of a group.
    pub(crate) fn of(group: Group) -> Vec<Self> {
        Self::all().filter(|column| column.facts().group == group).collect()
    }

    /// The column's row of the table.
    pub(crate) const fn facts(self) -> &'static ViewedColumn {
        &VIEWED[self.0 as usize]
    }

    /// Index in the table.
    pub(crate) const fn place(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_fit_and_names_stand_once() {
        for column in Column::all() {
            assert!(column.facts().title.len() < usize::from(COLUMN_WIDTH), "{column:?}");
            assert_eq!(Column::named(column.facts().name), Some(column));
        }
    }
}
