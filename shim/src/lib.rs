//! `greeksd`: serves the engine's columns over HTTP. The library exists for the program, its tests and its benches.
#![deny(unsafe_code)]

pub mod app;
pub mod base64;
pub mod config;
pub mod cpu;
pub mod cursor;
pub mod daemon;
pub mod front;
pub mod http;
pub mod price;
mod progress;
pub mod query;
pub mod refusal;
pub mod rows;
pub mod select;
pub mod serve;
pub mod sieve;
pub mod source;
pub mod state;
pub mod status;
pub mod vendors;
