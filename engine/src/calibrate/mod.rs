//! Quotes to a forward, a borrow rate and three volatilities per contract, one (root, expiry) at a time.
//! Never: smoothing, a symbol, a clock.

mod alternative;
pub mod carry;
pub mod chain;
pub mod clean;
pub mod consistent;
mod doubt;
pub mod forward;
pub mod implied;
pub mod implied_spot;
mod input;
pub mod premium;
pub mod reference_spot;
mod remembered;
mod search;
pub mod settings;
mod slice_work;
mod units;

pub use input::{ForcedCarry, SliceInput};
pub use slice_work::{SliceState, SliceWork};

#[cfg(test)]
pub(crate) mod testing;
