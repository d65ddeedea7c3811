//! An endpoint: it parses a request, says whether other requests must not wait for it, and answers it. Never: a path.

use super::service::Service;
use api::operation::Operation;
use api::vendors::routes::Segments;
use engine::snapshot::Snapshot;
use http::percent::decode_strict;
use http::{Answer, ReceivedBody};

/// A request as an endpoint gets it.
#[derive(Debug, Default)]
pub(super) struct Asked<'a> {
    /// The words in the path.
    pub(super) segments: Segments,
    pub(super) query: &'a str,
    /// The host that the client asked, as it wrote it.
    pub(super) host: Option<&'a str>,
    /// The id of the last event that the client has.
    pub(super) last_event: Option<&'a str>,
    /// True if the client asks for a WebSocket.
    pub(super) is_socket: bool,
}

/// A parsed request, which any thread may answer.
pub(super) struct ParsedRequest {
    /// True if finding its answer takes longer than small requests should wait.
    pub(super) is_heavy: bool,
    pub(super) answer: Box<dyn FnOnce(&Service) -> Answer + Send>,
}

/// Takes the body of a PUT.
pub(super) type TakesBody = fn(&Service, ReceivedBody) -> Answer;

/// A layer, a page, or the files of the viewer.
pub(super) trait Endpoint: Sync {
    /// Name by which its requests are counted.
    fn route(&self) -> &'static str;

    /// The words in a raw path, if the endpoint answers there.
    fn segments(&self, raw_path: &str) -> Option<Segments>;

    /// Parses a request.
    fn parse(&'static self, service: &Service, asked: Asked<'_>) -> ParsedRequest;

    /// Function for the body of a PUT; `None`: the method is refused.
    fn put(&self) -> Option<TakesBody> {
        None
    }

    /// Operations of the endpoint in `/openapi.json`; none, if only people open it.
    fn operations(&self, _: &Service, _: &Snapshot) -> Vec<Operation> {
        Vec::new()
    }
}

/// An endpoint at one path, which parses its query where it answers.
pub(super) struct Page {
    pub(super) route: &'static str,
    /// Path of the page, without a slash at the end.
    pub(super) path: &'static str,
    /// True if the answer takes longer than small requests should wait.
    pub(super) is_heavy: bool,
    pub(super) answer: fn(&Service, &PageRequest) -> Answer,
    pub(super) put: Option<TakesBody>,
    pub(super) operations: fn(&Service, &Snapshot) -> Vec<Operation>,
}

/// A request of a page.
pub(super) struct PageRequest {
    pub(super) query: String,
    /// The id of the last event that the client has.
    pub(super) last_event: Option<String>,
    /// True if the client asks for a WebSocket.
    pub(super) is_socket: bool,
}

/// The decoded path of a page, without a slash at its end.
pub(super) fn page_path(raw_path: &str) -> Option<String> {
    let path = decode_strict(raw_path)?;
    Some(path.strip_suffix('/').unwrap_or(&path).to_owned())
}

impl Endpoint for Page {
    fn route(&self) -> &'static str {
        self.route
    }

    fn segments(&self, raw_path: &str) -> Option<Segments> {
        (page_path(raw_path)? == self.path).then(Segments::new)
    }

    fn parse(&'static self, _: &Service, asked: Asked<'_>) -> ParsedRequest {
        let Asked { query, last_event, is_socket, .. } = asked;
        let request = PageRequest { query: query.to_owned(), last_event: last_event.map(str::to_owned), is_socket };
        let answer = move |service: &Service| (self.answer)(service, &request);
        ParsedRequest { is_heavy: self.is_heavy, answer: Box::new(answer) }
    }

    fn put(&self) -> Option<TakesBody> {
        self.put
    }

    fn operations(&self, service: &Service, snapshot: &Snapshot) -> Vec<Operation> {
        (self.operations)(service, snapshot)
    }
}
