//! `GET /l1/stream`: rows as they change, as server-sent events.
//!
//! A client has what it was sent (`image.rs`) and nothing that waits: when it can take more, it gets what differs from
//! the newest snapshot, and how many snapshots it did not see. So a slow reader costs no memory and holds up nobody
//! ([`events`]); all of them together are bounded ([`permit`]). Never: a formula.

pub mod desk;
pub mod events;
mod image;
pub mod permit;
