//! `greeksd`: serves the engine's columns over HTTP. The library exists for the program, its tests and its benches.
//!
//! # Rooms
//!
//! - `main.rs`, `program`, `cpu`, `config`, `serve`: the program from its arguments to its exit code (`program.rs`, for
//!   the executable and for Python), options by one table (`config/options.rs`), whether the processor will do,
//!   threads, clock, start and stop.
//! - `watched_file`: files that a user edits, read again when they have changed and stand still. Never: what stands in
//!   them.
//! - `log`, `progress`: standard error by a queue that nobody waits for; progress of long work.
//! - `past`: responses about past moments, of one (`single.rs`) or many (`series.rs`), the chain of one for an
//!   explanation (`chain.rs`), the snapshots around one (`snapshots.rs`), lists (`catalog.rs`); the interface of a
//!   market of many days (`archive.rs`), each day of a name computed once for all requests and cached within a bound
//!   (`cache.rs`), a folder of recorded quotes (`folder.rs`, `index.rs`). Never: a vendor's shape, waiting on a thread.
//! - `market`: never a socket, a request, or a kind of feed but in `spec.rs`.
//!   - `mod.rs`: the market loop; `schedule.rs`: which names are due, in which order, how many at once (pure);
//!     `tally.rs`: counters.
//!   - `feed.rs`: the interface of a feed; `sim.rs`: the simulated market; `store_feed.rs`: sources and the store that
//!     they fill; `precedence.rs`: precedence between sources; `spec.rs`: the syntax of `--feed`.
//!   - `hours.rs`: market hours; `recorder.rs`: recording; `overrides.rs`: the file of overrides.
//!   - `rates_watch.rs`: when rates are implied from the European chains; `last_curve.rs`: the last curve over a
//!     restart; `notices.rs`: log notices on rates and dividends, once each.
//!   - `retired.rs`: replaced snapshots that readers hold; `sessions.rs`: the session of a chain and when it is saved;
//!     `state.rs`: the files of a restart.
//! - `price`: `greeksd price`, rows with explicit parameters as text. Never: a formula.
//! - `explain`: `greeksd explain` and `/l1/explain`, an explanation as JSON and text. Never: a formula.
//! - `scenario`: `greeksd scenario` and `/l1/scenario`: which contracts (`legs.rs`), rows and sums (`rows.rs`), the
//!   answer in pieces (`answer.rs`). Never: a formula.
//! - `positions`: the file of positions, requests that replace them, their latest values (`desk.rs`), totals
//!   (`valued.rs`), rows (`rows.rs`), written once for all readers (`texts.rs`). Never: a formula.
//! - `stream`: `/l1/stream`: the rows that a client has (`image.rs`), events (`events.rs`), bounds of all streams
//!   (`permit.rs`). Never: a queue.
//! - `alerts`: rules of alerts, compared at each pass; hits to log, streams, a program, an address of this machine.
//!   Never: an expression language.
//! - `chains`, `listed`: single names computed from a feed, for commands; contracts by name in a snapshot. Never: a
//!   daemon.
//! - `compare`: `greeksd compare`: vendors' files by the layouts of `history` (`read.rs`), report, text, plot. Never: a
//!   formula.
//! - `generate`: `greeksd generate`: arguments to days of the simulated market, threads, files. Never: a layout of
//!   quotes.
//! - `batch`: `greeksd batch`: arguments to a job of `history`; its inputs, progress and report; its rows as text.
//!   Never: a formula, a layout of quotes.
//! - `view`: `greeksd view`: its arguments, and the daemon that it may bring. Never: a screen.
//! - `descriptors`: how many files may be open.
//! - `app`, `front`: path to layer or page; the page of examples; the viewer at `/`, files that a browser gets as they
//!   stand (`front/viewer.rs` has their list and what the browser may do), a client of the API like any other. Never: a
//!   vendor's shape, a computation, a build step, a request to anywhere else, text as markup.
//! - `status`: `/health`, `/metrics`. Never: a clock, a lock.
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
