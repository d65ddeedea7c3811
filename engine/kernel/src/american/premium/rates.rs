//! Derivatives of a premium table in r and b: of its boundary and of its series. Never: a value, an evaluation.

use super::periods::Problem;
use super::series::{Axis, bend, fit_tensor, without_tail};
use super::solved::{Solved, pairs};
use super::table::{RATE_NODES, Rates, Table};
use super::time_between::Fineness;
use crate::american::settings::{RATES, SIZES};
use crate::dividends::Terms;
use crate::work::count;

/// Step of r to either side (per year). Larger leaves more of the third order, smaller more of the error of boundaries.
const STEP_R: f64 = 1e-4;
/// Step of b (per year). Larger leaves more of the second order, smaller more of the error of boundaries.
const STEP_B: f64 = 4e-5;
/// A put whose |b| is below this has the step `WIDE_STEP` of b, to either side (per year).
const BORROW_SMALL: f64 = 1e-3;
/// Step of b to either side, below `BORROW_SMALL` (per year).
const WIDE_STEP: f64 = 5e-4;
/// Dividends above this take all nodes: they bend the derivatives along the strikes. Beside a dividend of a sixth of
/// the spot a line leaves a fifth of rho.
const COLLECTED_MOST: f64 = 0.08;
/// Greatest move of a put's boundary, for a move of a rate by `UNIT_MOVE`, where derivatives are measured from the
/// boundary (part of σ√τ).
const BOUNDARY_MOVES: f64 = 0.02;
/// Greatest bend between the nodes of the move of a call's boundary, where derivatives are measured from it: the
/// highest Chebyshev terms in ln σ and 1/K (part of σ√τ).
const BOUNDARY_BENDS: f64 = 0.03;
/// Part of the table's terms that derivatives take where they are measured from a moving boundary: they have no kink.
const TERMS_MOVING: f64 = 0.5;

/// Move of a rate, per year, to which `BOUNDARY_MOVES` and `BOUNDARY_BENDS` refer: twice what a table moves by.
const UNIT_MOVE: f64 = 1e-3;

impl Table {
    /// Solves the derivatives in the rates, if the table has coefficients and they are missing; `terms`: those of the
    /// table's build. They cost as much as the table itself, and tables of the next trading day are read for values
    /// only.
    pub(super) fn solve_rates(&mut self, terms: &Terms) {
        if self.rates.is_none() && self.has_premium() {
            count(|work| work.table_rates += 1);
            self.rates = Some(Box::new(Rates::of(self, &self.problem(terms))));
        }
    }
}

impl Rates {
    /// Solves at a lower r, and from there at a higher r and at another b. The derivatives are differences of
    /// boundaries, and of premiums at equal distances from the boundary; of premiums at equal X where the boundary
    /// moves too fast.
    ///
    /// # Domain  a table with a series
    /// # Cost    as much as the table itself
    /// # Accuracy  moved tables agree with new ones: `moved_tables_agree_with_fresh_ones`
    fn of(table: &Table, problem: &Problem) -> Self {
        let Terms { r, b, .. } = problem.terms;
        let nodes = RateNodes::of(table, &problem.terms);
        let pairs = nodes.pairs();
        // with little borrow the turn of a put's boundary moves with ln b: differences over short steps are noise
        let is_small = table.phi < 0.0 && b.abs() < BORROW_SMALL;
        let solve = |r: f64, b: f64, fineness: Fineness, near: Option<&Solved>| {
            let terms = Terms { r, b, ..problem.terms.clone() };
            Solved::at(&Problem { terms, fineness, ..problem.clone() }, &pairs, table.stop, near)
        };
        let [low, high] = r_ends(r);
        let from = solve(low, b, Fineness::Rates, None);
        let moved_r = solve(high, b, Fineness::Rates, Some(&from));
        let (all, b_ends, by_b) = if is_small {
            let [low, high] = [-WIDE_STEP, WIDE_STEP].map(|step| solve(r, b + step, Fineness::First, None));
            (vec![from, moved_r, low, high], [2, 3], 2.0 * WIDE_STEP)
        } else {
            // a step away from b = 0, beyond which the kind of exercise changes
            let step = STEP_B.copysign(b);
            let moved_b = solve(low, b + step, Fineness::Rates, Some(&from));
            (vec![from, moved_r, moved_b], [0, 2], step)
        };
        let moves = [([0, 1], high - low), (b_ends, by_b)].map(|(ends, step)| RateMove { ends, step });
        let deviation = (problem.terms.t - problem.stop).sqrt();
        let is_steady = |by: &RateMove| {
            // the move of the boundary, in units of σ√τ
            let moved = |lane: usize| by.slope(|i| all[i].boundary(lane)) * UNIT_MOVE / (pairs[lane].1 * deviation);
            if table.phi < 0.0 {
                return (0..pairs.len()).all(|lane| moved(lane).abs() <= BOUNDARY_MOVES);
            }
            // a call's boundary is far from the strike: its move matters only where it bends between the nodes
            let [by_sigma, by_strike] = bend(&nodes.sigma, &nodes.strike, moved);
            by_sigma <= BOUNDARY_BENDS && (by_strike <= BOUNDARY_BENDS || nodes.strike.len() == RATES.strikes_line)
        };
        // derivatives measured from the moving boundary have no kink
        let is_moving = !table.is_anchored() && all.iter().all(Solved::is_bounded) && moves.iter().all(is_steady);
        let from = |solved: &Solved| -> Vec<f64> {
            let of = |(i, (k, sigma)): (usize, &(f64, f64))| {
                if is_moving { solved.boundary(i) } else { table.boundary_at(*k, *sigma) }
            };
            pairs.iter().enumerate().map(of).collect()
        };
        let from: Vec<Vec<f64>> = all.iter().map(from).collect();
        let placed = |from: &Vec<f64>| -> Vec<Vec<f64>> {
            from.iter().zip(&pairs).map(|(from, (k, _))| vec![table.placed(from - k.ln())]).collect()
        };
        let part = if is_moving { TERMS_MOVING } else { RATES.terms };
        let terms = ((part * table.sampled as f64) as usize).max(2);
        let boundary: Vec<_> = from.iter().map(placed).collect();
        let series: Vec<_> =
            all.iter().zip(&from).map(|(solved, from)| solved.series(from, table.reach, terms)).collect();
        let until = |solved: &Solved| -> Option<Vec<Vec<f64>>> { (0..pairs.len()).map(|i| solved.until(i)).collect() };
        let until: Option<Vec<_>> = if table.until.is_some() { all.iter().map(until).collect() } else { None };
        Rates {
            boundary: moves.each_ref().map(|by| {
                let tensor = nodes.tensors(&by.slopes(&boundary));
                core::array::from_fn(|i| tensor[i])
            }),
            premium: terms_of(
                &moves.each_ref().map(|by| nodes.tensors(&without_tail(by.slopes(&series), RATES.worth))),
            ),
            until: until.map_or_else(Box::default, |until| {
                terms_of(&moves.each_ref().map(|by| nodes.tensors(&by.slopes(&until))))
            }),
        }
    }
}

/// The strikes and volatilities at which the derivatives are taken.
struct RateNodes {
    sigma: Axis,
    strike: Axis,
    /// True for puts whose strikes beside the middle take the outer volatilities only: all pairs are then the lanes of
    /// one solve.
    is_cross: bool,
}

impl RateNodes {
    fn of(table: &Table, terms: &Terms) -> Self {
        let strikes = if terms.divs.is_empty() {
            1
        } else if Self::is_line(table, terms) {
            RATES.strikes_line
        } else {
            Rates::NODES.1
        };
        let is_cross = strikes > RATES.strikes_line && table.phi < 0.0;
        Self { sigma: table.sigma.with(Rates::NODES.0), strike: table.strike.with(strikes), is_cross }
    }

    /// True if a straight line in 1/K suffices: the strikes span little, and the dividends are small.
    fn is_line(table: &Table, terms: &Terms) -> bool {
        let (low, high) = table.span.k;
        let is_narrow = table.phi > 0.0 && table.until.is_some() || table.phi < 0.0 && high <= low * SIZES.wide_range;
        is_narrow && terms.a(0.0) / low < COLLECTED_MOST
    }

    /// The pairs of strike and volatility, volatilities running fastest.
    fn pairs(&self) -> Vec<(f64, f64)> {
        let outer = |i: usize| [i, i + 1].iter().any(|i| i.is_multiple_of(self.sigma.len()));
        let is_middle = |i: usize| i / self.sigma.len() == self.strike.len() / 2;
        let is_taken = |i: usize| !self.is_cross || is_middle(i) || outer(i);
        let all = pairs(&self.sigma, &self.strike).into_iter().enumerate();
        all.filter(|(i, _)| is_taken(*i)).map(|(_, pair)| pair).collect()
    }

    /// Values at all nodes from those of a cross: the difference between a strike and the middle one is a straight line
    /// in ln σ.
    fn filled(&self, values: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let (n, sigma) = (self.sigma.len(), self.sigma.nodes());
        let middle = &values[2..2 + n];
        let beside = |ends: [&Vec<f64>; 2], i: usize| -> Vec<f64> {
            let part = (sigma[i] - sigma[0]) / (sigma[n - 1] - sigma[0]);
            let of = |(term, at): (usize, &f64)| {
                let [first, last] = [ends[0][term] - middle[0][term], ends[1][term] - middle[n - 1][term]];
                at + first + part * (last - first)
            };
            middle[i].iter().enumerate().map(of).collect()
        };
        let low = (0..n).map(|i| beside([&values[0], &values[1]], i));
        let high = (0..n).map(|i| beside([&values[2 + n], &values[3 + n]], i));
        low.chain(middle.iter().cloned()).chain(high).collect()
    }

    /// Tensors of [`Rates::NODES`] through values at the pairs.
    fn tensors(&self, values: &[Vec<f64>]) -> Vec<f64> {
        let filled = self.is_cross.then(|| self.filled(values));
        let fitted = fit_tensor(&self.sigma, &self.strike, filled.as_deref().unwrap_or(values));
        // with fewer strikes the higher powers of 1/K are 0
        let padded =
            |tensor: &[f64]| -> [f64; RATE_NODES] { core::array::from_fn(|i| tensor.get(i).copied().unwrap_or(0.0)) };
        fitted.chunks_exact(self.sigma.len() * self.strike.len()).flat_map(padded).collect()
    }
}

/// A step of a rate between two of the solutions.
struct RateMove {
    /// Indices of the two solutions.
    ends: [usize; 2],
    /// Difference of the rate.
    step: f64,
}

impl RateMove {
    /// The derivative of a number of each solution.
    fn slope(&self, of: impl Fn(usize) -> f64) -> f64 {
        let [from, to] = self.ends.map(of);
        (to - from) / self.step
    }

    /// The derivatives of the series of each solution, by lane.
    fn slopes(&self, series: &[Vec<Vec<f64>>]) -> Vec<Vec<f64>> {
        let [from, to] = self.ends.map(|i| &series[i]);
        let by = |(from, to): (&f64, &f64)| (to - from) / self.step;
        from.iter().zip(to).map(|(from, to)| from.iter().zip(to).map(by).collect()).collect()
    }
}

/// The tensors of both rates by term.
fn terms_of(fitted: &[Vec<f64>; 2]) -> Box<[[[f32; RATE_NODES]; 2]]> {
    let n_terms = fitted.iter().map(|f| f.len() / RATE_NODES).max().unwrap_or(0);
    let at = |part: usize, i: usize| fitted[part].get(i).map_or(0.0, |c| *c as f32);
    let term = |term: usize| core::array::from_fn(|part| core::array::from_fn(|i| at(part, term * RATE_NODES + i)));
    (0..n_terms).map(term).collect()
}

/// The rates r between which the derivative in it is taken: a step to either side, but never across the kink at 0.
fn r_ends(r: f64) -> [f64; 2] {
    if r.abs() < STEP_R { [r, r + (2.0 * STEP_R).copysign(r)] } else { [r - STEP_R, r + STEP_R] }
}
