//! Strategies: legs of one underlying as a whole. Never: a formula.

pub mod answer;
mod document;
mod found;
