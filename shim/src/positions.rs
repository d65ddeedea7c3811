//! Positions: a file or a request brings them (`file.rs`, `desk.rs`), each new snapshot values them (`valued.rs`), rows
//! are written once for all readers (`rows.rs`), and `GET /l1/positions` shows them ([`answer`]). Never: a formula.

pub mod answer;
pub mod desk;
pub mod file;
pub mod rows;
pub mod texts;
pub mod valued;
