//! Listings of a session: the names of a universe with their dividends, earnings, expiries and strikes.
//! Never: a quote, a clock.

use super::beat::Clock;
use super::carry;
use super::dirt::Dirt;
use super::ladder::StrikeRange;
use super::path::Path;
use super::quotes::Trading;
use super::rng::Stream;
use super::series::{Interest, Listing, Series, Session, Shared};
use super::strikes::StrikeCount;
use super::surface::{Class, Term};
use super::symbols::{Name, Root};
use super::tier::Tier;
use engine::rates::curve::DiscountCurves;
use jiff::civil::Date;
use kernel::calendar::shift::ShiftDate;
use kernel::calendar::{Calendar, VarianceClock};
use kernel::contract::{RootTable, Settle, Symbol};
use std::sync::Arc;

/// Entries of a name's stream of chance.
const CHANCE_DIVIDENDS: u64 = 10;
const CHANCE_EARNINGS: u64 = 11;
const CHANCE_CYCLE: u64 = 12;
const CHANCE_CLOCK: u64 = 13;
const CHANCE_DIRT: u64 = 14;
/// Quotes a second of the busiest name; the n-th has 1/n of it (Zipf's law).
const BUSIEST: f64 = 2_500.0;
/// Fraction of the spot that the dividends before an expiry must stay below; other expiries are not listed.
const DIVIDENDS_MOST: f64 = 0.6;
/// Months ahead for which earnings are known.
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

/// Inputs of the listings of a session.
#[derive(Debug)]
pub(super) struct Lister {
    pub(super) seed: Stream,
    pub(super) calendar: Calendar,
    pub(super) date: Date,
    pub(super) session: Session,
    pub(super) curves: Arc<DiscountCurves>,
    pub(super) roots: RootTable,
    /// True if some names are dirty.
    pub(super) dirty: bool,
    /// True if variance runs by the variance clock.
    pub(super) by_variance: bool,
}

impl Lister {
    /// Lists a name that has a path. Roots whose symbol is no ticker are left out.
    pub(super) fn list(&self, name: &Name, symbol: Symbol, path: Path) -> Listed {
        let chance = self.seed.named(&name.symbol);
        let level = path.level();
        let dividends = carry::dividends(&name.payout, level, &self.calendar, self.date, chance.sub(CHANCE_DIVIDENDS));
        let ex = |&(date, amount): &(Date, f64)| (self.calendar.ex_instant(date).as_second(), amount);
        let shared = Shared {
            path,
            term: Term::new(name.class, name.vol, name.tilt),
            trading: Trading::of(name.tier, name.ticks),
            clock: Clock { open: self.session.open, offset: (chance.bits(CHANCE_CLOCK) % 1024) as i64 },
            curves: Arc::clone(&self.curves),
            date: self.date,
            session: self.session,
            dividends: dividends.iter().map(ex).collect(),
            earnings: self.earnings(name.earnings, chance.sub(CHANCE_EARNINGS)),
            variance: self.by_variance.then(|| {
                let share = VarianceClock::share_of_market_events(symbol, self.roots.is_index(symbol));
                (self.calendar.variance().clone(), share)
            }),
            dirt: if self.dirty { Dirt::of(chance.sub(CHANCE_DIRT), name.tier) } else { None },
        };
        let mut series = Vec::new();
        for root in &name.roots {
            series.extend(self.list_root(name, root, &shared, symbol));
        }
        series.sort_by_key(|s| (s.listing.expiry, s.listing.facts.settle, s.listing.facts.root));
        self.set_beats(name, &shared, &mut series);
        Listed { symbol, dividends, shared, series }
    }

    fn set_beats(&self, name: &Name, shared: &Shared, series: &mut [Series]) {
        let opening = shared.moment(self.session.open);
        let interest: Vec<Vec<Interest>> = series.iter().map(|s| s.interest(shared, opening)).collect();
        let vega: f64 = interest.iter().flatten().map(|i| f64::from(i.vega)).sum();
        let quotes = if name.rank == 0 { 0.0 } else { BUSIEST / f64::from(name.rank) };
        for (series, interest) in series.iter_mut().zip(&interest) {
            series.set_beats(interest, quotes / vega.max(1e-9));
        }
    }

    /// The expiries of a root that still trade, up to those that dividends would eat the spot before.
    fn list_root(&self, name: &Name, root: &Root, shared: &Shared, underlying: Symbol) -> Vec<Series> {
        let Some(symbol) = Symbol::parse(&root.symbol) else { return Vec::new() };
        let chance = self.seed.named(&name.symbol);
        let facts = self.roots.facts(symbol, underlying);
        let cycle_month = (chance.unit(CHANCE_CYCLE) * 3.0) as u8 + 1;
        let spot = shared.path.spot(self.session.open);
        let listing = |expiry: Date| {
            let settles_at = self.calendar.settlement(expiry, facts.settle);
            let borrow = carry::borrow(name.borrow, self.years(settles_at.as_second()));
            let chance = chance.named(&root.symbol).sub(carry::day_number(expiry) as u64);
            Listing { facts, expiry, settles_at, extra: root.extra, borrow, chance }
        };
        let keeps_worth = |l: &Listing| {
            let due = shared.dividends.iter().filter(|d| d.0 > self.session.open && d.0 <= l.settles_at.as_second());
            due.map(|d| d.1).sum::<f64>() < DIVIDENDS_MOST * spot
        };
        let dates = root.ladder.expirations(&self.calendar, self.date, cycle_month).into_iter();
        let trading = dates.map(listing).filter(|l| self.session.lists(l.settles_at.as_second()) && keeps_worth(l));
        trading.map(|l| Series::new(l, &self.strikes(name, root, shared, &l, spot))).collect()
    }

    fn strikes(&self, name: &Name, root: &Root, shared: &Shared, listing: &Listing, spot: f64) -> Vec<u32> {
        let t = self.years(listing.settles_at.as_second());
        let sigma = shared.term.smile(t, 0.0, 1.0).sigma(0.0);
        if root.strikes > 0.0 {
            let months_ago = 1.0 + 11.0 * listing.chance.unit(20);
            let past = shared.path.spot(self.session.open - (months_ago * 30.4 * 86_400.0) as i64);
            let monthly = listing.expiry == self.calendar.monthly_expiry(listing.expiry);
            let count = StrikeCount { tier: name.tier, mean: root.strikes, monthly, spot, past, t, sigma };
            return count.strikes(listing.chance);
        }
        let range = StrikeRange {
            tier: name.tier,
            spot,
            t,
            sigma,
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
        let first = self.date.first_of_month().plus_months(-3);
        let months = (0..EARNINGS_MONTHS).map(|n| first.plus_months(n));
        let quarters = months.filter(|m| m.month() % 3 == 1);
        let dates = quarters.map(|m| self.calendar.session_on_or_after(m.plus_days(day)));
        dates.map(|d| (self.calendar.settlement(d, Settle::Pm).as_second() + 1, vol * vol)).collect()
    }
}
