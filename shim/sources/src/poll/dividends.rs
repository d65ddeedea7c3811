//! Dividends of vendors: projections from declared ones, feeds of dividends only, and the schedule of requests for
//! dividends besides chains. Never: a format, a socket, a clock.

use super::failure::Failure;
use super::plan::VendorTerms;
use super::vendor::{DataKind, Document, Question, Sweep, Vendor};
use feeds::DeclaredDividend;
use feeds::declared::with_projected;
use host::secret::Secret;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::calendar::shift::ShiftDate;
use kernel::contract::Symbol;
use kernel::records::DividendRecord;
use std::collections::BTreeMap;
use std::time::Duration;

/// Rate limits of feeds of dividends only: two sweeps a day; Massive's free plan permits five requests a minute.
pub const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(12 * 3600),
    every_closed: Duration::from_secs(12 * 3600),
    per_minute: 5.0,
    burst: 1.0,
    at_once: 1,
    delay: Duration::ZERO,
};
/// Years of past dividends to request: a few dividends of a name that pays once a year.
pub const HISTORY_YEARS: i32 = 3;
/// Days for which past dividends are kept: for a market whose clock is behind.
const KEPT_DAYS: i32 = 30;
/// Years for which dividends are projected: the longest listed options.
const YEARS: i32 = 6;
/// Interval between two requests for the dividends of a name besides its chains: dividends are declared weeks before
/// they go ex.
const EVERY: Duration = Duration::from_secs(24 * 3600);
/// Interval after a failure.
const AGAIN: Duration = Duration::from_secs(3600);

/// Declared dividends that are not long past, and projections that follow from them.
#[must_use]
pub fn likely(declared: &[DeclaredDividend], calendar: &Calendar, today: Date) -> Vec<DividendRecord> {
    let mut dividends = with_projected(declared, calendar, today, today.plus_years(YEARS));
    dividends.retain(|dividend| dividend.ex_date >= today.plus_days(-KEPT_DAYS));
    dividends
}

/// Schedule of requests for dividends besides chains, by the time since a fixed moment.
#[derive(Debug, Default)]
pub struct OnceADay {
    /// Time at which each name is due; a name that is missing is due at once.
    due: BTreeMap<Symbol, Duration>,
    /// Time before which no name is due, because the vendor has refused the request.
    quiet_until: Duration,
}

impl OnceADay {
    /// True if a name is due. It is then due again after an hour, unless [`OnceADay::done`] sets another time.
    pub fn claim(&mut self, name: Symbol, now: Duration) -> bool {
        let is_due = now >= self.quiet_until && self.due.get(&name).is_none_or(|&due| now >= due);
        if is_due {
            self.due.insert(name, now.saturating_add(AGAIN));
        }
        is_due
    }

    /// Sets the next time after a request; a refusal by the vendor delays all names, since it concerns the user's plan.
    pub fn done(&mut self, name: Symbol, now: Duration, failure: Option<Failure>) {
        self.due.insert(name, now.saturating_add(if failure.is_none() { EVERY } else { AGAIN }));
        if failure == Some(Failure::Refused) {
            self.quiet_until = now.saturating_add(EVERY);
        }
    }
}

/// A vendor with chains of which only dividends are used.
pub struct DividendsOnly(pub Box<dyn Vendor>);

impl Vendor for DividendsOnly {
    fn data_kind(&self) -> DataKind {
        DataKind::Dividends
    }

    fn begin(&self, name: Symbol, today: Date) -> Vec<Question> {
        self.0.dividends(name, today).into_iter().collect()
    }

    fn read(&self, data: &Document<'_>, sweep: &mut Sweep) -> Result<(), Failure> {
        self.0.read(data, sweep)
    }

    fn headers(&self) -> Vec<(&'static str, Secret)> {
        self.0.headers()
    }

    fn keys(&self) -> &'static [&'static str] {
        self.0.keys()
    }

    fn failure_of(&self, status: u16) -> Option<Failure> {
        self.0.failure_of(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use feeds::DividendKind;
    use jiff::civil::date;

    #[test]
    fn what_is_declared_is_carried_on_and_what_has_been_is_left_out() {
        let days = [(2026, 12, 1), (2026, 9, 15), (2026, 6, 15), (2026, 3, 13), (2025, 12, 1)];
        let declared = days.map(|(year, month, day)| DeclaredDividend {
            underlying: Symbol::parse("KO").unwrap(),
            ex_date: date(year, month, day),
            amount: 0.51,
            kind: DividendKind::Regular,
            per_year: None,
        });
        let dividends = likely(&declared, &Calendar::embedded(), date(2026, 11, 20));
        assert_eq!((dividends[0].ex_date, dividends[0].projected), (date(2026, 12, 1), false));
        assert!(dividends.len() > 20 && dividends[1..].iter().all(|d| d.projected && d.ex_date < date(2033, 1, 1)));
    }

    #[test]
    fn a_name_is_due_once_a_day_and_sooner_after_a_failure() {
        let [ko, spy] = ["KO", "SPY"].map(|name| Symbol::parse(name).unwrap());
        let hours = |n: u64| Duration::from_secs(3600 * n);
        let mut daily = OnceADay::default();
        assert!(daily.claim(ko, hours(0)) && daily.claim(spy, hours(0)));
        assert!(!daily.claim(ko, hours(0)), "while it is asked for");
        daily.done(ko, hours(0), None);
        daily.done(spy, hours(0), Some(Failure::Server));
        assert!(!daily.claim(ko, hours(23)) && daily.claim(ko, hours(24)));
        assert!(daily.claim(spy, hours(1)), "an hour after a failure");
        daily.done(spy, hours(25), Some(Failure::Refused));
        daily.done(ko, hours(25), Some(Failure::Cut));
        assert!(!daily.claim(ko, hours(48)) && !daily.claim(spy, hours(48)), "what the plan does not allow");
        assert!(daily.claim(ko, hours(49)) && daily.claim(spy, hours(49)));
    }
}
