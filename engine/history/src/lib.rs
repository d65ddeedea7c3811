//! History: files of recorded quotes, of whoever's layout, to files of Greeks, a day at a time.
//!
//! Data flows `layouts → (underlying, day) → recipe of passes → records`. Never: a socket, a clock, an argument of the
//! command line.

pub mod layouts;
pub mod row;
