//! What every chain of a pass shares besides books.

use crate::rates::table::RateTable;
use kernel::calendar::Calendar;

/// What every chain of a pass shares.
#[derive(Clone, Copy, Debug)]
pub struct MarketData<'a> {
    /// Sessions and settlement instants.
    pub calendar: &'a Calendar,
    /// Discount curves by source.
    pub rates: &'a RateTable,
}
