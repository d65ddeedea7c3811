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
    /// Weight of market events, as a part of their weight for an index.
    share: f64,
    /// Events of the name that are known by date and to come, ascending.
    pub(super) known: Vec<EventSpan>,
}

/// An event, and the probability that it comes after this time on the next trading day.
pub(super) struct PassedEvent {
    event: NameEvent,
    left: f64,
}

/// A fitted expiry, as the search for an event sees it.
pub(super) struct FittedExpiry<'a> {
    pub(super) expiry: Date,
    pub(super) settle: Settle,
    pub(super) settles_at: Timestamp,
    pub(super) days: f64,
    pub(super) days_vt: f64,
    pub(super) forward: f64,
    /// Part of the spot without the dividends before settlement; volatilities are of this part.
    pub(super) escrowed: f64,
    pub(super) curve: &'a Curve,
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

    /// Decrease of the variance of an expiry `days` variance days away, with the event of the name if it comes before
    /// settlement.
    pub(super) fn lapse(&self, days: f64, expiry: Date, settles_at: Timestamp, event: &PassedEvent) -> Lapse {
        Lapse { days, step: self.step, event: event.event.variance_in(expiry, settles_at), event_left: event.left }
    }

    /// Adds to an event the probability that it comes after this time on the next trading day.
    pub(super) fn until_next(&self, event: NameEvent) -> PassedEvent {
        PassedEvent { left: event.timing(self.calendar).left_at(self.next_trading_day), event }
    }
}

/// The event that some expiries show, in the order of a book, or that is `known` by date.
pub(super) fn event_of<'a>(
    expiries: impl Iterator<Item = FittedExpiry<'a>>,
    today: Date,
    known: &[EventSpan],
) -> NameEvent {
    let mut points: Vec<EventPoint> = Vec::with_capacity(expiries.size_hint().1.unwrap_or_default());
    for of in expiries.filter(|of| NameEvent::looks_at(of.days)) {
        let Some(point) = of.point() else { continue };
        match points.last_mut().filter(|last| last.expiry() == of.expiry) {
            // of two that settle on one date the one of the close
            Some(last) if of.settle == Settle::Pm => *last = point,
            Some(_) => {}
            None => points.push(point),
        }
    }
    NameEvent::briefly(points, today, known)
}

impl FittedExpiry<'_> {
    /// `None`: its forward is not between two strikes.
    fn point(&self) -> Option<EventPoint> {
        let above = self.strike_milli.partition_point(|&strike| f64::from(strike) <= 1000.0 * self.forward);
        let strike = |row: usize| Some(f64::from(*self.strike_milli.get(row)?) / 1000.0);
        let (low, high) = (strike(above.checked_sub(1)?)?, strike(above)?);
        // without the shift of a user: one of one expiry moves no other
        let vol = |strike: f64| self.curve.vol(strike);
        let vol = vol(low) + (vol(high) - vol(low)) * (self.forward - low) / (high - low);
        let deviation = vol * (self.days / 365.0).sqrt();
        let half = half_spread(self.strike_milli, self.right, self.quoted, self.forward, deviation);
        let (part, days) = (self.escrowed, [self.days, self.days_vt]);
        Some(EventPoint::new(self.expiry, self.settles_at, days, part * vol, part * half))
    }
}
