//! Boundaries of puts with b > 0 in two parts, which meet at the corner: for reference values.
//!
//! Before the corner a boundary follows the value of holding, after it the line on which interest and borrow are worth
//! the same. The part after it is a window of its own, and solved first; the part before it ends where that begins.
//! Wherever the corner is put within reason, the values are the same. Never: a premium.

use super::between_dates::{ExerciseBoundary, PerPoint, Search, ends};
use super::falling::{Falling, paces};
use super::time_between::{BetweenGrid, ClosingWindow, Fineness, GridNode, MOST_POINTS, TimeBetween};
use super::tip::PutWindow;
use crate::american::moment::{Contracts, Flow, FlowTime, KnownBoundary, Moment, MomentBoundary};
use crate::elementary::exp;
use crate::lanes::Mask;

/// Both parts of a window: the boundary before the corner, the flow of the whole, and the boundary after the corner.
type Parts<L> = (ExerciseBoundary<L>, Flow<L>, Falling<L>);

/// Why a window is not solved in two parts.
pub(super) enum NoCorner {
    /// In no lane is a corner worth a part of its own.
    Absent,
    /// Some lanes have a corner and others have not, or a boundary is not found.
    Missed,
}

/// The corner is where the value of holding exceeds the payoff by this part of the gain from exercise at X = 0.
const CORNER: f64 = 0.015;
/// A part before the corner that is shorter than this part of the one after it is left to the shape of the boundary.
const EARLY_LEAST: f64 = 0.02;
/// A part after the corner that is shorter than this part of the window is left to the shape: where a corner is found
/// the shape alone leaves up to 4e-6 of the strike, and at 0.003 four times as many are off by 1e-7.
const LATE_LEAST: f64 = 5e-4;
/// Halvings in the search for the corner, which may lie anywhere near.
const HALVINGS: usize = 12;
/// Most steps to each point of the start: the next point is near.
const START_STEPS: usize = 30;
/// Longest such step (deviations until the date). The bend changes over a deviation.
const START_STEP: f64 = 0.5;
/// Part of the time after the corner by which the longest step of the boundary before it counts as later: without it
/// one in six is not found, with all of it some end at a second root.
const STEP_LATE: f64 = 0.1;
/// A shorter such step ends the search (deviations until the date). Newton's method on the boundary follows.
const START_FOUND: f64 = 0.02;

impl<L: FlowTime<L>> PutWindow<'_, L> {
    /// Solves the window in two parts.
    ///
    /// # Shapes    one contract per lane
    /// # Domain    b > 0, reference quality
    /// # Accuracy  3e-9 of the strike between a corner at 0.005 and at 0.05
    pub(super) fn with_corner(&self) -> Result<Parts<L>, NoCorner> {
        let Self { terms, date, k, sigma, paid, .. } = *self;
        let contracts = Contracts::new(-1.0, [terms.r, terms.b], k, sigma);
        let end = ClosingWindow { date, strike: k, paid };
        let late = self.after_corner(&contracts, end)?;
        self.two_parts(&contracts, end, late).ok_or(NoCorner::Missed)
    }

    /// Both parts of the window, of which the second takes the `late` last years.
    fn two_parts(&self, contracts: &Contracts<L>, end: ClosingWindow<L>, late: L) -> Option<Parts<L>> {
        let Self { terms, from, close, date, at, k, sigma, .. } = *self;
        let corner = close - late;
        let line_time = TimeBetween::to_close(terms, from, [corner, close], end, Fineness::Reference);
        let (line, falling) = Falling::solve(&line_time, at, None, k, sigma)?;

        let stretch = TimeBetween::to_corner(terms, [from, date], corner);
        let (grid, points) = (BetweenGrid::at_date(Fineness::Reference), &stretch.from_points);
        let seen = |left: L, escrow: L| -> Vec<Moment<L>> {
            let of = |(node, _): (&GridNode, L)| {
                Moment::new(contracts.rates, left + late * node.wait, late * node.weight, escrow)
            };
            line.nodes().map(of).collect()
        };
        let from_begin = seen(stretch.length, stretch.escrow(stretch.length));
        let later = KnownBoundary {
            from_begin: from_begin
                .into_iter()
                .zip(line.nodes())
                .map(|(moment, (_, ln_b))| MomentBoundary::with(moment, ln_b))
                .collect(),
            from_points: points.iter().map(|point| seen(point.left, point.escrow)).collect(),
            ln_b: line.nodes().map(|(_, ln_b)| ln_b).collect(),
        };
        let joint = line.begin();
        let mut search = Search { known: Some(&later), ..Search::to_end(&stretch, grid, *contracts, at, [k, joint]) };
        let mut start = Self::start(&search, joint, late);
        let y = &mut start[..points.len()];
        let left: Vec<L> = points.iter().map(|point| point.left).collect();
        search.pace = paces(&left, y, contracts.inv_sigma);
        // next to the corner the start is not as near as the deviation is short
        left.iter().zip(&mut search.most).for_each(|(left, most)| *most = sigma * (late * STEP_LATE + *left).sqrt());
        if !search.solve::<()>(y, None) {
            return None;
        }
        let between = search.found(y, joint, ends(&grid.spot, joint));
        drop(search);
        let mut moments = between.seen(&stretch);
        moments.extend(later.from_begin);
        Some((between, Flow::new(L::moments(moments), *contracts), falling))
    }

    /// Years from the corner until the window closes, or what there is without one.
    fn after_corner(&self, contracts: &Contracts<L>, end: ClosingWindow<L>) -> Result<L, NoCorner> {
        let (c, window) = (L::splat, self.close - self.from);
        let whole = TimeBetween::to_close(self.terms, self.from, [c(self.from), self.close], end, Fineness::Reference);
        let after = |m: L| window * exp(-m);
        // true where the corner is more than that part of the window, e^(−m), before its end
        let is_before = |m: L| {
            let lines = whole.lines(after(m)).ok_or(NoCorner::Absent)?;
            let line = lines.now();
            Ok((line.gain * CORNER).lt(self.excess(contracts, self.close - after(m), line.edge).at[0]))
        };
        let (mut longest, mut shortest) = (c(EARLY_LEAST.ln_1p()), c(-LATE_LEAST.ln()));
        let (begins, ends) = (is_before(longest)?, is_before(shortest)?);
        if !begins.any() || ends.all() {
            return Err(NoCorner::Absent);
        }
        if !begins.all() || ends.any() {
            return Err(NoCorner::Missed);
        }
        for _ in 0..HALVINGS {
            let middle = (longest + shortest) * 0.5;
            let before = is_before(middle)?;
            (longest, shortest) = (L::select(before, middle, longest), L::select(before, shortest, middle));
        }
        Ok(after((longest + shortest) * 0.5))
    }

    /// ln B at the points if nothing but holding were worth anything, moved to end at the `joint`.
    fn start(search: &Search<'_, L, L>, joint: L, late: L) -> PerPoint<L> {
        let (c, points) = (L::splat, &search.stretch.from_points);
        let mut y = [joint; MOST_POINTS];
        let mut x = joint;
        for (i, point) in points.iter().enumerate().rev() {
            let deviation = search.contracts.sigma * point.until_date();
            let most = deviation * START_STEP;
            for _ in 0..START_STEPS {
                let [value, slope, ..] = search.holdings[i].at(x);
                let step = L::select(c(0.0).lt(slope), value / slope, -most).max(-most).min(most);
                x = (x - step).min(search.limits[i]);
                if step.abs().lt(deviation * START_FOUND).all() {
                    break;
                }
            }
            y[i] = x;
        }
        let by = joint - y[points.len() - 1];
        for ((y, point), limit) in y.iter_mut().zip(points).zip(&search.limits) {
            *y = (*y + by * late / (late + point.left)).min(*limit);
        }
        y
    }
}
