//! Days as requests name them: dates, instants, and distances from the date of the answer. Never: a parameter's name, a
//! clock.

use super::moment::{AsOf, date_of};
use super::span::{Pace, PastSpan};
use super::{Lacking, PastMoments, PastQuestion};
use crate::refusal::Refusal;
use crate::selection::Selection;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// Largest distance from the date of the answer, in days: from any date of a market it stays within the dates that
/// exist.
pub const DISTANCE_MOST: i64 = 2_800_000;

/// A day as a request names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedDay {
    /// A date.
    Date(Date),
    /// The date of an instant in the zone of the market.
    Of(Timestamp),
    /// So many days after the date of the answer; negative: before it. At most [`DISTANCE_MOST`].
    FromToday(i64),
}

impl NamedDay {
    /// Returns its date in an answer that is given on `today`.
    #[must_use]
    pub fn date(self, today: Date, zone: &TimeZone) -> Date {
        match self {
            Self::Date(date) => date,
            Self::Of(at) => date_of(at, zone),
            Self::FromToday(days) => today.saturating_add(Span::new().days(days.clamp(-DISTANCE_MOST, DISTANCE_MOST))),
        }
    }
}

/// Days of a request that depend on the date of its answer.
#[derive(Clone, Debug, Default)]
pub struct RequestDays {
    /// The only expiration that is shown.
    pub expiration: Option<NamedDay>,
    /// The first expiration that is shown.
    pub first_expiration: Option<NamedDay>,
    /// The last expiration that is shown.
    pub last_expiration: Option<NamedDay>,
    /// The requested past days.
    pub past: Option<PastDays>,
}

/// Past days as a request names them.
#[derive(Clone, Debug)]
pub struct PastDays {
    /// The days.
    pub which: PastDaysAsked,
    /// The refusal of a day that is not past.
    pub not_past: Refusal,
}

/// One past day, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastDaysAsked {
    /// The close of one day.
    One(NamedDay),
    /// The close of each day from the first, or from the first day with data, up to but not including the second.
    Between(Option<NamedDay>, Option<NamedDay>),
}

impl RequestDays {
    /// Sets the expirations of a selection for an answer given on `today`.
    pub fn choose_expiries(&self, selection: &mut Selection, today: Date, zone: &TimeZone) {
        let date = |day: Option<NamedDay>| day.map(|day| day.date(today, zone));
        selection.expiries = date(self.expiration).map(|date| vec![date]);
        selection.expiry_min = date(self.first_expiration);
        selection.expiry_max = date(self.last_expiration);
    }

    /// Returns the past moments requested on `today`, if any.
    ///
    /// # Errors
    /// The request's refusal of a future day.
    pub fn question(&self, today: Date, zone: &TimeZone) -> Result<Option<PastQuestion>, Refusal> {
        self.past.as_ref().map(|past| past.question(today, zone)).transpose()
    }
}

impl PastDays {
    fn question(&self, today: Date, zone: &TimeZone) -> Result<PastQuestion, Refusal> {
        let (decisive, moments) = match self.which {
            PastDaysAsked::One(day) => {
                let day = day.date(today, zone);
                if day > today {
                    return Err(self.not_past.clone());
                }
                (day, PastMoments::One(AsOf::Day(day)))
            }
            PastDaysAsked::Between(first, end) => {
                let [first, end] = [first, end].map(|day| day.map(|day| day.date(today, zone)));
                let last = end.map(|end| end.yesterday().unwrap_or(end));
                let [start, stop] = [first, last].map(|day| day.map_or(AsOf::Latest, AsOf::Day));
                let span = PastSpan { every: Pace::Day, ..PastSpan::between(start, stop) };
                (first.or(end).unwrap_or(today), PastMoments::Many(span))
            }
        };
        // where only the present is served there is nothing of a past day, and today is a mistake
        let if_live = Some(if decisive < today { Refusal::NoRows } else { self.not_past.clone() });
        Ok(PastQuestion { moments, if_live, if_none: Lacking::refusal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use kernel::calendar::Calendar;

    const TODAY: Date = date(2026, 11, 20);

    fn past(which: PastDaysAsked) -> Result<PastQuestion, Refusal> {
        PastDays { which, not_past: Refusal::missing("past") }.question(TODAY, Calendar::embedded().zone())
    }

    #[test]
    fn a_distance_counts_from_the_date_of_the_answer() {
        let zone = Calendar::embedded().zone().clone();
        for (day, wanted) in [
            (NamedDay::Date(date(2026, 12, 18)), date(2026, 12, 18)),
            // one second before midnight Eastern
            (NamedDay::Of(Timestamp::constant(1_797_569_999, 0)), date(2026, 12, 17)),
            (NamedDay::FromToday(0), TODAY),
            (NamedDay::FromToday(-5), date(2026, 11, 15)),
        ] {
            assert_eq!(day.date(TODAY, &zone), wanted, "{day:?}");
        }
        assert_eq!(NamedDay::FromToday(-1).date(date(2024, 1, 3), &zone), date(2024, 1, 2));
        for today in [date(1970, 1, 1), date(2262, 4, 11)] {
            for days in [-DISTANCE_MOST, DISTANCE_MOST] {
                let (there, away) = (NamedDay::FromToday(days).date(today, &zone), Span::new().days(days));
                assert_eq!(today.checked_add(away).unwrap(), there, "{today} {days}");
            }
        }
        assert!(NamedDay::FromToday(i64::MIN).date(TODAY, &zone) < TODAY);
    }

    #[test]
    fn a_day_to_come_is_no_past_day() {
        let not_past = Refusal::missing("past");
        let if_live = |days| past(PastDaysAsked::One(NamedDay::FromToday(days))).map(|question| question.if_live);
        assert_eq!(if_live(-1), Ok(Some(Refusal::NoRows)));
        assert_eq!(if_live(0), Ok(Some(not_past.clone())));
        assert_eq!(if_live(1), Err(not_past));
    }

    #[test]
    fn the_end_of_several_days_is_left_out() {
        let (first, end) = (Some(NamedDay::FromToday(-3)), Some(NamedDay::Date(date(2026, 11, 19))));
        for (which, start, last) in [
            (PastDaysAsked::Between(first, end), AsOf::Day(date(2026, 11, 17)), AsOf::Day(date(2026, 11, 18))),
            (PastDaysAsked::Between(first, None), AsOf::Day(date(2026, 11, 17)), AsOf::Latest),
            (PastDaysAsked::Between(None, end), AsOf::Latest, AsOf::Day(date(2026, 11, 18))),
        ] {
            let wanted = PastSpan { every: Pace::Day, ..PastSpan::between(start, last) };
            assert_eq!(past(which).unwrap().moments, PastMoments::Many(wanted), "{which:?}");
        }
    }
}
