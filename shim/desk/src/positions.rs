//! Positions: a file or a request brings them ([`mod@file`], [`desk`]), each new snapshot values them ([`valued`]),
//! their rows are written once for all readers ([`rows`]), and `GET /l1/positions` returns them ([`answer`]).
//! Never: a formula.

pub mod answer;
pub mod by_level;
pub mod desk;
pub mod file;
pub mod rows;
pub mod texts;
pub mod valued;
