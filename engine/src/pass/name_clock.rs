//! The expiries of a name in variance time, and the event that they show. Never: a value.

use super::task::Task;
use crate::price::Lapse;
use crate::term::{EventPoint, NameEvent};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::{Calendar, ClockReading, EventSpan, VarianceClock};
use kernel::contract::{Settle, Style};

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
pub(super) fn event_of(
    expiries: impl Iterator<Item = (Settle, EventPoint)>,
    today: Date,
    known: &[EventSpan],
) -> NameEvent {
    let mut points: Vec<EventPoint> = Vec::with_capacity(expiries.size_hint().1.unwrap_or_default());
    for (settle, point) in expiries {
        match points.last_mut().filter(|last| last.expiry() == point.expiry()) {
            // of two that settle on one date the one of the close
            Some(last) if settle == Settle::Pm => *last = point,
            Some(_) => {}
            None => points.push(point),
        }
    }
    NameEvent::briefly(points, today, known)
}
