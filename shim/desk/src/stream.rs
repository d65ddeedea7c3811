//! `GET /l1/stream`: rows as they change, as server-sent events (`lines`) or over a WebSocket (`talk`).
//!
//! For each client the daemon keeps the numbers that it was sent (`image.rs`), and no queue: when the client can take
//! more, it gets the differences from the newest snapshot, and the number of snapshots that it missed. So a slow reader
//! costs no further memory and delays no other ([`events`]). The memory of all streams is bounded ([`permit`]). Never:
//! a formula.

pub mod desk;
pub mod events;
mod image;
mod lines;
mod metrics;
pub mod permit;
mod talk;
