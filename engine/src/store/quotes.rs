//! Quotes of each contract of a chain at the time of its computation. Only chains of a pass that keeps quotes have
//! them. Never: a formula but the mid.

use super::book::BookSlice;
use jiff::Timestamp;

/// The quotes of a chain, by row. A price or size that was not quoted is NaN.
#[derive(Clone, Debug, Default)]
pub struct ChainQuotes {
    /// Bid and ask, currency per share.
    prices: Vec<[f64; 2]>,
    /// Contracts at bid and ask; empty where the book has no sizes.
    sizes: Vec<[f64; 2]>,
    ts: Vec<Timestamp>,
}

/// A number of a quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuoteNumber {
    /// Bid, currency per share.
    Bid,
    /// Ask, currency per share.
    Ask,
    /// The middle of bid and ask, currency per share; missing where either is.
    Mid,
    /// Contracts at the bid.
    BidSize,
    /// Contracts at the ask.
    AskSize,
}

impl ChainQuotes {
    /// The quotes of slices that follow one another in a chain.
    #[must_use]
    pub fn of<'b>(slices: impl Iterator<Item = &'b BookSlice> + Clone) -> Self {
        let prices = slices.clone().flat_map(|slice| slice.bid.iter().zip(&slice.ask)).map(|(&bid, &ask)| [bid, ask]);
        let (prices, ts) = (prices.collect(), slices.clone().flat_map(|slice| &slice.ts).copied().collect());
        let mut sizes = Vec::new();
        if slices.clone().any(|slice| !slice.sizes.is_empty()) {
            for slice in slices {
                sizes.extend_from_slice(&slice.sizes);
                sizes.resize(sizes.len() + slice.rows() - slice.sizes.len(), [f64::NAN; 2]);
            }
        }
        Self { prices, sizes, ts }
    }

    /// Quotes that were written down: bid and ask, contracts at both, and the time, by row.
    ///
    /// # Domain   as many of each as there are rows
    #[must_use]
    pub fn new(prices: Vec<[f64; 2]>, sizes: Vec<[f64; 2]>, ts: Vec<Timestamp>) -> Self {
        Self { prices, sizes, ts }
    }

    /// A number of a row's quote; NaN: it was not quoted.
    #[must_use]
    pub fn get(&self, row: usize, number: QuoteNumber) -> f64 {
        let [bid, ask] = self.prices[row];
        let size = |side: usize| self.sizes.get(row).map_or(f64::NAN, |sizes| sizes[side]);
        match number {
            QuoteNumber::Bid => bid,
            QuoteNumber::Ask => ask,
            QuoteNumber::Mid => 0.5 * (bid + ask),
            QuoteNumber::BidSize => size(0),
            QuoteNumber::AskSize => size(1),
        }
    }

    /// The time of a row's quote.
    #[must_use]
    pub fn time(&self, row: usize) -> Timestamp {
        self.ts[row]
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.prices) + size_of_val(&*self.sizes) + size_of_val(&*self.ts)
    }
}
