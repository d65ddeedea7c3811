//! The exercise boundary over a stretch of time, by collocation and Newton's method.
//!
//! Time is t = to − (to − from)·e^(−η²): in η the logarithm of the boundary is smooth at both ends, at expiry where it
//! behaves like √(τ ln 1/τ), and where a window of exercise closes before an ex-date. The equation at each collocation
//! point is that of value less λ times that of slope. Value matching alone is an Abel equation, flat next to expiry;
//! smooth pasting alone says nothing where the boundary runs away.

use super::flow::{FlowBlock, FlowNodes, FlowSums, Flows};
use super::interval::{Holding, Interval};
use super::premium::clenshaw;
use super::problem::{Problem, Slopes};
use super::rules::{Geometry, INNER, POINTS, REACHES, gauss, open_tail, points, solve_in_place, to_chebyshev};
use crate::lanes::{Lanes, Pack};

type Moments = Pack<2>;
const N: usize = Moments::N;

const BLOCKS: usize = INNER / N;
/// Nodes of a finished stretch that later values sum over, and their greatest η.
const FIXED_NODES: usize = 16;
const FIXED_ETA: f64 = 4.0;
/// Steps of Newton's method. The median is 6, 99 of 100 take 17.
const MOST_STEPS: usize = 25;
/// Largest step of ln B that ends the iteration, and the one that ends it when steps shrink no more.
const CONVERGED: f64 = 1e-11;
const STALLED: f64 = 1e-8;
/// A stretch is solved if its last step was below this, or its equations hold to this part of the strike.
const SOLVED_STEP: f64 = 1e-6;
const SOLVED_RESIDUAL: f64 = 1e-9;
/// The value of holding is carried by its Taylor series over this part of its deviation.
const CARRIED: f64 = 0.08;

/// A boundary over a stretch of time.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    pub(super) from: f64,
    pub(super) to: f64,
    /// η of the last collocation point, as an index in [`REACHES`].
    pub(super) reach: usize,
    /// ln B at the collocation points.
    pub(super) ln_b: [f64; POINTS],
    /// ln B at the end; or, of a boundary that runs away, where the points end and one and two steps later.
    pub(super) tail: [f64; 3],
    /// √(time in which the boundary moves by its own deviation / time left) at the points; `None`: it has an end.
    pub(super) pace: Option<[f64; POINTS]>,
}

/// How an iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Solved,
    /// The boundary is that of the start, or close to the solution: the error of values is of second order in it.
    Unsolved,
}

/// The flow from one collocation point on: what does not change with the boundary.
struct Point {
    t: f64,
    holding: Holding,
    /// λ: the standard deviation over the time in which the boundary moves by as much.
    lambda: f64,
    blocks: [FlowBlock; BLOCKS],
    geometry: &'static Geometry,
    /// The part of ln B at the nodes that the end fixes.
    fixed: [f64; INNER],
    /// What follows the stretch in the interval.
    later: Flows,
}

impl Stretch {
    pub(super) fn time(&self, eta: f64) -> f64 {
        self.to - (self.to - self.from) * (-eta * eta).exp()
    }

    /// The boundary as a function of η.
    pub(super) fn curve(&self) -> Curve<'_> {
        Curve { stretch: self, terms: to_chebyshev(&self.ln_b) }
    }

    /// The stretch as moments for values before it.
    pub(super) fn nodes(&self, p: &Problem, interval: &Interval, sign: f64) -> FlowNodes {
        let length = self.to - self.from;
        let mut nodes = FlowNodes::default();
        let curve = self.curve();
        for (u, w) in gauss(FIXED_NODES) {
            let eta = FIXED_ETA * u;
            let time = self.time(eta);
            let weight = sign * w * FIXED_ETA * length * 2.0 * eta * (-eta * eta).exp();
            nodes.push(time, curve.at(eta), interval.cost(p, time), weight);
        }
        nodes
    }

    fn point(&self, p: &Problem, interval: &Interval, k: usize) -> Point {
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
        let tail = |weights: [f64; 3]| weights.iter().zip(&self.tail).map(|(w, y)| w * y).sum();
        Point {
            t,
            holding: interval.holding(p, t),
            lambda: p.width(left) * pace.map_or(1.0, |pace| pace.max(0.02)),
            blocks: core::array::from_fn(block),
            geometry,
            fixed: geometry.tail.map(tail),
            later: interval.later.from(p, t),
        }
    }

    /// Solves the boundary from the one it has, which stays where that fails. `limit`: the ln B at a time beyond which
    /// exercise loses.
    pub(super) fn solve(&mut self, p: &Problem, interval: &Interval, limit: impl Fn(f64) -> f64) -> Outcome {
        let n = POINTS - usize::from(self.pace.is_some());
        let start = self.ln_b;
        let pinned: [bool; POINTS] = core::array::from_fn(|k| k >= n || (!p.is_put() && start[k] < (0.1 * p.k).ln()));
        let grid: Vec<Point> = (0..n).map(|k| self.point(p, interval, k)).collect();
        let limits: Vec<f64> = grid.iter().map(|point| limit(point.t)).collect();
        let longest = 0.5 * p.width(self.to - self.from);
        let mut held = vec![(f64::NAN, [0.0; 5]); n];
        let (mut before, mut step) = (self.ln_b, [0.0; POINTS]);
        let (mut norm_before, mut last, mut moved, mut norm) = (f64::INFINITY, f64::INFINITY, f64::INFINITY, 0.0);
        for steps in 0..MOST_STEPS {
            let mut matrix = vec![vec![0.0; n]; n];
            let mut residual = vec![0.0; n];
            for k in 0..n {
                if pinned[k] {
                    matrix[k][k] = 1.0;
                    continue;
                }
                residual[k] = self.equation(p, interval, (&grid[k], k), &mut held[k], &mut matrix[k]);
            }
            norm = residual.iter().fold(0.0, |most: f64, r| most.max(r.abs())) / p.k;
            if steps > 0 && norm > 1e-12 && !(norm < 1.5 * norm_before) {
                let most = step.iter().fold(0.0, |most: f64, s: &f64| most.max(s.abs()));
                if most > 1e-9 {
                    for k in 0..n {
                        step[k] *= 0.4;
                        self.ln_b[k] = before[k] - step[k];
                    }
                    moved = most;
                    continue;
                }
            }
            norm_before = norm;
            solve_in_place(&mut matrix, &mut residual);
            let most = residual.iter().fold(0.0, |most: f64, r| most.max(r.abs()));
            if !most.is_finite() {
                moved = f64::INFINITY;
                break;
            }
            let damping = (longest / most).min(1.0);
            before = self.ln_b;
            moved = 0.0;
            for k in 0..n {
                let mut y = self.ln_b[k] - damping * residual[k];
                if (y - limits[k]) * p.phi < 0.0 {
                    y = limits[k] + (self.ln_b[k] - limits[k]) * 0.1;
                }
                moved = f64::max(moved, (y - self.ln_b[k]).abs());
                step[k] = self.ln_b[k] - y;
                self.ln_b[k] = y;
            }
            if moved < CONVERGED || (moved < STALLED && moved > 0.5 * last) {
                break;
            }
            last = moved;
        }
        if moved < SOLVED_STEP || norm < SOLVED_RESIDUAL {
            return Outcome::Solved;
        }
        if !(moved < 1e-4 * longest) {
            self.ln_b = start;
        }
        Outcome::Unsolved
    }

    /// The equation of one point and its derivatives by the points. `held` is the value of holding where it was last
    /// computed.
    fn equation(
        &self,
        p: &Problem,
        interval: &Interval,
        (point, k): (&Point, usize),
        held: &mut (f64, Slopes),
        row: &mut [f64],
    ) -> f64 {
        let (x, t) = (self.ln_b[k], point.t);
        let left = interval.end - t;
        let near = (x - held.0).abs() < CARRIED * p.width(left);
        if interval.premium.pieces.is_empty() || left < 1e-12 || !near {
            *held = (x, point.holding.less_payoff(p, interval, x));
        }
        let mut at = carried(&held.1, x - held.0);
        let mut sums = FlowSums::zero();
        let lambda = p.phi * point.lambda;
        for (i, block) in point.blocks.iter().enumerate() {
            let nodes = i * N..(i + 1) * N;
            let ln_b: [f64; N] = core::array::from_fn(|lane| {
                let (fixed, row) = (point.fixed[i * N + lane], &point.geometry.rows[i * N + lane]);
                fixed + row.iter().zip(&self.ln_b).map(|(w, y)| w * y).sum::<f64>()
            });
            let [by_value, by_slope] = sums.add(p, block, x, Moments::load(&ln_b));
            let mut by = [0.0; N];
            (by_value - by_slope * lambda).store(&mut by);
            for (by, weights) in by.iter().zip(&point.geometry.rows[nodes]) {
                for (entry, weight) in row.iter_mut().zip(weights) {
                    *entry += by * weight;
                }
            }
        }
        sums.total(&mut at);
        point.later.add(p, x, &mut at);
        row[k] += at[1] - lambda * at[2];
        at[0] - lambda * at[1]
    }
}

/// A boundary as a function of η.
pub(super) struct Curve<'a> {
    stretch: &'a Stretch,
    terms: [f64; POINTS],
}

impl Curve<'_> {
    /// ln B at `eta`.
    pub(super) fn at(&self, eta: f64) -> f64 {
        let (stretch, reach) = (self.stretch, REACHES[self.stretch.reach]);
        if eta < reach {
            return clenshaw(&self.terms, 2.0 * eta / reach - 1.0);
        }
        if stretch.pace.is_some() {
            return open_tail(eta, reach).iter().zip(&stretch.tail).map(|(w, y)| w * y).sum();
        }
        let left = (-0.5 * (eta * eta - reach * reach)).exp();
        stretch.tail[0] + (stretch.ln_b[POINTS - 1] - stretch.tail[0]) * left
    }
}

/// Value and slopes a step of `h` in x further, by the Taylor series.
pub(super) fn carried(at: &Slopes, h: f64) -> Slopes {
    let [v, a, b, c, d] = *at;
    [
        v + h * (a + h * (b / 2.0 + h * (c / 6.0 + h * d / 24.0))),
        a + h * (b + h * (c / 2.0 + h * d / 6.0)),
        b + h * (c + h * d / 2.0),
        c + h * d,
        d,
    ]
}
