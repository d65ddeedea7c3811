//! The commands that need no daemon in their process: files to files, and questions to a running daemon. Never: the
//! market loop, a configuration file.
//!
//! # Rooms
//!
//! - `arguments`, `values`: the arguments of the commands, and one parser for each kind of value.
//! - `batch`: `greeksd batch`: arguments to a job of `history`; its inputs, progress and report; its rows as text.
//!   Never: a formula, a layout of quotes.
//! - `compare`: `greeksd compare`: vendors' files by the layouts of `history` (`read.rs`), report, text, plot. Never: a
//!   formula.
//! - `daemon`: queries of commands to a running daemon. Never: what an answer means.
//! - `explain`: `greeksd explain` and `/l1/explain`, an explanation as JSON and text; the chain of a feed is given to
//!   it. Never: a formula.
//! - `generate`: `greeksd generate`: arguments to days of the simulated market, threads, files. Never: a layout of
//!   quotes.
//! - `price`: `greeksd price`, rows with explicit parameters as text. Never: a formula.
//! - `ready`: `greeksd ready`. Never: the contents of the market.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
// standard error may be closed, and `eprintln!` panics then: `host::log` writes there
#![warn(clippy::print_stderr)]

pub mod arguments;
pub mod batch;
pub mod compare;
pub mod daemon;
pub mod explain;
pub mod generate;
#[expect(clippy::print_stderr, reason = "a command that somebody waits for; nothing is served meanwhile")]
pub mod price;
pub mod ready;
pub mod values;
