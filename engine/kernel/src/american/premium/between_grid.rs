//! Collocation of boundaries between ex-dates: points in η, the nodes of the flow from each point, and the
//! interpolation weights of the points at each node. A grid is computed once, for a stretch of one year. Never:
//! finance.

use crate::american::settings::{BETWEEN, FALLING, LAST_ETA2, NEAREST_TO_END, REACHES, SPOT_NODES};
use crate::lanes::Lanes;
use crate::solve::{crowded, gauss_legendre, lobatto, lobatto_row, lobatto_to_chebyshev};
use std::sync::{LazyLock, OnceLock};

/// Cells of η in which a boundary may turn: quadratures are dense there. Up to the last collocation point.
pub(super) const FALLING_CELLS: usize = 54;
/// Width in η of a cell. Lanes of a block turn at places further apart.
pub(super) const FALLING_CELL: f64 = 0.05;
/// Of every so many nodes one lies behind the turn.
const BEHIND: usize = 2;
/// Distance in ξ that nodes reach behind the turn: the boundary falls by the square of it.
const FALLEN: f64 = 2.0;

/// Fineness of the solve of a window of puts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fineness {
    /// For a window that begins at a later date: its premium is smoothed until now.
    Later,
    /// For a window that begins at the date of a table, whose premium is differentiated.
    First,
    /// For windows of which only the difference between two rates is used.
    Rates,
}

impl Fineness {
    /// Collocation points of a boundary.
    pub(super) fn points(self) -> usize {
        match self {
            Self::Later => FALLING.points,
            Self::First => FALLING.points_first,
            Self::Rates => FALLING.points_rates,
        }
    }

    /// Nodes of the flow from each point, and from the begin for any spot.
    pub(super) fn nodes(self) -> (usize, usize) {
        match self {
            Self::Later => (FALLING.inner, FALLING.spot_nodes),
            Self::First => (FALLING.inner_first, FALLING.spot_nodes_first),
            Self::Rates => (FALLING.inner_rates, FALLING.spot_nodes_rates),
        }
    }
}

/// The collocation of a kind of boundary, for a stretch of one year.
pub(super) struct BetweenGrid {
    pub(super) points: Vec<GridPoint>,
    /// From ln B at the points to its Chebyshev coefficients in 1 − 2η/`BETWEEN.reach`.
    pub(super) to_chebyshev: Vec<Vec<f64>>,
    /// Nodes of the flow from the begin, for a spot at any distance from the boundary.
    pub(super) spot: Vec<GridNode>,
}

/// Number of collocation points, and η of the last one.
#[derive(Clone, Copy)]
struct PointSpacing {
    points: usize,
    reach: f64,
}

/// A collocation point, the begin of the interval first.
pub(super) struct GridPoint {
    pub(super) eta: f64,
    pub(super) nodes: Vec<GridNode>,
}

/// A moment of exercise seen from a point, for one year left at the point.
pub(super) struct GridNode {
    pub(super) wait: f64,
    pub(super) weight: f64,
    /// ln B at the moment is `row`·(ln B at the points) + `end`·(ln B at the end). For a boundary that runs away this
    /// holds for the excess over its shape, with `end` = 0.
    pub(super) row: [f64; BETWEEN.points],
    pub(super) end: f64,
}

impl BetweenGrid {
    /// The grid of boundaries that end at a date.
    pub(super) fn at_date() -> &'static Self {
        static GRID: LazyLock<BetweenGrid> = LazyLock::new(|| {
            let spread = PointSpacing { points: BETWEEN.points, reach: BETWEEN.reach };
            let rule = |n: usize, nearest: f64, until: f64, eta: f64| {
                GridNode::rule(spread, crowded(n, nearest, until), eta, true)
            };
            let point = |eta: f64| rule(BETWEEN.inner, NEAREST_TO_END, until(eta), eta);
            let spot = rule(BETWEEN.spot_nodes, BETWEEN.spot_nearest, SPOT_NODES.last, 0.0);
            BetweenGrid::new(spread, point, spot)
        });
        &GRID
    }

    /// The grid of boundaries that end in a tip, with the last point at number `reach` of [`REACHES`].
    pub(super) fn at_tip(reach: usize, fineness: Fineness) -> &'static Self {
        type Grids = [[OnceLock<BetweenGrid>; REACHES.len()]; 3];
        static GRIDS: Grids = [const { [const { OnceLock::new() }; REACHES.len()] }; 3];
        GRIDS[fineness as usize][reach].get_or_init(|| {
            let spread = PointSpacing { points: fineness.points(), reach: REACHES[reach] };
            let rule =
                |n: usize, nearest: f64, eta: f64| GridNode::rule(spread, crowded(n, nearest, until(eta)), eta, true);
            let (inner, spot) = fineness.nodes();
            let point = |eta: f64| rule(inner, NEAREST_TO_END, eta);
            Self::new(spread, point, rule(spot, BETWEEN.spot_nearest, 0.0))
        })
    }

    /// The grid of boundaries that run away and turn at η = `FALLING_CELL`·`corner`, or nowhere with `FALLING_CELLS`.
    pub(super) fn running_away(corner: usize, fineness: Fineness) -> &'static Self {
        type Grids = [[OnceLock<BetweenGrid>; FALLING_CELLS + 1]; 3];
        static GRIDS: Grids = [const { [const { OnceLock::new() }; FALLING_CELLS + 1] }; 3];
        GRIDS[fineness as usize][corner].get_or_init(|| {
            let turn = FALLING_CELL * corner as f64;
            let spread = PointSpacing { points: fineness.points(), reach: BETWEEN.reach };
            let rule = |n: usize, nearest: f64, eta: f64| {
                let nodes = if corner == FALLING_CELLS {
                    crowded(n, nearest, until(eta))
                } else if turn > eta {
                    crowded_at(n, (turn * turn - eta * eta).sqrt(), until(eta))
                } else {
                    crowded(n, nearest, FALLEN)
                };
                GridNode::rule(spread, nodes, eta, false)
            };
            let (inner, spot) = fineness.nodes();
            let point = |eta: f64| rule(inner, FALLING.nearest, eta);
            Self::new(spread, point, rule(spot, BETWEEN.spot_nearest, 0.0))
        })
    }

    /// The grid with the nodes that `nodes` gives for the η of each point.
    fn new(spread: PointSpacing, nodes: impl Fn(f64) -> Vec<GridNode>, spot: Vec<GridNode>) -> Self {
        let last = spread.points - 1;
        let eta = |z: &f64| 0.5 * spread.reach * (1.0 - z);
        let point = |z: &f64| GridPoint { eta: eta(z), nodes: nodes(eta(z)) };
        let points = lobatto(last).iter().map(point).collect();
        Self { points, to_chebyshev: lobatto_to_chebyshev(last), spot }
    }
}

impl GridNode {
    /// The moments of a rule `nodes` of (ξ, wait, weight), ξ = √(−ln(1 − wait)), seen from the point at `eta`; `ends`:
    /// the boundary approaches an end.
    fn rule(spread: PointSpacing, nodes: Vec<(f64, f64, f64)>, eta: f64, ends: bool) -> Vec<Self> {
        let node = |(xi, wait, weight): (f64, f64, f64)| {
            let (row, end) = spread.row((eta * eta + xi * xi).sqrt(), ends);
            Self { wait, weight, row, end }
        };
        nodes.into_iter().map(node).collect()
    }

    /// ln B at the moment from the unknowns `y` at the points, and the part `fixed` that does not depend on them.
    #[inline(always)]
    pub(super) fn ln_b<L: Lanes>(&self, y: &[L], fixed: L) -> L {
        self.row.iter().zip(y).fold(fixed, |sum, (w, y)| y.mul_add(L::splat(*w), sum))
    }
}

/// ξ of the last node seen from the point at `eta`.
fn until(eta: f64) -> f64 {
    SPOT_NODES.last.min((LAST_ETA2 - eta * eta).sqrt())
}

/// About `n` nodes as of [`crowded`] in two parts, dense at the begin and on both sides of `turn`.
fn crowded_at(n: usize, turn: f64, until: f64) -> Vec<(f64, f64, f64)> {
    let behind = n / BEHIND;
    let of = |(xi, weight): (f64, f64)| (xi, -(-xi * xi).exp_m1(), weight * 2.0 * xi * (-xi * xi).exp());
    let before = gauss_legendre(n - behind).into_iter().map(|(u, w)| {
        let angle = core::f64::consts::PI * u;
        (turn * 0.5 * (1.0 - angle.cos()), w * turn * 0.5 * core::f64::consts::PI * angle.sin())
    });
    let end = (turn * turn + FALLEN * FALLEN).sqrt().min(until);
    let after = gauss_legendre(behind).into_iter();
    let after = after.map(|(u, w)| (turn + (end - turn) * u * u, w * (end - turn) * 2.0 * u));
    before.chain(after.filter(|_| end > turn)).map(of).collect()
}

/// The least ln B of a boundary, from its end and its Chebyshev coefficients.
pub(super) fn lowest(boundary: &[f64]) -> f64 {
    let at = |j: usize| {
        let eta = BETWEEN.reach * j as f64 / BETWEEN.points as f64;
        weights(eta).iter().zip(boundary).map(|(weight, term)| weight * term).sum::<f64>()
    };
    (0..=BETWEEN.points).map(at).fold(boundary[0], f64::min)
}

/// Weights of ln B at the end and of its Chebyshev coefficients in ln B at `eta`.
pub(super) fn weights(eta: f64) -> [f64; BETWEEN.points + 1] {
    let left = if eta < BETWEEN.reach { 1.0 } else { (-0.5 * (eta * eta - BETWEEN.reach * BETWEEN.reach)).exp() };
    let z = (1.0 - 2.0 * eta / BETWEEN.reach).max(-1.0);
    let mut weights = [0.0; BETWEEN.points + 1];
    weights[0] = 1.0 - left;
    let (mut before, mut now) = (z, 1.0);
    for weight in &mut weights[1..] {
        *weight = left * now;
        (before, now) = (now, 2.0 * z * now - before);
    }
    weights
}

impl PointSpacing {
    /// Weights in ln B at `eta` of ln B at the points and at the end. Without an end, ln B beyond the last point is
    /// that of the last point.
    fn row(self, eta: f64, ends: bool) -> ([f64; BETWEEN.points], f64) {
        let Self { points, reach } = self;
        let mut row = [0.0; BETWEEN.points];
        if eta < reach {
            row[..points].copy_from_slice(&lobatto_row(points - 1, 1.0 - 2.0 * eta / reach));
            return (row, 0.0);
        }
        let left = if ends { (-0.5 * (eta * eta - reach * reach)).exp() } else { 1.0 };
        row[points - 1] = left;
        (row, 1.0 - left)
    }
}
