//! Official interest rates: the US Treasury's par yields as csv, the New York Fed's SOFR as JSON. Bytes to records.
//! Never: a bond (`par_yields.rs`).

use super::csv::{Column, CsvFault, Row, optional, read_rows, required};
use super::intake::{Fault, at, read_listed};
use super::json::{self, Given, Listed, Number, Text, objects};
use super::times::{parse_date, parse_slashed};
use jiff::civil::Date;
use kernel::error::{Instead, Reason};
use kernel::limits;
use kernel::par_yields::{MATURITIES, ParYield, overnight, zero_rates};
use kernel::records::RateRecord;
use kernel::report::Report;
use std::collections::BTreeSet;
use std::path::Path;

/// The columns of the Treasury's file: the date, and every maturity that a year may have.
const COLUMNS: [Column; 1 + MATURITIES.len()] = {
    let mut columns = [required("Date"); 1 + MATURITIES.len()];
    let mut at = 0;
    while at < MATURITIES.len() {
        columns[at + 1] = optional(MATURITIES[at].0);
        at += 1;
    }
    columns
};

objects! {
    struct SofrDocument {
        rates: Given<Listed<SofrRate<'a>>> = "refRates",
    }
    struct SofrRate {
        date: Text<'a> = "effectiveDate",
        kind: Text<'a> = "type",
        percent: Number = "percentRate",
    }
}

/// Reads the Treasury's daily par yields of a year, or of any dates: every date becomes a curve of zero rates. A cell
/// that is empty or `N/A` is no yield. A second row of one date is refused, and the first kept.
#[must_use]
pub fn parse_treasury(source: &Path, bytes: &[u8]) -> (Vec<RateRecord>, Report) {
    let (mut out, mut seen, mut report) = (Vec::new(), BTreeSet::new(), Report::default());
    if !report.admits(source, bytes) {
        return (out, report);
    }
    let report = read_rows(source, bytes, &COLUMNS, |row| {
        let text = row.text(0)?;
        let date = parse_slashed(text).or_else(|| parse_date(text)).ok_or((0, Reason::NotADate))?;
        let curve = curve(date, row)?;
        // a second row of a date would leave two curves, and no rule which counts
        if !seen.insert(date) {
            return Err((0, Reason::Duplicate));
        }
        out.extend(curve);
        Ok(())
    });
    (out, report)
}

fn curve(date: Date, row: &Row<'_, { COLUMNS.len() }>) -> Result<Vec<RateRecord>, CsvFault> {
    let mut yields = Vec::new();
    for (column, (_, half_months)) in (1..).zip(MATURITIES) {
        let cell = row.bytes(column)?;
        // maturities were added and dropped over the years: 30-year yields lack 2002 to 2006
        if !cell.is_empty() && !cell.eq_ignore_ascii_case(b"N/A") {
            yields.push(ParYield { half_months, par: row.number(column, limits::RATE_PERCENT)? / 100.0 });
        }
    }
    if yields.is_empty() {
        return Err((0, Reason::Missing));
    }
    let column_of = |half_months| (1 + MATURITIES.partition_point(|m| m.1 < half_months)).min(MATURITIES.len());
    zero_rates(date, &yields).map_err(|half_months| (column_of(half_months), Reason::OutOfRange))
}

/// Reads SOFR: one node of a day for every date. Other rates in the document are refused.
#[must_use]
pub fn parse_sofr(source: &Path, bytes: &[u8]) -> (Vec<RateRecord>, Report) {
    let mut report = Report::default();
    let Some(document) = json::parse::<SofrDocument<'_>>(source, bytes, &mut report) else {
        return (Vec::new(), report);
    };
    let Some(rates) = document.rates.0 else {
        report.say_instead(source, Instead::OtherFormat);
        return (Vec::new(), report);
    };
    if rates.items.is_empty() {
        report.say_instead(source, Instead::Nothing);
    }
    let mut seen = BTreeSet::new();
    read_listed(source, report, &rates, |rate| {
        let record = rate.record()?;
        if seen.insert(record.date) { Ok(record) } else { Err(("effectiveDate", Reason::Duplicate)) }
    })
}

impl SofrRate<'_> {
    fn record(&self) -> Result<RateRecord, Fault> {
        // a document of other rates must not pass as SOFR
        at("type", self.kind.read(Reason::NotAWord, |kind| (kind == "SOFR").then_some(())))?;
        let date = at("effectiveDate", self.date.read(Reason::NotADate, parse_date))?;
        let percent = at("percentRate", self.percent.get(limits::RATE_PERCENT))?;
        overnight(date, percent / 100.0).ok_or(("percentRate", Reason::OutOfRange))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    const HEADER_2026: &str = "Date,\"1 Mo\",\"1.5 Month\",\"2 Mo\",\"3 Mo\",\"4 Mo\",\"6 Mo\",\"1 Yr\",\"2 Yr\",\"3 Yr\",\
                               \"5 Yr\",\"7 Yr\",\"10 Yr\",\"20 Yr\",\"30 Yr\"\n";

    fn treasury(text: &str) -> (Vec<RateRecord>, Report) {
        parse_treasury(Path::new("t.csv"), text.as_bytes())
    }

    #[test]
    fn columns_are_found_by_their_names_of_the_year() {
        let row = "10/02/2026,4.04,4.1,4.14,4.19,4.22,4.27,4.46,4.83,4.9,5,5.12,5.28,5.6,5.5\n";
        let (now, report) = treasury(&format!("{HEADER_2026}{row}"));
        assert_eq!((report.records, report.refused_total(), report.errors.len()), (1, 0, 0));
        assert_eq!(now.len(), 5 + 60);
        assert!(now.iter().all(|r| r.date == date(2026, 10, 2)));
        let old = "Date,\"1 Mo\",\"3 Mo\",\"6 Mo\",\"1 Yr\"\n01/03/2017,0.52,0.53,0.65,0.89\n";
        let (old, _) = treasury(old);
        assert_eq!(old.iter().map(|r| r.tenor_days as u32).collect::<Vec<_>>(), [31, 90, 181, 365]);
        let simple = (1.0f64 + 0.0065 * 181.0 / 365.0).ln() * 365.0 / 181.0;
        assert!((old[2].rate - simple).abs() < 1e-15);
        // the half-yearly coupon of the year's bond is discounted at the half-year
        let df: f64 = (1.0 - 0.00445 / (1.0 + 0.0065 * 181.0 / 365.0)) / 1.00445;
        assert!((old[3].rate + df.ln()).abs() < 1e-15);
    }

    #[test]
    fn empty_cells_are_no_yields_and_bad_rows_lose_nothing_else() {
        let header = "Date,\"1 Mo\",\"6 Mo\",\"1 Yr\"\n";
        let rows = "10/02/2026,N/A,4.27,\n10/01/2026,,,\n9/30/2026,4,x,4\n9/29/2026,4,500,4\n9/29/2026,4,4,4\n\
                    13/01/2026,4,4,4\n9/29/2026,4,5,5\n9/28/2026,4\n";
        let (records, report) = treasury(&format!("{header}{rows}"));
        assert_eq!(records.iter().filter(|r| r.date == date(2026, 10, 2)).count(), 1);
        assert_eq!(records.iter().filter(|r| r.date == date(2026, 9, 29)).count(), 3);
        let places: Vec<_> = report.places.iter().map(|p| (p.line, p.field, p.reason)).collect();
        assert_eq!(
            places,
            [
                (3, "Date", Reason::Missing),
                (4, "6 Mo", Reason::NotANumber),
                (5, "6 Mo", Reason::OutOfRange),
                (7, "Date", Reason::NotADate),
                (8, "Date", Reason::Duplicate),
                (9, "6 Mo", Reason::Missing),
            ]
        );
    }

    #[test]
    fn sofr_is_a_node_of_one_day() {
        let read = |text: &str| parse_sofr(Path::new("s"), text.as_bytes());
        let text = r#"{"refRates":[{"effectiveDate":"2026-10-01","type":"SOFR","percentRate":4.12,"volumeInBillions":2900},
            {"effectiveDate":"2026-10-01","type":"EFFR","percentRate":4.08},
            {"effectiveDate":"2026-09-30","type":"SOFR","percentRate":null}]}"#;
        let (records, report) = read(text);
        assert_eq!((records.len(), records[0].date, records[0].tenor_days as u32), (1, date(2026, 10, 1), 1));
        assert!((records[0].rate - 365.0 * (0.0412f64 / 360.0).ln_1p()).abs() < 1e-12);
        let places: Vec<_> = report.places.iter().map(|p| (p.line, p.field, p.reason)).collect();
        assert_eq!(places, [(2, "type", Reason::NotAWord), (3, "percentRate", Reason::Missing)]);
        assert_eq!(read(r#"{"refRates":[]}"#).1.errors[0].to_string(), format!("s: {}", Instead::Nothing));
        assert_eq!(read(r#"{"message":"x"}"#).1.errors[0].to_string(), format!("s: {}", Instead::OtherFormat));
    }
}
