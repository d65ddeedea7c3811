//! Volume and open interest of an expiry or of a name: puts against calls, and the price of max pain. Never: a price
//! of an option.

use crate::store::chain::{Chain, Slice};
use crate::store::quotes::QuoteNumber;
use kernel::contract::{Right, strike_of};

/// Contracts of a number of quotes: of calls, and of puts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PutsAndCalls {
    /// Contracts of calls; 0 if none is known.
    pub calls: f64,
    /// Contracts of puts; 0 if none is known.
    pub puts: f64,
    /// True if a contract has the number.
    is_known: bool,
}

impl PutsAndCalls {
    /// Sums over slices of a chain; adjusted roots do not count.
    #[must_use]
    pub fn of<'a>(chain: &Chain, slices: impl IntoIterator<Item = &'a Slice>, number: QuoteNumber) -> Self {
        let mut all = Self::default();
        let Some(quotes) = &chain.quotes else { return all };
        for row in slices.into_iter().filter(|slice| !slice.adjusted).flat_map(|slice| slice.rows.clone()) {
            let count = quotes.get(row as usize, number);
            if count.is_finite() {
                all.is_known = true;
                match chain.right[row as usize] {
                    Right::Call => all.calls += count,
                    Right::Put => all.puts += count,
                }
            }
        }
        all
    }

    /// Puts per call; NaN: neither is known, or there are no calls.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.is_known && self.calls > 0.0 { self.puts / self.calls } else { f64::NAN }
    }
}

/// The listed strike at which the open contracts of a slice are paid least, the lower of equals, and what they are paid
/// there per share of a contract; `None`: the open interest of a contract is not known.
#[must_use]
pub fn max_pain(chain: &Chain, slice: &Slice) -> Option<(f64, f64)> {
    let quotes = chain.quotes.as_ref()?;
    // payoffs in thousandths; lines between the strikes
    let mut open: Vec<(u32, [f64; 2])> = Vec::new();
    for row in slice.rows.clone().map(|row| row as usize) {
        let (strike, count) = (chain.strike_milli[row], quotes.get(row, QuoteNumber::OpenInterest));
        if !count.is_finite() {
            return None;
        }
        if open.last().is_none_or(|last| last.0 != strike) {
            open.push((strike, [0.0; 2]));
        }
        if let Some((_, counts)) = open.last_mut() {
            counts[usize::from(chain.right[row] == Right::Put)] += count;
        }
    }
    let paid = |price: u32| {
        let of = |&(strike, [calls, puts]): &(u32, [f64; 2])| {
            let above = (f64::from(price) - f64::from(strike)) / 1000.0;
            calls * above.max(0.0) + puts * (-above).max(0.0)
        };
        open.iter().map(of).sum::<f64>()
    };
    let all = open.iter().map(|&(strike, _)| (strike_of(strike), paid(strike)));
    all.reduce(|best, next| if next.1 < best.1 { next } else { best })
}
