//! What `greeksd serve` runs with, and its defaults. Never: where a value comes from.

use super::value::{Log, RatesMode, RecordKeep};
use crate::alerts::deliver::AlertTargets;
use host::secret::Keys;
use jiff::Timestamp;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use tracing::level_filters::LevelFilter;

/// The port that is served by default.
const PORT: u16 = 2112;

/// What `greeksd serve` runs with.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Addresses to listen on; loopback only, unless remote clients were allowed.
    pub listen: Vec<SocketAddr>,
    /// Where quotes come from, the ones before going before the ones after: `sim`, `sim:full`, `dir:PATH`, `tcp:PORT`.
    pub feeds: Vec<String>,
    /// Feeds and clients may be on other machines.
    pub allow_remote: bool,
    /// The file of vendors' keys; environment variables override it.
    pub key_file: Option<PathBuf>,
    /// The keys of vendors.
    pub keys: Keys,
    /// Certificates to trust vendors' servers by, in place of the system's.
    pub feed_ca: Option<PathBuf>,
    /// The instant at which the clock stands still.
    pub now: Option<Timestamp>,
    /// The instant at which the clock starts; not both.
    pub clock: Option<Timestamp>,
    /// Speed of a started clock, times real time; `None`: real time.
    pub speed: Option<f64>,
    /// Least time between two snapshots.
    pub refresh: Duration,
    /// Threads that compute.
    pub threads: usize,
    /// Where what comes in is kept; `None`: nowhere.
    pub record: Option<PathBuf>,
    /// How much of that stays; `None`: everything.
    pub record_keep: Option<RecordKeep>,
    /// The file of overrides of feeds and quotes.
    pub overrides: Option<PathBuf>,
    /// Which discount curves values are computed with.
    pub rates: RatesMode,
    /// Where the last session's values are kept; `None`: nowhere.
    pub state_dir: Option<PathBuf>,
    /// It is the platform's folder, which nobody has named.
    pub is_state_dir_default: bool,
    /// How the log is written.
    pub log: Log,
    /// The file that the log goes to, in place of standard error.
    pub log_file: Option<PathBuf>,
    /// What is logged.
    pub log_level: LevelFilter,
    /// Names that clients may call this machine by, beside addresses in digits and `localhost`.
    pub allow_hosts: Vec<String>,
    /// Bytes that old snapshots may hold.
    pub old_snapshot_bytes: u64,
    /// Most bytes of rendered answers that are kept.
    pub response_cache_bytes: usize,
    /// True if clients of this machine get gzip.
    pub gzip_loopback: bool,
    /// Layers show the quotes of the feed.
    pub show_quotes: bool,
    /// The file of positions.
    pub positions: Option<PathBuf>,
    /// Positions may be replaced by a request.
    pub allow_positions: bool,
    /// The file of alert rules.
    pub alerts: Option<PathBuf>,
    /// Where hits of alert rules go, beside log and streams.
    pub alert_targets: AlertTargets,
    /// Bytes that past days which were computed may take.
    pub history_bytes: u64,
    /// What whoever starts the daemon calls it, to know it again.
    pub instance: Option<String>,
    /// The configuration file, and what of it does not count.
    pub file_note: Option<String>,
}

impl Default for Config {
    /// The configuration of a user who has set nothing, without a state folder: that is the platform's.
    fn default() -> Self {
        Self {
            // `localhost` is ::1 first on Windows and macOS: a listener on IPv4 alone costs each connection a wait
            listen: vec![(Ipv4Addr::LOCALHOST, PORT).into(), (Ipv6Addr::LOCALHOST, PORT).into()],
            // the embedded market needs nothing from outside
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
            // two and a half whole markets
            old_snapshot_bytes: 1_000_000_000,
            // what ten programs request that look at twenty chains
            response_cache_bytes: 64_000_000,
            gzip_loopback: false,
            show_quotes: false,
            positions: None,
            allow_positions: false,
            alerts: None,
            alert_targets: AlertTargets::default(),
            // some hundred chains of many expirations
            history_bytes: 1_000_000_000,
            instance: None,
            file_note: None,
        }
    }
}
