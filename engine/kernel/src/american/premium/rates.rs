//! How a premium table moves with the rates: derivatives in r and b of its boundary and of its series.
//! Never: a value, an evaluation.

use super::chebyshev::{Axis, Lobatto, fit_tensor, without_tail};
use super::dates::AtFirstDate;
use super::profile::SolvedColumn;
use super::schedule::Problem;
use super::solved::{GridSizes, SolverRun, pairs};
use super::table::{RATE_NODES, Rates, Table};
use crate::american::settings::{RATES, SAME};
use crate::dividends::Terms;
use crate::quality::Quality;

impl Table {
    /// How the table moves with the rates; `terms` are those it was built at. They cost as much as the table itself,
    /// and tables of the next trading day are read for values only: so they are solved when they are first read.
    pub(super) fn rates(&self, terms: &Terms) -> &Rates {
        self.rates.get_or_init(|| Box::new(Rates::of(self, &self.problem(terms))))
    }
}

impl Rates {
    /// Solves at rates a step to either side, on a coarser grid than the `table`'s, and compares boundary with boundary
    /// and premium at equal distances from it.
    ///
    /// # Domain  a table with a series
    /// # Cost    as much as the table itself
    /// # Accuracy  moved tables agree with new ones: `moved_tables_agree_with_fresh_ones`
    fn of(table: &Table, problem: &Problem) -> Self {
        let (sigma, strike) = (table.sigma.with(Rates::NODES.0), table.strike.with(Rates::NODES.1));
        let sizes = match table.scheme {
            Quality::Coarse | Quality::Preliminary | Quality::Full => {
                GridSizes { intervals: RATES.intervals, steps: RATES.steps }
            }
            Quality::Reference => GridSizes { intervals: RATES.intervals_accurate, steps: RATES.steps_accurate },
        };
        let steps = steps(problem);
        let moved = [0, 1].map(|part| {
            steps[part].map(|step| {
                let (by_r, by_b) = if part == 0 { (step, 0.0) } else { (0.0, step) };
                let terms = Terms { r: problem.terms.r + by_r, b: problem.terms.b + by_b, ..problem.terms.clone() };
                Problem { terms, ..problem.clone() }
            })
        });
        // a put's moves of the rates are smooth enough for a grid, which costs a fifth
        if table.phi > 0.0
            && let Some(rates) = Self::of_dates(table, (&sigma, &strike), &moved, steps)
        {
            return rates;
        }
        // the same grid and time steps for all, so that what remains of their errors cancels
        let course = SolverRun::new(problem, &sigma, &strike, sizes, table.down);
        let lanes = course.pairs.len();
        let solved = course.profiles(moved.as_flattened());
        let solved = |part: usize, end: usize, lane: usize| &solved[2 * part + end][lane];
        let steady = |part: usize, lane: usize| {
            let width_of_x = course.pairs[lane].1 * (problem.terms.t - problem.stop).sqrt();
            let most = if table.phi < 0.0 { RATES.boundary_moves_put } else { RATES.boundary_moves_call } * width_of_x;
            let [low, high] = [0, 1].map(|end| solved(part, end, lane).boundary.unwrap_or(f64::INFINITY));
            ((high - low) / width(steps[part])).abs() * RATES.unit_move <= most
        };
        let bounded = !table.is_anchored() && (0..lanes).all(|lane| steady(0, lane) && steady(1, lane));
        let from = |p: &SolvedColumn| match p.boundary {
            Some(boundary) if bounded => boundary,
            _ => table.boundary_at(p.k, p.sigma),
        };
        let placed = |part: usize, end: usize, lane: usize| {
            let p = solved(part, end, lane);
            table.placed(from(p) - p.k.ln())
        };
        // measured from a boundary that moves along, they have no kink
        let part = if bounded { RATES.terms_moving } else { RATES.terms };
        let series = Lobatto::of(((part * table.sampled as f64) as usize).max(2));
        let sample = |p: &SolvedColumn| {
            let from = from(p);
            series.coefficients(|u| p.premium(from - table.phi * p.sigma * table.place(u)) / p.k)
        };
        let moves = RateMoves { axes: (&sigma, &strike), lanes, steps, worth: RATES.worth * table.tail() };
        moves.fitted(placed, |part, end| (0..lanes).map(|lane| sample(solved(part, end, lane))).collect())
    }

    /// The same for calls that are exercised at dates, or between them too; `None`: a date has not one boundary for all
    /// of them.
    fn of_dates(table: &Table, axes: (&Axis, &Axis), moved: &[[Problem; 2]; 2], steps: [[f64; 2]; 2]) -> Option<Self> {
        // a straight line in 1/K where a solve costs more and little is collected
        let collected = moved[0][0].terms.a(0.0) / table.span.k.0;
        let is_line = table.until.is_some() && collected < RATES.collected_most;
        let strikes = if is_line { RATES.strikes_between } else { Rates::NODES.1 };
        let axes = (axes.0, &axes.1.with(strikes));
        let pairs = pairs(axes.0, axes.1);
        let solve = |problem: &Problem| {
            AtFirstDate::new(problem, &pairs).filter(|solved| (solved.date() - table.stop).abs() < SAME.date)
        };
        let [[r_low, r_high], [b_low, b_high]] = moved;
        let solved = [[solve(r_low)?, solve(r_high)?], [solve(b_low)?, solve(b_high)?]];
        let terms = ((RATES.terms_moving * table.sampled as f64) as usize).max(2);
        let moves = RateMoves { axes, lanes: pairs.len(), steps, worth: RATES.worth * table.tail() };
        let placed = |part: usize, end: usize, lane: usize| solved[part][end].boundary(lane);
        let mut rates = moves.fitted(placed, |part, end| solved[part][end].series(table.reach, terms));
        if table.until.is_some() {
            let until = |part: usize, end: usize| -> Option<Vec<Vec<f64>>> {
                (0..pairs.len()).map(|lane| solved[part][end].until(lane)).collect()
            };
            let by_r = moves.slopes(0, &until(0, 0)?, &until(0, 1)?);
            let by_b = moves.slopes(1, &until(1, 0)?, &until(1, 1)?);
            rates.until = terms_of(&[by_r, by_b].map(|slopes| moves.tensors(&slopes)));
        }
        Some(rates)
    }
}

/// Differences of solutions a step to either side of r and of b.
struct RateMoves<'a> {
    axes: (&'a Axis, &'a Axis),
    /// Nodes of both axes.
    lanes: usize,
    steps: [[f64; 2]; 2],
    /// Terms below this at the ends of all series are dropped.
    worth: f64,
}

impl RateMoves<'_> {
    /// Fits the derivatives of the `boundary` of a rate, end of the step and lane, and of the `series` of all lanes.
    fn fitted(
        &self,
        boundary: impl Fn(usize, usize, usize) -> f64,
        series: impl Fn(usize, usize) -> Vec<Vec<f64>>,
    ) -> Rates {
        let slope = |part: usize, low: f64, high: f64| (high - low) / width(self.steps[part]);
        let boundary = [0, 1].map(|part| {
            let by = |lane: usize| vec![slope(part, boundary(part, 0, lane), boundary(part, 1, lane))];
            let fitted = self.tensors(&(0..self.lanes).map(by).collect::<Vec<_>>());
            core::array::from_fn(|i| fitted[i])
        });
        let fitted = [0, 1].map(|part| {
            let slopes = self.slopes(part, &series(part, 0), &series(part, 1));
            self.tensors(&without_tail(slopes, self.worth))
        });
        Rates { boundary, premium: terms_of(&fitted), until: Box::default() }
    }

    /// Tensors of [`Rates::NODES`] through the values at the nodes.
    fn tensors(&self, values: &[Vec<f64>]) -> Vec<f64> {
        let (sigma, strike) = self.axes;
        let fitted = fit_tensor(sigma, strike, values);
        // powers of 1/K that fewer strikes do not have are 0
        let padded =
            |tensor: &[f64]| -> [f64; RATE_NODES] { core::array::from_fn(|i| tensor.get(i).copied().unwrap_or(0.0)) };
        fitted.chunks_exact(sigma.len() * strike.len()).flat_map(padded).collect()
    }

    /// The derivatives of series in a rate, by lane.
    fn slopes(&self, part: usize, low: &[Vec<f64>], high: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let by = |low: &f64, high: &f64| (high - low) / width(self.steps[part]);
        let of = |(low, high): (&Vec<f64>, &Vec<f64>)| low.iter().zip(high).map(|(low, high)| by(low, high)).collect();
        low.iter().zip(high).map(of).collect()
    }
}

/// The tensors of both rates by term.
fn terms_of(fitted: &[Vec<f64>; 2]) -> Box<[[[f32; RATE_NODES]; 2]]> {
    let n_terms = fitted.iter().map(|f| f.len() / RATE_NODES).max().unwrap_or(0);
    let at = |part: usize, i: usize| fitted[part].get(i).map_or(0.0, |c| *c as f32);
    let term = |term: usize| core::array::from_fn(|part| core::array::from_fn(|i| at(part, term * RATE_NODES + i)));
    (0..n_terms).map(term).collect()
}

/// Steps down and up of r and of b for the derivatives in them; never across the kink at r = 0.
fn steps(problem: &Problem) -> [[f64; 2]; 2] {
    let step = RATES.step.min(0.5 * problem.terms.r.abs());
    let r = if step > RATES.step_least { [-step, step] } else { [0.0, 2.0 * RATES.step] };
    // a call that is exercised between dates is not with b ≤ 0
    let borrowed = problem.phi > 0.0 && problem.continuous && problem.terms.b > 0.0;
    let b = if borrowed { RATES.step.min(RATES.step_part * problem.terms.b) } else { RATES.step };
    [r, [-b, b]]
}

fn width([down, up]: [f64; 2]) -> f64 {
    up - down
}
