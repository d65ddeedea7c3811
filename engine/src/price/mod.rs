//! Passes over blocks of strikes: values and Greeks at the fitted volatility, in native units. Never: calibration,
//! text.

mod chances;
mod lapse;
mod priced;
mod publish;
mod slice;
mod value;

pub use lapse::Lapse;
pub use priced::{PricedSlice, Valued};
pub use slice::price_slice;
