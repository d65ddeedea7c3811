//! The interface between the server and the program that it serves. Never: a socket.

use super::body::ReceivedBody;
use super::request::Request;
use super::response::Answer;
use std::fmt;
use std::sync::Arc;

/// The served program. It is called on reactor threads, so it must not block, and should hold no lock.
///
/// A panic costs one connection (500, or a truncated stream), not the server.
pub trait App: Send + Sync + 'static {
    /// Answers a request, or parses it and leaves the rest to a bulk thread. Everything that can fail does so before
    /// the head of the answer is written.
    fn answer(self: &Arc<Self>, request: &Request<'_>) -> Answered;

    /// The refusal of a PUT by its head; its body is then not read.
    fn refuses(&self, request: &Request<'_>) -> Option<Answer>;

    /// Answers a PUT; its body counts against the bound until it is dropped.
    fn take(self: &Arc<Self>, request: &Request<'_>, body: ReceivedBody) -> Answered;

    /// Edition of the data: answers of one edition to the same target are identical. It must be cheap, since it is
    /// called before each answer.
    fn edition(&self) -> Option<u64> {
        None
    }
}

/// The answer of an app.
pub enum Answered {
    /// A finished answer.
    Now(Answer),
    /// Work that would delay small requests, called once on a bulk thread. It owns the parsed request.
    Heavy(HeavyAnswer),
}

/// Makes the answer to a parsed request.
pub type HeavyAnswer = Box<dyn FnOnce() -> Answer + Send>;

impl fmt::Debug for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(answer) => answer.fmt(f),
            Self::Heavy(_) => f.write_str("Heavy"),
        }
    }
}

impl Answered {
    /// The answer, made on this thread if it is heavy.
    #[must_use]
    pub fn here(self) -> Answer {
        match self {
            Self::Now(answer) => answer,
            Self::Heavy(make) => make(),
        }
    }
}
