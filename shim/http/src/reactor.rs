//! One reactor thread: waits for sockets, drives their connections, looks at deadlines.
//!
//! Sockets with news come first, then one connection that has more to do, then the poll again: a stream never holds up
//! what has just arrived for longer than one piece.

use super::app::App;
use super::connection::{Connection, Verdict};
use super::turn::{Shared, Turn};
use host::faults;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

/// The token of the waker; those of listeners lie right below it, those of connections count up from 0.
pub(super) const WAKER: Token = Token(usize::MAX);

/// Connections accepted before the others get their turn.
const ACCEPTS_PER_TURN: usize = 64;

/// Between two complaints about connections that cannot be accepted.
const COMPLAINT_EVERY: Duration = Duration::from_mins(1);

/// How often a reactor looks for what is being made elsewhere: beside a second, which that may take, nothing.
const LATER: Duration = Duration::from_millis(4);

/// How often a reactor looks, while the server stops, whether the others have ended.
const STOPPING_PATIENCE: Duration = Duration::from_millis(10);

/// The way to another reactor.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    /// Its inbox.
    pub(super) connections: Sender<Connection>,
    /// Makes it look there.
    pub(super) waker: Arc<Waker>,
    /// Connections that it has, or that are on their way to it.
    load: Arc<AtomicUsize>,
}

/// A reactor's poll, and the way to it.
pub(super) struct Post {
    poll: Poll,
    arriving: Receiver<Connection>,
    /// The way to it.
    pub(super) peer: Peer,
}

impl Post {
    /// A poll, and a way to it.
    pub(super) fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let (connections, arriving) = channel();
        Ok(Self { poll, arriving, peer: Peer { connections, waker, load: Arc::default() } })
    }
}

/// A thread's poll and what arrives at it.
pub(super) struct Reactor<A> {
    poll: Poll,
    turn: Turn<A>,
    arriving: Receiver<Connection>,
    /// No other reactor is left that could send a connection.
    alone: bool,
    peers: Vec<Peer>,
    load: Arc<AtomicUsize>,
    listeners: Vec<TcpListener>,
    /// A listener has connections that were not accepted yet, from this moment on.
    accept_at: Option<Instant>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    n_open: usize,
    /// Slots whose connection has more to do.
    ready: VecDeque<usize>,
    /// Slots whose connection waits for what is made elsewhere, and when they are driven again.
    parked: Vec<usize>,
    look_at: Instant,
    sweep_at: Instant,
    drain_until: Option<Instant>,
    /// Time of the last log line that no connection can be accepted.
    complained: Option<Instant>,
}

struct Slot {
    connection: Connection,
    /// It stands in `ready`.
    queued: bool,
    /// It stands in `parked`.
    parked: bool,
}

impl<A: App> Reactor<A> {
    /// A small reactor, which accepts, if it is given listeners; else a bulk one.
    pub(super) fn new(
        post: Post,
        shared: Arc<Shared<A>>,
        peers: Vec<Peer>,
        listeners: Option<Vec<TcpListener>>,
    ) -> io::Result<Self> {
        let Post { poll, arriving, peer } = post;
        let bulk = listeners.is_none();
        let mut listeners = listeners.unwrap_or_default();
        for (i, listener) in listeners.iter_mut().enumerate() {
            // tokens of listeners count down from the waker's, those of connections up from 0
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
            load: peer.load,
            listeners,
            accept_at: None,
            slots: Vec::new(),
            free: Vec::new(),
            n_open: 0,
            ready: VecDeque::new(),
            parked: Vec::new(),
            look_at: now,
            sweep_at: now,
            drain_until: None,
            complained: None,
        })
    }

    /// Serves until the server is stopped.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(1024);
        while !self.finished() {
            match self.poll.poll(&mut events, Some(self.patience())) {
                Err(e) if e.kind() != ErrorKind::Interrupted => {
                    tracing::error!(error = %e, "a reactor cannot wait for its sockets and stops");
                    return;
                }
                // an interrupted wait is an empty turn: a signal may ask for the stop
                _ => self.turn(&events),
            }
        }
    }

    /// One turn: what is new, then one connection that has more to do.
    fn turn(&mut self, events: &Events) {
        self.turn.now = Instant::now();
        self.turn.date.refresh();
        faults::here(if self.turn.bulk { "http-bulk" } else { "http-small" });
        self.look_for_stop();
        for event in events {
            let Token(id) = event.token();
            // an event may be of a connection that is closed by now: driving an empty slot does nothing
            if id < self.slots.len() {
                if let Some(slot) = self.slots[id].as_mut().filter(|_| event.is_read_closed()) {
                    slot.connection.hang_up();
                }
                self.drive(id);
            } else if event.token() != WAKER {
                self.accept_at = Some(self.turn.now);
            }
        }
        self.accept();
        self.receive();
        // one a turn, so that a long answer gives way to events of others
        if let Some(id) = self.ready.pop_front() {
            if let Some(slot) = &mut self.slots[id] {
                slot.queued = false;
            }
            self.drive(id);
        }
        self.look_again();
        if self.turn.now >= self.sweep_at {
            self.sweep();
        }
    }

    /// Drives the connections whose answers are made elsewhere.
    fn look_again(&mut self) {
        if self.parked.is_empty() || self.turn.now < self.look_at {
            return;
        }
        for id in std::mem::take(&mut self.parked) {
            // a connection that has gone may have left its slot to another, which does not mind
            if let Some(slot) = &mut self.slots[id] {
                slot.parked = false;
            }
            self.drive(id);
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
        if !self.parked.is_empty() {
            until_sweep = until_sweep.min(self.look_at.saturating_duration_since(self.turn.now));
        }
        match self.accept_at {
            Some(at) => until_sweep.min(at.saturating_duration_since(self.turn.now)),
            None => until_sweep,
        }
    }

    fn finished(&self) -> bool {
        let Some(until) = self.drain_until else { return false };
        // small reactors end first; a bulk one may still be sent a connection until they are gone
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

    /// Accepts what waits at the listeners.
    fn accept(&mut self) {
        if self.accept_at.is_none_or(|at| at > self.turn.now) {
            return;
        }
        // each has a share of its own, so that a flood at one does not starve the others
        self.accept_at = (0..self.listeners.len()).filter_map(|i| self.accept_from(i)).min();
    }

    /// Accepts what waits at one listener; when to try again, where something may be left there. Where there is no
    /// room, pauses: the listener would be ready again at once, for ever.
    fn accept_from(&mut self, listener: usize) -> Option<Instant> {
        let pause = Some(self.turn.now + self.turn.shared.limits.accept_pause);
        for _ in 0..ACCEPTS_PER_TURN {
            // an idle client gives way to a new one; a busy one never does
            let is_full = self.turn.shared.metrics.open_connections() >= self.turn.shared.limits.connections as u64;
            let idle = if is_full { self.longest_idle() } else { None };
            if is_full && idle.is_none() {
                return pause;
            }
            match self.listeners[listener].accept() {
                Ok((socket, peer)) => {
                    drop(idle.and_then(|id| self.release(id)));
                    let Shared { metrics, limits, .. } = &*self.turn.shared;
                    let connection = Connection::new(socket, peer, metrics, limits);
                    self.load.fetch_add(1, Ordering::Relaxed);
                    self.adopt(connection);
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return None,
                // the client gave up before it was accepted
                Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(e) => {
                    self.complain(&e);
                    // most probably the process has no descriptor left
                    drop(self.longest_idle().and_then(|id| self.release(id)));
                    return pause;
                }
            }
        }
        Some(self.turn.now)
    }

    /// The connection that has been idle for the longest time.
    fn longest_idle(&self) -> Option<usize> {
        let slots = self.slots.iter().enumerate();
        let idle = slots.filter_map(|(id, slot)| Some((slot.as_ref()?.connection.idle_until()?, id)));
        idle.min().map(|(_, id)| id)
    }

    /// Says that no connection can be accepted: at most once a minute.
    fn complain(&mut self, cause: &io::Error) {
        if self.complained.is_none_or(|at| at + COMPLAINT_EVERY <= self.turn.now) {
            self.complained = Some(self.turn.now);
            tracing::warn!(error = %cause, "cannot accept a connection; closing idle ones and retrying");
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
        // slots are used again, so that tokens stay small and the sweep short
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        // both at once and edge-triggered: registration never changes while a connection lives
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(e) = self.poll.registry().register(connection.socket(), Token(id), interest) {
            tracing::warn!(error = %e, "cannot wait for a connection; it is dropped");
            self.free.push(id);
            self.load.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        self.slots[id] = Some(Slot { connection, queued: false, parked: false });
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
            Verdict::Later => {
                if let Some(slot) = self.slots[id].as_mut().filter(|slot| !slot.parked) {
                    slot.parked = true;
                    // one look for all that wait: the first one sets the time
                    if self.parked.is_empty() {
                        self.look_at = self.turn.now + LATER;
                    }
                    self.parked.push(id);
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
        self.load.fetch_sub(1, Ordering::Relaxed);
        // It goes to another poll or is closed; a failure shows there.
        let _ = self.poll.registry().deregister(slot.connection.socket());
        Some(slot.connection)
    }

    /// Sends a connection to the reactor of the other kind that has the fewest.
    fn hand_over(&mut self, connection: Connection) {
        // no peer is left only when the server ends; dropping the connection closes it
        let Some(peer) = self.peers.iter().min_by_key(|peer| peer.load.load(Ordering::Relaxed)) else { return };
        peer.load.fetch_add(1, Ordering::Relaxed);
        // Both fail only when that reactor has ended, at the server's end: then the connection ends, too.
        if peer.connections.send(connection).is_ok() {
            let _ = peer.waker.wake();
        }
    }

    /// Looks at every deadline.
    fn sweep(&mut self) {
        self.sweep_at = self.turn.now + self.turn.shared.sweep_interval;
        if !self.turn.bulk {
            let Shared { cache, app, metrics, .. } = &*self.turn.shared;
            metrics.keeps(cache.sweep(app.edition(), self.turn.now));
        }
        for id in 0..self.slots.len() {
            if let Some(slot) = &mut self.slots[id] {
                let verdict = slot.connection.sweep(&mut self.turn);
                self.follow(id, verdict);
            }
        }
    }
}
