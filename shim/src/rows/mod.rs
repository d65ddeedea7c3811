//! Rows of a chain to bytes.
pub mod number;
