//! Time between two ex-dates, or between the last one and expiry, in which exercise pays, and the collocation of
//! boundaries in it: points in η, the nodes of the flow from each point, and the interpolation weights of the points at
//! each node. A grid is computed once, for a stretch of one year. Never: a boundary.

use crate::american::at_date::Wait;
use crate::american::moment::Moment;
use crate::american::settings::{BETWEEN, FALLING, LAST_ETA2, NEAREST_TO_END, REFERENCE, SAME, SPOT_NODES};
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::lanes::{InLanes, Lanes};
use crate::solve::{crowded, gauss_legendre, lobatto, lobatto_row, lobatto_to_chebyshev};
use std::f64::consts::PI;
use std::sync::OnceLock;

/// The end of a window of puts that closes before a date, where the boundary runs away to 0. `T`: of one strike, or per
/// lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosingWindow<T = f64> {
    /// Years from now to the date.
    pub(super) date: f64,
    pub(super) strike: T,
    /// Payoff at X = 0 of exercise right after the date.
    pub(super) paid: T,
}

/// A stretch of time without ex-dates. `T`: times shared by all lanes, or per lane.
pub(super) struct TimeBetween<T = f64> {
    /// +1 call, −1 put.
    pub(super) phi: f64,
    pub(super) rates: [f64; 2],
    pub(super) fineness: Fineness,
    /// Length in years.
    pub(super) length: T,
    /// The window that closes at the end of the stretch; `None`: the boundary approaches an end.
    pub(super) window: Option<ClosingWindow<T>>,
    /// Years from the end of the stretch to the next date, and from that to expiry; `None`: expiry is next.
    after: T,
    later: Option<f64>,
    /// Dividends to come right before the end of the stretch.
    pub(super) escrow: T,
    /// Years from the end of the stretch to expiry.
    pub(super) tau: T,
    pub(super) from_points: Vec<FromPoint<T>>,
}

/// The stretch from a collocation point on.
pub(super) struct FromPoint<T = f64> {
    /// Years to the end of the stretch.
    pub(super) left: T,
    /// Dividends to come.
    pub(super) escrow: T,
    /// The wait until the next date; `None`: expiry is next.
    pub(super) wait: Option<Wait<T>>,
    pub(super) moments: Vec<Moment<T>>,
}

/// Dividends to come at `wait` years after `from`, if no ex-date lies between.
pub(super) fn to_come<T: Lanes>(terms: &Terms, from: f64, wait: T) -> T {
    // the dividend of the date `from` counts as paid, although rounding may put it a moment later
    exp(wait * (terms.r - terms.b)) * terms.a(from + SAME.date)
}

impl<T: Lanes> FromPoint<T> {
    /// √(years until the next date, or expiry).
    pub(super) fn until_date<L: Lanes>(&self) -> L
    where
        T: InLanes<L>,
    {
        self.wait.as_ref().map_or(self.left.sqrt(), Wait::root).in_lanes()
    }
}

impl TimeBetween {
    /// The stretch until a date or expiry.
    ///
    /// # Domain  no ex-date within it at which anything is exercised
    pub(super) fn to_date(phi: f64, terms: &Terms, from: f64, to: f64, fineness: Fineness) -> Self {
        let grid = BetweenGrid::at_date(fineness);
        Self::new(phi, terms, [from, to], [from, to], None, fineness, grid)
    }
}

impl<L: Lanes> TimeBetween<L> {
    /// The window of puts with b < 0 until its `tip`, before the second of the dates `between`. Years from now.
    pub(super) fn to_tip(terms: &Terms, between: [f64; 2], tip: L, fineness: Fineness) -> Self {
        let begin = L::splat(between[0]);
        Self::new(-1.0, terms, between, [begin, tip], None, fineness, BetweenGrid::at_tip(fineness))
    }

    /// The window of puts until its `corner`, at reference quality; as [`Self::to_tip`].
    pub(super) fn to_corner(terms: &Terms, between: [f64; 2], corner: L) -> Self {
        let (begin, fineness) = (L::splat(between[0]), Fineness::Reference);
        Self::new(-1.0, terms, between, [begin, corner], None, fineness, BetweenGrid::at_date(fineness))
    }
}

impl<T: Lanes> TimeBetween<T> {
    /// The window of puts after the date `from`, from the first of `ends` until it closes at the second.
    pub(super) fn to_close(
        terms: &Terms,
        from: f64,
        ends: [T; 2],
        window: ClosingWindow<T>,
        fineness: Fineness,
    ) -> Self {
        let grid = BetweenGrid::running_away(FALLING_CELLS, fineness);
        Self::new(-1.0, terms, [from, window.date], ends, Some(window), fineness, grid)
    }

    /// The line of exercise against waiting in the last `life` years of a window; `None`: no window closes.
    pub(super) fn lines(&self, life: T) -> Option<Lines<T>> {
        let ([r, b], wait, end) = (self.rates, self.after + life, self.window?);
        let share = exp(wait * -b);
        Some(Lines { strike: end.strike, escrow: self.escrow(life), paid: end.paid * exp(wait * -r), share, wait, b })
    }

    /// The stretch between two `ends`, which lie in the time `between` two dates. Years from now.
    ///
    /// # Domain  no ex-date between the two at which anything is exercised
    fn new(
        phi: f64,
        terms: &Terms,
        between: [f64; 2],
        ends: [T; 2],
        window: Option<ClosingWindow<T>>,
        fineness: Fineness,
        grid: &BetweenGrid,
    ) -> Self {
        let Terms { t, r, b, .. } = *terms;
        let ([from, date], [begin, to]) = (between, ends);
        let c = T::splat;
        let (length, after) = (to - begin, c(date) - to);
        let stretch = Self {
            phi,
            rates: [r, b],
            fineness,
            length,
            window,
            after,
            later: (date < t).then_some(t - date),
            escrow: to_come(terms, from, to - from),
            tau: c(t) - to,
            from_points: Vec::new(),
        };
        let seen = |point: &GridPoint| {
            let mut seen = stretch.seen(length * (-point.eta * point.eta).exp());
            if window.is_none() {
                seen.moments = stretch.moments(&point.nodes, seen.left).collect();
            }
            seen
        };
        Self { from_points: grid.points.iter().map(seen).collect(), ..stretch }
    }

    /// The time `left` years before the end, without moments of exercise.
    pub(super) fn seen(&self, left: T) -> FromPoint<T> {
        let wait = self.later.map(|later| Wait::new(self.after + left, later).finer(self.fineness.is_reference()));
        FromPoint { left, escrow: self.escrow(left), wait, moments: Vec::new() }
    }

    /// The dividends to come `left` years before the end.
    pub(super) fn escrow(&self, left: T) -> T {
        let [r, b] = self.rates;
        self.escrow * exp(left * (b - r))
    }

    /// Moments of exercise in the last `life` years before the end, as seen `life` years before it.
    pub(super) fn moments<'a>(&self, nodes: &'a [GridNode], life: T) -> impl Iterator<Item = Moment<T>> + use<'a, T> {
        let (rates, escrow) = (self.rates, self.escrow(life));
        nodes.iter().map(move |node| Moment::new(rates, life * node.wait, life * node.weight, escrow))
    }
}

/// Value of exercise over waiting for the date, at one time of a window and low X: the line gain − borrow·X.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<T = f64> {
    /// Gain from exercise at X = 0.
    pub(super) gain: T,
    /// Loss by exercise per unit of X.
    pub(super) borrow: T,
    /// ln of the X at which gain and loss are equal; infinite without a loss.
    pub(super) edge: T,
    /// √(years until the date).
    pub(super) root: T,
}

impl<T: Lanes> Line<T> {
    /// The line `wait` years before the date.
    fn new(gain: T, borrow: T, b: f64, wait: T) -> Self {
        let gain = gain.max(T::splat(SAME.divisor));
        let edge = if b > 0.0 { ln(gain / borrow) } else { T::splat(f64::INFINITY) };
        Self { gain, borrow, edge, root: wait.sqrt() }
    }
}

/// The lines of exercise against waiting from one time of a window on.
pub(super) struct Lines<T = f64> {
    strike: T,
    /// The dividends to come.
    escrow: T,
    /// Payoff at X = 0 of exercise right after the date, discounted.
    paid: T,
    /// Value now of a unit of X at the date.
    share: T,
    /// Years until the date.
    wait: T,
    b: f64,
}

impl<T: Lanes> Lines<T> {
    /// The line at that time.
    pub(super) fn now(&self) -> Line<T> {
        Line::new(self.strike - self.escrow - self.paid, T::splat(1.0) - self.share, self.b, self.wait)
    }

    /// The line at a later moment.
    pub(super) fn at(&self, moment: &Moment<T>) -> Line<T> {
        let gain = self.strike - self.escrow / moment.carry - self.paid / moment.discount;
        let share = self.share * moment.carry / moment.discount;
        Line::new(gain, T::splat(1.0) - share, self.b, self.wait - moment.root * moment.root)
    }
}

/// Cells of η in which a boundary may turn: quadratures are dense there. Up to the last collocation point.
pub(super) const FALLING_CELLS: usize = 54;
/// Width in η of a cell. Lanes of a block turn at places further apart.
pub(super) const FALLING_CELL: f64 = 0.05;
/// Of every so many nodes one lies behind the turn.
const BEHIND: usize = 2;
/// Distance in ξ that nodes reach behind the turn: the boundary falls by the square of it.
const FALLEN: f64 = 2.0;

/// A date that is nearer than this to that of a table, of the time from it to the next, counts as the table's: nothing
/// smooths the premium there. As later dates, hours ahead, would leave 2e-5 of a price.
const SOON: f64 = 0.1;

/// Fineness of the solve of a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fineness {
    /// For exercise from a later date on: its premium is smoothed until now.
    Later,
    /// For exercise from the date of a table on: its premium is differentiated, and boundaries of calls are tabulated.
    First,
    /// For windows of which only the difference between two rates is used.
    Rates,
    /// For reference values.
    Reference,
}

/// Nodes of the flow along a boundary that turns, where one that does not takes `n`. Without more, gammas at a borrow
/// of 0.1 % would be off by twice as much.
pub(super) const fn turning(n: usize) -> usize {
    (n * 4).div_ceil(3)
}

/// Number of finenesses.
const FINENESSES: usize = 4;

/// √(time/life) from which the nodes of reference values spread out, for any spot; 0.005 and 0.03 leave as much.
const REFERENCE_NEAREST: f64 = 0.01;

/// Most collocation points of a boundary.
pub(super) const MOST_POINTS: usize = REFERENCE.points;

/// Numbers of points and nodes of a boundary.
#[derive(Clone, Copy)]
struct Numbers {
    points: usize,
    /// Nodes of the flow from each point.
    inner: usize,
    /// Nodes of the flow from the begin, for any spot.
    spot: usize,
}

impl Fineness {
    /// The fineness of exercise between two dates, for a table of an earlier date or of one of them.
    pub(super) fn of(table: f64, [from, to]: [f64; 2]) -> Self {
        if from - table < SOON * (to - from) { Self::First } else { Self::Later }
    }

    /// Collocation points of a window of puts.
    pub(super) fn points(self) -> usize {
        self.of_window().points
    }

    pub(super) fn is_reference(self) -> bool {
        self == Self::Reference
    }

    /// Numbers of a window of puts.
    fn of_window(self) -> Numbers {
        let [points, inner, spot] = match self {
            Self::Later => [FALLING.points, FALLING.inner, FALLING.spot_nodes],
            Self::First => [FALLING.points_first, FALLING.inner_first, FALLING.spot_nodes_first],
            Self::Rates => [FALLING.points_rates, FALLING.inner_rates, FALLING.spot_nodes_rates],
            Self::Reference => return Self::of_reference(),
        };
        Numbers { points, inner, spot }
    }

    /// Numbers of a boundary that ends at a date or at expiry.
    fn to_date(self) -> Numbers {
        let [points, inner, spot] = match self {
            Self::Later => [BETWEEN.points_later, BETWEEN.inner_later, BETWEEN.spot_nodes_later],
            Self::First | Self::Rates => [BETWEEN.points, BETWEEN.inner, BETWEEN.spot_nodes],
            Self::Reference => return Self::of_reference(),
        };
        Numbers { points, inner, spot }
    }

    fn of_reference() -> Numbers {
        Numbers { points: REFERENCE.points, inner: REFERENCE.inner, spot: REFERENCE.spot_nodes }
    }

    /// η of the last collocation point.
    fn reach(self) -> f64 {
        if self.is_reference() { REFERENCE.reach } else { BETWEEN.reach }
    }

    /// η of the last collocation point of a boundary that runs away.
    fn falling_reach(self) -> f64 {
        if self.is_reference() { REFERENCE.reach_falling } else { BETWEEN.reach }
    }

    /// √(time/life) from which the nodes for any spot spread out.
    fn spot_nearest(self) -> f64 {
        if self.is_reference() { REFERENCE_NEAREST } else { BETWEEN.spot_nearest }
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

/// How a boundary goes on behind its last collocation point.
#[derive(Clone, Copy, PartialEq)]
enum Behind {
    /// It approaches its end, which is known.
    ToEnd,
    /// It moves from the last point as is known at the places of the tail.
    Tail,
}

/// Number of collocation points, η of the last one, and what is behind it.
#[derive(Clone, Copy)]
struct PointSpacing {
    points: usize,
    reach: f64,
    behind: Behind,
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
    /// ln B at the moment is `row`·(ln B at the points) + `known`·(what is known of the boundary behind them). Of a
    /// boundary that runs away this is the level.
    pub(super) row: [f64; MOST_POINTS],
    known: [f64; TAIL],
}

/// Places at which a boundary is known behind its last point, which is the first of them.
pub(super) const TAIL: usize = 4;

impl BetweenGrid {
    /// The grid of boundaries that end at a date.
    pub(super) fn at_date(fineness: Fineness) -> &'static Self {
        static GRIDS: [OnceLock<BetweenGrid>; FINENESSES] = [const { OnceLock::new() }; FINENESSES];
        GRIDS[fineness as usize].get_or_init(|| Self::to_end(fineness, fineness.to_date(), Behind::ToEnd))
    }

    /// The grid of boundaries that end in a tip.
    pub(super) fn at_tip(fineness: Fineness) -> &'static Self {
        static GRIDS: [OnceLock<BetweenGrid>; FINENESSES] = [const { OnceLock::new() }; FINENESSES];
        GRIDS[fineness as usize].get_or_init(|| Self::to_end(fineness, fineness.of_window(), Behind::Tail))
    }

    fn to_end(fineness: Fineness, numbers: Numbers, behind: Behind) -> Self {
        let Numbers { points, inner, spot } = numbers;
        let spacing = PointSpacing { points, reach: fineness.reach(), behind };
        let rule = |n: usize, nearest: f64, eta: f64| GridNode::rule(spacing, crowded(n, nearest, until(eta)), eta);
        let point = |eta: f64| rule(inner, NEAREST_TO_END, eta);
        Self::new(spacing, point, rule(spot, fineness.spot_nearest(), 0.0))
    }

    /// The grid of boundaries that run away and turn at η = `FALLING_CELL`·`corner`, or nowhere with `FALLING_CELLS`.
    pub(super) fn running_away(corner: usize, fineness: Fineness) -> &'static Self {
        type Grids = [[OnceLock<BetweenGrid>; FALLING_CELLS + 1]; FINENESSES];
        static GRIDS: Grids = [const { [const { OnceLock::new() }; FALLING_CELLS + 1] }; FINENESSES];
        GRIDS[fineness as usize][corner].get_or_init(|| {
            let turn = FALLING_CELL * corner as f64;
            let Numbers { points, inner, spot } = fineness.of_window();
            // a boundary that turns takes more nodes
            let turns = corner < FALLING_CELLS && !fineness.is_reference();
            let [inner, spot] = if turns { [inner, spot].map(turning) } else { [inner, spot] };
            let reach = fineness.falling_reach();
            let spacing = PointSpacing { points, reach, behind: Behind::Tail };
            let rule = |n: usize, nearest: f64, eta: f64| {
                let nodes = if corner == FALLING_CELLS {
                    crowded(n, nearest, until(eta))
                } else if turn > eta {
                    crowded_at(n, (turn * turn - eta * eta).sqrt(), until(eta))
                } else {
                    crowded(n, nearest, FALLEN)
                };
                GridNode::rule(spacing, nodes, eta)
            };
            let point = |eta: f64| rule(inner, FALLING.nearest, eta);
            Self::new(spacing, point, rule(spot, fineness.spot_nearest(), 0.0))
        })
    }

    /// η of the places of the tail of a boundary that ends in a tip: the last point, and behind it.
    pub(super) fn tip_tail(fineness: Fineness) -> [f64; TAIL] {
        tail_places(fineness.reach())
    }

    /// η of the places of the tail of a boundary that runs away, each with its distance from the last point, in
    /// distances of that from the point before.
    pub(super) fn falling_tail(fineness: Fineness) -> [(f64, f64); TAIL] {
        let (reach, last) = (fineness.falling_reach(), fineness.points() - 1);
        let step = 0.5 * reach * (1.0 - (PI / last as f64).cos());
        tail_places(reach).map(|eta| (eta, (eta - reach) / step))
    }

    /// The grid with the nodes that `nodes` gives for the η of each point.
    fn new(spacing: PointSpacing, nodes: impl Fn(f64) -> Vec<GridNode>, spot: Vec<GridNode>) -> Self {
        let last = spacing.points - 1;
        let eta = |z: &f64| 0.5 * spacing.reach * (1.0 - z);
        let point = |z: &f64| GridPoint { eta: eta(z), nodes: nodes(eta(z)) };
        let points = lobatto(last).iter().map(point).collect();
        Self { points, to_chebyshev: lobatto_to_chebyshev(last), spot }
    }
}

impl GridNode {
    /// The moments of a rule `nodes` of (ξ, wait, weight), ξ = √(−ln(1 − wait)), seen from the point at `eta`.
    fn rule(spacing: PointSpacing, nodes: Vec<(f64, f64, f64)>, eta: f64) -> Vec<Self> {
        let node = |(xi, wait, weight): (f64, f64, f64)| {
            let (row, known) = spacing.row((eta * eta + xi * xi).sqrt());
            Self { wait, weight, row, known }
        };
        nodes.into_iter().map(node).collect()
    }

    /// The part of ln B that does not depend on the unknowns, from what is `known` behind the last point: the end, or
    /// the move of ln B from the last point to each place of the tail.
    #[inline(always)]
    pub(super) fn known<L: Lanes>(&self, known: &[L]) -> L {
        self.known.iter().zip(known).fold(L::splat(0.0), |sum, (w, known)| known.mul_add(L::splat(*w), sum))
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
        let angle = PI * u;
        (turn * 0.5 * (1.0 - angle.cos()), w * turn * 0.5 * PI * angle.sin())
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

/// η of the places of the tail behind the last point, at η = `reach`.
fn tail_places(reach: f64) -> [f64; TAIL] {
    let places = lobatto(TAIL - 1);
    core::array::from_fn(|i| reach + (SPOT_NODES.last - reach) * 0.5 * (1.0 - places[i]))
}

impl PointSpacing {
    /// Weights in ln B at `eta` of ln B at the points, and of what is known behind them.
    fn row(self, eta: f64) -> ([f64; MOST_POINTS], [f64; TAIL]) {
        let Self { points, reach, behind } = self;
        let (mut row, mut known) = ([0.0; MOST_POINTS], [0.0; TAIL]);
        if eta < reach {
            row[..points].copy_from_slice(&lobatto_row(points - 1, 1.0 - 2.0 * eta / reach));
            return (row, known);
        }
        match behind {
            Behind::ToEnd => {
                let left = (-0.5 * (eta * eta - reach * reach)).exp();
                (row[points - 1], known[0]) = (left, 1.0 - left);
            }
            Behind::Tail => {
                let part = (eta.min(SPOT_NODES.last) - reach) / (SPOT_NODES.last - reach);
                known.copy_from_slice(&lobatto_row(TAIL - 1, 1.0 - 2.0 * part));
                row[points - 1] = 1.0;
            }
        }
        (row, known)
    }
}
