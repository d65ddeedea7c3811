//! Responses about past moments. A request with `as_of`, or with `start` and `end`, takes this way:
//!
//! ```text
//! app.rs: the parsed request, its moments          catalog.rs: lists of contracts and dates, from the index alone
//!   └─ single.rs, series.rs: which names, which days, which snapshots ─┐
//!        └─ archive.rs: `snapshots(name, day)`, a flight               │
//!             └─ cache.rs: cached, in flight, or queued for a worker   │
//!                  └─ folder.rs: files of Greeks, else quotes through `history::recipe`
//!        ┌─ market.rs: the chains as the market of their time ─────────┘
//!        └─ the layer writes rows, as for the present
//! ```
//!
//! Nothing here waits or computes: pending data are polled ([`http::Awaited`]); workers of `cache.rs` compute. Never: a
//! vendor's shape of an answer.

pub mod archive;
mod book;
pub mod cache;
mod catalog;
mod chain;
pub mod folder;
pub mod index;
pub mod market;
mod series;
mod single;
pub mod snapshots;

use api::catalog::Catalog;
use api::past::{PastMoments, PastQuestion};
use api::refusal::Refusal;
use api::rows::clock::Clock;
use api::vendors::layer::Layer;
use api::vendors::native_snapshots::SnapshotsQuestion;
pub use book::BookQuestion;
use book::{AwaitedBook, BookAnswer};
use catalog::AwaitedCatalog;
use chain::{AwaitedChains, ChainsAnswer};
use engine::store::chain::Chain;
use http::Answer;
use kernel::contract::Symbol;
use market::{PastMarket, PastRequest};
use series::{AwaitedSeries, AwaitedTable};
use snapshots::AwaitedSnapshots;
use std::sync::Arc;

/// Answers a request about the past; headers and refusals have the times of `clock`.
#[must_use]
pub fn answer(market: &Arc<PastMarket>, request: PastRequest, clock: Clock) -> Answer {
    let route = request.layer.name;
    match request.question.moments {
        PastMoments::One(moment) => Answer::awaited(route, single::awaited(Arc::clone(market), request, moment, clock)),
        PastMoments::Many(span) => {
            let market = Arc::clone(market);
            match request.parsed.table().cloned() {
                Some(table) => Answer::awaited(route, AwaitedTable::new(market, request, span, table, clock)),
                None => Answer::awaited(route, AwaitedSeries::new(market, request, span, clock)),
            }
        }
    }
}

/// Makes an answer from a chain, or from the refusal if there is none.
type ChainAnswer = Box<dyn FnOnce(Result<Arc<Chain>, Refusal>) -> Answer + Send>;

/// Finds the chain of the first of `names` that has one at a past moment; `then` makes the answer from it.
#[must_use]
pub fn chain(
    market: &Arc<PastMarket>,
    names: Vec<Symbol>,
    question: PastQuestion,
    route: &'static str,
    then: ChainAnswer,
) -> Answer {
    let moment = question.moments.last();
    let (market, listed) = (Arc::clone(market), names.clone());
    let names_of = Box::new(move |_| Ok(listed.clone()));
    let then: ChainsAnswer = Box::new(|chains| then(chains.map(|mut chains| chains.swap_remove(0))));
    Answer::awaited(route, AwaitedChains { market, names, names_of, moment, question, flights: None, then: Some(then) })
}

/// Finds the market of a book at two moments; `then` makes the answer from it.
#[must_use]
pub fn book(market: &Arc<PastMarket>, question: BookQuestion, route: &'static str, then: BookAnswer) -> Answer {
    Answer::awaited(route, AwaitedBook::new(Arc::clone(market), question, then))
}

/// Lists the snapshots of a name around a moment.
#[must_use]
pub fn snapshots(market: &Arc<PastMarket>, question: &SnapshotsQuestion) -> Answer {
    Answer::awaited(snapshots::ROUTE, AwaitedSnapshots::new(Arc::clone(market), question))
}

/// Lists the contents of an archive; `clock` is the clock of its headers and refusals.
#[must_use]
pub fn list(market: &Arc<PastMarket>, layer: &'static Layer, catalog: Catalog, clock: Clock) -> Answer {
    Answer::awaited(layer.name, AwaitedCatalog { market: Arc::clone(market), layer, catalog, clock })
}
