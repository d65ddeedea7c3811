//! Quotes: one book per underlying, its rows in native order. Feeds write it, the pass reads it.
//! Never: a formula.

use jiff::{Timestamp, civil::Date};
use kernel::calendar::expirations::canonical_expiry;
use kernel::contract::{ContractKey, Deliverable, ForwardBasis, Right, RootFacts, Settle, Style, Symbol};
use kernel::error::Reason;
use kernel::limits;
use kernel::records::{Activity, QuoteRecord, quoted, reached_by_several};

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
    pub fn rows(&self) -> usize {
        self.slices.iter().map(BookSlice::rows).sum()
    }

    /// Drops the slices that have settled by `at`; returns the number of their contracts.
    pub fn expire(&mut self, at: Timestamp) -> usize {
        let before = self.rows();
        self.slices.retain(|s| s.settles_at > at);
        before - self.rows()
    }

    /// Marks every slice as changed, or as read.
    pub(super) fn mark(&mut self, stale: bool) {
        self.slices.iter_mut().for_each(|slice| slice.stale = stale);
    }
}

/// Contracts at bid, at ask, traded since the open, and open. NaN: not recorded.
pub type QuoteCounts = [f64; 4];

/// The quotes of one (root, expiry), one row per listed contract: strike ascending, call before put.
#[derive(Clone, Debug)]
pub struct BookSlice {
    /// Option root.
    pub root: Symbol,
    /// The date that the expiry is served under, a session ([`canonical_expiry`]).
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

impl BookSlice {
    /// A slice without contracts; `listed`: the date that symbols name.
    #[must_use]
    pub fn new(facts: RootFacts, listed: Date, settles_at: Timestamp) -> Self {
        Self {
            root: facts.root,
            expiry: canonical_expiry(listed),
            listed,
            style: facts.style,
            settle: facts.settle,
            settles_at,
            basis: facts.basis,
            multiplier: facts.multiplier,
            adjusted: facts.identity_only.is_some(),
            deliverables: Vec::new(),
            strike_milli: Vec::new(),
            right: Vec::new(),
            bid: Vec::new(),
            ask: Vec::new(),
            counts: Vec::new(),
            ts: Vec::new(),
            stale: true,
        }
    }

    /// Number of listed contracts.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.strike_milli.len()
    }

    /// The row of a contract.
    #[must_use]
    pub fn row(&self, strike_milli: u32, right: Right) -> Option<usize> {
        self.search(strike_milli, right).ok()
    }

    /// True if the slice has the same contracts with the same quotes as another.
    pub(super) fn has_same_quotes(&self, other: &Self) -> bool {
        let same = |a: &[f64], b: &[f64]| a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()));
        (self.settles_at, &self.strike_milli, &self.right, &self.ts)
            == (other.settles_at, &other.strike_milli, &other.right, &other.ts)
            && same(&self.bid, &other.bid)
            && same(&self.ask, &other.ask)
            && same(self.counts.as_flattened(), other.counts.as_flattened())
    }

    /// The key of the native order.
    pub(super) fn order(&self) -> (Date, Settle, Symbol) {
        (self.expiry, self.settle, self.root)
    }

    /// The row of a contract, or the row where it belongs.
    pub(super) fn search(&self, strike_milli: u32, right: Right) -> Result<usize, usize> {
        let i = self.strike_milli.partition_point(|&k| k < strike_milli);
        let is = |i: usize, r: Right| self.strike_milli.get(i) == Some(&strike_milli) && self.right[i] == r;
        match right {
            Right::Call if is(i, Right::Call) => Ok(i),
            Right::Put if is(i, Right::Put) => Ok(i),
            Right::Put if is(i, Right::Call) && is(i + 1, Right::Put) => Ok(i + 1),
            Right::Put if is(i, Right::Call) => Err(i + 1),
            _ => Err(i),
        }
    }

    /// Puts a quote in its row, unless one of higher precedence is present; with its counts if those are kept. A quote
    /// without volume or open interest leaves the earlier numbers.
    ///
    /// # Domain   prices and sizes that the reader of the feed has checked; an expiry of at most [`limits::STRIKES`]
    /// strikes
    pub(super) fn upsert(&mut self, q: &QuoteRecord, keeps_sizes: bool) -> Result<bool, Reason> {
        let ContractKey { strike_milli, right, .. } = q.contract;
        let (bid, ask) = (quoted(q.bid), quoted(q.ask));
        let mut counts = [q.bid_size, q.ask_size, q.activity.volume, q.activity.open_interest]
            .map(|n| if limits::SIZE.holds(n) { n } else { f64::NAN });
        let new = with_counts(q, counts);
        if keeps_sizes {
            // quotes from before counts were kept have none
            self.counts.resize(self.rows(), [f64::NAN; 4]);
        }
        match self.search(strike_milli, right) {
            Ok(i) => {
                let before = self.counts.get(i).copied().unwrap_or(counts);
                let old = QuoteRecord { ts: self.ts[i], bid: self.bid[i], ask: self.ask[i], ..with_counts(q, before) };
                if new.precedence(&old).is_le() {
                    return Ok(false);
                }
                (self.bid[i], self.ask[i], self.ts[i]) = (bid, ask, q.ts);
                if keeps_sizes {
                    for (count, before) in counts.iter_mut().zip(before).skip(2).filter(|(count, _)| count.is_nan()) {
                        *count = before;
                    }
                    self.counts[i] = counts;
                }
            }
            Err(_) if self.rows() as f64 >= 2.0 * limits::STRIKES.most => return Err(Reason::TooMany),
            Err(i) => {
                self.strike_milli.insert(i, strike_milli);
                self.right.insert(i, right);
                self.bid.insert(i, bid);
                self.ask.insert(i, ask);
                if keeps_sizes {
                    self.counts.insert(i, counts);
                }
                self.ts.insert(i, q.ts);
            }
        }
        self.stale = true;
        Ok(true)
    }
}

/// A quote with other counts.
fn with_counts(quote: &QuoteRecord, counts: QuoteCounts) -> QuoteRecord {
    let [bid_size, ask_size, volume, open_interest] = counts;
    QuoteRecord { bid_size, ask_size, activity: Activity { volume, open_interest }, ..*quote }
}
