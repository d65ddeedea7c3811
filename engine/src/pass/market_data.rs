//! Inputs common to all chains of a pass, besides books.

use crate::rates::table::RateTable;
use kernel::calendar::Calendar;

/// Inputs common to all chains of a pass.
#[derive(Clone, Copy, Debug)]
pub struct MarketData<'a> {
    /// Sessions and settlement instants.
    pub calendar: &'a Calendar,
    /// Discount curves by source.
    pub rates: &'a RateTable,
}
