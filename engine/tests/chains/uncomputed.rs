//! Names that cannot be computed: listed with identity and the reason, and in nobody's way.

use engine::pass::{Computed, MarketData, Passes};
use engine::rates::table::RateTable;
use engine::store::book::Book;
use engine::store::chain::{Chain, Uncomputed};
use engine::store::columns::Col;
use engine::store::ingest::Store;
use jiff::Timestamp;
use jiff::civil::date;
use kernel::black76::{Horizon, european_vol};
use kernel::calendar::Calendar;
use kernel::contract::{ContractKey, Deliverable, Right, RootTable, Style, Symbol};
use kernel::quality::Quality;
use kernel::records::{Activity, Batch, DividendRecord, QuoteRecord, SpotRecord};
use kernel::records::{Override, OverrideRecord, OverrideScope};

/// Bid and ask of a fair value.
type Quoted = fn(f64) -> (f64, f64);

fn at() -> Timestamp {
    "2026-11-20T16:00:00-05:00".parse().unwrap()
}

fn symbol(name: &str) -> Symbol {
    Symbol::parse(name).unwrap()
}

/// Quotes of two expiries around 100, both sides of nine strikes.
fn quotes(root: &str, quoted: Quoted) -> Vec<QuoteRecord> {
    let mut out = Vec::new();
    for (expiry, days) in [("261218", 28.0), ("270115", 56.0)] {
        for strike in (80..=120).step_by(5) {
            for (letter, phi) in [('C', 1.0), ('P', -1.0)] {
                let osi = format!("{root}{expiry}{letter}{:08}", strike * 1000);
                let (bid, ask) = quoted(
                    european_vol(phi, &Horizon::new(days / 365.0, 0.0, 0.0), 100.0, f64::from(strike), 0.3).value,
                );
                let contract = ContractKey::parse_osi(&osi).unwrap();
                let underlying = symbol(root.trim_end_matches('1'));
                let (bid_size, ask_size) = (f64::NAN, f64::NAN);
                out.push(QuoteRecord {
                    ts: at(),
                    underlying,
                    contract,
                    bid,
                    ask,
                    bid_size,
                    ask_size,
                    activity: Activity::default(),
                });
            }
        }
    }
    out
}

fn tight(value: f64) -> (f64, f64) {
    ((value - 0.02).max(0.0), value + 0.02)
}

fn spot(name: &str) -> SpotRecord {
    SpotRecord { ts: at(), underlying: symbol(name), price: 100.0 }
}

fn store(quotes: Vec<QuoteRecord>, spots: Vec<SpotRecord>) -> Store {
    let mut store = Store::new(RootTable::embedded(), Calendar::embedded());
    store.ingest(&Batch { quotes, spots, ..Batch::default() }, at());
    store
}

fn passes() -> Passes {
    Passes::new(1, |_| ()).unwrap()
}

fn compute(passes: &mut Passes, quality: Quality, store: &Store) -> Vec<Computed> {
    let (calendar, curves) = (Calendar::embedded(), RateTable::zero());
    let work: Vec<(&Book, Timestamp)> = store.books().iter().map(|book| (book, at())).collect();
    passes.run_to(quality, MarketData { calendar: &calendar, rates: &curves }, &work)
}

fn one(quoted: Quoted) -> Computed {
    compute(&mut passes(), Quality::Full, &store(quotes("ABC", quoted), vec![spot("ABC")])).remove(0)
}

fn bits(chain: &Chain) -> Vec<u64> {
    Col::ALL.iter().flat_map(|&col| chain.columns.get(col)).map(|x| x.to_bits()).collect()
}

/// Every contract with its terms, and no number but its days.
fn assert_identity_only(done: &Computed) {
    let chain = &done.chain;
    assert_eq!((chain.rows(), done.report.contracts, done.report.priced, done.report.slices), (36, 36, 0, 2));
    assert!(bits(chain).iter().all(|&x| f64::from_bits(x).is_nan()));
    assert_eq!(chain.slices.iter().map(|s| s.rows.clone()).collect::<Vec<_>>(), [0..18, 18..36]);
    for slice in &chain.slices {
        assert!(slice.days > 27.0 && slice.root.as_str() == "ABC");
        for number in [slice.und_price, slice.fwd_price, slice.disc_rate, slice.borr_rate, slice.divs] {
            assert!(number.is_nan(), "{slice:?}");
        }
    }
    assert!(chain.implied_spot.is_nan() && chain.implied_spot_error.is_nan() && !chain.spot_off);
}

fn asks_only(value: f64) -> (f64, f64) {
    (0.0, value + 0.02)
}

/// Pairs of which no two tell the same spot.
fn contradictory(root: &str) -> Vec<QuoteRecord> {
    let mut all = quotes(root, tight);
    for quote in all.iter_mut().filter(|quote| quote.contract.right == Right::Call) {
        let off = 0.002 * f64::from(quote.contract.strike_milli % 29_000);
        (quote.bid, quote.ask) = (quote.bid + off, quote.ask + off);
    }
    all
}

#[test]
fn a_name_without_a_spot_whose_options_tell_none_is_listed_with_identity_and_the_reason() {
    for quality in [Quality::Preliminary, Quality::Full] {
        for quotes in [quotes("ABC", asks_only), contradictory("ABC")] {
            let done = compute(&mut passes(), quality, &store(quotes, Vec::new())).remove(0);
            assert_eq!(done.chain.uncomputed, Some(Uncomputed::NoSpot));
            assert!(!done.chain.preliminary, "a finer look would show nothing more");
            assert_identity_only(&done);
        }
    }
}

#[test]
fn it_is_in_nobodys_way_and_computed_as_soon_as_a_spot_comes() {
    let both = |of_abc: Quoted, of_xyz: Quoted| [quotes("ABC", of_abc), quotes("XYZ", of_xyz)].concat();
    let alone = compute(&mut passes(), Quality::Full, &store(quotes("XYZ", tight), vec![spot("XYZ")])).remove(0);
    let mut passes = passes();
    let done = compute(&mut passes, Quality::Full, &store(both(asks_only, tight), vec![spot("XYZ")]));
    assert_identity_only(&done[0]);
    assert_eq!((done[1].chain.uncomputed, done[1].report.priced), (None, 36));
    assert!(bits(&done[1].chain) == bits(&alone.chain), "as if it were alone");

    let done = compute(&mut passes, Quality::Full, &store(both(tight, asks_only), vec![spot("ABC")]));
    assert_eq!((done[0].chain.uncomputed, done[0].report.priced), (None, 36));
    assert!(bits(&done[0].chain) == bits(&alone.chain), "the same quotes at the same spot");
    assert_eq!(done[1].chain.uncomputed, Some(Uncomputed::NoSpot), "the spot has left");
}

#[test]
fn volatilities_of_the_session_before_outlive_a_missing_spot() {
    let later: Timestamp = "2026-11-23T10:00:00-05:00".parse().unwrap();
    let (calendar, curves) = (Calendar::embedded(), RateTable::zero());
    let market = MarketData { calendar: &calendar, rates: &curves };
    let mut passes = passes();
    let known = compute(&mut passes, Quality::Full, &store(quotes("ABC", tight), vec![spot("ABC")])).remove(0);
    let spotless = store(quotes("ABC", asks_only), Vec::new());
    for _ in 0..2 {
        let done = passes.run(market, &[(&spotless.books()[0], later)]).remove(0);
        assert_eq!(done.chain.uncomputed, Some(Uncomputed::NoSpot));
        let (shown, was) = (done.chain.columns.get(Col::PrevVol), known.chain.columns.get(Col::SvcVol));
        assert_eq!(shown, was, "prev_vol");
        assert!(done.chain.columns.get(Col::SvcVol).iter().all(|x| x.is_nan()));
    }
}

#[test]
fn quotes_that_tell_no_volatility_are_the_reason() {
    let cases: [(&str, Quoted); 5] = [
        ("all zero", |_| (0.0, 0.0)),
        ("none", |_| (f64::NAN, f64::NAN)),
        ("asks only", |value| (0.0, value + 0.02)),
        ("bids only", |value| (value, f64::NAN)),
        ("all crossed", |value| (value + 0.5, (value - 0.5).max(0.01))),
    ];
    for (what, quoted) in cases {
        let done = one(quoted);
        assert_eq!((done.report.contracts, done.report.priced), (36, 0), "{what}");
        assert_eq!(done.chain.uncomputed, Some(Uncomputed::NoUsableQuote), "{what}");
        let theo = done.chain.columns.get(Col::SvcTheo);
        assert!(theo.iter().all(|x| x.is_nan()), "{what}");
        assert!(bits(&done.chain).iter().all(|&x| !f64::from_bits(x).is_infinite()), "{what}");
        assert!(done.chain.slices.iter().all(|s| (s.und_price - 100.0).abs() < 1e-12), "{what}: the spot is known");
    }
}

#[test]
fn one_good_expiry_or_nothing_but_adjusted_roots_is_no_case() {
    let mut quotes_of_both = quotes("ABC", tight);
    quotes_of_both.iter_mut().take(18).for_each(|q| (q.bid, q.ask) = (0.0, 0.0));
    let done = compute(&mut passes(), Quality::Full, &store(quotes_of_both, vec![spot("ABC")])).remove(0);
    assert_eq!(done.chain.uncomputed, None);
    assert!(done.report.priced >= 18);
    let adjusted = compute(&mut passes(), Quality::Full, &store(quotes("ABC1", tight), vec![spot("ABC")])).remove(0);
    assert!(adjusted.chain.slices.iter().all(|slice| slice.adjusted));
    assert_eq!((adjusted.report.priced, adjusted.chain.uncomputed), (0, None));
}

#[test]
fn nothing_at_all_is_no_case_either() {
    let store = store(Vec::new(), vec![spot("ABC")]);
    let done = compute(&mut passes(), Quality::Full, &store).remove(0);
    assert_eq!((done.chain.rows(), done.chain.uncomputed), (0, None));
}

#[test]
fn every_expiry_counts_the_dividends_of_its_own_life() {
    let far =
        QuoteRecord { contract: ContractKey::parse_osi("ABC290615C00100000").unwrap(), ..quotes("ABC", tight)[0] };
    let with = |step: i64, dates: i64| {
        let mut store = store([quotes("ABC", tight), vec![far]].concat(), vec![spot("ABC")]);
        let day = |n: i64| date(2026, 11, 24).saturating_add(jiff::Span::new().days(step * n));
        // those before the quotes and after the last settlement count for nothing
        let days = (-100..-4).chain(0..dates).chain(2000..2010);
        let record = |n| DividendRecord { underlying: symbol("ABC"), ex_date: day(n), amount: 0.001, projected: false };
        store.ingest(&Batch { dividends: Some(days.map(record).collect()), ..Batch::default() }, at());
        let done = compute(&mut passes(), Quality::Preliminary, &store).remove(0);
        let divs: Vec<f64> = done.chain.slices.iter().map(|slice| (slice.divs * 1000.0).round()).collect();
        let refused = done.chain.evidence.as_ref().unwrap().slices.iter().map(|slice| slice.dividends_refused);
        (done.report.dividends_refused, divs, refused.collect::<Vec<_>>(), done.chain)
    };
    let warns = |chain: &Chain, osi: &str| {
        let found = engine::explain::explain(chain, &ContractKey::parse_osi(osi).unwrap()).unwrap();
        found.warnings.contains(&engine::explain::Warning::DividendsRefused)
    };
    // none, every quarter, every week, every other day, every day up to what is counted, and beyond
    for (step, dates, divs) in [
        (7, 0, [0.0, 0.0, 0.0]),
        (91, 10, [1.0, 1.0, 10.0]),
        (7, 130, [4.0, 8.0, 130.0]),
        (2, 460, [13.0, 27.0, 460.0]),
        (1, 512, [25.0, 53.0, 512.0]),
    ] {
        let (refused, counted, by_slice, chain) = with(step, dates);
        assert_eq!((refused, counted, by_slice), (0, divs.to_vec(), vec![0; 3]), "{dates} dates");
        // explanations value a contract of hundreds of dates for seconds
        assert!(dates > 10 || !warns(&chain, "ABC290615C00100000"), "{dates} dates");
    }
    let (refused, counted, by_slice, chain) = with(1, 513);
    assert_eq!((refused, counted, by_slice), (513, vec![25.0, 53.0, 0.0], vec![0, 0, 513]));
    let warned = ["ABC261218C00100000", "ABC290615C00100000"].map(|osi| warns(&chain, osi));
    assert_eq!(warned, [false, true]);
}

#[test]
fn binary_and_unknown_roots_are_listed_without_greeks() {
    use engine::explain::{Warning, explain};
    let of = |root: &str, underlying: &str| {
        let own = |quote: QuoteRecord| {
            let contract = ContractKey { root: symbol(root), ..quote.contract };
            QuoteRecord { underlying: symbol(underlying), contract, ..quote }
        };
        quotes("ABC", tight).into_iter().map(own).collect::<Vec<_>>()
    };
    for (root, underlying, warning) in [
        ("BSZ", "SPX", Warning::BinaryRoot),
        ("BVZ", "VIX", Warning::BinaryRoot),
        ("BSZ", "BSZ", Warning::BinaryRoot),
        ("JXB", "SPX", Warning::UnknownRoot),
        ("NDXQ", "NDX", Warning::UnknownRoot),
        ("RUTX", "RUTW", Warning::UnknownRoot),
        ("DJXX", "DJX", Warning::UnknownRoot),
    ] {
        let mut store = store(of(root, underlying), vec![spot(underlying)]);
        // nobody's terms make plain options of them
        let terms = Deliverable::usual(100.0, 0.0);
        let scope = OverrideScope { root: Some(symbol(root)), ..OverrideScope::default() };
        let record = OverrideRecord { scope, what: Override::Deliverable(terms, None) };
        store.ingest(&Batch { deliverables: Some(vec![record]), ..Batch::default() }, at());
        let done = compute(&mut passes(), Quality::Full, &store).remove(0);
        assert_eq!((done.report.priced, done.report.contracts, done.chain.uncomputed), (0, 36, None), "{root}");
        assert!(done.chain.columns.get(Col::Delta).iter().all(|delta| delta.is_nan()), "{root}");
        let key = done.chain.slices[0].contract(100_000, Right::Call);
        let found = explain(&done.chain, &key).unwrap();
        assert_eq!(found.warnings.first(), Some(&warning), "{root}");
    }
    // retired roots that are plain options
    for (root, underlying) in [("SPXPM", "SPX"), ("SPXQ", "SPX"), ("RUTQ", "RUT"), ("MNX", "MNX"), ("XSPAM", "XSP")] {
        let store = store(of(root, underlying), vec![spot(underlying)]);
        let done = compute(&mut passes(), Quality::Full, &store).remove(0);
        assert_eq!(done.report.priced, 36, "{root}");
        assert!(done.chain.slices.iter().all(|slice| slice.style == Style::European), "{root}");
    }
}

#[test]
fn a_chain_that_panics_costs_itself_alone() {
    let mut passes = passes();
    let store = |broken: bool| {
        let both = [quotes("ABC", tight), quotes("XYZ", tight)].concat();
        let mut store = store(both, vec![spot("ABC"), spot("XYZ")]);
        if broken {
            // no feed makes such a book: a row without a bid of its own
            store.books_mut()[0].slices[0].bid.pop();
        }
        store
    };
    let done = compute(&mut passes, Quality::Full, &store(true));
    assert_eq!(done.iter().map(|c| c.chain.underlying.to_string()).collect::<Vec<_>>(), ["XYZ"]);
    let failed = passes.take_failed();
    assert_eq!((failed.len(), failed[0].rows(), failed[0].uncomputed), (1, 36, Some(Uncomputed::Failed)));
    assert!(bits(&failed[0]).iter().all(|&x| f64::from_bits(x).is_nan()));

    let done = compute(&mut passes, Quality::Full, &store(false));
    assert_eq!((done.len(), done[0].report.priced, done[1].report.priced), (2, 36, 36));
    let alone = compute(&mut self::passes(), Quality::Full, &store(false)).remove(0);
    assert!(bits(&done[0].chain) == bits(&alone.chain), "nothing is left of the fault");
    assert!(passes.take_failed().is_empty());
}

#[test]
fn reasons_are_counted_in_their_order_and_have_names_of_their_own() {
    for (i, reason) in Uncomputed::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, i);
        assert_eq!(Uncomputed::ALL.iter().filter(|other| other.name() == reason.name()).count(), 1);
    }
}
