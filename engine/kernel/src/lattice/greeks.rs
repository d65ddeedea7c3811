//! Early exercise premiums with every derivative, from lattices: for values that are needed before the tables are
//! built. Never: a quote, a table.

use super::trinomial::{Lattice, LatticeGrid, Root, differences, exercised_at_dates};
use crate::american::most_premium;
use crate::contract::Right;
use crate::dividends::Terms;
use crate::elementary::exp;
use crate::greeks::{Derivatives, from_logs};
use crate::lanes::{Lanes, Mask};

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
    own: Lattice,
    /// The coarse lattice at a greater r, and at a greater b.
    bumped: [LatticeGrid; 2],
}

/// Early exercise premiums of a block with their derivatives, one contract per lane.
#[derive(Clone, Copy, Debug)]
pub struct LatticeGreeks<L: Lanes> {
    /// Value and derivatives in (X, sigma, r, b, K); d1 and d2 do not apply to a premium, and are 0.
    pub jet: Derivatives<L>,
    /// The premium at a lower and at a higher volatility.
    pub beside: [Beside<L>; 2],
    /// The lanes where exercising now is optimal: their other numbers are undefined.
    pub exercised: L::Mask,
}

/// The premium at another volatility.
#[derive(Clone, Copy, Debug)]
pub struct Beside<L: Lanes> {
    /// Per √year.
    pub sigma: L,
    /// Currency per share.
    pub value: L,
    /// ∂P/∂σ at that volatility.
    pub vega: L,
    /// The lanes where exercising now is optimal at that volatility.
    pub exercised: L::Mask,
}

impl Lattices {
    /// The lattices of `terms` at spot `s`: about `steps` layers; `None` without model value (S ≤ A(0)).
    #[must_use]
    pub fn new(terms: &Terms, s: f64, right: Right, steps: usize) -> Option<Self> {
        let own = Lattice::new(terms, s, right, steps);
        // bumped rates are exercised at the same dates, so that values compare
        let dates_only = exercised_at_dates(right, terms);
        let bumped = [(RATE_BUMP, 0.0), (0.0, RATE_BUMP)].map(|(r, b)| {
            let moved = Terms { r: terms.r + r, b: terms.b + b, ..terms.clone() };
            LatticeGrid::new(&moved, right, steps, 1, dates_only)
        });
        own.has_value().then(|| Self { right, terms: terms.clone(), s, own, bumped })
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
        let [fine, coarse] = &self.own.grids;
        let root = |grid: &LatticeGrid, k: L, sigma: L| self.own.root(grid, k, sigma);
        let highest = root(coarse, k, sigma * ratio[4]);
        // exercise at the highest volatility means exercise at all lower ones: most deep contracts end here
        if highest.exercised.all() {
            return LatticeGreeks::none(sigma, highest.exercised);
        }
        let by_sigma: [Root<L>; 4] = core::array::from_fn(|i| root(coarse, k, sigma * ratio[i]));
        let by_sigma = |i: usize| if i < 4 { &by_sigma[i] } else { &highest };
        let (fine, middle) = (root(fine, k, sigma), by_sigma(2));

        let rich = |fine: L, coarse: L| c(2.0) * fine - coarse;
        let value = rich(fine.value, middle.value).max(c(0.0));
        let better = value / middle.value;
        // where the coarse premium is next to nothing the ratio is noise, and would scale all derivatives by it
        let better = L::select(better.abs().lt(c(CORRECTED.1)), better.max(c(CORRECTED.0)), c(1.0));
        let (f, g) = (fine.by_ln_x(), middle.by_ln_x());
        let x: [L; 4] = core::array::from_fn(|i| rich(f[i], g[i]));
        let values: [L; 5] = core::array::from_fn(|i| by_sigma(i).value * better);
        let [l1, _, _] = differences(&values, c(APART));
        // a lattice has curvature of its own, which the widest difference shows least; a third derivative is all error
        let l2 = (values[0] + values[4] - values[2] - values[2]) * c(0.25 / (APART * APART));
        let slope: [L; 5] = core::array::from_fn(|i| by_sigma(i).by_ln_x()[0] * better);
        let bend: [L; 5] = core::array::from_fn(|i| by_sigma(i).by_ln_x()[1] * better);
        let (xl, xxl) = (differences(&slope, c(APART))[0], differences(&bend, c(APART))[0]);

        let by_rate = |grid: &LatticeGrid, i: usize| {
            (root(grid, k, sigma * ratio[i]).value - by_sigma(i).value) * better * c(1.0 / RATE_BUMP)
        };
        let r = by_rate(&self.bumped[0], 2);
        let r_l = (by_rate(&self.bumped[0], 3) - r) * c(1.0 / APART);
        let q = if self.terms.divs.is_empty() {
            // of degree 1 in (X, K)
            [value - x[0], x[1] - x[0]]
        } else {
            // half the distance of two nodes: below that the error of the lattice outweighs the difference
            let h = middle.space * STRIKE_BUMP;
            let [up, down] = [exp(h), exp(-h)].map(|by| root(coarse, k * by, sigma).value * better);
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
            Beside { sigma: there, value: values[i], vega: by_l / there, exercised: by_sigma(i).exercised }
        };
        let (is, ix, ik) = (c(1.0) / sigma, c(1.0 / self.own.x), c(1.0) / k);
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
}

impl<L: Lanes> LatticeGreeks<L> {
    /// Premiums of 0; `exercised`: the lanes that are exercised now at every volatility.
    #[must_use]
    pub fn none(sigma: L, exercised: L::Mask) -> Self {
        let zero = L::splat(0.0);
        let jet = Derivatives::nothing([zero; 2]);
        let beside = [-2.0, 2.0].map(|n: f64| {
            let sigma = sigma * L::splat((n * APART).exp());
            Beside { sigma, value: zero, vega: zero, exercised }
        });
        Self { jet, beside, exercised }
    }
}
