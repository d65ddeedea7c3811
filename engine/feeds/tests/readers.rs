//! Every reader of a vendor's documents: what was written is read back; documents that are cut, damaged or foreign
//! never panic, never give a number out of its bound, and lose no more than they must.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use engine::store::ingest::Store;
use feeds::DeclaredDividend;
use feeds::alpaca::{AlpacaFeed, parse_alpaca_snapshots, parse_alpaca_stocks};
use feeds::cboe::parse_cboe;
use feeds::databento::parse_dbn;
use feeds::massive::{parse_massive_dividends, parse_massive_snapshot};
use feeds::nasdaq::parse_nasdaq_dividends;
use feeds::rates::{parse_sofr, parse_treasury};
use feeds::schwab::{parse_schwab_chain, parse_schwab_expirations, parse_schwab_quotes};
use feeds::tasty::{parse_tasty_chain, parse_tasty_token};
use feeds::thetadata::{parse_thetadata_indices, parse_thetadata_options, parse_thetadata_stocks};
use feeds::tradier::{parse_tradier_chain, parse_tradier_dividends, parse_tradier_expirations, parse_tradier_quotes};
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use kernel::error::FeedError;
use kernel::limits;
use kernel::records::{Batch, QuoteRecord, RateRecord};
use kernel::report::Report;
use proptest::prelude::*;
use proptest::sample::Index;
use sim::SimMarket;
use sim::symbols::well_known;
use std::path::Path;
use std::sync::LazyLock;
use testkit::documents::{Quoted, has_same_quote};

/// 15:42 Eastern on a Friday.
const NOW: Timestamp = Timestamp::constant(1_795_207_320, 0);

/// The delivery of a reader, of any kind.
#[derive(Default)]
struct Read {
    batch: Batch,
    dividends: Vec<DeclaredDividend>,
    rates: Vec<RateRecord>,
    report: Report,
}

/// A reader with a document that it reads, and whether that is worthless where it is cut.
struct Reader {
    name: &'static str,
    document: Vec<u8>,
    is_whole: bool,
    read: fn(&[u8]) -> Read,
}

static CALENDAR: LazyLock<Calendar> = LazyLock::new(Calendar::embedded);
static ROOTS: LazyLock<RootTable> = LazyLock::new(RootTable::embedded);
static KO: LazyLock<Quoted> = LazyLock::new(|| quoted("KO"));
/// A few contracts of it.
static SOME: LazyLock<Quoted> = LazyLock::new(|| {
    let mut some = KO.clone();
    some.quotes.truncate(6);
    some
});
static READERS: LazyLock<Vec<Reader>> = LazyLock::new(|| readers(&SOME));

fn quoted(name: &str) -> Quoted {
    let universe: Vec<_> = well_known().into_iter().filter(|n| n.symbol == name).collect();
    Quoted::of(&SimMarket::with_universe(1, NOW, &universe).book(0, NOW).unwrap())
}

fn ko() -> Symbol {
    KO.underlying
}

fn of_batch((batch, report): (Batch, Report)) -> Read {
    Read { batch, report, ..Read::default() }
}

fn of_dividends((dividends, report): (Vec<DeclaredDividend>, Report)) -> Read {
    Read { dividends, report, ..Read::default() }
}

fn of_rates((rates, report): (Vec<RateRecord>, Report)) -> Read {
    Read { rates, report, ..Read::default() }
}

/// The fields of a reader.
type Row<D> = (&'static str, D, bool, fn(&[u8]) -> Read);

fn readers(of: &Quoted) -> Vec<Reader> {
    let quotes: [Row<Vec<u8>>; 8] = [
        ("cboe", of.cboe().into(), true, |b| of_batch(parse_cboe(Path::new("d"), b, ko(), &CALENDAR))),
        ("thetadata csv", of.thetadata_csv().into(), false, |b| {
            of_batch(parse_thetadata_options(Path::new("d"), b, ko(), None, &CALENDAR))
        }),
        ("thetadata lines", of.thetadata_lines().into(), false, |b| {
            of_batch(parse_thetadata_options(Path::new("d"), b, ko(), None, &CALENDAR))
        }),
        ("tradier", of.tradier().into(), true, |b| of_batch(parse_tradier_chain(Path::new("d"), b, ko(), NOW))),
        ("massive", of.massive().into(), true, |b| {
            let (page, report) = parse_massive_snapshot(Path::new("d"), b, ko());
            of_batch((page.batch, report))
        }),
        ("alpaca", of.alpaca().into(), true, |b| {
            let (page, report) = parse_alpaca_snapshots(Path::new("d"), b, ko(), AlpacaFeed::Opra);
            of_batch((page.batch, report))
        }),
        ("schwab", of.schwab().into(), true, |b| {
            let (batch, _, report) = parse_schwab_chain(Path::new("d"), b, ko(), NOW);
            of_batch((batch, report))
        }),
        ("databento", of.databento(2), false, |b| of_batch(parse_dbn(Path::new("d"), b, &ROOTS, None))),
    ];
    let others: [Row<&str>; 15] = [
        (
            "thetadata stocks",
            "timestamp,symbol,bid_size,bid,ask_size,ask\n2026-11-20T15:42:00.000,KO,1,70.01,2,70.02\n",
            false,
            |b| of_batch(parse_thetadata_stocks(Path::new("d"), b, &CALENDAR)),
        ),
        ("thetadata indices", "timestamp,symbol,price\n2026-11-20T15:42:00.000,SPX,6600.5\n", false, |b| {
            of_batch(parse_thetadata_indices(Path::new("d"), b, &CALENDAR))
        }),
        (
            "tradier quotes",
            r#"{"quotes":{"quote":[{"symbol":"KO","last":70.1,"bid":70.05,"ask":70.15,"bid_date":1795207310000,
            "ask_date":1795207311000,"trade_date":1795207300000},{"symbol":"F","last":12.1,"trade_date":1795207300000}],
            "unmatched_symbols":{"symbol":["A1B2C3D4E5"]}}}"#,
            true,
            |b| of_batch(parse_tradier_quotes(Path::new("d"), b, NOW)),
        ),
        ("tradier expirations", r#"{"expirations":{"date":["2026-12-18","2027-01-15"]}}"#, true, |b| Read {
            report: parse_tradier_expirations(Path::new("d"), b).1,
            ..Read::default()
        }),
        (
            "tradier dividends",
            r#"[{"request":"KO","results":[{"tables":{"cash_dividends":[{"dividend_type":"CD","ex_date":"2026-12-01",
            "cash_amount":0.51,"currency_i_d":"USD","frequency":4}]}}]}]"#,
            true,
            |b| of_dividends(parse_tradier_dividends(Path::new("d"), b)),
        ),
        (
            "massive dividends",
            r#"{"results":[{"ticker":"KO","cash_amount":0.51,"currency":"USD","ex_dividend_date":"2026-12-01",
            "frequency":4,"dividend_type":"CD"}],"status":"OK","next_url":"https://x.example/?cursor=1"}"#,
            true,
            |b| {
                let (page, report) = parse_massive_dividends(Path::new("d"), b);
                of_dividends((page.dividends, report))
            },
        ),
        (
            "alpaca stocks",
            r#"{"KO":{"latestTrade":{"t":"2026-11-20T20:42:00Z","p":70.1},
            "latestQuote":{"t":"2026-11-20T20:42:01Z","ap":70.15,"bp":70.05}}}"#,
            true,
            |b| of_batch(parse_alpaca_stocks(Path::new("d"), b)),
        ),
        (
            "schwab quotes",
            r#"{"KO":{"symbol":"KO","realtime":true,"quote":{"bidPrice":70.05,"askPrice":70.15,"lastPrice":70.1,
            "quoteTime":1795207310000,"tradeTime":1795207300000}},"$SPX":{"quote":{"lastPrice":6600.5,
            "tradeTime":1795207300000}},"errors":{"invalidSymbols":["NOPE"]}}"#,
            true,
            |b| {
                let (batch, _, report) = parse_schwab_quotes(Path::new("d"), b, NOW);
                of_batch((batch, report))
            },
        ),
        ("schwab expirations", r#"{"expirationList":[{"expirationDate":"2026-12-18"}]}"#, true, |b| Read {
            report: parse_schwab_expirations(Path::new("d"), b).1,
            ..Read::default()
        }),
        (
            "tasty chain",
            r#"{"data":{"items":[{"expirations":[{"strikes":[{"call":"KO    261218C00070000",
            "call-streamer-symbol":".KO261218C70"}]}]}]}}"#,
            true,
            |b| Read { report: parse_tasty_chain(Path::new("d"), b).1, ..Read::default() },
        ),
        ("tasty token", r#"{"data":{"token":"t","dxlink-url":"wss://x.example"}}"#, true, |b| Read {
            report: Report { records: 1, ..parse_tasty_token(Path::new("d"), b).1 },
            ..Read::default()
        }),
        (
            "nasdaq dividends",
            r#"{"data":{"dividends":{"rows":[{"exOrEffDate":"12/01/2026","type":"CASH","amount":"$0.51",
            "currency":"USD"}]}}}"#,
            true,
            |b| of_dividends(parse_nasdaq_dividends(Path::new("d"), b, ko())),
        ),
        (
            "treasury",
            "Date,\"1 Mo\",\"3 Mo\",\"6 Mo\",\"1 Yr\",\"5 Yr\",\"30 Yr\"\n11/20/2026,4.04,4.19,4.27,4.46,5,5.5\n",
            false,
            |b| of_rates(parse_treasury(Path::new("d"), b)),
        ),
        ("sofr", r#"{"refRates":[{"effectiveDate":"2026-11-19","type":"SOFR","percentRate":4.05}]}"#, true, |b| {
            of_rates(parse_sofr(Path::new("d"), b))
        }),
        ("dividends of a user", "underlying,ex_date,amount,status\nKO,2026-12-01,0.51,known\n", false, |b| {
            let (dividends, report) = feeds::reference::parse_dividends(Path::new("d"), b);
            of_batch((Batch { dividends: Some(dividends), ..Batch::default() }, report))
        }),
    ];
    let reader = |(name, document, is_whole, read)| Reader { name, document, is_whole, read };
    let others = others.map(|(name, document, is_whole, read)| (name, document.as_bytes().to_vec(), is_whole, read));
    quotes.into_iter().chain(others).map(reader).collect()
}

/// Holds what was read to the bounds of its numbers, and the store to taking it in.
fn check(name: &str, read: &Read) {
    let Read { batch, dividends, rates, report } = read;
    let within = |x: f64, bound: limits::Bound| x.is_nan() || bound.holds(x);
    for q in &batch.quotes {
        assert!(within(q.bid, limits::PRICE) && within(q.ask, limits::PRICE), "{name}: {q:?}");
        assert!(within(q.bid_size, limits::SIZE) && within(q.ask_size, limits::SIZE), "{name}: {q:?}");
        assert!(limits::STRIKE_MILLI.holds(f64::from(q.contract.strike_milli)), "{name}: {q:?}");
        assert!(limits::YEAR.holds(f64::from(q.contract.expiry.year())), "{name}: {q:?}");
    }
    assert!(batch.spots.iter().all(|spot| limits::SPOT.holds(spot.price)), "{name}: {:?}", batch.spots);
    assert!(dividends.iter().all(|d| limits::DIVIDEND.holds(d.amount)), "{name}: {dividends:?}");
    let is_node = |r: &RateRecord| limits::RATE.holds(r.rate) && limits::TENOR_DAYS.holds(r.tenor_days);
    assert!(rates.iter().all(is_node), "{name}: {rates:?}");
    assert!(report.refused_total() <= report.records && report.places.len() <= 100, "{name}");
    assert!(batch.reset.is_empty() || !batch.quotes.is_empty(), "{name} forgets a name for nothing");
    let mut store = Store::new(ROOTS.clone(), CALENDAR.clone());
    let counts = store.ingest(batch, Timestamp::MAX);
    assert_eq!(counts.refused.iter().sum::<u64>(), counts.refused[kernel::error::Reason::Expired as usize], "{name}");
}

#[test]
fn what_was_written_is_read_back() {
    for (i, reader) in readers(&KO).iter().take(8).enumerate() {
        let read = (reader.read)(&reader.document);
        check(reader.name, &read);
        assert_eq!((read.report.refused_total(), read.report.errors.len()), (0, 0), "{}", reader.name);
        assert_eq!(read.batch.quotes.len(), KO.quotes.len(), "{}", reader.name);
        // Cboe's quotes are as of its file, which is made in whole seconds.
        let whole = Timestamp::from_second(KO.ts.as_second()).unwrap();
        let as_of = |q: &QuoteRecord| if i == 0 { QuoteRecord { ts: whole, ..*q } } else { *q };
        let mut want: Vec<_> = KO.quotes.iter().map(as_of).collect();
        let mut got = read.batch.quotes;
        for quotes in [&mut got, &mut want] {
            quotes.sort_by_key(|q| q.contract);
        }
        for (got, want) in got.iter().zip(&want) {
            assert!(has_same_quote(got, want), "{}: {got:?} is not {want:?}", reader.name);
        }
        assert!(read.batch.spots.iter().all(|spot| (spot.price - KO.spot).abs() < 1e-9), "{}", reader.name);
    }
}

#[test]
fn documents_that_are_whole_read_without_a_fault() {
    for reader in READERS.iter() {
        let read = (reader.read)(&reader.document);
        check(reader.name, &read);
        let unmatched = u64::from(["tradier quotes", "schwab quotes"].contains(&reader.name));
        assert_eq!((read.report.refused_total(), read.report.errors.len()), (unmatched, 0), "{}", reader.name);
        assert!(read.report.records > 0, "{}", reader.name);
    }
}

#[test]
fn documents_that_are_cut_anywhere_change_nothing_or_little() {
    for reader in READERS.iter() {
        let whole = (reader.read)(&reader.document);
        for end in 0..reader.document.len() {
            let read = (reader.read)(&reader.document[..end]);
            check(reader.name, &read);
            assert!(read.batch.quotes.len() <= whole.batch.quotes.len(), "{} at {end}", reader.name);
            if reader.is_whole {
                let nothing =
                    read.batch.quotes.is_empty() && read.batch.spots.is_empty() && read.batch.reset.is_empty();
                assert!(nothing && read.dividends.is_empty() && read.rates.is_empty(), "{} at {end}", reader.name);
                assert_eq!(read.report.errors.len(), 1, "{} at {end}", reader.name);
            }
        }
    }
}

#[test]
fn documents_without_an_end_are_bounded() {
    let large = vec![b' '; limits::DOCUMENT_BYTES.most as usize + 1];
    for reader in READERS.iter().filter(|r| !["databento", "dividends of a user"].contains(&r.name)) {
        let read = (reader.read)(&large);
        let error = &read.report.errors[0];
        assert!(matches!(error, FeedError::TooLarge { .. }), "{}: {error}", reader.name);
    }
    drop(large);
    let many = "{},".repeat(limits::RECORDS.most as usize) + "{}";
    let deep = "[".repeat(100_000);
    for (name, before, after) in [
        ("cboe", "{\"symbol\":\"KO\",\"data\":{\"options\":[", "]}}"),
        ("tradier", "{\"options\":{\"option\":[", "]}}"),
        ("schwab", "{\"putExpDateMap\":{},\"callExpDateMap\":{\"a\":{\"1\":[", "]}}}"),
        ("massive", "{\"results\":[", "]}"),
        ("massive dividends", "{\"results\":[", "]}"),
        ("sofr", "{\"refRates\":[", "]}"),
    ] {
        let reader = READERS.iter().find(|reader| reader.name == name).unwrap();
        let read = (reader.read)(format!("{before}{many}{after}").as_bytes());
        assert!(read.report.errors[0].to_string().ends_with("too many records"), "{name}");
        let read = (reader.read)(format!("{before}{deep}").as_bytes());
        assert_eq!(read.report.errors.len(), 1, "{name}");
    }
}

#[test]
fn a_zstd_file_that_would_fill_the_memory_is_not_kept() {
    use std::io::Read as _;
    let reader = READERS.iter().find(|reader| reader.name == "databento").unwrap();
    let mut bomb = Vec::new();
    std::io::repeat(0).take(64 << 20).read_to_end(&mut bomb).unwrap();
    bomb.splice(..8, *b"DBN\x03\xff\xff\xff\x03");
    let packed = ruzstd::encoding::compress_to_vec(bomb.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
    let read = (reader.read)(&packed);
    assert!(packed.len() < bomb.len() / 100 && read.batch.quotes.is_empty());
    assert_eq!(read.report.errors.len(), 1);
}

/// Values that a number, a text or a time may turn into.
const STRANGE: [&str; 24] = [
    "NaN",
    "\"NaN\"",
    "inf",
    "-Infinity",
    "1e400",
    "-1e400",
    "1e-400",
    "-1",
    "-0.0",
    "0",
    "null",
    "\"\"",
    "\"null\"",
    "true",
    "[]",
    "{}",
    "[[[[[[[[",
    "99999999999999999999",
    "18446744073709551615",
    "9223372036854775807",
    "\u{e9}",
    "\"\\ud800\"",
    "1,2",
    "\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn values_that_turn_into_others_are_harmless(
        which in any::<Index>(), at in proptest::collection::vec((any::<Index>(), any::<Index>()), 1..5),
    ) {
        let reader = which.get(&READERS);
        let mut document = reader.document.clone();
        for (at, strange) in at {
            // A run of what numbers, dates and symbols are made of.
            let is_value = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'/');
            let start = at.index(document.len());
            let start = start + document[start..].iter().take_while(|b| !is_value(b)).count();
            let end = start + document[start..].iter().take_while(|b| is_value(b)).count();
            document.splice(start..end, strange.get(&STRANGE).bytes());
        }
        check(reader.name, &(reader.read)(&document));
    }

    #[test]
    fn damaged_bytes_are_harmless(
        which in any::<Index>(), damage in proptest::collection::vec((any::<Index>(), any::<u8>(), 0u8..3), 1..10),
    ) {
        let reader = which.get(&READERS);
        let mut document = reader.document.clone();
        for (at, byte, how) in damage {
            let at = at.index(document.len());
            match how {
                0 => document[at] = byte,
                1 => document.insert(at, byte),
                _ if document.len() > 1 => drop(document.remove(at)),
                _ => {}
            }
        }
        check(reader.name, &(reader.read)(&document));
    }

    #[test]
    fn any_bytes_are_harmless(which in any::<Index>(), bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let reader = which.get(&READERS);
        check(reader.name, &(reader.read)(&bytes));
    }
}

#[test]
fn a_second_document_of_a_chain_replaces_the_first() {
    let mut store = Store::new(ROOTS.clone(), CALENDAR.clone());
    let take = |store: &mut Store, quoted: &Quoted| {
        let (batch, _) = parse_cboe(Path::new("d"), quoted.cboe().as_bytes(), ko(), &CALENDAR);
        store.ingest(&batch, Timestamp::MAX);
        store.book(ko()).map_or(0, |book| book.rows())
    };
    let all = take(&mut store, &KO);
    let mut later = KO.clone();
    later.ts += SignedDuration::from_mins(1);
    let gone = later.quotes.pop().unwrap();
    assert_eq!((all, take(&mut store, &later)), (KO.quotes.len(), KO.quotes.len() - 1));
    let book = store.book(ko()).unwrap();
    let slice = book.slices.iter().find(|s| (s.root, s.expiry) == (gone.contract.root, gone.contract.expiry));
    assert!(slice.is_none_or(|slice| slice.row(gone.contract.strike_milli, gone.contract.right).is_none()));
    let (batch, _) = parse_cboe(Path::new("d"), b"{\"data\":{\"options\":[", ko(), &CALENDAR);
    store.ingest(&batch, Timestamp::MAX);
    assert_eq!(store.book(ko()).unwrap().rows(), KO.quotes.len() - 1, "a damaged one changes nothing");
}
