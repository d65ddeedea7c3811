//! Services of the host: threads whose panics are counted, the log, the clock of the market, files that only their
//! owner can read, keys that are never shown. Never: a quote, a request.
//!
//! # Rooms
//!
//! - `threads`: threads with names, whose panics are caught and counted; permits for work at the same time. Never: what
//!   a thread does.
//! - `newest`: a thread whose waiting jobs are merged into one. Never: the contents of a job.
//! - `log`, `progress`: standard error by a queue that nobody waits for; progress of long work. Never: the contents of
//!   a line.
//! - `faults`: points that a test can order to panic. Never: what is done about it.
//! - `private`, `printable`: files that only their owner may read, short files of the user; text of others without
//!   control characters.
//! - `dated`: files of one date each, replaced as a whole, moved aside if damaged. Never: the contents of a line.
//! - `clock`: the clock of the market: the system's, one that stands still, one that runs at a speed. Never: a timeout,
//!   a pause.
//! - `cpu`: whether the processor will do. Never: a choice between code paths.
//! - `descriptors`: how many files may be open. Never: a socket.
//! - `signals`: signals that request the end. Never: the end itself.
//! - `secret`: keys of vendors, which nothing shows. Never: a vendor.
//! - `windows`: calls of Windows that no library makes: the one file of the daemon with `unsafe`. Never: a socket.
#![deny(unsafe_code)]
#![warn(clippy::print_stderr)]

pub mod clock;
pub mod cpu;
pub mod dated;
pub mod descriptors;
pub mod faults;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod glibc;
pub mod log;
pub mod newest;
pub mod printable;
pub mod private;
pub mod progress;
pub mod secret;
pub mod signals;
pub mod threads;
#[cfg(windows)]
pub mod windows;
