//! `greeksd serve`: connects feed, passes and server, waits for a signal, and stops them in order.

use crate::app::{Service, route_names};
use crate::config::Config;
use crate::market::MarketLoop;
use crate::market::feed::Feed;
use crate::market::overrides::OverridesFile;
use crate::market::sessions::{Sessions, StateWriter, StateWriterSettings};
use crate::market::spec::{FeedSpec, OpenTerms};
use crate::past::cache::CachedArchive;
use crate::past::folder::{ComputedDays, RecordedFolder};
use crate::status::Status;
use api::metrics::NameRows;
use api::vendors::layer::counted;
use arc_swap::ArcSwap;
use desk::alerts::deliver::AlertSender;
use desk::alerts::log::AlertLog;
use desk::alerts::watch::AlertWatch;
use desk::positions::desk::PositionDesk;
use desk::positions::file::PositionsFile;
use desk::positions::valued::ValuedBook;
use desk::watched_file::{self, WatchedFile};
use engine::closes::Closes;
use engine::pass::Passes;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use host::clock::MarketClock;
use host::threads::{self, Yielding};
use host::{descriptors, faults, log, signals};
use http::{self, Limits, Metrics, Server};
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use restart::folder::{SavedMarket, StateFolder};
use sources::recorder::Recorder;
use sources::requested::RequestedNames;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Number of threads that stream long answers.
const BULK_THREADS: usize = 2;
/// Maximum bytes of positions in a request: a hundred thousand lines.
const PUT_BYTES: u64 = 8 << 20;
/// Minimum number of connections for a start: with fewer, some idle clients would block all others.
const CONNECTIONS_LEAST: usize = 16;
/// Interval between progress lines of a slow start.
const PROGRESS: Duration = Duration::from_secs(5);
/// Interval between checks of the threads.
const WATCH: Duration = Duration::from_millis(500);
/// Maximum duration of the stop, shared by running answers and saving. Containers are killed after ten seconds.
pub const SAVING: Duration = Duration::from_secs(8);
/// Exit code: the program could not start.
const FAILED: u8 = 1;
/// Exit code: an internal error (`EX_SOFTWARE`); a supervisor restarts the program.
const SOFTWARE_FAILED: u8 = 70;

/// Phase of a daemon, for its supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The daemon listens.
    Opened,
    /// The daemon computes.
    Serving,
    /// The daemon saves its state, and ends within [`SAVING`].
    Stopping,
}

/// Function that is called at the begin of each phase; an error ends the daemon.
pub type Watch<'a> = dyn Fn(Phase) -> Result<(), String> + 'a;

/// Why the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A signal requested the end.
    Requested,
    /// A thread has ended that must run until the end.
    Failed,
}

/// Runs until a signal ends it.
#[must_use]
pub fn run(config: &Config) -> ExitCode {
    let (stop, stopped) = channel();
    let watch = |phase| match phase {
        // before this phase a signal ends the program at once
        Phase::Opened => {
            signals::listen(Sender::clone(&stop), read_again).map_err(|e| format!("cannot wait for signals: {e}"))
        }
        Phase::Serving | Phase::Stopping => Ok(()),
    };
    ExitCode::from(run_until(config, &stopped, &watch))
}

/// Has every file that a user edits read again.
fn read_again() {
    tracing::info!("SIGHUP: reading positions, overrides and alerts again");
    watched_file::read_again();
}

/// Runs until a message arrives on `stopped`. `watch` is called at each phase, and its error ends the daemon. Returns
/// the exit code.
pub fn run_until(config: &Config, stopped: &Receiver<()>, watch: &Watch) -> u8 {
    // the log may be a file, which nothing is made for before the start is sure as far as it can be
    let done = OpenedDaemon::check(config);
    let done = done.and_then(|_| log::start(config.log, config.log_level, config.log_file.as_deref()));
    let code = match done.and_then(|()| serve(config, stopped, watch)) {
        Ok(End::Requested) => 0,
        Ok(End::Failed) => SOFTWARE_FAILED,
        Err(why) => {
            log::say(&format!("greeksd: {why}"));
            FAILED
        }
    };
    log::finish();
    code
}

fn serve(config: &Config, stopped: &Receiver<()>, watch: &Watch) -> Result<End, String> {
    for note in notes(config) {
        tracing::info!("{}", note.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let opened = OpenedDaemon::open(config)?;
    watch(Phase::Opened)?;
    let daemon = opened.start(config, true)?;
    watch(Phase::Serving)?;
    let end = wait(stopped, || daemon.is_whole());
    let watched = watch(Phase::Stopping);
    match end {
        End::Requested => tracing::info!("stopping"),
        End::Failed => {
            tracing::error!("an essential thread has ended: stopping, so that no stale values are served")
        }
    }
    daemon.stop();
    watched.map(|()| end)
}

/// A daemon that listens and does not compute yet.
pub struct OpenedDaemon {
    feed: Box<dyn Feed>,
    passes: Passes,
    clock: MarketClock,
    overrides: Option<OverridesFile>,
    requested: Arc<RequestedNames>,
    recorder: Option<Recorder>,
    folder: Option<Arc<StateFolder>>,
    state_writer: Option<StateWriter>,
    saved: SavedMarket,
    market: Arc<ArcSwap<Snapshot>>,
    status: Arc<Status>,
    positions: Arc<PositionDesk>,
    positions_file: Option<PositionsFile>,
    alerts: Option<AlertWatch>,
    alert_sender: AlertSender,
    server: Server,
}

/// A daemon that serves until it is stopped.
pub struct RunningDaemon {
    server: Server,
    market_thread: JoinHandle<()>,
    ending: Arc<AtomicBool>,
    market: Arc<ArcSwap<Snapshot>>,
    state_writer: Option<StateWriter>,
    recorder: Option<Recorder>,
    alert_sender: AlertSender,
}

impl OpenedDaemon {
    /// Checks what can be checked before anything is made: the feeds, and whether given files are there.
    fn check(config: &Config) -> Result<Vec<FeedSpec>, String> {
        let specs = config.feeds.iter().map(|feed| FeedSpec::parse(feed)).collect::<Result<Vec<_>, _>>()?;
        FeedSpec::check(&specs)?;
        if config.record.is_some() {
            FeedSpec::check_recorded(&specs)?;
        }
        let files = [("overrides", &config.overrides), ("positions", &config.positions), ("alerts", &config.alerts)];
        for (what, path) in files {
            path.as_deref().map(|path| WatchedFile::open(what, path)).transpose()?;
        }
        Ok(specs)
    }

    /// Opens feeds, files and sockets.
    ///
    /// # Errors
    /// One of them cannot be opened: which, and why.
    pub fn open(config: &Config) -> Result<Self, String> {
        let specs = Self::check(config)?;
        let clock = clock_of(config);
        let requested = Arc::<RequestedNames>::default();
        let overrides = config.overrides.as_deref().map(OverridesFile::open).transpose()?;
        let positions_file = config.positions.as_deref().map(PositionsFile::open).transpose()?;
        let alert_log = Arc::<AlertLog>::default();
        let targets = config.alerts.as_ref().map(|_| config.alert_targets.clone()).unwrap_or_default();
        let alert_sender = AlertSender::start(targets).map_err(|e| format!("no thread: {e}"))?;
        let alerts = config.alerts.as_deref();
        let alerts = alerts.map(|path| AlertWatch::open(path, Arc::clone(&alert_log), alert_sender.clone()));
        let alerts = alerts.transpose()?;
        // folders are created only after all given files have been found
        let record = config.record.as_deref();
        let recorder = record.map(|folder| Recorder::start(folder, config.record_keep));
        let recorder = recorder.transpose()?;
        let folder = state_folder(config, &specs)?.map(Arc::new);
        let closes = folder.as_ref().map(|folder| folder.closes()).unwrap_or_default();
        let closes = Arc::new(ArcSwap::from_pointee(closes));
        let rows = Arc::<NameRows>::default();
        let alerts = alerts.map(|alerts| alerts.with_metrics(Arc::clone(&closes), Arc::clone(&rows)));
        let terms = OpenTerms {
            clock,
            allow_remote: config.allow_remote,
            keys: config.keys.clone(),
            authorities: config.feed_ca.clone(),
            requested: Arc::clone(&requested),
            record: recorder.as_ref().map(Recorder::tap),
            is_replay: config.clock.is_some(),
            recorded: FeedSpec::recorded(&specs, config.overrides.as_deref())?,
            rates: config.rates,
            // values under another clock may be an experiment: their curve is not saved
            last_rates: folder.as_ref().filter(|_| clock.is_real()).map(|folder| folder.path().to_owned()),
        };
        let mut feed = FeedSpec::open(&specs, &terms)?;
        let simulated = feed.is_simulated();
        if config.show_quotes {
            feed.keep_sizes();
        }
        let passes = passes_of(config)?;
        let saved = FeedSpec::saved_market(&specs);
        warn_without_quotes(config, &specs);
        let state_writer = folder.iter().filter(|_| !simulated);
        let state_writer = state_writer.map(|folder| start_state_writer(folder, &saved, clock, &closes)).next();
        let state_writer = state_writer.transpose().map_err(|e| format!("no thread: {e}"))?;

        let known = feed.names().into_iter().chain(feed.expected().into_iter().flatten());
        let known: BTreeSet<Symbol> = known.collect();
        let market = Arc::new(ArcSwap::from_pointee(Snapshot::empty(known.into_iter().collect())));
        let metrics = Arc::new(Metrics::new(&route_names()));
        let status = Arc::new(new_status(config, simulated, clock));
        let positions = PositionDesk::new(
            Arc::new(RootTable::embedded()),
            Calendar::embedded(),
            config.allow_positions,
            positions_file.is_some(),
        );
        let positions = Arc::new(positions);
        let mut service = Service::new(Arc::clone(&market), Arc::clone(&status), Arc::clone(&metrics))
            .with_old_snapshot_bytes(config.old_snapshot_bytes)
            .showing_quotes(config.show_quotes)
            .with_requested_names(Arc::clone(&requested))
            .with_positions(Arc::clone(&positions), alert_log)
            .with_metrics(closes, rows);
        if let Some(recorded) = terms.recorded {
            service = service.with_archive(Arc::new(archive_of(config, recorded)?));
        }
        let server = Server::start(server_config(config, metrics)?, service).map_err(|e| e.to_string())?;
        Ok(Self {
            feed,
            passes,
            clock,
            overrides,
            requested,
            recorder,
            folder,
            state_writer,
            saved,
            market,
            status,
            positions,
            positions_file,
            alerts,
            alert_sender,
            server,
        })
    }

    /// Begins to compute; `announces`: writes a banner to standard error when the market is whole.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(self, config: &Config, announces: bool) -> Result<RunningDaemon, String> {
        let Self {
            feed,
            passes,
            clock,
            overrides,
            requested,
            recorder,
            folder,
            state_writer,
            saved,
            market,
            status,
            positions,
            positions_file,
            mut alerts,
            alert_sender,
            server,
        } = self;
        let simulated = feed.is_simulated();
        let ending = Arc::new(AtomicBool::new(false));
        let restored = folder.as_ref().filter(|_| !simulated && clock.is_real());
        let restored = restored.map_or_else(Vec::new, |folder| restore(folder, &saved, feed.as_ref()));
        let sessions = folder.map(|folder| Sessions::new(folder, state_writer.as_ref()));
        let market_loop = MarketLoop::new(feed, passes, clock, Arc::clone(&market), Arc::clone(&status));
        let noted = Arc::clone(&requested);
        let market_loop = market_loop
            .with_sessions(sessions)
            .with_overrides(overrides)
            .with_requested_names(requested)
            .with_restored(restored);
        let addresses = server.addresses().iter().map(|a| format!("http://{a}")).collect::<Vec<_>>().join(" and ");
        if !simulated {
            tracing::info!("{addresses}: waiting for the first quotes of {}", feed_name(config));
        }
        let banner = Banner { addresses, feed: feed_name(config), simulated, notes: notes(config) };
        let banner = announces.then_some(banner);
        let refresh = config.refresh;
        let (loop_ending, loop_market, loop_status) = (Arc::clone(&ending), Arc::clone(&market), status);
        let run = move || run_market(market_loop, refresh, &loop_ending, &loop_market, &loop_status, banner.as_ref());
        if positions.is_used() || alerts.is_some() {
            let (file, market, ending) = (positions_file, Arc::clone(&market), Arc::clone(&ending));
            // names of the desk are computed before others
            let passed = move |snapshot: &Snapshot, valued: &ValuedBook, is_new: bool| {
                alerts.iter_mut().for_each(|alerts| alerts.look(snapshot, valued, is_new));
                if is_new {
                    watched_names(valued, alerts.as_ref()).for_each(|name| noted.note(name));
                }
            };
            positions.start(file, market, ending, passed).map_err(|e| format!("no thread: {e}"))?;
        }
        let market_thread = threads::spawn_once("market", run).map_err(|e| format!("no thread: {e}"))?;
        Ok(RunningDaemon { server, market_thread, ending, market, state_writer, recorder, alert_sender })
    }
}

/// The names that a desk watches: those of positions and of rules.
fn watched_names(valued: &ValuedBook, alerts: Option<&AlertWatch>) -> impl Iterator<Item = Symbol> {
    let runs = valued.positions.chunk_by(|a, b| a.underlying == b.underlying);
    let held = runs.filter_map(|run| run.first()).map(|of| of.underlying);
    held.chain(alerts.into_iter().flat_map(AlertWatch::names))
}

impl RunningDaemon {
    /// Addresses that the daemon listens on.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        self.server.addresses()
    }

    /// True if all essential threads run.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.market_thread.is_finished() && self.server.is_whole()
    }

    /// Saves the state, and meanwhile lets running answers finish.
    pub fn stop(self) {
        self.ending.store(true, Ordering::Release);
        self.alert_sender.stop();
        // saving begins before the wait for answers, which a second signal may cut short
        self.state_writer.iter().for_each(|state_writer| state_writer.keep_last(&self.market.load()));
        self.recorder.iter().for_each(Recorder::end);
        let began = Instant::now();
        self.server.stop();
        let patience = SAVING.saturating_sub(began.elapsed());
        self.state_writer.into_iter().for_each(|state_writer| state_writer.finish(patience));
        let patience = SAVING.saturating_sub(began.elapsed());
        self.recorder.into_iter().for_each(|recorder| recorder.finish(patience));
    }
}

fn server_config(config: &Config, metrics: Arc<Metrics>) -> Result<http::ServerConfig, String> {
    Ok(http::ServerConfig {
        listen: config.listen.clone(),
        allow_hosts: config.allow_hosts.clone(),
        limits: limits(config)?,
        bulk_threads: BULK_THREADS,
        metrics,
        clock: Timestamp::now,
    })
}

/// The passes over the market, on threads of their own.
///
/// # Errors
/// The system has no threads.
fn passes_of(config: &Config) -> Result<Passes, String> {
    let passes = Passes::new(config.threads, |_| threads::yield_to_others(Yielding::Market));
    let mut passes = passes.map_err(|e| format!("no threads: {e}"))?;
    passes.time_stages(host::clock::nanoseconds);
    if config.show_quotes {
        passes.keep_quotes();
    }
    Ok(passes)
}

/// The days of a recorded folder, computed on threads of their own when they are requested.
///
/// # Errors
/// The system has no threads.
fn archive_of(config: &Config, recorded: Arc<RecordedFolder>) -> Result<CachedArchive<ComputedDays>, String> {
    let days = ComputedDays::new(recorded, config.show_quotes);
    let archive =
        CachedArchive::start(days, config.history_bytes, config.threads, || threads::yield_to_others(Yielding::Market));
    archive.map_err(|e| format!("no threads: {e}"))
}

/// Logs that the feeds have rates or dividends alone.
fn warn_without_quotes(config: &Config, specs: &[FeedSpec]) {
    if FeedSpec::lack_quotes(specs) {
        tracing::warn!(
            "{}: these feeds have no quotes; add one that has, such as --feed cboe:SPY or --feed dir:PATH",
            feed_name(config)
        );
    }
}

/// The clock of the market; a started clock runs from now on.
fn clock_of(config: &Config) -> MarketClock {
    match (config.now, config.clock) {
        (Some(now), _) => MarketClock::Fixed(now),
        (None, Some(start)) => MarketClock::starting(start, config.speed.unwrap_or(1.0)),
        (None, None) => MarketClock::Running,
    }
}

/// The state folder, for this daemon alone. If another daemon uses the platform's default folder, this one saves
/// nothing.
///
/// # Errors
/// Another daemon uses the folder that the user named.
fn state_folder(config: &Config, specs: &[FeedSpec]) -> Result<Option<StateFolder>, String> {
    let Some(path) = &config.state_dir else { return Ok(None) };
    if matches!(specs, [FeedSpec::Sim(_)]) {
        return Ok(Some(StateFolder::open(path)));
    }
    let folder = StateFolder::claimed(path);
    let in_use = format!("state folder {}: another greeksd uses it", path.display());
    match folder {
        Some(folder) => Ok(Some(folder)),
        None if config.is_state_dir_default => {
            tracing::warn!("{in_use}; this one keeps nothing for a restart: give it a --state-dir of its own");
            Ok(None)
        }
        None => Err(format!("{in_use}: give each its own --state-dir")),
    }
}

/// Starts the thread that saves state.
fn start_state_writer(
    folder: &Arc<StateFolder>,
    market: &SavedMarket,
    clock: MarketClock,
    closes: &Arc<ArcSwap<Closes>>,
) -> std::io::Result<StateWriter> {
    StateWriter::start(StateWriterSettings {
        folder: Arc::clone(folder),
        calendar: Calendar::embedded(),
        clock: Timestamp::now,
        is_real: clock.is_real(),
        market: market.clone(),
        closes: Arc::clone(closes),
    })
}

/// The feeds, as the user specified them.
fn feed_name(config: &Config) -> String {
    config.feeds.join(", ")
}

/// The saved chains of the names that a feed can have, to serve until they are recomputed.
fn restore(folder: &StateFolder, market: &SavedMarket, feed: &dyn Feed) -> Vec<Chain> {
    let began = Instant::now();
    let chains = folder.saved_market(market, feed.expected().as_ref(), Timestamp::now());
    if let Some(at) = chains.iter().map(|chain| chain.valued_at).max() {
        let (names, ms) = (chains.len(), began.elapsed().as_millis());
        tracing::info!("serving {} as of {at} (restored in {ms} ms) until each is recomputed", counted(names, "name"));
    }
    chains
}

/// The bounds of the server, within the limit of open files.
///
/// # Errors
/// The system leaves room for too few connections.
fn limits(config: &Config) -> Result<Limits, String> {
    let own = Limits::default();
    let room = descriptors::for_connections().unwrap_or(usize::MAX);
    if room < CONNECTIONS_LEAST {
        return Err(format!("the limit of open files leaves room for {room} connections: raise it (ulimit -n 1024)"));
    }
    if room < own.connections {
        tracing::info!("limited to {room} connections by the limit of open files");
    }
    Ok(Limits {
        connections: own.connections.min(room),
        cache_bytes: config.response_cache_bytes,
        gzip_loopback: config.gzip_loopback,
        put_bytes: if config.allow_positions { PUT_BYTES } else { 0 },
        ..own
    })
}

/// Waits for a signal, or until a thread has ended.
fn wait(stopped: &Receiver<()>, all_live: impl Fn() -> bool) -> End {
    loop {
        match stopped.recv_timeout(WATCH) {
            Err(RecvTimeoutError::Timeout) if all_live() => {}
            Err(RecvTimeoutError::Timeout) => return End::Failed,
            // the channel cannot close while the handler of signals lives
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return End::Requested,
        }
    }
}

/// Runs the market loop until the program ends; the end abandons a running pass.
fn run_market(
    mut market_loop: MarketLoop,
    refresh: Duration,
    ending: &AtomicBool,
    market: &ArcSwap<Snapshot>,
    status: &Status,
    banner: Option<&Banner>,
) {
    let (_never, tick) = channel::<()>();
    let mut announced = false;
    let mut said = Instant::now();
    while !ending.load(Ordering::Acquire) {
        faults::here("market");
        let began = Instant::now();
        let complete = market_loop.turn(&|| ending.load(Ordering::Acquire));
        if complete && !announced && market.load().number > 0 {
            announced = true;
            if let Some(banner) = banner {
                banner.print(&market.load(), status);
            }
        } else if !announced && said.elapsed() > PROGRESS {
            said = Instant::now();
            let snapshot = market.load();
            let (done, to_come) = (snapshot.chains().len(), snapshot.pending().len());
            // a pushed feed may wait for hours without any name
            if done + to_come > 0 {
                tracing::info!("first chains: {done} computed, {to_come} pending");
            }
        }
        let rest = market_loop.rest(refresh).saturating_sub(began.elapsed());
        if let Err(RecvTimeoutError::Disconnected) = tick.recv_timeout(rest) {
            return;
        }
    }
}

fn new_status(config: &Config, simulated: bool, clock: MarketClock) -> Status {
    let started = Instant::now();
    let threads = config.threads + BULK_THREADS + 2;
    let mut status = Status::new(
        feed_name(config),
        simulated,
        threads,
        clock,
        Box::new(move || started.elapsed()),
        Calendar::embedded().zone().clone(),
    );
    status.instance.clone_from(&config.instance);
    status
}

/// Notes on the configuration: its file, remote access, and readable keys.
fn notes(config: &Config) -> Vec<String> {
    let file = config.file_note.iter().map(|note| format!("config    {note}"));
    let remote = config.listen.iter().any(|address| !address.ip().is_loopback()).then(|| REMOTE.to_owned());
    let keys = config.keys.warning().map(|warning| format!("keys      {warning}"));
    file.chain(remote).chain(keys).collect()
}

/// Note on `--allow-remote`.
const REMOTE: &str = "remote    every machine that can reach these addresses has access: no password, no encryption, no limit \
                      per client; put a proxy in front (docs/security.md)";

/// Text that is printed once, when the market is whole.
struct Banner {
    addresses: String,
    feed: String,
    simulated: bool,
    notes: Vec<String>,
}

impl Banner {
    fn print(&self, snapshot: &Snapshot, status: &Status) {
        let contracts: usize = snapshot.chains().iter().map(|c| c.rows() as usize).sum();
        let note = if self.simulated { "  (simulated: no real market data)" } else { "" };
        let clock =
            if status.clock.is_real() { String::new() } else { format!("\n  clock     {}", status.clock_line()) };
        let notes: String = self.notes.iter().map(|note| format!("\n  {note}")).collect();
        log::say(&format!(
            "greeksd {} serving {}\n  feed      {}{note}\n  market    {}, {}\n  snapshot  {}{clock}{notes}",
            env!("CARGO_PKG_VERSION"),
            self.addresses,
            self.feed,
            counted(snapshot.chains().len(), "name"),
            counted(contracts, "contract"),
            status.time_line(snapshot),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_has_ended_ends_the_program_with_a_code_of_its_own() {
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(|| std::panic::panic_any("a fault of the loop"));
        let began = Instant::now();
        assert_eq!(wait(&stopped, || !thread.is_finished()), End::Failed);
        assert!(began.elapsed() < Duration::from_secs(20));
        stop.send(()).unwrap();
        assert_eq!(wait(&stopped, || true), End::Requested);
    }

    #[test]
    fn names_of_positions_are_computed_before_others() {
        let held = PositionDesk::new(Arc::new(RootTable::embedded()), Calendar::embedded(), true, false);
        let csv = b"osym,symbol,quantity\nSPXW261218C07000000,,1\n,KO,100\n,KO,-50\n";
        let lines = desk::positions::file::parse(std::path::Path::new("p"), csv).unwrap();
        held.replace("test", lines, &Snapshot::empty(Vec::new()));
        let names = watched_names(&held.valued(), None).map(|name| name.to_string()).collect::<BTreeSet<_>>();
        // what is not listed has the name of its root
        assert_eq!(names.iter().collect::<Vec<_>>(), ["KO", "SPXW"]);
    }

    #[test]
    fn the_banner_says_which_file_was_read_and_what_remote_means() {
        let config = |listen: &str, file: Option<&str>| Config {
            listen: vec![listen.parse().unwrap()],
            file_note: file.map(str::to_owned),
            ..Config::default()
        };
        assert_eq!(notes(&config("127.0.0.1:1", None)), [""; 0]);
        assert_eq!(notes(&config("[::1]:1", Some("a.toml"))), ["config    a.toml"]);
        let remote = notes(&config("0.0.0.0:1", None)).join("");
        assert!(remote.contains("no password") && remote.contains("every machine"), "{remote}");
    }
}
