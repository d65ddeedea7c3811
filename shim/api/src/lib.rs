//! From a request to the rows of an answer: the native API and the layers of vendors. A layer's parameters are read
//! into a selection of rows, and the rows are written through the layer's table of columns. Never: a socket, a feed, a
//! computation.
//!
//! # Rooms
//!
//! - `past`: the past moments of a request, the snapshots of a day that answer it, and days counted from the date of
//!   the answer (`day.rs`). Never: the storage of snapshots, a vendor.
//! - `catalog`, `listing`: lists of roots, expirations, strikes, days, contracts, from the contracts of a name on a
//!   day. Never: a quote, a vendor's shape.
//! - `limits`: the bounds of one request (those of connections are in the crate `http`).
//! - `picked`: the rows that a selection leaves. Never: bytes.
//! - `metrics`: the columns of `/l1/metrics`, and rows of names for all who ask. Never: bytes.
//! - `edition`: marks of answers that are equal, byte for byte. Never: a body.
//! - `query`, `refusal`, `cursor`: a query, and the generic parser that reads it through a table of parameters
//!   (`query/parameter.rs`: name, kind of value, help); refusals; cursors of pages. Never: a parameter's name, a
//!   vendor's shape.
//! - `rows`: tables of fields (`field.rs`), frames of formats, exact numbers, rows with open slots (`template.rs`), the
//!   body made of them (`stream.rs`); short tables of other facts (`table.rs`). Never: a vendor.
//! - `selection`: a selection to row ranges; further filters of vendors; orders and pages; data of each underlying
//!   (`symbols.rs`). Never: bytes.
//! - `vendors`: the definition of a layer (`layer.rs`), every path and name (`routes.rs`), and one file for each
//!   vendor: a table of parameters, a table of fields, and a pure function from the values of the one to the rows and
//!   fields of an answer. Never: arithmetic, a loop over rows, a clock, a snapshot.
//! - `operation`: what an endpoint takes and answers, as OpenAPI describes it. Never: a path, a parser.
//! - `openapi`: `/openapi.json` from the layers' tables: parameters, and fields (`schema.rs`) for each word and flag
//!   that the tables allow (`answers.rs`); words of paths (`words.rs`); the tables of docs/compat (`tables.rs`, a
//!   test). Never: a second list of parameters or fields.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
#![warn(clippy::print_stderr)]

pub mod catalog;
pub mod cursor;
pub mod edition;
pub mod limits;
pub mod listing;
pub mod metrics;
pub mod openapi;
pub mod operation;
pub mod past;
pub mod picked;
pub mod query;
pub mod refusal;
pub mod rows;
pub mod selection;
pub mod vendors;
