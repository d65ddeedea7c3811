//! Where books come from: a feed specification, and the books that it fills. Never: a computation, a thread, a clock.

use engine::calendar::Calendar;
use engine::contract::{RootTable, Symbol};
use engine::error::{FeedError, Reason};
use engine::feeds::dir::DirFeed;
use engine::feeds::report::Report;
use engine::pass::{Market, Passes};
use engine::store::book::Book;
use engine::store::ingest::Store;
use engine::store::rates::Curves;
use jiff::{SignedDuration, Timestamp};
use sim::{SimMarket, SimOptions};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// A feed as the user names it.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedSpec {
    /// The embedded market.
    Sim(SimOptions),
    /// A market folder, or one chain file.
    Dir(PathBuf),
}

impl FeedSpec {
    /// Reads `sim`, `sim:OPTIONS` (`sim:full`) or `dir:PATH`.
    ///
    /// # Errors
    /// What is wrong, for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "sim" => Ok(Self::Sim(SimOptions::default())),
            Some(("sim", options)) => {
                SimOptions::parse(options).map(Self::Sim).map_err(|e| format!("feed {text}: {e}"))
            }
            Some(("dir", path)) if !path.is_empty() => Ok(Self::Dir(PathBuf::from(path))),
            _ => Err(format!("feed {text}: want sim, sim:full, sim:seed=N or dir:PATH")),
        }
    }

    /// Whether the market is made up.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        matches!(self, Self::Sim(_))
    }
}

/// What a source has delivered so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Quotes and spots.
    pub records: u64,
    /// Of these: refused, by [`Reason`].
    pub refused: [u64; Reason::ALL.len()],
}

/// The books of a feed.
pub struct Source {
    calendar: Calendar,
    curves: Curves,
    kind: Kind,
    received: Received,
    /// Contracts are valued at this instant, whatever their own time.
    fixed: Option<Timestamp>,
}

enum Kind {
    Sim { options: SimOptions, market: Box<SimMarket>, books: Vec<Simulated>, shown: Option<Timestamp> },
    Dir { feed: DirFeed, store: Box<Store> },
}

/// One name of the simulated market.
#[derive(Clone, Default)]
struct Simulated {
    /// Its quotes, from the first time on that they are asked for.
    book: Option<Book>,
    /// The instant that it was last handed out for.
    valued: Option<Timestamp>,
}

impl Simulated {
    /// Whether a name without a new quote is due all the same: values decay.
    fn is_due(&self, at: Timestamp) -> bool {
        let (Some(book), Some(valued)) = (&self.book, self.valued) else { return true };
        let live = book.slices.iter().map(|s| s.settles_at).filter(|&settles| settles > valued);
        let nearest = live.min().map_or(DECAYED, |settles| settles.duration_since(valued) / DECAYED_PART);
        at.duration_since(valued) >= nearest.min(DECAYED)
    }
}

/// A chain without a new quote or spot is valued again after this long, and after this part of the time to its next
/// settlement.
const DECAYED: SignedDuration = SignedDuration::from_secs(60);
const DECAYED_PART: i32 = 1000;
/// Places of refused rows, and files that cannot be used, that one poll names in the log; the others are counted.
const PLACES_TOLD: usize = 20;

impl Source {
    /// Opens a feed; nothing is read yet but what tells that it is there. `fixed` is the instant of a clock that stands
    /// still.
    ///
    /// # Errors
    /// The folder or file is not there.
    pub fn open(spec: &FeedSpec, now: Timestamp, fixed: Option<Timestamp>) -> Result<Self, FeedError> {
        let calendar = Calendar::embedded();
        let received = Received::default();
        match spec {
            FeedSpec::Sim(options) => {
                let (market, curves) = begin(options, now);
                let books = vec![Simulated::default(); market.len()];
                let kind = Kind::Sim { options: *options, market, books, shown: None };
                Ok(Self { calendar, curves, kind, received, fixed })
            }
            FeedSpec::Dir(path) => {
                let feed = DirFeed::open(path)?;
                let store = Box::new(Store::new(RootTable::embedded(), calendar.clone()));
                Ok(Self { calendar, curves: Curves::default(), kind: Kind::Dir { feed, store }, received, fixed })
            }
        }
    }

    /// Takes in what is new, and says which underlyings have something stale. `elapsed` is the time since some fixed
    /// moment, by a clock that is never set. Every complaint of the feed goes to `log`.
    pub fn poll(&mut self, now: Timestamp, elapsed: Duration, log: &dyn Fn(&str)) -> Vec<Symbol> {
        match &mut self.kind {
            Kind::Sim { options, market, books, shown } => {
                if !market.covers(now) {
                    (*market, self.curves) = begin(options, now);
                    *books = vec![Simulated::default(); market.len()];
                    *shown = None;
                }
                if *shown == Some(market.instant(now)) && books.iter().all(|name| name.book.is_some()) {
                    return Vec::new();
                }
                *shown = Some(market.instant(now));
                market.underlyings().collect()
            }
            Kind::Dir { feed, store } => {
                match feed.poll(elapsed) {
                    Ok(Some((batch, report))) => {
                        tell(&report, log);
                        let ingested = store.ingest(&batch);
                        store.expire(self.fixed);
                        self.curves = store.curves().clone();
                        self.calendar = store.calendar().clone();
                        self.received.records += report.records;
                        for (i, n) in self.received.refused.iter_mut().enumerate() {
                            *n += report.refused[i] + ingested.refused[i];
                        }
                    }
                    Ok(None) => {}
                    Err(error) => log(&error.to_string()),
                }
                let stale = store.books().iter().filter(|b| b.slices.iter().any(|s| s.stale));
                stale.map(|b| b.underlying).collect()
            }
        }
    }

    /// What has changed since the last poll, while a pass is at work: nothing where the market moves by the clock.
    pub fn changed(&mut self, now: Timestamp, elapsed: Duration, log: &dyn Fn(&str)) -> Vec<Symbol> {
        match &self.kind {
            Kind::Sim { .. } => Vec::new(),
            Kind::Dir { .. } => self.poll(now, elapsed, log),
        }
    }

    /// Whether something has changed that is not taken in yet, because it may not be whole: a poll should come soon.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        match &self.kind {
            Kind::Sim { .. } => false,
            Kind::Dir { feed, .. } => feed.is_waiting(),
        }
    }

    /// How many files of the feed cannot be used as they are.
    #[must_use]
    pub fn files_unusable(&self) -> usize {
        match &self.kind {
            Kind::Sim { .. } => 0,
            Kind::Dir { feed, .. } => feed.unusable(),
        }
    }

    /// Every underlying that can have a chain: one that a live contract is listed of. Whether it can be computed is told by
    /// its chain.
    #[must_use]
    pub fn underlyings(&self) -> BTreeSet<Symbol> {
        match &self.kind {
            Kind::Sim { market, .. } => market.underlyings().collect(),
            Kind::Dir { store, .. } => {
                store.books().iter().filter(|b| !b.slices.is_empty()).map(|b| b.underlying).collect()
            }
        }
    }

    /// Sorts underlyings so that those without dividends, which are computed soonest, come first.
    pub fn soonest_first(&self, names: &mut [Symbol]) {
        let payers: BTreeSet<Symbol> = match &self.kind {
            Kind::Sim { market, .. } => {
                market.underlyings().enumerate().filter(|(i, _)| market.pays(*i)).map(|(_, name)| name).collect()
            }
            Kind::Dir { store, .. } => {
                store.books().iter().filter(|b| !b.dividends.is_empty()).map(|b| b.underlying).collect()
            }
        };
        names.sort_by_key(|name| payers.contains(name));
    }

    /// Whether some underlyings have more contracts than `most` between them.
    #[must_use]
    pub fn exceeds(&self, names: &[Symbol], now: Timestamp, most: usize) -> bool {
        let mut sum = 0;
        let mut exceeds = |contracts: usize| {
            sum += contracts;
            sum > most
        };
        let names: BTreeSet<Symbol> = names.iter().copied().collect();
        match &self.kind {
            Kind::Sim { market, .. } => {
                let wanted = market.underlyings().enumerate().filter(|(_, name)| names.contains(name));
                // listing a name is work that is kept; not all of them have to be
                wanted.filter_map(|(i, _)| market.listed(i, now)).any(|book| exceeds(book.rows()))
            }
            Kind::Dir { store, .. } => {
                store.books().iter().filter(|b| names.contains(&b.underlying)).any(|book| exceeds(book.rows()))
            }
        }
    }

    /// Makes [`Source::books`] hand out some underlyings the next time, whether they have anything new or not.
    pub fn recall(&mut self, names: &[Symbol]) {
        if let Kind::Sim { market, books, .. } = &mut self.kind {
            let names: BTreeSet<Symbol> = names.iter().copied().collect();
            let places = market.underlyings().zip(books);
            places.filter(|(name, _)| names.contains(name)).for_each(|(_, name)| name.valued = None);
        }
    }

    /// Brings the books of some underlyings to the instant `now`, on the threads of the passes, and returns them with
    /// the instant at which each is to be valued. They count as fresh from here on. Those that have nothing new since
    /// they were last handed out are left out.
    pub fn books<'a>(&'a mut self, names: &[Symbol], now: Timestamp, passes: &Passes) -> Vec<(&'a Book, Timestamp)> {
        match &mut self.kind {
            Kind::Sim { market, books, .. } => {
                let market = &*market;
                let names: BTreeSet<Symbol> = names.iter().copied().collect();
                let wanted: Vec<bool> = market.underlyings().map(|u| names.contains(&u)).collect();
                let at = market.instant(now);
                let work = books.iter_mut().enumerate().filter(|(i, _)| wanted[*i]);
                let quotes = passes.map(work, |(i, name)| {
                    let (quotes, changed) = match &mut name.book {
                        Some(book) => {
                            let updated = market.update(book, now);
                            (updated.quotes, updated.slices > 0)
                        }
                        none => {
                            *none = market.book(i, now);
                            (none.as_ref().map_or(0, Book::rows), true)
                        }
                    };
                    if changed || name.is_due(at) {
                        name.valued = Some(at);
                    }
                    quotes
                });
                self.received.records += quotes.iter().sum::<usize>() as u64;
                let due = books.iter().zip(wanted).filter(|(name, wanted)| *wanted && name.valued == Some(at));
                due.filter_map(|(name, _)| Some((name.book.as_ref()?, at))).collect()
            }
            Kind::Dir { store, .. } => {
                let is_wanted = |b: &&mut Book| names.contains(&b.underlying);
                for book in store.books_mut().iter_mut().filter(is_wanted) {
                    book.slices.iter_mut().for_each(|s| s.stale = false);
                }
                let fixed = self.fixed;
                let wanted = store.books().iter().filter(|b| names.contains(&b.underlying));
                wanted.map(|b| (b, fixed.unwrap_or(b.ts))).collect()
            }
        }
    }

    /// How many names of a simulated market have their quotes, and how many there are; `None` for other feeds.
    #[must_use]
    pub fn simulated(&self) -> Option<(usize, usize)> {
        match &self.kind {
            Kind::Sim { books, .. } => Some((made(books), books.len())),
            Kind::Dir { .. } => None,
        }
    }

    /// Calendar and discount curves of the feed.
    #[must_use]
    pub fn market(&self) -> (Calendar, Curves) {
        (self.calendar.clone(), self.curves.clone())
    }

    /// What was delivered so far.
    #[must_use]
    pub fn received(&self) -> Received {
        self.received
    }
}

/// What could not be used of a poll: the first places and files, and how many more there are.
fn tell(report: &Report, log: &dyn Fn(&str)) {
    report.places.iter().take(PLACES_TOLD).for_each(|place| log(&format!("refused: {place}")));
    let rows = report.refused_total().saturating_sub(report.places.len().min(PLACES_TOLD) as u64);
    if rows > 0 {
        log(&format!("refused: {rows} more rows"));
    }
    report.errors.iter().take(PLACES_TOLD).for_each(|error| log(&error.to_string()));
    let files = report.errors.len().saturating_sub(PLACES_TOLD);
    if files > 0 {
        log(&format!("{files} more files cannot be used"));
    }
}

/// How many names have their quotes.
fn made(books: &[Simulated]) -> usize {
    books.iter().filter(|name| name.book.is_some()).count()
}

/// The simulated market of the session of `now`, and its discount curve. Cheap at any size: names are listed and quoted
/// when their books are asked for, on the threads of the passes.
fn begin(options: &SimOptions, now: Timestamp) -> (Box<SimMarket>, Curves) {
    let market = Box::new(SimMarket::open(options, now));
    let curves = Curves::new(&market.rates());
    (market, curves)
}

/// Calendar and curves, borrowed for a pass.
#[must_use]
pub fn borrowed<'a>((calendar, curves): &'a (Calendar, Curves)) -> Market<'a> {
    Market { calendar, curves }
}
