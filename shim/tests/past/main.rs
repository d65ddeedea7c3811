//! Recorded days: as files of Greeks, as answers about the past, and the same numbers on every path.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, and prints its figures")]

mod asof;
mod batch;
mod closes;
mod explained;
#[path = "../../../engine/history/tests/support/mod.rs"]
mod files;
mod history;
mod paths;
#[path = "../support/mod.rs"]
mod support;
mod together;
mod vendor_calls;
