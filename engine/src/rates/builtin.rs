//! The US Treasury's par yields that are part of the program, so that every date has a curve without a file or a
//! network.
//!
//! Source: US Department of the Treasury, Daily Treasury Par Yield Curve Rates, public domain; the last published day
//! of each week since 1990. A day's own curve differs from the week's by 2 basis points at the median and by 25 at the
//! 99th percentile (tenors of 3 months to 5 years, all days of the table). `engine/data/refresh_treasury.py` makes the
//! table.

use super::curve::{DiscountCurve, DiscountCurves};
use jiff::civil::Date;
use kernel::par_yields::{MATURITIES, ParYield, zero_rates};
use std::sync::{Arc, OnceLock};

/// Par yields in percent: a header, then a week in each line.
const TABLE: &str = include_str!("../../data/treasury_par_yields.csv");

/// The built-in curves by date. A value that is cheap to clone; each curve is bootstrapped from its yields on first
/// use.
#[derive(Clone, Debug)]
pub struct BuiltInCurves {
    /// Ascending; never empty.
    weeks: Arc<[Week]>,
}

/// One row of the table.
#[derive(Debug)]
struct Week {
    date: Date,
    line: &'static str,
    curve: OnceLock<DiscountCurve>,
}

impl BuiltInCurves {
    /// Returns the curves that are part of the program.
    #[must_use]
    pub fn embedded() -> Self {
        let week = |line: &'static str| {
            let date = line.split(',').next()?.parse().ok()?;
            Some(Week { date, line, curve: OnceLock::new() })
        };
        Self { weeks: TABLE.lines().filter_map(week).collect() }
    }

    /// Returns the latest curve of `date` or earlier, and its own date; before the first one, the first.
    #[must_use]
    pub fn on(&self, date: Date) -> (Date, &DiscountCurve) {
        let place = self.weeks.partition_point(|week| week.date <= date).saturating_sub(1);
        let week = &self.weeks[place];
        (week.date, week.curve.get_or_init(|| week.curve()))
    }
}

impl Week {
    fn curve(&self) -> DiscountCurve {
        let half_months = |name: &str| MATURITIES.iter().find(|maturity| maturity.0 == name).map(|maturity| maturity.1);
        let cells = TABLE.lines().next().unwrap_or_default().split(',').zip(self.line.split(','));
        let par_yield = |(name, percent): (&str, &str)| {
            Some(ParYield { half_months: half_months(name)?, par: percent.parse::<f64>().ok()? / 100.0 })
        };
        let yields: Vec<ParYield> = cells.filter_map(par_yield).collect();
        let records = zero_rates(self.date, &yields).unwrap_or_default();
        DiscountCurves::new(&records).on(self.date).cloned().unwrap_or_else(|| DiscountCurve::flat(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn every_week_has_a_curve() {
        let curves = BuiltInCurves::embedded();
        assert!(curves.weeks.len() > 1800 && curves.weeks.is_sorted_by(|a, b| a.date < b.date));
        for week in curves.weeks.iter() {
            let (as_of, curve) = curves.on(week.date);
            assert_eq!(as_of, week.date);
            for years in [0.01, 0.25, 1.0, 2.0, 10.0, 30.0] {
                assert!((-0.01..0.12).contains(&curve.rate(years)), "{as_of}: {years} {}", curve.rate(years));
            }
            assert!(curve.nodes().len() > 40, "{as_of}: all maturities are stripped");
        }
        let gap = |pair: &[Week]| pair[0].date.until(pair[1].date).unwrap().get_days();
        assert!(curves.weeks.windows(2).all(|pair| (1..=14).contains(&gap(pair))), "no week is missing");
    }

    #[test]
    fn a_date_has_the_latest_curve_before_it() {
        let curves = BuiltInCurves::embedded();
        let at = |date: Date| curves.on(date).0;
        // Thursday takes the Friday before
        assert_eq!(at(date(2023, 9, 14)), date(2023, 9, 8));
        assert_eq!(at(date(1980, 1, 1)), date(1990, 1, 5));
        assert_eq!(at(date(2099, 1, 1)), at(date(2098, 1, 1)));
        // 5.41 % for a year, bond-equivalent, is 5.34 % compounded continuously
        let (_, curve) = curves.on(date(2023, 9, 14));
        assert!((curve.rate(1.0) - 0.0534).abs() < 5e-4, "{}", curve.rate(1.0));
    }
}
