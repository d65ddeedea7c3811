//! Discount curves: what they are, where they come from, and which of them a date is valued with.
//!
//! [`table::RateTable`] holds the order of precedence. A curve always exists, and its [`source::RateOrigin`] goes with
//! it into every chain. Never: a quote's calibration, a clock.
#![warn(clippy::arithmetic_side_effects)]

pub mod builtin;
pub mod curve;
pub mod implied;
pub mod parity;
pub mod settings;
pub mod source;
pub mod table;
