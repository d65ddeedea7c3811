//! Sources of quotes in a running daemon: folders, pushed lines, vendors that fail, sessions, restarts.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, and prints its figures")]

mod cold_start;
mod hours;
mod overrides;
mod poll;
mod push;
mod rates;
mod record;
mod restart;
mod sessions;
mod spoiled;
#[path = "../support/mod.rs"]
mod support;
