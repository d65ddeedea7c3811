//! The trinomial lattice: layers, nodes, and the gain of exercise on them. Never: a quote, a table.

use crate::contract::Right;
use crate::dividends::{Terms, is_same_date};
use crate::elementary::{exp, ln};
use crate::greeks::from_logs;
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
/// Least difference of two gains, parts of one, by which their mean divides.
const FLAT: f64 = 1e-9;
/// Step of volatility, as a part of it, for vega.
const BUMP: f64 = 0.01;

/// The layers of one (expiry, right), for strikes and volatilities of any number.
#[derive(Debug)]
pub struct Lattice {
    phi: f64,
    /// S − A(0).
    pub(super) x: f64,
    /// The layers at full and at half the steps.
    pub(super) grids: [LatticeGrid; 2],
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

/// Layers in time, the first of them now. Up to a first ex-date that is near, steps in time and space are shorter.
#[derive(Debug)]
pub(super) struct LatticeGrid {
    layers: Vec<Layer>,
    /// Number of layers before the near ex-date; 0 if none is near.
    near: usize,
    /// Years between layers: before the near ex-date, and the longest after it.
    dt: (f64, f64),
    /// Nodes to either side of the middle one.
    half: usize,
}

/// One time at which exercise is allowed.
#[derive(Debug)]
struct Layer {
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
struct Nodes<L> {
    /// The ratio of neighbouring nodes.
    up: L,
    /// φX at now, times e^(j·dx).
    x: Vec<L>,
    american: Vec<L>,
    european: Vec<L>,
}

impl Lattice {
    /// The lattice of `terms` at spot `s`: about `steps` layers, two or more between ex-dates.
    #[must_use]
    pub fn new(terms: &Terms, s: f64, right: Right, steps: usize) -> Self {
        count(|work| work.lattices += 1);
        let dates_only = exercised_at_dates(right, terms);
        let grid = |parts: usize| LatticeGrid::new(terms, right, steps, parts, dates_only);
        Self { phi: right.phi(), x: s - terms.a(0.0), grids: [grid(2), grid(1)] }
    }

    /// The premium of each contract, strikes `k` and volatilities `sigma`. Zero where the lattice has none.
    pub fn premium<L: Lanes>(&self, k: L, sigma: L) -> LatticePremium<L> {
        if !self.has_value() {
            return LatticePremium::none();
        }
        // the error of a lattice falls with the length of a step: two of them extrapolate to steps of no length
        let (fine, coarse) = (self.root(&self.grids[0], k, sigma), self.at_half_the_steps(k, sigma));
        let value = L::splat(2.0) * fine.value - coarse.value;
        LatticePremium { vega: coarse.vega, correction: value - coarse.value, value, ..self.of_root(&fine) }
    }

    /// The premium at half the steps only, at a third of the cost; without `correction`.
    pub fn at_half_the_steps<L: Lanes>(&self, k: L, sigma: L) -> LatticePremium<L> {
        if !self.has_value() {
            return LatticePremium::none();
        }
        let coarse = self.root(&self.grids[1], k, sigma);
        // by difference on the coarse lattice: extrapolating would double the noise of a difference
        let wilder = self.root(&self.grids[1], k, sigma * (1.0 + BUMP));
        LatticePremium { vega: (wilder.value - coarse.value) / (sigma * BUMP), ..self.of_root(&coarse) }
    }

    /// True if the spot exceeds the dividends.
    pub(super) fn has_value(&self) -> bool {
        self.x > 0.0
    }

    fn of_root<L: Lanes>(&self, root: &Root<L>) -> LatticePremium<L> {
        let [slope, curve, ..] = from_logs(root.by_ln_x(), L::splat(1.0 / self.x));
        LatticePremium { value: root.value, slope, curve, exercised: root.exercised, ..LatticePremium::none() }
    }

    /// The premium at the root of a grid.
    pub(super) fn root<L: Lanes>(&self, grid: &LatticeGrid, k: L, sigma: L) -> Root<L> {
        let contract = LatticeContract::new(self.phi, self.x, k, sigma);
        let mut nodes = grid.waiting(&contract, 2);
        let (carried, paid) = contract.exercise(&grid.layers[0]);
        let middle = nodes.x.len() / 2;
        let waiting = core::array::from_fn(|i| nodes.american[middle + i - 2] - nodes.european[middle + i - 2]);
        let exercised = nodes.american[middle].le(nodes.x[middle].mul_add(carried, paid));
        // exercise now is applied last: derivatives are those of holding, the value that of the better
        nodes.exercise(1, carried, paid);
        Root { waiting, value: nodes.american[middle] - nodes.european[middle], space: ln(nodes.up), exercised }
    }
}

/// True for calls on stock that costs nothing to borrow: waiting between ex-dates costs nothing.
pub(super) fn exercised_at_dates(right: Right, terms: &Terms) -> bool {
    right == Right::Call && terms.b <= 0.0 && terms.r >= 0.0
}

impl<L: Lanes> LatticePremium<L> {
    fn none() -> Self {
        let zero = L::splat(0.0);
        Self { value: zero, slope: zero, curve: zero, vega: zero, exercised: zero.lt(zero), correction: zero }
    }
}

/// Premiums at the root of a lattice.
pub(super) struct Root<L: Lanes> {
    /// Premiums without exercise now, hence smooth across the boundary: in the middle and two nodes up and down,
    /// `space` apart in ln X.
    waiting: [L; 5],
    /// The premium in the middle, with exercise now.
    pub(super) value: L,
    pub(super) space: L,
    pub(super) exercised: L::Mask,
}

impl<L: Lanes> Root<L> {
    /// First to fourth derivative in ln X.
    pub(super) fn by_ln_x(&self) -> [L; 4] {
        let h = self.space;
        let [first, second, third] = differences(&self.waiting, h);
        let [a, b, c, d, e] = self.waiting;
        let fourth = a + e - L::splat(4.0) * (b + d) + L::splat(6.0) * c;
        [first, second, third, fourth / (h * h * h * h)]
    }
}

/// First to third derivative in the middle of five values `h` apart.
pub(super) fn differences<L: Lanes>(v: &[L; 5], h: L) -> [L; 3] {
    let c = |x: f64| L::splat(x);
    let [a, b, m, d, e] = *v;
    let first = (c(8.0) * (d - b) - (e - a)) / (c(12.0) * h);
    let second = (c(16.0) * (b + d) - (a + e) - c(30.0) * m) / (c(12.0) * h * h);
    let third = (e - a - c(2.0) * (d - b)) / (c(2.0) * h * h * h);
    [first, second, third]
}

impl LatticeGrid {
    /// The grid with `parts` steps for each of `steps`/2 pieces of the term, more where ex-dates divide it. With
    /// `dates_only` options are exercised at ex-dates and at expiry.
    ///
    /// # Domain   `steps` of 12 or more, of which each piece between ex-dates takes `parts` times its share; t > 0
    pub(super) fn new(terms: &Terms, right: Right, steps: usize, parts: usize, dates_only: bool) -> Self {
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
        if dates_only {
            let is_date = |t: f64| terms.divs.iter().any(|d| is_same_date(d.t, t));
            layers.iter_mut().for_each(|layer| layer.pays = is_date(layer.t));
        }
        let near = if is_near { NEAR_PIECES as usize * parts } else { 0 };
        // nodes beyond six deviations weigh nothing at the root
        let half = (SPAN * (terms.t / (3.0 * longest)).sqrt()).ceil() as usize + 1;
        Self { half: half.min(layers.len() - near + WIDER), layers, near, dt: (shortest, longest) }
    }

    /// The values now without exercise now, up to `wide` nodes from the middle.
    fn waiting<L: Lanes>(&self, contract: &LatticeContract<L>, wide: usize) -> Nodes<L> {
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
            nodes.exercise(finest, carried, paid);
        }
        let last = if self.near > 0 { self.near } else { last };
        // only the cone that the root can reach is computed
        nodes.walk(self, 1..last, wide + 1, contract);
        nodes.back(wide.min(nodes.x.len() / 2), contract.weights(self.layers[0].dt, nodes.up));
        nodes
    }
}

/// The contracts of a block.
struct LatticeContract<L> {
    phi: f64,
    x: f64,
    phi_k: L,
    variance: L,
}

impl<L: Lanes> LatticeContract<L> {
    fn new(phi: f64, x: f64, k: L, sigma: L) -> Self {
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
    fn exercise(&self, layer: &Layer) -> (L, L) {
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
        let mut x = vec![L::splat(contract.phi * contract.x); 2 * half + 1];
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
        nodes.exercise(grid.half, carried, paid - L::splat(contract.phi * last.held * last.df));
        // at expiry both are the payoff; a dividend at expiry may make exercise right before it pay more
        nodes.european.copy_from_slice(&nodes.american);
        if last.held > 0.0 {
            nodes.exercise(grid.half, carried, paid);
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
                self.exercise(wide, carried, paid);
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
    fn exercise(&mut self, wide: usize, carried: L, paid: L) {
        let middle = self.x.len() / 2;
        let (first, last) = (middle - wide, middle + wide);
        let (x, a) = (&self.x[..=last], &mut self.american[..=last]);
        let mut here = x[first].mul_add(carried, paid) - a[first];
        let mut before = here;
        for j in first..=last {
            // beyond the last node the gain is taken as flat: nothing there reaches the root
            let after = if j < last { x[j + 1].mul_add(carried, paid) - a[j + 1] } else { here };
            a[j] += mean_gain([before, here, after]);
            (before, here) = (here, after);
        }
    }
}

/// Mean of a gain above 0 over the cell of a node, from exercise less waiting there and at its two neighbours, along
/// the straight pieces to either of them.
#[inline(always)]
fn mean_gain<L: Lanes>([before, here, after]: [L; 3]) -> L {
    let (zero, half) = (L::splat(0.0), L::splat(0.5));
    let gain = here.max(zero);
    // the boundary is in few cells: elsewhere the mean is the value at the node
    let crossed = (before * here).lt(zero) | (here * after).lt(zero);
    if !crossed.any() {
        return gain;
    }
    // ∫max(v, 0)dv from half way to `end` up to here, over the way between
    let (square, least) = (gain * gain, gain.mul_add(L::splat(FLAT), L::splat(f64::MIN_POSITIVE)));
    let part = |end: L| {
        let half_way = ((end + here) * half).max(zero);
        half_way.neg_mul_add(half_way, square).abs() / (here - end).abs().max(least)
    };
    L::select(crossed, (part(before) + part(after)) * half, gain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::american::draws::Draws;
    use crate::american::{Band, Pricer};
    use crate::black76::{Horizon, european_vol};
    use crate::contract::Style;
    use crate::dividends::Dividend;
    use crate::quality::Quality;

    /// A quarter of the contracts have one date, a quarter three.
    #[test]
    fn premiums_are_those_of_the_tables() {
        let mut draws = Draws(7);
        let mut errors = Vec::new();
        for i in 0..400u32 {
            let right = if i % 2 == 0 { Right::Put } else { Right::Call };
            let t = 0.01 * 300.0f64.powf(draws.unit());
            let n = [0.0, 0.0, 1.0, 3.0][(i as usize / 2) % 4];
            let date = |j: u32| (f64::from(j) + draws.between(0.2, 0.8)) * t / n;
            let divs = (0..n as u32).map(date).map(|t| Dividend { t, amount: 0.7 }).collect();
            let terms = Terms { t, r: draws.between(0.0, 0.06), b: draws.between(-0.03, 0.06).max(0.0), divs };
            let sigma = 0.08 * 10.0f64.powf(draws.unit());
            let k = 100.0 * (sigma * t.sqrt() * draws.between(-1.5, 1.5)).exp();
            let band = Band { k: (k, k), sigma: (sigma * 0.9, sigma * 1.1) };
            let pricer = Pricer::new(Style::American, right, &terms, &band, Quality::Full);
            let value = pricer.at(&terms, 100.0).vol_derivatives(k, sigma).value;
            if value - right.phi() * (100.0 - k) > 1e-6 {
                let x = 100.0 - terms.a(0.0);
                let want = value - european_vol(right.phi(), &Horizon::from(&terms), x, k, sigma).value;
                let got = Lattice::new(&terms, 100.0, right, 60).premium(k, sigma).value;
                errors.push((got - want).abs() / 100.0);
            }
        }
        errors.sort_by(f64::total_cmp);
        let [median, most, all] = [0.5, 0.9, 0.99].map(|part| errors[(part * (errors.len() - 1) as f64) as usize]);
        assert!(errors.len() > 300 && median < 4e-6 && most < 6e-5 && all < 6e-4, "{median} {most} {all}");
    }

    #[test]
    fn a_mean_gain_is_that_of_its_two_pieces() {
        for [before, here, after] in
            [[-1.0, 1.0, 3.0], [2.0, -1.0, -4.0], [-3.0, 0.5, -0.1], [1.0, 2.0, 4.0], [-1.0, -2.0, -1.0]]
        {
            let n = 100_000;
            let piece = |end: f64| -> f64 {
                let at = |i: usize| here + (end - here) * 0.5 * (i as f64 + 0.5) / n as f64;
                (0..n).map(|i| f64::max(at(i), 0.0)).sum::<f64>() / n as f64
            };
            // without a crossing the mean is the value at the node
            let crosses = before * here < 0.0 || here * after < 0.0;
            let want = if crosses { 0.5 * (piece(before) + piece(after)) } else { f64::max(here, 0.0) };
            let got = mean_gain::<f64>([before, here, after]);
            assert!((got - want).abs() < 1e-8, "{before} {here} {after}: {got} for {want}");
        }
    }

    #[test]
    fn calls_that_cost_nothing_to_borrow_have_no_premium_without_dividends() {
        let terms = Terms { t: 0.5, r: 0.04, b: 0.0, divs: Vec::new() };
        let premium = Lattice::new(&terms, 100.0, Right::Call, 40).premium(90.0, 0.3);
        assert!(premium.value == 0.0 && !premium.exercised, "{premium:?}");
    }
}
