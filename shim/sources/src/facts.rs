//! Status of sources, recorder, state folder and overrides, for `/health` and `/metrics`. Never: a key, a clock.

use jiff::Timestamp;
use std::time::Duration;

/// State of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceState {
    /// No data yet.
    #[default]
    Waiting,
    /// The source delivers.
    Ok,
    /// The last requests failed; the next one follows soon.
    BackingOff,
    /// Many requests failed in a row; the next one follows after a long pause.
    CircuitOpen,
    /// The vendor rejects the key, or does not permit the request.
    Refused,
    /// No further data will come; the last data stay in use.
    Ended,
}

impl SourceState {
    /// Name in `/health`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ok => "ok",
            Self::BackingOff => "backing_off",
            Self::CircuitOpen => "circuit_open",
            Self::Refused => "refused",
            Self::Ended => "ended",
        }
    }
}

/// Status of a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceFacts {
    /// The feed, as the user specified it.
    pub feed: String,
    /// State of the source.
    pub state: SourceState,
    /// Delay of its quotes.
    pub delay: Duration,
    /// Polling interval of a name; 0 for pushed quotes.
    pub every: Duration,
    /// Time since the last usable data; `None`: none came yet.
    pub last_success: Option<Duration>,
    /// Number of requests sent.
    pub requests: u64,
    /// Number of failures, by kind.
    pub failures: Vec<(&'static str, u64)>,
    /// Number of open connections of a pushed source.
    pub connections: usize,
    /// Number of unusable files; their last readable versions are served.
    pub files_unusable: usize,
    /// Number of quotes and spots that later ones replaced before they were taken in.
    pub superseded: u64,
    /// Bytes of waiting records.
    pub waiting_bytes: u64,
    /// Items of the source that are used, where several sources have the same items.
    pub used: Used,
    /// Time within which to poll again, if a change is pending.
    pub look_within: Option<Duration>,
}

/// Status of the recorder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFacts {
    /// Folder of the recordings.
    pub folder: String,
    /// Number of quotes and prices written since the start.
    pub written: u64,
    /// Number of quotes and prices not recorded since the start.
    pub dropped: u64,
    /// Compressed bytes written since the start.
    pub bytes: u64,
    /// True if the last write failed.
    pub failing: bool,
}

/// Status of the state folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateFacts {
    /// The state folder.
    pub folder: String,
    /// Time of the last save for a restart.
    pub saved_at: Option<Timestamp>,
    /// True if the last write failed, or takes longer than ten seconds.
    pub failing: bool,
}

/// Status of the file of overrides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverrideFacts {
    /// Path of the file.
    pub file: String,
    /// Number of overrides in force by kind, without zeros.
    pub applied: Vec<(&'static str, u64)>,
    /// Number of refused rows.
    pub refused: u64,
    /// True if the file is unusable; its last readable version is in force.
    pub is_unusable: bool,
    /// The first refused rows with place and reason, or why the file is unusable.
    pub errors: Vec<String>,
}

/// Items of a source that are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Number of names whose quotes are used.
    pub quotes: usize,
    /// Number of names whose prices are used.
    pub spots: usize,
    /// Number of names whose dividends are used.
    pub dividends: usize,
    /// True if its discount curves are used.
    pub rates: bool,
    /// True if its dates override the calendar's.
    pub days: bool,
}
