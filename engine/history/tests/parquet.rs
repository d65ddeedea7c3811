//! Files of Greeks read back by the library that others read them with: types, nulls and what they say of themselves,
//! and the numbers of the passes, bit for bit.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema, TimeUnit};
use engine::pass::{MarketData, Passes};
use engine::store::chain::Chain;
use engine::store::columns::{Col, Group};
use engine::store::ingest::Store;
use engine::store::quotes::QuoteNumber;
use history::recipe::{Recipe, compute};
use history::row::HistoryRow;
use history::tables::ROW_GROUP;
use jiff::Timestamp;
use kernel::quality::Quality;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use support::{CLOSES, Folder, INTRADAY, Plain, csv, market, reference, rows, time};

/// Every row of a file in one batch.
fn open(path: &Path) -> (RecordBatch, Schema, ParquetMetaData) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let (schema, metadata) = (builder.schema().as_ref().clone(), builder.metadata().as_ref().clone());
    let batches: Vec<RecordBatch> = builder.with_batch_size(1 << 20).build().unwrap().map(Result::unwrap).collect();
    assert_eq!(batches.len(), 1);
    (batches.into_iter().next().unwrap(), schema, metadata)
}

fn numbers(batch: &RecordBatch, name: &str) -> Vec<f64> {
    let column = batch.column_by_name(name).unwrap_or_else(|| panic!("{name}"));
    let column = column.as_primitive::<Float64Type>();
    let value = |row| if column.is_null(row) { f64::NAN } else { column.value(row) };
    let all: Vec<f64> = (0..column.len()).map(value).collect();
    let nulls = all.iter().filter(|x| x.is_nan()).count();
    assert_eq!(nulls, column.null_count(), "{name}: a NaN is written as a number");
    all
}

fn words(batch: &RecordBatch, name: &str) -> Vec<String> {
    let column = batch.column_by_name(name).unwrap();
    if let DataType::Utf8 = column.data_type() {
        return column.as_string::<i32>().iter().map(|word| word.unwrap().to_owned()).collect();
    }
    let column = column.as_dictionary::<Int32Type>();
    let words = column.values().as_string::<i32>();
    column.keys().iter().map(|key| words.value(key.unwrap() as usize).to_owned()).collect()
}

fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
}

/// Passes by hand: the snapshots of a name one after the other, `first` for the first and `later` for the others.
fn by_hand(snapshots: &[(Timestamp, Vec<HistoryRow>)], first: &[Quality], later: &[Quality]) -> Vec<Arc<Chain>> {
    let reference = reference();
    let mut passes = Passes::new(2, |_| ()).unwrap();
    passes.keep_quotes();
    let mut chains = Vec::new();
    for (i, (at, rows)) in snapshots.iter().enumerate() {
        let mut store = Store::new(reference.roots().clone(), reference.calendar().clone());
        store.keep_sizes();
        let spot = |row: &HistoryRow| kernel::records::SpotRecord {
            ts: *at,
            underlying: row.quote.underlying,
            price: row.spot,
        };
        let batch = kernel::records::Batch {
            quotes: rows.iter().rev().map(|row| row.quote).collect(),
            spots: vec![spot(&rows[0])],
            dividends: Some(reference.dividends(rows[0].quote.underlying).to_vec()),
            ..Default::default()
        };
        store.ingest(&batch, *at);
        let market = MarketData { calendar: reference.calendar(), rates: reference.rates() };
        let mut last = None;
        for &quality in if i == 0 { first } else { later } {
            last = passes.run_to(quality, market, &[(&store.books()[0], *at)]).pop();
        }
        chains.push(last.unwrap().chain);
    }
    chains
}

fn assert_same_chain(batch: &RecordBatch, from: usize, chain: &Chain) {
    let n = chain.rows() as usize;
    let batch = batch.slice(from, n);
    for &col in Col::ALL.iter().filter(|col| col.late().is_none() && col.group() != Group::Layer) {
        assert!(same(&numbers(&batch, col.name()), chain.columns.get(col)), "{}", col.name());
    }
    let by_slice = |number: fn(&engine::store::chain::Slice) -> f64| -> Vec<f64> {
        chain.slices.iter().flat_map(|slice| vec![number(slice); slice.rows.len()]).collect()
    };
    assert!(same(&numbers(&batch, "und_price"), &by_slice(|s| s.und_price)));
    assert!(same(&numbers(&batch, "fwd_price"), &by_slice(|s| s.fwd_price)));
    assert!(same(&numbers(&batch, "days"), &by_slice(|s| s.days)));
    assert!(same(&numbers(&batch, "disc_rate"), &by_slice(|s| s.disc_rate)));
    assert!(same(&numbers(&batch, "borr_rate"), &by_slice(|s| s.borr_rate)));
    assert!(same(&numbers(&batch, "divs"), &by_slice(|s| s.divs)));
    let strikes: Vec<f64> = chain.strike_milli.iter().map(|&milli| f64::from(milli) / 1000.0).collect();
    assert!(same(&numbers(&batch, "strike"), &strikes));
    let times = batch.column_by_name("quote_time").unwrap().as_primitive::<TimestampMicrosecondType>().clone();
    assert!(times.values().iter().all(|&t| t == chain.valued_at.as_microsecond()));
    let quotes = chain.quotes.as_ref().unwrap();
    for (name, number) in [("bid", QuoteNumber::Bid), ("ask_size", QuoteNumber::AskSize), ("mid", QuoteNumber::Mid)] {
        let shown: Vec<f64> = (0..n).map(|row| quotes.get(row, number)).collect();
        assert!(same(&numbers(&batch, name), &shown), "{name}");
    }
}

/// The type of words that occur again and again.
fn dictionary() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

#[test]
fn a_day_reads_back_as_it_was_computed() {
    let folder = Folder::new("parquet");
    let days = support::write_market(&folder.path("in"));
    let mut job = Plain::new();
    job.recipe = Recipe { quality: Quality::Full, quotes: true };
    job.run(&days[0], &folder.path("out"));
    let (batch, schema, metadata) = open(&folder.path("out/day=2026-11-17/greeks.parquet"));

    let kind = |name: &str| schema.field_with_name(name).unwrap().data_type().clone();
    assert_eq!(kind("quote_time"), DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
    assert_eq!((kind("expiry"), kind("quote_date")), (DataType::Date32, DataType::Date32));
    assert_eq!((kind("strike"), kind("strike_milli")), (DataType::Float64, DataType::Int32));
    assert_eq!(kind("underlying"), dictionary());
    assert_eq!((kind("osym"), kind("vega")), (DataType::Utf8, DataType::Float64));
    let said = |name: &str, key: &str| schema.field_with_name(name).unwrap().metadata()[key].clone();
    assert_eq!(said("rho", "unit"), "per 1 %");
    let file = metadata.file_metadata();
    let about = |key: &str| {
        let of = file.key_value_metadata().unwrap().iter().find(|kv| kv.key == key);
        of.and_then(|kv| kv.value.clone()).unwrap_or_else(|| panic!("{key}"))
    };
    assert_eq!(about("greeksd.accuracy"), "full");
    assert_eq!(about("greeksd.recipe"), job.recipe.text());
    assert_eq!(schema.metadata()["greeksd.recipe_version"], history::recipe::VERSION.to_string());
    // a file does not say its level
    let compression = metadata.row_group(0).column(0).compression().to_string();
    assert!(compression.starts_with("ZSTD"), "{compression}");

    // names in order, each as passes by hand give it
    let names = words(&batch, "underlying");
    assert!(names.is_sorted() && names.first().unwrap() == "F" && names.last().unwrap() == "UBER");
    let at = time(CLOSES[0]);
    let market = market(at);
    let mut from = 0;
    for name in 0..market.len() {
        let rows = rows(&market, name, at);
        let chain = by_hand(&[(at, rows)], job.recipe.first(), job.recipe.later()).pop().unwrap();
        assert_same_chain(&batch, from, &chain);
        from += chain.rows() as usize;
    }
    assert_eq!(from, batch.num_rows());

    let osym = words(&batch, "osym");
    let key = |row: usize| kernel::contract::ContractKey::parse_osi(&osym[row]).unwrap();
    let milli = batch.column_by_name("strike_milli").unwrap().as_primitive::<Int32Type>();
    let (roots, rights) = (words(&batch, "root"), words(&batch, "right"));
    let expiries = batch.column_by_name("expiry").unwrap().as_primitive::<Date32Type>();
    for row in 0..batch.num_rows() {
        assert_eq!((key(row).root.as_str(), key(row).strike_milli as i32), (roots[row].as_str(), milli.value(row)));
        let right = if key(row).right == kernel::contract::Right::Call { "call" } else { "put" };
        assert_eq!(rights[row], right);
        let days = jiff::civil::date(1970, 1, 1).until(key(row).expiry).unwrap().get_days();
        assert_eq!(expiries.value(row), days);
    }
    assert!(words(&batch, "ex_style").iter().all(|word| word == "american"));
    assert!(words(&batch, "settle").iter().all(|word| word == "pm"));
    // nothing is known of the session before
    assert!(numbers(&batch, "prev_vol").iter().all(|x| x.is_nan()));
    assert!(numbers(&batch, "svc_vol").iter().filter(|x| !x.is_nan()).count() > batch.num_rows() * 9 / 10);
}

#[test]
fn a_name_within_a_day_stands_by_time_and_follows_its_recipe() {
    let folder = Folder::new("intraday");
    let moments: Vec<Timestamp> = INTRADAY.iter().chain(&CLOSES[1..2]).map(|text| time(text)).collect();
    let snapshots: Vec<(Timestamp, Vec<HistoryRow>)> =
        moments.iter().map(|&at| (at, rows(&market(at), 1, at))).collect();
    let all: Vec<HistoryRow> = snapshots.iter().rev().flat_map(|(_, rows)| rows.clone()).collect();
    let path = folder.path("ko.csv");
    std::fs::write(&path, csv(&all)).unwrap();
    for quality in [Quality::Preliminary, Quality::Full] {
        let mut job = Plain::new();
        job.recipe = Recipe { quality, quotes: true };
        let out = folder.path(quality.name());
        job.run(std::slice::from_ref(&path), &out);
        let (batch, ..) = open(&out.join("day=2026-11-18/greeks-KO.parquet"));
        let chains = by_hand(&snapshots, job.recipe.first(), job.recipe.later());
        let mut from = 0;
        for chain in &chains {
            assert_same_chain(&batch, from, chain);
            from += chain.rows() as usize;
        }
        assert_eq!(from, batch.num_rows());

        // the same without files, and up to an instant
        let until = |at| compute(&all, at, &job.reference, job.recipe).unwrap();
        let whole = until(Timestamp::MAX);
        assert_eq!(whole.iter().map(|(at, _)| *at).collect::<Vec<_>>(), moments);
        let part = until(moments[2]);
        assert_eq!(part.len(), 3);
        for ((_, a), (_, b)) in part.iter().zip(&whole) {
            assert!(same(a.columns.get(Col::SvcTheo), b.columns.get(Col::SvcTheo)));
            assert!(same(a.columns.get(Col::Speed), b.columns.get(Col::Speed)));
        }
        for ((_, a), b) in whole.iter().zip(&chains) {
            assert!(same(a.columns.get(Col::SvcTheo), b.columns.get(Col::SvcTheo)));
        }
    }
}

#[test]
fn row_groups_have_a_fixed_length() {
    let folder = Folder::new("groups");
    let at = time(CLOSES[0]);
    // one name at many times, a second apart
    let one = rows(&market(at), 0, at);
    let times = ROW_GROUP / one.len() + 2;
    let mut text = support::HEADER.to_owned();
    for i in 0..times {
        let ts = at - jiff::SignedDuration::from_secs(i as i64);
        for row in &one {
            let quote = kernel::records::QuoteRecord { ts, ..row.quote };
            text.push_str(&support::line(&HistoryRow { quote, ..*row }));
        }
    }
    let path = folder.path("f.csv");
    std::fs::write(&path, text).unwrap();
    let job = Plain::new();
    let outcome = job.run(&[path], &folder.path("out"));
    let (.., metadata) = open(&folder.path("out/day=2026-11-17/greeks-F.parquet"));
    let groups: Vec<i64> = metadata.row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(groups, [ROW_GROUP as i64, outcome.rows as i64 - ROW_GROUP as i64]);
    assert_eq!(outcome.counts.snapshots, times as u64);
}
