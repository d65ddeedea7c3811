//! Early exercise premiums from coarse lattices, one contract per lane: for a first pass over an expiry whose borrow is
//! not known yet, and for values that must not come from the tables. Never: a quote, a table.
//!
//! A trinomial lattice in the escrowed X = S − A(0): ln X moves by ±dx or not at all, with probabilities that keep mean
//! and variance of X exact over steps of any length, so that every ex-date is a layer. Exercise at a layer pays φ(X + A
//! − K), A with the dividend of that instant for calls, without it for puts. The European value runs along on the same
//! nodes; the difference of the two is far better than either, and half the steps extrapolate away most of what is
//! left. Values in discounted terms are martingales here, so nothing but exercise changes them far in or out of the
//! money.
//!
//! [`Lattices`] gives every derivative of a premium. The two average the gain of exercise differently
//! (`trinomial::Mean`): [`Lattice`] values the simulated market, which must not change.
//!
//! Accuracy: `american_values_are_those_of_the_golden_files` (sim/value.rs), and `engine/sim/tests/market` by tier.

mod held;
mod trinomial;

pub use held::HeldCall;
pub use trinomial::{Lattice, LatticePremium};

use crate::american::most_premium;
use crate::contract::Right;
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::greeks::{Derivatives, from_logs};
use crate::lanes::{Lanes, Mask};
use crate::work::count;
use trinomial::{LatticeContract, LatticeGrid, Mean};

/// ln of the ratio of neighbouring volatilities, two of them on either side: the outer ones are a factor of 1.2 away.
const APART: f64 = 0.091_160_778_396_977_27;
/// Step of a rate.
const RATE_BUMP: f64 = 2e-4;
/// Step of ln K, as a part of the distance of neighbouring nodes.
const STRIKE_BUMP: f64 = 0.5;
/// A premium below this fraction of the spot counts as none.
const NEGLIGIBLE: f64 = 2.5e-6;
/// Bounds of the ratio by which the finer grid corrects numbers of the coarser one.
const CORRECTED: (f64, f64) = (0.5, 2.0);

/// Lattices of one (expiry, right), for values and derivatives of premiums.
#[derive(Debug)]
pub struct Lattices {
    right: Right,
    terms: Terms,
    s: f64,
    /// S − A(0).
    x: f64,
    fine: LatticeGrid,
    coarse: LatticeGrid,
    /// The coarse lattice at a greater r, and at a greater b.
    bumped: [LatticeGrid; 2],
}

/// Early exercise premiums of a block with their derivatives, one contract per lane.
#[derive(Clone, Copy, Debug)]
pub struct LatticeGreeks<L: Lanes> {
    /// Value and derivatives in (X, sigma, r, b, K); d1 and d2 do not apply to a premium, and are 0.
    pub jet: Derivatives<L>,
    /// The premium at a lower and at a higher volatility.
    pub beside: [AtOtherVolatility<L>; 2],
    /// The lanes where exercising now is optimal: their other numbers are undefined.
    pub exercised: L::Mask,
}

/// The premium at another volatility.
#[derive(Clone, Copy, Debug)]
pub struct AtOtherVolatility<L: Lanes> {
    /// Per √year.
    pub sigma: L,
    /// Currency per share.
    pub value: L,
    /// ∂P/∂σ at that volatility.
    pub vega: L,
    /// The lanes where exercising now is optimal at that volatility.
    pub exercised: L::Mask,
}

/// Premiums at the root of a lattice.
struct RootPremiums<L: Lanes> {
    /// Premiums without exercise now, hence smooth across the boundary: in the middle and two nodes up and down,
    /// `space` apart in ln X.
    waiting: [L; 5],
    /// The premium in the middle, with exercise now.
    value: L,
    space: L,
    exercised: L::Mask,
}

impl Lattices {
    /// The lattices of `terms` at spot `s`: about `steps` layers; `None` without model value (S ≤ A(0)).
    #[must_use]
    pub fn new(terms: &Terms, s: f64, right: Right, steps: usize) -> Option<Self> {
        let x = s - terms.a(0.0);
        count(|work| work.lattices += 1);
        let moved = |r: f64, b: f64| Terms { r: terms.r + r, b: terms.b + b, ..terms.clone() };
        // calls on stock that costs nothing to borrow, bumped rates included, so that they compare
        let dates_only = right == Right::Call && terms.b <= 0.0 && terms.r >= 0.0;
        let grid = |terms: &Terms, parts: usize| {
            let mut grid = LatticeGrid::new(terms, right, steps, parts, Mean::Pieces);
            if dates_only {
                grid.exercise_at_dates_only(terms);
            }
            grid
        };
        (x > 0.0).then(|| Self {
            right,
            terms: terms.clone(),
            s,
            x,
            fine: grid(terms, 2),
            coarse: grid(terms, 1),
            bumped: [grid(&moved(RATE_BUMP, 0.0), 1), grid(&moved(0.0, RATE_BUMP), 1)],
        })
    }

    /// True if the premium of every lane is negligible.
    #[must_use]
    pub fn is_negligible<L: Lanes>(&self, k: L, sigma: L) -> bool {
        let most = most_premium(self.right, &self.terms, L::splat(self.s), k, sigma);
        most.le(L::splat(NEGLIGIBLE * self.s)).all()
    }

    /// The premium of each contract, strikes `k` and volatilities `sigma`.
    ///
    /// # Units    raw, as [`Derivatives`]
    /// # Accuracy against golden/, in engine/tests/kernel/preliminary.rs
    /// # Cost     one walk over the finer grid and ten over the coarser one, which costs a quarter
    pub fn jets<L: Lanes>(&self, k: L, sigma: L) -> LatticeGreeks<L> {
        let c = |v: f64| L::splat(v);
        let ratio = [-2.0, -1.0, 0.0, 1.0, 2.0].map(|n: f64| c((n * APART).exp()));
        let highest = self.root(&self.coarse, k, sigma * ratio[4]);
        // exercise at the highest volatility means exercise at all lower ones: most deep contracts end here
        if highest.exercised.all() {
            return LatticeGreeks::none(sigma, highest.exercised);
        }
        let by_sigma: [RootPremiums<L>; 4] = core::array::from_fn(|i| self.root(&self.coarse, k, sigma * ratio[i]));
        let by_sigma = |i: usize| if i < 4 { &by_sigma[i] } else { &highest };
        let (fine, coarse) = (self.root(&self.fine, k, sigma), by_sigma(2));

        let rich = |fine: L, coarse: L| c(2.0) * fine - coarse;
        let value = rich(fine.value, coarse.value).max(c(0.0));
        let better = value / coarse.value;
        // where the coarse premium is next to nothing the ratio is noise, and would scale all derivatives by it
        let better = L::select(better.abs().lt(c(CORRECTED.1)), better.max(c(CORRECTED.0)), c(1.0));
        let (f, g) = (fine.by_ln_x(), coarse.by_ln_x());
        let x: [L; 4] = core::array::from_fn(|i| rich(f[i], g[i]));
        let values: [L; 5] = core::array::from_fn(|i| by_sigma(i).value * better);
        let [l1, _, _] = differences(&values, c(APART));
        // a lattice has curvature of its own, which the widest difference shows least; a third derivative is all error
        let l2 = (values[0] + values[4] - values[2] - values[2]) * c(0.25 / (APART * APART));
        let slope: [L; 5] = core::array::from_fn(|i| by_sigma(i).by_ln_x()[0] * better);
        let bend: [L; 5] = core::array::from_fn(|i| by_sigma(i).by_ln_x()[1] * better);
        let (xl, xxl) = (differences(&slope, c(APART))[0], differences(&bend, c(APART))[0]);

        let by_rate = |grid: &LatticeGrid, i: usize| {
            (self.root(grid, k, sigma * ratio[i]).value - by_sigma(i).value) * better * c(1.0 / RATE_BUMP)
        };
        let r = by_rate(&self.bumped[0], 2);
        let r_l = (by_rate(&self.bumped[0], 3) - r) * c(1.0 / APART);
        let q = if self.terms.divs.is_empty() {
            // of degree 1 in (X, K)
            [value - x[0], x[1] - x[0]]
        } else {
            // half the distance of two nodes: below that the error of the lattice outweighs the difference
            let h = coarse.space * STRIKE_BUMP;
            let [up, down] = [exp(h), exp(-h)].map(|by| self.root(&self.coarse, k * by, sigma).value * better);
            [(up - down) / (h + h), (up + down - values[2] - values[2]) / (h * h)]
        };
        // at the outermost volatilities a central difference would need a sixth lattice
        let one_sided = |v: [L; 5]| {
            let at = |i: usize, w: f64| v[i] * w;
            (at(0, 25.0) - at(1, 48.0) + at(2, 36.0) - at(3, 16.0) + at(4, 3.0)) * c(1.0 / (12.0 * APART))
        };
        let reversed = core::array::from_fn(|i| values[4 - i]);
        let beside = |i: usize, by_l: L| {
            let there = sigma * ratio[i];
            AtOtherVolatility { sigma: there, value: values[i], vega: by_l / there, exercised: by_sigma(i).exercised }
        };
        let (is, ix, ik) = (c(1.0) / sigma, c(1.0 / self.x), c(1.0) / k);
        let jet = Derivatives {
            v: value,
            x: from_logs(x, ix),
            sigma: [l1 * is, (l2 - l1) * is * is, c(0.0)],
            x_sigma: xl * ix * is,
            xx_sigma: (xxl - xl) * ix * ix * is,
            r,
            r_sigma: r_l * is,
            b: by_rate(&self.bumped[1], 2),
            k: [q[0] * ik, (q[1] - q[0]) * ik * ik],
            d: [c(0.0); 2],
        };
        let beside = [beside(0, -one_sided(values)), beside(4, one_sided(reversed))];
        LatticeGreeks { jet, beside, exercised: fine.exercised }
    }

    fn root<L: Lanes>(&self, grid: &LatticeGrid, k: L, sigma: L) -> RootPremiums<L> {
        let contract = LatticeContract::new(self.right.phi(), L::splat(self.x), k, sigma);
        let mut nodes = grid.waiting(&contract, 2);
        let (carried, paid) = contract.exercise(&grid.layers[0]);
        let middle = nodes.x.len() / 2;
        let waiting = core::array::from_fn(|i| nodes.american[middle + i - 2] - nodes.european[middle + i - 2]);
        let exercised = nodes.american[middle].le(nodes.x[middle].mul_add(carried, paid));
        // exercise now is applied last: derivatives are those of holding, the value that of the better
        nodes.exercise(grid.mean, 1, carried, paid);
        RootPremiums { waiting, value: nodes.american[middle] - nodes.european[middle], space: ln(nodes.up), exercised }
    }
}

impl<L: Lanes> LatticeGreeks<L> {
    /// Premiums of 0; `exercised`: the lanes that are exercised now at every volatility.
    #[must_use]
    pub fn none(sigma: L, exercised: L::Mask) -> Self {
        let zero = L::splat(0.0);
        let jet = Derivatives::nothing([zero; 2]);
        let beside = [-2.0, 2.0].map(|n: f64| {
            let sigma = sigma * L::splat((n * APART).exp());
            AtOtherVolatility { sigma, value: zero, vega: zero, exercised }
        });
        Self { jet, beside, exercised }
    }
}

impl<L: Lanes> RootPremiums<L> {
    /// First to fourth derivative in ln X.
    fn by_ln_x(&self) -> [L; 4] {
        let h = self.space;
        let [first, second, third] = differences(&self.waiting, h);
        let [a, b, c, d, e] = self.waiting;
        let fourth = a + e - L::splat(4.0) * (b + d) + L::splat(6.0) * c;
        [first, second, third, fourth / (h * h * h * h)]
    }
}

/// First to third derivative in the middle of five values `h` apart.
fn differences<L: Lanes>(v: &[L; 5], h: L) -> [L; 3] {
    let c = |x: f64| L::splat(x);
    let [a, b, m, d, e] = *v;
    let first = (c(8.0) * (d - b) - (e - a)) / (c(12.0) * h);
    let second = (c(16.0) * (b + d) - (a + e) - c(30.0) * m) / (c(12.0) * h * h);
    let third = (e - a - c(2.0) * (d - b)) / (c(2.0) * h * h * h);
    [first, second, third]
}
