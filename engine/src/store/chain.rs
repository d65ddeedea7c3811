//! Results: one immutable chain per underlying, its rows in native order (expiry, AM before PM, root,
//! strike, call before put). Never: mutation after publishing.

use super::columns::Columns;
use super::doubt::Doubt;
use super::drop_reason::DropReason;
use super::evidence::ChainEvidence;
use super::firm_quotes::FirmQuotes;
use super::quotes::ChainQuotes;
use core::ops::Range;
use jiff::{Timestamp, civil::Date};
use kernel::contract::{ContractKey, Right, Settle, Style, Symbol};

/// One underlying, every contract of every root.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Underlying symbol.
    pub underlying: Symbol,
    /// Spot price, currency per share; NaN: the feed has none.
    pub spot: f64,
    /// The spot that the options imply together, by put-call parity over all expiries, currency per share; NaN: they
    /// say nothing of it. Values follow it where it differs from `spot` by more than its error.
    pub implied_spot: f64,
    /// Standard error of `implied_spot`, currency per share; NaN where that is.
    pub implied_spot_error: f64,
    /// Option prices imply a different spot than the published one: values use `implied_spot`.
    pub spot_off: bool,
    /// The assumption that many quotes contradict, so that values are computed without it; `None`: there is none.
    pub doubt: Option<Doubt>,
    /// Quotes with two sides, and those that do not hold their value.
    pub firm: FirmQuotes,
    /// The reason why no contract has Greeks; `None`: one has, or only adjusted roots are listed, which never have.
    pub uncomputed: Option<Uncomputed>,
    /// The instant that the chain is valued at.
    pub valued_at: Timestamp,
    /// Only the preliminary pass has run: lattices value early exercise, and prices are accurate to about 1e-4.
    pub preliminary: bool,
    /// One slice per (root, expiry), in native order. Their row ranges follow one another and cover the chain.
    pub slices: Slices,
    /// Strikes in thousandths of a currency unit, by row.
    pub strike_milli: Vec<u32>,
    /// Call or put, by row.
    pub right: Vec<Right>,
    /// The reason why a row's quote is not used; `None`: it is used.
    pub dropped: Vec<Option<DropReason>>,
    /// The numbers, by row.
    pub columns: Columns,
    /// The quotes of the computation, by row; `None` unless the pass keeps quotes.
    pub quotes: Option<Box<ChainQuotes>>,
    /// Other inputs of the computation; `None` if the chain was restored, or never computed.
    pub evidence: Option<Box<ChainEvidence>>,
}

/// Reason why a name is listed without Greeks. It concerns the whole name, not a single expiry without a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Uncomputed {
    /// The feed has no price of the underlying, and option prices imply none.
    NoSpot,
    /// No expiry has a curve: its quotes are missing, one-sided or dropped.
    NoUsableQuote,
    /// Calls and puts of the same strikes contradict each other, so that there is no forward.
    ContradictoryPairs,
    /// Strikes are in other units than the spot, as thousandths.
    StrikeScale,
    /// Prices of options are in other units than strikes and spot, as those of a contract.
    PriceScale,
    /// The computation failed by an internal error.
    Failed,
}

impl Uncomputed {
    /// Every reason, in the order of its counts.
    pub const ALL: [Self; 6] = [
        Self::NoSpot,
        Self::NoUsableQuote,
        Self::ContradictoryPairs,
        Self::StrikeScale,
        Self::PriceScale,
        Self::Failed,
    ];

    /// The name in `/health`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoSpot => "no_spot",
            Self::NoUsableQuote => "no_usable_quote",
            Self::ContradictoryPairs => "contradictory_pairs",
            Self::StrikeScale => "strike_scale",
            Self::PriceScale => "price_scale",
            Self::Failed => "failed",
        }
    }
}

/// Values common to one (root, expiry). NaN: missing (adjusted roots, slices that could not be calibrated, names
/// without a spot).
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Option root.
    pub root: Symbol,
    /// The date that the expiry is served under, a session.
    pub expiry: Date,
    /// The date that its symbols name: the same, or a day after it that has no session.
    pub listed: Date,
    /// Rows of the slice.
    pub rows: Range<u32>,
    /// Exercise style.
    pub style: Style,
    /// Settlement.
    pub settle: Settle,
    /// The settlement instant.
    pub settles_at: Timestamp,
    /// Identity only, unless the deliverable is known: an adjusted root, or one that the table knows to be no plain
    /// option's or does not know ([`IdentityOnly`](kernel::contract::IdentityOnly)).
    pub adjusted: bool,
    /// Fractional calendar days to settlement.
    pub days: f64,
    /// Variance days to settlement by the variance clock, market events among them, the name's own not.
    pub days_vt: f64,
    /// The underlying price that the slice is valued at: the published spot, else the implied one; F for the VIX
    /// family.
    pub und_price: f64,
    /// Calibrated forward.
    pub fwd_price: f64,
    /// Continuously compounded rate to settlement, decimal.
    pub disc_rate: f64,
    /// Implied borrow rate, decimal.
    pub borr_rate: f64,
    /// Sum of the cash dividends with ex-dates up to expiry, currency per share.
    pub divs: f64,
}

/// The slices of a chain, with the roots that they list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slices {
    all: Vec<Slice>,
    /// Each root once. A snapshot lists the roots of every chain, and slices are many times as many.
    roots: Vec<Symbol>,
}

impl Slices {
    /// Adds a slice, whose rows follow those of the last one.
    pub fn push(&mut self, slice: Slice) {
        if !self.roots.contains(&slice.root) {
            self.roots.push(slice.root);
        }
        self.all.push(slice);
    }

    /// Each root that is listed, once.
    #[must_use]
    pub fn roots(&self) -> &[Symbol] {
        &self.roots
    }

    /// Bytes held beside itself.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<Slice>() + self.roots.capacity() * size_of::<Symbol>()
    }
}

impl FromIterator<Slice> for Slices {
    fn from_iter<I: IntoIterator<Item = Slice>>(all: I) -> Self {
        let mut slices = Self::default();
        all.into_iter().for_each(|slice| slices.push(slice));
        slices
    }
}

impl core::ops::Deref for Slices {
    type Target = [Slice];

    fn deref(&self) -> &[Slice] {
        &self.all
    }
}

impl<'a> IntoIterator for &'a Slices {
    type Item = &'a Slice;
    type IntoIter = core::slice::Iter<'a, Slice>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl Slice {
    /// The key of one of the slice's contracts.
    #[must_use]
    pub fn contract(&self, strike_milli: u32, right: Right) -> ContractKey {
        ContractKey { root: self.root, expiry: self.listed, strike_milli, right }
    }

    /// The rows of the slice among some ranges, which ascend and do not touch.
    pub fn rows_among(&self, ranges: &[Range<u32>]) -> impl Iterator<Item = u32> {
        let Range { start, end } = self.rows;
        let first = ranges.partition_point(|range| range.end <= start);
        let within = ranges[first..].iter().take_while(move |range| range.start < end);
        within.flat_map(move |range| range.start.max(start)..range.end.min(end))
    }
}

impl Chain {
    /// True if no price of the underlying is published and values are computed from the one that the options imply.
    /// Never true of the VIX family, whose `und_price` is the forward with and without a published price.
    #[must_use]
    pub fn spot_is_implied(&self) -> bool {
        self.spot.is_nan() && self.implied_spot > 0.0
    }

    /// The published price of the underlying, else the one that the options imply; NaN: neither is known.
    #[must_use]
    pub fn underlying_price(&self) -> f64 {
        if self.spot.is_nan() { self.implied_spot } else { self.spot }
    }

    /// Bytes held, itself among them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.slices.bytes()
            + self.strike_milli.capacity() * size_of::<u32>()
            + self.right.capacity() * size_of::<Right>()
            + self.dropped.capacity() * size_of::<Option<DropReason>>()
            + self.columns.bytes()
            + self.quotes.as_ref().map_or(0, |quotes| quotes.bytes())
            + self.evidence.as_ref().map_or(0, |evidence| evidence.bytes())
    }

    /// Number of contracts.
    #[must_use]
    pub fn rows(&self) -> u32 {
        u32::try_from(self.strike_milli.len()).unwrap_or(u32::MAX)
    }
}
