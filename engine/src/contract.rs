//! What a contract is: underlying, root, expiry, strike, right, style, settlement; OSI symbols both ways ([`osi`]) and
//! the facts of each root ([`roots`]).
//!
//! A contract is keyed by its root, never by its underlying: on third Fridays SPX and SPXW list the same strikes with
//! settlements 6.5 hours apart. Never: a price.

pub mod osi;
pub mod roots;
mod symbol;

use jiff::civil::Date;

pub use roots::{RootFacts, RootTable};
pub use symbol::Symbol;

/// One contract's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContractKey {
    /// Option root.
    pub root: Symbol,
    /// Expiration date.
    pub expiry: Date,
    /// Strike in thousandths of a currency unit.
    pub strike_milli: u32,
    /// Call or put.
    pub right: Right,
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

/// A strike in thousandths. `None` if it is not within [`limits::STRIKE_MILLI`](crate::limits::STRIKE_MILLI), or if it
/// is further than a hundred-thousandth of a currency unit from a whole thousandth.
#[must_use]
pub fn strike_milli(strike: f64) -> Option<u32> {
    let milli = strike * 1000.0;
    let whole = milli.round();
    let exact = (milli - whole).abs() <= 0.01 && crate::limits::STRIKE_MILLI.holds(whole);
    exact.then_some(whole as u32)
}
