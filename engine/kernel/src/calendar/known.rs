//! Events of names that are known by date, such as earnings. Never: what they are worth.

use crate::contract::Symbol;
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// When on its date an event has its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// Before the opening or after the close.
    Unknown,
    /// Before the opening.
    BeforeOpening,
    /// After the close.
    AfterClose,
    /// At an Eastern time.
    At(Time),
}

impl EventTime {
    /// `bmo`, `amc`, `HH:MM`, or nothing.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" => Some(Self::Unknown),
            word if word.eq_ignore_ascii_case("bmo") => Some(Self::BeforeOpening),
            word if word.eq_ignore_ascii_case("amc") => Some(Self::AfterClose),
            text => text.parse().ok().map(Self::At),
        }
    }
}

/// An event of a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventDate {
    /// Eastern date of the event.
    pub date: Date,
    /// When on that date.
    pub time: EventTime,
    /// One standard deviation of its move, as a part of the price; `None`: what options imply. 0 strikes it out.
    pub size: Option<f64>,
    /// True if it is known to be earnings.
    pub is_earnings: bool,
}

/// An event of a name between two instants, which are one where its time is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventSpan {
    /// Eastern date of the event.
    pub date: Date,
    /// The first instant at which it can have its effect.
    pub first: Timestamp,
    /// The last one.
    pub last: Timestamp,
    /// One standard deviation of its move, as a part of the price; `None`: what options imply.
    pub size: Option<f64>,
    /// True if it is known to be earnings.
    pub is_earnings: bool,
}

impl EventSpan {
    /// True if it has passed at an instant, as for an expiry that settles then; `None`: unknown.
    #[must_use]
    pub fn has_passed(&self, at: Timestamp) -> Option<bool> {
        match () {
            () if at > self.last => Some(true),
            () if at <= self.first => Some(false),
            () => None,
        }
    }
}

/// Events by underlying, ascending by date.
pub(super) type KnownEvents = Arc<BTreeMap<Symbol, Vec<EventDate>>>;

/// Events by underlying. Of two of one name and date the later one counts.
pub(super) fn by_name(events: impl IntoIterator<Item = (Symbol, EventDate)>) -> KnownEvents {
    let mut by_name: BTreeMap<Symbol, BTreeMap<Date, EventDate>> = BTreeMap::new();
    for (name, event) in events {
        by_name.entry(name).or_default().insert(event.date, event);
    }
    let all = by_name.into_iter().map(|(name, events)| (name, events.into_values().collect()));
    Arc::new(all.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::Calendar;
    use jiff::civil::{date, time};

    #[test]
    fn an_event_while_the_market_is_closed_is_at_the_next_opening() {
        let calendar = Calendar::embedded();
        let span = |date: Date, time| calendar.event_span(&EventDate { date, time, size: None, is_earnings: true });
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let (friday, monday) = (at("2026-11-20T09:30:00-05:00"), at("2026-11-23T09:30:00-05:00"));
        for (time, first, last) in [
            (EventTime::Unknown, friday, monday),
            (EventTime::BeforeOpening, friday, friday),
            (EventTime::AfterClose, monday, monday),
            (EventTime::At(time(8, 30, 0, 0)), friday, friday),
            (EventTime::At(time(14, 0, 0, 0)), at("2026-11-20T14:00:00-05:00"), at("2026-11-20T14:00:00-05:00")),
            (EventTime::At(time(16, 5, 0, 0)), monday, monday),
        ] {
            let span = span(date(2026, 11, 20), time);
            assert_eq!((span.first, span.last), (first, last), "{time:?}");
        }
        // on a Saturday all the same
        for time in [EventTime::Unknown, EventTime::BeforeOpening, EventTime::AfterClose] {
            assert_eq!((span(date(2026, 11, 21), time).first, span(date(2026, 11, 21), time).last), (monday, monday));
        }
        let unknown = span(date(2026, 11, 20), EventTime::Unknown);
        let close = at("2026-11-20T16:00:00-05:00");
        assert_eq!(
            [friday, close, close + jiff::SignedDuration::from_hours(96)].map(|at| unknown.has_passed(at)),
            [Some(false), None, Some(true)]
        );
    }

    #[test]
    fn the_last_of_two_on_one_date_counts() {
        let [ko, pep] = ["KO", "PEP"].map(|name| Symbol::parse(name).unwrap());
        let event = |date, size| EventDate { date, time: EventTime::BeforeOpening, size, is_earnings: false };
        let (early, late) = (date(2026, 12, 1), date(2026, 12, 9));
        let events = [(ko, event(late, None)), (ko, event(early, Some(0.05))), (ko, event(late, Some(0.02)))];
        let calendar = Calendar::embedded().with_known_events(events);
        assert_eq!(calendar.known_events(ko), [event(early, Some(0.05)), event(late, Some(0.02))]);
        assert_eq!(calendar.known_events(pep), []);
    }
}
