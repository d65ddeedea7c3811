//! Where quotes come from: a source delivers records, whatever it takes to get them. The market loop asks every source
//! what is new and waits for none. Never: a book, a computation, a request of a client.
//!
//! # Rooms
//!
//! - `dir`: a folder; `recorded`: recorded days, the last one or one replayed; `lines`: lines that are pushed.
//! - `poll`: vendors that are polled: a row of `registry.rs` and a file each; when to ask (`plan.rs`, pure), the
//!   requests (`client.rs`, the only file that names `ureq`), the answers about a name together (`sweep.rs`), dividends
//!   beside chains and those that are likely to follow (`dividends.rs`).
//! - `databento`: a live session, behind the feature `databento-live`; the only file with an asynchronous runtime.
//! - `inbox`: records that wait for the market loop; `facts`: what a source reports of itself; `requested`: recently
//!   requested names.

#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
#![warn(clippy::print_stderr)]

#[cfg(feature = "databento-live")]
pub mod databento;
pub mod dir;
pub mod facts;
pub mod inbox;
pub mod lines;
pub mod poll;
pub mod recorded;
pub mod requested;

use facts::SourceFacts;
use jiff::Timestamp;
use kernel::contract::Symbol;
use kernel::records::Batch;
use kernel::report::Report;
use std::collections::BTreeSet;
use std::time::Duration;

/// The moment at which a source is asked, and where it may complain.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// The time of the market.
    pub now: Timestamp,
    /// The later of the market's and the system's time: what records are held against that say when they were made
    /// (`Store::ingest` of the engine).
    pub latest: Timestamp,
    /// Time since some fixed moment, by a clock that is never set.
    pub elapsed: Duration,
    /// Takes every complaint of the feed.
    pub log: &'a dyn Fn(&str),
}

/// What a source has delivered at once.
#[derive(Debug, Default)]
pub struct Delivery {
    /// The records.
    pub batch: Batch,
    /// What became of what they were read from.
    pub report: Report,
}

/// What a source has not brought yet since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// Names of its list that it has neither delivered nor failed for good.
    pub names: BTreeSet<Symbol>,
    /// It has not gone through everything once: names may come that are there already.
    pub is_starting: bool,
}

/// A source of records.
pub trait QuoteSource: Send {
    /// What is new since the last time; never waits.
    fn take(&mut self, moment: &Moment<'_>) -> Option<Delivery>;

    /// The same between two batches of a pass, where a look that costs something may be left out.
    fn take_between(&mut self, moment: &Moment<'_>) -> Option<Delivery> {
        self.take(moment)
    }

    /// True if its quotes go with the clock, so that values without a new quote age; recorded ones keep their own time.
    fn is_live(&self) -> bool {
        true
    }

    /// True if a vendor made what it has: a user's dividends override a vendor's.
    fn is_vendors(&self) -> bool {
        false
    }

    /// The names that its user lists, the only ones that it brings chains of; `None`: nobody knows which come.
    fn expected(&self) -> Option<BTreeSet<Symbol>> {
        None
    }

    /// What it has not brought yet. What it has brought was handed out by [`QuoteSource::take`].
    fn outstanding(&self) -> Outstanding {
        // what others push is there when it comes
        Outstanding::default()
    }

    /// What it says of itself.
    fn facts(&self) -> SourceFacts;
}
