//! Answers about past moments: the snapshots that a question means are found in the archive, and the layer answers from
//! them as it does from that of now.
//!
//! Nothing here waits or computes: pending data are polled ([`http::Awaited`]). Never: a vendor's
//! shape, a file.

mod catalog;
pub mod market;
mod series;
mod single;

use api::catalog::Catalog;
use api::past::PastMoments;
use api::rows::clock::Clock;
use api::vendors::layer::Layer;
use catalog::AwaitedCatalog;
use http::Answer;
use market::{PastMarket, PastRequest};
use series::AwaitedSeries;
use single::AwaitedMoment;
use std::sync::Arc;

/// The answer to a question about the past; its headers and refusals have the times of `clock`.
#[must_use]
pub fn answer(market: &Arc<PastMarket>, request: PastRequest, clock: Clock) -> Answer {
    let route = request.layer.name;
    match request.question.moments {
        PastMoments::One(moment) => {
            Answer::awaited(route, AwaitedMoment::new(Arc::clone(market), request, moment, clock))
        }
        PastMoments::Many(span) => Answer::awaited(route, AwaitedSeries::new(Arc::clone(market), request, span, clock)),
    }
}

/// Lists the contents of an archive; `clock` is the clock of its headers and refusals.
#[must_use]
pub fn list(market: &Arc<PastMarket>, layer: &'static Layer, catalog: Catalog, clock: Clock) -> Answer {
    Answer::awaited(layer.name, AwaitedCatalog { market: Arc::clone(market), layer, catalog, clock })
}
