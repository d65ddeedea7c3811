//! The past moments of a request, and the snapshots that answer it. Never: the storage of snapshots, a parameter's
//! name, a clock.

pub mod day;
pub mod moment;
pub mod span;

use crate::refusal::Refusal;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use kernel::contract::Symbol;
use moment::{AsOf, instant_of};
use span::PastSpan;

/// Past moments of a request, and the refusals if there is no data for them.
#[derive(Clone, Debug)]
pub struct PastQuestion {
    /// The moments.
    pub moments: PastMoments,
    /// Refusal if the feed has the present only; `None`: the answer shows the present.
    pub if_live: Option<Refusal>,
    /// Refusal if there is no snapshot of these moments.
    pub if_none: fn(&Lacking) -> Refusal,
}

/// One past moment, or many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PastMoments {
    /// One moment: the rows of one snapshot.
    One(AsOf),
    /// Many moments: the rows of one snapshot after the other, in time order.
    Many(PastSpan),
}

impl PastMoments {
    /// The moment, or the last of many.
    #[must_use]
    pub fn last(self) -> AsOf {
        match self {
            Self::One(moment) => moment,
            Self::Many(span) => span.end,
        }
    }
}

/// A moment without a snapshot, and the data nearest to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Lacking {
    /// The requested names.
    pub names: Vec<Symbol>,
    /// The requested day; `None`: one of several.
    pub day: Option<Date>,
    /// The last snapshot before the moment, or the close of the last day with data before it.
    pub before: Option<Nearby>,
    /// The first snapshot after the moment, or the close of the first day with data after it.
    pub after: Option<Nearby>,
    /// The first and the last day with data.
    pub span: Option<(Date, Date)>,
    /// The zone of the market.
    pub zone: TimeZone,
}

/// A time with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearby {
    /// A day.
    Day(Date),
    /// A snapshot of the requested day.
    Time(Timestamp),
}

/// Refusal of a request for a past moment by a feed that has the present only.
pub const SHOWS_THE_PRESENT: Refusal = Refusal::SwitchedOff {
    reason: "this feed has no past data; for past days, start the daemon with --feed history:DIR",
};

impl Lacking {
    /// The refusal of the request.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        let instant = |near: Option<Nearby>| near.map(|near| near.instant(&self.zone));
        Refusal::NoSuchTime { text: self.text(), before: instant(self.before), after: instant(self.after) }
    }

    /// Text of the refusal: the names, the day, and the nearest times with data.
    #[must_use]
    pub fn text(&self) -> String {
        let names: Vec<&str> = self.names.iter().map(Symbol::as_str).collect();
        let of = if names.is_empty() { String::new() } else { format!(" of {}", names.join(", ")) };
        let Some((first, last)) = self.span else { return format!("no recorded data{of}") };
        let when = self.day.map_or_else(String::new, |day| format!(" at this time on {day}"));
        let nearest: Vec<String> =
            self.before.into_iter().chain(self.after).map(|near| near.text(&self.zone)).collect();
        let nearest = if nearest.is_empty() { String::new() } else { format!("; nearest: {}", nearest.join(" and ")) };
        format!("no snapshot{of}{when}{nearest}; available days: {first} to {last}")
    }
}

impl Nearby {
    /// `2024-01-05`, or `2024-01-08T09:30:00-05:00`.
    #[must_use]
    pub fn text(self, zone: &TimeZone) -> String {
        match self {
            Self::Day(day) => day.to_string(),
            Self::Time(at) => at.to_zoned_datetime(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        }
    }

    /// The instant; of a day, 16:00 in the zone.
    #[must_use]
    pub fn instant(self, zone: &TimeZone) -> Timestamp {
        match self {
            Self::Day(day) => instant_of(day.at(16, 0, 0, 0), zone),
            Self::Time(at) => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use kernel::calendar::Calendar;

    fn zone() -> TimeZone {
        Calendar::embedded().zone().clone()
    }

    #[test]
    fn what_is_lacking_says_what_there_is() {
        let acme = vec![Symbol::parse("ACME").unwrap()];
        let none = Lacking { names: acme, day: None, before: None, after: None, span: None, zone: zone() };
        assert_eq!(none.text(), "no recorded data of ACME");
        let day = date(2024, 1, 6);
        let near = Lacking {
            day: Some(day),
            before: Some(Nearby::Day(date(2024, 1, 5))),
            after: Some(Nearby::Time("2024-01-08T14:30:00Z".parse().unwrap())),
            span: Some((date(2024, 1, 2), date(2024, 1, 8))),
            ..none
        };
        let text = "no snapshot of ACME at this time on 2024-01-06; nearest: 2024-01-05 and 2024-01-08T09:30:00-05:00; \
                    available days: 2024-01-02 to 2024-01-08";
        assert_eq!(near.text(), text);
        assert_eq!(near.before.unwrap().instant(&zone()), "2024-01-05T21:00:00Z".parse().unwrap());
    }
}
