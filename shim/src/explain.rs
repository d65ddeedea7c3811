//! `greeksd explain` and `GET /l1/explain`: everything behind one contract, for programs and for people.
//!
//! The engine finds it ([`engine::explain`]), [`document`] writes it down with its units, [`text`] for people; a
//! request is answered by [`answer`], and [`run`] asks a daemon or computes the one name itself. Never: a formula.

pub mod answer;
pub mod document;
mod run;
pub mod text;

pub use run::run;
