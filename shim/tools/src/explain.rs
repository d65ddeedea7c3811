//! `greeksd explain` and `GET /l1/explain`: how the numbers of one contract come about, for programs and for people.
//!
//! The engine makes the explanation ([`engine::explain`]), [`document`] gives it names and units, and [`text`] writes
//! it for people. [`answer`] answers requests, and [`run`] queries a daemon or is given the chain of a feed. Never: a
//! formula.

pub mod answer;
pub mod document;
mod run;
pub mod text;

pub use run::{ComputedName, ExplainedFrom, run};
