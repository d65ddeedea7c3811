//! What a pass knows besides books.

use crate::calendar::Calendar;
use crate::store::rates::DiscountCurves;

/// What every chain of a pass shares.
#[derive(Clone, Copy, Debug)]
pub struct MarketData<'a> {
    /// Sessions and settlement instants.
    pub calendar: &'a Calendar,
    /// Discount curves.
    pub curves: &'a DiscountCurves,
}
