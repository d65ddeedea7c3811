//! Every spelling of a date and of an instant that feeds use, within [`limits::YEAR`]. Never: the present.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use kernel::calendar::Calendar;
use kernel::limits;

/// The first instant of the years allowed.
const FIRST: Timestamp = Timestamp::constant(631_152_000, 0);
/// The first instant after the years allowed.
const END: Timestamp = Timestamp::constant(4_102_444_800, 0);

/// An instant of the years allowed.
#[must_use]
pub fn allowed(ts: Timestamp) -> Option<Timestamp> {
    (ts >= FIRST && ts < END).then_some(ts)
}

/// A date in exactly the form `YYYY-MM-DD`.
#[must_use]
pub fn parse_date(text: &str) -> Option<Date> {
    // one form exactly: a general parser would admit a time or a zone behind the date
    let &[y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = text.as_bytes() else { return None };
    date_of(&[y0, y1, y2, y3], &[m0, m1], &[d0, d1])
}

/// A date in the form `M/D/YYYY`, with or without leading zeros.
#[must_use]
pub fn parse_slashed(text: &str) -> Option<Date> {
    let mut parts = text.split('/');
    let (month, day, year) = (parts.next()?, parts.next()?, parts.next()?);
    let short = |part: &str| matches!(part.len(), 1 | 2);
    if parts.next().is_some() || !short(month) || !short(day) || year.len() != 4 {
        return None;
    }
    date_of(year.as_bytes(), month.as_bytes(), day.as_bytes())
}

/// A time with an offset, as in RFC 3339.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<Timestamp> {
    text.parse().ok().and_then(allowed)
}

/// A date and a clock time without an offset: `YYYY-MM-DD`, a blank or `T`, `HH:MM:SS`, up to nine decimals of a
/// second.
#[must_use]
pub fn parse_civil(text: &str) -> Option<DateTime> {
    let (date, clock) = text.split_at_checked(10)?;
    let clock = clock.strip_prefix([' ', 'T'])?;
    let (whole, decimals) = clock.split_once('.').map_or((clock, None), |(whole, part)| (whole, Some(part)));
    let &[h0, h1, b':', m0, m1, b':', s0, s1] = whole.as_bytes() else { return None };
    let part = |a, b| digits(&[a, b]).and_then(|n| i8::try_from(n).ok());
    let nanos = match decimals {
        None => 0,
        Some(part) if (1..=9).contains(&part.len()) => {
            digits(part.as_bytes())? * 10i32.pow(9 - u32::try_from(part.len()).ok()?)
        }
        Some(_) => return None,
    };
    let time = Time::new(part(h0, h1)?, part(m0, m1)?, part(s0, s1)?, nanos).ok()?;
    Some(parse_date(date)?.to_datetime(time))
}

/// An Eastern date and clock time, as [`parse_civil`] reads it.
#[must_use]
pub fn parse_eastern(text: &str, calendar: &Calendar) -> Option<Timestamp> {
    parse_civil(text).map(|at| calendar.instant(at)).and_then(allowed)
}

/// An instant from a count since 1970 of seconds, milli-, micro- or nanoseconds: within the years allowed no count of
/// one is also a count of another.
#[must_use]
pub fn of_count(count: i64) -> Option<Timestamp> {
    let seconds = FIRST.as_second()..END.as_second();
    let nanoseconds_each = [1_000_000_000, 1_000_000, 1_000, 1];
    // the years that are allowed do not overlap between units, so the size of a count determines its unit
    let unit = nanoseconds_each.into_iter().find(|unit| seconds.contains(&(count / (1_000_000_000 / unit))))?;
    Timestamp::from_nanosecond(i128::from(count) * i128::from(unit)).ok()
}

/// An instant from a count since 1970 as a number: [`of_count`], of seconds with decimals too, to the microsecond that
/// a double resolves.
#[must_use]
pub fn of_number(x: f64) -> Option<Timestamp> {
    let is_whole = x.fract().abs() < f64::MIN_POSITIVE;
    let is_second = (FIRST.as_second() as f64..END.as_second() as f64).contains(&x);
    match () {
        () if is_second => of_count((x * 1e6).round() as i64),
        // beyond that a double is no count
        () if is_whole && x.abs() < 9e18 => of_count(x as i64),
        () => None,
    }
}

/// An instant from a count since 1970 in digits, of seconds with decimals too: nine digits at least, for eight are a
/// date.
#[must_use]
pub fn parse_count(text: &str) -> Option<Timestamp> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if whole.len() < 9 || !is_digits(whole) || !is_digits(decimals) {
        return None;
    }
    let ts = of_count(whole.parse().ok()?)?;
    if decimals.bytes().all(|b| b == b'0') { Some(ts) } else { of_number(text.parse().ok()?) }
}

/// Milliseconds since 1970.
#[must_use]
pub fn of_millis(millis: i64) -> Option<Timestamp> {
    Timestamp::from_millisecond(millis).ok().and_then(allowed)
}

/// Nanoseconds since 1970.
#[must_use]
pub fn of_nanos(nanos: i64) -> Option<Timestamp> {
    Timestamp::from_nanosecond(i128::from(nanos)).ok().and_then(allowed)
}

fn date_of(year: &[u8], month: &[u8], day: &[u8]) -> Option<Date> {
    let short = |part| digits(part).and_then(|n| i8::try_from(n).ok());
    let date = Date::new(i16::try_from(digits(year)?).ok()?, short(month)?, short(day)?).ok()?;
    limits::YEAR.holds(f64::from(date.year())).then_some(date)
}

/// A number of one to nine decimal digits and nothing else.
fn digits(bytes: &[u8]) -> Option<i32> {
    if bytes.is_empty() || bytes.len() > 9 {
        return None;
    }
    // nine digits cannot overflow
    bytes.iter().try_fold(0, |n: i32, b| b.is_ascii_digit().then(|| n * 10 + i32::from(b - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    #[test]
    fn dates_have_one_form() {
        assert_eq!(parse_date("2026-12-18"), Some(date(2026, 12, 18)));
        for text in
            ["20261218", "2026-12-18T00:00", "2026-13-01", "2026-02-30", "1989-01-01", "2100-01-01", "+026-01-01"]
        {
            assert_eq!(parse_date(text), None, "{text}");
        }
        for text in ["9/5/2026", "09/05/2026"] {
            assert_eq!(parse_slashed(text), Some(date(2026, 9, 5)), "{text}");
        }
        for text in ["9/5/26", "9/5", "9/5/2026/1", "13/1/2026", "2/30/2026", "N/A", "/5/2026", "009/5/2026"] {
            assert_eq!(parse_slashed(text), None, "{text}");
        }
    }

    #[test]
    fn counts_since_1970_tell_their_unit_by_their_size() {
        let at: Timestamp = "2026-11-20T15:42:00-05:00".parse().unwrap();
        for text in ["1795207320", "1795207320000", "1795207320000000", "1795207320000000000", "1795207320.0"] {
            assert_eq!((parse_count(text), of_number(text.parse().unwrap())), (Some(at), Some(at)), "{text}");
        }
        let fraction = at.checked_add(jiff::SignedDuration::from_millis(250)).ok();
        assert_eq!((parse_count("1795207320.25"), of_number(1_795_207_320.25)), (fraction, fraction));
        assert_eq!(parse_count("631152000"), Some(FIRST), "the first of the years allowed");
        for text in [
            "20261120",
            "12",
            "1e9",
            "-1795207320",
            "1795207320.",
            "1795207320.5s",
            "1795207320000.5",
            "4102444800",
            "",
        ] {
            assert_eq!(parse_count(text), None, "{text}");
        }
        for x in [f64::NAN, f64::INFINITY, 1e19, -1.0, 0.5, 20_261_120.0, 1_795_207_320_000.5] {
            assert_eq!(of_number(x), None, "{x}");
        }
    }

    #[test]
    fn instants_are_bounded_like_years() {
        let year = |y: f64| format!("{y}-01-01T00:00:00Z").parse::<Timestamp>().unwrap();
        assert_eq!(FIRST, year(limits::YEAR.least));
        assert_eq!(END, year(limits::YEAR.most + 1.0));
        for nanos in [0, 1, i64::MAX, i64::MIN] {
            assert_eq!(of_nanos(nanos), None, "{nanos}");
        }
        assert_eq!(of_millis(i64::MAX), None);
        assert_eq!(of_millis(1_651_254_260_800), of_nanos(1_651_254_260_800_000_000));
    }

    #[test]
    fn clock_times_have_seconds_and_may_have_decimals() {
        let calendar = Calendar::embedded();
        for (text, want) in [
            ("2026-07-24T15:59:59", "2026-07-24T19:59:59Z"),
            ("2026-07-24 15:59:59", "2026-07-24T19:59:59Z"),
            ("2026-12-18T15:59:59.25", "2026-12-18T20:59:59.25Z"),
            ("2026-12-18T15:59:59.000000001", "2026-12-18T20:59:59.000000001Z"),
        ] {
            assert_eq!(parse_eastern(text, &calendar), Some(want.parse().unwrap()), "{text}");
        }
        for text in [
            "2026-07-24",
            "2026-07-24T15:59",
            "2026-07-24T15:59:59.",
            "2026-07-24T15:59:59.1234567890",
            "2026-07-24T15:59:59Z",
            "2026-07-24T25:00:00",
            "2026-07-24x15:59:59",
            "2026-07-2\u{e9}15:59:59",
        ] {
            assert_eq!(parse_civil(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9/T:. -]{0,32}|\\PC{0,30}") {
            let _ = (parse_date(&text), parse_slashed(&text), parse_rfc3339(&text), parse_civil(&text));
        }
    }
}
