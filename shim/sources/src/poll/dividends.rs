//! Dividends of vendors: what is likely to follow those that are declared, those alone of a vendor that has chains too,
//! and when they are asked for beside chains. Never: a format, a socket, a clock.

use super::failure::Failure;
use super::plan::VendorTerms;
use super::vendor::{Brings, Document, Question, Sweep, Vendor};
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

/// Twice a day, as for every list of dividends; five requests a minute are what Massive's free plan has.
pub const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(12 * 3600),
    every_closed: Duration::from_secs(12 * 3600),
    per_minute: 5.0,
    burst: 1.0,
    at_once: 1,
    delay: Duration::ZERO,
};
/// How far back dividends are asked for: a few of a name that pays once a year.
pub const HISTORY_YEARS: i32 = 3;
/// Past ones serve nobody, but for a market whose clock is behind.
const KEPT_DAYS: i32 = 30;
/// The longest options that are listed.
const YEARS: i32 = 6;
/// Between two looks at the dividends of a name beside its chains: they are declared weeks before they go ex.
const EVERY: Duration = Duration::from_secs(24 * 3600);
/// The same after a failure.
const AGAIN: Duration = Duration::from_secs(3600);

/// What is declared and not long past, and what is likely to follow, marked as projected.
#[must_use]
pub fn likely(declared: &[DeclaredDividend], calendar: &Calendar, today: Date) -> Vec<DividendRecord> {
    let mut dividends = with_projected(declared, calendar, today, today.plus_years(YEARS));
    dividends.retain(|dividend| dividend.ex_date >= today.plus_days(-KEPT_DAYS));
    dividends
}

/// When dividends are asked for beside chains, by the time since some fixed moment.
#[derive(Debug, Default)]
pub struct OnceADay {
    /// When each name is due; it is due at once where it is not here.
    due: BTreeMap<Symbol, Duration>,
    /// The vendor refuses them: no name is due before this.
    quiet_until: Duration,
}

impl OnceADay {
    /// True if a name is due. It is not again until [`OnceADay::done`] says when, or for an hour.
    pub fn claim(&mut self, name: Symbol, now: Duration) -> bool {
        let is_due = now >= self.quiet_until && self.due.get(&name).is_none_or(|&due| now >= due);
        if is_due {
            self.due.insert(name, now.saturating_add(AGAIN));
        }
        is_due
    }

    /// The dividends of a name came, or did not: a plan that does not allow them will not in an hour either.
    pub fn done(&mut self, name: Symbol, now: Duration, failure: Option<Failure>) {
        self.due.insert(name, now.saturating_add(if failure.is_none() { EVERY } else { AGAIN }));
        if failure == Some(Failure::Refused) {
            self.quiet_until = now.saturating_add(EVERY);
        }
    }
}

/// The dividends alone of a vendor that has chains, too.
pub struct DividendsOnly(pub Box<dyn Vendor>);

impl Vendor for DividendsOnly {
    fn brings(&self) -> Brings {
        Brings::Dividends
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
