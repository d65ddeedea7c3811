//! The variance clock: how much of the market's movement lies between two instants. An ordinary session from close to
//! close is one variance day; a date without a session counts little, a night less than the hours of trading, and
//! scheduled news of the whole market (the Federal Reserve, consumer prices, payrolls) more. It stands beside calendar
//! time and replaces it nowhere. Sources of the constants: docs/variance-time.md. Never: a quote.

use super::day::{CLOSE_EARLY, Day, NEW_YORK, OPEN, instant};
use super::shift::ShiftDate;
use crate::contract::Symbol;
use crate::limits::{self, Bound};
use jiff::civil::{Date, Time, date, time};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The dates whose sums are at hand. Beyond them every date has the weight of a mean one.
const FIRST: Date = date(1990, 1, 1);
const LAST: Date = date(2069, 12, 31);
const SECONDS_PER_HOUR: f64 = 3600.0;
/// Eastern time at which the Federal Reserve publishes its decisions.
const FOMC: Time = time(14, 0, 0, 0);
/// Sessions of a year, and its other dates.
const YEAR: (f64, f64) = (252.0, 113.0);

/// Part of a session's variance that is to come, by the hour of the day.
const LEFT: [(f64, f64); 8] =
    [(9.5, 1.0), (10.0, 0.78), (11.0, 0.61), (12.0, 0.48), (13.0, 0.39), (14.0, 0.31), (15.0, 0.2), (16.0, 0.0)];

/// Funds without leverage on a broad index of shares of the United States, by the index that their prospectuses name.
const INDEX_FUNDS: &[&str] = &[
    "DIA", "IJH", "IJR", "ITOT", "IVV", "IWB", "IWM", "IWV", "MDY", "OEF", "RSP", "SCHB", "SPLG", "SPY", "SPYM", "VOO",
    "VTI", "VTWO", "VV",
];
/// The Nasdaq 100 and funds on it.
const NASDAQ: &[&str] = &["NDX", "NQX", "QQQ", "QQQM", "XND"];
/// Weight of market events for the Nasdaq 100: it moves 1.6 to 1.8 times as much as the S&P 500 in quotes of 2026, and
/// expiries of QQQ beside events are foretold to 0.24 points of volatility, to 0.41 with a weight of 1.
const NASDAQ_SHARE: f64 = 0.6;
/// Weight of market events for names of whose ratio to the market nothing is known.
const OTHER_SHARE: f64 = 0.3;

/// The weights of the clock, in variance days.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VarianceWeights {
    /// The night before an opening; the hours of the session have the rest of the day.
    pub night: f64,
    /// A date without a session.
    pub closed: f64,
    /// The hours of a session that closes early, as a share of those of an ordinary one.
    pub early: f64,
}

impl Default for VarianceWeights {
    fn default() -> Self {
        Self { night: 0.40, closed: 0.075, early: 0.5 }
    }
}

/// A weight of the clock that a user may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockWeight {
    /// [`VarianceWeights::night`].
    Night,
    /// [`VarianceWeights::closed`].
    Closed,
    /// [`VarianceWeights::early`].
    Early,
}

impl ClockWeight {
    /// Every weight.
    pub const ALL: [Self; 3] = [Self::Night, Self::Closed, Self::Early];

    /// The word in a file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Night => "night",
            Self::Closed => "closed",
            Self::Early => "early",
        }
    }

    /// Values that it may have: every moment of a session and of a night has some variance.
    #[must_use]
    pub const fn bound(self) -> Bound {
        match self {
            Self::Night | Self::Early => limits::NIGHT_PART,
            Self::Closed => limits::CLOSED_DAYS,
        }
    }
}

impl VarianceWeights {
    /// These weights with another value of one of them.
    #[must_use]
    pub fn with(mut self, weight: ClockWeight, value: f64) -> Self {
        match weight {
            ClockWeight::Night => self.night = value,
            ClockWeight::Closed => self.closed = value,
            ClockWeight::Early => self.early = value,
        }
        self
    }

    /// Variance days of a year, so that volatilities of long terms are the same by either clock.
    #[must_use]
    pub fn year(&self) -> f64 {
        YEAR.0 + YEAR.1 * self.closed
    }

    /// A whole date.
    fn date(&self, day: Day) -> f64 {
        match day {
            Day::Closed => self.closed,
            Day::Early => self.night + (1.0 - self.night) * self.early,
            Day::Open => 1.0,
        }
    }

    /// A date with a session, from midnight to an hour of it. The night is uniform over its hours on both sides of
    /// midnight, of an ordinary close and opening.
    fn until(&self, is_early: bool, hour: f64) -> f64 {
        const DAY: f64 = 24.0;
        let (open, full) = (LEFT[0].0, LEFT[7].0);
        let (close, hours) = if is_early { (hour_of(CLOSE_EARLY), self.early) } else { (full, 1.0) };
        let morning = self.night * open / (open + DAY - full);
        if hour <= open {
            return morning * hour / open;
        }
        let at_close = left(close);
        let passed = 1.0 - (left(hour.min(close)) - at_close) / (1.0 - at_close);
        let evening = (self.night - morning) * (hour - close).max(0.0) / (DAY - close);
        morning + (1.0 - self.night) * hours * passed + evening
    }

    /// The first hour of a date with a session at which so much of it has passed.
    fn hour_at(&self, is_early: bool, weight: f64) -> f64 {
        let (mut from, mut before) = (0.0, 0.0);
        for to in LEFT.iter().map(|&(hour, _)| hour).chain([24.0]) {
            let passed = self.until(is_early, to);
            if passed >= weight {
                return from + (to - from) * (weight - before) / (passed - before);
            }
            (from, before) = (to, passed);
        }
        from
    }
}

/// Part of an ordinary session's variance that is to come at an hour.
fn left(hour: f64) -> f64 {
    let Some(i) = LEFT.iter().position(|&(knot, _)| hour <= knot) else { return 0.0 };
    let Some(before) = i.checked_sub(1) else { return 1.0 };
    let ((a, x), (b, y)) = (LEFT[before], LEFT[i]);
    x + (y - x) * (hour - a) / (b - a)
}

fn hour_of(time: Time) -> f64 {
    f64::from(time.hour())
        + f64::from(time.minute()) / 60.0
        + f64::from(time.second()) / SECONDS_PER_HOUR
        + f64::from(time.subsec_nanosecond()) * 1e-9 / SECONDS_PER_HOUR
}

/// News of the whole market.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarketEventKind {
    /// A decision of the Federal Open Market Committee.
    Fomc,
    /// Consumer prices.
    Cpi,
    /// The employment situation.
    Payrolls,
    /// Something else, of a user.
    Other,
}

impl MarketEventKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Fomc, Self::Cpi, Self::Payrolls, Self::Other];

    /// The word in a file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fomc => "fomc",
            Self::Cpi => "cpi",
            Self::Payrolls => "payrolls",
            Self::Other => "other",
        }
    }

    /// Its usual size for an index, variance days.
    #[must_use]
    pub const fn weight(self) -> f64 {
        match self {
            Self::Fomc => 1.3,
            Self::Cpi => 0.5,
            Self::Payrolls => 0.6,
            Self::Other => 1.0,
        }
    }

    /// The Eastern time of its effect: numbers that come before the opening move the opening.
    const fn time(self) -> Time {
        match self {
            Self::Fomc => FOMC,
            Self::Cpi | Self::Payrolls | Self::Other => OPEN,
        }
    }
}

/// Scheduled news that moves the whole market.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarketEvent {
    /// Eastern date of the event.
    pub date: Date,
    /// Kind of the event.
    pub kind: MarketEventKind,
    /// The Eastern time of its effect; `None`: that of its kind.
    pub time: Option<Time>,
    /// Size of the event for an index, variance days; `None`: that of its kind. 0 removes the event of this kind and
    /// date.
    pub weight: Option<f64>,
}

impl MarketEvent {
    fn instant(&self) -> Timestamp {
        // what comes before the opening is in the opening prices
        instant(self.date.to_datetime(self.time.unwrap_or(self.kind.time()).max(OPEN)))
    }

    fn size(&self) -> f64 {
        self.weight.unwrap_or(self.kind.weight())
    }

    /// Reads `date,kind`.
    fn parse(line: &str) -> Option<Self> {
        let (date, kind) = line.split_once(',')?;
        let kind = MarketEventKind::ALL.into_iter().find(|of| of.name() == kind)?;
        Some(Self { date: date.parse().ok()?, kind, time: None, weight: None })
    }
}

/// The events that the crate carries (`data/market_events.csv`, made by `data/refresh_market_events.py`).
static EVENTS: LazyLock<Vec<MarketEvent>> = LazyLock::new(|| {
    let lines = include_str!("../../data/market_events.csv").lines().skip(1);
    lines.map(MarketEvent::parse).collect::<Option<_>>().expect("the embedded table is well formed")
});

/// Reading of the clock at an instant. Only differences have a meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClockReading {
    /// Sessions, nights and dates without a session.
    days: f64,
    /// Market events, at their size for an index.
    events: f64,
}

impl ClockReading {
    /// Variance days from here to a later reading; market events count for `share` of their size.
    #[must_use]
    pub fn until(&self, later: &Self, share: f64) -> f64 {
        later.days - self.days + share * (later.events - self.events)
    }
}

/// The variance clock. A value that is cheap to clone, made once for a calendar.
#[derive(Clone, Debug)]
pub struct VarianceClock {
    weights: VarianceWeights,
    /// Kind of each date from [`FIRST`] on.
    days: Arc<[Day]>,
    /// Variance days from [`FIRST`] to the midnight before each of them, and after the last one.
    sums: Arc<[f64]>,
    /// Instants of market events, each with the sum of weights up to it.
    events: Arc<[(Timestamp, f64)]>,
}

impl VarianceClock {
    /// The clock where dates are what `day` says, with the weights and events of the crate.
    pub(super) fn new(day: impl Fn(Date) -> Day) -> Self {
        let (weights, days, sums, events) = Default::default();
        Self { weights, days, sums, events }.with_days(day).with_events(EVENTS.iter().copied())
    }

    /// Replaces the kinds of dates by those of `day`.
    pub(super) fn with_days(&self, day: impl Fn(Date) -> Day) -> Self {
        let days = (0..=days_since_first(LAST)).map(|n| day(FIRST.plus_days(n)));
        Self { days: days.collect(), ..self.clone() }.summed()
    }

    /// Replaces the weights.
    pub(super) fn with_weights(&self, weights: VarianceWeights) -> Self {
        Self { weights, ..self.clone() }.summed()
    }

    /// Replaces the events. Of two events of one kind and date the later one counts.
    pub(super) fn with_events(&self, events: impl IntoIterator<Item = MarketEvent>) -> Self {
        let mut kept: BTreeMap<(Date, MarketEventKind), MarketEvent> = BTreeMap::new();
        kept.extend(events.into_iter().map(|event| ((event.date, event.kind), event)));
        let mut events: Vec<(Timestamp, f64)> =
            kept.into_values().map(|event| (event.instant(), event.size())).collect();
        events.sort_by_key(|&(instant, _)| instant);
        let mut all = 0.0;
        for (_, weight) in &mut events {
            all += *weight;
            *weight = all;
        }
        Self { events: events.into(), ..self.clone() }
    }

    fn summed(self) -> Self {
        let mut all = 0.0;
        let sum = |day: &Day| {
            all += self.weights.date(*day);
            all
        };
        let sums = core::iter::once(0.0).chain(self.days.iter().map(sum)).collect();
        Self { sums, ..self }
    }

    /// The events that the crate carries.
    #[must_use]
    pub fn market_events() -> &'static [MarketEvent] {
        &EVENTS
    }

    /// Weight of market events for a name, as a part of their weight for the S&P 500: 1 for other indices and for funds
    /// on broad ones. A ratio of volatilities would be more exact, but needs another name.
    #[must_use]
    pub fn share_of_market_events(underlying: Symbol, is_index: bool) -> f64 {
        match underlying.as_str() {
            name if NASDAQ.contains(&name) => NASDAQ_SHARE,
            name if is_index || INDEX_FUNDS.contains(&name) => 1.0,
            _ => OTHER_SHARE,
        }
    }

    /// True if the other clock is a clone of this one.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.sums, &other.sums) && Arc::ptr_eq(&self.events, &other.events)
    }

    /// The weights of the clock.
    #[must_use]
    pub const fn weights(&self) -> &VarianceWeights {
        &self.weights
    }

    /// Reading of the clock at an instant.
    #[must_use]
    pub fn reading(&self, at: Timestamp) -> ClockReading {
        let passed = self.events.partition_point(|&(instant, _)| instant <= at);
        let events = passed.checked_sub(1).map_or(0.0, |last| self.events[last].1);
        ClockReading { days: self.days_until(at), events }
    }

    /// Variance days from one instant to another, of which market events count for `share`; negative if `to` is
    /// earlier.
    #[must_use]
    pub fn days(&self, from: Timestamp, to: Timestamp, share: f64) -> f64 {
        self.reading(from).until(&self.reading(to), share)
    }

    /// The instant so many variance days later, market events not counted; the first one where hours weigh nothing.
    #[must_use]
    pub fn after(&self, from: Timestamp, days: f64) -> Timestamp {
        let target = self.days_until(from) + days;
        let reached = self.sums.partition_point(|&sum| sum < target);
        let Some((i, day)) = reached.checked_sub(1).and_then(|i| Some((i, self.days.get(i)?))) else {
            // beyond the known dates all weigh the same
            let (edge, n) = if reached == 0 { (0.0, 0) } else { (self.sums[self.days.len()], self.days.len()) };
            let dates = n as f64 + (target - edge) * 365.0 / self.weights.year();
            return part_of_date(FIRST.plus_days(dates.floor() as i64), dates - dates.floor());
        };
        let (date, within) = (FIRST.plus_days(i as i64), target - self.sums[i]);
        if *day == Day::Closed {
            return part_of_date(date, within / self.weights.closed);
        }
        let since_midnight =
            SignedDuration::from_secs_f64(SECONDS_PER_HOUR * self.weights.hour_at(*day == Day::Early, within));
        instant(date.to_datetime(Time::midnight()).saturating_add(since_midnight))
    }

    /// Variance days from [`FIRST`] to an instant, without events.
    fn days_until(&self, at: Timestamp) -> f64 {
        let local = NEW_YORK.to_datetime(at);
        let (date, n) = (local.date(), days_since_first(local.date()));
        let known = usize::try_from(n).ok().filter(|&n| n < self.days.len());
        let Some(i) = known else {
            let beyond = n.saturating_sub(if n < 0 { 0 } else { self.days.len() as i64 }) as f64;
            let all = if n < 0 { 0.0 } else { self.sums[self.days.len()] };
            return all + (beyond + share_of_date(at, date)) * self.weights.year() / 365.0;
        };
        let within = match self.days[i] {
            Day::Closed => self.weights.closed * share_of_date(at, date),
            day => self.weights.until(day == Day::Early, hour_of(local.time())),
        };
        self.sums[i] + within
    }
}

/// How much of a date has passed. Clocks change on dates without a session: those have 23 or 25 hours.
fn share_of_date(at: Timestamp, date: Date) -> f64 {
    let (from, whole) = whole_date(date);
    if whole > 0.0 { (at.duration_since(from).as_secs_f64() / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// The instant at which so much of a date has passed.
fn part_of_date(date: Date, part: f64) -> Timestamp {
    let (from, whole) = whole_date(date);
    from.checked_add(SignedDuration::from_secs_f64(part * whole)).unwrap_or(Timestamp::MAX)
}

/// The first instant of a date, and its seconds.
fn whole_date(date: Date) -> (Timestamp, f64) {
    let midnight = |date: Date| instant(date.to_datetime(Time::midnight()));
    let from = midnight(date);
    (from, midnight(date.plus_days(1)).duration_since(from).as_secs_f64())
}

fn days_since_first(date: Date) -> i64 {
    date.duration_since(FIRST).as_hours() / 24
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::Calendar;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn clock() -> VarianceClock {
        Calendar::embedded().variance().clone()
    }

    #[track_caller]
    fn near(found: f64, wanted: f64, within: f64) {
        assert!((found - wanted).abs() <= within, "{found} is not {wanted}");
    }

    #[test]
    fn market_events_count_in_full_for_broad_funds_without_leverage() {
        let is_index = |name: &str| ["NDX", "RUT", "SPX"].contains(&name);
        let share = |name: &str| VarianceClock::share_of_market_events(Symbol::parse(name).unwrap(), is_index(name));
        for name in INDEX_FUNDS.iter().copied().chain(["RUT", "SPX"]) {
            near(share(name), 1.0, 0.0);
        }
        // an index and the fund on it alike
        for &name in NASDAQ {
            near(share(name), 0.6, 0.0);
        }
        for name in ["TQQQ", "XLK", "GLD", "AAPL"] {
            near(share(name), 0.3, 0.0);
        }
    }

    /// The dates of the table are days of the week on which their publishers publish.
    #[test]
    fn the_events_are_plausible_and_in_order() {
        let events = VarianceClock::market_events();
        assert!(events.is_sorted_by_key(|event| (event.date, event.kind.name())), "a sorted table");
        for event in events {
            assert!(event.date.weekday().to_monday_zero_offset() < 5, "{event:?}");
            assert!(event.kind != MarketEventKind::Other && event.weight.is_none(), "{event:?}");
        }
        let in_year = |kind, year| events.iter().filter(|of| of.kind == kind && of.date.year() == year).count();
        for year in 2021..=2026 {
            assert_eq!(in_year(MarketEventKind::Fomc, year), 8, "{year}");
            // a lapse in appropriations left out a month of 2025
            let months = if year == 2025 { 11 } else { 12 };
            assert_eq!([MarketEventKind::Cpi, MarketEventKind::Payrolls].map(|kind| in_year(kind, year)), [months; 2]);
        }
        assert_eq!(in_year(MarketEventKind::Fomc, 2027), 8);
    }

    /// Worked numbers: a recorded Thursday of a stock, market events at three tenths, and of SPX after a close.
    #[test]
    fn days_are_those_of_the_worked_examples() {
        let clock = clock();
        near(clock.weights().year(), 260.475, 1e-9);
        for (expiry, days) in [
            ("2026-07-17", 1.3439),
            ("2026-07-20", 2.4939),
            ("2026-07-22", 4.4939),
            ("2026-07-24", 6.4939),
            ("2026-07-27", 7.6439),
            ("2026-07-29", 10.0339),
            ("2026-07-31", 12.0339),
            ("2026-08-07", 17.3639),
            ("2026-08-14", 22.6639),
            ("2026-08-21", 27.8139),
        ] {
            let settles = at(&format!("{expiry}T16:00:00-04:00"));
            near(clock.days(at("2026-07-16T11:16:58-04:00"), settles, 0.3), days, 1e-4);
        }
        for (expiry, days) in [
            ("2023-09-15", 0.9882),
            ("2023-09-18", 2.1382),
            ("2023-09-19", 3.1382),
            ("2023-09-20", 5.4382),
            ("2023-09-22", 7.4382),
            ("2023-09-25", 8.5882),
            ("2023-10-06", 18.3382),
        ] {
            let settles = at(&format!("{expiry}T16:00:00-04:00"));
            near(clock.days(at("2023-09-14T16:31:00-04:00"), settles, 1.0), days, 1e-4);
        }
    }

    #[test]
    fn weekends_nights_holidays_and_early_closes_have_their_weights() {
        let clock = clock();
        for (from, to, days) in [
            // from close to close of two sessions, and over a weekend
            ("2026-11-17T16:00:00-05:00", "2026-11-18T16:00:00-05:00", 1.0),
            ("2026-11-20T16:00:00-05:00", "2026-11-23T16:00:00-05:00", 1.15),
            // the night, of which so much lies before midnight; the hours
            ("2026-11-17T16:00:00-05:00", "2026-11-18T09:30:00-05:00", 0.4),
            ("2026-11-17T16:00:00-05:00", "2026-11-18T00:00:00-05:00", 0.4 * 8.0 / 17.5),
            ("2026-11-18T09:30:00-05:00", "2026-11-18T11:00:00-05:00", 0.6 * 0.39),
            ("2026-11-18T15:30:00-05:00", "2026-11-18T16:00:00-05:00", 0.06),
            // Thanksgiving is a closed date, the day after it closes early, and its evening begins then
            ("2026-11-25T16:00:00-05:00", "2026-11-27T13:00:00-05:00", 0.4 + 0.075 + 0.3),
            ("2026-11-27T13:00:00-05:00", "2026-11-27T18:30:00-05:00", 0.2 * 8.0 / 17.5),
            ("2026-11-27T11:00:00-05:00", "2026-11-27T13:00:00-05:00", 0.3 * 0.22 / 0.61),
            // a Saturday, of 24 hours
            ("2026-11-21T06:00:00-05:00", "2026-11-21T18:00:00-05:00", 0.0375),
        ] {
            near(clock.days(at(from), at(to), 0.0), days, 1e-9);
        }
    }

    #[test]
    fn an_event_counts_once_its_instant_is_passed() {
        let clock = clock();
        let of = |from: &str, to: &str, share| clock.days(at(from), at(to), share) - clock.days(at(from), at(to), 0.0);
        // the Federal Reserve at 14:00 on 29 July 2026
        near(of("2026-07-29T13:59:59-04:00", "2026-07-29T14:00:00-04:00", 1.0), 1.3, 1e-9);
        near(of("2026-07-29T14:00:00-04:00", "2026-07-29T16:00:00-04:00", 1.0), 0.0, 1e-9);
        // consumer prices before the opening of 14 July 2026: in the opening prices, which a morning settlement is of
        near(of("2026-07-13T16:00:00-04:00", "2026-07-14T09:30:00-04:00", 0.5), 0.25, 1e-9);
        near(of("2026-07-14T09:30:00-04:00", "2026-07-14T16:00:00-04:00", 0.5), 0.0, 1e-9);
        // payrolls of 7 April 2023 came on Good Friday: the next session has them, the one before not
        near(of("2023-04-05T16:00:00-04:00", "2023-04-06T16:00:00-04:00", 1.0), 0.0, 1e-9);
        near(of("2023-04-06T16:00:00-04:00", "2023-04-10T16:00:00-04:00", 1.0), 0.6, 1e-9);
    }

    #[test]
    fn it_adds_up_and_never_goes_back() {
        let clock = clock();
        // over both changes of clocks, Thanksgiving, Christmas and events
        for start in ["2026-03-05T12:00:00-05:00", "2026-10-29T12:00:00-04:00", "2026-11-24T12:00:00-05:00"] {
            let (from, mut before) = (at(start), 0.0);
            for n in 1..=7 * 24 * 12 {
                let to = from + SignedDuration::from_mins(5 * n);
                let days = clock.days(from, to, 0.7);
                assert!(days > before, "{to}: {days} after {before}");
                let middle = from + SignedDuration::from_mins(3 * n);
                near(clock.days(from, middle, 0.7) + clock.days(middle, to, 0.7), days, 1e-9);
                before = days;
            }
        }
        // a Sunday of 23 hours and one of 25 weigh what a Saturday does
        for (from, to) in [
            ("2026-03-08T00:00:00-05:00", "2026-03-09T00:00:00-04:00"),
            ("2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"),
        ] {
            near(clock.days(at(from), at(to), 0.0), 0.075, 1e-9);
        }
    }

    #[test]
    fn a_year_has_the_days_that_volatilities_are_annualised_by() {
        let clock = clock();
        let decade = clock.days(at("2026-01-01T00:00:00-05:00"), at("2036-01-01T00:00:00-05:00"), 0.0);
        near(decade / 10.0, 260.475, 2.0);
        // so do dates that no sum is kept of
        for (from, to) in
            [("1950-01-01T05:00:00Z", "1960-01-01T05:00:00Z"), ("2090-01-01T05:00:00Z", "2100-01-01T05:00:00Z")]
        {
            near(clock.days(at(from), at(to), 0.0) / 10.0, 260.475, 2.0);
        }
        let edge = |text: &str| clock.days(at(text), at(text) + SignedDuration::from_mins(1), 0.0);
        assert!(edge("1989-12-31T23:59:30-05:00") > 0.0 && edge("2069-12-31T23:59:30-05:00") > 0.0);
        for instant in [Timestamp::MIN, Timestamp::MAX] {
            assert!(clock.days(instant, at("2026-01-01T00:00:00Z"), 1.0).is_finite());
        }
    }

    #[test]
    fn an_instant_is_found_by_its_days() {
        let clock = clock();
        for from in ["2026-07-16T11:16:58-04:00", "2026-11-20T16:00:00-05:00", "2026-11-28T03:00:00-05:00"] {
            for days in [0.01, 0.5, 7.0 * 260.475 / 365.0, 21.4, 260.475, 521.0] {
                let to = clock.after(at(from), days);
                near(clock.days(at(from), to, 0.0), days, 1e-6);
            }
        }
        // at any hour, over a change of clocks, and before and after the dates that are known
        for (from, step) in [
            ("2026-11-25T16:00:00-05:00", 0.013),
            ("2026-03-06T20:00:00-05:00", 0.004),
            ("1975-01-01T00:00:00Z", 30.0),
            ("2060-01-01T00:00:00Z", 30.0),
        ] {
            for n in 1..=200 {
                let days = step * f64::from(n);
                near(clock.days(at(from), clock.after(at(from), days), 0.0), days, 1e-6);
            }
        }
        // the first one where hours weigh nothing
        let weights = VarianceWeights { night: 0.0, closed: 0.0, early: 0.5 };
        let calendar = Calendar::embedded().with_weights(weights);
        let after = |days: f64| calendar.variance().after(at("2026-11-20T15:00:00-05:00"), days);
        assert_eq!(after(0.2).duration_since(at("2026-11-20T16:00:00-05:00")).abs().as_millis(), 0);
        assert_eq!(after(0.2 + 0.22).duration_since(at("2026-11-23T10:00:00-05:00")).abs().as_millis(), 0);
        // 30 days of a year hold so many sessions on whatever weekday they begin
        let first = clock.after(at("2026-07-16T16:00:00-04:00"), 30.0 * 260.475 / 365.0);
        assert!((at("2026-08-13T00:00:00Z")..at("2026-08-19T00:00:00Z")).contains(&first), "{first}");
    }

    #[test]
    fn a_user_may_know_weights_dates_and_events_better() {
        let calendar = Calendar::embedded().with_overrides([(date(2026, 11, 20), Day::Closed)]);
        let (from, to) = (at("2026-11-19T16:00:00-05:00"), at("2026-11-20T16:00:00-05:00"));
        near(calendar.variance().days(from, to, 1.0), 0.4 * 8.0 / 17.5 + 0.075 * 16.0 / 24.0, 1e-9);
        let weights = VarianceWeights { night: 0.3, closed: 0.1, early: 0.6 };
        let event = |kind, weight| MarketEvent { date: date(2026, 7, 29), kind, time: None, weight };
        let events = VarianceClock::market_events().iter().copied();
        let own = [event(MarketEventKind::Fomc, Some(0.2)), event(MarketEventKind::Other, None)];
        let calendar = Calendar::embedded().with_weights(weights).with_events(events.chain(own));
        near(calendar.variance().weights().year(), 263.3, 1e-9);
        let (from, to) = (at("2026-07-28T16:00:00-04:00"), at("2026-07-29T16:00:00-04:00"));
        near(calendar.variance().days(from, to, 1.0), 1.0 + 0.2 + 1.0, 1e-9);
        near(calendar.variance().days(from, at("2026-07-29T09:29:59-04:00"), 0.0), 0.3, 1e-4);
    }
}
