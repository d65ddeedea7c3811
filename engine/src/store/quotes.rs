//! Quotes of each contract of a chain at the time of its computation. Only chains of a pass that keeps quotes have
//! them. Never: a formula but the mid.

use super::book::{BookSlice, QuoteCounts};
use jiff::Timestamp;

/// The quotes of a chain, by row. A price or count that was not quoted is NaN.
#[derive(Clone, Debug, Default)]
pub struct ChainQuotes {
    /// Bid and ask, currency per share.
    prices: Vec<[f64; 2]>,
    /// Contracts of each quote; empty where the book has no counts.
    counts: Vec<QuoteCounts>,
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
    /// Contracts traded since the open of the session.
    Volume,
    /// Contracts open.
    OpenInterest,
}

impl ChainQuotes {
    /// The quotes of slices that follow one another in a chain.
    #[must_use]
    pub fn of<'b>(slices: impl Iterator<Item = &'b BookSlice> + Clone) -> Self {
        let prices = slices.clone().flat_map(|slice| slice.bid.iter().zip(&slice.ask)).map(|(&bid, &ask)| [bid, ask]);
        let (prices, ts) = (prices.collect(), slices.clone().flat_map(|slice| &slice.ts).copied().collect());
        let mut counts = Vec::new();
        if slices.clone().any(|slice| !slice.counts.is_empty()) {
            for slice in slices {
                counts.extend_from_slice(&slice.counts);
                counts.resize(counts.len() + slice.rows() - slice.counts.len(), [f64::NAN; 4]);
            }
        }
        Self { prices, counts, ts }
    }

    /// Quotes that were written down: bid and ask, contracts, and the time, by row.
    ///
    /// # Domain   as many of each as there are rows
    #[must_use]
    pub fn new(prices: Vec<[f64; 2]>, counts: Vec<QuoteCounts>, ts: Vec<Timestamp>) -> Self {
        Self { prices, counts, ts }
    }

    /// A number of a row's quote; NaN: it was not quoted, or there is no such row.
    #[must_use]
    pub fn get(&self, row: usize, number: QuoteNumber) -> f64 {
        let [bid, ask] = self.prices.get(row).copied().unwrap_or([f64::NAN; 2]);
        let count = |at: usize| self.counts.get(row).map_or(f64::NAN, |counts| counts[at]);
        match number {
            QuoteNumber::Bid => bid,
            QuoteNumber::Ask => ask,
            QuoteNumber::Mid => 0.5 * (bid + ask),
            QuoteNumber::BidSize => count(0),
            QuoteNumber::AskSize => count(1),
            QuoteNumber::Volume => count(2),
            QuoteNumber::OpenInterest => count(3),
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
        size_of_val(&*self.prices) + size_of_val(&*self.counts) + size_of_val(&*self.ts)
    }
}
