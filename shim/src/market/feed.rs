//! What the market loop needs of a feed. A new feed is a type that implements [`Feed`], and a word for it in
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

/// What a feed has delivered so far, and what it waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedProgress {
    /// Quotes and spots.
    pub records: u64,
    /// Of these: refused, by [`Reason`].
    pub refused: [u64; Reason::ALL.len()],
    /// Of these: made outside of sessions, where what the session ended with is held.
    pub outside_session: u64,
    /// Files that cannot be used as they are; what was last read of them is served.
    pub files_unusable: usize,
    /// A change is pending because it may be incomplete: the next poll should come within this time.
    pub poll_within: Option<Duration>,
}

/// What all names of a feed have in common.
#[derive(Clone, Debug)]
pub struct ReferenceData {
    /// Sessions and settlement instants.
    pub calendar: Calendar,
    /// Discount curves by source.
    pub rates: RateTable,
}

impl ReferenceData {
    /// The same for a pass.
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

    /// Takes in what is new. The underlyings that have something which [`Feed::books`] has not handed out yet, whenever
    /// it came.
    fn poll(&mut self, moment: &Moment<'_>) -> Vec<Symbol>;

    /// As [`Feed::poll`], between two batches of a pass. A market that moves by the clock alone has nothing new there.
    fn changed(&mut self, moment: &Moment<'_>) -> Vec<Symbol> {
        self.poll(moment)
    }

    /// Every underlying that can have a chain: one that a live contract is listed of. Whether it can be computed is
    /// told by its chain.
    fn names(&self) -> BTreeSet<Symbol>;

    /// True if names may still appear that are not listed yet: by pushed quotes or answers of vendors.
    fn lists_later(&self) -> bool {
        false
    }

    /// All names that can appear, if users list them; `None`: unknown.
    fn expected(&self) -> Option<BTreeSet<Symbol>> {
        None
    }

    /// What its sources have not brought yet since the start.
    fn outstanding(&self) -> Outstanding {
        Outstanding::default()
    }

    /// How many contracts are listed of an underlying at an instant.
    fn contracts(&self, name: Symbol, now: Timestamp) -> usize;

    /// True if an underlying pays dividends: those that do not are computed first.
    fn pays_dividends(&self, name: Symbol) -> bool;

    /// Keeps how many contracts are quoted, of quotes that come from here on: somebody wants to see them.
    fn keep_sizes(&mut self) {
        // a feed without sizes has nothing to keep
    }

    /// Makes [`Feed::books`] hand out some underlyings the next time, whether they have anything new or not.
    fn requeue(&mut self, names: &[Symbol]) {
        // a feed that hands out every requested book has nothing to do
        let _ = names;
    }

    /// Brings the books of some underlyings to the instant `now`, on the threads of the passes if that is work, and
    /// returns them with the instant at which each is to be valued. They count as fresh from here on. Those that have
    /// nothing new since they were last handed out may be left out.
    fn books<'a>(&'a mut self, names: &[Symbol], now: Timestamp, passes: &Passes) -> Vec<(&'a Book, Timestamp)>;

    /// Calendar and discount curves.
    fn reference(&self) -> &ReferenceData;

    /// What was delivered so far.
    fn progress(&self) -> FeedProgress;

    /// Status of the recorder, if there is one.
    fn record(&self) -> Option<RecordFacts> {
        None
    }

    /// Bytes of its books.
    fn book_bytes(&self) -> usize;

    /// Status of its sources, in order of precedence.
    fn sources(&self) -> Vec<SourceFacts> {
        Vec::new()
    }
}
