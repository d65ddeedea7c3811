//! Passes over blocks of strikes: values and Greeks at the fitted volatility, in native units. Never: calibration,
//! text.

mod chances;
mod publish;
mod slice;
mod value;

pub use slice::price_slice;
pub use value::Lapse;
