//! The whole market: is its shape that of the real one, and is it the same each time.

use crate::bytes;
use engine::store::book::{Book, BookSlice};
use jiff::Timestamp;
use kernel::american::{Band, Pricer};
use kernel::contract::{Right, Style, Symbol};
use kernel::quality::Quality;
use sim::surface::Class;
use sim::symbols::{Every, Name};
use sim::tier::Tier;
use sim::universe;
use sim::{Fault, SimMarket, SpotFault};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A Wednesday, 15:30 Eastern, 16 days before the third Friday, as in the measured file.
fn midday() -> Timestamp {
    "2026-11-04T20:30:00Z".parse().unwrap()
}

/// `f` of every name, on two threads; in the order of the names.
fn each<R: Send>(n: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= n {
                return done;
            }
            done.push((i, f(i)));
        }
    };
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    all.sort_by_key(|(i, _)| *i);
    all.into_iter().map(|(_, r)| r).collect()
}

/// The market of seed 1 and all its books at midday.
static WHOLE: LazyLock<(SimMarket, Vec<Book>)> = LazyLock::new(|| {
    let market = SimMarket::full(1, 1.0, midday(), 1.0);
    let books = each(market.len(), |i| market.book(i, midday()).unwrap());
    (market, books)
});

fn names() -> BTreeMap<Symbol, Name> {
    universe::names(1, 1.0).into_iter().map(|n| (Symbol::parse(&n.symbol).unwrap(), n)).collect()
}

fn quantile(sorted: &[usize], p: f64) -> usize {
    sorted[((sorted.len() - 1) as f64 * p).round() as usize]
}

fn share(n: usize, of: usize) -> f64 {
    n as f64 / of as f64
}

#[test]
fn counts_are_those_of_the_real_market() {
    let books = &WHOLE.1;
    let mut contracts: Vec<usize> = books.iter().map(Book::rows).collect();
    let mut expiries: Vec<usize> = books.iter().map(|b| b.slices.len()).collect();
    contracts.sort_unstable();
    expiries.sort_unstable();
    let (total, groups) = (contracts.iter().sum::<usize>(), expiries.iter().sum::<usize>());
    let largest = books.iter().max_by_key(|b| b.rows()).unwrap();
    let means = (share(groups, books.len()), share(total, 2 * books.len()));
    let strikes = quantile(&contracts, 0.5) / 2;
    println!(
        "{} names, {groups} groups, {total} contracts; expiries: mean {:.2}; strikes: median {strikes}, mean {:.1}; largest {} {}",
        books.len(),
        means.0,
        means.1,
        largest.underlying,
        largest.rows()
    );
    let quantiles = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999].map(|p| quantile(&contracts, p));
    println!("contracts of a name at 1, 10, 25, 50, 75, 90, 95, 99, 99.9 %: {quantiles:?}");
    let top = |n: usize| share(contracts.iter().rev().take(n).sum(), total);
    println!("share of the largest 10, 100, 500, 1,000, 3,000: {:.3?}", [10, 100, 500, 1000, 3000].map(top));
    let names = names();
    let mut tiers: BTreeMap<String, (usize, usize, usize)> = BTreeMap::new();
    for book in books {
        let sum = tiers.entry(format!("{:?}", names[&book.underlying].tier)).or_default();
        *sum = (sum.0 + 1, sum.1 + book.slices.len(), sum.2 + book.rows());
    }
    println!("names, groups, contracts by tier: {tiers:?}");
    assert!((5_700..=6_200).contains(&books.len()));
    assert!((1_500_000..=1_750_000).contains(&total), "{total} contracts");
    assert!((30_000..=36_000).contains(&groups), "{groups} groups");
    assert_eq!(quantile(&expiries, 0.5), 4);
    assert!((5.2..=5.8).contains(&means.0), "{} expiries on average", means.0);
    assert!((62..=75).contains(&strikes), "median of {strikes} strikes");
    assert!((118.0..=150.0).contains(&means.1), "{} strikes on average", means.1);
    assert_eq!(largest.underlying.as_str(), "SPX");
    assert!((20_000..=30_000).contains(&largest.rows()), "{}", largest.rows());
}

/// Rows of a call and a put of one strike.
fn pairs(slice: &BookSlice) -> impl Iterator<Item = (usize, usize)> {
    let same = |i: &usize| slice.strike_milli[*i] == slice.strike_milli[i - 1] && slice.right[*i] == Right::Put;
    (1..slice.right.len()).filter(same).map(|put| (put - 1, put))
}

#[test]
fn empty_bids_are_as_many_as_in_the_real_market() {
    let (mut strikes, mut calls, mut puts, mut either, mut blind) = (0, 0, 0, 0, 0);
    for book in &WHOLE.1 {
        let mut some_blind = false;
        for slice in &book.slices {
            let mut usable = 0;
            for (call, put) in pairs(slice) {
                let (no_call, no_put) = (slice.bid[call].is_nan(), slice.bid[put].is_nan());
                strikes += 1;
                calls += usize::from(no_call);
                puts += usize::from(no_put);
                either += usize::from(no_call || no_put);
                usable += usize::from(!no_call && !no_put);
            }
            some_blind |= usable == 0;
        }
        blind += usize::from(some_blind);
    }
    let (calls, puts, either) = (share(calls, strikes), share(puts, strikes), share(either, strikes));
    let blind = share(blind, WHOLE.1.len());
    println!(
        "no bid: calls {calls:.3}, puts {puts:.3}, either {either:.3}; names with an expiry without a pair {blind:.3}"
    );
    assert!((0.18..=0.24).contains(&calls), "calls without a bid: {calls}");
    assert!((0.24..=0.30).contains(&puts), "puts without a bid: {puts}");
    assert!((0.42..=0.50).contains(&either), "either without a bid: {either}");
    assert!((0.05..=0.15).contains(&blind), "names with an expiry without a pair: {blind}");
}

#[test]
fn payers_and_borrow_are_as_many_as_in_the_real_market() {
    let names = names();
    let stocks: Vec<&Name> = names.values().filter(|n| n.earnings > 0.0 && n.tier != Tier::Index).collect();
    let payers = share(stocks.iter().filter(|n| n.payout.yield_ > 0.0).count(), stocks.len());
    let special = share(stocks.iter().filter(|n| n.borrow > 0.10).count(), stocks.len());
    let stocks_share = share(stocks.len(), names.len());
    println!("stocks {stocks_share:.3} of the names, of them {payers:.3} pay, {special:.4} are lent above 10 %");
    assert!((0.28..=0.36).contains(&payers), "{payers} pay");
    assert!((0.04..=0.06).contains(&special), "{special} lent above 10 %");
    assert!((0.60..=0.68).contains(&stocks_share));
    for every in [Every::Quarter, Every::Month, Every::Week, Every::HalfYear, Every::Year, Every::Irregular] {
        assert!(names.values().any(|n| n.payout.yield_ > 0.0 && n.payout.every == every), "nobody pays {every:?}");
    }
    let special = names.values().filter(|n| n.payout.special > 0.0).count();
    assert!((2..30).contains(&special), "{special} special dividends");
    let easy = |n: &&Name| n.earnings > 0.0 && matches!(n.class, Class::MegaCap | Class::MidCap) && n.borrow > 0.10;
    assert_eq!(names.values().filter(easy).count(), 0, "large names are easy to borrow");
}

/// A few hundred names of every tier, and their books.
fn part(now: Timestamp) -> (SimMarket, Vec<Book>) {
    let market = SimMarket::full(7, 1.0, now, 0.04);
    let books = each(market.len(), |i| market.book(i, now).unwrap());
    (market, books)
}

#[test]
fn an_updated_book_equals_a_fresh_one_and_says_what_changed() {
    let (market, mut moving) = part(midday());
    assert!((0..market.len()).filter(|&i| market.is_dirty(i)).count() > 5, "dirty names are among them");
    for seconds in [1, 2, 7, 64, 1500] {
        let now = midday() + jiff::SignedDuration::from_secs(seconds);
        for (i, book) in moving.iter_mut().enumerate() {
            let before = book.clone();
            let updated = market.update(book, now);
            let fresh = market.book(i, now).unwrap();
            assert_eq!(bytes(book), bytes(&fresh), "{} after {seconds} s", book.underlying);
            let changed = |(a, b): (&BookSlice, &BookSlice)| {
                let quoted = |i: &usize| a.ts[*i] != b.ts[*i] || a.bid[*i].to_bits() != b.bid[*i].to_bits();
                (0..a.right.len()).filter(quoted).count()
            };
            let mut stale = 0;
            for (a, b) in before.slices.iter().zip(&book.slices) {
                stale += usize::from(b.stale);
                assert!(b.stale || (changed((a, b)) == 0 && before.spot.to_bits() == book.spot.to_bits()));
            }
            assert_eq!(updated.slices, stale, "{} after {seconds} s", book.underlying);
        }
    }
}

#[test]
fn a_few_percent_are_quoted_anew_each_second_and_more_after_the_opening() {
    let shares = |market: &SimMarket, mut books: Vec<Book>, start: Timestamp| {
        let contracts = books.iter().map(Book::rows).sum::<usize>();
        let mut second = |i: i64| {
            let now = start + jiff::SignedDuration::from_secs(i);
            share(books.iter_mut().map(|b| market.update(b, now).quotes).sum(), contracts)
        };
        (1..=10).map(&mut second).collect::<Vec<_>>()
    };
    let start: Timestamp = "2026-11-04T14:31:00Z".parse().unwrap();
    let early = SimMarket::full(1, 1.0, start, 1.0);
    let opening = shares(&early, each(early.len(), |i| early.book(i, start).unwrap()), start);
    let normal = shares(&WHOLE.0, WHOLE.1.clone(), midday());
    println!("quoted anew: after the opening {opening:.3?}, at noon {normal:.3?}");
    assert!(opening.iter().all(|x| (0.20..=0.30).contains(x)), "{opening:?}");
    assert!(normal.iter().all(|x| (0.01..0.05).contains(x)), "{normal:?}");
}

/// Faults that only dirty names have.
const LASTING: [Fault; 4] = [Fault::BeforeSplit, Fault::StaleWing, Fault::Contradicting, Fault::Zero];

#[test]
fn every_kind_of_bad_data_is_there_and_rare() {
    let (market, books) = part(midday());
    let (mut seen, mut rows): (BTreeMap<String, usize>, usize) = (BTreeMap::new(), 0);
    for slice in books.iter().flat_map(|b| &b.slices) {
        rows += slice.right.len();
        for row in 0..slice.right.len() {
            let fault = market.fault(slice.root, slice.expiry, row, midday());
            if let Some(fault) = fault.filter(|fault| !LASTING.contains(fault)) {
                *seen.entry(format!("{fault:?}")).or_default() += 1;
            }
        }
        *seen.entry("OneRightOnly".to_owned()).or_default() += slice.right.len() - 2 * pairs(slice).count();
    }
    let adjusted = WHOLE.1.iter().flat_map(|b| &b.slices).filter(|s| s.adjusted).map(|s| s.right.len()).sum();
    println!("of {rows}: {seen:?}; adjusted {adjusted} of the whole market");
    assert_eq!(seen.len(), 10, "{seen:?}");
    assert!(seen.values().all(|&n| (0.0001..=0.001).contains(&share(n, rows))), "{seen:?} of {rows}");
    assert!((0.0001..=0.001).contains(&share(adjusted, 1_650_000)), "{adjusted} adjusted contracts");
}

/// Faults of the rows of a book, by slice.
fn faults(market: &SimMarket, book: &Book) -> Vec<Vec<Option<Fault>>> {
    let of = |s: &BookSlice| (0..s.rows()).map(|row| market.fault(s.root, s.expiry, row, midday())).collect();
    book.slices.iter().map(of).collect()
}

/// The books of the dirty names of the whole market, with what is wrong with their spots.
fn dirty() -> impl Iterator<Item = (&'static Book, Option<SpotFault>)> {
    let (market, books) = &*WHOLE;
    let dirty = books.iter().enumerate().filter(|(i, _)| market.is_dirty(*i));
    dirty.map(|(i, book)| (book, market.spot_fault(i)))
}

#[test]
fn a_name_in_twenty_has_the_dirt_of_the_real_market() {
    let (market, books) = &*WHOLE;
    let (mut names, mut rows, mut seen) = (0, 0, BTreeMap::<String, usize>::new());
    for (book, spot) in dirty() {
        let faults = faults(market, book);
        names += 1;
        rows += book.rows();
        for fault in faults.iter().flatten().flatten().filter(|fault| LASTING.contains(fault)) {
            *seen.entry(format!("{fault:?}")).or_default() += 1;
        }
        let empty = |(slice, row): (&Vec<Option<Fault>>, &BookSlice)| {
            row.rows() > 0 && slice.iter().all(|f| *f == Some(Fault::Zero))
        };
        let zeros = faults.iter().zip(&book.slices).filter(|p| empty(*p)).count();
        *seen.entry("expiries of zeros".to_owned()).or_default() += zeros;
        *seen.entry(format!("spot {spot:?}")).or_default() += 1;
    }
    println!("{names} dirty names of {} with {rows} contracts: {seen:?}", books.len());
    assert!((0.04..=0.06).contains(&share(names, books.len())), "{names} dirty names");
    let bad: usize = LASTING.iter().map(|fault| seen[&format!("{fault:?}")]).sum();
    assert!((0.04..=0.07).contains(&share(bad, rows)), "{bad} of the {rows} contracts of dirty names");
    let least = |what: &str, n: usize| assert!(seen[what] >= n, "{what}: {seen:?}");
    LASTING.iter().for_each(|fault| least(&format!("{fault:?}"), rows / 500));
    least("expiries of zeros", 5);
    least("spot Some(Missing)", 10);
    least("spot Some(Behind)", 50);
}

/// The first rows with a fault and two sides, and what their contracts are truly worth: (name, strike, right, bid,
/// value).
fn spoiled(wanted: Fault) -> Vec<(&'static Book, f64, Right, f64, f64)> {
    let market = &WHOLE.0;
    let mut out = Vec::new();
    for (book, _) in dirty() {
        for slice in book.slices.iter().filter(|s| !s.adjusted) {
            let fault = |row: usize| market.fault(slice.root, slice.expiry, row, midday());
            let rows = (0..slice.rows()).filter(|&row| fault(row) == Some(wanted) && slice.bid[row] > 0.0);
            let values = market.values(slice.root, slice.expiry, midday()).unwrap();
            out.extend(
                rows.map(|i| {
                    (book, f64::from(slice.strike_milli[i]) / 1000.0, slice.right[i], slice.bid[i], values[i])
                }),
            );
        }
    }
    out
}

#[test]
fn dead_quotes_are_those_of_another_spot_and_wings_are_too_dear() {
    let dead = spoiled(Fault::BeforeSplit);
    let calls = || dead.iter().filter(|d| d.2 == Right::Call);
    let above = calls().filter(|(book, _, _, bid, _)| *bid > book.spot).count();
    let dear = calls().filter(|(_, _, _, bid, value)| bid > value).count();
    println!("{} dead quotes with a bid, {above} of {} calls above the spot", dead.len(), calls().count());
    assert!(share(above, calls().count()) > 0.5 && share(dear, calls().count()) > 0.99);
    let puts = || dead.iter().filter(|d| d.2 == Right::Put);
    assert!(puts().count() > 0 && puts().all(|(_, k, _, bid, value)| bid < value || bid < k), "dead puts are cheap");
    let wings = spoiled(Fault::StaleWing);
    let dear = wings.iter().filter(|(_, _, _, bid, value)| *bid > 1.5 * value).count();
    assert!(wings.len() > 200 && share(dear, wings.len()) > 0.99, "{dear} of {} are too dear", wings.len());
}

#[test]
fn a_late_or_missing_spot_leaves_the_truth_alone() {
    let (market, behind) = (&WHOLE.0, dirty().filter(|(_, spot)| *spot == Some(SpotFault::Behind)));
    let mut n = 0;
    for (book, _) in behind {
        let Some(slice) = book.slices.iter().find(|s| !s.adjusted) else { continue };
        let truth = market.truth(slice.root, slice.expiry, midday()).unwrap();
        let off = (book.spot / truth.s - 1.0).abs();
        // the whole cents of a cheap stock are a part of a percent themselves
        assert!((0.001..0.05).contains(&(off + 0.01 / truth.s)), "{}: {} for {}", book.underlying, book.spot, truth.s);
        n += 1;
    }
    assert!(n > 50 && dirty().all(|(book, spot)| book.spot.is_nan() == (spot == Some(SpotFault::Missing))));
}

/// Values within a twentieth of the half spread, or half a cent, of one table for each contract at the finest scheme.
#[test]
fn american_values_agree_with_the_reference_scheme() {
    let names: BTreeMap<Symbol, Name> =
        universe::names(7, 1.0).into_iter().map(|n| (Symbol::parse(&n.symbol).unwrap(), n)).collect();
    let (market, books) = part(midday());
    let errors = each(books.len(), |i| {
        let mut out = Vec::new();
        let tier = names[&books[i].underlying].tier;
        for (n, slice) in books[i].slices.iter().enumerate().filter(|(_, s)| s.style == Style::American) {
            if (n + i) % 3 > 0 {
                continue;
            }
            let values = market.values(slice.root, slice.expiry, midday()).unwrap();
            let truth = market.truth(slice.root, slice.expiry, midday()).unwrap();
            let row = (7919 * (n + 1) + 31 * i) % slice.right.len();
            let (k, right) = (f64::from(slice.strike_milli[row]) / 1000.0, slice.right[row]);
            let half = 0.5 * (slice.ask[row] - slice.bid[row]);
            let sigma = truth.sigma(k);
            let band = Band { k: (k, k), sigma: (sigma, sigma) };
            let pricer = Pricer::new(Style::American, right, &truth.terms, &band, Quality::Reference);
            let want = pricer.at(&truth.terms, truth.s).vol_derivatives(k, sigma).value;
            if half > 0.0 {
                let what = format!(
                    "{tier:?} {} {} {k} {right:?}: {} for {want}, half spread {half}",
                    slice.root, slice.expiry, values[row]
                );
                out.push(((values[row] - want).abs() / half.max(0.1), what));
            }
        }
        out
    });
    let mut errors: Vec<(f64, String)> = errors.into_iter().flatten().collect();
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |p: f64| &errors[((errors.len() - 1) as f64 * p) as usize];
    println!(
        "{} contracts, error over half spread: 90 % {:.4}, 99 % {:.4}, worst {:?}",
        errors.len(),
        at(0.9).0,
        at(0.99).0,
        at(1.0)
    );
    assert!(
        errors.len() > 200 && at(0.98).0 < 0.05 && at(1.0).0 < 0.2,
        "{:?}",
        errors.iter().rev().take(5).collect::<Vec<_>>()
    );
}

/// The holder of the later of two American options can do whatever the holder of the earlier one can.
#[test]
fn later_american_options_are_truly_worth_no_less() {
    let (market, books) = part(midday());
    let falls = each(books.len(), |i| {
        let mut falls = Vec::new();
        let mut dearest: BTreeMap<(u32, bool), f64> = BTreeMap::new();
        for slice in books[i].slices.iter().filter(|s| s.style == Style::American && !s.adjusted) {
            let values = market.values(slice.root, slice.expiry, midday()).unwrap();
            for (row, &value) in values.iter().enumerate() {
                let before = dearest.entry((slice.strike_milli[row], slice.right[row] == Right::Call)).or_insert(0.0);
                let half = 0.5 * (slice.ask[row] - slice.bid[row]).max(0.02);
                let what = (slice.root, slice.expiry, slice.strike_milli[row], slice.right[row], value, *before);
                falls.push(((*before - value) / half, what));
                *before = before.max(value);
            }
        }
        falls
    });
    let mut falls: Vec<_> = falls.into_iter().flatten().filter(|fall| fall.0.is_finite()).collect();
    falls.sort_by(|a, b| b.0.total_cmp(&a.0));
    let over = |least: f64| falls.iter().filter(|fall| fall.0 > least).count();
    println!("of {}: by over half a half spread {}, by over one {}", falls.len(), over(0.5), over(1.0));
    println!("worst {:?}", &falls[..8]);
    assert!(share(over(0.5), falls.len()) < 1e-3 && share(over(1.0), falls.len()) < 1e-4);
}

/// Fowler, Noll and Vo's hash: what is drawn is the same on every platform.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn names_and_contracts_of_a_seed_are_the_same_everywhere() {
    let text = |n: &Name| format!("{n:?}").into_bytes();
    let names = hash(universe::names(1, 1.0).iter().flat_map(text));
    let contract = |s: &BookSlice| {
        let mut out = format!("{} {} ", s.root, s.expiry).into_bytes();
        out.extend(s.strike_milli.iter().flat_map(|k| k.to_le_bytes()));
        out
    };
    let contracts = hash(WHOLE.1.iter().flat_map(|b| &b.slices).flat_map(contract));
    assert_eq!(
        (names, contracts),
        (0x1dae_85fe_b62d_144b, 0xcb92_086a_d3e6_85e1),
        "names {names:#x}, contracts {contracts:#x}"
    );
}

#[test]
fn the_whole_market_is_the_same_on_any_number_of_threads() {
    let market = SimMarket::full(1, 1.0, midday(), 0.05);
    let parallel = each(market.len(), |i| bytes(&market.book(i, midday()).unwrap()));
    let again = SimMarket::full(1, 1.0, midday(), 0.05);
    let alone: Vec<_> = (0..again.len()).rev().map(|i| bytes(&again.book(i, midday()).unwrap())).collect();
    assert!(parallel.iter().eq(alone.iter().rev()));
}

#[test]
fn a_part_of_the_market_has_every_tier_in_proportion_and_the_same_names() {
    let tenth = SimMarket::full(1, 1.0, midday(), 0.1);
    assert!((595..=600).contains(&tenth.len()), "{} names", tenth.len());
    let whole: Vec<Symbol> = WHOLE.0.underlyings().collect();
    assert!(tenth.underlyings().all(|s| whole.contains(&s)));
    for (i, symbol) in tenth.underlyings().enumerate().step_by(50) {
        let place = whole.iter().position(|s| *s == symbol).unwrap();
        assert_eq!(bytes(&tenth.book(i, midday()).unwrap()), bytes(&WHOLE.1[place]), "{symbol}");
    }
}

#[test]
fn a_scale_changes_the_number_of_contracts_alone() {
    let count = |scale| {
        let market = SimMarket::full(1, scale, midday(), 0.2);
        (market.len(), market.contracts() as f64)
    };
    let (one, large) = (count(1.0), count(1.3));
    assert_eq!(one.0, large.0);
    assert!((1.15..1.35).contains(&(large.1 / one.1)), "{one:?} {large:?}");
}
