//! The true carry: the discount curve, dividends and borrow rates. Never: a quote.

use super::rng::Stream;
use super::surface::decay_mean;
use super::symbols::{Every, Payout};
use jiff::civil::{Date, date};
use kernel::calendar::Calendar;
use kernel::calendar::shift::ShiftDate;
use kernel::records::RateRecord;

/// US Treasury par yields of 2026-10-02: days and percent, bond-equivalent.
const PAR: [(f64, f64); 7] =
    [(30.0, 4.04), (91.0, 4.19), (182.0, 4.27), (365.0, 4.46), (730.0, 4.83), (1095.0, 4.96), (1826.0, 5.06)];
/// Months ahead for which dividends are known.
const MONTHS_AHEAD: i32 = 36;
/// Months for which past dividends are kept.
const MONTHS_BACK: i32 = 12;
/// Years over which a special borrow rate fades.
const BORROW_FADE: f64 = 0.25;
/// From this borrow rate on a name is special.
const BORROW_SPECIAL: f64 = 0.03;

/// The points of the discount curve of a date: continuously compounded rates by days, ascending.
pub(super) fn rates(on: Date) -> Vec<RateRecord> {
    let rate = |percent: f64| 2.0 * kernel::elementary::ln(1.0 + percent / 200.0);
    PAR.iter().map(|&(tenor_days, percent)| RateRecord { date: on, tenor_days, rate: rate(percent) }).collect()
}

/// The borrow rate to `t` years of a name whose shortest rate is `b0`: a special one fades with maturity.
pub(super) fn borrow(b0: f64, t: f64) -> f64 {
    if b0 < BORROW_SPECIAL {
        return b0;
    }
    let far = 0.3 * b0;
    far + (b0 - far) * decay_mean(t / BORROW_FADE)
}

/// The dividends of a name around a session: (ex-date, currency per share), ascending, past and future.
pub(super) fn dividends(
    payout: &Payout,
    level: f64,
    calendar: &Calendar,
    session: Date,
    name: Stream,
) -> Vec<(Date, f64)> {
    let mut out = if payout.yield_ > 0.0 { regular(payout, level, calendar, session, name) } else { Vec::new() };
    if payout.special > 0.0 {
        out.push((special_date(calendar, session), cents(payout.special * level)));
        out.sort_unstable_by_key(|d| d.0);
    }
    out
}

fn regular(payout: &Payout, level: f64, calendar: &Calendar, session: Date, name: Stream) -> Vec<(Date, f64)> {
    let first = session.first_of_month().plus_months(-MONTHS_BACK);
    let last = session.plus_months(MONTHS_AHEAD);
    let (step_months, per_year) = match payout.every {
        Every::Year => (12, 1.0),
        Every::HalfYear => (6, 2.0),
        Every::Quarter => (3, 4.0),
        Every::Month => (1, 12.0),
        Every::Week => return weekly(first, last, calendar, level * payout.yield_ / 52.0),
        Every::Session => return daily(first, last, calendar, level * payout.yield_, name),
        Every::Irregular => return irregular(first, calendar, level * payout.yield_, name),
    };
    // Ex-dates crowd into the first two weeks of the second and third month of a quarter.
    let month = i32::from(name.unit(1) < 0.5) + 1;
    let day = 1 + (name.unit(2) * 14.0) as i32;
    let amount = cents(level * payout.yield_ / per_year);
    let months = (0..MONTHS_BACK + MONTHS_AHEAD).map(|n| first.plus_months(n));
    let due = months.filter(|m| (i32::from(m.month()) - 1 - month).rem_euclid(step_months) == 0);
    due.map(|m| (calendar.session_on_or_after(m.plus_days(day - 1)), amount)).collect()
}

/// Something in three of five quarters, from a fifth to nearly four times the usual part of a year's sum.
fn irregular(first: Date, calendar: &Calendar, per_year: f64, name: Stream) -> Vec<(Date, f64)> {
    let quarters = (0..MONTHS_BACK + MONTHS_AHEAD).map(|n| first.plus_months(n));
    let quarters = quarters.filter(|m| m.month() % 3 == 2).map(|m| (m, name.sub(day_number(m) as u64)));
    let date = |m: Date, chance: Stream| m.plus_days((chance.unit(1) * 50.0) as i32);
    let due = quarters.filter(|(_, chance)| chance.unit(0) < 0.6);
    due.map(|(m, chance)| {
        let amount = cents(per_year / 2.4 * (0.2 + 1.6 * chance.unit(2)));
        (calendar.session_on_or_after(date(m, chance)), amount)
    })
    .collect()
}

/// Every Thursday, or the session before.
fn weekly(first: Date, last: Date, calendar: &Calendar, amount: f64) -> Vec<(Date, f64)> {
    let to_thursday = i32::from(first.weekday().until(jiff::civil::Weekday::Thursday));
    let dates = (0..).map(|n| first.plus_days(to_thursday + 7 * n)).take_while(|&d| d <= last);
    dates.map(|d| (calendar.session_on_or_before(d), ten_thousandths(amount))).collect()
}

/// The constituents of an index: something every session, more in the second month of a quarter.
fn daily(first: Date, last: Date, calendar: &Calendar, per_year: f64, name: Stream) -> Vec<(Date, f64)> {
    let start = calendar.session_on_or_after(first);
    let dates = core::iter::successors(Some(start), |&d| Some(calendar.next_session(d))).take_while(|&d| d <= last);
    let amount = |d: Date| {
        let season = if d.month() % 3 == 2 { 1.5 } else { 0.75 };
        let day = day_number(d) as u64;
        ten_thousandths(per_year / 252.0 * season * (0.5 + name.unit(day)))
    };
    dates.map(|d| (d, amount(d))).collect()
}

/// The ex-date of the one special dividend that is announced at a session: a date every four weeks, 2 to 29 days ahead.
fn special_date(calendar: &Calendar, session: Date) -> Date {
    let ahead = 28 - (day_number(session) + 9).rem_euclid(28);
    calendar.session_on_or_after(session.plus_days(ahead + 1))
}

/// Days since 2000-01-01, a Saturday.
pub(super) fn day_number(d: Date) -> i64 {
    d.duration_since(date(2000, 1, 1)).as_hours() / 24
}

fn cents(x: f64) -> f64 {
    (x * 100.0).round().max(1.0) / 100.0
}

fn ten_thousandths(x: f64) -> f64 {
    (x * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(yield_: f64, every: Every, special: f64) -> Vec<(Date, f64)> {
        let payout = Payout { yield_, every, special };
        dividends(&payout, 100.0, &Calendar::embedded(), date(2026, 11, 20), Stream::new(5))
    }

    #[test]
    fn a_year_of_dividends_adds_up_to_the_yield() {
        for every in [Every::Year, Every::HalfYear, Every::Quarter, Every::Month, Every::Week, Every::Session] {
            let all = of(0.052, every, 0.0);
            let calendar = Calendar::embedded();
            assert!(all.is_sorted_by_key(|d| d.0) && all.iter().all(|d| calendar.is_session(d.0)), "{every:?}");
            let year = |d: &&(Date, f64)| d.0 >= date(2027, 1, 1) && d.0 < date(2028, 1, 1);
            let sum: f64 = all.iter().filter(year).map(|d| d.1).sum();
            assert!((sum - 5.2).abs() < 0.25, "{every:?}: {sum} in 2027");
        }
    }

    #[test]
    fn one_special_dividend_is_always_near() {
        let payout = Payout { yield_: 0.0, every: Every::Quarter, special: 0.05 };
        let calendar = Calendar::embedded();
        for day in 0..90 {
            let session = calendar.session_on_or_after(date(2026, 9, 1).plus_days(day));
            let all = dividends(&payout, 100.0, &calendar, session, Stream::new(5));
            let days = day_number(all[0].0) - day_number(session);
            assert!(all.len() == 1 && (2..=33).contains(&days), "{session}: {all:?}");
        }
    }

    #[test]
    fn rates_are_those_of_the_par_curve_compounded_continuously() {
        let rates = rates(date(2026, 11, 20));
        assert!(rates.is_sorted_by(|a, b| a.tenor_days < b.tenor_days));
        for (point, (_, percent)) in rates.iter().zip(PAR) {
            let half_year = (point.rate / 2.0).exp() - 1.0;
            assert!((half_year - percent / 200.0).abs() < 1e-14, "{} days: {}", point.tenor_days, point.rate);
        }
    }

    #[test]
    fn a_special_borrow_rate_fades_and_an_easy_one_is_flat() {
        assert!((borrow(0.8, 1e-9) - 0.8).abs() < 1e-6);
        assert!(borrow(0.8, 2.0) < 0.35 && borrow(0.8, 2.0) > 0.24);
        assert!((borrow(-0.003, 1.0) + 0.003).abs() < 1e-15);
    }
}
