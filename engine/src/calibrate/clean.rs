//! Separates usable quotes from others, each with the reason. A dropped side becomes NaN; nothing is repaired. Never: a
//! volatility.

use super::input::SliceInput;
use super::settings::CLEANING;
use crate::store::drop_reason::DropReason;

/// The quotes of one slice after cleaning, by row.
#[derive(Clone, Debug, Default)]
pub struct Quotes {
    /// Usable bid; NaN: none.
    pub bid: Vec<f64>,
    /// Usable ask; NaN: none.
    pub ask: Vec<f64>,
    /// Midpoint of two usable sides; NaN: a side is missing.
    pub mid: Vec<f64>,
    /// True if both sides are usable, so that the quote may support the forward and the curve.
    pub two_sided: Vec<bool>,
    /// Reason why a row is not used.
    pub fault: Vec<Option<DropReason>>,
}

impl Quotes {
    /// Drops both sides of a row, which carry no information.
    pub fn reject(&mut self, row: usize, why: DropReason) {
        (self.bid[row], self.ask[row]) = (f64::NAN, f64::NAN);
        self.set_aside(row, why);
    }

    /// Removes a row from the support of forward and curve. Two sides keep their volatilities; a lone ask does not.
    pub fn set_aside(&mut self, row: usize, why: DropReason) {
        if !self.two_sided[row] {
            (self.bid[row], self.ask[row]) = (f64::NAN, f64::NAN);
        }
        self.mid[row] = f64::NAN;
        self.two_sided[row] = false;
        self.fault[row] = Some(why);
    }

    /// True if a row was dropped because of other quotes.
    #[must_use]
    pub fn is_aside(&self, row: usize) -> bool {
        matches!(self.fault[row], Some(DropReason::StrikeOrder | DropReason::ExpiryOrder))
    }

    /// Half the spread of a row, at least half a tick; NaN where a side is missing.
    #[must_use]
    pub fn half(&self, row: usize) -> f64 {
        let half = 0.5 * (self.ask[row] - self.bid[row]);
        if half < CLEANING.half_spread_least { CLEANING.half_spread_least } else { half }
    }
}

/// Sorts the quotes of a slice into usable and dropped.
pub fn clean_quotes(input: &SliceInput, quotes: &mut Quotes) {
    quotes.bid.clear();
    quotes.ask.clear();
    quotes.mid.clear();
    quotes.two_sided.clear();
    quotes.fault.clear();
    for (row, ((&bid, &ask), &age_s)) in input.bid.iter().zip(input.ask).zip(input.age_s).enumerate() {
        let (bid, ask) = (positive(bid), positive(ask));
        let fault = match input.excluded.get(row) {
            Some(true) => Some(DropReason::Excluded),
            _ => fault_of(bid, ask, age_s, input.s),
        };
        quotes.fault.push(fault);
        let (bid, ask) = match fault {
            None | Some(DropReason::NoBid | DropReason::NoAsk | DropReason::TooWide) => (bid, ask),
            Some(_) => (f64::NAN, f64::NAN),
        };
        quotes.bid.push(bid);
        quotes.ask.push(ask);
        quotes.mid.push(if fault.is_none() { 0.5 * (bid + ask) } else { f64::NAN });
        quotes.two_sided.push(fault.is_none());
    }
}

fn positive(price: f64) -> f64 {
    if price > 0.0 && price.is_finite() { price } else { f64::NAN }
}

fn fault_of(bid: f64, ask: f64, age_s: f64, s: f64) -> Option<DropReason> {
    let spread = ask - bid;
    let placeholder =
        ask > CLEANING.ask_over_bid_most * bid && spread > CLEANING.spread_small.max(CLEANING.spread_small_of_spot * s);
    if age_s > CLEANING.age_most {
        Some(DropReason::Stale)
    } else if bid.is_nan() {
        Some(DropReason::NoBid)
    } else if ask.is_nan() {
        Some(DropReason::NoAsk)
    } else if spread < 0.0 {
        Some(DropReason::Crossed)
    } else if placeholder || spread > CLEANING.spread_most_of_spot * s {
        Some(DropReason::TooWide)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::testing::slice;
    use kernel::contract::Right;

    #[test]
    fn each_fault_is_counted_under_its_reason() {
        let rows = [
            (100, Right::Call, 2.0, 2.1),
            (100, Right::Put, 2.2, 2.1),
            (105, Right::Call, f64::NAN, 0.5),
            (105, Right::Put, 5.0, 0.0),
            (110, Right::Call, 0.05, 5.0),
            (110, Right::Put, 10.0, f64::INFINITY),
        ];
        let mut slice = slice(100.0, 0.25, &rows);
        slice.age_s[0] = 1.0e6;
        let mut quotes = Quotes::default();
        clean_quotes(&slice.input(), &mut quotes);
        let count = |d: DropReason| quotes.fault.iter().filter(|f| **f == Some(d)).count();
        assert_eq!(
            [DropReason::Stale, DropReason::Crossed, DropReason::NoBid, DropReason::NoAsk, DropReason::TooWide]
                .map(count),
            [1, 1, 1, 2, 1],
            "{:?}",
            quotes.fault
        );
        assert_eq!(quotes.two_sided, [false; 6]);
        assert!(
            (quotes.ask[2] - 0.5).abs() < 1e-12 && quotes.bid[2].is_nan(),
            "an ask alone still bounds the volatility"
        );
    }

    #[test]
    fn what_a_user_leaves_out_says_nothing() {
        let slice = slice(100.0, 0.25, &[(100, Right::Call, 2.0, 2.1), (100, Right::Put, 2.0, 2.1)]);
        let mut quotes = Quotes::default();
        clean_quotes(&SliceInput { excluded: &[true, false], ..slice.input() }, &mut quotes);
        assert_eq!((quotes.fault[0], quotes.fault[1]), (Some(DropReason::Excluded), None));
        assert!(quotes.bid[0].is_nan() && quotes.ask[0].is_nan() && !quotes.two_sided[0]);
    }

    #[test]
    fn a_cheap_option_may_be_wide_in_ticks() {
        let slice = slice(100.0, 0.25, &[(150, Right::Call, 0.01, 0.10), (50, Right::Put, 0.02, 0.02)]);
        let mut quotes = Quotes::default();
        clean_quotes(&slice.input(), &mut quotes);
        assert_eq!(quotes.two_sided, [true, true]);
    }

    #[test]
    fn a_quote_that_is_set_aside_keeps_its_sides_and_one_that_is_rejected_does_not() {
        let slice = slice(
            100.0,
            0.25,
            &[(100, Right::Call, 2.0, 2.2), (100, Right::Put, f64::NAN, 2.1), (105, Right::Call, 1.0, 1.0)],
        );
        let mut quotes = Quotes::default();
        clean_quotes(&slice.input(), &mut quotes);
        assert!((quotes.half(0) - 0.1).abs() < 1e-12, "half the spread");
        assert!((quotes.half(2) - CLEANING.half_spread_least).abs() < 1e-12, "a locked quote is not exact");
        quotes.set_aside(0, DropReason::StrikeOrder);
        quotes.set_aside(1, DropReason::StrikeOrder);
        quotes.reject(2, DropReason::OutOfBounds);
        assert!((quotes.bid[0] - 2.0).abs() < 1e-12 && quotes.mid[0].is_nan() && !quotes.two_sided[0]);
        assert!(quotes.ask[1].is_nan(), "an ask alone that contradicts others bounds nothing");
        assert!(quotes.bid[2].is_nan() && quotes.ask[2].is_nan());
        assert_eq!([0, 1, 2].map(|row| quotes.is_aside(row)), [true, true, false]);
    }
}
