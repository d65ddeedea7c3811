//! A cold start: the preliminary pass against the full one, and the full pass after it against one that starts from
//! nothing.

use engine::pass::{MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::Book;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use jiff::Timestamp;
use kernel::american::Counts;
use kernel::calendar::Calendar;
use kernel::greeks::AtTheMoney;
use kernel::quality::Quality;
use sim::SimMarket;
use sim::symbols::well_known;
use sim::universe;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};
use testkit::ruler::PART;

const SEED: u64 = 1;
/// One name of so many, by trading.
const SAMPLED: u32 = 60;

fn instant() -> Timestamp {
    "2026-11-20T15:42:00-05:00".parse().unwrap()
}

/// The chains of one name of so many after each pass, and the tables that they hold.
type Passed = (Vec<Arc<Chain>>, Counts);

fn run(threads: usize, qualities: &[Quality]) -> Vec<Passed> {
    let (calendar, at) = (Calendar::embedded(), instant());
    let sim = SimMarket::full(SEED, 1.0, at, 1.0);
    let curves = RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates()));
    let mut passes = Passes::new(threads, |_| ()).unwrap();
    let names: BTreeSet<String> =
        universe::names(SEED, 1.0).into_iter().filter(|n| n.rank.is_multiple_of(SAMPLED)).map(|n| n.symbol).collect();
    let listed = sim.underlyings().enumerate();
    // what bad data does from pass to pass is asked of `repeat.rs`
    let sampled = listed.filter(|(i, u)| names.contains(u.as_str()) && !sim.is_dirty(*i));
    let places: Vec<usize> = sampled.map(|(i, _)| i).collect();
    let books = passes.map(places, |i| sim.book(i, at).unwrap());
    let work: Vec<(&Book, Timestamp)> = books.iter().map(|book| (book, at)).collect();
    let market = MarketData { calendar: &calendar, rates: &curves };
    let pass = |&quality: &Quality| {
        let done = passes.run_to(quality, market, &work);
        let mut tables = Counts::default();
        done.iter().for_each(|done| tables += done.report.tables);
        (done.into_iter().map(|done| done.chain).collect(), tables)
    };
    qualities.iter().map(pass).collect()
}

static PRELIMINARY_FIRST: LazyLock<Vec<Passed>> = LazyLock::new(|| run(2, &[Quality::Preliminary, Quality::Full]));
static FULL: LazyLock<Vec<Passed>> = LazyLock::new(|| run(2, &[Quality::Full, Quality::Full]));

/// The columns that are compared.
const COMPARED: [(Col, &str); 8] = [
    (Col::SvcTheo, "price"),
    (Col::Delta, "delta"),
    (Col::Gamma, "gamma"),
    (Col::Vega, "vega"),
    (Col::Theta, "theta"),
    (Col::Rho, "rho"),
    (Col::SvcVol, "svc_vol"),
    (Col::MidVol, "mid_vol"),
];

/// Differences by column, sorted; relative to the greater of the value and a part of its size at the money.
fn differences(a: &[Arc<Chain>], b: &[Arc<Chain>]) -> BTreeMap<&'static str, Vec<f64>> {
    let mut all: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (a, b) in a.iter().zip(b) {
        assert_eq!(a.underlying, b.underlying);
        for slice in &b.slices {
            let (t, rows) = (slice.days / 365.0, slice.rows.start as usize..slice.rows.end as usize);
            for (row, (col, name)) in rows.flat_map(|row| COMPARED.map(|compared| (row, compared))) {
                let of = |chain: &Chain, col: Col| chain.columns.get(col)[row];
                let (s, vol) = (b.spot, of(b, Col::SvcVol));
                let (got, want) = (of(a, col), of(b, col));
                let at = AtTheMoney { s, k: f64::from(b.strike_milli[row]) * 1e-3, sigma: vol, t };
                let size = col.greek().map_or(0.0, |greek| PART * greek.size(&at) / greek.unit().divisor());
                let off = (got - want).abs() / want.abs().max(size);
                assert!(col == Col::MidVol || got.is_nan() == want.is_nan(), "{} row {row} {name}", b.underlying);
                if off.is_finite() {
                    all.entry(name).or_default().push(off);
                }
            }
        }
    }
    all.values_mut().for_each(|list| list.sort_by(f64::total_cmp));
    all
}

/// Prints percentiles, and holds those of price and delta against bounds.
fn check(what: &str, all: &BTreeMap<&str, Vec<f64>>, bounds: [(&str, [f64; 3]); 2]) {
    println!("{what}: p50, p90, p99, worst");
    let at = |name: &str| [0.5, 0.9, 0.99, 1.0].map(|p| all[name][((all[name].len() - 1) as f64 * p) as usize]);
    for name in all.keys() {
        let [a, b, c, worst] = at(name);
        println!("{name:>9} {a:8.1e} {b:8.1e} {c:8.1e} {worst:8.1e} of {}", all[name].len());
    }
    for (name, bounds) in bounds {
        for (seen, bound) in at(name).iter().zip(bounds) {
            assert!(*seen <= bound, "{what}: {name} {seen:.1e} where {bound:.0e} is allowed");
        }
    }
}

/// For comparison: a first full pass differs from the second by 7e-6, 1e-4 and 1e-3 of a price, since the second starts
/// from its curves.
#[test]
fn a_preliminary_chain_is_near_the_full_one() {
    let (preliminary, tables) = &PRELIMINARY_FIRST[0];
    assert_eq!(*tables, Counts::default(), "a preliminary pass builds no table");
    assert!(preliminary.iter().all(|chain| chain.preliminary));
    let bounds = [("price", [4e-5, 5e-4, 6e-3]), ("delta", [1e-5, 4e-4, 2e-2])];
    check("preliminary against full", &differences(preliminary, &FULL[1].0), bounds);
}

#[test]
fn a_full_pass_does_not_show_what_was_preliminary() {
    let (chains, tables) = &PRELIMINARY_FIRST[1];
    assert!(*tables != Counts::default() && chains.iter().all(|chain| !chain.preliminary));
    let bounds = [("price", [1e-6, 2e-5, 1e-3]), ("delta", [1e-7, 1e-5, 1e-3])];
    check("full after preliminary against the second full one", &differences(chains, &FULL[1].0), bounds);
}

fn assert_same_bits(one: &[Arc<Chain>], other: &[Arc<Chain>]) {
    for (a, b) in one.iter().zip(other) {
        for &col in Col::ALL {
            let bits = |chain: &Chain| chain.columns.get(col).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert!(bits(a) == bits(b), "{} {col:?}", a.underlying);
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    for ((one, _), (other, _)) in run(1, &[Quality::Preliminary, Quality::Full]).iter().zip(&*PRELIMINARY_FIRST) {
        assert_same_bits(one, other);
    }
}

/// A large market is looked at once before it is computed: of the same books that changes no bit.
#[test]
fn a_preliminary_pass_is_the_first_of_a_first_computation() {
    let (calendar, at) = (Calendar::embedded(), instant());
    let known: Vec<_> = well_known().into_iter().filter(|name| ["KO", "SPX", "F"].contains(&&*name.symbol)).collect();
    let sim = SimMarket::with_universe(SEED, at, &known);
    let curves = RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates()));
    let market = MarketData { calendar: &calendar, rates: &curves };
    let books: Vec<Book> = (0..known.len()).map(|i| sim.book(i, at).unwrap()).collect();
    let work: Vec<(&Book, Timestamp)> = books.iter().map(|book| (book, at)).collect();
    let chains = |looked_at: bool| -> Vec<Arc<Chain>> {
        let mut passes = Passes::new(2, |_| ()).unwrap();
        if looked_at {
            assert!(passes.run_to(Quality::Preliminary, market, &work).iter().all(|done| done.chain.preliminary));
        }
        let done = passes.run_first(market, &work);
        done.into_iter().map(|done| done.chain).collect()
    };
    let [at_once, after_a_look] = [false, true].map(chains);
    assert_eq!(at_once.len(), known.len());
    assert_same_bits(&at_once, &after_a_look);
}
