//! Which past moments a request asks for, and which of the snapshots that there are answer it. Never: where they are
//! kept, a parameter's name, a clock.

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

/// What a request asks of the past, and how it is refused where there is nothing to be had.
#[derive(Clone, Debug)]
pub struct PastQuestion {
    /// Which moments.
    pub moments: PastMoments,
    /// The refusal of a feed that shows the present only; `None`: it answers with the present.
    pub if_live: Option<Refusal>,
    /// The refusal where there is no snapshot of those moments.
    pub if_none: fn(&Lacking) -> Refusal,
}

/// Which moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PastMoments {
    /// One: the rows are those of one snapshot.
    One(AsOf),
    /// Many: the rows of one snapshot after the other, in time order.
    Many(PastSpan),
}

/// Why there is no snapshot of a moment, and what there is near it.
#[derive(Clone, Debug, PartialEq)]
pub struct Lacking {
    /// The names that were asked for.
    pub names: Vec<Symbol>,
    /// The day that was asked for; `None`: any of several.
    pub day: Option<Date>,
    /// The last snapshot before, or the close of the last day before that has any.
    pub before: Option<Nearby>,
    /// The first one after, likewise.
    pub after: Option<Nearby>,
    /// The first and the last day that there are.
    pub span: Option<(Date, Date)>,
    /// The zone of the market.
    pub zone: TimeZone,
}

/// A time of which there is something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearby {
    /// A day.
    Day(Date),
    /// A snapshot of the day that was asked for.
    Time(Timestamp),
}

/// What a feed of the present says to somebody who asks for another time.
pub const SHOWS_THE_PRESENT: Refusal = Refusal::SwitchedOff {
    reason: "this feed has no past data; for past days, start the daemon with --feed history:DIR",
};

impl Lacking {
    /// The refusal that says so.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        let instant = |near: Option<Nearby>| near.map(|near| near.instant(&self.zone));
        Refusal::NoSuchTime { text: self.text(), before: instant(self.before), after: instant(self.after) }
    }

    /// What to say: the names, the day, and what there is near it.
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
            Self::Time(at) => at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        }
    }

    /// It as an instant: a day at 16:00 of the zone.
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
