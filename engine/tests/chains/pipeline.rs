//! Equal markets give equal bytes: on one thread and on several, in any order, twice; and nothing that is not a
//! number leaves it.

use engine::pass::{MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::snapshot::Snapshot;
use engine::store::book::Book;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use sim::SimMarket;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An index with two settlements, a payer, a hard-to-borrow name, one with an adjusted root, one on its own forwards.
const NAMES: [&str; 6] = ["XSP", "KO", "BYND", "GME", "VIX", "DDS"];

fn instant() -> Timestamp {
    "2026-11-20T15:42:00-05:00".parse().unwrap()
}

fn books(market: &SimMarket, at: Timestamp) -> Vec<Book> {
    let wanted = |name: &Symbol| NAMES.contains(&name.as_str());
    let places: Vec<usize> = market.underlyings().enumerate().filter(|(_, u)| wanted(u)).map(|(i, _)| i).collect();
    places.into_iter().map(|i| market.book(i, at).unwrap()).collect()
}

/// Two passes a second apart, so that the second one starts from what the first one kept.
fn computed(threads: usize, reversed: bool) -> BTreeMap<Symbol, Arc<Chain>> {
    let (calendar, at) = (Calendar::embedded(), instant());
    let sim = SimMarket::at(7, at);
    let curves = RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates()));
    let market = MarketData { calendar: &calendar, rates: &curves };
    let mut passes = Passes::new(threads, |_| ()).unwrap();
    let mut books = books(&sim, at);
    if reversed {
        books.reverse();
    }
    let mut done = BTreeMap::new();
    for second in 0..2 {
        let at = at + jiff::SignedDuration::from_secs(second);
        for book in &mut books {
            sim.update(book, at);
        }
        let work: Vec<(&Book, Timestamp)> = books.iter().map(|b| (b, at)).collect();
        done = passes.run(market, &work).into_iter().map(|c| (c.chain.underlying, c.chain)).collect();
    }
    done
}

fn bits(chain: &Chain) -> Vec<u64> {
    Col::ALL.iter().flat_map(|&col| chain.columns.get(col)).map(|v| v.to_bits()).collect()
}

#[test]
fn threads_and_order_do_not_change_a_bit() {
    let one = computed(1, false);
    for (threads, reversed) in [(1, false), (3, false), (2, true)] {
        let other = computed(threads, reversed);
        assert_eq!(one.len(), NAMES.len());
        for (name, chain) in &one {
            assert!(bits(chain) == bits(&other[name]), "{name} on {threads} threads, reversed: {reversed}");
            assert_eq!(format!("{:?}", chain.slices), format!("{:?}", other[name].slices));
        }
    }
}

#[test]
fn published_numbers_are_finite_or_allowed_to_be_missing() {
    for chain in computed(2, false).values() {
        for slice in &chain.slices {
            let rows = slice.rows.start as usize..slice.rows.end as usize;
            for &col in Col::ALL {
                let values = &chain.columns.get(col)[rows.clone()];
                assert!(values.iter().all(|v| !v.is_infinite()), "{} {col:?}", slice.root);
                if slice.adjusted {
                    assert!(
                        values.iter().all(|v| v.is_nan()),
                        "{} {col:?}: an adjusted root has identity only",
                        slice.root
                    );
                } else if !col.nullable() {
                    let missing = values.iter().filter(|v| v.is_nan()).count();
                    assert_eq!(missing, 0, "{} {} {col:?}", slice.root, slice.expiry);
                }
            }
        }
    }
}

#[test]
fn calls_and_puts_of_one_strike_share_one_volatility() {
    let done = computed(2, false);
    let mut pairs = 0;
    for chain in done.values() {
        let vol = chain.columns.get(Col::SvcVol);
        for slice in &chain.slices {
            for i in slice.rows.start as usize + 1..slice.rows.end as usize {
                if chain.strike_milli[i] == chain.strike_milli[i - 1] && !slice.adjusted {
                    assert_eq!(vol[i].to_bits(), vol[i - 1].to_bits(), "{} {}", slice.root, chain.strike_milli[i]);
                    pairs += 1;
                }
            }
        }
    }
    assert!(pairs > 500, "only {pairs} strikes with both rights");
}

#[test]
fn the_session_before_gives_prev_vol() {
    let calendar = Calendar::embedded();
    let mut passes = Passes::new(2, |_| ()).unwrap();
    let mut vols = Vec::new();
    for day in ["2026-11-19T15:42:00-05:00", "2026-11-20T10:00:00-05:00"] {
        let at: Timestamp = day.parse().unwrap();
        let sim = SimMarket::at(7, at);
        let curves = RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates()));
        let book = books(&sim, at).into_iter().find(|b| b.underlying.as_str() == "BYND").unwrap();
        let done = passes.run(MarketData { calendar: &calendar, rates: &curves }, &[(&book, at)]);
        vols.push(Arc::clone(&done[0].chain));
    }
    assert!(vols[0].columns.get(Col::PrevVol).iter().all(|v| v.is_nan()), "no session came before the first");
    let known = vols[1].columns.get(Col::PrevVol).iter().filter(|v| v.is_finite()).count();
    assert!(known * 10 > vols[1].strike_milli.len() * 8, "{known} of {}", vols[1].strike_milli.len());
    let slice = &vols[1].slices[1];
    let before = vols[0].slices.iter().find(|s| s.root == slice.root && s.expiry == slice.expiry).unwrap();
    let row = |chain: &Chain, at: &engine::store::chain::Slice, strike: u32| {
        (at.rows.start as usize..at.rows.end as usize).find(|&i| chain.strike_milli[i] == strike).unwrap()
    };
    let strike = vols[0].strike_milli[before.rows.start as usize];
    let (old, new) = (row(&vols[0], before, strike), row(&vols[1], slice, strike));
    let (shown, was) = (vols[1].columns.get(Col::PrevVol)[new], vols[0].columns.get(Col::SvcVol)[old]);
    assert_eq!(shown.to_bits(), was.to_bits());
}

/// A snapshot as text: its number, instant, chains, pending names, and the chains that list each root.
fn described(snapshot: &Snapshot) -> String {
    let names = |chains: &mut dyn Iterator<Item = &Arc<Chain>>| -> Vec<_> {
        chains.map(|chain| (chain.underlying, chain.valued_at)).collect()
    };
    let roots = snapshot.chains().iter().flat_map(|chain| chain.slices.roots());
    let by_root: Vec<_> = roots.map(|&root| names(&mut snapshot.chains_of_root(root))).collect();
    format!(
        "{} {} {:?} {:?} {by_root:?}",
        snapshot.number,
        snapshot.time,
        names(&mut snapshot.chains().iter()),
        snapshot.pending()
    )
}

#[test]
fn a_snapshot_made_from_the_one_before_equals_one_made_anew() {
    let chains: Vec<Arc<Chain>> = computed(1, false).into_values().collect();
    let pending = vec![Symbol::parse("ZZZ").unwrap(), Symbol::parse("AAA").unwrap()];
    let before = Snapshot::new(1, chains.clone(), Vec::new());
    let replaced = |of: &[(usize, i64)]| {
        let mut chains = chains.clone();
        for &(at, seconds) in of {
            let mut chain = (*chains[at]).clone();
            chain.valued_at += jiff::SignedDuration::from_secs(seconds);
            chains[at] = Arc::new(chain);
        }
        chains
    };
    let mut other_roots = replaced(&[(0, 1)]);
    let last = chains.last().unwrap();
    other_roots[0] = Arc::new(Chain { underlying: other_roots[0].underlying, ..(**last).clone() });
    let all_back: Vec<(usize, i64)> = (0..chains.len()).map(|at| (at, -5)).collect();
    let markets = [
        chains.clone(),
        replaced(&[(1, 3)]),
        replaced(&[(1, -3), (4, 0)]),
        replaced(&all_back),
        other_roots,
        chains[1..].to_vec(),
        Vec::new(),
    ];
    for (n, market) in markets.into_iter().enumerate() {
        let (next, anew) = (before.next(2, market.clone(), pending.clone()), Snapshot::new(2, market, pending.clone()));
        assert_eq!(described(&next), described(&anew), "chains of case {n}");
        assert!(next.is_complete() && described(&next) != described(&before));
    }
}
