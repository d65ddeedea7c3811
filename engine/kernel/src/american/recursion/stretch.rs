//! The exercise boundary over a stretch of time. Never: its solution.

use super::flow::FlowMoment;
use super::rules::{POINTS, open_tail, to_chebyshev};
use crate::american::settings::{COLLOCATION, REACHES, SAME};
use crate::solve::{clenshaw, gauss};

/// η of the last of the `COLLOCATION.fixed_nodes`. e^(−4.4²) is 4e-9.
const FIXED_ETA: f64 = 4.4;

/// A boundary over a stretch of time: t = to − (to − from)·e^(−η²). In η its logarithm is smooth at both ends, at
/// expiry where it behaves like √(τ ln 1/τ), and where a window of exercise closes before an ex-date.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    pub(super) from: f64,
    pub(super) to: f64,
    /// η of the last collocation point, as an index in [`REACHES`].
    pub(super) reach: usize,
    /// ln B at the collocation points.
    pub(super) ln_b: [f64; POINTS],
    /// ln B at the end; for a boundary that runs away, ln B at the last point and one and two steps of η later.
    pub(super) tail: [f64; 3],
    /// √(time in which the boundary moves by the deviation of ln X / time left) at the points; `None`: the boundary
    /// approaches an end.
    pub(super) pace: Option<[f64; POINTS]>,
}

impl Stretch {
    pub(super) fn time(&self, eta: f64) -> f64 {
        self.to - (self.to - self.from) * (-eta * eta).exp()
    }

    /// The boundary as a function of η.
    pub(super) fn curve(&self) -> Curve<'_> {
        Curve { stretch: self, terms: to_chebyshev(&self.ln_b) }
    }

    /// Moments of exercise until `until`, for values before the stretch. `cost`: yearly cost of exercise at a time;
    /// `b`: yearly gain per unit of X.
    pub(super) fn nodes(&self, until: f64, cost: impl Fn(f64) -> f64, b: f64) -> Vec<FlowMoment> {
        let left = ((self.to - self.from) / (self.to - until).max(SAME.divisor)).ln().sqrt();
        self.moments(COLLOCATION.fixed_nodes, left.min(FIXED_ETA), 1.0, cost, b)
    }

    /// `n` moments of exercise up to η = `last`; `side`: 1, or −1 for a region's second boundary. `cost` and `b` as of
    /// [`Self::nodes`].
    pub(super) fn moments(&self, n: usize, last: f64, side: f64, cost: impl Fn(f64) -> f64, b: f64) -> Vec<FlowMoment> {
        let length = self.to - self.from;
        let mut nodes = Vec::new();
        let curve = self.curve();
        for (u, w) in gauss(n) {
            let eta = last * u;
            let time = self.time(eta);
            let weight = side * w * last * length * 2.0 * eta * (-eta * eta).exp();
            nodes.push(FlowMoment { time, ln_b: curve.at(eta), cost: cost(time), pay: b, weight });
        }
        nodes
    }
}

/// A boundary as a function of η.
pub(super) struct Curve<'a> {
    stretch: &'a Stretch,
    terms: [f64; POINTS],
}

impl Curve<'_> {
    /// ln B at `eta`.
    pub(super) fn at(&self, eta: f64) -> f64 {
        let (stretch, reach) = (self.stretch, REACHES[self.stretch.reach]);
        if eta < reach {
            let [ln_b] = clenshaw(self.terms.iter().copied(), &[1.0 - 2.0 * eta / reach]);
            return ln_b;
        }
        if stretch.pace.is_some() {
            return open_tail(eta, reach).iter().zip(&stretch.tail).map(|(w, y)| w * y).sum();
        }
        let left = (-0.5 * (eta * eta - reach * reach)).exp();
        stretch.tail[0] + (stretch.ln_b[POINTS - 1] - stretch.tail[0]) * left
    }
}
