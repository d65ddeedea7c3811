//! Dividends, discount curves and calendar dates as comma-separated rows. Bytes to records. Never: a file handle.

use super::csv::{Column, CsvFault, optional, read_rows, required};
use super::spelling::parse_root;
use jiff::civil::Date;
use kernel::calendar::Day;
use kernel::contract::{Deliverable, roots::is_adjusted};
use kernel::error::Reason;
use kernel::limits::{self, Bound};
use kernel::records::{DividendRecord, RateRecord};
use kernel::records::{Override, OverrideRecord, OverrideScope};
use kernel::report::Report;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

/// A row of a file of dividends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DatedDividend {
    /// The dividend.
    pub record: DividendRecord,
    /// The date on which the company declared it; `None`: the file does not say.
    pub declared: Option<Date>,
}

/// Reads the dividends of [`parse_dated_dividends`] without their dates of declaration.
#[must_use]
pub fn parse_dividends(file: &Path, bytes: &[u8]) -> (Vec<DividendRecord>, Report) {
    let (rows, report) = parse_dated_dividends(file, bytes);
    (rows.into_iter().map(|row| row.record).collect(), report)
}

/// Reads `underlying,ex_date,amount[,status][,declared_date]`, one row per ex-date: a special dividend is added to a
/// regular one of the same day. A second row of one underlying and date is refused, and the larger amount kept. The
/// status `projected` or `estimated` marks a dividend that is not declared yet. An empty `declared_date` says nothing.
#[must_use]
pub fn parse_dated_dividends(file: &Path, bytes: &[u8]) -> (Vec<DatedDividend>, Report) {
    const COLUMNS: [Column; 5] = [
        required("underlying"),
        required("ex_date"),
        required("amount"),
        optional("status"),
        optional("declared_date"),
    ];
    let mut rows = BTreeMap::new();
    let report = read_rows(file, bytes, &COLUMNS, |row| {
        let (underlying, ex_date) = (row.underlying(0)?, row.date(1)?);
        let amount = row.number(2, limits::DIVIDEND)?;
        let status = row.bytes(3).unwrap_or_default();
        let projected = [&b"projected"[..], b"estimated"].iter().any(|word| status.eq_ignore_ascii_case(word));
        // the column is optional, and so is each cell of it: only a date that is there and wrong refuses the row
        let is_dated = row.bytes(4).is_ok_and(|cell| !cell.trim_ascii().is_empty());
        let declared = if is_dated { Some(row.date(4)?) } else { None };
        let record = DividendRecord { underlying, ex_date, amount, projected };
        put_larger(&mut rows, (underlying, ex_date), DatedDividend { record, declared }, |row| row.record.amount, 1)
    });
    (rows.into_values().collect(), report)
}

/// Reads `root,shares[,cash][,multiplier][,strike_multiplier][,from]`: what a contract of an adjusted root delivers, by
/// OCC's terms. Cash is 0 and multipliers are 100 where they are empty; `from` is the first date on which the terms
/// hold, and empty: all. A second row of one root and date is refused, and the first kept. So is a row of a root that
/// is not adjusted, whose contracts deliver 100 shares, and one with a `component`: a contract that delivers anything
/// but shares of the underlying and cash has no value here.
#[must_use]
pub fn parse_deliverables(file: &Path, bytes: &[u8]) -> (Vec<OverrideRecord>, Report) {
    const COLUMNS: [Column; 7] = [
        required("root"),
        required("shares"),
        optional("cash"),
        optional("multiplier"),
        optional("strike_multiplier"),
        optional("from"),
        optional("component"),
    ];
    let mut rows = BTreeMap::new();
    let report = read_rows(file, bytes, &COLUMNS, |row| {
        let root = parse_root(row.text(0)?).map_err(|reason| (0, reason))?;
        if !is_adjusted(root) {
            return Err((0, Reason::Unused));
        }
        let or = |column: usize, bound: Bound, usual: f64| {
            row.number_or_nan(column, bound).map(|x| if x.is_nan() { usual } else { x })
        };
        let terms = Deliverable {
            shares: row.number(1, limits::SHARES)?,
            cash: or(2, limits::CASH, 0.0)?,
            multiplier: or(3, limits::MULTIPLIER, 100.0)?,
            strike_multiplier: or(4, limits::MULTIPLIER, 100.0)?,
        };
        let from = if row.bytes(5)?.is_empty() { None } else { Some(row.date(5)?) };
        // a component is a share of another company, whose price this chain does not have
        if !row.bytes(6)?.is_empty() {
            return Err((6, Reason::Unused));
        }
        match rows.entry((root, from)) {
            Entry::Occupied(_) => Err((0, Reason::Duplicate)),
            Entry::Vacant(entry) => {
                entry.insert(terms);
                Ok(())
            }
        }
    });
    let record = |((root, from), terms)| OverrideRecord {
        scope: OverrideScope { root: Some(root), ..OverrideScope::default() },
        what: Override::Deliverable(terms, from),
    };
    (rows.into_iter().map(record).collect(), report)
}

/// Reads `date,tenor_days,rate` (continuously compounded). A second row of one date and tenor is refused, and the
/// larger rate kept.
#[must_use]
pub fn parse_rates(file: &Path, bytes: &[u8]) -> (Vec<RateRecord>, Report) {
    const COLUMNS: [Column; 3] = [required("date"), required("tenor_days"), required("rate")];
    let mut rows = BTreeMap::new();
    let report = read_rows(file, bytes, &COLUMNS, |row| {
        let tenor_days = row.number(1, limits::TENOR_DAYS)?;
        // The bits of positive numbers order like the numbers.
        put_larger(&mut rows, (row.date(0)?, tenor_days.to_bits()), row.number(2, limits::RATE)?, |rate| *rate, 1)
    });
    let record = |((date, tenor), rate)| RateRecord { date, tenor_days: f64::from_bits(tenor), rate };
    (rows.into_iter().map(record).collect(), report)
}

/// Reads `date,status,name`: dates that a user knows better than the calendar. A second row of one date is refused, and
/// the first kept.
#[must_use]
pub fn parse_days(file: &Path, bytes: &[u8]) -> (Vec<(Date, Day)>, Report) {
    const COLUMNS: [Column; 3] = [required("date"), required("status"), optional("name")];
    let mut rows = BTreeMap::new();
    let report = read_rows(file, bytes, &COLUMNS, |row| match rows.entry(row.date(0)?) {
        Entry::Occupied(_) => Err((0, Reason::Duplicate)),
        Entry::Vacant(entry) => {
            entry.insert(row.day(1)?);
            Ok(())
        }
    });
    (rows.into_iter().collect(), report)
}

/// Adds a row; of two of one key the larger by `size` is kept, the first where they are alike.
fn put_larger<K: Ord, V>(
    rows: &mut BTreeMap<K, V>,
    key: K,
    row: V,
    size: impl Fn(&V) -> f64,
    column: usize,
) -> Result<(), CsvFault> {
    match rows.entry(key) {
        Entry::Vacant(entry) => {
            entry.insert(row);
            Ok(())
        }
        Entry::Occupied(mut entry) => {
            if size(&row) > size(entry.get()) {
                entry.insert(row);
            }
            Err((column, Reason::Duplicate))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    #[test]
    fn dividends_are_read_and_doubles_refused() {
        let file =
            b"amount,status,underlying,ex_date\n0.15,known,F,2026-11-09\n0.10,projected,F,2026-11-09\n-1,,F,2026-12-09\n\
              0.15,Estimated,F,2027-02-09\n";
        let (rows, report) = parse_dividends(Path::new("d.csv"), file);
        assert_eq!(rows.iter().map(|row| row.projected).collect::<Vec<_>>(), [false, true]);
        assert_eq!((rows[0].ex_date, rows[0].amount.to_bits()), (date(2026, 11, 9), 0.15f64.to_bits()));
        assert_eq!(
            report.places.iter().map(|p| (p.line, p.field)).collect::<Vec<_>>(),
            [(3, "ex_date"), (4, "amount")]
        );
    }

    #[test]
    fn a_date_of_declaration_may_be_missing_but_not_wrong() {
        let file = b"underlying,ex_date,amount,declared_date\nF,2026-11-09,0.15,2026-10-20\nF,2026-08-10,0.15,\n\
                     F,2026-05-11,0.15,soon\n";
        let (rows, report) = parse_dated_dividends(Path::new("d.csv"), file);
        assert_eq!(rows.iter().map(|row| row.declared).collect::<Vec<_>>(), [None, Some(date(2026, 10, 20))]);
        assert_eq!(report.places.iter().map(|p| (p.line, p.field)).collect::<Vec<_>>(), [(4, "declared_date")]);
    }

    #[test]
    fn rates_come_by_date_and_tenor() {
        let file =
            b"date,tenor_days,rate\n2026-01-02,365,0.04\n2026-01-02,91,0.042\n2026-01-02,0,0.04\n2026-01-02,30,9\n";
        let (rows, report) = parse_rates(Path::new("r.csv"), file);
        assert_eq!(rows.iter().map(|r| r.tenor_days as u32).collect::<Vec<_>>(), [91, 365]);
        assert_eq!(report.refused[Reason::OutOfRange as usize], 2);
    }

    #[test]
    fn days_are_closed_early_or_open() {
        let file = b"date,status,name\n2026-11-20,closed,Storm\n2026-11-23,shut,\n2026-11-20,open,\n";
        let (rows, report) = parse_days(Path::new("o.csv"), file);
        assert_eq!(rows, [(date(2026, 11, 20), Day::Closed)]);
        assert_eq!(report.refused_total(), 2);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for header in ["", "underlying,ex_date,amount\n", "date,tenor_days,rate\n", "date,status\n"] {
                let file = [header.as_bytes(), &bytes].concat();
                let _ = parse_dividends(Path::new("x"), &file);
                let _ = parse_rates(Path::new("x"), &file);
                let _ = parse_days(Path::new("x"), &file);
            }
        }
    }
}
