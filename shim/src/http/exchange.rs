//! One request to one answer: asks the app, decides how the body travels, writes the head.
//!
//! Everything that can still fail has happened when the head is written: the first piece of a streamed body is there
//! before it. What does not fit into that piece travels chunk by chunk on a bulk reactor.

use super::app::App;
use super::framing::{Compressor, Framing, Outgoing};
use super::limits::PIECE_BYTES;
use super::request::{Fault, HeadFacts, Method, Request};
use super::response::{Answer, Body, Delivery, write_head};
use super::turn::Turn;
use crate::stream::{Progress, Stream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Longest body that the small reactor compresses itself (about 0.1 ms); a longer one goes to a bulk reactor.
const GZIP_AT_ONCE: usize = 8 * 1024;

/// What is left to do when the head has been written.
pub(super) struct Remainder {
    /// The body, if it does not stand behind the head already.
    pub(super) in_flight: Option<InFlight>,
    /// The connection stays open.
    pub(super) keep_alive: bool,
}

/// A body that is being streamed, and what will be counted when it has been.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) body: Outgoing,
    route: &'static str,
    status: u16,
    bytes: usize,
    started: Instant,
}

impl InFlight {
    /// Appends the next piece to `turn.out`; `None` if the stream panicked.
    pub(super) fn next<A: App>(&mut self, turn: &mut Turn<A>) -> Option<Progress> {
        let (out, piece) = (&mut turn.out, &mut turn.piece);
        let before = out.len();
        let progress = catch_unwind(AssertUnwindSafe(|| self.body.next(out, piece))).ok()?;
        self.bytes += turn.out.len() - before;
        Some(progress)
    }

    /// When the answer was begun.
    pub(super) fn started(&self) -> Instant {
        self.started
    }

    /// Counts the whole answer.
    pub(super) fn count<A: App>(&self, turn: &Turn<A>) {
        count(turn, self.route, self.status, self.bytes, self.started);
    }
}

/// An answer whose body has been begun.
struct Opened {
    answer: Answer,
    first: Vec<u8>,
    rest: Option<Box<dyn Stream>>,
}

/// Answers a request: writes the head, and the body if it is short, to `turn.out`. `None`: it is heavy work, and this
/// is the small reactor.
pub(super) fn reply<A: App>(request: &Request<'_>, facts: &HeadFacts, turn: &mut Turn<A>) -> Option<Remainder> {
    if let Some(fault) = turn.shared.boundary.fault(request) {
        refuse(fault, request.method() == Method::Head, turn);
        return Some(Remainder { in_flight: None, keep_alive: false });
    }
    let started = Instant::now();
    let (app, bulk, piece) = (&turn.shared.app, turn.bulk, &mut turn.piece);
    let ask = || if bulk { Some(app.answer(request)) } else { app.answer_at_once(request) };
    match catch_unwind(AssertUnwindSafe(|| Some(open(ask()?, piece)))) {
        Ok(opened) => Some(deliver(opened?, request, facts, turn, started)),
        Err(_) => {
            refuse(Fault::Panicked, request.method() == Method::Head, turn);
            Some(Remainder { in_flight: None, keep_alive: false })
        }
    }
}

/// Writes the server's own answer to what is no request, or one that it does not take.
pub(super) fn refuse<A: App>(fault: Fault, head_only: bool, turn: &mut Turn<A>) {
    let mut answer = Answer::of_fault(fault);
    let Body::Full(text) = std::mem::replace(&mut answer.body, Body::Full(Vec::new())) else { return };
    let framing = Framing::Length(text.len());
    let delivery = Delivery { framing, gzip: false, varies: false, keep_alive: false, http10: false };
    let before = turn.out.len();
    write_head(&mut turn.out, &answer, &delivery, turn.date.as_str());
    if !head_only {
        turn.out.extend_from_slice(&text);
    }
    count(turn, answer.route, answer.status, turn.out.len() - before, turn.now);
}

/// Fills the first piece.
fn open(mut answer: Answer, piece: &mut Vec<u8>) -> Opened {
    match std::mem::replace(&mut answer.body, Body::Full(Vec::new())) {
        Body::Full(first) => Opened { answer, first, rest: None },
        Body::Stream(mut stream) => {
            piece.clear();
            let rest = (stream.fill(piece) == Progress::More).then_some(stream);
            Opened { answer, first: std::mem::take(piece), rest }
        }
    }
}

fn deliver<A: App>(
    opened: Opened,
    request: &Request<'_>,
    facts: &HeadFacts,
    turn: &mut Turn<A>,
    started: Instant,
) -> Remainder {
    let Opened { answer, mut first, rest } = opened;
    let varies = answer.status == 200 && (rest.is_some() || first.len() >= turn.shared.limits.gzip_bytes);
    let mut gzip = if varies && request.takes_gzip() { Compressor::take_place(&turn.shared.gzip_places) } else { None };
    let zipped = gzip.is_some();
    let streamed = rest.is_some() || (zipped && first.len() > GZIP_AT_ONCE);
    if let Some(mut gzip) = gzip.take_if(|_| !streamed) {
        let mut packed = Vec::new();
        gzip.write(&first, Progress::Done, &mut packed);
        first = packed;
    }
    let framing = match (streamed, facts.http10) {
        (false, _) => Framing::Length(first.len()),
        (true, false) => Framing::Chunked,
        (true, true) => Framing::UntilClose,
    };
    let keep_alive = facts.keep_alive && framing != Framing::UntilClose;
    let delivery = Delivery { framing, gzip: zipped, varies, keep_alive, http10: facts.http10 };
    let before = turn.out.len();
    write_head(&mut turn.out, &answer, &delivery, turn.date.as_str());
    let (route, status) = (answer.route, answer.status);
    if streamed && request.method() == Method::Get {
        let bytes = turn.out.len() - before;
        let body = Outgoing::new(first, rest, gzip, framing);
        return Remainder { in_flight: Some(InFlight { body, route, status, bytes, started }), keep_alive };
    }
    if request.method() == Method::Get {
        turn.out.extend_from_slice(&first);
    }
    count(turn, route, status, turn.out.len() - before, started);
    if first.capacity() <= 4 * PIECE_BYTES && first.capacity() > turn.piece.capacity() {
        turn.piece = first;
    }
    Remainder { in_flight: None, keep_alive }
}

fn count<A: App>(turn: &Turn<A>, route: &str, status: u16, bytes: usize, started: Instant) {
    let took = started.elapsed();
    tracing::debug!(target: "greeksd::http", route, status, bytes, micros = took.as_micros(), "answered");
    turn.shared.metrics.answered(route, status, u64::try_from(bytes).unwrap_or(u64::MAX), took);
}
