//! Closures and early closes of the US equity and options markets by rule, for any year. Special closures have no rule:
//! they are rows of a table. Never: a time of day, a zone.

use super::day::Day;
use crate::calendar::shift::ShiftDate;
use jiff::civil::{Date, Weekday, date};

/// Kind of day of a date by the rules, weekends included.
pub(super) fn day(d: Date) -> Day {
    if is_weekend(d) || is_holiday(d) {
        Day::Closed
    } else if is_early(d) {
        Day::Early
    } else {
        Day::Open
    }
}

fn is_weekend(d: Date) -> bool {
    matches!(d.weekday(), Weekday::Saturday | Weekday::Sunday)
}

/// True if a weekday is a holiday, or the weekday on which one is observed.
fn is_holiday(d: Date) -> bool {
    let (month, day, weekday) = (d.month(), d.day(), d.weekday());
    match month {
        // New Year's Day on a Saturday is not observed: December 31 is a session.
        1 => day == 1 || (day == 2 && weekday == Weekday::Monday) || is_nth(d, 3, Weekday::Monday),
        2 => is_nth(d, 3, Weekday::Monday),
        // the only holiday that follows the moon
        3 | 4 => d == good_friday(d.year()),
        5 => weekday == Weekday::Monday && day > 24,
        // Juneteenth became a holiday of the exchanges in 2022
        6 => d.year() >= 2022 && is_observed(d, 19),
        7 => is_observed(d, 4),
        9 => is_nth(d, 1, Weekday::Monday),
        11 => is_nth(d, 4, Weekday::Thursday),
        12 => is_observed(d, 25),
        _ => false,
    }
}

/// True if `d` is the day of its month, or the weekday that stands in for it: Friday for Saturday, Monday for Sunday.
fn is_observed(d: Date, day: i8) -> bool {
    match d.weekday() {
        Weekday::Friday => d.day() == day || d.day() + 1 == day,
        Weekday::Monday => d.day() == day || d.day() - 1 == day,
        _ => d.day() == day,
    }
}

fn is_nth(d: Date, n: i8, weekday: Weekday) -> bool {
    d.weekday() == weekday && (d.day() - 1) / 7 + 1 == n
}

/// True if a session closes at 13:00: July 3 before a holiday from Tuesday to Friday, the day after Thanksgiving,
/// December 24 from Monday to Thursday.
fn is_early(d: Date) -> bool {
    match (d.month(), d.day(), d.weekday()) {
        // on a Friday it is the observed holiday itself
        (7, 3, weekday) => !matches!(weekday, Weekday::Friday),
        (12, 24, weekday) => !matches!(weekday, Weekday::Friday),
        // the day after the fourth Thursday, which may fall on the fifth Friday
        (11, day, Weekday::Friday) => (day - 2) / 7 + 1 == 4 && day >= 2,
        _ => false,
    }
}

/// Two days before Western Easter.
///
/// # Source   the anonymous Gregorian algorithm (Nature, 1876), as in Meeus (1991), Astronomical Algorithms, chapter 8
fn good_friday(year: i16) -> Date {
    let y = i32::from(year);
    let (a, b, c) = (y % 19, y / 100, y % 100);
    let (d, e) = (b / 4, b % 4);
    let g = (b - (b + 8) / 25 + 1) / 3;
    let h = (19 * a + b - d - g + 15) % 30;
    let (i, k) = (c / 4, c % 4);
    let l = (32 + 2 * e + 2 * i - h - k) % 7;
    let m = (a + 11 * h + 22 * l) / 451;
    let n = h + l - 7 * m + 114;
    let march_first = date(year, 3, 1);
    let days = (n / 31 - 3) * 31 + n % 31 - 2;
    march_first.plus_days(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_friday_of_distant_years() {
        for d in [date(2000, 4, 21), date(2008, 3, 21), date(2011, 4, 22), date(2038, 4, 23), date(2049, 4, 16)] {
            assert_eq!(good_friday(d.year()), d);
        }
    }
}
