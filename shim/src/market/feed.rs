//! The interface between the market loop and a feed. A new feed is a type that implements [`Feed`], and a word in
//! [`super::spec`]. Never: a kind of feed.

use engine::pass::{MarketData, Passes};
use engine::rates::table::RateTable;
use engine::store::book::Book;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use kernel::error::Reason;
use sources::facts::{RecordFacts, SourceFacts};
use sources::{Moment, Outstanding};
use std::collections::BTreeSet;
use std::time::Duration;

/// Counts of a feed, and when to poll it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedProgress {
    /// Number of quotes and spots delivered.
    pub records: u64,
    /// Number of refused quotes and spots, by [`Reason`].
    pub refused: [u64; Reason::ALL.len()],
    /// Number of quotes and spots made outside sessions and not used: the last values of the session are held.
    pub outside_session: u64,
    /// Number of unusable files; their last readable versions are served.
    pub files_unusable: usize,
    /// Time within which to poll again, if a change is pending because it may be incomplete.
    pub poll_within: Option<Duration>,
}

/// Reference data that all names of a feed share.
#[derive(Clone, Debug)]
pub struct ReferenceData {
    /// Sessions and settlement instants.
    pub calendar: Calendar,
    /// Discount curves by source.
    pub rates: RateTable,
}

impl ReferenceData {
    /// The reference data, as a pass takes them.
    #[must_use]
    pub fn market(&self) -> MarketData<'_> {
        MarketData { calendar: &self.calendar, rates: &self.rates }
    }
}

/// A source of quotes: fills books and reports which of them have changed.
pub trait Feed: Send {
    /// True if the market is simulated.
    fn is_simulated(&self) -> bool {
        false
    }

    /// Takes in new data. Returns all underlyings with data that [`Feed::books`] has not returned yet.
    fn poll(&mut self, moment: &Moment<'_>) -> Vec<Symbol>;

    /// Takes in new data between two batches of a pass, like [`Feed::poll`]. A market that moves by the clock alone
    /// returns nothing.
    fn changed(&mut self, moment: &Moment<'_>) -> Vec<Symbol> {
        self.poll(moment)
    }

    /// Every underlying with a listed contract that has not settled, computable or not.
    fn names(&self) -> BTreeSet<Symbol>;

    /// True if further names may be listed later, by pushed quotes or answers of vendors.
    fn lists_later(&self) -> bool {
        false
    }

    /// All names that can appear, if the user lists them; `None`: unknown.
    fn expected(&self) -> Option<BTreeSet<Symbol>> {
        None
    }

    /// Data that the sources have not delivered yet since the start.
    fn outstanding(&self) -> Outstanding {
        Outstanding::default()
    }

    /// Number of listed contracts of an underlying at an instant.
    fn contracts(&self, name: Symbol, now: Timestamp) -> usize;

    /// True if an underlying pays dividends: names without dividends are computed first.
    fn pays_dividends(&self, name: Symbol) -> bool;

    /// Keeps bid and ask sizes of quotes from here on, to be served.
    fn keep_sizes(&mut self) {
        // a feed without sizes has nothing to keep
    }

    /// Makes some underlyings due again: the next [`Feed::books`] returns them, even without new data.
    fn requeue(&mut self, names: &[Symbol]);

    /// Brings the books of some underlyings to the instant `now`, on the threads of the passes if that takes long.
    /// Returns each book with the instant to value it at, and counts it as up to date from here on. Books without new
    /// data may be left out.
    fn books<'a>(&'a mut self, names: &[Symbol], now: Timestamp, passes: &Passes) -> Vec<(&'a Book, Timestamp)>;

    /// Calendar and discount curves.
    fn reference(&self) -> &ReferenceData;

    /// Counts of deliveries, and when to poll again.
    fn progress(&self) -> FeedProgress;

    /// Status of the recorder, if there is one.
    fn record(&self) -> Option<RecordFacts> {
        None
    }

    /// Bytes of the books.
    fn book_bytes(&self) -> usize;

    /// Status of the sources, in order of precedence.
    fn sources(&self) -> Vec<SourceFacts> {
        Vec::new()
    }
}
