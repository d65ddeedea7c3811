//! The configuration: the command line, then the environment, then `greeksd.toml`, then defaults, in one
//! [`Config`] that says of every value where it came from.
//!
//! A value has one spelling and one parser in all three places. Whatever is unknown or malformed ends the program with
//! a hint. Never: a clock, an environment variable, an argument (`main` hands them in; clap asks the environment for
//! the names declared in `cli`).

mod cli;
mod error;
mod file;
mod origin;
mod value;

pub use cli::{
    BatchAccuracy, BatchArgs, BatchFormat, CompareArgs, ExplainArgs, KnownFiles, PriceArgs, ViewArgs, ViewColor,
};
use cli::{Cli, Command, ServeArgs};
pub use error::ConfigError;
use file::File;
use host::secret::Keys;
use jiff::Timestamp;
pub use origin::Origin;
use std::ffi::OsString;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use tracing::level_filters::LevelFilter;
use value::Feeds;
pub use value::{Log, Milliseconds, RatesMode};

/// What `greeksd serve` runs with.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Addresses to listen on; loopback only, unless remote clients were allowed.
    pub listen: Vec<SocketAddr>,
    /// Where quotes come from, the ones before going before the ones after: `sim`, `sim:full`, `dir:PATH`, `tcp:PORT`.
    pub feeds: Vec<String>,
    /// Feeds and clients may be on other machines.
    pub allow_remote: bool,
    /// The keys of vendors.
    pub keys: Keys,
    /// Certificates to trust vendors' servers by, in place of the system's.
    pub feed_ca: Option<PathBuf>,
    /// The instant at which the clock stands still.
    pub now: Option<Timestamp>,
    /// The instant at which the clock starts; not both.
    pub clock: Option<Timestamp>,
    /// How many times as fast as real time a clock runs that is started so.
    pub speed: f64,
    /// Least time between two snapshots.
    pub refresh: Duration,
    /// Threads that compute.
    pub threads: usize,
    /// Where what comes in is kept; `None`: nowhere.
    pub record: Option<PathBuf>,
    /// The file of what goes before feeds and quotes.
    pub overrides: Option<PathBuf>,
    /// Which discount curves values are computed with.
    pub rates: RatesMode,
    /// Where the last session's values are kept; `None`: nowhere.
    pub state_dir: Option<PathBuf>,
    /// How the log is written.
    pub log: Log,
    /// What is logged.
    pub log_level: LevelFilter,
    /// Names that clients may call this machine by, beside addresses in digits and `localhost`.
    pub allow_hosts: Vec<String>,
    /// Bytes that old snapshots may hold.
    pub old_snapshot_bytes: u64,
    /// Most bytes of rendered answers that are kept.
    pub response_cache_bytes: usize,
    /// Whether clients of this machine get gzip.
    pub gzip_loopback: bool,
    /// Layers show the quotes of the feed.
    pub show_quotes: bool,
    /// Bytes that past days which were computed may take.
    pub history_bytes: u64,
    /// The configuration file, and what of it does not count.
    pub file_note: Option<String>,
}

/// What to do.
#[derive(Debug)]
pub enum Invocation {
    /// Run the daemon.
    Serve(Box<Config>),
    /// Print this (the configuration, a manual page, completions) and end.
    Print(String),
    /// Price the rows of a file.
    Price(PriceArgs),
    /// Compute days of recorded quotes.
    Batch(Box<BatchArgs>),
    /// Look at chains in the terminal.
    View(Box<ViewPlan>),
    /// Hold our values against a vendor's own.
    Compare(Box<CompareArgs>),
    /// Say everything behind one contract; the keys of vendors, where a feed is asked for it.
    Explain(Box<ExplainArgs>, Keys),
}

/// What `greeksd view` runs with.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewPlan {
    /// Its options.
    pub args: ViewArgs,
    /// What computes within it, if no daemon is asked.
    pub service: Option<Config>,
}

/// Reads arguments (the program's name first), environment and file.
///
/// `home` answers for environment variables that name folders (`HOME`, `XDG_CONFIG_HOME`, `APPDATA`, …) or hold keys.
///
/// # Errors
/// An option, variable or key that is unknown or malformed, with a hint; `--help` and `--version`.
pub fn read(
    arguments: impl IntoIterator<Item = OsString>,
    home: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Invocation, ConfigError> {
    let (cli, origins) = Cli::read(arguments)?;
    let args = match cli.command {
        Some(Command::Price(args)) => return Ok(Invocation::Price(args)),
        Some(Command::Batch(args)) => return Ok(Invocation::Batch(args)),
        Some(Command::View(args)) => return view(*args, home).map(|plan| Invocation::View(Box::new(plan))),
        Some(Command::Man { of }) => {
            return cli::manual(of.as_deref()).map(Invocation::Print).map_err(ConfigError::Usage);
        }
        Some(Command::Completions { shell }) => return Ok(Invocation::Print(cli::completions(shell))),
        Some(Command::Compare(args)) => return Ok(Invocation::Compare(args)),
        Some(Command::Explain(args)) => {
            let keys =
                if args.feed.is_empty() { Ok(Keys::default()) } else { Keys::read(args.key_file.as_deref(), home) };
            return Ok(Invocation::Explain(args, keys.map_err(ConfigError::Value)?));
        }
        Some(Command::Serve(args)) => *args,
        None => cli.serve,
    };
    let file = match &args.config {
        Some(path) => File::read(path)?,
        None => File::find(home)?,
    };
    let print = args.print_config;
    let (config, report) = resolve(args, &origins, &file, home)?;
    Ok(if print { Invocation::Print(report) } else { Invocation::Serve(Box::new(config)) })
}

/// The viewer, and what computes within it: as `serve` would with the same feeds and options, but for this process
/// alone.
fn view(args: ViewArgs, home: &dyn Fn(&str) -> Option<OsString>) -> Result<ViewPlan, ConfigError> {
    if args.feed.is_empty() {
        return Ok(ViewPlan { args, service: None });
    }
    let feeds = args.feed.iter().flat_map(|feed| [OsString::from("--feed"), OsString::from(feed)]);
    let serve = [OsString::from("greeksd"), OsString::from("serve")].into_iter();
    match read(serve.chain(feeds).chain(args.serve_options.iter().cloned()), home)? {
        Invocation::Serve(config) => {
            let listen = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))];
            let service = Config { listen, show_quotes: true, ..*config };
            Ok(ViewPlan { args, service: Some(service) })
        }
        _ => Err(ConfigError::Value("after --, only options of serve for the computation are accepted".to_owned())),
    }
}

/// Chooses each value, and writes down which and why.
fn resolve(
    args: ServeArgs,
    origins: &cli::Origins,
    file: &File,
    home: &dyn Fn(&str) -> Option<OsString>,
) -> Result<(Config, String), ConfigError> {
    let mut pick = Pick { origins, file, report: String::new() };
    let listen = pick.list("listen", args.listen, value::address, value::DEFAULT_LISTEN)?;
    let allow_remote = pick.one("allow-remote", args.allow_remote, value::flag, || false)?;
    let default_feed = || Feeds(vec![value::DEFAULT_FEED.to_owned()]);
    let Feeds(feeds) = pick.one("feed", args.feed.map(Feeds), value::feeds, default_feed)?;
    let key_file = pick.optional("key-file", args.key_file, value::folder, || None)?;
    let feed_ca = pick.optional("feed-ca", args.feed_ca, value::folder, || None)?;
    let now = pick.optional("now", args.now, value::instant, || None)?;
    let start = pick.optional("clock", args.clock, value::start, || None)?;
    let speed = pick.optional("speed", args.speed, value::speed, || None)?;
    let refresh = pick.one("refresh", args.refresh, value::refresh, || value::DEFAULT_REFRESH)?;
    let threads = pick.one("threads", args.threads, value::threads, value::default_threads)?;
    let is_sim = feeds.iter().all(|feed| feed.starts_with("sim"));
    let default_state = || if is_sim { None } else { value::state_folder(home).map(value::Folder) };
    let state_dir = pick.optional("state-dir", args.state_dir, value::folder, default_state)?;
    let record = pick.optional("record", args.record, value::folder, || None)?;
    let overrides = pick.optional("overrides", args.overrides, value::folder, || None)?;
    let rates = pick.one("rates", args.rates, value::rates, || RatesMode::Auto)?;
    let log = pick.one("log", args.log, value::log, || Log::Text)?;
    let log_level = pick.one("log-level", args.log_level, value::log_level, || LevelFilter::INFO)?;
    let allow_hosts = pick.list("allow-host", args.allow_host, value::host, "")?;
    let old_snapshots =
        pick.one("old-snapshots-mb", args.old_snapshots_mb, value::megabytes, || value::DEFAULT_OLD_SNAPSHOTS_MB)?;
    let response_cache = pick.one("response-cache-mb", args.response_cache_mb, value::cache_megabytes, || {
        value::DEFAULT_RESPONSE_CACHE_MB
    })?;
    let gzip_loopback = pick.one("gzip-loopback", args.gzip_loopback, value::flag, || false)?;
    let show_quotes = pick.one("show-quotes", args.show_quotes, value::flag, || false)?;
    let history = pick.one("history-mb", args.history_mb, value::megabytes, || value::DEFAULT_HISTORY_MB)?;
    if let Some(address) = listen.iter().find(|address| !allow_remote && !address.ip().is_loopback()) {
        return Err(ConfigError::Value(format!(
            "{address} can be reached from other machines, and greeksd has no authentication; \
             give --allow-remote if that is intended, or listen on 127.0.0.1{}",
            file.note().map_or_else(String::new, |note| format!(" (read: {note})"))
        )));
    }
    check_clock(now.is_some(), start.is_some(), speed.is_some())?;
    let state_dir = state_dir.map(|value::Folder(path)| path);
    let key_file = key_file.map(|value::Folder(path)| path);
    let keys = Keys::read(key_file.as_deref(), home).map_err(ConfigError::Value)?;
    let refresh = Duration::from_secs_f64(refresh);
    let old_snapshot_bytes = old_snapshots as u64 * 1_000_000;
    let file_note = file.note();
    let config = Config {
        listen,
        feeds,
        allow_remote,
        keys,
        feed_ca: feed_ca.map(|value::Folder(path)| path),
        now,
        clock: start.map(|value::Start(at)| at),
        speed: speed.unwrap_or(value::DEFAULT_SPEED),
        refresh,
        threads,
        state_dir,
        record: record.map(|value::Folder(path)| path),
        overrides: overrides.map(|value::Folder(path)| path),
        rates,
        log,
        log_level,
        allow_hosts,
        old_snapshot_bytes,
        response_cache_bytes: response_cache * 1_000_000,
        gzip_loopback,
        show_quotes,
        history_bytes: history as u64 * 1_000_000,
        file_note,
    };
    Ok((config, pick.report))
}

/// A clock stands still, or is started at some instant, or is the system's.
fn check_clock(stands_still: bool, is_started: bool, has_speed: bool) -> Result<(), ConfigError> {
    let wrong = match (stands_still, is_started, has_speed) {
        (true, true, _) => "now fixes the clock and clock starts it: give only one of them",
        (_, false, true) => "speed needs clock: it applies to a started clock only",
        _ => return Ok(()),
    };
    Err(ConfigError::Value(wrong.to_owned()))
}

/// Picks values by precedence.
struct Pick<'a> {
    origins: &'a cli::Origins,
    file: &'a File,
    report: String,
}

impl Pick<'_> {
    fn one<T: value::Shown>(
        &mut self,
        name: &'static str,
        given: Option<T>,
        parse: impl Fn(&str) -> Result<T, String>,
        default: impl FnOnce() -> T,
    ) -> Result<T, ConfigError> {
        let picked = self.optional(name, given, parse, || Some(default()))?;
        picked.ok_or_else(|| ConfigError::Value(format!("{name} has no value")))
    }

    fn optional<T: value::Shown>(
        &mut self,
        name: &'static str,
        given: Option<T>,
        parse: impl Fn(&str) -> Result<T, String>,
        default: impl FnOnce() -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let (value, origin) = match (given, self.file.get(name)) {
            (Some(value), _) => (Some(value), self.origins.of(name)),
            (None, Some(text)) => {
                (Some(parse(text).map_err(|e| self.file.refuse(name, text, &e))?), self.file.origin())
            }
            (None, None) => (default(), Origin::Default),
        };
        self.note(name, value.as_ref().map(value::Shown::shown), &origin);
        Ok(value)
    }

    fn list<T: value::Shown>(
        &mut self,
        name: &'static str,
        given: Option<Vec<T>>,
        parse: impl Fn(&str) -> Result<T, String>,
        default: &str,
    ) -> Result<Vec<T>, ConfigError> {
        let all = |text: &str| api::query::items(text).map(&parse).collect::<Result<Vec<T>, String>>();
        let (values, origin) = match (given, self.file.get(name)) {
            (Some(values), _) => (values, self.origins.of(name)),
            (None, Some(text)) => (all(text).map_err(|e| self.file.refuse(name, text, &e))?, self.file.origin()),
            (None, None) => (all(default).map_err(ConfigError::Value)?, Origin::Default),
        };
        let shown: Vec<String> = values.iter().map(value::Shown::shown).collect();
        self.note(name, Some(format!("[{}]", shown.join(", "))), &origin);
        Ok(values)
    }

    /// One line of `--print-config`, which is a line of a configuration file.
    fn note(&mut self, name: &str, shown: Option<String>, origin: &Origin) {
        use fmt::Write;
        let line = shown.map_or_else(|| format!("# {name} is not set"), |shown| format!("{name} = {shown}"));
        let _ = writeln!(self.report, "{line:<48} # {origin}");
    }
}
