//! DBN files written field by field as the vendor documents them, in three versions.

use super::*;
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

const SECOND: u64 = 1_000_000_000;
/// 2025-02-20T14:30:01Z.
const AT: u64 = 1_740_061_801 * SECOND;
const CALL: &str = "AAPL  250221C00250000";
const PUT: &str = "AAPL  250221P00250000";

/// The metadata of a file: symbols with the dates and numbers that stand for them.
fn metadata(version: u8, mappings: &[(&str, u32, u32, &str)]) -> Vec<u8> {
    let symbol_bytes = if version == 1 { 22 } else { 71 };
    let symbol = |text: &str| {
        let mut out = text.as_bytes().to_vec();
        out.resize(symbol_bytes, 0);
        out
    };
    let mut body = b"OPRA.PILLAR\0\0\0\0\0".to_vec();
    body.extend(15u16.to_le_bytes());
    body.extend([AT, u64::MAX, 0].map(u64::to_le_bytes).as_flattened());
    if version == 1 {
        body.extend(u64::MAX.to_le_bytes());
        body.extend([1, 0, 0]);
        body.extend([0; 47]);
    } else {
        body.extend([1, 0, 0]);
        body.extend((symbol_bytes as u16).to_le_bytes());
        body.extend([0; 53]);
    }
    assert_eq!(body.len(), 100);
    body.extend(0u32.to_le_bytes());
    body.extend(1u32.to_le_bytes());
    body.extend(symbol("AAPL.OPT"));
    body.extend([0; 8]);
    body.extend((mappings.len() as u32).to_le_bytes());
    for (one, from, to, other) in mappings {
        body.extend(symbol(one));
        body.extend([1u32, *from, *to].map(u32::to_le_bytes).as_flattened());
        body.extend(symbol(other));
    }
    let mut out = [b'D', b'B', b'N', version].to_vec();
    out.extend((body.len() as u32).to_le_bytes());
    out.extend(body);
    out
}

fn header(length: usize, rtype: u8, id: u32, ts_event: u64) -> Vec<u8> {
    let mut out = vec![(length / 4) as u8, rtype, 30, 0];
    out.extend(id.to_le_bytes());
    out.extend(ts_event.to_le_bytes());
    out
}

/// A quote of either kind; prices in dollars, `None` where undefined.
fn quote(rtype: u8, id: u32, ts_recv: u64, [bid, ask]: [Option<f64>; 2]) -> Vec<u8> {
    let price = |x: Option<f64>| x.map_or(i64::MAX, |x| (x * 1e9).round() as i64).to_le_bytes();
    let mut out = header(80, rtype, id, ts_recv - 7);
    out.extend(price(Some(2.0)));
    out.extend([0; 4]);
    out.extend([0, b'N', 0x80 | 0x40, 0]);
    out.extend(ts_recv.to_le_bytes());
    out.extend([0; 8]);
    out.extend(price(bid));
    out.extend(price(ask));
    out.extend([9u32, 13].map(u32::to_le_bytes).as_flattened());
    out.extend([0; 8]);
    assert_eq!(out.len(), 80);
    out
}

fn definition(version: u8, id: u32, ts_recv: u64, symbol: &str) -> Vec<u8> {
    let (length, at) = [(360, 200), (400, 200), (520, 238)][usize::from(version) - 1];
    let mut out = header(length, DEFINITION, id, ts_recv);
    out.extend(ts_recv.to_le_bytes());
    out.resize(at, 0);
    out.extend(symbol.as_bytes());
    out.resize(length, 0);
    out
}

fn mapping(version: u8, id: u32, symbols: [&str; 2]) -> Vec<u8> {
    let (length, symbol_bytes) = if version == 1 { (80, 22) } else { (176, 71) };
    let mut out = header(length, SYMBOL_MAPPING, id, AT);
    for symbol in symbols {
        out.extend(vec![1; usize::from(version > 1)]);
        let start = out.len();
        out.extend(symbol.as_bytes());
        out.resize(start + symbol_bytes, 0);
    }
    out.resize(length, 0);
    out
}

fn parse(file: &[u8]) -> (Batch, Report) {
    parse_dbn(Path::new("a.dbn"), file, &RootTable::embedded(), None)
}

/// A day of two contracts, of which one changes.
fn sample(version: u8) -> Vec<u8> {
    let mappings = [(CALL, 20_250_220, 20_250_221, "7"), ("8", 20_250_220, 20_250_221, PUT)];
    [
        metadata(version, &mappings),
        quote(CBBO_1S, 7, AT, [None, None]),
        quote(CMBP_1, 7, AT + SECOND, [Some(2.2), Some(2.4)]),
        quote(CBBO_1M, 8, AT + SECOND, [Some(1.0), None]),
        header(80, 0x00, 7, AT).into_iter().chain([0; 64]).collect(),
        quote(CBBO_1S, 7, AT, [Some(9.0), Some(9.9)]),
    ]
    .concat()
}

#[test]
fn the_last_quote_of_each_contract_counts_in_every_version() {
    for version in 1..=3 {
        let file = sample(version);
        let zstd = |bytes: &[u8]| compress_to_vec(bytes, CompressionLevel::Fastest);
        let (one, two) = file.split_at(file.len() / 2);
        let skipped = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let frames = [&zstd(one)[..], &skipped, &zstd(two)].concat();
        for bytes in [file.clone(), zstd(&file), frames] {
            let (batch, report) = parse(&bytes);
            assert_eq!((report.records, report.refused_total(), report.errors.len()), (4, 0, 0), "version {version}");
            let [call, put] = batch.quotes.as_slice() else { panic!("two contracts") };
            assert_eq!((call.underlying.as_str(), call.contract.strike_milli), ("AAPL", 250_000));
            assert_eq!((call.bid, call.ask, call.bid_size, call.ask_size), (2.2, 2.4, 9.0, 13.0));
            assert_eq!(call.ts, "2025-02-20T14:30:02Z".parse().unwrap());
            assert!(put.bid.to_bits() == 1f64.to_bits() && put.ask.is_nan());
            assert!(batch.reset.is_empty() && batch.spots.is_empty());
        }
    }
}

#[test]
fn a_moment_can_be_asked_for() {
    let roots = RootTable::embedded();
    let until = |text: &str| parse_dbn(Path::new("a"), &sample(3), &roots, Some(text.parse().unwrap()));
    let (batch, report) = until("2025-02-20T14:30:01.5Z");
    assert_eq!((batch.quotes.len(), report.records), (1, 2));
    assert_eq!(batch.quotes[0].bid.to_bits(), 9f64.to_bits(), "the better of two at one time");
    assert!(until("2025-02-20T14:30:00Z").0.quotes.is_empty());
}

#[test]
fn numbers_are_given_anew_every_day_and_streams_say_them_themselves() {
    for version in 1..=3 {
        let days = [(CALL, 20_250_219, 20_250_220, "7"), (PUT, 20_250_220, 20_250_221, "7")];
        let bid = [Some(1.0), Some(2.0)];
        let file = [metadata(version, &days), quote(CBBO_1S, 7, AT, bid)].concat();
        let (batch, _) = parse(&file);
        assert_eq!(batch.quotes.iter().map(|q| q.contract.right.phi() as i32).collect::<Vec<_>>(), [-1]);
        let live = [
            metadata(version, &[]),
            mapping(version, 9, ["SPX.OPT", "SPXW  250221C05000000"]),
            quote(CBBO_1S, 9, AT, bid),
            definition(version, 5, AT, CALL),
            definition(version, 6, AT, PUT),
            quote(CMBP_1, 5, AT, bid),
        ]
        .concat();
        let (batch, report) = parse(&live);
        assert_eq!((report.records, report.refused_total()), (4, 0), "version {version}");
        let seen: Vec<_> = batch.quotes.iter().map(|q| (q.underlying.as_str().to_owned(), q.bid.is_nan())).collect();
        assert_eq!(seen, [("SPX".to_owned(), false), ("AAPL".to_owned(), false), ("AAPL".to_owned(), true)]);
    }
}

#[test]
fn shares_have_a_price() {
    let mappings = [("AAPL", 20_250_220, 20_250_221, "1"), ("BRK.B", 20_250_220, 20_250_221, "2")];
    let file = [
        metadata(3, &mappings),
        quote(CBBO_1S, 1, AT, [Some(245.0), Some(245.02)]),
        quote(CBBO_1S, 1, AT - SECOND, [Some(1.0), Some(1.0)]),
        quote(CBBO_1S, 2, AT, [None, None]),
    ]
    .concat();
    let (batch, report) = parse(&file);
    let price = |symbol: &str, price| SpotRecord {
        ts: "2025-02-20T14:30:01Z".parse().unwrap(),
        underlying: Symbol::parse(symbol).unwrap(),
        price,
    };
    assert_eq!((batch.quotes.len(), report.refused_total()), (0, 0));
    let [aapl, brk] = batch.spots.as_slice() else { panic!("two prices") };
    assert!((aapl.price - 245.01).abs() < 1e-9 && aapl.ts == price("AAPL", 0.0).ts);
    assert_eq!(*brk, price("BRK.B", 2.0), "its last trade");
}

#[test]
fn each_bad_record_is_refused_with_its_place() {
    let good = quote(CBBO_1S, 7, AT, [Some(1.0), Some(2.0)]);
    let with = |at: usize, bytes: &[u8]| {
        let mut record = good.clone();
        record[at..at + bytes.len()].copy_from_slice(bytes);
        record
    };
    let cases = [
        (with(30, &[FLAG_MAYBE_BAD_BOOK]), "flags", Reason::Doubtful),
        (with(32, &u64::MAX.to_le_bytes()), "ts_recv", Reason::NotATime),
        (with(48, &(-1i64).to_le_bytes()), "bid_px", Reason::OutOfRange),
        (with(56, &(i64::MAX - 1).to_le_bytes()), "ask_px", Reason::OutOfRange),
        (with(4, &99u32.to_le_bytes()), "instrument_id", Reason::NotASymbol),
        (with(4, &3u32.to_le_bytes()), "raw_symbol", Reason::Flex),
        ([&[15], &good[1..60]].concat(), "ask_px", Reason::Missing),
        (definition(3, 1, AT, "?"), "raw_symbol", Reason::NotASymbol),
        (definition(3, 1, u64::MAX, CALL), "ts_recv", Reason::NotATime),
    ];
    for (record, field, reason) in cases {
        let days = [(CALL, 20_250_220, 20_250_221, "7"), ("1SPX  250221C00250000", 20_250_220, 20_250_221, "3")];
        let (batch, report) = parse(&[metadata(3, &days), record, good.clone()].concat());
        assert_eq!((batch.quotes.len(), report.records, report.refused_total()), (1, 2, 1), "{field}");
        let place = &report.places[0];
        assert_eq!((place.line, place.field, place.reason), (1, field, reason));
    }
    let received = with(30, &[FLAG_BAD_RECEIVED]);
    let (batch, _) = parse(&[metadata(3, &[(CALL, 20_250_220, 20_250_221, "7")]), received].concat());
    assert_eq!(batch.quotes[0].ts.as_nanosecond(), i128::from(AT - 7), "the time of the event");
}

#[test]
fn what_is_no_file_of_quotes_is_said() {
    let said = |bytes: &[u8]| parse(bytes).1.errors[0].to_string();
    assert_eq!(said(b""), "a.dbn: not in the format");
    assert_eq!(said(b"DBZ\x01\0\0\0\0"), "a.dbn: not in the format");
    assert_eq!(said(b"DBN\x04\0\x01\0\0"), "a.dbn: not in the format");
    assert_eq!(said(b"PAR1 and so on"), "a.dbn: not in the format");
    assert_eq!(said(&metadata(3, &[])), format!("a.dbn: {}", Instead::NoQuotes));
    let file = sample(3);
    let (batch, report) = parse(&file[..file.len() - 10]);
    assert_eq!((batch.quotes.len(), report.errors[0].to_string().as_str()), (2, "a.dbn: unexpected end of file"));
}

#[test]
fn a_file_can_be_cut_or_damaged_anywhere() {
    for version in 1..=3 {
        let file = sample(version);
        let compressed = compress_to_vec(file.as_slice(), CompressionLevel::Fastest);
        for bytes in [file, compressed] {
            for end in 0..bytes.len() {
                let (batch, report) = parse(&bytes[..end]);
                assert!(batch.quotes.len() <= 2 && (end == 0 || report.errors.len() <= 1));
            }
        }
    }
}

proptest! {
    #[test]
    fn no_damage_panics_or_gives_a_price_out_of_bounds(
        version in 1u8..=3, spoiled in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        compressed in any::<bool>(),
    ) {
        let mut file = sample(version);
        if compressed {
            file = compress_to_vec(file.as_slice(), CompressionLevel::Fastest);
        }
        for (at, byte) in spoiled {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let (batch, _) = parse(&file);
        for q in batch.quotes {
            for x in [q.bid, q.ask] {
                prop_assert!(x.is_nan() || limits::PRICE.holds(x));
            }
        }
        prop_assert!(batch.spots.iter().all(|s| limits::SPOT.holds(s.price)));
    }
}

#[test]
fn a_live_stream_hands_over_what_is_new_of_each_contract() {
    let mut live = crate::databento_live::DbnRecords::new(Path::new("live"), 3, RootTable::embedded());
    let mut add = |records: &[Vec<u8>]| {
        records.iter().for_each(|record| live.add(record).unwrap());
        live.take()
    };
    let first = quote(CBBO_1S, 7, AT, [Some(2.0), Some(2.2)]);
    let cut = first[..10].to_vec();
    let (batch, report) = add(&[mapping(3, 7, ["AAPL.OPT", CALL]), definition(3, 8, AT, PUT), first.clone(), cut]);
    assert_eq!((batch.quotes.len(), report.records, report.refused_total()), (2, 2, 0));
    assert!(batch.quotes.iter().any(|quote| quote.bid.to_bits() == 2f64.to_bits()));
    assert!(batch.quotes.iter().any(|quote| quote.bid.is_nan()), "one is listed without a quote");
    let older = quote(CBBO_1S, 7, AT - SECOND, [Some(9.0), Some(9.9)]);
    let (batch, _) = add(&[first, older, definition(3, 7, AT + SECOND, CALL)]);
    assert!(batch.quotes.is_empty(), "nothing takes the place of a quote but a later one: {:?}", batch.quotes);
    let (batch, report) =
        add(&[quote(CMBP_1, 7, AT + 2 * SECOND, [Some(2.1), None]), quote(CBBO_1S, 99, AT, [Some(1.0), Some(1.1)])]);
    let [new] = batch.quotes.as_slice() else { panic!("{:?}", batch.quotes) };
    assert!(new.bid.to_bits() == 2.1f64.to_bits() && new.ask.is_nan());
    assert_eq!(
        (report.refused_total(), report.places[0].to_string().as_str()),
        (1, "live:8: instrument_id: not_a_symbol")
    );
}

#[test]
fn a_pushed_stream_is_read_however_its_bytes_come() {
    use crate::databento_live::DbnStream;
    for version in 1..=3 {
        let file = sample(version);
        let whole = parse(&file).0;
        for piece in [1, 9, 100, file.len()] {
            let (mut stream, mut held, mut quotes, mut records) = (DbnStream::new(Path::new("x")), Vec::new(), 0, 0);
            for bytes in file.chunks(piece) {
                held.extend(bytes);
                let used = stream.read(&held).unwrap();
                held.drain(..used);
                let (batch, report) = stream.take();
                quotes = quotes.max(batch.quotes.len());
                records += report.records;
            }
            assert!(held.is_empty() && stream.has_metadata());
            assert_eq!(records, parse(&file).1.records, "{version}, {piece}");
            assert!(quotes > 0 && quotes <= whole.quotes.len());
        }
    }
    for other in [&b"DBN\x09\0\0\0\0"[..], b"DELETE / HTTP", b"DBN\x03\x01\0\0\0"] {
        assert_eq!(DbnStream::new(Path::new("x")).read(other), Err(Instead::OtherFormat));
    }
    let large = DbnStream::new(Path::new("x")).read(b"DBN\x03\0\0\0\x7F");
    assert_eq!(large, Err(Instead::TooManyRecords));
    let mut broken = metadata(3, &[]);
    broken.extend([0; 16]);
    assert_eq!(DbnStream::new(Path::new("x")).read(&broken), Err(Instead::OtherFormat));
}
