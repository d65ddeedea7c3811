//! Tradier's brokerage interface: the expirations of a name, a chain for each, the price of the underlying, its
//! dividends.

use super::failure::Failure;
use super::plan::VendorTerms;
use super::vendor::{Asks, DataKind, Document, PolledVendor, Question, Sweep, Vendor, requests_of_spots};
use feeds::tradier::{parse_tradier_chain, parse_tradier_dividends, parse_tradier_expirations, parse_tradier_quotes};
use host::secret::{Keys, Secret};
use jiff::civil::Date;
use kernel::contract::{RootTable, Symbol};
use std::time::Duration;

/// Environment variable of the key.
pub const KEY: &str = "GREEKSD_TRADIER_TOKEN";
/// The vendor permits 120 requests a minute for market data; a sweep takes one for each expiration and two more.
const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(30),
    every_closed: Duration::from_secs(900),
    per_minute: 110.0,
    burst: 10.0,
    at_once: 1,
    delay: Duration::ZERO,
};

/// Address of the prices of names.
const QUOTES: &str = "/v1/markets/quotes?greeks=false&symbols=";

/// Row of the table of vendors.
pub static ROW: PolledVendor = PolledVendor {
    word: "tradier",
    base: "https://api.tradier.com",
    second_base: None,
    terms: TERMS,
    public_limits: None,
    notice: None,
    has_spots: true,
    data_kinds: &[DataKind::Chains, DataKind::Dividends],
    whole: None,
    open: |keys, _| Ok(Box::new(Tradier::new(RootTable::embedded(), keys)?)),
};

/// The vendor with its key.
#[derive(Debug)]
pub struct Tradier {
    roots: RootTable,
    authorization: Secret,
}

impl Tradier {
    /// The vendor.
    ///
    /// # Errors
    /// There is no key.
    pub fn new(roots: RootTable, keys: &Keys) -> Result<Self, String> {
        Ok(Self { roots, authorization: keys.need(KEY)?.as_bearer() })
    }
}

/// A name in an address: class shares have a slash.
fn spelt(name: Symbol) -> String {
    name.as_str().replace('.', "%2F")
}

impl Vendor for Tradier {
    fn begin(&self, name: Symbol, _: Date) -> Vec<Question> {
        let name = spelt(name);
        let target = format!("/v1/markets/options/expirations?symbol={name}&includeAllRoots=true");
        vec![Question::new(Asks::Expirations, target), Question::new(Asks::Spot, format!("{QUOTES}{name}"))]
    }

    fn spots(&self, names: &[Symbol]) -> Vec<Question> {
        requests_of_spots(QUOTES, names, spelt)
    }

    fn dividends(&self, name: Symbol, _: Date) -> Option<Question> {
        let target = format!("/beta/markets/fundamentals/dividends?symbols={}", spelt(name));
        (!self.roots.is_index(name)).then(|| Question::new(Asks::Dividends, target))
    }

    fn read(&self, data: &Document<'_>, sweep: &mut Sweep) -> Result<(), Failure> {
        let Document { source, bytes, name, asked_at, .. } = *data;
        match data.request.what {
            Asks::Expirations => {
                let (dates, report) = parse_tradier_expirations(source, bytes);
                let chain = |date| {
                    let name = spelt(name);
                    let target = format!("/v1/markets/options/chains?symbol={name}&expiration={date}&greeks=false");
                    Question::new(Asks::Chain, target)
                };
                sweep.wanted.extend(dates.into_iter().map(chain));
                sweep.add((kernel::records::Batch::default(), report))
            }
            Asks::Spot => sweep.add(parse_tradier_quotes(source, bytes, asked_at)),
            Asks::Dividends => sweep.declare(parse_tradier_dividends(source, bytes)),
            _ => sweep.add(parse_tradier_chain(source, bytes, name, asked_at)),
        }
    }

    fn keys(&self) -> &'static [&'static str] {
        &[KEY]
    }

    fn headers(&self) -> Vec<(&'static str, Secret)> {
        vec![("authorization", self.authorization.clone()), ("accept", Secret::plain("application/json"))]
    }

    /// An expiration may have passed since it was listed.
    fn may_miss(&self, request: &Question, failure: Failure) -> bool {
        request.what == Asks::Chain && failure == Failure::Empty
    }
}
