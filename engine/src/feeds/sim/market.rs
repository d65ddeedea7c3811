//! The synthetic market of one session: names, books, updates and the truth behind them.

use super::carry;
use super::ladder::StrikeRange;
use super::path::Path;
use super::quotes::{Fault, Trading};
use super::rng::Stream;
use super::series::{Listing, Series, Session, Shared};
use super::surface::{Class, Term};
use super::symbols::{Name, Root, Tier, well_known};
use super::value::SliceTruth;
use crate::calendar::Calendar;
use crate::contract::{RootTable, Symbol};
use crate::feeds::{DividendRecord, RateRecord};
use crate::store::book::Book;
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use std::sync::Arc;

/// Names whose contracts trade in cents, of the tiers that usually do not.
const MINI: [&str; 2] = ["XSP", "VIX"];

/// The synthetic market as of one session. Its methods take any instant of that session ([`SimMarket::covers`]), give
/// the same answer to the same question whatever was asked before, and may be called from many threads at once.
#[derive(Debug)]
pub struct SimMarket {
    seed: Stream,
    calendar: Calendar,
    date: Date,
    /// Whether the session was running: then the contracts that settle at its close are still listed.
    open: bool,
    session: Session,
    curve: Arc<[RateRecord]>,
    names: Vec<Listed>,
}

/// One underlying of the session.
#[derive(Debug)]
struct Listed {
    symbol: Symbol,
    dividends: Vec<(Date, f64)>,
    shared: Shared,
    series: Vec<Series>,
}

impl SimMarket {
    /// The well-known names at the session of an instant.
    #[must_use]
    pub fn at(seed: u64, now: Timestamp) -> Self {
        Self::with_universe(seed, now, &well_known())
    }

    /// Any names at the session of an instant. Names whose symbol is no ticker are left out.
    #[must_use]
    pub fn with_universe(seed: u64, now: Timestamp, universe: &[Name]) -> Self {
        let calendar = Calendar::embedded();
        let at = calendar.last_session_instant(now);
        let date = calendar.eastern(at).date();
        let (opening, close) = calendar.session(date).unwrap_or((at, at));
        let session = Session { open: opening.as_second(), close: close.as_second() };
        let open = calendar.is_open(now);
        let mut market = Self {
            seed: Stream::new(seed),
            calendar,
            date,
            open,
            session,
            curve: carry::curve(date).into(),
            names: Vec::new(),
        };
        let roots = RootTable::embedded();
        market.names = universe.iter().filter_map(|name| market.list(name, universe, &roots)).collect();
        market.names.sort_by_key(|n| n.symbol);
        market
    }

    /// Whether the contract list still holds at an instant: a new session, or the end of one, needs a new market.
    #[must_use]
    pub fn covers(&self, now: Timestamp) -> bool {
        let at = self.calendar.last_session_instant(now);
        self.calendar.eastern(at).date() == self.date && self.calendar.is_open(now) == self.open
    }

    /// The instant that the market shows at `now`: whole seconds of the session, its close outside.
    #[must_use]
    pub fn instant(&self, now: Timestamp) -> Timestamp {
        Timestamp::from_second(self.second(now)).unwrap_or(now)
    }

    fn second(&self, now: Timestamp) -> i64 {
        let last = if self.open { self.session.close - 1 } else { self.session.close };
        now.as_second().clamp(self.session.open, last)
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

    /// The discount curve of the session.
    #[must_use]
    pub fn rates(&self) -> Vec<RateRecord> {
        self.curve.to_vec()
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

    /// The book of underlying `i` at an instant; `None` beyond the last. The costly part of the feed: to be called for many
    /// names at once, on any threads.
    #[must_use]
    pub fn book(&self, i: usize, now: Timestamp) -> Option<Book> {
        let name = self.names.get(i)?;
        let mut book = Book {
            underlying: name.symbol,
            spot: f64::NAN,
            ts: Timestamp::UNIX_EPOCH,
            dividends: name.dividends.clone(),
            slices: name.series.iter().map(Series::empty_slice).collect(),
        };
        self.quote(name, &mut book, None, now);
        Some(book)
    }

    /// Moves a book that came from [`SimMarket::book`] to a later instant: the spot, and the quotes that are due. Returns
    /// how many contracts were quoted anew; the book then equals a fresh one of that instant, but for stale marks. A book
    /// that is not of this market is left as it is.
    pub fn update(&self, book: &mut Book, now: Timestamp) -> usize {
        let Ok(i) = self.names.binary_search_by_key(&book.underlying, |n| n.symbol) else { return 0 };
        let name = &self.names[i];
        let same =
            |(slice, series): (&crate::store::book::BookSlice, &Series)| slice.strike_milli == series.strike_milli;
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

    /// Lists a name at this session.
    fn list(&self, name: &Name, universe: &[Name], table: &RootTable) -> Option<Listed> {
        let symbol = Symbol::parse(&name.symbol)?;
        let chance = self.seed.named(&name.symbol);
        let path = Path::new(self.seed, name, universe);
        let dividends = carry::dividends(&name.payout, path.level(), &self.calendar, self.date, chance.sub(10));
        let ex = |&(date, amount): &(Date, f64)| (self.calendar.ex_instant(date).as_second(), amount);
        let shared = Shared {
            path,
            term: Term::new(name.class, name.vol),
            trading: Trading::of(
                name.tier,
                is_penny(name, chance),
                MINI.contains(&name.symbol.as_str()) || name.tier == Tier::Broad,
            ),
            curve: Arc::clone(&self.curve),
            session: self.session,
            dividends: dividends.iter().map(ex).collect(),
            earnings: self.earnings(name.earnings, chance.sub(11)),
        };
        let mut series = Vec::new();
        for root in &name.roots {
            self.list_root(name, root, symbol, &shared, table, &mut series)?;
        }
        series.sort_by_key(|s| (s.listing.expiry, s.listing.facts.settle, s.listing.facts.root));
        Some(Listed { symbol, dividends, shared, series })
    }

    /// Lists the expiries of a root that still trade.
    fn list_root(
        &self,
        name: &Name,
        root: &Root,
        underlying: Symbol,
        shared: &Shared,
        table: &RootTable,
        out: &mut Vec<Series>,
    ) -> Option<()> {
        let chance = self.seed.named(&name.symbol);
        let facts = table.facts(Symbol::parse(&root.symbol)?, underlying);
        let cycle_month = (chance.unit(12) * 3.0) as u8 + 1;
        let trades_at = if self.open { self.session.open } else { self.session.close };
        for expiry in root.ladder.expirations(&self.calendar, self.date, cycle_month) {
            let settles_at = self.calendar.settlement(expiry, facts.settle);
            let t = (settles_at.as_second() - self.session.open) as f64 / 86_400.0 / 365.0;
            if settles_at.as_second() <= trades_at {
                continue;
            }
            let chance = chance.named(&root.symbol).sub(carry::day_number(expiry) as u64);
            let borrow = carry::borrow(name.borrow, t);
            let listing = Listing { facts, expiry, settles_at, extra: root.extra, borrow, chance };
            let range = StrikeRange {
                tier: name.tier,
                spot: shared.path.spot(self.session.open),
                t,
                sigma: shared.term.smile(t, 0.0, 1.0).sigma(0.0),
                volatility_index: name.class == Class::Volatility,
            };
            out.push(Series::new(listing, &range.strikes(chance), shared));
        }
        Some(())
    }

    /// Earnings dates to come: four a year, after the close, with the total variance that each adds.
    fn earnings(&self, expected_move: f64, chance: Stream) -> Vec<(i64, f64)> {
        if expected_move <= 0.0 {
            return Vec::new();
        }
        let variance = (1.25 * expected_move) * (1.25 * expected_move);
        let day = 12 + (chance.unit(0) * 30.0) as i32;
        let first = self.date.first_of_month();
        let quarters = (0..40).map(|n| first.saturating_add(n.months())).filter(|m| m.month() % 3 == 1);
        let dates = quarters.map(|m| self.calendar.session_on_or_after(m.saturating_add(day.days())));
        let all = core::iter::once(self.last_report(day)).chain(dates);
        let close = |d: Date| self.calendar.settlement(d, crate::contract::Settle::Pm).as_second();
        all.map(|d| (close(d) + 1, variance)).collect()
    }

    /// The earnings date of the quarter that began before this month, where it began in an earlier one.
    fn last_report(&self, day: i32) -> Date {
        let month = self.date.first_of_month();
        let into_quarter = i32::from((month.month() - 1) % 3);
        let quarter = month.saturating_sub(if into_quarter == 0 { 3 } else { into_quarter }.months());
        self.calendar.session_on_or_after(quarter.saturating_add(day.days()))
    }
}

/// Whether a class is in the penny programme: the active ones are, half of the others.
fn is_penny(name: &Name, chance: Stream) -> bool {
    match name.tier {
        Tier::Broad | Tier::Mega | Tier::Weekly => true,
        Tier::Index => false,
        Tier::Monthly | Tier::Tail => chance.unit(13) < 0.5,
    }
}
