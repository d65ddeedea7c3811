//! Calls that are worth exercising right before ex-dates, and between them where that pays: the premium at each date
//! from that at the next.
//!
//! Above the boundary of a date the call is exercised, and its premium is known in closed form. Below it the premium is
//! the expectation of the premium at the next date plus the flow of exercise until then; a Chebyshev series in the
//! distance from the boundary keeps it. One strike and volatility a lane. Never: a table.

use super::between_dates::ExerciseBoundary;
use super::periods::{
    DateSolution, FAR_LEAST, HeldPremium, LaterExercise, Period, Problem, REFERENCE_FAR, far_deviations, top_deviations,
};
use super::time_between::Fineness;
use crate::american::at_date::{DatePremium, RegionEnd};
use crate::american::settings::{BETWEEN, SAME};
use crate::black76::European;
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::lanes::{InLanes, Lanes, Mask};
use std::sync::Arc;

/// Tolerance of a call's boundary right before a date (standard deviations). Premiums are of second order in it.
const BETWEEN_FOUND: f64 = 1e-5;
/// Standard deviations above K beyond which no boundary is looked for. What exercise could gain there is below 1e-7 of
/// K.
const NOWHERE: f64 = 5.0;
/// Places at which a region that ends is looked for. A region that lies between two of them is worth next to nothing.
const SCAN: usize = 8;
/// [`SCAN`] of reference values.
const REFERENCE_SCAN: usize = 60;
/// Most steps of the search for a boundary.
const DATES_STEPS: usize = 60;
/// Steps after which every second one halves the bracket.
const HALVED_AFTER: usize = 10;
/// First step of the search for a boundary (standard deviations). A quarter of what ln X moves by.
const FIRST_STEP: f64 = 0.25;
/// A shorter step ends the search for a boundary (standard deviations).
const DATES_FOUND: f64 = 1e-8;
/// A region counts as endless if it reaches this far above its begin, in deviations until the date; see
/// `ENDLESS_EXTRA`. A spot leaves it in one case of a thousand.
const ENDLESS: f64 = 3.0;
/// Distance in ln X that is added to `ENDLESS`. A tenth of the spot.
const ENDLESS_EXTRA: f64 = 0.1;
/// A period in which borrow is worth more than this part of the stock is solved as the first ones are: at 2.5 %,
/// quarterly, later ones would leave 1.5e-7 of the strike in place of 1e-8.
const EARNS_LATER: f64 = 0.01;
/// Distance in ln X beyond all bends of a premium, in reference values, from which on it is a line in X; for low
/// volatilities.
const TOP_EXTRA: f64 = 0.2;

impl<L: InLanes<L>> DateSolution<L> {
    /// Solves a block of calls back to right before the date at which the first of `periods` ends; with `now`, to the
    /// begin of that period, which is now. `None`: a boundary between dates is not found.
    ///
    /// # Shapes  one contract per lane
    /// # Cost    10 µs a date for eight contracts that are exercised at dates only, 0.1 ms where they are between dates
    pub(super) fn of_calls(terms: &Terms, periods: &[Arc<Period>], now: bool, contracts: [L; 2]) -> Option<Self> {
        let [k, sigma] = contracts;
        let last = periods.last()?;
        let mut later = LaterExercise::new(last, None, last.solve(None, None, k, sigma)?);
        for pair in periods.windows(2).rev() {
            let (before, date) = (&pair[0], pair[1].from);
            let decision = ExerciseDecision::new(terms, date, k, sigma, before.is_reference);
            let region = decision.region(&later, before.to - before.from);
            let is_first = before.from == 0.0;
            let at = (!is_first || now || before.stretch.is_some()).then(|| decision.premium(&region, &later));
            let between = before.solve(at.as_ref(), Some(&later), k, sigma)?;
            if is_first && !now {
                return Some(Self {
                    k,
                    sigma,
                    boundary: L::select(region.exercised, region.boundary, L::splat(f64::NAN)),
                    is_exercised: region.exercised.any(),
                    has_end: region.ends_near,
                    far: decision.far(),
                    held: HeldPremium::Lanes { later: Box::new(later), at: at.map(Box::new) },
                    before: between,
                    windows: Vec::new(),
                    after_last: None,
                });
            }
            later = LaterExercise::new(before, at, between);
        }
        let boundary = later.between.as_ref().map_or(L::splat(f64::NAN), ExerciseBoundary::begin);
        Some(Self {
            k,
            sigma,
            boundary,
            is_exercised: later.between.is_some(),
            has_end: false,
            far: ExerciseDecision::new(terms, 0.0, k, sigma, last.is_reference).far(),
            held: HeldPremium::Lanes { later: Box::new(later), at: None },
            before: None,
            windows: Vec::new(),
            after_last: None,
        })
    }
}

/// The ex-dates from `from` on.
pub(super) fn dates_of(terms: &Terms, from: f64) -> Vec<f64> {
    let mut dates: Vec<f64> = terms.divs.iter().map(|d| d.t).filter(|t| *t > from - SAME.date).collect();
    dates.dedup_by(|a, b| (*a - *b).abs() < SAME.date);
    dates
}

/// The periods of calls from the one before the first date at or after `date` until expiry.
pub(super) fn call_periods(problem: &Problem, date: f64) -> Vec<Arc<Period>> {
    let Problem { ref terms, stop, continuous, fineness, .. } = *problem;
    let ends = [&[0.0], &dates_of(terms, date.max(stop))[..], &[terms.t]].concat();
    let is_reference = fineness.is_reference();
    let period = |ends: &[f64]| {
        let [from, to] = [ends[0], ends[1]];
        let earned = terms.b * (to - from);
        // rounding hides the boundary of a stretch over which exercise earns next to nothing
        let pays = continuous && (earned > BETWEEN.earns_least || terms.r < 0.0);
        let may_be_coarse = to < terms.t && earned <= EARNS_LATER;
        let fineness = match fineness {
            Fineness::Reference => fineness,
            _ if may_be_coarse => Fineness::of(date.max(0.0), [from, to]),
            _ => Fineness::First,
        };
        Arc::new(Period::new(terms, from, to, pays.then_some(fineness), is_reference))
    };
    ends.windows(2).map(period).collect()
}

/// The decision on exercise right before one date, by lane.
struct ExerciseDecision<L> {
    is_reference: bool,
    rates: [f64; 2],
    /// Years from the date to expiry.
    tau: f64,
    /// Value at the date of the dividends from it on.
    collected: f64,
    /// The dividend of the date.
    dividend: f64,
    k: L,
    sigma: L,
    ln_k: L,
    /// Standard deviation of ln X from the date to expiry, and from now to expiry.
    width: L,
    whole: L,
    /// Cost of exercise, K·(1 − e^(−rτ)), and its saving per unit of X, 1 − e^(−bτ).
    interest: L,
    borrow: f64,
    put: European<L>,
}

impl<L: InLanes<L>> ExerciseDecision<L> {
    fn new(terms: &Terms, t: f64, k: L, sigma: L, is_reference: bool) -> Self {
        let tau = terms.t - t;
        Self {
            is_reference,
            rates: [terms.r, terms.b],
            tau,
            collected: terms.a(t - SAME.instant),
            dividend: terms.a(t - SAME.instant) - terms.a(t),
            k,
            sigma,
            ln_k: ln(k),
            width: sigma * tau.sqrt(),
            whole: sigma * terms.t.sqrt(),
            interest: k * -(-terms.r * tau).exp_m1(),
            borrow: -(-terms.b * tau).exp_m1(),
            put: European::new(-1.0, k, sigma, tau, terms.r, terms.b),
        }
    }

    /// ln X below which the premium is negligible.
    fn far(&self) -> L {
        let far = self.width * far_deviations(self.is_reference);
        ln((self.k - self.collected).max(self.k * FAR_LEAST)) - far
    }

    /// The two sides of the decision at ln X = `x`: the value of waiting less (X − K), and the amount that exercise
    /// keeps.
    fn sides(&self, later: &LaterExercise<L>, x: L) -> (L, L) {
        let spot = exp(x);
        let held = later.premium(x);
        let kept = spot.mul_add(L::splat(self.borrow), L::splat(self.collected) - self.interest);
        (self.put.at(x, spot) + held, kept)
    }

    /// The region in which exercise gains; `wait`: years until the date.
    ///
    /// # Shapes  one contract per lane
    /// # Accuracy  `DATES_FOUND`: premiums are of second order in it
    fn region(&self, later: &LaterExercise<L>, wait: f64) -> Region<L> {
        let c = L::splat;
        let least = self.k * SAME.no_gain;
        let low = ln((self.k - self.collected).max(self.k * SAME.strike_left));
        let near = later.between.as_ref().map(ExerciseBoundary::begin);
        let found = if near.is_some() { BETWEEN_FOUND } else { DATES_FOUND };
        // where exercise right after the date pays it pays before it too
        let mut top = near.unwrap_or(self.ln_k + self.width * NOWHERE);
        // the logarithm of waiting over exercise is almost a parabola
        let gap = |x: L| {
            let (mut waiting, kept) = self.sides(later, x);
            if let Some(near) = near {
                // right after the date the call is exercised too: the gain is the dividend
                waiting = L::select(x.lt(near), waiting, kept - self.dividend);
            }
            L::select(kept.gt(least), ln(waiting.max(least) / kept.max(least)), c(f64::INFINITY))
        };
        // with b < 0 exercise keeps nothing above this
        let idle = (self.borrow < 0.0).then(|| ln((c(self.collected) - self.interest).max(least) / -self.borrow));
        if let Some(idle) = idle {
            let most = top.min(idle).max(low);
            let mut best = c(f64::INFINITY);
            let scan = if self.is_reference { REFERENCE_SCAN } else { SCAN };
            for i in 1..=scan {
                let x = low + (most - low) * (i as f64 / scan as f64);
                let here = gap(x);
                (best, top) = (best.min(here), L::select(here.lt(best), x, top));
            }
        }
        let exercised = gap(top).lt(c(0.0));
        let start = later.at.as_ref().map_or(self.ln_k + self.width * 0.5, |at| at.boundary);
        let boundary = self.crossing(gap, [low.min(top), top], start.max(low), found);
        let away = self.whole * top_deviations(self.is_reference);
        let cut = self.ln_k + away;
        let end = idle.and_then(|idle| {
            let out_of_reach = cut + ENDLESS_EXTRA;
            let ends = exercised & idle.lt(out_of_reach);
            ends.any().then(|| {
                let gain = |x: L| {
                    let (waiting, kept) = self.sides(later, x);
                    (kept - waiting) / self.k
                };
                let end = self.crossing(gain, [top.min(idle), idle], idle, found);
                L::select(ends, end, out_of_reach + away)
            })
        });
        let enough = self.sigma * (ENDLESS * wait.sqrt()) + ENDLESS_EXTRA;
        let ends_near = end.is_some_and(|end| (exercised & (end - boundary).lt(enough)).any());
        Region { boundary: L::select(exercised, boundary, cut), exercised, end, ends_near }
    }

    /// The ln X between the `ends` at which `gap` falls below 0, by a search from `start`. `gap` is above 0 at the
    /// first end and below 0 at the second.
    fn crossing(&self, gap: impl Fn(L) -> L, ends: [L; 2], start: L, found: f64) -> L {
        let c = L::splat;
        let [mut below, mut above] = ends;
        let (mut x, mut before) = (start.min(above), (c(f64::NAN), c(f64::NAN)));
        for step in 0..DATES_STEPS {
            let here = gap(x);
            let waits = c(0.0).lt(here);
            below = L::select(waits, x, below);
            above = L::select(waits, above, x);
            let secant = x - here * (x - before.0) / (here - before.1);
            let first = x + L::select(waits, self.width * FIRST_STEP, self.width * -FIRST_STEP);
            // not a number where there is no step before
            let next = L::select(secant.le(c(f64::MAX)) & c(f64::MIN).le(secant), secant, first);
            // where nothing is kept the gap is infinite
            let inside = below.lt(next) & next.lt(above) & here.lt(c(f64::INFINITY));
            let halves = step > HALVED_AFTER && step % 2 == 0;
            let middle = (below + above) * 0.5;
            let next = if halves { middle } else { L::select(inside, next, middle) };
            before = (x, here);
            let moved = (next - x).abs();
            x = next;
            if moved.lt(self.width * found).all() {
                break;
            }
        }
        x
    }

    /// The far end, at ln X = `x`, of a region that begins at `boundary`.
    fn end(&self, x: L, boundary: L, later: &LaterExercise<L>) -> RegionEnd<L> {
        if !self.is_reference || later.is_nothing() {
            return RegionEnd { x, line: later.line(1.0, x, self.width), series: None };
        }
        let [r, b] = self.rates;
        let away = self.width * REFERENCE_FAR + self.width * self.width * 0.5 + (r - b).abs() * self.tau;
        let near = later.at.as_ref().map_or(self.ln_k, |at| L::select(at.exercised, at.boundary, self.ln_k));
        let top = x.max(near.max(self.ln_k).max(boundary) + away + TOP_EXTRA);
        let line = later.line(1.0, top, self.width);
        let off = |x: L| later.premium(x) - line[1].mul_add(exp(x), line[0]);
        RegionEnd { x, line, series: Some(later.series_of(-1.0, [x, top], self.sigma, self.tau, off)) }
    }

    /// The premium right before the date.
    fn premium(&self, region: &Region<L>, later: &LaterExercise<L>) -> DatePremium<L> {
        let Region { boundary, exercised, end, .. } = *region;
        let mut line = [L::splat(0.0); 2];
        if !exercised.all() && !later.is_nothing() {
            line = later.line(1.0, boundary, self.width);
        }
        let spot = exp(boundary);
        let kept = spot.mul_add(L::splat(self.borrow), L::splat(self.collected) - self.interest);
        let edge = L::select(exercised, kept - self.put.at(boundary, spot), line[1].mul_add(spot, line[0]));
        let series = (!later.is_nothing()).then(|| later.series(1.0, [boundary, self.far()], self.sigma, self.tau));
        let end = end.map(|x| self.end(x, boundary, later));
        let Self { rates, tau, collected, k, sigma, .. } = *self;
        DatePremium { phi: 1.0, rates, tau, collected, k, sigma, boundary, exercised, line, edge, series, end }
    }
}

/// The region of ln X in which calls gain by exercise right before a date.
struct Region<L: Lanes> {
    /// The lower end; in lanes without a region, the ln X that cuts the premium in two.
    boundary: L,
    /// The lanes that have a region.
    exercised: L::Mask,
    /// The upper end; `None`: out of reach.
    end: Option<L>,
    /// True if the upper end of a lane is so near that the date before must take it into account.
    ends_near: bool,
}

#[cfg(test)]
mod tests {
    use super::super::periods::Problem;
    use super::super::solved::Solved;
    use super::super::time_between::Fineness;
    use super::*;
    use crate::american::draws::every;
    use crate::american::premium::now::Now;
    use crate::black76::{Horizon, european};
    use crate::dividends::Dividend;
    use crate::lanes::Block;

    /// The terms right after the dividend number `first`.
    fn after(terms: &Terms, first: usize) -> Terms {
        let from = terms.divs[first].t;
        let divs = terms.divs[first + 1..].iter().map(|d| Dividend { t: d.t - from, ..*d }).collect();
        Terms { t: terms.t - from, divs, ..*terms }
    }

    /// Nine contracts from the first dividend on, whose premium at the first date agrees with the reference: to `bound`
    /// of the strike, and the gain at the boundary is 0 to `at_boundary`.
    fn agreeing(terms: &Terms, continuous: bool, bound: f64, at_boundary: f64) -> (Solved, Vec<(f64, f64)>) {
        let pairs: Vec<(f64, f64)> =
            [90.0, 100.0, 115.0].iter().flat_map(|&k| [0.2, 0.3, 0.5].map(|sigma| (k, sigma))).collect();
        let problem =
            Problem { phi: 1.0, terms: terms.clone(), stop: terms.divs[0].t, continuous, fineness: Fineness::First };
        let solved = Solved::new(&problem, &pairs);
        let first = terms.divs.iter().position(|d| (d.t - solved.date()).abs() < SAME.date).expect("an ex-date");
        let later = after(terms, first);
        let (t, b) = (terms.t, terms.b);
        for (i, &(k, sigma)) in pairs.iter().enumerate() {
            let solution = Now::alone(1.0, &later, k, sigma);
            let (block, lane) = solved.lane(i);
            let at = solved.boundary(i);
            let gain = at.exp() + terms.a(solved.date() - 1e-12) - k - solution.value(at)[0];
            assert!(gain.abs() <= at_boundary * k, "boundary of T {t} b {b} K {k} σ {sigma}: {gain}");
            for away in [0.0, 0.05, 0.2, 0.5, 1.0] {
                let x = at - away * sigma;
                let european = european(1.0, &Horizon::from(&later), x.exp(), k, sigma).v;
                let want = solution.value(x)[0] - european;
                let HeldPremium::Lanes { later, .. } = &block.held else { panic!("solved in lanes") };
                let got = later.premium(Block::splat(x)).lane(lane);
                assert!((got - want).abs() <= bound * k, "T {t} b {b} K {k} σ {sigma} at {away}: {got} for {want}");
            }
        }
        (solved, pairs)
    }

    #[test]
    fn premiums_are_those_of_the_reference() {
        for (t, r, b, divs, bound) in [
            (0.5, 0.04, 0.0, every(0.25, 0.1, 0.5, 1.5), 1e-13),
            (2.0, 0.04, 0.0, every(0.25, 0.1, 2.0, 1.2), 2e-10),
            (2.0, 0.04, 0.001, every(0.25, 0.1, 2.0, 1.3), 2e-10),
            (1.0, 0.02, -0.002, every(0.25, 0.02, 1.0, 1.6), 2e-10),
            (0.6, 0.04, 0.0, every(0.02, 0.01, 0.6, 0.3), 1e-7),
        ] {
            agreeing(&Terms { t, r, b, divs }, false, bound, 1e-8 + bound);
        }
    }

    #[test]
    fn premiums_between_dates_are_those_of_the_reference() {
        for (t, r, b, divs, bound) in [
            (0.5, 0.04, 0.05, every(0.25, 0.1, 0.5, 1.5), 1e-8),
            (0.5, 0.04, 0.02, every(0.25, 0.01, 0.5, 0.5), 3e-8),
            (2.0, 0.04, 0.1, every(0.25, 0.1, 2.0, 1.2), 3e-8),
            (0.25, 0.04, 0.01, every(0.25, 0.1, 0.25, 0.2), 1e-8),
            (1.0, 0.04, 0.01, every(0.25, 0.1, 1.0, 0.2), 3e-8),
            (0.1, 0.03, 0.3, every(0.25, 0.002, 0.1, 2.0), 3e-8),
            (0.6, 0.04, 0.08, every(0.02, 0.01, 0.6, 0.3), 2e-7),
        ] {
            let terms = Terms { t, r, b, divs };
            let (solved, pairs) = agreeing(&terms, true, bound, bound);
            for (i, &(k, sigma)) in pairs.iter().enumerate() {
                let (block, lane) = solved.lane(i);
                let begin = block.before.as_ref().map(|before| before.begin().lane(lane)).expect("exercise before it");
                let want = Now::alone(1.0, &terms, k, sigma).boundary();
                assert!((begin - want).abs() <= 2e-6, "T {t} b {b} K {k} σ {sigma} begins at {begin} for {want}");
            }
        }
    }

    #[test]
    fn dates_at_which_nothing_is_exercised_are_passed_over() {
        // interest on the strike until the next date: 0.995; the last dividend is worth waiting for
        let divs = [(0.1, 0.2), (0.35, 3.0)].map(|(t, amount)| Dividend { t, amount }).to_vec();
        let terms = Terms { t: 0.6, r: 0.04, b: 0.0, divs };
        let problem = Problem { phi: 1.0, terms, stop: 0.1, continuous: false, fineness: Fineness::First };
        let solved = Solved::new(&problem, &[(100.0, 0.3)]);
        assert!((solved.date() - 0.35).abs() < 1e-12);
    }
}
