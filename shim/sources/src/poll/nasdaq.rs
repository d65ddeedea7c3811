//! Nasdaq's website: the dividends of a name, for quotes of other feeds. It has at most the next dividend; later ones
//! are projected, and marked as such. Unofficial, and for personal use: it is polled at a low rate, and the log shows a
//! notice.

use super::failure::Failure;
use super::plan::VendorTerms;
use super::vendor::{Asks, DataKind, Document, PolledVendor, PublicLimits, Question, Sweep, Vendor};
use feeds::nasdaq::parse_nasdaq_dividends;
use host::secret::Secret;
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Dividends are declared weeks before they go ex: twice a day is soon enough.
const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(12 * 3600),
    every_closed: Duration::from_secs(12 * 3600),
    per_minute: 6.0,
    burst: 1.0,
    at_once: 1,
    delay: Duration::ZERO,
};

/// Row of the table of vendors.
pub static ROW: PolledVendor = PolledVendor {
    word: "nasdaq",
    base: "https://api.nasdaq.com",
    second_base: None,
    terms: TERMS,
    public_limits: Some(PublicLimits {
        every_least: Duration::from_secs(3600),
        names_most: 100,
        text: "six requests per minute and one request per symbol and hour",
    }),
    notice: Some(
        "dividends of Nasdaq's website: not an official product, for personal use only; Nasdaq may block \
    programs",
    ),
    has_spots: false,
    data_kinds: &[DataKind::Dividends],
    whole: None,
    open: |_, _| Ok(Box::new(Nasdaq::default())),
};

/// Nasdaq's website.
#[derive(Debug, Default)]
pub struct Nasdaq {
    /// Names known to be funds, which have another address than stocks.
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
    fn data_kind(&self) -> DataKind {
        DataKind::Dividends
    }

    fn begin(&self, name: Symbol, _: Date) -> Vec<Question> {
        let is_fund = self.funds().contains(&name);
        vec![request(name, if is_fund { Asks::DividendsOfFund } else { Asks::Dividends })]
    }

    fn read(&self, data: &Document<'_>, sweep: &mut Sweep) -> Result<(), Failure> {
        let Document { source, bytes, name, .. } = *data;
        sweep.declare(parse_nasdaq_dividends(source, bytes, name))?;
        if data.request.what == Asks::DividendsOfFund {
            self.funds().insert(name);
        }
        Ok(())
    }

    fn headers(&self) -> Vec<(&'static str, Secret)> {
        vec![("accept", Secret::plain("application/json"))]
    }

    /// A fund is not found at the address of stocks.
    fn instead(&self, name: Symbol, asked: &Question, failure: Failure) -> Option<Question> {
        let may_be_fund = asked.what == Asks::Dividends && matches!(failure, Failure::Empty | Failure::NotFound);
        may_be_fund.then(|| request(name, Asks::DividendsOfFund))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use kernel::calendar::Calendar;
    use std::path::Path;

    #[test]
    fn a_fund_is_asked_for_as_such_from_then_on() {
        let name = Symbol::parse("KO").unwrap();
        let row = "{\"exOrEffDate\":\"12/01/2026\",\"type\":\"CASH\",\"amount\":\"$0.51\"}";
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
            vendor.read(&data, &mut sweep).map(|()| sweep.declared.len())
        };
        let stock = vendor.begin(name, date(2026, 11, 20)).remove(0);
        assert_eq!(read(&format!("{{\"data\":{{\"dividends\":{{\"rows\":[{row}]}}}}}}"), &stock), Ok(1));
        assert_eq!(read("{\"data\":{\"dividends\":{\"rows\":null}}}", &stock), Ok(0), "it pays none");
        assert_eq!(read("{\"data\":null}", &stock), Err(Failure::Empty));
        let fund = vendor.instead(name, &stock, Failure::Empty).unwrap();
        assert!(stock.target.ends_with("/KO/dividends?assetclass=stocks") && fund.target.ends_with("assetclass=etf"));
        assert_eq!(vendor.instead(name, &fund, Failure::Empty), None);
        assert!(read("{\"data\":{\"dividends\":{\"rows\":null}}}", &fund).is_ok());
        assert_eq!(vendor.begin(name, date(2026, 11, 20)), [fund]);
    }
}
