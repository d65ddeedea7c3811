//! `greeksd-engine`: from option quotes to forwards, one volatility curve per expiry, and every Greek to third order.
//!
//! Data flows `store → calibrate → surface → price → snapshot`. A stage reads columns written to its left and writes
//! its own, once per pass. The crate `kernel` is under all of them; readers of formats (the crate `feeds`) stand beside
//! it. Nothing here asks what time it is, reads an environment variable or keeps a global.
//!
//! # Rooms
//!
//! - `rates`: discount curves (`curve.rs`), their sources (`source.rs`), US Treasury yields that are part of the
//!   program (`builtin.rs`), discount factors by put-call parity (`parity.rs`), the curve of all European expiries
//!   (`implied.rs`), and the precedence that picks the curve of a date (`table.rs`). Never: a book, a clock.
//! - `store`: books (quoted), chains and columns (computed), their quotes where those are shown (`quotes.rs`), their
//!   other inputs (`evidence.rs`), why quotes were dropped (`drop_reason.rs`), overrides (`overrides.rs`), the previous
//!   session (`session.rs`). Never: a formula.
//! - `early`: what early exercise adds to a slice: inputs, quality, and how each value was computed (`valuation.rs`),
//!   expansions (`expansion.rs`, `premium.rs`) and how far they hold (`validity.rs`), the tables behind them
//!   (`tables.rs`), the lattices before those are built (`lattice.rs`), the premium by volatility (`by_volatility.rs`),
//!   chosen numbers (`settings.rs`). Never: a quote, a curve.
//! - `calibrate`: quotes to forward, borrow and three volatilities; `chain.rs` runs the steps, for passes and tests
//!   alike. Never: smoothing.
//! - `surface`: volatilities to `svc_vol` and `conf_vol`: the rows strike by strike (`quotes.rs`), the three-parameter
//!   shape (`base.rs`), penalised least squares (`spline.rs`), butterflies and tails of one curve (`arbitrage.rs`),
//!   order between curves (`calendar.rs`), `confidence.rs`, and `fit.rs`, which runs them. docs/surface.md is the
//!   method. Never: a price.
//! - `explain`: everything behind one contract of a finished chain: votes of pairs in the forward, values by each
//!   scheme, warnings. Never: a book, a text for people.
//! - `exercise`: early exercise of a finished chain, computed when it is asked for. Never: a book, a table that stays.
//! - `scenario`: rows of a finished chain valued at other spots, volatilities, moments, rates and dividends: the axes
//!   (`shock.rs`), spot and terms on the way (`path.rs`), the curve between strikes (`curve.rs`), pricers kept between
//!   requests (`tables.rs`, the only file that names them), all of it together (`revalue.rs`). Never: a book, a text.
//! - `strategy`: legs of one underlying as a whole: profit by the spot (`payoff.rs`), its probability by the curve
//!   (`distribution.rs`), names (`known.rs`), contracts of a known one (`proposed.rs`). Never: a text of a request.
//! - `explicit`: contracts with explicit parameters, for `greeksd price` and the Python package: their columns
//!   (`parameters.rs`), every value of one (`value.rs`). Never: a quote, a table.
//! - `positions`, `term`: values and Greeks in the units of a book; volatility and borrow at a tenor. Never: a file, a
//!   fit.
//! - `closes`: the ends of sessions, a row a name, and ranks of volatility and realised volatility of them. Never: a
//!   file.
//! - `compare`: why a vendor's Greeks differ: their definitions, each known reason tried, ranked. Never: a vendor's
//!   name, a file.
//! - `price`: a slice from its curve to finished columns: values and Greeks in native units. Never: calibration.
//! - `pass`: which chains, in what order, on which threads; the only room that names `rayon`. A name from its book to
//!   its chain (`underlying.rs`), why one is without Greeks (`uncomputed.rs`). Never: a formula.
//! - `snapshot`: the finished market; the same as bytes and back (`saved.rs`). Never: mutation after publishing.
//!
//! # Way of an American quote
//!
//! `calibrate/premium.rs` (early exercise is brought up to date, and taken out of the forward), `calibrate/implied.rs`
//! (brought up to date where that has not happened; a volatility from European value and premium by volatility),
//! `calibrate/search.rs` and `calibrate/remembered.rs` where that does not reach, `surface`, `price/slice.rs`
//! (brought up to date again, at the curve), `price/value.rs`, `early`, `price/publish.rs`. Bringing up to date is
//! `early/valuation.rs`, `early/validity.rs`, `early/premium.rs`, and for premiums that do not hold `early/tables.rs`
//! and `kernel::american`.
//!
//! # Memories of early exercise
//!
//! Each is kept for what it saves: processor time of a pass each second over 161,040 contracts of the simulated market
//! (0.15 s with all of them), and for the last one a start of the whole market.
//!
//! - tables of a slice, for now and the next trading day (`early/tables.rs`): 0.17 s without the next day's.
//! - expansions of a block, and the premium by volatility (`early/premium.rs`): 0.43 s without expansions, 0.20 s with
//!   one point only, 0.69 s without the premium by volatility.
//! - the last pass: borrow, forward shift, curve (`SliceState`): 0.72 s without borrow, 0.19 s without shift.
//! - searches (`calibrate/remembered.rs`): 1.23 s without them, 73,000 searches a pass for 550.
//! - boundaries without dividends that names share (`SharedBoundaries` of the kernel): without them a start takes 252
//!   s of processor for 218, and 1,716 MB for 1,350.
#![deny(unsafe_code)]
#![warn(clippy::print_stderr)]

pub mod calibrate;
pub mod closes;
pub mod compare;
pub mod early;
pub mod exercise;
pub mod explain;
pub mod explicit;
pub mod pass;
pub mod positions;
pub mod price;
pub mod rates;
pub mod scenario;
pub mod snapshot;
pub mod store;
pub mod strategy;
pub mod surface;
pub mod term;
