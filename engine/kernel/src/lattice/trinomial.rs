//! The trinomial lattice: layers, nodes, and the gain of exercise on them. Never: a quote, a table.

use crate::contract::Right;
use crate::dividends::{SAME_DATE, Terms, is_same_date};
use crate::elementary::exp;
use crate::lanes::{Lanes, Mask};
use crate::work::count;

/// Standard deviations of ln X that the lattice spans to either side.
const SPAN: f64 = 6.0;
/// A first ex-date earlier than this many of the usual pieces of the term is near; the time until it is then cut into
/// `NEAR_PIECES`.
const NEAR: f64 = 4.0;
const NEAR_PIECES: f64 = 4.0;
/// Nodes that a near ex-date needs beyond those that the layers after it need.
const WIDER: usize = 12;
/// Step of volatility, as a part of it, for vega.
const BUMP: f64 = 0.01;

/// The layers of one (expiry, right), for strikes and volatilities of any number.
#[derive(Debug)]
pub struct Lattice {
    phi: f64,
    /// S − A(0).
    x: f64,
    /// The layers at full and at half the steps.
    grids: [LatticeGrid; 2],
}

/// Early exercise premiums, one contract per lane.
#[derive(Clone, Copy, Debug)]
pub struct LatticePremium<L: Lanes> {
    /// Currency per share, below zero by the lattice's error at most; undefined where exercising now is optimal.
    pub value: L,
    /// First derivative in the spot.
    pub slope: L,
    /// Second derivative in the spot.
    pub curve: L,
    /// Derivative in the volatility.
    pub vega: L,
    /// The lanes where exercising now is optimal.
    pub exercised: L::Mask,
    /// The value less that at half the steps.
    pub correction: L,
}

/// Average of the gain of exercise over the cell of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mean {
    /// From the slope across the cell: a little too high beside the boundary, which makes up for some of the loss by
    /// exercise at layers only, and slightly above 0 where there is no premium.
    Slope,
    /// From the straight pieces to either neighbour: 0 where there is no premium, and more regular in the number of
    /// layers.
    Pieces,
}

/// Layers in time, the first of them now. Up to a first ex-date that is near, steps in time and space are shorter.
#[derive(Debug)]
pub(super) struct LatticeGrid {
    pub(super) layers: Vec<Layer>,
    /// Number of layers before the near ex-date; 0 if none is near.
    near: usize,
    /// Years between layers: before the near ex-date, and the longest after it.
    dt: (f64, f64),
    /// Nodes to either side of the middle one.
    half: usize,
    pub(super) mean: Mean,
}

/// One time at which exercise is allowed.
#[derive(Debug)]
pub(super) struct Layer {
    /// Years from now.
    t: f64,
    /// e^(−bt): takes X to its discounted mean.
    carried: f64,
    /// e^(−rt).
    df: f64,
    /// The dividends that exercise at the layer collects.
    held: f64,
    /// Years to the next layer; 0 for the last.
    dt: f64,
    /// True if exercise can pay.
    pays: bool,
}

/// Values on the nodes of one layer.
pub(super) struct Nodes<L> {
    /// The ratio of neighbouring nodes.
    pub(super) up: L,
    /// φX at now, times e^(j·dx).
    pub(super) x: Vec<L>,
    pub(super) american: Vec<L>,
    pub(super) european: Vec<L>,
}

impl Lattice {
    /// The lattice of `terms` at spot `s`: about `steps` layers, two or more between ex-dates.
    #[must_use]
    pub fn new(terms: &Terms, s: f64, right: Right, steps: usize) -> Self {
        let x = s - terms.a(0.0);
        count(|work| work.lattices += 1);
        let grid = |parts: usize| LatticeGrid::new(terms, right, steps, parts, Mean::Slope);
        Self { phi: right.phi(), x, grids: [grid(2), grid(1)] }
    }

    /// The premium of each contract, strikes `k` and volatilities `sigma`. Zero where the lattice has none.
    pub fn premium<L: Lanes>(&self, k: L, sigma: L) -> LatticePremium<L> {
        if self.x.is_nan() || self.x <= 0.0 {
            return LatticePremium::none();
        }
        // the error of a lattice falls with the length of a step: two of them extrapolate to steps of no length
        let fine = self.root(0, k, sigma);
        let coarse = self.at_half_the_steps(k, sigma);
        let value = L::splat(2.0) * fine.value - coarse.value;
        LatticePremium {
            value,
            slope: fine.slope,
            curve: fine.curve,
            exercised: fine.exercised,
            correction: value - coarse.value,
            ..coarse
        }
    }

    /// The premium at half the steps only, at a third of the cost; without `correction`.
    pub fn at_half_the_steps<L: Lanes>(&self, k: L, sigma: L) -> LatticePremium<L> {
        if self.x.is_nan() || self.x <= 0.0 {
            return LatticePremium::none();
        }
        let Root { value, slope, curve, exercised } = self.root(1, k, sigma);
        // by difference on the coarse lattice: extrapolating would double the noise of a difference
        let wilder = self.root(1, k, sigma * (1.0 + BUMP));
        let vega = (wilder.value - value) / (sigma * BUMP);
        LatticePremium { value, slope, curve, vega, exercised, correction: L::splat(0.0) }
    }

    fn root<L: Lanes>(&self, grid: usize, k: L, sigma: L) -> Root<L> {
        self.grids[grid].root(&LatticeContract::new(self.phi, L::splat(self.x), k, sigma))
    }
}

impl<L: Lanes> LatticePremium<L> {
    fn none() -> Self {
        let zero = L::splat(0.0);
        Self { value: zero, slope: zero, curve: zero, vega: zero, exercised: zero.lt(zero), correction: zero }
    }
}

/// Premium now with two slopes in the spot.
pub(super) struct Root<L: Lanes> {
    value: L,
    slope: L,
    curve: L,
    exercised: L::Mask,
}

impl LatticeGrid {
    /// The grid with `parts` steps for each of `steps`/2 pieces of the term, more where ex-dates divide it.
    ///
    /// # Domain   `steps` of 12 or more, of which each piece between ex-dates takes `parts` times its share; t > 0
    pub(super) fn new(terms: &Terms, right: Right, steps: usize, parts: usize, mean: Mean) -> Self {
        let mut ends: Vec<f64> = terms.divs.iter().map(|d| d.t).filter(|&t| t > 0.0 && t < terms.t).collect();
        ends.push(terms.t);
        // two dividends on one date are one layer
        ends.dedup();
        let piece = terms.t / (steps / 2) as f64;
        // an ex-date within a few steps of now would lie between layers that are too far apart to see it
        let is_near = ends.len() > 1 && ends[0] < NEAR * piece;
        let mut layers = Vec::with_capacity(parts * (steps / 2 + ends.len()) + 1);
        let (mut from, mut longest, mut shortest) = (0.0, 0.0_f64, 0.0);
        for end in ends {
            let first = is_near && from <= 0.0;
            // whole steps to each end, so that every ex-date is a layer exactly
            let pieces = if first { NEAR_PIECES } else { ((end - from) / piece).ceil().max(1.0) };
            let n = pieces as usize * parts;
            let dt = (end - from) / n as f64;
            if first {
                shortest = dt;
            } else {
                longest = longest.max(dt);
            }
            layers.extend((0..n).map(|i| Layer::new(terms, right, from + i as f64 * dt, dt)));
            from = end;
        }
        layers.push(Layer::new(terms, right, terms.t, 0.0));
        let near = if is_near { NEAR_PIECES as usize * parts } else { 0 };
        // nodes beyond six deviations weigh nothing at the root
        let half = (SPAN * (terms.t / (3.0 * longest)).sqrt()).ceil() as usize + 1;
        Self { half: half.min(layers.len() - near + WIDER), layers, near, dt: (shortest, longest), mean }
    }

    /// Removes exercise between ex-dates, for options whose waiting costs nothing there.
    pub(super) fn exercise_at_dates_only(&mut self, terms: &Terms) {
        let is_date = |t: f64| terms.divs.iter().any(|d| is_same_date(d.t, t));
        self.layers.iter_mut().for_each(|layer| layer.pays = is_date(layer.t));
    }

    /// Removes exercise at `until` years from now and before, expiry excepted.
    pub(super) fn wait_until(&mut self, until: f64) {
        let end = self.layers.len() - 1;
        self.layers[..end].iter_mut().filter(|layer| layer.t < until + SAME_DATE).for_each(|layer| layer.pays = false);
    }

    /// The premium at the root without exercise now, and its slope in X.
    pub(super) fn held<L: Lanes>(&self, contract: &LatticeContract<L>) -> [L; 2] {
        let Root { value, slope, .. } = self.waiting(contract, 1).root(contract, &self.layers[0]);
        [value, slope]
    }

    /// The premium at the root, with exercise now.
    fn root<L: Lanes>(&self, contract: &LatticeContract<L>) -> Root<L> {
        let mut nodes = self.waiting(contract, 1);
        let now = &self.layers[0];
        let (carried, paid) = contract.exercise(now);
        nodes.exercise(self.mean, 1, carried, paid);
        nodes.root(contract, now)
    }

    /// The values now without exercise now, up to `wide` nodes from the middle.
    pub(super) fn waiting<L: Lanes>(&self, contract: &LatticeContract<L>, wide: usize) -> Nodes<L> {
        let mut nodes = Nodes::new(self, contract, contract.space(self.dt.1));
        let last = self.layers.len() - 1;
        if self.near > 0 {
            // exercise at the near ex-date itself is applied on the finer nodes
            let finest = self.near + wide;
            let ratio = (self.dt.0 / self.dt.1).sqrt();
            let wider = (finest as f64 * ratio).ceil() as usize + 2;
            nodes.walk(self, self.near + 1..last, wider + 1, contract);
            let at = &self.layers[self.near];
            let (carried, paid) = contract.exercise(at);
            nodes.back(wider.min(self.half), contract.weights(at.dt, nodes.up));
            nodes = nodes.finer(finest, ratio, contract.space(self.dt.0), contract);
            if at.pays {
                nodes.exercise(self.mean, finest, carried, paid);
            }
        }
        let last = if self.near > 0 { self.near } else { last };
        // only the cone that the root can reach is computed
        nodes.walk(self, 1..last, wide + 1, contract);
        nodes.back(wide.min(nodes.x.len() / 2), contract.weights(self.layers[0].dt, nodes.up));
        nodes
    }
}

/// The contracts of a block.
pub(super) struct LatticeContract<L> {
    phi: f64,
    x: L,
    phi_k: L,
    variance: L,
}

impl<L: Lanes> LatticeContract<L> {
    pub(super) fn new(phi: f64, x: L, k: L, sigma: L) -> Self {
        Self { phi, x, phi_k: k * phi, variance: sigma * sigma }
    }

    /// e^dx, the ratio of neighbouring nodes where the longest step takes `dt` years.
    fn space(&self, dt: f64) -> L {
        exp((self.variance * (3.0 * dt)).sqrt())
    }

    /// The probabilities of down, level and up over `dt` years, for neighbours at the ratio `up`: the mean is kept, and
    /// the second moment that of X.
    fn weights(&self, dt: f64, up: L) -> [L; 3] {
        let one = L::splat(1.0);
        // (e^(σ²dt) − 1) / 4·sinh²(dx/2)
        // matches the variance of X exactly for any length of step, so that steps need not be equal
        let moved = (exp(self.variance * dt) - one) / (up + one / up - one - one);
        // the mean of X stays: down and up moves of unequal size have unequal weights
        let high = moved / (one + up);
        [moved - high, one - moved, high]
    }

    /// Exercise at a layer pays `carried`·φX + `paid`, discounted to now.
    pub(super) fn exercise(&self, layer: &Layer) -> (L, L) {
        let paid = L::splat(self.phi * layer.held * layer.df) - self.phi_k * layer.df;
        (L::splat(layer.carried), paid)
    }
}

impl Layer {
    fn new(terms: &Terms, right: Right, t: f64, dt: f64) -> Self {
        // a call is exercised right before the dividend leaves the stock, a put right after
        let [held, _] = terms.collected(t, if right == Right::Call { t.next_down() } else { t });
        Self { t, carried: exp(-terms.b * t), df: exp(-terms.r * t), held, dt, pays: true }
    }
}

impl<L: Lanes> Nodes<L> {
    /// `half` nodes to either side, φX at each.
    fn places(half: usize, up: L, contract: &LatticeContract<L>) -> Vec<L> {
        let mut x = vec![contract.x * contract.phi; 2 * half + 1];
        let down = L::splat(1.0) / up;
        for j in 1..=half {
            x[half + j] = x[half + j - 1] * up;
            x[half - j] = x[half - j + 1] * down;
        }
        x
    }

    /// The nodes at expiry: the payoff, or that of exercise right before.
    fn new(grid: &LatticeGrid, contract: &LatticeContract<L>, up: L) -> Self {
        let (x, last) = (Self::places(grid.half, up, contract), &grid.layers[grid.layers.len() - 1]);
        let (carried, paid) = contract.exercise(last);
        let nothing = vec![L::splat(0.0); x.len()];
        let mut nodes = Self { american: nothing.clone(), european: nothing, x, up };
        nodes.exercise(grid.mean, grid.half, carried, paid - L::splat(contract.phi * last.held * last.df));
        // at expiry both are the payoff; a dividend at expiry may make exercise right before it pay more
        nodes.european.copy_from_slice(&nodes.american);
        if last.held > 0.0 {
            nodes.exercise(grid.mean, grid.half, carried, paid);
        }
        nodes
    }

    /// Steps back through `layers`, to `wide` nodes to either side at the first of them.
    fn walk(
        &mut self,
        grid: &LatticeGrid,
        layers: core::ops::Range<usize>,
        wide: usize,
        contract: &LatticeContract<L>,
    ) {
        let (mut dt, mut weights) = (0.0, [L::splat(0.0); 3]);
        let (start, half) = (layers.start, self.x.len() / 2);
        for i in layers.rev() {
            let layer = &grid.layers[i];
            // weights change at ex-dates only
            if layer.dt.to_bits() != f64::to_bits(dt) {
                dt = layer.dt;
                weights = contract.weights(dt, self.up);
            }
            let (carried, paid) = contract.exercise(layer);
            let wide = (i - start + wide).min(half);
            self.back(wide, weights);
            if layer.pays {
                self.exercise(grid.mean, wide, carried, paid);
            }
        }
    }

    /// Interpolates the values to `half` nodes to either side that are `ratio` as far apart, at the ratio `up`, by
    /// cubics.
    fn finer(&self, half: usize, ratio: f64, up: L, contract: &LatticeContract<L>) -> Self {
        let middle = self.x.len() / 2;
        let place = |j: usize| (j as f64 - half as f64) * ratio;
        let between = |from: &[L], j: usize| {
            let left = place(j).floor();
            let f = place(j) - left;
            let at = (middle as i64 + left as i64 - 1) as usize;
            // cubic interpolation: a linear one would add curvature to the value at the change of nodes
            let weights = [
                -f * (f - 1.0) * (f - 2.0) / 6.0,
                (f + 1.0) * (f - 1.0) * (f - 2.0) / 2.0,
                -(f + 1.0) * f * (f - 2.0) / 2.0,
                (f + 1.0) * f * (f - 1.0) / 6.0,
            ];
            (0..4).fold(L::splat(0.0), |sum, i| from[at + i].mul_add(L::splat(weights[i]), sum))
        };
        let on = |from: &[L]| (0..=2 * half).map(|j| between(from, j)).collect();
        let (american, european) = (on(&self.american), on(&self.european));
        Self { american, european, x: Self::places(half, up, contract), up }
    }

    /// Steps one layer back without exercise, on the nodes up to `wide` from the middle. At the ends of the lattice,
    /// far in or out of the money, discounted values do not change.
    #[inline(always)]
    fn back(&mut self, wide: usize, [low, mid, high]: [L; 3]) {
        let middle = self.x.len() / 2;
        let inner = wide.min(middle - 1);
        let (first, last) = (middle - inner, middle + inner);
        let (a, e) = (&mut self.american[..=last + 1], &mut self.european[..=last + 1]);
        // in place: the old values of three nodes are carried along, so that no second array is needed
        let (mut a0, mut e0) = (a[first - 1], e[first - 1]);
        let (mut a1, mut e1) = (a[first], e[first]);
        for j in first..=last {
            let (a2, e2) = (a[j + 1], e[j + 1]);
            a[j] = low.mul_add(a0, mid.mul_add(a1, high * a2));
            e[j] = low.mul_add(e0, mid.mul_add(e1, high * e2));
            (a0, a1, e0, e1) = (a1, a2, e1, e2);
        }
    }

    /// Applies exercise where it pays more than waiting, on the nodes up to `wide` from the middle. The gain is its
    /// mean over the cell of a node, so that the place of the boundary between two nodes does not matter.
    ///
    /// # Shapes  a contract in each lane
    /// # Units   exercise pays φX·`carried` + `paid`: escrow and strike are in `paid`, all in the lattice's discounted
    /// terms
    #[inline(always)]
    pub(super) fn exercise(&mut self, mean: Mean, wide: usize, carried: L, paid: L) {
        match mean {
            Mean::Slope => self.exercise_by(wide, carried, paid, |[before, here, after]| {
                let (zero, half) = (L::splat(0.0), L::splat(0.5));
                let slope = ((after - before) * half).abs();
                let gain = here.max(zero);
                // the boundary is in few intervals: elsewhere the mean over an interval is the value at its node
                if !here.abs().lt(slope * half).any() {
                    return gain;
                }
                let reach = (here + slope * half).max(zero);
                let mean = reach * reach / (slope + slope).max(L::splat(f64::MIN_POSITIVE));
                L::select((slope * half).le(here), here, mean)
            }),
            Mean::Pieces => self.exercise_by(wide, carried, paid, |[before, here, after]| {
                let (zero, half) = (L::splat(0.0), L::splat(0.5));
                let gain = here.max(zero);
                let crossed = (before * here).lt(zero) | (here * after).lt(zero);
                if !crossed.any() {
                    return gain;
                }
                // ∫max(v, 0)dv from half way to `end` up to here, over the way between
                let (square, least) = (gain * gain, gain.mul_add(L::splat(1e-9), L::splat(f64::MIN_POSITIVE)));
                let part = |end: L| {
                    let half_way = ((end + here) * half).max(zero);
                    half_way.neg_mul_add(half_way, square).abs() / (here - end).abs().max(least)
                };
                L::select(crossed, (part(before) + part(after)) * half, gain)
            }),
        }
    }

    /// Adds the `gain` of exercise to the nodes up to `wide` from the middle: a function of exercise less waiting at a
    /// node and its two neighbours.
    #[inline(always)]
    fn exercise_by(&mut self, wide: usize, carried: L, paid: L, gain: impl Fn([L; 3]) -> L) {
        let middle = self.x.len() / 2;
        let (first, last) = (middle - wide, middle + wide);
        let (x, a) = (&self.x[..=last], &mut self.american[..=last]);
        let mut here = x[first].mul_add(carried, paid) - a[first];
        let mut before = here;
        for j in first..=last {
            // beyond the last node the gain is taken as flat: nothing there reaches the root
            let after = if j < last { x[j + 1].mul_add(carried, paid) - a[j + 1] } else { here };
            a[j] += gain([before, here, after]);
            (before, here) = (here, after);
        }
    }

    /// Premium, slope and curvature in the middle, from the three nodes there.
    fn root(&self, contract: &LatticeContract<L>, now: &Layer) -> Root<L> {
        let (m, up) = (self.x.len() / 2, self.up);
        // errors that both values share cancel in their difference
        let premium = |j: usize| self.american[j] - self.european[j];
        let (low, value, high) = (premium(m - 1), premium(m), premium(m + 1));
        let x = contract.x;
        let (rise, fall) = (x * up - x, x - x / up);
        let (above, below) = ((high - value) / rise, (value - low) / fall);
        // nodes are spaced by ratio: differences on uneven steps
        let curve = (above - below) * 2.0 / (rise + fall);
        let slope = (above * fall + below * rise) / (rise + fall);
        let (carried, paid) = contract.exercise(now);
        Root { value, slope, curve, exercised: self.american[m].le(self.x[m].mul_add(carried, paid)) }
    }
}
