//! Files of the generator are read back to the same contracts and quotes, to the last bit, at the same instants, for
//! whole and half days, in summer and winter.

use crate::folder::{Folder, gzip, rows_in, rows_of, zero};
use crate::tables::Table;
use history::layouts::{Read, ReadOptions};
use history::row::HistoryRow;
use jiff::civil::{Date, date};
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use sim::days::layouts::{MadeLayout, PRICES_FILE, PRICES_HEADER, datashop_eod, write_price};
use sim::days::{MadeSnapshot, close, instants, names, sessions, snapshots};
use std::fs::File;

/// The last days before clocks change and the first after it, and a half day.
const DAYS: [Date; 5] = [date(2024, 3, 8), date(2024, 3, 11), date(2024, 11, 1), date(2024, 11, 4), date(2024, 11, 29)];

fn market(calendar: &Calendar, minutes_before: i64, names: &[Symbol]) -> Vec<MadeSnapshot> {
    let mut out = Vec::new();
    for day in DAYS {
        let at = close(calendar, day).checked_sub(SignedDuration::from_mins(minutes_before)).unwrap();
        snapshots(3, names, &[at], false, |snapshot| out.push(snapshot));
    }
    out
}

/// Accuracy of the price of the underlying in a layout.
#[derive(Clone, Copy, PartialEq)]
enum Spot {
    Exact,
    /// By the middle of two sides.
    Near,
    /// That of an index only beside its nearest expiry.
    NearestOfIndex,
    None,
}

/// Whether a layout says how much is traded, and how much is open.
fn has_counts(layout: &str) -> [bool; 2] {
    match layout {
        "dolthub-option-chain" | "thetadata-v2" | "thetadata-v3" => [false, false],
        "optionsdx" => [true, false],
        _ => [true, true],
    }
}

/// Compares rows with what was written, in its order.
fn compare(layout: &str, (rows, read): (Vec<HistoryRow>, Read), written: &[MadeSnapshot], spot: Spot) {
    assert_eq!((read.layout, read.is_whole()), (layout, true));
    assert_eq!(read.report.places, [], "{layout}");
    let mut rows = rows.iter();
    for snapshot in written {
        for quoted in &snapshot.rows {
            let row = rows.next().unwrap();
            let at = || format!("{layout}: {} {:?}", snapshot.ts, quoted.contract);
            assert_eq!((row.quote.ts, row.quote.underlying), (snapshot.ts, snapshot.underlying), "{}", at());
            assert_eq!(row.quote.contract, quoted.contract, "{}", at());
            for (got, want) in [(row.quote.bid, quoted.bid), (row.quote.ask, quoted.ask)] {
                assert_eq!(zero(got).to_bits(), zero(want).to_bits(), "{}: {got} for {want}", at());
            }
            let told = [row.quote.activity.volume, row.quote.activity.open_interest];
            for (count, (got, want)) in told.into_iter().zip([quoted.volume, quoted.open_interest]).enumerate() {
                let is_told = has_counts(layout)[count];
                assert_eq!(got.is_nan(), !is_told, "{}: {got}", at());
                // the day of DataShop has the volume of the close beside the quotes before it
                let is_later = layout == "cboe-datashop-eod" && count == 0;
                assert!(
                    !is_told || is_later || got.to_bits() == f64::from(want).to_bits(),
                    "{}: {got} for {want}",
                    at()
                );
            }
            let want = snapshot.spot;
            let index = snapshot.underlying.as_str() == "SPX";
            let fits = match spot {
                Spot::Exact => row.spot.to_bits() == want.to_bits(),
                Spot::Near => (row.spot - want).abs() < 1e-9 * want,
                Spot::NearestOfIndex if index => {
                    let nearest = snapshot.rows.iter().map(|row| row.contract.expiry).min();
                    if Some(quoted.contract.expiry) == nearest {
                        row.spot.to_bits() == want.to_bits()
                    } else {
                        row.spot.is_nan()
                    }
                }
                Spot::NearestOfIndex => row.spot.to_bits() == want.to_bits(),
                Spot::None => row.spot.is_nan(),
            };
            assert!(fits, "{}: a spot of {} for {want}", at(), row.spot);
        }
    }
    assert_eq!(rows.next(), None);
}

fn text(layout: MadeLayout, calendar: &Calendar, written: &[MadeSnapshot]) -> Vec<u8> {
    let mut out = layout.header().as_bytes().to_vec();
    written.iter().for_each(|snapshot| layout.write(calendar, snapshot, &mut out).unwrap());
    out
}

fn read_text(name: &str, bytes: &[u8]) -> (Vec<HistoryRow>, Read) {
    rows_in(name, bytes, &ReadOptions::default()).unwrap()
}

#[test]
fn end_of_day_files_come_back() {
    let calendar = Calendar::embedded();
    // a share, one with dividends, an index with two roots, class shares
    let names = names()[..4].to_vec();
    let at_close = market(&calendar, 0, &names);
    assert!(at_close.iter().map(|snapshot| snapshot.rows.len()).sum::<usize>() > 20_000);
    let own = text(MadeLayout::Own, &calendar, &at_close);
    compare("greeksd", read_text("own.csv.gz", &gzip(&own)), &at_close, Spot::Exact);
    let historical = text(MadeLayout::HistoricalOptionData, &calendar, &at_close);
    compare("historicaloptiondata", read_text("x.csv", &historical), &at_close, Spot::Exact);
    let quarter: Vec<MadeSnapshot> = market(&calendar, 14, &names).into_iter().map(MadeSnapshot::paired).collect();
    assert!(quarter.iter().map(|snapshot| snapshot.rows.len()).sum::<usize>() > 20_000);
    compare(
        "orats-strikes",
        read_text("x.csv", &text(MadeLayout::Orats, &calendar, &quarter)),
        &quarter,
        Spot::NearestOfIndex,
    );
    let before = market(&calendar, 15, &names);
    let mut out = MadeLayout::DatashopEod.header().as_bytes().to_vec();
    for (before, last) in before.iter().zip(&at_close) {
        datashop_eod(&calendar, before, last, &mut out).unwrap();
    }
    compare("cboe-datashop-eod", read_text("x.csv", &out), &before, Spot::Near);
}

#[test]
fn minutes_come_back() {
    let calendar = Calendar::embedded();
    let names = names()[..1].to_vec();
    let mut written = Vec::new();
    for day in [date(2024, 3, 8), date(2024, 11, 29)] {
        let instants = instants(&calendar, day, SignedDuration::from_mins(1));
        assert_eq!(instants.len(), if day.month() == 11 { 210 } else { 390 });
        let some: Vec<Timestamp> = instants.into_iter().step_by(30).collect();
        snapshots(3, &names, &some, false, |snapshot| written.push(snapshot));
    }
    let intervals = text(MadeLayout::DatashopIntervals, &calendar, &written);
    compare("cboe-datashop-intervals", read_text("x.csv", &intervals), &written, Spot::Near);
    for layout in [MadeLayout::Own, MadeLayout::OwnSymbols, MadeLayout::ThetadataV2, MadeLayout::ThetadataV3] {
        let bytes = text(layout, &calendar, &written);
        compare(layout.name(), read_text("x.csv", &bytes), &written, Spot::Exact);
    }
    let paired: Vec<MadeSnapshot> = written.into_iter().map(MadeSnapshot::paired).collect();
    let strikes = text(MadeLayout::OwnStrikes, &calendar, &paired);
    compare("greeksd-strikes", read_text("x.csv", &strikes), &paired, Spot::Exact);
}

#[test]
fn a_recording_comes_back_in_native_order() {
    let calendar = Calendar::embedded();
    let mut written = Vec::new();
    // a recording is read as snapshots of whole minutes, in which a name has what was quoted of it so far
    snapshots(3, &names()[..1], &[close(&calendar, DAYS[0])], false, |snapshot| written.push(snapshot));
    let recording = text(MadeLayout::Recording, &calendar, &written);
    compare("greeksd-recording", read_text("x.ndjson", &recording), &written, Spot::Exact);
}

#[test]
fn layouts_without_prices_have_them_in_a_second_file() {
    let calendar = Calendar::embedded();
    // a row of DoltHub names no root, which of an index is implied
    let written = market(&calendar, 0, &names()[..2]);
    let options = ReadOptions::default();
    for layout in MadeLayout::ALL.into_iter().filter(|layout| layout.needs_prices()) {
        let folder = Folder::new();
        let file = folder.put("quotes.csv", &text(layout, &calendar, &written));
        compare(layout.name(), rows_of(&file, &options).unwrap(), &written, Spot::None);
        let mut prices = PRICES_HEADER.as_bytes().to_vec();
        written.iter().for_each(|snapshot| write_price(&calendar, snapshot, &mut prices).unwrap());
        folder.put(PRICES_FILE, &prices);
        compare(layout.name(), rows_of(&file, &options).unwrap(), &written, Spot::Exact);
    }
}

#[test]
fn optionsdx_comes_back_but_for_the_root_of_third_fridays() {
    let calendar = Calendar::embedded();
    for name in ["AAPL", "SPX"] {
        let mut written = market(&calendar, 0, &[Symbol::parse(name).unwrap()]);
        written = written.into_iter().map(MadeSnapshot::paired).collect();
        // the vendor has one row for a strike of both roots
        for snapshot in &mut written {
            let monthly = |date: Date| date == calendar.monthly_expiry(date);
            snapshot
                .rows
                .retain(|row| name != "SPX" || (row.contract.root.as_str() == "SPX") == monthly(row.contract.expiry));
        }
        let bytes = text(MadeLayout::OptionsDx, &calendar, &written);
        let file = format!("{}_eod_202403.txt", name.to_lowercase());
        compare("optionsdx", read_text(&file, &bytes), &written, Spot::Exact);
    }
}

#[test]
fn parquet_comes_back_with_the_prices_beside_it() {
    let calendar = Calendar::embedded();
    let names = names()[..4].to_vec();
    let written = market(&calendar, 0, &names);
    let folder = Folder::new();
    let quotes = folder.path("options_2024.parquet");
    let mut table = Table::new(File::create(&quotes).unwrap());
    written.iter().for_each(|snapshot| table.quotes(&calendar, snapshot).unwrap());
    table.finish().unwrap();
    let options = ReadOptions::default();
    compare("options-dataset", rows_of(&quotes, &options).unwrap(), &written, Spot::None);
    let prices = folder.path("underlying_prices.parquet");
    let mut table = Table::new(File::create(&prices).unwrap());
    let closes: Vec<(MadeSnapshot, f64)> = written.iter().map(|snapshot| (snapshot.clone(), snapshot.spot)).collect();
    table.closes(&calendar, &closes).unwrap();
    table.finish().unwrap();
    compare("options-dataset", rows_of(&quotes, &options).unwrap(), &written, Spot::Exact);
    let refused = rows_of(&prices, &options).unwrap_err();
    assert!(refused.to_string().ends_with("read beside quotes"), "{refused}");
}

#[test]
fn the_truth_of_the_market_is_within_its_quotes() {
    let calendar = Calendar::embedded();
    let day = sessions(&calendar, date(2024, 3, 8), 1)[0];
    let (mut within, mut all) = (0, 0);
    snapshots(3, &names()[..4], &[close(&calendar, day)], true, |snapshot| {
        for row in &snapshot.rows {
            let truth = row.truth.unwrap();
            assert!(truth.vol > 0.0 && truth.delta.abs() <= 1.001, "{truth:?}");
            all += 1;
            within += usize::from(truth.value <= row.ask && (row.bid.is_nan() || row.bid <= truth.value));
        }
    });
    assert!(f64::from(within as u32) > 0.98 * f64::from(all as u32), "{within} of {all}");
}
