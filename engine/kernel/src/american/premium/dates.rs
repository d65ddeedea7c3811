//! Calls that are worth exercising right before ex-dates, and between them where that pays: the premium at each date
//! from that at the next.
//!
//! Above the boundary of a date the call is exercised and its premium is known in closed form; below it the premium is
//! the expectation of that at the next date and what exercise until then earns, kept as a Chebyshev series in the
//! distance from the boundary. One strike and volatility a lane. Never: a table.

use super::at_date::AtDate;
use super::between_dates::Between;
use super::chebyshev::Lobatto;
use super::european::European;
use super::periods::{DatePeriod, First, Later};
use super::schedule::Problem;
use super::windows::put_windows;
use crate::american::settings::{BETWEEN, DATES, SAME};
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::lanes::{Block, Lanes, Mask};
use std::sync::Arc;

/// The premium right before the date at which a table begins, for some strikes and volatilities.
pub(super) struct AtFirstDate {
    phi: f64,
    date: f64,
    blocks: Vec<First>,
    /// Pairs of a block, the last one's aside, and of all.
    per_block: usize,
    lanes: usize,
}

impl AtFirstDate {
    /// Solves from the last date back to the first from `problem.stop` on at which any of the pairs is exercised.
    /// `None`: there is none, not all are exercised there, or they are exercised up to a second boundary.
    ///
    /// # Cost  0.1 ms a date for 30 pairs that are exercised at dates only, 0.4 ms where they are between dates too
    pub(super) fn new(problem: &Problem, pairs: &[(f64, f64)]) -> Option<Self> {
        let terms = &problem.terms;
        let at_expiry = terms.divs.iter().any(|d| d.t > terms.t - SAME.date);
        if problem.phi < 0.0 {
            return Self::of_puts(problem, pairs);
        }
        if problem.stop <= 0.0 || at_expiry {
            return None;
        }
        let mut dates: Vec<f64> = terms.divs.iter().map(|d| d.t).filter(|t| *t > problem.stop - SAME.date).collect();
        dates.dedup_by(|a, b| (*a - *b).abs() < SAME.date);
        let between = problem.continuous;
        let block = |pairs: &[(f64, f64)], periods: &[Arc<DatePeriod>]| {
            First::new(terms, periods, lanes_of(pairs, |pair| pair.0), lanes_of(pairs, |pair| pair.1))
        };
        for first in 0..dates.len() {
            let ends = [&[0.0], &dates[first..], &[terms.t]].concat();
            let periods: Vec<Arc<DatePeriod>> =
                ends.windows(2).map(|ends| Arc::new(DatePeriod::new(terms, ends[0], ends[1], between))).collect();
            let solve = |pairs| block(pairs, &periods);
            let blocks = pairs.chunks(Block::N).map(solve).collect::<Option<Vec<First>>>()?;
            if blocks.iter().all(|block| block.exercised.all()) {
                return Some(Self { phi: 1.0, date: dates[first], blocks, per_block: Block::N, lanes: pairs.len() });
            }
            if between || blocks.iter().any(|block| block.exercised.any()) {
                return None;
            }
        }
        None
    }

    /// The same of puts, from `problem.stop` itself on. The pairs of a strike are the lanes of a block: they share the
    /// times at which exercise stops to pay.
    fn of_puts(problem: &Problem, pairs: &[(f64, f64)]) -> Option<Self> {
        let per_block = pairs.iter().take_while(|pair| (pair.0 - pairs[0].0).abs() < SAME.root).count().min(Block::N);
        let mut blocks: Vec<First> = Vec::with_capacity(pairs.len().div_ceil(per_block));
        for pairs in pairs.chunks(per_block) {
            let solved = put_windows(problem, pairs[0].0, lanes_of(pairs, |pair| pair.1), blocks.last())?;
            blocks.push(solved);
        }
        Some(Self { phi: -1.0, date: problem.stop, blocks, per_block, lanes: pairs.len() })
    }

    /// Years from now to the date.
    pub(super) fn date(&self) -> f64 {
        self.date
    }

    /// ln(B/K) until the date, of pair `i`: at the date, then its Chebyshev coefficients (`between_dates.rs`); `None`:
    /// nothing is exercised until then.
    pub(super) fn until(&self, i: usize) -> Option<Vec<f64>> {
        let (block, lane) = self.lane(i);
        let ln_k = ln(block.k);
        // the series' first term is what the strike moves
        let before = block.before.as_ref()?;
        let relative = |(i, term): (usize, Block)| (if i < 2 { term - ln_k } else { term }).lane(lane);
        Some(before.boundary().enumerate().map(relative).collect())
    }

    fn lane(&self, i: usize) -> (&First, usize) {
        (&self.blocks[i / self.per_block], i % self.per_block)
    }

    /// ln of the boundary of pair `i`.
    pub(super) fn boundary(&self, i: usize) -> f64 {
        let (block, lane) = self.lane(i);
        block.boundary.lane(lane)
    }

    /// The greatest distance from a boundary at which the premium matters, in units of σ.
    pub(super) fn reach(&self) -> f64 {
        let of = |i: usize| {
            let (block, lane) = self.lane(i);
            ((block.boundary - block.far) * self.phi / block.sigma).lane(lane)
        };
        (0..self.lanes).map(of).fold(0.0, f64::max)
    }

    /// The same series of puts from `anchor` units of σ below the strike on, up to the distance `reach` from there.
    ///
    /// # Domain  no boundary above the anchor
    pub(super) fn series_from(&self, anchor: f64, reach: f64, terms: usize) -> Vec<Vec<f64>> {
        self.sampled(terms, |block, u| {
            block.later.premium(ln(block.k) + block.sigma * (0.5 * reach * (1.0 + u) - anchor)) / block.k
        })
    }

    /// Series of the premium over K up to the distance `reach` from the boundary, by pair.
    pub(super) fn series(&self, reach: f64, terms: usize) -> Vec<Vec<f64>> {
        self.sampled(terms, |block, u| {
            let away = 0.5 * reach * (1.0 + u);
            let premium = match &block.at {
                Some(at) => at.held(away),
                None => block.later.premium(block.boundary - block.sigma * (away * self.phi)),
            };
            premium / block.k
        })
    }

    /// Chebyshev series of a function of the coordinate in [−1, 1], by pair.
    fn sampled(&self, terms: usize, of: impl Fn(&First, f64) -> Block) -> Vec<Vec<f64>> {
        let mut out = Vec::with_capacity(self.lanes);
        for block in &self.blocks {
            let coefficients = Lobatto::of(terms).lanes(|u| of(block, u));
            let lanes = self.per_block.min(self.lanes - out.len());
            out.extend((0..lanes).map(|lane| coefficients.iter().map(|c| c.lane(lane)).collect()));
        }
        out
    }
}

/// The lanes of some pairs; the last one stands in for those that are missing.
fn lanes_of(pairs: &[(f64, f64)], of: impl Fn(&(f64, f64)) -> f64) -> Block {
    let values: [f64; Block::N] = core::array::from_fn(|i| of(&pairs[i.min(pairs.len() - 1)]));
    Block::load(&values)
}

impl First {
    /// At the first date of `periods`, which begins now; `None` as of [`Choice::boundary`] and [`Between::new`].
    fn new(terms: &Terms, periods: &[Arc<DatePeriod>], k: Block, sigma: Block) -> Option<Self> {
        let last = periods.last()?;
        let mut later = Later::new(last, None, last.solve(None, k, sigma)?);
        for pair in periods.windows(2).rev() {
            let (before, date) = (&pair[0], pair[1].from);
            let choice = Choice::new(terms, date, k, sigma);
            let (boundary, exercised) = choice.boundary(&later, before.to - before.from)?;
            let is_first = before.from == 0.0;
            let at = (!is_first || before.stretch.is_some()).then(|| choice.premium(boundary, exercised, &later));
            let between = before.solve(at.as_ref(), k, sigma)?;
            if is_first {
                return Some(Self {
                    k,
                    sigma,
                    boundary,
                    exercised,
                    far: choice.far(),
                    later,
                    before: between,
                    at,
                    windows: Vec::new(),
                    after_last: None,
                });
            }
            later = Later::new(before, at, between);
        }
        None
    }
}

/// Whether to exercise right before one date.
struct Choice {
    rates: [f64; 2],
    /// Years from the date to expiry, and what the dividends from the date on are worth there.
    tau: f64,
    collected: f64,
    /// The dividend of the date.
    dividend: f64,
    k: Block,
    sigma: Block,
    ln_k: Block,
    /// Standard deviation of ln X from the date to expiry, and from now.
    width: Block,
    whole: Block,
    /// K·(1 − e^(−rτ)), and 1 − e^(−bτ): what exercise costs, and what it saves a unit of X.
    interest: Block,
    borrow: f64,
    put: European<Block>,
}

impl Choice {
    fn new(terms: &Terms, t: f64, k: Block, sigma: Block) -> Self {
        let tau = terms.t - t;
        Self {
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

    /// ln X down to which the premium matters.
    fn far(&self) -> Block {
        ln((self.k - self.collected).max(self.k * DATES.far_least)) - self.width * DATES.far
    }

    /// What waiting is worth beyond the stock less the strike, and what exercise keeps, at `x`.
    fn sides(&self, later: &Later, x: Block) -> (Block, Block) {
        let spot = exp(x);
        let held = later.premium(x);
        let kept = spot.mul_add(Block::splat(self.borrow), Block::splat(self.collected) - self.interest);
        (self.put.at(x, spot) + held, kept)
    }

    /// ln of the X from which on exercise gains, and the lanes where there is one; `None`: in some the region has a
    /// second end too near to count as none, `wait` years being the time until the date.
    ///
    /// # Shapes  one contract per lane
    /// # Accuracy  `DATES.found`: premiums are of second order in it
    fn boundary(&self, later: &Later, wait: f64) -> Option<(Block, <Block as Lanes>::Mask)> {
        let c = Block::splat;
        let least = self.k * SAME.no_gain;
        let low = ln((self.k - self.collected).max(self.k * SAME.strike_left));
        let near = later.between.as_ref().map(Between::begin);
        let found = if near.is_some() { BETWEEN.found } else { DATES.found };
        let nowhere = self.ln_k + self.width * DATES.nowhere;
        let top = near.map_or(nowhere, |near| near.max(nowhere));
        // the logarithm of waiting over exercise is almost a parabola
        let gap = |x: Block| {
            let (mut waiting, kept) = self.sides(later, x);
            if let Some(near) = near {
                // right after the date the call is exercised too: what is gained is the dividend
                waiting = Block::select(x.lt(near), waiting, kept - self.dividend);
            }
            Block::select(kept.gt(least), ln(waiting.max(least) / kept.max(least)), c(f64::INFINITY))
        };
        let exercised = gap(top).lt(c(0.0));
        let (mut below, mut above) = (low.min(top), top);
        let start = later.at.as_ref().map_or(self.ln_k + self.width * 0.5, |at| at.boundary);
        let (mut x, mut before) = (start.max(low).min(top), (c(f64::NAN), c(f64::NAN)));
        for step in 0..DATES.steps {
            let here = gap(x);
            let waits = c(0.0).lt(here);
            below = Block::select(waits, x, below);
            above = Block::select(waits, above, x);
            let secant = x - here * (x - before.0) / (here - before.1);
            let first = x + Block::select(waits, self.width * DATES.first_step, self.width * -DATES.first_step);
            // not a number where there is no step before
            let next = Block::select(secant.le(c(f64::MAX)) & c(f64::MIN).le(secant), secant, first);
            // where nothing is kept the gap is infinite
            let inside = below.lt(next) & next.lt(above) & here.lt(c(f64::INFINITY));
            let halves = step > DATES.halved_after && step % 2 == 0;
            let middle = (below + above) * 0.5;
            let next = if halves { middle } else { Block::select(inside, next, middle) };
            before = (x, here);
            let moved = (next - x).abs();
            x = next;
            if moved.lt(self.width * found).all() {
                break;
            }
        }
        if self.borrow < 0.0 && exercised.any() {
            let end = ln((c(self.collected) - self.interest).max(least) / -self.borrow);
            let enough = self.sigma * (DATES.endless * wait.sqrt()) + DATES.endless_extra;
            if (exercised & (end - x).lt(enough)).any() {
                return None;
            }
        }
        let cut = self.ln_k + self.whole * DATES.top;
        Some((Block::select(exercised, x, cut), exercised))
    }

    /// The premium right before the date.
    fn premium(&self, boundary: Block, exercised: <Block as Lanes>::Mask, later: &Later) -> AtDate {
        let mut line = [Block::splat(0.0); 2];
        if !exercised.all() && !later.is_nothing() {
            let step = self.width * DATES.slope_step;
            let value = later.premium(boundary);
            let slope = (value - later.premium(boundary - step)) / step;
            line = [value - slope, slope / exp(boundary)];
        }
        let spot = exp(boundary);
        let kept = spot.mul_add(Block::splat(self.borrow), Block::splat(self.collected) - self.interest);
        let edge = Block::select(exercised, kept - self.put.at(boundary, spot), line[1].mul_add(spot, line[0]));
        let series = (!later.is_nothing()).then(|| later.series(1.0, [boundary, self.far()], self.sigma, self.tau));
        let Self { rates, tau, collected, k, sigma, .. } = *self;
        AtDate { phi: 1.0, rates, tau, collected, k, sigma, boundary, exercised, line, edge, series }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::american::draws::every;
    use crate::american::recursion::{AmericanOption, Solution};
    use crate::black76::{Horizon, european};
    use crate::dividends::Dividend;

    /// The terms right after the dividend number `first`.
    fn after(terms: &Terms, first: usize) -> Terms {
        let from = terms.divs[first].t;
        let divs = terms.divs[first + 1..].iter().map(|d| Dividend { t: d.t - from, ..*d }).collect();
        Terms { t: terms.t - from, divs, ..*terms }
    }

    /// Nine contracts from the first dividend on, whose premium at the first date agrees with the recursion: to `bound`
    /// of the strike, and the gain at the boundary is 0 to `at_boundary`.
    fn agreeing(terms: &Terms, continuous: bool, bound: f64, at_boundary: f64) -> (AtFirstDate, Vec<(f64, f64)>) {
        let pairs: Vec<(f64, f64)> =
            [90.0, 100.0, 115.0].iter().flat_map(|&k| [0.2, 0.3, 0.5].map(|sigma| (k, sigma))).collect();
        let problem = Problem { phi: 1.0, terms: terms.clone(), stop: terms.divs[0].t, continuous };
        let solved = AtFirstDate::new(&problem, &pairs).expect("exercised at a date");
        let first = terms.divs.iter().position(|d| (d.t - solved.date()).abs() < SAME.date).expect("an ex-date");
        let later = after(terms, first);
        let (t, b) = (terms.t, terms.b);
        for (i, &(k, sigma)) in pairs.iter().enumerate() {
            let solution = Solution::new(&AmericanOption::new(1.0, &later, k, sigma));
            let (block, lane) = solved.lane(i);
            let at = solved.boundary(i);
            let gain = at.exp() + terms.a(solved.date() - 1e-12) - k - solution.value(at)[0];
            assert!(gain.abs() <= at_boundary * k, "boundary of T {t} b {b} K {k} σ {sigma}: {gain}");
            for away in [0.0, 0.05, 0.2, 0.5, 1.0] {
                let x = at - away * sigma;
                let european = european(1.0, &Horizon::from(&later), x.exp(), k, sigma).v;
                let want = solution.value(x)[0] - european;
                let got = block.later.premium(Block::splat(x)).lane(lane);
                assert!((got - want).abs() <= bound * k, "T {t} b {b} K {k} σ {sigma} at {away}: {got} for {want}");
            }
        }
        (solved, pairs)
    }

    #[test]
    fn premiums_are_those_of_the_recursion() {
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
    fn premiums_between_dates_are_those_of_the_recursion() {
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
                let want = Solution::new(&AmericanOption::new(1.0, &terms, k, sigma)).boundary().expect("a boundary");
                assert!((begin - want).abs() <= 2e-6, "T {t} b {b} K {k} σ {sigma} begins at {begin} for {want}");
            }
        }
    }

    #[test]
    fn dates_at_which_nothing_is_exercised_are_passed_over() {
        // interest on the strike until the next date: 0.995; the last dividend is worth waiting for
        let divs = [(0.1, 0.2), (0.35, 3.0)].map(|(t, amount)| Dividend { t, amount }).to_vec();
        let terms = Terms { t: 0.6, r: 0.04, b: 0.0, divs };
        let problem = Problem { phi: 1.0, terms, stop: 0.1, continuous: false };
        let solved = AtFirstDate::new(&problem, &[(100.0, 0.3)]).expect("exercised at the second date");
        assert!((solved.date() - 0.35).abs() < 1e-12);
    }
}
