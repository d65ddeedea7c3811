//! What every chain of a pass shares besides books.

use crate::calendar::Calendar;
use crate::rates::table::RateTable;

/// What every chain of a pass shares.
#[derive(Clone, Copy, Debug)]
pub struct MarketData<'a> {
    /// Sessions and settlement instants.
    pub calendar: &'a Calendar,
    /// Discount curves by source.
    pub rates: &'a RateTable,
}
