//! The base of every other crate: the kernels (numbers in, numbers out), the table of published columns, contracts, the
//! calendar, and the records that feeds deliver and stores take in.
//!
//! The kernels ([`american`], [`black76`], [`dividends`], [`elementary`], [`greeks`], [`implied`], [`lanes`],
//! [`lattice`], [`normal`], [`solve`]) know no symbol, no clock and no column, and never branch on one lane. Formulas
//! are written once over [`lanes::Lanes`]; kernels speak raw units (vega per 1.00 of volatility, theta per year) and
//! the letters of docs/model.md: `s k t r b sigma fwd df phi`.
//!
//! Nothing here asks what time it is or reads an environment variable; of globals there are the counts of [`work`].
//!
//! # Rooms
//!
//! - `contract`: underlying, root, expiry, strike, right, style, settlement; OSI symbols. Never: a price.
//! - `calendar`: Eastern time, sessions, early closes, settlement instants; dates by their distance (`shift.rs`).
//!   Never: asks what time it is.
//! - `limits`: every bound of what is let in, with its unit.
//! - `settings`: the form of a table of settings, the numbers of a method that are a choice: unit, trade-off, reason.
//!   The tables stand in `american/settings.rs` here, and in `settings.rs` of `calibrate`, `early`, `rates` and
//!   `surface` of the engine. Never: a number.
//! - `american`: American values over `Lanes`. `american/premium/` solves and reads tables of many contracts, and
//!   solves single ones at finer rules for `american/reference.rs`. docs/american.md has the equations. Never: a
//!   column, a symbol, a clock, rayon.
//! - `lattice`, `black76`, `implied`, `dividends`: trinomial lattices with all Greeks, eight strikes side by side;
//!   European values; implied volatility; escrowed dividends. Never: a column, a symbol, a clock, rayon.
//! - `work`: counts of what American values cost, by thread. Never: a clock.
//! - `quality`: the one scale of quality that passes, files, pricers and commands are asked for: coarse (lattices of
//!   few layers), preliminary (lattices), full (tables), reference (tables for one contract). Never: how a method meets
//!   it.
//! - `lanes`: the definition of a lane; the only file that names `wide`. Never: finance.
//! - `position`: a line of a book of positions. Never: a value.
//! - `records`, `report`, `error`: what a feed delivers; how many records were refused, and why. Never: a format, a
//!   column.
//! - `par_yields`: par yields of the Treasury to zero rates. Never: a format.
//! - `columns`: the table of published columns: name, group, unit and meaning for rows and schemas; heading, decimals
//!   and help for both viewers. Never: a number of a contract.
//! - `greeks`: the table of Greeks (name, unit, order, size), and the chain rule that ends in them. Never: a pricing
//!   method.
#![deny(unsafe_code)]
#![warn(clippy::print_stderr)]

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
mod normal_pair;
pub mod par_yields;
pub mod position;
pub mod quality;
pub mod records;
pub mod report;
pub mod settings;
pub mod solve;
pub mod work;
