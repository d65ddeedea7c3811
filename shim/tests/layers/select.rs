//! Selection against a filter that looks at every row by itself.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::market;
use crate::support::market::{Listing, NOW, listing, symbol};
use api::query::{Bounds, Rights};
use api::selection::{Center, Selection, select};
use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::{Col, Columns};
use jiff::civil::{Date, date};
use kernel::contract::{ContractKey, Right};
use proptest::prelude::*;
use std::sync::Arc;

const EXPIRIES: [Date; 3] = [date(2026, 11, 27), date(2026, 12, 18), date(2027, 1, 15)];
const STRIKES: [u32; 6] = [90_000, 95_000, 97_500, 100_000, 102_500, 105_000];

/// A chain in which any row may be absent and any delta missing. Spot, some forwards and deltas lie halfway between
/// strikes, so that ties occur.
fn build(name: &'static str, roots: [&'static str; 2], present: u64, priced: u64) -> Arc<Chain> {
    let whole = |i: usize, expiry| {
        let root = roots[i % 2];
        Listing { adjusted: root.ends_with('1'), ..listing(root, expiry, 100.0 + 1.25 * i as f64, &STRIKES) }
    };
    let listings: Vec<Listing> = EXPIRIES.iter().flat_map(|&expiry| [whole(0, expiry), whole(1, expiry)]).collect();
    let full = market::chain(name, 101.25, &listings);
    let bit = |bits: u64, row: u32| bits >> (row % 64) & 1 == 1;
    let mut chain = Chain { slices: Default::default(), strike_milli: vec![], right: vec![], ..(*full).clone() };
    let mut kept = Vec::new();
    for slice in &full.slices {
        let start = kept.len() as u32;
        kept.extend(slice.rows.clone().filter(|&row| bit(present, row)));
        chain.slices.push(Slice { rows: start..kept.len() as u32, ..slice.clone() });
    }
    chain.columns = Columns::missing(kept.len());
    for (to, &from) in kept.iter().enumerate() {
        chain.strike_milli.push(full.strike_milli[from as usize]);
        chain.right.push(full.right[from as usize]);
        if bit(priced, from) {
            chain.columns.get_mut(Col::Delta)[to] = (full.columns.get(Col::Delta)[from as usize] * 4.0).round() / 4.0;
        }
    }
    Arc::new(chain)
}

/// (underlying, row) of every row that is asked for, by the rules and nothing else.
fn naive(snapshot: &Snapshot, selection: &Selection) -> Vec<(String, u32)> {
    let mut order: Vec<&Arc<Chain>> = Vec::new();
    let named: Vec<&Arc<Chain>> = if !selection.underlyings.is_empty() {
        selection.underlyings.iter().filter_map(|&name| snapshot.chain(name)).collect()
    } else {
        let roots = selection.roots.iter().copied().chain(selection.contracts.iter().map(|key| key.root));
        let lists = |chain: &Chain, root| chain.slices.iter().any(|slice| slice.root == root);
        roots.flat_map(|root| snapshot.chains().iter().filter(move |chain| lists(chain, root))).collect()
    };
    for chain in named {
        if !order.iter().any(|seen| seen.underlying == chain.underlying) {
            order.push(chain);
        }
    }
    let mut out = Vec::new();
    for chain in order {
        for slice in &chain.slices {
            let anchored = center_strikes(chain, slice, selection);
            for row in slice.rows.clone() {
                let i = row as usize;
                let strike = chain.strike_milli[i];
                let keep = candidate(chain, slice, row, selection)
                    && anchored.as_ref().is_none_or(|strikes| strikes.contains(&strike))
                    && selection.rights.admit(chain.right[i])
                    && within(&selection.abs_delta, chain.columns.get(Col::Delta)[i].abs());
                if keep {
                    out.push((chain.underlying.to_string(), row));
                }
            }
        }
    }
    out
}

fn within(bounds: &Bounds, x: f64) -> bool {
    (bounds.least.is_none() || x >= bounds.least.unwrap()) && (bounds.most.is_none() || x <= bounds.most.unwrap())
}

fn candidate(chain: &Chain, slice: &Slice, row: u32, selection: &Selection) -> bool {
    let i = row as usize;
    let (strike_milli, right) = (chain.strike_milli[i], chain.right[i]);
    let key = ContractKey { root: slice.root, expiry: slice.expiry, strike_milli, right };
    (selection.roots.is_empty() || selection.roots.contains(&slice.root))
        && (selection.contracts.is_empty() || selection.contracts.contains(&key))
        && selection.expiries.as_ref().is_none_or(|dates| dates.contains(&slice.expiry))
        && selection.expiry_min.is_none_or(|first| slice.expiry >= first)
        && selection.expiry_max.is_none_or(|last| slice.expiry <= last)
        && within(&selection.days, slice.days)
        && within(&selection.strike, f64::from(strike_milli) / 1000.0)
}

fn center_strikes(chain: &Chain, slice: &Slice, selection: &Selection) -> Option<Vec<u32>> {
    let center = selection.center?;
    let distance = |strike: u32| match center {
        Center::AtMoney => (f64::from(strike) / 1000.0 - slice.und_price).abs(),
        Center::AtForward => (f64::from(strike) / 1000.0 - slice.fwd_price).abs(),
        Center::CallDelta(delta) | Center::PutDelta(delta) => {
            let right = if matches!(center, Center::PutDelta(_)) { Right::Put } else { Right::Call };
            let of_right = slice
                .rows
                .clone()
                .find(|&row| chain.strike_milli[row as usize] == strike && chain.right[row as usize] == right);
            of_right.map_or(f64::NAN, |row| (chain.columns.get(Col::Delta)[row as usize] - delta).abs())
        }
    };
    let mut left: Vec<u32> = slice
        .rows
        .clone()
        .filter(|&row| candidate(chain, slice, row, selection))
        .map(|row| chain.strike_milli[row as usize])
        .filter(|&strike| distance(strike).is_finite())
        .collect();
    left.dedup();
    let mut chosen = Vec::new();
    while chosen.len() < selection.strike_count && !left.is_empty() {
        let mut best = 0;
        for i in 1..left.len() {
            if distance(left[i]) < distance(left[best]) {
                best = i;
            }
        }
        chosen.push(left.remove(best));
    }
    Some(chosen)
}

fn bounds(values: &'static [f64]) -> impl Strategy<Value = Bounds> {
    let side = || prop_oneof![2 => Just(None), 1 => prop::sample::select(values).prop_map(Some)];
    (side(), side()).prop_map(|(least, most)| Bounds { least, most })
}

fn some_of<T: Clone + std::fmt::Debug + 'static>(values: Vec<T>, most: usize) -> impl Strategy<Value = Vec<T>> {
    let n = values.len();
    prop::collection::vec(0..n, 0..=most).prop_map(move |picks| picks.iter().map(|&i| values[i].clone()).collect())
}

fn asks() -> impl Strategy<Value = Selection> {
    let names = ["ABC", "XY.Z", "NONE"].map(symbol).to_vec();
    let roots = ["ABC", "ABC1", "XYZ", "XYZW", "NONE"].map(symbol).to_vec();
    let key = |i: usize| ContractKey {
        root: symbol(["ABC", "XYZ", "XYZW", "ABC1"][i % 4]),
        expiry: EXPIRIES[i % 3],
        strike_milli: [95_000, 100_000, 102_500, 101_000][i / 7 % 4],
        right: if i.is_multiple_of(2) { Right::Call } else { Right::Put },
    };
    let dates = [EXPIRIES[0], EXPIRIES[1], EXPIRIES[2], date(2026, 12, 24)].to_vec();
    let day = || prop_oneof![3 => Just(None), 1 => prop::sample::select(dates.clone()).prop_map(Some)];
    let center = prop_oneof![
        2 => Just(None),
        1 => Just(Some(Center::AtMoney)),
        1 => Just(Some(Center::AtForward)),
        1 => prop::sample::select(vec![0.2, 0.375, 0.5, 0.625]).prop_map(|delta| Some(Center::CallDelta(delta))),
    ];
    let names = (some_of(names, 3), some_of(roots, 2), some_of((0..40).map(key).collect(), 6));
    let expiry = (prop::option::of(some_of(dates.clone(), 3)), day(), day());
    let numbers = (
        bounds(&[89.0, 95.0, 97.5, 100.0, 103.0]),
        bounds(&[7.0, 8.0, 28.0, 29.0, 57.0]),
        bounds(&[0.2, 0.4, 0.5, 0.6, 0.8]),
    );
    let rights = prop::sample::select(vec![Rights::Both, Rights::Call, Rights::Put]);
    (names, expiry, numbers, rights, center, 1..5usize).prop_map(|(names, expiry, numbers, rights, center, count)| {
        Selection {
            underlyings: names.0,
            roots: names.1,
            contracts: names.2,
            expiries: expiry.0,
            expiry_min: expiry.1,
            expiry_max: expiry.2,
            strike: numbers.0,
            days: numbers.1,
            abs_delta: numbers.2,
            rights,
            center,
            strike_count: count,
            ..Selection::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn ranges_hold_exactly_the_rows_that_a_plain_filter_keeps(
        selection in asks(), present in any::<[u64; 2]>(), priced in any::<u64>(),
    ) {
        let abc = build("ABC", ["ABC", "ABC1"], present[0] | 1, priced);
        let xyz = build("XY.Z", ["XYZ", "XYZW"], present[1] | 1, !0);
        let snapshot = Snapshot::new(1, vec![xyz, abc], vec![]);
        let picked = select(&snapshot, &selection).unwrap();
        let got: Vec<(String, u32)> = picked
            .iter()
            .flat_map(|p| p.rows.iter().cloned().flatten().map(|row| (p.chain.underlying.to_string(), row)))
            .collect();
        prop_assert_eq!(&got, &naive(&snapshot, &selection));
        for p in &picked {
            prop_assert!(!p.rows.is_empty() && p.rows.iter().all(|range| !range.is_empty()));
            prop_assert!(p.rows.windows(2).all(|pair| pair[0].end < pair[1].start), "ranges that touch are one");
            prop_assert_eq!(p.count(), p.rows.iter().map(|range| range.len()).sum::<usize>());
        }
    }
}

#[test]
fn a_snapshot_is_dated_by_its_chains() {
    let chain = build("ABC", ["ABC", "ABC1"], !0, !0);
    assert_eq!(Snapshot::new(3, vec![chain], vec![]).time, NOW);
}
