//! Tables of columns, Arrow's stream and Parquet, read by the libraries that others read them with: the rows and
//! numbers of the text, at full precision, one dictionary for words, missing values as nulls.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::market::{NOW, chain, get_from, listing, market, service};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use engine::rates::source::{RateOrigin, RateSource};
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use engine::store::evidence::ChainEvidence;
use http::{Body, Progress};
use jiff::civil::date;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value};
use shim::app::Service;
use std::sync::Arc;

pub(crate) fn body(service: &Service, target: &str) -> (&'static str, Vec<u8>) {
    let (path, query) = target.split_once('?').unwrap();
    let answer = service.answer_to(path, query);
    assert_eq!(answer.status, 200, "{target}");
    let (mut out, mut piece) = (Vec::new(), Vec::new());
    let Body::Stream(mut stream) = answer.body else { panic!("{target}: no stream") };
    loop {
        piece.clear();
        let progress = stream.fill(&mut piece);
        out.extend_from_slice(&piece);
        match progress {
            Progress::More => {}
            Progress::Done => return (answer.content_type, out),
            other => panic!("{target}: {other:?}"),
        }
    }
}

fn batches(service: &Service, target: &str, format: &str) -> Vec<RecordBatch> {
    let (content_type, bytes) = body(service, &format!("{target}&format={format}"));
    if format == "arrow" {
        assert_eq!(content_type, "application/vnd.apache.arrow.stream");
        return StreamReader::try_new(&bytes[..], None).unwrap().map(Result::unwrap).collect();
    }
    assert_eq!(content_type, "application/vnd.apache.parquet");
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap().build().unwrap();
    reader.map(Result::unwrap).collect()
}

/// A cell as the text shows it: numbers with six decimals, dates and times in words.
fn shown(column: &dyn Array, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Float64 => {
            let x = column.as_primitive::<Float64Type>().value(row);
            assert!(x.is_finite());
            Value::from((x * 1e6).round() / 1e6)
        }
        DataType::Date32 => {
            let days = column.as_primitive::<Date32Type>().value(row);
            Value::from((date(1970, 1, 1) + jiff::Span::new().days(days)).to_string())
        }
        DataType::Utf8 => Value::from(column.as_string::<i32>().value(row)),
        DataType::Dictionary(..) => {
            let column = column.as_dictionary::<Int32Type>();
            Value::from(column.values().as_string::<i32>().value(column.keys().value(row) as usize))
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) fn rows_of(batches: &[RecordBatch]) -> Vec<Map<String, Value>> {
    let mut rows = Vec::new();
    for batch in batches {
        let schema = batch.schema();
        for row in 0..batch.num_rows() {
            let cell = |i: usize| (schema.field(i).name().clone(), shown(batch.column(i), row));
            rows.push((0..batch.num_columns()).map(cell).collect());
        }
    }
    rows
}

fn assert_same(service: &Service, target: &str, format: &str) -> usize {
    let of_text: Vec<Map<String, Value>> =
        serde_json::from_str(&get_from(service, target).body).unwrap_or_else(|e| panic!("{target}: {e}"));
    let of_table = rows_of(&batches(service, target, format));
    assert_eq!(of_table.len(), of_text.len(), "{target}");
    for (table, text) in of_table.iter().zip(&of_text) {
        assert_eq!(table.keys().collect::<Vec<_>>(), text.keys().collect::<Vec<_>>(), "{target}");
        for (name, cell) in table {
            let is_same = match (cell.as_f64(), text[name].as_f64()) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs().max(1e3),
                _ => *cell == text[name],
            };
            assert!(is_same, "{target} {name}: {cell} in {format}, {} in json", text[name]);
        }
    }
    of_table.len()
}

#[test]
fn tables_have_the_rows_and_numbers_of_the_text() {
    let service = service(market());
    for format in ["arrow", "parquet"] {
        for query in [
            "underlying=ACME&greeks=all",
            "underlying=SPX,ACME,BRK.B&greeks=all",
            "underlying=*&greeks=all",
            "underlying=*&greeks=core,chain&right=put",
            "underlying=ACME&right=call&greeks=exotic",
            "underlying=ACME&center=atm&strike_count=1",
            "underlying=*&root=ACME1&greeks=all",
            "osym=ACME  261218C00100000",
            "underlying=ACME&exp=2030-01-18",
        ] {
            let n = assert_same(&service, &format!("/l1/greeks?{query}"), format);
            assert_eq!(n == 0, query.contains("2030"), "{query}");
        }
    }
}

#[test]
fn many_rows_go_in_many_batches_with_one_dictionary_for_all() {
    let strikes: Vec<u32> = (1..=4000).map(|n| n * 250).collect();
    let expiries = [date(2026, 12, 18), date(2027, 1, 15), date(2027, 3, 19)];
    let names: Vec<String> = (0..20).map(|n| format!("N{n:02}")).collect();
    let chains = names.iter().map(|name| {
        let root: &'static str = Box::leak(name.clone().into_boxed_str());
        chain(name, 101.25, &expiries.map(|expiry| listing(root, expiry, 101.5, &strikes[..name.len() * 500])))
    });
    let service = service(Snapshot::new(1, chains.collect(), vec![]));
    for format in ["arrow", "parquet"] {
        assert_eq!(assert_same(&service, "/l1/greeks?underlying=*&greeks=all", format), 20 * 3 * 2 * 1500);
        assert_same(&service, "/l1/greeks?underlying=*&min_delta=0.3&max_delta=0.4", format);
    }
    let arrow = batches(&service, "/l1/greeks?underlying=*&greeks=all", "arrow");
    assert!(arrow.len() > 10 && arrow.iter().all(|batch| batch.num_rows() < 10_000), "{}", arrow.len());
    let words =
        |batch: &RecordBatch| batch.column_by_name("underlying").unwrap().as_dictionary::<Int32Type>().values().clone();
    assert!(arrow.iter().all(|batch| words(batch).to_data() == words(&arrow[0]).to_data()));
    assert_eq!(words(&arrow[0]).len(), 20);
}

#[test]
fn columns_say_their_units_and_quotes_their_times() {
    let service = service(market()).showing_quotes(true);
    let arrow = batches(&service, "/l1/greeks?underlying=ACME&greeks=all,quote", "arrow");
    let schema = arrow[0].schema();
    let unit = |name: &str| schema.field_with_name(name).unwrap().metadata().get("unit").cloned();
    assert_eq!((unit("vega").as_deref(), unit("theta").as_deref()), (Some("per 1 %"), Some("per calendar day")));
    assert!(Col::ALL.iter().filter(|col| schema.field_with_name(col.name()).is_ok()).count() > 20);
    let times = arrow[0].column_by_name("quote_time").unwrap().as_primitive::<TimestampMicrosecondType>();
    assert_eq!(times.value(0), NOW.as_microsecond());
    assert!(arrow[0].column_by_name("bid").unwrap().null_count() == arrow[0].num_rows(), "what was not quoted is null");
}

#[test]
fn the_schema_names_the_discount_curves() {
    let with = |source: RateSource, chain: &Arc<Chain>| {
        let rates = Some(RateOrigin { source, as_of: Some(date(2026, 11, 20)) });
        let evidence = Some(Box::new(ChainEvidence { rates, ..ChainEvidence::default() }));
        Arc::new(Chain { evidence, ..Chain::clone(chain) })
    };
    let sources = [RateSource::Implied, RateSource::User];
    let chains =
        market().chains().iter().zip(sources.iter().cycle()).map(|(chain, &source)| with(source, chain)).collect();
    let service = service(Snapshot::new(1, chains, vec![]));
    let said = |target: &str| batches(&service, target, "arrow")[0].schema().metadata().get("greeksd.rates").cloned();
    let one = said("/l1/greeks?underlying=ACME&greeks=core").unwrap();
    assert!(["implied 2026-11-20", "user 2026-11-20"].contains(&one.as_str()), "{one}");
    assert_eq!(said("/l1/greeks?underlying=*&greeks=core").unwrap(), "implied 2026-11-20, user 2026-11-20");
}

#[test]
fn what_has_no_table_says_so() {
    let service = service(market());
    for (query, words) in [
        ("underlying=*&format=html", "underlying=*"),
        ("underlying=*&as_of=2026-11-19", "history:DIR"),
        ("underlying=ACME&format=feather", "arrow, parquet"),
    ] {
        let got = get_from(&service, &format!("/l1/greeks?{query}"));
        assert!(got.status == 400 && got.body.contains(words), "{query}: {}", got.body);
    }
}
