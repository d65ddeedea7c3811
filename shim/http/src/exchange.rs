//! Answers one request: calls the app, chooses the framing of the body, and writes the head.
//!
//! The head is written after everything that can fail: the first piece of a streamed body is made before it. The rest
//! is sent chunk by chunk by a bulk reactor. Never: a path.

use super::body::{IncomingBody, ReceivedBody};
use super::cache::{BodyReader, ETag, Rendered, SharedBody, Target};
use super::conditional::Conditions;
use super::context::ReactorContext;
use super::framing::{Compressor, Framing, Outgoing, Progress, Stream};
use super::limits::{Limits, PIECE_BYTES};
use super::request::{Fault, HeadFacts, Method, Request};
use super::response::{
    Answer, Answered, App, Awaited, Body, Delivery, Head, HeavyAnswer, write_head, write_socket_head,
};
use super::socket::{SocketBody, SocketTurn, Talk};
use host::{faults, threads};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Name under which panics of answers are counted; they cost the answer, and no thread.
const FAULTS: &str = "http";
/// Content type of server-sent events: never compressed, without a time limit.
const EVENTS: &str = "text/event-stream";
/// Maximum length of a body that the small reactor compresses itself (about 0.1 ms); a longer one goes to a bulk
/// reactor.
const GZIP_AT_ONCE: usize = 8 * 1024;

/// State of a reply after its request was handled.
pub(super) struct ReplyState {
    /// The rest of the body, if it was not written with the head.
    pub(super) in_flight: Option<InFlight>,
    /// The answer, if it is still being made.
    pub(super) waiting: Option<Waiting>,
    /// True if the connection stays open.
    pub(super) keep_alive: bool,
}

/// The parts of a request that the delivery of its answer needs.
#[derive(Clone, Debug)]
struct ReplyTerms {
    target: Target,
    conditions: Conditions,
    head_only: bool,
    takes_gzip: bool,
    http10: bool,
    keep_alive: bool,
    /// The key of a request for a WebSocket.
    socket_key: Option<String>,
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
            socket_key: request.socket_key().map(str::to_owned),
            started: Instant::now(),
        }
    }
}

/// A request whose answer is being made.
pub(super) struct Waiting {
    producer: Producer,
    terms: ReplyTerms,
}

/// Producer of a pending answer.
enum Producer {
    /// Another thread.
    Elsewhere(Box<dyn Awaited>),
    /// The app, on a bulk reactor.
    App(Option<HeavyAnswer>),
    /// The reactor renders the shared body, whose length must be known first.
    Here(Arc<SharedBody>),
}

/// There is no answer yet; when to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotYet {
    /// After the other connections.
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
    /// Time of the request.
    pub(super) fn started(&self) -> Instant {
        self.terms.started
    }

    /// Checks for the answer, and writes its head, and its body if that is short, to `context.out`.
    pub(super) fn look<A: App>(&mut self, context: &mut ReactorContext<A>) -> Result<ReplyState, NotYet> {
        // another connection may have made the same answer while this one waited
        if matches!(self.producer, Producer::App(_))
            && let Some(kept) = find_cached(&self.terms, context)
        {
            return Ok(deliver(kept, self.terms.clone(), context));
        }
        let (producer, piece) = (&mut self.producer, &mut context.piece);
        let looked = threads::guarded(FAULTS, || match producer {
            Producer::Elsewhere(awaited) => {
                awaited.look().map(|answer| open(Answered::Now(answer), piece)).ok_or(NotYet::Later)
            }
            Producer::App(make) => {
                Ok(make.take().map_or(StartedAnswer::Broken, |make| open(Answered::Now(make()), piece)))
            }
            Producer::Here(body) => match body.render(piece) {
                Progress::Done => Ok(StartedAnswer::Shared(Arc::clone(body))),
                Progress::More => Err(NotYet::Again),
                Progress::Later => Err(NotYet::Later),
                Progress::Broken => Ok(StartedAnswer::Broken),
            },
        });
        match looked {
            Some(opened) => Ok(deliver(opened?, self.terms.clone(), context)),
            None => Ok(refuse(Fault::Panicked, self.terms.head_only, context)),
        }
    }
}

/// A body that is being sent, and the facts to count at its end.
#[derive(Debug)]
pub(super) struct InFlight {
    body: BodySource,
    route: &'static str,
    status: u16,
    bytes: usize,
    started: Instant,
    /// True for server-sent events and sockets, which have no end of their own.
    is_endless: bool,
}

/// Source of the bytes of a body.
#[derive(Debug)]
enum BodySource {
    /// Bytes that are made or framed while they are sent.
    Made(Box<Outgoing>),
    /// Bytes of a complete shared body.
    Kept(BodyReader),
    /// Frames of a WebSocket.
    Socket(Box<SocketBody>),
}

impl InFlight {
    /// The reader of a complete shared body, which is sent without copying.
    pub(super) fn kept(&mut self) -> Option<&mut BodyReader> {
        match &mut self.body {
            BodySource::Made(_) | BodySource::Socket(_) => None,
            BodySource::Kept(reader) => Some(reader),
        }
    }

    /// The WebSocket, if it is one.
    pub(super) fn socket(&self) -> Option<&SocketBody> {
        match &self.body {
            BodySource::Made(_) | BodySource::Kept(_) => None,
            BodySource::Socket(socket) => Some(socket),
        }
    }

    /// Counts sent bytes of a shared body.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// Appends the next piece to `context.out`; `None` if the stream broke off or panicked. A socket takes what was
    /// `received`.
    pub(super) fn next<A: App>(&mut self, received: &[u8], context: &mut ReactorContext<A>) -> Option<Progress> {
        let (now, is_stopping, patience) = (context.now, context.stopping, context.shared.limits.idle);
        let (out, piece) = (&mut context.out, &mut context.piece);
        let before = out.len();
        let progress = threads::guarded(FAULTS, || match &mut self.body {
            BodySource::Made(body) => {
                faults::here("http.stream");
                body.next(out, piece)
            }
            BodySource::Kept(reader) => reader.fill(out),
            BodySource::Socket(socket) => socket.next(SocketTurn { received, now, patience, is_stopping }, out, piece),
        });
        let progress = match (progress, &mut self.body) {
            (None, BodySource::Socket(socket)) => {
                socket.fail(out);
                Progress::Done
            }
            (progress, _) => progress?,
        };
        self.bytes += context.out.len() - before;
        (progress != Progress::Broken).then_some(progress)
    }

    /// Bytes of memory, without shared bodies.
    pub(super) fn bytes(&self) -> usize {
        match &self.body {
            BodySource::Made(body) => size_of::<Outgoing>() + body.bytes(),
            BodySource::Kept(reader) => reader.own_bytes(),
            BodySource::Socket(socket) => socket.bytes(),
        }
    }

    /// True if the body has no end of its own.
    pub(super) fn is_endless(&self) -> bool {
        self.is_endless
    }

    /// Time of the request.
    pub(super) fn started(&self) -> Instant {
        self.started
    }

    /// Counts the answer in metrics.
    pub(super) fn count<A: App>(&self, context: &ReactorContext<A>) {
        count(context, self.route, self.status, self.bytes, self.started);
    }
}

/// An answer before its delivery is decided; [`ReadyReply`] is the next state.
enum StartedAnswer {
    /// The first piece of the body is made.
    Started(StartedBody),
    /// The body is a shared one.
    Shared(Arc<SharedBody>),
    /// A WebSocket opens.
    Socket(Head, Box<dyn Talk>),
    /// The answer is still to be made.
    Pending(Producer),
    /// The body broke off.
    Broken,
}

/// The first piece of a body, and the stream of the rest.
struct StartedBody {
    head: Head,
    edition: Option<u64>,
    first: Vec<u8>,
    rest: Option<Box<dyn Stream>>,
}

/// An answer that is ready to be sent.
struct ReadyReply {
    head: Head,
    delivery: Delivery,
    body: ReadyBody,
}

/// The bytes behind a head.
enum ReadyBody {
    /// No body.
    Empty,
    /// The whole body.
    Whole(Vec<u8>),
    /// Bytes of a shared body that fit into one piece.
    Part(BodyReader),
    /// A body that is sent piece by piece.
    Stream(BodySource),
}

/// Decides by the head of a request whether its body is kept or skipped. Host, origin, path and room are checked before
/// the first byte.
///
/// # Errors
/// The refusal of the request, which ends the connection.
pub(super) fn admit<A: App>(
    request: &Request<'_>,
    facts: &HeadFacts,
    context: &mut ReactorContext<A>,
) -> Result<IncomingBody, Box<ReplyState>> {
    if request.method() != Method::Put {
        return Ok(IncomingBody::Skipped(facts.body));
    }
    if let Some(fault) = context.shared.boundary.fault(request) {
        return Err(Box::new(refuse(fault, false, context)));
    }
    let shared = Arc::clone(&context.shared);
    match threads::guarded(FAULTS, || shared.app.refuses(request)) {
        None => return Err(Box::new(refuse(Fault::Panicked, false, context))),
        Some(Some(answer)) => {
            // the body that follows must not be parsed as a request
            let terms = ReplyTerms::of(request, &HeadFacts { keep_alive: false, ..*facts }, &shared.limits);
            return Err(Box::new(deliver(open(Answered::Now(answer), &mut context.piece), terms, context)));
        }
        Some(None) => {}
    }
    let length = usize::try_from(facts.body).unwrap_or(usize::MAX);
    let body = ReceivedBody::begin(length, &shared.body_bytes, shared.limits.bodies_bytes);
    body.map(IncomingBody::Kept).ok_or_else(|| Box::new(refuse(Fault::TooManyBodies, false, context)))
}

/// Answers a request, or begins to: the first bytes are in `context.out`.
pub(super) fn reply<A: App>(
    request: &Request<'_>,
    facts: &HeadFacts,
    body: IncomingBody,
    context: &mut ReactorContext<A>,
) -> ReplyState {
    // host and origin are checked first: a page of another site must learn nothing, not even from the cache
    if let Some(fault) = context.shared.boundary.fault(request) {
        return refuse(fault, request.method() == Method::Head, context);
    }
    let terms = ReplyTerms::of(request, facts, &context.shared.limits);
    // a cache hit does not parse the query
    if matches!(body, IncomingBody::Skipped(_))
        && let Some(opened) = find_cached(&terms, context)
    {
        return deliver(opened, terms, context);
    }
    let (shared, piece) = (&context.shared, &mut context.piece);
    let ask = || {
        faults::here("http.answer");
        match body {
            IncomingBody::Skipped(_) => shared.app.answer(request),
            IncomingBody::Kept(body) => shared.app.take(request, body),
        }
    };
    match threads::guarded(FAULTS, || open(ask(), piece)) {
        Some(opened) => deliver(opened, terms, context),
        None => refuse(Fault::Panicked, terms.head_only, context),
    }
}

/// Writes the server's own answer to a malformed or refused request.
pub(super) fn refuse<A: App>(fault: Fault, head_only: bool, context: &mut ReactorContext<A>) -> ReplyState {
    let (head, body) = Answer::of_fault(fault).into_parts();
    let text = if let Body::Full(text) = body { text } else { Vec::new() };
    let delivery = Delivery::whole(text.len(), false, false);
    send(ReadyReply { head, delivery, body: ReadyBody::Whole(text) }, head_only, context.now, context)
}

/// The cached body for a request.
fn find_cached<A: App>(terms: &ReplyTerms, context: &ReactorContext<A>) -> Option<StartedAnswer> {
    let shared = &context.shared;
    let body = shared.cache.find(&terms.target, &terms.conditions, shared.app.edition(), context.now)?;
    shared.metrics.cache_hit();
    Some(StartedAnswer::Shared(body))
}

/// Makes the first piece of an answer.
fn open(answered: Answered, piece: &mut Vec<u8>) -> StartedAnswer {
    let answer = match answered {
        Answered::Now(answer) => answer,
        Answered::Heavy(make) => return StartedAnswer::Pending(Producer::App(Some(make))),
    };
    let edition = answer.edition;
    let (head, body) = answer.into_parts();
    match body {
        Body::Full(first) => StartedAnswer::Started(StartedBody { head, edition, first, rest: None }),
        Body::Stream(mut stream) => {
            piece.clear();
            // a stream that breaks off here reports it again at the next call
            let rest = (stream.fill(piece) != Progress::Done).then_some(stream);
            StartedAnswer::Started(StartedBody { head, edition, first: std::mem::take(piece), rest })
        }
        Body::Awaited(awaited) => StartedAnswer::Pending(Producer::Elsewhere(awaited)),
        Body::Socket(talk) => StartedAnswer::Socket(head, talk),
    }
}

/// Sends an answer that is made, or waits for one that is not.
fn deliver<A: App>(opened: StartedAnswer, terms: ReplyTerms, context: &mut ReactorContext<A>) -> ReplyState {
    let made = match opened {
        StartedAnswer::Started(begun) => match share(begun, &terms, context) {
            Ok(body) => of_shared(body, &terms, context),
            Err(begun) if has_no_room(&begun, context) => {
                return refuse(Fault::TooManyUnread, terms.head_only, context);
            }
            Err(begun) => Ok(of_begun(begun, &terms, context)),
        },
        StartedAnswer::Shared(body) => of_shared(body, &terms, context),
        StartedAnswer::Socket(head, talk) => return open_socket(&head, talk, &terms, context),
        StartedAnswer::Pending(producer) => Err(producer),
        StartedAnswer::Broken => return refuse(Fault::Panicked, terms.head_only, context),
    };
    match made {
        Ok(reply) => send(reply, terms.head_only, terms.started, context),
        Err(producer) => {
            let keep_alive = terms.keep_alive;
            ReplyState { in_flight: None, waiting: Some(Waiting { producer, terms }), keep_alive }
        }
    }
}

/// True for a long body that was made whole, or holds what it is made of, while the clients of others leave too much
/// unread.
fn has_no_room<A: App>(begun: &StartedBody, context: &ReactorContext<A>) -> bool {
    let held = begun.rest.as_ref().map_or(begun.first.len(), |rest| rest.held_bytes());
    let is_long = held > PIECE_BYTES;
    is_long && context.shared.metrics.connection_bytes() > context.shared.limits.unread_bytes
}

/// Opens a WebSocket; the connection serves no further request.
fn open_socket<A: App>(
    head: &Head,
    talk: Box<dyn Talk>,
    terms: &ReplyTerms,
    context: &mut ReactorContext<A>,
) -> ReplyState {
    // an app opens a socket only for those who ask for one
    let Some(key) = &terms.socket_key else { return refuse(Fault::Panicked, terms.head_only, context) };
    let before = context.out.len();
    write_socket_head(&mut context.out, head, key, context.date.as_str());
    // a subscription is as long as a query at most
    let socket = SocketBody::new(talk, context.shared.limits.head_bytes, context.now);
    let in_flight = InFlight {
        body: BodySource::Socket(Box::new(socket)),
        route: head.route,
        status: head.status,
        bytes: context.out.len() - before,
        started: terms.started,
        is_endless: true,
    };
    ReplyState { in_flight: Some(in_flight), waiting: None, keep_alive: false }
}

/// Puts a body into the cache if it should be kept; the error gives it back.
fn share<A: App>(
    begun: StartedBody,
    terms: &ReplyTerms,
    context: &mut ReactorContext<A>,
) -> Result<Arc<SharedBody>, StartedBody> {
    let (cache, now) = (&context.shared.cache, context.now);
    // errors are small, and may be gone at the next request
    let Some(edition) = begun.edition.filter(|_| begun.head.status == 200) else { return Err(begun) };
    let most = begun.rest.as_ref().map_or(Some(begun.first.len()), |rest| rest.most_bytes());
    let Some(most) = most.filter(|&most| cache.should_keep(&terms.target, &terms.conditions, most, now)) else {
        return Err(begun);
    };
    let StartedBody { head, first, rest, .. } = begun;
    let rendered = Rendered::new(&first, rest, most);
    let body = cache.keep(&terms.target, &terms.conditions, head, edition, rendered, now);
    context.reclaim(first);
    Ok(body)
}

/// The reply with a body of its own.
fn of_begun<A: App>(begun: StartedBody, terms: &ReplyTerms, context: &ReactorContext<A>) -> ReadyReply {
    let StartedBody { head, edition, mut first, rest } = begun;
    let etag = edition.map(|edition| context.shared.cache.etag(&terms.target, edition));
    if let Some(etag) = etag.filter(|&etag| has(terms, etag)) {
        return not_modified(head, etag, terms);
    }
    // proxies must know that the body depends on Accept-Encoding, even if this client gets it uncompressed; events are
    // excluded, since they must not wait in an encoder
    let varies = head.status == 200
        && !head.content_type.starts_with(EVENTS)
        && (rest.is_some() || first.len() >= context.shared.limits.gzip_bytes);
    let mut gzip = take_gzip(varies, terms, context);
    let zipped = gzip.is_some();
    // other connections of the small reactor would wait for a long compression
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
        ReadyBody::Stream(BodySource::Made(Box::new(Outgoing::new(first, rest, gzip, framing))))
    } else {
        ReadyBody::Whole(first)
    };
    ReadyReply { head, delivery, body }
}

/// The reply with a shared body, or with the requested part of it.
///
/// # Errors
/// The producer of the rest of the body, if its length must be known first.
fn of_shared<A: App>(
    body: Arc<SharedBody>,
    terms: &ReplyTerms,
    context: &ReactorContext<A>,
) -> Result<ReadyReply, Producer> {
    if has(terms, body.etag) {
        return Ok(not_modified(body.head.clone(), body.etag, terms));
    }
    let (length, wanted) = (body.length(), terms.conditions.part_of(&body.etag.text(false)));
    // the length and ranges are known only of a complete body
    if length.is_none() && (terms.head_only || wanted.is_some()) {
        return Err(Producer::Here(body));
    }
    let part = wanted.zip(length).map(|(wanted, length)| (wanted.of(length), length));
    let (status, bytes) = match &part {
        None => (body.head.status, Some(0..length.unwrap_or(usize::MAX))),
        Some((Some(bytes), _)) => (206, Some(bytes.clone())),
        Some((None, _)) => (416, None),
    };
    let bytes = bytes.unwrap_or(0..0);
    // ranges refer to the uncompressed body: a compressed part would not fit the reader's other parts
    let varies = part.is_none() && !terms.head_only && bytes.len() >= context.shared.limits.gzip_bytes;
    let gzip = take_gzip(varies, terms, context);
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
        // a body of one piece is written together with its head
        Framing::Length(_) if is_short => ReadyBody::Part(reader),
        Framing::Length(_) => ReadyBody::Stream(BodySource::Kept(reader)),
        _ => {
            let outgoing = Outgoing::new(Vec::new(), Some(Box::new(reader)), gzip, framing);
            ReadyBody::Stream(BodySource::Made(Box::new(outgoing)))
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

/// Writes the head of a reply, and its body unless that is streamed. Counts the answer; a streamed one is counted when
/// its body has been sent.
fn send<A: App>(reply: ReadyReply, head_only: bool, started: Instant, context: &mut ReactorContext<A>) -> ReplyState {
    let ReadyReply { head: Head { route, status, content_type, .. }, ref delivery, .. } = reply;
    let is_endless = content_type.starts_with(EVENTS);
    let (before, keep_alive) = (context.out.len(), delivery.keep_alive);
    write_head(&mut context.out, &reply.head, delivery, context.date.as_str());
    let mut streamed = None;
    match reply.body {
        // the head for HEAD equals that for GET, with the same framing
        ReadyBody::Stream(body) if !head_only => streamed = Some(body),
        ReadyBody::Empty | ReadyBody::Stream(_) => {}
        ReadyBody::Whole(text) => {
            if !head_only {
                context.out.extend_from_slice(&text);
            }
            context.reclaim(text);
        }
        ReadyBody::Part(mut reader) => while !head_only && reader.fill(&mut context.out) == Progress::More {},
    }
    let bytes = context.out.len() - before;
    let in_flight = streamed.map(|body| InFlight { body, route, status, bytes, started, is_endless });
    // counted when the last byte is written, so that durations include slow readers
    if in_flight.is_none() {
        count(context, route, status, bytes, started);
    }
    ReplyState { in_flight, waiting: None, keep_alive }
}

/// True if the client has a version, compressed or not.
fn has(terms: &ReplyTerms, etag: ETag) -> bool {
    // the texts of tags are made only for the few requests that name versions
    terms.conditions.names_versions()
        && (terms.conditions.has(&etag.text(false)) || terms.conditions.has(&etag.text(true)))
}

fn take_gzip<A: App>(varies: bool, terms: &ReplyTerms, context: &ReactorContext<A>) -> Option<Compressor> {
    if varies && terms.takes_gzip { Compressor::acquire(&context.shared.gzip_permits) } else { None }
}

fn count<A: App>(context: &ReactorContext<A>, route: &str, status: u16, bytes: usize, started: Instant) {
    let took = started.elapsed();
    tracing::debug!(target: "greeksd::http", route, status, bytes, micros = took.as_micros(), "answered");
    context.shared.metrics.answered(route, status, u64::try_from(bytes).unwrap_or(u64::MAX), took);
}
