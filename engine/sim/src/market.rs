//! The synthetic market of one session: names, books, updates and the truth behind them.

use super::carry;
use super::dirt::{Dirt, SpotFault};
use super::listing::{Listed, Lister};
use super::path::Path;
use super::quotes::Fault;
use super::rng::Stream;
use super::series::{Moments, Series, Session};
use super::symbols::{Name, well_known};
use super::universe;
use super::value::SliceTruth;
use super::{SimOptions, Size};
use engine::rates::curve::DiscountCurves;
use engine::store::book::{Book, BookSlice};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use kernel::records::{DividendRecord, RateRecord};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The synthetic market as of one session. Its methods take any instant of that session ([`SimMarket::covers`]), give
/// the same answer to the same question whatever was asked before, and may be called from many threads at once. A
/// name's contracts are listed when they are first asked for.
#[derive(Debug)]
pub struct SimMarket {
    lister: Lister,
    rates: Vec<RateRecord>,
    /// Names by symbol.
    names: Vec<Planned>,
}

/// A name that is or will be listed.
#[derive(Debug)]
struct Planned {
    symbol: Symbol,
    name: Name,
    path: Path,
    listed: OnceLock<Listed>,
}

/// Changes by an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Contracts quoted again.
    pub quotes: usize,
    /// Slices with a new quote or a new spot: those that are marked stale.
    pub slices: usize,
}

impl SimMarket {
    /// The market that the options ask for, at the session of an instant. Cheap: nothing is listed yet.
    #[must_use]
    pub fn open(options: &SimOptions, now: Timestamp) -> Self {
        match options.size {
            Size::WellKnown => Self::at(options.seed, now),
            Size::Full(scale) => Self::full(options.seed, scale, now, 1.0),
        }
    }

    /// The well-known names at the session of an instant.
    #[must_use]
    pub fn at(seed: u64, now: Timestamp) -> Self {
        Self::with_universe(seed, now, &well_known())
    }

    /// A `share` of the names of the whole market, the same of every tier; one in twenty is dirty. `scale`: how many
    /// contracts there are, 1 for 1.6 million.
    #[must_use]
    pub fn full(seed: u64, scale: f64, now: Timestamp, share: f64) -> Self {
        let names = universe::names(seed, scale);
        let mut seen = BTreeMap::new();
        let chosen = |name: &&Name| {
            let n: &mut u32 = seen.entry(name.tier as u8).or_default();
            *n += 1;
            (f64::from(*n) * share).floor() > (f64::from(*n - 1) * share).floor()
        };
        let chosen: Vec<Name> = names.iter().filter(chosen).cloned().collect();
        Self::planned(seed, now, chosen, &names, true)
    }

    /// Any names at the session of an instant. Names whose symbol is no ticker, and names that follow one that is not
    /// there, are left out.
    #[must_use]
    pub fn with_universe(seed: u64, now: Timestamp, universe: &[Name]) -> Self {
        Self::planned(seed, now, universe.to_vec(), universe, false)
    }

    fn planned(seed: u64, now: Timestamp, names: Vec<Name>, leaders: &[Name], dirty: bool) -> Self {
        let calendar = Calendar::embedded();
        let at = calendar.last_session_instant(now);
        let date = calendar.eastern(at).date();
        let (open, close) = calendar.session(date).unwrap_or((at, at));
        let session = Session { open: open.as_second(), close: close.as_second(), running: calendar.is_open(now) };
        let rates = carry::rates(date);
        let (seed, curves) = (Stream::new(seed), Arc::new(DiscountCurves::new(&rates)));
        let plan = |name: Name| {
            let symbol = Symbol::parse(&name.symbol)?;
            let path = Path::new(seed, &name, leaders)?;
            Some(Planned { symbol, name, path, listed: OnceLock::new() })
        };
        let mut names: Vec<Planned> = names.into_iter().filter_map(plan).collect();
        names.sort_by_key(|n| n.symbol);
        let lister =
            Lister { seed, calendar, date, session, curves, roots: RootTable::embedded(), dirty, by_variance: false };
        Self { lister, rates, names }
    }

    /// Makes variance run by the variance clock instead of calendar time; to be called before a name is listed.
    #[must_use]
    pub fn in_variance_time(mut self) -> Self {
        self.lister.by_variance = true;
        self
    }

    /// The name at a place, listed.
    fn name(&self, i: usize) -> Option<&Listed> {
        let Planned { symbol, name, path, listed } = self.names.get(i)?;
        Some(listed.get_or_init(|| self.lister.list(name, *symbol, *path)))
    }

    /// Every name, listed.
    fn all(&self) -> impl Iterator<Item = &Listed> {
        (0..self.names.len()).filter_map(|i| self.name(i))
    }

    /// True if the contract list still holds at an instant: a new session, or the end of one, needs a new market.
    #[must_use]
    pub fn covers(&self, now: Timestamp) -> bool {
        let Lister { calendar, date, session, .. } = &self.lister;
        let at = calendar.last_session_instant(now);
        calendar.eastern(at).date() == *date && calendar.is_open(now) == session.running
    }

    /// The instant that the market shows at `now`: whole seconds of the session, its close outside.
    #[must_use]
    pub fn instant(&self, now: Timestamp) -> Timestamp {
        Timestamp::from_second(self.second(now)).unwrap_or(now)
    }

    fn second(&self, now: Timestamp) -> i64 {
        now.as_second().clamp(self.lister.session.open, self.lister.session.last())
    }

    /// The part of the session that has passed at `now`, 0 to 1.
    pub(crate) fn part_of_session(&self, now: Timestamp) -> f64 {
        let Session { open, close, .. } = self.lister.session;
        (self.second(now) - open) as f64 / (close - open).max(1) as f64
    }

    /// Number of underlyings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The underlyings, ascending; their places are the `i` of the other methods.
    pub fn underlyings(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.names.iter().map(|n| n.symbol)
    }

    /// True if underlying `i` pays dividends; listing it is not needed to know.
    #[must_use]
    pub fn pays(&self, i: usize) -> bool {
        self.names.get(i).is_some_and(|n| n.name.payout.yield_ > 0.0 || n.name.payout.special > 0.0)
    }

    /// Number of listed contracts; lists all names.
    #[must_use]
    pub fn contracts(&self) -> usize {
        self.all().flat_map(|n| &n.series).map(|s| s.right.len()).sum()
    }

    /// The points of the discount curve of the session.
    #[must_use]
    pub fn rates(&self) -> Vec<RateRecord> {
        self.rates.clone()
    }

    /// Every dividend, past and to come, by underlying and ex-date; lists all names.
    #[must_use]
    pub fn dividends(&self) -> Vec<DividendRecord> {
        let of = |n: &Listed| {
            let underlying = n.symbol;
            n.dividends
                .iter()
                .map(move |&(ex_date, amount)| DividendRecord { underlying, ex_date, amount, projected: false })
                .collect::<Vec<_>>()
        };
        self.all().flat_map(of).collect()
    }

    /// The listed contracts of underlying `i` at an instant, without quotes: cheap. `None` beyond the last underlying.
    #[must_use]
    pub fn listed(&self, i: usize, now: Timestamp) -> Option<Book> {
        let name = self.name(i)?;
        Some(Book {
            underlying: name.symbol,
            spot: name.shared.spot_published(self.second(now)),
            ts: self.instant(now),
            dividends: name.dividends.clone(),
            projected_from: None,
            dividends_known: true,
            slices: name.series.iter().map(Series::empty_slice).collect(),
        })
    }

    /// The book of underlying `i` at an instant; `None` beyond the last. The costly part of the feed: to be called for
    /// many names at once, on any threads.
    #[must_use]
    pub fn book(&self, i: usize, now: Timestamp) -> Option<Book> {
        let mut book = self.listed(i, now)?;
        self.quote(self.name(i)?, &mut book, None, now);
        Some(book)
    }

    /// Moves a book that came from [`SimMarket::book`] to a later instant: the spot, and the quotes that are due. The
    /// book then equals a fresh one of that instant, but for stale marks: those say which slices have a quote or a spot
    /// that they did not have before the call. A book that is not of this market is left as it is.
    pub fn update(&self, book: &mut Book, now: Timestamp) -> Updated {
        let place = self.names.binary_search_by_key(&book.underlying, |n| n.symbol);
        let Some(name) = place.ok().and_then(|i| self.name(i)) else { return Updated::default() };
        let same = |(slice, series): (&BookSlice, &Series)| *slice.strike_milli == *series.strike_milli;
        if book.slices.len() != name.series.len() || !book.slices.iter().zip(&name.series).all(same) {
            return Updated::default();
        }
        self.quote(name, book, Some(book.ts.as_second()), now)
    }

    fn quote(&self, name: &Listed, book: &mut Book, before: Option<i64>, now: Timestamp) -> Updated {
        let u = self.second(now);
        let spot = name.shared.spot_published(u);
        let moved = before.is_none() || spot.to_bits() != book.spot.to_bits();
        (book.spot, book.ts) = (spot, self.instant(now));
        let moments = &mut Moments::of(&name.shared);
        let mut updated = Updated::default();
        for (series, slice) in name.series.iter().zip(&mut book.slices) {
            let quotes = series.quote(moments, slice, before, u);
            slice.stale = moved || quotes > 0;
            updated.quotes += quotes;
            updated.slices += usize::from(slice.stale);
        }
        updated
    }

    /// Earnings of underlying `i` after an instant: from when on prices have them, and the total variance that they
    /// add.
    #[must_use]
    pub fn earnings(&self, i: usize, now: Timestamp) -> Vec<(Timestamp, f64)> {
        let all = self.name(i).map_or(&[][..], |name| &name.shared.earnings);
        let second = |&(at, variance): &(i64, f64)| Some((Timestamp::from_second(at).ok()?, variance));
        all.iter().filter_map(second).filter(|&(at, _)| at > now).collect()
    }

    /// True if underlying `i` has bad data in the mass, for good.
    #[must_use]
    pub fn is_dirty(&self, i: usize) -> bool {
        self.name(i).is_some_and(|name| name.shared.dirt.is_some())
    }

    /// The intended fault of the spot of underlying `i`.
    #[must_use]
    pub fn spot_fault(&self, i: usize) -> Option<SpotFault> {
        self.name(i)?.shared.dirt.as_ref().and_then(Dirt::spot)
    }

    /// True market of a (root, expiry) at an instant; `None` if it is not listed.
    #[must_use]
    pub fn truth(&self, root: Symbol, expiry: Date, now: Timestamp) -> Option<SliceTruth> {
        let (name, series) = self.find(root, expiry)?;
        Some(series.truth(&name.shared, name.shared.moment(self.second(now))))
    }

    /// The true value of every contract of a (root, expiry) at an instant, in row order.
    #[must_use]
    pub fn values(&self, root: Symbol, expiry: Date, now: Timestamp) -> Option<Vec<f64>> {
        let (name, series) = self.find(root, expiry)?;
        Some(series.values(&name.shared, self.second(now)))
    }

    /// The intended fault of the quote of a row of a (root, expiry) at an instant.
    #[must_use]
    pub fn fault(&self, root: Symbol, expiry: Date, row: usize, now: Timestamp) -> Option<Fault> {
        let (name, series) = self.find(root, expiry)?;
        series.fault(&name.shared, row, self.second(now))
    }

    fn find(&self, root: Symbol, expiry: Date) -> Option<(&Listed, &Series)> {
        let has = |n: &Planned| n.name.roots.iter().any(|r| r.symbol == root.as_str());
        // nearly every root is spelled like its underlying
        let same = self.names.binary_search_by_key(&root, |n| n.symbol).ok().filter(|&i| has(&self.names[i]));
        let name = self.name(same.or_else(|| self.names.iter().position(has))?)?;
        let series = name.series.iter().find(|s| s.listing.facts.root == root && s.listing.expiry == expiry);
        Some((name, series?))
    }
}
