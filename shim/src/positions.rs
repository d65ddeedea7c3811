//! Positions: a file or a request brings them (`file.rs`, `desk.rs`), each new snapshot values them (`valued.rs`), and
//! `GET /l1/positions` shows them with all totals ([`answer`]). Never: a formula.

pub mod answer;
pub mod desk;
pub mod file;
pub mod valued;
