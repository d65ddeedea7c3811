//! The records of one chain file of any layout: quotes, prices of underlyings, and of a recording dividends and rates.
//! Never: a format.

use super::intake::Distinct;
use kernel::error::Reason;
use kernel::records::{DividendCover, DividendRecord, QuoteRecord, RateRecord, SpotRecord};

/// Contents of one chain file.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// One record per contract and time, in the order of the file.
    pub quotes: Vec<QuoteRecord>,
    /// The underlyings' prices, wherever they differ from the row before.
    pub spots: Vec<SpotRecord>,
    /// Dividends; a recording has some, rows of chains never.
    pub dividends: Vec<DividendRecord>,
    /// The names whose dividends it covers.
    pub dividend_cover: DividendCover,
    /// Points of discount curves; the same.
    pub rates: Vec<RateRecord>,
}

/// Quotes as they come from the rows of a file, each contract once at a time.
#[derive(Debug, Default)]
pub struct ChainRows {
    quotes: Distinct,
    spots: Vec<SpotRecord>,
}

impl ChainRows {
    /// Keeps a quote and the price of the underlying beside it; NaN: none.
    ///
    /// # Errors
    /// The contract is there with the same time; the one that [`QuoteRecord::precedence`] prefers is kept.
    pub fn keep(&mut self, quote: QuoteRecord, price: f64) -> Result<(), Reason> {
        let spot = SpotRecord { ts: quote.ts, underlying: quote.underlying, price };
        // every row repeats the price: one record for each that differs
        if !price.is_nan() && self.spots.last() != Some(&spot) {
            self.spots.push(spot);
        }
        self.quotes.keep(quote)
    }

    /// The records of the rows.
    #[must_use]
    pub fn finish(self) -> Chains {
        Chains { quotes: self.quotes.into_quotes(), spots: self.spots, ..Chains::default() }
    }
}
