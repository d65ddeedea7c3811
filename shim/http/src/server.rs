//! The server as a whole: binds, starts its reactor threads, stops them.

use super::app::App;
use super::boundary::Boundary;
use super::cache::ResponseCache;
use super::limits::Limits;
use super::listeners::{ListenError, listen};
use super::metrics::Metrics;
use super::reactor::{Peer, Post, Reactor};
use super::turn::Shared;
use host::threads;
use jiff::Timestamp;
use mio::Waker;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How much a bulk reactor yields to the small one, in steps of `nice`.
#[cfg(target_os = "linux")]
const BULK_NICE: i32 = 5;

/// How much longer than streams may last the end of the server waits for its threads.
const GRACE: Duration = Duration::from_secs(2);
/// How often it looks whether they have ended.
const LOOK: Duration = Duration::from_millis(2);

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Where to listen. An address that the machine does not have is skipped with a warning if another is left.
    pub listen: Vec<SocketAddr>,
    /// Names that it answers to, beside addresses in digits, `localhost` and `*.localhost`.
    pub allow_hosts: Vec<String>,
    /// Bounds on what clients may do.
    pub limits: Limits,
    /// Threads that stream.
    pub bulk_threads: usize,
    /// Where requests are counted.
    pub metrics: Arc<Metrics>,
    /// The time that `Date` says.
    pub clock: fn() -> Timestamp,
}

/// A running server. Dropping it stops it.
pub struct Server {
    addresses: Vec<SocketAddr>,
    stop: Box<dyn Fn() + Send + Sync>,
    threads: Vec<JoinHandle<()>>,
    /// How long its threads may take to end.
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
    /// An address that cannot be known, or a thread or poll that the system does not give.
    pub fn start<A: App>(config: ServerConfig, app: A) -> Result<Self, ListenError> {
        let listeners = listen(&config.listen)?;
        let addresses = listeners.iter().map(mio::net::TcpListener::local_addr).collect::<io::Result<Vec<_>>>()?;
        let shared = Arc::new(Shared {
            app: Arc::new(app),
            boundary: Boundary::new(&config.allow_hosts),
            sweep_interval: config.limits.sweep_interval(),
            gzip_places: Arc::new(AtomicUsize::new(config.limits.gzip_streams)),
            body_bytes: Arc::default(),
            cache: ResponseCache::new(config.limits.cache_bytes),
            limits: config.limits,
            metrics: config.metrics,
            clock: config.clock,
            stopping: AtomicBool::new(false),
        });
        let small = Post::new()?;
        let bulk = (0..config.bulk_threads.max(1)).map(|_| Post::new()).collect::<io::Result<Vec<_>>>()?;
        let small_peers = vec![small.peer.clone()];
        let bulk_peers: Vec<Peer> = bulk.iter().map(|post| post.peer.clone()).collect();
        let wakers: Vec<Arc<Waker>> =
            small_peers.iter().chain(&bulk_peers).map(|peer| Arc::clone(&peer.waker)).collect();
        let stopping = Arc::clone(&shared);
        let stop = Box::new(move || {
            stopping.stopping.store(true, Ordering::Release);
            for waker in &wakers {
                // A reactor that cannot be woken looks at the flag at its next sweep.
                let _ = waker.wake();
            }
        });
        let patience = shared.limits.drain.saturating_add(GRACE);
        let mut server = Self { addresses, stop, threads: Vec::new(), patience };
        for (i, post) in bulk.into_iter().enumerate() {
            let reactor = Reactor::new(post, Arc::clone(&shared), small_peers.clone(), None)?;
            let run = move || {
                lower_priority();
                reactor.run();
            };
            server.threads.push(threads::spawn_one_of("http-bulk", i, run)?);
        }
        let reactor = Reactor::new(small, shared, bulk_peers, Some(listeners))?;
        server.threads.push(threads::spawn_once("http-small", || reactor.run())?);
        Ok(server)
    }

    /// Where the server listens, in the order of [`ServerConfig::listen`].
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// True if every thread of the server lives. One that has ended before the stop leaves listeners or streams that
    /// nobody serves.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Stops: accepts no more, closes idle connections, lets streams finish for as long as [`Limits::drain`]. A thread
    /// that hangs is left behind.
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
                // a reactor that panicked has logged it already
                let _ = thread.join();
            } else {
                tracing::warn!("a server thread does not stop; it is abandoned");
            }
        }
    }
}

/// Lets this thread's work wait for that of the small reactor. On Linux and Windows a priority belongs to a thread;
/// elsewhere it would be the whole program's, so there the threads stay equal.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(e) = rustix::process::setpriority_process(None, BULK_NICE) {
        tracing::warn!(error = %e, "streams run at normal priority");
    }
    #[cfg(windows)]
    if let Err(e) = host::windows::yield_to_others(host::windows::Yielding::Somewhat) {
        tracing::warn!(error = %e, "streams run at normal priority");
    }
}
