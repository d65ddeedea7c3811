//! A reactor thread: waits for sockets, drives their connections, and checks deadlines.
//!
//! A turn drives all sockets with events, then one answer and one stream that have more to do, and polls again. So a
//! piece of one delays new input by little, and a hundred streams delay an answer as much as one. Never: a request's
//! meaning.

use super::connection::{Connection, Verdict};
use super::context::{ReactorContext, Shared};
use super::response::App;
use host::faults;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Token of the waker; listeners have the tokens below it, connections count up from 0.
pub(super) const WAKER: Token = Token(usize::MAX);

/// Maximum number of connections accepted before others get their turn.
const ACCEPTS_PER_TURN: usize = 64;

/// Interval between two log lines about connections that cannot be accepted.
const COMPLAINT_EVERY: Duration = Duration::from_mins(1);

/// Polling interval for answers that other threads make: negligible compared with the second that these may take.
const LATER: Duration = Duration::from_millis(4);

/// Interval at which a reactor of a stopping server checks whether the others have ended.
const STOPPING_PATIENCE: Duration = Duration::from_millis(10);

/// Handle of another reactor.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    /// Sender to its inbox.
    pub(super) connections: Sender<Connection>,
    /// Wakes it up to read the inbox.
    pub(super) waker: Arc<Waker>,
    /// Number of its connections, including those in the inbox.
    load: Arc<AtomicUsize>,
}

/// Poll and inbox of a reactor before its thread starts.
pub(super) struct ReactorPoll {
    poll: Poll,
    inbox: Receiver<Connection>,
    /// Handle for the other reactors.
    pub(super) peer: Peer,
}

impl ReactorPoll {
    /// A poll, its inbox and its handle.
    pub(super) fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let (connections, inbox) = channel();
        Ok(Self { poll, inbox, peer: Peer { connections, waker, load: Arc::default() } })
    }
}

/// State of a reactor thread.
pub(super) struct Reactor<A> {
    poll: Poll,
    context: ReactorContext<A>,
    inbox: Receiver<Connection>,
    /// True if no other reactor is left that could send a connection.
    alone: bool,
    peers: Vec<Peer>,
    load: Arc<AtomicUsize>,
    listeners: Vec<TcpListener>,
    /// Time at which to accept connections, if some wait.
    accept_at: Option<Instant>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    n_open: usize,
    /// Slots of connections with more to do: those whose answers end, and streams.
    ready: [VecDeque<usize>; 2],
    /// Slots of connections whose answers other threads make, and the time of the next check.
    parked: Vec<usize>,
    look_at: Instant,
    sweep_at: Instant,
    drain_until: Option<Instant>,
    /// Time of the last log line that no connection can be accepted.
    complained: Option<Instant>,
}

struct Slot {
    connection: Connection,
    /// True if it is in one of `ready`.
    queued: bool,
    /// True if it is in `parked`.
    parked: bool,
}

impl<A: App> Reactor<A> {
    /// The small reactor, if it gets listeners; else a bulk one.
    pub(super) fn new(
        post: ReactorPoll,
        shared: Arc<Shared<A>>,
        peers: Vec<Peer>,
        listeners: Option<Vec<TcpListener>>,
    ) -> io::Result<Self> {
        let ReactorPoll { poll, inbox, peer } = post;
        let bulk = listeners.is_none();
        let mut listeners = listeners.unwrap_or_default();
        for (i, listener) in listeners.iter_mut().enumerate() {
            // tokens of listeners count down from the waker's, those of connections up from 0
            poll.registry().register(listener, Token(WAKER.0 - 1 - i), Interest::READABLE)?;
        }
        let now = Instant::now();
        let context = ReactorContext::new(shared, bulk);
        Ok(Self {
            poll,
            context,
            inbox,
            alone: false,
            peers,
            load: peer.load,
            listeners,
            accept_at: None,
            slots: Vec::new(),
            free: Vec::new(),
            n_open: 0,
            ready: Default::default(),
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
                // an interrupted wait is an empty turn: a signal may request the stop
                _ => self.turn(&events),
            }
        }
    }

    /// One turn: sockets with events, then one answer and one stream that have more to do.
    fn turn(&mut self, events: &Events) {
        self.context.now = Instant::now();
        self.context.date.refresh();
        faults::here(if self.context.bulk { "http-bulk" } else { "http-small" });
        self.look_for_stop();
        for event in events {
            let Token(id) = event.token();
            // the connection of an event may be closed already: driving an empty slot does nothing
            if id < self.slots.len() {
                if let Some(slot) = &mut self.slots[id] {
                    if event.is_readable() || event.is_read_closed() {
                        slot.connection.note_input();
                    }
                    if event.is_read_closed() {
                        slot.connection.hang_up();
                    }
                }
                self.drive(id);
            } else if event.token() != WAKER {
                self.accept_at = Some(self.context.now);
            }
        }
        self.accept();
        self.receive();
        self.look_again();
        for kind in 0..self.ready.len() {
            self.drive_next(kind);
        }
        if self.context.now >= self.sweep_at {
            self.sweep();
        }
    }

    /// Queues the connections whose answers other threads make.
    fn look_again(&mut self) {
        if self.parked.is_empty() || self.context.now < self.look_at {
            return;
        }
        for id in std::mem::take(&mut self.parked) {
            // the slot may belong to another connection by now, for which this is harmless
            if let Some(slot) = &mut self.slots[id] {
                slot.parked = false;
                self.follow(id, Verdict::Again);
            }
        }
    }

    /// Drives the queued connections of a kind up to the first that has something to send: one piece a turn, so that
    /// a long answer gives way to events of others.
    fn drive_next(&mut self, kind: usize) {
        while let Some(id) = self.ready[kind].pop_front() {
            if let Some(slot) = &mut self.slots[id] {
                slot.queued = false;
            }
            if self.drive(id).is_some_and(|verdict| verdict != Verdict::Later) {
                return;
            }
        }
    }

    /// Maximum wait of the poll.
    fn patience(&self) -> Duration {
        if self.ready.iter().any(|queue| !queue.is_empty()) {
            return Duration::ZERO;
        }
        let mut until_sweep = self.sweep_at.saturating_duration_since(self.context.now);
        if self.context.stopping {
            until_sweep = until_sweep.min(STOPPING_PATIENCE);
        }
        if !self.parked.is_empty() {
            until_sweep = until_sweep.min(self.look_at.saturating_duration_since(self.context.now));
        }
        match self.accept_at {
            Some(at) => until_sweep.min(at.saturating_duration_since(self.context.now)),
            None => until_sweep,
        }
    }

    fn finished(&self) -> bool {
        let Some(until) = self.drain_until else { return false };
        // the small reactor ends first: until then it may send a connection to a bulk one
        let idle = self.n_open == 0 && (!self.context.bulk || self.alone);
        idle || self.context.now >= until
    }

    /// Begins to drain if the server stops: closes listeners and idle connections.
    fn look_for_stop(&mut self) {
        if self.context.stopping || !self.context.shared.stopping.load(Ordering::Acquire) {
            return;
        }
        self.context.stopping = true;
        self.drain_until = Some(self.context.now + self.context.shared.limits.drain);
        for mut listener in self.listeners.drain(..) {
            // the listener is closed anyway
            let _ = self.poll.registry().deregister(&mut listener);
        }
        self.accept_at = None;
        for id in 0..self.slots.len() {
            self.drive(id);
        }
    }

    /// Accepts connections of all listeners.
    fn accept(&mut self) {
        if self.accept_at.is_none_or(|at| at > self.context.now) {
            return;
        }
        // each listener has its own share, so that a flood at one does not starve the others
        self.accept_at = (0..self.listeners.len()).filter_map(|i| self.accept_from(i)).min();
    }

    /// Accepts connections of a listener. Returns when to try again, if some may be left. Without room it pauses, since
    /// the listener would be ready again at once, for ever.
    fn accept_from(&mut self, listener: usize) -> Option<Instant> {
        let pause = Some(self.context.now + self.context.shared.limits.accept_pause);
        for _ in 0..ACCEPTS_PER_TURN {
            // an idle connection gives way to a new one, a busy one does not
            let is_full =
                self.context.shared.metrics.open_connections() >= self.context.shared.limits.connections as u64;
            let idle = if is_full { self.longest_idle() } else { None };
            if is_full && idle.is_none() {
                return pause;
            }
            match self.listeners[listener].accept() {
                Ok((socket, peer)) => {
                    drop(idle.and_then(|id| self.release(id)));
                    let Shared { metrics, limits, .. } = &*self.context.shared;
                    let connection = Connection::new(socket, peer, metrics, limits);
                    self.load.fetch_add(1, Ordering::Relaxed);
                    self.adopt(connection);
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return None,
                // the client disconnected before it was accepted
                Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(e) => {
                    self.complain(&e);
                    // probably the process has no descriptor left
                    drop(self.longest_idle().and_then(|id| self.release(id)));
                    return pause;
                }
            }
        }
        Some(self.context.now)
    }

    /// The connection that has been idle for the longest time.
    fn longest_idle(&self) -> Option<usize> {
        let slots = self.slots.iter().enumerate();
        let idle = slots.filter_map(|(id, slot)| Some((slot.as_ref()?.connection.idle_until()?, id)));
        idle.min().map(|(_, id)| id)
    }

    /// Logs that no connection can be accepted, at most once a minute.
    fn complain(&mut self, cause: &io::Error) {
        if self.complained.is_none_or(|at| at + COMPLAINT_EVERY <= self.context.now) {
            self.complained = Some(self.context.now);
            tracing::warn!(error = %cause, "cannot accept a connection; closing idle ones and retrying");
        }
    }

    /// Takes over connections from other reactors.
    fn receive(&mut self) {
        loop {
            match self.inbox.try_recv() {
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
        // slots are reused, so that tokens stay small and the sweep short
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        // registered for both, edge-triggered: the registration never changes while a connection lives
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

    /// Drives a connection, and follows its verdict; `None`: the slot is empty.
    fn drive(&mut self, id: usize) -> Option<Verdict> {
        let verdict = self.slots[id].as_mut()?.connection.drive(&mut self.context);
        self.follow(id, verdict);
        Some(verdict)
    }

    fn follow(&mut self, id: usize, verdict: Verdict) {
        match verdict {
            Verdict::Wait => {}
            Verdict::Again => {
                if let Some(slot) = self.slots[id].as_mut().filter(|slot| !slot.queued) {
                    slot.queued = true;
                    self.ready[usize::from(slot.connection.is_endless())].push_back(id);
                }
            }
            Verdict::Later => {
                if let Some(slot) = self.slots[id].as_mut().filter(|slot| !slot.parked) {
                    slot.parked = true;
                    // one check for all of them: the first one sets the time
                    if self.parked.is_empty() {
                        self.look_at = self.context.now + LATER;
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
        // it moves to another poll or is closed, where a failure shows
        let _ = self.poll.registry().deregister(slot.connection.socket());
        Some(slot.connection)
    }

    /// Sends a connection to the reactor of the other kind with the fewest connections.
    fn hand_over(&mut self, connection: Connection) {
        // there is no peer only when the server ends; dropping the connection closes it
        let Some(peer) = self.peers.iter().min_by_key(|peer| peer.load.load(Ordering::Relaxed)) else { return };
        peer.load.fetch_add(1, Ordering::Relaxed);
        // both fail only if that reactor has ended, at the end of the server, and then the connection ends, too
        if peer.connections.send(connection).is_ok() {
            let _ = peer.waker.wake();
        }
    }

    /// Checks all deadlines.
    fn sweep(&mut self) {
        self.sweep_at = self.context.now + self.context.shared.sweep_interval;
        if !self.context.bulk {
            let Shared { cache, app, metrics, .. } = &*self.context.shared;
            metrics.set_cache_bytes(cache.sweep(app.edition(), self.context.now));
        }
        for id in 0..self.slots.len() {
            if let Some(slot) = &mut self.slots[id] {
                let verdict = slot.connection.sweep(&mut self.context);
                self.follow(id, verdict);
            }
        }
    }
}
