//! Kinds of days, the hours of their sessions, and Eastern time. Never: which date has a session.

use jiff::Timestamp;
use jiff::civil::{DateTime, Time, time};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use std::sync::LazyLock;

/// The opening of every session.
pub(super) const OPEN: Time = time(9, 30, 0, 0);
/// The close of a full session.
pub(super) const CLOSE: Time = time(16, 0, 0, 0);
/// The close of an early one.
pub(super) const CLOSE_EARLY: Time = time(13, 0, 0, 0);

/// Eastern time, of the bundled zones and not the machine's: results must not depend on where the daemon runs.
pub(super) static NEW_YORK: LazyLock<TimeZone> =
    LazyLock::new(|| TimeZoneDatabase::bundled().get("America/New_York").expect("the bundled zones have New York"));

/// The instant of an Eastern date and clock time. A time that a change of clocks skips counts as an hour later; one
/// that occurs twice is the first; beyond the range of instants, the last instant.
pub(super) fn instant(at: DateTime) -> Timestamp {
    // changes of clocks are on Sundays, so no session is ambiguous; a date at the end of time saturates
    NEW_YORK.to_ambiguous_timestamp(at).compatible().unwrap_or(Timestamp::MAX)
}

/// Kind of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Day {
    /// No session.
    Closed,
    /// 09:30 to 13:00.
    Early,
    /// 09:30 to 16:00.
    Open,
}

impl Day {
    /// Reads `closed`, `early` or `open`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // one spelling only: the table is ours, and a typing error must be found when it is read
        match text {
            "closed" => Some(Self::Closed),
            "early" => Some(Self::Early),
            "open" => Some(Self::Open),
            _ => None,
        }
    }
}
