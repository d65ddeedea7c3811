//! Every layer and page on a small market: rows, parameters, golden answers, what a request may cost.
// one document of many keys is written down
#![recursion_limit = "256"]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, and prints its figures")]

mod arrange;
mod facts;
mod http_golden;
mod native;
mod quotes;
mod scenario;
mod select;
mod served;
mod sockets;
mod status;
mod strategy;
#[path = "../support/mod.rs"]
mod support;
mod symbols;
mod tables;
mod trust;
mod uncomputed;
mod vendors;
mod vendors_four;
