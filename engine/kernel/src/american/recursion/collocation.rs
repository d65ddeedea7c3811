//! Solves a boundary by collocation and Newton's method.
//!
//! The equation at each point is value matching less λ times smooth pasting. Value matching alone is an Abel equation,
//! flat next to expiry; smooth pasting alone does not determine a boundary that runs away.

use super::flow::{AmericanOption, FlowBlock, FlowSums, Flows, Slopes};
use super::interval::{Holding, Interval};
use super::stretch::{Geometry, INNER, POINTS, Stretch, points};
use crate::american::settings::{LAMBDA_LEAST, LIMIT_LEFT, REACHES, SAME, SHRINKS};
use crate::american::start::carried;
use crate::lanes::{Block, Lanes};
use crate::solve::eliminate;

/// Most steps of Newton's method. The median is 6, 99 of 100 take 17.
const MOST_STEPS: usize = 25;
/// A largest step of ln B below this ends the iteration.
const CONVERGED: f64 = 1e-11;
/// A largest step of ln B below this ends the iteration once steps no longer shrink.
const STALLED: f64 = 1e-8;
/// A stretch is solved if its last step was below this. The error of values is of second order in it.
const SOLVED_STEP: f64 = 1e-6;
/// A stretch is also solved if its equations hold to this (part of the strike). A hundredth of the error aimed at.
const SOLVED_RESIDUAL: f64 = 1e-9;
/// A boundary whose last step exceeded this is replaced by its start (part of the greatest step).
const KEPT_STEP: f64 = 1e-4;
/// The greatest step of ln B of one boundary (part of the deviation over the stretch).
const LONGEST: f64 = 0.5;
/// A step is taken back if the residual of the equations grows by this factor.
const WORSE: f64 = 1.5;
/// No step is taken back while the residual is below this (part of the strike). Rounding goes up and down.
const WORSE_LEAST: f64 = 1e-12;
/// A shorter step is not taken back. A hundred times the step that ends the iteration.
const TAKEN_BACK_LEAST: f64 = 1e-9;
/// Part of a step that remains when it is taken back (part of the step).
const TAKEN_BACK: f64 = 0.4;
/// A call's boundary that starts below this stays where it is (part of the strike). Dividends exceed the strike, and
/// exercise is certain.
const PINNED_BELOW: f64 = 0.1;
/// A Taylor series extrapolates the value of holding over at most this (part of its deviation).
const CARRIED: f64 = 0.03;

const N: usize = Block::N;
const BLOCKS: usize = INNER / N;

/// Outcome of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Solved,
    /// The boundary is the start, or only close to the solution: the error of values is of second order in its error.
    Unsolved,
}

/// The part of the equation of a collocation point that does not change with the boundary.
struct Point {
    t: f64,
    holding: Holding,
    /// λ: the standard deviation of ln X over the time in which the boundary moves by as much.
    lambda: f64,
    blocks: [FlowBlock; BLOCKS],
    geometry: &'static Geometry,
    /// Exercise within the interval after the stretch.
    later: Flows,
}

impl Point {
    /// Flow along `stretch` at `x`: adds its value and slopes to `at`, and the derivatives of value less `lambda` times
    /// slope in ln B of the points of `stretch` to `row`; `sign`: 1, or −1 for a region's second boundary.
    #[inline(always)]
    fn add_flow(
        &self,
        p: &AmericanOption,
        stretch: &Stretch,
        x: f64,
        [sign, lambda]: [f64; 2],
        at: &mut Slopes,
        row: &mut [f64],
    ) {
        let (mut sums, geometry) = (FlowSums::zero(), self.geometry);
        for (block, nodes) in self.blocks.iter().zip((0..INNER).step_by(N)) {
            let ln_b: [f64; N] = core::array::from_fn(|lane| {
                let of = |weights: &[f64], y: &[f64]| weights.iter().zip(y).map(|(w, y)| w * y).sum::<f64>();
                of(&geometry.tail[nodes + lane], &stretch.tail) + of(&geometry.rows[nodes + lane], &stretch.ln_b)
            });
            let [by_value, by_slope] = sums.add(p, block, x, Block::load(&ln_b));
            let mut by = [0.0; N];
            ((by_value - by_slope * lambda) * sign).store(&mut by);
            for (by, weights) in by.iter().zip(&geometry.rows[nodes..]) {
                for (entry, weight) in row.iter_mut().zip(weights) {
                    *entry += by * weight;
                }
            }
        }
        sums.total(sign, at);
    }
}

impl Stretch {
    /// The collocation point `k`.
    fn point(&self, p: &AmericanOption, interval: &Interval, k: usize) -> Point {
        let t = self.time(points()[k] * REACHES[self.reach]);
        let left = self.to - t;
        let pace = self.pace.map(|pace| pace[k]);
        let geometry = Geometry::of(self.reach, k, pace);
        let block = |i: usize| {
            let node = |lane: usize| i * N + lane;
            let wait: [f64; N] = core::array::from_fn(|lane| left * geometry.wait[node(lane)]);
            let weight: [f64; N] = core::array::from_fn(|lane| left * geometry.weight[node(lane)]);
            FlowBlock::new(p, &wait, &weight, &wait.map(|wait| interval.cost(p, t + wait)))
        };
        Point {
            t,
            holding: interval.holding(p, t),
            lambda: p.width(left) * pace.map_or(1.0, |pace| pace.max(LAMBDA_LEAST)),
            blocks: core::array::from_fn(block),
            geometry,
            later: Flows::new(p, &interval.later, t),
        }
    }

    /// [`Self::solve`] of a region with one boundary.
    pub(super) fn solve_alone(
        &mut self,
        p: &AmericanOption,
        interval: &Interval,
        limit: impl Fn(f64) -> f64,
    ) -> Outcome {
        let longest = LONGEST * p.width(self.to - self.from);
        Self::solve(core::slice::from_mut(self), p, interval, longest, limit)
    }

    /// Solves the boundaries of one region by Newton's method from their current ones, and keeps these if the method
    /// fails: one, or two of the same times, the farther one second. `limit`: the ln B at a time beyond which exercise
    /// loses, `longest`: the longest step.
    ///
    /// # Accuracy  the error of an [`Outcome::Unsolved`] boundary is about its last step; that of values is its square
    /// # Cost      in proportion to the steps: 6 as a rule
    pub(super) fn solve(
        region: &mut [Self],
        p: &AmericanOption,
        interval: &Interval,
        longest: f64,
        limit: impl Fn(f64) -> f64,
    ) -> Outcome {
        let n = region.len() * POINTS - usize::from(region[0].pace.is_some());
        let start: Vec<[f64; POINTS]> = region.iter().map(|stretch| stretch.ln_b).collect();
        let pinned: Vec<bool> =
            (0..n).map(|i| !p.is_put() && region.len() == 1 && region[0].ln_b[i] < (PINNED_BELOW * p.k).ln()).collect();
        let grid: Vec<Point> = (0..n.min(POINTS)).map(|k| region[0].point(p, interval, k)).collect();
        let limits: Vec<f64> = grid.iter().map(|point| limit(point.t)).collect();
        let mut held = vec![(f64::NAN, [0.0; 5]); n];
        let (mut before, mut step) = (start.clone(), vec![0.0; n]);
        let (mut norm_before, mut last, mut moved, mut norm) = (f64::INFINITY, f64::INFINITY, f64::INFINITY, 0.0);
        for steps in 0..MOST_STEPS {
            let mut matrix = vec![[0.0; 2 * POINTS]; n];
            let mut residual = vec![0.0; n];
            for i in 0..n {
                if pinned[i] {
                    matrix[i][i] = 1.0;
                    continue;
                }
                residual[i] = Self::equation(region, p, interval, &grid[i % POINTS], i, &mut held[i], &mut matrix[i]);
            }
            norm = residual.iter().fold(0.0, |most: f64, r| most.max(r.abs())) / p.k;
            let worse = norm.is_nan() || norm >= WORSE * norm_before;
            if steps > 0 && norm > WORSE_LEAST && worse {
                let most = step.iter().fold(0.0, |most: f64, s: &f64| most.max(s.abs()));
                if most > TAKEN_BACK_LEAST {
                    for (i, step) in step.iter_mut().enumerate() {
                        *step *= TAKEN_BACK;
                        region[i / POINTS].ln_b[i % POINTS] = before[i / POINTS][i % POINTS] - *step;
                    }
                    moved = most;
                    continue;
                }
            }
            norm_before = norm;
            eliminate(&mut matrix, &mut residual);
            let most = residual.iter().fold(0.0, |most: f64, r| most.max(r.abs()));
            if !most.is_finite() {
                moved = f64::INFINITY;
                break;
            }
            // late points have little of the deviation left: a step that suits the first ones throws them off
            let damping = (0..n)
                .map(|i| p.width(region[0].to - grid[i % POINTS].t) / residual[i].abs())
                .fold((longest / most).min(1.0), f64::min);
            before = region.iter().map(|stretch| stretch.ln_b).collect();
            moved = 0.0;
            for i in 0..n {
                let (at, limit) = (&mut region[i / POINTS].ln_b[i % POINTS], limits[i % POINTS]);
                let mut y = *at - damping * residual[i];
                if (y - limit) * p.phi < 0.0 {
                    y = limit + (*at - limit) * LIMIT_LEFT;
                }
                moved = f64::max(moved, (y - *at).abs());
                step[i] = *at - y;
                *at = y;
            }
            if let [near, far] = &*region
                && near.ln_b.iter().zip(&far.ln_b).any(|(near, far)| (far - near) * p.phi <= 0.0)
            {
                // the two boundaries meet
                moved = f64::INFINITY;
                break;
            }
            if moved < CONVERGED || (moved < STALLED && moved > SHRINKS * last) {
                break;
            }
            last = moved;
        }
        if moved < SOLVED_STEP || norm < SOLVED_RESIDUAL && moved.is_finite() {
            return Outcome::Solved;
        }
        if moved.is_nan() || moved >= KEPT_STEP * longest {
            region.iter_mut().zip(start).for_each(|(stretch, start)| stretch.ln_b = start);
        }
        Outcome::Unsolved
    }

    /// Residual of equation `i` of the boundaries of one region, at the collocation point `point`, and its derivatives
    /// in ln B of the points. `held`: the ln B at which the value of holding was last computed, and that value.
    ///
    /// # Shapes  `row`: by boundary and point, added to · result: currency per share
    /// # Domain  ln B of every point finite
    fn equation(
        region: &[Self],
        p: &AmericanOption,
        interval: &Interval,
        point: &Point,
        i: usize,
        held: &mut (f64, Slopes),
        row: &mut [f64],
    ) -> f64 {
        let (x, t) = (region[i / POINTS].ln_b[i % POINTS], point.t);
        let left = interval.end - t;
        let near = (x - held.0).abs() < CARRIED * p.width(left);
        let is_european = interval.premium.is_none() && interval.ahead.is_empty();
        if is_european || left < SAME.instant || !near {
            *held = (x, point.holding.less_payoff(p, interval, x));
        }
        let mut at = carried(&held.1, x - held.0);
        let signs = [1.0, -1.0];
        let lambda = p.phi * point.lambda * signs[i / POINTS];
        for ((stretch, sign), entries) in region.iter().zip(signs).zip(row.chunks_exact_mut(POINTS)) {
            point.add_flow(p, stretch, x, [sign, lambda], &mut at, entries);
        }
        point.later.add(p, x, &mut at);
        row[i] += at[1] - lambda * at[2];
        at[0] - lambda * at[1]
    }
}
