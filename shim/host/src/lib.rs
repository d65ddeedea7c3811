//! What a daemon asks of its host: threads that are counted when they fail, the clock of the market, files that only
//! their owner may read, keys that nothing shows. Never: a quote, a request.
#![deny(unsafe_code)]
#![warn(clippy::print_stderr)]

pub mod clock;
pub mod faults;
pub mod printable;
pub mod private;
pub mod secret;
pub mod threads;
#[cfg(windows)]
pub mod windows;
