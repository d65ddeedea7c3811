//! The program as its user types it: options, commands, explanations.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, and prints its figures")]

mod clock;
mod daemon;
mod explain;
mod generate;
mod price;
mod program;
mod scenario;
#[path = "../support/mod.rs"]
mod support;
