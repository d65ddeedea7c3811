//! `ThetaData`'s local server, version 3: a request for each option root, and one for the price of the underlying,
//! which is another subscription.

use super::failure::Failure;
use super::plan::VendorTerms;
use super::vendor::{Asks, DataKind, Document, PolledVendor, Question, Sweep, Vendor, roots_of};
use feeds::thetadata::{instead_of_status, parse_thetadata_indices, parse_thetadata_options, parse_thetadata_stocks};
use jiff::civil::Date;
use kernel::contract::{RootTable, Symbol};
use std::time::Duration;

/// The local server queues requests beyond the user's plan; the cheapest plan with quotes permits two concurrent ones.
const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(5),
    every_closed: Duration::from_secs(600),
    per_minute: 1200.0,
    burst: 8.0,
    at_once: 2,
    delay: Duration::ZERO,
};

/// Row of the table of vendors.
pub static ROW: PolledVendor = PolledVendor {
    word: "theta",
    base: "http://127.0.0.1:25503",
    second_base: None,
    terms: TERMS,
    public_limits: None,
    notice: None,
    has_spots: false,
    data_kinds: &[DataKind::Chains],
    whole: None,
    open: |_, _| Ok(Box::new(Theta::new(RootTable::embedded()))),
};

/// The local server.
#[derive(Debug)]
pub struct Theta {
    roots: RootTable,
}

impl Theta {
    /// The vendor.
    #[must_use]
    pub fn new(roots: RootTable) -> Self {
        Self { roots }
    }
}

/// The root of a request: a response does not name it.
fn root_of(request: &Question) -> Option<Symbol> {
    let (_, rest) = request.target.split_once("?symbol=")?;
    Symbol::parse(rest.split('&').next()?)
}

impl Vendor for Theta {
    fn begin(&self, name: Symbol, _: Date) -> Vec<Question> {
        let chain = |root: Symbol| {
            Question::new(Asks::Chain, format!("/v3/option/snapshot/quote?symbol={root}&expiration=*&format=csv"))
        };
        let spot = if self.roots.is_index(name) { "index/snapshot/price" } else { "stock/snapshot/quote" };
        let spot = Question::new(Asks::Spot, format!("/v3/{spot}?symbol={name}&format=csv"));
        roots_of(&self.roots, name).into_iter().map(chain).chain([spot]).collect()
    }

    fn read(&self, data: &Document<'_>, sweep: &mut Sweep) -> Result<(), Failure> {
        let Document { source, bytes, name, calendar, .. } = *data;
        sweep.add(match data.request.what {
            Asks::Spot if self.roots.is_index(name) => parse_thetadata_indices(source, bytes, calendar),
            Asks::Spot => parse_thetadata_stocks(source, bytes, calendar),
            _ => parse_thetadata_options(source, bytes, name, root_of(data.request), calendar),
        })
    }

    fn failure_of(&self, status: u16) -> Option<Failure> {
        instead_of_status(status).map(Failure::instead).or_else(|| Failure::of_status(status))
    }

    /// A root may have no listed contracts, and a plan no prices of underlyings, which another feed may have.
    fn may_miss(&self, request: &Question, failure: Failure) -> bool {
        let is_spot = request.what == Asks::Spot;
        failure == Failure::Empty || is_spot && matches!(failure, Failure::Refused | Failure::NotFound)
    }
}
