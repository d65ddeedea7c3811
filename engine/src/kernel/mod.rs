//! Numbers in, numbers out. Never: a column, a symbol, a clock, rayon, a branch on one lane.
//!
//! Formulas are written once over [`lanes::Lanes`]; kernels speak raw units (vega per 1.00 of volatility, theta per
//! year) and the letters of docs/model.md: `s k t r b sigma fwd df phi`.

pub mod american;
pub mod black76;
pub mod dividends;
pub mod elementary;
pub mod greeks;
pub mod implied;
pub mod lanes;
pub mod lattice;
pub mod normal;
pub mod solve;
