//! `greeksd`: serves the engine's columns over HTTP. The library exists for the program, its tests and its benches.
//!
//! # Rooms
//!
//! - `main.rs`, `program`, `config`, `serve`: the program from its arguments to its exit code (`program.rs`, for the
//!   executable and for Python), options by one table (`config/options.rs`), threads, clock, start and stop.
//! - `past`: responses about past moments, of one (`single.rs`) or many (`series.rs`), the chain of one for an
//!   explanation (`chain.rs`), the snapshots around one (`snapshots.rs`), lists (`catalog.rs`); the interface of a
//!   market of many days (`archive.rs`), each day of a name computed once for all requests and cached within a bound
//!   (`cache.rs`), a folder of recorded quotes (`folder.rs`, `index.rs`). Never: a vendor's shape, waiting on a thread.
//! - `market`: never a socket, a request, or a kind of feed but in `spec.rs`.
//!   - `mod.rs`: the market loop; `schedule.rs`: which names are due, in which order, how many at once (pure);
//!     `tally.rs`: counters.
//!   - `feed.rs`: the interface of a feed; `sim.rs`: the simulated market; `store_feed.rs`: sources and the store that
//!     they fill; `spec.rs`: the syntax of `--feed`; `overrides.rs`: the file of overrides.
//!   - `rates_watch.rs`: when rates are implied from the European chains; `notices.rs`: log notices on rates and
//!     dividends, once each.
//!   - `retired.rs`: replaced snapshots that readers hold; `sessions.rs`: the session of a chain and when it is saved.
//! - `chains`: single names computed from a feed, for `greeksd explain` and `greeksd scenario`. Never: a daemon.
//! - `view`: `greeksd view`: its arguments, and the daemon that it may bring. Never: a screen.
//! - `app`: one table of endpoints: the layers, and a file for each other one; each parses a request, says whether
//!   others must not wait for it, and answers it (`app/endpoint.rs`). Never: a vendor's shape, a computation.
//! - `front`: the page of examples; the viewer at `/`, files that a browser gets as they
//!   stand (`front/viewer.rs` has their list and what the browser may do), a client of the API like any other. Never: a
//!   vendor's shape, a computation, a build step, a request to anywhere else, text as markup.
//! - `status`: `/health`, `/metrics`. Never: a clock, a lock.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]
// standard error may be closed, and `eprintln!` panics then: `host::log` writes there
#![warn(clippy::print_stderr)]

// a panic costs one connection, or one chain: that needs unwinding
#[cfg(panic = "abort")]
compile_error!("greeksd must be built with panic = \"unwind\"");

pub mod app;
pub mod chains;
pub mod config;
pub mod front;
pub mod market;
pub mod past;
#[expect(clippy::print_stderr, reason = "nothing is served yet")]
pub mod program;
pub mod serve;
#[cfg(windows)]
pub mod service;
pub mod status;
pub mod version;
#[cfg(feature = "view")]
pub mod view;
