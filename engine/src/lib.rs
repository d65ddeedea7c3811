//! `greeksd-engine`: from option quotes to forwards, one volatility curve per expiry, and every Greek to third order.
//!
//! Data flows `store → calibrate → surface → price → snapshot`. A stage reads columns written to its left and writes
//! its own, once per pass. The crate `kernel` is under all of them; readers of formats (the crate `feeds`) stand beside
//! it. Nothing here asks what time it is, reads an environment variable or keeps a global.
#![deny(unsafe_code)]

pub mod calibrate;
pub mod compare;
pub mod early;
pub mod explain;
pub mod explicit;
pub mod pass;
pub mod positions;
pub mod price;
pub mod rates;
pub mod scenario;
pub mod snapshot;
pub mod store;
pub mod surface;
pub mod term;
