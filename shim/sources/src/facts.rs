//! What a source says of itself, for `/health` and `/metrics`. Never: a key, a clock.

use jiff::Timestamp;
use std::time::Duration;

/// How a source is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceState {
    /// Nothing has come yet.
    #[default]
    Waiting,
    /// It delivers.
    Ok,
    /// Its last requests failed; it is asked again soon.
    BackingOff,
    /// Many requests failed in a row: it is tried once in a while.
    CircuitOpen,
    /// It does not take the key, or does not allow what is asked.
    Refused,
    /// Nothing more will come: what came stays.
    Ended,
}

impl SourceState {
    /// Its name in `/health`.
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

/// What a source says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceFacts {
    /// The source as its user named it.
    pub feed: String,
    /// How it is.
    pub state: SourceState,
    /// By how much its quotes are late.
    pub delay: Duration,
    /// How seldom it is asked for each name: 0 where quotes come by themselves.
    pub every: Duration,
    /// Time since something came that could be used; `None`: nothing did.
    pub last_success: Option<Duration>,
    /// Requests that it was sent.
    pub requests: u64,
    /// What failed, by kind.
    pub failures: Vec<(&'static str, u64)>,
    /// Connections that it has, of sources that are pushed to.
    pub connections: usize,
    /// Files that cannot be used as they are; what was last read of them is served.
    pub files_unusable: usize,
    /// Quotes and spots that another took the place of before they were taken in.
    pub superseded: u64,
    /// Bytes of the records that wait to be taken in.
    pub waiting_bytes: u64,
    /// What of it is used where several sources have the same: names whose quotes, names whose prices come from it, and
    /// whether its dividends, rates and dates do.
    pub used: Used,
    /// Something has changed that is not taken in yet: the next look should come within this time.
    pub look_within: Option<Duration>,
}

/// What the recorder of what comes in says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFacts {
    /// Where it writes.
    pub folder: String,
    /// Quotes and prices on the disk since the start.
    pub written: u64,
    /// Quotes and prices that were not kept, since the start.
    pub dropped: u64,
    /// Compressed bytes on the disk since the start.
    pub bytes: u64,
    /// The last write failed.
    pub failing: bool,
}

/// What the keeper of the state folder says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateFacts {
    /// Where it writes.
    pub folder: String,
    /// When the market was last saved for a restart.
    pub saved_at: Option<Timestamp>,
    /// The last write failed, or takes longer than ten seconds.
    pub failing: bool,
}

/// What the file of overrides says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverrideFacts {
    /// The file.
    pub file: String,
    /// What applies, by kind; kinds that do not occur are left out.
    pub applied: Vec<(&'static str, u64)>,
    /// Rows that cannot be used.
    pub refused: u64,
    /// The file cannot be used as it is: what was last read of it applies.
    pub is_unusable: bool,
    /// The first rows that cannot be used, with place and reason, or why the file cannot.
    pub errors: Vec<String>,
}

/// What is used of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Names whose quotes are its.
    pub quotes: usize,
    /// Names whose prices are its.
    pub spots: usize,
    /// Names whose dividends are its.
    pub dividends: usize,
    /// The discount curves are its.
    pub rates: bool,
    /// True if its dates override the calendar's.
    pub days: bool,
}
