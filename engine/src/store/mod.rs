//! The market as columns: what was quoted ([`book`]), and what was computed from it ([`chain`], [`columns`]).
//! Never: a formula.

pub mod book;
pub mod chain;
pub mod columns;
pub mod session;
