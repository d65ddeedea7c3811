//! Boundaries of puts whose window closes before an ex-date: they fall to 0 there.
//!
//! In the last days of a window, waiting most likely earns the dividend, and exercise the interest until the date. With
//! b = 0 the boundary is where the chance of ending above the later boundary is worth as much as that interest: a level
//! that falls in proportion to η. With b > 0 the boundary also lies below the line in X on which the interest is worth
//! the borrow that waiting saves, and turns from the level to the line within a few hundredths of ln X. No polynomial
//! follows that turn, but the turn can be computed: a polynomial in η describes the boundary less this shape. With b a
//! little below 0 the level alone is the shape. Never: a premium.

use super::between_dates::{
    ExerciseBoundary, HeldAt, HoldingLessPayoff, Nearby, PerPoint, Search, not_held, per_point,
};
use super::time_between::{
    BetweenGrid, FALLING_CELL, FALLING_CELLS, Fineness, GridNode, Line, MOST_POINTS, TAIL, TimeBetween,
};
use crate::american::at_date::{DatePremium, ValueSlopes};
use crate::american::moment::{Contracts, Moment};
use crate::american::settings::{LAMBDA_LEAST, SAME};
use crate::elementary::{exp, ln};
use crate::lanes::{InLanes, Lanes, Mask};

/// Most steps of Newton's method to each point of the level. The next point is near; the first one may lie a few
/// deviations off.
const FALLING_STEPS: usize = 24;
/// Greatest distance of the first start below where exercise loses: the search climbs by one deviation a step
/// (deviations until the date).
const CLIMB: f64 = 5.0;
/// Longest step towards exercise (ln X). Where a window closes the boundary falls by several units.
const FALLING_STEP: f64 = 1.0;
/// A shorter step ends the search for a point of the level (standard deviations until the date).
const FALLING_FOUND: f64 = 0.05;
/// [`FALLING_FOUND`] of reference values.
const FALLING_FOUND_REFERENCE: f64 = 1e-7;
/// Most steps of Halley's method to the shape. Each step trebles the digits.
const SHAPE_STEPS: usize = 8;
/// A step times the slope below this ends the search for the shape. The step after it would be a twelfth of the third
/// power: 7e-7.
const SHAPED: f64 = 0.02;
/// A boundary is found if the residual of its equations is below this (part of the strike).
const MISSED: f64 = 1e-9;

/// The boundary of one window, by collocation point and lane.
#[derive(Clone, Copy)]
pub(super) struct Falling<L> {
    /// ln(X/K) at which the chance of ending above the later boundary is worth the gain from exercise at X = 0.
    level: PerPoint<L>,
    /// Distance in ln X over which the value of that chance falls to 1/e.
    scale: PerPoint<L>,
    /// Levels at the places of the tail, less that of the last point.
    tail: [L; TAIL],
    /// The boundary less the shape, in ln X.
    excess: PerPoint<L>,
    /// True if the boundary turns to the line, with b > 0; else the level alone is the shape.
    has_line: bool,
    /// η at which the shape turns, in cells of `FALLING`.
    corner: usize,
    /// Fineness of the points.
    pub(super) fineness: Fineness,
}

impl<L: InLanes<L>> Falling<L> {
    /// Solves the boundary of a put's window that closes before a date, at which the premium is `at`. `None`: the
    /// boundary of a lane is not found.
    ///
    /// # Shapes    one contract per lane
    /// # Domain    r > 0, b ≥ −`TIP.borrow_least`
    /// # Accuracy  `premiums_of_puts_are_those_of_the_reference`
    pub(super) fn solve<T: InLanes<L>>(
        stretch: &TimeBetween<T>,
        at: Option<&DatePremium<L>>,
        near: Option<Nearby<&Self>>,
        k: L,
        sigma: L,
    ) -> Option<(ExerciseBoundary<L>, Self)> {
        let contracts = Contracts::new(stretch.phi, stretch.rates, k, sigma);
        let (points, ln_k, fineness) = (&stretch.from_points, ln(k), stretch.fineness);
        let lines: Vec<Line<T>> = points.iter().filter_map(|seen| Some(stretch.lines(seen.left)?.now())).collect();
        let holdings = contracts.holdings(stretch, at, k);
        let limits = per_point(points, |seen| contracts.limit(k, seen));
        let left: Vec<T> = points.iter().map(|seen| seen.left).collect();
        let end = at.map_or(ln_k, |at| at.boundary);
        // the later boundary may lie further down than the search can climb
        let climb = sigma * (lines[0].root.in_lanes() * CLIMB);
        let highest = end.min(limits[points.len() - 1]).max(limits[0] - climb);
        let window = WindowPoints { stretch, at, k, lines: &lines, holdings: &holdings, limits: &limits };
        let (mut falling, held) = match near {
            // levels of rates nearby are inexact here; the excess over the shape, which is solved, corrects them
            Some(Nearby::Rates(near)) => (*near, not_held()),
            Some(Nearby::Alike(near)) => Self::new(&contracts, &window, FallStart::Near(near)),
            None => Self::new(&contracts, &window, FallStart::Above(highest)),
        };
        let eta = BetweenGrid::running_away(FALLING_CELLS, fineness).points.iter().map(|point| point.eta);
        if near.and_then(Nearby::at_rates).is_none() {
            falling.corner = falling.corner(eta.zip(lines.iter().copied()), ln_k);
        }
        let grid = BetweenGrid::running_away(falling.corner, fineness);
        let from = falling.at_points(&lines, ln_k, sigma);
        let pace = paces(&left, &from, contracts.inv_sigma);
        // moments of the last `life` years, and the part of ln B there that does not depend on the unknowns
        let seen_at = |nodes: &[GridNode], life: T| -> (Vec<Moment<T>>, Vec<L>) {
            let Some(lines) = stretch.lines(life) else { return (Vec::new(), Vec::new()) };
            let of = |(moment, node): (Moment<T>, &GridNode)| {
                let fixed = falling.fixed(node, &lines.at(&moment), ln_k, sigma);
                (moment, fixed)
            };
            stretch.moments(nodes, life).zip(nodes).map(of).unzip()
        };
        let (moments, fixed): (Vec<_>, Vec<_>) =
            points.iter().zip(&grid.points).map(|(seen, point)| seen_at(&point.nodes, seen.left)).unzip();
        let (_, at_spot) = seen_at(&grid.spot, stretch.length);
        let search = Search {
            stretch,
            grid,
            contracts,
            k,
            holdings,
            held,
            limits,
            from,
            pace,
            most: per_point(&lines, |line| sigma * line.root.in_lanes()),
            moments: moments.iter().map(Vec::as_slice).collect(),
            fixed,
            // next to its end a boundary that turns is the line
            n: points.len() - usize::from(falling.has_line),
            missed: if fineness.is_reference() { 0.0 } else { MISSED },
            known: None,
            is_settled: k.lt(L::splat(0.0)),
        };
        if !search.solve(&mut falling.excess[..left.len()], near) {
            return None;
        }
        Some((search.found(&falling.excess, end, at_spot), falling))
    }
}

/// A window, and at each collocation point the line of exercise against waiting, the value of holding, and the ln X
/// beyond which exercise loses.
struct WindowPoints<'a, L: Lanes, T> {
    stretch: &'a TimeBetween<T>,
    at: Option<&'a DatePremium<L>>,
    k: L,
    lines: &'a [Line<T>],
    holdings: &'a [HoldingLessPayoff<'a, L, T>],
    limits: &'a [L],
}

/// A level, with the distance over which the chance falls to 1/e, and the last value of holding on the way there.
struct Level<L> {
    x: L,
    scale: L,
    held: (L, ValueSlopes<L>),
}

impl<L: InLanes<L>, T: InLanes<L>> WindowPoints<'_, L, T> {
    /// The level at a time with this `line`, searched for from ln X = `x`.
    fn level(
        &self,
        contracts: &Contracts<L>,
        line: &Line<T>,
        holding: &HoldingLessPayoff<'_, L, T>,
        limit: L,
        x: L,
    ) -> Level<L> {
        let c = L::splat;
        let deviation = contracts.sigma * line.root.in_lanes();
        let found = if self.stretch.fineness.is_reference() { FALLING_FOUND_REFERENCE } else { FALLING_FOUND };
        // with b > 0 the line is a part of the shape; with b < 0 it keeps the level from falling further
        let borrow = if contracts.rates[1] > 0.0 { line.borrow.in_lanes() } else { c(0.0) };
        let mut level = Level { x: x.min(limit), scale: deviation, held: (x, [c(0.0); 4]) };
        for _ in 0..FALLING_STEPS {
            let x = level.x;
            level.held = (x, holding.at(x));
            let ([value, by_x, ..], lost) = (level.held.1, exp(x) * borrow);
            let slope = (by_x - lost).max(c(SAME.divisor));
            let step = ((value - lost) / slope).max(-deviation).min(c(FALLING_STEP));
            (level.x, level.scale) = ((x - step).min(limit), (line.gain.in_lanes() / slope).min(deviation));
            if step.abs().lt(deviation * found).all() {
                break;
            }
        }
        level
    }

    /// The levels behind the last two points, whose levels are `last`; the first of them is that of the last point.
    fn tail(&self, contracts: &Contracts<L>, last: [L; 2]) -> [L; TAIL] {
        let (stretch, places) = (self.stretch, BetweenGrid::falling_tail(self.stretch.fineness));
        // the level falls in proportion to η; with b < 0 until the line keeps it
        let mut tail = places.map(|(_, steps)| last[1] + (last[1] - last[0]) * steps);
        if stretch.fineness.is_reference() && contracts.rates[1] < 0.0 {
            for i in 1..TAIL {
                let seen = stretch.seen(stretch.length * (-places[i].0 * places[i].0).exp());
                let Some(lines) = stretch.lines(seen.left) else { continue };
                let holding = contracts.holding(stretch, &seen, self.at, self.k);
                let limit = contracts.limit(self.k, &seen);
                tail[i] = self.level(contracts, &lines.now(), &holding, limit, tail[i].max(tail[i - 1] - 1.0)).x;
            }
        }
        tail
    }
}

/// λ of the equations in deviations of the time `left` at each point, where the boundary moves as `shape` does.
pub(super) fn paces<L: Lanes, T: InLanes<L>>(left: &[T], shape: &[L], inv_sigma: L) -> PerPoint<L> {
    let c = L::splat;
    let mut pace = [c(1.0); MOST_POINTS];
    for i in 0..left.len() {
        let (from, to) = if i + 1 < left.len() { (i, i + 1) } else { (i - 1, i) };
        let speed = (shape[to] - shape[from]).abs() / (left[from] - left[to]).in_lanes();
        let moved = speed * left[i].sqrt().in_lanes() * inv_sigma;
        pace[i] = (c(1.0) / moved.max(c(SAME.divisor))).max(c(LAMBDA_LEAST)).min(c(1.0));
    }
    pace
}

/// Start of the search for the levels.
enum FallStart<'a, L> {
    /// This ln X for the first point, and for others the line through the levels of the two before.
    Above(L),
    /// The levels of a similar window, moved as the point before has shown.
    Near(&'a Falling<L>),
}

impl<L: InLanes<L>> Falling<L> {
    /// Levels and scales of a boundary, before its excess is solved, and the value of holding near the levels.
    ///
    /// # Shapes    one contract per lane
    /// # Accuracy  levels to `FALLING_FOUND` of a deviation: the excess takes up what they are off by
    fn new<T: InLanes<L>>(
        contracts: &Contracts<L>,
        window: &WindowPoints<L, T>,
        start: FallStart<L>,
    ) -> (Self, HeldAt<L>) {
        let (c, ln_k) = (L::splat, ln(window.k));
        let WindowPoints { lines, holdings, limits, .. } = *window;
        let mut x = if let FallStart::Above(x) = start { x } else { ln_k };
        let mut by = c(0.0);
        let excess = if let FallStart::Near(near) = start { near.excess } else { [c(0.0); MOST_POINTS] };
        let mut falling = Self {
            level: [c(0.0); MOST_POINTS],
            scale: [c(1.0); MOST_POINTS],
            tail: [c(0.0); TAIL],
            excess,
            has_line: contracts.rates[1] > 0.0,
            corner: FALLING_CELLS,
            fineness: window.stretch.fineness,
        };
        let mut held = not_held();
        for (i, ((line, holding), limit)) in lines.iter().zip(holdings).zip(limits).enumerate() {
            x = match start {
                FallStart::Near(near) => near.level[i] + ln_k + by,
                FallStart::Above(_) => x + by,
            };
            let level = window.level(contracts, line, holding, *limit, x);
            (x, held[i]) = (level.x, level.held);
            (falling.level[i], falling.scale[i]) = (x - ln_k, level.scale);
            by = match start {
                FallStart::Near(near) => falling.level[i] - near.level[i],
                FallStart::Above(_) if i > 0 => falling.level[i] - falling.level[i - 1],
                FallStart::Above(_) => by,
            };
        }
        let last = lines.len() - 1;
        let levels = [last - 1, last].map(|i| falling.level[i] + ln_k);
        falling.tail = window.tail(contracts, levels).map(|level| level - levels[1]);
        (falling, held)
    }

    /// The shape at the collocation points.
    fn at_points<T: InLanes<L>>(&self, lines: &[Line<T>], ln_k: L, sigma: L) -> PerPoint<L> {
        let mut shapes = [L::splat(0.0); MOST_POINTS];
        for (i, line) in lines.iter().enumerate() {
            shapes[i] = shape(self.has_line, self.level[i] + ln_k, self.scale[i], line, sigma);
        }
        shapes
    }

    /// The cell of `FALLING` in which the lanes turn from the level to the line, on average; `FALLING_CELLS` if they do
    /// not turn. `lines`: η and line of the points.
    fn corner<T: InLanes<L>>(&self, lines: impl Iterator<Item = (f64, Line<T>)>, ln_k: L) -> usize {
        if !self.has_line {
            return FALLING_CELLS;
        }
        let mut before: Option<(f64, f64)> = None;
        for ((eta, line), level) in lines.zip(&self.level) {
            // by how much the line lies above the level, on average
            let gap = line.edge.in_lanes() - ln_k - *level;
            let above = (0..L::N).map(|lane| gap.lane(lane)).sum::<f64>() / L::N as f64;
            if above <= 0.0 {
                let turn = before.map_or(0.0, |(from, gap)| from + (eta - from) * gap / (gap - above));
                return ((turn / FALLING_CELL).round() as usize).min(FALLING_CELLS - 1);
            }
            before = Some((eta, above));
        }
        FALLING_CELLS
    }

    /// ln B without the excess, at a node.
    fn fixed<T: InLanes<L>>(&self, node: &GridNode, line: &Line<T>, ln_k: L, sigma: L) -> L {
        let last = self.fineness.points() - 1;
        let level = node.ln_b(&self.level[..=last], ln_k + node.known(&self.tail));
        shape(self.has_line, level, node.ln_b(&self.scale[..=last], L::splat(0.0)), line, sigma)
    }
}

/// ln of the X at which the chance value, 1 at `level` and falling like the tail of a normal distribution below it, and
/// the borrow add up to what exercise gains.
///
/// # Accuracy  `SHAPED`
fn shape<L: Lanes, T: InLanes<L>>(has_line: bool, level: L, scale: L, line: &Line<T>, sigma: L) -> L {
    let Line { edge, root, .. } = *line;
    if !has_line {
        return level;
    }
    let c = L::splat;
    let edge = edge.in_lanes();
    let (steep, bend) = (c(1.0) / scale, c(1.0) / (sigma * sigma * (root * root).in_lanes()));
    let mut x = level.min(edge);
    for _ in 0..SHAPE_STEPS {
        let away = x - level;
        let speed = steep - away * bend;
        let (chance, lost) = (exp(away * (steep - away * bend * 0.5)), exp(x - edge));
        let (missed, slope) = (chance + lost - 1.0, chance * speed + lost);
        let bent = chance * (speed * speed - bend) + lost;
        // Halley's method, and at most twice as far as Newton's
        let square = slope * slope;
        let step = missed * slope / (square - missed * bent * 0.5).max(square * 0.5);
        x -= step;
        if (step * slope).abs().lt(c(SHAPED)).all() {
            break;
        }
    }
    x
}
