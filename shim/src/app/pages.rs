//! Pages about the daemon: the viewer, examples, the description of the API, health, counters. Never: a row.

use super::endpoint::{Asked, Endpoint, Page, PageRequest, ParsedRequest, page_path};
use super::service::Service;
use crate::front::{self, ServiceState, viewer};
use api::openapi;
use api::vendors::routes::Segments;
use http::Answer;

/// Route of the pages that people open.
const FRONT: &str = "front";

/// The files of the viewer.
pub(super) struct Viewer;

impl Endpoint for Viewer {
    fn route(&self) -> &'static str {
        FRONT
    }

    fn segments(&self, raw_path: &str) -> Option<Segments> {
        page_path(raw_path).filter(|path| viewer::has(path)).map(|path| vec![("file", path)])
    }

    fn parse(&'static self, _: &Service, asked: Asked<'_>) -> ParsedRequest {
        let path: String = asked.segments.into_iter().map(|(_, path)| path).collect();
        let answer = move |service: &Service| viewer::answer_at(&path, FRONT, service.offered());
        ParsedRequest { is_heavy: false, answer: Box::new(answer) }
    }
}

/// The page of examples.
pub(super) static EXAMPLES: Page = Page {
    route: FRONT,
    path: "/examples",
    is_heavy: false,
    answer: |service, _| {
        let snapshot = service.market.load_full();
        let state = ServiceState {
            feed: service.status.feed.clone(),
            word: service.status.word(&snapshot),
            note: service.note(&snapshot),
        };
        Answer::full(FRONT, 200, "text/html; charset=utf-8", front::examples(&snapshot, &state))
    },
    put: None,
    operations: |_, _| Vec::new(),
};

/// Whether the market is whole.
pub(super) static HEALTH: Page = Page {
    route: "health",
    path: "/health",
    is_heavy: false,
    answer: health,
    put: None,
    operations: |service, snapshot| vec![openapi::health(&service.status.health_json(snapshot))],
};

/// Counters for Prometheus.
pub(super) static COUNTERS: Page = Page {
    route: "metrics",
    path: "/metrics",
    is_heavy: false,
    answer: |service, _| {
        let text = service.counters(&service.market.load_full());
        Answer::full("metrics", 200, "text/plain; version=0.0.4; charset=utf-8", text)
    },
    put: None,
    operations: |_, _| vec![openapi::counters()],
};

fn health(service: &Service, request: &PageRequest) -> Answer {
    let snapshot = service.market.load_full();
    let asks_if_ready = request.query.split('&').any(|pair| pair.split('=').next() == Some("ready"));
    let is_early = asks_if_ready && !service.status.is_ready(&snapshot);
    let status = if is_early { 503 } else { 200 };
    let answer = Answer::full("health", status, "application/json", service.status.health_json(&snapshot));
    if is_early { answer.with_header("Retry-After", "1") } else { answer }
}
