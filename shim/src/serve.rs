//! `greeksd serve`: puts feed, passes and server together, waits for a signal, and stops in order.

use crate::app::{Service, route_names};
use crate::config::Config;
use crate::daemon::{Clock, Daemon};
use crate::http::{self, Limits, Metrics, Server};
use crate::log;
use crate::source::{FeedSpec, Source};
use crate::state;
use crate::status::Status;
use arc_swap::ArcSwap;
use engine::calendar::Calendar;
use engine::pass::Passes;
use engine::snapshot::Snapshot;
use jiff::Timestamp;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Threads that stream long answers.
const BULK_THREADS: usize = 2;
/// How often a start that takes long says how far it is.
const PROGRESS: Duration = Duration::from_secs(5);

/// Runs until a signal ends it.
#[must_use]
pub fn run(config: &Config) -> ExitCode {
    log::start(config.log);
    let code = match serve(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            log::say(&format!("greeksd: {why}"));
            ExitCode::FAILURE
        }
    };
    log::finish();
    code
}

fn serve(config: &Config) -> Result<(), String> {
    let spec = FeedSpec::parse(&config.feed)?;
    let clock = config.now.map_or(Clock::Running, Clock::Fixed);
    let source = Source::open(&spec, clock.now(), config.now).map_err(|e| format!("feed {}: {e}", config.feed))?;
    let mut passes = Passes::new(config.threads, |_| low_priority()).map_err(|e| format!("no threads: {e}"))?;
    if let Some(folder) = &config.state_dir {
        passes.set_prior(state::load_prior(folder, &Calendar::embedded(), clock.now()));
    }

    let market = Arc::new(ArcSwap::from_pointee(Snapshot::empty(source.underlyings().into_iter().collect())));
    let metrics = Arc::new(Metrics::new(&route_names()));
    let status = Arc::new(new_status(config, &spec, clock));
    let service = Service::new(Arc::clone(&market), Arc::clone(&status), Arc::clone(&metrics));
    let server = Server::start(
        http::Config {
            listen: config.listen.clone(),
            limits: Limits::default(),
            bulk_threads: BULK_THREADS,
            metrics,
            clock: Timestamp::now,
        },
        service,
    )
    .map_err(|e| e.to_string())?;

    let (stop, stopped) = channel();
    let signal = Sender::clone(&stop);
    ctrlc::set_handler(move || {
        let _ = signal.send(());
    })
    .map_err(|e| format!("cannot wait for signals: {e}"))?;

    let ending = Arc::new(AtomicBool::new(false));
    let daemon = Daemon::new(source, passes, clock, Arc::clone(&market), Arc::clone(&status));
    let addresses = server.addresses().iter().map(|a| format!("http://{a}")).collect::<Vec<_>>().join(" and ");
    let banner = Banner { addresses, feed: config.feed.clone(), simulated: spec.is_simulated() };
    let keeper = config.state_dir.clone().filter(|_| !spec.is_simulated());
    let refresh = config.refresh;
    let (loop_ending, loop_market, loop_status) = (Arc::clone(&ending), Arc::clone(&market), status);
    std::thread::Builder::new()
        .name("market".to_owned())
        .spawn(move || market_loop(daemon, refresh, &loop_ending, &loop_market, &loop_status, &banner))
        .map_err(|e| format!("no thread: {e}"))?;

    // a closed channel cannot happen while `stop` lives, and would mean the same
    let _ = stopped.recv();
    drop(stop);
    ending.store(true, Ordering::Release);
    tracing::info!("stopping");
    server.stop();
    if let Some(folder) = keeper {
        state::keep(&folder, &Calendar::embedded(), &market.load());
    }
    Ok(())
}

/// Turns until the program ends; a pass in progress is abandoned with it.
fn market_loop(
    mut daemon: Daemon,
    refresh: Duration,
    ending: &AtomicBool,
    market: &ArcSwap<Snapshot>,
    status: &Status,
    banner: &Banner,
) {
    let (_never, tick) = channel::<()>();
    let mut announced = false;
    let mut said = Instant::now();
    while !ending.load(Ordering::Acquire) {
        let began = Instant::now();
        let complete = daemon.turn(&|| ending.load(Ordering::Acquire));
        if complete && !announced && market.load().number > 0 {
            announced = true;
            banner.print(&market.load(), status);
        } else if !announced && said.elapsed() > PROGRESS {
            said = Instant::now();
            let snapshot = market.load();
            tracing::info!("first chains: {} done, {} to come", snapshot.chains().len(), snapshot.pending().len());
        }
        let rest = refresh.saturating_sub(began.elapsed());
        if let Err(RecvTimeoutError::Disconnected) = tick.recv_timeout(rest) {
            return;
        }
    }
}

fn new_status(config: &Config, spec: &FeedSpec, clock: Clock) -> Status {
    let started = Instant::now();
    let threads = config.threads + BULK_THREADS + 2;
    Status::new(
        config.feed.clone(),
        spec.is_simulated(),
        threads,
        Box::new(move || clock.now()),
        Box::new(move || started.elapsed()),
        Calendar::embedded().zone().clone(),
    )
}

/// What is printed once, when everything is there.
struct Banner {
    addresses: String,
    feed: String,
    simulated: bool,
}

impl Banner {
    fn print(&self, snapshot: &Snapshot, status: &Status) {
        let contracts: u64 = snapshot.chains().iter().map(|c| u64::from(c.rows())).sum();
        let note = if self.simulated { "  (simulated: no real market data)" } else { "" };
        log::say(&format!(
            "greeksd {} serving {}\n  feed      {}{note}\n  market    {} names, {contracts} contracts\n  snapshot  {}",
            env!("CARGO_PKG_VERSION"),
            self.addresses,
            self.feed,
            snapshot.chains().len(),
            status.time_line(snapshot),
        ));
    }
}

/// Passes take what the serving threads leave.
fn low_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, 19) {
        tracing::debug!("priority: {error}");
    }
}
