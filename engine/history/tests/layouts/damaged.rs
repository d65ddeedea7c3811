//! Files that are cut or damaged: rows before the damage are read, the damage is reported, and the program goes on.

use crate::folder::{Folder, gzip, rows_in, rows_of, zip};
use crate::tables::Table;
use arrow_array::{ArrayRef, Date32Array, Float64Array, RecordBatch, StringArray};
use history::layouts::{LayoutError, ReadOptions};
use history::row::HistoryRow;
use jiff::civil::date;
use kernel::calendar::Calendar;
use parquet::arrow::ArrowWriter;
use proptest::prelude::*;
use sim::days::{close, names, snapshots};
use std::fmt::Write;
use std::fs::{self, File};
use std::sync::{Arc, LazyLock};

const HEADER: &str = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask\n";

fn own(rows: u32) -> String {
    let mut text = HEADER.to_owned();
    for i in 0..rows {
        let (strike, bid) = (1 + i % 90_000, f64::from(i.wrapping_mul(2_654_435_761) % 100_000) / 100.0);
        writeln!(text, "2026-08-21T20:00:00Z,X,14.41,X,2026-08-28,call,{strike},{bid},{}", bid + 1.0).unwrap();
    }
    text
}

/// Asserts that no row has a quote beyond its bounds.
fn sound(rows: &[HistoryRow]) {
    for HistoryRow { quote, spot } in rows {
        for price in [quote.bid, quote.ask, *spot] {
            assert!(price.is_nan() || (0.0..=1e7).contains(&price), "{quote:?} {spot}");
        }
        assert!((1..=99_999_999).contains(&quote.contract.strike_milli), "{quote:?}");
    }
}

#[test]
fn a_cut_stream_gives_what_stands_before_the_cut() {
    let text = own(20_000);
    let whole = gzip(text.as_bytes());
    for part in [3, 10, 50, 97] {
        let raw = &whole[..whole.len() * part / 100];
        let (rows, read) = rows_in("x.csv.gz", raw, &ReadOptions::default()).unwrap();
        assert!(!read.is_whole() && rows.len() < 20_000, "{part} %: {}", rows.len());
        assert_eq!(read.report.refused_total(), 0, "{part} %: no half row");
        assert!(part < 10 || rows.len() > 100 * part, "{part} %: {}", rows.len());
    }
    let refused = rows_in("x.csv.gz", &whole[..12], &ReadOptions::default()).unwrap_err();
    assert!(matches!(refused, LayoutError::Unreadable(_)), "{refused}");
    let mut flipped = whole.clone();
    flipped[whole.len() - 6] ^= 1;
    let (rows, read) = rows_in("x.csv.gz", &flipped, &ReadOptions::default()).unwrap();
    assert_eq!((rows.len(), read.is_whole()), (20_000, false), "its checksum tells");
}

#[test]
fn an_archive_without_its_list_is_not_read_and_a_spoiled_file_costs_itself() {
    let text = own(5000);
    let whole = zip(&[("a.csv", text.as_bytes()), ("b.csv", text.as_bytes())]);
    let (rows, read) = rows_in("x.zip", &whole, &ReadOptions::default()).unwrap();
    assert_eq!((rows.len(), read.is_whole()), (10_000, true));
    let refused = rows_in("x.zip", &whole[..whole.len() - 30], &ReadOptions::default()).unwrap_err();
    assert!(matches!(refused, LayoutError::Unreadable(_)), "{refused}");
    let mut spoiled = whole.clone();
    spoiled[whole.len() / 4] ^= 0x55;
    let (rows, read) = rows_in("x.zip", &spoiled, &ReadOptions::default()).unwrap();
    assert!(rows.len() >= 5000 && !read.is_whole(), "{}", rows.len());
    let other = zip(&[("a.csv", text.as_bytes()), ("notes.txt", b"bought at the open\n")]);
    let (rows, read) = rows_in("x.zip", &other, &ReadOptions::default()).unwrap();
    assert_eq!((rows.len(), read.is_whole()), (5000, false), "a file that is not understood is told");
    // a member's path stays within the archive, whatever it claims
    let other = zip(&[("a.csv", text.as_bytes()), ("/etc/passwd.csv", b"x\n")]);
    let (_, read) = rows_in("x.zip", &other, &ReadOptions::default()).unwrap();
    let errors: Vec<String> = read.report.errors.iter().map(ToString::to_string).collect();
    assert!(errors.len() == 1 && errors[0].contains("x.zip!/etc/passwd.csv"), "{errors:?}");
    let refused = rows_in("x.zip", &zip(&[("a.pdf", b"x")]), &ReadOptions::default()).unwrap_err();
    assert!(matches!(refused, LayoutError::Empty { .. }), "{refused}");
}

/// A Parquet file of some thousand rows, in several groups.
static PARQUET: LazyLock<(Vec<u8>, usize)> = LazyLock::new(|| {
    let calendar = Calendar::embedded();
    let folder = Folder::new();
    let path = folder.path("x.parquet");
    let mut table = Table::new(File::create(&path).unwrap());
    let mut rows = 0;
    snapshots(3, &names()[..2], &[close(&calendar, date(2024, 3, 8))], false, |snapshot| {
        rows += snapshot.rows.len();
        table.quotes(&calendar, &snapshot).unwrap();
    });
    table.finish().unwrap();
    (fs::read(&path).unwrap(), rows)
});

#[test]
fn a_cut_parquet_file_is_not_read_and_a_spoiled_one_is_told() {
    let (whole, rows) = &*PARQUET;
    let (got, read) = rows_in("x.parquet", whole, &ReadOptions::default()).unwrap();
    assert_eq!((got.len(), read.is_whole()), (*rows, true));
    for cut in [5, whole.len() / 2, whole.len() - 1] {
        let refused = rows_in("x.parquet", &whole[..cut], &ReadOptions::default()).unwrap_err();
        assert!(matches!(refused, LayoutError::Unreadable(_)), "{cut}: {refused}");
    }
    let mut spoiled = whole.clone();
    spoiled[20..60].fill(0xff);
    let (got, read) = rows_in("x.parquet", &spoiled, &ReadOptions::default()).unwrap();
    assert!(!read.is_whole() && got.len() < *rows);
}

#[test]
fn what_is_no_file_of_quotes_is_refused_by_what_it_is() {
    let folder = Folder::new();
    let refused = |name: &str, bytes: &[u8]| rows_in(name, bytes, &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        refused("a.7z", b"7z\xbc\xaf\x27\x1cxxxx").contains("7-Zip is not read; plain text, gzip, zip and Parquet are")
    );
    assert!(refused("a.csv", b"").ends_with("empty"));
    assert!(refused("a.csv", b"\n\n").ends_with("empty"));
    let odd = refused("a\u{1b}[2J\n.csv", b"x,y\n1,2\n");
    assert!(!odd.contains(['\u{1b}', '\n']), "{odd:?}");
    let at = rows_of(&folder.path("none.csv"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(at.contains("no such file"), "{at}");
    assert!(rows_of(&folder.path(""), &ReadOptions::default()).unwrap_err().to_string().contains("not a regular file"));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), begin in 0usize..6) {
        let begin: &[u8] = match begin {
            0 => &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff],
            1 => b"PK\x03\x04",
            2 => b"PAR1",
            3 => HEADER.as_bytes(),
            4 => b"{\"osym\":\"AA261218C00001000\",\"bid\":1,\"ask\":2,\"time\":1795207320}\n{",
            _ => b"",
        };
        if let Ok((rows, _)) = rows_in("x", &[begin, &bytes].concat(), &ReadOptions::default()) {
            sound(&rows);
        }
    }

    #[test]
    fn no_damage_to_a_table_panics(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>(), cuts in any::<bool>()) {
        let mut bytes = PARQUET.0.clone();
        // half of the damage goes to the index of columns at the end of the file
        let tail = bytes.len().saturating_sub(6000);
        let place = if byte % 2 == 0 { at.index(bytes.len()) } else { tail + at.index(bytes.len() - tail) };
        bytes[place] = byte;
        if cuts {
            bytes.remove(cut.index(bytes.len()));
        }
        if let Ok((rows, _)) = rows_in("x.parquet", &bytes, &ReadOptions::default()) {
            sound(&rows);
        }
    }

    #[test]
    fn no_damage_to_an_archive_panics(at in any::<prop::sample::Index>(), byte in any::<u8>(), which in 0..3) {
        let text = own(50);
        let mut bytes = match which {
            0 => zip(&[("a.csv", text.as_bytes()), ("b.csv", text.as_bytes())]),
            1 => gzip(text.as_bytes()),
            _ => text.into_bytes(),
        };
        let place = at.index(bytes.len());
        bytes[place] = byte;
        if let Ok((rows, _)) = rows_in("x", &bytes, &ReadOptions::default()) {
            sound(&rows);
        }
    }
}

/// A file of the own layout whose expiries are days since 1970-01-01, one for each row.
fn parquet_of_expiries(days: &[i32]) -> Vec<u8> {
    let of = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text; days.len()])) };
    let prices = |price: f64| -> ArrayRef { Arc::new(Float64Array::from(vec![price; days.len()])) };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("quote_time", of("2026-08-21T20:00:00Z")),
        ("underlying", of("X")),
        ("und_price", prices(100.0)),
        ("root", of("X")),
        ("expiry", Arc::new(Date32Array::from(days.to_vec()))),
        ("right", of("call")),
        ("strike", prices(100.0)),
        ("bid", prices(1.0)),
        ("ask", prices(1.5)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn rows_that_take_no_bytes_have_an_end() {
    let file = parquet_of_expiries(&vec![20_693; 1_200_000]);
    assert!(file.len() < 100_000, "{} bytes", file.len());
    let (rows, read) = rows_in("x.parquet", &file, &ReadOptions::default()).unwrap();
    assert!((1_000_000..1_150_000).contains(&rows.len()) && !read.is_whole(), "{}", rows.len());
    assert!(read.report.errors[0].to_string().contains("too large"), "{:?}", read.report.errors);
}

#[test]
fn a_date_beyond_the_calendar_costs_its_row() {
    let sound_day = 20_693;
    for far in [8_000_000, -8_000_000, i32::MAX, i32::MIN, 7_304_485] {
        let file = parquet_of_expiries(&[sound_day, far, sound_day]);
        let (rows, read) = rows_in("x.parquet", &file, &ReadOptions::default()).unwrap();
        assert_eq!((rows.len(), read.is_whole(), read.report.refused_total()), (2, true, 1), "{far}");
        let refused = read.report.places[0].to_string();
        assert!(refused.contains("x.parquet:2") && refused.contains("expiry"), "{refused}");
    }
}
