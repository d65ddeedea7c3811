//! One connection: received bytes, bytes still to send, and the time limits of both.
//!
//! [`Connection::drive`] continues until the socket would block, as an edge-triggered poll requires. While an answer
//! waits to be sent nothing is read, so that a client that does not read its answers cannot queue further ones.

use super::body::IncomingBody;
use super::cache::BodyPiece;
use super::context::ReactorContext;
use super::exchange::{self, InFlight, NotYet, ReplyState, Waiting};
use super::framing::Progress;
use super::limits::{HEADERS, Limits, PIECE_BYTES};
use super::metrics::{Metrics, OpenConnection};
use super::request::{Fault, parse};
use super::response::App;
use super::socket::SocketBody;
use mio::net::TcpStream;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of reads and answers of a connection before the others get their turn.
const STEPS_PER_TURN: usize = 32;

/// Time for which a connection lingers while the server stops.
const LINGER_STOPPING: Duration = Duration::from_millis(200);

/// Next step of the reactor for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Wait until the socket is ready.
    Wait,
    /// Drive it again after the others.
    Again,
    /// Drive it again in a moment: its answer is being made.
    Later,
    /// Hand it to a reactor of the other kind.
    Move,
    /// Drop it.
    Close,
}

/// Event that a connection waits for; each phase has its own deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first byte of a request.
    Idle,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
    /// The answer, which is being made elsewhere.
    Answer,
    /// The client, which has not read the answer.
    Write,
    /// The close by the client: a socket closed with unread input is reset, and may lose the last answer.
    Linger,
}

/// The client has disconnected, or its stream broke.
struct Disconnected;

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    socket: TcpStream,
    peer: SocketAddr,
    inbox: Vec<u8>,
    /// Bytes of `inbox` that were searched for the end of a head.
    searched: usize,
    /// Length of `inbox` at which it is parsed even without the end of a head, to refuse malformed input early.
    parse_at: usize,
    /// The incomplete body of the current request; `inbox` begins with its head.
    body: Option<IncomingBody>,
    unsent: Vec<u8>,
    sent: usize,
    in_flight: Option<InFlight>,
    waiting: Option<Waiting>,
    /// True if no further request is answered.
    last: bool,
    /// True if the client sends no more.
    hung_up: bool,
    /// True if the socket may have input that was not read.
    has_input: bool,
    phase: Phase,
    deadline: Instant,
    /// Bytes of the answer that the client has read since the deadline was last moved.
    taken: usize,
    open: OpenConnection,
}

impl Connection {
    /// A new connection.
    pub(super) fn new(socket: TcpStream, peer: SocketAddr, metrics: &Arc<Metrics>, limits: &Limits) -> Self {
        // without it an answer in two parts waits for the client's delayed acknowledgement; a failure only costs time
        let _ = socket.set_nodelay(true);
        Self {
            socket,
            peer,
            inbox: Vec::new(),
            searched: 0,
            parse_at: 0,
            body: None,
            unsent: Vec::new(),
            sent: 0,
            in_flight: None,
            waiting: None,
            last: false,
            hung_up: false,
            has_input: true,
            phase: Phase::Idle,
            deadline: Instant::now() + limits.idle,
            taken: 0,
            open: metrics.opened(),
        }
    }

    /// The socket, for the poll.
    pub(super) fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Notes that the socket has input.
    pub(super) fn note_input(&mut self) {
        self.has_input = true;
    }

    /// Notes that the client sends no more: an answer that is still being made is given up.
    pub(super) fn hang_up(&mut self) {
        self.hung_up = true;
    }

    /// Deadline of an idle connection; `None`: it is not idle.
    pub(super) fn idle_until(&self) -> Option<Instant> {
        (self.phase == Phase::Idle && self.unsent.is_empty()).then_some(self.deadline)
    }

    /// True if it sends a stream, which has no end.
    pub(super) fn is_endless(&self) -> bool {
        self.in_flight.as_ref().is_some_and(InFlight::is_endless)
    }

    /// Does everything that is possible now, and reports the bytes that it holds.
    pub(super) fn drive<A: App>(&mut self, context: &mut ReactorContext<A>) -> Verdict {
        let verdict = self.advance(context);
        self.open.set_bytes(self.bytes());
        verdict
    }

    /// Bytes of memory, without shared bodies.
    fn bytes(&self) -> usize {
        let in_flight = self.in_flight.as_ref().map_or(0, InFlight::bytes);
        let body = self.body.as_ref().map_or(0, IncomingBody::bytes);
        size_of::<Self>() + body + self.inbox.capacity() + self.unsent.capacity() + in_flight
    }

    fn advance<A: App>(&mut self, context: &mut ReactorContext<A>) -> Verdict {
        for _ in 0..STEPS_PER_TURN {
            match self.step(context) {
                Ok(None) => {}
                Ok(Some(verdict)) => return verdict,
                Err(Disconnected) => return Verdict::Close,
            }
        }
        Verdict::Again
    }

    /// Checks the deadline.
    pub(super) fn sweep<A: App>(&mut self, context: &mut ReactorContext<A>) -> Verdict {
        let answer = context.shared.limits.answer;
        let started = self.in_flight.as_ref().filter(|body| !body.is_endless()).map(InFlight::started);
        let started = started.or(self.waiting.as_ref().map(Waiting::started));
        let is_overdue = started.is_some_and(|started| context.now >= started + answer);
        // a client that reads a few bytes at a time moves its deadline: the whole answer has a limit, too
        if context.now < self.deadline && !is_overdue {
            return Verdict::Wait;
        }
        // only a request that was begun gets a status; an idle connection is closed silently, as usual in HTTP
        if !matches!(self.phase, Phase::Head | Phase::Body) {
            return Verdict::Close;
        }
        context.out.clear();
        self.refuse(Fault::Timeout, context);
        if self.send(context).is_err() { Verdict::Close } else { self.drive(context) }
    }

    /// One step; `None`: another may follow.
    fn step<A: App>(&mut self, context: &mut ReactorContext<A>) -> Result<Option<Verdict>, Disconnected> {
        // long answers are sent by the bulk reactors, so that small ones never queue behind them
        if (self.in_flight.is_some() || self.waiting.is_some()) && !context.bulk {
            return Ok(Some(Verdict::Move));
        }
        if !self.flush(context)? {
            return Ok(Some(Verdict::Wait));
        }
        if self.in_flight.is_some() {
            return self.send_piece(context).map(Some);
        }
        if let Some(waiting) = &mut self.waiting {
            context.out.clear();
            let reply = match waiting.look(context) {
                Ok(reply) => reply,
                Err(NotYet::Again) => return Ok(Some(Verdict::Again)),
                Err(NotYet::Later) if self.hung_up => return Err(Disconnected),
                Err(NotYet::Later) => return Ok(Some(Verdict::Later)),
            };
            self.begin(reply, context);
            self.settle(true, context);
            self.send(context)?;
            return Ok(None);
        }
        if self.phase == Phase::Linger {
            // the last answer is sent: with unread input the close would be a reset, which may discard that answer
            return self.drain(context);
        }
        if self.last {
            self.linger(context);
            return Ok(None);
        }
        if context.stopping {
            return Ok(Some(Verdict::Close));
        }
        // the long answer is done: the next request counts as small until it is parsed
        if context.bulk {
            return Ok(Some(Verdict::Move));
        }
        if self.answer(context)? {
            return Ok(None);
        }
        self.receive(context)
    }

    /// Reads once from the socket.
    fn receive<A: App>(&mut self, context: &mut ReactorContext<A>) -> Result<Option<Verdict>, Disconnected> {
        let Some(n) = read_some(&mut self.socket, &mut context.input)? else { return Ok(Some(Verdict::Wait)) };
        let mut received = &context.input[..n];
        if let Some(body) = &mut self.body {
            let n = body.receive(received);
            received = &received[n..];
        }
        self.inbox.extend_from_slice(received);
        Ok(None)
    }

    /// Answers the complete requests in `inbox`; returns true if there were any.
    fn answer<A: App>(&mut self, context: &mut ReactorContext<A>) -> Result<bool, Disconnected> {
        context.out.clear();
        // requests borrow from the buffer while `self` changes
        let inbox = std::mem::take(&mut self.inbox);
        let mut kept = 0..inbox.len();
        let mut answered = false;
        while self.may_hold_head(&inbox[kept.clone()], context.shared.limits.head_bytes) {
            let mut slots = [httparse::EMPTY_HEADER; HEADERS];
            match parse(&inbox[kept.clone()], &mut slots, self.peer, &context.shared.limits) {
                Ok(None) => break,
                Err(fault) => {
                    self.refuse(fault, context);
                    // after a malformed head the start of the next one is unknown
                    (kept, answered) = (0..0, true);
                }
                Ok(Some((request, facts))) => {
                    let behind = &inbox[kept.start + facts.length..kept.end];
                    let (body, taken) = match self.body.take() {
                        // it was begun before, and is complete now
                        Some(body) => (body, 0),
                        None => match exchange::admit(&request, &facts, context) {
                            Ok(mut body) => {
                                let taken = body.receive(behind);
                                (body, taken)
                            }
                            Err(reply) => {
                                self.begin(*reply, context);
                                (kept, answered) = (0..0, true);
                                break;
                            }
                        },
                    };
                    if body.left() > 0 {
                        // a client that sends its body at once does not wait for permission
                        if facts.expects_continue && behind.is_empty() {
                            context.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                        }
                        // the head is parsed again when the body is complete
                        kept.end = kept.start + facts.length;
                        self.body = Some(body);
                        break;
                    }
                    (self.searched, self.parse_at) = (0, 0);
                    let reply = exchange::reply(&request, &facts, body, context);
                    kept.start += facts.length + taken;
                    self.begin(reply, context);
                    answered = true;
                }
            }
            let is_busy = self.in_flight.is_some() || self.waiting.is_some();
            // further pipelined requests wait: answers must not pile up for a client that does not read
            if self.last || is_busy || context.out.len() > context.shared.limits.unsent_bytes {
                break;
            }
        }
        self.keep(inbox, kept);
        self.settle(answered, context);
        if !context.out.is_empty() {
            self.send(context)?;
        }
        Ok(answered)
    }

    /// Takes over an unfinished answer.
    fn begin<A: App>(&mut self, reply: ReplyState, context: &ReactorContext<A>) {
        // a stopping server completes a pending answer, but no further request
        self.last = !reply.keep_alive || (self.waiting.is_some() && context.stopping);
        (self.in_flight, self.waiting) = (reply.in_flight, reply.waiting);
    }

    /// True if a head may be complete, or longer than `most`: input of slow clients is not parsed again for every byte.
    fn may_hold_head(&mut self, received: &[u8], most: usize) -> bool {
        if received.is_empty() || self.body.as_ref().is_some_and(|body| body.left() > 0) {
            return false;
        }
        // the end of a head may be split between two reads: the last three bytes are searched again
        let fresh = &received[self.searched.saturating_sub(3).min(received.len())..];
        let ends = || fresh.windows(2).any(|w| w == b"\n\n") || fresh.windows(3).any(|w| w == b"\n\r\n");
        let parse = received.len() >= self.parse_at || self.body.is_some() || ends();
        self.searched = received.len();
        if parse {
            // doubling bounds the parsed bytes to twice the received ones, however slowly they come
            self.parse_at = (received.len() * 2).min(received.len().max(most) + 1);
        }
        parse
    }

    fn keep(&mut self, mut inbox: Vec<u8>, kept: std::ops::Range<usize>) {
        if kept.is_empty() {
            return; // an idle connection holds no buffer
        }
        inbox.truncate(kept.end);
        inbox.drain(..kept.start);
        self.inbox = inbox;
    }

    /// Sets the next phase; its deadline starts when it is entered, or again after an answer.
    fn settle<A: App>(&mut self, answered: bool, context: &ReactorContext<A>) {
        let (phase, limit) = match (&self.body, self.inbox.is_empty()) {
            _ if self.waiting.is_some() => (Phase::Answer, context.shared.limits.answer),
            (Some(_), _) => (Phase::Body, context.shared.limits.body),
            (None, false) => (Phase::Head, context.shared.limits.head),
            (None, true) => (Phase::Idle, context.shared.limits.idle),
        };
        // if every byte moved the deadline, a client could hold a connection for ever
        if answered || phase != self.phase {
            (self.phase, self.deadline) = (phase, context.now + limit);
        }
    }

    fn refuse<A: App>(&mut self, fault: Fault, context: &mut ReactorContext<A>) {
        self.body = None;
        let reply = exchange::refuse(fault, false, context);
        self.begin(reply, context);
    }

    /// Writes the next piece of the answer in flight.
    fn send_piece<A: App>(&mut self, context: &mut ReactorContext<A>) -> Result<Verdict, Disconnected> {
        let Some(in_flight) = &mut self.in_flight else { return Ok(Verdict::Again) };
        if let Some(reader) = in_flight.kept() {
            let pieces = reader.next_pieces();
            let n = write_pieces(&mut self.socket, &pieces)?;
            let more = reader.skip(n);
            in_flight.sent(n);
            self.note_taken(n, context);
            if !more {
                self.finish(context);
            }
            // a short write means that the socket is full, and an edge-triggered poll reports when it is not; on
            // Windows it reports only after a refused write
            let is_blocked = if cfg!(unix) { n < pieces.iter().map(|piece| piece.len()).sum() } else { n == 0 };
            return Ok(if is_blocked { Verdict::Wait } else { Verdict::Again });
        }
        let socket = in_flight.socket();
        if context.stopping && in_flight.is_endless() && socket.is_none() {
            return Err(Disconnected);
        }
        // behind the head of a socket its first messages may have come
        let mut received = if socket.is_some() { std::mem::take(&mut self.inbox) } else { Vec::new() };
        let reads = self.has_input && received.is_empty() && socket.is_some_and(SocketBody::wants_input);
        if reads {
            let n = read_some(&mut self.socket, &mut context.input)?;
            self.has_input = n.is_some();
            received.extend_from_slice(&context.input[..n.unwrap_or_default()]);
        }
        context.out.clear();
        let progress = in_flight.next(&received, context).ok_or(Disconnected)?;
        self.send(context)?;
        if progress == Progress::Done {
            self.finish(context);
        }
        if progress == Progress::Later && self.unsent.is_empty() {
            // the stream is slow, and not the client
            (self.phase, self.deadline, self.taken) = (Phase::Write, context.now + context.shared.limits.write, 0);
        }
        Ok(match progress {
            _ if !self.unsent.is_empty() => Verdict::Wait,
            Progress::Later if reads && self.has_input => Verdict::Again,
            Progress::Later if self.hung_up => return Err(Disconnected),
            Progress::Later => Verdict::Later,
            _ => Verdict::Again,
        })
    }

    /// Ends the answer in flight, which has been written to the socket or to `unsent`.
    fn finish<A: App>(&mut self, context: &ReactorContext<A>) {
        if let Some(finished) = self.in_flight.take() {
            finished.count(context);
        }
        // a stop may be waiting for this last long answer
        self.last |= context.stopping;
        if self.unsent.is_empty() {
            self.settle(true, context);
        }
    }

    /// Writes `context.out`, and keeps the bytes that the socket does not accept.
    fn send<A: App>(&mut self, context: &mut ReactorContext<A>) -> Result<(), Disconnected> {
        let n = write_some(&mut self.socket, &context.out)?;
        // most small answers are written in one call, and leave no state
        if n < context.out.len() || self.in_flight.is_some() {
            self.unsent.extend_from_slice(&context.out[n..]);
            self.note_taken(n, context);
        }
        // the buffer of a reactor is in no count
        if context.out.capacity() > 4 * PIECE_BYTES {
            context.out = Vec::new();
        }
        Ok(())
    }

    /// Moves the deadline if the client has read enough since the last move.
    fn note_taken<A: App>(&mut self, n: usize, context: &ReactorContext<A>) {
        let limits = &context.shared.limits;
        self.taken += n;
        // progress counts in portions, so that a client cannot keep a connection open with a byte a second
        if self.phase != Phase::Write || self.taken >= limits.write_bytes {
            (self.phase, self.deadline, self.taken) = (Phase::Write, context.now + limits.write, 0);
        }
    }

    /// Sends unsent bytes; returns false while some are left.
    fn flush<A: App>(&mut self, context: &mut ReactorContext<A>) -> Result<bool, Disconnected> {
        if self.unsent.is_empty() {
            return Ok(true);
        }
        let n = write_some(&mut self.socket, &self.unsent[self.sent..])?;
        self.sent += n;
        self.note_taken(n, context);
        if self.sent < self.unsent.len() {
            return Ok(false);
        }
        // the buffer may be large, and an idle connection must hold none
        (self.unsent, self.sent) = (Vec::new(), 0);
        Ok(true)
    }

    /// Shuts down the sending side, and waits for the client to close.
    fn linger<A: App>(&mut self, context: &ReactorContext<A>) {
        // if it fails, the connection is gone, which the next read shows
        let _ = self.socket.shutdown(Shutdown::Write);
        let limit = if context.stopping { LINGER_STOPPING } else { context.shared.limits.linger };
        (self.phase, self.deadline) = (Phase::Linger, context.now + limit);
        self.inbox = Vec::new();
    }

    /// Reads and drops input until the client closes or the deadline passes.
    fn drain<A: App>(&mut self, context: &mut ReactorContext<A>) -> Result<Option<Verdict>, Disconnected> {
        if context.now >= self.deadline {
            return Ok(Some(Verdict::Close));
        }
        Ok(read_some(&mut self.socket, &mut context.input)?.is_none().then_some(Verdict::Wait))
    }
}

/// Reads once; `None` if there is no input yet.
fn read_some(socket: &mut TcpStream, buffer: &mut [u8]) -> Result<Option<usize>, Disconnected> {
    loop {
        match socket.read(buffer) {
            Ok(0) => return Err(Disconnected),
            Ok(n) => return Ok(Some(n)),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Disconnected),
        }
    }
}

/// Writes pieces once, without copying; returns the number of accepted bytes.
fn write_pieces(socket: &mut TcpStream, pieces: &[BodyPiece]) -> Result<usize, Disconnected> {
    let slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    loop {
        match socket.write_vectored(&slices) {
            Ok(0) => return Err(Disconnected),
            Ok(n) => return Ok(n),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(0),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Disconnected),
        }
    }
}

/// Writes until the socket accepts no more; returns the number of accepted bytes.
fn write_some(socket: &mut TcpStream, bytes: &[u8]) -> Result<usize, Disconnected> {
    let mut sent = 0;
    while sent < bytes.len() {
        match socket.write(&bytes[sent..]) {
            Ok(0) => return Err(Disconnected),
            Ok(n) => sent += n,
            Err(e) if e.kind() == ErrorKind::WouldBlock => break,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Disconnected),
        }
    }
    Ok(sent)
}
