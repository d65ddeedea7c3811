//! The row writer: a chain of 20,000 contracts, all groups, in every format, beside a plain `write!` of the same rows;
//! and the same chain in each layer's own format, two of them beside `serde_json` and `csv` on structs of the same
//! fields.
#![allow(missing_docs, reason = "criterion's macros")]

mod structs;

use api::picked::Picked;
use api::query::Query;
use api::rows::clock::Clock;
use api::rows::frame::Heading;
use api::rows::stream::RowStream;
use api::vendors::layer::{Layer, Serve};
use api::vendors::native::NATIVE;
use api::vendors::{alphavantage, livevol, orats, thetadata_v2, thetadata_v3, tradier};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use engine::store::chain::{Chain, Slice};
use engine::store::columns::{Col, Columns, Group};
use engine::store::firm_quotes::FirmQuotes;
use http::limits::PIECE_BYTES;
use http::{Progress, Stream};
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil::date};
use kernel::calendar::shift::ShiftDate;
use kernel::contract::{Right, RootTable, Settle, Style, Symbol};
use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

const N_SLICES: u32 = 40;
const N_STRIKES: u32 = 250;
const N_ROWS: u64 = (N_SLICES * N_STRIKES * 2) as u64;

/// Numbers of the sizes that Greeks have, no two alike.
fn chain() -> Arc<Chain> {
    let root = Symbol::parse("SPXW").expect("a symbol");
    let n_rows = (N_SLICES * N_STRIKES * 2) as usize;
    let mut chain = Chain {
        underlying: Symbol::parse("SPX").expect("a symbol"),
        spot: 6_001.25,
        implied_spot: f64::NAN,
        implied_spot_error: f64::NAN,
        spot_off: false,
        doubt: None,
        firm: FirmQuotes::default(),
        uncomputed: None,
        valued_at: Timestamp::UNIX_EPOCH,
        preliminary: false,
        slices: Default::default(),
        strike_milli: Vec::new(),
        right: Vec::new(),
        dropped: vec![None; n_rows],
        columns: Columns::missing(n_rows),
        quotes: None,
        evidence: None,
    };
    for s in 0..N_SLICES {
        let start = chain.strike_milli.len() as u32;
        for k in 0..N_STRIKES {
            chain.strike_milli.extend([4_000_000 + k * 5_000; 2]);
            chain.right.extend([Right::Call, Right::Put]);
        }
        chain.slices.push(Slice {
            root,
            expiry: date(2026, 11, 20).plus_days(i64::from(s) * 7),
            listed: date(2026, 11, 20).plus_days(i64::from(s) * 7),
            rows: start..chain.strike_milli.len() as u32,
            style: Style::European,
            settle: Settle::Pm,
            settles_at: Timestamp::UNIX_EPOCH,
            adjusted: false,
            days: 7.0 * f64::from(s) + 0.012_345,
            days_vt: 5.0 * f64::from(s) + 0.017,
            und_price: 6_001.25,
            fwd_price: 6_001.25 + 17.0 * f64::from(s) / 3.0,
            disc_rate: 0.041,
            borr_rate: 0.003_217,
            divs: 1.2 * f64::from(s),
        });
    }
    let sizes = [0.5, 0.001, 8.0, -3.0, -4.0, 6.0, 250.0, 0.2, 0.4, 300.0, -0.9, 12.0, 0.2, 0.2, 0.2, 0.9];
    for (c, &col) in Col::ALL.iter().enumerate() {
        let size = sizes[c % sizes.len()];
        for (row, x) in chain.columns.get_mut(col).iter_mut().enumerate() {
            *x = size * (0.1 + ((row * 37 + c * 101) % 1009) as f64 / 777.0);
        }
    }
    Arc::new(chain)
}

fn rows_of(chain: &Arc<Chain>, format: &str) -> RowStream {
    rows_by(&NATIVE, "", chain, &format!("root=SPXW&greeks=all&format={format}"))
}

/// The whole chain in a layer's form; `word` is the last word of its path.
fn rows_by(layer: &Layer, word: &str, chain: &Arc<Chain>, query: &str) -> RowStream {
    let query = Query::parse(query).with_segments(vec![("order", word.to_owned())]);
    let clock = Clock::new(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH, &TimeZone::UTC);
    let Serve::Rows(parse) = layer.serve else { panic!("a layer without rows") };
    let reply = parse(&query).expect("a good query");
    let layout = reply.into_layout(None, None, Heading::default(), clock, Arc::new(RootTable::embedded()));
    let whole = Picked { chain: Arc::clone(chain), rows: std::iter::once(0..chain.rows()).collect() };
    RowStream::new(layout, vec![whole])
}

/// Every piece into one buffer, as the server does.
fn drain(mut rows: RowStream, buffer: &mut Vec<u8>) -> usize {
    let mut total = 0;
    loop {
        buffer.clear();
        let progress = rows.fill(buffer);
        total += black_box(&*buffer).len();
        if progress == Progress::Done {
            return total;
        }
    }
}

/// The JSON of [`drain`] with the standard library's formatting.
fn drain_plain(chain: &Chain, buffer: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut total = 0;
    let rounded = |x: f64| (x * 1e6).round() / 1e6;
    for slice in &chain.slices {
        for row in slice.rows.clone() {
            let (milli, right) = (chain.strike_milli[row as usize], chain.right[row as usize]);
            let (word, letter) = if right == Right::Call { ("call", 'C') } else { ("put", 'P') };
            write!(
                buffer,
                "{{\"underlying\":\"{}\",\"root\":\"{}\",\"expiry\":\"{}\",\"strike\":{},\"right\":\"{word}\",\
                 \"osym\":\"{:<6}{}{letter}{milli:08}\",\"greeks\":\"core,extra,exotic,chain\",\"und_price\":{}",
                chain.underlying,
                slice.root,
                slice.expiry,
                f64::from(milli) / 1000.0,
                slice.root,
                slice.expiry.strftime("%y%m%d"),
                rounded(slice.und_price),
            )?;
            for &col in Col::ALL.iter().filter(|col| col.group() != Group::Layer) {
                write!(buffer, ",\"{}\":{}", col.name(), rounded(chain.columns.get(col)[row as usize]))?;
            }
            writeln!(
                buffer,
                ",\"fwd_price\":{},\"ex_style\":\"european\",\"settle\":\"pm\",\"days\":{},\"disc_rate\":{},\
                 \"borr_rate\":{},\"divs\":{}}},",
                rounded(slice.fwd_price),
                rounded(slice.days),
                slice.disc_rate,
                slice.borr_rate,
                rounded(slice.divs),
            )?;
            if buffer.len() > PIECE_BYTES {
                total += black_box(&*buffer).len();
                buffer.clear();
            }
        }
    }
    Ok(total + buffer.len())
}

fn rows(c: &mut Criterion) {
    let chain = chain();
    let mut group = c.benchmark_group("rows");
    group.sample_size(20).throughput(Throughput::Elements(N_ROWS));
    let mut buffer = Vec::with_capacity(2 * PIECE_BYTES);
    for format in ["json", "ndjson", "csv", "html"] {
        let bytes = drain(rows_of(&chain, format), &mut buffer) as u64;
        group.bench_function(format!("{format}, {} bytes a row", bytes / N_ROWS), |b| {
            b.iter_batched(|| rows_of(&chain, format), |rows| drain(rows, &mut buffer), BatchSize::LargeInput);
        });
    }
    group.bench_function("json by write!", |b| b.iter(|| drain_plain(&chain, &mut buffer)));
    group.finish();
}

/// A layer, whole chain: its name, path's word, query, and the same by serde where that is kept.
type Measured = (&'static str, &'static Layer, &'static str, &'static str, Option<structs::Writer>);

/// Each layer's JSON, and the columnar layer's CSV.
const LAYERS: &[Measured] = &[
    ("envelope", &alphavantage::OPTIONS, "", "function=REALTIME_OPTIONS&require_greeks=true&symbol=SPX", None),
    ("strikes", &orats::STRIKES, "", "ticker=SPX", None),
    ("quotes", &livevol::QUOTES, "", "symbol=SPX", None),
    ("columnar v3 json", &thetadata_v3::GREEKS, "all", "symbol=SPX&expiration=*&format=json", None),
    ("columnar v3 csv", &thetadata_v3::GREEKS, "all", "symbol=SPX&expiration=*", Some(structs::columnar_v3_csv)),
    ("columnar v2", &thetadata_v2::ALL_GREEKS, "", "root=SPX&exp=0", None),
    ("chains", &tradier::CHAIN, "", "symbol=SPX&greeks=true", Some(structs::chains)),
];

fn layers(c: &mut Criterion) {
    let chain = chain();
    let mut buffer = Vec::with_capacity(2 * PIECE_BYTES);
    for &(name, layer, word, query, by_serde) in LAYERS {
        let rows = || rows_by(layer, word, &chain, query);
        let mut group = c.benchmark_group(format!("layers/{name}"));
        group.sample_size(10).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
        let bytes = drain(rows(), &mut buffer) as u64;
        group.throughput(Throughput::ElementsAndBytes { elements: N_ROWS, bytes });
        group.bench_function("table", |b| {
            b.iter_batched(rows, |rows| drain(rows, &mut buffer), BatchSize::LargeInput);
        });
        if let Some(by_serde) = by_serde {
            let mut whole = Vec::new();
            by_serde(&chain, &mut whole);
            group.throughput(Throughput::ElementsAndBytes { elements: N_ROWS, bytes: whole.len() as u64 });
            group.bench_function("serde", |b| {
                b.iter(|| {
                    whole.clear();
                    by_serde(&chain, &mut whole);
                    black_box(whole.len())
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, rows, layers);
criterion_main!(benches);
