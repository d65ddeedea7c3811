//! Rows of the compact scheme: three coefficients each, all rows alike, swept from the far edge towards exercise.
//! Never: a boundary, a date.

use super::schedule::Problem;
use crate::dividends::Terms;
use crate::lanes::Lanes;

/// Coefficients of one row: towards the exercise edge, at the node, towards the far edge.
#[derive(Clone, Copy)]
pub(super) struct Stencil<L>(pub(super) [L; 3]);

impl<L: Lanes> Stencil<L> {
    /// self + other·f.
    pub(super) fn plus(&self, other: &Self, f: f64) -> Self {
        Stencil(core::array::from_fn(|i| other.0[i].mul_add(L::splat(f), self.0[i])))
    }

    /// self·f.
    pub(super) fn times(&self, f: L) -> Self {
        Stencil(self.0.map(|c| c * f))
    }

    #[inline(always)]
    pub(super) fn apply(&self, near: L, here: L, away: L) -> L {
        self.0[0].mul_add(near, self.0[1].mul_add(here, self.0[2] * away))
    }
}

/// The rows of one step.
pub(super) struct Rows<'a, L> {
    pub(super) explicit: Stencil<L>,
    /// The coefficient towards the far edge.
    pub(super) away: L,
    /// 1 over the pivots from the far edge on, and where they have settled.
    pub(super) inverse: &'a [L],
    pub(super) settled: L,
}

impl<L: Lanes> Rows<'_, L> {
    /// Eliminates the rows between the ends of `values` from the far end on, and gives the last one eliminated.
    #[inline(never)]
    pub(super) fn sweep(&self, values: &[L], right: &mut [L]) -> L {
        let last = values.len() - 1;
        let mut eliminated = values[last];
        let mut rows = right[1..last].iter_mut().rev().zip(values.windows(3).rev());
        for (inverse, (right, v)) in self.inverse.iter().zip(&mut rows) {
            eliminated = self.away.neg_mul_add(eliminated, self.explicit.apply(v[0], v[1], v[2])) * *inverse;
            *right = eliminated;
        }
        let (explicit, factor) = (self.explicit.times(self.settled), self.away * self.settled);
        for (right, v) in rows {
            eliminated = factor.neg_mul_add(eliminated, explicit.apply(v[0], v[1], v[2]));
            *right = eliminated;
        }
        eliminated
    }
}

/// M and L − rM of the compact scheme, from the exercise edge outwards.
pub(super) fn stencils<L: Lanes>(problem: &Problem, sigma: L, step: L) -> (Stencil<L>, Stencil<L>) {
    let c = |v: f64| L::splat(v);
    let Terms { r, b, .. } = problem.terms;
    let half_variance = sigma * sigma * 0.5;
    let h = step.abs();
    let outward = L::select(step.lt(c(0.0)), c(-1.0), c(1.0));
    let drift = (c(r - b) - half_variance) * outward;
    let diffusion = half_variance / (h * h) + drift * drift / (half_variance * 12.0);
    let advection = drift * 0.5 / h;
    let skew = drift * h / (half_variance * 24.0);
    let mass = Stencil([c(1.0 / 12.0) - skew, c(10.0 / 12.0), c(1.0 / 12.0) + skew]);
    let pure = Stencil([diffusion - advection, diffusion * -2.0, diffusion + advection]);
    let flow = pure.plus(&mass, -r);
    (mass, flow)
}
