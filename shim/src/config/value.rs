//! One parser and one printed form for each kind of value, common to options, variables and keys.

use api::past::moment::AsOf;
use api::vendors::native_positions::ExplainedSince;
use desk::alerts::deliver::Webhook;
use host::clock::SPEED;
use host::log::Log;
use jiff::Timestamp;
use sources::recorder::RecordKeep;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
pub(super) use tools::values::{instant, start, threads};
use tracing::level_filters::LevelFilter;

/// Minimum time between two snapshots, seconds. A snapshot may be at most 5 s old; no reader keeps up with more than
/// ten a second.
const REFRESH_SECONDS: std::ops::RangeInclusive<f64> = 0.1..=5.0;
/// Levels of the log, from nothing to everything.
const LEVELS: [LevelFilter; 6] = [
    LevelFilter::OFF,
    LevelFilter::ERROR,
    LevelFilter::WARN,
    LevelFilter::INFO,
    LevelFilter::DEBUG,
    LevelFilter::TRACE,
];

/// Limits of memory bounds, MB: a small market takes a few, the whole one 400.
const MEGABYTES: std::ops::RangeInclusive<usize> = 16..=1_000_000;
/// Limits of the response cache, MB: a chain with every Greek takes up to 6.
const CACHE_MEGABYTES: std::ops::RangeInclusive<usize> = 0..=100_000;
/// Bytes of a megabyte.
pub(super) const MB: u64 = 1_000_000;
/// Source of the discount curves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RatesMode {
    /// Curves of the feeds, else implied by European chains, else saved, else built in.
    #[default]
    Auto,
    /// Every rate is zero.
    Zero,
}

/// Separator of several feeds in one text.
pub(super) const FEEDS_APART: char = ';';

/// A value that `--print-config` shows as TOML; `None` if it is not set.
pub(super) trait Shown {
    fn shown(&self) -> Option<String>;
}

/// Implements [`Shown`] by a format.
macro_rules! shown_as {
    ($($format:literal: $($kind:ty),+;)+) => {
        $($(impl Shown for $kind {
            fn shown(&self) -> Option<String> {
                Some(format!($format, self))
            }
        })+)+
    };
}

shown_as! {
    "{}": usize, bool;
    "{:?}": f64;
    "\"{}\"": SocketAddr, Timestamp, LevelFilter;
}

impl Shown for String {
    fn shown(&self) -> Option<String> {
        Some(toml::Value::String(self.clone()).to_string())
    }
}

impl Shown for PathBuf {
    fn shown(&self) -> Option<String> {
        self.display().to_string().shown()
    }
}

impl Shown for Webhook {
    fn shown(&self) -> Option<String> {
        self.to_string().shown()
    }
}

impl<T: Shown> Shown for Option<T> {
    fn shown(&self) -> Option<String> {
        self.as_ref().and_then(Shown::shown)
    }
}

impl<T: Shown> Shown for [T] {
    fn shown(&self) -> Option<String> {
        Some(format!("[{}]", self.iter().filter_map(Shown::shown).collect::<Vec<_>>().join(", ")))
    }
}

impl Shown for Log {
    fn shown(&self) -> Option<String> {
        Some(format!("\"{}\"", if *self == Self::Json { "json" } else { "text" }))
    }
}

impl Shown for RatesMode {
    fn shown(&self) -> Option<String> {
        Some(format!("\"{}\"", if *self == Self::Zero { "zero" } else { "auto" }))
    }
}

impl Shown for RecordKeep {
    fn shown(&self) -> Option<String> {
        Some(match self {
            Self::Days(days) => format!("\"{days}d\""),
            Self::Bytes(bytes) => format!("\"{}MB\"", bytes / MB),
        })
    }
}

/// Parses addresses with commas between them.
pub(super) fn addresses(text: &str) -> Result<Vec<SocketAddr>, String> {
    api::query::items(text).map(address).collect()
}

pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected ADDRESS:PORT, such as 127.0.0.1:2112 or [::1]:2112".to_owned())
}

pub(super) fn feed(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("expected a feed, such as sim or dir:PATH".to_owned()) } else { Ok(text.to_owned()) }
}

pub(super) fn feeds(all: &str) -> Result<Vec<String>, String> {
    all.split(FEEDS_APART).map(feed).collect()
}

/// Feeds as TOML: a single one has no brackets.
pub(super) fn shown_feeds(feeds: &[String]) -> Option<String> {
    if let [one] = feeds { one.shown() } else { feeds.shown() }
}

/// Parses an amount of recordings: `30d`, `500MB`, `20GB`, `2TB`.
pub(super) fn record_keep(text: &str) -> Result<RecordKeep, String> {
    let wrong = || "expected days or bytes, such as 30d or 20GB".to_owned();
    let (number, unit) = text.split_at(text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len());
    let number: u32 = number.parse().ok().filter(|number| *number > 0).ok_or_else(wrong)?;
    let bytes = |unit: u64| Ok(RecordKeep::Bytes(u64::from(number) * unit));
    match unit.to_ascii_lowercase().as_str() {
        "d" => Ok(RecordKeep::Days(number as usize)),
        "mb" => bytes(MB),
        "gb" => bytes(1000 * MB),
        "tb" => bytes(1_000_000 * MB),
        _ => Err(wrong()),
    }
}

pub(super) fn flag(text: &str) -> Result<bool, String> {
    api::query::parse_flag(text).ok_or_else(|| "expected true or false".to_owned())
}

pub(super) fn speed(text: &str) -> Result<f64, String> {
    let hint = || format!("expected a number above {} and up to {}", SPEED.start(), SPEED.end());
    text.parse().ok().filter(|speed| SPEED.contains(speed) && speed > SPEED.start()).ok_or_else(hint)
}

pub(super) fn refresh(text: &str) -> Result<f64, String> {
    let hint = || "expected seconds from 0.1 to 5".to_owned();
    text.parse().ok().filter(|seconds| REFRESH_SECONDS.contains(seconds)).ok_or_else(hint)
}

/// A time, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Milliseconds(pub u64);

/// Interval between two queries of the viewer, seconds.
const VIEW_REFRESH_SECONDS: std::ops::RangeInclusive<f64> = 0.1..=60.0;

pub(super) fn view_refresh(text: &str) -> Result<Milliseconds, String> {
    let hint = || "expected seconds from 0.1 to 60".to_owned();
    let seconds: f64 = text.parse().ok().filter(|seconds| VIEW_REFRESH_SECONDS.contains(seconds)).ok_or_else(hint)?;
    Ok(Milliseconds((seconds * 1000.0).round() as u64))
}

/// Checks a past moment, spelled as in requests.
pub(super) fn past_moment(text: &str) -> Result<String, String> {
    let hint = || "expected a date or a time such as 2024-01-03T10:30".to_owned();
    AsOf::parse(text).map(|_| text.to_owned()).ok_or_else(hint)
}

/// Checks the earlier moment of an explanation: `session`, or a past moment.
pub(super) fn since(text: &str) -> Result<String, String> {
    let hint = || "expected session, a date or a time such as 2024-01-03T10:30".to_owned();
    ExplainedSince::parse(&format!("since:{text}")).map(|_| text.to_owned()).ok_or_else(hint)
}

pub(super) fn folder(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("expected a folder".to_owned()) } else { Ok(PathBuf::from(text)) }
}

/// Parses names of hosts with commas between them.
pub(super) fn hosts(text: &str) -> Result<Vec<String>, String> {
    api::query::items(text).map(host).collect()
}

pub(super) fn host(text: &str) -> Result<String, String> {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    let hint = || "expected a host name without scheme and port, such as greeks.example".to_owned();
    if !text.is_empty() && text.bytes().all(is_name) { Ok(text.to_owned()) } else { Err(hint()) }
}

pub(super) fn cache_megabytes(text: &str) -> Result<usize, String> {
    let hint = || format!("expected megabytes from 0 to {}", CACHE_MEGABYTES.end());
    text.parse().ok().filter(|n| CACHE_MEGABYTES.contains(n)).ok_or_else(hint)
}

pub(super) fn megabytes(text: &str) -> Result<usize, String> {
    let hint = || format!("expected megabytes from {} to {}", MEGABYTES.start(), MEGABYTES.end());
    text.parse().ok().filter(|n| MEGABYTES.contains(n)).ok_or_else(hint)
}

pub(super) fn log(text: &str) -> Result<Log, String> {
    match text {
        "text" => Ok(Log::Text),
        "json" => Ok(Log::Json),
        _ => Err("expected text or json".to_owned()),
    }
}

pub(super) fn rates(text: &str) -> Result<RatesMode, String> {
    match text {
        "auto" => Ok(RatesMode::Auto),
        "zero" => Ok(RatesMode::Zero),
        _ => Err("expected auto or zero; for a file of rates, use rates.csv in the folder of dir:".to_owned()),
    }
}

pub(super) fn log_level(text: &str) -> Result<LevelFilter, String> {
    let hint = || "expected off, error, warn, info, debug or trace".to_owned();
    LEVELS.into_iter().find(|level| level.to_string() == text).ok_or_else(hint)
}

/// The platform's folder for state.
pub(super) fn state_folder(home: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if cfg!(windows) {
        return under(home, "LOCALAPPDATA", "greeksd");
    }
    if cfg!(target_os = "macos") {
        return under(home, "HOME", "Library/Application Support/greeksd");
    }
    under(home, "XDG_STATE_HOME", "greeksd").or_else(|| under(home, "HOME", ".local/state/greeksd"))
}

/// The platform's path of `greeksd.toml`.
pub(super) fn config_file(home: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if cfg!(windows) {
        return under(home, "APPDATA", "greeksd/greeksd.toml");
    }
    if cfg!(target_os = "macos") {
        return under(home, "HOME", "Library/Application Support/greeksd/greeksd.toml");
    }
    under(home, "XDG_CONFIG_HOME", "greeksd/greeksd.toml")
        .or_else(|| under(home, "HOME", ".config/greeksd/greeksd.toml"))
}

fn under(home: &dyn Fn(&str) -> Option<OsString>, variable: &str, path: &str) -> Option<PathBuf> {
    let folder = home(variable).map(PathBuf::from).filter(|folder| folder.is_absolute())?;
    Some(folder.join(path))
}
