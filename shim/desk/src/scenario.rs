//! `greeksd scenario` and `GET /l1/scenario`: values of contracts and positions at other spots, volatilities, times,
//! rates, borrow rates or dividends.
//!
//! The engine computes values ([`engine::scenario`]). Here are the contracts of a request ([`legs`]), the rows and sums
//! ([`rows`]), the answer ([`answer`]), and the command ([`run`]). Never: a formula.

pub mod answer;
pub mod legs;
pub mod rows;
mod run;

pub use run::{FeedChains, run};
