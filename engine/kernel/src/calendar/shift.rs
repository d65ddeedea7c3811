//! Dates that lie days, months or years apart. Never: a panic, a trading day.

use jiff::{SignedDuration, Span, civil::Date};

/// Dates by their distance from another one. What lies beyond the range of dates becomes the first or the last date.
///
/// The spans of the date library (`5.days()`) panic beyond their limits, and a number of days can come from a file; the
/// lints refuse them.
pub trait ShiftDate {
    /// Returns the date `days` later, or earlier if negative.
    #[must_use]
    fn plus_days(self, days: impl Into<i64>) -> Date;

    /// Returns the same day of the month `months` later, or earlier if negative; the last day of a shorter month.
    #[must_use]
    fn plus_months(self, months: impl Into<i64>) -> Date;

    /// Returns the same day `years` later, or earlier if negative; 28 February for 29 February.
    #[must_use]
    fn plus_years(self, years: impl Into<i64>) -> Date;
}

impl ShiftDate for Date {
    fn plus_days(self, days: impl Into<i64>) -> Date {
        let days = days.into();
        // a date from outside may be near the ends of time: it saturates there, and nothing panics
        let shift = days.checked_mul(24).and_then(SignedDuration::try_from_hours);
        shift.map_or_else(|| end(days), |shift| self.saturating_add(shift))
    }

    fn plus_months(self, months: impl Into<i64>) -> Date {
        let months = months.into();
        Span::new().try_months(months).map_or_else(|_| end(months), |span| self.saturating_add(span))
    }

    fn plus_years(self, years: impl Into<i64>) -> Date {
        self.plus_months(years.into().saturating_mul(12))
    }
}

/// Returns the end of the calendar that a distance without bounds leads to.
fn end(distance: i64) -> Date {
    if distance < 0 { Date::MIN } else { Date::MAX }
}

/// Returns the date `days` after 1970-01-01, as columns of dates count; `None` beyond the range of dates.
#[must_use]
pub fn date_of_epoch_day(days: i64) -> Option<Date> {
    let since = SignedDuration::try_from_hours(days.checked_mul(24)?)?;
    Date::constant(1970, 1, 1).checked_add(since).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn distances_beyond_the_calendar_end_at_its_ends() {
        let day = date(2024, 2, 29);
        assert_eq!([day.plus_days(1), day.plus_days(-60)], [date(2024, 3, 1), date(2023, 12, 31)]);
        assert_eq!([day.plus_months(12), day.plus_months(-1)], [date(2025, 2, 28), date(2024, 1, 29)]);
        assert_eq!([day.plus_years(4), day.plus_years(1)], [date(2028, 2, 29), date(2025, 2, 28)]);
        for far in [i64::from(i32::MAX), i64::MAX] {
            assert_eq!([day.plus_days(far), day.plus_months(far), day.plus_years(far)], [Date::MAX; 3]);
            assert_eq!([day.plus_days(-far), day.plus_months(-far), day.plus_years(-far)], [Date::MIN; 3]);
        }
    }

    #[test]
    fn days_since_the_epoch_are_dates_or_nothing() {
        assert_eq!(date_of_epoch_day(19_782), Some(date(2024, 2, 29)));
        assert_eq!(date_of_epoch_day(-1), Some(date(1969, 12, 31)));
        for days in [8_000_000, -8_000_000, i64::from(i32::MAX), i64::MAX, i64::MIN] {
            assert_eq!(date_of_epoch_day(days), None, "{days}");
        }
    }
}
