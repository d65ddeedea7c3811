//! Quotes to a forward, a borrow rate and three volatilities per contract, one (root, expiry) at a time.
//! Never: smoothing, a symbol, a clock.

pub mod carry;
pub mod chain;
pub mod clean;
pub mod consistent;
mod draft;
pub mod forward;
pub mod implied;
mod input;
pub mod premium;
mod remembered;
mod search;
pub mod settings;
pub mod spot;

pub use crate::store::dropped::Drop;
pub use draft::{Calibrated, SliceScratch, SliceState};
pub use input::{ForcedCarry, SliceInput};

#[cfg(test)]
pub(crate) mod testing;
