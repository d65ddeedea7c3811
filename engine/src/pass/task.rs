//! Inputs of a pass: those of all chains, and one underlying to compute. Never: a computation.

use crate::rates::table::RateTable;
use crate::store::book::{Book, BookSlice};
use crate::store::columns::SpareBlocks;
use crate::store::overrides::Overrides;
use crate::store::quotes::ChainQuotes;
use jiff::Timestamp;
use kernel::american::SharedBoundaries;
use kernel::calendar::Calendar;
use kernel::quality::Quality;

/// Inputs common to all chains of a pass.
#[derive(Clone, Copy, Debug)]
pub struct MarketData<'a> {
    /// Sessions and settlement instants.
    pub calendar: &'a Calendar,
    /// Discount curves by source.
    pub rates: &'a RateTable,
}

/// A name to compute: book, instant and quality.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task<'a> {
    pub(super) market: MarketData<'a>,
    pub(super) book: &'a Book,
    pub(super) at: Timestamp,
    pub(super) quality: Quality,
    /// True if the chain shows its quotes.
    pub(super) quotes: bool,
    pub(super) overrides: &'a Overrides,
    pub(super) spare: &'a SpareBlocks,
    pub(super) shared: &'a SharedBoundaries,
    /// Clock that stages are timed by, nanoseconds since any instant.
    pub(super) clock: fn() -> u64,
}

impl Task<'_> {
    /// Slices that have not settled; they form the chain.
    pub(super) fn live(&self) -> impl Iterator<Item = &BookSlice> + Clone {
        self.book.slices.iter().filter(|slice| slice.settles_at > self.at)
    }

    /// Quotes of the slices that have not settled; `None` if the chain does not show quotes.
    pub(super) fn chain_quotes(&self) -> Option<Box<ChainQuotes>> {
        self.quotes.then(|| Box::new(ChainQuotes::of(self.live())))
    }
}
