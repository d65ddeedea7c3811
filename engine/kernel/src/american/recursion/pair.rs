//! Two exercise boundaries at once: puts with b < r < 0 and calls with r < b < 0, exercised between rK/b and K.

use super::AmericanOption;
use super::collocation::{Outcome, Point, Stretch};
use super::interval::Interval;
use super::rules::{POINTS, REACH, points};
use crate::american::settings::{PAIR, REACHES, SPOT_NODES};
use crate::solve::eliminate;

/// Most steps of Newton's method.
const MOST_STEPS: usize = 30;
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
/// A step of ln B below this ends the iteration.
const CONVERGED: f64 = 1e-9;
/// A step of ln B below this ends the iteration once steps no longer shrink.
const STALLED: f64 = 1e-5;
/// Steps after which `STALLED` applies. The first steps may be damped.
const STALLED_AFTER: usize = 4;
/// Steps that exceed this part of the one before no longer shrink. Newton's method squares its error.
const SHRINKS: f64 = 0.3;

impl Interval {
    /// Solves both boundaries, which end at ln K and ln(rK/b) with the interval.
    pub(super) fn solve_pair(&mut self, p: &AmericanOption) -> Outcome {
        let length = self.end - self.from;
        let ends = [p.k.ln(), (p.r * p.k / p.b).ln()];
        for shortened in 0..TRIES {
            let from = self.end - length * SHORTER.powi(shortened);
            let Some([near, far]) = self.pair(p, from, ends) else { continue };
            let cost = |t: f64| self.cost(p, t);
            self.later.extend(&far.moments(PAIR.fixed_nodes, SPOT_NODES.last, -1.0, cost, p.b));
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
        // both have the same times
        let points: Vec<Point> = (0..POINTS).map(|k| both[0].point(p, self, k)).collect();
        let most = STEP_MOST * apart.abs();
        let mut last = f64::INFINITY;
        for steps in 0..MOST_STEPS {
            let mut matrix = [[0.0; 2 * POINTS]; 2 * POINTS];
            let mut residual = [0.0; 2 * POINTS];
            for j in 0..2 {
                for (k, point) in points.iter().enumerate() {
                    let (row, x) = (j * POINTS + k, both[j].ln_b[k]);
                    let lambda = point.lambda * if j == 0 { p.phi } else { -p.phi };
                    let mut at = point.holding.less_payoff(p, self, x);
                    for ((stretch, sign), entries) in
                        both.iter().zip([1.0, -1.0]).zip(matrix[row].chunks_exact_mut(POINTS))
                    {
                        point.add_flow(p, stretch, x, [sign, lambda], &mut at, entries);
                    }
                    matrix[row][row] += at[1] - lambda * at[2];
                    residual[row] = at[0] - lambda * at[1];
                }
            }
            eliminate(&mut matrix, &mut residual);
            let step = residual.iter().fold(0.0, |most: f64, r| most.max(r.abs()));
            if !step.is_finite() {
                return None;
            }
            let damping = (most / step).min(1.0);
            for (stretch, steps) in both.iter_mut().zip(residual.chunks_exact(POINTS)) {
                for (y, step) in stretch.ln_b.iter_mut().zip(steps) {
                    *y -= damping * step;
                }
            }
            let [near, far] = &both;
            if near.ln_b.iter().zip(&far.ln_b).any(|(near, far)| (far - near) * apart <= 0.0) {
                return None;
            }
            if step < CONVERGED || (steps > STALLED_AFTER && step < STALLED && step > SHRINKS * last) {
                return Some(both);
            }
            last = step;
        }
        None
    }
}
