//! What the right to exercise early adds, by a coarse lattice, one contract in each lane. Never: a quote, a table.
//!
//! A trinomial lattice in the escrowed X = S − A(0): ln X moves by ±dx or not at all, with probabilities that keep mean and
//! variance of X exact over steps of any length, so that every ex-date is a layer. Exercise at a layer pays φ(X + A − K),
//! A with the dividend of that instant for calls, without it for puts. The European value runs along on the same nodes;
//! the difference of the two is far better than either, and half the steps extrapolate away most of what is left.

use super::value::Premium;
use crate::contract::Right;
use crate::kernel::dividends::Terms;
use crate::kernel::elementary::exp;
use crate::kernel::lanes::{Block, Lanes, Mask, Pack};

/// Standard deviations of ln X that the lattice spans to either side.
const SPAN: f64 = 6.0;

/// The layers of one (expiry, right), for strikes and volatilities of any number.
pub(super) struct Lattice {
    phi: f64,
    /// S − A(0).
    x: f64,
    /// The layers at full and at half the steps.
    grids: [Grid; 2],
}

/// Layers in time, the first of them now.
struct Grid {
    layers: Vec<Layer>,
    longest: f64,
    /// Nodes to either side of the middle one.
    half: usize,
}

/// One instant at which exercise is looked at.
struct Layer {
    /// e^(−bt): takes X to its discounted mean.
    carried: f64,
    /// e^(−rt).
    df: f64,
    /// The dividends that exercise here collects.
    held: f64,
    /// Years to the next layer; 0 for the last.
    dt: f64,
    /// A dividend goes ex here, or the option expires: the value gets a corner.
    corner: bool,
}

/// Values on the nodes of the layer that was computed last.
struct Nodes<L> {
    /// φX at now, times e^(j·dx).
    x: Vec<L>,
    american: Vec<L>,
    european: Vec<L>,
}

impl Lattice {
    /// The lattice of `terms` at spot `s`: about `steps` layers, two or more between ex-dates.
    pub(super) fn new(terms: &Terms, s: f64, right: Right, steps: usize) -> Self {
        let x = s - terms.a(0.0);
        let grid = |parts: usize| Grid::new(terms, right, steps, parts);
        Self { phi: right.phi(), x, grids: [grid(2), grid(1)] }
    }

    /// The premium of each contract, strikes `k` and volatilities `sigma`. Zero where the lattice has none; contracts to be
    /// exercised now have an infinite one.
    pub(super) fn premiums(&self, k: &[f64], sigma: &[f64]) -> Vec<Premium> {
        let mut out = Vec::with_capacity(k.len());
        if !(self.x > 0.0) {
            return vec![Premium::default(); k.len()];
        }
        let blocks = k.chunks(Block::N).zip(sigma.chunks(Block::N));
        for (k, sigma) in blocks {
            match k.len() {
                0..=4 => self.block::<Pack<1>>(k, sigma, &mut out),
                _ => self.block::<Block>(k, sigma, &mut out),
            }
        }
        out
    }

    fn block<L: Lanes>(&self, k: &[f64], sigma: &[f64], out: &mut Vec<Premium>) {
        let fill = |from: &[f64]| {
            let mut lanes = [0.0; Block::N];
            lanes.iter_mut().enumerate().for_each(|(i, x)| *x = from[i.min(from.len() - 1)]);
            L::load(&lanes)
        };
        let (lanes_k, lanes_sigma) = (fill(k), fill(sigma));
        let [fine, coarse] = [0, 1].map(|g| self.grids[g].walk(self.phi, self.x, lanes_k, lanes_sigma));
        for i in 0..k.len() {
            let value = 2.0 * fine.value.lane(i) - coarse.value.lane(i);
            out.push(Premium {
                value: if fine.exercised.lane(i) { f64::INFINITY } else { value.max(0.0) },
                slope: fine.slope.lane(i),
                curve: fine.curve.lane(i),
            });
        }
    }
}

/// What a walk back to now ends with.
struct Root<L: Lanes> {
    value: L,
    slope: L,
    curve: L,
    exercised: L::Mask,
}

impl Grid {
    /// `parts` steps for each of `steps`/2 pieces of the term, more where ex-dates divide it.
    fn new(terms: &Terms, right: Right, steps: usize, parts: usize) -> Self {
        let mut ends: Vec<f64> = terms.divs.iter().map(|d| d.t).filter(|&t| t > 0.0 && t < terms.t).collect();
        ends.push(terms.t);
        ends.dedup();
        let mut layers = Vec::with_capacity(parts * (steps / 2 + ends.len()) + 1);
        let (mut from, mut longest) = (0.0, 0.0_f64);
        for end in ends {
            let pieces = ((end - from) / terms.t * (steps / 2) as f64).ceil().max(1.0);
            let n = pieces as usize * parts;
            let dt = (end - from) / n as f64;
            longest = longest.max(dt);
            let layer = |i: usize| Layer { corner: i == 0 && from > 0.0, ..Layer::new(terms, right, from + i as f64 * dt, dt) };
            layers.extend((0..n).map(layer));
            from = end;
        }
        layers.push(Layer::new(terms, right, terms.t, 0.0));
        let half = (SPAN * (terms.t / (3.0 * longest)).sqrt()).ceil() as usize + 1;
        Self { half: half.min(layers.len()), layers, longest }
    }

    fn walk<L: Lanes>(&self, phi: f64, x: f64, k: L, sigma: L) -> Root<L> {
        let one = L::splat(1.0);
        let variance = sigma * sigma;
        let dx = (variance * L::splat(3.0 * self.longest)).sqrt();
        let up = exp(dx);
        // 4·sinh²(dx/2)
        let apart = up + one / up - one - one;
        let phi_k = k * L::splat(phi);
        let mut nodes = Nodes::new(self, L::splat(phi * x), up, phi_k);
        let (mut dt, mut weights) = (0.0, [one; 3]);
        for i in (0..self.layers.len() - 1).rev() {
            let layer = &self.layers[i];
            if layer.dt.to_bits() != f64::to_bits(dt) {
                dt = layer.dt;
                let moved = (exp(variance * L::splat(dt)) - one) / apart;
                let high = moved / (one + up);
                weights = [moved - high, one - moved, high];
            }
            let paid = L::splat(phi * layer.held * layer.df) - phi_k * L::splat(layer.df);
            let carried = L::splat(layer.carried);
            if layer.corner {
                nodes.back::<false>((i + 1).min(self.half), weights, carried, paid);
                nodes.exercise((i + 1).min(self.half), carried, paid);
            } else {
                nodes.back::<true>((i + 1).min(self.half), weights, carried, paid);
            }
        }
        let now = &self.layers[0];
        nodes.root(up, L::splat(phi), |node| node + L::splat(phi * now.held) - phi_k)
    }
}

impl Layer {
    fn new(terms: &Terms, right: Right, t: f64, dt: f64) -> Self {
        let carry = terms.r - terms.b;
        let collected = |at: f64| at > t || (at >= t && right == Right::Call);
        let held = terms.divs.iter().filter(|d| d.t <= terms.t && collected(d.t));
        let held = held.map(|d| d.amount * exp(-carry * (d.t - t))).sum();
        Self { carried: exp(-terms.b * t), df: exp(-terms.r * t), held, dt, corner: dt <= 0.0 }
    }
}

/// max(h, 0) for `n` nodes as the mean over the cell of each node, so that it does not matter where between two nodes h
/// changes its sign.
fn cut<L: Lanes>(n: usize, h: impl Fn(usize) -> L) -> Vec<L> {
    let half = L::splat(0.5);
    let (mut before, mut here) = (h(0), h(0));
    let mut out = Vec::with_capacity(n);
    for j in 0..n {
        let after = if j + 1 < n { h(j + 1) } else { here };
        let slope = ((after - before) * half).abs();
        let reach = (here + slope * half).max(L::splat(0.0));
        let mean = reach * reach / (slope + slope).max(L::splat(f64::MIN_POSITIVE));
        out.push(L::select((slope * half).le(here), here, mean));
        (before, here) = (here, after);
    }
    out
}

impl<L: Lanes> Nodes<L> {
    /// The nodes at expiry: the payoff, or that of exercise just before.
    fn new(grid: &Grid, x: L, up: L, phi_k: L) -> Self {
        let (half, zero) = (grid.half, L::splat(0.0));
        let mut nodes = vec![x; 2 * half + 1];
        let down = L::splat(1.0) / up;
        for j in 1..=half {
            nodes[half + j] = nodes[half + j - 1] * up;
            nodes[half - j] = nodes[half - j + 1] * down;
        }
        let last = &grid.layers[grid.layers.len() - 1];
        let (carried, df) = (L::splat(last.carried), L::splat(last.df));
        let phi = if x.lane(0) > 0.0 { 1.0 } else { -1.0 };
        let european = cut(nodes.len(), |j| nodes[j].mul_add(carried, -(phi_k * df)));
        let mut all = Self { american: european.clone(), european, x: nodes };
        if last.held > 0.0 {
            all.exercise(half, carried, L::splat(phi * last.held) * df - phi_k * df);
        }
        all
    }

    /// Exercise where it pays more, on the nodes up to `wide` from the middle, at a layer where that makes a corner.
    fn exercise(&mut self, wide: usize, carried: L, paid: L) {
        let first = self.x.len() / 2 - wide;
        let gain = cut(2 * wide + 1, |j| self.x[first + j].mul_add(carried, paid) - self.american[first + j]);
        for (a, gain) in self.american[first..].iter_mut().zip(gain) {
            *a += gain;
        }
    }

    /// One layer back: the nodes up to `wide` from the middle. Where the lattice ends, far in or out of the money, values
    /// in discounted terms stand still.
    #[inline(always)]
    fn back<const EXERCISE: bool>(&mut self, wide: usize, [low, mid, high]: [L; 3], carried: L, paid: L) {
        let middle = self.x.len() / 2;
        let ends = wide == middle;
        let inner = if ends { wide - 1 } else { wide };
        let (first, last) = (middle - inner, middle + inner);
        let (x, a, e) = (&self.x[..=last + 1], &mut self.american[..=last + 1], &mut self.european[..=last + 1]);
        let (mut a0, mut e0) = (a[first - 1], e[first - 1]);
        let (mut a1, mut e1) = (a[first], e[first]);
        for j in first..=last {
            let (a2, e2) = (a[j + 1], e[j + 1]);
            let kept = low.mul_add(a0, mid.mul_add(a1, high * a2));
            a[j] = if EXERCISE { kept.max(x[j].mul_add(carried, paid)) } else { kept };
            e[j] = low.mul_add(e0, mid.mul_add(e1, high * e2));
            (a0, a1, e0, e1) = (a1, a2, e1, e2);
        }
        if ends && EXERCISE {
            for j in [middle - wide, middle + wide] {
                self.american[j] = self.american[j].max(self.x[j].mul_add(carried, paid));
            }
        }
    }

    /// Premium, slope and curvature in the middle, from the three nodes there.
    fn root(&self, up: L, phi: L, exercise: impl Fn(L) -> L) -> Root<L> {
        let m = self.x.len() / 2;
        let premium = |j: usize| self.american[j] - self.european[j];
        let (low, value, high) = (premium(m - 1), premium(m), premium(m + 1));
        let x = self.x[m] * phi;
        let (rise, fall) = (x * up - x, x - x / up);
        let (above, below) = ((high - value) / rise, (value - low) / fall);
        let curve = (above - below) * L::splat(2.0) / (rise + fall);
        let slope = (above * fall + below * rise) / (rise + fall);
        Root { value, slope, curve, exercised: self.american[m].le(exercise(self.x[m])) }
    }
}
