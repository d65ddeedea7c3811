//! The terms that a contract's price depends on besides strike and date: call or put, exercise, settlement, and where
//! its forward comes from.

/// Call or put. Orders call before put, as rows do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Right {
    /// The right to buy.
    Call,
    /// The right to sell.
    Put,
}

impl Right {
    /// The spellings of a call, in any case: files of vendors mix them.
    pub const CALL: [&'static str; 4] = ["call", "c", "calls", "call option"];
    /// The spellings of a put.
    pub const PUT: [&'static str; 4] = ["put", "p", "puts", "put option"];

    /// Reads one of the spellings in [`Right::CALL`] and [`Right::PUT`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        match (is(Self::CALL), is(Self::PUT)) {
            (true, _) => Some(Self::Call),
            (_, true) => Some(Self::Put),
            _ => None,
        }
    }

    /// +1 for a call, −1 for a put.
    #[must_use]
    pub fn phi(self) -> f64 {
        match self {
            Self::Call => 1.0,
            Self::Put => -1.0,
        }
    }
}

/// When the holder may exercise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Style {
    /// At any time.
    American,
    /// At expiry only.
    European,
}

/// The price of the expiration date that settles the contract. Orders AM before PM, as rows do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Settle {
    /// The opening, 09:30 Eastern.
    Am,
    /// The close, 16:00 Eastern (13:00 on an early close).
    Pm,
}

/// Source of the forward of an expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardBasis {
    /// The spot, carried by rate, borrow and dividends.
    Spot,
    /// Put-call parity of the expiry alone; then S := F and b := r (VIX family).
    Parity,
}
