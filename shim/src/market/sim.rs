//! The simulated market as a feed: it generates quotes on demand, and its values decay with the clock. Never: a
//! formula.

use super::feed::{Feed, FeedProgress, ReferenceData};
use super::schedule::Decay;
use crate::config::RatesMode;
use engine::pass::Passes;
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::Book;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use sim::{SimMarket, SimOptions};
use sources::Moment;
use std::collections::{BTreeMap, BTreeSet};

/// The simulated market as a feed.
pub struct SimFeed {
    options: SimOptions,
    rates: RatesMode,
    market: Box<SimMarket>,
    /// Index of each name in the market.
    places: BTreeMap<Symbol, usize>,
    /// State of the names, in the order of the market.
    names: Vec<SimName>,
    /// Instant of the market at the last poll.
    polled: Option<Timestamp>,
    reference: ReferenceData,
    progress: FeedProgress,
    decay: Decay,
}

/// State of one name.
#[derive(Clone, Default)]
struct SimName {
    /// Quotes, generated at the first use.
    book: Option<Book>,
    /// Instant for which the book was last returned.
    valued: Option<Timestamp>,
}

impl SimName {
    /// True if a name without a new quote is due because its values have aged.
    fn is_due(&self, at: Timestamp, decay: &Decay) -> bool {
        let (Some(book), Some(valued)) = (&self.book, self.valued) else { return true };
        let live = book.slices.iter().map(|s| s.settles_at).filter(|&settles| settles > valued);
        decay.is_due(valued, at, live.min())
    }

    /// Brings the quotes to `now`, and sets `valued` if the book is to be returned. Returns the number of new quotes.
    fn refresh(&mut self, market: &SimMarket, place: usize, now: Timestamp, decay: &Decay) -> usize {
        let at = market.instant(now);
        let (quotes, changed) = match &mut self.book {
            Some(book) => {
                let updated = market.update(book, now);
                (updated.quotes, updated.slices > 0)
            }
            none => {
                *none = market.book(place, now);
                (none.as_ref().map_or(0, Book::rows), true)
            }
        };
        if changed || self.is_due(at, decay) {
            self.valued = Some(at);
        }
        quotes
    }
}

impl SimFeed {
    /// Opens the market of the session of `now`.
    #[must_use]
    pub fn open(options: SimOptions, now: Timestamp, rates: RatesMode) -> Self {
        let market = Box::new(SimMarket::open(&options, now));
        let places = market.underlyings().enumerate().map(|(i, name)| (name, i)).collect();
        let names = vec![SimName::default(); market.len()];
        let reference = ReferenceData {
            calendar: Calendar::embedded(),
            rates: match rates {
                RatesMode::Auto => RateTable::of(RateSource::Simulated, DiscountCurves::new(&market.rates())),
                RatesMode::Zero => RateTable::zero(),
            },
        };
        let (progress, decay) = (FeedProgress::default(), Decay::default());
        Self { options, rates, market, places, names, polled: None, reference, progress, decay }
    }
}

impl Feed for SimFeed {
    fn is_simulated(&self) -> bool {
        true
    }

    fn poll(&mut self, moment: &Moment<'_>) -> Vec<Symbol> {
        if !self.market.covers(moment.now) {
            // cheap at any size, since names are listed and quoted on demand
            *self = Self { progress: self.progress, ..Self::open(self.options, moment.now, self.rates) };
        }
        let at = self.market.instant(moment.now);
        if self.polled == Some(at) && self.names.iter().all(|name| name.book.is_some()) {
            return Vec::new();
        }
        self.polled = Some(at);
        self.market.underlyings().collect()
    }

    fn changed(&mut self, _: &Moment<'_>) -> Vec<Symbol> {
        Vec::new()
    }

    fn names(&self) -> BTreeSet<Symbol> {
        self.places.keys().copied().collect()
    }

    fn contracts(&self, name: Symbol, now: Timestamp) -> usize {
        // listing a name takes time, and the market keeps the list
        let listed = self.places.get(&name).and_then(|&place| self.market.listed(place, now));
        listed.map_or(0, |book| book.rows())
    }

    fn pays_dividends(&self, name: Symbol) -> bool {
        self.places.get(&name).is_some_and(|&place| self.market.pays(place))
    }

    fn requeue(&mut self, names: &[Symbol]) {
        for place in names.iter().filter_map(|name| self.places.get(name)) {
            self.names[*place].valued = None;
        }
    }

    fn books<'a>(&'a mut self, names: &[Symbol], now: Timestamp, passes: &Passes) -> Vec<(&'a Book, Timestamp)> {
        let (market, decay) = (&*self.market, &self.decay);
        let mut wanted = vec![false; self.names.len()];
        names.iter().filter_map(|name| self.places.get(name)).for_each(|&place| wanted[place] = true);
        let work = self.names.iter_mut().enumerate().filter(|&(place, _)| wanted[place]);
        let quotes = passes.map(work, |(place, name)| name.refresh(market, place, now, decay));
        self.progress.records += quotes.iter().sum::<usize>() as u64;
        let at = market.instant(now);
        let due = self.names.iter().zip(wanted).filter(|(name, wanted)| *wanted && name.valued == Some(at));
        due.filter_map(|(name, _)| Some((name.book.as_ref()?, at))).collect()
    }

    fn reference(&self) -> &ReferenceData {
        &self.reference
    }

    fn book_bytes(&self) -> usize {
        self.names.iter().filter_map(|name| name.book.as_ref()).map(Book::bytes).sum()
    }

    fn progress(&self) -> FeedProgress {
        self.progress
    }
}
