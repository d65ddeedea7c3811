//! What every other crate stands on: the kernels (numbers in, numbers out), the table of published columns, contracts,
//! the calendar, and the records that feeds deliver and stores take in.
//!
//! The kernels ([`american`], [`black76`], [`dividends`], [`elementary`], [`greeks`], [`implied`], [`lanes`],
//! [`lattice`], [`normal`], [`solve`]) know no symbol, no clock and no column, and never branch on one lane. Formulas
//! are written once over [`lanes::Lanes`]; kernels speak raw units (vega per 1.00 of volatility, theta per year) and
//! the letters of docs/model.md: `s k t r b sigma fwd df phi`.
//!
//! Nothing here asks what time it is or reads an environment variable; of globals there are the boundaries that names
//! share (`american/shared.rs`) and the counts of [`work`].
#![deny(unsafe_code)]

pub mod american;
pub mod black76;
pub mod calendar;
pub mod columns;
pub mod contract;
pub mod dividends;
pub mod elementary;
pub mod error;
pub mod greeks;
pub mod implied;
pub mod lanes;
pub mod lattice;
pub mod limits;
pub mod normal;
pub mod par_yields;
pub mod position;
pub mod quality;
pub mod records;
pub mod report;
pub mod settings;
pub mod solve;
pub mod work;
