//! One value of a row, text or typed, and its readings: numbers, dates, instants, words. Never: its column.

use feeds::text::numbers::parse_number;
use feeds::text::{Dialect, dates, is_missing, side};
use feeds::times;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use kernel::calendar::Calendar;
use kernel::contract::Right;
use kernel::error::{Reason, Refused};
use kernel::limits::Bound;

/// A fault of a row: the column and the reason.
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

    /// Decimal mark and date order of texts.
    fn dialect(&self) -> Dialect {
        Dialect::default()
    }
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
        let text = core::str::from_utf8(bytes).map_err(|_| Reason::NotUtf8)?;
        // blanks of other scripts are rare, and every cell comes by here
        let is_bare = [bytes.first(), bytes.last()].into_iter().flatten().all(u8::is_ascii_graphic);
        let text = if is_bare { text } else { text.trim() };
        Ok(if text.is_empty() { Self::Empty } else { Self::Text(text) })
    }

    /// The begin of the value, for a refusal.
    pub(super) fn shown(self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => Refused::value_of(text.as_bytes()),
            Self::Number(x) => x.to_string(),
            Self::Whole(n) => n.to_string(),
            Self::Date(date) => date.to_string(),
            Self::Civil(at) => at.to_string(),
            Self::Time(at) => at.to_string(),
        }
    }

    /// A word.
    pub(super) fn text(self) -> Result<&'a str, Reason> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Empty => Err(Reason::Missing),
            _ => Err(Reason::NotAWord),
        }
    }

    /// A number of a quote within its bound, or NaN where there is none, which has many spellings.
    pub(super) fn side(self, bound: Bound, dialect: Dialect) -> Result<f64, Reason> {
        match self.any_number(dialect)? {
            x if side(x).is_nan() => Ok(f64::NAN),
            x => bound.admit(x),
        }
    }

    /// A number within its bound.
    pub(super) fn number(self, bound: Bound, dialect: Dialect) -> Result<f64, Reason> {
        match self.any_number(dialect)? {
            x if x.is_nan() => Err(Reason::Missing),
            x => bound.admit(x),
        }
    }

    /// A number, or NaN where there is none.
    pub(super) fn any_number(self, dialect: Dialect) -> Result<f64, Reason> {
        match self {
            Self::Empty => Ok(f64::NAN),
            Self::Text(text) if is_missing(text) => Ok(f64::NAN),
            Self::Text(text) => parse_number(text, dialect.decimal),
            Self::Number(x) => Ok(x),
            Self::Whole(n) => Ok(n as f64),
            Self::Date(_) | Self::Civil(_) | Self::Time(_) => Err(Reason::NotANumber),
        }
    }

    /// Call or put.
    pub(super) fn right(self) -> Result<Right, Reason> {
        Right::parse(self.text()?).ok_or(Reason::NotARight)
    }

    /// A date, also where it is spelt as an instant.
    pub(super) fn date(self, dialect: Dialect) -> Result<Date, Reason> {
        let date = match self {
            Self::Empty => return Err(Reason::Missing),
            Self::Text(text) => return dates::parse_date(text, dialect),
            // a count of days or a year is none
            Self::Whole(n) => return dates::parse_date(&n.to_string(), dialect),
            Self::Date(date) => Some(date),
            Self::Civil(at) => Some(at.date()),
            // a date of a zone is stored as its midnight there, which is UTC wherever a library did not think of zones
            Self::Time(at) => Some(TimeZone::UTC.to_datetime(at).date()),
            // a column of counts with a gap in it is one of decimals
            Self::Number(x) if x.fract().abs() < f64::MIN_POSITIVE => {
                return dates::parse_date(&format!("{x:.0}"), dialect);
            }
            Self::Number(_) => None,
        };
        date.filter(|date| kernel::limits::YEAR.holds(f64::from(date.year()))).ok_or(Reason::NotADate)
    }

    /// An instant, or a date alone. A clock time without an offset is one of `zone`, or Eastern. Where rows are of
    /// days, midnight is what libraries write for a date.
    pub(super) fn when(
        self,
        calendar: &Calendar,
        zone: Option<&TimeZone>,
        daily: bool,
        dialect: Dialect,
    ) -> Result<When, Reason> {
        if let Some(date) = self.as_date_alone(dialect).filter(|_| daily) {
            return allowed_date(date);
        }
        let local = |at: DateTime| match zone {
            None => Some(calendar.instant(at)),
            Some(zone) => zone.to_ambiguous_timestamp(at).compatible().ok(),
        };
        let at = match self {
            Self::Empty => return Err(Reason::Missing),
            Self::Date(date) => return allowed_date(date),
            Self::Text(text) => return when_of(text, dialect, local),
            Self::Whole(n) => return when_of(&n.to_string(), dialect, local),
            Self::Civil(at) => local(at),
            Self::Time(at) => Some(at),
            Self::Number(x) if x.fract().abs() < f64::MIN_POSITIVE => {
                return when_of(&format!("{x:.0}"), dialect, local);
            }
            Self::Number(x) => times::of_number(x),
        };
        at.and_then(times::allowed).map(When::At).ok_or(Reason::NotATime)
    }

    /// The date of a midnight without an offset.
    fn as_date_alone(self, dialect: Dialect) -> Option<Date> {
        let at = match self {
            Self::Text(text) => dates::parse_civil(text, dialect).ok()?,
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

/// An instant, or a date alone, of a text.
fn when_of(text: &str, dialect: Dialect, local: impl Fn(DateTime) -> Option<Timestamp>) -> Result<When, Reason> {
    let at = match dates::parse_date_alone(text, dialect) {
        Ok(date) => return allowed_date(date),
        Err(Reason::AmbiguousDate) => return Err(Reason::AmbiguousDate),
        Err(_) => match times::parse_count(text).or_else(|| times::parse_rfc3339(text)) {
            Some(at) => Some(at),
            None => match dates::parse_civil(text, dialect) {
                Ok(at) => local(at),
                Err(Reason::AmbiguousDate) => return Err(Reason::AmbiguousDate),
                Err(_) => None,
            },
        },
    };
    at.and_then(times::allowed).map(When::At).ok_or(Reason::NotATime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use kernel::limits;
    use proptest::prelude::*;

    const PLAIN: Dialect = Dialect { separator: b',', decimal: None, dates: None };

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
            ("03.01.2024 16:00", at("2024-01-03T21:00:00Z")),
            ("3JAN24", When::On(date(2024, 1, 3))),
            ("Jan 3, 2024 4:00 PM", at("2024-01-03T21:00:00Z")),
            ("1704315600", at("2024-01-03T21:00:00Z")),
            ("1704315600000.0", at("2024-01-03T21:00:00Z")),
        ] {
            assert_eq!(Cell::Text(text).when(&calendar, None, false, PLAIN), Ok(want), "{text}");
        }
        for text in ["", "24-01-03", "2024-13-01", "2024-01-03 25:00", "1/3/2024 13:00 PM", "16:00", "1.13.2024"] {
            assert_eq!(Cell::Text(text).when(&calendar, None, false, PLAIN), Err(Reason::NotATime), "{text}");
        }
        // a day of January, or a year
        assert_eq!(Cell::Text("31/1/24").when(&calendar, None, false, PLAIN), Err(Reason::AmbiguousDate));
        let utc = Some(&TimeZone::UTC);
        assert_eq!(Cell::Text("2024-01-03 21:00").when(&calendar, utc, false, PLAIN), Ok(at("2024-01-03T21:00:00Z")));
        for text in ["2024-01-03 00:00:00", "1/3/2024 0:00", "1/3/2024 12:00:00 AM"] {
            assert_eq!(Cell::Text(text).when(&calendar, None, true, PLAIN), Ok(When::On(date(2024, 1, 3))), "{text}");
        }
        assert_eq!(Cell::Text("1/3/2024 0:01").when(&calendar, None, true, PLAIN), Ok(at("2024-01-03T05:01:00Z")));
        assert_eq!(Cell::Whole(20_240_103).when(&calendar, None, false, PLAIN), Ok(When::On(date(2024, 1, 3))));
        assert_eq!(Cell::Whole(1_704_315_600).when(&calendar, None, false, PLAIN), Ok(at("2024-01-03T21:00:00Z")));
        assert_eq!(Cell::Date(date(1066, 10, 14)).when(&calendar, None, false, PLAIN), Err(Reason::NotATime));
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
        for cell in [Cell::Text("12"), Cell::Text("20240103"), Cell::Number(f64::NAN), Cell::Number(f64::INFINITY)] {
            assert_eq!(cell.unix_time(), Err(Reason::NotATime), "{cell:?}");
        }
        // in a column of times too
        let calendar = Calendar::embedded();
        let at = want.map(When::At);
        for text in ["1638392400", "1638392400.0", "1638392400000", "1638392400000000", "1638392400000000000"] {
            assert_eq!(Cell::Text(text).when(&calendar, None, false, PLAIN), at, "{text}");
            let number: f64 = text.parse().unwrap();
            assert_eq!(Cell::Number(number).when(&calendar, None, false, PLAIN), at, "{text}");
        }
        assert_eq!(Cell::Text("20211201").when(&calendar, None, false, PLAIN), Ok(When::On(date(2021, 12, 1))));
    }

    #[test]
    fn numbers_are_bounded() {
        for (cell, want) in [
            (Cell::Text("1.5"), Ok(1.5)),
            (Cell::Text("1,5"), Ok(1.5)),
            (Cell::Text("$1,000.50"), Ok(1000.5)),
            (Cell::Text("1,000"), Err(Reason::AmbiguousNumber)),
            (Cell::Whole(3), Ok(3.0)),
            (Cell::Text("NaN"), Err(Reason::Missing)),
            (Cell::Number(f64::NAN), Err(Reason::Missing)),
            (Cell::Text("inf"), Err(Reason::OutOfRange)),
            (Cell::Text("-1"), Err(Reason::OutOfRange)),
            (Cell::Number(f64::INFINITY), Err(Reason::OutOfRange)),
            (Cell::Empty, Err(Reason::Missing)),
            (Cell::Date(date(2024, 1, 3)), Err(Reason::NotANumber)),
        ] {
            assert_eq!(cell.number(limits::PRICE, PLAIN), want, "{cell:?}");
        }
    }

    #[test]
    fn a_missing_side_is_one_however_it_is_written() {
        for none in [Cell::Empty, Cell::Number(f64::NAN), Cell::Number(-1.0), Cell::Whole(-1)] {
            assert!(none.side(limits::PRICE, PLAIN).unwrap().is_nan(), "{none:?}");
        }
        for text in ["nan", "NaN", "N/A", "-", "--", "null", "None", "#N/A", "<NA>", "-1", "-1.0", "-1,0"] {
            assert!(Cell::Text(text).side(limits::PRICE, PLAIN).unwrap().is_nan(), "{text}");
        }
        assert_eq!(Cell::Text("-2").side(limits::PRICE, PLAIN), Err(Reason::OutOfRange));
        assert_eq!(Cell::Text("0").side(limits::PRICE, PLAIN), Ok(0.0));
        assert_eq!(Cell::Text("ten").side(limits::PRICE, PLAIN), Err(Reason::NotANumber));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9/T:. APMapm-]{0,32}|\\PC{0,30}") {
            let calendar = Calendar::embedded();
            for cell in [Cell::Text(&text), Cell::of_text(text.as_bytes()).unwrap()] {
                let _ = (cell.when(&calendar, None, false, PLAIN), cell.date(PLAIN), cell.unix_time(), cell.right(), cell.number(limits::PRICE, PLAIN));
            }
        }

        #[test]
        fn no_count_panics(n in any::<i64>(), x in any::<f64>()) {
            let calendar = Calendar::embedded();
            for cell in [Cell::Whole(n), Cell::Number(x)] {
                let _ = (cell.when(&calendar, None, false, PLAIN), cell.date(PLAIN), cell.unix_time(), cell.right(), cell.number(limits::PRICE, PLAIN));
            }
        }
    }
}
