//! The term structure of a name as vendors summarise it: volatilities of each expiry by delta, and at constant times to
//! expiry, with forwards, rates, borrow and dividends. Never: a vendor's name, bytes.
#![warn(clippy::arithmetic_side_effects)]

use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use jiff::civil::Date;
use kernel::contract::{Right, Settle};

/// Calendar days of a year.
const YEAR_DAYS: f64 = 365.0;

/// One expiry.
#[derive(Clone, Debug)]
pub struct ExpirySummary {
    /// Date of expiry.
    pub expiry: Date,
    /// Calendar days to settlement.
    pub days: f64,
    /// Price of the underlying, currency per share.
    pub und_price: f64,
    /// Discount rate, continuously compounded, per year.
    pub disc_rate: f64,
    /// Borrow rate, continuously compounded, per year.
    pub borr_rate: f64,
    /// Yield that borrow and dividends amount to, per year: ln(S/F)/t + r.
    pub yield_rate: f64,
    /// Cash dividends to expiry, currency per share.
    pub divs: f64,
    /// Delta, volatility and confidence of the calls, by delta ascending.
    calls: Vec<[f64; 3]>,
}

impl ExpirySummary {
    /// `None`: it has no forward, or no call with a volatility.
    fn of(chain: &Chain, slice: &Slice) -> Option<Self> {
        let (delta, vol, conf) =
            (chain.columns.get(Col::Delta), chain.columns.get(Col::SvcVol), chain.columns.get(Col::ConfVol));
        let is_call = |row: &usize| chain.right[*row] == Right::Call;
        let rows = slice.rows.clone().map(|row| row as usize).filter(is_call);
        let calls = rows.map(|row| [delta[row], vol[row], conf[row]]);
        let mut calls: Vec<[f64; 3]> = calls.filter(|[delta, vol, _]| delta.is_finite() && vol.is_finite()).collect();
        calls.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let Slice { expiry, days, und_price, fwd_price, disc_rate, borr_rate, divs, .. } = *slice;
        if slice.adjusted || calls.is_empty() || !(days > 0.0 && fwd_price > 0.0 && und_price > 0.0) {
            return None;
        }
        let yield_rate = disc_rate - kernel::elementary::ln(fwd_price / und_price) * YEAR_DAYS / days;
        Some(Self { expiry, days, und_price, disc_rate, borr_rate, yield_rate, divs, calls })
    }

    /// The volatility at a call delta from 0 to 1, interpolated between strikes; beyond the last strike, that strike's.
    #[must_use]
    pub fn vol_at(&self, call_delta: f64) -> f64 {
        between(&self.calls, call_delta, |call| call[0], |call| call[1])
    }

    /// How well quotes support the curve around the money, 0 to 1.
    #[must_use]
    pub fn confidence(&self) -> f64 {
        between(&self.calls, 0.5, |call| call[0], |call| call[2])
    }
}

/// Every expiry of a name.
#[derive(Clone, Debug)]
pub struct TermStructure(Vec<ExpirySummary>);

impl TermStructure {
    /// The term structure of a chain. Of two roots that settle on one date, only the one that settles at the close
    /// counts.
    #[must_use]
    pub fn of(chain: &Chain) -> Self {
        let mut all: Vec<(Settle, ExpirySummary)> = Vec::new();
        for slice in &chain.slices {
            let Some(summary) = ExpirySummary::of(chain, slice) else { continue };
            match all.last_mut().filter(|(_, last)| last.expiry == summary.expiry) {
                Some(last) if slice.settle == Settle::Pm => *last = (slice.settle, summary),
                Some(_) => {}
                None => all.push((slice.settle, summary)),
            }
        }
        Self(all.into_iter().map(|(_, summary)| summary).collect())
    }

    /// Its expiries, ascending.
    #[must_use]
    pub fn expiries(&self) -> &[ExpirySummary] {
        &self.0
    }

    /// The volatility at a call delta and a number of calendar days. Total variance is interpolated between expiries;
    /// beyond the last expiry its volatility holds. NaN: no expiry.
    #[must_use]
    pub fn vol_at(&self, days: f64, call_delta: f64) -> f64 {
        let variance =
            between(&self.0, days, |expiry| expiry.days, |expiry| expiry.vol_at(call_delta).powi(2) * expiry.days);
        let within = days.clamp(self.0.first().map_or(days, |e| e.days), self.0.last().map_or(days, |e| e.days));
        (variance / within).sqrt()
    }

    /// The forward volatility between two numbers of days; 0 if total variance falls.
    #[must_use]
    pub fn forward_vol(&self, from: f64, to: f64) -> f64 {
        let variance = |days: f64| self.vol_at(days, 0.5).powi(2) * days;
        ((variance(to) - variance(from)) / (to - from)).max(0.0).sqrt()
    }

    /// A number of the expiries, interpolated at a number of calendar days. NaN: no expiry.
    #[must_use]
    pub fn at(&self, days: f64, number: impl Fn(&ExpirySummary) -> f64) -> f64 {
        between(&self.0, days, |expiry| expiry.days, number)
    }
}

/// Linear interpolation at `x` between points that ascend by `key`; constant beyond the ends. NaN: no point.
fn between<T>(points: &[T], x: f64, key: impl Fn(&T) -> f64, value: impl Fn(&T) -> f64) -> f64 {
    let at = points.partition_point(|point| key(point) < x);
    match (at.checked_sub(1).and_then(|below| points.get(below)), points.get(at)) {
        (Some(a), Some(b)) => {
            let part = (x - key(a)) / (key(b) - key(a));
            value(a) + part * (value(b) - value(a))
        }
        (Some(end), None) | (None, Some(end)) => value(end),
        (None, None) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn expiry(days: f64, vols: [f64; 3]) -> ExpirySummary {
        let calls = [0.25, 0.5, 0.75].into_iter().zip(vols).map(|(delta, vol)| [delta, vol, 1.0]).collect();
        ExpirySummary {
            expiry: date(2026, 12, 18),
            days,
            und_price: 100.0,
            disc_rate: 0.04,
            borr_rate: 0.0,
            yield_rate: 0.0,
            divs: days / 365.0,
            calls,
        }
    }

    #[test]
    fn volatilities_lie_between_strikes_and_total_variances_between_expiries() {
        let term = TermStructure(vec![expiry(30.0, [0.18, 0.2, 0.24]), expiry(90.0, [0.28, 0.3, 0.34])]);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
        near(term.expiries()[0].vol_at(0.6), 0.216);
        near(term.expiries()[0].vol_at(0.99), 0.24);
        near(term.vol_at(10.0, 0.5), 0.2);
        near(term.vol_at(365.0, 0.25), 0.28);
        // halfway in days: half of 0.04·30 and of 0.09·90
        near(term.vol_at(60.0, 0.5), (0.5 * (0.04 * 30.0 + 0.09 * 90.0) / 60.0f64).sqrt());
        near(term.forward_vol(30.0, 90.0), ((0.09 * 90.0 - 0.04 * 30.0) / 60.0f64).sqrt());
        near(term.at(60.0, |expiry| expiry.divs), 60.0 / 365.0);
        assert!(TermStructure(Vec::new()).vol_at(30.0, 0.5).is_nan());
    }
}
