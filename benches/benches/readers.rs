//! Readers of vendors' documents: bytes a second of each, on a chain of the embedded market in the vendors' layouts.
//! Beside them the same large JSON by two libraries, read into the same types. Times are processor time.
#![allow(missing_docs, reason = "criterion's macros")]
#![allow(clippy::print_stdout, reason = "sizes belong beside times")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use feeds::alpaca::{AlpacaFeed, parse_alpaca_snapshots};
use feeds::cboe::parse_cboe;
use feeds::databento::parse_dbn;
use feeds::massive::parse_massive_snapshot;
use feeds::rates::parse_treasury;
use feeds::thetadata::parse_thetadata_options;
use feeds::tradier::parse_tradier_chain;
use greeksd_benches::cpu::of_thread;
use greeksd_benches::market::NOW;
use kernel::calendar::Calendar;
use kernel::contract::RootTable;
use serde::Deserialize;
use sim::{SimMarket, universe};
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use testkit::documents::Quoted;

/// About the size of Cboe's largest file.
const LARGE_BYTES: usize = 8_000_000;

/// The chain of SPX in the whole market, which is about as large as the true one.
fn spx() -> Quoted {
    let universe: Vec<_> = universe::names(1, 1.0).into_iter().filter(|name| name.symbol == "SPX").collect();
    Quoted::of(&SimMarket::with_universe(1, NOW, &universe).book(0, NOW).expect("SPX is listed"))
}

/// A year of par yields, in the Treasury's layout.
fn treasury() -> String {
    let mut out =
        "Date,\"1 Mo\",\"1.5 Month\",\"2 Mo\",\"3 Mo\",\"4 Mo\",\"6 Mo\",\"1 Yr\",\"2 Yr\",\"3 Yr\",\"5 Yr\",\
                   \"7 Yr\",\"10 Yr\",\"20 Yr\",\"30 Yr\"\n"
            .to_owned();
    for day in 0..252 {
        let level = 4.0 + f64::from(day % 37) / 100.0;
        write!(out, "{:02}/{:02}/2026", day / 21 + 1, day % 21 + 1).expect("strings take all");
        (0..14).for_each(|i| write!(out, ",{:.2}", level + f64::from(i) / 10.0).expect("strings take all"));
        out.push('\n');
    }
    out
}

fn readers(c: &mut Criterion) {
    let (quoted, calendar, roots, source) = (spx(), Calendar::embedded(), RootTable::embedded(), Path::new("document"));
    let name = quoted.underlying;
    let mut group = c.benchmark_group("readers");
    let mut bench = |of: &str, document: &[u8], read: &dyn Fn(&[u8]) -> usize| {
        let records = read(document);
        println!("{of}: {} contracts or nodes in {:.1} MB", records, document.len() as f64 / 1e6);
        group.throughput(Throughput::Bytes(document.len() as u64));
        group.bench_function(of, |b| {
            b.iter_custom(|n| of_thread(n, || _ = black_box(read(black_box(document)))));
        });
    };
    bench("cboe", quoted.cboe().as_bytes(), &|b| parse_cboe(source, b, name, &calendar).0.quotes.len());
    bench("thetadata_csv", quoted.thetadata_csv().as_bytes(), &|b| {
        parse_thetadata_options(source, b, name, None, &calendar).0.quotes.len()
    });
    bench("thetadata_ndjson", quoted.thetadata_lines().as_bytes(), &|b| {
        parse_thetadata_options(source, b, name, None, &calendar).0.quotes.len()
    });
    bench("tradier", quoted.tradier().as_bytes(), &|b| parse_tradier_chain(source, b, name, NOW).0.quotes.len());
    bench("massive", quoted.massive().as_bytes(), &|b| parse_massive_snapshot(source, b, name).0.batch.quotes.len());
    bench("alpaca", quoted.alpaca().as_bytes(), &|b| {
        parse_alpaca_snapshots(source, b, name, AlpacaFeed::Opra).0.batch.quotes.len()
    });
    let file = quoted.databento(20);
    bench("databento", &file, &|b| parse_dbn(source, b, &roots, None).0.quotes.len());
    let packed = ruzstd::encoding::compress_to_vec(file.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
    bench("databento_zstd", &packed, &|b| parse_dbn(source, b, &roots, None).0.quotes.len());
    bench("treasury", treasury().as_bytes(), &|b| parse_treasury(source, b).0.len());
    group.finish();
}

/// The fields of Cboe's file that are read, in the simplest types.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    options: Vec<Contract<'a>>,
}

#[derive(Deserialize)]
struct Contract<'a> {
    option: &'a str,
    bid: f64,
    ask: f64,
    bid_size: f64,
    ask_size: f64,
    #[serde(borrow)]
    last_trade_time: Option<&'a str>,
}

fn sum(document: &Document<'_>) -> f64 {
    let one = |c: &Contract<'_>| c.bid + c.ask + c.bid_size + c.ask_size + (c.option.len() as f64);
    document.data.options.iter().map(|c| one(c) + c.last_trade_time.map_or(0.0, |time| time.len() as f64)).sum()
}

fn libraries(c: &mut Criterion) {
    let mut quoted = spx();
    let bytes_each = quoted.cboe().len() / quoted.quotes.len();
    let wanted = LARGE_BYTES / bytes_each;
    quoted.quotes = quoted.quotes.iter().copied().cycle().take(wanted).collect();
    let document = quoted.cboe();
    println!("libraries: {} contracts in {:.1} MB", wanted, document.len() as f64 / 1e6);
    let mut group = c.benchmark_group("json_libraries");
    group.throughput(Throughput::Bytes(document.len() as u64));
    let bytes = document.as_bytes();
    group.bench_function("serde_json", |b| {
        let read = || _ = black_box(sum(&serde_json::from_slice(black_box(bytes)).expect("it is JSON")));
        b.iter_custom(|n| of_thread(n, read));
    });
    // It writes into its input, and a reader has bytes for reading only: the copy is a part of it.
    group.bench_function("simd_json_with_copy", |b| {
        let read = || _ = black_box(sum(&simd_json::from_slice(&mut black_box(bytes).to_vec()).expect("it is JSON")));
        b.iter_custom(|n| of_thread(n, read));
    });
    group.bench_function("copy", |b| b.iter_custom(|n| of_thread(n, || _ = black_box(black_box(bytes).to_vec()))));
    group.finish();
}

criterion_group!(benches, readers, libraries);
criterion_main!(benches);
