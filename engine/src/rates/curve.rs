//! Discount curves: continuously compounded zero rates by tenor, and the rate to any time between.
//!
//! Between two tenors the logarithm of the discount factor, −rate·time, is linear in time, which is a constant forward
//! rate; before the first and beyond the last tenor the rate is flat. Never: a day count other than days / 365.

use jiff::civil::Date;
use kernel::limits;
use kernel::records::RateRecord;
use std::collections::BTreeMap;

const DAYS_PER_YEAR: f64 = 365.0;

/// The curve of one date.
#[derive(Clone, Debug, PartialEq)]
pub struct DiscountCurve {
    /// (years, rate), ascending; never empty.
    nodes: Vec<(f64, f64)>,
}

impl DiscountCurve {
    /// Returns the curve of one rate for every tenor, continuously compounded, per year.
    #[must_use]
    pub fn flat(rate: f64) -> Self {
        Self { nodes: vec![(1.0, rate)] }
    }

    /// Returns the curve through (years, continuously compounded rate), ascending in years; `None` if there is no
    /// point, or one without a positive time or a rate in bounds.
    #[must_use]
    pub fn of_nodes(nodes: Vec<(f64, f64)>) -> Option<Self> {
        let is_sound = |&(years, rate): &(f64, f64)| years > 0.0 && years.is_finite() && limits::RATE.holds(rate);
        let ascends = nodes.is_sorted_by(|a, b| a.0 < b.0);
        (!nodes.is_empty() && ascends && nodes.iter().all(is_sound)).then_some(Self { nodes })
    }

    /// Returns the points of the curve: (years, continuously compounded rate), ascending, at least one.
    #[must_use]
    pub fn nodes(&self) -> &[(f64, f64)] {
        &self.nodes
    }

    /// The continuously compounded rate to `years` from the curve's date, per year.
    #[must_use]
    pub fn rate(&self, years: f64) -> f64 {
        let after = self.nodes.partition_point(|&(t, _)| t < years);
        match (after.checked_sub(1).map(|i| self.nodes[i]), self.nodes.get(after)) {
            (Some((t0, r0)), Some(&(t1, r1))) => {
                let (y0, y1) = (t0 * r0, t1 * r1);
                (y0 + (y1 - y0) * (years - t0) / (t1 - t0)) / years
            }
            (Some((_, rate)), None) | (None, Some(&(_, rate))) => rate,
            (None, None) => 0.0,
        }
    }
}

/// The curves that a feed delivered, by date.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiscountCurves {
    by_date: BTreeMap<Date, DiscountCurve>,
}

impl DiscountCurves {
    /// Builds discount curves from points in any order. Of two points of one date and tenor the larger rate counts;
    /// points without a positive tenor or a finite rate are ignored.
    #[must_use]
    pub fn new(records: &[RateRecord]) -> Self {
        let usable = |r: &&RateRecord| r.tenor_days > 0.0 && r.tenor_days.is_finite() && r.rate.is_finite();
        let mut points: Vec<RateRecord> = records.iter().filter(usable).copied().collect();
        points.sort_by(|a, b| {
            let by_tenor = a.date.cmp(&b.date).then(a.tenor_days.total_cmp(&b.tenor_days));
            by_tenor.then(b.rate.total_cmp(&a.rate))
        });
        points.dedup_by_key(|r| (r.date, r.tenor_days.to_bits()));
        let mut by_date = BTreeMap::new();
        for r in points {
            let curve = by_date.entry(r.date).or_insert_with(|| DiscountCurve { nodes: Vec::new() });
            curve.nodes.push((r.tenor_days / DAYS_PER_YEAR, r.rate));
        }
        Self { by_date }
    }

    /// The curve to value at on a date: the latest of that date or earlier; where there is none, the earliest later
    /// one. Tenors count from the valuation, as if the curve were of that date. `None`: there is no curve at all.
    #[must_use]
    pub fn on(&self, date: Date) -> Option<&DiscountCurve> {
        self.dated_on(date).map(|(_, curve)| curve)
    }

    /// Returns the curve of [`Self::on`] and its date.
    #[must_use]
    pub fn dated_on(&self, date: Date) -> Option<(Date, &DiscountCurve)> {
        let earlier = self.by_date.range(..=date).next_back();
        earlier.or_else(|| self.by_date.iter().next()).map(|(&as_of, curve)| (as_of, curve))
    }

    /// True if there is no curve.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_date.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn point(date: Date, tenor_days: f64, rate: f64) -> RateRecord {
        RateRecord { date, tenor_days, rate }
    }

    fn curves() -> DiscountCurves {
        let (old, new) = (date(2026, 1, 2), date(2026, 2, 2));
        let nan = point(old, 30.0, f64::NAN);
        DiscountCurves::new(&[point(old, 730.0, 0.05), nan, point(new, 365.0, 0.03), point(old, 365.0, 0.04)])
    }

    #[test]
    fn forward_rates_are_constant_between_tenors() {
        let curves = curves();
        let curve = curves.on(date(2026, 1, 2)).unwrap();
        // 4 % for a year and 6 % for the next one make 5 % for two.
        for (years, want) in [(0.0, 0.04), (0.01, 0.04), (1.0, 0.04), (1.5, 0.07 / 1.5), (2.0, 0.05), (9.0, 0.05)] {
            assert!((curve.rate(years) - want).abs() < 1e-15, "{years}: {}", curve.rate(years));
        }
    }

    #[test]
    fn the_latest_curve_that_is_known_counts() {
        let curves = curves();
        let rate = |d| curves.on(d).map(|c| c.rate(1.0));
        assert_eq!(rate(date(2026, 1, 2)), Some(0.04));
        assert_eq!(rate(date(2026, 2, 1)), Some(0.04));
        assert_eq!(rate(date(2027, 2, 1)), Some(0.03));
        assert_eq!(rate(date(2020, 1, 1)), Some(0.04));
        assert_eq!(DiscountCurves::default().on(date(2026, 1, 2)), None);
    }
}
