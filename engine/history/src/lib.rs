//! History: computes files of Greeks from files of recorded quotes in any layout, a day at a time.
//!
//! Data flows `layouts → (underlying, day) → recipe of passes → records`. Never: a socket, a clock, an argument of the
//! command line.
//!
//! [`recipe`] is what a name and a day are computed by, pure and without files; [`job`] does folders of them: rows are
//! gathered ([`gather`]) into sorted runs ([`spill`]), units found ([`mod@unit`]) and looked at for chains that are not
//! whole ([`whole`]), files planned ([`plan`]), computed and written ([`output`], [`tables`]), and noted
//! ([`manifest`]).
//!
//! # Rooms
//!
//! - `layouts`: files of recorded quotes, whatever their layout and packing, to rows (docs/history): tables of what
//!   columns mean (`vendors.rs`; of responses saved as JSON `responses.rs`, which `documents.rs` reads), the vendor's
//!   own volatility and Greeks for `compare` (`shown.rs`), the one reader below them (`rows.rs`), text, Parquet and
//!   tables in memory (`columnar.rs`), pushed ones (`pushed.rs`), archives (`packed.rs`), recordings replayed
//!   (`recorded.rs`). Never: a computation on quotes, an order of rows but the file's.
//! - `gather`, `packed`, `spill`: rows sorted on disk.
//! - `unit`, `whole`, `recipe`: names and days, whether their chains are whole, the fixed passes that compute them.
//! - `plan`, `work`, `manifest`: files planned, written and noted, with digests of their reference data
//!   (`reference_digest`), which comes from documents (`reference_documents`).
//! - `implied_rates`: the discount curves that the European chains of a day imply.
//! - `job`: runs all of it.
//! - `schema`: columns of tables with their units and meanings, whatever the format. Never: a file, a row.
//! - `tables`: rows of chains as Arrow arrays, files of Greeks in Parquet written and read back, chains that a job
//!   keeps in memory (`memory.rs`), tables of answers; behind the feature `tables`, with `absent.rs` in its place.
//!   Never: a socket, a computation.
#![warn(clippy::arithmetic_side_effects)]
#![warn(clippy::print_stderr)]
#![cfg_attr(not(feature = "tables"), allow(dead_code, reason = "typed cells and stored chains come from tables only"))]

pub mod digest;
pub mod gather;
pub mod implied_rates;
pub mod job;
pub mod layouts;
pub mod manifest;
pub mod output;
pub mod packed;
pub mod plan;
pub mod recipe;
pub mod reference;
pub mod reference_digest;
pub mod reference_documents;
pub mod row;
pub mod schema;
pub mod spill;
pub mod tables;
pub mod tally;
pub mod tasks;
pub mod unit;
pub mod watch;
pub mod whole;
mod work;
