//! Answers about the market besides its rows: positions and their values, alerts, streams of changes, scenarios.
//! Each takes published snapshots and answers requests. Never: a formula, the market loop, an option of the program.
//!
//! # Rooms
//!
//! - `positions`: the file of positions, requests that replace them, their latest values (`desk.rs`), totals
//!   (`valued.rs`), rows (`rows.rs`), written once for all readers (`texts.rs`).
//! - `alerts`: rules of alerts, compared at each pass; hits to log, streams, a program, an address of this machine.
//!   Never: an expression language.
//! - `stream`: `/l1/stream`: the rows that a client has (`image.rs`), events (`events.rs`), bounds of all streams
//!   (`permit.rs`). Never: a queue.
//! - `scenario`: `/l1/scenario` and `greeksd scenario`: which contracts (`legs.rs`), rows and sums (`rows.rs`), the
//!   answer in pieces (`answer.rs`), the command (`run.rs`), which is given the chains of a feed.
//! - `explained`: changes of positions between two moments by cause (`book.rs`), the command (`run.rs`).
//! - `strategy`: `/l1/strategy`: the legs of a request in a market (`found.rs`), their numbers and the forms in which
//!   they are written (`document.rs`). Never: a formula.
//! - `tables`: rows of facts as binary tables. Never: what a fact means.
//! - `listed`: contracts by name in a snapshot. Never: a value.
//! - `watched_file`: files that a user edits, read again when they have changed and stand still. Never: what stands in
//!   them.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
#![warn(clippy::print_stderr)]

pub mod alerts;
pub mod explained;
pub mod listed;
pub mod positions;
pub mod scenario;
pub mod strategy;
pub mod stream;
mod tables;
pub mod watched_file;
