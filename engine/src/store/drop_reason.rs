//! Reasons why quotes are not used. Never: a quote.

/// Reason why a quote is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum DropReason {
    /// Bid above ask.
    Crossed,
    /// No bid: the ask still bounds the volatility.
    NoBid,
    /// No ask.
    NoAsk,
    /// Older than the limit against the rest of its chain.
    Stale,
    /// Wider than the limit.
    TooWide,
    /// Beyond what spot and strike allow at any volatility.
    OutOfBounds,
    /// Out of order, or not convex, with other strikes of its expiry.
    StrikeOrder,
    /// Higher than the quote of the same strike in later expiries.
    ExpiryOrder,
    /// Below the least or above the greatest value that any volatility gives.
    NoArbitrage,
    /// Far from what the rest of the expiry agrees on.
    Outlier,
    /// A user wants it left out.
    Excluded,
}

impl DropReason {
    /// Every reason, in the order of its counts.
    pub const ALL: [Self; 11] = [
        Self::Crossed,
        Self::NoBid,
        Self::NoAsk,
        Self::Stale,
        Self::TooWide,
        Self::OutOfBounds,
        Self::StrikeOrder,
        Self::ExpiryOrder,
        Self::NoArbitrage,
        Self::Outlier,
        Self::Excluded,
    ];

    /// The name in `/health`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crossed => "crossed",
            Self::NoBid => "no_bid",
            Self::NoAsk => "no_ask",
            Self::Stale => "stale",
            Self::TooWide => "too_wide",
            Self::OutOfBounds => "out_of_bounds",
            Self::StrikeOrder => "strike_order",
            Self::ExpiryOrder => "expiry_order",
            Self::NoArbitrage => "no_arbitrage",
            Self::Outlier => "outlier",
            Self::Excluded => "excluded",
        }
    }
}
