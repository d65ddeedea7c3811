//! Reference data beside the quotes: dividends, discount curves, dates of the calendar, overrides of the user. Never: a
//! file.

use crate::digest::Digest;
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::ingest::with_events;
use engine::store::overrides::Overrides;
use feeds::declared::with_projected;
use feeds::{DeclaredDividend, DividendKind};
use jiff::civil::Date;
use kernel::calendar::{Calendar, Day};
use kernel::contract::{RootTable, Symbol};
use kernel::records::{DividendRecord, EventRecord, OverrideRecord, RateRecord};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Records of reference data, in any order.
#[derive(Clone, Debug, Default)]
pub struct ReferenceRecords {
    /// Dividends, past and future: each counts as if it had been known on every day before it.
    pub dividends: Vec<DividendRecord>,
    /// When dividends were declared: underlying, ex-date, date of declaration.
    pub declared: Vec<(Symbol, Date, Date)>,
    /// Points of discount curves.
    pub rates: Vec<RateRecord>,
    /// True if the user asked for rates of zero.
    pub zero_rates: bool,
    /// Dates on which the records override the calendar.
    pub days: Vec<(Date, Day)>,
    /// Overrides of feeds and quotes.
    pub overrides: Vec<OverrideRecord>,
    /// Events that are known by date.
    pub events: Vec<EventRecord>,
}

/// Dividends and rates of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedReference {
    /// Dividends, of each name and date the last one that was recorded.
    pub dividends: Vec<DividendRecord>,
    /// Points of discount curves, of each date and tenor the last one.
    pub rates: Vec<RateRecord>,
}

/// Reference data that every unit of a job shares. Immutable: all threads read it.
#[derive(Clone, Debug)]
pub struct ReferenceSet {
    records: Arc<ReferenceRecords>,
    roots: RootTable,
    calendar: Calendar,
    rates: RateTable,
    /// Dividends by underlying, ascending.
    dividends: BTreeMap<Symbol, Vec<DividendRecord>>,
    /// Dates of declaration, if given, by underlying and ex-date.
    declared: BTreeMap<Symbol, BTreeMap<Date, Date>>,
    overrides: Arc<Overrides>,
    /// Digest of dates, events and overrides.
    shared: Digest,
}

impl ReferenceSet {
    /// The reference data of some records.
    #[must_use]
    pub fn new(records: &ReferenceRecords) -> Self {
        let roots = RootTable::embedded();
        let mut dividends: BTreeMap<Symbol, Vec<DividendRecord>> = BTreeMap::new();
        for record in &records.dividends {
            let underlying = roots.canonical(record.underlying);
            dividends.entry(underlying).or_default().push(DividendRecord { underlying, ..*record });
        }
        for dates in dividends.values_mut() {
            dates.sort_by(|a, b| a.ex_date.cmp(&b.ex_date).then(b.amount.total_cmp(&a.amount)));
            dates.dedup_by_key(|dividend| dividend.ex_date);
        }
        let mut declared: BTreeMap<Symbol, BTreeMap<Date, Date>> = BTreeMap::new();
        for &(underlying, ex_date, on) in &records.declared {
            declared.entry(roots.canonical(underlying)).or_default().insert(ex_date, on);
        }
        let mut shared = Digest::default();
        let mut days = records.days.clone();
        days.sort_by_key(|&(date, _)| date);
        // their debug text distinguishes any two
        shared.bytes(format!("{days:?}{:?}{:?}", records.overrides, records.events).as_bytes());
        let rates = match records.zero_rates {
            true => RateTable::zero(),
            false => RateTable::of(RateSource::User, DiscountCurves::new(&records.rates)),
        };
        Self {
            records: Arc::new(records.clone()),
            calendar: with_events(Calendar::embedded().with_overrides(days), &records.events, &roots),
            rates,
            dividends,
            declared,
            overrides: Arc::new(Overrides::new(&records.overrides, &roots)),
            shared,
            roots,
        }
    }

    /// Adds, from recordings, the dividends of names that have none, and rates if none were given: the rule of a folder
    /// of recorded chains. Of two recordings the later one, by path, counts.
    #[must_use]
    pub fn with_recorded<'f>(&self, recordings: impl Iterator<Item = &'f RecordedReference>) -> Self {
        let (mut dividends, mut rates) = (BTreeMap::new(), BTreeMap::new());
        for recorded in recordings {
            dividends.extend(recorded.dividends.iter().map(|d| ((d.underlying, d.ex_date), *d)));
            rates.extend(recorded.rates.iter().map(|r| ((r.date, r.tenor_days.to_bits()), *r)));
        }
        let mut records = (*self.records).clone();
        let is_new = |dividend: &DividendRecord| !self.covers_dividends(self.roots.canonical(dividend.underlying));
        records.dividends.extend(dividends.into_values().filter(is_new));
        if records.rates.is_empty() {
            records.rates.extend(rates.into_values());
        }
        Self::new(&records)
    }

    /// Replaces the discount curves.
    #[must_use]
    pub fn with_rates(&self, rates: RateTable) -> Self {
        Self { rates, ..self.clone() }
    }

    /// The records of this reference data.
    #[must_use]
    pub fn records(&self) -> &ReferenceRecords {
        &self.records
    }

    /// True if the records have a dividend of the name: it then pays no others.
    #[must_use]
    pub fn covers_dividends(&self, underlying: Symbol) -> bool {
        self.dividends.contains_key(&underlying)
    }

    /// The facts of option roots.
    #[must_use]
    pub fn roots(&self) -> &RootTable {
        &self.roots
    }

    /// The trading calendar.
    #[must_use]
    pub fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    /// The discount curves by source.
    #[must_use]
    pub fn rates(&self) -> &RateTable {
        &self.rates
    }

    /// Overrides of feeds and quotes.
    #[must_use]
    pub fn overrides(&self) -> &Arc<Overrides> {
        &self.overrides
    }

    /// The dividends of a name, by date.
    #[must_use]
    pub fn dividends(&self, underlying: Symbol) -> &[DividendRecord] {
        self.dividends.get(&underlying).map_or(&[], Vec::as_slice)
    }

    /// The dividends of a name that are known or expected on a day, by date.
    ///
    /// If a name has dates of declaration, dividends declared after the day do not count, and those declared by then
    /// are projected ([`with_projected`]) unless the records have projected dividends of the name.
    #[must_use]
    pub fn dividends_on(&self, underlying: Symbol, day: Date) -> Vec<DividendRecord> {
        let all = self.dividends(underlying);
        let Some(declared) = self.declared.get(&underlying) else { return all.to_vec() };
        let is_known = |dividend: &&DividendRecord| declared.get(&dividend.ex_date).is_none_or(|&on| on <= day);
        let known: Vec<DividendRecord> = all.iter().filter(is_known).copied().collect();
        if known.iter().any(|dividend| dividend.projected) {
            return known;
        }
        let series: Vec<DeclaredDividend> = known
            .iter()
            .map(|&DividendRecord { underlying, ex_date, amount, .. }| DeclaredDividend {
                underlying,
                ex_date,
                amount,
                kind: DividendKind::Regular,
                per_year: None,
            })
            .collect();
        with_projected(&series, &self.calendar, day, Date::MAX)
    }

    /// Digest of the data that a name's values of a day can depend on: dividends from that day to the last expiry, the
    /// day's curve, dates and overrides.
    #[must_use]
    pub fn digest(&self, underlying: Symbol, day: Date, last_expiry: Date) -> Digest {
        let mut digest = self.shared;
        for dividend in self.dividends_on(underlying, day).iter().filter(|d| (day..=last_expiry).contains(&d.ex_date)) {
            digest.bytes(dividend.ex_date.to_string().as_bytes());
            digest.word(dividend.amount.to_bits());
        }
        digest.bytes(format!("{:?}", self.rates.curves_of(day)).as_bytes());
        digest
    }
}

impl Default for ReferenceSet {
    fn default() -> Self {
        Self::new(&ReferenceRecords::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn only_what_a_day_depends_on_changes_its_digest() {
        let ko = Symbol::parse("KO").unwrap();
        let dividend = |ex_date, amount| DividendRecord { underlying: ko, ex_date, amount, projected: false };
        let rate = |date, rate| RateRecord { date, tenor_days: 365.0, rate };
        let base = ReferenceRecords {
            dividends: vec![dividend(date(2024, 3, 14), 0.485)],
            rates: vec![rate(date(2024, 1, 2), 0.05)],
            ..ReferenceRecords::default()
        };
        let of = |records: &ReferenceRecords| {
            ReferenceSet::new(records).digest(ko, date(2024, 1, 3), date(2024, 6, 21)).to_string()
        };
        let with = |change: &dyn Fn(&mut ReferenceRecords)| {
            let mut records = base.clone();
            change(&mut records);
            of(&records)
        };
        // past dividends, those after the last expiry, curves of other days
        assert_eq!(of(&base), with(&|r| r.dividends.push(dividend(date(2024, 1, 2), 9.0))));
        assert_eq!(of(&base), with(&|r| r.dividends.push(dividend(date(2024, 6, 24), 9.0))));
        assert_eq!(of(&base), with(&|r| r.rates.push(rate(date(2024, 1, 4), 0.06))));
        assert_ne!(of(&base), with(&|r| r.dividends[0].amount = 0.49));
        assert_ne!(of(&base), with(&|r| r.dividends.push(dividend(date(2024, 6, 21), 0.485))));
        assert_ne!(of(&base), with(&|r| r.rates.push(rate(date(2024, 1, 3), 0.06))));
        assert_ne!(of(&base), with(&|r| r.days.push((date(2024, 1, 4), Day::Closed))));
    }

    #[test]
    fn rows_cover_the_name_that_they_are_of() {
        let name = |text: &str| Symbol::parse(text).unwrap();
        let dividend = |of: &str, amount| DividendRecord {
            underlying: name(of),
            ex_date: date(2024, 3, 14),
            amount,
            projected: false,
        };
        let records = ReferenceRecords {
            dividends: vec![dividend("KO", 0.485), dividend("GE", 0.0), dividend("BRKB", 0.0)],
            ..ReferenceRecords::default()
        };
        let recorded = |dividends| RecordedReference { dividends, ..RecordedReference::default() };
        let recordings = [recorded(vec![dividend("KO", 9.0), dividend("PG", 0.9), dividend("GE", 9.0)])];
        let reference = ReferenceSet::new(&records).with_recorded(recordings.iter());
        let of = |of: &str| {
            let sum: f64 = reference.dividends(name(of)).iter().map(|dividend| dividend.amount).sum();
            (reference.covers_dividends(name(of)), (sum * 1e3).round())
        };
        let found = ["KO", "GE", "BRK.B", "PG", "MSFT"].map(of);
        assert_eq!(found, [(true, 485.0), (true, 0.0), (true, 0.0), (true, 900.0), (false, 0.0)]);
    }

    #[test]
    fn before_its_declaration_a_dividend_is_projected_from_those_before() {
        let ko = Symbol::parse("KO").unwrap();
        let rows = [
            (date(2023, 3, 16), 0.46, date(2023, 2, 16)),
            (date(2023, 6, 15), 0.46, date(2023, 4, 27)),
            (date(2023, 9, 14), 0.46, date(2023, 7, 20)),
            (date(2023, 11, 30), 0.46, date(2023, 10, 19)),
            (date(2024, 3, 14), 0.485, date(2024, 2, 15)),
        ];
        let dividend = |&(ex_date, amount, _): &(Date, f64, Date)| DividendRecord {
            underlying: ko,
            ex_date,
            amount,
            projected: false,
        };
        let mut records = ReferenceRecords {
            dividends: rows.iter().map(dividend).collect(),
            declared: rows.iter().map(|&(ex_date, _, on)| (ko, ex_date, on)).collect(),
            ..ReferenceRecords::default()
        };
        let next = |records: &ReferenceRecords, day| {
            let all = ReferenceSet::new(records).dividends_on(ko, day);
            all.iter().find(|d| d.ex_date >= day).map(|d| (d.ex_date, d.amount, d.projected))
        };
        // the sixteenth of March 2024 is a Saturday
        assert_eq!(next(&records, date(2024, 2, 14)), Some((date(2024, 3, 15), 0.46, true)));
        assert_eq!(next(&records, date(2024, 2, 15)), Some((date(2024, 3, 14), 0.485, false)));
        let digest =
            |records: &ReferenceRecords, day| ReferenceSet::new(records).digest(ko, day, date(2024, 6, 21)).to_string();
        let before = digest(&records, date(2024, 2, 14));
        // dividends declared later do not change the day
        records.dividends[4].amount = 0.6;
        assert_eq!(digest(&records, date(2024, 2, 14)), before);
        // without dates all of it counts on every day, and nothing is projected
        records.declared.clear();
        assert_ne!(digest(&records, date(2024, 2, 14)), before);
        assert_eq!(next(&records, date(2024, 2, 14)), Some((date(2024, 3, 14), 0.6, false)));
        assert_eq!(next(&records, date(2024, 3, 15)), None);
    }
}
