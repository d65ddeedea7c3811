//! Constant maturities, measured by the variance clock: so many variance days ahead as a year has in so many calendar
//! days, so that a flat market has one volatility on every weekday. Never: a number beyond the last expiry.

use super::expiries::{TermExpiry, TermStructure};
use super::lines::{YEAR_DAYS, root};
use jiff::Timestamp;
use kernel::calendar::{Calendar, ClockReading};
use kernel::elementary::ln;

/// The maturities that are published, in calendar days.
pub const TENORS: [f64; 8] = [7.0, 10.0, 20.0, 30.0, 60.0, 90.0, 180.0, 365.0];

/// What the variance clock shows at a valuation and at maturities after it; of names that are valued together one.
#[derive(Clone, Debug)]
pub struct Tenors {
    /// The valuation.
    pub at: Timestamp,
    now: ClockReading,
    /// By calendar days.
    then: Vec<(f64, ClockReading)>,
}

impl Tenors {
    /// Those of [`TENORS`], seen from an instant.
    #[must_use]
    pub fn new(calendar: &Calendar, at: Timestamp) -> Self {
        Self::of(calendar, at, &TENORS)
    }

    /// Those of so many calendar days.
    #[must_use]
    pub fn of(calendar: &Calendar, at: Timestamp, days: &[f64]) -> Self {
        let clock = calendar.variance();
        let per_day = clock.weights().year() / YEAR_DAYS;
        let then = days.iter().map(|&days| (days, clock.reading(clock.after(at, days * per_day))));
        Self { at, now: clock.reading(at), then: then.collect() }
    }

    /// Variance days to a maturity, for a name that market events count so much for; NaN: it is none of these.
    fn days_vt(&self, days: f64, share: f64) -> f64 {
        let then = self.then.iter().find(|(of, _)| of.total_cmp(&days).is_eq());
        then.map_or(f64::NAN, |(_, then)| self.now.until(then, share))
    }
}

impl TermStructure {
    /// The volatility so many calendar days ahead. NaN: the maturity is not between two expiries, or within the days
    /// in which an event falls.
    #[must_use]
    pub fn iv(&self, tenors: &Tenors, days: f64) -> f64 {
        self.vol_at(tenors, days, |of| of.vol)
    }

    /// The same of another volatility of each expiry, such as that of a delta.
    #[must_use]
    pub fn vol_at(&self, tenors: &Tenors, days: f64, vol: impl Fn(&TermExpiry) -> f64) -> f64 {
        let (plain, event) = self.variance_at(tenors, days, vol);
        root((plain + event) / (days / YEAR_DAYS))
    }

    /// The same of [`Self::vol_at`] without the name's event. NaN too where it is not known whether there is one.
    #[must_use]
    pub fn ex_event_vol_at(&self, tenors: &Tenors, days: f64, vol: impl Fn(&TermExpiry) -> f64) -> f64 {
        if !self.event.is_known() {
            return f64::NAN;
        }
        let (plain, _) = self.variance_at(tenors, days, vol);
        root(plain / (days / YEAR_DAYS))
    }

    /// The volatility from one maturity to a later one that both imply; NaN where variance falls.
    #[must_use]
    pub fn forward_iv(&self, tenors: &Tenors, from: f64, to: f64) -> f64 {
        let variance = |days: f64| self.iv(tenors, days).powi(2) * days;
        ((variance(to) - variance(from)) / (to - from)).sqrt()
    }

    /// ln of the volatility in a quarter over that in a month; NaN where either is.
    #[must_use]
    pub fn slope(&self, tenors: &Tenors) -> f64 {
        ln(self.iv(tenors, 90.0) / self.iv(tenors, 30.0))
    }

    /// True if there are expiries on both sides of a maturity.
    #[must_use]
    pub fn is_between_expiries(&self, tenors: &Tenors, days: f64) -> bool {
        let at = tenors.days_vt(days, self.market_share);
        let is_past = |of: &TermExpiry| of.days_vt > at;
        let mut known = self.expiries().iter().filter(|of| of.vol.is_finite());
        known.next().is_some_and(|first| !is_past(first)) && known.any(is_past)
    }

    /// Total variance at a maturity without the name's event, and the event's if it has passed by then. Between two
    /// expiries what is no event's is linear in variance days.
    fn variance_at(&self, tenors: &Tenors, days: f64, vol: impl Fn(&TermExpiry) -> f64) -> (f64, f64) {
        const NONE: (f64, f64) = (f64::NAN, f64::NAN);
        let at = tenors.days_vt(days, self.market_share);
        let known = || self.expiries().iter().filter(|of| vol(of).is_finite());
        let before = known().rfind(|of| of.days_vt <= at);
        let after = known().find(|of| of.days_vt > at);
        let (Some(a), Some(b)) = (before, after) else { return NONE };
        if a.event == 0.0 && b.event > 0.0 {
            return NONE;
        }
        let plain = |of: &TermExpiry| vol(of).powi(2) * of.years() - of.event;
        let part = (at - a.days_vt) / (b.days_vt - a.days_vt);
        (plain(a) + part * (plain(b) - plain(a)), a.event)
    }
}
