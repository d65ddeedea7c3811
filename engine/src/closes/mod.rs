//! The sessions that have ended: a closing row of each name (`row.rs`), the closes of many days by name (`days.rs`),
//! and the numbers that need them, rank and percentile of volatility and realised volatility (`past.rs`).
//! Definitions: docs/metrics.md. Never: a file, a clock.

mod days;
mod past;
mod row;

pub use days::{Closes, KEPT_SESSIONS};
pub use past::{LastSessions, NamePast, NoPast, YEAR};
pub use row::{ClosingRow, NameClose};
