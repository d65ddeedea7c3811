//! Values of contracts in scenarios: at another spot, at other volatilities, at a later time, at other rates, borrow
//! and dividends. Every value is computed from the model, by the pricers of the passes; nothing is extrapolated from
//! Greeks. docs/scenarios.md has the rules.
//!
//! A finished chain is all that is read: spot, terms and volatilities of its expiries. Where nothing is moved the row
//! of the chain is the answer, so that a scenario without a shock shows the served numbers. Never: a book, a text.
#![warn(clippy::arithmetic_side_effects)]
#![allow(clippy::arithmetic_side_effects, reason = "sums of floats and of places within vectors that are sized here")]

mod change;
mod curve;
mod name_lapse;
mod path;
mod revalue;
mod shock;
mod tables;

pub use change::{SliceAt, ValueChange, explain_contracts, explain_settled, explain_share};
pub(crate) use curve::StrikeCurve;
pub use name_lapse::{EventWithoutSize, NameLapse};
pub use revalue::{Revalued, ScenarioRows, ShareValues, Unvalued, revalue, revalue_share};
pub use shock::{
    ExerciseOutcome, ScenarioClock, ScenarioGrid, ScenarioMoment, ScenarioState, ScenarioValue, SpotUnit, VolRule,
    VolUnit, VolWeights,
};
pub use tables::ScenarioTables;
