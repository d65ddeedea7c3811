//! Overrides by a user who knows better than the quotes: dividends, borrow, rates, forwards, shifts of volatilities,
//! contracts to leave out, as comma-separated rows. Bytes to records. Never: a file handle, what a record does.

use super::csv::{Column, CsvFault, Row, optional, read_rows, required};
use super::events::parse_event_time;
use super::spelling::{parse_root, parse_strike};
use kernel::calendar::EventDate;
use kernel::contract::Deliverable;
use kernel::error::Reason;
use kernel::limits::{self, Bound};
use kernel::records::{Override, OverrideRecord, OverrideScope};
use kernel::report::Report;
use std::collections::HashSet;
use std::path::Path;

const COLUMNS: [Column; 9] = [
    required("underlying"),
    optional("root"),
    optional("expiry"),
    optional("strike"),
    optional("right"),
    required("what"),
    optional("value"),
    optional("date"),
    optional("time"),
];
const UNDERLYING: usize = 0;
const ROOT: usize = 1;
const EXPIRY: usize = 2;
const STRIKE: usize = 3;
const RIGHT: usize = 4;
const WHAT: usize = 5;
const VALUE: usize = 6;
const DATE: usize = 7;
const TIME: usize = 8;

/// Reads `underlying,root,expiry,strike,right,what,value,date,time`, of which `underlying` and `what` must be there. A
/// second row that says the same kind of the same contracts (and ex-date) is refused, and the first kept; so is a row
/// with a field that its word has no use for, since it would not do what it seems to say.
#[must_use]
pub fn parse_overrides(file: &Path, bytes: &[u8]) -> (Vec<OverrideRecord>, Report) {
    let (mut records, mut seen) = (Vec::new(), HashSet::new());
    let report = read_rows(file, bytes, &COLUMNS, |row| {
        let record = read(row)?;
        let date = match record.what {
            Override::Dividend(date, _) => Some(date),
            Override::Deliverable(_, from) => from,
            Override::Event(event) => Some(event.date),
            _ => None,
        };
        // which of two would count is not written anywhere: the second is refused, with its line
        if !seen.insert((record.scope, record.what.kind(), date)) {
            return Err((WHAT, Reason::Duplicate));
        }
        records.push(record);
        Ok(())
    });
    (records, report)
}

fn read(row: &Row<'_, { COLUMNS.len() }>) -> Result<OverrideRecord, CsvFault> {
    let is_there = |column: usize| row.bytes(column).is_ok_and(|bytes| !bytes.is_empty());
    let strike =
        is_there(STRIKE).then(|| parse_strike(row.number(STRIKE, limits::PRICE)?).map_err(|reason| (STRIKE, reason)));
    let root = is_there(ROOT).then(|| parse_root(row.text(ROOT)?).map_err(|reason| (ROOT, reason)));
    let scope = OverrideScope {
        underlying: if row.text(UNDERLYING)? == "*" { None } else { Some(row.underlying(UNDERLYING)?) },
        root: root.transpose()?,
        expiry: is_there(EXPIRY).then(|| row.date(EXPIRY)).transpose()?,
        strike_milli: strike.transpose()?,
        right: is_there(RIGHT).then(|| row.right(RIGHT)).transpose()?,
    };
    let (what, unused): (Override, &[usize]) = match row.text(WHAT)? {
        "dividend" => {
            let dividend = Override::Dividend(row.date(DATE)?, row.number(VALUE, limits::DIVIDEND)?);
            (dividend, &[ROOT, EXPIRY, STRIKE, RIGHT])
        }
        "no_dividends" => (Override::NoDividends, &[ROOT, EXPIRY, STRIKE, RIGHT, VALUE, DATE]),
        "borrow" => (Override::Borrow(row.number(VALUE, limits::BORROW)?), &[STRIKE, RIGHT, DATE]),
        "rate" => (Override::Rate(row.number(VALUE, limits::RATE)?), &[STRIKE, RIGHT, DATE]),
        "forward" => (Override::Forward(row.number(VALUE, limits::FORWARD)?), &[STRIKE, RIGHT, DATE]),
        "vol_shift" => (Override::VolShift(row.number(VALUE, limits::VOL_SHIFT)?), &[STRIKE, RIGHT, DATE]),
        "exclude" => (Override::Exclude, &[VALUE, DATE]),
        "deliverable" => {
            let from = is_there(DATE).then(|| row.date(DATE)).transpose()?;
            (Override::Deliverable(deliverable(row)?, from), &[EXPIRY, STRIKE, RIGHT])
        }
        "event" => {
            let (date, percent) = (row.date(DATE)?, row.number_or_nan(VALUE, limits::EVENT_MOVE)?);
            let size = Some(percent / 100.0).filter(|size| !size.is_nan());
            let time = row.bytes(TIME).unwrap_or_default();
            let time = parse_event_time(time).ok_or((TIME, Reason::NotATime))?;
            (Override::Event(EventDate { date, time, size, is_earnings: false }), &[ROOT, EXPIRY, STRIKE, RIGHT])
        }
        _ => return Err((WHAT, Reason::NotAWord)),
    };
    let is_timed = matches!(what, Override::Event(_));
    if !is_timed && is_there(TIME) {
        return Err((TIME, Reason::Unused));
    }
    // a cell that would be ignored is a mistake of the user, and is better refused than obeyed in part
    if let Some(&column) = unused.iter().find(|&&column| is_there(column)) {
        return Err((column, Reason::Unused));
    }
    // one forward of several expiries would be a slip
    if matches!(what, Override::Forward(_)) && scope.expiry.is_none() {
        return Err((EXPIRY, Reason::Missing));
    }
    // a deliverable is that of a root
    if matches!(what, Override::Deliverable(..)) && scope.root.is_none() {
        return Err((ROOT, Reason::Missing));
    }
    // so would a dividend, a forward or an event of every name, or every contract of the market left out
    let is_of_names = matches!(what, Override::Dividend(..) | Override::Forward(_) | Override::Event(_))
        || scope.is_of_all() && what == Override::Exclude;
    if scope.underlying.is_none() && is_of_names {
        return Err((UNDERLYING, Reason::NotASymbol));
    }
    Ok(OverrideRecord { scope, what })
}

/// `SHARES` or `SHARES+CASH` per contract, at the usual multipliers.
fn deliverable(row: &Row<'_, { COLUMNS.len() }>) -> Result<Deliverable, CsvFault> {
    let text = row.text(VALUE)?;
    let (shares, cash) = text.split_once('+').unwrap_or((text, "0"));
    let number = |part: &str, bound: Bound| {
        let x: f64 = part.trim().parse().map_err(|_| (VALUE, Reason::NotANumber))?;
        bound.admit(x).map_err(|reason| (VALUE, reason))
    };
    Ok(Deliverable::usual(number(shares, limits::SHARES)?, number(cash, limits::CASH)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use kernel::contract::Right;
    use proptest::prelude::*;

    const HEADER: &str = "underlying,root,expiry,strike,right,what,value,date,time\n";

    fn parse(rows: &str) -> (Vec<OverrideRecord>, Vec<(u64, &'static str, Reason)>) {
        let (records, report) = parse_overrides(Path::new("o.csv"), format!("{HEADER}{rows}").as_bytes());
        (records, report.places.iter().map(|place| (place.line, place.field, place.reason)).collect())
    }

    #[test]
    fn each_word_is_read_with_what_it_is_about() {
        let rows = "KO,,,,,dividend,0.51,2026-12-01\nKO,,,,,no_dividends,,\nGME,GME,2026-12-18,,,borrow,0.35,\n\
            *,,,,,rate,0.04,\nVIX,,2026-12-16,,,forward,21.5,\n*,,,,,vol_shift,-1.5,\n\
            SPX,SPXW,2026-12-18,5000,put,exclude,,\nNVDA,,,,,event,7,2026-12-02,amc\n";
        let (records, refused) = parse(rows);
        assert_eq!(refused, []);
        assert_eq!(records.iter().map(|r| r.what.kind()).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 8]);
        assert_eq!(records[0].what, Override::Dividend(date(2026, 12, 1), 0.51));
        assert_eq!((records[3].scope, records[3].what), (OverrideScope::default(), Override::Rate(0.04)));
        assert_eq!([records[4].what, records[5].what], [Override::Forward(21.5), Override::VolShift(-1.5)]);
        assert_eq!((records[6].scope.strike_milli, records[6].scope.right), (Some(5_000_000), Some(Right::Put)));
    }

    #[test]
    fn a_bad_row_costs_itself_and_says_where_and_why() {
        let bad = [
            ("KO,,,,,dividend,0.51,", "date", Reason::Missing),
            ("KO,,,,,dividend,-1,2026-12-01", "value", Reason::OutOfRange),
            ("*,,,,,dividend,1,2026-12-01", "underlying", Reason::NotASymbol),
            ("KO,KO,,,,dividend,1,2026-12-02", "root", Reason::Unused),
            ("KO,,2026-13-01,,,borrow,0.1,", "expiry", Reason::NotADate),
            ("KO,,,50,,borrow,0.1,", "strike", Reason::Unused),
            ("KO,,,,,forward,50,", "expiry", Reason::Missing),
            ("*,,2026-12-18,,,forward,50,", "underlying", Reason::NotASymbol),
            ("KO,,2026-12-18,,,forward,0,", "value", Reason::OutOfRange),
            ("KO,,2026-12-18,,put,vol_shift,1,", "right", Reason::Unused),
            ("KO,,,,,vol_shift,,", "value", Reason::Missing),
            ("KO,,,,,vol_shift,1e9,", "value", Reason::OutOfRange),
            ("KO,,,,,borrow,ten,", "value", Reason::NotANumber),
            ("KO,,,,,borow,0.1,", "what", Reason::NotAWord),
            ("*,,,,,exclude,,", "underlying", Reason::NotASymbol),
            ("K?,,,,,rate,0.1,", "underlying", Reason::NotASymbol),
            ("*,,,,,event,,2026-12-02", "underlying", Reason::NotASymbol),
            ("KO,,,,,event,,", "date", Reason::Missing),
            ("KO,,,,,rate,0.1,,amc", "time", Reason::Unused),
            ("F,,,,,rate,0.2,", "what", Reason::Duplicate),
        ];
        for (row, field, reason) in bad {
            let (records, refused) = parse(&format!("F,,,,,rate,0.01,\n{row}\nF,,,,,borrow,0.02,\n"));
            assert_eq!((records.len(), refused), (2, vec![(3, field, reason)]), "{row}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_overrides(Path::new("x"), &[HEADER.as_bytes(), &bytes].concat());
        }
    }
}
