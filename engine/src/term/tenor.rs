//! Constant maturities, measured by the variance clock: so many variance days ahead as a year has in so many calendar
//! days, so that a flat market has one volatility on every weekday. Never: a number beyond the last expiry.

use super::event::YEAR_DAYS;
use super::expiries::{TermExpiry, TermStructure, root};
use jiff::Timestamp;
use kernel::calendar::{ClockReading, VarianceClock};
use kernel::elementary::ln;

/// The maturities that are published, in calendar days.
pub const TENORS: [f64; 8] = [7.0, 10.0, 20.0, 30.0, 60.0, 90.0, 180.0, 365.0];

/// Readings of the variance clock at a valuation and at maturities after it, shared by names with one valuation time.
#[derive(Clone, Debug)]
pub struct Tenors {
    /// The valuation.
    pub at: Timestamp,
    clock: VarianceClock,
    now: ClockReading,
    then: Vec<Tenor>,
}

/// A maturity.
#[derive(Clone, Copy, Debug)]
struct Tenor {
    /// Calendar days.
    days: f64,
    at: Timestamp,
    reading: ClockReading,
}

/// Total variance of a maturity.
struct TenorVariance {
    /// Without the name's event.
    plain: f64,
    /// The event's, where it has passed by then; 0 where its size is not known.
    event: f64,
    has_passed: bool,
    at: Timestamp,
}

impl Tenors {
    /// The maturities [`TENORS`] from an instant.
    #[must_use]
    pub fn new(clock: &VarianceClock, at: Timestamp) -> Self {
        Self::of(clock, at, &TENORS)
    }

    /// Maturities of `days` calendar days from an instant.
    #[must_use]
    pub fn of(clock: &VarianceClock, at: Timestamp, days: &[f64]) -> Self {
        let per_day = clock.weights().year() / YEAR_DAYS;
        let then = days.iter().map(|&days| {
            let at = clock.after(at, days * per_day);
            Tenor { days, at, reading: clock.reading(at) }
        });
        Self { at, clock: clock.clone(), now: clock.reading(at), then: then.collect() }
    }

    /// True if they are those of a clock at an instant.
    #[must_use]
    pub fn are_of(&self, clock: &VarianceClock, at: Timestamp) -> bool {
        self.at == at && self.clock.is_same(clock)
    }

    /// The maturity of so many calendar days; `None`: there is none of that length.
    fn tenor(&self, days: f64) -> Option<&Tenor> {
        self.then.iter().find(|of| of.days.total_cmp(&days).is_eq())
    }
}

impl TermStructure {
    /// The volatility so many calendar days ahead. NaN: the maturity is not between two expiries, or within the days
    /// in which an event falls.
    #[must_use]
    pub fn iv(&self, tenors: &Tenors, days: f64) -> f64 {
        self.vol_at(tenors, days, |of| of.vol)
    }

    /// Interpolates as [`Self::iv`] does another volatility of each expiry, such as that of a delta.
    #[must_use]
    pub fn vol_at(&self, tenors: &Tenors, days: f64, vol: impl Fn(&TermExpiry) -> f64) -> f64 {
        let found = self.variance_at(tenors, days, vol);
        found.map_or(f64::NAN, |of| root((of.plain + of.event) / (days / YEAR_DAYS)))
    }

    /// Interpolates as [`Self::vol_at`] does, without the name's event. NaN too if it is unknown whether there is one,
    /// how large it is, or whether another one follows.
    #[must_use]
    pub fn ex_event_vol_at(&self, tenors: &Tenors, days: f64, vol: impl Fn(&TermExpiry) -> f64) -> f64 {
        let is_sure = |of: &TenorVariance| {
            self.event.is_known()
                && self.event.is_alone(days, of.at)
                && !(of.has_passed && self.event.variance.is_nan())
        };
        let found = self.variance_at(tenors, days, vol).filter(is_sure);
        found.map_or(f64::NAN, |of| root(of.plain / (days / YEAR_DAYS)))
    }

    /// In so many calendar days, the volatilities of the call and of the put of 25 delta.
    #[must_use]
    pub fn wings_at(&self, tenors: &Tenors, days: f64) -> [f64; 2] {
        [0.25, 0.75].map(|n_d1| self.vol_at(tenors, days, |of| of.vol_at(n_d1)))
    }

    /// The volatility from one maturity to a later one that both imply, where `iv` is that of so many calendar days;
    /// NaN where variance falls.
    #[must_use]
    pub fn forward_iv(iv: impl Fn(f64) -> f64, from: f64, to: f64) -> f64 {
        let variance = |days: f64| iv(days).powi(2) * days;
        ((variance(to) - variance(from)) / (to - from)).sqrt()
    }

    /// ln of the volatility in a quarter over that in a month; NaN where either is.
    #[must_use]
    pub fn slope(&self, tenors: &Tenors) -> f64 {
        let ratio = self.iv(tenors, 90.0) / self.iv(tenors, 30.0);
        // of what is missing the logarithm means nothing
        if ratio > 0.0 { ln(ratio) } else { f64::NAN }
    }

    /// True if there are expiries on both sides of a maturity.
    #[must_use]
    pub fn is_between_expiries(&self, tenors: &Tenors, days: f64) -> bool {
        let Some(tenor) = tenors.tenor(days) else { return false };
        let at = tenors.now.until(&tenor.reading, self.market_share);
        let is_past = |of: &TermExpiry| of.days_vt > at;
        let mut known = self.expiries().iter().filter(|of| of.vol.is_finite());
        known.next().is_some_and(|first| !is_past(first)) && known.any(is_past)
    }

    /// Total variance at a maturity. Between two expiries what is no event's is linear in variance days. `None`: it is
    /// not between two expiries, or its side of the event is unknown.
    fn variance_at(&self, tenors: &Tenors, days: f64, vol: impl Fn(&TermExpiry) -> f64) -> Option<TenorVariance> {
        let tenor = tenors.tenor(days)?;
        let at = tenors.now.until(&tenor.reading, self.market_share);
        let expiries = self.expiries();
        let (before, after) = expiries.split_at(expiries.partition_point(|of| of.days_vt <= at));
        // that of a delta is searched for: once for each expiry
        let known =
            |of| Some((of, vol(of))).filter(|(of, vol): &(&TermExpiry, f64)| of.holds.is_some() && vol.is_finite());
        let ((a, vol_a), (b, vol_b)) = (before.iter().rev().find_map(known)?, after.iter().find_map(known)?);
        let size = self.event.variance;
        let has_passed = if a.holds == b.holds {
            a.holds
        } else {
            self.event.known.filter(|_| size.is_finite()).and_then(|known| known.has_passed(tenor.at))
        }?;
        // where both hold one of unknown size, it is a part of both
        let event = |holds: bool| if holds && size.is_finite() { size } else { 0.0 };
        let plain = |of: &TermExpiry, vol: f64| vol.powi(2) * of.years() - event(of.holds == Some(true));
        let part = (at - a.days_vt) / (b.days_vt - a.days_vt);
        let (plain, after) = (plain(a, vol_a), plain(b, vol_b));
        let plain = plain + part * (after - plain);
        Some(TenorVariance { plain, event: event(has_passed), has_passed, at: tenor.at })
    }
}
