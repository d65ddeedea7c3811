//! The endpoints of the layers: rows and lists of the present, or of past moments. Never: a vendor's shape.

use super::endpoint::{Asked, Endpoint, ParsedRequest};
use super::service::Service;
use crate::past;
use crate::past::market::PastRequest;
use api::openapi;
use api::operation::Operation;
use api::past::PastQuestion;
use api::query::Query;
use api::vendors::layer::{Layer, LayerRequest, Needs};
use api::vendors::routes::{Segments, segments_of};
use engine::snapshot::Snapshot;
use http::Answer;
use kernel::contract::{RootTable, Symbol};

impl Endpoint for Layer {
    fn route(&self) -> &'static str {
        self.name
    }

    fn segments(&self, raw_path: &str) -> Option<Segments> {
        segments_of(self.path, raw_path)
    }

    fn parse(&'static self, service: &Service, asked: Asked<'_>) -> ParsedRequest {
        let query = Query::parse(asked.query).with_segments(asked.segments);
        let parsed = Self::parse(self, &query, &service.market.load());
        let (is_heavy, host) = (parsed.is_heavy, asked.host.map(str::to_owned));
        let answer = move |service: &Service| answer(service, self, parsed, host.as_deref());
        ParsedRequest { is_heavy, answer: Box::new(answer) }
    }

    fn operations(&self, service: &Service, snapshot: &Snapshot) -> Vec<Operation> {
        openapi::operation(self, &service.context(snapshot, None, &Vec::new)).into_iter().collect()
    }
}

/// The answer of a layer to a parsed request. It loads the snapshot once, and the answer keeps the chains that it
/// shows.
fn answer(service: &Service, layer: &'static Layer, mut parsed: LayerRequest, host: Option<&str>) -> Answer {
    let snapshot = service.market.load_full();
    let note = || service.note(&snapshot);
    let context = service.context(&snapshot, host, &note);
    let clock = context.clock();
    let Needs { past: question, names, everything, prefixes, catalog } = parsed.settle(&clock);
    if let (Some(catalog), Some(past)) = (catalog, &service.past) {
        return past::list(past, layer, catalog, clock);
    }
    match (question, &service.past) {
        (Some(question), Some(past)) => {
            let (host, names) = (host.map(str::to_owned), underlyings(&names, &service.roots));
            let request = PastRequest { layer, host, names, everything, prefixes, question, parsed };
            return past::answer(past, request, clock);
        }
        (Some(PastQuestion { if_live: Some(refusal), .. }), None) => return layer.refused(&refusal, &clock),
        // the request is for the present, or the feed has only the present
        (_, _) => {}
    }
    names.into_iter().for_each(|name| service.requested.note(service.roots.underlying_of(name)));
    layer.answer(parsed, &context, clock)
}

/// The underlyings of some names, each once.
fn underlyings(names: &[Symbol], roots: &RootTable) -> Vec<Symbol> {
    let mut found: Vec<Symbol> = Vec::new();
    for name in names.iter().map(|&name| roots.underlying_of(name)) {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
