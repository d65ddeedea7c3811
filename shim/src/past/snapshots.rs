//! `GET /l1/snapshots`: the snapshots of a name around a moment, to step from one to the next. Never: a row.

use super::market::{PastMarket, landed};
use crate::past::archive::Flight;
use api::past::moment::AsOf;
use api::refusal::Refusal;
use api::vendors::native;
use api::vendors::native_snapshots::SnapshotsQuestion;
use http::{Answer, Awaited};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use kernel::contract::Symbol;
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Arc;

/// Name of the route in metrics.
pub const ROUTE: &str = "snapshots";

/// The refusal of a request for snapshots.
#[must_use]
pub fn refused(refusal: &Refusal) -> Answer {
    native::refused(ROUTE, refusal)
}

/// A pending answer with the snapshots around a moment.
pub(super) struct AwaitedSnapshots {
    market: Arc<PastMarket>,
    names: Vec<Symbol>,
    moment: AsOf,
    parts: Option<Parts>,
}

/// The days that are searched, once the list of days is read.
struct Parts {
    /// First and last day with data.
    span: (Date, Date),
    of_day: Vec<Arc<Flight>>,
    before: Neighbour,
    after: Neighbour,
}

/// The nearest day with snapshots before or after a day. Unusable days are skipped.
struct Neighbour {
    /// Days not yet searched, the nearest first.
    days: VecDeque<Date>,
    flights: Vec<Arc<Flight>>,
}

impl Neighbour {
    /// Times of the day's snapshots, ascending; empty: there is no such day. `None`: a day is being computed.
    ///
    /// # Errors
    /// There are too many requests at once.
    fn times(&mut self, market: &PastMarket, names: &[Symbol]) -> Option<Result<Vec<Timestamp>, Refusal>> {
        loop {
            if !self.flights.is_empty() {
                match times_of(&self.flights)? {
                    Ok(times) if !times.is_empty() => return Some(Ok(times)),
                    Err(Refusal::Busy) => return Some(Err(Refusal::Busy)),
                    Ok(_) | Err(_) => {}
                }
            }
            let Some(day) = self.days.pop_front() else { return Some(Ok(Vec::new())) };
            self.flights = market.flights(names, day);
        }
    }
}

impl AwaitedSnapshots {
    pub(super) fn new(market: Arc<PastMarket>, question: &SnapshotsQuestion) -> Self {
        let names = vec![market.roots.underlying_of(question.name)];
        Self { market, names, moment: question.past.moments.last(), parts: None }
    }

    fn find(&mut self) -> Option<Result<Answer, Refusal>> {
        let zone = self.market.zone.clone();
        if self.parts.is_none() {
            let days = self.market.archive.days(&self.names)?;
            let (Some(&first), Some(&last)) = (days.first(), days.last()) else {
                return Some(Err(self.market.lacking(&self.names, self.moment, &[]).refusal()));
            };
            let day = self.moment.day(&zone).unwrap_or(last);
            let neighbour = |days: VecDeque<Date>| Neighbour { days, flights: Vec::new() };
            self.parts = Some(Parts {
                span: (first, last),
                of_day: self.market.flights(&self.names, day),
                before: neighbour(days.iter().rev().copied().filter(|&other| other < day).collect()),
                after: neighbour(days.iter().copied().filter(|&other| other > day).collect()),
            });
        }
        let parts = self.parts.as_mut()?;
        let times = match times_of(&parts.of_day)? {
            Ok(times) => times,
            Err(refusal) => return Some(Err(refusal)),
        };
        let place = times.partition_point(|&time| time <= self.moment.until(&zone));
        let current = place.checked_sub(1).map(|at| times[at]);
        let mut beside = |own: Option<Timestamp>, neighbour: fn(&mut Parts) -> &mut Neighbour| match own {
            Some(time) => Some(Ok(vec![time])),
            None => neighbour(parts).times(&self.market, &self.names),
        };
        let previous = beside(place.checked_sub(2).map(|at| times[at]), |parts| &mut parts.before);
        let next = beside(times.get(place).copied(), |parts| &mut parts.after);
        let (previous, next) = (previous?, next?);
        let answer = |previous: Vec<Timestamp>, next: Vec<Timestamp>| {
            let text = |time: &Timestamp| text_of(*time, &zone);
            let body = json!({
                "underlying": self.names[0].as_str(),
                "snapshot_time": current.as_ref().map(text),
                "previous": previous.last().map(text),
                "next": next.first().map(text),
                "times": times.iter().map(text).collect::<Vec<_>>(),
                "first_day": parts.span.0.to_string(),
                "last_day": parts.span.1.to_string(),
            });
            Answer::full(ROUTE, 200, "application/json", body.to_string())
        };
        Some(previous.and_then(|previous| Ok(answer(previous, next?))))
    }
}

impl Awaited for AwaitedSnapshots {
    fn look(&mut self) -> Option<Answer> {
        self.find().map(|found| found.unwrap_or_else(|refusal| refused(&refusal)))
    }
}

/// The times of the snapshots of some flights, ascending; `None`: they are being computed.
///
/// # Errors
/// As [`landed`].
fn times_of(flights: &[Arc<Flight>]) -> Option<Result<Vec<Timestamp>, Refusal>> {
    let of_day = match landed(flights)? {
        Ok(of_day) => of_day,
        Err(refusal) => return Some(Err(refusal)),
    };
    let mut times: Vec<Timestamp> = of_day.iter().flat_map(|chains| chains.times()).collect();
    times.sort_unstable();
    times.dedup();
    Some(Ok(times))
}

/// The time as `as_of` takes it: `2024-01-08T09:30:00-05:00`, with decimals if needed.
fn text_of(time: Timestamp, zone: &TimeZone) -> String {
    time.to_zoned_datetime(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::calendar::Calendar;

    #[test]
    fn a_time_can_be_asked_for_again() {
        let zone = Calendar::embedded().zone().clone();
        for (instant, wanted) in [
            ("2024-01-08T14:30:00Z", "2024-01-08T09:30:00-05:00"),
            ("2024-07-08T14:30:00.250Z", "2024-07-08T10:30:00.25-04:00"),
        ] {
            let instant: Timestamp = instant.parse().unwrap();
            let text = text_of(instant, &zone);
            assert_eq!((text.as_str(), AsOf::parse(&text)), (wanted, Some(AsOf::Instant(instant))));
        }
    }
}
