//! One request to one answer: asks the app, decides how the body travels, writes the head.
//!
//! Everything that can still fail has happened when the head is written: the first piece of a streamed body is there
//! before it. What does not fit into that piece travels chunk by chunk on a bulk reactor.

use super::app::{Answered, App, HeavyAnswer};
use super::body::{IncomingBody, ReceivedBody};
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
/// The type of a body that is events as they come: never compressed, without a limit of its time.
const EVENTS: &str = "text/event-stream";
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
    /// The app, on a bulk reactor.
    App(Option<HeavyAnswer>),
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
        // another connection may have had the same answer made while this one waited for its turn
        if matches!(self.maker, Maker::App(_))
            && let Some(kept) = find_kept(&self.terms, turn)
        {
            return Ok(deliver(kept, self.terms.clone(), turn));
        }
        let (maker, piece) = (&mut self.maker, &mut turn.piece);
        let looked = threads::guarded(FAULTS, || match maker {
            Maker::Elsewhere(awaited) => {
                awaited.look().map(|answer| open(Answered::Now(answer), piece)).ok_or(NotYet::Later)
            }
            Maker::App(make) => Ok(make.take().map_or(Opened::Broken, |make| open(Answered::Now(make()), piece))),
            Maker::Here(body) => match body.render(piece) {
                Progress::Done => Ok(Opened::Shared(Arc::clone(body))),
                Progress::More => Err(NotYet::Again),
                Progress::Later => Err(NotYet::Later),
                Progress::Broken => Ok(Opened::Broken),
            },
        });
        match looked {
            Some(opened) => Ok(deliver(opened?, self.terms.clone(), turn)),
            None => Ok(refuse(Fault::Panicked, self.terms.head_only, turn)),
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
    /// It has no end of its own: events as they come.
    is_endless: bool,
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

    /// True if the body has no end of its own.
    pub(super) fn is_endless(&self) -> bool {
        self.is_endless
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

/// An answer as far as it has been made: the first of two states on its way to the client, [`ReadyReply`] is the
/// second.
enum Opened {
    /// Its body has been begun.
    Begun(Begun),
    /// Its body is one that several answers have.
    Shared(Arc<SharedBody>),
    /// It is still to be made.
    Pending(Maker),
    /// Its body broke off.
    Broken,
}

/// The first piece of a body, and what makes the rest.
struct Begun {
    head: Head,
    edition: Option<u64>,
    first: Vec<u8>,
    rest: Option<Box<dyn Stream>>,
}

/// An answer as it goes out: nothing about it is left to be decided.
struct ReadyReply {
    head: Head,
    delivery: Delivery,
    body: ReadyBody,
}

/// The bytes behind a head.
enum ReadyBody {
    /// None.
    Empty,
    /// All of them.
    Whole(Vec<u8>),
    /// Some of a shared body that fit into one piece.
    Part(BodyReader),
    /// Bytes that are sent piece by piece.
    Stream(Sending),
}

/// What the body of a request is to be, by its head alone: host, origin, path and room come before its first byte.
///
/// # Errors
/// It is refused; the connection ends with that.
pub(super) fn admit<A: App>(
    request: &Request<'_>,
    facts: &HeadFacts,
    turn: &mut Turn<A>,
) -> Result<IncomingBody, Box<Remainder>> {
    if request.method() != Method::Put {
        return Ok(IncomingBody::Dropped(facts.body));
    }
    if let Some(fault) = turn.shared.boundary.fault(request) {
        return Err(Box::new(refuse(fault, false, turn)));
    }
    let shared = Arc::clone(&turn.shared);
    match threads::guarded(FAULTS, || shared.app.refuses(request)) {
        None => return Err(Box::new(refuse(Fault::Panicked, false, turn))),
        Some(Some(answer)) => {
            // the body that follows is no request
            let terms = ReplyTerms::of(request, &HeadFacts { keep_alive: false, ..*facts }, &shared.limits);
            return Err(Box::new(deliver(open(Answered::Now(answer), &mut turn.piece), terms, turn)));
        }
        Some(None) => {}
    }
    let length = usize::try_from(facts.body).unwrap_or(usize::MAX);
    let body = ReceivedBody::begin(length, &shared.body_bytes, shared.limits.bodies_bytes);
    body.map(IncomingBody::Kept).ok_or_else(|| Box::new(refuse(Fault::TooManyBodies, false, turn)))
}

/// Answers a request, or begins to: what can go out at once is in `turn.out`.
pub(super) fn reply<A: App>(
    request: &Request<'_>,
    facts: &HeadFacts,
    body: IncomingBody,
    turn: &mut Turn<A>,
) -> Remainder {
    // hosts and origins come first: a page of another site learns nothing, not even from the cache
    if let Some(fault) = turn.shared.boundary.fault(request) {
        return refuse(fault, request.method() == Method::Head, turn);
    }
    let terms = ReplyTerms::of(request, facts, &turn.shared.limits);
    // a cache hit does not parse the query
    if matches!(body, IncomingBody::Dropped(_))
        && let Some(opened) = find_kept(&terms, turn)
    {
        return deliver(opened, terms, turn);
    }
    let (shared, piece) = (&turn.shared, &mut turn.piece);
    let ask = || {
        faults::here("http.answer");
        match body {
            IncomingBody::Dropped(_) => shared.app.answer(request),
            IncomingBody::Kept(body) => shared.app.take(request, body),
        }
    };
    match threads::guarded(FAULTS, || open(ask(), piece)) {
        Some(opened) => deliver(opened, terms, turn),
        None => refuse(Fault::Panicked, terms.head_only, turn),
    }
}

/// Writes the server's own answer to what is no request, or one that it does not take.
pub(super) fn refuse<A: App>(fault: Fault, head_only: bool, turn: &mut Turn<A>) -> Remainder {
    let (head, body) = Answer::of_fault(fault).into_parts();
    let text = if let Body::Full(text) = body { text } else { Vec::new() };
    let delivery = Delivery::whole(text.len(), false, false);
    send(ReadyReply { head, delivery, body: ReadyBody::Whole(text) }, head_only, turn.now, turn)
}

/// Returns the body that is kept for a request.
fn find_kept<A: App>(terms: &ReplyTerms, turn: &Turn<A>) -> Option<Opened> {
    let shared = &turn.shared;
    let body = shared.cache.find(&terms.target, &terms.conditions, shared.app.edition(), turn.now)?;
    shared.metrics.hit();
    Some(Opened::Shared(body))
}

/// Fills the first piece of an answer that is there.
fn open(answered: Answered, piece: &mut Vec<u8>) -> Opened {
    let answer = match answered {
        Answered::Now(answer) => answer,
        Answered::Heavy(make) => return Opened::Pending(Maker::App(Some(make))),
    };
    let edition = answer.edition;
    let (head, body) = answer.into_parts();
    match body {
        Body::Full(first) => Opened::Begun(Begun { head, edition, first, rest: None }),
        Body::Stream(mut stream) => {
            piece.clear();
            // one that breaks off here says so again where it goes on
            let rest = (stream.fill(piece) != Progress::Done).then_some(stream);
            Opened::Begun(Begun { head, edition, first: std::mem::take(piece), rest })
        }
        Body::Awaited(awaited) => Opened::Pending(Maker::Elsewhere(awaited)),
    }
}

/// Sends what has been made, or waits for what has not.
fn deliver<A: App>(opened: Opened, terms: ReplyTerms, turn: &mut Turn<A>) -> Remainder {
    let made = match opened {
        Opened::Begun(begun) => match share(begun, &terms, turn) {
            Ok(body) => of_shared(body, &terms, turn),
            Err(begun) => Ok(of_begun(begun, &terms, turn)),
        },
        Opened::Shared(body) => of_shared(body, &terms, turn),
        Opened::Pending(maker) => Err(maker),
        Opened::Broken => return refuse(Fault::Panicked, terms.head_only, turn),
    };
    match made {
        Ok(reply) => send(reply, terms.head_only, terms.started, turn),
        Err(maker) => {
            let keep_alive = terms.keep_alive;
            Remainder { in_flight: None, waiting: Some(Waiting { maker, terms }), keep_alive }
        }
    }
}

/// Keeps a body that is worth it; gives back one that is not.
fn share<A: App>(begun: Begun, terms: &ReplyTerms, turn: &mut Turn<A>) -> Result<Arc<SharedBody>, Begun> {
    let (cache, now) = (&turn.shared.cache, turn.now);
    // an error is small and may be gone at the next request
    let Some(edition) = begun.edition.filter(|_| begun.head.status == 200) else { return Err(begun) };
    let most = begun.rest.as_ref().map_or(Some(begun.first.len()), |rest| rest.most_bytes());
    let Some(most) = most.filter(|&most| cache.wants(&terms.target, &terms.conditions, most, now)) else {
        return Err(begun);
    };
    let Begun { head, first, rest, .. } = begun;
    let rendered = Rendered::new(&first, rest, most);
    let body = cache.keep(&terms.target, &terms.conditions, head, edition, rendered, now);
    turn.lend(first);
    Ok(body)
}

/// The reply with a body that nobody else will have.
fn of_begun<A: App>(begun: Begun, terms: &ReplyTerms, turn: &Turn<A>) -> ReadyReply {
    let Begun { head, edition, mut first, rest } = begun;
    let etag = edition.map(|edition| turn.shared.cache.etag(&terms.target, edition));
    if let Some(etag) = etag.filter(|&etag| has(terms, etag)) {
        return not_modified(head, etag, terms);
    }
    // caches in between must know that the body depends on Accept-Encoding even where this client got it plain
    // an event must not wait within an encoder
    let varies = head.status == 200
        && !head.content_type.starts_with(EVENTS)
        && (rest.is_some() || first.len() >= turn.shared.limits.gzip_bytes);
    let mut gzip = take_gzip(varies, terms, turn);
    let zipped = gzip.is_some();
    // compressing takes time that other connections of the small reactor would wait for
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
    let body = if streamed {
        ReadyBody::Stream(Sending::Made(Box::new(Outgoing::new(first, rest, gzip, framing))))
    } else {
        ReadyBody::Whole(first)
    };
    ReadyReply { head, delivery, body }
}

/// The reply with a body that others may have, too, or with the part of it that is wanted.
///
/// # Errors
/// What makes the rest of the body, where its length must be known first.
fn of_shared<A: App>(body: Arc<SharedBody>, terms: &ReplyTerms, turn: &Turn<A>) -> Result<ReadyReply, Maker> {
    if has(terms, body.etag) {
        return Ok(not_modified(body.head.clone(), body.etag, terms));
    }
    let (length, wanted) = (body.length(), terms.conditions.part_of(&body.etag.text(false)));
    // a length or a range can only be stated of a body that is rendered to its end
    if length.is_none() && (terms.head_only || wanted.is_some()) {
        return Err(Maker::Here(body));
    }
    let part = wanted.zip(length).map(|(wanted, length)| (wanted.of(length), length));
    let (status, bytes) = match &part {
        None => (body.head.status, Some(0..length.unwrap_or(usize::MAX))),
        Some((Some(bytes), _)) => (206, Some(bytes.clone())),
        Some((None, _)) => (416, None),
    };
    let bytes = bytes.unwrap_or(0..0);
    // ranges are of the plain body: a compressed part would not join the parts that a reader has
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
    let (head, is_short) = (Head { status, ..body.head.clone() }, bytes.len() <= PIECE_BYTES);
    let reader = BodyReader::part(body, bytes);
    let body = match framing {
        // what fits into one piece goes out with its head in one write
        Framing::Length(_) if is_short => ReadyBody::Part(reader),
        Framing::Length(_) => ReadyBody::Stream(Sending::Kept(reader)),
        _ => {
            let outgoing = Outgoing::new(Vec::new(), Some(Box::new(reader)), gzip, framing);
            ReadyBody::Stream(Sending::Made(Box::new(outgoing)))
        }
    };
    Ok(ReadyReply { head, delivery, body })
}

/// The reply to a client that has this version.
fn not_modified(head: Head, etag: ETag, terms: &ReplyTerms) -> ReadyReply {
    let whole = Delivery::whole(0, terms.keep_alive, terms.http10);
    let delivery = Delivery { framing: Framing::None, varies: true, etag: Some(etag.text(false)), ..whole };
    ReadyReply { head: Head { status: 304, ..head }, delivery, body: ReadyBody::Empty }
}

/// Writes the head of a reply, which nothing else does, and its body where that does not stream. Counts the answer; one
/// that streams is counted when its body has been sent.
fn send<A: App>(reply: ReadyReply, head_only: bool, started: Instant, turn: &mut Turn<A>) -> Remainder {
    let ReadyReply { head: Head { route, status, content_type, .. }, ref delivery, .. } = reply;
    let is_endless = content_type.starts_with(EVENTS);
    let (before, keep_alive) = (turn.out.len(), delivery.keep_alive);
    write_head(&mut turn.out, &reply.head, delivery, turn.date.as_str());
    let mut streamed = None;
    match reply.body {
        // the head of a HEAD request is that of GET, with the same framing
        ReadyBody::Stream(body) if !head_only => streamed = Some(body),
        ReadyBody::Empty | ReadyBody::Stream(_) => {}
        ReadyBody::Whole(text) => {
            if !head_only {
                turn.out.extend_from_slice(&text);
            }
            turn.lend(text);
        }
        ReadyBody::Part(mut reader) => while !head_only && reader.fill(&mut turn.out) == Progress::More {},
    }
    let bytes = turn.out.len() - before;
    let in_flight = streamed.map(|body| InFlight { body, route, status, bytes, started, is_endless });
    // an answer counts when its last byte is written, so that durations include slow readers
    if in_flight.is_none() {
        count(turn, route, status, bytes, started);
    }
    Remainder { in_flight, waiting: None, keep_alive }
}

/// True if the client has a version, compressed or not.
fn has(terms: &ReplyTerms, etag: ETag) -> bool {
    // few ask, and a text for each answer would be for them alone
    terms.conditions.names_versions()
        && (terms.conditions.has(&etag.text(false)) || terms.conditions.has(&etag.text(true)))
}

fn take_gzip<A: App>(varies: bool, terms: &ReplyTerms, turn: &Turn<A>) -> Option<Compressor> {
    if varies && terms.takes_gzip { Compressor::take_place(&turn.shared.gzip_places) } else { None }
}

fn count<A: App>(turn: &Turn<A>, route: &str, status: u16, bytes: usize, started: Instant) {
    let took = started.elapsed();
    tracing::debug!(target: "greeksd::http", route, status, bytes, micros = took.as_micros(), "answered");
    turn.shared.metrics.answered(route, status, u64::try_from(bytes).unwrap_or(u64::MAX), took);
}
