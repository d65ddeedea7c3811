//! Changes of positions between two moments, by cause: `GET /l1/positions?explain=` ([`book`]), and `greeksd positions
//! explain`. Never: a formula.

pub mod book;
mod run;

pub use run::run;
