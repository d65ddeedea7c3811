//! The finished rows of a slice. Never: how they are computed.

use crate::early::EarlyWork;
use crate::store::columns::Columns;
use crate::store::doubted::FirmQuotes;
use crate::store::evidence::ValueMethod;

/// What a slice needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Valued {
    /// Rows with Greeks.
    pub priced: u32,
    /// What bringing early exercise up to date took.
    pub work: EarlyWork,
    /// Its firm quotes against its values.
    pub firm: FirmQuotes,
}

/// The finished rows of a slice.
#[derive(Debug, Default)]
pub struct PricedSlice {
    /// The numbers, by row.
    pub columns: Columns,
    /// How each value was computed, by row; `None`: no value.
    pub methods: Vec<Option<ValueMethod>>,
    /// What they needed.
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
