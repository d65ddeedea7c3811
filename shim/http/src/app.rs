//! What a server needs of the program that it serves.

use super::body::ReceivedBody;
use super::request::Request;
use super::response::Answer;
use std::fmt;
use std::sync::Arc;

/// What the server serves. Called on the reactor threads: it must not block, and should hold a lock nowhere.
///
/// A panic costs the one connection (500, or a cut stream), not the server.
pub trait App: Send + Sync + 'static {
    /// Answers one request, or parses it and leaves the rest to a thread that streams. Whatever can fail is decided
    /// before the head of the answer is written.
    fn answer(self: &Arc<Self>, request: &Request<'_>) -> Answered;

    /// Why the body of a PUT is not taken, by the head alone: it is not read then.
    fn refuses(&self, request: &Request<'_>) -> Option<Answer>;

    /// Answers a PUT that was not refused; its body counts until it is dropped.
    fn take(self: &Arc<Self>, request: &Request<'_>, body: ReceivedBody) -> Answered;

    /// What answers are made of now: those of one edition to the same target are the same. Must cost nothing, for it is
    /// asked before each answer.
    fn edition(&self) -> Option<u64> {
        None
    }
}

/// What an app makes of a request.
pub enum Answered {
    /// The answer.
    Now(Answer),
    /// Work that would hold up small requests: it is called once, on a thread that streams. It owns what it needs of
    /// the request, so that nothing is parsed again there.
    Heavy(HeavyAnswer),
}

/// Makes the answer to a request that has been parsed.
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
    /// Returns the answer, made on this thread where it is heavy.
    #[must_use]
    pub fn here(self) -> Answer {
        match self {
            Self::Now(answer) => answer,
            Self::Heavy(make) => make(),
        }
    }
}
