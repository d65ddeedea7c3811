//! The server over real sockets: what it refuses, keeps, bounds and gives back.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, and prints its figures")]

mod bounds;
mod cached;
mod pipelining;
mod put;
mod refusals;
mod support;
