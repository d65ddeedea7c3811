//! Reasons why quotes are not used, and assumptions that many quotes of a name contradict. Never: a quote.

/// Reason why a quote is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Drop {
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

impl Drop {
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

/// Firm quotes of a name, and those of them that do not hold the value of their contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirmQuotes {
    /// Bid and ask that belong together.
    pub firm: u32,
    /// Firm quotes whose value is below the bid or above the ask.
    pub outside: u32,
}

impl FirmQuotes {
    /// Fewer firm quotes than this say nothing of a name.
    const LEAST: u32 = 4;
    /// Confidence is whole while this part of the firm quotes holds its value.
    const HOLD: f64 = 0.75;

    /// True if half of the firm quotes or more do not hold their value, as all calls or all puts.
    #[must_use]
    pub const fn are_contradicted(self) -> bool {
        self.firm >= Self::LEAST && 2 * self.outside >= self.firm
    }

    /// Factor of confidence: 1 while three quarters of the firm quotes hold their value, 0 if none does.
    #[must_use]
    pub fn confidence(self) -> f64 {
        if self.firm < Self::LEAST {
            return 1.0;
        }
        let inside = 1.0 - f64::from(self.outside) / f64::from(self.firm);
        (inside / Self::HOLD).min(1.0).powi(2)
    }
}

impl core::ops::AddAssign for FirmQuotes {
    fn add_assign(&mut self, other: Self) {
        self.firm = self.firm.saturating_add(other.firm);
        self.outside = self.outside.saturating_add(other.outside);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_goes_with_the_quotes_that_hold_their_value() {
        let left = |firm, outside| FirmQuotes { firm, outside }.confidence();
        assert!((left(8, 2) - 1.0).abs() < 1e-12 && (left(8, 5) - 0.25).abs() < 1e-12 && left(10, 10).abs() < 1e-12);
        assert!((left(3, 3) - 1.0).abs() < 1e-12, "three quotes say nothing");
    }
}
