//! One connection: received bytes, bytes still to send, and the time limits of both.
//!
//! [`Connection::drive`] goes on until the socket would block, which is what an edge-triggered poll needs. While an
//! answer waits to be sent nothing is read, so a client that does not take its answers cannot queue more of them.

use super::app::App;
use super::body::IncomingBody;
use super::cache::BodyPiece;
use super::exchange::{self, InFlight, NotYet, Remainder, Waiting};
use super::limits::{HEADERS, Limits};
use super::metrics::{Metrics, OpenConnection};
use super::request::{Fault, parse};
use super::turn::Turn;
use crate::stream::Progress;
use mio::net::TcpStream;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Reads and answers of one connection before the others get their turn.
const STEPS_PER_TURN: usize = 32;

/// How long a connection lingers while the server stops.
const LINGER_STOPPING: Duration = Duration::from_millis(200);

/// What the reactor does with a connection that has been driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Wait until the socket is ready.
    Wait,
    /// Drive it again when the others have had their turn.
    Again,
    /// Drive it again in a moment: what it is to send is being made.
    Later,
    /// Hand it to a reactor of the other kind.
    Move,
    /// Drop it.
    Close,
}

/// What a connection waits for; each has a deadline of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// For the first byte of a request.
    Idle,
    /// For the rest of a head.
    Head,
    /// For the rest of a body.
    Body,
    /// For its answer, which is being made elsewhere.
    Answer,
    /// For the client to take its answer.
    Write,
    /// For the client to close: a socket closed with unread input would reset, and might lose the last answer.
    Linger,
}

/// The client is gone, or the stream that it was sent broke.
struct Gone;

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    socket: TcpStream,
    peer: SocketAddr,
    inbox: Vec<u8>,
    /// How much of `inbox` has been searched for the end of a head.
    searched: usize,
    /// Parse at this length even without the end of a head, to notice early what is none.
    parse_at: usize,
    /// The current request's body, as long as not all of it has come; `inbox` begins with its head.
    body: Option<IncomingBody>,
    unsent: Vec<u8>,
    sent: usize,
    in_flight: Option<InFlight>,
    waiting: Option<Waiting>,
    /// No further request is answered.
    last: bool,
    /// The client sends no more.
    hung_up: bool,
    phase: Phase,
    deadline: Instant,
    /// Bytes of the answer that were taken since the deadline was last moved.
    taken: usize,
    open: OpenConnection,
}

impl Connection {
    /// A connection that has just been accepted.
    pub(super) fn new(socket: TcpStream, peer: SocketAddr, metrics: &Arc<Metrics>, limits: &Limits) -> Self {
        // Without it an answer in two parts waits for the client's delayed acknowledgement. A socket that refuses is
        // slow.
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

    /// Notes that the client sends no more: what is only being made for it is given up.
    pub(super) fn hang_up(&mut self) {
        self.hung_up = true;
    }

    /// Until when it may be idle, if it is.
    pub(super) fn idle_until(&self) -> Option<Instant> {
        (self.phase == Phase::Idle && self.unsent.is_empty()).then_some(self.deadline)
    }

    /// Does what can be done now, and notes what it holds then.
    pub(super) fn drive<A: App>(&mut self, turn: &mut Turn<A>) -> Verdict {
        let verdict = self.advance(turn);
        self.open.holds(self.bytes());
        verdict
    }

    /// Bytes held, itself among them. A body that others share is not.
    fn bytes(&self) -> usize {
        let in_flight = self.in_flight.as_ref().map_or(0, InFlight::bytes);
        let body = self.body.as_ref().map_or(0, IncomingBody::bytes);
        size_of::<Self>() + body + self.inbox.capacity() + self.unsent.capacity() + in_flight
    }

    fn advance<A: App>(&mut self, turn: &mut Turn<A>) -> Verdict {
        for _ in 0..STEPS_PER_TURN {
            match self.step(turn) {
                Ok(None) => {}
                Ok(Some(verdict)) => return verdict,
                Err(Gone) => return Verdict::Close,
            }
        }
        Verdict::Again
    }

    /// Looks at the deadline.
    pub(super) fn sweep<A: App>(&mut self, turn: &mut Turn<A>) -> Verdict {
        let answer = turn.shared.limits.answer;
        let started = self.in_flight.as_ref().filter(|body| !body.is_endless()).map(InFlight::started);
        let started = started.or(self.waiting.as_ref().map(Waiting::started));
        let is_overdue = started.is_some_and(|started| turn.now >= started + answer);
        // a client that takes a few bytes again and again moves its deadline: the answer as a whole has a limit too
        if turn.now < self.deadline && !is_overdue {
            return Verdict::Wait;
        }
        // only a request that was begun is owed a status; an idle connection is closed without a word, as HTTP has it
        if !matches!(self.phase, Phase::Head | Phase::Body) {
            return Verdict::Close;
        }
        turn.out.clear();
        self.refuse(Fault::Timeout, turn);
        if self.send(turn).is_err() { Verdict::Close } else { self.drive(turn) }
    }

    /// One step; `None`: there may be another.
    fn step<A: App>(&mut self, turn: &mut Turn<A>) -> Result<Option<Verdict>, Gone> {
        // long answers are sent by the bulk reactors, so that small ones never queue behind them
        if (self.in_flight.is_some() || self.waiting.is_some()) && !turn.bulk {
            return Ok(Some(Verdict::Move));
        }
        if !self.flush(turn)? {
            return Ok(Some(Verdict::Wait));
        }
        if self.in_flight.is_some() {
            return self.send_piece(turn).map(Some);
        }
        if let Some(waiting) = &mut self.waiting {
            turn.out.clear();
            let reply = match waiting.look(turn) {
                Ok(reply) => reply,
                Err(NotYet::Again) => return Ok(Some(Verdict::Again)),
                Err(NotYet::Later) if self.hung_up => return Err(Gone),
                Err(NotYet::Later) => return Ok(Some(Verdict::Later)),
            };
            self.begin(reply, turn);
            self.settle(true, turn);
            self.send(turn)?;
            return Ok(None);
        }
        if self.phase == Phase::Linger {
            // the last answer is sent; unread input must be drained, or the close becomes a reset that may discard that
            // answer
            return self.drain(turn);
        }
        if self.last {
            self.linger(turn);
            return Ok(None);
        }
        if turn.stopping {
            return Ok(Some(Verdict::Close));
        }
        // its long answer is done: the next request is small until it is parsed
        if turn.bulk {
            return Ok(Some(Verdict::Move));
        }
        if self.answer(turn)? {
            return Ok(None);
        }
        self.hear(turn)
    }

    /// Reads once.
    fn hear<A: App>(&mut self, turn: &mut Turn<A>) -> Result<Option<Verdict>, Gone> {
        let Some(n) = read_some(&mut self.socket, &mut turn.input)? else { return Ok(Some(Verdict::Wait)) };
        let mut heard = &turn.input[..n];
        if let Some(body) = &mut self.body {
            let n = body.hear(heard);
            heard = &heard[n..];
        }
        self.inbox.extend_from_slice(heard);
        Ok(None)
    }

    /// Answers what is complete in `inbox`; whether anything happened.
    fn answer<A: App>(&mut self, turn: &mut Turn<A>) -> Result<bool, Gone> {
        turn.out.clear();
        // requests borrow from the buffer while `self` changes
        let inbox = std::mem::take(&mut self.inbox);
        let mut kept = 0..inbox.len();
        let mut answered = false;
        while self.may_hold_head(&inbox[kept.clone()], turn.shared.limits.head_bytes) {
            let mut slots = [httparse::EMPTY_HEADER; HEADERS];
            match parse(&inbox[kept.clone()], &mut slots, self.peer, &turn.shared.limits) {
                Ok(None) => break,
                Err(fault) => {
                    self.refuse(fault, turn);
                    // where a head is malformed nothing behind it can be trusted to be the next head
                    (kept, answered) = (0..0, true);
                }
                Ok(Some((request, facts))) => {
                    let behind = &inbox[kept.start + facts.length..kept.end];
                    let (body, taken) = match self.body.take() {
                        // it was begun before, and is whole now
                        Some(body) => (body, 0),
                        None => match exchange::admit(&request, &facts, turn) {
                            Ok(mut body) => {
                                let taken = body.hear(behind);
                                (body, taken)
                            }
                            Err(reply) => {
                                self.begin(*reply, turn);
                                (kept, answered) = (0..0, true);
                                break;
                            }
                        },
                    };
                    if body.left() > 0 {
                        // a client that sends its body at once does not wait for permission
                        if facts.expects_continue && behind.is_empty() {
                            turn.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                        }
                        // the head is parsed again when the rest is here
                        kept.end = kept.start + facts.length;
                        self.body = Some(body);
                        break;
                    }
                    (self.searched, self.parse_at) = (0, 0);
                    let reply = exchange::reply(&request, &facts, body, turn);
                    kept.start += facts.length + taken;
                    self.begin(reply, turn);
                    answered = true;
                }
            }
            let is_busy = self.in_flight.is_some() || self.waiting.is_some();
            // pipelined requests wait: their answers must not pile up for a client that does not read
            if self.last || is_busy || turn.out.len() > turn.shared.limits.unsent_bytes {
                break;
            }
        }
        self.keep(inbox, kept);
        self.settle(answered, turn);
        if !turn.out.is_empty() {
            self.send(turn)?;
        }
        Ok(answered)
    }

    /// Takes over what is left to do of an answer.
    fn begin<A: App>(&mut self, reply: Remainder, turn: &Turn<A>) {
        // a server that stops still completes a pending answer, and takes no request after it
        self.last = !reply.keep_alive || (self.waiting.is_some() && turn.stopping);
        (self.in_flight, self.waiting) = (reply.in_flight, reply.waiting);
    }

    /// True if a head may have become complete (or longer than `most`), so that slow clients are not parsed again for
    /// every byte.
    fn may_hold_head(&mut self, heard: &[u8], most: usize) -> bool {
        if heard.is_empty() || self.body.as_ref().is_some_and(|body| body.left() > 0) {
            return false;
        }
        // the end of a head may be split between two reads: the last three bytes are searched again
        let fresh = &heard[self.searched.saturating_sub(3).min(heard.len())..];
        let ends = || fresh.windows(2).any(|w| w == b"\n\n") || fresh.windows(3).any(|w| w == b"\n\r\n");
        let parse = heard.len() >= self.parse_at || self.body.is_some() || ends();
        self.searched = heard.len();
        if parse {
            // doubling bounds the bytes parsed in all to twice those received, however slowly they come
            self.parse_at = (heard.len() * 2).min(heard.len().max(most) + 1);
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

    /// Chooses what is waited for next; the clock of a phase starts when it is entered, or again after an answer.
    fn settle<A: App>(&mut self, answered: bool, turn: &Turn<A>) {
        let (phase, limit) = match (&self.body, self.inbox.is_empty()) {
            _ if self.waiting.is_some() => (Phase::Answer, turn.shared.limits.answer),
            (Some(_), _) => (Phase::Body, turn.shared.limits.body),
            (None, false) => (Phase::Head, turn.shared.limits.head),
            (None, true) => (Phase::Idle, turn.shared.limits.idle),
        };
        // a deadline that moved with every byte would let a client hold a connection for ever
        if answered || phase != self.phase {
            (self.phase, self.deadline) = (phase, turn.now + limit);
        }
    }

    fn refuse<A: App>(&mut self, fault: Fault, turn: &mut Turn<A>) {
        self.body = None;
        let reply = exchange::refuse(fault, false, turn);
        self.begin(reply, turn);
    }

    /// Writes the next piece of the answer in flight.
    fn send_piece<A: App>(&mut self, turn: &mut Turn<A>) -> Result<Verdict, Gone> {
        let Some(in_flight) = &mut self.in_flight else { return Ok(Verdict::Again) };
        if let Some(reader) = in_flight.kept() {
            let pieces = reader.next_pieces();
            let n = write_pieces(&mut self.socket, &pieces)?;
            let more = reader.skip(n);
            in_flight.sent(n);
            self.note_taken(n, turn);
            if !more {
                self.finish(turn);
            }
            // A short write means that the socket is full: an edge-triggered poll reports when it is not. That of
            // Windows reports only to whoever was refused a write.
            let is_blocked = if cfg!(unix) { n < pieces.iter().map(|piece| piece.len()).sum() } else { n == 0 };
            return Ok(if is_blocked { Verdict::Wait } else { Verdict::Again });
        }
        if turn.stopping && in_flight.is_endless() {
            return Err(Gone);
        }
        turn.out.clear();
        let progress = in_flight.next(turn).ok_or(Gone)?;
        self.send(turn)?;
        if progress == Progress::Done {
            self.finish(turn);
        }
        if progress == Progress::Later && self.unsent.is_empty() {
            // it is not the client that is slow
            (self.phase, self.deadline, self.taken) = (Phase::Write, turn.now + turn.shared.limits.write, 0);
        }
        Ok(match progress {
            _ if !self.unsent.is_empty() => Verdict::Wait,
            Progress::Later if self.hung_up => return Err(Gone),
            Progress::Later => Verdict::Later,
            _ => Verdict::Again,
        })
    }

    /// The answer in flight has been written, to the socket or to what waits for it.
    fn finish<A: App>(&mut self, turn: &Turn<A>) {
        if let Some(finished) = self.in_flight.take() {
            finished.count(turn);
        }
        // a reader of a long answer may be the last one that a stop waits for
        self.last |= turn.stopping;
        if self.unsent.is_empty() {
            self.settle(true, turn);
        }
    }

    /// Writes `turn.out`, keeps what the socket does not take.
    fn send<A: App>(&mut self, turn: &mut Turn<A>) -> Result<(), Gone> {
        let n = write_some(&mut self.socket, &turn.out)?;
        // an answer that is written whole at once leaves no state behind: the usual case of small answers
        if n < turn.out.len() || self.in_flight.is_some() {
            self.unsent.extend_from_slice(&turn.out[n..]);
            self.note_taken(n, turn);
        }
        Ok(())
    }

    /// Moves the deadline when the client has taken enough since it was last moved.
    fn note_taken<A: App>(&mut self, n: usize, turn: &Turn<A>) {
        let limits = &turn.shared.limits;
        self.taken += n;
        // progress counts in portions, so that a byte a second does not keep a connection open
        if self.phase != Phase::Write || self.taken >= limits.write_bytes {
            (self.phase, self.deadline, self.taken) = (Phase::Write, turn.now + limits.write, 0);
        }
    }

    /// Sends what the socket did not take before; false while some of it is left.
    fn flush<A: App>(&mut self, turn: &mut Turn<A>) -> Result<bool, Gone> {
        if self.unsent.is_empty() {
            return Ok(true);
        }
        let n = write_some(&mut self.socket, &self.unsent[self.sent..])?;
        self.sent += n;
        self.note_taken(n, turn);
        if self.sent < self.unsent.len() {
            return Ok(false);
        }
        // the buffer may have been large: an idle connection keeps none
        (self.unsent, self.sent) = (Vec::new(), 0);
        Ok(true)
    }

    /// Says that no more will come.
    fn linger<A: App>(&mut self, turn: &Turn<A>) {
        // A socket that cannot be shut down is gone, which the next read shows.
        let _ = self.socket.shutdown(Shutdown::Write);
        let limit = if turn.stopping { LINGER_STOPPING } else { turn.shared.limits.linger };
        (self.phase, self.deadline) = (Phase::Linger, turn.now + limit);
        self.inbox = Vec::new();
    }

    /// Reads and drops what the client still sends, until it closes or the time is up.
    fn drain<A: App>(&mut self, turn: &mut Turn<A>) -> Result<Option<Verdict>, Gone> {
        if turn.now >= self.deadline {
            return Ok(Some(Verdict::Close));
        }
        Ok(read_some(&mut self.socket, &mut turn.input)?.is_none().then_some(Verdict::Wait))
    }
}

/// Reads once; `None` if there is nothing yet.
fn read_some(socket: &mut TcpStream, buffer: &mut [u8]) -> Result<Option<usize>, Gone> {
    loop {
        match socket.read(buffer) {
            Ok(0) => return Err(Gone),
            Ok(n) => return Ok(Some(n)),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Gone),
        }
    }
}

/// Writes pieces from where they stand, once; how much the socket took.
fn write_pieces(socket: &mut TcpStream, pieces: &[BodyPiece]) -> Result<usize, Gone> {
    let slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    loop {
        match socket.write_vectored(&slices) {
            Ok(0) => return Err(Gone),
            Ok(n) => return Ok(n),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(0),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Gone),
        }
    }
}

/// Writes until the socket takes no more; how much it took.
fn write_some(socket: &mut TcpStream, bytes: &[u8]) -> Result<usize, Gone> {
    let mut sent = 0;
    while sent < bytes.len() {
        match socket.write(&bytes[sent..]) {
            Ok(0) => return Err(Gone),
            Ok(n) => sent += n,
            Err(e) if e.kind() == ErrorKind::WouldBlock => break,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Gone),
        }
    }
    Ok(sent)
}
