//! The vendor's own volatility and Greeks beside quotes: in every packing, of saved responses, and what is refused.

use crate::folder::{Folder, gzip, rows_in, zip};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use history::layouts::{LayoutError, Read, ReadOptions, ShownNumbers, read_shown, read_shown_response};
use history::row::HistoryRow;
use kernel::error::FeedError;
use parquet::arrow::ArrowWriter;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

const OWN: &str = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask,vendor_iv,vendor_delta\n\
    2026-08-21T20:00:00Z,X,14.41,X,2026-08-28,call,14,0.5,0.6,0.25,0.731\n\
    2026-08-21T20:00:00Z,X,14.41,X,2026-08-28,put,14,0.1,0.2,N/A,-0.27\n";

fn shown_in(name: &str, bytes: &[u8]) -> Result<(Vec<(HistoryRow, ShownNumbers)>, Read), LayoutError> {
    let folder = Folder::new();
    let (path, mut rows) = (folder.put(name, bytes), Vec::new());
    let read = read_shown(&path, &ReadOptions::default(), &mut |row, shown| rows.push((row, *shown)))?;
    Ok((rows, read))
}

fn sound(rows: &[(HistoryRow, ShownNumbers)], what: &str) {
    assert_eq!(rows.len(), 2, "{what}");
    let [call, put] = [rows[0].1, rows[1].1];
    assert_eq!((call.values[0], call.values[1]), (0.25, 0.731), "{what}");
    assert!(put.values[0].is_nan() && put.values[1].to_bits() == (-0.27_f64).to_bits(), "{what}: {put:?}");
    assert!(call.values[2..].iter().all(|x| x.is_nan()) && call.decimals[2..] == [None; 4], "{what}");
    assert_eq!(rows[0].0.spot.to_bits(), 14.41_f64.to_bits(), "{what}");
}

#[test]
fn the_numbers_come_with_their_quotes_in_every_packing() {
    for (name, bytes) in [
        ("x.csv", OWN.as_bytes().to_vec()),
        ("x.csv.gz", gzip(OWN.as_bytes())),
        ("x.zip", zip(&[("x.csv", OWN.as_bytes())])),
    ] {
        let (rows, read) = shown_in(name, &bytes).unwrap();
        sound(&rows, name);
        assert_eq!((rows[0].1.decimals[0], rows[0].1.decimals[1]), (Some(2), Some(3)), "{name}: as printed");
        assert!(read.is_whole() && read.report.refused_total() == 0, "{name}");
        let mut rows = Vec::new();
        let options = ReadOptions::default();
        read_shown_response(Path::new(name), &bytes, &options, &mut |row, shown| rows.push((row, *shown))).unwrap();
        sound(&rows, "a response");
        // readers of quotes alone are not held up by them
        assert_eq!(rows_in(name, &bytes, &options).unwrap().0.len(), 2, "{name}");
    }
}

#[test]
fn the_numbers_of_a_parquet_file_are_read() {
    let texts = |items: [&str; 2]| Arc::new(StringArray::from(items.to_vec())) as ArrayRef;
    let numbers = |items: [f64; 2]| Arc::new(Float64Array::from(items.to_vec())) as ArrayRef;
    let batch = RecordBatch::try_from_iter([
        ("quote_time", texts(["2026-08-21T20:00:00Z"; 2])),
        ("underlying", texts(["X"; 2])),
        ("und_price", numbers([14.41; 2])),
        ("root", texts(["X"; 2])),
        ("expiry", texts(["2026-08-28"; 2])),
        ("right", texts(["call", "put"])),
        ("strike", numbers([14.0; 2])),
        ("bid", numbers([0.5, 0.1])),
        ("ask", numbers([0.6, 0.2])),
        ("vendor_iv", numbers([0.25, f64::NAN])),
        ("vendor_delta", numbers([0.731, -0.27])),
    ])
    .unwrap();
    let folder = Folder::new();
    let path = folder.path("x.parquet");
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let mut rows = Vec::new();
    read_shown(&path, &ReadOptions::default(), &mut |row, shown| rows.push((row, *shown))).unwrap();
    sound(&rows, "parquet");
}

#[test]
fn files_of_thetadata_are_quotes_like_any_other() {
    let v3 = "symbol,expiration,strike,right,timestamp,bid,ask,delta,implied_vol,underlying_price\n\
        X,2026-08-28,14.000,CALL,2026-08-21T16:00:00.000,0.5,0.6,0.731,0.25,14.41\n";
    let v2 = "root,expiration,strike,right,ms_of_day,bid,ask,delta,implied_vol,underlying_price,date\n\
        X,20260828,14000,C,57600000,0.5,0.6,0.731,0.25,14.41,20260821\n";
    let mut read = Vec::new();
    for text in [v3, v2] {
        let (rows, outcome) = rows_in("x.csv", text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!((rows.len(), outcome.is_whole()), (1, true), "{text}");
        read.push(crate::folder::line(&rows[0]));
    }
    assert_eq!(read[0], read[1]);
    assert!(read[0].starts_with("2026-08-21T20:00:00Z X X 2026-08-28 14000 Call 0.5 0.6 14.41"), "{}", read[0]);
}

#[test]
fn what_has_no_such_numbers_or_is_too_large_is_refused() {
    let plain = OWN.replace("vendor_iv", "a").replace("vendor_delta", "b");
    let refused = shown_in("x.csv", plain.as_bytes()).unwrap_err();
    assert!(matches!(refused, LayoutError::NoShown { layout: "greeksd", .. }), "{refused}");
    let refused = shown_in("x.json", br#"{"data": [{"a": 1}]}"#).unwrap_err();
    assert!(matches!(refused, LayoutError::UnknownDocument { .. }), "{refused}");
    let refused = shown_in("x.json", b"{\"data\": [").unwrap_err();
    assert!(
        matches!(refused, LayoutError::NotJson { .. }) && refused.to_string().contains("line 1 column 10"),
        "{refused}"
    );
    // 65 kilobytes that become 65 megabytes
    let mut packed = vec![b' '; 65 << 20];
    packed[0] = b'{';
    let packed = gzip(&packed);
    assert!(packed.len() < 1 << 20);
    let refused = shown_in("x.json.gz", &packed).unwrap_err();
    assert!(matches!(refused, LayoutError::Unreadable(FeedError::TooLarge { .. })), "{refused}");
}

#[test]
fn maps_of_expirations_and_strikes_are_rows() {
    let contract = |right: &str, delta: &str, volatility: &str| {
        format!(
            r#"[{{"putCall":"{right}","symbol":"X_082826","bid":0.5,"ask":0.6,"bidSize":3,"askSize":4,
                 "quoteTimeInLong":1787342400000,"volatility":{volatility},"delta":{delta},"gamma":0.1,"vega":"NaN",
                 "theta":-0.052,"rho":-999.0,"strikePrice":14.0,"openInterest":7}}]"#
        )
    };
    let document = format!(
        r#"{{"symbol":"X","underlyingPrice":14.41,"putExpDateMap":{{"2026-08-28:7":{{"14.0":{}}}}},
             "callExpDateMap":{{"2026-08-28:7":{{"14.0":{}}}}}}}"#,
        contract("PUT", "-0.27", "-999.0"),
        contract("CALL", "0.731", "51.745")
    );
    let (rows, read) = shown_in("chain.json", document.as_bytes()).unwrap();
    assert_eq!((rows.len(), read.report.refused_total()), (2, 0), "{:?}", read.report);
    let (quote, shown) = &rows[0];
    assert_eq!(quote.quote.contract.expiry.to_string(), "2026-08-28");
    assert_eq!((quote.quote.bid_size, quote.spot.to_bits()), (3.0, 14.41_f64.to_bits()));
    assert_eq!((shown.values[0], shown.decimals[0]), (0.51745, Some(5)), "a percentage with three decimals");
    assert_eq!((shown.values[1], shown.values[4]), (0.731, -0.052));
    assert!(shown.values[3].is_nan() && shown.values[5].is_nan() && rows[1].1.values[0].is_nan(), "{shown:?}");
}

/// A response in columns, the `strike` column with so many values.
fn in_columns(strikes: usize) -> String {
    format!(
        r#"{{"s":"ok","optionSymbol":["X260828C00014000","X260828P00014000"],"underlying":["X","X"],
             "bid":[0.5,0.1],"ask":[0.6,0.2],"updated":[1787342400,1787342400],"underlyingPrice":[14.41,14.41],
             "bidSize":[{}],"iv":[0.25,null],"delta":[0.731,-0.27]}}"#,
        vec!["7"; strikes].join(",")
    )
}

#[test]
fn columns_side_by_side_are_rows_where_they_have_one_length() {
    let (rows, read) = shown_in("x.json", in_columns(2).as_bytes()).unwrap();
    assert_eq!((rows.len(), rows[0].0.spot.to_bits()), (2, 14.41_f64.to_bits()));
    let shown = &rows[1].1;
    assert!(shown.values[0].is_nan() && shown.values[1].to_bits() == (-0.27_f64).to_bits(), "{shown:?}");
    assert_eq!((read.layout, rows[1].0.quote.bid_size), ("marketdata", 7.0));
    for (strikes, what) in [(1, "`bidSize` 1"), (3, "`bidSize` has 3 values")] {
        let refused = shown_in("x.json", in_columns(strikes).as_bytes()).unwrap_err();
        assert!(matches!(refused, LayoutError::Uneven { .. }) && refused.to_string().contains(what), "{refused}");
    }
}

#[test]
fn no_document_grows_beyond_bounds() {
    // three kilobytes that become a list of 1.5 million numbers
    let column = in_columns(1_500_000);
    let too_large = |name: &str, bytes: &[u8]| {
        let refused = shown_in(name, bytes).unwrap_err();
        assert!(matches!(refused, LayoutError::Unreadable(FeedError::TooLarge { .. })), "{name}: {refused}");
    };
    let packed = gzip(column.as_bytes());
    assert!(packed.len() < column.len() / 250);
    too_large("x.json.gz", &packed);
    too_large("x.zip", &zip(&[("x.json", column.as_bytes())]));
    too_large("x.zip", &zip(&[("x.json.gz", &packed)]));
    // nothing packed: what the tree would take counts
    too_large("x.json", format!("{{\"optionSymbol\":[{}0]}}", "0,".repeat(20_000_000)).as_bytes());
    too_large("x.json", format!("[{}0]", "{\"\":0},".repeat(1_000_000)).as_bytes());
}
