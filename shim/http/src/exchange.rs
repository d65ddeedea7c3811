//! One request to one answer: asks the app, decides how the body travels, writes the head.
//!
//! Everything that can still fail has happened when the head is written: the first piece of a streamed body is there
//! before it. What does not fit into that piece travels chunk by chunk on a bulk reactor.

use super::app::App;
use super::cache::{BodyReader, ETag, Rendered, SharedBody, Target};
use super::conditional::Conditions;
use super::framing::{Compressor, Framing, Outgoing};
use super::limits::{Limits, PIECE_BYTES};
use super::request::{Fault, HeadFacts, Method, Request};
use super::response::{Answer, Awaited, Body, Delivery, Head, write_head};
use super::turn::Turn;
use crate::stream::{Progress, Stream};
use host::{faults, threads};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// What panics of answers are counted as: they cost the answer and no thread.
const FAULTS: &str = "http";
/// Longest body that the small reactor compresses itself (about 0.1 ms); a longer one goes to a bulk reactor.
const GZIP_AT_ONCE: usize = 8 * 1024;

/// What is left to do when the head has been written.
pub(super) struct Remainder {
    /// The body, if it does not stand behind the head already.
    pub(super) in_flight: Option<InFlight>,
    /// The whole answer, if it is being made.
    pub(super) waiting: Option<Waiting>,
    /// The connection stays open.
    pub(super) keep_alive: bool,
}

impl Remainder {
    /// Nothing, but that the connection is closed.
    const CLOSED: Self = Self { in_flight: None, waiting: None, keep_alive: false };
}

/// What of a request is needed to deliver its answer.
#[derive(Clone, Debug)]
struct ReplyTerms {
    target: Target,
    conditions: Conditions,
    head_only: bool,
    takes_gzip: bool,
    http10: bool,
    keep_alive: bool,
    started: Instant,
}

impl ReplyTerms {
    fn of(request: &Request<'_>, facts: &HeadFacts, limits: &Limits) -> Self {
        Self {
            target: Target::of(request),
            conditions: Conditions::of(request),
            head_only: request.method() == Method::Head,
            takes_gzip: request.takes_gzip()
                && (limits.gzip_loopback || !request.peer().ip().to_canonical().is_loopback()),
            http10: facts.http10,
            keep_alive: facts.keep_alive,
            started: Instant::now(),
        }
    }
}

/// A request whose answer is being made.
pub(super) struct Waiting {
    maker: Maker,
    terms: ReplyTerms,
}

/// Who makes it.
enum Maker {
    /// Others.
    Elsewhere(Box<dyn Awaited>),
    /// We do: its length must be known first.
    Here(Arc<SharedBody>),
}

/// Why there is no answer yet, and when to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotYet {
    /// When others have had their turn.
    Again,
    /// In a moment.
    Later,
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.terms.fmt(f)
    }
}

impl Waiting {
    /// When the request came.
    pub(super) fn started(&self) -> Instant {
        self.terms.started
    }

    /// Looks for the answer: writes its head, and its body if that is short, to `turn.out`.
    pub(super) fn look<A: App>(&mut self, turn: &mut Turn<A>) -> Result<Remainder, NotYet> {
        let (maker, piece) = (&mut self.maker, &mut turn.piece);
        let looked = threads::guarded(FAULTS, || match maker {
            Maker::Elsewhere(awaited) => awaited.look().map(|answer| open(answer, piece)).ok_or(NotYet::Later),
            Maker::Here(body) => match body.render(piece) {
                Progress::Done => Ok(Opened::Shared(Arc::clone(body))),
                Progress::More => Err(NotYet::Again),
                Progress::Later => Err(NotYet::Later),
                Progress::Broken => Ok(Opened::Broken),
            },
        });
        match looked {
            Some(opened) => Ok(deliver(opened?, &self.terms, turn)),
            None => Ok(panicked(self.terms.head_only, turn)),
        }
    }
}

/// A body that is being streamed, and what will be counted when it has been.
#[derive(Debug)]
pub(super) struct InFlight {
    body: Sending,
    route: &'static str,
    status: u16,
    bytes: usize,
    started: Instant,
}

/// Where the bytes of a body come from.
#[derive(Debug)]
enum Sending {
    /// They are made, or framed, as they are sent.
    Made(Box<Outgoing>),
    /// They are there, in memory that others send from, too.
    Kept(BodyReader),
}

impl InFlight {
    /// The body, if its bytes can be sent from where they stand.
    pub(super) fn kept(&mut self) -> Option<&mut BodyReader> {
        match &mut self.body {
            Sending::Made(_) => None,
            Sending::Kept(reader) => Some(reader),
        }
    }

    /// Notes how many bytes of a kept body have been sent.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// Appends the next piece to `turn.out`; `None` if the stream broke off or panicked.
    pub(super) fn next<A: App>(&mut self, turn: &mut Turn<A>) -> Option<Progress> {
        let (out, piece) = (&mut turn.out, &mut turn.piece);
        let before = out.len();
        let progress = threads::guarded(FAULTS, || match &mut self.body {
            Sending::Made(body) => {
                faults::here("http.stream");
                body.next(out, piece)
            }
            Sending::Kept(reader) => reader.fill(out),
        })?;
        self.bytes += turn.out.len() - before;
        (progress != Progress::Broken).then_some(progress)
    }

    /// Bytes held beside itself; a body that others send from is not among them.
    pub(super) fn bytes(&self) -> usize {
        match &self.body {
            Sending::Made(body) => size_of::<Outgoing>() + body.bytes(),
            Sending::Kept(reader) => reader.own_bytes(),
        }
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
    Begun { head: Head, edition: Option<u64>, first: Vec<u8>, rest: Option<Box<dyn Stream>> },
    Shared(Arc<SharedBody>),
    Awaited(Box<dyn Awaited>),
    Broken,
}

/// Answers a request: writes the head, and the body if it is short, to `turn.out`. `None`: it is heavy work, and this
/// is the small reactor.
pub(super) fn reply<A: App>(request: &Request<'_>, facts: &HeadFacts, turn: &mut Turn<A>) -> Option<Remainder> {
    if let Some(fault) = turn.shared.boundary.fault(request) {
        refuse(fault, request.method() == Method::Head, turn);
        return Some(Remainder::CLOSED);
    }
    let terms = ReplyTerms::of(request, facts, &turn.shared.limits);
    let (shared, bulk, piece) = (Arc::clone(&turn.shared), turn.bulk, &mut turn.piece);
    let kept = shared.cache.find(&terms.target, &terms.conditions, shared.app.edition(), turn.now);
    if let Some(body) = kept {
        shared.metrics.hit();
        return Some(deliver(Opened::Shared(body), &terms, turn));
    }
    let ask = || {
        faults::here("http.answer");
        if bulk { Some(shared.app.answer(request)) } else { shared.app.answer_at_once(request) }
    };
    match threads::guarded(FAULTS, || Some(open(ask()?, piece))) {
        Some(opened) => Some(deliver(opened?, &terms, turn)),
        None => Some(panicked(terms.head_only, turn)),
    }
}

fn panicked<A: App>(head_only: bool, turn: &mut Turn<A>) -> Remainder {
    refuse(Fault::Panicked, head_only, turn);
    Remainder::CLOSED
}

/// Writes the server's own answer to what is no request, or one that it does not take.
pub(super) fn refuse<A: App>(fault: Fault, head_only: bool, turn: &mut Turn<A>) {
    let (head, body) = Answer::of_fault(fault).into_parts();
    let Body::Full(text) = body else { return };
    let before = turn.out.len();
    write_head(&mut turn.out, &head, &Delivery::whole(text.len(), false, false), turn.date.as_str());
    if !head_only {
        turn.out.extend_from_slice(&text);
    }
    count(turn, head.route, head.status, turn.out.len() - before, turn.now);
}

/// Fills the first piece.
fn open(answer: Answer, piece: &mut Vec<u8>) -> Opened {
    let edition = answer.edition;
    let (head, body) = answer.into_parts();
    match body {
        Body::Full(first) => Opened::Begun { head, edition, first, rest: None },
        Body::Stream(mut stream) => {
            piece.clear();
            // one that breaks off here says so again where it goes on
            let rest = (stream.fill(piece) != Progress::Done).then_some(stream);
            Opened::Begun { head, edition, first: std::mem::take(piece), rest }
        }
        Body::Awaited(awaited) => Opened::Awaited(awaited),
    }
}

fn deliver<A: App>(opened: Opened, terms: &ReplyTerms, turn: &mut Turn<A>) -> Remainder {
    match opened {
        Opened::Begun { head, edition, first, rest } => {
            match share(&head, edition.filter(|_| head.status == 200), (&first, rest), terms, turn) {
                Ok(body) => {
                    turn.lend(first);
                    deliver_shared(body, terms, turn)
                }
                Err(rest) => deliver_once(&head, edition, first, rest, terms, turn),
            }
        }
        Opened::Shared(body) => deliver_shared(body, terms, turn),
        Opened::Awaited(awaited) => wait(Maker::Elsewhere(awaited), terms),
        Opened::Broken => panicked(terms.head_only, turn),
    }
}

fn wait(maker: Maker, terms: &ReplyTerms) -> Remainder {
    let waiting = Some(Waiting { maker, terms: terms.clone() });
    Remainder { in_flight: None, waiting, keep_alive: terms.keep_alive }
}

/// Keeps a body that is worth it; what would have rendered it, if it is not.
fn share<A: App>(
    head: &Head,
    edition: Option<u64>,
    (first, rest): (&[u8], Option<Box<dyn Stream>>),
    terms: &ReplyTerms,
    turn: &Turn<A>,
) -> Result<Arc<SharedBody>, Option<Box<dyn Stream>>> {
    let (cache, now) = (&turn.shared.cache, turn.now);
    let most = rest.as_ref().map_or(Some(first.len()), |rest| rest.most_bytes());
    match (edition, most) {
        (Some(edition), Some(most)) if cache.wants(&terms.target, &terms.conditions, most, now) => {
            let rendered = Rendered::new(first, rest, most);
            Ok(cache.keep(&terms.target, &terms.conditions, (head.clone(), edition), rendered, now))
        }
        _ => Err(rest),
    }
}

/// Sends a body that nobody else will have.
fn deliver_once<A: App>(
    head: &Head,
    edition: Option<u64>,
    mut first: Vec<u8>,
    rest: Option<Box<dyn Stream>>,
    terms: &ReplyTerms,
    turn: &mut Turn<A>,
) -> Remainder {
    let etag = edition.map(|edition| turn.shared.cache.etag(&terms.target, edition));
    if let Some(etag) = etag.filter(|&etag| has(terms, etag)) {
        return not_modified(head, etag, terms, turn);
    }
    let varies = head.status == 200 && (rest.is_some() || first.len() >= turn.shared.limits.gzip_bytes);
    let mut gzip = take_gzip(varies, terms, turn);
    let zipped = gzip.is_some();
    let streamed = rest.is_some() || (zipped && first.len() > GZIP_AT_ONCE);
    if let Some(mut gzip) = gzip.take_if(|_| !streamed) {
        let mut packed = Vec::new();
        gzip.write(&first, Progress::Done, &mut packed);
        first = packed;
    }
    let framing = if streamed { Framing::endless(terms.http10) } else { Framing::Length(first.len()) };
    let keep_alive = terms.keep_alive && framing != Framing::UntilClose;
    let delivery = Delivery {
        framing,
        gzip: zipped,
        varies,
        etag: etag.map(|etag| etag.text(zipped)),
        ..Delivery::whole(first.len(), keep_alive, terms.http10)
    };
    let before = turn.out.len();
    write_head(&mut turn.out, head, &delivery, turn.date.as_str());
    if streamed && !terms.head_only {
        let bytes = turn.out.len() - before;
        let body = Sending::Made(Box::new(Outgoing::new(first, rest, gzip, framing)));
        let in_flight = Some(InFlight { body, route: head.route, status: head.status, bytes, started: terms.started });
        return Remainder { in_flight, waiting: None, keep_alive };
    }
    if !terms.head_only {
        turn.out.extend_from_slice(&first);
    }
    count(turn, head.route, head.status, turn.out.len() - before, terms.started);
    turn.lend(first);
    Remainder { in_flight: None, waiting: None, keep_alive }
}

/// Sends a body that others may have, too, or the part of it that is wanted.
fn deliver_shared<A: App>(body: Arc<SharedBody>, terms: &ReplyTerms, turn: &mut Turn<A>) -> Remainder {
    if has(terms, body.etag) {
        return not_modified(&body.head, body.etag, terms, turn);
    }
    let (length, wanted) = (body.length(), terms.conditions.part_of(&body.etag.text(false)));
    if length.is_none() && (terms.head_only || wanted.is_some()) {
        return wait(Maker::Here(body), terms);
    }
    let part = wanted.zip(length).map(|(wanted, length)| (wanted.of(length), length));
    let (status, bytes) = match &part {
        None => (body.head.status, Some(0..length.unwrap_or(usize::MAX))),
        Some((Some(bytes), _)) => (206, Some(bytes.clone())),
        Some((None, _)) => (416, None),
    };
    let bytes = bytes.unwrap_or(0..0);
    let varies = part.is_none() && !terms.head_only && bytes.len() >= turn.shared.limits.gzip_bytes;
    let gzip = take_gzip(varies, terms, turn);
    let framing =
        if length.is_some() && gzip.is_none() { Framing::Length(bytes.len()) } else { Framing::endless(terms.http10) };
    let keep_alive = terms.keep_alive && framing != Framing::UntilClose;
    let delivery = Delivery {
        framing,
        gzip: gzip.is_some(),
        varies: varies || terms.head_only,
        etag: Some(body.etag.text(gzip.is_some())),
        has_parts: true,
        part,
        ..Delivery::whole(0, keep_alive, terms.http10)
    };
    let (before, head) = (turn.out.len(), Head { status, ..body.head.clone() });
    write_head(&mut turn.out, &head, &delivery, turn.date.as_str());
    let is_short = length.is_some() && gzip.is_none() && bytes.len() <= PIECE_BYTES;
    let mut reader = BodyReader::part(body, bytes);
    if terms.head_only || is_short {
        while !terms.head_only && reader.fill(&mut turn.out) == Progress::More {}
        count(turn, head.route, status, turn.out.len() - before, terms.started);
        return Remainder { in_flight: None, waiting: None, keep_alive };
    }
    let bytes = turn.out.len() - before;
    let body = match framing {
        Framing::Length(_) => Sending::Kept(reader),
        _ => Sending::Made(Box::new(Outgoing::new(Vec::new(), Some(Box::new(reader)), gzip, framing))),
    };
    let in_flight = Some(InFlight { body, route: head.route, status, bytes, started: terms.started });
    Remainder { in_flight, waiting: None, keep_alive }
}

/// Whether the client has a version, compressed or not.
fn has(terms: &ReplyTerms, etag: ETag) -> bool {
    // few ask, and a text for each answer would be for them alone
    terms.conditions.names_versions()
        && (terms.conditions.has(&etag.text(false)) || terms.conditions.has(&etag.text(true)))
}

fn not_modified<A: App>(head: &Head, etag: ETag, terms: &ReplyTerms, turn: &mut Turn<A>) -> Remainder {
    let head = Head { status: 304, ..head.clone() };
    let whole = Delivery::whole(0, terms.keep_alive, terms.http10);
    let delivery = Delivery { framing: Framing::None, varies: true, etag: Some(etag.text(false)), ..whole };
    let before = turn.out.len();
    write_head(&mut turn.out, &head, &delivery, turn.date.as_str());
    count(turn, head.route, head.status, turn.out.len() - before, terms.started);
    Remainder { in_flight: None, waiting: None, keep_alive: terms.keep_alive }
}

fn take_gzip<A: App>(varies: bool, terms: &ReplyTerms, turn: &Turn<A>) -> Option<Compressor> {
    if varies && terms.takes_gzip { Compressor::take_place(&turn.shared.gzip_places) } else { None }
}

fn count<A: App>(turn: &Turn<A>, route: &str, status: u16, bytes: usize, started: Instant) {
    let took = started.elapsed();
    tracing::debug!(target: "greeksd::http", route, status, bytes, micros = took.as_micros(), "answered");
    turn.shared.metrics.answered(route, status, u64::try_from(bytes).unwrap_or(u64::MAX), took);
}
