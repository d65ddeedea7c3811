//! Declared dividends, and projections of later ones: vendors publish the next one at most, and options live for years.
//! Never: a format.
//!
//! The dates of the last year are repeated a year later, each moved to the nearest session; where the history is
//! shorter, the step between payments is repeated. A company repeats its last amount. Funds pay what they earned, so
//! the median of the last twelve is taken; a fund is known by amounts that never repeat, or by paying every month or
//! more often. A special dividend does not come again. Amounts do not grow.

use super::{DeclaredDividend, DividendKind};
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::calendar::shift::ShiftDate;
use kernel::contract::Symbol;
use kernel::records::DividendRecord;
use std::collections::BTreeMap;

/// Number of last regular amounts that count.
const AMOUNTS: usize = 12;
/// The longest time for which dividends are projected, in years.
const YEARS: i32 = 10;
/// Delay of a payment, in periods, from which the series counts as ended.
const LATE_PERIODS: f64 = 1.75;

/// Declared dividends, and those likely to follow from `today` to `until`, marked as projected. Two records of one
/// underlying, date and kind are one: the larger counts. A special dividend is added to a regular one of the same day.
#[must_use]
pub fn with_projected(
    declared: &[DeclaredDividend],
    calendar: &Calendar,
    today: Date,
    until: Date,
) -> Vec<DividendRecord> {
    let mut known: BTreeMap<(Symbol, Date, DividendKind), DeclaredDividend> = BTreeMap::new();
    for dividend in declared {
        let place = known.entry((dividend.underlying, dividend.ex_date, dividend.kind)).or_insert(*dividend);
        // two records of one payment are not two payments: the larger counts
        if dividend.amount > place.amount {
            *place = *dividend;
        }
    }
    let mut out: BTreeMap<(Symbol, Date), DividendRecord> = BTreeMap::new();
    for (&(underlying, ex_date, _), dividend) in &known {
        let none = DividendRecord { underlying, ex_date, amount: 0.0, projected: false };
        out.entry((underlying, ex_date)).or_insert(none).amount += dividend.amount;
    }
    let mut regular: BTreeMap<Symbol, Vec<DeclaredDividend>> = BTreeMap::new();
    for dividend in known.values().filter(|dividend| dividend.kind == DividendKind::Regular) {
        regular.entry(dividend.underlying).or_default().push(*dividend);
    }
    // a request for a far expiry must not project a century
    let until = until.min(today.plus_years(YEARS));
    for (underlying, series) in regular {
        let Some(amount) = next_amount(&series) else { continue };
        for ex_date in next_dates(&series, calendar, today, until) {
            let projected = DividendRecord { underlying, ex_date, amount, projected: true };
            out.entry((underlying, ex_date)).or_insert(projected);
        }
    }
    out.into_values().collect()
}

/// The amount that is likely to be paid next; the series ascends by date.
fn next_amount(series: &[DeclaredDividend]) -> Option<f64> {
    let mut amounts: Vec<f64> = series.iter().rev().take(AMOUNTS).map(|dividend| dividend.amount).collect();
    let last = *amounts.first()?;
    // a payer whose sums all differ pays what it earned: the median of some is closer than the last
    let never_repeats = amounts.len() >= 3 && amounts.windows(2).all(|pair| pair[0].to_bits() != pair[1].to_bits());
    if !never_repeats && per_year(series).is_some_and(|n| n < 12) {
        return Some(last);
    }
    amounts.sort_by(f64::total_cmp);
    let half = amounts.len() / 2;
    Some(if amounts.len() % 2 == 1 { amounts[half] } else { amounts[half - 1].midpoint(amounts[half]) })
}

/// The dates that are likely to follow the last known one.
fn next_dates(series: &[DeclaredDividend], calendar: &Calendar, today: Date, until: Date) -> Vec<Date> {
    let (Some(last), Some(n)) = (series.last(), per_year(series)) else { return Vec::new() };
    let last = last.ex_date;
    let period_days = 365.0 / f64::from(n);
    // a payer that missed its time has stopped, and a projection would cost every call
    if f64::from(days(last, today)) > LATE_PERIODS * period_days {
        return Vec::new();
    }
    let of_last_year = series.len().checked_sub(usize::from(n)).map_or(&[][..], |first| &series[first..]);
    let spans_days = of_last_year.first().map_or(0, |first| days(first.ex_date, last));
    // payers keep to the same months, seldom at even distances: last year's dates serve where there is a year of them
    let whole_year = n < 24 && !of_last_year.is_empty() && f64::from(spans_days) < 365.0 - period_days / 2.0;
    let nominal = |i: i32| match (whole_year, n) {
        (true, _) => {
            let (year, place) = (i.div_euclid(i32::from(n)) + 1, i.rem_euclid(i32::from(n)));
            usize::try_from(place).ok().and_then(|place| of_last_year.get(place)).map(|d| d.ex_date.plus_years(year))
        }
        (false, 52) => Some(last.plus_days(7 * (i + 1))),
        (false, 26) => Some(last.plus_days(14 * (i + 1))),
        (false, 24) => Some(last.plus_months((i + 1) / 2).plus_days(15 * ((i + 1) % 2))),
        (false, _) => Some(last.plus_months(i32::from(12 / n) * (i + 1))),
    };
    let most = YEARS * 53;
    let dates = (0..most).map_while(nominal).take_while(|&d| d <= until).map(|d| nearest_session(d, calendar));
    // a date near the last declared one repeats that payment
    let mut dates: Vec<Date> =
        dates.filter(|&d| d >= today && d <= until && f64::from(days(last, d)) > period_days / 2.0).collect();
    dates.dedup();
    dates
}

/// Payments a year: as the vendor says, else by the spacing of the last dates.
fn per_year(series: &[DeclaredDividend]) -> Option<u8> {
    if let Some(said) = series.last()?.per_year.filter(|n| matches!(n, 1 | 2 | 3 | 4 | 6 | 12 | 24 | 26 | 52)) {
        return Some(said);
    }
    let dates: Vec<Date> = series.iter().rev().take(AMOUNTS + 1).map(|dividend| dividend.ex_date).collect();
    let mut gaps: Vec<i32> = dates.windows(2).map(|pair| days(pair[1], pair[0])).collect();
    gaps.sort_unstable();
    match *gaps.get(gaps.len() / 2)? {
        // bounds half way between the gaps of neighbouring rhythms
        ..=10 => Some(52),
        11..=20 => Some(26),
        21..=45 => Some(12),
        46..=75 => Some(6),
        76..=105 => Some(4),
        106..=150 => Some(3),
        151..=270 => Some(2),
        271..=460 => Some(1),
        _ => None,
    }
}

fn days(from: Date, to: Date) -> i32 {
    from.until(to).map_or(i32::MAX, |span| span.get_days())
}

/// The session nearest to a date, the earlier of two.
fn nearest_session(date: Date, calendar: &Calendar) -> Date {
    let (before, after) = (calendar.session_on_or_before(date), calendar.session_on_or_after(date));
    if days(before, date) <= days(date, after) { before } else { after }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    fn ko() -> Symbol {
        Symbol::parse("KO").unwrap()
    }

    fn series(rows: &[(&str, f64)]) -> Vec<DeclaredDividend> {
        let one = |&(day, amount): &(&str, f64)| DeclaredDividend {
            underlying: ko(),
            ex_date: day.parse().unwrap(),
            amount,
            kind: DividendKind::Regular,
            per_year: None,
        };
        rows.iter().map(one).collect()
    }

    fn projected(declared: &[DeclaredDividend], until: Date) -> Vec<(String, f64)> {
        let all = with_projected(declared, &Calendar::embedded(), date(2026, 10, 1), until);
        all.iter().filter(|d| d.projected).map(|d| (d.ex_date.to_string(), d.amount)).collect()
    }

    const QUARTERLY: [(&str, f64); 5] =
        [("2025-09-15", 0.48), ("2025-12-01", 0.51), ("2026-03-13", 0.51), ("2026-06-15", 0.51), ("2026-09-15", 0.51)];

    #[test]
    fn a_company_repeats_its_last_amount_on_the_dates_of_its_year() {
        let got = projected(&series(&QUARTERLY), date(2027, 12, 31));
        let want = ["2026-12-01", "2027-03-12", "2027-06-15", "2027-09-15", "2027-12-01"];
        assert_eq!(got, want.map(|day| (day.to_owned(), 0.51)), "a Saturday becomes the Friday before it");
        assert!(projected(&series(&QUARTERLY), date(2026, 11, 30)).is_empty(), "beyond the horizon");
    }

    #[test]
    fn what_is_declared_ahead_is_not_projected_again() {
        let mut declared = series(&QUARTERLY);
        declared.extend(series(&[("2026-11-27", 0.53)]));
        let got = projected(&declared, date(2027, 3, 31));
        assert_eq!(got, [("2027-03-12".to_owned(), 0.53)]);
    }

    #[test]
    fn a_short_history_steps_by_its_period() {
        let mut declared = series(&[("2026-09-15", 0.2)]);
        assert!(projected(&declared, date(2027, 12, 31)).is_empty(), "once is no series");
        declared[0].per_year = Some(2);
        assert_eq!(
            projected(&declared, date(2027, 9, 30)),
            [("2027-03-15", 0.2), ("2027-09-15", 0.2)].map(|(d, a)| (d.to_owned(), a))
        );
    }

    #[test]
    fn funds_pay_the_median_of_their_last_twelve() {
        let fund = series(&[("2026-01-02", 0.9), ("2026-04-01", 1.5), ("2026-07-01", 1.1), ("2026-09-30", 1.3)]);
        let got = projected(&fund, date(2027, 1, 31));
        assert_eq!(got.len(), 1, "{got:?}");
        assert_eq!(got[0].0, "2026-12-31", "the year begins with a holiday and a weekend");
        assert!((got[0].1 - 1.2).abs() < 1e-12, "{got:?}");
        let monthly: Vec<(String, f64)> =
            (1..=9).map(|m| (format!("2026-{m:02}-02"), if m == 9 { 0.9 } else { 0.5 })).collect();
        let monthly = series(&monthly.iter().map(|(d, a)| (d.as_str(), *a)).collect::<Vec<_>>());
        let got = projected(&monthly, date(2026, 12, 31));
        assert_eq!(got, ["2026-10-02", "2026-11-02", "2026-12-02"].map(|d| (d.to_owned(), 0.5)));
        let weekly = series(&[("2026-09-11", 0.1), ("2026-09-18", 0.2), ("2026-09-25", 0.3)]);
        let got = projected(&weekly, date(2026, 10, 20));
        assert_eq!(got, ["2026-10-02", "2026-10-09", "2026-10-16"].map(|d| (d.to_owned(), 0.2)));
    }

    #[test]
    fn specials_happen_once_and_ended_series_end() {
        let mut declared = series(&QUARTERLY);
        let special = DeclaredDividend { kind: DividendKind::Special, amount: 5.0, ..declared[4] };
        declared.push(special);
        let all = with_projected(&declared, &Calendar::embedded(), date(2026, 10, 1), date(2027, 12, 31));
        let on = |day: Date| all.iter().filter(|d| d.ex_date == day).map(|d| d.amount).collect::<Vec<_>>();
        assert_eq!(on(date(2026, 9, 15)), [5.51], "added to the regular one of the day");
        assert!(all.iter().filter(|d| d.projected).all(|d| d.amount < 1.0));
        assert!(projected(&series(&QUARTERLY[..3]), date(2027, 12, 31)).is_empty(), "two payments are missing");
    }

    proptest! {
        #[test]
        fn any_history_gives_ascending_sessions_within_the_horizon(
            days in proptest::collection::vec((0i32..2000, 0.0f64..100.0, any::<bool>()), 0..40),
            per_year in proptest::option::of(0u8..=255), horizon in 0i32..6000,
        ) {
            let (today, calendar) = (date(2026, 10, 1), Calendar::embedded());
            let declared: Vec<_> = days.iter().map(|&(back, amount, special)| DeclaredDividend {
                underlying: ko(),
                ex_date: today.plus_days(-back),
                amount,
                kind: if special { DividendKind::Special } else { DividendKind::Regular },
                per_year,
            }).collect();
            let until = today.plus_days(horizon);
            let all = with_projected(&declared, &calendar, today, until);
            prop_assert!(all.is_sorted_by(|a, b| a.ex_date < b.ex_date));
            for d in all.iter().filter(|d| d.projected) {
                prop_assert!(d.ex_date >= today && d.ex_date <= until && calendar.is_session(d.ex_date));
                prop_assert!(d.amount >= 0.0 && d.amount < 100.0);
            }
        }
    }
}
