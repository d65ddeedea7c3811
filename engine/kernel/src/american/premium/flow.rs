//! What exercise along a boundary earns until it ends (Kim 1990), as a sum over moments. One strike and volatility a
//! lane. Never: a boundary's search.

use super::time_between::SeenMoment;
use crate::american::settings::BETWEEN;
use crate::elementary::exp;
use crate::lanes::{Block, Lanes, Mask};
use crate::normal::{INV_SQRT_2PI, norm_cdf_short_given};

/// What exercise over a stretch is worth, as seen from one time.
pub(super) struct Flow {
    pub(super) moments: Vec<SeenMoment>,
    pub(super) edges: Vec<EdgeSeen>,
    pub(super) contracts: Contracts,
    /// φ·ln of the X at which there is nothing to gain.
    pub(super) idle: Block,
}

/// The boundary at a moment: ln B less the drift until then, and what turns n(d) into n(d+)·X.
pub(super) struct EdgeSeen {
    pub(super) level: Block,
    pub(super) turn: Block,
}

/// The contracts of the lanes, and a year's interest on their strikes.
#[derive(Clone, Copy)]
pub(super) struct Contracts {
    pub(super) phi: f64,
    pub(super) sigma: Block,
    pub(super) inv_sigma: Block,
    pub(super) interest: Block,
    pub(super) b: f64,
}

/// A deviate, no further out than where nothing is left of the density: products with less are subnormal, and slow.
#[inline(always)]
fn within(d: Block) -> Block {
    let most = Block::splat(BETWEEN.deviate);
    d.max(-most).min(most)
}

impl Contracts {
    /// Adds the share of a moment at ln X = `x`. Returns by how much value and slope change with ln B there.
    ///
    /// # Source  Kim (1990); derivatives in closed form
    #[inline(always)]
    pub(super) fn add(
        &self,
        at: &SeenMoment,
        x: Block,
        spot: Block,
        inv_spot: Block,
        ln_b: Block,
        to: &mut [Block; 3],
    ) -> [Block; 2] {
        let c = Block::splat;
        let (g, width, cost) = (self.inv_sigma * at.inv_root, self.sigma * at.root, self.interest - at.spared);
        let d = within((x - ln_b + at.drift) * g - width * 0.5);
        let e = exp(d * d * -0.5);
        let mg = e * g * (at.cash * INV_SQRT_2PI);
        let phi = self.phi;
        let cash = cost * norm_cdf_short_given(d * phi, e) * (at.cash * phi);
        let (edge, stock) = if self.b == 0.0 {
            (c(0.0), c(0.0))
        } else {
            let edge = exp(ln_b);
            // n(d+) = n(d)·(B/X)·e^(−(r−b)·wait)
            let high = norm_cdf_short_given((d + width) * phi, e * edge * inv_spot * at.carry);
            (edge * self.b, high * spot * (at.stock * phi))
        };
        let jump = (cost - edge) * mg;
        let tilt = jump * d * g;
        to[0] += stock - cash;
        to[1] += stock - jump;
        to[2] += tilt + edge * mg + stock;
        [jump, -tilt]
    }
}

impl Flow {
    /// What it is worth at ln X = `x`, where the option is held.
    #[inline(never)]
    pub(super) fn value(&self, x: Block) -> Block {
        let mut sum = Block::splat(0.0);
        let Contracts { phi, sigma, inv_sigma, interest, .. } = self.contracts;
        if (x * phi).lt(self.idle).all() {
            return sum;
        }
        let (spot, inv_spot) = (exp(x), exp(-x));
        for (at, edge) in self.moments.iter().zip(&self.edges) {
            let width = sigma * at.root;
            let d = within((x - edge.level) * inv_sigma * at.inv_root - width * 0.5);
            let e = exp(d * d * -0.5);
            let high = norm_cdf_short_given((d + width) * phi, e * edge.turn * inv_spot);
            let cash = (interest - at.spared) * norm_cdf_short_given(d * phi, e);
            sum += high * spot * at.stock - cash * at.cash;
        }
        sum * phi
    }
}
