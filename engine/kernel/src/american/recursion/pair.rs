//! Two exercise boundaries at once: puts with b < r < 0 and calls with r < b < 0, exercised between rK/b and K.

use super::AmericanOption;
use super::collocation::{Outcome, Stretch};
use super::interval::Interval;
use super::rules::{REACH, points};
use crate::american::settings::{PAIR, REACHES, SPOT_NODES};

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
        let longest = STEP_MOST * apart.abs();
        let outcome = Stretch::solve(&mut both, p, self, longest, |_| -p.phi * f64::INFINITY);
        (outcome == Outcome::Solved).then_some(both)
    }
}
