//! Choice of the discount curve of a date: the order of precedence in one place. [`RateSource`] lists it.

use super::builtin::BuiltInCurves;
use super::curve::{DiscountCurve, DiscountCurves};
use super::implied::{ImpliedCurve, NoImpliedCurve, PriorCurve, RateDisagreement, implied_curve};
use super::parity::EuropeanExpiry;
use super::source::{RateOrigin, RateSource};
use jiff::{Timestamp, civil::Date};
use std::collections::BTreeMap;

/// A Treasury curve that is older than this at a date does not serve it: no holidays are as long.
const TREASURY_DAYS_MOST: i32 = 30;

/// Maximum number of implied curves; the oldest date is dropped first. A running daemon adds some a day.
const IMPLIED_MOST: usize = 1024;

/// The curve of a date, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DatedCurve<'a> {
    /// The curve; tenors count from the valuation.
    pub curve: &'a DiscountCurve,
    /// Source and date of the curve.
    pub origin: RateOrigin,
}

/// All available curves, by source. A value: the owner of the sources makes it, all passes read it.
#[derive(Clone, Debug)]
pub struct RateTable {
    /// Curves that a user, a feed or the simulated market gave.
    given: DiscountCurves,
    /// Source of the given curves.
    given_by: RateSource,
    /// Implied curves by date and instant.
    implied: BTreeMap<(Date, Timestamp), ImpliedCurve>,
    /// A curve of an earlier date, kept over a restart.
    saved: Option<(Date, DiscountCurve)>,
    built_in: BuiltInCurves,
    /// The zero curve, if an option asks for it.
    zero: Option<DiscountCurve>,
}

/// Outcome of implying rates from the European chains of a date.
#[derive(Clone, Debug, PartialEq)]
pub enum RateLook {
    /// The curve that they imply is in force from now on.
    Adopted,
    /// The curve in force stays: theirs is the same within its errors.
    Kept,
    /// They imply none.
    Refused(NoImpliedCurve),
}

impl Default for RateTable {
    /// The built-in curves alone.
    fn default() -> Self {
        Self {
            given: DiscountCurves::default(),
            given_by: RateSource::User,
            implied: BTreeMap::new(),
            saved: None,
            built_in: BuiltInCurves::embedded(),
            zero: None,
        }
    }
}

impl RateTable {
    /// Returns a table of given curves, and the built-in ones where there is none.
    #[must_use]
    pub fn of(source: RateSource, curves: DiscountCurves) -> Self {
        Self { given: curves, given_by: source, ..Self::default() }
    }

    /// Returns the table with rates of zero.
    #[must_use]
    pub fn zero() -> Self {
        Self { zero: Some(DiscountCurve::flat(0.0)), ..Self::default() }
    }

    /// Puts given curves in place of those before. True if that changes any.
    pub fn give(&mut self, source: RateSource, curves: &DiscountCurves) -> bool {
        let changes = self.given != *curves || self.given_by != source;
        if changes {
            (self.given, self.given_by) = (curves.clone(), source);
        }
        changes
    }

    /// Adds a curve that an earlier run saved.
    pub fn restore(&mut self, date: Date, curve: DiscountCurve) {
        self.saved = Some((date, curve));
    }

    /// Looks at the European chains of a date, and adopts the curve that they imply if it supersedes the one in force.
    pub fn look_at(&mut self, date: Date, at: Timestamp, expiries: &[EuropeanExpiry<'_>]) -> RateLook {
        // the built-in curve and not the last one: the same quotes imply the same curve, whatever ran before
        let (as_of, curve) = self.built_in.on(date);
        let age_years = days_between(as_of, date) / 365.0;
        match implied_curve(expiries, PriorCurve { curve, age_years }) {
            Err(why) => RateLook::Refused(why),
            Ok(curve) => self.imply(date, at, curve),
        }
    }

    /// Adopts an implied curve if it supersedes the one of its date that is in force.
    fn imply(&mut self, date: Date, at: Timestamp, curve: ImpliedCurve) -> RateLook {
        let in_force = self.implied_on(at, date);
        if in_force.is_some_and(|in_force| !curve.supersedes(in_force)) {
            return RateLook::Kept;
        }
        self.implied.insert((date, at), curve);
        if self.implied.len() > IMPLIED_MOST {
            self.implied.pop_first();
        }
        RateLook::Adopted
    }

    /// Returns the implied curve of a date: the latest one at or before an instant, else the earliest one of the date.
    #[must_use]
    pub fn implied_on(&self, at: Timestamp, date: Date) -> Option<&ImpliedCurve> {
        let until = self.implied.range((date, Timestamp::MIN)..=(date, at)).next_back();
        until.or_else(|| self.implied.range((date, at)..=(date, Timestamp::MAX)).next()).map(|(_, curve)| curve)
    }

    /// Returns every curve that values of a date can use, by the instant from which on it is in force; one without an
    /// instant serves the whole date.
    #[must_use]
    pub fn curves_of(&self, date: Date) -> Vec<(Option<Timestamp>, DatedCurve<'_>)> {
        let in_force = self.on(Timestamp::MIN, date);
        if in_force.origin.source != RateSource::Implied {
            return vec![(None, in_force)];
        }
        let of_date = self.implied.range((date, Timestamp::MIN)..=(date, Timestamp::MAX));
        of_date.map(|(&(_, at), implied)| (Some(at), DatedCurve { curve: &implied.curve, ..in_force })).collect()
    }

    /// True if European chains may imply the rates: no curve is given and zero is not asked for.
    #[must_use]
    pub fn implies(&self) -> bool {
        self.zero.is_none() && self.given.is_empty()
    }

    /// Returns the newest implied curve with its date.
    #[must_use]
    pub fn newest_implied(&self) -> Option<(Date, &ImpliedCurve)> {
        self.implied.iter().next_back().map(|(&(date, _), curve)| (date, curve))
    }

    /// Returns the curve for values of `date` (Eastern) at the instant `at`.
    #[must_use]
    pub fn on(&self, at: Timestamp, date: Date) -> DatedCurve<'_> {
        let of = |source, as_of, curve| DatedCurve { curve, origin: RateOrigin { source, as_of: Some(as_of) } };
        if let Some(zero) = &self.zero {
            return DatedCurve { curve: zero, origin: RateOrigin::ZERO };
        }
        let serves = |as_of: Date| {
            self.given_by != RateSource::Treasury
                || (0.0..=f64::from(TREASURY_DAYS_MOST)).contains(&days_between(as_of, date))
        };
        if let Some((as_of, curve)) = self.given.dated_on(date).filter(|&(as_of, _)| serves(as_of)) {
            return of(self.given_by, as_of, curve);
        }
        if let Some(implied) = self.implied_on(at, date) {
            return of(RateSource::Implied, date, &implied.curve);
        }
        let earlier = self.implied.range(..(date, Timestamp::MIN)).next_back();
        let earlier = earlier.map(|(&(as_of, _), implied)| (as_of, &implied.curve));
        let saved = self.saved.as_ref().filter(|(as_of, _)| *as_of <= date).map(|(as_of, curve)| (*as_of, curve));
        let last = earlier.into_iter().chain(saved).max_by_key(|&(as_of, _)| as_of);
        let built_in = self.built_in.on(date);
        match last {
            Some((as_of, curve)) if built_in.0 <= as_of => of(RateSource::Saved, as_of, curve),
            _ => of(RateSource::BuiltIn, built_in.0, built_in.1),
        }
    }

    /// Returns where the given curve of a date and the European chains of that date contradict each other; `None` if
    /// they do not, or if one of them is missing.
    #[must_use]
    pub fn disagreement(&self, at: Timestamp, date: Date) -> Option<RateDisagreement> {
        let in_force = self.on(at, date);
        let is_given = matches!(in_force.origin.source, RateSource::User | RateSource::Treasury);
        self.implied_on(at, date).filter(|_| is_given)?.disagreement(in_force.curve)
    }
}

/// Days from one date to another.
fn days_between(from: Date, to: Date) -> f64 {
    f64::from(from.until(to).map_or(i32::MAX, |span| span.get_days()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use kernel::records::RateRecord;

    const DAY: Date = date(2026, 11, 20);

    fn at() -> Timestamp {
        "2026-11-20T20:00:00Z".parse().unwrap()
    }

    fn flat(of: Date, rate: f64) -> DiscountCurves {
        DiscountCurves::new(&[RateRecord { date: of, tenor_days: 365.0, rate }])
    }

    fn implied(rate: f64) -> ImpliedCurve {
        ImpliedCurve { curve: DiscountCurve::flat(rate), errors: vec![1e-5; 12], names: Vec::new(), expiries: 9 }
    }

    fn seen(table: &RateTable, on: Date) -> (RateSource, Option<Date>, f64) {
        let DatedCurve { curve, origin } = table.on(at(), on);
        (origin.source, origin.as_of, curve.rate(1.0))
    }

    #[test]
    fn sources_stand_in_their_order() {
        let mut table = RateTable::default();
        let (source, as_of, _) = seen(&table, DAY);
        assert_eq!((source, as_of), (RateSource::BuiltIn, Some(table.built_in.on(DAY).0)));
        let yesterday = date(2026, 11, 19);
        table.restore(yesterday, DiscountCurve::flat(0.031));
        assert_eq!(seen(&table, DAY), (RateSource::Saved, Some(yesterday), 0.031));
        assert_eq!(seen(&table, date(2026, 11, 18)).0, RateSource::BuiltIn, "nobody knew it then");
        assert_eq!(table.imply(DAY, at(), implied(0.032)), RateLook::Adopted);
        assert_eq!(seen(&table, DAY), (RateSource::Implied, Some(DAY), 0.032));
        assert_eq!(seen(&table, date(2026, 11, 23)), (RateSource::Saved, Some(DAY), 0.032));
        table.give(RateSource::Treasury, &flat(yesterday, 0.033));
        assert_eq!(seen(&table, DAY), (RateSource::Treasury, Some(yesterday), 0.033));
        assert_eq!(seen(&table, date(2020, 3, 2)).0, RateSource::BuiltIn, "the Treasury's curve is of later");
        assert!(
            table.give(RateSource::User, &flat(yesterday, 0.034))
                && !table.give(RateSource::User, &flat(yesterday, 0.034))
        );
        assert_eq!(seen(&table, DAY), (RateSource::User, Some(yesterday), 0.034));
        assert_eq!(seen(&table, date(2020, 3, 2)).0, RateSource::User, "a user's curve serves every date");
        table.zero = RateTable::zero().zero;
        assert_eq!(seen(&table, DAY), (RateSource::Zero, None, 0.0));
    }

    #[test]
    fn a_saved_curve_yields_to_a_newer_built_in_one() {
        let mut table = RateTable::default();
        table.restore(date(2001, 1, 2), DiscountCurve::flat(0.05));
        assert_eq!(seen(&table, DAY).0, RateSource::BuiltIn);
    }

    #[test]
    fn a_curve_stays_in_force_until_it_moves() {
        let later = at() + jiff::SignedDuration::from_mins(5);
        let mut table = RateTable::default();
        table.imply(DAY, at(), implied(0.04));
        assert_eq!(table.imply(DAY, later, implied(0.0401)), RateLook::Kept);
        assert_eq!(table.imply(DAY, later, implied(0.0404)), RateLook::Adopted);
        assert!((table.on(at(), DAY).curve.rate(1.0) - 0.04).abs() < 1e-12, "values of before keep their curve");
        assert!((table.on(later, DAY).curve.rate(1.0) - 0.0404).abs() < 1e-12);
        let before = at() - jiff::SignedDuration::from_mins(5);
        assert!((table.on(before, DAY).curve.rate(1.0) - 0.04).abs() < 1e-12, "the first one of the day");
    }

    #[test]
    fn a_given_curve_that_chains_contradict_stays_and_is_named() {
        let mut table = RateTable::of(RateSource::User, flat(DAY, 0.01));
        assert_eq!(table.disagreement(at(), DAY), None);
        table.imply(DAY, at(), implied(0.04));
        assert_eq!(seen(&table, DAY), (RateSource::User, Some(DAY), 0.01));
        assert!((table.disagreement(at(), DAY).unwrap().implied - 0.04).abs() < 1e-12);
    }
}
