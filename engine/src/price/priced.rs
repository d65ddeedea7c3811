//! The finished rows of a slice. Never: their computation.

use crate::early::EarlyWork;
use crate::store::columns::Columns;
use crate::store::doubted::FirmQuotes;
use crate::store::evidence::ValueMethod;

/// Counts of the valuation of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Valued {
    /// Rows with Greeks.
    pub priced: u32,
    /// Work of the early-exercise update.
    pub work: EarlyWork,
    /// Firm quotes of the slice compared with its values.
    pub firm: FirmQuotes,
}

/// The finished rows of a slice.
#[derive(Debug, Default)]
pub struct PricedSlice {
    /// The numbers, by row.
    pub columns: Columns,
    /// Method of each value, by row; `None`: no value.
    pub methods: Vec<Option<ValueMethod>>,
    /// Counts of the valuation.
    pub valued: Valued,
}

impl PricedSlice {
    /// Makes room for `rows` contracts, every number missing.
    pub fn reset(&mut self, rows: usize) {
        self.columns.reset(rows);
        self.methods.clear();
        self.methods.resize(rows, None);
        self.valued = Valued::default();
    }
}
