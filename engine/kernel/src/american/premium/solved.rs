//! All strikes and volatilities of a table, solved: where each lane's grid lies, the steps that all share, packs of
//! lanes. Never: a table, an interpolation.

use super::chebyshev::Axis;
use super::classify::gap_before;
use super::european::European;
use super::grid::Grid;
use super::profile::SolvedColumn;
use super::schedule::{Problem, Schedule};
use super::solver::{MOST_LANES, solve};
use crate::american::settings::{DATES, GRID, SAME, SIZES};
use crate::dividends::Terms;
use crate::lanes::{Lanes, Pack};

/// How far a put's grid reaches down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Down {
    /// Beyond where exercise is certain.
    ToExercise,
    /// `GRID.wide` deviations of the whole term: nothing is exercised, so nothing ends it.
    Far,
}

/// How fine a grid is, about.
#[derive(Clone, Copy, Debug)]
pub(super) struct GridSizes {
    /// Space intervals on a nominal width, and time steps.
    pub(super) intervals: usize,
    pub(super) steps: usize,
}

/// What the solves of a table share, so that they can be compared.
#[derive(Clone, Debug)]
pub(super) struct SolverRun {
    /// (strike, volatility), volatilities running fastest, and the ends of their grids.
    pub(super) pairs: Vec<(f64, f64)>,
    ends: Vec<(f64, f64)>,
    intervals: usize,
    schedule: Schedule,
}

impl SolverRun {
    /// For the nodes of two axes, with more intervals than `sizes` where a grid is wide.
    pub(super) fn new(problem: &Problem, sigma: &Axis, strike: &Axis, sizes: GridSizes, down: Down) -> Self {
        let GridSizes { intervals, steps } = sizes;
        let pairs = pairs(sigma, strike);
        let end = |&(k, sigma): &(f64, f64)| {
            let (edge, far) = grid_ends(problem, k, sigma);
            let deepest = k.ln() - GRID.wide * sigma * problem.terms.t.sqrt();
            (if down == Down::Far { edge.min(deepest) } else { edge }, far)
        };
        let ends: Vec<(f64, f64)> = pairs.iter().map(end).collect();
        let nominal = |sigma: f64| 2.0 * GRID.wide * sigma * (problem.terms.t - problem.stop).sqrt();
        let widest = pairs.iter().zip(&ends).map(|(p, e)| (e.1 - e.0).abs() / nominal(p.1)).fold(1.0, f64::max);
        let intervals = (intervals as f64 * widest.min(SIZES.wider_most)) as usize;
        let low = pairs.iter().fold(f64::INFINITY, |low, p| low.min(p.0));
        let high = pairs.iter().fold(0.0f64, |high, p| high.max(p.0));
        let schedule = problem.schedule(low, high, steps);
        SolverRun { pairs, ends, intervals, schedule }
    }

    /// Every pair of every problem, solved; the problems differ in their rates only. In packs that leave few lanes
    /// idle.
    pub(super) fn profiles(&self, problems: &[Problem]) -> Vec<Vec<SolvedColumn>> {
        match self.pairs.len() {
            13..=16 => self.packed::<Pack<4>>(problems),
            17..=20 => self.packed::<Pack<5>>(problems),
            _ => self.packed::<Pack<3>>(problems),
        }
    }

    /// The same in packs of `L`.
    ///
    /// # Shapes  by problem and pair; the last pack repeats its last pair in the lanes that are left
    /// # Cost    as of [`solve`]
    fn packed<L: Lanes>(&self, problems: &[Problem]) -> Vec<Vec<SolvedColumn>> {
        let mut out = vec![Vec::with_capacity(self.pairs.len()); problems.len()];
        for (pairs, ends) in self.pairs.chunks(L::N).zip(self.ends.chunks(L::N)) {
            let last = pairs.len() - 1;
            let lane = |f: &dyn Fn(usize) -> f64| {
                let values: [f64; MOST_LANES] = core::array::from_fn(|i| f(i.min(last)));
                L::load(&values)
            };
            let grid = Grid {
                k: lane(&|i| pairs[i].0),
                sigma: lane(&|i| pairs[i].1),
                edge: lane(&|i| ends[i].0),
                far: lane(&|i| ends[i].1),
                intervals: self.intervals,
            };
            for ((slice, problem), out) in solve(problems, &grid, &self.schedule).iter().zip(problems).zip(&mut out) {
                let Terms { t, r, b, .. } = problem.terms;
                out.extend((0..pairs.len()).map(|i| {
                    let american: Vec<f64> = slice.american.iter().map(|v| v.lane(i)).collect();
                    let premium = slice.european.iter().zip(&american).map(|(v, a)| a - v.lane(i)).collect();
                    let (k, sigma) = pairs[i];
                    let profile = SolvedColumn {
                        phi: problem.phi,
                        k,
                        sigma,
                        edge: ends[i].0,
                        step: (ends[i].1 - ends[i].0) / self.intervals as f64,
                        european: European::new(problem.phi, k, sigma, t - problem.stop, r, b),
                        a: problem.terms.a(problem.stop),
                        american,
                        premium,
                        first_free: slice.contact.node.lane(i) as usize,
                        boundary: None,
                        jump: 0.0,
                    };
                    place_boundary(problem, profile, slice.contact.theta.lane(i))
                }));
            }
        }
        out
    }
}

/// The (strike, volatility) of the nodes of two axes, volatilities running fastest.
pub(super) fn pairs(sigma: &Axis, strike: &Axis) -> Vec<(f64, f64)> {
    let volatilities: Vec<f64> = sigma.nodes().iter().map(|s| s.exp()).collect();
    let of = |k: f64| volatilities.iter().map(move |sigma| (k, *sigma));
    strike.nodes().iter().flat_map(|inverse| of(1.0 / inverse)).collect()
}

/// Finds the profile's exercise boundary: the free boundary, or before an ex-date where a call meets its payoff.
fn place_boundary(problem: &Problem, mut profile: SolvedColumn, theta: f64) -> SolvedColumn {
    if problem.phi > 0.0 && problem.stop > 0.0 {
        profile.first_free = 0;
        profile.a = problem.terms.a(problem.stop - SAME.instant);
        // a region that ends only far above is read as one that does not end: what is above exceeds it by little, and
        // by a plan fixed in advance
        let enough = DATES.endless * profile.sigma * problem.stop.sqrt() + DATES.endless_extra;
        profile.boundary = profile.find_crossing().filter(|found| found.1 > enough).map(|found| found.0);
    } else {
        profile.set_contact(problem, theta);
    }
    profile
}

/// ln X at the exercise-side edge and at the far edge of a lane's grid.
fn grid_ends(problem: &Problem, k: f64, sigma: f64) -> (f64, f64) {
    let width = sigma * (problem.terms.t - problem.stop).sqrt();
    let a = problem.terms.a(problem.stop - if problem.phi > 0.0 { SAME.instant } else { 0.0 });
    if problem.phi < 0.0 {
        return (put_edge(problem, k, sigma, width), k.ln() + GRID.wide * width);
    }
    let far = (k - a).max(DATES.far_least * k).ln() - GRID.wide * width;
    let full = GRID.wide * width;
    if problem.stop > 0.0 {
        return (k.ln() + full, far);
    }
    (k.ln() + highest_call_boundary(&problem.terms, sigma, full) + margin(width), far)
}

/// ln(B/K) that a watched call's boundary does not exceed: at least ln(r/b), wherever that is, or `full` if nothing
/// bounds it.
fn highest_call_boundary(terms: &Terms, sigma: f64, full: f64) -> f64 {
    let Terms { r, b, .. } = *terms;
    let level = if b > 0.0 && r > b { (r / b).ln() + GRID.call_level * full } else { 0.0 };
    perpetual_call(terms, sigma).min(full.max(level.min(GRID.call_most * full)))
}

/// What a grid reaches beyond the last place where the boundary can be.
fn margin(width: f64) -> f64 {
    GRID.margin * width.min(1.0) + GRID.margin_extra
}

/// ln(B/K) of the perpetual call: where exercise is certain.
fn perpetual_call(terms: &Terms, sigma: f64) -> f64 {
    let Terms { r, b, .. } = *terms;
    if b <= 0.0 || r < 0.0 {
        return f64::INFINITY;
    }
    let variance = sigma * sigma;
    let half = (r - b) / variance - 0.5;
    let power = -half + (half * half + 2.0 * r / variance).sqrt();
    (power / (power - 1.0)).max(1.0).ln()
}

/// The low edge of a put's grid: below the perpetual boundary, the no-exercise level rK/b, and what the longest wait
/// for a dividend spreads.
fn put_edge(problem: &Problem, k: f64, sigma: f64, width: f64) -> f64 {
    let Terms { r, b, .. } = problem.terms;
    let ratio = 2.0 * r / (sigma * sigma);
    let level = if b > r && r > 0.0 { (r / b).ln() - GRID.put_level } else { 0.0 };
    let perpetual = if r > 0.0 { (ratio / (1.0 + ratio)).ln().min(level) } else { GRID.put_lowest };
    let strike = (k - problem.terms.a(problem.stop)).max(GRID.put_strike_least * k).ln();
    let capped = level.max(-GRID.put_level_deviations * width - GRID.put_level_extra);
    let wait = longest_wait(problem, k);
    strike + perpetual.max(-GRID.put_deviations * width).min(capped)
        - margin(width).max(GRID.put_wait * sigma * wait.sqrt())
}

/// The longest time before an ex-date during which a put is not exercised, years.
fn longest_wait(problem: &Problem, k: f64) -> f64 {
    let mut from = problem.stop;
    let mut longest: f64 = 0.0;
    for d in problem.terms.divs.iter().filter(|d| d.t > problem.stop + SAME.date) {
        longest = longest.max(gap_before(d.amount, k, problem.terms.r).min(d.t - from));
        from = d.t;
    }
    longest
}
