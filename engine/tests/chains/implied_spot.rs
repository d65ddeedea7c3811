//! Names whose price nobody publishes: the spot that their options imply, against the one that the quotes were made
//! from.

use engine::pass::{Computed, MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::{Book, BookSlice};
use engine::store::columns::Col;
use engine::store::ingest::Store;
use feeds::dir::{DirFeed, SETTLED};
use history::layouts::read_chains;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::contract::RootTable;
use kernel::quality::Quality;
use sim::SimMarket;
use sim::symbols::well_known;
use std::path::Path;

/// An index, payers, a name without dividends, one that is dear to borrow, and one valued on its forwards.
const NAMES: [&str; 6] = ["SPX", "KO", "NVDY", "TSLA", "BYND", "VIX"];

fn open() -> Timestamp {
    "2026-10-14T15:00:00Z".parse().unwrap()
}

struct Fixture {
    market: SimMarket,
    books: Vec<Book>,
    calendar: Calendar,
    rates: RateTable,
    passes: Passes,
}

impl Fixture {
    fn new(names: &[&str]) -> Self {
        let universe: Vec<_> = well_known().into_iter().filter(|n| names.contains(&n.symbol.as_str())).collect();
        let market = SimMarket::with_universe(1, open(), &universe);
        let books = (0..market.len()).map(|i| market.book(i, open()).unwrap()).collect();
        let rates = RateTable::of(RateSource::Simulated, DiscountCurves::new(&market.rates()));
        Self { market, books, calendar: Calendar::embedded(), rates, passes: Passes::new(0, |_| ()).unwrap() }
    }

    fn run(&mut self, with_spot: bool, quality: Quality) -> Vec<Computed> {
        let spotless = |book: &Book| Book { spot: if with_spot { book.spot } else { f64::NAN }, ..book.clone() };
        let books: Vec<Book> = self.books.iter().map(spotless).collect();
        let work: Vec<(&Book, Timestamp)> = books.iter().map(|book| (book, book.ts)).collect();
        self.passes.run_to(quality, MarketData { calendar: &self.calendar, rates: &self.rates }, &work)
    }
}

/// Half of what call and put leave open about the forward of the nearest expiry that has both: the least over its
/// strikes.
fn half_spread(book: &Book) -> f64 {
    let of_slice = |slice: &BookSlice| {
        let halves = (1..slice.right.len()).filter(|&i| slice.strike_milli[i] == slice.strike_milli[i - 1]);
        let half = |i: usize| 0.5 * (slice.ask[i] - slice.bid[i] + slice.ask[i - 1] - slice.bid[i - 1]);
        halves.map(half).filter(|half| *half > 0.0).min_by(f64::total_cmp)
    };
    book.slices.iter().find_map(of_slice).unwrap()
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

#[test]
fn the_implied_spot_is_the_true_one_within_what_the_quotes_leave_open() {
    let mut fixture = Fixture::new(&NAMES);
    let implied = fixture.run(false, Quality::Full);
    let mut published = Fixture::new(&NAMES);
    let known = published.run(true, Quality::Full);
    println!("name        true   implied      miss     error  half spread  delta apart  value apart");
    for ((book, implied), known) in fixture.books.iter().zip(&implied).zip(&known) {
        let (name, chain) = (book.underlying.as_str(), &implied.chain);
        assert_eq!((chain.uncomputed, chain.spot_off, chain.spot.is_nan()), (None, false, true), "{name}");
        assert_eq!(implied.report.priced, known.report.priced, "{name}: as many contracts have Greeks");
        let apart = |col: Col| {
            let both = chain.columns.get(col).iter().zip(known.chain.columns.get(col));
            median(both.map(|(a, b)| (a - b).abs()).filter(|apart| apart.is_finite()).collect())
        };
        let (delta, value) = (apart(Col::Delta), apart(Col::SvcTheo));
        if name == "VIX" {
            assert!(
                !chain.spot_is_implied() && delta < 1e-9 && value < 1e-9,
                "valued on its forwards: {delta} {value}"
            );
            continue;
        }
        let (miss, error, half) = (chain.implied_spot - book.spot, chain.implied_spot_error, half_spread(book));
        println!(
            "{name:6} {:9.3} {:9.3} {miss:9.4} {error:9.4} {half:12.4} {delta:12.6} {value:12.6}",
            book.spot, chain.implied_spot
        );
        assert!(chain.spot_is_implied(), "{name}");
        assert!(
            chain.slices.iter().filter(|s| !s.adjusted).all(|s| s.und_price.to_bits() == chain.implied_spot.to_bits())
        );
        assert!(miss.abs() < 3.0 * error, "{name} misses by {miss}, more than three of its standard errors of {error}");
        assert!(miss.abs() < half + 1e-3 * book.spot, "{name} misses by {miss} at a half spread of {half}");
        assert!(delta < 2e-3 && value < 0.25 * half, "{name}: deltas {delta} and values {value} apart");
    }
}

#[test]
fn it_is_steady_from_pass_to_pass_and_a_published_price_takes_over() {
    let names = ["SPX", "KO", "TSLA", "BYND"];
    let mut fixture = Fixture::new(&names);
    fixture.run(false, Quality::Full);
    let first = fixture.run(false, Quality::Full);
    let again = fixture.run(false, Quality::Full);
    for (a, b) in first.iter().zip(&again) {
        let moved = (b.chain.implied_spot / a.chain.implied_spot - 1.0).abs();
        assert!(moved < 1e-6, "{}: the same quotes move it by {moved}", a.chain.underlying);
    }
    // half an hour in which the market moves: borrow stays, and with it the tables
    let (mut kept, mut all) = (0, 0);
    let mut last = again;
    for minute in 1..=30 {
        let now = open() + SignedDuration::from_mins(minute);
        for book in &mut fixture.books {
            fixture.market.update(book, now);
        }
        let done = fixture.run(false, Quality::Full);
        for ((before, after), book) in last.iter().zip(&done).zip(&fixture.books) {
            let chain = &after.chain;
            let miss = (chain.implied_spot - book.spot).abs();
            assert!(miss < 4.0 * chain.implied_spot_error, "{} at {minute}: {miss}", chain.underlying);
            for (a, b) in before.chain.slices.iter().zip(&chain.slices) {
                all += 1;
                kept += usize::from(a.borr_rate.to_bits() == b.borr_rate.to_bits());
            }
        }
        last = done;
    }
    println!("borrow stays for {kept} of {all} expiries from minute to minute");
    assert!(kept * 10 > all * 8, "borrow stays for {kept} of {all} expiries only");
    let published = fixture.run(true, Quality::Full);
    for (done, book) in published.iter().zip(&fixture.books) {
        assert!(!done.chain.spot_is_implied() && done.chain.uncomputed.is_none());
        assert!(done.chain.slices.iter().filter(|s| !s.adjusted).all(|s| s.und_price.to_bits() == book.spot.to_bits()));
    }
}

/// Books, their reference data and the time of their newest quote.
fn recorded(path: &Path) -> Store {
    let mut feed = DirFeed::open(path, read_chains).unwrap();
    let mut store = Store::new(RootTable::embedded(), Calendar::embedded());
    let first = feed.poll(SETTLED).unwrap();
    let (batch, _) = first.or_else(|| feed.poll(SETTLED * 3).unwrap()).unwrap();
    store.ingest(&batch, Timestamp::MAX);
    store
}

#[test]
#[ignore = "prints figures; wants GREEKSD_REALDATA, a folder of recorded chains"]
fn recorded_names_imply_their_published_spot() {
    let folder = testkit::recorded::folder();
    for (what, bound) in [
        ("market335/2026-08-19_close", 3e-3),
        ("market335/2026-07-16_intraday", 1e-2),
        ("chains/spx_2023-09-14.csv.gz", 2e-3),
    ] {
        let store = recorded(&folder.join(what));
        let newest = store.books().iter().map(|book| book.ts).max().unwrap();
        let spotless: Vec<Book> = store.books().iter().map(|b| Book { spot: f64::NAN, ..b.clone() }).collect();
        let rates = RateTable::of(RateSource::User, store.curves().clone());
        let market = MarketData { calendar: store.calendar(), rates: &rates };
        let run = |books: Vec<&Book>| {
            let work: Vec<(&Book, Timestamp)> = books.into_iter().map(|book| (book, newest)).collect();
            Passes::new(0, |_| ()).unwrap().run_to(Quality::Preliminary, market, &work)
        };
        let (implied, known) = (run(spotless.iter().collect()), run(store.books().iter().collect()));
        let (mut apart, mut errors, mut none) = (Vec::new(), Vec::new(), 0);
        for ((book, implied), known) in store.books().iter().zip(&implied).zip(&known) {
            let (chain, spot) = (&implied.chain, book.spot);
            if !chain.spot_is_implied() {
                none += 1;
                println!("{}: {:?}, with its spot {:?}", book.underlying, chain.uncomputed, known.chain.uncomputed);
            } else if spot > 0.0 && !known.chain.spot_off {
                let miss = (chain.implied_spot / spot).ln();
                let error = chain.implied_spot_error / chain.implied_spot;
                if miss.abs() > 0.01 {
                    println!("{}: {spot} published, {} ± {error:.5}", book.underlying, chain.implied_spot);
                }
                apart.push(miss.abs());
                errors.push(miss.abs() / error);
            } else {
                println!(
                    "{}: {} implied, spot {spot} off: {}",
                    book.underlying, chain.implied_spot, known.chain.spot_off
                );
            }
        }
        let quantiles = |of: &mut Vec<f64>| {
            of.sort_by(f64::total_cmp);
            [0.5, 0.9, 0.99, 1.0].map(|p| of[((of.len() - 1) as f64 * p) as usize])
        };
        println!("{what}: {} names, {none} without one", apart.len());
        println!(
            "apart at 50, 90, 99, 100 %: {:?}; in standard errors {:?}",
            quantiles(&mut apart),
            quantiles(&mut errors)
        );
        let middle = apart[apart.len() / 2];
        assert!(middle < bound, "{what}: implied spots are {middle} apart from published ones at the median");
        assert!(none * 5 <= store.books().len(), "{none} names imply no spot");
    }
}
