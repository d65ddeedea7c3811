//! What a server needs of the program that it serves.

use super::request::Request;
use super::response::Answer;

/// What the server serves. Called on the reactor threads: it must not block, and should hold a lock nowhere.
///
/// A panic costs the one connection (500, or a cut stream), not the server.
pub trait App: Send + Sync + 'static {
    /// The answer to one request. Whatever can fail is decided here, before the head of the answer is written.
    fn answer(&self, request: &Request<'_>) -> Answer;

    /// The same, or `None` where it is work that would hold up small requests: then [`App::answer`] is asked, on a
    /// thread that streams.
    fn answer_at_once(&self, request: &Request<'_>) -> Option<Answer> {
        Some(self.answer(request))
    }

    /// What answers are made of now: those of one edition to the same target are the same. Must cost nothing, for it is
    /// asked before each answer.
    fn edition(&self) -> Option<u64> {
        None
    }
}
