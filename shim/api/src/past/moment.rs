//! One past moment, and days as instants. Never: a parameter's name, a clock.

use crate::query::parse_date;
use jiff::civil::{Date, DateTime, date};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The first and the last local time that a request may ask for.
const LOCAL_FIRST: DateTime = date(-9999, 1, 3).at(0, 0, 0, 0);
const LOCAL_LAST: DateTime = date(9999, 12, 29).at(0, 0, 0, 0);

/// A past moment. It selects the last snapshot of its day at or before it, never one of the day before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOf {
    /// The last snapshot of all.
    Latest,
    /// The last snapshot of a day, Eastern time.
    Day(Date),
    /// The last snapshot at or before an instant, on the instant's day.
    Instant(Timestamp),
    /// The last snapshot at or before a local time of the market, on its day.
    Local(DateTime),
}

impl AsOf {
    /// Reads `2024-01-03`, `20240103`, `2024-01-03T10:30`, with or without seconds, and with or without an offset;
    /// without one the time is a local one. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(day) = parse_date(text) {
            return Some(Self::Day(day));
        }
        // what stands for a plus in a form is a space
        let text = match text.rsplit_once(' ') {
            Some((time, offset)) if time.contains(['T', 't']) => format!("{time}+{offset}"),
            _ => text.to_owned(),
        };
        if !text.contains(':') {
            return None;
        }
        if let Ok(instant) = text.parse::<Timestamp>() {
            return Some(Self::Instant(instant));
        }
        let local: DateTime = text.parse().ok()?;
        // no zone is farther from UTC than this, so every zone has an instant of it
        (LOCAL_FIRST..=LOCAL_LAST).contains(&local).then_some(Self::Local(local))
    }

    /// Returns the requested instant; `None`: the moment has no time of day.
    #[must_use]
    pub fn instant(self, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Latest | Self::Day(_) => None,
            Self::Instant(at) => Some(at),
            Self::Local(local) => Some(instant_of(local, zone)),
        }
    }

    /// The day of the moment; `None` for [`AsOf::Latest`].
    #[must_use]
    pub fn day(self, zone: &TimeZone) -> Option<Date> {
        match self {
            Self::Latest => None,
            Self::Day(day) => Some(day),
            Self::Instant(at) => Some(date_of(at, zone)),
            Self::Local(local) => Some(date_of(instant_of(local, zone), zone)),
        }
    }

    /// The last instant at which a snapshot may answer.
    #[must_use]
    pub fn until(self, zone: &TimeZone) -> Timestamp {
        match self {
            Self::Latest => Timestamp::MAX,
            Self::Day(day) => end_of(day, zone),
            Self::Instant(at) => at,
            Self::Local(local) => instant_of(local, zone),
        }
    }
}

/// The date of an instant.
#[must_use]
pub fn date_of(at: Timestamp, zone: &TimeZone) -> Date {
    zone.to_datetime(at).date()
}

/// The instant of a local time; one that the change of clocks leaves out counts as an hour later, one that it repeats
/// as the first of the two.
#[must_use]
pub fn instant_of(local: DateTime, zone: &TimeZone) -> Timestamp {
    zone.to_ambiguous_timestamp(local).compatible().unwrap_or(Timestamp::MAX)
}

/// The last instant of a day.
#[must_use]
pub fn end_of(day: Date, zone: &TimeZone) -> Timestamp {
    let next = day.tomorrow().map_or(Timestamp::MAX, |next| instant_of(next.at(0, 0, 0, 0), zone));
    next.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::calendar::Calendar;

    fn zone() -> TimeZone {
        Calendar::embedded().zone().clone()
    }

    #[test]
    fn a_moment_is_eastern_unless_it_has_an_offset() {
        let instant = |text: &str| text.parse::<Timestamp>().unwrap();
        for (text, wanted) in [
            ("2024-01-03T10:30", "2024-01-03T15:30:00Z"),
            ("2024-01-03 10:30", "2024-01-03T15:30:00Z"),
            ("2024-07-03T10:30:15.5", "2024-07-03T14:30:15.5Z"),
            // clocks went forward at two, and back at two
            ("2024-03-10T02:30", "2024-03-10T07:30:00Z"),
            ("2024-11-03T01:30", "2024-11-03T05:30:00Z"),
        ] {
            let moment = AsOf::parse(text).unwrap();
            assert_eq!(
                (moment.instant(&zone()), moment.until(&zone())),
                (Some(instant(wanted)), instant(wanted)),
                "{text}"
            );
            assert_eq!(moment.day(&zone()), Some(date_of(instant(wanted), &zone())), "{text}");
        }
        let instant = |text: &str| AsOf::Instant(instant(text));
        for (text, wanted) in [
            ("2024-01-03", AsOf::Day(date(2024, 1, 3))),
            ("20240103", AsOf::Day(date(2024, 1, 3))),
            ("2024-01-03T10:30Z", instant("2024-01-03T10:30:00Z")),
            ("2024-01-03T10:30-08:00", instant("2024-01-03T18:30:00Z")),
            ("2024-01-03T10:30+01:00", instant("2024-01-03T09:30:00Z")),
            // the plus of an address that was not encoded
            ("2024-01-03T10:30 01:00", instant("2024-01-03T09:30:00Z")),
        ] {
            assert_eq!(AsOf::parse(text), Some(wanted), "{text}");
        }
        for bad in [
            "",
            "now",
            "2024-01-03T",
            "2024-13-01",
            "10:30",
            "2024-01-03T25:00",
            "1704295800",
            "2024-01-03T10",
            "9999-12-31T10:00",
        ] {
            assert_eq!(AsOf::parse(bad), None, "{bad}");
        }
        let late = AsOf::parse("2024-01-04T02:00Z").unwrap();
        assert_eq!(late.day(&zone()), Some(date(2024, 1, 3)), "the day is Eastern");
        assert_eq!(AsOf::Day(date(2024, 1, 3)).until(&zone()), "2024-01-04T04:59:59.999999999Z".parse().unwrap());
    }
}
