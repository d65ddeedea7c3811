//! Numbers of a name that need the closes of earlier sessions. A session without a close ends what is known: nothing is
//! carried over it. Never: a close of the future.

use super::days::Closes;
use super::row::{NameClose, rounded};
use crate::store::chain::Chain;
use crate::term::{EventState, Tenors, TermStructure};
use jiff::civil::Date;
use kernel::calendar::{Calendar, VarianceClock};
use kernel::elementary::ln;

/// Sessions of a year.
pub const YEAR: usize = 252;
/// Ratio of two closes beyond which, either way, shares were split rather than traded.
const SPLIT: f64 = 1.9;

/// The sessions that numbers of a day look back on, shared by names valued on that day.
#[derive(Clone, Debug)]
pub struct LastSessions {
    today: Date,
    /// Sessions before that day, ascending: those of a year, and one that the first return begins with.
    dates: Vec<Date>,
}

/// The closes of a name up to a valuation, and sums over them.
#[derive(Clone, Debug)]
pub struct NamePast<'a> {
    /// Sessions of a year before the day, ascending.
    dates: &'a [Date],
    /// Closes within them, ascending.
    before: &'a [NameClose],
    /// The close of the day itself.
    own: Option<NameClose>,
    /// Sums of squared returns over the last one, two, … sessions.
    squares: Vec<f64>,
    /// Reason why the sums end there.
    end: NoPast,
    /// Sums without the sessions of events, and the number of sessions in each.
    without_events: Vec<(f64, usize)>,
    /// Reason why the sums without events end there.
    end_without_events: NoPast,
}

/// Why a number that needs closes is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPast {
    /// Too few sessions have a close.
    TooFewCloses,
    /// All volatilities are the same.
    NoRange,
    /// Two closes are further apart than trading moves them: a split.
    PriceJump,
    /// It is unknown whether a session had an event.
    EventUnknown,
    /// It is unknown which of several sessions had the event.
    EventDateOpen,
}

impl NoPast {
    /// Name of the reason in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooFewCloses => "too_few_closes",
            Self::NoRange => "closes_without_range",
            Self::PriceJump => "price_jump",
            Self::EventUnknown => "event_unknown",
            Self::EventDateOpen => "event_date_open",
        }
    }
}

impl LastSessions {
    /// The sessions before a date.
    #[must_use]
    pub fn before(today: Date, calendar: &Calendar) -> Self {
        let earlier = |date: &Date| Some(calendar.previous_session(*date));
        let mut dates: Vec<Date> = std::iter::successors(earlier(&today), earlier).take(YEAR + 1).collect();
        dates.reverse();
        Self { today, dates }
    }

    /// True if they are those before a date.
    #[must_use]
    pub fn are_before(&self, date: Date) -> bool {
        self.today == date
    }
}

impl<'a> NamePast<'a> {
    /// The closes of the name of a chain before its valuation, and its own, if a session has ended by then. `sessions`
    /// are those before the Eastern date of the valuation.
    #[must_use]
    pub fn of(
        chain: &Chain,
        term: &TermStructure,
        tenors: &Tenors,
        closes: &'a Closes,
        sessions: &'a LastSessions,
        calendar: &Calendar,
    ) -> Self {
        Self::new(closes.of(chain.underlying), NameClose::of(chain, term, tenors, calendar), sessions)
    }

    /// The closes of a name before a day, ascending, and that of the day itself, if it has come.
    #[must_use]
    pub fn new(closes: &'a [NameClose], own: Option<NameClose>, sessions: &'a LastSessions) -> Self {
        // the day itself is one of the year
        let most = if own.is_some() { YEAR } else { YEAR + 1 };
        let dates = &sessions.dates[sessions.dates.len().saturating_sub(most)..];
        let within = |close: &NameClose| dates.first().is_none_or(|first| close.day < *first);
        let before = &closes[..closes.partition_point(|close| close.day < sessions.today)];
        let mut past = Self {
            dates,
            before: &before[before.partition_point(within)..],
            own,
            squares: Vec::new(),
            end: NoPast::TooFewCloses,
            without_events: Vec::new(),
            end_without_events: NoPast::TooFewCloses,
        };
        past.sum();
        past
    }

    /// The sessions that have ended, the last one first.
    fn sessions(&self) -> impl Iterator<Item = Date> + use<'a> {
        self.own.map(|own| own.day).into_iter().chain(self.dates.iter().rev().copied())
    }

    /// The closes, the last one first.
    fn closes(&self) -> impl Iterator<Item = NameClose> + Clone + use<'a> {
        self.own.into_iter().chain(self.before.iter().rev().copied())
    }

    /// Sums squared returns from the last session back, to the first one that has none.
    fn sum(&mut self) {
        let (mut all, mut without, mut sessions) = (0.0, 0.0, 0);
        let mut knows_events = true;
        let pairs = self.closes().zip(self.closes().skip(1));
        for ((close, before), (day, earlier)) in pairs.zip(self.sessions().zip(self.sessions().skip(1))) {
            if close.day != day || before.day != earlier {
                break;
            }
            let ratio = (close.price + before.paid_by(&close)) / before.price;
            if !(1.0 / SPLIT..=SPLIT).contains(&ratio) {
                self.end = NoPast::PriceJump;
                if knows_events {
                    self.end_without_events = NoPast::PriceJump;
                }
                break;
            }
            let square = ln(ratio).powi(2);
            all += square;
            self.squares.push(all);
            if !knows_events {
                continue;
            }
            match before.event_by(&close) {
                Ok(true) => {}
                Ok(false) => (without, sessions) = (without + square, sessions + 1),
                Err(why) => {
                    (knows_events, self.end_without_events) = (false, why);
                    continue;
                }
            }
            self.without_events.push((without, sessions));
        }
    }

    /// The price at the close so many sessions before the day, at least 1.
    ///
    /// # Errors
    /// That session or one since then has no close, or shares were split since.
    pub fn price_before(&self, sessions: usize) -> Result<f64, NoPast> {
        // returns from that close to the last one
        let returns = sessions.saturating_sub(usize::from(self.own.is_none()));
        let (day, close) = self.sessions().zip(self.closes()).nth(returns).ok_or(self.end)?;
        if close.day == day && returns <= self.squares.len() { Ok(close.price) } else { Err(self.end) }
    }

    /// Realised volatility of the last sessions, per year, about a mean of zero.
    ///
    /// # Errors
    /// One of them has no return.
    pub fn realised(&self, sessions: usize) -> Result<f64, NoPast> {
        let sum = self.squares.get(sessions.wrapping_sub(1)).ok_or(self.end)?;
        Ok((YEAR as f64 / sessions as f64 * sum).sqrt())
    }

    /// Realised volatility of the last sessions, without those in which an event of the name moved the price.
    ///
    /// # Errors
    /// One of them has no return, it is unknown whether it had an event, or all had one.
    pub fn realised_without_events(&self, sessions: usize) -> Result<f64, NoPast> {
        let &(sum, counted) = self.without_events.get(sessions.wrapping_sub(1)).ok_or(self.end_without_events)?;
        if counted == 0 { Err(NoPast::TooFewCloses) } else { Ok((YEAR as f64 / counted as f64 * sum).sqrt()) }
    }

    /// Realised volatility of the last sessions per variance day, annualised; market events count for `share`.
    ///
    /// # Errors
    /// One of them has no return.
    pub fn realised_vt(&self, sessions: usize, clock: &VarianceClock, share: f64) -> Result<f64, NoPast> {
        let sum = self.squares.get(sessions.wrapping_sub(1)).ok_or(self.end)?;
        let (Some(first), Some(last)) = (self.closes().nth(sessions), self.closes().next()) else {
            return Err(NoPast::TooFewCloses);
        };
        Ok((clock.weights().year() * sum / clock.days(first.at, last.at, share)).sqrt())
    }

    /// Place of a volatility between the least and the greatest one of the closes of so many last sessions, 0 to 1.
    ///
    /// # Errors
    /// Fewer than half of a year's sessions, or 15 of a month's, have one; or all are the same.
    pub fn iv_rank(&self, iv30d: f64, sessions: usize) -> Result<f64, NoPast> {
        let (vols, iv30d) = (self.vols(sessions)?, rounded(iv30d));
        let (least, most) = vols.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        if most > least { Ok(((iv30d - least) / (most - least)).clamp(0.0, 1.0)) } else { Err(NoPast::NoRange) }
    }

    /// Share of the closes of so many last sessions that had a lower volatility, 0 to 1.
    ///
    /// # Errors
    /// Too few have one, as of [`Self::iv_rank`].
    pub fn iv_percentile(&self, iv30d: f64, sessions: usize) -> Result<f64, NoPast> {
        // its own close is not below it
        let (vols, iv30d) = (self.vols(sessions)?, rounded(iv30d));
        let n = vols.clone().count();
        Ok(vols.filter(|vol| *vol < iv30d).count() as f64 / n as f64)
    }

    /// Volatilities of the closes of the last sessions, the last one first.
    fn vols(&self, sessions: usize) -> Result<impl Iterator<Item = f64> + Clone + use<'a>, NoPast> {
        /// A month counts with five sessions of seven, a year with half of them.
        const fn least(sessions: usize) -> usize {
            if sessions < YEAR / 2 { sessions * 5 / 7 } else { sessions / 2 }
        }
        let first = self.sessions().take(sessions).last().ok_or(NoPast::TooFewCloses)?;
        let within = self.closes().take_while(move |close| close.day >= first);
        let vols = within.map(|close| close.iv30d).filter(|vol| vol.is_finite());
        if vols.clone().count() < least(sessions) { Err(NoPast::TooFewCloses) } else { Ok(vols) }
    }
}

impl NameClose {
    /// Dividend that the price falls by from this close to the next one, currency per share.
    fn paid_by(&self, next: &Self) -> f64 {
        let paid = self.dividend.filter(|(ex_date, _)| *ex_date > self.day && *ex_date <= next.day);
        paid.map_or(0.0, |(_, amount)| amount)
    }

    /// True if an event of the name moved the price from this close to the next one.
    fn event_by(&self, next: &Self) -> Result<bool, NoPast> {
        match (self.event, self.event_days) {
            (EventState::Unknown, _) => Err(NoPast::EventUnknown),
            (EventState::Found | EventState::Dated, Some([after, by])) if after < next.day && self.day < by => {
                // it is still to come
                let waits = next.event == self.event
                    && next.event_days.is_some_and(|[later, until]| later >= next.day && until == by);
                match self.event {
                    _ if waits => Ok(false),
                    EventState::Dated => Ok(true),
                    _ if next.event == EventState::Unknown => Err(NoPast::EventDateOpen),
                    _ => Ok(true),
                }
            }
            (EventState::None | EventState::Found | EventState::Dated, _) => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use std::sync::LazyLock;

    const TODAY: Date = date(2026, 11, 20);

    /// Closes of the last sessions before [`TODAY`], the last price last.
    fn closes(prices: &[f64]) -> Vec<NameClose> {
        let calendar = Calendar::embedded();
        let sessions = LastSessions::before(TODAY, &calendar);
        let days = &sessions.dates[sessions.dates.len() - prices.len()..];
        let of = |(&day, &price): (&Date, &f64)| NameClose {
            day,
            at: calendar.close(day),
            price,
            iv30d: price / 500.0,
            event: EventState::None,
            event_days: None,
            dividend: None,
        };
        days.iter().zip(prices).map(of).collect()
    }

    fn past(closes: &[NameClose]) -> NamePast<'_> {
        static SESSIONS: LazyLock<LastSessions> = LazyLock::new(|| LastSessions::before(TODAY, &Calendar::embedded()));
        NamePast::new(closes, None, &SESSIONS)
    }

    fn near(found: Result<f64, NoPast>, wanted: f64) {
        assert!(found.is_ok_and(|found| (found - wanted).abs() < 1e-9), "{found:?} is not {wanted}");
    }

    /// Eleven closes, and their numbers by independent arithmetic.
    const PRICES: [f64; 11] = [100.0, 101.0, 99.5, 100.25, 102.0, 101.5, 103.0, 102.25, 104.0, 103.5, 105.0];
    const RV10: f64 = 0.19375969149965663;
    const RV6: f64 = 0.18456091608486755;
    const RV4: f64 = 0.18977431614973067;
    /// Without the first close, and 103 at the end.
    const RV10_OWN: f64 = 0.21063686815795646;
    /// With a dividend of 2 on the eighth return.
    const RV10_DIV: f64 = 0.25095422036748755;
    /// Without the third return.
    const RV10_EX: f64 = 0.200337920880804;

    #[test]
    fn realised_volatility_is_about_a_mean_of_zero() {
        let all = closes(&PRICES);
        near(past(&all).realised(10), RV10);
        assert_eq!(past(&all).realised(11), Err(NoPast::TooFewCloses));
        assert_eq!(past(&all[1..]).realised(10), Err(NoPast::TooFewCloses));
        // a session without a close, and one of the day itself
        let gap = [&all[..5], &all[6..]].concat();
        assert_eq!(past(&gap).realised(10), Err(NoPast::TooFewCloses));
        near(past(&gap).realised(4), RV4);
        let own = NameClose { day: TODAY, at: Calendar::embedded().close(TODAY), price: 103.0, ..all[10] };
        let sessions = LastSessions::before(TODAY, &Calendar::embedded());
        near(NamePast::new(&all, Some(own), &sessions).realised(10), RV10_OWN);
        // closes that are later than the day do not count
        let later = NameClose { day: date(2026, 11, 23), ..own };
        near(NamePast::new(&[&all[..], &[later]].concat(), None, &sessions).realised(10), RV10);
    }

    #[test]
    fn a_close_is_known_where_every_session_since_has_one() {
        let all = closes(&PRICES);
        near(past(&all).price_before(1), 105.0);
        near(past(&all).price_before(11), 100.0);
        assert_eq!(past(&all).price_before(12), Err(NoPast::TooFewCloses));
        let gap = [&all[..5], &all[6..]].concat();
        near(past(&gap).price_before(5), 103.0);
        assert_eq!([6, 7].map(|n| past(&gap).price_before(n)), [Err(NoPast::TooFewCloses); 2]);
        assert_eq!(past(&all[..10]).price_before(1), Err(NoPast::TooFewCloses));
        // the close of the day itself is no earlier one
        let own = NameClose { day: TODAY, at: Calendar::embedded().close(TODAY), price: 103.0, ..all[10] };
        let sessions = LastSessions::before(TODAY, &Calendar::embedded());
        let with_own = |closes| NamePast::new(closes, Some(own), &sessions);
        near(with_own(&all[..]).price_before(1), 105.0);
        near(with_own(&all[..]).price_before(11), 100.0);
        let mut split = all.clone();
        split[6].price = 20.0;
        near(past(&split).price_before(4), 102.25);
        assert_eq!(past(&split).price_before(5), Err(NoPast::PriceJump));
    }

    #[test]
    fn dividends_count_and_splits_end_what_is_known() {
        let mut all = closes(&PRICES);
        // 2 on the day before yesterday, known the day before
        all[7].dividend = Some((all[8].day, 2.0));
        near(past(&all).realised(10), RV10_DIV);
        // one that is a session later is not of that return
        all[7].dividend = Some((all[9].day, 2.0));
        near(past(&all).realised(10), RV10);
        all[3].price *= 2.0;
        assert_eq!(past(&all).realised(10), Err(NoPast::PriceJump));
        assert_eq!(past(&all).realised_without_events(10), Err(NoPast::PriceJump));
        near(past(&all).realised(6), RV6);
    }

    #[test]
    fn variance_days_stand_for_sessions() {
        let all = closes(&PRICES);
        let clock = Calendar::embedded().variance().clone();
        // 5 to 19 November: ten sessions, four dates without one
        let days = 10.0 + 4.0 * 0.075;
        let wanted = (260.475 / days * (RV10 * RV10 * 10.0 / 252.0)).sqrt();
        near(past(&all).realised_vt(10, &clock, 0.0), wanted);
        assert_eq!(past(&all).realised_vt(11, &clock, 0.0), Err(NoPast::TooFewCloses));
    }

    #[test]
    fn sessions_of_events_are_left_out_and_open_ones_end_it() {
        let ex = |all: &[NameClose]| past(all).realised_without_events(10);
        let mut all = closes(&PRICES);
        near(ex(&all), RV10);
        // after the close of the third session, by that of the fourth
        let known = [all[2].day, all[3].day];
        for close in &mut all[..3] {
            (close.event, close.event_days) = (EventState::Dated, Some(known));
        }
        near(ex(&all), RV10_EX);
        near(past(&all).realised(10), RV10);
        // found between two expiries: known to have passed once it is not there any more
        let found = [all[1].day, all[5].day];
        for (n, close) in all.iter_mut().enumerate().take(3) {
            let from = if n < 2 { found[0] } else { close.day };
            (close.event, close.event_days) = (EventState::Found, Some([from, found[1]]));
        }
        near(ex(&all), RV10_EX);
        all[3].event = EventState::Unknown;
        assert_eq!(ex(&all), Err(NoPast::EventUnknown));
        (all[3].event, all[4].event) = (EventState::Found, EventState::Unknown);
        all[3].event_days = Some([all[3].day, found[1]]);
        assert_eq!(ex(&all), Err(NoPast::EventUnknown));
        assert!(past(&all).realised_without_events(5).is_ok());
        // a session whose close does not know whether the event has passed
        let mut all = closes(&PRICES);
        (all[8].event, all[8].event_days) = (EventState::Found, Some([all[8].day, TODAY]));
        all[9].event = EventState::Unknown;
        let own = NameClose { event: EventState::None, ..all[9] };
        assert_eq!(all[8].event_by(&all[9]), Err(NoPast::EventDateOpen));
        assert_eq!((all[8].event_by(&own), own.event_by(&all[9])), (Ok(true), Ok(false)));
    }

    #[test]
    fn rank_and_percentile_are_of_a_year_and_of_a_month() {
        let prices: Vec<f64> = (0..252).map(|n| 100.0 + f64::from(n % 50)).collect();
        let all = closes(&prices);
        let vol = |price: f64| price / 500.0;
        near(past(&all).iv_rank(vol(110.0), 252), 10.0 / 49.0);
        near(past(&all).iv_percentile(vol(110.0), 252), 52.0 / 252.0);
        // beyond all of them
        near(past(&all).iv_rank(0.9, 252), 1.0);
        near(past(&all).iv_rank(0.1, 252), 0.0);
        near(past(&all).iv_percentile(0.9, 252), 1.0);
        // the last 21: 131 to 149, 100, 101
        near(past(&all).iv_rank(vol(139.0), 21), 39.0 / 49.0);
        near(past(&all).iv_percentile(vol(139.0), 21), 10.0 / 21.0);
        assert_eq!(past(&all[127..]).iv_rank(0.2, 252), Err(NoPast::TooFewCloses));
        assert!(past(&all[126..]).iv_rank(0.2, 252).is_ok());
        assert_eq!(past(&all[238..]).iv_percentile(0.2, 21), Err(NoPast::TooFewCloses));
        assert!(past(&all[237..]).iv_percentile(0.2, 21).is_ok());
        // those of which volatility is missing do not count
        let missing: Vec<NameClose> = all[126..].iter().map(|of| NameClose { iv30d: f64::NAN, ..*of }).collect();
        assert_eq!(past(&missing).iv_rank(0.2, 252), Err(NoPast::TooFewCloses));
        let same = closes(&[100.0; 30]);
        let flat = past(&same);
        assert_eq!(flat.iv_rank(0.2, 21), Err(NoPast::NoRange));
        near(flat.iv_percentile(0.2, 21), 0.0);
    }
}
