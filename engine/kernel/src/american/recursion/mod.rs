//! American options by one boundary-integral recursion over ex-dates.
//!
//! Between two ex-dates the value is that of holding to the later one, a European option on the premium there, plus the
//! expected present value of the flow that exercise in between earns (Kim 1990). Its boundary solves an integral
//! equation. Puts are exercised between ex-dates only, so that all later exercise is such flow, summed over moments.
//! Calls are also exercised right before ex-dates: all later exercise is one function of ln X, the premium right before
//! the next date.

mod collocation;
mod flow;
mod interval;
mod stretch;
mod window;

use super::at_date::{DatePremium, RegionEnd, Series};
use super::settings::{DATE_PREMIUM, PAIR, REACHES, RECURSION, SAME, SPOT_NODES};
use super::start::BoundaryStart;
use crate::solve::{bracketed_root, lobatto};
use collocation::Outcome;
pub(super) use flow::AmericanOption;
use flow::Slopes;
use interval::Interval;
use std::f64::consts::PI;
use stretch::{POINTS, REACH, Stretch, points};
use window::SPOT_LEAST;

/// Distances of a boundary from its end to start from, one after the other until it is found, parts of the usual start.
const STARTS: [f64; 4] = [1.0, 0.5, 2.0, 0.25];
/// ln X that stands for no lower limit. 1e-22 of a unit of currency.
const BOTTOM: f64 = -50.0;
/// Where the two boundaries meet after the interval begins, its length is shortened by this factor until both are
/// found.
const SHORTER: f64 = 0.8;
/// Most attempts to solve both boundaries, each over a shorter time. 0.8²⁴ is half a percent of the interval.
const TRIES: i32 = 24;
/// Distance of the starts from their ends, in deviations of ln X over the time left.
const PULL: f64 = 0.6;
/// Factor of that distance for the boundary that ends at rK/b.
const PULL_FAR: f64 = 0.8;
/// Greatest distance of a start from its end, of the distance to the other boundary's end. Below half, so that the two
/// do not cross.
const START_MOST: f64 = 0.4;
/// Longest step, of the distance between the ends. The two must not cross.
const STEP_MOST: f64 = 0.1;

/// A solved option: the premium of exercise after the next ex-date, and the boundary until then.
#[derive(Clone)]
pub(super) struct Solution {
    option: AmericanOption,
    now: Interval,
    /// Number of intervals whose boundary was not found to full accuracy.
    #[cfg_attr(not(test), expect(dead_code, reason = "nothing is done about it: the error is of second order"))]
    unsolved: usize,
}

impl Solution {
    /// Solves from expiry backwards. An ex-date at which nothing is exercised leaves no premium of its own.
    ///
    /// # Domain   t, σ, K above 0
    /// # Accuracy of a price 1e-7 of max(V, 5 % of S) at 99 of 100: golden/tolerances.csv, `american_div_accurate`
    /// # Cost     0.1 ms without dividends, 0.1 to 0.3 ms for each ex-date that matters
    /// # Source   docs/american.md
    pub(super) fn new(option: &AmericanOption) -> Self {
        let p = option;
        let mut bends = Bends { places: Vec::new(), kink: p.european_k.ln() };
        let mut unsolved = 0;
        let mut first = p.divs.iter().filter(|d| d.t < p.t).count();
        let from = |first: usize| if first > 0 { p.divs[first - 1].t } else { 0.0 };
        let mut interval = Interval::new(p, first, [from(first), p.t], None);
        loop {
            let before_date = first < p.divs.len();
            unsolved += usize::from(interval.solve(p, before_date, &bends) == Outcome::Unsolved);
            if first == 0 {
                return Self { option: p.clone(), now: interval, unsolved };
            }
            if p.is_put() {
                first -= 1;
                interval = interval.earlier(p, first, from(first));
                continue;
            }
            let found = interval.call_premium(p, first, &mut bends);
            first -= 1;
            interval = match found {
                Some(premium) => Interval::new(p, first, [from(first), interval.from], Some(premium)),
                None => interval.prolonged(p, first, from(first)),
            };
        }
    }

    /// Value and slopes in x = ln X now.
    pub(super) fn value(&self, x: f64) -> Slopes {
        let seen = self.now.valuation(&self.option, 0.0);
        let mut slopes = seen.value(x);
        slopes[4] += seen.fourth_of_date(x);
        slopes
    }

    /// ln B now; `None`: there is no boundary now.
    pub(super) fn boundary(&self) -> Option<f64> {
        self.now.boundary_at_begin()
    }

    /// Premiums over the European value at the ln X in `places`; the value is the payoff where the option is exercised.
    pub(super) fn premiums(&self, places: impl Iterator<Item = f64>) -> Vec<f64> {
        let p = &self.option;
        let european = AmericanOption { european_k: p.k, ..p.clone() }.european(p.t);
        let (seen, escrow) = (self.now.valuation(p, 0.0), self.now.escrow(p, 0.0));
        let premium = |x: f64| {
            let spot = x.exp();
            let value = if self.is_exercised(x) { p.phi * (spot + escrow - p.k) } else { seen.value(x)[0] };
            value - european.at(x, spot)
        };
        places.map(premium).collect()
    }

    /// True if the region of exercise has a second boundary now.
    pub(super) fn has_other(&self) -> bool {
        self.now.other.is_some()
    }

    /// True if exercise is optimal now.
    pub(super) fn is_exercised(&self, x: f64) -> bool {
        let phi = self.option.phi;
        let beyond = |boundary: f64| (x - boundary) * phi >= 0.0;
        self.boundary().is_some_and(|near| beyond(near) && self.now.other.is_none_or(|far| (x - far) * phi <= 0.0))
    }
}

impl Interval {
    /// Solves the exercise boundary of the interval; `before_date`: it ends with an ex-date.
    fn solve(&mut self, p: &AmericanOption, before_date: bool, bends: &Bends) -> Outcome {
        if !p.has_flow() || self.end - self.from < SAME.date {
            return Outcome::Solved;
        }
        if p.is_put() {
            if before_date {
                return self.solve_window(p);
            }
            if p.is_double() {
                return self.solve_pair(p);
            }
            let end = if p.b > 0.0 { (p.r * p.k / p.b).min(p.k).ln() } else { p.k.ln() };
            return self.solve_to(p, p.k.ln(), end);
        }
        if p.is_double() {
            // with dividends, exercise between the dates counts as none: 1e-3 of the value at most, for r < 0 only
            return if p.divs.is_empty() { self.solve_pair(p) } else { Outcome::Solved };
        }
        let earns = if p.b > 0.0 { p.r * p.k / p.b - self.escrow(p, self.end - SAME.instant) } else { -1.0 };
        let end = if earns > 0.0 { earns.ln().max(bends.kink) } else { bends.kink };
        let is_near = end < p.k.ln() + FAR_DEVIATIONS * p.width(p.t) + RECURSION_FAR;
        if is_near { self.solve_to(p, bends.kink, end) } else { Outcome::Solved }
    }

    /// Solves a boundary that ends at ln B = `end` with the interval, next to the `kink` of the value there.
    fn solve_to(&mut self, p: &AmericanOption, kink: f64, end: f64) -> Outcome {
        let limit = |t: f64| if p.is_put() { self.put_limit(p, t) } else { self.call_limit(p, t) };
        let low = |t: f64| if p.is_put() || p.divs.is_empty() { limit(t) } else { limit(t).max(end) };
        let mut stretch =
            Stretch { from: self.from, to: self.end, reach: REACH, ln_b: [end; POINTS], tail: [end; 3], pace: None };
        let at_end = [p.t - self.end, self.escrow(p, self.end - SAME.instant)];
        let start = BoundaryStart::new(&p.contracts::<f64>(), at_end, self.premium.as_ref(), p.european_k, kink);
        let mut outcome = Outcome::Unsolved;
        for far in STARTS {
            stretch.ln_b = points().map(|u| {
                let t = stretch.time(u * REACHES[REACH]);
                let ln_b = end + (start.at(self.end - t, end) - end) * far;
                if p.is_put() { ln_b.min(low(t)) } else { ln_b.max(low(t)) }
            });
            outcome = stretch.solve_alone(p, self, limit);
            if outcome == Outcome::Solved {
                break;
            }
        }
        self.stretch = Some(stretch);
        outcome
    }

    /// Solves both boundaries, which end at ln K and ln(rK/b) with the interval.
    fn solve_pair(&mut self, p: &AmericanOption) -> Outcome {
        let length = self.end - self.from;
        let ends = [p.k.ln(), (p.r * p.k / p.b).ln()];
        for shortened in 0..TRIES {
            let from = self.end - length * SHORTER.powi(shortened);
            let Some([near, far]) = self.pair(p, from, ends) else { continue };
            let cost = |t: f64| self.cost(p, t);
            self.later.extend(far.moments(PAIR.fixed_nodes, SPOT_NODES.last, -1.0, cost, p.b));
            if shortened == 0 {
                self.other = Some(far.ln_b[0]);
            }
            self.stretch = Some(near);
            return Outcome::Solved;
        }
        Outcome::Unsolved
    }

    /// Both boundaries from `from` on, which end at the ln B `ends`; `None`: they meet in between, or the iteration
    /// fails.
    ///
    /// # Domain  b < r < 0 of a put, r < b < 0 of a call
    /// # Shapes  the boundary that ends at the strike, and the one that ends at rK/b
    fn pair(&self, p: &AmericanOption, from: f64, ends: [f64; 2]) -> Option<[Stretch; 2]> {
        let apart = ends[1] - ends[0];
        let start = |j: usize| {
            let (end, towards) = (ends[j], if j == 0 { apart } else { -apart });
            let ln_b = points().map(|u| {
                let left = (self.end - from) * (-(u * REACHES[REACH]).powi(2)).exp();
                let pull =
                    if j == 0 { (1.0 - (left * p.r.abs()).ln().min(0.0)).sqrt() * PULL } else { PULL * PULL_FAR };
                end + towards.signum() * (p.width(left) * pull).min(START_MOST * towards.abs())
            });
            Stretch { from, to: self.end, reach: REACH, ln_b, tail: [end; 3], pace: None }
        };
        let mut both = [start(0), start(1)];
        let longest = STEP_MOST * apart.abs();
        let outcome = Stretch::solve(&mut both, p, self, longest, |_| -p.phi * f64::INFINITY);
        (outcome == Outcome::Solved).then_some(both)
    }

    /// ln of the X below which exercise of a call at `t` loses.
    fn call_limit(&self, p: &AmericanOption, t: f64) -> f64 {
        let escrow = self.escrow(p, t);
        let pays = if p.k > escrow { (p.k - escrow).ln() } else { BOTTOM };
        let earns = if p.b > 0.0 { p.r * p.k / p.b - escrow } else { -1.0 };
        if earns > 0.0 { pays.max(earns.ln()) } else { pays }
    }

    /// ln B at the begin of the interval; `None`: there is no boundary then.
    fn boundary_at_begin(&self) -> Option<f64> {
        self.stretch.as_ref().filter(|stretch| stretch.from <= self.from).map(|stretch| stretch.ln_b[0])
    }

    /// True if the option is exercised within the interval.
    fn is_exercised_within(&self) -> bool {
        self.stretch.is_some() || !self.later.is_empty()
    }

    /// The interval of a put before this one, number `first`. Puts are not exercised right at the ex-date between the
    /// two, so that all later exercise is flow: a sum over moments, and no function of X.
    fn earlier(mut self, p: &AmericanOption, first: usize, from: f64) -> Self {
        let mut beyond = self.cut.map_or_else(Vec::new, |cut| self.closing(p, cut).puts);
        beyond.extend(&self.later);
        beyond.extend(&self.ahead);
        let mut ahead = beyond.clone();
        if let Some(stretch) = &self.stretch {
            ahead.extend(stretch.nodes(self.cut.unwrap_or(stretch.to), |t| self.cost(p, t), p.b));
        }
        let mut earlier = Self::new(p, first, [from, self.from], None);
        for moment in ahead.iter() {
            earlier.at_zero[0] += moment.weight * moment.cost * (-p.r * moment.time).exp();
            earlier.at_zero[1] -= moment.weight * moment.pay * (-p.b * moment.time).exp();
        }
        (earlier.ahead, earlier.beyond) = (ahead, beyond);
        if self.cut.is_none() {
            self.next = None;
            earlier.next = Some(Box::new(self));
        }
        earlier
    }
}

/// Boundaries that lie further than this from the strike in ln X count as none; see `FAR_DEVIATIONS`.
const RECURSION_FAR: f64 = 3.0;
/// Deviations of ln X over the whole life that are added to `RECURSION_FAR`.
const FAR_DEVIATIONS: f64 = 8.0;
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
struct Bends {
    /// Boundaries and exercise points of all these dates.
    places: Vec<f64>,
    /// ln X of a call's exercise point at the earliest date solved so far; before any, of the European strike.
    kink: f64,
}

impl Interval {
    /// The premium of a call right before the ex-date at the begin of the interval, number `first` − 1; `None`: nothing
    /// is exercised there or within the interval, so that only the premium at its end counts.
    ///
    /// # Domain  the interval is solved
    fn call_premium(&self, p: &AmericanOption, first: usize, bends: &mut Bends) -> Option<DatePremium<f64>> {
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
    let root = |lo: f64, hi: f64| bracketed_root(|x| gain(x) - least, lo, hi, SAME.root).unwrap_or(0.5 * (lo + hi));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::american::draws::Draws;
    use crate::black76::{Horizon, european};
    use crate::dividends::{Dividend, Terms};

    impl Draws {
        /// An option with up to ten dividends and rates of either sign, K = 100.
        fn problem(&mut self) -> AmericanOption {
            let t = 10f64.powf(self.between(-2.5, 0.4));
            let (first, gap) = (self.between(0.01, 1.0) * t, 10f64.powf(self.between(-1.3, 0.0)));
            let n = self.between(0.0, 10.0) as usize;
            let amount = 10f64.powf(self.between(-1.5, 0.7));
            let date = |i: usize| Dividend { t: first + gap * i as f64, amount };
            let divs = (0..n).map(date).filter(|d| d.t < t).collect();
            let r = if self.unit() < 0.8 { self.between(0.0, 0.06) } else { self.between(-0.02, 0.2) };
            let b = if self.unit() < 0.5 { self.between(-0.005, 0.005) } else { self.between(-0.04, 0.3) };
            let phi = if self.unit() < 0.5 { 1.0 } else { -1.0 };
            let sigma = self.between(0.08, 0.8);
            AmericanOption::new(phi, &Terms { t, r, b, divs }, 100.0, sigma)
        }
    }

    #[test]
    fn values_exceed_payoff_and_european_value() {
        let mut draws = Draws(1);
        let mut unsolved = 0;
        for _ in 0..600 {
            let p = draws.problem();
            if p.is_double() && !p.is_put() && !p.divs.is_empty() {
                continue; // exercise between the dates counts as worthless
            }
            let solution = Solution::new(&p);
            unsolved += usize::from(solution.unsolved > 0);
            let escrow = solution.now.escrow(&p, 0.0);
            for deviations in [-3.0, -1.0, -0.2, 0.0, 0.3, 1.2, 3.0] {
                let x = p.k.ln() + deviations * p.width(p.t);
                if solution.is_exercised(x) {
                    continue;
                }
                let [value, slope, ..] = solution.value(x);
                let least = p.european(p.t).at(x, x.exp()).max(p.phi * (x.exp() + escrow - p.k));
                assert!(value >= least - 2e-5 * p.k, "{p:?} at {deviations}: {value} below {least}");
                assert!(slope.abs() <= 1.001 * (x + p.b.abs() * p.t).exp(), "{p:?} at {deviations}: slope {slope}");
            }
        }
        assert!(unsolved <= 3, "{unsolved} of 600");
    }

    #[test]
    fn value_and_slope_are_those_of_the_payoff_at_the_boundary() {
        let mut draws = Draws(2);
        let mut seen = 0;
        while seen < 200 {
            let p = draws.problem();
            let solution = Solution::new(&p);
            let Some(x) = solution.boundary() else { continue };
            seen += 1;
            let [value, slope, ..] = solution.value(x);
            let payoff = p.phi * (x.exp() + solution.now.escrow(&p, 0.0) - p.k);
            // the boundaries of puts on stock that is hard to borrow have corners, which collocation rounds off
            let most = if p.b.abs() > 0.05 { 2e-5 } else { 5e-6 };
            assert!((value - payoff).abs() <= most * p.k, "{p:?}: {value} for {payoff}");
            // next to a kink or to the end of a window the slope changes within a small part of the deviation
            assert!((slope - p.phi * x.exp()).abs() <= 2e-3 * x.exp(), "{p:?}: slope {slope} at {}", x.exp());
        }
    }

    /// The value of a call that is worth exercising at one date only, by Simpson's rule over the better of both there.
    #[test]
    fn one_date_of_exercise_agrees_with_direct_integration() {
        for (sigma, b, amount) in [(0.2, 0.0, 3.0), (0.35, -0.01, 4.0), (0.15, 0.0, 1.0)] {
            let (t, date, r, k) = (0.5, 0.3, 0.04, 100.0);
            let terms = Terms { t, r, b, divs: vec![Dividend { t: date, amount }] };
            let p = AmericanOption::new(1.0, &terms, k, sigma);
            let x = (101.0 - terms.a(0.0)).ln();
            let (width, mean) = (sigma * date.sqrt(), x + (r - b - 0.5 * sigma * sigma) * date);
            let after = Horizon::new(t - date, r, b);
            let n = 4_000;
            let at = |i: usize| {
                let z = -9.0 + 18.0 * i as f64 / n as f64;
                let spot = (mean + width * z).exp();
                let held = european(1.0, &after, spot, k, sigma).v;
                held.max(spot + amount - k) * (-0.5 * z * z).exp() / core::f64::consts::TAU.sqrt()
            };
            let weight = |i: usize| if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
            let sum: f64 = (0..=n).map(|i| weight(i) * at(i)).sum::<f64>() * 18.0 / n as f64 / 3.0;
            let (want, got) = (sum * (-r * date).exp(), Solution::new(&p).value(x)[0]);
            assert!((got - want).abs() <= 2e-6, "σ {sigma} b {b} D {amount}: {got} for {want}");
        }
    }

    /// Where b > 0 a window closes along a line whose slope is a difference of about b: next to 0 that is rounding.
    #[test]
    fn a_borrow_rate_next_to_0_changes_little() {
        let divs =
            [(0.2, 0.5), (0.45, 0.5), (0.7, 0.5), (0.95, 0.5)].map(|(t, amount)| Dividend { t, amount }).to_vec();
        for (r, sigma, t) in [(0.04, 0.25, 1.1), (0.001, 0.15, 1.1), (0.08, 0.7, 0.99), (0.04, 0.25, 0.5)] {
            let divs: Vec<Dividend> = divs.iter().copied().filter(|d| d.t < t).collect();
            let at = |b: f64, x: f64| {
                let terms = Terms { t, r, b, divs: divs.clone() };
                Solution::new(&AmericanOption::new(-1.0, &terms, 100.0, sigma)).value(x)[0]
            };
            for x in [60.0f64, 80.0, 95.0, 130.0].map(f64::ln) {
                let none = at(0.0, x);
                for b in [1e-300, 1e-17, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7, -1e-16, -1e-13, -1e-9] {
                    let little = at(b, x);
                    let moves = 2.0 * b.abs() * t * x.exp() + 3e-6 * 100.0;
                    assert!((little - none).abs() <= moves, "r {r} σ {sigma} T {t} b {b} x {x}: {little} {none}");
                }
            }
        }
    }

    /// Two boundaries, by a binomial tree that is fine enough for four digits.
    #[test]
    fn two_boundaries_agree_with_a_tree() {
        for (phi, r, b) in [(-1.0, -0.01, -0.04), (1.0, -0.05, -0.01), (-1.0, -0.02, -0.06)] {
            let (t, k, sigma) = (1.0, 100.0, 0.25);
            let p = AmericanOption::new(phi, &Terms { t, r, b, divs: vec![] }, k, sigma);
            let solution = Solution::new(&p);
            for spot in [80.0, 100.0, 120.0f64] {
                let n = 4_000;
                let step = t / f64::from(n);
                let up = (sigma * step.sqrt()).exp();
                let chance = (((r - b) * step).exp() - 1.0 / up) / (up - 1.0 / up);
                let payoff = |i: i32, j: i32| phi * (spot * up.powi(2 * j - i) - k);
                let mut values: Vec<f64> = (0..=n).map(|j| payoff(n, j).max(0.0)).collect();
                for i in (0..n).rev() {
                    for j in 0..=i {
                        let (low, high) = (values[j as usize], values[j as usize + 1]);
                        let held = (-r * step).exp() * (chance * high + (1.0 - chance) * low);
                        values[j as usize] = held.max(payoff(i, j));
                    }
                }
                let exercised = solution.is_exercised(spot.ln());
                let got = if exercised { phi * (spot - k) } else { solution.value(spot.ln())[0] };
                assert!((got - values[0]).abs() <= 3e-3, "φ {phi} r {r} b {b} at {spot}: {got} for {}", values[0]);
            }
        }
    }
}
