//! A sample of the whole market, pass after pass: the same bytes on one thread and on several, in any order, twice;
//! numbers where numbers must be; and a pass that takes up what the one before it left.

use engine::pass::{ChainReport, MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::Book;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::contract::{Style, Symbol};
use kernel::lanes::BLOCK;
use sim::SimMarket;
use sim::symbols::{Every, Name};
use sim::tier::Tier;
use sim::universe;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

const SEED: u64 = 1;
/// One name of so many, by trading.
const SAMPLED: u32 = 100;
/// Beside them: chains wide enough for several threads, one on its own forwards, one that pays every week, one that is
/// dear to borrow, one with an adjusted root, one with a special dividend.
const CHOSEN: [&str; 7] = ["SPX", "NVDA", "VIX", "NVDY", "BYND", "GME", "DDS"];
const PASSES: i64 = 3;

fn instant() -> Timestamp {
    "2026-11-20T15:42:00-05:00".parse().unwrap()
}

/// The names of the sample.
fn sample() -> BTreeMap<Symbol, Name> {
    let wanted = |name: &Name| name.rank.is_multiple_of(SAMPLED) || CHOSEN.contains(&name.symbol.as_str());
    let names = universe::names(SEED, 1.0).into_iter().filter(wanted);
    names.map(|name| (Symbol::parse(&name.symbol).unwrap(), name)).collect()
}

/// Results of the passes.
struct Run {
    /// By pass and underlying: the hash of every bit, and the report.
    prints: Vec<BTreeMap<Symbol, (u64, ChainReport)>>,
    /// The chains of the last pass.
    chains: Vec<Arc<Chain>>,
}

/// Passes a second apart, so that each but the first starts from what the one before it kept.
fn run(threads: usize, shuffled: bool) -> Run {
    let (calendar, mut at, sample) = (Calendar::embedded(), instant(), sample());
    let sim = SimMarket::full(SEED, 1.0, at, 1.0);
    let curves = RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates()));
    let mut passes = Passes::new(threads, |_| ()).unwrap();
    let places: Vec<usize> =
        sim.underlyings().enumerate().filter(|(_, u)| sample.contains_key(u)).map(|(i, _)| i).collect();
    let mut books = passes.map(places, |i| sim.book(i, at).unwrap());
    if shuffled {
        books.sort_by_key(|book| hash(book.underlying.as_str().bytes()));
    }
    let mut run = Run { prints: Vec::new(), chains: Vec::new() };
    for _ in 0..PASSES {
        let work: Vec<(&Book, Timestamp)> = books.iter().map(|book| (book, at)).collect();
        let done = passes.run(MarketData { calendar: &calendar, rates: &curves }, &work);
        // boundaries are shared: each holder counts its part of their bytes, and who comes first solves them
        let report = |mut report: ChainReport| {
            (report.state_bytes, report.early.work.boundaries) = (0, 0);
            report
        };
        run.prints.push(done.iter().map(|c| (c.chain.underlying, (print(&c.chain), report(c.report)))).collect());
        run.chains = done.into_iter().map(|c| c.chain).collect();
        at += SignedDuration::from_secs(1);
        books.iter_mut().for_each(|book| _ = sim.update(book, at));
    }
    run
}

/// Fowler, Noll and Vo's hash.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

/// The hash of everything in a chain.
fn print(chain: &Chain) -> u64 {
    let Chain { underlying, spot, valued_at, preliminary, slices, strike_milli, right, columns, .. } = chain;
    let Chain { implied_spot, implied_spot_error, spot_off, uncomputed, .. } = chain;
    let numbers = Col::ALL.iter().flat_map(|&col| columns.get(col)).flat_map(|x| x.to_bits().to_le_bytes());
    let rest =
        format!("{underlying} {:x} {valued_at} {preliminary} {slices:?} {strike_milli:?} {right:?}", spot.to_bits());
    let implied = format!("{:x} {:x} {spot_off} {uncomputed:?}", implied_spot.to_bits(), implied_spot_error.to_bits());
    hash(numbers.chain(rest.into_bytes()).chain(implied.into_bytes()))
}

/// On one thread, in the order of the names.
static ALONE: LazyLock<Run> = LazyLock::new(|| run(1, false));

#[test]
fn threads_order_and_repetition_do_not_change_a_bit() {
    for (threads, shuffled) in [(1, false), (3, false), (2, true)] {
        let other = run(threads, shuffled);
        for (pass, (one, other)) in ALONE.prints.iter().zip(&other.prints).enumerate() {
            assert_eq!(one.len(), other.len());
            for (name, print) in one {
                assert_eq!(print, &other[name], "{name}, pass {pass}, {threads} threads, shuffled: {shuffled}");
            }
        }
    }
}

#[test]
fn the_sample_has_every_kind_of_name() {
    let (sample, chains) = (sample(), &ALONE.chains);
    assert_eq!(chains.len(), sample.len());
    let some = |what: &str, is: &dyn Fn(&Name) -> bool| assert!(sample.values().any(is), "{what}");
    for tier in [Tier::Index, Tier::Mega, Tier::Weekly, Tier::Monthly, Tier::Tail] {
        some(&format!("{tier:?}"), &|name| name.tier == tier);
    }
    for every in [Every::Quarter, Every::Month, Every::Week] {
        some(&format!("{every:?}"), &|name| name.payout.yield_ > 0.0 && name.payout.every == every);
    }
    some("a special dividend", &|name| name.payout.special > 0.0);
    some("dear to borrow", &|name| name.borrow > 0.10);
    let slices = || chains.iter().flat_map(|chain| &chain.slices);
    let rows: u32 = chains.iter().map(|chain| chain.rows()).sum();
    println!("{} names, {} slices, {rows} contracts", chains.len(), slices().count());
    assert!(slices().any(|slice| slice.adjusted) && slices().any(|slice| slice.style == Style::European));
    assert!(chains.iter().any(|chain| chain.rows() > 10_000), "no chain for several threads");
    assert!(slices().count() > 400 && rows > 25_000, "{} slices, {rows} contracts", slices().count());
}

/// The rows of a slice.
fn rows(slice: &Slice) -> core::ops::Range<usize> {
    slice.rows.start as usize..slice.rows.end as usize
}

#[test]
fn published_numbers_are_finite_or_allowed_to_be_missing() {
    let (mut blind, mut all, mut priced) = (0, 0, 0);
    for chain in &ALONE.chains {
        for slice in &chain.slices {
            let rows = rows(slice);
            let has_curve = chain.columns.get(Col::SvcVol)[rows.clone()].iter().any(|vol| vol.is_finite());
            assert!(!(slice.adjusted && has_curve), "{}: an adjusted root has identity only", slice.root);
            for &col in Col::ALL {
                let values = &chain.columns.get(col)[rows.clone()];
                assert!(values.iter().all(|x| !x.is_infinite()), "{} {} {col:?}", slice.root, slice.expiry);
                if !col.nullable() {
                    let missing = values.iter().filter(|x| x.is_nan()).count();
                    let want = if has_curve { 0 } else { rows.len() };
                    assert_eq!(missing, want, "{} {} {col:?}", slice.root, slice.expiry);
                }
            }
            all += rows.len();
            priced += if has_curve { rows.len() } else { 0 };
            blind += if has_curve || slice.adjusted { 0 } else { rows.len() };
        }
    }
    let reported: u32 = ALONE.prints.last().unwrap().values().map(|(_, report)| report.priced).sum();
    println!("{priced} of {all} contracts priced, {blind} in slices without a curve");
    assert_eq!(reported as usize, priced);
    assert!(blind * 20 < all, "{blind} of {all} contracts in slices without a curve");
}

#[test]
fn calls_and_puts_of_one_strike_share_one_volatility() {
    let mut pairs = 0;
    for chain in &ALONE.chains {
        let vol = chain.columns.get(Col::SvcVol);
        for slice in &chain.slices {
            for i in rows(slice).skip(1).filter(|&i| chain.strike_milli[i] == chain.strike_milli[i - 1]) {
                let (call, put) = (vol[i - 1].to_bits(), vol[i].to_bits());
                assert_eq!(call, put, "{} {} {}", slice.root, slice.expiry, chain.strike_milli[i]);
                pairs += 1;
            }
        }
    }
    assert!(pairs > 10_000, "only {pairs} strikes with both rights");
}

/// Blocks of one right whose early exercise can be worth something.
fn blocks(chain: &Chain) -> usize {
    let american = chain.slices.iter().filter(|slice| slice.style == Style::American && !slice.adjusted);
    let strikes = |slice: &Slice| chain.strike_milli[rows(slice)].chunk_by(|a, b| a == b).count();
    american.map(|slice| 2 * strikes(slice).div_ceil(BLOCK)).sum()
}

#[test]
fn a_steady_pass_keeps_what_the_last_one_built() {
    let all: usize = ALONE.chains.iter().map(|chain| blocks(chain)).sum();
    let sum = |of: fn(&ChainReport) -> u64| -> Vec<u64> {
        ALONE.prints.iter().map(|pass| pass.values().map(|(_, report)| of(report)).sum()).collect()
    };
    let (taken, searched) = (sum(|report| report.early.taken()), sum(|report| u64::from(report.searched)));
    println!("of {all} blocks anew: {taken:?}; volatilities searched: {searched:?}");
    let part = |n: u64| n as f64 / all as f64;
    // at the volatilities of single quotes, and again at the curve's
    assert!((0.8..=2.0).contains(&part(taken[0])), "the first pass takes nearly every block: {taken:?} of {all}");
    // the market moves on, and blocks that it has left are taken again: but only those
    assert!(part(taken[2]) < 0.10, "{taken:?} of {all}");
    assert!(searched[2] * 10 < searched[0], "{searched:?}");
}
