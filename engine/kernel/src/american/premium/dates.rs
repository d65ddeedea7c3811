//! Calls that are worth exercising right before ex-dates only: the premium at each date from that at the next.
//!
//! Above the boundary of a date the call is exercised and its premium is known in closed form; below it the premium is
//! the expectation of that at the next date, kept as a Chebyshev series in the distance from the boundary. One strike
//! and volatility a lane. Never: a table, exercise between dates.

use super::chebyshev::Lobatto;
use super::classify::continuous;
use super::european::European;
use super::exercise::{Correlation, normal_pair_value};
use super::schedule::Problem;
use crate::american::settings::{DATES, SAME};
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::lanes::{Block, Lanes, Mask};
use crate::normal::{INV_SQRT_2PI, norm_cdf};
use crate::solve::gauss_legendre;
use std::sync::LazyLock;

/// The premium right before the date at which a table begins, for some strikes and volatilities.
pub(super) struct AtFirstDate {
    date: f64,
    blocks: Vec<First>,
    lanes: usize,
}

/// Some of its lanes.
struct First {
    k: Block,
    sigma: Block,
    boundary: Block,
    exercised: <Block as Lanes>::Mask,
    /// ln X down to which the premium matters.
    far: Block,
    later: Option<DateAhead>,
}

/// The premium right before one date.
struct AtDate {
    /// Years from the date to expiry, and what the dividends from the date on are worth there.
    tau: f64,
    collected: f64,
    k: Block,
    sigma: Block,
    /// ln of the X from which on the call is exercised; where it is not, from which on the premium is a line in X.
    boundary: Block,
    exercised: <Block as Lanes>::Mask,
    /// Constant and slope in X of that line.
    line: [Block; 2],
    /// Length of the series, in units of σ, and its coefficients; `None`: there is no premium below the boundary.
    series: Option<(Block, Vec<Block>)>,
}

/// The same as seen from an earlier time.
struct DateAhead {
    at: AtDate,
    rates: [f64; 2],
    /// Years until the date.
    wait: f64,
    root: f64,
    correlation: Correlation,
}

impl AtFirstDate {
    /// Solves from the last date back to the first from `problem.stop` on at which any of the pairs is exercised.
    /// `None`: there is none, not all are exercised there, or they are exercised at other times too or up to a second
    /// boundary.
    ///
    /// # Cost  0.1 ms a date for 30 pairs
    pub(super) fn new(problem: &Problem, pairs: &[(f64, f64)]) -> Option<Self> {
        let terms = &problem.terms;
        let only_at_dates = problem.phi > 0.0 && problem.stop > 0.0 && !continuous(1.0, terms);
        if !only_at_dates || terms.divs.iter().any(|d| d.t > terms.t - SAME.date) {
            return None;
        }
        let mut dates: Vec<f64> = terms.divs.iter().map(|d| d.t).filter(|t| *t > problem.stop - SAME.date).collect();
        dates.dedup_by(|a, b| (*a - *b).abs() < SAME.date);
        let block = |pairs: &[(f64, f64)], dates: &[f64]| {
            let lane = |of: &dyn Fn(&(f64, f64)) -> f64| {
                let values: [f64; Block::N] = core::array::from_fn(|i| of(&pairs[i.min(pairs.len() - 1)]));
                Block::load(&values)
            };
            First::new(terms, dates, lane(&|pair| pair.0), lane(&|pair| pair.1))
        };
        for first in 0..dates.len() {
            let solve = |pairs| block(pairs, &dates[first..]);
            let blocks = pairs.chunks(Block::N).map(solve).collect::<Option<Vec<First>>>()?;
            if blocks.iter().all(|block| block.exercised.all()) {
                return Some(Self { date: dates[first], blocks, lanes: pairs.len() });
            }
            if blocks.iter().any(|block| block.exercised.any()) {
                return None;
            }
        }
        None
    }

    /// Years from now to the date.
    pub(super) fn date(&self) -> f64 {
        self.date
    }

    fn lane(&self, i: usize) -> (&First, usize) {
        (&self.blocks[i / Block::N], i % Block::N)
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
            ((block.boundary - block.far) / block.sigma).lane(lane)
        };
        (0..self.lanes).map(of).fold(0.0, f64::max)
    }

    /// Series of the premium over K up to the distance `reach` from the boundary, by pair.
    pub(super) fn series(&self, reach: f64, terms: usize) -> Vec<Vec<f64>> {
        let mut out = Vec::with_capacity(self.lanes);
        for block in &self.blocks {
            let coefficients = Lobatto::of(terms).lanes(|u| {
                let x = block.boundary - block.sigma * (0.5 * reach * (1.0 + u));
                block.later.as_ref().map_or(Block::splat(0.0), |later| later.premium(x)) / block.k
            });
            let lanes = Block::N.min(self.lanes - out.len());
            out.extend((0..lanes).map(|lane| coefficients.iter().map(|c| c.lane(lane)).collect()));
        }
        out
    }
}

impl First {
    /// At the first of `dates`; `None` as of [`Choice::boundary`].
    fn new(terms: &Terms, dates: &[f64], k: Block, sigma: Block) -> Option<Self> {
        let mut later: Option<DateAhead> = None;
        for pair in dates.windows(2).rev() {
            let choice = Choice::new(terms, pair[1], k, sigma);
            let (boundary, exercised) = choice.boundary(later.as_ref(), pair[1] - dates[0])?;
            let at = choice.premium(boundary, exercised, later.as_ref());
            later = Some(DateAhead::new(at, terms.r, terms.b, pair[1] - pair[0]));
        }
        let choice = Choice::new(terms, dates[0], k, sigma);
        let (boundary, exercised) = choice.boundary(later.as_ref(), dates[0])?;
        Some(Self { k, sigma, boundary, exercised, far: choice.far(), later })
    }
}

/// Whether to exercise right before one date.
struct Choice {
    /// Years from the date to expiry, and what the dividends from the date on are worth there.
    tau: f64,
    collected: f64,
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
            tau,
            collected: terms.a(t - SAME.instant),
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
    fn sides(&self, later: Option<&DateAhead>, x: Block) -> (Block, Block) {
        let spot = exp(x);
        let held = later.map_or(Block::splat(0.0), |later| later.premium(x));
        let kept = spot.mul_add(Block::splat(self.borrow), Block::splat(self.collected) - self.interest);
        (self.put.at(x, spot) + held, kept)
    }

    /// ln of the X from which on exercise gains, and the lanes where there is one; `None`: in some the region has a
    /// second end too near to count as none, `wait` years being the time until the date.
    ///
    /// # Shapes  one contract per lane
    /// # Domain  calls that are not worth exercising between dates
    /// # Accuracy  `DATES.found`: premiums are of second order in it
    fn boundary(&self, later: Option<&DateAhead>, wait: f64) -> Option<(Block, <Block as Lanes>::Mask)> {
        let c = Block::splat;
        let least = self.k * SAME.no_gain;
        let low = ln((self.k - self.collected).max(self.k * SAME.strike_left));
        let top = self.ln_k + self.width * DATES.nowhere;
        // the logarithm of waiting over exercise is almost a parabola
        let gap = |x: Block| {
            let (waiting, kept) = self.sides(later, x);
            Block::select(kept.gt(least), ln(waiting.max(least) / kept.max(least)), c(f64::INFINITY))
        };
        let exercised = gap(top).lt(c(0.0));
        let (mut below, mut above) = (low.min(top), top);
        let start = later.map_or(self.ln_k + self.width * 0.5, |later| later.at.boundary);
        let (mut x, mut before) = (start.max(low).min(top), (c(f64::NAN), c(f64::NAN)));
        for _ in 0..DATES.steps {
            let here = gap(x);
            let waits = c(0.0).lt(here);
            below = Block::select(waits, x, below);
            above = Block::select(waits, above, x);
            let secant = x - here * (x - before.0) / (here - before.1);
            let first = x + Block::select(waits, self.width * DATES.first_step, self.width * -DATES.first_step);
            // not a number where there is no step before, or an infinite gap
            let step = Block::select(secant.le(c(f64::MAX)) & c(f64::MIN).le(secant), secant, first);
            let inside = below.lt(step) & step.lt(above);
            let next = Block::select(inside, step, (below + above) * 0.5);
            before = (x, here);
            let moved = (next - x).abs();
            x = next;
            if moved.lt(self.width * DATES.found).all() {
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
        let nowhere = self.ln_k + self.whole * DATES.top;
        Some((Block::select(exercised, x, nowhere), exercised))
    }

    /// The premium right before the date.
    fn premium(&self, boundary: Block, exercised: <Block as Lanes>::Mask, later: Option<&DateAhead>) -> AtDate {
        let mut line = [Block::splat(0.0); 2];
        if let Some(later) = later.filter(|_| !exercised.all()) {
            let step = self.width * DATES.slope_step;
            let value = later.premium(boundary);
            let slope = (value - later.premium(boundary - step)) / step;
            line = [value - slope, slope / exp(boundary)];
        }
        let series = later.map(|later| {
            let reach = (boundary - self.far()).max(self.width * DATES.reach_least) / self.sigma;
            let place = |u: f64| boundary - self.sigma * reach * (0.5 * (1.0 + u));
            (reach, Lobatto::of(DATES.terms).lanes(|u| later.premium(place(u))))
        });
        let Self { tau, collected, k, sigma, .. } = *self;
        AtDate { tau, collected, k, sigma, boundary, exercised, line, series }
    }
}

impl DateAhead {
    fn new(at: AtDate, r: f64, b: f64, wait: f64) -> Self {
        let correlation = Correlation::new((wait / (wait + at.tau)).sqrt());
        Self { at, rates: [r, b], wait, root: wait.sqrt(), correlation }
    }

    /// The premium at ln X = `x`.
    ///
    /// # Shapes    one contract per lane
    /// # Units     currency per share
    /// # Accuracy  4e-8 of the strike with thirty weekly dividends
    #[inline(never)]
    fn premium(&self, x: Block) -> Block {
        static RULE: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| gauss_legendre(DATES.nodes));
        let c = Block::splat;
        let (at, [r, b], root) = (&self.at, self.rates, self.root);
        let width = at.sigma * root;
        let life = self.wait + at.tau;
        // the deviate at which the boundary is met
        let z = (at.boundary - x - c((r - b) * self.wait)) / width + width * 0.5;
        let df = (-r * self.wait).exp();
        let spot = exp(x);
        let (share, cash) = (norm_cdf(width - z) * spot * (-b * self.wait).exp(), norm_cdf(-z) * df);
        let whole = at.sigma * life.sqrt();
        let d1 = (x - ln(at.k) + c((r - b) * life)) / whole + whole * 0.5;
        let both = [
            normal_pair_value(width - z, d1, &self.correlation) * spot * (-b * life).exp(),
            normal_pair_value(-z, d1 - whole, &self.correlation) * at.k * (-r * life).exp(),
        ];
        let exercised = (share - both[0]) - ((at.k - at.collected) * cash - both[1]);
        let [constant, slope] = at.line;
        let mut sum = Block::select(at.exercised, exercised, constant * cash + slope * share);
        if let Some((reach, coefficients)) = &at.series {
            let centre = z * root;
            let from = (centre - c(DATES.window * root)).max(c(0.0)).min(*reach);
            let to = (centre + c(DATES.window * root)).max(from).min(*reach);
            let length = to - from;
            let scale = c(2.0) / *reach;
            let mut held = c(0.0);
            for nodes in RULE.chunks_exact(DATES.side_by_side) {
                let w: [Block; DATES.side_by_side] = core::array::from_fn(|i| length.mul_add(c(nodes[i].0), from));
                let values = clenshaw(coefficients, &w.map(|w| w * scale - 1.0));
                for ((w, value), (_, weight)) in w.iter().zip(values).zip(nodes) {
                    let deviate = z - *w * (1.0 / root);
                    held = (exp(deviate * deviate * -0.5) * *weight).mul_add(value, held);
                }
            }
            sum += held * length * (df * INV_SQRT_2PI / root);
        }
        sum
    }
}

/// Sums a Chebyshev series of each lane, at several places side by side.
#[inline(always)]
fn clenshaw(terms: &[Block], u: &[Block; DATES.side_by_side]) -> [Block; DATES.side_by_side] {
    let twice = u.map(|u| u + u);
    let zero = [Block::splat(0.0); DATES.side_by_side];
    let (mut one, mut two) = (zero, zero);
    for &term in terms[1..].iter().rev() {
        for i in 0..DATES.side_by_side {
            (one[i], two[i]) = (twice[i].mul_add(one[i], term - two[i]), one[i]);
        }
    }
    core::array::from_fn(|i| u[i].mul_add(one[i], terms[0] - two[i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::american::recursion::{AmericanOption, Solution};
    use crate::black76::{Horizon, european};
    use crate::dividends::Dividend;

    /// The terms right after the dividend number `first`.
    fn after(terms: &Terms, first: usize) -> Terms {
        let from = terms.divs[first].t;
        let divs = terms.divs[first + 1..].iter().map(|d| Dividend { t: d.t - from, ..*d }).collect();
        Terms { t: terms.t - from, divs, ..*terms }
    }

    fn every(gap: f64, first: f64, t: f64, amount: f64) -> Vec<Dividend> {
        (0..).map(|i| first + gap * f64::from(i)).take_while(|at| *at < t).map(|t| Dividend { t, amount }).collect()
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
            let terms = Terms { t, r, b, divs };
            let pairs: Vec<(f64, f64)> =
                [90.0, 100.0, 115.0].iter().flat_map(|&k| [0.2, 0.3, 0.5].map(|sigma| (k, sigma))).collect();
            let problem = Problem { phi: 1.0, terms: terms.clone(), stop: terms.divs[0].t, continuous: false };
            let solved = AtFirstDate::new(&problem, &pairs).expect("exercised at dates only");
            let first = terms.divs.iter().position(|d| (d.t - solved.date()).abs() < SAME.date).expect("an ex-date");
            let later = after(&terms, first);
            for (i, &(k, sigma)) in pairs.iter().enumerate() {
                let solution = Solution::new(&AmericanOption::new(1.0, &later, k, sigma));
                let (block, lane) = solved.lane(i);
                let payoff = |x: f64| x.exp() + terms.a(solved.date() - 1e-12) - k;
                let at = solved.boundary(i);
                let gain = payoff(at) - solution.value(at)[0];
                assert!(gain.abs() <= 1e-8 * k + bound * k, "boundary of {k} {sigma}: {gain}");
                for away in [0.0, 0.05, 0.2, 0.5, 1.0] {
                    let x = at - away * sigma;
                    let european = european(1.0, &Horizon::from(&later), x.exp(), k, sigma).v;
                    let want = solution.value(x)[0] - european;
                    let got = block.later.as_ref().map_or(0.0, |later| later.premium(Block::splat(x)).lane(lane));
                    assert!((got - want).abs() <= bound * k, "T {t} b {b} K {k} σ {sigma} at {away}: {got} for {want}");
                }
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
