//! One value of a row, whether it came as text or typed, and what it says: numbers, dates, instants, words.
//! Never: which column it stands in.

use feeds::times;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use kernel::calendar::Calendar;
use kernel::contract::Right;
use kernel::error::Reason;
use kernel::limits::Bound;

/// What is wrong with a row: the column, and why.
pub(super) type Fault = (&'static str, Reason);

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    /// None: an empty text, null, or no such column.
    Empty,
    Text(&'a str),
    Number(f64),
    Whole(i64),
    Date(Date),
    /// A date and a clock time of no zone.
    Civil(DateTime),
    Time(Timestamp),
}

/// The values of a row by the place of their column.
pub(super) trait Cells {
    /// The value of a column.
    ///
    /// # Errors
    /// The row ends before it, or its bytes are no text.
    fn cell(&self, at: usize) -> Result<Cell<'_>, Reason>;
}

/// An instant, or a date whose instant is not known yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum When {
    At(Timestamp),
    On(Date),
}

impl<'a> Cell<'a> {
    /// A text of a file: blanks around it do not count.
    pub(super) fn of_text(bytes: &'a [u8]) -> Result<Self, Reason> {
        let text = core::str::from_utf8(bytes).map_err(|_| Reason::NotUtf8)?.trim();
        Ok(if text.is_empty() { Self::Empty } else { Self::Text(text) })
    }

    /// A word.
    pub(super) fn text(self) -> Result<&'a str, Reason> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Empty => Err(Reason::Missing),
            _ => Err(Reason::NotAWord),
        }
    }

    /// A number within its bound, or NaN where there is none.
    pub(super) fn number_or_nan(self, bound: Bound) -> Result<f64, Reason> {
        let x = match self {
            Self::Empty => return Ok(f64::NAN),
            Self::Text(text) => text.parse().map_err(|_| Reason::NotANumber)?,
            Self::Number(x) => x,
            Self::Whole(n) => n as f64,
            Self::Date(_) | Self::Civil(_) | Self::Time(_) => return Err(Reason::NotANumber),
        };
        bound.admit(x)
    }

    /// A number within its bound.
    pub(super) fn number(self, bound: Bound) -> Result<f64, Reason> {
        let x = self.number_or_nan(bound)?;
        if x.is_nan() { Err(Reason::Missing) } else { Ok(x) }
    }

    /// Call or put.
    pub(super) fn right(self) -> Result<Right, Reason> {
        Right::parse(self.text()?).ok_or(Reason::NotARight)
    }

    /// A date, also where it is spelt as an instant.
    pub(super) fn date(self) -> Result<Date, Reason> {
        let date = match self {
            Self::Empty => return Err(Reason::Missing),
            Self::Text(text) => parse_date(text).or_else(|| parse_civil(text).map(DateTime::date)),
            Self::Whole(n) => u32::try_from(n).ok().and_then(date_of_digits),
            Self::Date(date) => Some(date),
            Self::Civil(at) => Some(at.date()),
            // a date of a zone is stored as its midnight there, which is UTC wherever a library did not think of zones
            Self::Time(at) => Some(TimeZone::UTC.to_datetime(at).date()),
            Self::Number(_) => None,
        };
        date.filter(|date| kernel::limits::YEAR.holds(f64::from(date.year()))).ok_or(Reason::NotADate)
    }

    /// An instant, or a date alone. A clock time without an offset is one of `zone`, or Eastern. Where rows are of
    /// days, midnight is what libraries write for a date.
    pub(super) fn when(self, calendar: &Calendar, zone: Option<&TimeZone>, daily: bool) -> Result<When, Reason> {
        if let Some(date) = self.as_date_alone().filter(|_| daily) {
            return allowed_date(date);
        }
        let local = |at: DateTime| match zone {
            None => Some(calendar.instant(at)),
            Some(zone) => zone.to_ambiguous_timestamp(at).compatible().ok(),
        };
        let at = match self {
            Self::Empty => return Err(Reason::Missing),
            Self::Date(date) => return allowed_date(date),
            Self::Text(text) => {
                if let Some(date) = parse_date(text) {
                    return Ok(When::On(date));
                }
                let count = || times::parse_count(text);
                times::parse_rfc3339(text).or_else(count).or_else(|| parse_civil(text).and_then(local))
            }
            Self::Whole(n) if (19_000_101..=21_001_231).contains(&n) => {
                return u32::try_from(n).ok().and_then(date_of_digits).map(When::On).ok_or(Reason::NotATime);
            }
            Self::Whole(n) => times::of_count(n),
            Self::Civil(at) => local(at),
            Self::Time(at) => Some(at),
            Self::Number(x) => times::of_number(x),
        };
        at.and_then(times::allowed).map(When::At).ok_or(Reason::NotATime)
    }

    /// The date of a midnight without an offset.
    fn as_date_alone(self) -> Option<Date> {
        let at = match self {
            Self::Text(text) => parse_civil(text)?,
            Self::Civil(at) => at,
            Self::Time(at) => TimeZone::UTC.to_datetime(at),
            _ => return None,
        };
        (at.time() == Time::midnight()).then(|| at.date())
    }

    /// An instant as a count since 1970.
    pub(super) fn unix_time(self) -> Result<Timestamp, Reason> {
        let at = match self {
            Self::Empty => return Err(Reason::Missing),
            Self::Whole(n) => times::of_count(n),
            Self::Text(text) => times::parse_count(text),
            Self::Number(x) => times::of_number(x),
            Self::Time(at) => Some(at),
            _ => None,
        };
        at.and_then(times::allowed).ok_or(Reason::NotATime)
    }
}

fn allowed_date(date: Date) -> Result<When, Reason> {
    let holds = kernel::limits::YEAR.holds(f64::from(date.year()));
    if holds { Ok(When::On(date)) } else { Err(Reason::NotATime) }
}

/// A date in any of the spellings of the layouts: `2024-01-03`, `1/3/2024`, `20240103`.
fn parse_date(text: &str) -> Option<Date> {
    let digits = || (text.len() == 8).then(|| text.parse().ok()).flatten().and_then(date_of_digits);
    times::parse_date(text).or_else(|| times::parse_slashed(text)).or_else(digits)
}

/// `YYYYMMDD` as a number.
fn date_of_digits(n: u32) -> Option<Date> {
    let part = |x: u32| i8::try_from(x).ok();
    Date::new(i16::try_from(n / 10_000).ok()?, part(n / 100 % 100)?, part(n % 100)?).ok()
}

/// A date and a clock time, of no zone: `2024-01-03 16:00`, with seconds and decimals of them, or `1/3/2024 4:00:00
/// PM`.
fn parse_civil(text: &str) -> Option<DateTime> {
    if let Some(at) = times::parse_civil(text) {
        return Some(at);
    }
    let (date, clock) = text.split_once([' ', 'T'])?;
    Some(parse_date(date)?.to_datetime(parse_clock(clock.trim())?))
}

/// `16:00`, `4:00:00 PM`.
fn parse_clock(text: &str) -> Option<Time> {
    let half = text.split_at_checked(text.len().checked_sub(2)?).and_then(|(clock, half)| {
        let later = half.eq_ignore_ascii_case("pm");
        (later || half.eq_ignore_ascii_case("am")).then(|| (clock.trim_end(), if later { 12 } else { 0 }))
    });
    let mut parts = half.map_or(text, |(clock, _)| clock).split(':');
    let mut part = || parts.next().filter(|part| matches!(part.len(), 1 | 2)).and_then(|part| part.parse::<i8>().ok());
    let (hour, minute, second) = (part()?, part()?, part());
    let hour = match half {
        None => hour,
        Some((_, later)) if (1..=12).contains(&hour) => hour % 12 + later,
        Some(_) => return None,
    };
    if parts.next().is_some() {
        return None;
    }
    civil::Time::new(hour, minute, second.unwrap_or(0), 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use kernel::limits;
    use proptest::prelude::*;

    #[test]
    fn instants_have_many_spellings() {
        let calendar = Calendar::embedded();
        let at = |text: &str| When::At(text.parse().unwrap());
        for (text, want) in [
            ("2024-01-03", When::On(date(2024, 1, 3))),
            ("1/3/2024", When::On(date(2024, 1, 3))),
            ("01/03/2024", When::On(date(2024, 1, 3))),
            ("20240103", When::On(date(2024, 1, 3))),
            ("2024-01-03 16:00", at("2024-01-03T21:00:00Z")),
            ("2024-07-03 09:31:00", at("2024-07-03T13:31:00Z")),
            ("2024-07-03T09:31:00.250", at("2024-07-03T13:31:00.25Z")),
            ("2024-07-03T09:31:00-07:00", at("2024-07-03T16:31:00Z")),
            ("1/3/2024 4:00:00 PM", at("2024-01-03T21:00:00Z")),
            ("1/3/2024 12:15 am", at("2024-01-03T05:15:00Z")),
            ("01/03/2024 16:00", at("2024-01-03T21:00:00Z")),
        ] {
            assert_eq!(Cell::Text(text).when(&calendar, None, false), Ok(want), "{text}");
        }
        for text in
            ["", "24-01-03", "2024-13-01", "1/3/24", "2024-01-03 25:00", "1/3/2024 13:00 PM", "16:00", "3.1.2024"]
        {
            assert_eq!(Cell::Text(text).when(&calendar, None, false), Err(Reason::NotATime), "{text}");
        }
        let utc = Some(&TimeZone::UTC);
        assert_eq!(Cell::Text("2024-01-03 21:00").when(&calendar, utc, false), Ok(at("2024-01-03T21:00:00Z")));
        for text in ["2024-01-03 00:00:00", "1/3/2024 0:00", "1/3/2024 12:00:00 AM"] {
            assert_eq!(Cell::Text(text).when(&calendar, None, true), Ok(When::On(date(2024, 1, 3))), "{text}");
        }
        assert_eq!(Cell::Text("1/3/2024 0:01").when(&calendar, None, true), Ok(at("2024-01-03T05:01:00Z")));
        assert_eq!(Cell::Whole(20_240_103).when(&calendar, None, false), Ok(When::On(date(2024, 1, 3))));
        assert_eq!(Cell::Whole(1_704_315_600).when(&calendar, None, false), Ok(at("2024-01-03T21:00:00Z")));
        assert_eq!(Cell::Date(date(1066, 10, 14)).when(&calendar, None, false), Err(Reason::NotATime));
    }

    #[test]
    fn counts_are_told_from_what_is_none() {
        let want = Ok("2021-12-01T21:00:00Z".parse().unwrap());
        for cell in [
            Cell::Text("1638392400"),
            Cell::Text("1638392400.000000"),
            Cell::Text("1638392400000"),
            Cell::Whole(1_638_392_400),
            Cell::Number(1_638_392_400.0),
        ] {
            assert_eq!(cell.unix_time(), want, "{cell:?}");
        }
        for cell in [Cell::Text("12"), Cell::Number(f64::NAN), Cell::Number(f64::INFINITY)] {
            assert_eq!(cell.unix_time(), Err(Reason::NotATime), "{cell:?}");
        }
        // in a column of times too
        let calendar = Calendar::embedded();
        let at = want.map(When::At);
        for text in ["1638392400", "1638392400.0", "1638392400000", "1638392400000000", "1638392400000000000"] {
            assert_eq!(Cell::Text(text).when(&calendar, None, false), at, "{text}");
            let number: f64 = text.parse().unwrap();
            assert_eq!(Cell::Number(number).when(&calendar, None, false), at, "{text}");
        }
        assert_eq!(Cell::Text("20211201").when(&calendar, None, false), Ok(When::On(date(2021, 12, 1))));
    }

    #[test]
    fn numbers_are_bounded() {
        for (cell, want) in [
            (Cell::Text("1.5"), Ok(1.5)),
            (Cell::Whole(3), Ok(3.0)),
            (Cell::Text("NaN"), Err(Reason::NotANumber)),
            (Cell::Text("inf"), Err(Reason::OutOfRange)),
            (Cell::Text("-1"), Err(Reason::OutOfRange)),
            (Cell::Number(f64::INFINITY), Err(Reason::OutOfRange)),
            (Cell::Empty, Err(Reason::Missing)),
            (Cell::Date(date(2024, 1, 3)), Err(Reason::NotANumber)),
        ] {
            assert_eq!(cell.number(limits::PRICE), want, "{cell:?}");
        }
        assert!(Cell::Empty.number_or_nan(limits::PRICE).unwrap().is_nan());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9/T:. APMapm-]{0,32}|\\PC{0,30}") {
            let calendar = Calendar::embedded();
            for cell in [Cell::Text(&text), Cell::of_text(text.as_bytes()).unwrap()] {
                let _ = (cell.when(&calendar, None, false), cell.date(), cell.unix_time(), cell.right(), cell.number(limits::PRICE));
            }
        }

        #[test]
        fn no_count_panics(n in any::<i64>(), x in any::<f64>()) {
            let calendar = Calendar::embedded();
            for cell in [Cell::Whole(n), Cell::Number(x)] {
                let _ = (cell.when(&calendar, None, false), cell.date(), cell.unix_time(), cell.right(), cell.number(limits::PRICE));
            }
        }
    }
}
