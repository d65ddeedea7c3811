//! Adjusted roots with their terms: against standard options on transformed strikes, against closed forms that other
//! software computed, and against the true values of the made-up market.

use engine::explain::{Warning, explain};
use engine::pass::{Computed, MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::Book;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use engine::store::ingest::Store;
use engine::store::overrides::Overrides;
use feeds::overrides::parse_overrides;
use feeds::reference::parse_deliverables;
use jiff::Timestamp;
use jiff::civil::date;
use kernel::calendar::Calendar;
use kernel::contract::{ContractKey, Deliverable, RootTable, Symbol};
use kernel::records::{Activity, Batch, DividendRecord, QuoteRecord, RateRecord, SpotRecord};
use sim::SimMarket;
use sim::symbols::well_known;
use std::path::Path;

fn at() -> Timestamp {
    "2026-11-20T16:00:00-05:00".parse().unwrap()
}

fn symbol(name: &str) -> Symbol {
    Symbol::parse(name).unwrap()
}

fn quote(osi: &str, bid: f64, ask: f64) -> QuoteRecord {
    let contract = ContractKey::parse_osi(osi).unwrap();
    let underlying = symbol("ABC");
    QuoteRecord {
        ts: at(),
        underlying,
        contract,
        bid,
        ask,
        bid_size: f64::NAN,
        ask_size: f64::NAN,
        activity: Activity::default(),
    }
}

fn osi(root: &str, expiry: &str, letter: char, strike_milli: u32) -> String {
    format!("{root}{expiry}{letter}{strike_milli:08}")
}

fn terms(text: &str) -> Batch {
    let (records, report) = parse_deliverables(Path::new("deliverables.csv"), text.as_bytes());
    assert_eq!((report.errors.len(), report.refused_total()), (0, 0), "{:?}", report.places);
    Batch { deliverables: Some(records), ..Batch::default() }
}

fn compute(store: &Store, overrides: Option<Overrides>) -> Computed {
    let mut passes = Passes::new(1, |_| ()).unwrap();
    passes.set_overrides(overrides.unwrap_or_default());
    let rates = RateTable::zero();
    let market = MarketData { calendar: store.calendar(), rates: &rates };
    let work = [(&store.books()[0], at())];
    passes.run(market, &work);
    passes.run(market, &work).remove(0)
}

fn slices<'a>(chain: &'a Chain, root: &str) -> Vec<&'a Slice> {
    chain.slices.iter().filter(|slice| slice.root == symbol(root)).collect()
}

fn row(chain: &Chain, osi: &str) -> usize {
    let key = ContractKey::parse_osi(osi).unwrap();
    let slice = chain.slices.iter().find(|s| s.root == key.root && s.expiry == key.expiry).unwrap();
    let is = |row: &usize| chain.strike_milli[*row] == key.strike_milli && chain.right[*row] == key.right;
    (slice.rows.start as usize..slice.rows.end as usize).find(is).unwrap()
}

/// Value, delta, gamma, vega per 1 %, theta per day of European options at a spot of 100, a volatility of 0.3, no rate,
/// and 28 days of 365: the formula of Black and Scholes in Python, by `math.erfc`.
const GOLDEN: [(u32, char, [f64; 5]); 6] = [
    (95000, 'C', [6.327353556426, 0.745007284854, 0.038644995575, 0.088936428172, -0.047644515092]),
    (95000, 'P', [1.327353556426, -0.254992715146, 0.038644995575, 0.088936428172, -0.047644515092]),
    (100000, 'C', [3.313896835515, 0.516569484178, 0.047971293126, 0.110399688290, -0.059142690155]),
    (100000, 'P', [3.313896835515, -0.483430515822, 0.047971293126, 0.110399688290, -0.059142690155]),
    (105000, 'C', [1.465598253990, 0.292655257080, 0.041371902735, 0.095212050129, -0.051006455426]),
    (105000, 'P', [6.465598253990, -0.707344742920, 0.041371902735, 0.095212050129, -0.051006455426]),
];

/// Half a share and 12.50 in cash for each quoted one: ABC1 at 0.5 k + 12.5 is half of ABC at k.
const HALF: &str = "root,shares,cash\nABC1,50,1250\n";

#[test]
fn an_adjusted_contract_is_so_many_options_on_a_transformed_strike() {
    let mut store = Store::new(RootTable::embedded(), Calendar::embedded());
    let mut quotes = Vec::new();
    for (strike, letter, [value, ..]) in GOLDEN {
        quotes.push(quote(&osi("ABC", "261218", letter, strike), value - 0.01, value + 0.01));
        let half = 0.5 * value;
        quotes.push(quote(&osi("ABC1", "261218", letter, strike / 2 + 12_500), half - 0.005, half + 0.005));
    }
    let spots = vec![SpotRecord { ts: at(), underlying: symbol("ABC"), price: 100.0 }];
    store.ingest(&Batch { quotes, spots, ..Batch::default() }, at());
    let without = compute(&store, None);
    store.ingest(&terms(HALF), at());
    let with = compute(&store, None);
    assert_eq!((without.report.priced, with.report.priced), (6, 12));
    let chain = &with.chain;
    for (strike, letter, [value, delta, gamma, vega, theta]) in GOLDEN {
        let at = row(chain, &osi("ABC1", "261218", letter, strike / 2 + 12_500));
        let close = |col: Col, want: f64, within: f64| {
            let got = chain.columns.get(col)[at];
            assert!((got - want).abs() < within, "{strike} {letter} {}: {got} and not {want}", col.name());
        };
        close(Col::SvcVol, 0.3, 1e-3);
        // inside its quotes
        close(Col::SvcTheo, 0.5 * value, 5e-3);
        close(Col::Delta, 0.5 * delta, 5e-4);
        close(Col::Gamma, 0.5 * gamma, 2e-4);
        close(Col::Vega, 0.5 * vega, 2e-4);
        close(Col::Theta, 0.5 * theta, 2e-4);
    }
    let slice = slices(chain, "ABC1")[0];
    assert!((slice.und_price - 100.0).abs() < 1e-9 && (slice.fwd_price - 100.0).abs() < 0.02, "{slice:?}");
}

#[test]
fn standard_roots_stay_and_scaled_quotes_give_scaled_greeks() {
    let universe: Vec<_> = well_known().into_iter().filter(|n| n.symbol == "KO").collect();
    let now: Timestamp = "2026-11-20T20:59:00Z".parse().unwrap();
    let market = SimMarket::with_universe(3, now, &universe);
    let ko = market.book(0, now).unwrap();
    let mut store = Store::new(RootTable::embedded(), Calendar::embedded());
    let mut quotes = Vec::new();
    for slice in ko.slices.iter().filter(|slice| slice.settles_at > at()) {
        for i in 0..slice.rows() {
            let contract = ContractKey {
                root: symbol("ABC"),
                expiry: slice.expiry,
                strike_milli: slice.strike_milli[i],
                right: slice.right[i],
            };
            let (bid, ask) = (slice.bid[i], slice.ask[i]);
            let (underlying, none) = (symbol("ABC"), f64::NAN);
            let standard = QuoteRecord {
                ts: at(),
                underlying,
                contract,
                bid,
                ask,
                bid_size: none,
                ask_size: none,
                activity: Activity::default(),
            };
            let contract =
                ContractKey { root: symbol("ABC1"), strike_milli: contract.strike_milli * 3 / 2, ..contract };
            quotes.push(standard);
            if slice.strike_milli[i] % 2 == 0 {
                quotes.push(QuoteRecord { contract, bid: 1.5 * bid, ask: 1.5 * ask, ..standard });
            }
        }
    }
    let dividends = market.dividends().iter().map(|d| DividendRecord { underlying: symbol("ABC"), ..*d }).collect();
    let spots = vec![SpotRecord { ts: at(), underlying: symbol("ABC"), price: ko.spot }];
    let batch = Batch { quotes, spots, dividends: Some(dividends), rates: Some(market.rates()), ..Batch::default() };
    store.ingest(&batch, at());
    let without = compute(&store, None).chain;
    store.ingest(&terms("root,shares,from\nABC1,150,2026-11-01\nABC1,777,2026-12-01\n"), at());
    let with = compute(&store, None).chain;
    let mut seen = 0;
    for (before, after) in without.slices.iter().zip(&with.slices) {
        let rows = after.rows.start as usize..after.rows.end as usize;
        if !after.adjusted {
            assert_eq!(before, after, "terms of another root change nothing");
            // without terms the adjusted slice stands in the order of expiries, without a quote; with them it does not
            for (col, within) in [(Col::SvcVol, 1e-3), (Col::Delta, 2e-3), (Col::SvcTheo, 2e-2)] {
                for row in rows.clone() {
                    let (was, is) = (without.columns.get(col)[row], with.columns.get(col)[row]);
                    let same = (was - is).abs() <= within || was.is_nan() && is.is_nan();
                    assert!(same, "{} {}: {was} and {is}", after.expiry, col.name());
                }
            }
            continue;
        }
        let twin = with.slices.iter().find(|s| !s.adjusted && s.expiry == after.expiry).unwrap();
        assert!((after.fwd_price / twin.fwd_price - 1.0).abs() < 2e-4, "{after:?}\n{twin:?}");
        assert!((after.divs - twin.divs).abs() < 1e-12 && before.und_price.is_nan());
        for at in rows {
            let listed = with.strike_milli[at] / 3 * 2;
            let same = (twin.rows.start as usize..twin.rows.end as usize)
                .find(|&i| with.strike_milli[i] == listed && with.right[i] == with.right[at]);
            let Some(same) = same else { continue };
            let of = |col: Col, row: usize| with.columns.get(col)[row];
            let (delta, own) = (of(Col::Delta, same), of(Col::Delta, at));
            if !(of(Col::ConfVol, same) > 0.5 && (0.05..0.95).contains(&delta.abs()) && own.is_finite()) {
                continue;
            }
            seen += 1;
            let close = |col: Col, factor: f64, within: f64| {
                let (got, want) = (of(col, at), factor * of(col, same));
                assert!((got - want).abs() <= within, "{} {}: {got} and not {want}", after.expiry, col.name());
            };
            close(Col::Delta, 1.5, 0.03);
            close(Col::SvcVol, 1.0, 0.01);
            close(Col::SvcTheo, 1.5, 0.05 + 0.01 * of(Col::SvcTheo, same));
            close(Col::Lambda, 1.0, 0.06 * of(Col::Lambda, same).abs());
        }
    }
    assert!(seen > 20, "{seen} contracts compared");
}

#[test]
fn the_terms_of_the_made_up_market_give_its_true_values() {
    let now: Timestamp = "2026-10-14T15:00:00Z".parse().unwrap();
    let universe: Vec<_> = well_known().into_iter().filter(|n| n.symbol == "GME").collect();
    let market = SimMarket::with_universe(1, now, &universe);
    let book = market.book(0, now).unwrap();
    let calendar = Calendar::embedded();
    let rates = RateTable::of(RateSource::Simulated, DiscountCurves::new(&market.rates()));
    let (records, report) = parse_overrides(
        Path::new("o"),
        b"underlying,root,what,value,date\nGME,GME1,deliverable,103,\nGME,GME1,deliverable,1+1,2027-01-01\n\
          GME,,deliverable,100,\nGME,GME1,deliverable,-5,\nGME,GME2,deliverable,5+x,\n",
    );
    let refused: Vec<String> = report.places.iter().map(ToString::to_string).collect();
    assert_eq!(refused, ["o:4: root: missing", "o:5: value: out_of_range: `-5`", "o:6: value: not_a_number: `5+x`"]);
    let overrides = Overrides::new(&records, &RootTable::embedded());
    let of = |day| overrides.deliverable(symbol("GME"), symbol("GME1"), day);
    assert_eq!(of(date(2026, 12, 31)), Some(Deliverable::usual(103.0, 0.0)));
    assert_eq!(of(date(2027, 1, 1)), Some(Deliverable::usual(1.0, 1.0)));
    let mut passes = Passes::new(1, |_| ()).unwrap();
    passes.set_overrides(overrides);
    let work: [(&Book, Timestamp); 1] = [(&book, book.ts)];
    let done = passes.run(MarketData { calendar: &calendar, rates: &rates }, &work).remove(0);
    let (mut inside, mut all) = (0, 0);
    for (quoted, slice) in book.slices.iter().zip(&done.chain.slices).filter(|(quoted, _)| quoted.adjusted) {
        let truth = market.values(quoted.root, quoted.expiry, now).unwrap();
        let theo = &done.chain.columns.get(Col::SvcTheo)[slice.rows.start as usize..slice.rows.end as usize];
        for (i, (&truth, &theo)) in truth.iter().zip(theo).enumerate() {
            let half = (0.5 * (quoted.ask[i] - quoted.bid[i])).max(0.01);
            all += 1;
            inside += u32::from((theo - truth).abs() <= half);
        }
        let first = slice.rows.start as usize;
        let contract = ContractKey {
            root: slice.root,
            expiry: slice.expiry,
            strike_milli: done.chain.strike_milli[first],
            right: done.chain.right[first],
        };
        let found = explain(&done.chain, &contract).unwrap();
        assert!(found.warnings.contains(&Warning::Deliverable), "{:?}", found.warnings);
        assert!(!found.warnings.contains(&Warning::SchemesDiffer), "{:?}", found.warnings);
    }
    println!("{inside} of {all} within half a spread of the truth");
    assert!(all > 10 && inside * 10 >= all * 9, "{inside} of {all}");
}

#[test]
fn strikes_below_the_cash_have_no_value_and_bad_rows_are_refused() {
    let mut store = Store::new(RootTable::embedded(), Calendar::embedded());
    let mut quotes: Vec<QuoteRecord> = GOLDEN
        .iter()
        .map(|(strike, letter, [value, ..])| quote(&osi("ABC", "261218", *letter, *strike), value - 0.01, value + 0.01))
        .collect();
    for strike in [5_000, 10_000, 55_000, 62_500, 70_000] {
        quotes.push(quote(&osi("ABC1", "261218", 'C', strike), 1.0, 1.1));
        quotes.push(quote(&osi("ABC1", "261218", 'P', strike), 1.0, 1.1));
    }
    let spots = vec![SpotRecord { ts: at(), underlying: symbol("ABC"), price: 100.0 }];
    let rates = vec![RateRecord { date: date(2026, 11, 20), tenor_days: 365.0, rate: 0.0 }];
    store.ingest(&Batch { quotes, spots, rates: Some(rates), ..Batch::default() }, at());
    store.ingest(&terms(HALF), at());
    let done = compute(&store, None);
    for strike in [5_000, 10_000] {
        let at = row(&done.chain, &osi("ABC1", "261218", 'C', strike));
        for &col in Col::ALL {
            assert!(done.chain.columns.get(col)[at].is_nan(), "{strike} {}", col.name());
        }
    }
    let text = "root,shares,cash,multiplier,strike_multiplier,from,component\nABC1,50,1250,,,,\nABC1,51,,,,,\n\
                ABC2,,,,,,\nABC3,10,,0,,,\nABC4,10,,,,soon,\nABC5,10,,,,,25 XYZ\nABC6,10,0,100,10,2026-01-02,\n\
                KO,50,1000,,,,\n";
    let (records, report) = parse_deliverables(Path::new("d"), text.as_bytes());
    let refused: Vec<String> = report.places.iter().map(ToString::to_string).collect();
    assert_eq!(
        refused,
        [
            "d:3: root: duplicate: `ABC1`",
            "d:4: shares: missing",
            "d:5: multiplier: out_of_range: `0`",
            "d:6: from: not_a_date: `soon`",
            "d:7: component: unused: `25 XYZ`",
            "d:9: root: unused: `KO`"
        ]
    );
    assert_eq!(records.len(), 2);
}
