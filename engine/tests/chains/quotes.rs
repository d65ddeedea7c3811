//! Chains that show the quotes that they were computed from: those of the book, row by row, and only where that is
//! asked.

use engine::pass::{MarketData, Passes};
use engine::rates::table::RateTable;
use engine::store::book::Book;
use engine::store::chain::Chain;
use engine::store::ingest::Store;
use engine::store::quotes::QuoteNumber;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use kernel::records::{Activity, Batch, QuoteRecord, SpotRecord};
use std::sync::Arc;

fn at() -> Timestamp {
    "2026-11-20T16:00:00-05:00".parse().unwrap()
}

/// Two expiries around 100 with sizes and times of their own, one bid missing, and a third expiry that has settled.
fn quotes() -> Vec<QuoteRecord> {
    let mut out = Vec::new();
    for (expiry, days) in [("261116", 0), ("261218", 28), ("270115", 56)] {
        for strike in (90u32..=110).step_by(5) {
            for letter in ['C', 'P'] {
                let n = out.len() as f64;
                let intrinsic = if letter == 'C' { 100.0 - f64::from(strike) } else { f64::from(strike) - 100.0 };
                let bid = intrinsic.max(0.0) + 2.0 + 0.02 * f64::from(days);
                let contract = format!("ABC{expiry}{letter}{:08}", strike * 1000);
                out.push(QuoteRecord {
                    ts: if days == 0 {
                        at() - SignedDuration::from_hours(24 * 5)
                    } else {
                        at() - SignedDuration::from_millis(1500) * out.len() as i32
                    },
                    underlying: Symbol::parse("ABC").unwrap(),
                    contract: kernel::contract::ContractKey::parse_osi(&contract).unwrap(),
                    bid: if out.len() == 12 { 0.0 } else { bid },
                    ask: bid + 0.1,
                    bid_size: n + 1.0,
                    ask_size: if out.len() == 13 { f64::NAN } else { 2.0 * n },
                    activity: Activity::default(),
                });
            }
        }
    }
    out
}

fn store(with_spot: bool, with_sizes: bool) -> Store {
    let mut store = Store::new(RootTable::embedded(), Calendar::embedded());
    if with_sizes {
        store.keep_sizes();
    }
    let spot = SpotRecord { ts: at(), underlying: Symbol::parse("ABC").unwrap(), price: 100.0 };
    let spots = with_spot.then_some(spot).into_iter().collect();
    store.ingest(&Batch { quotes: quotes(), spots, ..Batch::default() }, at());
    store
}

fn chain(store: &Store, keeps_quotes: bool) -> Arc<Chain> {
    let mut passes = Passes::new(1, |_| ()).unwrap();
    if keeps_quotes {
        passes.keep_quotes();
    }
    let (calendar, curves) = (Calendar::embedded(), RateTable::zero());
    let work: Vec<(&Book, Timestamp)> = store.books().iter().map(|book| (book, at())).collect();
    passes.run(MarketData { calendar: &calendar, rates: &curves }, &work).remove(0).chain
}

#[test]
fn a_chain_has_quotes_where_that_is_asked_and_the_same_numbers_either_way() {
    let store = store(true, true);
    let (without, with) = (chain(&store, false), chain(&store, true));
    assert!(without.quotes.is_none() && with.quotes.is_some());
    let bits = |chain: &Chain| {
        let numbers = engine::store::columns::Col::ALL.iter().flat_map(|&col| chain.columns.get(col).to_vec());
        numbers.map(f64::to_bits).collect::<Vec<_>>()
    };
    assert_eq!(bits(&without), bits(&with));
}

#[test]
fn each_row_shows_its_own_quote() {
    let live: Vec<QuoteRecord> = quotes()
        .into_iter()
        .filter(|quote| quote.contract.expiry > at().to_zoned_datetime(jiff::tz::TimeZone::UTC).date())
        .collect();
    for with_spot in [true, false] {
        let chain = chain(&store(with_spot, true), true);
        assert_eq!((chain.uncomputed, chain.spot_is_implied()), (None, !with_spot));
        let shown = chain.quotes.as_ref().unwrap();
        assert_eq!((chain.rows() as usize, live.len()), (20, 20));
        for (row, quote) in live.iter().enumerate() {
            let same = |number, wanted: f64| {
                let got = shown.get(row, number);
                assert!(
                    got.to_bits() == wanted.to_bits() || (got.is_nan() && wanted.is_nan()),
                    "{row} {number:?} {got}"
                );
            };
            let bid = if quote.bid > 0.0 { quote.bid } else { f64::NAN };
            same(QuoteNumber::Bid, bid);
            same(QuoteNumber::Ask, quote.ask);
            same(QuoteNumber::Mid, (bid + quote.ask) / 2.0);
            same(QuoteNumber::BidSize, quote.bid_size);
            same(QuoteNumber::AskSize, quote.ask_size);
            assert_eq!(shown.time(row), quote.ts);
        }
        assert!(shown.get(2, QuoteNumber::Bid).is_nan() && shown.get(2, QuoteNumber::Mid).is_nan());
        assert!(shown.get(3, QuoteNumber::AskSize).is_nan());
    }
}

#[test]
fn sizes_that_are_not_kept_are_missing_and_take_no_memory() {
    let (with, without) = (chain(&store(true, true), true), chain(&store(true, false), true));
    let (with, without) = (with.quotes.as_ref().unwrap(), without.quotes.as_ref().unwrap());
    // bid and ask size, volume and open interest
    assert_eq!(with.bytes() - without.bytes(), 20 * 4 * size_of::<f64>());
    assert!(without.get(0, QuoteNumber::BidSize).is_nan() && !without.get(0, QuoteNumber::Bid).is_nan());
}
