//! `GET /l1/stream`: rows as they change, as server-sent events or over a WebSocket. Never: an event.

use super::endpoint::Page;
use super::service::Service;
use api::vendors::native_stream;
use desk::stream::desk::{ROUTE, StreamAsked};
use desk::stream::events::{EventSources, NamesShown};
use http::Answer;
use std::sync::Arc;

pub(super) static STREAM: Page = Page {
    route: ROUTE,
    path: native_stream::PATH,
    is_heavy: true,
    answer: |service, request| {
        let last = request.last_event.as_deref();
        service.stream(StreamAsked { query: &request.query, last, is_socket: request.is_socket })
    },
    put: None,
    operations: |_, _| vec![native_stream::operation()],
};

impl Service {
    /// A stream of events.
    #[must_use]
    pub fn stream(&self, asked: StreamAsked<'_>) -> Answer {
        let requested = Arc::clone(&self.requested);
        let sources = EventSources {
            shown: NamesShown(Arc::new(move |name| requested.note(name))),
            market: Arc::clone(&self.market),
            closes: Arc::clone(&self.closes),
            rows: Arc::clone(&self.rows),
            calendar: self.calendar.clone(),
            roots: Arc::clone(&self.roots),
            positions: Arc::clone(&self.positions),
            alerts: Arc::clone(&self.alerts),
            zone: self.status.zone.clone(),
            run: self.run,
        };
        self.streams.answer(asked, sources)
    }
}
