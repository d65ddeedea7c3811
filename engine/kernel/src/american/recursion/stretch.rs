//! The exercise boundary over a stretch of time: its collocation points, the curve through them, and the quadrature of
//! the flow along it. Never: its solution.

use super::flow::FlowMoment;
use crate::american::settings::{COLLOCATION, LAST_ETA2, NEAREST_TO_END, REACHES, SAME, SPOT_NODES};
use crate::solve::{clenshaw, crowded, gauss, lobatto, lobatto_row, lobatto_to_chebyshev};
use std::sync::OnceLock;

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

/// Distance in η between the samples of a boundary beyond its last point.
pub(super) const TAIL_STEP: f64 = 0.4;
/// Steps of `TAIL_STEP` after which the quadratic through the samples becomes a line (steps).
const TAIL_BENDS: f64 = 3.0;
/// ξ from which nodes spread out, where the boundary runs away slowest. It halves from one class of pace to the next.
const NEAREST_OPEN: f64 = 1.2;
/// Classes of pace.
const PACES: usize = 8;
/// Lower bound of a pace. Below the last class, so that its logarithm is finite.
const PACE_LEAST: f64 = 1e-9;
/// A reach that falls short of its class by less belongs to the class. Rounding of η.
const SAME_REACH: f64 = 1e-9;

/// Collocation points of a boundary.
pub(super) const POINTS: usize = COLLOCATION.points;
/// Nodes of the flow from a collocation point on.
pub(super) const INNER: usize = COLLOCATION.inner;
/// η of the last point of a boundary with an end, as an index in [`REACHES`].
pub(super) const REACH: usize = REACHES.len() - 1;

/// The collocation points on [0, 1], ascending.
pub(super) fn points() -> &'static [f64; POINTS] {
    static ALL: OnceLock<[f64; POINTS]> = OnceLock::new();
    ALL.get_or_init(|| per_point(lobatto(POINTS - 1).iter().map(|z| 0.5 * (1.0 - z))))
}

/// Numbers of the collocation points as an array.
fn per_point(numbers: impl Iterator<Item = f64>) -> [f64; POINTS] {
    let mut all = [0.0; POINTS];
    all.iter_mut().zip(numbers).for_each(|(to, number)| *to = number);
    all
}

/// Index of the greatest of [`REACHES`] that is not above `reach`.
pub(super) fn reach_class(reach: f64) -> usize {
    REACHES.iter().rposition(|r| *r <= reach + SAME_REACH).unwrap_or(0)
}

/// Weights at `eta`, beyond `reach`, of the three samples of a boundary that runs away.
pub(super) fn open_tail(eta: f64, reach: f64) -> [f64; 3] {
    let u = (eta - reach) / TAIL_STEP;
    let bend = 0.5 * u.min(TAIL_BENDS) * (u - 1.0);
    [1.0 - u + bend, u - 2.0 * bend, bend]
}

/// Nodes of the flow from a collocation point, for one year left and any boundary.
pub(super) struct Geometry {
    /// Years from the point, and length of time, of each node.
    pub(super) wait: [f64; INNER],
    pub(super) weight: [f64; INNER],
    /// ln B at the nodes is `rows`·(ln B at the points) + `tail`·(samples of the end).
    pub(super) rows: [[f64; POINTS]; INNER],
    pub(super) tail: [[f64; 3]; INNER],
}

impl Geometry {
    /// The nodes of point `k`; `pace`: the pace at which the boundary runs away there, `None` for a boundary with an
    /// end.
    pub(super) fn of(reach: usize, k: usize, pace: Option<f64>) -> &'static Self {
        type Cells = [[[OnceLock<Box<Geometry>>; PACES + 1]; POINTS]; REACHES.len()];
        static ALL: Cells = [const { [const { [const { OnceLock::new() }; PACES + 1] }; POINTS] }; REACHES.len()];
        let class =
            pace.map_or(0, |pace| 1 + (-pace.clamp(PACE_LEAST, 1.0).log2()).ceil().min((PACES - 1) as f64) as usize);
        ALL[reach][k][class].get_or_init(|| Box::new(Self::new(REACHES[reach], k, class)))
    }

    fn new(reach: f64, k: usize, class: usize) -> Self {
        let eta = points()[k] * reach;
        let nearest = if class == 0 { NEAREST_TO_END } else { NEAREST_OPEN * 0.5f64.powi(class as i32 - 1) };
        let hi = SPOT_NODES.last.min((LAST_ETA2 - eta * eta).sqrt());
        let mut out =
            Self { wait: [0.0; INNER], weight: [0.0; INNER], rows: [[0.0; POINTS]; INNER], tail: [[0.0; 3]; INNER] };
        for (j, (xi, wait, weight)) in crowded(INNER, nearest, hi).into_iter().enumerate() {
            let there = (eta * eta + xi * xi).sqrt();
            (out.wait[j], out.weight[j]) = (wait, weight);
            if there < reach {
                out.rows[j] = per_point(lobatto_row(POINTS - 1, 1.0 - 2.0 * there / reach).into_iter());
            } else if class == 0 {
                let left = (-0.5 * (there * there - reach * reach)).exp();
                out.rows[j][POINTS - 1] = left;
                out.tail[j][0] = 1.0 - left;
            } else {
                out.tail[j] = open_tail(there, reach);
            }
        }
        out
    }
}

/// The class of a spot at `distance` deviations from the boundary; `ahead`: the wait until the boundary begins, as a
/// part of the time left from then on.
pub(super) fn spot_class(distance: f64, ahead: f64) -> usize {
    let nearest = ahead.sqrt().max(SPOT_NODES.nearest * distance.min(1.0));
    (-(nearest / SPOT_NODES.nearest).log2()).ceil().clamp(0.0, (COLLOCATION.distances - 1) as f64) as usize
}

/// Nodes of the flow from a spot of a class, for one year left: √(−ln(1 − wait)), years from the spot, length of time.
pub(super) fn spot_rule(class: usize) -> &'static [(f64, f64, f64)] {
    static ALL: [OnceLock<Vec<(f64, f64, f64)>>; COLLOCATION.distances] =
        [const { OnceLock::new() }; COLLOCATION.distances];
    ALL[class].get_or_init(|| crowded(INNER, SPOT_NODES.nearest * 0.5f64.powi(class as i32), SPOT_NODES.last))
}

/// Chebyshev coefficients in 1 − 2u from values at the collocation points.
pub(super) fn to_chebyshev(values: &[f64; POINTS]) -> [f64; POINTS] {
    static MATRIX: OnceLock<Vec<Vec<f64>>> = OnceLock::new();
    let matrix = MATRIX.get_or_init(|| lobatto_to_chebyshev(POINTS - 1));
    per_point(matrix.iter().map(|row| row.iter().zip(values).map(|(m, v)| m * v).sum()))
}
