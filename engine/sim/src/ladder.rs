//! Listed contracts: expiration dates per root, strikes per expiry. Never: a price, a clock.

use super::rng::Stream;
use super::tier::Tier;
use jiff::civil::{Date, Weekday};
use kernel::calendar::Calendar;
use kernel::calendar::shift::ShiftDate;
use std::collections::BTreeSet;

/// Number of expirations of each kind that a root lists, counted from the session on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrikeLadder {
    /// Sessions in a row.
    pub sessions: u8,
    /// Weeks with a Monday and a Wednesday series.
    pub mondays_wednesdays: u8,
    /// Weeks with a Friday series.
    pub fridays: u8,
    /// Month ends.
    pub month_ends: u8,
    /// Quarter ends.
    pub quarter_ends: u8,
    /// Third Fridays.
    pub monthlies: u8,
    /// Further third Fridays on the name's own quarterly cycle.
    pub cycle: u8,
    /// Years with a January series.
    pub januaries: u8,
    /// Years with a June series.
    pub junes: u8,
    /// Years with a December series.
    pub decembers: u8,
    /// Volatility index: months, or the Wednesdays between.
    pub volatility: Volatility,
    /// Minimum number of dates: third Fridays are added until it is reached.
    pub least: u8,
}

/// The series of a volatility index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// None.
    No,
    /// The monthly dates of so many months.
    Months(u8),
    /// The Wednesdays of so many weeks that are no monthly date.
    Weeks(u8),
}

pub(super) const EMPTY: StrikeLadder = StrikeLadder {
    sessions: 0,
    mondays_wednesdays: 0,
    fridays: 0,
    month_ends: 0,
    quarter_ends: 0,
    monthlies: 0,
    cycle: 0,
    januaries: 0,
    junes: 0,
    decembers: 0,
    volatility: Volatility::No,
    least: 0,
};

#[rustfmt::skip]
impl StrikeLadder {
    /// The AM root of the largest index: third Fridays, quarterly, Decembers far out.
    pub const INDEX_AM_LONG: Self = Self { monthlies: 9, cycle: 3, decembers: 4, ..EMPTY };
    /// The AM root of another index.
    pub const INDEX_AM: Self = Self { monthlies: 5, cycle: 2, decembers: 2, ..EMPTY };
    /// The PM root of the largest index: every session.
    pub const INDEX_DAILY: Self = Self { sessions: 22, fridays: 9, month_ends: 5, quarter_ends: 4, monthlies: 3, ..EMPTY };
    /// The PM root of another index.
    pub const INDEX_WEEKLY: Self = Self { sessions: 7, fridays: 5, month_ends: 2, quarter_ends: 2, ..EMPTY };
    /// A reduced-value index.
    pub const INDEX_MINI: Self = Self { sessions: 10, fridays: 6, month_ends: 3, monthlies: 4, ..EMPTY };
    /// A thinly traded index.
    pub const INDEX_THIN: Self = Self { fridays: 4, monthlies: 4, decembers: 1, ..EMPTY };
    /// VIX.
    pub const VIX: Self = Self { volatility: Volatility::Months(8), ..EMPTY };
    /// VIX between its monthly dates.
    pub const VIX_WEEKLY: Self = Self { volatility: Volatility::Weeks(6), ..EMPTY };
    /// The expirations that an adjusted root still lists.
    pub const ADJUSTED: Self = Self { monthlies: 2, januaries: 1, ..EMPTY };

    /// The usual ladder of a tier.
    #[must_use]
    pub const fn of(tier: Tier) -> Self {
        match tier {
            Tier::Index => Self::INDEX_AM,
            Tier::Broad => Self { sessions: 8, fridays: 5, month_ends: 2, quarter_ends: 2, monthlies: 4, januaries: 2, junes: 1, ..EMPTY },
            Tier::Mega => Self { fridays: 5, monthlies: 3, cycle: 2, januaries: 2, junes: 1, ..EMPTY },
            Tier::Weekly => Self { fridays: 4, monthlies: 2, cycle: 2, januaries: 1, ..EMPTY },
            Tier::Monthly => Self { monthlies: 2, cycle: 2, januaries: 1, ..EMPTY },
            Tier::Tail => Self { monthlies: 2, cycle: 2, ..EMPTY },
        }
    }

    /// The ladder with all near dates and fewer far ones.
    pub(super) fn slim(self) -> Self {
        Self {
            quarter_ends: self.quarter_ends.min(1),
            monthlies: self.monthlies.min(3),
            cycle: self.cycle.min(1),
            januaries: self.januaries.min(1),
            junes: 0,
            ..self
        }
    }

    /// The listed dates from `from` on, ascending.
    pub(super) fn expirations(&self, calendar: &Calendar, from: Date, cycle_month: u8) -> Vec<Date> {
        let mut dates = BTreeSet::new();
        let mut add = |n: u8, all: &mut dyn Iterator<Item = Date>| dates.extend(all.filter(|&d| d >= from).take(n.into()));
        add(self.sessions, &mut sessions(calendar, from));
        add(2 * self.mondays_wednesdays, &mut weekly(calendar, from, &[Weekday::Monday, Weekday::Wednesday]));
        add(self.fridays, &mut weekly(calendar, from, &[Weekday::Friday]));
        add(self.month_ends, &mut months(from).map(|m| calendar.month_end_expiry(m)));
        add(self.quarter_ends, &mut months(from).filter(|m| m.month() % 3 == 0).map(|m| calendar.month_end_expiry(m)));
        add(self.monthlies, &mut months(from).map(|m| calendar.monthly_expiry(m)));
        let third = |on: &'static dyn Fn(Date) -> bool| months(from).filter(move |&m| on(m)).map(|m| calendar.monthly_expiry(m));
        add(self.januaries, &mut third(&|m| m.month() == 1));
        add(self.junes, &mut third(&|m| m.month() == 6));
        add(self.decembers, &mut third(&|m| m.month() == 12));
        let after = i32::from(self.monthlies);
        let cycle = months(from.plus_months(after)).filter(|m| m.month().unsigned_abs() % 3 == cycle_month % 3);
        add(self.cycle, &mut cycle.map(|m| calendar.monthly_expiry(m)));
        match self.volatility {
            Volatility::No => {}
            Volatility::Months(n) => add(n, &mut months(from).map(|m| calendar.vix_expiry(m))),
            Volatility::Weeks(n) => add(n, &mut weekly(calendar, from, &[Weekday::Wednesday]).filter(|&d| d != monthly_of_week(calendar, d))),
        }
        for month in months(from).take(24) {
            if dates.len() >= usize::from(self.least) {
                break;
            }
            dates.extend(Some(calendar.monthly_expiry(month)).filter(|&d| d >= from));
        }
        dates.into_iter().collect()
    }
}

/// The volatility index's monthly date if it falls into the week of `d`, else another date.
fn monthly_of_week(calendar: &Calendar, d: Date) -> Date {
    let monthly = calendar.vix_expiry(d);
    let apart = (d.duration_since(monthly).as_hours() / 24).abs();
    if apart <= 1 { d } else { monthly }
}

fn sessions(calendar: &Calendar, from: Date) -> impl Iterator<Item = Date> {
    core::iter::successors(Some(calendar.session_on_or_after(from)), |&d| Some(calendar.next_session(d)))
}

fn weekly<'a>(calendar: &'a Calendar, from: Date, on: &'a [Weekday]) -> impl Iterator<Item = Date> + 'a {
    let days = (0..400).map(move |n| from.plus_days(n));
    days.filter(|d| on.contains(&d.weekday())).map(|d| calendar.weekly_expiry(d))
}

/// The first days of the months from that of `from` on, six years of them.
fn months(from: Date) -> impl Iterator<Item = Date> {
    let first = from.first_of_month();
    (0..72).map(move |n| first.plus_months(n))
}

/// Inputs of the strikes of an expiry.
#[derive(Clone, Copy, Debug)]
pub(super) struct StrikeRange {
    pub(super) tier: Tier,
    /// Spot when the series was listed.
    pub(super) spot: f64,
    /// Years to settlement.
    pub(super) t: f64,
    /// Volatility at the money.
    pub(super) sigma: f64,
    /// Listed in half steps and closer: VIX.
    pub(super) volatility_index: bool,
    /// A name that pays dividends: fewer far strikes, as American values are dear there.
    pub(super) pays: bool,
}

impl StrikeRange {
    /// The strikes in thousandths, ascending: step `h` near the money, wider outwards, and a few left over from where
    /// the spot has been.
    pub(super) fn strikes(&self, stale: Stream) -> Vec<u32> {
        let h = self.step();
        let wide_step = f64::from(h) / 1000.0;
        let sd = (self.sigma * self.t.sqrt()).max(self.least_sd()).max(wide_step / self.spot);
        let (low, high) = self.bounds();
        let (low, high) = (low.min(self.spot - 3.0 * wide_step), high.max(self.spot + 4.0 * wide_step));
        let first = (low.max(0.0) * 1000.0 / f64::from(h)).ceil() as u32;
        let last = (high * 1000.0 / f64::from(h)).floor() as u32;
        let mut strikes: Vec<u32> = (first.max(1)..=last)
            .filter(|n| n % self.spacing(f64::from(n * h) / 1000.0, sd) == 0)
            .map(|n| n * h)
            .collect();
        let wide = 8 * h;
        let leftovers = strikes.len() as u64 / 12;
        for i in 0..leftovers {
            let edge = if stale.unit(i) < 0.6 { low.max(0.0) } else { high };
            let at = edge * (1.0 + 0.15 * stale.signed(i + 1000));
            strikes.push(((at * 1000.0 / f64::from(wide)) as u32).max(1) * wide);
        }
        strikes.sort_unstable();
        strikes.dedup();
        strikes.retain(|&k| f64::from(k) >= 50.0 && f64::from(k) < 99_999_999.0);
        strikes
    }

    /// Distance of strikes at `k` in steps: 1, doubled at 1.5 and 3 standard deviations, and for far expiries.
    fn spacing(&self, k: f64, sd: f64) -> u32 {
        let away = (k / self.spot - 1.0).abs() / sd;
        let zone = if away > 3.0 {
            4
        } else if away > 1.5 {
            2
        } else {
            1
        };
        zone * match self.t {
            t if t > 1.5 => 4,
            t if t > 0.35 => 2,
            _ => 1,
        }
    }

    /// The least and greatest regular strike.
    fn bounds(&self) -> (f64, f64) {
        let reach = (2.5 * self.sigma * self.t.sqrt()).min(3.0);
        let (least, most): (f64, f64) = match (self.t, self.tier) {
            _ if self.pays => (0.65, 1.35),
            (t, _) if t > 1.5 => (0.25, 1.9),
            (t, Tier::Index | Tier::Broad) if t < 0.06 => (0.62, 1.22),
            (t, _) if t < 0.06 => (0.60, 1.4),
            _ => (0.45, 1.5),
        };
        let grow = kernel::elementary::exp(reach);
        if self.pays {
            return (self.spot * least, self.spot * most);
        }
        (self.spot * least.min(1.0 / grow), self.spot * most.max(grow.min(2.6)))
    }

    /// The least standard deviation that the zones of the ladder are measured in.
    fn least_sd(&self) -> f64 {
        match self.tier {
            Tier::Index | Tier::Broad => 0.022,
            Tier::Mega | Tier::Weekly => 0.03,
            Tier::Monthly | Tier::Tail => 0.10,
        }
    }

    /// The finest step near the money, thousandths.
    fn step(&self) -> u32 {
        if self.spot < 10.0 {
            return if self.spot < 5.0 { 500 } else { 1000 };
        }
        if self.volatility_index {
            return if self.t < 0.2 { 500 } else { 1000 };
        }
        let by_price = |steps: [u32; 5]| match self.spot {
            s if s < 25.0 => steps[0],
            s if s < 75.0 => steps[1],
            s if s < 150.0 => steps[2],
            s if s < 500.0 => steps[3],
            _ => steps[4],
        };
        let by_term = |steps: [u32; 3]| match self.t {
            t if t < 0.012 => steps[0],
            t if t < 0.12 => steps[1],
            _ => steps[2],
        };
        match self.tier {
            Tier::Index if self.spot > 15_000.0 => 200_000,
            Tier::Index if self.spot > 5_000.0 => by_term([10_000, 25_000, 50_000]),
            Tier::Index if self.spot > 1_000.0 => 25_000,
            Tier::Index => by_term([1_000, 5_000, 5_000]),
            Tier::Broad => by_term([1_000, 2_000, 5_000]),
            Tier::Mega if self.t < 0.12 => by_price([500, 1000, 1000, 2500, 5000]),
            Tier::Mega => by_price([1000, 2500, 5000, 10_000, 20_000]),
            Tier::Weekly if self.t < 0.12 => by_price([500, 1000, 2500, 5000, 10_000]),
            Tier::Weekly => by_price([1000, 2500, 5000, 10_000, 20_000]),
            Tier::Monthly => by_price([1000, 2500, 5000, 5000, 10_000]),
            Tier::Tail => by_price([2500, 5000, 5000, 5000, 10_000]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn every_expiration_is_a_session_and_none_is_past() {
        let calendar = Calendar::embedded();
        let from = date(2026, 11, 20);
        let tiers = [Tier::Broad, Tier::Mega, Tier::Weekly, Tier::Monthly, Tier::Tail].map(StrikeLadder::of);
        let indices =
            [StrikeLadder::INDEX_AM_LONG, StrikeLadder::INDEX_DAILY, StrikeLadder::VIX, StrikeLadder::VIX_WEEKLY];
        for ladder in tiers.iter().chain(&indices) {
            let dates = ladder.expirations(&calendar, from, 1);
            assert!(dates.len() >= 4 && dates.is_sorted(), "{ladder:?}: {dates:?}");
            assert!(dates.iter().all(|&d| d >= from && calendar.is_session(d)), "{ladder:?}: {dates:?}");
        }
    }

    #[test]
    fn volatility_index_dates_are_the_published_ones() {
        let calendar = Calendar::embedded();
        let monthly = StrikeLadder::VIX.expirations(&calendar, date(2026, 11, 20), 1);
        // The third Friday of January 2027 is the 15th; 30 days before it is Wednesday 2026-12-16.
        assert_eq!(monthly[0], date(2026, 12, 16));
        // Juneteenth 2027 is observed on Friday 18, so June expires on Thursday 17: 30 days before is Tuesday
        // 2027-05-18.
        assert!(monthly.contains(&date(2027, 5, 18)), "{monthly:?}");
        let weekly = StrikeLadder::VIX_WEEKLY.expirations(&calendar, date(2026, 11, 20), 1);
        assert!(weekly.iter().all(|d| !monthly.contains(d)), "a date of both roots: {weekly:?}");
    }

    #[test]
    fn strikes_are_on_the_step_ascend_and_span_the_money() {
        for (tier, spot, t) in [(Tier::Index, 7000.0, 0.1), (Tier::Weekly, 71.0, 0.05), (Tier::Tail, 3.4, 0.3)] {
            let range = StrikeRange { tier, spot, t, sigma: 0.3, volatility_index: false, pays: false };
            let strikes = range.strikes(Stream::new(1));
            assert!(strikes.windows(2).all(|w| w[0] < w[1]), "{tier:?}: {strikes:?}");
            assert!(strikes.iter().all(|k| k % range.step() == 0), "{tier:?}: {strikes:?}");
            let below = strikes.iter().filter(|&&k| f64::from(k) < spot * 1000.0).count();
            assert!(below >= 1 && strikes.len() > below, "{tier:?}: {strikes:?}");
        }
    }
}
