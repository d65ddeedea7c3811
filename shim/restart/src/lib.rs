//! The state folder: files that a daemon writes and reads when it starts again. Never: a thread of the market, a
//! schedule.
//!
//! # Rooms
//!
//! - `folder`: the folder with its lock: closing volatilities of sessions and the last markets.
//! - `closes`: files of closing rows, a session each; `batch` writes them too. Never: a number.
//! - `last_curve`: the last discount curve. Never: the choice of a curve.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
#![warn(clippy::print_stderr)]

pub mod closes;
pub mod folder;
pub mod last_curve;
