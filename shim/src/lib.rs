//! `greeksd`: serves the engine's columns over HTTP. The library exists for the program, its tests and its benches.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
// standard error may be closed, and `eprintln!` panics then: `log` writes there
#![warn(clippy::print_stderr)]

// a panic costs one connection, or one chain: that needs unwinding
#[cfg(panic = "abort")]
compile_error!("greeksd must be built with panic = \"unwind\"");

pub mod alerts;
pub mod app;
pub mod batch;
pub mod chains;
pub mod compare;
pub mod config;
pub mod cpu;
pub mod descriptors;
pub mod explain;
pub mod front;
pub mod generate;
pub mod listed;
pub mod log;
pub mod market;
mod newest;
pub mod past;
pub mod positions;
#[expect(clippy::print_stderr, reason = "a command that somebody waits for; nothing is served meanwhile")]
pub mod price;
#[expect(clippy::print_stderr, reason = "nothing is served yet")]
pub mod program;
mod progress;
pub mod ready;
pub mod scenario;
pub mod serve;
#[cfg(windows)]
pub mod service;
pub mod status;
pub mod stream;
pub mod version;
#[cfg(feature = "view")]
pub mod view;
mod watched_file;
