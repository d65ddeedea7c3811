//! European values of many places at one date: exact ones, and those of a solved grid carried over to other rates.
//! Never: exercise, a date to come.

use super::grid::Grid;
use super::schedule::Problem;
use crate::american::settings::GRID;
use crate::elementary::ln;
use crate::lanes::{Lanes, Mask};
use crate::normal::norm_cdf;

/// Black-76 in terms of X, for one strike and volatility a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct European<L> {
    phi: f64,
    /// ln K less the drift, σ√τ and 1 over it.
    centre: L,
    width: L,
    inverse: L,
    /// What X and K are worth now.
    share: f64,
    cash: L,
}

impl<L: Lanes> European<L> {
    /// # Domain    tau > 0, sigma > 0
    pub(super) fn new(phi: f64, k: L, sigma: L, tau: f64, r: f64, b: f64) -> Self {
        let c = |v: f64| L::splat(v);
        let width = sigma * c(tau.sqrt());
        European {
            phi,
            centre: ln(k) - c((r - b) * tau),
            width,
            inverse: c(1.0) / width,
            share: (-b * tau).exp(),
            cash: k * c((-r * tau).exp()),
        }
    }

    /// The value at `spot`, whose logarithm is `x`.
    #[inline(never)]
    pub(super) fn at(&self, x: L, spot: L) -> L {
        let phi = L::splat(self.phi);
        let d1 = (x - self.centre).mul_add(self.inverse, self.width * 0.5);
        let d2 = d1 - self.width;
        phi * (spot * self.share * norm_cdf(d1 * phi) - self.cash * norm_cdf(d2 * phi))
    }

    /// The same shortly before expiry: a forward or nothing where the strike is out of reach in all lanes.
    pub(super) fn soon(&self, x: L, spot: L) -> L {
        let (away, reach) = (x - self.centre, self.width * GRID.out_of_reach);
        if reach.lt(away).all() || away.lt(-reach).all() {
            return (L::splat(self.phi) * (spot * self.share - self.cash)).max(L::splat(0.0));
        }
        self.at(x, spot)
    }
}

/// European values on `grid` for `problem`, from those `solved` for the same but for its rates: V at moved rates is
/// e^(−δr·τ)·V at ln X + (δr − δb)·τ. They keep the errors of the grid, so that these still cancel against those of
/// American values. `None` where that is too far.
///
/// # Accuracy  against solving again: rho and epsilon 2e-4 of K·τ: `carried_values_are_those_solved_anew`
pub(super) fn carried<L: Lanes>(solved: &[L], from: &Problem, problem: &Problem, grid: &Grid<L>) -> Option<Vec<L>> {
    let c = |v: f64| L::splat(v);
    let tau = problem.terms.t - problem.stop;
    let (by_r, by_b) = (problem.terms.r - from.terms.r, problem.terms.b - from.terms.b);
    let by = c((by_r - by_b) * tau) / grid.step();
    if !by.abs().le(c(GRID.farthest)).all() {
        return None;
    }
    let last = solved.len() - GRID.stencil;
    let discount = c((-by_r * tau).exp());
    let weights_from = |before: usize| weights(by + c(before as f64)).map(|weight| weight * discount);
    let inside = weights_from(GRID.before);
    let value = |j: usize| {
        // at the ends the same nodes serve several: the grid's values there are not the exact ones
        let from = j.saturating_sub(GRID.before).min(last);
        let weights = if j - from == GRID.before { inside } else { weights_from(j - from) };
        let around = solved[from..from + GRID.stencil].iter().zip(weights);
        around.fold(c(0.0), |sum, (value, weight)| value.mul_add(weight, sum))
    };
    Some((0..solved.len()).map(value).collect())
}

/// Weights of Lagrange's interpolation at `z` through the values at 0, 1, …
fn weights<L: Lanes>(z: L) -> [L; GRID.stencil] {
    let at = |i: usize| L::splat(i as f64);
    core::array::from_fn(|i| {
        let others = (0..GRID.stencil).filter(|&q| q != i);
        others.fold(L::splat(1.0), |product, q| product * (z - at(q)) * L::splat(1.0 / (i as f64 - q as f64)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::solver::solve;
    use super::*;
    use crate::dividends::{Dividend, Terms};

    #[test]
    fn carried_values_are_those_solved_anew() {
        for (phi, stop, t) in [(-1.0, 0.0, 0.4), (1.0, 0.1, 0.4), (-1.0, 0.1, 2.0), (1.0, 0.0, 2.0)] {
            let problem = |r: f64, b: f64| {
                let divs = [0.1, 0.35].map(|t| Dividend { t, amount: 0.9 }).to_vec();
                Problem { phi, terms: Terms { t, r, b, divs }, stop, continuous: phi < 0.0 }
            };
            let width = 0.25 * (t - stop).sqrt();
            let ends = [100f64.ln() + phi * 3.8 * width, 100f64.ln() - phi * 3.8 * width];
            let grid = Grid { k: 100.0, sigma: 0.25, edge: ends[0], far: ends[1], intervals: 150 };
            let step = 5e-4;
            let moves = [(-step, 0.0), (step, 0.0), (0.0, -step), (0.0, step)];
            let problems = moves.map(|(by_r, by_b)| problem(0.04 + by_r, 0.01 + by_b));
            let schedule = problems[0].schedule(100.0, 100.0, 40);
            let together = solve::<f64>(&problems, &grid, &schedule);
            for (problem, carried) in problems.iter().zip(together) {
                let alone = solve::<f64>(core::slice::from_ref(problem), &grid, &schedule).remove(0);
                for (carried, alone) in carried.european.iter().zip(&alone.european) {
                    let by_rate = (carried - alone) / (2.0 * step);
                    assert!(by_rate.abs() <= 2e-4 * t * 100.0, "{phi} {stop} {t}: {by_rate}");
                }
            }
        }
    }
}
