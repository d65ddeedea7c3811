//! Index of the units in a sorted file of rows: position, number of snapshots, digest of the inputs, completeness of
//! the chains. Never: a computation.

use crate::digest::Digest;
use crate::packed::PackedRow;
use crate::reference::ReferenceSet;
use crate::reference_digest::UnitReference;
use crate::whole::{UnitFault, WholenessCheck};
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::collections::BTreeMap;

/// One (underlying, day).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryUnit {
    /// Eastern date of its quotes.
    pub day: Date,
    /// Underlying symbol.
    pub underlying: Symbol,
    /// Index of the first row in the sorted file.
    pub first: u64,
    /// Number of rows.
    pub rows: u64,
    /// Number of snapshots.
    pub snapshots: u32,
    /// Digest of the inputs: rows and reference data.
    pub digest: Digest,
    /// Reference data of the unit.
    pub known: UnitReference,
    /// The reason why the unit cannot be computed; `None`: it can.
    pub fault: Option<Box<UnitFault>>,
}

impl HistoryUnit {
    /// Adds the reference data to the digest of the inputs.
    pub fn refer_to(&mut self, reference: &ReferenceSet) {
        self.known.digest = reference.digest(self.underlying, self.day, self.known.last_expiry);
        self.digest.digest(self.known.digest);
    }
}

/// Units of which files are damaged, by the first such file.
pub type DamagedUnits = BTreeMap<(Date, Symbol), String>;

/// Finds the units among rows in their order.
#[derive(Debug)]
pub struct UnitIndex<'r> {
    damaged: &'r DamagedUnits,
    /// True if incomplete chains are accepted.
    allows_partial: bool,
    check: WholenessCheck,
    last: Option<PackedRow>,
    last_expiry: Date,
    rows: u64,
    units: Vec<HistoryUnit>,
}

impl<'r> UnitIndex<'r> {
    /// No row yet.
    #[must_use]
    pub fn new(damaged: &'r DamagedUnits, allows_partial: bool) -> Self {
        let (check, last_expiry) = (WholenessCheck::default(), Date::MIN);
        Self { damaged, allows_partial, check, last: None, last_expiry, rows: 0, units: Vec::new() }
    }

    /// Adds the next row. Returns false if its bytes are not a row.
    pub fn take(&mut self, packed: &PackedRow) -> bool {
        let (Some((day, underlying)), Some(row)) = (packed.unit(), packed.row()) else { return false };
        if self.last.is_none_or(|last| !last.is_of_unit(packed)) {
            self.end_unit();
            let (first, digest) = (self.rows, Digest::default());
            let known = UnitReference { last_expiry: Date::MIN, digest };
            self.units.push(HistoryUnit { day, underlying, first, rows: 0, snapshots: 0, digest, known, fault: None });
        }
        if let Some(unit) = self.units.last_mut() {
            unit.rows += 1;
            unit.digest.bytes(packed.bytes());
        }
        self.check.take(&row);
        self.last_expiry = self.last_expiry.max(row.quote.contract.expiry);
        self.last = Some(*packed);
        self.rows += 1;
        true
    }

    /// The units, by day and underlying.
    #[must_use]
    pub fn finish(mut self) -> Vec<HistoryUnit> {
        self.end_unit();
        self.units
    }

    fn end_unit(&mut self) {
        let Some(unit) = self.units.last_mut() else { return };
        let (snapshots, fault) = self.check.finish();
        unit.snapshots = snapshots;
        let last_expiry = std::mem::replace(&mut self.last_expiry, Date::MIN);
        unit.known.last_expiry = last_expiry;
        let damaged = self.damaged.get(&(unit.day, unit.underlying)).cloned();
        let fault = damaged.map(|file| UnitFault::Damaged { file }).or(fault);
        unit.fault = fault.filter(|_| !self.allows_partial).map(Box::new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::HistoryRow;
    use jiff::civil::date;
    use kernel::contract::{ContractKey, Right};
    use kernel::records::{Activity, QuoteRecord};

    fn row(underlying: &str, ts: &str, strike_milli: u32) -> PackedRow {
        let symbol = Symbol::parse(underlying).unwrap();
        let contract = ContractKey { root: symbol, expiry: date(2024, 2, 16), strike_milli, right: Right::Call };
        let (bid, ask, bid_size, ask_size) = (1.0, 2.0, f64::NAN, f64::NAN);
        let ts: jiff::Timestamp = ts.parse().unwrap();
        let quote = QuoteRecord {
            ts,
            underlying: symbol,
            contract,
            bid,
            ask,
            bid_size,
            ask_size,
            activity: Activity::default(),
        };
        let day = kernel::calendar::Calendar::embedded().eastern(ts).date();
        PackedRow::new(day, symbol, &HistoryRow { quote, spot: 100.0 }).unwrap()
    }

    #[test]
    fn rows_fall_into_names_and_eastern_days() {
        let mut rows = vec![
            row("KO", "2024-01-03T21:00:00Z", 1000),
            row("KO", "2024-01-04T01:00:00Z", 1000), // still the 3rd in New York
            row("KO", "2024-01-04T21:00:00Z", 1000),
            row("F", "2024-01-03T21:00:00Z", 1000),
            row("F", "2024-01-03T21:00:00Z", 2000),
        ];
        rows.sort();
        let damaged = DamagedUnits::default();
        let units = |rows: &[PackedRow], allows_partial, damaged: &DamagedUnits| {
            let mut index = UnitIndex::new(damaged, allows_partial);
            assert!(rows.iter().all(|row| index.take(row)));
            index.finish()
        };
        let all = units(&rows, false, &damaged);
        let seen: Vec<_> =
            all.iter().map(|u| (u.day.day(), u.underlying.as_str(), u.first, u.rows, u.snapshots)).collect();
        assert_eq!(seen, [(3, "F", 0, 2, 1), (3, "KO", 2, 2, 2), (4, "KO", 4, 1, 1)]);
        // the digest is of the unit's own rows
        let fewer = units(&rows[1..], false, &damaged);
        assert_ne!(fewer[0].digest, all[0].digest);
        assert_eq!((fewer[1].digest, fewer[2].digest), (all[1].digest, all[2].digest));
        // a damaged file costs the units that it has rows of
        let damaged: DamagedUnits = [((date(2024, 1, 3), Symbol::parse("KO").unwrap()), "a.csv".to_owned())].into();
        let faults = |allows| units(&rows, allows, &damaged).iter().filter(|unit| unit.fault.is_some()).count();
        assert_eq!((faults(false), faults(true)), (1, 0));
    }
}
