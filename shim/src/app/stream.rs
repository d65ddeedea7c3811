//! `GET /l1/stream`: rows as they change. Never: an event.

use super::endpoint::Page;
use super::service::Service;
use api::vendors::native_stream;
use desk::stream::desk::ROUTE;
use desk::stream::events::EventSources;
use http::Answer;
use std::sync::Arc;

pub(super) static STREAM: Page = Page {
    route: ROUTE,
    path: native_stream::PATH,
    is_heavy: true,
    answer: |service, request| service.stream(&request.query, request.last_event.as_deref()),
    put: None,
    operations: |_, _| vec![native_stream::operation()],
};

impl Service {
    /// A stream of events; `last` is the id of the last event that the client has.
    #[must_use]
    pub fn stream(&self, query: &str, last: Option<&str>) -> Answer {
        let sources = EventSources {
            market: Arc::clone(&self.market),
            positions: Arc::clone(&self.positions),
            alerts: Arc::clone(&self.alerts),
            zone: self.status.zone.clone(),
            run: self.run,
        };
        self.streams.answer(query, last, sources)
    }
}
