//! The synthetic market as a whole: what is listed, how it is quoted, and that it is reproducible.

use crate::bytes;
use engine::store::book::Book;
use jiff::Timestamp;
use kernel::american::{Band, Pricer};
use kernel::calendar::Calendar;
use kernel::contract::{Right, Settle, Style, Symbol};
use kernel::quality::Quality;
use sim::symbols::well_known;
use sim::{SimMarket, SliceTruth, Updated};
use std::collections::BTreeMap;
use std::sync::LazyLock;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A Wednesday, 11:00 Eastern.
fn midday() -> Timestamp {
    at("2026-10-14T15:00:00Z")
}

/// Seven minutes before the close of the same day.
fn late() -> Timestamp {
    at("2026-10-14T19:53:00Z")
}

/// The market of seed 1 at midday, shared because its tables cost a second.
static MARKET: LazyLock<SimMarket> = LazyLock::new(|| SimMarket::at(1, midday()));

fn books(market: &SimMarket, now: Timestamp) -> Vec<Book> {
    (0..market.len()).map(|i| market.book(i, now).unwrap()).collect()
}

#[test]
fn the_same_seed_and_instant_give_the_same_bytes_in_any_order() {
    let few: Vec<_> = well_known().into_iter().filter(|n| ["SPX", "KO", "BYND", "GLD"].contains(&&*n.symbol)).collect();
    let at = |seed| SimMarket::with_universe(seed, midday(), &few);
    let (a, b, other) = (at(7), at(7), at(8));
    assert_eq!(a.len(), 4);
    let forward: Vec<_> = (0..a.len()).map(|i| bytes(&a.book(i, midday()).unwrap())).collect();
    let later = midday() + jiff::SignedDuration::from_secs(90);
    let mut backward: Vec<_> = (0..b.len())
        .rev()
        .map(|i| {
            let _ = b.book(i, later);
            bytes(&b.book(i, midday()).unwrap())
        })
        .collect();
    backward.reverse();
    assert_eq!(forward, backward);
    for (i, of_seven) in forward.iter().enumerate() {
        assert_ne!(*of_seven, bytes(&other.book(i, midday()).unwrap()), "another seed is another market");
    }
}

#[test]
fn an_updated_book_equals_a_fresh_one_and_updates_few_contracts() {
    let market = &*MARKET;
    let contracts = market.contracts();
    let mut moving = books(market, midday());
    let mut per_second = Vec::new();
    for seconds in [1, 2, 3, 10, 65, 4000] {
        let now = midday() + jiff::SignedDuration::from_secs(seconds);
        let written: usize = moving.iter_mut().map(|b| market.update(b, now).quotes).sum();
        if seconds <= 3 {
            per_second.push(written as f64 / contracts as f64);
        }
        for (i, book) in moving.iter().enumerate() {
            let fresh = market.book(i, now).unwrap();
            assert_eq!(bytes(book), bytes(&fresh), "{} after {seconds} s", book.underlying);
        }
    }
    println!("share of contracts quoted anew in a second: {per_second:?}");
    assert!(per_second.iter().all(|&x| x > 0.005 && x < 0.35), "{per_second:?}");
}

#[test]
fn the_list_has_every_kind_of_name_and_contract() {
    let market = &*MARKET;
    let books = books(market, midday());
    let mut counts = BTreeMap::new();
    for book in &books {
        let rows: usize = book.slices.iter().map(|s| s.right.len()).sum();
        counts.insert(book.underlying.to_string(), (rows, book.slices.len(), book.spot));
    }
    println!(
        "underlying: (contracts, slices, spot)\n{counts:?}\n{} names, {} contracts",
        counts.len(),
        market.contracts()
    );
    assert!((20_000..=60_000).contains(&market.contracts()), "{} contracts", market.contracts());
    assert!((55..=70).contains(&market.len()), "{} names", market.len());
    let has = |underlying: &str, root: &str| {
        let book = books.iter().find(|b| b.underlying.as_str() == underlying).unwrap();
        book.slices.iter().any(|s| s.root.as_str() == root)
    };
    for (underlying, root) in [
        ("SPX", "SPX"),
        ("SPX", "SPXW"),
        ("NDX", "NDXP"),
        ("VIX", "VIX"),
        ("VIX", "VIXW"),
        ("OEX", "OEX"),
        ("OEX", "XEO"),
        ("BRK.B", "BRKB"),
        ("GME", "GME1"),
        ("SPY", "SPY"),
        ("O", "O"),
        ("BYND", "BYND"),
    ] {
        assert!(has(underlying, root), "{underlying} lacks {root}");
    }
    let slices = || books.iter().flat_map(|b| &b.slices);
    assert!(slices().any(|s| s.adjusted) && slices().any(|s| s.settle == Settle::Am));
    assert!(slices().any(|s| s.style == Style::European) && slices().any(|s| s.style == Style::American));
    assert!(market.dividends().windows(2).all(|w| (w[0].underlying, w[0].ex_date) <= (w[1].underlying, w[1].ex_date)));
}

#[test]
fn slices_are_in_native_order_and_settle_when_the_exchange_says() {
    let calendar = Calendar::embedded();
    for now in ["2026-10-14T15:00:00Z", "2026-10-16T14:00:00Z", "2026-11-21T12:00:00Z", "2026-11-27T15:00:00Z"].map(at)
    {
        let market = SimMarket::at(1, now);
        for book in (0..market.len()).map(|i| market.listed(i, now).unwrap()) {
            assert!(
                book.slices
                    .windows(2)
                    .all(|w| { (w[0].expiry, w[0].settle, w[0].root) < (w[1].expiry, w[1].settle, w[1].root) })
            );
            for s in &book.slices {
                let what = format!("{} {} at {now}", s.root, s.expiry);
                assert!(calendar.is_session(s.expiry), "{what} expires on a closed day");
                assert_eq!(s.settles_at, calendar.settlement(s.expiry, s.settle), "{what}");
                assert!(s.settles_at > book.ts, "{what} has settled");
                let key = |i: usize| (s.strike_milli[i], s.right[i]);
                assert!((1..s.right.len()).all(|i| key(i - 1) < key(i)), "{what}: rows out of order");
            }
        }
    }
}

#[test]
fn the_market_stands_still_outside_the_session() {
    let (night, morning) = (at("2026-10-15T03:00:00Z"), at("2026-10-15T13:29:59Z"));
    let market = SimMarket::at(1, night);
    assert!(market.covers(morning) && !market.covers(at("2026-10-15T13:30:00Z")));
    assert!(!SimMarket::at(1, midday()).covers(night), "what settled at the close is no longer listed");
    assert_eq!(market.instant(night), at("2026-10-14T20:00:00Z"));
    let mut book = market.book(0, night).unwrap();
    let before = bytes(&book);
    assert_eq!(market.update(&mut book, morning), Updated::default());
    assert_eq!(before, bytes(&book));
}

#[test]
fn clean_quotes_hold_the_value_and_bad_ones_are_few() {
    let market = &*MARKET;
    let (mut rows, mut faults, mut outside, mut empty_sides) = (0_u32, 0_u32, 0_u32, [0_u32; 3]);
    let mut strikes = 0_u32;
    for book in books(market, midday()) {
        for s in &book.slices {
            let values = market.values(s.root, s.expiry, midday()).unwrap();
            for i in 0..s.right.len() {
                rows += 1;
                let (bid, ask, value) = (s.bid[i], s.ask[i], values[i]);
                let what =
                    format!("{} {} {} {:?}: {bid} {value} {ask}", s.root, s.expiry, s.strike_milli[i], s.right[i]);
                if let Some(fault) = market.fault(s.root, s.expiry, i, midday()) {
                    assert!(!format!("{fault:?}").is_empty());
                    faults += 1;
                    continue;
                }
                assert!(ask > 0.0 && (bid.is_nan() || (bid > 0.0 && bid <= ask)), "{what}");
                outside += u32::from(value > ask || bid > value);
                empty_sides[s.right[i] as usize] += u32::from(bid.is_nan());
                if i > 0 && s.strike_milli[i] == s.strike_milli[i - 1] {
                    strikes += 1;
                    empty_sides[2] += u32::from(bid.is_nan() || s.bid[i - 1].is_nan());
                }
            }
        }
    }
    let share = |n: u32, of: u32| f64::from(n) / f64::from(of);
    let [calls, puts, either] = empty_sides;
    let (calls, puts, either) = (share(calls, strikes), share(puts, strikes), share(either, strikes));
    println!(
        "{rows} quotes, {faults} spoiled, {outside} not around the value; no bid: calls {calls:.3}, puts {puts:.3}, either {either:.3}"
    );
    assert!(share(outside, rows) < 0.002, "{outside} of {rows} clean quotes do not hold the value");
    assert!((0.0015..0.005).contains(&share(faults, rows)), "{faults} of {rows} spoiled");
    assert!((0.10..0.30).contains(&calls) && (0.12..0.35).contains(&puts) && (0.25..0.55).contains(&either));
}

#[test]
fn no_well_known_name_is_dirty() {
    assert!((0..MARKET.len()).all(|i| !MARKET.is_dirty(i) && MARKET.spot_fault(i).is_none()));
}

#[test]
fn truth_reproduces_the_forward_and_the_borrow_of_each_name() {
    let market = &*MARKET;
    let truth = |root: &str| {
        let book =
            books(market, midday()).into_iter().find(|b| b.slices.iter().any(|s| s.root.as_str() == root)).unwrap();
        let slice = book.slices.iter().filter(|s| s.root.as_str() == root).nth(2).unwrap();
        (book.spot, market.truth(slice.root, slice.expiry, midday()).unwrap())
    };
    let (spot, spx) = truth("SPXW");
    assert!((spx.fwd / spot - ((spx.terms.r - 0.0085) * spx.terms.t).exp()).abs() < 1e-12);
    let (_, bynd) = truth("BYND");
    assert!(bynd.terms.b > 0.5, "hard to borrow: {}", bynd.terms.b);
    let (spot, vix) = truth("VIX");
    assert!((vix.s - vix.fwd).abs() < 1e-12 && (vix.fwd - spot).abs() > 1e-3, "a future is not the spot");
    let (_, spy) = truth("SPY");
    assert!(spy.sigma(spy.fwd * 0.95) > spy.sigma(spy.fwd * 1.05), "puts of an index are dearer");
    assert!(market.truth(Symbol::parse("NONE").unwrap(), jiff::civil::date(2026, 12, 18), midday()).is_none());
}

#[test]
fn european_quotes_hold_the_true_forward_by_parity() {
    let market = &*MARKET;
    let mut checked = 0;
    for book in books(market, midday()) {
        for s in book.slices.iter().filter(|s| s.style == Style::European) {
            let truth = market.truth(s.root, s.expiry, midday()).unwrap();
            for i in 1..s.right.len() {
                let pair = s.strike_milli[i] == s.strike_milli[i - 1] && s.right[i] == Right::Put;
                let clean = (i - 1..=i).all(|row| market.fault(s.root, s.expiry, row, midday()).is_none());
                if !pair || !clean || s.bid[i].is_nan() || s.bid[i - 1].is_nan() {
                    continue;
                }
                let k = f64::from(s.strike_milli[i]) / 1000.0;
                let parity = truth.df() * (truth.fwd - k);
                let (low, high) = (s.bid[i - 1] - s.ask[i], s.ask[i - 1] - s.bid[i]);
                let slack = 0.1 * (high - low);
                assert!(
                    low - slack <= parity && parity <= high + slack,
                    "{} {} {k}: {low} {parity} {high}",
                    s.root,
                    s.expiry
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 2000, "{checked} pairs");
}

/// Values within a twentieth of the spread, half a cent or 1e-4, of one table for each contract at the finest scheme:
/// in the middle of the session, and at its end, when tables are hours old.
#[test]
fn american_values_agree_with_the_reference_scheme() {
    let (mut checked, mut premiums) = (0, 0);
    for (symbol, now) in
        ["KO", "DDS", "NVDY", "BYND", "SPY", "AMZN", "OEX", "TLT"].iter().zip([midday(), late()].iter().cycle())
    {
        let i = MARKET.underlyings().position(|s| s.as_str() == *symbol).unwrap();
        let book = MARKET.book(i, *now).unwrap();
        for slice in book.slices.iter().filter(|s| s.style == Style::American).step_by(3) {
            let values = MARKET.values(slice.root, slice.expiry, *now).unwrap();
            let truth = MARKET.truth(slice.root, slice.expiry, *now).unwrap();
            for row in (0..slice.right.len()).step_by(1 + slice.right.len() / 4) {
                let (k, right) = (f64::from(slice.strike_milli[row]) / 1000.0, slice.right[row]);
                let want = reference(&truth, Style::American, right, k);
                let spread = slice.ask[row] - slice.bid[row];
                let allowed = if spread.is_nan() { 0.01 } else { (0.05 * spread).max(0.005) };
                let what = format!("{symbol} {} {k} {right:?} at {now}: {} for {want}", slice.expiry, values[row]);
                assert!((values[row] - want).abs() <= allowed.max(1e-4 * want), "{what}, spread {spread}");
                premiums += usize::from(want > reference(&truth, Style::European, right, k) + 0.02);
                checked += 1;
            }
        }
    }
    assert!(checked > 50 && premiums > 15, "{checked} contracts, {premiums} with a premium");
}

/// The value of one contract by a table of its own.
fn reference(truth: &SliceTruth, style: Style, right: Right, k: f64) -> f64 {
    let sigma = truth.sigma(k);
    let band = Band { k: (k, k), sigma: (sigma, sigma) };
    let pricer = Pricer::new(style, right, &truth.terms, &band, Quality::Reference);
    pricer.at(&truth.terms, truth.s).vol_derivatives(k, sigma).value
}

#[test]
fn a_market_goes_to_any_thread() {
    fn shared<T: Send + Sync>(_: &T) -> bool {
        true
    }
    assert!(shared(&*MARKET));
    let alone: Vec<_> = (0..3).map(|i| bytes(&MARKET.book(i, late()).unwrap())).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|i| scope.spawn(move || bytes(&MARKET.book(i, late()).unwrap()))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
}
