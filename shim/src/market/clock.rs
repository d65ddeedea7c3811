//! The instant that the market is at: the system's, or one that stands still.

use jiff::Timestamp;

/// The clock of the market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarketClock {
    /// The system's.
    Running,
    /// Stands still.
    Fixed(Timestamp),
}

impl MarketClock {
    /// Now.
    #[must_use]
    pub fn now(self) -> Timestamp {
        match self {
            Self::Running => Timestamp::now(),
            Self::Fixed(at) => at,
        }
    }

    /// The later of the market's and the system's time: no record is from a later one.
    #[must_use]
    pub fn latest(self) -> Timestamp {
        self.now().max(Timestamp::now())
    }
}
