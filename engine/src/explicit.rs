//! Contracts with explicit parameters: what their columns are called, and every value of one. Never: a quote, a table.

mod parameters;
mod value;

pub use parameters::{ParameterCell, ParameterColumns};
pub use value::{COLUMNS, ExplicitContract, ExplicitValues, PriceInput, ValueColumn};
