//! Positions: a file or a request brings them ([`file`], [`desk`]), each new snapshot values them ([`valued`]), and
//! `GET /l1/positions` shows them with all totals ([`answer`]). Never: a formula.

pub mod answer;
pub mod desk;
pub mod file;
pub mod valued;
