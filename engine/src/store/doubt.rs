//! Assumptions about a name that many of its quotes contradict. Never: a quote.

/// An assumption that quotes contradict, so that values are computed without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Doubt {
    /// The published spot: values use the implied one.
    Spot,
    /// That borrow is what it is for most names: it is whatever forwards imply from the published spot.
    Borrow,
    /// Dividends: values count what the quotes pay for.
    Dividends,
}

impl Doubt {
    /// Every assumption, in the order of its counts.
    pub const ALL: [Self; 3] = [Self::Spot, Self::Borrow, Self::Dividends];

    /// The name in `/health`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spot => "spot",
            Self::Borrow => "borrow",
            Self::Dividends => "dividends",
        }
    }
}
