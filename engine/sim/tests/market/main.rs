//! The made-up market: the same for a seed, like a real one, its truth consistent and known.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails; tables are printed")]

mod calibration;
mod small;
mod whole;
