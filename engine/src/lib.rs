//! `greeksd-engine`: from option quotes to forwards, one volatility curve per expiry, and every Greek to third order.
//!
//! Data flows `feeds → store → calibrate → surface → price → snapshot`. A stage reads columns written to its left and
//! writes its own, once per pass. [`kernel`], [`contract`], [`calendar`] and [`limits`] are leaves under all of them.
//! Nothing here asks what time it is, reads an environment variable or keeps a global.
#![deny(unsafe_code)]

pub mod calendar;
pub mod calibrate;
pub mod compare;
pub mod contract;
pub mod early;
pub mod error;
pub mod explain;
pub mod feeds;
pub mod kernel;
pub mod limits;
pub mod pass;
pub mod price;
pub mod rates;
pub mod settings;
pub mod snapshot;
pub mod store;
pub mod surface;
