//! History: files of recorded quotes, of whoever's layout, to files of Greeks, a day at a time.
//!
//! Data flows `layouts → (underlying, day) → recipe of passes → records`. Never: a socket, a clock, an argument of the
//! command line.
//!
//! [`recipe`] is what a name and a day are computed by, pure and without files; [`job`] does folders of them: rows are
//! gathered ([`gather`]) into sorted runs ([`spill`]), units found ([`mod@unit`]) and looked at for chains that are not
//! whole ([`whole`]), files planned ([`plan`]), computed and written ([`output`], [`tables`]), and noted
//! ([`manifest`]).
#![warn(clippy::arithmetic_side_effects)]
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
