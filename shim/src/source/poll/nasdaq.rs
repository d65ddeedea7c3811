//! Nasdaq's website: the dividends of a name, for quotes of other feeds. Vendors tell the next one at most: those after it
//! are projected, and marked. Unofficial, for personal use: it is asked gently, and says so.

use super::failure::Failure;
use super::plan::VendorTerms;
use super::vendor::{Asks, Brings, Document, Question, Sweep, Vendor};
use crate::secret::Secret;
use engine::contract::Symbol;
use engine::feeds::declared::with_projected;
use engine::feeds::nasdaq::parse_nasdaq_dividends;
use jiff::ToSpan;
use jiff::civil::Date;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where it is.
pub const BASE: &str = "https://api.nasdaq.com";
/// Names at most, where the user does not say more.
pub const NAMES_MOST: usize = 100;
/// What somebody who turns it on should know.
pub const NOTICE: &str = "dividends of Nasdaq's website: not an official product, for personal use only; Nasdaq may block \
    programs";
/// Dividends are declared weeks before they go ex: twice a day is soon enough.
pub const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(12 * 3600),
    every_closed: Duration::from_secs(12 * 3600),
    per_minute: 6.0,
    burst: 1.0,
    at_once: 1,
    delay: Duration::ZERO,
};
/// Past ones serve nobody, but for a market whose clock is behind.
const KEPT_DAYS: i32 = 30;
/// The longest options that are listed.
const YEARS: i32 = 6;

/// Nasdaq's website.
#[derive(Debug, Default)]
pub struct Nasdaq {
    /// Names that turned out to be funds, which have another address than stocks.
    funds: Mutex<BTreeSet<Symbol>>,
}

impl Nasdaq {
    fn funds(&self) -> MutexGuard<'_, BTreeSet<Symbol>> {
        self.funds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn request(name: Symbol, what: Asks) -> Question {
    let class = if what == Asks::DividendsOfFund { "etf" } else { "stocks" };
    Question::new(what, format!("/api/quote/{name}/dividends?assetclass={class}"))
}

impl Vendor for Nasdaq {
    fn brings(&self) -> Brings {
        Brings::Dividends
    }

    fn begin(&self, name: Symbol, _: Date) -> Vec<Question> {
        let is_fund = self.funds().contains(&name);
        vec![request(name, if is_fund { Asks::DividendsOfFund } else { Asks::Dividends })]
    }

    fn read(&self, data: &Document<'_>, sweep: &mut Sweep) -> Result<(), Failure> {
        let Document { source, bytes, name, asked_at, calendar, .. } = *data;
        let (declared, report) = parse_nasdaq_dividends(source, bytes, name);
        if let Some(error) = report.errors.first() {
            return Err(Failure::of_error(error));
        }
        sweep.report.absorb(report);
        let today = calendar.eastern(asked_at).date();
        let mut dividends = with_projected(&declared, calendar, today, today.saturating_add(YEARS.years()));
        dividends.retain(|dividend| dividend.ex_date >= today.saturating_sub(KEPT_DAYS.days()));
        sweep.batch.dividends = Some(dividends);
        if data.request.what == Asks::DividendsOfFund {
            self.funds().insert(name);
        }
        Ok(())
    }

    fn headers(&self) -> Vec<(&'static str, Secret)> {
        vec![("accept", Secret::plain("application/json"))]
    }

    /// A fund is no stock there.
    fn instead(&self, name: Symbol, asked: &Question, failure: Failure) -> Option<Question> {
        let may_be_fund = asked.what == Asks::Dividends && matches!(failure, Failure::Empty | Failure::NotFound);
        may_be_fund.then(|| request(name, Asks::DividendsOfFund))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::calendar::Calendar;
    use jiff::civil::date;
    use std::path::Path;

    #[test]
    fn what_is_declared_is_carried_on_and_what_has_been_is_left_out() {
        let name = Symbol::parse("KO").unwrap();
        let row = |day: &str| format!("{{\"exOrEffDate\":\"{day}\",\"type\":\"CASH\",\"amount\":\"$0.51\"}}");
        let rows = ["12/01/2026", "09/15/2026", "06/15/2026", "03/13/2026", "12/01/2025"].map(row).join(",");
        let vendor = Nasdaq::default();
        let read = |text: &str, request: &Question| {
            let (calendar, mut sweep) = (Calendar::embedded(), Sweep::new([]));
            let data = Document {
                name,
                request,
                source: Path::new("n"),
                bytes: text.as_bytes(),
                asked_at: "2026-11-20T12:00:00-05:00".parse().unwrap(),
                calendar: &calendar,
            };
            vendor.read(&data, &mut sweep).map(|()| sweep.batch.dividends.unwrap())
        };
        let stock = vendor.begin(name, date(2026, 11, 20)).remove(0);
        let dividends = read(&format!("{{\"data\":{{\"dividends\":{{\"rows\":[{rows}]}}}}}}"), &stock).unwrap();
        assert_eq!((dividends[0].ex_date, dividends[0].projected), (date(2026, 12, 1), false));
        assert!(dividends.len() > 20 && dividends[1..].iter().all(|d| d.projected && d.ex_date < date(2033, 1, 1)));
        assert_eq!(read("{\"data\":{\"dividends\":{\"rows\":null}}}", &stock), Ok(vec![]), "it pays none");
        // a fund is asked for as such, from then on
        assert_eq!(read("{\"data\":null}", &stock), Err(Failure::Empty));
        let fund = vendor.instead(name, &stock, Failure::Empty).unwrap();
        assert!(stock.target.ends_with("/KO/dividends?assetclass=stocks") && fund.target.ends_with("assetclass=etf"));
        assert_eq!(vendor.instead(name, &fund, Failure::Empty), None);
        assert!(read("{\"data\":{\"dividends\":{\"rows\":null}}}", &fund).is_ok());
        assert_eq!(vendor.begin(name, date(2026, 11, 20)), [fund]);
    }
}
