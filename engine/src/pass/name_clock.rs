//! The expiries of a name in variance time, and the event that they show. Never: a value.

use super::task::Task;
use crate::price::Lapse;
use crate::surface::Curve;
use crate::term::{EventPoint, NameEvent, half_spread};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::{Calendar, ClockReading, EventSpan, VarianceClock};
use kernel::contract::{Right, Settle, Style};

/// The variance clock of a name, read at its valuation and at the same clock time on the next trading day.
pub(super) struct NameClock<'a> {
    calendar: &'a Calendar,
    now: ClockReading,
    next_trading_day: Timestamp,
    step: f64,
    /// What market events count, of their size for an index.
    share: f64,
    /// Events of the name that are known by date and to come, ascending.
    pub(super) known: Vec<EventSpan>,
}

/// A fitted expiry, as the search for an event sees it.
pub(super) struct FittedExpiry<'a> {
    pub(super) expiry: Date,
    pub(super) settle: Settle,
    pub(super) settles_at: Timestamp,
    pub(super) days: f64,
    pub(super) days_vt: f64,
    pub(super) forward: f64,
    pub(super) curve: &'a Curve,
    pub(super) vol_shift: f64,
    pub(super) strike_milli: &'a [u32],
    pub(super) right: &'a [Right],
    pub(super) quoted: [&'a [f64]; 2],
}

impl<'a> NameClock<'a> {
    pub(super) fn new(task: &Task<'a>) -> Self {
        let calendar = task.market.calendar;
        let clock = calendar.variance();
        let is_index = task.book.slices.iter().any(|slice| slice.style == Style::European);
        let share = VarianceClock::share_of_market_events(task.book.underlying, is_index);
        let (now, next_trading_day) = (clock.reading(task.at), calendar.next_trading_day(task.at));
        let step = now.until(&clock.reading(next_trading_day), share);
        let known = task.overrides.events(task.book.underlying, calendar.known_events(task.book.underlying));
        let mut known: Vec<EventSpan> = known.iter().map(|event| calendar.event_span(event)).collect();
        known.retain(|event| event.last > task.at);
        known.sort_by_key(|event| event.last);
        Self { calendar, now, next_trading_day, step, share, known }
    }

    /// Variance days to an instant.
    pub(super) fn days(&self, to: Timestamp) -> f64 {
        self.now.until(&self.calendar.variance().reading(to), self.share)
    }

    /// How the variance of an expiry that is so many variance days away runs out, with an event of the name if it
    /// holds that.
    pub(super) fn lapse(&self, days: f64, expiry: Date, settles_at: Timestamp, event: &NameEvent) -> Lapse {
        let plain = Lapse { days, step: self.step, event: 0.0, event_left: 0.0 };
        if event.is_in(expiry, settles_at) != Some(true) || event.variance.is_nan() {
            return plain;
        }
        let event_left = match (&event.known, event.from.zip(event.to)) {
            (Some(known), _) => known.has_passed(self.next_trading_day).map_or(0.5, |has| f64::from(u8::from(!has))),
            (None, Some((from, to))) => self.sessions_left(from, to),
            (None, None) => 0.0,
        };
        Lapse { event: event.variance, event_left, ..plain }
    }

    /// Which part of the sessions after a date and by another one is not over on the next trading day.
    fn sessions_left(&self, from: Date, to: Date) -> f64 {
        let (mut all, mut left) = (0.0, 0.0);
        let mut session = self.calendar.next_session(from);
        while session <= to {
            all += 1.0;
            left += f64::from(u8::from(self.calendar.close(session) > self.next_trading_day));
            session = self.calendar.next_session(session);
        }
        // the interval may have no session, where a user has closed it
        if all > 0.0 { left / all } else { 0.0 }
    }
}

/// The event that some expiries show, in the order of a book, or that is `known` by date.
pub(super) fn event_of<'a>(
    expiries: impl Iterator<Item = FittedExpiry<'a>>,
    today: Date,
    known: &[EventSpan],
) -> NameEvent {
    let mut points: Vec<(Date, EventPoint)> = Vec::new();
    for of in expiries {
        let Some(point) = of.point() else { continue };
        match points.last_mut().filter(|(expiry, _)| *expiry == of.expiry) {
            // of two that settle on one date the one of the close
            Some(last) if of.settle == Settle::Pm => *last = (of.expiry, point),
            Some(_) => {}
            None => points.push((of.expiry, point)),
        }
    }
    let points: Vec<EventPoint> = points.into_iter().map(|(_, point)| point).collect();
    NameEvent::briefly(&points, today, known)
}

impl FittedExpiry<'_> {
    /// `None`: its forward is not between two strikes.
    fn point(&self) -> Option<EventPoint> {
        let above = self.strike_milli.partition_point(|&strike| f64::from(strike) <= 1000.0 * self.forward);
        let strike = |row: usize| Some(f64::from(*self.strike_milli.get(row)?) / 1000.0);
        let (low, high) = (strike(above.checked_sub(1)?)?, strike(above)?);
        let vol = |strike: f64| self.curve.vol(strike) + self.vol_shift;
        let vol = vol(low) + (vol(high) - vol(low)) * (self.forward - low) / (high - low);
        let deviation = vol * (self.days / 365.0).sqrt();
        let half = half_spread(self.strike_milli, self.right, self.quoted, self.forward, deviation);
        Some(EventPoint::new(self.expiry, self.settles_at, [self.days, self.days_vt], vol, half))
    }
}
