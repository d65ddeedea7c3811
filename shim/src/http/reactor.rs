//! One reactor thread: waits for sockets, drives their connections, looks at deadlines.
//!
//! Sockets with news come first, then one connection that has more to do, then the poll again: a stream never holds up
//! what has just arrived for longer than one piece.

use super::app::App;
use super::connection::{Connection, Verdict};
use super::turn::{Shared, Turn};
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

/// The token of the waker; those of listeners lie right below it, those of connections count up from 0.
pub(super) const WAKER: Token = Token(usize::MAX);

/// Connections accepted before the others get their turn.
const ACCEPTS_PER_TURN: usize = 64;

/// How often a reactor looks, while the server stops, whether the others have ended.
const STOPPING_PATIENCE: Duration = Duration::from_millis(10);

/// The way to another reactor.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    /// Its inbox.
    pub(super) connections: Sender<Connection>,
    /// Makes it look there.
    pub(super) waker: Arc<Waker>,
}

/// A thread's poll and what arrives at it.
pub(super) struct Reactor<A> {
    poll: Poll,
    turn: Turn<A>,
    arriving: Receiver<Connection>,
    /// No other reactor is left that could send a connection.
    alone: bool,
    peers: Vec<Peer>,
    next_peer: usize,
    listeners: Vec<TcpListener>,
    /// A listener has connections that were not accepted yet, from this moment on.
    accept_at: Option<Instant>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    n_open: usize,
    /// Slots whose connection has more to do.
    ready: VecDeque<usize>,
    sweep_at: Instant,
    drain_until: Option<Instant>,
}

struct Slot {
    connection: Connection,
    /// It stands in `ready`.
    queued: bool,
}

impl<A: App> Reactor<A> {
    /// A small reactor, which accepts, if it is given listeners; else a bulk one.
    pub(super) fn new(
        poll: Poll,
        shared: Arc<Shared<A>>,
        arriving: Receiver<Connection>,
        peers: Vec<Peer>,
        listeners: Option<Vec<TcpListener>>,
    ) -> io::Result<Self> {
        let bulk = listeners.is_none();
        let mut listeners = listeners.unwrap_or_default();
        for (i, listener) in listeners.iter_mut().enumerate() {
            poll.registry().register(listener, Token(WAKER.0 - 1 - i), Interest::READABLE)?;
        }
        let now = Instant::now();
        let turn = Turn::new(shared, bulk);
        Ok(Self {
            poll,
            turn,
            arriving,
            alone: false,
            peers,
            next_peer: 0,
            listeners,
            accept_at: None,
            slots: Vec::new(),
            free: Vec::new(),
            n_open: 0,
            ready: VecDeque::new(),
            sweep_at: now,
            drain_until: None,
        })
    }

    /// Serves until the server is stopped.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(1024);
        while !self.finished() {
            match self.poll.poll(&mut events, Some(self.patience())) {
                Err(e) if e.kind() != ErrorKind::Interrupted => {
                    tracing::error!(error = %e, "a reactor cannot wait for its sockets and ends");
                    return;
                }
                _ => self.turn(&events),
            }
        }
    }

    /// One turn: what is new, then one connection that has more to do.
    fn turn(&mut self, events: &Events) {
        self.turn.now = Instant::now();
        self.turn.date.refresh();
        self.look_for_stop();
        for event in events {
            let Token(id) = event.token();
            if id < self.slots.len() {
                self.drive(id);
            } else if event.token() != WAKER {
                self.accept_at = Some(self.turn.now);
            }
        }
        self.accept();
        self.receive();
        if let Some(id) = self.ready.pop_front() {
            if let Some(slot) = &mut self.slots[id] {
                slot.queued = false;
            }
            self.drive(id);
        }
        if self.turn.now >= self.sweep_at {
            self.sweep();
        }
    }

    /// How long the poll may wait.
    fn patience(&self) -> Duration {
        if !self.ready.is_empty() {
            return Duration::ZERO;
        }
        let mut until_sweep = self.sweep_at.saturating_duration_since(self.turn.now);
        if self.turn.stopping {
            until_sweep = until_sweep.min(STOPPING_PATIENCE);
        }
        match self.accept_at {
            Some(at) => until_sweep.min(at.saturating_duration_since(self.turn.now)),
            None => until_sweep,
        }
    }

    fn finished(&self) -> bool {
        let Some(until) = self.drain_until else { return false };
        let idle = self.n_open == 0 && (!self.turn.bulk || self.alone);
        idle || self.turn.now >= until
    }

    /// Begins to drain when the server is being stopped: no listener, no idle connection.
    fn look_for_stop(&mut self) {
        if self.turn.stopping || !self.turn.shared.stopping.load(Ordering::Acquire) {
            return;
        }
        self.turn.stopping = true;
        self.drain_until = Some(self.turn.now + self.turn.shared.limits.drain);
        for mut listener in self.listeners.drain(..) {
            // Closed a moment later in any case.
            let _ = self.poll.registry().deregister(&mut listener);
        }
        self.accept_at = None;
        for id in 0..self.slots.len() {
            self.drive(id);
        }
    }

    /// Accepts what waits at the listeners. Where the process has no descriptor left, pauses: the listener would be
    /// ready again at once, for ever.
    fn accept(&mut self) {
        if self.accept_at.is_none_or(|at| at > self.turn.now) {
            return;
        }
        let limits = &self.turn.shared.limits;
        let pause = Some(self.turn.now + limits.accept_pause);
        let mut accepted = Vec::new();
        self.accept_at = None;
        for listener in &self.listeners {
            loop {
                if self.n_open + accepted.len() >= limits.connections {
                    self.accept_at = pause;
                    break;
                }
                if accepted.len() >= ACCEPTS_PER_TURN {
                    self.accept_at = Some(self.turn.now);
                    break;
                }
                match listener.accept() {
                    Ok((socket, peer)) => {
                        accepted.push(Connection::new(socket, peer, &self.turn.shared.metrics, limits));
                    }
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                    Err(e) => {
                        tracing::warn!(error = %e, "cannot accept a connection; trying again in a moment");
                        self.accept_at = pause;
                        break;
                    }
                }
            }
        }
        for connection in accepted {
            self.adopt(connection);
        }
    }

    /// Takes over the connections that other reactors sent.
    fn receive(&mut self) {
        loop {
            match self.arriving.try_recv() {
                Ok(connection) => self.adopt(connection),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.alone = true;
                    return;
                }
            }
        }
    }

    fn adopt(&mut self, mut connection: Connection) {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(e) = self.poll.registry().register(connection.socket(), Token(id), interest) {
            tracing::warn!(error = %e, "cannot wait for a connection; it is dropped");
            self.free.push(id);
            return;
        }
        self.slots[id] = Some(Slot { connection, queued: false });
        self.n_open += 1;
        self.drive(id);
    }

    /// Lets a connection do what it can, and does what it then asks for.
    fn drive(&mut self, id: usize) {
        if let Some(slot) = &mut self.slots[id] {
            let verdict = slot.connection.drive(&mut self.turn);
            self.follow(id, verdict);
        }
    }

    fn follow(&mut self, id: usize, verdict: Verdict) {
        match verdict {
            Verdict::Wait => {}
            Verdict::Again => {
                if let Some(slot) = self.slots[id].as_mut().filter(|slot| !slot.queued) {
                    slot.queued = true;
                    self.ready.push_back(id);
                }
            }
            Verdict::Close => drop(self.release(id)),
            Verdict::Move => {
                if let Some(connection) = self.release(id) {
                    self.hand_over(connection);
                }
            }
        }
    }

    fn release(&mut self, id: usize) -> Option<Connection> {
        let mut slot = self.slots[id].take()?;
        self.free.push(id);
        self.n_open -= 1;
        // It goes to another poll or is closed; a failure shows there.
        let _ = self.poll.registry().deregister(slot.connection.socket());
        Some(slot.connection)
    }

    /// Sends a connection to the next reactor of the other kind.
    fn hand_over(&mut self, connection: Connection) {
        self.next_peer = (self.next_peer + 1) % self.peers.len().max(1);
        let Some(peer) = self.peers.get(self.next_peer) else { return };
        // Both fail only when that reactor has ended, at the server's end: then the connection ends, too.
        if peer.connections.send(connection).is_ok() {
            let _ = peer.waker.wake();
        }
    }

    /// Looks at every deadline.
    fn sweep(&mut self) {
        self.sweep_at = self.turn.now + self.turn.shared.sweep_interval;
        for id in 0..self.slots.len() {
            if let Some(slot) = &mut self.slots[id] {
                let verdict = slot.connection.sweep(&mut self.turn);
                self.follow(id, verdict);
            }
        }
    }
}
