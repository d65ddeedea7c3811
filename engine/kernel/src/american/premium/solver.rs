//! One partial differential equation per lane, each lane one (strike, volatility): American and European value on the
//! same grid in ln X, from expiry back to the start of the table.
//!
//! Compact fourth-order differences in space and Crank-Nicolson in time; the free boundary is held between nodes by
//! extending the continuation value smoothly one node into the exercise region (immersed boundary), and the kink that
//! a call's exercise leaves at an ex-date is moved onto the grid with its moments kept. Without the last two, the
//! position of the boundary between two nodes shows up as noise a hundred times the remaining error.
//! Never: a table, an interpolation.

use super::edges::Plan;
use super::european::{European, carried};
use super::grid::Grid;
use super::schedule::{Leg, Problem, Schedule};
use super::stencil::{Rows, Stencil, stencils};
use crate::american::settings::{GRID, SAME};
use crate::dividends::Terms;
use crate::elementary::exp;
use crate::lanes::{Lanes, Mask, Pack};

/// The widest pack of one solve.
type Widest = Pack<5>;
/// Its lanes.
pub(super) const MOST_LANES: usize = Widest::N;

/// American and European value at the stop date. Node j lies at edge + dir·h·j.
#[derive(Clone, Debug)]
pub(super) struct GridSlice<L> {
    pub(super) american: Vec<L>,
    pub(super) european: Vec<L>,
    pub(super) contact: Contact<L>,
}

/// Where the free boundary lies: `theta`·h before the first free node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contact<L> {
    /// Index of the first node that is not exercised; 0: none is.
    pub(super) node: L,
    pub(super) theta: L,
}

impl<L: Lanes> Contact<L> {
    fn none() -> Self {
        Contact { node: L::splat(0.0), theta: L::splat(1.0) }
    }
}

/// Solves `problems`, which differ in their rates only, on `grid` in the steps of `schedule`.
///
/// # Accuracy  150 × 60 on 7.6 standard deviations: 1e-5 of the strike at p90, 1e-4 at p99; time steps hardly matter
/// # Source    projection in one sweep: Brennan and Schwartz (1977); compact differences: Spotz and Carey (1995)
/// # Cost      about 4 ns per node, step and pack of 12 lanes; the European half of it once for all problems
pub(super) fn solve<L: Lanes>(problems: &[Problem], grid: &Grid<L>, schedule: &Schedule) -> Vec<GridSlice<L>> {
    let mut slices: Vec<GridSlice<L>> = Vec::with_capacity(problems.len());
    let (places, mut scratch) = (Places::new(grid), EliminationScratch::new(grid));
    for problem in problems {
        let on = On { grid, places: &places, scratch: &mut scratch };
        let before = slices.first().and_then(|first| carried(&first.european, &problems[0], problem, grid));
        slices.push(match before {
            Some(european) => GridSlice { european, ..march::<L, false>(problem, on, schedule) },
            None => march::<L, true>(problem, on, schedule),
        });
    }
    slices
}

/// The nodes of a grid, and room for one step on it.
struct On<'a, L> {
    grid: &'a Grid<L>,
    places: &'a Places<L>,
    scratch: &'a mut EliminationScratch<L>,
}

/// The same for one problem; without `EUROPEAN`, European values are solved for at the exercise-side edge only.
#[inline(never)]
fn march<L: Lanes, const EUROPEAN: bool>(problem: &Problem, on: On<'_, L>, schedule: &Schedule) -> GridSlice<L> {
    let mut march = March::<L, EUROPEAN>::new(problem, on);
    for leg in schedule.legs() {
        march.leg(leg);
        if leg.crosses {
            march.cross_ex_date(leg.to);
        }
    }
    GridSlice { american: march.american, european: march.european, contact: march.contact }
}

/// An elimination where lanes are exercised, done down to node `from`.
#[derive(Clone, Copy)]
struct Exercised<L> {
    /// Rows of lanes that are not exercised there, and of those that are.
    kept: Stencil<L>,
    still: Stencil<L>,
    /// What the payoff's move adds to the latter, and the extension of the continuation value to the last one.
    payoff_moves: L,
    extended: L,
    factor: L,
    eliminated: L,
    from: usize,
}

/// X and ln X at the nodes.
struct Places<L> {
    spot: Vec<L>,
    x: Vec<L>,
}

impl<L: Lanes> Places<L> {
    fn new(grid: &Grid<L>) -> Self {
        let step = grid.step();
        let x: Vec<L> = (0..=grid.intervals).map(|j| grid.edge + step * (j as f64)).collect();
        Places { spot: x.iter().map(|&x| exp(x)).collect(), x }
    }
}

/// What an elimination leaves for the substitution.
struct EliminationScratch<L> {
    /// Eliminated right sides, divided by the pivots.
    american: Vec<L>,
    european: Vec<L>,
    /// 1 over the pivots from the far edge on until they settle.
    far_inverse: Vec<L>,
}

impl<L: Lanes> EliminationScratch<L> {
    fn new(grid: &Grid<L>) -> Self {
        let n = grid.intervals + 1;
        let zeros = || vec![L::splat(0.0); n];
        EliminationScratch { american: zeros(), european: zeros(), far_inverse: Vec::with_capacity(n) }
    }
}

/// The state of the march from expiry to the stop date.
struct March<'a, L, const EUROPEAN: bool> {
    problem: &'a Problem,
    k: L,
    sigma: L,
    h: L,
    /// As [`Places`] has them.
    spot: &'a [L],
    x: &'a [L],
    /// M of M·u_t = (L − rM)·u, and its right side.
    mass: Stencil<L>,
    flow: Stencil<L>,
    american: Vec<L>,
    european: Vec<L>,
    /// As [`EliminationScratch`] has them.
    right_american: &'a mut [L],
    right_european: &'a mut [L],
    far_inverse: &'a mut Vec<L>,
    /// The lower coefficient divided by the pivots, and itself.
    lower: L,
    near: L,
    contact: Contact<L>,
    exercised: Exercised<L>,
    plan: Plan<L>,
    /// The time reached, and A there.
    t: f64,
    a: f64,
}

impl<'a, L: Lanes, const EUROPEAN: bool> March<'a, L, EUROPEAN> {
    /// At expiry, before the first step.
    ///
    /// # Shapes  one (strike, volatility) per lane
    /// # Domain  `on`: places and scratch of the same grid
    fn new(problem: &'a Problem, on: On<'a, L>) -> Self {
        let On { grid, places, scratch } = on;
        let c = |v: f64| L::splat(v);
        let step = grid.step();
        let (mass, flow) = stencils(problem, grid.sigma, step);
        let zeros = || vec![c(0.0); places.x.len()];
        March {
            problem,
            k: grid.k,
            sigma: grid.sigma,
            h: step.abs(),
            spot: &places.spot,
            x: &places.x,
            mass,
            flow,
            american: zeros(),
            european: zeros(),
            right_american: &mut scratch.american,
            right_european: &mut scratch.european,
            far_inverse: &mut scratch.far_inverse,
            lower: c(0.0),
            near: c(0.0),
            contact: Contact::none(),
            exercised: Exercised {
                kept: mass,
                still: mass,
                payoff_moves: c(0.0),
                extended: c(0.0),
                factor: c(0.0),
                eliminated: c(0.0),
                from: 1,
            },
            plan: Plan::at_expiry(grid.k),
            t: problem.terms.t,
            a: 0.0,
        }
    }

    /// φ·(X + A − K) at node `j`.
    #[inline(always)]
    fn payoff(&self, j: usize, a: f64) -> L {
        L::splat(self.problem.phi) * (self.spot[j] + a - self.k)
    }

    /// Half the jump of V_xx at the boundary in units of the grid, (h²/σ²)·φ·(bS − rK), as a line in X: slope and
    /// level.
    fn bend_line(&self, a: f64) -> (L, L) {
        let Problem { phi, terms, .. } = self.problem;
        let ratio = self.h / self.sigma;
        let scale = ratio * ratio * (*phi);
        (scale * terms.b, scale * (L::splat(a * terms.b) - L::splat(terms.r) * self.k))
    }

    /// European values at the time reached, of strikes `k`.
    fn european(&self, k: L) -> European<L> {
        let Terms { t, r, b, .. } = self.problem.terms;
        European::new(self.problem.phi, k, self.sigma, t - self.t, r, b)
    }

    /// The steps of one leg; they shorten towards its later end, where the solution bends most.
    fn leg(&mut self, leg: &Leg) {
        let Leg { from, to, count, first, .. } = *leg;
        let linear = !first && !self.problem.watched_call();
        let first_steps = if !first && self.problem.phi > 0.0 { GRID.implicit_steps } else { 1 };
        for s in 1..=count {
            let z = s as f64 / count as f64;
            let fraction = if linear {
                GRID.linear * z + (1.0 - GRID.linear) * z * z
            } else {
                (1.0 - GRID.fourth) * z * z + GRID.fourth * z.powi(4)
            };
            let next = if s == count { to } else { from - (from - to) * fraction };
            let a = self.problem.terms.a(next);
            let dt = self.t - next;
            self.plan.wait(self.problem.terms.r, self.problem.terms.b, dt);
            if self.problem.continuous {
                self.plan.exercise_if_better(self.problem.phi, self.spot[0], self.k, a);
            }
            if first && s == 1 {
                self.start(next, a);
            } else {
                self.step(next, a, if s <= first_steps { 1.0 } else { 0.5 });
            }
        }
    }

    /// The first step before expiry is the exact European value, so that no kink ever lies on the grid.
    fn start(&mut self, next: f64, a: f64) {
        (self.t, self.a) = (next, a);
        let collected = self.problem.at_expiry();
        let (european, american) = (self.european(self.k), self.european(self.k - collected));
        let mut free_from = L::splat(0.0);
        for j in 0..self.x.len() {
            let (x, spot) = (self.x[j], self.spot[j]);
            let value = american.soon(x, spot);
            if EUROPEAN || j == 0 {
                self.european[j] = if collected > 0.0 { european.soon(x, spot) } else { value };
            }
            self.american[j] = value;
            if self.problem.continuous {
                let payoff = self.payoff(j, a);
                free_from = L::select(payoff.lt(value), free_from, L::splat((j + 1) as f64));
                self.american[j] = value.max(payoff);
            }
        }
        if self.problem.continuous {
            let last = L::splat((self.x.len() - 1) as f64);
            self.contact = Contact { node: free_from.min(last), theta: L::splat(0.5) };
        }
    }

    /// One step to `next`; `weight` 1 is implicit, ½ Crank-Nicolson.
    fn step(&mut self, next: f64, a: f64, weight: f64) {
        self.eliminate(self.t - next, a, weight);
        (self.t, self.a) = (next, a);
        self.european[0] = self.european(self.k).at(self.x[0], self.spot[0]);
        self.american[0] = self.edge_value();
        if self.problem.continuous { self.substitute_watching() } else { self.substitute(1) }
    }

    /// The American value at the exercise-side edge.
    fn edge_value(&self) -> L {
        let Problem { phi, terms, continuous, .. } = self.problem;
        let planned = self.plan.value(*phi, self.spot[0]);
        if *continuous {
            return planned.max(self.payoff(0, self.a));
        }
        let mut expiry = Plan::at_expiry(self.k);
        expiry.wait(terms.r, terms.b, terms.t - self.t);
        planned + self.european[0] - expiry.value(*phi, self.spot[0])
    }

    /// Forms the explicit side and eliminates from the far edge towards the exercise edge.
    ///
    /// The rows are all alike, so that the pivots settle on the way; from there on an elimination divides no more.
    ///
    /// # Shapes  `dt`: years, `a`: dividends to come after the step, `weight`: of the implicit side
    /// # Cost    one division a node until the pivots settle
    fn eliminate(&mut self, dt: f64, a: f64, weight: f64) {
        let c = |v: f64| L::splat(v);
        let implicit = self.mass.plus(&self.flow, -weight * dt);
        let explicit = self.mass.plus(&self.flow, (1.0 - weight) * dt);
        let [near, here, away] = implicit.0;
        let pivot = (here + (here * here - c(4.0) * near * away).sqrt()) * 0.5;
        let settled = c(1.0) / pivot;
        self.lower = near * settled;
        let last = self.x.len() - 1;
        let at_contact = |i: usize| self.contact.node.lane(i) as usize;
        let exercised_up_to = (0..L::N).map(at_contact).max().unwrap_or(0).min(last - 1);
        let nearest = (0..L::N).map(at_contact).min().unwrap_or(0);
        self.far_inverse.clear();
        let mut inverse = c(1.0) / here;
        while self.far_inverse.len() < last - 1 - exercised_up_to {
            self.far_inverse.push(inverse);
            if (inverse * pivot - 1.0).abs().lt(c(GRID.settled)).all() {
                break;
            }
            inverse = c(1.0) / (away * inverse).neg_mul_add(near, here);
        }
        self.near = near;
        let rows = Rows { explicit, away, inverse: self.far_inverse, settled };
        if EUROPEAN {
            rows.sweep(&self.european, self.right_european);
        }
        let eliminated = rows.sweep(&self.american[exercised_up_to..], &mut self.right_american[exercised_up_to..]);
        let kept = explicit.times(settled);
        self.exercised = Exercised {
            kept,
            still: self.mass.times(settled),
            payoff_moves: c(self.problem.phi * (a - self.a) * (1.0 - weight)) * settled,
            extended: self.extension() * kept.0[0],
            factor: away * settled,
            eliminated,
            from: exercised_up_to + 1,
        };
        self.eliminate_exercised(nearest.saturating_sub(GRID.room).max(1));
    }

    /// Eliminates on to node `to`, where lanes are exercised.
    fn eliminate_exercised(&mut self, to: usize) {
        let c = |v: f64| L::splat(v);
        let nodes = self.contact.node;
        let Exercised { kept, still, payoff_moves, extended, factor, mut eliminated, from } = self.exercised;
        for j in (to..from).rev() {
            let at = c(j as f64);
            let (near, here, away) = (self.american[j - 1], self.american[j], self.american[j + 1]);
            let value = kept.apply(near, here, away);
            let value = L::select((at - nodes).abs().lt(c(0.5)), value + extended, value);
            let value = L::select(at.lt(nodes - 0.5), still.apply(near, here, away) + payoff_moves, value);
            eliminated = factor.neg_mul_add(eliminated, value);
            self.right_american[j] = eliminated;
        }
        (self.exercised.eliminated, self.exercised.from) = (eliminated, to);
    }

    /// How far the smooth extension of the continuation value lies above the payoff at the last exercised node.
    fn extension(&self) -> L {
        if !self.problem.continuous {
            return L::splat(0.0);
        }
        let rest = L::splat(1.0) - self.contact.theta;
        let edge = self.x[0];
        let step = self.x[1] - edge;
        let spot = exp(edge + step * self.contact.node);
        let (slope, level) = self.bend_line(self.a);
        (spot.mul_add(slope, level) * rest * rest).max(L::splat(0.0))
    }

    /// Substitutes from node `from` on, projecting where exercise is watched for.
    ///
    /// Beyond the boundary the continuation value wins, so that a projection at every node only lengthens the chain of
    /// operations that wait for each other: it is done afterwards where the values turn out to need it.
    fn substitute(&mut self, from: usize) {
        let last = self.x.len() - 1;
        let turn = (last - self.far_inverse.len()).max(from);
        let (lower, near) = (self.lower, self.near);
        let (mut eu, mut am) = (self.european[from - 1], self.american[from - 1]);
        let values = self.european[from..last].iter_mut().zip(&mut self.american[from..last]);
        let mut rows = values.zip(self.right_european[from..last].iter().zip(&self.right_american[from..last]));
        for ((european, american), (right_european, right_american)) in rows.by_ref().take(turn - from) {
            if EUROPEAN {
                eu = lower.neg_mul_add(eu, *right_european);
                *european = eu;
            }
            am = lower.neg_mul_add(am, *right_american);
            *american = am;
        }
        let inverses = self.far_inverse[..last - turn].iter().rev();
        for (((european, american), (right_european, right_american)), inverse) in rows.zip(inverses) {
            let lower = near * *inverse;
            if EUROPEAN {
                eu = lower.neg_mul_add(eu, *right_european);
                *european = eu;
            }
            am = lower.neg_mul_add(am, *right_american);
            *american = am;
        }
        if self.problem.continuous && self.falls_short(from) {
            self.project(from);
        }
    }

    /// True if a value from node `from` on lies below the payoff; a region of such values spans several nodes, or
    /// begins at `from`.
    fn falls_short(&self, from: usize) -> bool {
        let last = self.x.len() - 1;
        let slack = self.k * (SAME.no_gain);
        let short = |j: usize| (self.american[j] + slack).lt(self.payoff(j, self.a)).any();
        let dense = (from + GRID.dense).min(last);
        (from..dense).any(short) || (dense..last).step_by(GRID.sparse).any(short)
    }

    /// Substitutes the American values again, projecting every one.
    fn project(&mut self, from: usize) {
        let last = self.x.len() - 1;
        let turn = (last - self.far_inverse.len()).max(from);
        let settled = core::iter::repeat_n(self.lower, turn - from);
        let lowers = settled.chain(self.far_inverse[..last - turn].iter().rev().map(|inverse| self.near * *inverse));
        let phi = L::splat(self.problem.phi);
        let cash = (L::splat(self.a) - self.k) * phi;
        let mut am = self.american[from - 1];
        let rows = self.american[from..last].iter_mut().zip(&self.right_american[from..last]).zip(lowers);
        for (((value, right), lower), spot) in rows.zip(&self.spot[from..last]) {
            am = lower.neg_mul_add(am, *right).max(spot.mul_add(phi, cash));
            *value = am;
        }
    }

    /// Substitutes from the exercise edge, finding the boundary between the last exercised and the first free node:
    /// there V − payoff starts like bend·y², and theta is where the row's equation holds with that extension.
    ///
    /// # Domain  one boundary, the exercise region at the edge
    /// # Source  Brennan and Schwartz (1977), with the boundary held between nodes
    fn substitute_watching(&mut self) {
        let c = |v: f64| L::splat(v);
        let (zero, one) = (c(0.0), c(1.0));
        let mut exercised = self.american[0].le(self.payoff(0, self.a) + c(SAME.no_gain) * self.k);
        let mut contact = Contact::none();
        let mut j = self.still_exercised(exercised);
        for i in 1..j {
            self.american[i] = self.payoff(i, self.a);
            if EUROPEAN {
                self.european[i] = self.lower.neg_mul_add(self.european[i - 1], self.right_european[i]);
            }
        }
        let (lower, coupling) = (self.lower, -self.lower);
        let (slope, level) = self.bend_line(self.a);
        while j < self.x.len() - 1 && exercised.any() {
            let payoff = self.payoff(j, self.a);
            let bend = self.spot[j].mul_add(slope, level).max(c(GRID.bend_least) * self.k);
            let candidate = lower.neg_mul_add(self.american[j - 1], self.right_american[j]);
            let excess = candidate - payoff;
            let free = exercised & coupling.mul_add(bend, excess).gt(zero);
            let mut value = L::select(exercised, payoff, candidate.max(payoff));
            if free.any() {
                let reach = (excess / bend + coupling).max(zero);
                let root = (coupling * coupling + (one - coupling) * reach).sqrt();
                let theta = (reach / (coupling + root)).min(one);
                let rest = one - theta;
                let first = payoff + (coupling * bend * rest * rest + excess).max(zero);
                value = L::select(free, first, value);
                contact.node = L::select(free, c(j as f64), contact.node);
                contact.theta = L::select(free, theta, contact.theta);
                exercised = exercised & !free;
            }
            self.american[j] = value;
            if EUROPEAN {
                self.european[j] = lower.neg_mul_add(self.european[j - 1], self.right_european[j]);
            }
            j += 1;
        }
        self.contact = contact;
        self.substitute(j);
    }

    /// The first node that the step may have freed; those before stay exercised. `exercised`: whether the edge is.
    fn still_exercised(&mut self, exercised: L::Mask) -> usize {
        let from = self.exercised.from;
        if from > 1 {
            let before = self.payoff(from - 1, self.a);
            let candidate = self.lower.neg_mul_add(before, self.right_american[from]);
            if exercised.all() && !candidate.gt(self.payoff(from, self.a)).any() {
                return from;
            }
            self.eliminate_exercised(1);
        }
        1
    }

    /// Takes the greater of value and payoff before an ex-date, in every lane from the least X at which the payoff wins
    /// upwards.
    ///
    /// The kink between two nodes is represented by corrections on both, such that its area and its first moment are
    /// those of the true function seen by the compact scheme.
    ///
    /// # Shapes  `a`: the dividends that exercise collects
    /// # Domain  calls; one place at which the payoff begins to win
    fn exercise_all(&mut self, a: f64) {
        let c = |v: f64| L::splat(v);
        let last = self.x.len() - 1;
        let mut least = c(-1.0);
        for j in 0..=last {
            least = L::select(self.american[j].lt(self.payoff(j, a)), c(j as f64), least);
        }
        let excess = |j: usize, lane: usize| self.american[j].lane(lane) - self.payoff(j, a).lane(lane);
        let mut corrections = [(0, [0.0; 2]); MOST_LANES];
        for (lane, correction) in corrections.iter_mut().enumerate().take(L::N) {
            let first = least.lane(lane);
            if first >= 1.0 && first + 2.0 <= last as f64 {
                let first = first as usize;
                let (f, slope) = crossing([first - 1, first, first + 1, first + 2].map(|j| excess(j, lane)));
                let kink = slope.max(0.0) * (0.5 * f * (1.0 - f) - 1.0 / 12.0);
                *correction = (first, [kink * (1.0 - f), kink * f]);
            }
        }
        let most = (0..L::N).map(|lane| least.lane(lane)).fold(-1.0, f64::max);
        for j in 0..(most + 1.0) as usize {
            let better = self.american[j].max(self.payoff(j, a));
            self.american[j] = L::select(least.lt(c(j as f64)), self.american[j], better);
        }
        for (lane, (first, corrections)) in corrections.into_iter().enumerate().take(L::N) {
            for (value, correction) in self.american[first..].iter_mut().zip(corrections) {
                let mut lanes = [0.0; MOST_LANES];
                value.store(&mut lanes);
                lanes[lane] -= correction;
                *value = L::load(&lanes);
            }
        }
    }

    /// Crosses an ex-date backwards: a call may take the dividend, and every boundary starts again.
    fn cross_ex_date(&mut self, date: f64) {
        self.contact = Contact::none();
        if self.problem.phi < 0.0 {
            return;
        }
        let a = self.problem.terms.a(date - SAME.instant);
        self.exercise_all(a);
        self.plan.exercise_if_better(self.problem.phi, self.spot[0], self.k, a);
    }
}

/// Zero of the cubic through four values at −1, 0, 1, 2, between 0 and 1, and its slope there.
fn crossing(w: [f64; 4]) -> (f64, f64) {
    let linear = w[1] / (w[1] - w[2]);
    let cubic = |f: f64| {
        let (m, p, q) = (f - 1.0, f + 1.0, f - 2.0);
        -f * m * q / 6.0 * w[0] + p * m * q / 2.0 * w[1] - p * f * q / 2.0 * w[2] + p * f * m / 6.0 * w[3]
    };
    let (mut f, mut slope) = (linear, w[2] - w[1]);
    for _ in 0..GRID.crossing_steps {
        let step = GRID.crossing_step;
        slope = (cubic(f + step) - cubic(f - step)) / (2.0 * step);
        f -= cubic(f) / slope;
    }
    if f.is_finite() { (f.clamp(0.0, 1.0), slope) } else { (linear.clamp(0.0, 1.0), w[2] - w[1]) }
}
