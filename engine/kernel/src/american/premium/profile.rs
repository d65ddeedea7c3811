//! One lane of a solved grid as a function of ln X: the premium between nodes, up to the exercise boundary.
//! Never: a table, another lane.

use super::european::European;
use super::schedule::Problem;
use crate::american::settings::{GRID, SAME};
use crate::solve::bracketed_root;

/// Barycentric weights of eight equidistant nodes.
const WEIGHTS: [f64; GRID.stencil] = [1.0, -7.0, 21.0, -35.0, 35.0, -21.0, 7.0, -1.0];

/// The values of one (strike, volatility) at the stop date.
#[derive(Clone, Debug)]
pub(super) struct SolvedColumn {
    pub(super) phi: f64,
    pub(super) k: f64,
    pub(super) sigma: f64,
    /// ln X of node 0, and the signed step.
    pub(super) edge: f64,
    pub(super) step: f64,
    /// European values at the stop date.
    pub(super) european: European<f64>,
    /// A as exercise at the stop date collects it.
    pub(super) a: f64,
    pub(super) american: Vec<f64>,
    /// American − European value.
    pub(super) premium: Vec<f64>,
    /// Index of the first free node; 0 if the grid saw no boundary.
    pub(super) first_free: usize,
    /// ln of the exercise boundary, if there is one.
    pub(super) boundary: Option<f64>,
    /// Jump of V_xx there; 0 where value and payoff cross at an angle, as at a call's ex-date.
    pub(super) jump: f64,
}

impl SolvedColumn {
    /// ln X at node `j`.
    pub(super) fn x(&self, j: usize) -> f64 {
        self.edge + self.step * j as f64
    }

    /// ln X at the far edge.
    pub(super) fn far(&self) -> f64 {
        self.x(self.premium.len() - 1)
    }

    fn payoff(&self, x: f64) -> f64 {
        self.phi * (x.exp() + self.a - self.k)
    }

    /// What exercise at `x` pays above the European value.
    fn exercise(&self, x: f64) -> f64 {
        let spot = x.exp();
        self.phi * (spot + self.a - self.k) - self.european.at(x, spot)
    }

    /// Value kept alive less payoff at `x`.
    fn excess(&self, x: f64) -> f64 {
        self.interpolate(x, 0, |j| self.premium[j]) - self.exercise(x)
    }

    /// Eight-point Lagrange interpolation that uses no node before `least`.
    fn interpolate(&self, x: f64, least: usize, f: impl Fn(usize) -> f64) -> f64 {
        let place = ((x - self.edge) / self.step).max(0.0);
        let most = self.premium.len() - GRID.stencil;
        let from = (place.floor() as usize).saturating_sub(GRID.before).max(least).min(most);
        let z = place - from as f64;
        let (mut above, mut below) = (0.0, 0.0);
        for (i, weight) in WEIGHTS.iter().enumerate() {
            let distance = z - i as f64;
            if distance.abs() < GRID.at_node {
                return f(from + i);
            }
            let w = weight / distance;
            above += w * f(from + i);
            below += w;
        }
        above / below
    }

    /// The premium on the continuation side; what exercise pays on the other.
    pub(super) fn premium(&self, x: f64) -> f64 {
        let outward = self.step.signum();
        let place = (x - self.edge) / self.step;
        let last = self.premium.len() - 1;
        if place >= last as f64 {
            // nothing, but where a call's dividends are worth more than its strike
            return self.premium[last];
        }
        let smooth = self.first_free > 0;
        let Some(boundary) = self.boundary.filter(|_| smooth) else {
            return self.interpolate(x, 0, |j| self.premium[j]);
        };
        let distance = outward * (x - boundary);
        if distance <= 0.0 {
            return self.exercise(x);
        }
        if place < (self.first_free + 3) as f64 && self.first_free + 4 < self.premium.len() {
            return self.near_boundary(distance, boundary) + self.exercise(x);
        }
        self.interpolate(x, self.first_free + 1, |j| self.premium[j])
    }

    /// V − payoff at a distance of few nodes from the boundary: y²·(jump/2 + a₃y + a₄y² + a₅y³) through the second to
    /// fourth free node. The first is the one that the boundary's position touches most.
    fn near_boundary(&self, distance: f64, boundary: f64) -> f64 {
        let mut rows = [[0.0; 4]; 3];
        for (i, row) in rows.iter_mut().enumerate() {
            let x = self.x(self.first_free + 1 + i);
            let y = self.step.signum() * (x - boundary);
            let excess = self.american[self.first_free + 1 + i] - self.payoff(x);
            *row = [1.0, y, y * y, (excess / (y * y) - 0.5 * self.jump) / y];
        }
        let [a3, a4, a5] = solve_three(rows);
        let y = distance;
        y * y * (0.5 * self.jump + y * (a3 + y * (a4 + y * a5)))
    }

    /// Where the kept-alive value meets the payoff before an ex-date: the least ln X at which a call is exercised, and
    /// how far from there the exercise region reaches (b < 0 ends it). `None` if it is exercised nowhere.
    pub(super) fn find_crossing(&self) -> Option<(f64, f64)> {
        let excess = |j: usize| self.american[j] - self.payoff(self.x(j));
        let last = self.premium.len() - 1;
        let j = (1..last).rev().find(|&j| excess(j) < 0.0)?;
        let end = (0..j).rev().find(|&i| excess(i) >= 0.0);
        // a node to spare on either side: here the European value is exact, on the grid it is not
        let (from, to) = (self.x(j - 1), self.x((j + 2).min(last)));
        let crossing = bracketed_root(|x| self.excess(x), from, to, SAME.root)?;
        Some((crossing, end.map_or(f64::INFINITY, |i| self.x(i) - crossing)))
    }

    /// Sets the smooth boundary that the solver found `theta` steps before the first free node.
    pub(super) fn set_contact(&mut self, problem: &Problem, theta: f64) {
        let found = self.first_free > 0 && self.first_free + GRID.stencil + 1 < self.premium.len();
        if !found {
            self.first_free = 0;
            return;
        }
        let boundary = self.x(self.first_free) - theta * self.step;
        let gain = self.phi * (problem.terms.b * (boundary.exp() + self.a) - problem.terms.r * self.k);
        self.jump = (2.0 / (self.sigma * self.sigma) * gain).max(0.0);
        self.boundary = Some(boundary);
    }
}

/// Solves three equations in three unknowns, right sides last.
fn solve_three(mut rows: [[f64; 4]; 3]) -> [f64; 3] {
    for i in 1..3 {
        for q in 0..i {
            let factor = rows[i][q] / rows[q][q];
            let pivot = rows[q];
            for (entry, above) in rows[i].iter_mut().zip(pivot) {
                *entry -= factor * above;
            }
        }
    }
    let c = rows[2][3] / rows[2][2];
    let b = (rows[1][3] - rows[1][2] * c) / rows[1][1];
    let a = (rows[0][3] - rows[0][1] * b - rows[0][2] * c) / rows[0][0];
    [a, b, c]
}
