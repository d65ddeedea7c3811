//! The interface of a market of many days: which days and names there are, and the snapshots of a name on a day,
//! computed on request.
//!
//! No caller waits: what is not computed yet is a [`Flight`] that lands later. Never: a request, a row, a file.

use api::listing::Listing;
use engine::store::chain::Chain;
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A market of many days.
pub trait Archive: Send + Sync {
    /// Days with data of any of `names`, ascending; an empty list means any name. `None`: the index is not read yet.
    fn days(&self, names: &[Symbol]) -> Option<Vec<Date>>;

    /// Names with data on a day, in order.
    fn names(&self, day: Date) -> Vec<Symbol>;

    /// The contracts that a name had on a day, by file.
    fn listings(&self, name: Symbol, day: Date) -> Vec<Arc<Listing>>;

    /// The snapshots of a name on a day, as a flight that may land later; `None`: no data. Never waits.
    fn snapshots(&self, name: Symbol, day: Date) -> Option<Arc<Flight>>;

    /// Bytes of the cache, and of removed entries that responses still read.
    fn held_bytes(&self) -> u64;
}

/// The snapshots of one name on one day, in time order.
#[derive(Debug, Default)]
pub struct DayChains {
    chains: Vec<(Timestamp, Arc<Chain>)>,
}

impl DayChains {
    /// Snapshots of one name on one day, in any order.
    #[must_use]
    pub fn new(mut chains: Vec<(Timestamp, Arc<Chain>)>) -> Self {
        chains.sort_by_key(|&(time, _)| time);
        Self { chains }
    }

    /// Times of the snapshots, ascending.
    pub fn times(&self) -> impl Iterator<Item = Timestamp> + '_ {
        self.chains.iter().map(|&(time, _)| time)
    }

    /// The last snapshot at or before an instant.
    #[must_use]
    pub fn last_by(&self, at: Timestamp) -> Option<&(Timestamp, Arc<Chain>)> {
        self.chains[..self.chains.partition_point(|&(time, _)| time <= at)].last()
    }

    /// Bytes of the snapshots.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.chains.iter().map(|(_, chain)| chain.bytes() as u64).sum()
    }
}

/// Reason why there are no snapshots of a recorded day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The recorded files cannot be used: where and why.
    Damaged(String),
    /// Too many requests at once, or too much memory held by slow clients; a retry may succeed.
    Busy,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(why) => f.write_str(why),
            Self::Busy => f.write_str("too many requests for past data at once"),
        }
    }
}

/// Result of a computation.
pub type Landed = Result<Arc<DayChains>, Trouble>;

/// A computation shared by all requests for it.
#[derive(Debug, Default)]
pub struct Flight(OnceLock<Landed>);

impl Flight {
    /// A flight that has ended.
    #[must_use]
    pub fn landed(how: Landed) -> Self {
        Self(OnceLock::from(how))
    }

    /// Result of the flight; `None`: it has not ended.
    #[must_use]
    pub fn get(&self) -> Option<&Landed> {
        self.0.get()
    }

    /// Completes the flight; a completed one does not change.
    pub(crate) fn land(&self, how: Landed) {
        let _ = self.0.set(how);
    }
}
