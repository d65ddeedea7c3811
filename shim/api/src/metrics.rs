//! Metrics of names and expiries: the columns (`columns.rs`), and rows of names that are computed once for all who ask
//! (`rows.rs`). Never: a formula, bytes.

mod columns;
mod rows;

pub use columns::{DayChange, EXPIRY, ExpiryMetrics, FLIP, MONTH, Metric, NAME, place_of};
pub use rows::{NameDraft, NameRow, NameRows, RowInputs, ValuationTimes};
