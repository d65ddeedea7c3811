//! Made-up quotes, each with one kind of bad data that was seen on the recorded market, and what must not come of it.
//! AAA: calls quoted above the spot. BBB: a stale far wing of one expiry beside good later ones. CCC: one stale pair on
//! the expiry day. DDD: stale calls dearer than those of lower strikes. BBC and CCD are BBB and CCC without the fault.

use crate::shape::{not_convex, not_monotone, rows, strike};
use engine::pass::{MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::{Book, BookSlice};
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use jiff::Timestamp;
use jiff::civil::{Date, date};
use kernel::calendar::{Calendar, years_between};
use kernel::contract::{ForwardBasis, Right, Settle, Style, Symbol};
use kernel::normal::norm_cdf;
use kernel::records::RateRecord;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const RATE: f64 = 0.0406;
/// The expiry day that the quotes are of, and the expiries after it.
const TODAY: Date = date(2026, 8, 21);
const E1: Date = date(2026, 9, 18);
const E2: Date = date(2026, 9, 25);
const E3: Date = date(2026, 10, 2);
const E4: Date = date(2026, 10, 16);
const E5: Date = date(2026, 12, 18);
/// The volatility of BBB's fourth expiry.
const FOURTH_VOL: f64 = 0.53;

/// How far a curve may be from a volatility that all its quotes agree on.
const VOL_ERROR_MOST: f64 = 0.01;
/// A borrow rate that no quote of these names hints at.
const BORROW_MOST: f64 = 0.5;
/// How far values may fall or rise the wrong way from strike to strike, currency per share.
const MONOTONE_SLACK: f64 = 0.005;

fn now() -> Timestamp {
    "2026-08-21T10:13:00-04:00".parse().unwrap()
}

fn settlement(expiry: Date) -> Timestamp {
    Calendar::embedded().settlement(expiry, Settle::Pm)
}

/// Black-76 on a forward without borrow.
fn value(right: Right, spot: f64, strike: f64, t: f64, vol: f64) -> f64 {
    let (fwd, sd, phi) = (spot * (RATE * t).exp(), vol * t.sqrt(), right.phi());
    let d1 = (fwd / strike).ln() / sd + 0.5 * sd;
    (-RATE * t).exp() * phi * (fwd * norm_cdf(phi * d1) - strike * norm_cdf(phi * (d1 - sd)))
}

fn cents(price: f64) -> f64 {
    (price * 100.0).round() / 100.0
}

/// `from` to `to`, both included.
fn ladder(from: f64, to: f64, step: f64) -> Vec<f64> {
    let last = ((to - from) / step) as u32;
    (0..=last).map(|i| from + step * f64::from(i)).collect()
}

/// A contract: expiry, strike in thousandths, right.
type Contract = (Date, u32, Right);

/// The quotes of one name.
#[derive(Clone)]
struct Name {
    spot: f64,
    quotes: BTreeMap<Contract, (f64, f64)>,
    /// Quotes that say nothing about the name.
    bad: BTreeSet<Contract>,
}

impl Name {
    fn new(spot: f64) -> Self {
        Self { spot, quotes: BTreeMap::new(), bad: BTreeSet::new() }
    }

    /// Calls and puts of one volatility; `half`: the half-spread as a part of the value, at least two cents.
    fn quoted(mut self, expiry: Date, strikes: &[f64], vol: f64, half: f64) -> Self {
        let t = years_between(now(), settlement(expiry));
        for &k in strikes {
            for right in [Right::Call, Right::Put] {
                let value = value(right, self.spot, k, t, vol);
                let half = (half * value).max(0.02);
                let quote = (cents((value - half).max(0.0)), cents(value + half));
                self.quotes.insert((expiry, (k * 1000.0) as u32, right), quote);
            }
        }
        self
    }

    fn bad(mut self, expiry: Date, k: f64, right: Right, quote: (f64, f64)) -> Self {
        let contract = (expiry, (k * 1000.0) as u32, right);
        self.quotes.insert(contract, (cents(quote.0), cents(quote.1)));
        self.bad.insert(contract);
        self
    }

    fn book(&self, symbol: &str) -> Book {
        let root = Symbol::parse(symbol).unwrap();
        let expiries: BTreeSet<Date> = self.quotes.keys().map(|c| c.0).collect();
        let slices = expiries.into_iter().map(|expiry| self.slice(root, expiry)).collect();
        Book {
            underlying: root,
            spot: self.spot,
            ts: now(),
            dividends: Vec::new(),
            projected_from: None,
            dividends_known: true,
            slices,
        }
    }

    fn slice(&self, root: Symbol, expiry: Date) -> BookSlice {
        let of = |f: fn(&(f64, f64)) -> f64| -> Vec<f64> {
            let side = |price: f64| if price > 0.0 { price } else { f64::NAN };
            self.quotes.iter().filter(|(c, _)| c.0 == expiry).map(|(_, quote)| side(f(quote))).collect()
        };
        let contracts: Vec<&Contract> = self.quotes.keys().filter(|c| c.0 == expiry).collect();
        BookSlice {
            root,
            expiry,
            listed: expiry,
            style: Style::American,
            settle: Settle::Pm,
            settles_at: settlement(expiry),
            basis: ForwardBasis::Spot,
            multiplier: 100,
            adjusted: false,
            deliverables: Vec::new(),
            strike_milli: contracts.iter().map(|c| c.1).collect(),
            right: contracts.iter().map(|c| c.2).collect(),
            bid: of(|quote| quote.0),
            ask: of(|quote| quote.1),
            counts: Vec::new(),
            ts: vec![now(); contracts.len()],
            stale: true,
        }
    }

    /// The case after a first pass.
    fn computed(self, symbol: &str) -> Case {
        let points = [30.0, 1826.0].map(|tenor_days| RateRecord { date: TODAY, tenor_days, rate: RATE });
        let (calendar, curves) = (Calendar::embedded(), RateTable::of(RateSource::User, DiscountCurves::new(&points)));
        let mut passes = Passes::new(1, |_| ()).unwrap();
        let done = passes.run(MarketData { calendar: &calendar, rates: &curves }, &[(&self.book(symbol), now())]);
        Case { name: self, chain: Arc::clone(&done[0].chain) }
    }
}

/// A name and its chain.
struct Case {
    name: Name,
    chain: Arc<Chain>,
}

impl Case {
    fn slice(&self, expiry: Date) -> &Slice {
        self.chain.slices.iter().find(|s| s.expiry == expiry).unwrap()
    }

    /// Every row with its contract and quote.
    fn quoted(&self) -> impl Iterator<Item = (usize, Contract, (f64, f64))> {
        self.chain.slices.iter().flat_map(|slice| {
            rows(slice).map(|row| {
                let contract = (slice.expiry, self.chain.strike_milli[row], self.chain.right[row]);
                (row, contract, self.name.quotes[&contract])
            })
        })
    }

    /// The forward that the quotes were made with.
    fn true_forward(&self, expiry: Date) -> f64 {
        self.name.spot * (RATE * years_between(now(), settlement(expiry))).exp()
    }

    /// Good quotes out of the money with a bid: those that the curve is for.
    fn good(&self) -> impl Iterator<Item = (usize, Contract, (f64, f64))> {
        let outside = |row: usize, c: &Contract| {
            self.chain.right[row].phi() * (strike(&self.chain, row) - self.true_forward(c.0)) >= 0.0
        };
        self.quoted().filter(move |(row, c, q)| q.0 > 0.0 && !self.name.bad.contains(c) && outside(*row, c))
    }

    fn good_quotes_are_kept(&self) {
        let theo = self.chain.columns.get(Col::SvcTheo);
        let outside = |(row, _, (bid, ask)): &(usize, Contract, (f64, f64))| !(*bid..=*ask).contains(&theo[*row]);
        let told = |(row, c, q): (usize, Contract, (f64, f64))| format!("{c:?}: {} for {q:?}", theo[row]);
        let missed: Vec<String> = self.good().filter(outside).map(told).collect();
        let n = self.good().count();
        assert!(n >= 10 && missed.is_empty(), "{} of {n} good quotes missed: {missed:#?}", missed.len());
    }

    fn values_are_in_order(&self) {
        let (bid, ask) = (self.chain.columns.get(Col::BidVol), self.chain.columns.get(Col::AskVol));
        let crossed = |(row, _, _): &(usize, Contract, (f64, f64))| bid[*row] > ask[*row];
        let told = |(row, c, q): (usize, Contract, (f64, f64))| format!("{c:?} {q:?}: {} {}", bid[row], ask[row]);
        let crossed: Vec<String> = self.quoted().filter(crossed).map(told).collect();
        assert!(crossed.is_empty(), "bid_vol above ask_vol: {crossed:#?}");
        let wrong = not_monotone(&self.chain, MONOTONE_SLACK);
        assert!(wrong.is_empty(), "values not monotone in strike: {wrong:#?}");
        let bent = not_convex(&self.chain, 2.0 * MONOTONE_SLACK);
        assert!(bent.is_empty(), "values not convex in strike: {bent:#?}");
    }
}

fn calls_above_the_spot() -> Case {
    let good = Name::new(100.0).quoted(E5, &ladder(60.0, 200.0, 5.0), 0.4, 0.02);
    let stale = |name: Name, k: f64| {
        let bid = 130.0 + 0.05 * (400.0 - k);
        name.bad(E5, k, Right::Call, (bid, bid + 4.0))
    };
    ladder(220.0, 395.0, 5.0).into_iter().fold(good, stale).computed("AAA")
}

fn five_expiries() -> Name {
    Name::new(100.0)
        .quoted(E1, &ladder(60.0, 150.0, 2.5), 0.55, 0.04)
        .quoted(E2, &ladder(80.0, 120.0, 5.0), 0.54, 0.04)
        .quoted(E3, &ladder(90.0, 110.0, 5.0), 0.535, 0.04)
        .quoted(E4, &ladder(60.0, 147.5, 2.5), FOURTH_VOL, 0.03)
        .quoted(E5, &ladder(50.0, 300.0, 10.0), 0.53, 0.03)
}

fn stale_wing() -> Case {
    let t = years_between(now(), settlement(E1));
    let stale = |name: Name, k: f64| {
        let value = value(Right::Call, 100.0, k, t, 2.0 + (k - 250.0) * 0.004);
        let half = (0.15 * value).max(0.02);
        name.bad(E1, k, Right::Call, ((value - half).max(0.0), value + half))
    };
    ladder(210.0, 310.0, 10.0).into_iter().fold(five_expiries(), stale).computed("BBB")
}

fn pairs() -> Name {
    Name::new(100.0).quoted(E4, &ladder(85.0, 115.0, 2.5), 0.4, 0.06)
}

fn stale_pair() -> Case {
    let stale = pairs().bad(TODAY, 96.0, Right::Call, (3.6, 4.8)).bad(TODAY, 96.0, Right::Put, (6.6, 9.8));
    stale.computed("CCC")
}

fn stale_calls() -> Case {
    let strikes = [40.0, 45.0, 50.0, 52.5, 55.0, 57.5, 60.0, 62.5, 65.0, 67.5, 70.0, 75.0, 80.0, 85.0, 90.0];
    let good = Name::new(60.0).quoted(E5, &strikes, 0.26, 0.03);
    let t = years_between(now(), settlement(E5));
    // a split two for one, whose old strikes kept their old quotes
    let stale = |name: Name, k: f64| {
        let old = 2.0 * value(Right::Call, 60.0, k / 2.0, t, 0.26);
        name.bad(E5, k, Right::Call, (0.97 * old, 1.03 * old))
    };
    let old = [71, 72, 73, 74, 76, 77, 78, 79, 81, 82, 83, 84, 86, 87, 88].map(f64::from);
    old.into_iter().fold(good, stale).computed("DDD")
}

#[test]
fn calls_above_the_spot_have_no_volatility() {
    let case = calls_above_the_spot();
    for vols in [Col::BidVol, Col::MidVol, Col::AskVol].map(|col| case.chain.columns.get(col)) {
        let known = case.quoted().filter(|(row, c, _)| case.name.bad.contains(c) && !vols[*row].is_nan());
        let known: Vec<_> = known.map(|(row, c, q)| (c, q, vols[row])).collect();
        assert!(known.is_empty(), "a volatility of a call worth more than the stock: {known:#?}");
    }
}

#[test]
fn calls_above_the_spot_do_not_steer_the_curve() {
    calls_above_the_spot().good_quotes_are_kept();
}

#[test]
fn calls_above_the_spot_leave_values_in_order() {
    calls_above_the_spot().values_are_in_order();
}

/// The greatest distance of a curve from a volatility, at its good quotes; infinite where it is missing.
fn furthest(case: &Case, expiry: Date, vol: f64) -> f64 {
    let svc = case.chain.columns.get(Col::SvcVol);
    let of = case.good().filter(|(_, c, _)| c.0 == expiry);
    let away = |row: usize| if svc[row].is_nan() { f64::INFINITY } else { (svc[row] - vol).abs() };
    of.map(|(row, _, _)| away(row)).fold(0.0, f64::max)
}

#[test]
fn five_good_expiries_are_fitted() {
    let case = five_expiries().computed("BBC");
    case.good_quotes_are_kept();
    case.values_are_in_order();
    let away = furthest(&case, E4, FOURTH_VOL);
    assert!(away < VOL_ERROR_MOST, "the fourth curve is {away} away");
}

#[test]
fn a_stale_wing_does_not_lift_later_expiries() {
    let away = furthest(&stale_wing(), E4, FOURTH_VOL);
    assert!(away < VOL_ERROR_MOST, "the fourth curve is {away} away");
}

#[test]
fn a_stale_wing_leaves_good_quotes_inside() {
    stale_wing().good_quotes_are_kept();
}

#[test]
fn a_stale_wing_leaves_values_in_order() {
    stale_wing().values_are_in_order();
}

/// The error of the forward that all pairs of an expiry tell together: the half-width of one over the root of their
/// number.
fn forward_error(name: &Name, expiry: Date) -> f64 {
    let half = |k: u32, right| name.quotes.get(&(expiry, k, right)).map_or(f64::NAN, |q| 0.5 * (q.1 - q.0));
    let calls = name.quotes.keys().filter(|c| c.0 == expiry && c.2 == Right::Call);
    let widths: Vec<f64> = calls.map(|c| half(c.1, Right::Call) + half(c.1, Right::Put)).collect();
    widths.iter().copied().fold(f64::INFINITY, f64::min) / (widths.len() as f64).sqrt()
}

#[test]
fn one_stale_pair_does_not_move_another_forward() {
    let (clean, case) = (pairs().computed("CCD"), stale_pair());
    let (want, seen) = (clean.slice(E4).fwd_price, case.slice(E4).fwd_price);
    let error = forward_error(&clean.name, E4);
    assert!((want - clean.true_forward(E4)).abs() < error, "the clean forward is {want}");
    assert!((seen - want).abs() < error, "a forward of {seen}, {want} ± {error} without the pair");
    let borr = case.slice(E4).borr_rate;
    assert!(borr.abs() < BORROW_MOST, "a borrow rate of {borr}");
}

#[test]
fn one_stale_pair_leaves_good_quotes_inside() {
    let case = stale_pair();
    case.good_quotes_are_kept();
    case.values_are_in_order();
}

#[test]
fn stale_calls_of_a_split_do_not_steer_the_curve() {
    stale_calls().good_quotes_are_kept();
}

#[test]
fn stale_calls_of_a_split_leave_values_in_order() {
    stale_calls().values_are_in_order();
}
