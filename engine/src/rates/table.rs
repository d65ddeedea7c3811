//! Which discount curve a date is valued with: the order of precedence in one place.

use super::curve::{DiscountCurve, DiscountCurves};
use super::source::{RateOrigin, RateSource};
use jiff::{Timestamp, civil::Date};

/// The curve of a date, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct DatedCurve {
    /// The curve; tenors count from the valuation.
    pub curve: DiscountCurve,
    /// Its source and date.
    pub origin: RateOrigin,
}

/// Every curve that can be used, by source. A value: made by whoever has the sources, read by all passes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateTable {
    given: DiscountCurves,
    given_source: Option<RateSource>,
}

impl RateTable {
    /// Returns a table of curves from one source alone.
    #[must_use]
    pub fn of(source: RateSource, curves: DiscountCurves) -> Self {
        Self { given: curves, given_source: Some(source) }
    }

    /// Returns the curve for values of `date` (Eastern) at the instant `at`.
    #[must_use]
    pub fn on(&self, _at: Timestamp, date: Date) -> DatedCurve {
        let source = self.given_source.unwrap_or(RateSource::Zero);
        match self.given.dated_on(date) {
            Some((as_of, curve)) => {
                DatedCurve { curve: curve.clone(), origin: RateOrigin { source, as_of: Some(as_of) } }
            }
            None => DatedCurve { curve: DiscountCurve::flat(0.0), origin: RateOrigin::ZERO },
        }
    }
}
