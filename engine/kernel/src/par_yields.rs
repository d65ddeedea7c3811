//! Records of a discount curve from published par yields and overnight rates. Never: a format, an interpolation between
//! the records (the curve does that).
//!
//! US Treasury par yields are bond-equivalent: coupons twice a year. Up to half a year they are simple rates on actual
//! days over 365; beyond, bonds of every half-year are stripped one after the other, their yields linear between the
//! published ones. Rates come out continuously compounded on actual days over 365.

use crate::calendar::shift::ShiftDate;
use crate::limits;
use crate::records::RateRecord;
use jiff::Unit;
use jiff::civil::Date;

const DAYS_PER_YEAR: f64 = 365.0;
/// Overnight rates are simple, on actual days over this.
const DAYS_PER_MONEY_YEAR: f64 = 360.0;
/// Greatest age of an overnight rate at the date of a curve, in days: a long weekend and a day of delay.
const OVERNIGHT_AGE_DAYS: i32 = 7;

/// The maturities that the US Treasury publishes: the column's name, and half-months. Ascending; which of them a year
/// has differs.
pub const MATURITIES: [(&str, u16); 14] = [
    ("1 Mo", 2),
    ("1.5 Month", 3),
    ("2 Mo", 4),
    ("3 Mo", 6),
    ("4 Mo", 8),
    ("6 Mo", 12),
    ("1 Yr", 24),
    ("2 Yr", 48),
    ("3 Yr", 72),
    ("5 Yr", 120),
    ("7 Yr", 168),
    ("10 Yr", 240),
    ("20 Yr", 480),
    ("30 Yr", 720),
];

/// One published yield.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParYield {
    /// Half-months to maturity.
    pub half_months: u16,
    /// Bond-equivalent, per year, decimal.
    pub par: f64,
}

/// The zero rates of one date from its par yields, which ascend by maturity: one node for each yield of less than half
/// a year, then one for every half-year up to the longest maturity.
///
/// # Errors
/// The half-months of the maturity from which on the yields admit no discount factor or rate within its bound.
pub fn zero_rates(date: Date, yields: &[ParYield]) -> Result<Vec<RateRecord>, u16> {
    let mut out = Vec::new();
    // bills pay no coupon: their par yield is a simple rate
    for short in yields.iter().filter(|y| y.half_months < 12) {
        let days = days_to(date, short.half_months);
        out.push(node(date, days, 1.0 / (1.0 + short.par * days / DAYS_PER_YEAR)).ok_or(short.half_months)?);
    }
    let longest = yields.last().map_or(0, |y| y.half_months);
    let mut annuity = 0.0;
    // coupons come every six months: discount factors follow from the shortest on (bootstrapping)
    for maturity in (12..=longest).step_by(12) {
        let days = days_to(date, maturity);
        let par = par_at(yields, maturity);
        let coupon = par / 2.0;
        let df = match maturity {
            // six months have no coupon before the end
            12 => 1.0 / (1.0 + par * days / DAYS_PER_YEAR),
            // a bond at its par yield is worth its face value
            _ => (1.0 - coupon * annuity) / (1.0 + coupon),
        };
        out.push(node(date, days, df).ok_or(maturity)?);
        annuity += df;
    }
    Ok(out)
}

/// An overnight rate, simple on actual days over 360, as a node of one day.
pub fn overnight(date: Date, simple: f64) -> Option<RateRecord> {
    node(date, 1.0, 1.0 / (1.0 + simple / DAYS_PER_MONEY_YEAR))
}

/// Adds overnight rates as short ends of curves: each curve takes the latest rate of its own date or the week before. A
/// curve without such a rate stays flat below its first node.
#[must_use]
pub fn with_short_end(mut curves: Vec<RateRecord>, overnight: &[RateRecord]) -> Vec<RateRecord> {
    let mut dates: Vec<Date> = curves.iter().map(|node| node.date).collect();
    dates.sort_unstable();
    dates.dedup();
    for date in dates {
        // an overnight rate of another week may lie before a decision of the central bank
        let oldest = date.plus_days(-OVERNIGHT_AGE_DAYS);
        let known = overnight.iter().filter(|night| night.date <= date && night.date >= oldest);
        if let Some(latest) = known.max_by_key(|night| night.date) {
            curves.push(RateRecord { date, ..*latest });
        }
    }
    curves
}

fn node(date: Date, days: f64, df: f64) -> Option<RateRecord> {
    let rate = -df.ln() * DAYS_PER_YEAR / days;
    // yields that contradict each other give negative discount factors
    (df > 0.0 && limits::RATE.holds(rate)).then_some(RateRecord { date, tenor_days: days, rate })
}

/// Calendar days to a maturity; half a month more than whole ones counts as fifteen days.
fn days_to(date: Date, half_months: u16) -> f64 {
    let whole = date.plus_months(i32::from(half_months / 2));
    let days = date.until((Unit::Day, whole)).map_or(0, |span| span.get_days());
    // half a month is no unit of a calendar
    f64::from(days) + if half_months % 2 == 1 { 15.0 } else { 0.0 }
}

/// The par yield of a maturity: linear between those published, flat outside of them.
fn par_at(yields: &[ParYield], half_months: u16) -> f64 {
    let after = yields.partition_point(|y| y.half_months < half_months);
    match (after.checked_sub(1).map(|i| yields[i]), yields.get(after)) {
        (Some(a), Some(b)) => {
            let along = f64::from(half_months - a.half_months) / f64::from(b.half_months - a.half_months);
            a.par + (b.par - a.par) * along
        }
        (Some(one), None) | (None, Some(&one)) => one.par,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    const DATE: Date = date(2026, 10, 2);
    /// (months, per cent), with the level of an autumn day of 2026.
    const PUBLISHED: [(f64, f64); 14] = [
        (1.0, 4.04),
        (1.5, 4.10),
        (2.0, 4.14),
        (3.0, 4.19),
        (4.0, 4.22),
        (6.0, 4.27),
        (12.0, 4.46),
        (24.0, 4.83),
        (36.0, 4.90),
        (60.0, 5.00),
        (84.0, 5.12),
        (120.0, 5.28),
        (240.0, 5.60),
        (360.0, 5.50),
    ];

    fn yields(published: &[(f64, f64)]) -> Vec<ParYield> {
        published.iter().map(|&(m, y)| ParYield { half_months: (m * 2.0) as u16, par: y / 100.0 }).collect()
    }

    /// The zero rates from half a year on, by another way: each is searched for by halving an interval until the bond
    /// of that maturity, its cash flows discounted at e^(−rate·t), is worth its face.
    fn searched(published: &[(f64, f64)]) -> Vec<f64> {
        let t = |half_years: usize| {
            let to = DATE.plus_months((half_years * 6) as i64);
            f64::from(DATE.until(to).unwrap().get_days()) / 365.0
        };
        let par = |years: f64| {
            let i = published.iter().position(|p| p.0 / 12.0 >= years - 1e-9).unwrap();
            let (a, b) = (published[i.max(1) - 1], published[i]);
            let share = if b.0 > a.0 { (years * 12.0 - a.0) / (b.0 - a.0) } else { 1.0 };
            ((1.0 - share) * a.1 + share * b.1) / 100.0
        };
        let n = (published.last().unwrap().0 / 6.0) as usize;
        let mut rates: Vec<f64> = Vec::new();
        for k in 1..=n {
            let y = par(k as f64 / 2.0);
            let worth = |rate: f64| {
                let earlier: f64 = rates.iter().enumerate().map(|(i, r)| y / 2.0 * (-r * t(i + 1)).exp()).sum();
                let last = if k == 1 { 1.0 + y * t(1) } else { 1.0 + y / 2.0 };
                earlier + last * (-rate * t(k)).exp()
            };
            let (mut low, mut high) = (-0.5, 2.0);
            for _ in 0..100 {
                let middle = (low + high) / 2.0;
                if worth(middle) > 1.0 { low = middle } else { high = middle }
            }
            rates.push(low);
        }
        rates
    }

    #[test]
    fn stripped_rates_agree_with_a_search_bond_by_bond() {
        let inverted: Vec<(f64, f64)> = PUBLISHED.iter().map(|&(m, y)| (m, 9.0 - y)).collect();
        let negative: Vec<(f64, f64)> = PUBLISHED.iter().map(|&(m, y)| (m, y - 5.0)).collect();
        for published in [&PUBLISHED[..], &PUBLISHED[2..], &PUBLISHED[..8], &inverted, &negative] {
            let records = zero_rates(DATE, &yields(published)).unwrap();
            let long: Vec<f64> = records.iter().filter(|r| r.tenor_days > 170.0).map(|r| r.rate).collect();
            let want = searched(published);
            assert_eq!(long.len(), want.len());
            for (k, (got, want)) in long.iter().zip(&want).enumerate() {
                assert!((got - want).abs() < 1e-12, "half-year {}: {got} and {want}", k + 1);
            }
        }
    }

    #[test]
    fn a_level_curve_has_the_closed_form() {
        // Bonds of 5 % whose first half-year is 2.5 %: each half-year is worth 1 / 1.025 of the one before.
        let level: Vec<(f64, f64)> = [6.0, 12.0, 360.0].map(|m| (m, 5.0)).to_vec();
        let records = zero_rates(DATE, &yields(&level)).unwrap();
        let df = |r: &RateRecord| (-r.rate * r.tenor_days / 365.0).exp();
        let annuity: f64 = records[..59].iter().map(df).sum();
        assert!((0.025 * annuity + 1.025 * df(&records[59]) - 1.0).abs() < 1e-12);
        for pair in records[1..].windows(2) {
            assert!((df(&pair[0]) / df(&pair[1]) - 1.025).abs() < 1e-9);
        }
    }

    #[test]
    fn short_yields_are_simple() {
        let records = zero_rates(DATE, &yields(&PUBLISHED[..4])).unwrap();
        let days: Vec<u32> = records.iter().map(|r| r.tenor_days as u32).collect();
        assert_eq!(days, [31, 46, 61, 92]);
        let grown = (records[3].rate * 92.0 / 365.0).exp();
        assert!((grown - (1.0 + 0.0419 * 92.0 / 365.0)).abs() < 1e-14);
        assert_eq!(zero_rates(DATE, &[]), Ok(vec![]));
    }

    #[test]
    fn yields_that_admit_no_curve_are_refused_at_their_maturity() {
        // Coupons of 30 % a year that cost more than they can be worth after 20 years of 1 %.
        assert_eq!(zero_rates(DATE, &yields(&[(6.0, 1.0), (120.0, 1.0), (126.0, 200.0)])), Err(252));
        assert_eq!(zero_rates(DATE, &yields(&[(1.0, -1500.0)])), Err(2));
    }

    #[test]
    fn curves_take_the_latest_overnight_rate() {
        let night = |day, simple| overnight(date(2026, 10, day), simple).unwrap();
        let curve = zero_rates(DATE, &yields(&PUBLISHED[..1])).unwrap();
        let nights =
            [night(1, 0.041), night(5, 0.09), night(2, 0.042), RateRecord { date: date(2026, 9, 1), ..night(1, 0.2) }];
        let joined = with_short_end(curve.clone(), &nights);
        assert_eq!((joined.len(), joined[1].date, joined[1].tenor_days as u32), (2, DATE, 1));
        assert!((joined[1].rate - 365.0 * (0.042f64 / 360.0).ln_1p()).abs() < 1e-12);
        assert_eq!(with_short_end(curve.clone(), &nights[3..]), curve, "a month old");
    }
}
