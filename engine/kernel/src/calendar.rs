//! Eastern time, sessions, early closes, settlement instants, expiration dates ([`expirations`]).
//!
//! Closures come from rules, so the calendar has no last year; what has no rule (days of mourning, storms) is a small
//! table, and a user can add rows. The zone's rules are part of the program. Never: asks what time it is.
#![warn(clippy::arithmetic_side_effects)]

mod day;
pub mod expirations;
mod known;
mod rules;
pub mod shift;
mod variance;

pub use day::Day;
pub use known::{EventDate, EventSpan, EventTime};
pub use variance::{ClockReading, ClockWeight, MarketEvent, MarketEventKind, VarianceClock, VarianceWeights};

use self::day::{CLOSE, CLOSE_EARLY, NEW_YORK, OPEN};
use self::shift::ShiftDate;
use crate::contract::{Settle, Symbol};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time, date};
use jiff::tz::TimeZone;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Greatest distance of a search for a session.
const SEARCH_DAYS: i32 = 60;
const SECONDS_PER_DAY: f64 = 86_400.0;
const DAYS_PER_YEAR: f64 = 365.0;

/// The special closures that the crate carries (`data/special_days.csv`).
static SPECIAL: LazyLock<BTreeMap<Date, Day>> =
    LazyLock::new(|| parse_days(include_str!("../data/special_days.csv")).expect("the embedded table is well formed"));

/// The variance clock of the dates that the crate knows, made once.
static CLOCK: LazyLock<VarianceClock> = LazyLock::new(|| VarianceClock::new(|date| day_by(&SPECIAL, date)));

/// The trading calendar, in US Eastern time. A value: made once, passed down.
#[derive(Clone, Debug)]
pub struct Calendar {
    zone: TimeZone,
    /// Dates that no rule gives.
    special: BTreeMap<Date, Day>,
    variance: VarianceClock,
    known: known::KnownEvents,
}

impl Calendar {
    /// The last date for which closures were compared with the exchanges' published calendars. Later ones come from the
    /// same rules, and special closures are known up to the release only.
    pub const CHECKED_UNTIL: Date = date(2032, 12, 31);

    /// The calendar that the crate carries: the rules, and the special closures.
    ///
    /// # Panics
    /// Never: zone and table are compiled in, and tests read both.
    #[must_use]
    pub fn embedded() -> Self {
        Self { zone: NEW_YORK.clone(), special: SPECIAL.clone(), variance: CLOCK.clone(), known: Default::default() }
    }

    /// The calendar with `days` in place of its own.
    #[must_use]
    pub fn with_overrides(mut self, days: impl IntoIterator<Item = (Date, Day)>) -> Self {
        // later ones win, so a user's correction replaces an embedded day
        let mut changed = false;
        for (date, day) in days {
            changed |= self.special.insert(date, day) != Some(day);
        }
        if changed {
            self.variance = self.variance.with_days(|d| day_by(&self.special, d));
        }
        self
    }

    /// Replaces the market events of the variance clock.
    #[must_use]
    pub fn with_events(mut self, events: impl IntoIterator<Item = MarketEvent>) -> Self {
        self.variance = self.variance.with_events(events);
        self
    }

    /// Replaces the weights of the variance clock.
    #[must_use]
    pub fn with_weights(mut self, weights: VarianceWeights) -> Self {
        self.variance = self.variance.with_weights(weights);
        self
    }

    /// The calendar with these events of names in place of its own. Of two of one name and date the later one counts.
    #[must_use]
    pub fn with_known_events(self, events: impl IntoIterator<Item = (Symbol, EventDate)>) -> Self {
        Self { known: known::by_name(events), ..self }
    }

    /// The events of a name that are known, ascending by date.
    #[must_use]
    pub fn known_events(&self, underlying: Symbol) -> &[EventDate] {
        self.known.get(&underlying).map_or(&[], Vec::as_slice)
    }

    /// The instants of an event: what comes while the market is closed has its effect at the next opening.
    #[must_use]
    pub fn event_span(&self, event: &EventDate) -> EventSpan {
        let opening = |date: Date| self.instant(date.to_datetime(OPEN));
        let (before, after) = (self.session_on_or_after(event.date), self.next_session(event.date));
        let at = |time: Time| match () {
            () if before != event.date || time <= OPEN => opening(before),
            () if time >= CLOSE => opening(after),
            () => self.instant(event.date.to_datetime(time)),
        };
        let (first, last) = match event.time {
            EventTime::Unknown => (opening(before), opening(after)),
            EventTime::BeforeOpening => (opening(before), opening(before)),
            EventTime::AfterClose => (opening(after), opening(after)),
            EventTime::At(time) => (at(time), at(time)),
        };
        EventSpan { date: event.date, first, last, size: event.size, is_earnings: event.is_earnings }
    }

    /// The variance clock.
    #[must_use]
    pub fn variance(&self) -> &VarianceClock {
        &self.variance
    }

    /// Kind of day: session, early close or closed.
    #[must_use]
    pub fn day(&self, d: Date) -> Day {
        day_by(&self.special, d)
    }

    /// True if a date has a session.
    #[must_use]
    pub fn is_session(&self, d: Date) -> bool {
        self.day(d) != Day::Closed
    }

    /// Opening and close of the session of a date.
    #[must_use]
    pub fn session(&self, d: Date) -> Option<(Timestamp, Timestamp)> {
        self.is_session(d).then(|| (self.instant(d.to_datetime(OPEN)), self.close(d)))
    }

    /// The first session after a date.
    #[must_use]
    pub fn next_session(&self, d: Date) -> Date {
        self.session_on_or_after(d.plus_days(1))
    }

    /// The last session before a date.
    #[must_use]
    pub fn previous_session(&self, d: Date) -> Date {
        self.session_on_or_before(d.plus_days(-1))
    }

    /// The date itself, or the first session after it. The date too where none is found in two months.
    #[must_use]
    pub fn session_on_or_after(&self, d: Date) -> Date {
        // bounded: overrides may close every day there is
        (0..SEARCH_DAYS).map(|n| d.plus_days(n)).find(|&d| self.is_session(d)).unwrap_or(d)
    }

    /// The date itself, or the last session before it. The date too where none is found in two months.
    #[must_use]
    pub fn session_on_or_before(&self, d: Date) -> Date {
        last_session(d, |d| self.is_session(d))
    }

    /// The instant that an expiry settles at: 09:30 for AM; 16:00 for PM, 13:00 where that date closes early. One on a
    /// date without a session settles in the last session before.
    #[must_use]
    pub fn settlement(&self, expiry: Date, settle: Settle) -> Timestamp {
        let expiry = self.session_on_or_before(expiry);
        match settle {
            // settles on opening prices; trading ended the evening before, and the clock of the value runs on
            Settle::Am => self.instant(expiry.to_datetime(OPEN)),
            Settle::Pm => self.close(expiry),
        }
    }

    /// The instant from which a share trades without the dividend: 09:30 on the ex-date.
    #[must_use]
    pub fn ex_instant(&self, ex_date: Date) -> Timestamp {
        self.instant(ex_date.to_datetime(OPEN))
    }

    /// The clock time of `now` on the next trading day, for `decay`: on the first session after the Eastern date of
    /// `now`, even if that date's own session has not opened yet; 13:00 if the next session closes before that time.
    #[must_use]
    pub fn next_trading_day(&self, now: Timestamp) -> Timestamp {
        let now = self.eastern(now);
        let next = self.next_session(now.date());
        // after one o'clock a short day has no such time: its close stands for it
        let clock = if self.day(next) == Day::Early { now.time().min(CLOSE_EARLY) } else { now.time() };
        self.instant(next.to_datetime(clock))
    }

    /// True if an instant is within a session: at the opening yes, at the close no.
    #[must_use]
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.session(self.eastern(now).date()).is_some_and(|(open, close)| open <= now && now < close)
    }

    /// The last instant of a session that is not after `now`: `now` itself in a session, else the last close.
    #[must_use]
    pub fn last_session_instant(&self, now: Timestamp) -> Timestamp {
        let today = self.eastern(now).date();
        match self.session(today) {
            // after the close the quotes are those of the close
            Some((open, close)) if open <= now => now.min(close),
            _ => self.close(self.previous_session(today)),
        }
    }

    /// The Eastern date and clock time of an instant.
    #[must_use]
    pub fn eastern(&self, at: Timestamp) -> DateTime {
        self.zone.to_datetime(at)
    }

    /// The instant of an Eastern date and clock time. A time that a change of clocks skips counts as an hour later; one
    /// that occurs twice is the first; beyond the range of instants, the last instant.
    #[must_use]
    pub fn instant(&self, at: DateTime) -> Timestamp {
        day::instant(at)
    }

    /// The zone itself, to print times in.
    #[must_use]
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The close of a date's session; 16:00 where there is none.
    #[must_use]
    pub fn close(&self, d: Date) -> Timestamp {
        let at = if self.day(d) == Day::Early { CLOSE_EARLY } else { CLOSE };
        self.instant(d.to_datetime(at))
    }
}

/// Kind of a date: a session, or none.
fn day_by(special: &BTreeMap<Date, Day>, d: Date) -> Day {
    // the rules give every usual year; the table has closures that no rule foresees, such as days of mourning
    special.get(&d).copied().unwrap_or_else(|| rules::day(d))
}

/// The date itself, or the last one before it that has a session. The date too where none is found in two months.
fn last_session(d: Date, is_session: impl Fn(Date) -> bool) -> Date {
    (0..SEARCH_DAYS).map(|n| d.plus_days(-n)).find(|&d| is_session(d)).unwrap_or(d)
}

/// Fractional calendar days from one instant to another; negative if `to` is earlier.
#[must_use]
pub fn days_between(from: Timestamp, to: Timestamp) -> f64 {
    (to.duration_since(from)).as_secs_f64() / SECONDS_PER_DAY
}

/// Years of 365 days from one instant to another.
#[must_use]
pub fn years_between(from: Timestamp, to: Timestamp) -> f64 {
    days_between(from, to) / DAYS_PER_YEAR
}

/// Reads lines `date,status,name` after a header line; `None` if any line is not that.
fn parse_days(text: &str) -> Option<BTreeMap<Date, Day>> {
    let parse = |line: &str| {
        let mut cells = line.splitn(3, ',');
        Some((cells.next()?.parse().ok()?, Day::parse(cells.next()?)?))
    };
    text.lines().skip(1).map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// Every closure and early close of 2020 to 2032, compared by its makers with the exchanges' announcements.
    const HOLIDAYS: &str = include_str!("../../../golden/holidays.csv");

    #[test]
    fn thirteen_years_of_closures_agree_with_the_published_calendars() {
        let calendar = Calendar::embedded();
        let golden = parse_days(HOLIDAYS).unwrap();
        assert_eq!(golden.len(), 154);
        let mut d = date(2020, 1, 1);
        let mut checked = 0;
        while d <= Calendar::CHECKED_UNTIL {
            let weekend = d.weekday().to_monday_zero_offset() >= 5;
            let want = golden.get(&d).copied().unwrap_or(if weekend { Day::Closed } else { Day::Open });
            assert_eq!(calendar.day(d), want, "{d}");
            d = d.tomorrow().unwrap();
            checked += 1;
        }
        assert_eq!(checked, 4749);
    }

    #[test]
    fn settlement_follows_daylight_saving_and_early_closes() {
        let calendar = Calendar::embedded();
        for (expiry, settle, want) in [
            (date(2026, 12, 18), Settle::Pm, "2026-12-18T16:00:00-05:00"),
            (date(2026, 12, 18), Settle::Am, "2026-12-18T09:30:00-05:00"),
            (date(2026, 7, 17), Settle::Pm, "2026-07-17T16:00:00-04:00"),
            (date(2026, 11, 27), Settle::Pm, "2026-11-27T13:00:00-05:00"),
            (date(2026, 11, 27), Settle::Am, "2026-11-27T09:30:00-05:00"),
            // a Sunday, a Saturday before which a Friday closes early, Good Friday
            (date(2026, 12, 20), Settle::Pm, "2026-12-18T16:00:00-05:00"),
            (date(2026, 11, 28), Settle::Pm, "2026-11-27T13:00:00-05:00"),
            (date(2008, 3, 21), Settle::Am, "2008-03-20T09:30:00-04:00"),
        ] {
            assert_eq!(calendar.settlement(expiry, settle), at(want), "{expiry}");
        }
        assert_eq!(calendar.ex_instant(date(2026, 3, 9)), at("2026-03-09T13:30:00Z"));
    }

    #[test]
    fn a_change_of_clocks_costs_an_hour() {
        let spring = days_between(at("2026-03-06T16:00:00-05:00"), at("2026-03-09T16:00:00-04:00"));
        assert!((spring - (3.0 - 1.0 / 24.0)).abs() < 1e-12, "{spring}");
        let year = years_between(at("2026-01-02T16:00:00-05:00"), at("2027-01-02T16:00:00-05:00"));
        assert!((year - 1.0).abs() < 1e-12, "{year}");
    }

    #[test]
    fn the_next_trading_day_keeps_the_clock_time() {
        let calendar = Calendar::embedded();
        for (now, want) in [
            ("2026-11-17T10:15:00-05:00", "2026-11-18T10:15:00-05:00"),
            ("2026-11-20T15:00:00-05:00", "2026-11-23T15:00:00-05:00"),
            ("2026-11-21T12:00:00-05:00", "2026-11-23T12:00:00-05:00"),
            // before the open of a session the next trading day is the following session
            ("2026-11-17T08:00:00-05:00", "2026-11-18T08:00:00-05:00"),
            // over a holiday, into an early close: the clock time stops at 13:00
            ("2026-11-25T15:00:00-05:00", "2026-11-27T13:00:00-05:00"),
            ("2026-11-25T11:00:00-05:00", "2026-11-27T11:00:00-05:00"),
            ("2026-11-27T12:59:00-05:00", "2026-11-30T12:59:00-05:00"),
            // over a change of clocks
            ("2026-03-06T12:00:00-05:00", "2026-03-09T12:00:00-04:00"),
        ] {
            assert_eq!(calendar.next_trading_day(at(now)), at(want), "{now}");
        }
    }

    #[test]
    fn values_are_held_from_the_last_close() {
        let calendar = Calendar::embedded();
        for (now, open, held) in [
            ("2026-11-20T09:29:59-05:00", false, "2026-11-19T16:00:00-05:00"),
            ("2026-11-20T09:30:00-05:00", true, "2026-11-20T09:30:00-05:00"),
            ("2026-11-20T15:59:59-05:00", true, "2026-11-20T15:59:59-05:00"),
            ("2026-11-20T16:00:00-05:00", false, "2026-11-20T16:00:00-05:00"),
            ("2026-11-22T12:00:00-05:00", false, "2026-11-20T16:00:00-05:00"),
            ("2026-11-26T12:00:00-05:00", false, "2026-11-25T16:00:00-05:00"),
            ("2026-11-29T12:00:00-05:00", false, "2026-11-27T13:00:00-05:00"),
        ] {
            assert_eq!(calendar.is_open(at(now)), open, "{now}");
            assert_eq!(calendar.last_session_instant(at(now)), at(held), "{now}");
        }
    }

    #[test]
    fn a_user_can_close_and_open_a_date() {
        let friday = date(2026, 11, 20);
        let calendar = Calendar::embedded().with_overrides([(friday, Day::Closed), (date(2026, 11, 26), Day::Open)]);
        assert_eq!(calendar.next_session(date(2026, 11, 19)), date(2026, 11, 23));
        assert_eq!(calendar.previous_session(date(2026, 11, 27)), date(2026, 11, 26));
        assert_eq!(calendar.session(friday), None);
    }

    #[test]
    fn dates_at_the_ends_of_time_do_not_panic() {
        let calendar = Calendar::embedded();
        for d in [Date::MIN, Date::MAX] {
            let _ = (calendar.settlement(d, Settle::Pm), calendar.next_session(d), calendar.previous_session(d));
        }
        for ts in [Timestamp::MIN, Timestamp::MAX] {
            let _ = (calendar.next_trading_day(ts), calendar.last_session_instant(ts), calendar.is_open(ts));
        }
    }
}
