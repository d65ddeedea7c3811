//! One parser for each kind of value of arguments; the options of the daemon share some. Never: a default.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use kernel::calendar::Calendar;
use kernel::limits;

/// Maximum number of threads: a greater one is a typing error.
const THREADS_MAX: usize = 1024;
/// Maximum number of trading days: twenty years.
const TRADING_DAYS_MAX: usize = 5040;

/// Parses an instant with an offset.
///
/// # Errors
/// A hint for the user.
pub fn instant(text: &str) -> Result<Timestamp, String> {
    let hint = || "expected RFC 3339 with an offset, such as 2026-11-20T15:42:00-05:00".to_owned();
    text.parse().ok().filter(is_of_a_market).ok_or_else(hint)
}

/// True if the year of an instant is one that records may have.
fn is_of_a_market(at: &Timestamp) -> bool {
    limits::YEAR.holds(f64::from(at.to_zoned_datetime(jiff::tz::TimeZone::UTC).year()))
}

/// Parses an instant with an offset, or a date and clock time in Eastern time.
///
/// # Errors
/// A hint for the user.
pub fn start(text: &str) -> Result<Timestamp, String> {
    let eastern = |at: DateTime| Calendar::embedded().instant(at);
    // a date alone would be midnight, which is never meant
    let has_clock_time = text.contains([':']);
    let instant = text.parse().or_else(|_| text.parse().map(eastern)).ok().filter(|_| has_clock_time);
    instant.filter(is_of_a_market).ok_or_else(|| {
        "expected an Eastern date and time, such as 2026-11-20T09:25, or RFC 3339 with an offset".to_owned()
    })
}

/// Parses a number of threads.
///
/// # Errors
/// A hint for the user.
pub fn threads(text: &str) -> Result<usize, String> {
    let hint = || format!("expected a number of threads from 1 to {THREADS_MAX}");
    text.parse().ok().filter(|n| (1..=THREADS_MAX).contains(n)).ok_or_else(hint)
}

/// Parses a number of trading days.
///
/// # Errors
/// A hint for the user.
pub fn trading_days(text: &str) -> Result<usize, String> {
    let hint = || format!("expected a number of days from 1 to {TRADING_DAYS_MAX}");
    text.parse().ok().filter(|n| (1..=TRADING_DAYS_MAX).contains(n)).ok_or_else(hint)
}

/// Parses a date of a year that records may have.
///
/// # Errors
/// A hint for the user.
pub fn day(text: &str) -> Result<Date, String> {
    let is_of_a_market = |date: &Date| limits::YEAR.holds(f64::from(date.year()));
    text.parse().ok().filter(is_of_a_market).ok_or_else(|| "expected a date such as 2025-01-02".to_owned())
}

/// Parses a number above 0.
///
/// # Errors
/// A hint for the user.
pub fn divisor(text: &str) -> Result<f64, String> {
    let hint = || "expected a number above 0, such as 1000".to_owned();
    text.parse().ok().filter(|n: &f64| *n > 0.0 && n.is_finite()).ok_or_else(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_of_a_year_that_records_may_be_of() {
        assert!(instant("2026-11-20T15:42:00-05:00").is_ok() && start("2026-11-20T09:25").is_ok());
        for far in ["9999-12-30T23:59:59Z", "-009999-01-02T00:00:00Z", "1989-12-31T12:00:00Z", "2100-01-01T12:00:00Z"] {
            assert!(instant(far).is_err(), "{far}");
            assert!(start(far.trim_end_matches('Z')).is_err(), "{far}");
        }
    }
}
