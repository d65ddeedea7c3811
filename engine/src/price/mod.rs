//! Passes over blocks of rows: values and Greeks at the fitted volatility, in native units. Never: calibration, text.

mod decay;
mod publish;
mod value;

pub use decay::NextSession;
pub use value::{SlicePrice, value_slice};
