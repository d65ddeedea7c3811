//! What is listed at a session: the names of a universe with their dividends, earnings, expiries and strikes.
//! Never: a quote, a clock.

use super::carry;
use super::ladder::StrikeRange;
use super::path::Path;
use super::quotes::Trading;
use super::rng::Stream;
use super::series::{Listing, Series, Session, Shared};
use super::surface::{Class, Term};
use super::symbols::{Name, Root, Tier};
use crate::calendar::Calendar;
use crate::contract::{RootTable, Settle, Symbol};
use crate::store::rates::Curves;
use jiff::ToSpan;
use jiff::civil::Date;
use std::sync::Arc;

/// Entries of a name's stream of chance.
const CHANCE_DIVIDENDS: u64 = 10;
const CHANCE_EARNINGS: u64 = 11;
const CHANCE_CYCLE: u64 = 12;
/// How far ahead earnings are known.
const EARNINGS_MONTHS: i32 = 66;
/// From an expected absolute move to the volatility of a day: √(π/2).
const MOVE_TO_VOL: f64 = 1.25;

/// One underlying of a session.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) symbol: Symbol,
    pub(super) dividends: Vec<(Date, f64)>,
    pub(super) shared: Shared,
    /// In native order.
    pub(super) series: Vec<Series>,
}

/// Lists the names of a universe at a session.
pub(super) struct Lister<'a> {
    pub(super) seed: Stream,
    pub(super) calendar: &'a Calendar,
    pub(super) date: Date,
    pub(super) session: Session,
    pub(super) curves: Arc<Curves>,
    pub(super) roots: RootTable,
    pub(super) universe: &'a [Name],
}

impl Lister<'_> {
    /// Lists a name; `None` if a symbol of it is no ticker, or it follows a name that is not there.
    pub(super) fn list(&self, name: &Name) -> Option<Listed> {
        let symbol = Symbol::parse(&name.symbol)?;
        let chance = self.seed.named(&name.symbol);
        let path = Path::new(self.seed, name, self.universe)?;
        let level = path.level();
        let dividends = carry::dividends(&name.payout, level, self.calendar, self.date, chance.sub(CHANCE_DIVIDENDS));
        let ex = |&(date, amount): &(Date, f64)| (self.calendar.ex_instant(date).as_second(), amount);
        let shared = Shared {
            path,
            term: Term::new(name.class, name.vol),
            trading: Trading::of(name.tier, name.ticks),
            curves: Arc::clone(&self.curves),
            date: self.date,
            session: self.session,
            dividends: dividends.iter().map(ex).collect(),
            earnings: self.earnings(name.earnings, chance.sub(CHANCE_EARNINGS)),
        };
        let mut series = Vec::new();
        for root in &name.roots {
            series.extend(self.list_root(name, root, &shared, symbol)?);
        }
        series.sort_by_key(|s| (s.listing.expiry, s.listing.facts.settle, s.listing.facts.root));
        Some(Listed { symbol, dividends, shared, series })
    }

    /// The expiries of a root that still trade.
    fn list_root(&self, name: &Name, root: &Root, shared: &Shared, underlying: Symbol) -> Option<Vec<Series>> {
        let chance = self.seed.named(&name.symbol);
        let facts = self.roots.facts(Symbol::parse(&root.symbol)?, underlying);
        let cycle_month = (chance.unit(CHANCE_CYCLE) * 3.0) as u8 + 1;
        let dates = root.ladder.expirations(self.calendar, self.date, cycle_month).into_iter();
        let listing = |expiry: Date| {
            let settles_at = self.calendar.settlement(expiry, facts.settle);
            let borrow = carry::borrow(name.borrow, self.years(settles_at.as_second()));
            let chance = chance.named(&root.symbol).sub(carry::day_number(expiry) as u64);
            Listing { facts, expiry, settles_at, extra: root.extra, borrow, chance }
        };
        let trading = dates.map(listing).filter(|l| self.session.lists(l.settles_at.as_second()));
        Some(trading.map(|listing| Series::new(listing, &self.strikes(name, shared, &listing), shared)).collect())
    }

    fn strikes(&self, name: &Name, shared: &Shared, listing: &Listing) -> Vec<u32> {
        let t = self.years(listing.settles_at.as_second());
        let range = StrikeRange {
            tier: name.tier,
            spot: shared.path.spot(self.session.open),
            t,
            sigma: shared.term.smile(t, 0.0, 1.0).sigma(0.0),
            volatility_index: name.class == Class::Volatility,
            pays: name.payout.yield_ > 0.0 && name.tier != Tier::Index,
        };
        range.strikes(listing.chance)
    }

    /// Years from the opening.
    fn years(&self, second: i64) -> f64 {
        (second - self.session.open) as f64 / 86_400.0 / 365.0
    }

    /// Earnings dates, four a year after the close: (second, total variance that the date adds).
    fn earnings(&self, expected_move: f64, chance: Stream) -> Vec<(i64, f64)> {
        if expected_move <= 0.0 {
            return Vec::new();
        }
        let vol = MOVE_TO_VOL * expected_move;
        let day = 12 + (chance.unit(0) * 30.0) as i32;
        let first = self.date.first_of_month().saturating_sub(3.months());
        let months = (0..EARNINGS_MONTHS).map(|n| first.saturating_add(n.months()));
        let quarters = months.filter(|m| m.month() % 3 == 1);
        let dates = quarters.map(|m| self.calendar.session_on_or_after(m.saturating_add(day.days())));
        dates.map(|d| (self.calendar.settlement(d, Settle::Pm).as_second() + 1, vol * vol)).collect()
    }
}
