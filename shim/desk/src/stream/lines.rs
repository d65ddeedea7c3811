//! A stream of server-sent events, with heartbeats between them. Never: a permit, a row.

use super::events::{Events, Step};
use host::faults;
use http::{Progress, Stream};
use std::time::{Duration, Instant};

/// Maximum time without an event; a heartbeat then shows that the connection lives.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A body of events.
pub(super) struct EventLines {
    events: Events,
    beat_at: Instant,
    is_begun: bool,
}

impl EventLines {
    /// A body that begins with the next event.
    pub(super) fn new(events: Events) -> Self {
        Self { events, beat_at: Instant::now() + HEARTBEAT, is_begun: false }
    }
}

impl Stream for EventLines {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        faults::here("stream");
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        if is_first {
            // milliseconds that a browser waits before it connects again
            out.extend_from_slice(b"retry: 2000\n\n");
        }
        let now = Instant::now();
        match self.events.step(out) {
            Step::Piece { .. } => {}
            Step::Nothing if is_first => {}
            Step::Nothing if now >= self.beat_at => out.extend_from_slice(b": heartbeat\n\n"),
            Step::Nothing => return Progress::Later,
            Step::Outgrown => return Progress::Done,
            Step::Broken => return Progress::Broken,
        }
        self.beat_at = now + HEARTBEAT;
        Progress::More
    }
}
