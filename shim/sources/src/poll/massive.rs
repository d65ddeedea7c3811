//! Massive (once Polygon): the chain of a name in pages of 250, with the price of the underlying in each, and its
//! dividends.

use super::dividends::HISTORY_YEARS;
use super::failure::Failure;
use super::plan::VendorTerms;
use super::vendor::{Asks, DataKind, Document, PolledVendor, Question, Sweep, Vendor};
use feeds::massive::{parse_massive_dividends, parse_massive_snapshot};
use host::secret::{Keys, Secret};
use jiff::civil::Date;
use kernel::calendar::shift::ShiftDate;
use kernel::contract::{RootTable, Symbol};
use std::time::Duration;

/// Environment variable of the key.
pub const KEY: &str = "GREEKSD_MASSIVE_KEY";
/// Plans with quotes have no rate limit; the vendor asks clients to stay below a hundred requests a second.
const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(15),
    every_closed: Duration::from_secs(900),
    per_minute: 1200.0,
    burst: 10.0,
    at_once: 2,
    delay: Duration::ZERO,
};

/// Row of the table of vendors.
pub static ROW: PolledVendor = PolledVendor {
    word: "massive",
    base: "https://api.massive.com",
    second_base: None,
    terms: TERMS,
    public_limits: None,
    notice: None,
    has_spots: false,
    data_kinds: &[DataKind::Chains, DataKind::Dividends],
    whole: None,
    open: |keys, _| Ok(Box::new(Massive::new(RootTable::embedded(), keys)?)),
};

/// The vendor with its key.
#[derive(Debug)]
pub struct Massive {
    roots: RootTable,
    authorization: Secret,
}

impl Massive {
    /// The vendor.
    ///
    /// # Errors
    /// There is no key.
    pub fn new(roots: RootTable, keys: &Keys) -> Result<Self, String> {
        Ok(Self { roots, authorization: keys.need(KEY)?.as_bearer() })
    }

    fn page(&self, name: Symbol, query: &str) -> Question {
        let mark = if self.roots.is_index(name) { "I:" } else { "" };
        Question::new(Asks::Chain, format!("/v3/snapshot/options/{mark}{name}?{query}"))
    }
}

/// The request for a page of dividends. The vendor's older addresses are deprecated since February 2026.
fn dividend_page(query: &str) -> Question {
    Question::new(Asks::Dividends, format!("/stocks/v1/dividends?{query}"))
}

/// The query of a next page without the key, which is sent in a header and never in an address.
fn without_key(query: &str) -> String {
    let parts = query.split('&').filter(|part| !part.to_ascii_lowercase().starts_with("apikey="));
    parts.collect::<Vec<_>>().join("&")
}

impl Vendor for Massive {
    fn begin(&self, name: Symbol, _: Date) -> Vec<Question> {
        vec![self.page(name, "limit=250")]
    }

    fn dividends(&self, name: Symbol, today: Date) -> Option<Question> {
        let first = today.plus_years(-HISTORY_YEARS);
        let query = format!("ticker={name}&ex_dividend_date.gte={first}&sort=ex_dividend_date.desc&limit=1000");
        (!self.roots.is_index(name)).then(|| dividend_page(&query))
    }

    fn read(&self, data: &Document<'_>, sweep: &mut Sweep) -> Result<(), Failure> {
        if data.request.what == Asks::Dividends {
            let (page, report) = parse_massive_dividends(data.source, data.bytes);
            sweep.declare((page.dividends, report))?;
            sweep.wanted.extend(page.next.map(|query| dividend_page(&without_key(&query))));
            return Ok(());
        }
        let (page, report) = parse_massive_snapshot(data.source, data.bytes, data.name);
        sweep.grade = sweep.grade.max(page.grade);
        sweep.add((page.batch, report))?;
        sweep.wanted.extend(page.next.map(|query| self.page(data.name, &without_key(&query))));
        Ok(())
    }

    fn keys(&self) -> &'static [&'static str] {
        &[KEY]
    }

    fn headers(&self) -> Vec<(&'static str, Secret)> {
        vec![("authorization", self.authorization.clone())]
    }
}
