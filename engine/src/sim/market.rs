//! The synthetic market of one session: names, books, updates and the truth behind them.

use super::carry;
use super::listing::{Listed, Lister};
use super::quotes::Fault;
use super::rng::Stream;
use super::series::{Series, Session};
use super::symbols::{Name, well_known};
use super::value::SliceTruth;
use crate::calendar::Calendar;
use crate::contract::{RootTable, Symbol};
use crate::feeds::{DividendRecord, RateRecord};
use crate::store::book::{Book, BookSlice};
use crate::store::rates::Curves;
use jiff::Timestamp;
use jiff::civil::Date;
use std::sync::Arc;

/// The synthetic market as of one session. Its methods take any instant of that session ([`SimMarket::covers`]), give
/// the same answer to the same question whatever was asked before, and may be called from many threads at once.
#[derive(Debug)]
pub struct SimMarket {
    calendar: Calendar,
    date: Date,
    session: Session,
    rates: Vec<RateRecord>,
    names: Vec<Listed>,
}

impl SimMarket {
    /// The well-known names at the session of an instant.
    #[must_use]
    pub fn at(seed: u64, now: Timestamp) -> Self {
        Self::with_universe(seed, now, &well_known())
    }

    /// Any names at the session of an instant. Names whose symbol is no ticker, and
    /// those that follow a name that is not there, are left out.
    #[must_use]
    pub fn with_universe(seed: u64, now: Timestamp, universe: &[Name]) -> Self {
        let calendar = Calendar::embedded();
        let at = calendar.last_session_instant(now);
        let date = calendar.eastern(at).date();
        let (open, close) = calendar.session(date).unwrap_or((at, at));
        let session = Session { open: open.as_second(), close: close.as_second(), running: calendar.is_open(now) };
        let rates = carry::rates(date);
        let lister = Lister {
            seed: Stream::new(seed),
            calendar: &calendar,
            date,
            session,
            curves: Arc::new(Curves::new(&rates)),
            roots: RootTable::embedded(),
            universe,
        };
        let mut names: Vec<Listed> = universe.iter().filter_map(|name| lister.list(name)).collect();
        names.sort_by_key(|n| n.symbol);
        Self { calendar, date, session, rates, names }
    }

    /// Whether the contract list still holds at an instant: a new session, or the end of one, needs a new market.
    #[must_use]
    pub fn covers(&self, now: Timestamp) -> bool {
        let at = self.calendar.last_session_instant(now);
        self.calendar.eastern(at).date() == self.date && self.calendar.is_open(now) == self.session.running
    }

    /// The instant that the market shows at `now`: whole seconds of the session, its close outside.
    #[must_use]
    pub fn instant(&self, now: Timestamp) -> Timestamp {
        Timestamp::from_second(self.second(now)).unwrap_or(now)
    }

    fn second(&self, now: Timestamp) -> i64 {
        now.as_second().clamp(self.session.open, self.session.last())
    }

    /// How many underlyings there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The underlyings, ascending; their places are the `i` of the other methods.
    pub fn underlyings(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.names.iter().map(|n| n.symbol)
    }

    /// How many contracts are listed.
    #[must_use]
    pub fn contracts(&self) -> usize {
        self.names.iter().flat_map(|n| &n.series).map(|s| s.right.len()).sum()
    }

    /// The points of the discount curve of the session.
    #[must_use]
    pub fn rates(&self) -> Vec<RateRecord> {
        self.rates.clone()
    }

    /// Every dividend, past and to come, by underlying and ex-date.
    #[must_use]
    pub fn dividends(&self) -> Vec<DividendRecord> {
        let of = |n: &Listed| {
            let underlying = n.symbol;
            n.dividends
                .iter()
                .map(move |&(ex_date, amount)| DividendRecord { underlying, ex_date, amount })
                .collect::<Vec<_>>()
        };
        self.names.iter().flat_map(of).collect()
    }

    /// What is listed of underlying `i` at an instant, its quotes still missing: cheap. `None` beyond the last.
    #[must_use]
    pub fn listed(&self, i: usize, now: Timestamp) -> Option<Book> {
        let name = self.names.get(i)?;
        Some(Book {
            underlying: name.symbol,
            spot: name.shared.path.spot(self.second(now)),
            ts: self.instant(now),
            dividends: name.dividends.clone(),
            slices: name.series.iter().map(Series::empty_slice).collect(),
        })
    }

    /// The book of underlying `i` at an instant; `None` beyond the last. The costly part of the feed: to be called for many
    /// names at once, on any threads.
    #[must_use]
    pub fn book(&self, i: usize, now: Timestamp) -> Option<Book> {
        let mut book = self.listed(i, now)?;
        self.quote(&self.names[i], &mut book, None, now);
        Some(book)
    }

    /// Moves a book that came from [`SimMarket::book`] to a later instant: the spot, and the quotes that are due. Returns
    /// how many contracts were quoted anew; the book then equals a fresh one of that instant, but for stale marks. A book
    /// that is not of this market is left as it is.
    pub fn update(&self, book: &mut Book, now: Timestamp) -> usize {
        let Ok(i) = self.names.binary_search_by_key(&book.underlying, |n| n.symbol) else { return 0 };
        let name = &self.names[i];
        let same = |(slice, series): (&BookSlice, &Series)| slice.strike_milli == series.strike_milli;
        if book.slices.len() != name.series.len() || !book.slices.iter().zip(&name.series).all(same) {
            return 0;
        }
        self.quote(name, book, Some(book.ts.as_second()), now)
    }

    fn quote(&self, name: &Listed, book: &mut Book, before: Option<i64>, now: Timestamp) -> usize {
        let u = self.second(now);
        book.spot = name.shared.path.spot(u);
        book.ts = self.instant(now);
        let slices = name.series.iter().zip(&mut book.slices);
        slices.map(|(series, slice)| series.quote(&name.shared, slice, before, u)).sum()
    }

    /// What is true of a (root, expiry) at an instant; `None` where none is listed.
    #[must_use]
    pub fn truth(&self, root: Symbol, expiry: Date, now: Timestamp) -> Option<SliceTruth> {
        let (name, series) = self.find(root, expiry)?;
        Some(series.truth(&name.shared, self.second(now)))
    }

    /// The true value of every contract of a (root, expiry) at an instant, in row order.
    #[must_use]
    pub fn values(&self, root: Symbol, expiry: Date, now: Timestamp) -> Option<Vec<f64>> {
        let (name, series) = self.find(root, expiry)?;
        Some(series.values(&name.shared, self.second(now)))
    }

    /// What is wrong on purpose with the quote of a row of a (root, expiry) at an instant.
    #[must_use]
    pub fn fault(&self, root: Symbol, expiry: Date, row: usize, now: Timestamp) -> Option<Fault> {
        let (name, series) = self.find(root, expiry)?;
        series.fault(&name.shared, row, self.second(now))
    }

    fn find(&self, root: Symbol, expiry: Date) -> Option<(&Listed, &Series)> {
        let all = self.names.iter().flat_map(|n| n.series.iter().map(move |s| (n, s)));
        all.into_iter().find(|(_, s)| s.listing.facts.root == root && s.listing.expiry == expiry)
    }
}
