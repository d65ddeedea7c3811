//! Shared parts of the test programs: a client that sees every byte, the program as its user runs it, a small market.
#![allow(dead_code, unused_imports, reason = "each test program uses a part")]

#[path = "../../http/tests/server/support.rs"]
mod client;
#[cfg(unix)]
pub(crate) mod daemon;
pub(crate) mod market;

pub(crate) use client::*;
