//! Quotes: one book per underlying, its rows in native order. Feeds write it, the pass reads it.
//! Never: a formula.

use jiff::{Timestamp, civil::Date};
use kernel::contract::{Deliverable, ForwardBasis, Right, Settle, Style, Symbol};
use kernel::records::reached_by_several;

/// One underlying: its spot, its dividends and the slices of its roots.
#[derive(Clone, Debug)]
pub struct Book {
    /// Underlying symbol.
    pub underlying: Symbol,
    /// Spot price, currency per share; NaN until one came, and for good where the feed has none. Such a book is valued
    /// on the spot that its options imply, or listed with identity only
    /// ([`Uncomputed::NoSpot`](super::chain::Uncomputed)).
    pub spot: f64,
    /// The time of its quotes ([`Book::quoted_at`]); before the first one the earliest instant that there is.
    pub ts: Timestamp,
    /// Cash dividends: (ex-date, currency per share), ascending, future and past.
    pub dividends: Vec<(Date, f64)>,
    /// The first ex-date of them that is projected and not declared.
    pub projected_from: Option<Date>,
    /// True if a source of dividends covers the name, whether it has any or none.
    pub dividends_known: bool,
    /// One slice per (root, expiry), in native order: expiry, AM before PM, root.
    pub slices: Vec<BookSlice>,
}

impl BookSlice {
    /// Bytes held, itself among them.
    fn bytes(&self) -> usize {
        let Self { deliverables, strike_milli, right, bid, ask, counts, ts, .. } = self;
        size_of::<Self>()
            + deliverables.capacity() * size_of::<(Option<Date>, Deliverable)>()
            + strike_milli.capacity() * size_of::<u32>()
            + right.capacity() * size_of::<Right>()
            + (bid.capacity() + ask.capacity()) * size_of::<f64>()
            + counts.capacity() * size_of::<QuoteCounts>()
            + ts.capacity() * size_of::<Timestamp>()
    }

    /// Deliverable of a contract on a date, by the feed.
    #[must_use]
    pub fn deliverable_on(&self, on: Date) -> Option<Deliverable> {
        let (_, terms) = self.deliverables.iter().rev().find(|(from, _)| from.is_none_or(|from| from <= on))?;
        Some(*terms)
    }
}

impl Book {
    /// True if a spot is published.
    #[must_use]
    pub fn has_spot(&self) -> bool {
        self.spot > 0.0
    }

    /// The time of the name's quotes: the latest that several of them reach ([`reached_by_several`]). `None` without
    /// quotes.
    #[must_use]
    pub fn quoted_at(&self) -> Option<Timestamp> {
        reached_by_several(self.slices.iter().flat_map(|slice| &slice.ts).copied())
    }

    /// Sets the time of the book to that of its quotes.
    pub(super) fn date(&mut self) {
        self.ts = self.quoted_at().unwrap_or(self.ts);
    }

    /// Bytes held, itself among them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let slices: usize = self.slices.iter().map(BookSlice::bytes).sum();
        size_of::<Self>() + self.dividends.capacity() * size_of::<(Date, f64)>() + slices
    }

    /// Number of listed contracts.
    #[must_use]
    pub fn contracts(&self) -> usize {
        self.slices.iter().map(|slice| slice.strike_milli.len()).sum()
    }
}

/// Contracts at bid, at ask, traded since the open, and open. NaN: not recorded.
pub type QuoteCounts = [f64; 4];

/// The quotes of one (root, expiry), one row per listed contract: strike ascending, call before put.
#[derive(Clone, Debug)]
pub struct BookSlice {
    /// Option root.
    pub root: Symbol,
    /// The date that the expiry is served under, a session
    /// ([`canonical_expiry`](kernel::calendar::expirations::canonical_expiry)).
    pub expiry: Date,
    /// The date that its symbols name: of several the earliest.
    pub listed: Date,
    /// Exercise style of the root.
    pub style: Style,
    /// Settlement of the root.
    pub settle: Settle,
    /// The settlement instant.
    pub settles_at: Timestamp,
    /// Source of the forward.
    pub basis: ForwardBasis,
    /// Shares per contract.
    pub multiplier: u32,
    /// Identity only, unless its deliverable is known: an adjusted root, or one whose terms are not those of a plain
    /// option.
    pub adjusted: bool,
    /// Deliverables by first date, ascending; empty: the feed has none.
    pub deliverables: Vec<(Option<Date>, Deliverable)>,
    /// Strikes in thousandths of a currency unit.
    pub strike_milli: Vec<u32>,
    /// Call or put.
    pub right: Vec<Right>,
    /// Bids, currency per share; NaN: none.
    pub bid: Vec<f64>,
    /// Asks, currency per share; NaN: none.
    pub ask: Vec<f64>,
    /// Contracts of each quote; empty unless they are kept ([`Store::keep_sizes`](super::ingest::Store::keep_sizes)).
    pub counts: Vec<QuoteCounts>,
    /// Time of each quote.
    pub ts: Vec<Timestamp>,
    /// Something changed since the last pass.
    pub stale: bool,
}
