//! Answers requests: finds the endpoint of a path, and has its request parsed and answered. Never: a vendor's shape, a
//! computation.
//!
//! An endpoint is a layer, or a file of this folder with a row in `OWN`.

mod endpoint;
mod explain;
mod layers;
mod pages;
mod positions;
mod scenario;
mod service;
mod snapshots;
mod strategy;
mod stream;

use api::edition;
use api::openapi;
use api::operation::Operation;
use api::refusal::Refusal;
use api::vendors::native;
use api::vendors::routes::{LAYERS, NAMES, Segments};
use endpoint::{Asked, Endpoint, Page, ParsedRequest};
use engine::snapshot::Snapshot;
use http::{Answer, Answered, App, ReceivedBody, Request};
pub use service::Service;
use std::sync::Arc;

/// Route of paths without an endpoint.
const UNKNOWN: &str = "unknown";

/// The endpoints that are no layers, in the order of their routes in metrics.
static OWN: [&dyn Endpoint; 11] = [
    &pages::Viewer,
    &pages::EXAMPLES,
    &DESCRIPTION,
    &pages::HEALTH,
    &pages::COUNTERS,
    &explain::EXPLAIN,
    &snapshots::SNAPSHOTS,
    &scenario::SCENARIO,
    &strategy::STRATEGY,
    &positions::POSITIONS,
    &stream::STREAM,
];

/// The description of every endpoint.
static DESCRIPTION: Page = Page {
    route: "openapi",
    path: "/openapi.json",
    is_heavy: false,
    answer: |service, _| {
        let snapshot = service.market.load_full();
        // only its example of `/health` could change
        let body = service.openapi.get_or_init(|| openapi::document(operations(service, &snapshot)));
        Answer::full("openapi", 200, "application/json", body.clone())
    },
    put: None,
    operations: |_, _| vec![openapi::description()],
};

/// Names of all routes, by which [`http::Metrics::new`] counts requests.
#[must_use]
pub fn route_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = NAMES.into();
    for route in OWN.iter().map(|endpoint| endpoint.route()).chain([UNKNOWN]) {
        if !names.contains(&route) {
            names.push(route);
        }
    }
    names
}

/// Every endpoint, in the order in which paths are tried.
fn endpoints() -> impl Iterator<Item = &'static dyn Endpoint> {
    LAYERS.iter().map(|&layer| layer as &dyn Endpoint).chain(OWN.iter().copied())
}

/// The endpoint at a raw path, and the words in the path.
fn endpoint_at(raw_path: &str) -> Option<(&'static dyn Endpoint, Segments)> {
    endpoints().find_map(|endpoint| Some((endpoint, endpoint.segments(raw_path)?)))
}

/// The operations of every endpoint.
fn operations(service: &Service, snapshot: &Snapshot) -> Vec<Operation> {
    endpoints().flat_map(|endpoint| endpoint.operations(service, snapshot)).collect()
}

impl App for Service {
    fn answer(self: &Arc<Self>, request: &Request<'_>) -> Answered {
        let last_event = request.header("last-event-id");
        let (query, host, is_socket) = (request.query(), request.host(), request.wants_socket());
        let asked = Asked { query, host, last_event, is_socket, ..Asked::default() };
        let Some(ParsedRequest { is_heavy, answer }) = self.parse(request.raw_path(), asked) else {
            return Answered::Now(unknown());
        };
        if !is_heavy {
            return Answered::Now(answer(self));
        }
        let service = Arc::clone(self);
        Answered::Heavy(Box::new(move || answer(&service)))
    }

    fn refuses(&self, request: &Request<'_>) -> Option<Answer> {
        let refused = || Answer::full(UNKNOWN, 405, "application/json", r#"{"error":"method not allowed"}"#);
        let taking = endpoint_at(request.raw_path()).and_then(|(endpoint, _)| endpoint.put());
        taking.is_none().then(|| refused().with_header("Allow", "GET, HEAD"))
    }

    fn take(self: &Arc<Self>, request: &Request<'_>, body: ReceivedBody) -> Answered {
        let taking = endpoint_at(request.raw_path()).and_then(|(endpoint, _)| endpoint.put());
        Answered::Now(taking.map_or_else(unknown, |take| take(self, body)))
    }

    fn edition(&self) -> Option<u64> {
        let (snapshot, closes) = (self.market.load().number, self.closes.load().number());
        Some(edition::of_snapshot(snapshot, closes, self.status.clock.now()))
    }
}

impl Service {
    fn parse(&self, raw_path: &str, asked: Asked<'_>) -> Option<ParsedRequest> {
        let (endpoint, segments) = endpoint_at(raw_path)?;
        Some(endpoint.parse(self, Asked { segments, ..asked }))
    }

    /// The answer to a raw path and query, for a client that names no host.
    #[must_use]
    pub fn answer_to(&self, raw_path: &str, query: &str) -> Answer {
        self.answer_for(raw_path, query, None)
    }

    /// The answer to a raw path and query.
    #[must_use]
    pub fn answer_for(&self, raw_path: &str, query: &str, host: Option<&str>) -> Answer {
        let asked = Asked { query, host, ..Asked::default() };
        self.parse(raw_path, asked).map_or_else(unknown, |parsed| (parsed.answer)(self))
    }
}

fn unknown() -> Answer {
    native::refused(UNKNOWN, &Refusal::UnknownPath)
}
