//! Rows written to a table, and chains read from one. Never: a library of tables.

use engine::store::chain::Chain;
use jiff::Timestamp;
use kernel::contract::Symbol;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a chain, in ascending order.
#[derive(Clone, Copy, Debug)]
pub struct TableRows<'a> {
    /// The chain.
    pub chain: &'a Chain,
    /// Ranges of its rows.
    pub rows: &'a [Range<u32>],
}

/// The symbols that rows of a table may have: a stream names them before its first row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSymbols {
    /// Underlyings.
    pub underlyings: Vec<Symbol>,
    /// Option roots.
    pub roots: Vec<Symbol>,
}

impl TableSymbols {
    /// The symbols of some chains.
    #[must_use]
    pub fn of<'a>(chains: impl Iterator<Item = &'a Chain> + Clone) -> Self {
        let roots = chains.clone().flat_map(|chain| chain.slices.iter().map(|slice| slice.root)).collect();
        Self { underlyings: chains.map(|chain| chain.underlying).collect(), roots }
    }
}

/// Format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Arrow's IPC stream.
    Arrow,
    /// A Parquet file.
    Parquet,
}

/// A column of a table that has no chain behind it.
#[derive(Clone, Debug, PartialEq)]
pub enum PlainColumn {
    /// Words; `None`: missing.
    Words(Vec<Option<String>>),
    /// Numbers; NaN: missing.
    Numbers(Vec<f64>),
}

/// Chains with their times, in time order.
pub type TimedChains = Vec<(Timestamp, Arc<Chain>)>;

/// The chains of a name and day in a file of Greeks.
#[derive(Debug)]
pub enum StoredChains {
    /// Computed by the same recipe from the same reference data; empty if the file has no row of the name.
    Same(TimedChains),
    /// Computed by another recipe, or without the quotes requested.
    OtherRecipe,
    /// Computed from other dividends, rates, dates or overrides.
    OtherReference,
}
