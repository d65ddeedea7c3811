//! One request to one answer: asks the app, decides how the body travels, writes the head.
//!
//! Everything that can still fail has happened when the head is written: the first piece of a streamed body is there
//! before it. What does not fit into that piece travels chunk by chunk on a bulk reactor.

use super::app::App;
use super::framing::{Compressor, Framing, Outgoing};
use super::limits::PIECE_BYTES;
use super::request::{Fault, HeadFacts, Method, Request};
use super::response::{Answer, Awaited, Body, Delivery, write_head};
use super::turn::Turn;
use crate::stream::{Progress, Stream};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Longest body that the small reactor compresses itself (about 0.1 ms); a longer one goes to a bulk reactor.
const GZIP_AT_ONCE: usize = 8 * 1024;

/// What is left to do when the head has been written.
pub(super) struct Remainder {
    /// The body, if it does not stand behind the head already.
    pub(super) in_flight: Option<InFlight>,
    /// The whole answer, if it is not there yet.
    pub(super) waiting: Option<Waiting>,
    /// The connection stays open.
    pub(super) keep_alive: bool,
}

impl Remainder {
    /// Nothing, but that the connection is closed.
    const CLOSED: Self = Self { in_flight: None, waiting: None, keep_alive: false };
}

/// What of a request is needed to deliver its answer.
#[derive(Clone, Copy, Debug)]
struct Asked {
    head_only: bool,
    takes_gzip: bool,
    http10: bool,
    keep_alive: bool,
    started: Instant,
}

/// A request whose answer is being made elsewhere.
pub(super) struct Waiting {
    awaited: Box<dyn Awaited>,
    asked: Asked,
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.asked.fmt(f)
    }
}

impl Waiting {
    /// When the request came.
    pub(super) fn started(&self) -> Instant {
        self.asked.started
    }

    /// Looks for the answer: writes its head, and its body if that is short, to `turn.out`.
    pub(super) fn look<A: App>(&mut self, turn: &mut Turn<A>) -> Option<Remainder> {
        let (awaited, piece) = (&mut self.awaited, &mut turn.piece);
        match catch_unwind(AssertUnwindSafe(|| Some(open(awaited.look()?, piece)))) {
            Ok(opened) => Some(deliver(opened?, self.asked, turn)),
            Err(_) => Some(panicked(self.asked.head_only, turn)),
        }
    }
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
    /// Appends the next piece to `turn.out`; `None` if the stream broke off or panicked.
    pub(super) fn next<A: App>(&mut self, turn: &mut Turn<A>) -> Option<Progress> {
        let (out, piece) = (&mut turn.out, &mut turn.piece);
        let before = out.len();
        let progress = catch_unwind(AssertUnwindSafe(|| self.body.next(out, piece))).ok()?;
        self.bytes += turn.out.len() - before;
        (progress != Progress::Broken).then_some(progress)
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

/// An answer whose body has been begun, or one that is not there yet.
enum Opened {
    Begun { answer: Answer, first: Vec<u8>, rest: Option<Box<dyn Stream>> },
    Awaited(Box<dyn Awaited>),
}

/// Answers a request: writes the head, and the body if it is short, to `turn.out`. `None`: it is heavy work, and this
/// is the small reactor.
pub(super) fn reply<A: App>(request: &Request<'_>, facts: &HeadFacts, turn: &mut Turn<A>) -> Option<Remainder> {
    if let Some(fault) = turn.shared.boundary.fault(request) {
        refuse(fault, request.method() == Method::Head, turn);
        return Some(Remainder::CLOSED);
    }
    let asked = Asked {
        head_only: request.method() == Method::Head,
        takes_gzip: request.takes_gzip(),
        http10: facts.http10,
        keep_alive: facts.keep_alive,
        started: Instant::now(),
    };
    let (app, bulk, piece) = (&turn.shared.app, turn.bulk, &mut turn.piece);
    let ask = || if bulk { Some(app.answer(request)) } else { app.answer_at_once(request) };
    match catch_unwind(AssertUnwindSafe(|| Some(open(ask()?, piece)))) {
        Ok(opened) => Some(deliver(opened?, asked, turn)),
        Err(_) => Some(panicked(asked.head_only, turn)),
    }
}

fn panicked<A: App>(head_only: bool, turn: &mut Turn<A>) -> Remainder {
    refuse(Fault::Panicked, head_only, turn);
    Remainder::CLOSED
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
        Body::Full(first) => Opened::Begun { answer, first, rest: None },
        Body::Stream(mut stream) => {
            piece.clear();
            // one that breaks off here says so again where it goes on
            let rest = (stream.fill(piece) != Progress::Done).then_some(stream);
            Opened::Begun { answer, first: std::mem::take(piece), rest }
        }
        Body::Awaited(awaited) => Opened::Awaited(awaited),
    }
}

fn deliver<A: App>(opened: Opened, asked: Asked, turn: &mut Turn<A>) -> Remainder {
    let (answer, mut first, rest) = match opened {
        Opened::Begun { answer, first, rest } => (answer, first, rest),
        Opened::Awaited(awaited) => {
            let waiting = Some(Waiting { awaited, asked });
            return Remainder { in_flight: None, waiting, keep_alive: asked.keep_alive };
        }
    };
    let started = asked.started;
    let varies = answer.status == 200 && (rest.is_some() || first.len() >= turn.shared.limits.gzip_bytes);
    let mut gzip = if varies && asked.takes_gzip { Compressor::take_place(&turn.shared.gzip_places) } else { None };
    let zipped = gzip.is_some();
    let streamed = rest.is_some() || (zipped && first.len() > GZIP_AT_ONCE);
    if let Some(mut gzip) = gzip.take_if(|_| !streamed) {
        let mut packed = Vec::new();
        gzip.write(&first, Progress::Done, &mut packed);
        first = packed;
    }
    let framing = match (streamed, asked.http10) {
        (false, _) => Framing::Length(first.len()),
        (true, false) => Framing::Chunked,
        (true, true) => Framing::UntilClose,
    };
    let keep_alive = asked.keep_alive && framing != Framing::UntilClose;
    let delivery = Delivery { framing, gzip: zipped, varies, keep_alive, http10: asked.http10 };
    let before = turn.out.len();
    write_head(&mut turn.out, &answer, &delivery, turn.date.as_str());
    let (route, status) = (answer.route, answer.status);
    if streamed && !asked.head_only {
        let bytes = turn.out.len() - before;
        let body = Outgoing::new(first, rest, gzip, framing);
        let in_flight = Some(InFlight { body, route, status, bytes, started });
        return Remainder { in_flight, waiting: None, keep_alive };
    }
    if !asked.head_only {
        turn.out.extend_from_slice(&first);
    }
    count(turn, route, status, turn.out.len() - before, started);
    if first.capacity() <= 4 * PIECE_BYTES && first.capacity() > turn.piece.capacity() {
        turn.piece = first;
    }
    Remainder { in_flight: None, waiting: None, keep_alive }
}

fn count<A: App>(turn: &Turn<A>, route: &str, status: u16, bytes: usize, started: Instant) {
    let took = started.elapsed();
    tracing::debug!(target: "greeksd::http", route, status, bytes, micros = took.as_micros(), "answered");
    turn.shared.metrics.answered(route, status, u64::try_from(bytes).unwrap_or(u64::MAX), took);
}
