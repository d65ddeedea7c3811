//! What a contract is: underlying, root, expiry, strike, right, style, settlement. Never: a price.

use core::fmt;

/// An upper-case ticker of at most eight bytes: an underlying (`SPX`, `BRK.B`) or an option root (`SPXW`, `BRKB`).
///
/// Orders like its text. A plain value: copying one costs a register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol([u8; 8]);

impl Symbol {
    /// Reads a ticker: 1 to 8 of `A-Z`, `0-9` and `.`, letters of either case. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let legal = |b: &u8| b.is_ascii_alphanumeric() || *b == b'.';
        if bytes.is_empty() || bytes.len() > 8 || !bytes.iter().all(legal) {
            return None;
        }
        let mut out = [0; 8];
        out[..bytes.len()].copy_from_slice(bytes);
        out.make_ascii_uppercase();
        Some(Self(out))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|&b| b == 0).unwrap_or(8);
        core::str::from_utf8(&self.0[..end]).unwrap_or_default()
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

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

/// Which print of the expiration date settles the contract. Orders AM before PM, as rows do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Settle {
    /// The opening, 09:30 Eastern.
    Am,
    /// The close, 16:00 Eastern (13:00 on an early close).
    Pm,
}

/// Where the forward of an expiry comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardBasis {
    /// The spot, carried by rate, borrow and dividends.
    Spot,
    /// Put-call parity of the expiry alone; then S := F and b := r (VIX family).
    Parity,
}
