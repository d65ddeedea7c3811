//! Alpaca's market data: the chain of a name in pages of 1,000, and the price of the underlying.

use super::failure::Failure;
use super::plan::VendorTerms;
use super::vendor::{Asks, DataKind, Document, PolledVendor, Question, Sweep, Vendor, requests_of_spots};
use feeds::alpaca::{AlpacaFeed, parse_alpaca_snapshots, parse_alpaca_stocks};
use host::secret::{Keys, Secret};
use jiff::civil::Date;
use kernel::contract::{RootTable, Symbol};
use std::time::Duration;

/// Environment variables of the key.
pub const KEYS: [&str; 2] = ["GREEKSD_ALPACA_KEY_ID", "GREEKSD_ALPACA_SECRET_KEY"];
/// 200 requests a minute on the free plan.
const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(30),
    every_closed: Duration::from_secs(900),
    per_minute: 180.0,
    burst: 10.0,
    at_once: 1,
    delay: Duration::ZERO,
};

/// Address of the prices of stocks.
const STOCKS: &str = "/v2/stocks/snapshots?symbols=";

/// Row of the table of vendors.
pub static ROW: PolledVendor = PolledVendor {
    word: "alpaca",
    base: "https://data.alpaca.markets",
    second_base: None,
    terms: TERMS,
    public_limits: None,
    notice: None,
    has_spots: true,
    data_kinds: &[DataKind::Chains],
    whole: None,
    open: |keys, adjust| Ok(Box::new(Alpaca::new(keys, adjust.indicative)?)),
};

/// The vendor with its key.
#[derive(Debug)]
pub struct Alpaca {
    roots: RootTable,
    id: Secret,
    secret: Secret,
    feed: AlpacaFeed,
}

impl Alpaca {
    /// The vendor; `indicative`: use the altered quotes of the free plan.
    ///
    /// # Errors
    /// There is no key.
    pub fn new(keys: &Keys, indicative: bool) -> Result<Self, String> {
        let feed = if indicative { AlpacaFeed::IndicativeUsed } else { AlpacaFeed::Opra };
        Ok(Self {
            roots: RootTable::embedded(),
            id: keys.need(KEYS[0])?.clone(),
            secret: keys.need(KEYS[1])?.clone(),
            feed,
        })
    }

    fn page(&self, name: Symbol, token: Option<&str>) -> Question {
        let feed = if self.feed == AlpacaFeed::Opra { "opra" } else { "indicative" };
        let token = token.map_or_else(String::new, |token| {
            let all = percent_encoding::NON_ALPHANUMERIC;
            format!("&page_token={}", percent_encoding::utf8_percent_encode(token, all))
        });
        Question::new(Asks::Chain, format!("/v1beta1/options/snapshots/{name}?feed={feed}&limit=1000{token}"))
    }
}

impl Vendor for Alpaca {
    fn begin(&self, name: Symbol, _: Date) -> Vec<Question> {
        let spot = Question::new(Asks::Spot, format!("{STOCKS}{name}"));
        vec![spot, self.page(name, None)]
    }

    /// The vendor has no prices of indices, and refuses a list with one.
    fn spots(&self, names: &[Symbol]) -> Vec<Question> {
        let stocks: Vec<Symbol> = names.iter().copied().filter(|&name| !self.roots.is_index(name)).collect();
        requests_of_spots(STOCKS, &stocks, |name| name.to_string())
    }

    fn read(&self, data: &Document<'_>, sweep: &mut Sweep) -> Result<(), Failure> {
        if data.request.what == Asks::Spot {
            return sweep.add(parse_alpaca_stocks(data.source, data.bytes));
        }
        let (page, report) = parse_alpaca_snapshots(data.source, data.bytes, data.name, self.feed);
        sweep.grade = sweep.grade.max(page.grade);
        sweep.add((page.batch, report))?;
        sweep.wanted.extend(page.next.map(|token| self.page(data.name, Some(&token))));
        Ok(())
    }

    fn keys(&self) -> &'static [&'static str] {
        &KEYS
    }

    fn headers(&self) -> Vec<(&'static str, Secret)> {
        vec![("apca-api-key-id", self.id.clone()), ("apca-api-secret-key", self.secret.clone())]
    }

    /// The vendor has no prices of indices.
    fn may_miss(&self, request: &Question, failure: Failure) -> bool {
        request.what == Asks::Spot && matches!(failure, Failure::Empty | Failure::NotFound | Failure::Status)
    }
}
