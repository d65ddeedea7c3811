//! The embedded market at a fixed instant, and a service over it.

use arc_swap::ArcSwap;
use engine::pass::{Computed, MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::snapshot::Snapshot;
use engine::store::book::Book;
use host::clock::MarketClock;
use http::Metrics;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::quality::Quality;
use shim::app::{Service, route_names};
use shim::status::Status;
use sim::SimMarket;
use sim::symbols::{Name, well_known};
use sim::universe;
use std::sync::Arc;
use std::time::Duration;

/// The instant of every bench: 15:42 Eastern on a Friday.
pub const NOW: Timestamp = Timestamp::constant(1_795_207_320, 0);

/// A whole chain, every field.
pub const CHAIN: &str = "/l1/greeks?underlying=SPX&greeks=all";
/// One row.
pub const ROW: &str = "/l1/greeks?underlying=SPX&center=atm&right=call&strike_count=1&max_days=1&greeks=core";

/// The embedded market with what a pass over it needs.
pub struct Sim {
    market: SimMarket,
    curves: RateTable,
    calendar: Calendar,
}

impl Sim {
    /// These names of the embedded market; all of them if none is named.
    #[must_use]
    pub fn of(names: &[&str]) -> Self {
        let wanted = |name: &str| names.is_empty() || names.contains(&name);
        let universe: Vec<_> = well_known().into_iter().filter(|name| wanted(&name.symbol)).collect();
        let market = SimMarket::with_universe(1, NOW, &universe);
        let curves = RateTable::of(RateSource::Simulated, DiscountCurves::new(&market.rates()));
        Self { market, curves, calendar: Calendar::embedded() }
    }

    /// A part of the whole market.
    #[must_use]
    pub fn full(share: f64) -> Self {
        let market = SimMarket::full(1, 1.0, NOW, share);
        let curves = RateTable::of(RateSource::Simulated, DiscountCurves::new(&market.rates()));
        Self { market, curves, calendar: Calendar::embedded() }
    }

    /// Some names of the whole market, all their contracts.
    #[must_use]
    pub fn some(wanted: impl Fn(&Name) -> bool) -> Self {
        let universe: Vec<_> = universe::names(1, 1.0).into_iter().filter(wanted).collect();
        let market = SimMarket::with_universe(1, NOW, &universe);
        let curves = RateTable::of(RateSource::Simulated, DiscountCurves::new(&market.rates()));
        Self { market, curves, calendar: Calendar::embedded() }
    }

    /// The data that all passes over the market share.
    #[must_use]
    pub fn shared(&self) -> MarketData<'_> {
        MarketData { calendar: &self.calendar, rates: &self.curves }
    }

    /// How many contracts are listed.
    #[must_use]
    pub fn contracts(&self) -> u64 {
        self.market.contracts() as u64
    }

    /// The books at [`NOW`].
    #[must_use]
    pub fn books(&self, passes: &Passes) -> Vec<Book> {
        passes.map(0..self.market.len(), |i| self.market.book(i, NOW)).into_iter().flatten().collect()
    }

    /// Moves books to a later instant.
    pub fn update(&self, books: &mut [Book], at: Timestamp, passes: &Passes) {
        passes.map(books, |book| self.market.update(book, at));
    }

    /// One pass over every book, all of them stale.
    pub fn pass(&self, books: &[Book], at: Timestamp, passes: &mut Passes) -> Vec<Computed> {
        self.pass_at(Quality::Full, books, at, passes)
    }

    /// One pass over every book at a given quality.
    pub fn pass_at(&self, quality: Quality, books: &[Book], at: Timestamp, passes: &mut Passes) -> Vec<Computed> {
        let work: Vec<_> = books.iter().map(|book| (book, at)).collect();
        passes.run_to(quality, self.shared(), &work)
    }

    /// The finished market at [`NOW`].
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let mut passes = passes();
        let books = self.books(&passes);
        let computed = self.pass(&books, NOW, &mut passes);
        Snapshot::new(1, computed.into_iter().map(|done| done.chain).collect(), Vec::new())
    }
}

/// Threads for passes, one per core, at normal priority.
///
/// # Panics
/// The system gives no threads.
#[must_use]
pub fn passes() -> Passes {
    Passes::new(0, |_| ()).expect("threads")
}

/// The service over a snapshot, and its counters.
#[must_use]
pub fn service(snapshot: Snapshot) -> (Service, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::new(&route_names()));
    let zone = Calendar::embedded().zone().clone();
    let status = Status::new("sim".to_owned(), true, 3, MarketClock::Fixed(NOW), Box::new(|| Duration::ZERO), zone);
    let market = Arc::new(ArcSwap::from_pointee(snapshot));
    (Service::new(market, Arc::new(status), Arc::clone(&metrics)), metrics)
}
