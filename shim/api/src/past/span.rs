//! Many moments: first and last moment, interval, and the snapshots of a day that they select.

use super::moment::{AsOf, end_of, instant_of};
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Many moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PastSpan {
    /// The first moment; [`AsOf::Latest`]: the first with data.
    pub start: AsOf,
    /// The last moment; [`AsOf::Latest`]: the last with data.
    pub end: AsOf,
    /// First time of each day.
    pub opens: Time,
    /// Last time of each day, inclusive.
    pub closes: Time,
    /// Snapshots of each day.
    pub every: Pace,
}

/// Snapshots of a day that are part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Every snapshot.
    Snapshot,
    /// The last snapshot at or before each of several times that are `step` apart, counted from a time of the day. A
    /// snapshot that is the last one at several of these times comes once, at the first of them.
    Step {
        /// The time of day that steps are counted from; `None`: that of the first moment.
        from: Option<Time>,
        /// Interval between two times.
        step: SignedDuration,
    },
    /// The last snapshot at or before a time of the day.
    At(Time),
    /// The last snapshot of the day.
    Day,
}

/// A snapshot that is part of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// Its time.
    pub time: Timestamp,
    /// The moment that it answers.
    pub asked: Timestamp,
}

impl PastSpan {
    /// Every snapshot from one moment to another.
    #[must_use]
    pub fn between(start: AsOf, end: AsOf) -> Self {
        Self { start, end, opens: Time::MIN, closes: Time::MAX, every: Pace::Snapshot }
    }

    /// True if a snapshot of a day may be part of the answer.
    #[must_use]
    pub fn has(&self, day: Date, zone: &TimeZone) -> bool {
        let is_after = self.start.day(zone).is_none_or(|first| first <= day);
        is_after && self.end.day(zone).is_none_or(|last| day <= last)
    }

    /// The requested snapshots of a day, in time order. `times` are the times of the day's snapshots, ascending.
    #[must_use]
    pub fn picks(&self, day: Date, times: &[Timestamp], zone: &TimeZone) -> Vec<Pick> {
        let first = self.start.instant(zone);
        let start = first.unwrap_or(Timestamp::MIN);
        let opens = instant_of(day.to_datetime(self.opens), zone).max(start);
        let closes = instant_of(day.to_datetime(self.closes), zone).min(self.end.until(zone)).min(end_of(day, zone));
        let last_by = |at: Timestamp| times[..times.partition_point(|&time| time <= at)].last().copied();
        let within = |at: Timestamp| (opens..=closes).contains(&at);
        match self.every {
            Pace::Snapshot => {
                times.iter().filter(|&&time| within(time)).map(|&time| Pick { time, asked: time }).collect()
            }
            Pace::Day => last_by(closes)
                .filter(|&time| within(time))
                .map(|time| Pick { time, asked: time })
                .into_iter()
                .collect(),
            Pace::At(at) => {
                let asked = instant_of(day.to_datetime(at), zone);
                let is_asked = asked >= start && asked <= self.end.until(zone);
                last_by(asked).filter(|_| is_asked).map(|time| Pick { time, asked }).into_iter().collect()
            }
            Pace::Step { from, step } => {
                let of_first = || first.map_or(Time::MIN, |at| zone.to_datetime(at).time());
                let from = instant_of(day.to_datetime(from.unwrap_or_else(of_first)), zone);
                let mut picks: Vec<Pick> = Vec::new();
                for &time in times {
                    let Some(asked) = next_step(from, step, time.max(opens)).filter(|&asked| within(asked)) else {
                        continue;
                    };
                    match picks.last_mut() {
                        Some(last) if last.asked == asked => last.time = time,
                        _ => picks.push(Pick { time, asked }),
                    }
                }
                picks
            }
        }
    }
}

/// The first of the instants `from`, `from + step`, … that is not before `at`.
fn next_step(from: Timestamp, step: SignedDuration, at: Timestamp) -> Option<Timestamp> {
    let (past, step) = (at.duration_since(from).as_nanos(), step.as_nanos().max(1));
    let steps = if past <= 0 { 0 } else { (past + step - 1) / step };
    let nanos = i64::try_from(steps * step).ok()?;
    from.checked_add(SignedDuration::from_nanos(nanos)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::{date, time};
    use kernel::calendar::Calendar;

    const DAY: Date = date(2024, 1, 3);

    fn zone() -> TimeZone {
        Calendar::embedded().zone().clone()
    }

    fn at(hour: i8, minute: i8) -> Timestamp {
        instant_of(DAY.at(hour, minute, 0, 0), &zone())
    }

    fn shown(span: PastSpan) -> String {
        let times: Vec<Timestamp> =
            [(9, 30), (9, 45), (10, 20), (12, 0), (16, 0), (16, 15)].map(|(h, m)| at(h, m)).to_vec();
        let clock = |at: Timestamp| zone().to_datetime(at).strftime("%H:%M").to_string();
        let picks = span.picks(DAY, &times, &zone());
        picks.iter().map(|pick| format!("{}@{}", clock(pick.time), clock(pick.asked))).collect::<Vec<_>>().join(" ")
    }

    fn span(every: Pace) -> PastSpan {
        PastSpan { every, ..PastSpan::between(AsOf::Day(DAY), AsOf::Day(DAY)) }
    }

    #[test]
    fn each_way_of_asking_picks_its_snapshots() {
        let all = "09:30@09:30 09:45@09:45 10:20@10:20 12:00@12:00 16:00@16:00 16:15@16:15";
        assert_eq!(shown(span(Pace::Snapshot)), all);
        assert_eq!(shown(span(Pace::Day)), "16:15@16:15");
        assert_eq!(shown(span(Pace::At(time(11, 0, 0, 0)))), "10:20@11:00");
        assert_eq!(shown(span(Pace::At(time(9, 0, 0, 0)))), "");
        let half_hours = Pace::Step { from: Some(time(9, 30, 0, 0)), step: SignedDuration::from_mins(30) };
        assert_eq!(shown(span(half_hours)), "09:30@09:30 09:45@10:00 10:20@10:30 12:00@12:00 16:00@16:00 16:15@16:30");
        let regular = PastSpan { opens: time(9, 30, 0, 0), closes: time(16, 0, 0, 0), ..span(half_hours) };
        assert_eq!(shown(regular), "09:30@09:30 09:45@10:00 10:20@10:30 12:00@12:00 16:00@16:00");
        assert_eq!(shown(PastSpan { every: Pace::Day, ..regular }), "16:00@16:00");
        let hours = Pace::Step { from: Some(Time::MIN), step: SignedDuration::from_hours(1) };
        assert_eq!(shown(span(hours)), "09:45@10:00 10:20@11:00 12:00@12:00 16:00@16:00 16:15@17:00");
    }

    #[test]
    fn both_ends_belong_to_it() {
        let span = PastSpan::between(AsOf::Instant(at(9, 45)), AsOf::Instant(at(12, 0)));
        assert_eq!(shown(span), "09:45@09:45 10:20@10:20 12:00@12:00");
        // what was the last one when it begins is the answer to its first moment
        let steps = Pace::Step { from: None, step: SignedDuration::from_mins(10) };
        assert_eq!(
            shown(PastSpan { start: AsOf::Instant(at(10, 0)), every: steps, ..span }),
            "09:45@10:00 10:20@10:20 12:00@12:00"
        );
        for (day, is_in) in [(2, false), (3, true), (4, false)] {
            assert_eq!(span.has(date(2024, 1, day), &zone()), is_in, "{day}");
        }
        let all = PastSpan::between(AsOf::Latest, AsOf::Latest);
        assert!(all.has(date(1990, 1, 1), &zone()) && all.has(date(2090, 1, 1), &zone()));
    }

    #[test]
    fn steps_of_a_day_on_which_clocks_change_are_real_time() {
        let day = date(2024, 3, 10);
        let times = [instant_of(day.at(1, 0, 0, 0), &zone()), instant_of(day.at(4, 30, 0, 0), &zone())];
        let every = Pace::Step { from: Some(Time::MIN), step: SignedDuration::from_hours(1) };
        let picks = PastSpan { every, ..PastSpan::between(AsOf::Day(day), AsOf::Day(day)) }.picks(day, &times, &zone());
        let asked: Vec<String> = picks.iter().map(|pick| zone().to_datetime(pick.asked).time().to_string()).collect();
        assert_eq!(asked, ["01:00:00", "05:00:00"]);
    }
}
