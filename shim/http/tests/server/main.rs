//! The server over real sockets: refusals, cache, bounds and kept bodies.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, and prints its figures")]

mod bounds;
mod cached;
mod pipelining;
mod put;
mod refusals;
mod sockets;
mod support;
