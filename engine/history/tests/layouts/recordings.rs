//! Recordings, replayed as snapshots.

use crate::folder::{gzip, line, rows_in};
use history::layouts::ReadOptions;
use jiff::Timestamp;
use kernel::error::Reason;

fn at(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_millisecond()
}

fn quote(strike: u32, bid: f64, time: &str) -> String {
    format!("{{\"osym\":\"AA261218C{:08}\",\"bid\":{bid},\"ask\":9,\"time\":{}}}\n", 1000 * strike, at(time))
}

fn spot(price: f64, time: &str) -> String {
    format!("{{\"symbol\":\"AA\",\"price\":{price},\"time\":{}}}\n", at(time))
}

fn snapshots(text: &str, options: &ReadOptions) -> Vec<String> {
    let (rows, read) = rows_in("x.ndjson", text.as_bytes(), options).unwrap();
    assert_eq!((read.layout, read.is_whole()), ("greeksd-recording", true));
    assert_eq!(read.report.places, []);
    let short = |line: String| line.replace(":00Z AA AA 2026-12-18", "").replace(" Call", "").replace(" 9 ", " ");
    rows.iter().map(line).map(short).collect()
}

#[test]
fn each_minute_has_the_last_state_of_what_has_changed() {
    let text = [
        spot(30.0, "2026-11-20T14:29:00Z"),
        quote(1, 1.0, "2026-11-20T14:29:30Z"), // before the opening
        quote(2, 2.0, "2026-11-20T14:30:20Z"),
        quote(2, 2.5, "2026-11-20T14:31:00Z"), // of the minute that it ends
        quote(2, 2.6, "2026-11-20T14:31:00.001Z"),
        quote(2, 2.4, "2026-11-20T14:30:59Z"), // late, and superseded
        spot(31.0, "2026-11-20T14:40:01Z"),
        quote(1, 1.5, "2026-11-20T20:59:59Z"),
        quote(1, 7.0, "2026-11-20T21:00:01Z"), // after the close
    ]
    .concat();
    assert_eq!(
        snapshots(&text, &ReadOptions::default()),
        [
            "2026-11-20T14:30 1000 1 30",
            "2026-11-20T14:31 1000 1 30",
            "2026-11-20T14:31 2000 2.5 30",
            "2026-11-20T14:32 1000 1 30",
            "2026-11-20T14:32 2000 2.6 30",
            "2026-11-20T14:41 1000 1 31",
            "2026-11-20T14:41 2000 2.6 31",
            "2026-11-20T21:00 1000 1.5 31",
            "2026-11-20T21:00 2000 2.6 31",
        ]
    );
    let hourly = ReadOptions { every: jiff::SignedDuration::from_hours(1), ..ReadOptions::default() };
    assert_eq!(snapshots(&text, &hourly).len(), 4, "15:00 and the close");
}

#[test]
fn a_day_begins_with_nothing_and_a_name_can_be_forgotten() {
    let text = [
        quote(1, 1.0, "2026-11-27T17:59:30Z"), // an early close
        quote(1, 1.1, "2026-11-27T18:30:00Z"),
        quote(2, 2.0, "2026-11-30T15:00:00Z"),
        quote(2, 2.1, "2026-11-30T15:00:30Z"),
        quote(1, 3.0, "2026-11-27T15:00:00Z"), // of a day that is over
        "{\"forget\":\"AA\"}\n".to_owned(),
        quote(3, 3.0, "2026-11-30T15:00:40Z"),
    ]
    .concat();
    assert_eq!(
        snapshots(&text, &ReadOptions::default()),
        ["2026-11-27T18:00 1000 1 NaN", "2026-11-30T15:00 2000 2 NaN", "2026-11-30T15:01 3000 3 NaN"]
    );
}

#[test]
fn a_time_far_ahead_counts_when_a_second_record_has_it() {
    let text = [
        quote(1, 1.0, "2026-11-20T15:00:00Z"),
        quote(2, 2.0, "2026-11-20T15:00:01Z"),
        quote(3, 3.0, "2026-11-23T15:00:00Z"),
        quote(4, 4.0, "2026-11-20T15:00:02Z"),
    ]
    .concat();
    let (rows, read) = rows_in("x.ndjson", text.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(rows.len(), 1 + 3);
    assert_eq!((read.report.places[0].line, read.report.places[0].reason), (3, Reason::FromTheFuture));
}

#[test]
fn a_damaged_member_costs_itself_and_is_told() {
    let [first, second, third] =
        ["00", "01", "02"].map(|second| gzip(quote(1, 1.0, &format!("2026-11-20T15:00:{second}Z")).as_bytes()));
    // members of a recording begin alike
    let member = |n: u32| {
        use std::io::Write;
        let mut member = feeds::recording::begin_member();
        member.write_all(quote(n, 1.0, "2026-11-20T15:00:00Z").as_bytes()).unwrap();
        member.finish().unwrap()
    };
    let whole = [first, second, third].concat();
    let (rows, read) = rows_in("x.ndjson.gz", &whole, &ReadOptions::default()).unwrap();
    assert_eq!((rows.len(), read.is_whole()), (2, true));
    let [first, second, third] = [1, 2, 3].map(member);
    for cut in [1, 9, second.len() / 2, second.len() - 1] {
        let raw = [&first[..], &second[..cut], &third].concat();
        let (rows, read) = rows_in("x.ndjson.gz", &raw, &ReadOptions::default()).unwrap();
        let strikes: Vec<u32> = rows.iter().map(|row| row.quote.contract.strike_milli / 1000).collect();
        assert_eq!((strikes, read.is_whole(), read.report.records), (vec![1, 3], false, 2), "{cut}");
    }
    let mut flipped = [&first[..], &second, &third].concat();
    flipped[first.len() + second.len() - 6] ^= 1;
    let (rows, read) = rows_in("x.ndjson.gz", &flipped, &ReadOptions::default()).unwrap();
    assert_eq!((rows.len(), read.is_whole()), (2, false), "its checksum tells");
}
