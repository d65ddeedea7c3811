//! Files of history, of every layout and packing: what is read of them, what is refused, and what damage costs.
#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "a test that cannot go on fails; the generator has more than one test uses"
)]

mod damaged;
mod folder;
#[path = "../../examples/generate/market.rs"]
mod market;
mod recordings;
mod round_trip;
mod shown;
#[path = "../../examples/generate/tables.rs"]
mod tables;
#[path = "../../examples/generate/vendors.rs"]
mod vendors;
mod written;
