//! Answers requests for streams. Never: an event.

use super::events::{EventSources, EventStream};
use super::permit::StreamCounts;
use api::query::Query;
use api::refusal::Refusal;
use api::selection::unserved::{unserved, warning_header};
use api::vendors::native;
use api::vendors::native_stream;
use http::Answer;
use std::sync::Arc;

/// Name of the route in metrics.
pub const ROUTE: &str = "stream";
/// Permits for streams.
#[derive(Clone, Debug, Default)]
pub struct StreamDesk(Arc<StreamCounts>);

impl StreamDesk {
    /// Bytes that the streams hold.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Number of open streams, and number of snapshots that their clients missed.
    #[must_use]
    pub fn counts(&self) -> (usize, u64) {
        self.0.counts()
    }

    /// The answer to a query; `last` is the id of the last event that the client has.
    #[must_use]
    pub fn answer(&self, query: &str, last: Option<&str>, sources: EventSources) -> Answer {
        let begun = native_stream::parse(&Query::parse(query)).and_then(|request| {
            let permit = self.0.take().ok_or(Refusal::Busy)?;
            let missing = request.selection.as_ref().and_then(|named| unserved(&sources.market.load(), named));
            EventStream::begin(request, last, sources, permit).map(|stream| (stream, missing))
        });
        match begun {
            Ok((stream, missing)) => {
                let mut answer = Answer::stream(ROUTE, "text/event-stream; charset=utf-8", stream);
                answer.headers.extend(missing.as_deref().map(warning_header));
                answer.with_header("X-Accel-Buffering", "no")
            }
            Err(refusal) => native::refused(ROUTE, &refusal),
        }
    }
}
