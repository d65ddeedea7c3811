use super::*;
use kernel::calendar::{ClockWeight, EventDate, EventTime, MarketEvent, MarketEventKind};
use kernel::contract::Right;
use kernel::records::Activity;
use proptest::prelude::*;

fn sym(text: &str) -> Symbol {
    Symbol::parse(text).unwrap()
}

fn store() -> Store {
    Store::new(RootTable::embedded(), Calendar::embedded())
}

/// A quote at `ts` on 2026-11-20 (Eastern clock time `HH:MM`) of an OSI symbol.
fn quote(clock: &str, underlying: &str, osi: &str, bid: f64, ask: f64) -> QuoteRecord {
    QuoteRecord {
        ts: format!("2026-11-20T{clock}:00-05:00").parse().unwrap(),
        underlying: sym(underlying),
        contract: ContractKey::parse_osi(osi).unwrap(),
        bid,
        ask,
        bid_size: f64::NAN,
        ask_size: f64::NAN,
        activity: Activity::default(),
    }
}

fn spot(clock: &str, underlying: &str, price: f64) -> SpotRecord {
    SpotRecord { ts: format!("2026-11-20T{clock}:00-05:00").parse().unwrap(), underlying: sym(underlying), price }
}

/// The evening of the quotes.
fn now() -> Timestamp {
    "2026-11-20T23:00:00Z".parse().unwrap()
}

fn filled(quotes: Vec<QuoteRecord>) -> Store {
    let mut store = store();
    store.ingest(&Batch { quotes, ..Batch::default() }, now());
    store
}

#[test]
fn rows_are_in_native_order_whatever_the_order_of_the_records() {
    let store = filled(vec![
        quote("10:00", "SPX", "SPXW261218P05000000", 1.0, 2.0),
        quote("10:00", "SPX", "SPX261218C05000000", 1.0, 2.0),
        quote("10:00", "SPX", "SPXW261120C05000000", 1.0, 2.0),
        quote("10:00", "SPX", "SPXW261218C05000000", 1.0, 2.0),
        quote("10:00", "SPX", "SPXW261218C04900000", 1.0, 2.0),
        quote("10:00", "SPXW", "SPXW261218P04900000", 1.0, 2.0),
    ]);
    let book = store.book(sym("SPX")).unwrap();
    assert_eq!(store.books().len(), 1);
    let slices: Vec<_> = book.slices.iter().map(|s| (s.root.to_string(), s.expiry.to_string(), s.settle)).collect();
    let of = |root: &str, expiry: &str, settle| (root.to_owned(), expiry.to_owned(), settle);
    let (am, pm) = (Settle::Am, Settle::Pm);
    assert_eq!(slices, [of("SPXW", "2026-11-20", pm), of("SPX", "2026-12-18", am), of("SPXW", "2026-12-18", pm)]);
    let weekly = &book.slices[2];
    assert_eq!(weekly.strike_milli, [4_900_000, 4_900_000, 5_000_000, 5_000_000]);
    assert_eq!(weekly.right, [Right::Call, Right::Put, Right::Call, Right::Put]);
    assert_eq!(weekly.row(5_000_000, Right::Put), Some(3));
    assert_eq!(weekly.row(5_100_000, Right::Put), None);
}

#[test]
fn the_later_quote_counts_and_marks_its_slice_stale() {
    let osi = "KO261218C00070000";
    let mut store =
        filled(vec![quote("10:00", "KO", osi, 1.0, 2.0), quote("10:00", "KO", "KO270115C00070000", 1.0, 2.0)]);
    store.books_mut()[0].slices.iter_mut().for_each(|s| s.stale = false);
    assert_eq!(store.quote(&quote("09:59", "KO", osi, 9.0, 9.5)), Ok(false));
    assert_eq!(store.quote(&quote("10:00", "KO", osi, 1.0, 2.0)), Ok(false));
    assert!(!store.books()[0].slices[0].stale);
    assert_eq!(store.quote(&quote("10:01", "KO", osi, 0.0, 1.5)), Ok(true));
    let book = &store.books()[0];
    assert_eq!((book.slices[0].stale, book.slices[1].stale), (true, false));
    assert!(book.slices[0].bid[0].is_nan());
    assert_eq!(book.ts, quote("10:01", "KO", osi, 0.0, 0.0).ts);
}

#[test]
fn one_time_stamp_moves_neither_the_time_of_a_name_nor_its_expiries() {
    let strikes = (60..90).map(|k| quote("10:00", "KO", &format!("KO261120C000{k}000"), 1.0, 2.0));
    let ahead = quote("16:00", "KO", "KO261218C00070000", 1.0, 2.0);
    for n_ahead in 0..=2 {
        let wrong = (0..n_ahead).map(|k| QuoteRecord {
            ts: ahead.ts,
            ..quote("10:00", "KO", &format!("KO261218P000{}000", 60 + k), 1.0, 2.0)
        });
        let mut store = filled(strikes.clone().chain(wrong).collect());
        assert_eq!(store.books()[0].ts, quote("10:00", "KO", "KO261218C00070000", 1.0, 2.0).ts, "{n_ahead}");
        assert_eq!(store.expire(None), 0, "nothing has settled at ten");
    }
    // the time of three quotes counts
    let three = (60..63).map(|k| quote("16:00", "KO", &format!("KO261218P000{k}000"), 1.0, 2.0));
    let mut store = filled(strikes.chain(three).collect());
    assert_eq!((store.books()[0].ts, store.expire(None)), (ahead.ts, 30));
}

#[test]
fn a_spot_or_a_dividend_or_a_curve_marks_what_depends_on_it() {
    let quotes =
        vec![quote("10:00", "KO", "KO261218C00070000", 1.0, 2.0), quote("10:00", "F", "F261218C00012000", 1.0, 2.0)];
    let mut store = filled(quotes);
    let stale = |store: &mut Store| {
        let marks: Vec<bool> = store.books().iter().map(|b| b.slices[0].stale).collect();
        store.books_mut().iter_mut().for_each(|b| b.slices[0].stale = false);
        marks
    };
    assert_eq!(stale(&mut store), [true, true]);
    assert_eq!(store.spot(&spot("10:00", "KO", 71.0)), Ok(true));
    assert_eq!(store.spot(&spot("09:59", "KO", 72.0)), Ok(false));
    assert_eq!(stale(&mut store), [false, true]);
    let (underlying, ex_date) = (sym("F"), Date::constant(2026, 12, 1));
    let dividend = DividendRecord { underlying, ex_date, amount: 0.15, projected: false };
    let batch = Batch { dividends: Some(vec![dividend]), ..Batch::default() };
    store.ingest(&batch, now());
    assert_eq!(stale(&mut store), [true, false]);
    store.ingest(&batch, now());
    assert_eq!(stale(&mut store), [false, false]);
    let rate = kernel::records::RateRecord { date: Date::constant(2026, 11, 20), tenor_days: 30.0, rate: 0.04 };
    store.ingest(&Batch { rates: Some(vec![rate]), ..Batch::default() }, now());
    assert_eq!(stale(&mut store), [true, true]);
    assert_eq!(store.book(sym("KO")).unwrap().spot.to_bits(), 71f64.to_bits());
}

#[test]
fn dividends_are_known_up_to_the_first_projected_one() {
    let mut store = filled(vec![quote("10:00", "F", "F261218C00012000", 1.0, 2.0)]);
    let of = |month, projected| DividendRecord {
        underlying: sym("F"),
        ex_date: Date::constant(2027, month, 8),
        amount: 0.15,
        projected,
    };
    store.ingest(&Batch { dividends: Some(vec![of(9, true), of(3, false), of(6, true)]), ..Batch::default() }, now());
    assert_eq!(store.projected_from(sym("F")), Some(Date::constant(2027, 6, 8)));
    store.ingest(&Batch { dividends: Some(vec![of(3, false)]), ..Batch::default() }, now());
    assert_eq!(store.projected_from(sym("F")), None);
    let smaller = DividendRecord { amount: 0.1, ..of(3, true) };
    store.ingest(&Batch { dividends: Some(vec![smaller, of(3, false)]), ..Batch::default() }, now());
    assert_eq!(store.projected_from(sym("F")), None, "of two on one date the larger counts, and what is known of it");
}

#[test]
fn settled_contracts_are_refused_and_dropped() {
    let mut store = store();
    let outcomes = [
        store.quote(&quote("09:29", "SPX", "SPX261120C05000000", 1.0, 2.0)),
        store.quote(&quote("09:30", "SPX", "SPX261120C05000000", 1.0, 2.0)),
        store.quote(&quote("15:59", "SPX", "SPXW261120C05000000", 1.0, 2.0)),
        store.quote(&quote("16:00", "SPX", "SPXW261120C05000000", 1.0, 2.0)),
        store.quote(&quote("16:00", "SPX", "SPXW261119C05000000", 1.0, 2.0)),
        store.quote(&quote("16:00", "SPX", "SPXW261123C05000000", 1.0, 2.0)),
    ];
    let expired = Err(Reason::Expired);
    assert_eq!(outcomes, [Ok(true), expired, Ok(true), expired, expired, Ok(true)]);
    let at = |clock: &str| Some(spot(clock, "X", 1.0).ts);
    assert_eq!(store.expire(at("09:29")), 0);
    assert_eq!(store.expire(at("09:30")), 1);
    // by the time of the book, which is what half of so few quotes reach
    assert_eq!(store.quote(&quote("16:00", "SPX", "SPXW261123C05005000", 1.0, 2.0)), Ok(true));
    assert_eq!(store.quote(&quote("16:00", "SPX", "SPXW261123C05010000", 1.0, 2.0)), Ok(true));
    assert_eq!(store.expire(None), 1);
    assert_eq!(store.book(sym("SPX")).unwrap().rows(), 3);
    // The place of the last quote is gone with its slice.
    store.books_mut()[0].expire(Timestamp::MAX);
    assert_eq!(store.quote(&quote("16:01", "SPX", "SPXW261123C05000000", 1.0, 2.0)), Ok(true));
}

#[test]
fn what_no_feed_should_deliver_is_refused() {
    let mut store = store();
    let good = quote("10:00", "KO", "KO261218C00070000", 1.0, 2.0);
    let of = |change: fn(&mut QuoteRecord)| {
        let mut q = good;
        change(&mut q);
        q
    };
    let range = Err(Reason::OutOfRange);
    assert_eq!(store.quote(&of(|q| q.bid = -1.0)), range);
    assert_eq!(store.quote(&of(|q| q.ask = f64::INFINITY)), range);
    assert_eq!(store.quote(&of(|q| q.contract.strike_milli = 0)), range);
    assert_eq!(store.quote(&of(|q| q.contract.root = sym("1SPX"))), Err(Reason::Flex));
    assert_eq!(store.spot(&spot("10:00", "KO", f64::NAN)), range);
    assert_eq!(store.spot(&spot("10:00", "KO", 0.0)), range);
    assert!(store.books().is_empty());
    let counts = store.ingest(&Batch { quotes: vec![good, good, of(|q| q.bid = -1.0)], ..Batch::default() }, now());
    assert_eq!((counts.received, counts.superseded, counts.refused[Reason::OutOfRange as usize]), (3, 1, 1));
}

#[test]
fn a_reset_forgets_contracts_that_are_gone() {
    let gone = quote("10:00", "KO", "KO261218C00070000", 1.0, 2.0);
    let kept = quote("10:00", "KO", "KO261218C00075000", 1.0, 2.0);
    let mut store = filled(vec![gone, kept]);
    store.ingest(&Batch { reset: vec![sym("KO")], quotes: vec![kept], ..Batch::default() }, now());
    assert_eq!(store.books()[0].rows(), 1);
}

#[test]
fn what_is_read_again_unchanged_is_not_stale() {
    let near = || quote("10:00", "KO", "KO261218C00070000", 1.0, 1.1);
    let far = |bid| quote("10:01", "KO", "KO270115C00070000", bid, 2.1);
    let batch =
        |quotes| Batch { reset: vec![sym("KO")], spots: vec![spot("10:00", "KO", 71.0)], quotes, ..Batch::default() };
    let stale = |store: &Store| store.book(sym("KO")).unwrap().slices.iter().map(|s| s.stale).collect::<Vec<_>>();
    let mut store = store();
    store.ingest(&batch(vec![near(), far(2.0)]), now());
    store.books_mut()[0].slices.iter_mut().for_each(|s| s.stale = false);

    store.ingest(&batch(vec![near(), far(2.0)]), now());
    assert_eq!(stale(&store), [false, false], "the same bytes");
    store.ingest(&batch(vec![near(), far(1.9)]), now());
    assert_eq!(stale(&store), [true, true], "another bid: all of the name was read anew");
    store.ingest(&batch(vec![near(), far(1.9)]), now());
    assert_eq!(stale(&store), [true, true], "what waits for a pass goes on waiting");
    store.books_mut()[0].slices.iter_mut().for_each(|s| s.stale = false);
    store.ingest(&batch(vec![near()]), now());
    assert_eq!(stale(&store), [true], "a contract is gone");
    let rates = Some(vec![]);
    store.ingest(&Batch { rates, ..batch(vec![near()]) }, now());
    assert_eq!(stale(&store), [true], "other reference data came with it");
}

#[test]
fn sizes_are_kept_for_who_asks_and_belong_to_their_quote() {
    let sized = |clock, bid_size, ask_size| {
        let quote = quote(clock, "KO", "KO261218C00070000", 1.0, 1.1);
        QuoteRecord { bid_size, ask_size, ..quote }
    };
    let put = quote("10:00", "KO", "KO261218P00070000", 1.0, 1.1);
    let sizes = |store: &Store| {
        let two = |counts: &[f64; 4]| [counts[0], counts[1]];
        store.books()[0].slices[0].counts.iter().map(two).collect::<Vec<[f64; 2]>>()
    };
    let mut store = filled(vec![put]);
    assert_eq!(store.quote(&sized("10:00", 3.0, 4.0)), Ok(true));
    assert_eq!(store.quote(&sized("10:00", 5.0, 4.0)), Ok(false), "nobody would see the other size");
    assert_eq!(sizes(&store), [[0.0; 2]; 0]);

    store.keep_sizes();
    assert_eq!(store.quote(&sized("10:01", 3.0, f64::INFINITY)), Ok(true));
    let [call, before] = sizes(&store)[..] else { panic!("{:?}", sizes(&store)) };
    assert!(call[0].to_bits() == 3f64.to_bits() && call[1].is_nan(), "{call:?}: no size is infinite");
    assert!(before.iter().all(|n| n.is_nan()), "{before:?}: came before sizes were kept");
    assert_eq!(store.quote(&sized("10:01", 2.0, 9.0)), Ok(false), "the larger bid size goes first");
    assert_eq!(store.quote(&sized("10:01", 3.0, 9.0)), Ok(true));
    assert_eq!(store.quote(&sized("10:01", 3.0, 9.0)), Ok(false));
    assert_eq!(sizes(&store)[0].map(f64::to_bits), [3.0, 9.0].map(f64::to_bits));
}

#[test]
fn what_is_traded_and_open_stays_until_another_count_comes() {
    let said = |clock, volume, open_interest| {
        let quote = quote(clock, "KO", "KO261218C00070000", 1.0, 1.1);
        QuoteRecord { activity: Activity { volume, open_interest }, ..quote }
    };
    let counts = |store: &Store| {
        let [.., volume, open_interest] = store.books()[0].slices[0].counts[0];
        [volume, open_interest].map(f64::to_bits)
    };
    let mut store = filled(vec![]);
    store.keep_sizes();
    assert_eq!(store.quote(&said("10:00", 5.0, 900.0)), Ok(true));
    assert_eq!(store.quote(&said("10:00", 7.0, 900.0)), Ok(true), "at one time the larger volume counts");
    assert_eq!(store.quote(&said("10:00", 6.0, 900.0)), Ok(false));
    assert_eq!(store.quote(&said("10:01", f64::NAN, f64::NEG_INFINITY)), Ok(true), "a quote that says neither");
    assert_eq!(counts(&store), [7.0, 900.0].map(f64::to_bits));
    assert_eq!(store.quote(&said("10:02", 8.0, f64::NAN)), Ok(true));
    assert_eq!(counts(&store), [8.0, 900.0].map(f64::to_bits));
}

#[test]
fn a_feeds_own_early_close_moves_settlements() {
    let mut store = filled(vec![quote("10:00", "KO", "KO261218C00070000", 1.0, 2.0)]);
    let day = Date::constant(2026, 12, 18);
    store.ingest(&Batch { days: Some(vec![(day, Day::Early)]), ..Batch::default() }, now());
    assert_eq!(store.books()[0].slices[0].settles_at, "2026-12-18T13:00:00-05:00".parse().unwrap());
    store.ingest(&Batch { days: Some(Vec::new()), ..Batch::default() }, now());
    assert_eq!(store.books()[0].slices[0].settles_at, "2026-12-18T16:00:00-05:00".parse().unwrap());
}

#[test]
fn events_of_a_feed_are_in_its_calendar() {
    let mut store = filled(vec![quote("10:00", "KO", "KO261218C00070000", 1.0, 2.0)]);
    let ko = Symbol::parse("KO").unwrap();
    let (from, to) = ("2026-12-07T16:00:00-05:00".parse().unwrap(), "2026-12-08T16:00:00-05:00".parse().unwrap());
    let day = Date::constant(2026, 12, 8);
    let event = EventDate { date: day, time: EventTime::BeforeOpening, size: None, is_earnings: true };
    let market = MarketEvent { date: day, kind: MarketEventKind::Other, time: None, weight: Some(0.5) };
    store.books_mut()[0].slices[0].stale = false;
    let events = vec![EventRecord::Name(ko, event), EventRecord::Market(market)];
    store.ingest(&Batch { events: Some(events), ..Batch::default() }, now());
    assert!(store.books()[0].slices[0].stale);
    let of_market = |store: &Store| [1.0, 0.0].map(|share| store.calendar().variance().days(from, to, share));
    let [with, without] = of_market(&store);
    assert!((with - without - 0.5).abs() < 1e-9, "{with} {without}");
    assert_eq!(store.calendar().known_events(ko), [event]);
    let weights =
        [(ClockWeight::Night, 0.3), (ClockWeight::Closed, 0.2)].map(|(of, value)| EventRecord::Weight(of, value));
    store.ingest(&Batch { events: Some(weights.to_vec()), ..Batch::default() }, now());
    let weekend = ["2026-12-11T16:00:00-05:00", "2026-12-14T09:30:00-05:00"].map(|at| at.parse().unwrap());
    let passed = |store: &Store| store.calendar().variance().days(weekend[0], weekend[1], 0.0);
    assert!((passed(&store) - 0.7).abs() < 1e-9, "{}", passed(&store));
    store.ingest(&Batch { events: Some(vec![EventRecord::Name(ko, event)]), ..Batch::default() }, now());
    assert!((passed(&store) - 0.55).abs() < 1e-9, "{}", passed(&store));
    // dates of sessions that come later leave them in place
    store.ingest(&Batch { days: Some(vec![(day, Day::Early)]), ..Batch::default() }, now());
    assert_eq!(store.calendar().known_events(ko), [event]);
    store.ingest(&Batch { events: Some(Vec::new()), ..Batch::default() }, now());
    assert_eq!(store.calendar().known_events(ko), []);
    let [with, without] = of_market(&store);
    assert!((with - without).abs() < 1e-12, "{with} {without}");
}

/// A quote of the time and contract given.
fn dated(ts: &str, underlying: &str, osi: &str) -> QuoteRecord {
    QuoteRecord { ts: ts.parse().unwrap(), ..quote("10:00", underlying, osi, 1.0, 2.0) }
}

#[test]
fn listings_for_closed_days_settle_in_the_session_before() {
    for (ts, underlying, osi, expiry, settles_at) in [
        ("2013-01-02T10:00:00-05:00", "KO", "KO130119C00070000", "2013-01-18", "2013-01-18T16:00:00-05:00"),
        ("2008-03-18T16:00:00-04:00", "KO", "KO080322C00060000", "2008-03-20", "2008-03-20T16:00:00-04:00"),
        ("2008-03-18T16:00:00-04:00", "SPX", "SPX080322C01300000", "2008-03-20", "2008-03-20T09:30:00-04:00"),
        ("2015-12-01T16:00:00-05:00", "NDX", "NDX151219C04600000", "2015-12-18", "2015-12-18T09:30:00-05:00"),
        ("2018-01-17T16:00:00-05:00", "KO", "KO180120P00046000", "2018-01-19", "2018-01-19T16:00:00-05:00"),
        ("2026-06-15T16:00:00-04:00", "KO", "KO260619C00070000", "2026-06-18", "2026-06-18T16:00:00-04:00"),
        ("2026-11-20T16:00:00-05:00", "KO", "KO261220C00070000", "2026-12-18", "2026-12-18T16:00:00-05:00"),
        ("2026-11-20T16:00:00-05:00", "KO", "KO261128C00070000", "2026-11-27", "2026-11-27T13:00:00-05:00"),
    ] {
        let store = filled(vec![dated(ts, underlying, osi)]);
        let slice = &store.books()[0].slices[0];
        assert_eq!(
            (slice.expiry.to_string().as_str(), slice.settles_at),
            (expiry, settles_at.parse().unwrap()),
            "{osi}"
        );
        assert_eq!(slice.listed, ContractKey::parse_osi(osi).unwrap().expiry, "{osi}");
        // nothing is quoted after that session
        let late = QuoteRecord { ts: slice.settles_at, ..dated(ts, underlying, osi) };
        assert_eq!(filled(vec![late]).books().len(), 0, "{osi}");
    }
}

#[test]
fn two_spellings_of_an_expiry_are_one_in_any_order() {
    let [friday, saturday] =
        ["KO161216C00068000", "KO161217P00068000"].map(|osi| dated("2016-12-14T21:00:00Z", "KO", osi));
    for quotes in [vec![friday, saturday], vec![saturday, friday]] {
        let store = filled(quotes);
        let [slice] = &store.books()[0].slices[..] else { panic!("{:?}", store.books()) };
        assert_eq!((slice.rows(), slice.listed.to_string().as_str()), (2, "2016-12-16"));
    }
}

#[test]
fn terms_of_a_root_are_those_of_the_day_of_its_quote() {
    let settles = |day: &str, osi: &str| {
        let store = filled(vec![dated(&format!("{day}T16:00:00-04:00"), "XSP", osi)]);
        store.books()[0].slices[0].settles_at.to_string()
    };
    assert_eq!(settles("2013-10-16", "XSP131019C00175000"), "2013-10-18T13:30:00Z");
    assert_eq!(settles("2013-10-16", "XSP131221C00175000"), "2013-12-20T14:30:00Z");
    assert_eq!(settles("2013-11-05", "XSP131221C00175000"), "2013-12-20T21:00:00Z");
    assert_eq!(settles("2013-11-05", "XSPAM131221C00175000"), "2013-12-20T14:30:00Z");
}

#[test]
fn nothing_is_quoted_later_than_a_day_ahead_of_every_clock() {
    let good = quote("16:00", "KO", "KO261218C00070000", 1.0, 2.0);
    let at = |time: &str| QuoteRecord { ts: time.parse().unwrap(), ..good };
    let price = |q: &QuoteRecord, price| SpotRecord { ts: q.ts, underlying: q.underlying, price };
    let (in_time, late) = (at("2026-11-21T23:00:00Z"), at("2026-11-21T23:00:00.001Z"));
    for far in [late, at("2026-12-10T12:00:00Z"), at("2036-11-20T21:00:00Z")] {
        let mut store = store();
        let quotes = vec![good, far, QuoteRecord { underlying: sym("F"), ..far }];
        let spots =
            vec![price(&good, 71.0), price(&far, 7100.0), price(&QuoteRecord { underlying: sym("T"), ..far }, 1.0)];
        let counts = store.ingest(&Batch { quotes, spots, ..Batch::default() }, now());
        // the price beside a refused quote is not counted again, one that came alone is
        assert_eq!((counts.received, counts.refused[Reason::FromTheFuture as usize]), (5, 3));
        assert_eq!(store.expire(None), 0);
        let book = store.book(sym("KO")).unwrap();
        assert_eq!((store.books().len(), book.rows(), book.ts, book.spot.to_bits()), (1, 1, good.ts, 71f64.to_bits()));
    }
    let mut store = store();
    store.ingest(&Batch { quotes: vec![good, in_time], ..Batch::default() }, now());
    assert_eq!(store.books()[0].slices[0].ts, [in_time.ts], "the later of the two");
}

#[test]
fn a_price_counts_with_its_quotes_and_moves_no_time() {
    let live = quote("10:00", "KO", "KO261218C00070000", 1.0, 2.0);
    let settled = quote("16:00", "KO", "KO261120C00070000", 1.0, 2.0);
    let mut store = store();
    let spots = vec![spot("10:00", "KO", 71.0), spot("16:00", "KO", 99.0)];
    let counts = store.ingest(&Batch { quotes: vec![live, settled], spots, ..Batch::default() }, now());
    assert_eq!((counts.received, counts.refused[Reason::Expired as usize]), (3, 1));
    assert_eq!(store.books()[0].spot.to_bits(), 71f64.to_bits());
    // one that comes without quotes counts by its own time
    store.ingest(&Batch { spots: vec![spot("16:00", "KO", 72.0)], ..Batch::default() }, now());
    assert_eq!((store.books()[0].spot.to_bits(), store.books()[0].ts), (72f64.to_bits(), live.ts));
    // and so does one beside a quote that is taken, whatever else was refused then
    let beside = quote("16:00", "KO", "KO261218C00075000", 1.0, 2.0);
    let spots = vec![spot("16:00", "KO", 73.0)];
    store.ingest(&Batch { quotes: vec![settled, beside], spots, ..Batch::default() }, now());
    assert_eq!(store.books()[0].spot.to_bits(), 73f64.to_bits());
}

#[test]
fn an_expiry_has_an_end_of_strikes_whatever_their_order() {
    let most = limits::STRIKES.most as u32;
    let of = |strike_milli: u32, right: Right| {
        let contract = ContractKey { strike_milli, right, ..ContractKey::parse_osi("KO261218C00070000").unwrap() };
        QuoteRecord { contract, ..quote("10:00", "KO", "KO261218C00070000", 1.0, 2.0) }
    };
    let quotes: Vec<QuoteRecord> =
        (1..=most + 10).rev().flat_map(|k| [of(k, Right::Put), of(k, Right::Call)]).collect();
    let mut store = store();
    let counts = store.ingest(&Batch { quotes, ..Batch::default() }, now());
    assert_eq!(counts.refused[Reason::TooMany as usize], 20);
    let slice = &store.books()[0].slices[0];
    assert!(slice.strike_milli.is_sorted() && slice.rows() == 2 * most as usize);
    assert_eq!(store.quote(&of(1, Right::Put)), Ok(false), "what is there is still quoted");
}

#[test]
fn a_name_has_so_many_expiries() {
    let most = limits::EXPIRIES.most as i64;
    let of = |name: &str, day: i64| {
        let mut quote = quote("10:00", name, "AA261218C00100000", 1.0, 2.0);
        quote.contract.root = sym(name);
        quote.contract.expiry = Date::constant(2026, 12, 1).checked_add(jiff::Span::new().weeks(day)).unwrap();
        quote
    };
    let mut store = store();
    let quotes: Vec<_> = (0..most + 10).map(|day| of("AA", day)).chain([of("AB", 0)]).collect();
    let counts = store.ingest(&Batch { quotes, ..Batch::default() }, now());
    assert_eq!(counts.refused[Reason::TooMany as usize], 10);
    let slices: Vec<usize> = store.books().iter().map(|book| book.slices.len()).collect();
    assert_eq!(slices, [most as usize, 1]);
    assert_eq!(store.quote(&of("AA", 0)), Ok(false), "an expiry that is there is still quoted");
}

#[test]
fn names_come_and_go_together() {
    let most = limits::NAMES.most as u32;
    let names: Vec<Symbol> = (0..most).rev().map(|i| sym(&format!("N{i:07}"))).collect();
    let spots = |names: &[Symbol]| {
        let one = |&underlying| SpotRecord { underlying, ..spot("10:00", "AA", 1.0) };
        Batch { spots: names.iter().map(one).collect(), ..Batch::default() }
    };
    let mut store = store();
    // one by one, each before all others, they would move 10^12 bytes
    let (first, rest) = names.split_at(names.len() / 2);
    store.ingest(&spots(first), now());
    store.ingest(&spots(rest), now());
    assert!(store.books().len() == names.len() && store.books().is_sorted_by_key(|book| book.underlying));
    store.ingest(&Batch { reset: names[1..].to_vec(), ..spots(&names[5..6]) }, now());
    let left: Vec<Symbol> = store.books().iter().map(|book| book.underlying).collect();
    assert_eq!(left, [names[5], names[0]], "what comes with a reset is of after it");
    // a name of which every record is refused has no book
    let refused = SpotRecord { price: -1.0, ..spot("10:00", "AA", 1.0) };
    let quotes = vec![quote("10:00", "BB", "BB261118C00100000", 1.0, 2.0)];
    let counts = store.ingest(&Batch { spots: vec![refused], quotes, ..Batch::default() }, now());
    assert_eq!((counts.refused.iter().sum::<u64>(), store.books().len()), (2, 2));
}

#[test]
fn one_dividend_under_two_spellings_is_one() {
    let mut store = filled(vec![quote("10:00", "BRK.B", "BRKB261218C00500000", 1.0, 2.0)]);
    let of = |name, amount| DividendRecord {
        underlying: sym(name),
        ex_date: Date::constant(2026, 12, 1),
        amount,
        projected: false,
    };
    store.ingest(&Batch { dividends: Some(vec![of("BRKB", 0.5), of("BRK.B", 0.75)]), ..Batch::default() }, now());
    assert_eq!(store.books()[0].dividends, [(Date::constant(2026, 12, 1), 0.75)]);
}

/// Records that collide often: few contracts, few times, few prices.
fn any_quote() -> impl Strategy<Value = QuoteRecord> {
    const OSI: [(&str, &str); 7] = [
        ("SPX", "SPX261218C05000000"),
        ("SPX", "SPXW261218P05000000"),
        ("SPXW", "SPXW261218C05000000"),
        ("SPX", "SPXW261120C05000000"),
        ("KO", "KO261218C00070000"),
        ("KO", "KO1261218C00070000"),
        ("BRK.B", "BRKB261218P00500000"),
    ];
    const CLOCKS: [&str; 4] = ["09:30", "10:00", "10:01", "16:05"];
    const PRICES: [f64; 4] = [f64::NAN, 0.0, 1.0, 1.5];
    const SIZES: [f64; 5] = [f64::NAN, 0.0, 5.0, 7.0, 1e13];
    let sizes = (0..SIZES.len(), 0..SIZES.len());
    (0..OSI.len(), 0..CLOCKS.len(), 0..PRICES.len(), 0..PRICES.len(), sizes).prop_map(|(c, t, b, a, (bs, az))| {
        let quote = quote(CLOCKS[t], OSI[c].0, OSI[c].1, PRICES[b], PRICES[a]);
        QuoteRecord { bid_size: SIZES[bs], ask_size: SIZES[az], ..quote }
    })
}

proptest! {
    #[test]
    fn shuffled_records_make_equal_books(
        (quotes, shuffled) in proptest::collection::vec(any_quote(), 1..40)
            .prop_flat_map(|q| (Just(q.clone()), Just(q).prop_shuffle())),
        prices in proptest::collection::vec((0usize..2, 1u8..4), 0..6),
        keeps_sizes in proptest::bool::ANY,
    ) {
        let spots: Vec<_> = prices.iter().map(|&(t, p)| spot(["10:00", "10:01"][t], "SPX", f64::from(p))).collect();
        let (mut one, mut other) = (store(), store());
        if keeps_sizes {
            [&mut one, &mut other].into_iter().for_each(Store::keep_sizes);
        }
        one.ingest(&Batch { quotes, spots: spots.clone(), ..Batch::default() }, now());
        other.ingest(&Batch { quotes: shuffled, spots: spots.into_iter().rev().collect(), ..Batch::default() }, now());
        one.expire(None);
        other.expire(None);
        prop_assert_eq!(format!("{:?}", one.books()), format!("{:?}", other.books()));
        for slice in one.books().iter().flat_map(|b| &b.slices) {
            let keys: Vec<_> = slice.strike_milli.iter().zip(&slice.right).collect();
            prop_assert_eq!(slice.counts.len(), if keeps_sizes { slice.rows() } else { 0 });
            prop_assert!(keys.is_sorted() && keys.windows(2).all(|w| w[0] != w[1]), "{:?}", slice);
        }
    }
}

#[test]
fn a_full_store_takes_no_more_contracts_and_updates_those_it_has() {
    let mut store = filled(vec![quote("10:00", "AA", "AA261218C00100000", 1.0, 2.0)]);
    let most = limits::INSTRUMENTS.most as usize;
    store.contracts = Some(most - 1);
    let more = [
        ("AA261218P00100000", Ok(true)),
        ("AA261218C00110000", Err(Reason::TooMany)),
        ("AA270115C00100000", Err(Reason::TooMany)),
        ("AA261218C00100000", Ok(true)),
    ];
    for (osi, outcome) in more {
        assert_eq!(store.quote(&quote("10:01", "AA", osi, 1.5, 2.0)), outcome, "{osi}");
    }
    assert_eq!((store.contracts, store.books()[0].slices.len()), (Some(most), 1));
    // what has left makes room
    store.expire(None);
    assert_eq!(store.quote(&quote("10:02", "AA", "AA261218C00110000", 1.0, 2.0)), Ok(true));
    assert_eq!(store.contracts, Some(3));
}

#[test]
fn names_are_bounded_in_sum() {
    let mut store = store();
    let most = limits::NAMES.most as u32;
    let taken = |store: &mut Store, i: u32| store.spot(&spot("10:00", &format!("N{i:07}"), 1.0));
    assert!((0..most).all(|i| taken(&mut store, i) == Ok(true)));
    assert_eq!(taken(&mut store, most), Err(Reason::TooMany));
    assert_eq!(store.quote(&quote("10:00", "ZZ", "ZZ261218C00100000", 1.0, 2.0)), Err(Reason::TooMany));
    assert_eq!(store.spot(&spot("10:01", "N0000000", 2.0)), Ok(true));
    assert_eq!(store.books().len(), most as usize);
}
