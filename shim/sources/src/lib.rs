//! Sources of quotes: folders, pushed lines, polled vendors, live gateways and recorded days. The market loop takes new
//! records from every source, and waits for none. Never: a book, a computation, a request of a client.
//!
//! # Rooms
//!
//! - `dir`: a folder; `recorded`: recorded days, the last one or one replayed; `lines`: what programs push.
//! - `poll`: vendors that are polled: a row of `registry.rs` and a file each; when to ask (`plan.rs`, pure), the
//!   requests (`client.rs`, the only file that names `ureq`), the answers about a name together (`sweep.rs`), dividends
//!   beside chains and those that are likely to follow (`dividends.rs`).
//! - `session`: a streamed session, opened again when it ends.
//! - `tasty`: contracts by HTTP and a stream of their quotes; `tasty_spec`: its specification; `socket`: the WebSocket,
//!   the only file that names `tungstenite`.
//! - `databento`: a live session, behind the feature `databento-live`; the only file with an asynchronous runtime.
//!   `databento_spec`, `feed_names`: its specification, and names as users write them.
//! - `precedence`: which source counts where several have an item; `hours`: which quotes are of a session; `recorder`:
//!   incoming data as files.
//! - `inbox`: records that wait for the market loop; `facts`: what a source reports of itself; `requested`: recently
//!   requested names.

#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
#![warn(clippy::print_stderr)]

#[cfg(feature = "databento-live")]
pub mod databento;
pub mod databento_spec;
pub mod dir;
pub mod facts;
pub mod feed_names;
pub mod hours;
pub mod inbox;
pub mod lines;
pub mod poll;
pub mod precedence;
pub mod recorded;
pub mod recorder;
pub mod requested;
pub mod session;
pub mod socket;
pub mod tasty;
pub mod tasty_spec;

use facts::SourceFacts;
use jiff::Timestamp;
use kernel::contract::Symbol;
use kernel::records::Batch;
use kernel::report::Report;
use std::collections::BTreeSet;
use std::time::Duration;

/// Clocks of a poll, and the log for complaints.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// Time of the market.
    pub now: Timestamp,
    /// The later of the market's and the system's time; records with a later time are refused (`Store::ingest` of the
    /// engine).
    pub latest: Timestamp,
    /// Monotonic time since a fixed moment.
    pub elapsed: Duration,
    /// Takes complaints of the feed.
    pub log: &'a dyn Fn(&str),
}

/// Records of a source since the last poll.
#[derive(Debug, Default)]
pub struct Delivery {
    /// The records.
    pub batch: Batch,
    /// Counts and refused rows of reading them.
    pub report: Report,
}

/// Data that a source has not delivered yet since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// Listed names that it has neither delivered nor finally failed to deliver.
    pub names: BTreeSet<Symbol>,
    /// True until the source has read everything once: until then, names that exist already may still come.
    pub is_starting: bool,
}

/// A source of records.
pub trait QuoteSource: Send {
    /// Takes new records without waiting.
    fn take(&mut self, moment: &Moment<'_>) -> Option<Delivery>;

    /// Takes new records between two batches of a pass; an expensive poll may be skipped.
    fn take_between(&mut self, moment: &Moment<'_>) -> Option<Delivery> {
        self.take(moment)
    }

    /// True if its quotes follow the clock, so that values without a new quote age; recorded quotes keep their own
    /// time.
    fn is_live(&self) -> bool {
        true
    }

    /// True if its data are a vendor's: dividends and rates of users override those.
    fn is_vendors(&self) -> bool {
        false
    }

    /// All names that it can deliver chains of, if the user lists them; `None`: unknown.
    fn expected(&self) -> Option<BTreeSet<Symbol>> {
        None
    }

    /// Data not delivered yet. Delivered data have been returned by [`QuoteSource::take`].
    fn outstanding(&self) -> Outstanding {
        // pushed sources have no list of expected data
        Outstanding::default()
    }

    /// Status of the source.
    fn facts(&self) -> SourceFacts;
}
