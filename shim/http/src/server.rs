//! The server: binds addresses, starts reactor threads, and stops them. Never: a request.

use super::boundary::Boundary;
use super::cache::ResponseCache;
use super::context::Shared;
use super::limits::Limits;
use super::listeners::{ListenError, listen};
use super::metrics::Metrics;
use super::reactor::{Peer, Reactor, ReactorPoll};
use super::response::App;
use host::threads::{self, Yielding};
use jiff::Timestamp;
use mio::Waker;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time beyond the drain of streams for which a stop waits for the threads.
const GRACE: Duration = Duration::from_secs(2);
/// Interval at which a stop checks whether threads have ended.
const LOOK: Duration = Duration::from_millis(2);

/// Configuration of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Addresses to listen on. An address that the machine does not have is skipped with a warning if another one is
    /// left.
    pub listen: Vec<SocketAddr>,
    /// Accepted host names, besides IP addresses, `localhost` and `*.localhost`.
    pub allow_hosts: Vec<String>,
    /// Bounds on what clients may do.
    pub limits: Limits,
    /// Number of bulk threads.
    pub bulk_threads: usize,
    /// Metrics of requests.
    pub metrics: Arc<Metrics>,
    /// Clock of the header `Date`.
    pub clock: fn() -> Timestamp,
}

/// A running server. Dropping it stops it.
pub struct Server {
    addresses: Vec<SocketAddr>,
    stop: Box<dyn Fn() + Send + Sync>,
    threads: Vec<JoinHandle<()>>,
    /// Time limit for the threads to end.
    patience: Duration,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Server {
    /// Binds and starts to serve.
    ///
    /// # Errors
    /// An address cannot be listened on, or the system has no thread or poll.
    pub fn start<A: App>(config: ServerConfig, app: A) -> Result<Self, ListenError> {
        let listeners = listen(&config.listen)?;
        let addresses = listeners.iter().map(mio::net::TcpListener::local_addr).collect::<io::Result<Vec<_>>>()?;
        let shared = Arc::new(Shared {
            app: Arc::new(app),
            boundary: Boundary::new(&config.allow_hosts),
            sweep_interval: config.limits.sweep_interval(),
            gzip_permits: Arc::new(AtomicUsize::new(config.limits.gzip_streams)),
            body_bytes: Arc::default(),
            cache: ResponseCache::new(config.limits.cache_bytes),
            limits: config.limits,
            metrics: config.metrics,
            clock: config.clock,
            stopping: AtomicBool::new(false),
        });
        let small = ReactorPoll::new()?;
        let bulk = (0..config.bulk_threads.max(1)).map(|_| ReactorPoll::new()).collect::<io::Result<Vec<_>>>()?;
        let small_peers = vec![small.peer.clone()];
        let bulk_peers: Vec<Peer> = bulk.iter().map(|post| post.peer.clone()).collect();
        let wakers: Vec<Arc<Waker>> =
            small_peers.iter().chain(&bulk_peers).map(|peer| Arc::clone(&peer.waker)).collect();
        let stopping = Arc::clone(&shared);
        let stop = Box::new(move || {
            stopping.stopping.store(true, Ordering::Release);
            for waker in &wakers {
                // a reactor that cannot be woken checks the flag at its next sweep
                let _ = waker.wake();
            }
        });
        let patience = shared.limits.drain.saturating_add(GRACE);
        let mut server = Self { addresses, stop, threads: Vec::new(), patience };
        for (i, post) in bulk.into_iter().enumerate() {
            let reactor = Reactor::new(post, Arc::clone(&shared), small_peers.clone(), None)?;
            let run = move || {
                threads::yield_to_others(Yielding::Sending);
                reactor.run();
            };
            server.threads.push(threads::spawn_one_of("http-bulk", i, run)?);
        }
        let reactor = Reactor::new(small, shared, bulk_peers, Some(listeners))?;
        server.threads.push(threads::spawn_once("http-small", || reactor.run())?);
        Ok(server)
    }

    /// Addresses that the server listens on, in the order of [`ServerConfig::listen`].
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// True if all threads of the server run. If one has ended before the stop, listeners or streams are not served.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Stops the server: accepts no more, closes idle connections, and lets streams finish within [`Limits::drain`]. A
    /// thread that hangs is abandoned.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        (self.stop)();
        let until = Instant::now() + self.patience;
        for thread in self.threads.drain(..) {
            while !thread.is_finished() && Instant::now() < until {
                std::thread::sleep(LOOK);
            }
            if thread.is_finished() {
                // a panic of the reactor has been logged already
                let _ = thread.join();
            } else {
                tracing::warn!("a server thread does not stop; it is abandoned");
            }
        }
    }
}
