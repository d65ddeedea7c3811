//! Quadrature and interpolation of the recursion: Gauss rules, collocation points and curves through them, series.
//! Never: finance.

use crate::american::settings::{COLLOCATION, LAST_ETA2, NEAREST_TO_END, REACHES, SPOT_NODES};
use crate::solve::{crowded, lobatto, lobatto_row, lobatto_to_chebyshev};
use std::sync::OnceLock;

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
