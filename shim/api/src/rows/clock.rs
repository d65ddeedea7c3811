//! Times in an answer, in the spellings of all layers. They are times of the snapshot or of the contract; only the
//! current date comes from the clock of the request. Never: a clock of its own.

use super::identity::push_date;
use engine::store::chain::Slice;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};
use std::fmt;

/// The times of one answer.
#[derive(Clone, Debug)]
pub struct Clock {
    snapshot: ZonedDateTime,
    today: Date,
    /// The requested past moment, if any.
    asked: Option<ZonedDateTime>,
}

/// Time of the last row as text: most of many rows have the time of the row before.
#[derive(Clone, Debug, Default)]
pub struct LastTime(Option<(Timestamp, String)>);

impl LastTime {
    /// An instant, spelled as [`Stamp::EasternOffsetMillis`].
    pub fn spell(&mut self, at: Timestamp, clock: &Clock) -> String {
        let known = self.0.take().filter(|(known, _)| *known == at);
        let (_, text) = self.0.insert(known.unwrap_or_else(|| (at, clock.spell(at, Stamp::EasternOffsetMillis))));
        text.clone()
    }
}

/// Kind of the time that a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Time of the snapshot's computation.
    Snapshot,
    /// Time of the contract's quote; the snapshot's time where quotes are not shown.
    Quote,
    /// The requested past moment; the snapshot's time in answers about the present.
    Asked,
    /// Settlement of the contract: 09:30 Eastern for AM, the close for PM.
    Settlement,
    /// 16:00 Eastern on the date of expiry, for readers that know one hour only.
    ExpiryFour,
}

/// Spelling of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Seconds since 1970, an integer.
    Seconds,
    /// Milliseconds since 1970, an integer.
    Millis,
    /// Nanoseconds since 1970, an integer.
    Nanos,
    /// Milliseconds since midnight Eastern, an integer.
    MillisOfDay,
    /// `YYYYMMDD` of the Eastern date, an integer.
    Date8,
    /// Days since 1899-12-30 in Eastern time, five decimals.
    Spreadsheet,
    /// `2026-11-20T15:42:07.318`, Eastern, always three decimals.
    EasternIso,
    /// `2026-12-18T16:00:00-05:00`.
    EasternOffset,
    /// `2026-12-18T16:00:00.000-05:00`, always three decimals.
    EasternOffsetMillis,
    /// `2026-12-18 16:00:00 -05:00`.
    EasternPlainOffset,
    /// `2026-11-20T20:42:07Z`.
    UtcIso,
    /// `2026-11-20T20:42:07.318Z`.
    UtcIsoMillis,
    /// `2026-11-20T20:42:07.318+00:00`.
    UtcOffsetMillis,
    /// `2026-11-20 20:42:07`, UTC.
    UtcPlain,
}

impl Stamp {
    /// True if the spelling is a number.
    #[must_use]
    pub const fn is_number(self) -> bool {
        matches!(self, Self::Seconds | Self::Millis | Self::Nanos | Self::MillisOfDay | Self::Date8 | Self::Spreadsheet)
    }

    /// Returns a time in this spelling.
    #[must_use]
    pub fn text(self, at: &ZonedDateTime) -> String {
        let mut text = String::new();
        // writing to memory does not fail
        let _ = self.write(at, &mut text);
        text
    }

    /// Appends a time in this spelling.
    fn write(self, at: &ZonedDateTime, out: &mut impl fmt::Write) -> fmt::Result {
        let utc = || at.timestamp().to_zoned_datetime(TimeZone::UTC);
        match self {
            Self::Seconds => write!(out, "{}", at.timestamp().as_second()),
            Self::Millis => write!(out, "{}", at.timestamp().as_millisecond()),
            Self::Nanos => write!(out, "{}", at.timestamp().as_nanosecond()),
            Self::MillisOfDay => write!(out, "{}", millis_of_day(at)),
            Self::Date8 => write!(out, "{}", at.strftime("%Y%m%d")),
            Self::Spreadsheet => write!(out, "{:.5}", spreadsheet_days(at)),
            Self::EasternIso => write!(out, "{}", at.strftime("%Y-%m-%dT%H:%M:%S%.3f")),
            Self::EasternOffset => write!(out, "{}", at.strftime("%Y-%m-%dT%H:%M:%S%:z")),
            Self::EasternOffsetMillis => write!(out, "{}", at.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z")),
            Self::EasternPlainOffset => write!(out, "{}", at.strftime("%Y-%m-%d %H:%M:%S %:z")),
            Self::UtcIso => write!(out, "{}", utc().strftime("%Y-%m-%dT%H:%M:%SZ")),
            Self::UtcIsoMillis => write!(out, "{}", utc().strftime("%Y-%m-%dT%H:%M:%S%.3fZ")),
            Self::UtcOffsetMillis => write!(out, "{}", utc().strftime("%Y-%m-%dT%H:%M:%S%.3f+00:00")),
            Self::UtcPlain => write!(out, "{}", utc().strftime("%Y-%m-%d %H:%M:%S")),
        }
    }
}

/// Maximum bytes of a time in any spelling.
pub const STAMP_MAX: usize = 40;

/// Writes an instant in the spelling and zone at `buf[at..]` and returns the end of the text. The buffer needs room for
/// [`STAMP_MAX`] bytes.
#[must_use]
pub fn put_time(buf: &mut [u8], at: usize, instant: Timestamp, zone: &TimeZone, stamp: Stamp) -> usize {
    let mut room = ByteWriter { buf, at };
    // what does not fit is no spelling of a year that feeds admit
    let _ = stamp.write(&instant.to_zoned_datetime(zone.clone()), &mut room);
    room.at
}

/// Writes text into a byte buffer from a position on.
struct ByteWriter<'a> {
    buf: &'a mut [u8],
    at: usize,
}

impl fmt::Write for ByteWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.at + text.len();
        self.buf.get_mut(self.at..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.at = end;
        Ok(())
    }
}

impl Clock {
    /// The zone of the market.
    #[must_use]
    pub fn zone(&self) -> &TimeZone {
        self.snapshot.time_zone()
    }

    /// The times of an answer given at `now` from a snapshot of `snapshot`, in the zone of the market.
    #[must_use]
    pub fn new(snapshot: Timestamp, now: Timestamp, zone: &TimeZone) -> Self {
        Self {
            snapshot: snapshot.to_zoned_datetime(zone.clone()),
            today: now.to_zoned_datetime(zone.clone()).date(),
            asked: None,
        }
    }

    /// Adds the requested past moment, if any.
    #[must_use]
    pub fn answering(self, asked: Option<Timestamp>) -> Self {
        let asked = asked.map(|at| at.to_zoned_datetime(self.zone().clone()));
        Self { asked, ..self }
    }

    /// The current date in Eastern time.
    #[must_use]
    pub fn today(&self) -> Date {
        self.today
    }

    /// Time of the snapshot's computation, as text.
    #[must_use]
    pub fn snapshot(&self, stamp: Stamp) -> String {
        stamp.text(&self.snapshot)
    }

    /// The requested past moment as text; the snapshot's time if there is none.
    #[must_use]
    pub fn asked(&self, stamp: Stamp) -> String {
        stamp.text(self.asked.as_ref().unwrap_or(&self.snapshot))
    }

    /// An instant as text.
    #[must_use]
    pub fn spell(&self, at: Timestamp, stamp: Stamp) -> String {
        stamp.text(&at.to_zoned_datetime(self.snapshot.time_zone().clone()))
    }

    /// The Eastern date of an instant.
    #[must_use]
    pub fn date_of(&self, at: Timestamp) -> Date {
        at.to_zoned_datetime(self.snapshot.time_zone().clone()).date()
    }

    /// Calendar days from today to a date.
    #[must_use]
    pub fn days_to(&self, date: Date) -> i64 {
        days_between(self.today, date)
    }

    /// A time of a slice as text.
    #[must_use]
    pub fn text(&self, when: When, stamp: Stamp, slice: &Slice) -> String {
        let zone = self.snapshot.time_zone();
        match when {
            When::Snapshot | When::Quote => self.snapshot(stamp),
            When::Asked => self.asked(stamp),
            When::Settlement => stamp.text(&slice.settles_at.to_zoned_datetime(zone.clone())),
            When::ExpiryFour => self.at_hour(slice.expiry, 16, stamp),
        }
    }

    /// A full hour of a date, Eastern time, as text.
    #[must_use]
    pub fn at_hour(&self, date: Date, hour: i8, stamp: Stamp) -> String {
        let zone = self.snapshot.time_zone().clone();
        date.at(hour, 0, 0, 0).to_zoned_datetime(zone).map(|at| stamp.text(&at)).unwrap_or_default()
    }

    /// Seconds since 1970 of the next midnight Eastern.
    #[must_use]
    pub fn next_midnight(&self) -> String {
        self.today.tomorrow().map(|day| self.at_hour(day, 0, Stamp::Seconds)).unwrap_or_default()
    }

    /// Appends the current date as `YYYY-MM-DD`.
    pub fn push_today(&self, out: &mut Vec<u8>) {
        push_date(out, self.today);
    }
}

/// Calendar days from one date to another.
#[must_use]
pub fn days_between(from: Date, to: Date) -> i64 {
    from.until(to).map_or(0, |span| i64::from(span.get_days()))
}

fn millis_of_day(at: &ZonedDateTime) -> i64 {
    let seconds = (i64::from(at.hour()) * 60 + i64::from(at.minute())) * 60 + i64::from(at.second());
    seconds * 1000 + i64::from(at.millisecond())
}

fn spreadsheet_days(at: &ZonedDateTime) -> f64 {
    let days = days_between(Date::constant(1899, 12, 30), at.date());
    days as f64 + millis_of_day(at) as f64 / 86_400_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::calendar::Calendar;

    #[test]
    fn each_spelling_is_the_vendors() {
        let zone = Calendar::embedded().zone().clone();
        let at = Timestamp::constant(1_795_207_327, 318_000_000);
        let clock = Clock::new(at, at, &zone);
        for (stamp, wanted) in [
            (Stamp::Seconds, "1795207327"),
            (Stamp::Millis, "1795207327318"),
            (Stamp::Nanos, "1795207327318000000"),
            (Stamp::MillisOfDay, "56527318"),
            (Stamp::Date8, "20261120"),
            (Stamp::EasternIso, "2026-11-20T15:42:07.318"),
            (Stamp::EasternOffsetMillis, "2026-11-20T15:42:07.318-05:00"),
            (Stamp::UtcIso, "2026-11-20T20:42:07Z"),
            (Stamp::UtcIsoMillis, "2026-11-20T20:42:07.318Z"),
            (Stamp::UtcOffsetMillis, "2026-11-20T20:42:07.318+00:00"),
            (Stamp::UtcPlain, "2026-11-20 20:42:07"),
        ] {
            assert_eq!(clock.snapshot(stamp), wanted, "{stamp:?}");
            let mut buf = [b'x'; STAMP_MAX + 2];
            let end = put_time(&mut buf, 2, at, &zone, stamp);
            assert_eq!(buf[2..end], *wanted.as_bytes(), "{stamp:?}");
        }
        let expiry = Date::constant(2026, 12, 18);
        for (stamp, wanted) in [
            (Stamp::Seconds, "1797627600"),
            (Stamp::EasternOffset, "2026-12-18T16:00:00-05:00"),
            (Stamp::EasternPlainOffset, "2026-12-18 16:00:00 -05:00"),
            (Stamp::Spreadsheet, "46374.66667"),
        ] {
            assert_eq!(clock.at_hour(expiry, 16, stamp), wanted, "{stamp:?}");
        }
        // Summer time: 16:00 Eastern is 20:00 UTC.
        assert_eq!(clock.at_hour(Date::constant(2023, 6, 16), 16, Stamp::Seconds), "1686945600");
        assert_eq!((clock.days_to(expiry), clock.days_to(Date::constant(2026, 11, 19))), (28, -1));
    }

    #[test]
    fn whole_seconds_keep_their_three_decimals() {
        let zone = Calendar::embedded().zone().clone();
        let at = Timestamp::constant(1_795_207_327, 0);
        assert_eq!(Clock::new(at, at, &zone).snapshot(Stamp::EasternIso), "2026-11-20T15:42:07.000");
        let at = Timestamp::constant(1_795_207_327, 318_999_999);
        assert_eq!(Clock::new(at, at, &zone).snapshot(Stamp::EasternIso), "2026-11-20T15:42:07.318");
    }
}
