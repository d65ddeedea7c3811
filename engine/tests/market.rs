//! The whole market: is its shape that of the real one, and is it the same each time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use engine::contract::{Right, Symbol};
use engine::sim::SimMarket;
use engine::sim::surface::Class;
use engine::sim::symbols::{Name, Tier};
use engine::sim::universe;
use engine::store::book::{Book, BookSlice};
use jiff::Timestamp;
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
        "{} names, {groups} groups, {total} contracts; expiries: median {}, mean {:.2}; strikes: median {strikes}, mean {:.1}; largest {} {}",
        books.len(), quantile(&expiries, 0.5), means.0, means.1, largest.underlying, largest.rows()
    );
    let by = |p| quantile(&contracts, p);
    println!("contracts a name: 1 % {}, 10 % {}, 25 % {}, 50 % {}, 75 % {}, 90 % {}, 95 % {}, 99 % {}, 99.9 % {}",
        by(0.01), by(0.1), by(0.25), by(0.5), by(0.75), by(0.9), by(0.95), by(0.99), by(0.999));
    let top = |n: usize| share(contracts.iter().rev().take(n).sum(), total);
    println!("share of the largest: 10 {:.3}, 100 {:.3}, 500 {:.3}, 1,000 {:.3}, 3,000 {:.3}", top(10), top(100), top(500), top(1000), top(3000));
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
    println!("no bid: calls {calls:.3}, puts {puts:.3}, either {either:.3}; names with an expiry without a pair {blind:.3}");
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
    let hard = names.values().filter(|n| n.borrow > 0.03);
    assert!(hard.into_iter().all(|n| !matches!(n.class, Class::MidCap | Class::LargeIndex) || n.borrow < 0.03 || n.rank < 4000));
}

#[test]
fn diag() {
    let names = names();
    let mut by: BTreeMap<String, [usize; 8]> = BTreeMap::new();
    let mut shown = 0;
    for book in &WHOLE.1 {
        let n = &names[&book.underlying];
        for key in [format!("{:?}", n.tier), format!("{:?} {:?}", n.tier, n.class)] {
            let e = by.entry(key).or_default();
            e[0] += 1;
            let mut bl = 0;
            for s in &book.slices {
                let mut us = 0;
                for (c, p) in pairs(s) {
                    e[1] += 1;
                    let (nc, np) = (s.bid[c].is_nan(), s.bid[p].is_nan());
                    e[2] += usize::from(nc);
                    e[3] += usize::from(np);
                    e[4] += usize::from(nc && np);
                    us += usize::from(!nc && !np);
                }
                if us == 0 { bl = 1; e[6] += 1;
                    if shown < 12 { shown += 1; println!("{} {:?} {:?} spot {} vol {} {}: {:?}", book.underlying, n.tier, n.class, book.spot, n.vol, s.expiry,
                        (0..s.right.len()).map(|i| format!("{}{} {}/{}", s.strike_milli[i]/1000, if s.right[i]==Right::Call {"C"} else {"P"}, s.bid[i], s.ask[i])).collect::<Vec<_>>()); } }
                e[7] += 1;
            }
            e[5] += bl;
        }
    }
    for (k, e) in by {
        println!("{k}: names {} strikes/slice {:.1} call0 {:.3} put0 {:.3} both {:.3} blind names {:.3} blind slices {:.3}", e[0], e[1] as f64/e[7] as f64, e[2] as f64/e[1] as f64, e[3] as f64/e[1] as f64, e[4] as f64/e[1] as f64, e[5] as f64/e[0] as f64, e[6] as f64/e[7] as f64);
    }
}

#[test]
fn dump() {
    use std::io::Write;
    let names = names();
    let market = &WHOLE.0;
    let mut out = std::io::BufWriter::new(std::fs::File::create("/tmp/gen_dump.txt").unwrap());
    let mut n: u64 = 0;
    for book in &WHOLE.1 {
        let tier = names[&book.underlying].tier;
        let every: u64 = match tier { Tier::Broad => 67, Tier::Mega => 401, Tier::Weekly => 1999, Tier::Monthly => 1999, _ => 1999 };
        for s in book.slices.iter().filter(|s| s.style == engine::contract::Style::American) {
            let mut vals: Option<(engine::sim::SliceTruth, Vec<f64>)> = None;
            for i in 0..s.right.len() {
                n = n.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                if (n >> 33) % every != 0 { continue; }
                let (t, v) = vals.get_or_insert_with(|| (market.truth(s.root, s.expiry, midday()).unwrap(), market.values(s.root, s.expiry, midday()).unwrap()));
                let k = f64::from(s.strike_milli[i]) / 1000.0;
                let phi = s.right[i].phi();
                write!(out, "{:?}|{}|{}|{}|{} {} {} {} {} {} {} {} {} {}", tier, v[i], s.bid[i], s.ask[i], format!("{}_{}_{}", book.underlying, s.expiry, k), phi, t.s, k, t.terms.t, t.terms.r, t.terms.b, t.sigma(k), t.terms.divs.len(), 
                    t.terms.divs.iter().map(|d| format!("{} {}", d.t, d.amount)).collect::<Vec<_>>().join(" ")).unwrap();
                writeln!(out).unwrap();
            }
        }
    }
}

fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let f: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
    (f[11].parse::<f64>().unwrap() + f[12].parse::<f64>().unwrap()) / 100.0
}

fn rss() -> f64 {
    let s = std::fs::read_to_string("/proc/self/statm").unwrap();
    s.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 4096.0 / 1e6
}

#[test]
fn timing() {
    let r0 = rss();
    let t = cpu();
    let market = SimMarket::full(1, 1.0, midday(), 1.0);
    println!("plan {:.2} s, {} MB", cpu() - t, rss() - r0);
    let t = cpu();
    let n = market.contracts();
    println!("list {n}: {:.2} s, {} MB", cpu() - t, rss() - r0);
    let t = cpu();
    let mut books: Vec<Book> = (0..market.len()).map(|i| market.book(i, midday()).unwrap()).collect();
    println!("books {:.2} s, {} MB", cpu() - t, rss() - r0);
    for step in [1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 20, 21, 22, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70] {
        let now = midday() + jiff::SignedDuration::from_secs(step);
        let t = std::time::Instant::now();
        let c = cpu();
        let (mut q, mut s) = (0, 0);
        for b in &mut books { let u = market.update(b, now); q += u.quotes; s += u.slices; }
        println!("second {step}: {q} quotes {:.4}, {s} slices, cpu {:.2} wall {:.3}", share(q, n), cpu() - c, t.elapsed().as_secs_f64());
    }
    println!("after {} MB", rss() - r0);
    drop(books);
    println!("books dropped {} MB", rss() - r0);
}
