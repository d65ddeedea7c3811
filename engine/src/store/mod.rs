//! The market as columns: what was quoted ([`book`], filled by [`ingest`]), and what was computed from it
//! ([`chain`], [`columns`], with what it was computed from in [`quotes`]). Never: a formula.
#![warn(clippy::arithmetic_side_effects)]

pub mod book;
pub mod chain;
pub mod columns;
pub mod doubt;
pub mod drop_reason;
pub mod european;
pub mod evidence;
pub mod firm_quotes;
pub mod ingest;
pub mod ladder;
pub mod overrides;
pub mod quotes;
pub mod session;
