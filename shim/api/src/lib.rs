//! From a request to the rows of an answer: the native API and the layers of vendors. A layer's parameters are read
//! into a selection of rows, and the rows are written through the layer's table of columns. Never: a socket, a feed, a
//! computation.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
#![warn(clippy::print_stderr)]

pub mod catalog;
pub mod cursor;
pub mod edition;
pub mod limits;
pub mod listing;
pub mod openapi;
pub mod past;
pub mod picked;
pub mod query;
pub mod refusal;
pub mod rows;
pub mod selection;
pub mod term;
pub mod vendors;
