//! Dates and instants as programs and people write them: with the year first or last, with points, slashes or blanks,
//! with the name of a month, as a count since 1970. Never: the present.

use super::dialect::{DateOrder, Dialect};
use crate::times;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use kernel::error::Reason;
use kernel::limits;

/// Names of months; three letters are enough.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// First letters of the days of the week.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Reads a date, or the date part of an instant: as written, without a change of zone; of a count, its date in UTC.
///
/// # Errors
/// The text is no date, or nothing shows which of two numbers is the day and which the month.
pub fn parse_date(text: &str, dialect: Dialect) -> Result<Date, Reason> {
    match parse_date_alone(text, dialect) {
        Err(Reason::NotADate) => match times::parse_count(text) {
            // expirations are counted to a midnight in UTC
            Some(at) => Ok(TimeZone::UTC.to_datetime(at).date()),
            None => split_clock(text).map_or(Err(Reason::NotADate), |(date, _)| parse_date_alone(date, dialect)),
        },
        read => read,
    }
}

/// Reads a date without a clock time.
///
/// # Errors
/// The text is no date, or nothing shows which of two numbers is the day and which the month.
pub fn parse_date_alone(text: &str, dialect: Dialect) -> Result<Date, Reason> {
    if let Some(date) = times::parse_date(text) {
        return Ok(date);
    }
    let allowed =
        |date: Option<Date>| date.filter(|date| limits::YEAR.holds(f64::from(date.year()))).ok_or(Reason::NotADate);
    if text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return allowed(of_digits(text));
    }
    if text.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return allowed(of_words(text));
    }
    let Some((first, second, last, mark)) = three_numbers(text) else { return Err(Reason::NotADate) };
    let (one, two) = (number(first), number(second));
    let (Some(one), Some(two)) = (one, two) else { return Err(Reason::NotADate) };
    if first.len() == 4 {
        return allowed(date_of(one, two, number(last)));
    }
    // a year of two digits behind a dash may as well be a day
    let Some(year) = year_of(last).filter(|_| mark != '-' || last.len() == 4) else { return Err(Reason::NotADate) };
    let month_first = || allowed(date_of(year, one, Some(two)));
    let day_first = || allowed(date_of(year, two, Some(one)));
    match (mark, dialect.dates) {
        // nobody writes a month before a point
        ('.', _) | (_, Some(DateOrder::DayFirst)) => day_first(),
        (_, Some(DateOrder::MonthFirst)) => month_first(),
        // three numbers of two digits do not say which of them is the year
        (_, None) if last.len() != 4 => Err(Reason::AmbiguousDate),
        ('/', None) if dialect.is_american() => month_first(),
        (_, None) if one > 12 || one == two => day_first(),
        (_, None) if two > 12 => month_first(),
        (_, None) => Err(Reason::AmbiguousDate),
    }
}

/// Reads a date and a clock time of no zone: `2024-01-03 16:00`, with seconds and decimals of them, or `1/3/2024
/// 4:00:00 PM`.
///
/// # Errors
/// The text is no date, or nothing shows which of two numbers is the day and which the month.
pub fn parse_civil(text: &str, dialect: Dialect) -> Result<DateTime, Reason> {
    if let Some(at) = times::parse_civil(text) {
        return Ok(at);
    }
    let (date, clock) = split_clock(text).ok_or(Reason::NotADate)?;
    let clock = parse_clock(clock.trim()).ok_or(Reason::NotADate)?;
    parse_date_alone(date, dialect).map(|date| date.to_datetime(clock))
}

/// The order that a date shows which can be read in one way only.
pub(super) fn order_of(text: &str) -> Option<DateOrder> {
    // most fields are no dates, and every field of the first rows is looked at
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len().saturating_sub(behind.len());
    if !matches!(digits, 1 | 2) || !behind.trim_start().starts_with(['/', '-']) {
        return None;
    }
    let (first, second, last, _) = three_numbers(split_clock(text).map_or(text, |(date, _)| date))?;
    let (one, two) = (number(first)?, number(second)?);
    let tells = last.len() == 4 && number(last).is_some();
    match (1..=12).contains(&one) {
        _ if !tells => None,
        true if (13..=31).contains(&two) => Some(DateOrder::MonthFirst),
        false if (1..=12).contains(&two) && (13..=31).contains(&one) => Some(DateOrder::DayFirst),
        _ => None,
    }
}

/// A date and the clock time behind it.
fn split_clock(text: &str) -> Option<(&str, &str)> {
    let colon = text.find(':')?;
    let between = text.get(..colon)?.rfind([' ', 'T'])?;
    let (date, clock) = text.split_at_checked(between)?;
    Some((date.trim_end().trim_end_matches(','), clock.get(1..)?))
}

/// Three numbers with one mark between them.
fn three_numbers(text: &str) -> Option<(&str, &str, &str, char)> {
    let mark = text.chars().find(|mark| matches!(mark, '/' | '-' | '.'))?;
    let mut parts = text.split(mark).map(str::trim);
    let (first, second, last) = (parts.next()?, parts.next()?, parts.next()?);
    let is_plain = parts.next().is_none() && matches!(first.len(), 1 | 2 | 4) && matches!(second.len(), 1 | 2);
    is_plain.then_some((first, second, last, mark))
}

/// A date with the name of its month: `16FEB24`, `18-Dec-2026`, `Dec 18, 2026`, `Fri Dec 18 2026`, `2026 December 18`.
fn of_words(text: &str) -> Option<Date> {
    let (mut month, mut numbers) = (None, Vec::new());
    for word in words(text) {
        if word.as_bytes().first()?.is_ascii_digit() {
            numbers.push(word);
            continue;
        }
        let word = word.to_ascii_lowercase();
        let is_month =
            |name: &&&str| word.len() >= 3 && name.starts_with(&word) || word == "sept" && name.starts_with("sep");
        let is_ordinal = !numbers.is_empty() && ["st", "nd", "rd", "th"].contains(&word.as_str());
        let is_day = month.is_none() && numbers.is_empty() && DAYS.iter().any(|day| word.starts_with(day));
        match MONTHS.iter().find(is_month).and_then(|name| MONTHS.iter().position(|other| other == name)) {
            Some(at) if month.is_none() => month = Some(i16::try_from(at).ok()?.checked_add(1)?),
            None if is_ordinal || is_day => {}
            _ => return None,
        }
    }
    let &[first, second] = numbers.as_slice() else { return None };
    let (year, day) = if first.len() == 4 { (first, second) } else { (second, first) };
    date_of(year_of(year)?, month?, number(day).filter(|_| day.len() <= 2))
}

/// Runs of letters and of digits; anything but blanks, commas, points and dashes between them makes one that is
/// neither.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split([' ', ',', '.', '-', '/']).filter(|piece| !piece.is_empty());
    pieces.flat_map(|piece| {
        let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_alphabetic());
        let bytes = piece.as_bytes();
        let mut cuts: Vec<usize> =
            (1..bytes.len()).filter(|&at| kind(bytes[at]) != kind(bytes[at.saturating_sub(1)])).collect();
        cuts.insert(0, 0);
        let ends = cuts.iter().skip(1).copied().chain([bytes.len()]).collect::<Vec<_>>();
        cuts.into_iter().zip(ends).map(move |(from, to)| piece.get(from..to).unwrap_or("?")).collect::<Vec<_>>()
    })
}

/// `YYYYMMDD`.
fn of_digits(text: &str) -> Option<Date> {
    date_of(number(text.get(..4)?)?, number(text.get(4..6)?)?, number(text.get(6..)?))
}

/// A year of four digits, or of two of this century.
fn year_of(text: &str) -> Option<i16> {
    match text.len() {
        4 => number(text),
        2 => number(text)?.checked_add(2000),
        _ => None,
    }
}

/// A number of decimal digits and nothing else.
fn number(text: &str) -> Option<i16> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits { text.parse().ok() } else { None }
}

fn date_of(year: i16, month: i16, day: Option<i16>) -> Option<Date> {
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day?).ok()?).ok()
}

/// `16:00`, `4:00:00 PM`.
fn parse_clock(text: &str) -> Option<Time> {
    let half = text.split_at_checked(text.len().checked_sub(2)?).and_then(|(clock, half)| {
        let later = half.eq_ignore_ascii_case("pm");
        (later || half.eq_ignore_ascii_case("am")).then(|| (clock.trim_end(), if later { 12 } else { 0 }))
    });
    let mut parts = half.map_or(text, |(clock, _)| clock).split(':');
    let read = |part: &str| number(part).filter(|_| part.len() <= 2).and_then(|part| i8::try_from(part).ok());
    let (hour, minute) = (read(parts.next()?)?, read(parts.next()?)?);
    let second = parts.next().map_or(Some(0), read)?;
    let hour = match half {
        None => hour,
        Some((_, later)) if (1..=12).contains(&hour) => hour.checked_rem(12)?.checked_add(later)?,
        Some(_) => return None,
    };
    if parts.next().is_some() {
        return None;
    }
    Time::new(hour, minute, second, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::dialect::Decimal;
    use jiff::civil::date;
    use proptest::prelude::*;

    const AMERICAN: Dialect = Dialect { separator: b',', decimal: None, dates: None };
    const OTHER: Dialect = Dialect { separator: b';', decimal: Some(Decimal::Comma), dates: None };

    #[test]
    fn dates_of_the_common_forms_are_read() {
        for text in [
            "2026-12-18",
            "20261218",
            "2026/12/18",
            "2026.12.18",
            "12/18/2026",
            "18.12.2026",
            "18.12.26",
            "18-12-2026",
            "18DEC26",
            "18Dec2026",
            "18-Dec-26",
            "18 December 2026",
            "Dec 18, 2026",
            "Dec 18th 2026",
            "Fri Dec 18 2026",
            "Friday, December 18, 2026",
            "2026-Dec-18",
            "1797552000",
            "1797552000000",
            "1797552000.0",
            "2026-12-18T00:00:00+00:00",
            "2026-12-18T00:00:00-05:00",
            "2026-12-18T00:00:00.000Z",
            "2026-12-18 16:00",
            "12/18/2026 4:00:00 PM",
            "Dec 18, 2026 16:00",
        ] {
            assert_eq!(parse_date(text, AMERICAN), Ok(date(2026, 12, 18)), "{text}");
        }
        assert_eq!(parse_date("4/1/2024", AMERICAN), Ok(date(2024, 4, 1)));
        assert_eq!(parse_date("4.1.2024", AMERICAN), Ok(date(2024, 1, 4)));
        assert_eq!(parse_date("18/12/2026", OTHER), Ok(date(2026, 12, 18)));
        assert_eq!(parse_date("5/5/2026", OTHER), Ok(date(2026, 5, 5)));
        let month_first = Dialect { dates: Some(DateOrder::MonthFirst), ..AMERICAN };
        assert_eq!(parse_date("12/18/26", month_first), Ok(date(2026, 12, 18)));
        let day_first = Dialect { dates: Some(DateOrder::DayFirst), ..AMERICAN };
        assert_eq!(parse_date("4/1/2024", day_first), Ok(date(2024, 1, 4)));
    }

    #[test]
    fn what_can_be_read_twice_is_refused_and_so_is_what_is_no_date() {
        for (text, dialect) in [
            ("4/1/2024", OTHER),
            ("4-1-2024", AMERICAN),
            ("04-01-2024 16:00", AMERICAN),
            ("12/18/26", AMERICAN),
            ("18/12/26", OTHER),
        ] {
            assert_eq!(parse_date(text, dialect), Err(Reason::AmbiguousDate), "{text}");
        }
        let month_first = Dialect { dates: Some(DateOrder::MonthFirst), ..OTHER };
        for (text, dialect) in [
            ("", AMERICAN),
            ("18/12/2026", AMERICAN),
            ("18/12/2026", month_first),
            ("2026-02-30", AMERICAN),
            ("1066-10-14", AMERICAN),
            ("12.18.2026", AMERICAN),
            ("26-12-18", AMERICAN),
            ("12/2026", AMERICAN),
            ("18XYZ26", AMERICAN),
            ("Dec 2026", AMERICAN),
            ("Dec Jan 18 2026", AMERICAN),
            ("18 Dec 2026 7", AMERICAN),
            ("Dec 18! 2026", AMERICAN),
            ("de 18 2026", AMERICAN),
            ("123456789012345678901", AMERICAN),
            ("16:00", AMERICAN),
        ] {
            assert_eq!(parse_date(text, dialect), Err(Reason::NotADate), "{text}");
        }
    }

    #[test]
    fn clock_times_stand_behind_dates_of_all_forms() {
        let want = Ok(date(2024, 1, 3).at(16, 0, 0, 0));
        for text in
            ["2024-01-03 16:00", "1/3/2024 4:00 PM", "03.01.2024 16:00:00", "3JAN24 16:00", "Jan 3, 2024, 4:00:00 pm"]
        {
            assert_eq!(parse_civil(text, AMERICAN), want, "{text}");
        }
        for text in
            ["2024-01-03", "1/3/2024 13:00 PM", "1/3/2024 25:00", "1/3/2024 16:00:x", "1/3/2024 16:+1", "x 16:00"]
        {
            assert!(parse_civil(text, AMERICAN).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9/T:. ,APMDEC-]{0,24}|\\PC{0,24}") {
            let _ = (parse_date(&text, AMERICAN), parse_civil(&text, OTHER), order_of(&text));
        }

        #[test]
        fn every_form_of_a_date_says_the_same(days in 0i64..36_000) {
            let day = date(1990, 1, 1).saturating_add(jiff::Span::new().days(days));
            for form in ["%Y-%m-%d", "%Y%m%d", "%m/%d/%Y", "%d.%m.%Y", "%d%b%Y", "%B %d, %Y", "%a %b %d %Y"] {
                let text = day.strftime(form).to_string();
                prop_assert_eq!(parse_date(&text, AMERICAN), Ok(day), "{}", text);
            }
        }
    }
}
