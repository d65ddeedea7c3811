//! The configuration of `greeksd serve`, and its defaults. Never: the origin of a value.

use super::value::RatesMode;
use desk::alerts::deliver::AlertTargets;
use host::log::Log;
use host::secret::Keys;
use jiff::Timestamp;
use sources::recorder::RecordKeep;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use tracing::level_filters::LevelFilter;

/// Default port.
const PORT: u16 = 2112;

/// The configuration of `greeksd serve`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Addresses to listen on; loopback only, unless remote clients are allowed.
    pub listen: Vec<SocketAddr>,
    /// Sources of quotes, in order of precedence: `sim`, `sim:full`, `dir:PATH`, `tcp:PORT`.
    pub feeds: Vec<String>,
    /// True if feeds and clients may be on other machines.
    pub allow_remote: bool,
    /// File of vendors' keys; environment variables override it.
    pub key_file: Option<PathBuf>,
    /// Keys of vendors.
    pub keys: Keys,
    /// CA certificates for vendors' servers, instead of those of the system.
    pub feed_ca: Option<PathBuf>,
    /// Instant of a fixed market clock.
    pub now: Option<Timestamp>,
    /// Instant at which the market clock starts; excludes `now`.
    pub clock: Option<Timestamp>,
    /// Speed of a started clock, as a multiple of real time; `None`: 1.
    pub speed: Option<f64>,
    /// Minimum time between two snapshots.
    pub refresh: Duration,
    /// Number of compute threads.
    pub threads: usize,
    /// Folder of recordings; `None`: incoming data are not recorded.
    pub record: Option<PathBuf>,
    /// Amount of recordings to keep; `None`: everything.
    pub record_keep: Option<RecordKeep>,
    /// File of overrides of feeds and quotes.
    pub overrides: Option<PathBuf>,
    /// Source of the discount curves.
    pub rates: RatesMode,
    /// Folder of the state that survives a restart; `None`: nothing is kept.
    pub state_dir: Option<PathBuf>,
    /// True if the state folder is the platform's, which the user did not name.
    pub is_state_dir_default: bool,
    /// Format of the log.
    pub log: Log,
    /// File of the log, instead of standard error.
    pub log_file: Option<PathBuf>,
    /// Level of the log.
    pub log_level: LevelFilter,
    /// Host names accepted in requests, besides IP addresses and `localhost`.
    pub allow_hosts: Vec<String>,
    /// Maximum bytes of old snapshots that slow readers hold.
    pub old_snapshot_bytes: u64,
    /// Maximum bytes of the response cache.
    pub response_cache_bytes: usize,
    /// True if clients on this machine get gzip, too.
    pub gzip_loopback: bool,
    /// True if layers show the quotes of the feed.
    pub show_quotes: bool,
    /// File of positions.
    pub positions: Option<PathBuf>,
    /// True if a request may replace the positions.
    pub allow_positions: bool,
    /// File of alert rules.
    pub alerts: Option<PathBuf>,
    /// Targets of hits of alert rules, besides log and streams.
    pub alert_targets: AlertTargets,
    /// Maximum bytes of computed past days.
    pub history_bytes: u64,
    /// Name of the daemon, given by the program that starts it.
    pub instance: Option<String>,
    /// Path of the configuration file and its ignored keys, in words.
    pub file_note: Option<String>,
}

impl Default for Config {
    /// The configuration without any option, but for the state folder, which depends on the platform and the feeds.
    fn default() -> Self {
        Self {
            // `localhost` is ::1 first on Windows and macOS: a listener on IPv4 alone costs each connection a wait
            listen: vec![(Ipv4Addr::LOCALHOST, PORT).into(), (Ipv6Addr::LOCALHOST, PORT).into()],
            // the simulated market needs no network and no file
            feeds: vec!["sim".to_owned()],
            allow_remote: false,
            key_file: None,
            keys: Keys::default(),
            feed_ca: None,
            now: None,
            clock: None,
            speed: None,
            refresh: Duration::from_secs(1),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            record: None,
            record_keep: None,
            overrides: None,
            rates: RatesMode::Auto,
            state_dir: None,
            is_state_dir_default: false,
            log: Log::Text,
            log_file: None,
            log_level: LevelFilter::INFO,
            allow_hosts: Vec::new(),
            // two and a half snapshots of the whole market
            old_snapshot_bytes: 1_000_000_000,
            // the requests of ten programs that read twenty chains
            response_cache_bytes: 64_000_000,
            gzip_loopback: false,
            show_quotes: false,
            positions: None,
            allow_positions: false,
            alerts: None,
            alert_targets: AlertTargets::default(),
            // about a hundred chains of many expirations
            history_bytes: 1_000_000_000,
            instance: None,
            file_note: None,
        }
    }
}
