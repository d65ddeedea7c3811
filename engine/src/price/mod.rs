//! Passes over blocks of strikes: values and Greeks at the fitted volatility, in native units. Never: calibration, text.

mod publish;
mod value;

pub use value::{SlicePrice, Valued, value_slice};
