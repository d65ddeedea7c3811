//! One discount curve of all European expiries of a market, and when it takes the place of the one in force.
//!
//! Forward rates are constant over fixed spans. A prior curve (the last one, or Treasuries) gives their shape, the
//! expiries correct it, each by its standard error: where quotes are dense the prior has no say, and short expiries,
//! whose errors are large, lean on the others. Names are compared with each other and with the prior first, so that a
//! name with wrong quotes has no say. Never: a book, a file, a clock.

use super::curve::DiscountCurve;
use super::parity::{EuropeanExpiry, ParityDiscount, parity_discount};
use super::settings::CURVE;
use kernel::contract::Symbol;
use kernel::limits;
use kernel::solve::weighted_median;
use std::collections::BTreeMap;

/// Ends of the spans of constant forward rates, calendar days: the tenors of an implied curve.
pub const TENOR_DAYS: [f64; 12] = [7.0, 14.0, 30.0, 60.0, 91.0, 182.0, 273.0, 365.0, 547.0, 730.0, 1095.0, 1825.0];
const SPANS: usize = TENOR_DAYS.len();
const DAYS_PER_YEAR: f64 = 365.0;
/// The tenor that the curve's noise is judged from, in [`TENOR_DAYS`]: shorter ones are too noisy to move anything.
const FIRST_JUDGED: usize = 2;

type Spans = [f64; SPANS];
type Matrix = [Spans; SPANS];

/// The prior of an implied curve.
#[derive(Clone, Copy, Debug)]
pub struct PriorCurve<'a> {
    /// The curve.
    pub curve: &'a DiscountCurve,
    /// Years from the curve's own date to the quotes.
    pub age_years: f64,
}

/// A curve that European options imply.
#[derive(Clone, Debug, PartialEq)]
pub struct ImpliedCurve {
    /// The curve, with a node at each of [`TENOR_DAYS`].
    pub curve: DiscountCurve,
    /// Standard error of the rate at each of [`TENOR_DAYS`], per year.
    pub errors: Vec<f64>,
    /// Every name that had an expiry with a discount factor, by symbol.
    pub names: Vec<RateName>,
    /// Expiries that the curve is made of.
    pub expiries: usize,
}

/// Discount factors that a name implies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateName {
    /// Underlying.
    pub underlying: Symbol,
    /// Expiries with a discount factor.
    pub expiries: usize,
    /// Rate less that of the prior, per year.
    pub over_prior: f64,
    /// Standard error of that.
    pub error: f64,
    /// True if the curve is made of it too; false if it contradicts the other names or the prior.
    pub counts: bool,
}

/// Why there is no implied curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoImpliedCurve {
    /// No European expiry has a discount factor.
    NoExpiry,
    /// Every name is further from the prior than rates move.
    Implausible,
    /// The quotes do not imply a rate within its error bound.
    Uncertain,
}

impl NoImpliedCurve {
    /// Returns the reason in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoExpiry => "no European expiry has enough pairs of two-sided quotes",
            Self::Implausible => "European chains imply rates that are too far from the last known curve",
            Self::Uncertain => "quotes of European chains are too wide to imply a rate",
        }
    }
}

/// A contradiction between European chains and a given curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateDisagreement {
    /// Tenor in days.
    pub tenor_days: f64,
    /// The implied rate, per year.
    pub implied: f64,
    /// The given rate, per year.
    pub given: f64,
    /// Standard error of the implied rate.
    pub error: f64,
}

/// Returns the curve that the expiries of a market imply, whatever their order.
///
/// # Errors
/// Why none can be trusted.
///
/// # Units    rates continuously compounded per year; times in years, actual days over 365
/// # Domain   expiries of any names, some of them wrong; a prior of any age
/// # Source   Bayesian linear regression of −ln D on forward rates, Tukey's biweight for expiries; a weighted median
/// for names
/// # Cost     that of [`parity_discount`] over the expiries; the rest is a system of twelve unknowns
pub fn implied_curve(expiries: &[EuropeanExpiry<'_>], prior: PriorCurve<'_>) -> Result<ImpliedCurve, NoImpliedCurve> {
    let mut by_name: BTreeMap<Symbol, Vec<ParityDiscount>> = BTreeMap::new();
    for expiry in expiries {
        if let Some(point) = parity_discount(expiry) {
            by_name.entry(expiry.underlying).or_default().push(point);
        }
    }
    for points in by_name.values_mut() {
        points.sort_by(|a, b| a.t.total_cmp(&b.t).then(a.growth.total_cmp(&b.growth)));
    }
    let prior_growth = |years: f64| prior.curve.rate(years) * years;
    let mut names = levels(&by_name, prior_growth);
    if names.is_empty() {
        return Err(NoImpliedCurve::NoExpiry);
    }
    let most = CURVE.prior_apart + CURVE.prior_apart_per_year * prior.age_years.max(0.0);
    for name in &mut names {
        name.counts = name.over_prior.abs() <= most + CURVE.name_errors * name.error;
    }
    if !names.iter().any(|name| name.counts) {
        return Err(NoImpliedCurve::Implausible);
    }
    // names are compared along a curve of all of them: the prior's shape may be old, and names have other expiries
    let of_all = fitted(&points_of(&by_name, &names), prior_growth).ok_or(NoImpliedCurve::Uncertain)?;
    let along = levels(&by_name, |years| prior_growth(years) + of_all.over_prior(years));
    leave_out_apart(&mut names, &along);
    let points = points_of(&by_name, &names);
    let fit = fitted(&points, prior_growth).ok_or(NoImpliedCurve::Uncertain)?;
    let years = TENOR_DAYS.map(|days| days / DAYS_PER_YEAR);
    let rate = |span: usize| (prior_growth(years[span]) + fit.over_prior(years[span])) / years[span];
    let nodes: Vec<(f64, f64)> = (0..SPANS).map(|span| (years[span], rate(span))).collect();
    let errors: Vec<f64> = (0..SPANS).map(|span| fit.error(years[span]) / years[span]).collect();
    let best = errors.iter().copied().fold(f64::INFINITY, f64::min);
    let is_sound = best <= CURVE.error_most && nodes.iter().all(|&(_, rate)| limits::RATE.holds(rate));
    let curve = DiscountCurve::of_nodes(nodes).filter(|_| is_sound).ok_or(NoImpliedCurve::Uncertain)?;
    Ok(ImpliedCurve { curve, errors, names, expiries: points.len() })
}

/// The expiries of the names that count.
fn points_of(by_name: &BTreeMap<Symbol, Vec<ParityDiscount>>, names: &[RateName]) -> Vec<ParityDiscount> {
    let counted = names.iter().filter(|name| name.counts);
    counted.filter_map(|name| by_name.get(&name.underlying)).flatten().copied().collect()
}

/// Excess of each name's rates over those of a curve; `growth`: −ln D of the curve.
fn levels(by_name: &BTreeMap<Symbol, Vec<ParityDiscount>>, growth: impl Fn(f64) -> f64) -> Vec<RateName> {
    let level = |(&underlying, points): (&Symbol, &Vec<ParityDiscount>)| {
        // the median over expiries, each weighed by its error: a third of the expiries may be wrong
        let over = |point: &ParityDiscount| ((point.growth - growth(point.t)) / point.t, point.t / point.error);
        let mut by_expiry: Vec<(f64, f64)> = points.iter().map(over).collect();
        let total: f64 = by_expiry.iter().map(|(_, weight)| weight * weight).sum();
        let over_prior = weighted_median(&mut by_expiry)?;
        let error = total.recip().sqrt().max(CURVE.name_error_least);
        Some(RateName { underlying, expiries: points.len(), over_prior, error, counts: true })
    };
    by_name.iter().filter_map(level).collect()
}

/// Leaves out names that differ from the median of all names by more than names do.
fn leave_out_apart(names: &mut [RateName], along: &[RateName]) {
    let counted = names.iter().zip(along).filter(|(name, _)| name.counts);
    let mut by_name: Vec<(f64, f64)> = counted.map(|(_, level)| (level.over_prior, level.error.recip())).collect();
    let Some(centre) = weighted_median(&mut by_name) else { return };
    for (name, level) in names.iter_mut().zip(along) {
        let apart = (level.over_prior - centre).abs();
        name.counts &= apart <= CURVE.name_apart.max(CURVE.name_errors * level.error);
    }
}

/// Forward rates less the prior's, by span, with their covariance.
#[derive(Clone, Copy, Debug)]
struct Fit {
    forward: Spans,
    covariance: Matrix,
}

impl Fit {
    /// −ln D at a time less the prior's.
    fn over_prior(&self, years: f64) -> f64 {
        dot(&overlap(years), &self.forward)
    }

    /// Standard error of that.
    fn error(&self, years: f64) -> f64 {
        let a = overlap(years);
        let along: f64 = (0..SPANS).map(|i| a[i] * dot(&self.covariance[i], &a)).sum();
        along.max(0.0).sqrt()
    }
}

/// Years of each span before a time; the last span has no end.
fn overlap(years: f64) -> Spans {
    let mut out = [0.0; SPANS];
    let mut from = 0.0;
    for (span, days) in TENOR_DAYS.iter().enumerate() {
        let to = if span + 1 == SPANS { f64::INFINITY } else { days / DAYS_PER_YEAR };
        out[span] = (years.min(to) - from).max(0.0);
        from = to;
    }
    out
}

fn dot(a: &Spans, b: &Spans) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Forward rates that fit the expiries, robustly.
///
/// # Domain   expiries of names that agree; `None` where the system has no solution
/// # Source   ridge towards the prior's shape: steps between neighbouring spans have the standard deviation
/// `CURVE.forward_step`, the first span `CURVE.level`
fn fitted(points: &[ParityDiscount], prior_growth: impl Fn(f64) -> f64) -> Option<Fit> {
    let rows: Vec<(Spans, f64, f64)> =
        points.iter().map(|point| (overlap(point.t), point.growth - prior_growth(point.t), point.error)).collect();
    let mut weights = vec![1.0; rows.len()];
    let mut fit = None;
    for round in 0..CURVE.rounds {
        let solved = solved(&rows, &weights)?;
        let sizes: Vec<f64> = rows.iter().map(|(a, y, error)| (y - dot(a, &solved.forward)) / error).collect();
        let mut sorted: Vec<f64> = sizes.iter().map(|size| size.abs()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let scale = (1.4826 * sorted.get(sorted.len() / 2).copied().unwrap_or_default()).max(1.0);
        let weight = |size: &f64| {
            let kept = 1.0 - (size / (CURVE.cutoff * scale)).powi(2);
            // observations whose errors exceed their estimates get less weight
            if kept > 0.0 { kept * kept / (scale * scale) } else { 0.0 }
        };
        let next: Vec<f64> = sizes.iter().map(weight).collect();
        let moved = next.iter().zip(&weights).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        weights = next;
        fit = Some(solved);
        if round > 0 && moved < 1e-10 {
            break;
        }
    }
    fit
}

/// The normal equations with the ridge, solved; the inverse is the covariance.
fn solved(rows: &[(Spans, f64, f64)], weights: &[f64]) -> Option<Fit> {
    let mut normal: Matrix = [[0.0; SPANS]; SPANS];
    let mut right: Spans = [0.0; SPANS];
    let step = CURVE.forward_step.powi(-2);
    for span in 1..SPANS {
        normal[span][span] += step;
        normal[span - 1][span - 1] += step;
        normal[span][span - 1] -= step;
        normal[span - 1][span] -= step;
    }
    normal[0][0] += CURVE.level.powi(-2);
    for ((a, y, error), weight) in rows.iter().zip(weights) {
        let w = weight / (error * error);
        for i in 0..SPANS {
            right[i] += w * a[i] * y;
            for j in 0..SPANS {
                normal[i][j] += w * a[i] * a[j];
            }
        }
    }
    let covariance = inverse(&normal)?;
    let mut forward = [0.0; SPANS];
    for i in 0..SPANS {
        forward[i] = dot(&covariance[i], &right);
    }
    Some(Fit { forward, covariance })
}

/// The inverse of a symmetric positive definite matrix, by Cholesky's decomposition; `None` if it is not one.
fn inverse(matrix: &Matrix) -> Option<Matrix> {
    let mut low: Matrix = [[0.0; SPANS]; SPANS];
    for i in 0..SPANS {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| low[i][k] * low[j][k]).sum();
            let left = matrix[i][j] - sum;
            low[i][j] = match i == j {
                true if left > 0.0 => left.sqrt(),
                true => return None,
                false => left / low[j][j],
            };
        }
    }
    let mut out: Matrix = [[0.0; SPANS]; SPANS];
    // the inverse is symmetric: a column of it is a row
    for (column, row) in out.iter_mut().enumerate() {
        let mut x = [0.0; SPANS];
        for i in 0..SPANS {
            let sum: f64 = (0..i).map(|k| low[i][k] * x[k]).sum();
            x[i] = (f64::from(u8::from(i == column)) - sum) / low[i][i];
        }
        for i in (0..SPANS).rev() {
            let sum: f64 = (i + 1..SPANS).map(|k| low[k][i] * x[k]).sum();
            x[i] = (x[i] - sum) / low[i][i];
        }
        *row = x;
    }
    Some(out)
}

impl ImpliedCurve {
    /// True if this curve should take the place of one in force: it differs by more than noise, or has a much smaller
    /// error.
    #[must_use]
    pub fn supersedes(&self, in_force: &Self) -> bool {
        let differs = |span: usize| {
            let years = TENOR_DAYS[span] / DAYS_PER_YEAR;
            let moved = (self.curve.rate(years) - in_force.curve.rate(years)).abs();
            moved > CURVE.moved && moved > CURVE.moved_errors * self.errors[span].hypot(in_force.errors[span])
        };
        let is_better = |span: usize| self.errors[span] < CURVE.better * in_force.errors[span];
        let judged = FIRST_JUDGED..SPANS;
        judged.clone().any(differs) || 2 * judged.clone().filter(|&span| is_better(span)).count() > judged.len()
    }

    /// Returns the tenor at which a given curve lies furthest from this one, in standard errors, if that is further
    /// than errors and the difference between one way of funding and another explain.
    #[must_use]
    pub fn disagreement(&self, given: &DiscountCurve) -> Option<RateDisagreement> {
        let at = |span: usize| {
            let years = TENOR_DAYS[span] / DAYS_PER_YEAR;
            let (implied, given) = (self.curve.rate(years), given.rate(years));
            RateDisagreement { tenor_days: TENOR_DAYS[span], implied, given, error: self.errors[span] }
        };
        let apart = |d: &RateDisagreement| (d.implied - d.given).abs();
        let beyond = |d: &RateDisagreement| apart(d) > CURVE.funding + CURVE.name_errors * d.error;
        let size = |d: &RateDisagreement| apart(d) / d.error;
        (FIRST_JUDGED..SPANS).map(at).filter(beyond).max_by(|a, b| size(a).total_cmp(&size(b)))
    }
}

#[cfg(test)]
#[path = "implied_tests.rs"]
mod tests;
