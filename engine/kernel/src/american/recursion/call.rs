//! Calls right before an ex-date: the region of exercise, and the premium as a function of ln X.

use super::flow::AmericanOption;
use super::interval::Interval;
use super::window::SPOT_LEAST;
use crate::american::at_date::{DatePremium, RegionEnd, Series};
use crate::american::settings::{DATE_PREMIUM, RECURSION, SAME};
use crate::solve::lobatto;
use std::f64::consts::PI;

/// Boundaries that lie further than this from the strike in ln X count as none; see `FAR_DEVIATIONS`.
pub(super) const RECURSION_FAR: f64 = 3.0;
/// Deviations of ln X over the whole life that are added to `RECURSION_FAR`.
pub(super) const FAR_DEVIATIONS: f64 = 8.0;
/// Distance in ln X that is added to `RECURSION.domain`, for low volatilities.
const DOMAIN_EXTRA: f64 = 0.2;
/// The search begins this many deviations below a strike that the dividends exceed. As far as boundaries count.
const SCAN_DEVIATIONS: f64 = 8.0;
/// Distance in ln X that is added to `SCAN_DEVIATIONS`. As far as boundaries count, at low volatility.
const SCAN_EXTRA: f64 = 2.0;
/// Step of ln X in which the slope of a gain is taken at the end of the domain. The gain is a line in X there, so that
/// the step hardly matters.
const SLOPE_STEP: f64 = 1e-3;
/// Size of the last terms of a resolved series (part of the strike).
const RESOLVED: f64 = 3e-9;
/// Terms below this are dropped (part of the strike). A thousandth of what is resolved.
const DROPPED: f64 = 1e-12;

/// Points in ln X where the premium bends, from the dates solved so far.
pub(super) struct Bends {
    /// Boundaries and exercise points of all these dates.
    pub(super) places: Vec<f64>,
    /// ln X of a call's exercise point at the earliest date solved so far; before any, of the European strike.
    pub(super) kink: f64,
}

impl Interval {
    /// The premium of a call right before the ex-date at the begin of the interval, number `first` − 1; `None`: nothing
    /// is exercised there or within the interval, so that only the premium at its end counts.
    ///
    /// # Domain  the interval is solved
    pub(super) fn call_premium(&self, p: &AmericanOption, first: usize, bends: &mut Bends) -> Option<DatePremium<f64>> {
        let (t, tau) = (self.from, p.t - self.from);
        let near = self.boundary_at_begin();
        let domain = PremiumRange::new(p, tau, near, bends);
        let (after, before) = (self.escrow(p, t), self.escrow(p, t) + p.divs[first - 1].amount);
        let is_later = self.premium.is_some() || self.stretch.is_some();
        let seen = self.valuation(p, t);
        let held = |x: f64| if is_later { seen.premium(x) } else { [0.0; 2] };
        let opposite = AmericanOption { phi: -p.phi, ..p.clone() }.european(tau);
        // payoff of exercise right before the date less the European value
        let exercise = |x: f64| {
            let (spot, kept) = (x.exp(), before - p.k + p.european_k * (-p.r * tau).exp());
            spot * -(-p.b * tau).exp_m1() + kept - opposite.at(x, spot)
        };
        let gain = |x: f64| match near {
            Some(near) if x >= near => before - after,
            _ => exercise(x) - held(x)[0],
        };
        let region = call_region(p, &gain, &domain, near, before);
        bends.kink = match region {
            Some((from, _)) => from,
            None if p.b > 0.0 => (p.k - after).max(SPOT_LEAST).ln(),
            None => f64::INFINITY,
        };
        bends.places.extend(region.map(|(from, _)| from));
        if region.is_none() && !self.is_exercised_within() {
            return None;
        }
        // the tangent at x, as a line in X
        let line_at = |x: f64| {
            let [value, slope] = held(x);
            [value - slope, slope / x.exp()]
        };
        let (boundary, exercised) = (region.map_or(domain.hi, |(from, _)| from), region.is_some());
        let bottom = p.k.ln() - RECURSION.domain * p.width(tau) - domain.drift - DOMAIN_EXTRA;
        let end = region.filter(|(_, to)| to.is_finite()).map(|(_, x)| {
            let top = x.max(domain.hi);
            let line = line_at(top);
            let off_line = |x: f64| held(x)[0] - line[1].mul_add(x.exp(), line[0]);
            RegionEnd { x, line, series: (is_later && x < top).then(|| series(p, x, top, off_line)) }
        });
        Some(DatePremium {
            phi: p.phi,
            rates: [p.r, p.b],
            tau,
            collected: before - (p.k - p.european_k),
            k: p.european_k,
            sigma: p.sigma,
            boundary,
            exercised,
            line: line_at(boundary),
            edge: if exercised { exercise(boundary) } else { held(boundary)[0] },
            series: (is_later && boundary > bottom).then(|| series(p, boundary, bottom, |x| held(x)[0])),
            end,
        })
    }
}

/// Chebyshev series of `f` in the distance from ln X = `from`, until `to`, with as many terms as resolve it.
fn series(p: &AmericanOption, from: f64, to: f64, f: impl Fn(f64) -> f64) -> Series<f64> {
    let sample = |u: f64| f(from + (to - from) * 0.5 * (1.0 + u));
    let mut n = DATE_PREMIUM.samples;
    let mut values: Vec<f64> = lobatto(n).into_iter().map(sample).collect();
    let mut terms = coefficients(&values);
    while n < DATE_PREMIUM.most_samples && terms[n - 2..].iter().any(|c| c.abs() > RESOLVED * p.k) {
        n *= 2;
        // half of the values are reused when their number doubles
        let places = lobatto(n).into_iter().enumerate();
        values = places.map(|(i, u)| if i % 2 == 0 { values[i / 2] } else { sample(u) }).collect();
        terms = coefficients(&values);
    }
    let last = terms.iter().rposition(|c| c.abs() > DROPPED * p.k).unwrap_or(0);
    terms.truncate(last + 1);
    ((to - from).abs() / p.sigma, terms)
}

/// Coefficients of the Chebyshev series through values at cos(πi/n).
fn coefficients(values: &[f64]) -> Vec<f64> {
    let n = values.len() - 1;
    let cos: Vec<f64> = (0..2 * n).map(|i| (PI * i as f64 / n as f64).cos()).collect();
    let end = |i: usize| if i == 0 || i == n { 0.5 } else { 1.0 };
    let term = |j: usize| -> f64 { values.iter().enumerate().map(|(i, v)| v * end(i) * cos[i * j % (2 * n)]).sum() };
    (0..=n).map(|j| term(j) * 2.0 / n as f64 * end(j)).collect()
}

/// The ends in ln X of a call's exercise region right before an ex-date; the upper end is infinite unless b < 0.
///
/// # Domain  one region at most; with b < 0 its upper end lies within `domain`, or on the line beyond it
fn call_region(
    p: &AmericanOption,
    gain: &dyn Fn(f64) -> f64,
    domain: &PremiumRange,
    near: Option<f64>,
    before: f64,
) -> Option<(f64, f64)> {
    let deviation = p.width(p.t);
    let lo = if p.k > before { (p.k - before).ln() } else { p.k.ln() - SCAN_DEVIATIONS * deviation - SCAN_EXTRA };
    let hi = near.unwrap_or(domain.hi).min(domain.hi);
    let least = SAME.no_gain * p.k;
    let root = |lo: f64, hi: f64| {
        crate::solve::bracketed_root(|x| gain(x) - least, lo, hi, SAME.root).unwrap_or(0.5 * (lo + hi))
    };
    let mut last = (lo, gain(lo));
    let mut from = (last.1 > 0.0).then_some(lo);
    let mut to = f64::INFINITY;
    for j in 1..=RECURSION.scan {
        let x = lo + (hi - lo) * j as f64 / RECURSION.scan as f64;
        let here = gain(x);
        if from.is_none() && here > least && last.1 <= least {
            from = Some(root(last.0, x));
        } else if from.is_some() && here <= 0.0 && last.1 > 0.0 {
            to = root(last.0, x);
            break;
        }
        last = (x, here);
    }
    let from = from.or_else(|| near.filter(|near| *near <= domain.hi))?;
    if to.is_infinite() && p.b < 0.0 && near.is_none() {
        // beyond the domain the gain is a line in X
        let (top, below) = (gain(domain.hi), gain(domain.hi - SLOPE_STEP));
        let slope = (top - below) / SLOPE_STEP;
        if slope < 0.0 && top > slope {
            to = (domain.hi + ((top - slope) / -slope).ln()).max(domain.hi);
        }
    }
    Some((from, to))
}

/// Range of ln X over which the premium of a call is tabulated.
struct PremiumRange {
    /// The upper end.
    hi: f64,
    /// Greatest drift of ln X until expiry.
    drift: f64,
}

impl PremiumRange {
    fn new(p: &AmericanOption, tau: f64, near: Option<f64>, bends: &Bends) -> Self {
        let width = p.width(tau);
        let drift = (p.r - p.b).abs() * tau + 0.5 * width * width;
        let ln_k = p.k.ln();
        let away = FAR_DEVIATIONS * p.width(p.t) + RECURSION_FAR;
        let places = bends.places.iter().copied().chain(near).filter(|x| (x - ln_k).abs() < away);
        Self { hi: places.fold(ln_k, f64::max) + RECURSION.domain * width + drift + DOMAIN_EXTRA, drift }
    }
}
