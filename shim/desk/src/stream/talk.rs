//! A stream over a WebSocket: each event is a message, and each message of the client another request. Never: a row, a
//! frame.

use super::events::{Events, Step};
use api::rows::frame::json_text;
use api::vendors::native_stream;
use host::faults;
use http::{Said, Talk};

/// A client that has connected.
pub(super) struct EventTalk {
    events: Events,
    /// The answer to the last message, until it is sent.
    answer: Option<String>,
}

impl EventTalk {
    /// A client that has sent no message yet.
    pub(super) fn new(events: Events) -> Self {
        Self { events, answer: None }
    }
}

impl Talk for EventTalk {
    fn hear(&mut self, text: &str) {
        let changed = native_stream::of_message(text).and_then(|request| self.events.request(request));
        self.answer = Some(match changed {
            Ok(None) => r#"{"event":"subscribed"}"#.to_owned(),
            Ok(Some(missing)) => format!(r#"{{"event":"subscribed","warning":{}}}"#, json_text(&missing)),
            Err(refusal) => {
                let (status, reason) = (refusal.status(), json_text(&refusal.to_string()));
                format!(r#"{{"event":"error","status":{status},"error":{reason}}}"#)
            }
        });
    }

    fn say(&mut self, out: &mut Vec<u8>) -> Said {
        faults::here("stream");
        if let Some(answer) = self.answer.take() {
            out.extend_from_slice(answer.as_bytes());
            return Said::Piece { is_binary: false, is_last: true };
        }
        match self.events.step(out) {
            Step::Piece { is_binary, is_last } => Said::Piece { is_binary, is_last },
            Step::Nothing => Said::Nothing,
            Step::Outgrown => Said::Ended("more contracts by now than a stream may have"),
            Step::Broken => Said::Ended("the client is too slow"),
        }
    }
}
