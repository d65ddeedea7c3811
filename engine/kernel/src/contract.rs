//! Contracts: underlying, root, expiry, strike, right, style, settlement; OSI symbols both ways ([`osi`]) and the facts
//! of each root ([`roots`]).
//!
//! A contract is keyed by its root, never by its underlying: on third Fridays SPX and SPXW list the same strikes with
//! settlements 6.5 hours apart. Never: a price.

mod deliverable;
pub mod osi;
pub mod roots;
mod terms;

use jiff::civil::Date;

pub use deliverable::{Deliverable, strike_of_share};
pub use roots::{IdentityOnly, RootFacts, RootTable};
pub use terms::{ForwardBasis, Right, Settle, Style, Symbol, strike_of};

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

/// A strike in thousandths. `None` if it is not within [`limits::STRIKE_MILLI`](crate::limits::STRIKE_MILLI), or if it
/// is further than a hundred-thousandth of a currency unit from a whole thousandth.
#[must_use]
pub fn strike_milli(strike: f64) -> Option<u32> {
    let milli = strike * 1000.0;
    let whole = milli.round();
    let exact = (milli - whole).abs() <= 0.01 && crate::limits::STRIKE_MILLI.holds(whole);
    exact.then_some(whole as u32)
}
