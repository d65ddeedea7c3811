//! Answers requests for streams. Never: an event.

use super::events::{EventSources, Events, Wire};
use super::lines::EventLines;
use super::permit::StreamCounts;
use super::talk::EventTalk;
use api::query::Query;
use api::refusal::Refusal;
use api::selection::unserved::warning_header;
use api::vendors::native;
use api::vendors::native_stream::{self, RowForm, StreamRequest};
use http::Answer;
use std::sync::Arc;

/// Name of the route in metrics.
pub const ROUTE: &str = "stream";
/// Permits for streams.
#[derive(Clone, Debug, Default)]
pub struct StreamDesk(Arc<StreamCounts>);

/// A request for a stream, as it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamAsked<'a> {
    /// The query.
    pub query: &'a str,
    /// The id of the last event that the client has.
    pub last: Option<&'a str>,
    /// True if the client asks for a WebSocket.
    pub is_socket: bool,
}

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

    /// The answer to a request.
    #[must_use]
    pub fn answer(&self, asked: StreamAsked<'_>, sources: EventSources) -> Answer {
        match self.begin(asked, sources) {
            Ok((events, missing)) => {
                let mut answer = if asked.is_socket {
                    Answer::socket(ROUTE, EventTalk::new(events))
                } else {
                    let lines = EventLines::new(events);
                    Answer::stream(ROUTE, "text/event-stream; charset=utf-8", lines)
                        .with_header("X-Accel-Buffering", "no")
                };
                answer.headers.extend(missing.as_deref().map(warning_header));
                answer
            }
            Err(refusal) => native::refused(ROUTE, &refusal),
        }
    }

    fn begin(&self, asked: StreamAsked<'_>, sources: EventSources) -> Result<(Events, Option<String>), Refusal> {
        // a socket may say later what it wants
        let request = match asked {
            StreamAsked { query: "", is_socket: true, .. } => StreamRequest::default(),
            _ => native_stream::parse(&Query::parse(asked.query))?,
        };
        if !asked.is_socket && request.form != RowForm::Json {
            return Err(Refusal::Conflict { reason: "format=arrow needs a WebSocket: server-sent events are text" });
        }
        let permit = self.0.take().ok_or(Refusal::Busy)?;
        let wire = if asked.is_socket { Wire::Messages } else { Wire::Lines };
        let mut events = Events::new(wire, asked.last, sources, permit);
        let missing = events.request(request)?;
        Ok((events, missing))
    }
}
