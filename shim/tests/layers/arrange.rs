//! Filters, orders and pages, against filters and sorts that look at every row by itself.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::market;
use crate::support::market::{Listing, listing, symbol};
use api::cursor::compact;
use api::picked::Picked;
use api::query::{Bounds, Rights};
use api::refusal::Refusal;
use api::selection::filters::{Deltas, Expirations, FilterContext, Money, VendorFilters, filter_picked};
use api::selection::order::{Page, Sort, page};
use api::selection::{Selection, select};
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use jiff::civil::{Date, date};
use kernel::calendar::Calendar;
use kernel::contract::{ContractKey, Right, Settle, Style};
use proptest::prelude::*;

const TODAY: Date = date(2026, 11, 20);
const STRIKES: [u32; 7] = [85_000, 95_000, 97_500, 100_000, 102_500, 105_000, 115_000];

/// GME with an adjusted root whose symbol stands before it as text, and weekly, monthly and quarterly expirations.
fn gme() -> Snapshot {
    let adjusted = |expiry| Listing { adjusted: true, ..listing("GME1", expiry, 0.0, &[50_000, 100_000]) };
    let plain = |expiry| listing("GME", expiry, 101.5, &STRIKES);
    let chain = market::chain(
        "GME",
        101.25,
        &[
            plain(date(2026, 11, 27)),
            plain(date(2026, 12, 18)),
            adjusted(date(2026, 12, 18)),
            plain(date(2026, 12, 31)),
            plain(date(2027, 1, 15)),
            adjusted(date(2027, 1, 15)),
        ],
    );
    let index = |root, settle, expiry| Listing {
        settle,
        style: Style::European,
        ..listing(root, expiry, 6_012.5, &[5_990_000, 6_000_000, 6_010_000])
    };
    let december = date(2026, 12, 18);
    let spx =
        market::chain("SPX", 6_001.25, &[index("SPX", Settle::Am, december), index("SPXW", Settle::Pm, december)]);
    let vix = market::chain("VIX", 18.0, &[index("VIX", Settle::Am, date(2026, 12, 16))]);
    Snapshot::new(3, vec![chain, spx, vix], vec![])
}

fn of(names: &[&str], rights: Rights) -> Vec<Picked> {
    let selection =
        Selection { underlyings: names.iter().map(|name| symbol(name)).collect(), rights, ..Selection::default() };
    select(&gme(), &selection).unwrap()
}

fn left(names: &[&str], rights: Rights, vendor_filters: &VendorFilters) -> Vec<Picked> {
    let calendar = Calendar::embedded();
    filter_picked(of(names, rights), vendor_filters, &FilterContext { rights, today: TODAY, calendar: &calendar })
        .unwrap()
}

fn keys(picked: &[Picked]) -> Vec<ContractKey> {
    let row_key = |chain: &Chain, row: u32| {
        let slice = chain.slices.iter().find(|slice| slice.rows.contains(&row)).unwrap();
        let (strike_milli, right) = (chain.strike_milli[row as usize], chain.right[row as usize]);
        ContractKey { root: slice.root, expiry: slice.expiry, strike_milli, right }
    };
    picked.iter().flat_map(|p| p.rows.iter().cloned().flatten().map(|row| row_key(&p.chain, row))).collect()
}

/// Dates and their number of rows.
fn dates(names: &[&str], expirations: Expirations) -> Vec<String> {
    let keys = keys(&left(names, Rights::Both, &VendorFilters { expirations, ..VendorFilters::default() }));
    let mut dates: Vec<String> = keys.iter().map(|key| key.expiry.to_string()).collect();
    dates.dedup();
    dates
}

#[test]
fn expirations_are_told_apart_by_kind() {
    let any = Expirations::default();
    let gme = |wanted: Expirations| dates(&["GME"], wanted);
    assert_eq!(gme(Expirations { next_monthly: true, ..any.clone() }), ["2026-12-18"]);
    assert_eq!(gme(Expirations { monthly: Some(true), ..any.clone() }), ["2026-12-18", "2027-01-15"]);
    assert_eq!(gme(Expirations { quarterly: Some(true), ..any.clone() }), ["2026-12-31"]);
    assert_eq!(gme(Expirations { weekly: Some(true), ..any.clone() }), ["2026-11-27"]);
    let union = Expirations { weekly: Some(true), quarterly: Some(true), ..any.clone() };
    assert_eq!(gme(union), ["2026-11-27", "2026-12-31"]);
    assert_eq!(gme(Expirations { monthly: Some(false), ..any.clone() }), ["2026-11-27", "2026-12-31"]);
    assert_eq!(gme(Expirations { month: Some(12), ..any.clone() }), ["2026-12-18", "2026-12-31"]);
    assert_eq!(gme(Expirations { year: Some(2027), ..any.clone() }), ["2027-01-15"]);
    assert_eq!(dates(&["VIX"], Expirations { next_monthly: true, ..any.clone() }), ["2026-12-16"]);
    // 7, 28, 41 and 56 days away; 17.5 is halfway, and the earlier wins.
    for (near, wanted) in [(&[30.0][..], &["2026-12-18"][..]), (&[17.5, 60.0], &["2026-11-27", "2027-01-15"])] {
        assert_eq!(gme(Expirations { days_near: near.to_vec(), ..any.clone() }), wanted);
    }
    let far_monthly = Expirations { days_near: vec![0.0], monthly: Some(true), ..any };
    assert_eq!(gme(far_monthly), ["2026-12-18"]);
}

#[test]
fn settlement_and_adjusted_roots_can_be_left_out() {
    let any = VendorFilters::default();
    let roots = |names: &[&str], vendor_filters: &VendorFilters| {
        let mut roots: Vec<String> =
            keys(&left(names, Rights::Both, vendor_filters)).iter().map(|key| key.root.to_string()).collect();
        roots.sort();
        roots.dedup();
        roots
    };
    assert_eq!(roots(&["GME"], &any), ["GME", "GME1"]);
    for (am, pm, wanted) in [
        (Some(true), None, &["SPX"][..]),
        (Some(false), None, &["SPXW"]),
        (None, Some(true), &["SPXW"]),
        (None, Some(false), &["SPX"]),
        (Some(true), Some(true), &[]),
    ] {
        assert_eq!(roots(&["SPX"], &VendorFilters { am, pm, ..any.clone() }), wanted);
    }
    let calendar = Calendar::embedded();
    let context = FilterContext { rights: Rights::Both, today: TODAY, calendar: &calendar };
    let refused = filter_picked(of(&["GME"], Rights::Both), &VendorFilters { am: Some(true), ..any }, &context);
    assert_eq!(refused.map(drop), Err(Refusal::Conflict { reason: "am and pm are for index options" }));
}

#[test]
fn a_sieve_of_time_passes_all_or_nothing() {
    let since = |after: i64| Some(market::NOW + jiff::SignedDuration::from_millis(after));
    let n = |after| {
        keys(&left(&["GME"], Rights::Both, &VendorFilters { valued_since: since(after), ..VendorFilters::default() }))
            .len()
    };
    assert_eq!((n(-1), n(0), n(1)), (64, 64, 0));
}

/// Of the December contracts, the strikes of the calls and those of the puts.
fn sides(rights: Rights, vendor_filters: VendorFilters) -> [Vec<u32>; 2] {
    let keys = keys(&left(&["GME"], rights, &vendor_filters));
    let december = keys.iter().filter(|key| key.expiry == date(2026, 12, 18) && key.root == symbol("GME"));
    let (calls, puts): (Vec<&ContractKey>, Vec<_>) = december.partition(|key| key.right == Right::Call);
    [calls, puts].map(|side| side.iter().map(|key| key.strike_milli / 100).collect())
}

#[test]
fn the_money_is_where_the_spot_is() {
    let money = |money| sides(Rights::Both, VendorFilters { money, ..VendorFilters::default() });
    assert_eq!(money(Money::In), [vec![850, 950, 975, 1000], vec![1025, 1050, 1150]]);
    assert_eq!(money(Money::Out), [vec![1025, 1050, 1150], vec![850, 950, 975, 1000]]);
    assert_eq!(money(Money::Near(1.25)), [vec![1025], vec![1000]]);
    assert_eq!(money(Money::Near(1.2)), [const { Vec::<u32>::new() }; 2]);
    // 100 and 102.5 are equally near to 101.25: the lower.
    assert_eq!(money(Money::At), [vec![1000], vec![1000]]);
}

#[test]
fn strikes_near_the_money_count_by_strike_or_by_side() {
    let near = |n, near_each_right, money| {
        sides(Rights::Both, VendorFilters { near_strikes: Some(n), near_each_right, money, ..VendorFilters::default() })
    };
    assert_eq!(near(3, false, Money::Any), [vec![975, 1000, 1025], vec![975, 1000, 1025]]);
    assert_eq!(near(2, false, Money::In), [vec![1000], vec![1025]]);
    assert_eq!(near(2, true, Money::In), [vec![975, 1000], vec![1025, 1050]]);
    let calls = VendorFilters { near_strikes: Some(2), money: Money::Out, ..VendorFilters::default() };
    assert_eq!(sides(Rights::Call, calls), [vec![1025, 1050], vec![]]);
}

#[test]
fn strikes_and_deltas_are_lists_of_ranges() {
    let strikes = vec![Bounds::exactly(97.5), Bounds::above(105.0, false)];
    let listed = sides(Rights::Both, VendorFilters { strikes, ..VendorFilters::default() });
    assert_eq!(listed, [vec![975, 1150], vec![975, 1150]]);
    let within = vec![Bounds { least: Some(0.3), most: Some(0.6) }];
    let got = sides(Rights::Both, VendorFilters { deltas: Deltas::Within(within), ..VendorFilters::default() });
    let chain = gme().chain(symbol("GME")).unwrap().clone();
    let december = chain.slices.iter().find(|s| s.expiry == date(2026, 12, 18) && !s.adjusted).unwrap().clone();
    let delta = |side| {
        let rows = december.rows.clone().map(|row| row as usize).filter(|&i| chain.right[i] == side);
        rows.map(|i| (chain.columns.get(Col::Delta)[i].abs(), chain.strike_milli[i] / 100)).collect::<Vec<_>>()
    };
    let [calls, puts] = [delta(Right::Call), delta(Right::Put)];
    let in_range =
        |side: &[(f64, u32)]| side.iter().filter(|(d, _)| (0.3..=0.6).contains(d)).map(|&(_, k)| k).collect::<Vec<_>>();
    assert_eq!(got, [in_range(&calls), in_range(&puts)]);
    assert!(!got[0].is_empty() && got[0].len() < 7);
    // The nearest of each side; both rights of the strikes that were found.
    let nearest = |side: &[(f64, u32)], to: f64| {
        side.iter().min_by(|a, b| (a.0 - to).abs().total_cmp(&(b.0 - to).abs())).unwrap().1
    };
    for to in [0.2, 0.5, 0.8] {
        let mut wanted = vec![nearest(&calls, to), nearest(&puts, to)];
        wanted.sort_unstable();
        wanted.dedup();
        let vendor_filters = VendorFilters { deltas: Deltas::Nearest(vec![to]), ..VendorFilters::default() };
        assert_eq!(sides(Rights::Both, vendor_filters.clone()), [wanted.clone(), wanted], "{to}");
        assert_eq!(sides(Rights::Put, vendor_filters), [vec![], vec![nearest(&puts, to)]], "{to}");
    }
}

#[test]
fn a_symbol_order_is_that_of_the_text() {
    let keys = keys(&page(of(&["SPX", "GME"], Rights::Both), &by(Sort::Ticker)).0);
    let text: Vec<String> = keys.iter().map(compact).collect();
    let mut sorted = text.clone();
    sorted.sort();
    assert_eq!(text, sorted);
    assert_eq!(text.first().map(String::as_str), Some("GME1261218C00050000"));
}

#[test]
fn sides_follow_one_another_within_an_expiry() {
    let keys = keys(&page(of(&["SPX"], Rights::Both), &by(Sort::CallsFirst)).0);
    let text: Vec<String> =
        keys.iter().map(|key| format!("{} {:?} {}", key.root, key.right, key.strike_milli / 1000)).collect();
    let wanted = "SPX Call 5990,SPX Call 6000,SPX Call 6010,SPX Put 5990,SPX Put 6000,SPX Put 6010,\
                  SPXW Call 5990,SPXW Call 6000,SPXW Call 6010,SPXW Put 5990,SPXW Put 6000,SPXW Put 6010";
    assert_eq!(text.join(","), wanted);
}

fn by(sort: Sort) -> Page {
    Page { sort, ..Page::default() }
}

/// Every contract in order, by sorting.
fn naive(order: Sort, descending: bool) -> Vec<ContractKey> {
    let mut keys = keys(&of(&["SPX", "GME"], Rights::Both));
    let primary = |key: &ContractKey| match order {
        Sort::Expiry => key.expiry.to_string(),
        Sort::Strike => format!("{:09}", key.strike_milli),
        _ => String::new(),
    };
    keys.sort_by_key(|key| (primary(key), compact(key)));
    if descending {
        keys.reverse();
    }
    keys
}

proptest! {
    #[test]
    fn pages_show_every_contract_once(
        order in prop::sample::select(vec![Sort::Ticker, Sort::Expiry, Sort::Strike]),
        descending in any::<bool>(),
        limit in 1usize..80,
    ) {
        let wanted = naive(order, descending);
        let mut walked = Vec::new();
        let mut after = None;
        loop {
            let asked = Page { sort: order, descending, after, limit: Some(limit), offset: 0 };
            let (picked, last) = page(of(&["SPX", "GME"], Rights::Both), &asked);
            let keys = keys(&picked);
            prop_assert!(keys.len() == limit || last.is_none());
            prop_assert!(last.is_none() || last.as_ref() == keys.last());
            walked.extend(keys);
            after = last;
            if after.is_none() {
                break;
            }
        }
        prop_assert_eq!(walked, wanted);
    }

    #[test]
    fn a_window_is_a_slice_of_the_whole(offset in 0usize..90, limit in prop::option::of(0usize..90)) {
        for order in [Sort::Native, Sort::CallsFirst] {
            let whole = keys(&page(of(&["GME", "SPX"], Rights::Both), &by(order)).0);
            let (picked, _) = page(of(&["GME", "SPX"], Rights::Both), &Page { offset, limit, ..by(order) });
            let start = offset.min(whole.len());
            let end = limit.map_or(whole.len(), |n| (start + n).min(whole.len()));
            prop_assert_eq!(keys(&picked), &whole[start..end]);
        }
    }
}

#[test]
fn a_place_survives_the_contract_that_stood_there() {
    for (order, descending) in
        [(Sort::Ticker, false), (Sort::Expiry, true), (Sort::Strike, false), (Sort::Strike, true)]
    {
        let after = ContractKey { root: symbol("GME"), ..ContractKey::parse_osi("GME261218P00099000").unwrap() };
        let text = |key: &ContractKey| match order {
            Sort::Expiry => format!("{}{}", key.expiry, compact(key)),
            Sort::Strike => format!("{:09}{}", key.strike_milli, compact(key)),
            _ => compact(key),
        };
        let wanted: Vec<ContractKey> = naive(order, descending)
            .into_iter()
            .filter(|key| if descending { text(key) < text(&after) } else { text(key) > text(&after) })
            .collect();
        let asked = Page { sort: order, descending, after: Some(after), ..Page::default() };
        assert_eq!(keys(&page(of(&["SPX", "GME"], Rights::Both), &asked).0), wanted);
    }
}
