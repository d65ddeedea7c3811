//! Files of history, of every layout and packing: what is read of them, what is refused, and what damage costs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod damaged;
mod folder;
mod recordings;
mod round_trip;
mod shown;
mod spellings;
mod tables;
mod written;
