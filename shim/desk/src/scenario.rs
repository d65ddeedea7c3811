//! `greeksd scenario` and `GET /l1/scenario`: what contracts and positions are worth when spot, volatility, time,
//! rates, borrow or dividends are others.
//!
//! The engine values ([`engine::scenario`]); here stands which contracts a request is about ([`legs`]), how rows and
//! sums are written ([`rows`]), what answers a request ([`answer`]), and the command ([`run`]). Never: a formula.

pub mod answer;
pub mod legs;
pub mod rows;
mod run;

pub use run::{FeedChains, run};
