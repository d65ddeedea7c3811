//! How a put's window ends with b < 0: in a tip, the last time at which holding is anywhere worth less than exercise.
//!
//! Exercise then saves a yield that X costs its holder, so that at X = 0 it stops to pay before it does further up.
//! From that time until the tip the region of exercise has a lower boundary as well, which is taken from an explicit
//! formula. The upper boundary is solved, and starts from the same formula. Times are each lane's own. Never: a
//! premium.

use super::at_date::{AtDate, ValueSlopes, Wait};
use super::between_dates::{Between, HoldingLessPayoff, Search, carried, of_points};
use super::between_grid::{BetweenGrid, Fineness, GridNode};
use super::flow::{Contracts, EdgeSeen, Flow, FlowMoments, LowerBoundary};
use super::time_between::{SeenMoment, TimeBetween};
use crate::american::recursion::earned_share;
use crate::american::settings::{BETWEEN, COLLOCATION, REACHES, SAME, START, TIP};
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::lanes::{Block, Lanes, Mask};
use crate::solve::gauss_legendre;
use std::sync::LazyLock;

/// A window as its lanes see it, one contract per lane.
pub(super) struct TippedWindow<'a> {
    pub(super) terms: &'a Terms,
    /// Years from now to its begin, to the last gain from exercise at X = 0, and to the date.
    pub(super) from: f64,
    pub(super) close: f64,
    pub(super) date: f64,
    /// What exercise right after the date pays at X = 0.
    pub(super) paid: f64,
    pub(super) at: &'a AtDate,
    pub(super) k: Block,
    pub(super) sigma: Block,
}

/// How the boundary of a window ends in a tip, by lane.
#[derive(Clone, Copy)]
pub(super) struct Tip {
    /// Years from now, and ln(X/K).
    time: Block,
    level: Block,
}

/// What holding exceeds exercise by at one time and place, and its derivative in time.
struct There {
    at: ValueSlopes,
    by_time: Block,
}

/// Which boundary of the region.
#[derive(Clone, Copy, PartialEq)]
enum RegionSide {
    /// Above it the option is held.
    Upper,
    /// Below it the option is held.
    Lower,
}

impl TippedWindow<'_> {
    /// Solves the window; `near`: that of a strike close by. `None`: a lane has no tip, or no boundary, that can be
    /// found.
    ///
    /// # Shapes    one contract per lane, of one strike
    /// # Domain    r > 0, b < 0; exercise at X = 0 gains until `close`
    /// # Accuracy  `premiums_of_puts_are_those_of_the_recursion`
    pub(super) fn solve(&self, fineness: Fineness, near: Option<&Tip>) -> Option<(Between, Flow, Tip)> {
        let c = Block::splat;
        let Terms { r, b, .. } = *self.terms;
        let contracts = Contracts::new(-1.0, [r, b], self.k, self.sigma);
        let ln_k = ln(self.k);
        let (time, x) = self.tip(&contracts, near, ln_k)?;
        // the points reach as near to the tip as the boundary turns there
        let resolved = ((self.close - self.from) / (TIP.resolved * (self.date - self.close))).ln().max(0.0).sqrt();
        let reach = REACHES.iter().position(|reach| resolved <= *reach).unwrap_or(REACHES.len() - 1);
        let grid = BetweenGrid::at_tip(reach, fineness);
        let stretch = TimeBetween::to_tip(self.terms, self.from, time, self.date, grid);
        let there = self.there(&contracts, time, x);
        // near the tip the region is a parabola
        let curve = there.by_time * 2.0 / there.at[2];
        let lower = self.lower(&contracts, &stretch, (time, x), curve);
        let points = &stretch.from_points;
        let last = points.len() - 1;
        let (mut y, mut pace) = (vec![c(0.0); last + 1], [c(1.0); BETWEEN.points]);
        for (i, seen) in points.iter().enumerate().rev() {
            let away = if i == last {
                (curve * seen.left).sqrt()
            } else {
                (y[i + 1] - x) * (seen.left / points[i + 1].left).sqrt()
            };
            let guess = (x + away).min(contracts.limit(self.k, seen));
            (y[i], pace[i]) = self.explicit(&contracts, time - seen.left, time, guess, RegionSide::Upper);
        }
        let fixed = |nodes: &[GridNode]| -> Vec<Block> { nodes.iter().map(|node| x * node.end).collect() };
        let search = Search {
            stretch: &stretch,
            grid,
            contracts,
            k: self.k,
            holdings: contracts.holdings(&stretch, Some(self.at), self.k),
            limits: of_points(points, |seen| contracts.limit(self.k, seen)),
            from: [c(0.0); BETWEEN.points],
            pace,
            most: of_points(points, |seen| self.sigma * seen.left.sqrt()),
            moments: points.iter().map(|seen| &seen.moments[..]).collect(),
            fixed: grid.points.iter().flat_map(|point| fixed(&point.nodes)).collect(),
            n: points.len() - 1,
            missed: TIP.missed,
            lower: Some(&lower),
        };
        if !search.solve(&mut y) {
            return None;
        }
        let between = search.found(&y, x, fixed(&grid.spot));
        drop(search);
        let mut moments = between.seen(&stretch);
        moments.extend(lower.from_begin);
        Some((between, Flow::new(FlowMoments::Own(moments), contracts), Tip { time, level: x - ln_k }))
    }

    /// What there is at ln X = `x` at the time `t` of each lane.
    fn there(&self, contracts: &Contracts, t: Block, x: Block) -> There {
        let Terms { t: expiry, r, b, .. } = *self.terms;
        let c = Block::splat;
        let wait = Wait::new(c(self.date) - t, expiry - self.date);
        let escrow = self.escrow(t);
        let holding = HoldingLessPayoff::new(contracts, self.k, c(expiry) - t, escrow, Some((self.at, &wait)));
        let at = holding.at(x);
        There { at, by_time: self.by_time(contracts, [at[0], at[1], at[2]], x, escrow, [r, b]) }
    }

    /// By the pricing equation.
    fn by_time(&self, contracts: &Contracts, at: [Block; 3], x: Block, escrow: Block, [r, b]: [f64; 2]) -> Block {
        let spot = exp(x);
        let half = contracts.sigma * contracts.sigma * 0.5;
        let held = [at[0] + self.k - escrow - spot, at[1] - spot, at[2] - spot];
        held[0] * r + (half - (r - b)) * held[1] - half * held[2] + escrow * (r - b)
    }

    /// The dividends to come.
    fn escrow(&self, t: Block) -> Block {
        let Terms { r, b, .. } = *self.terms;
        exp((t - self.from) * (r - b)) * self.terms.a(self.from + SAME.date)
    }

    /// Time and ln X of the tip: where what holding exceeds exercise by is 0 and least.
    ///
    /// # Accuracy  `TIP.found` of the time until the date
    fn tip(&self, contracts: &Contracts, near: Option<&Tip>, ln_k: Block) -> Option<(Block, Block)> {
        let c = Block::splat;
        let deviation = self.sigma * (self.date - self.close).sqrt();
        let (mut t, mut x) = (c(self.close), ln_k);
        if let Some(near) = near {
            // the time until the date is in proportion to what the strike earns until then
            let part = (c(self.date) - near.time) * (1.0 / (self.date - self.close));
            (t, x) = (c(self.date) - part.min(c(1.0)) * (self.date - self.close), near.level + ln_k);
        } else {
            // right before the date holding is worth least next to the boundary there
            let top = ln_k.min(self.at.boundary + deviation);
            let mut least = c(f64::INFINITY);
            for i in 1..=TIP.scan {
                let place = top - deviation * (TIP.scan_step * i as f64);
                let [value, ..] = self.there(contracts, t, place).at;
                (least, x) = (least.min(value), Block::select(value.lt(least), place, x));
            }
        }
        for _ in 0..TIP.steps {
            let There { at, by_time } = self.there(contracts, t, x);
            let down = Block::select(at[1].lt(c(0.0)), c(1.0), c(-1.0)) * deviation;
            let most = deviation * TIP.step;
            let step = Block::select(c(0.0).lt(at[2]), -at[1] / at[2], down).max(-most).min(most);
            let value = carried(&at, step)[0];
            let wait = c(self.date) - t;
            let later = (-value / by_time).max(wait * -TIP.time_step).min(wait * TIP.time_step);
            let next = (t + later).max(c(self.close));
            let settled = step.abs().lt(deviation * TIP.level_found) & (next - t).abs().lt(wait * TIP.found);
            (t, x) = (next, x + step);
            if settled.all() {
                let is_after = c(self.from.max(self.close)).lt(t) & t.lt(c(self.date));
                return is_after.all().then_some((t, x));
            }
        }
        None
    }

    /// ln of the boundary at the time `t` by value matching, the flow until the tip at `end` replaced by the share of
    /// it that a boundary with this pace earns; and its pace, λ in deviations of the time left. Starts at the ln X
    /// `guess`.
    ///
    /// # Accuracy  `TIP.near` of a deviation, of the formula itself a few times that next to the tip
    fn explicit(&self, contracts: &Contracts, t: Block, end: Block, guess: Block, side: RegionSide) -> (Block, Block) {
        let c = Block::splat;
        let Terms { r, b, .. } = *self.terms;
        let deviation = self.sigma * (c(self.date) - t).sqrt();
        let (left, sign) = (end - t, if side == RegionSide::Upper { 1.0 } else { -1.0 });
        // the root of a Taylor series
        let root = |at: &ValueSlopes, add: Block, from: Block| {
            let mut h = from;
            for _ in 0..TIP.series_steps {
                let [value, slope, _] = carried(at, h);
                let steep = (slope * sign).max(c(SAME.divisor));
                let step =
                    ((value + add) * sign / steep).max(-deviation * TIP.series_step).min(deviation * TIP.series_step);
                h -= step;
                if step.abs().lt(deviation * TIP.root).all() {
                    break;
                }
            }
            h.max(-deviation * TIP.step).min(deviation * TIP.step)
        };
        let (mut x, mut pace) = (guess, c(1.0));
        for _ in 0..TIP.places {
            let There { at, .. } = self.there(contracts, t, x);
            let still = root(&at, c(0.0), c(0.0));
            let [_, slope, bend] = carried(&at, still);
            let place = x + still;
            let escrow = self.escrow(t);
            let speed = self.by_time(contracts, [c(0.0), slope, bend], place, escrow, [r, b]) / slope;
            let xi = (self.sigma / (speed.abs() * left.sqrt()).max(c(SAME.divisor))).min(c(START.pace_most));
            let earns = (contracts.interest - (exp(place) + escrow) * b).max(c(0.0));
            let moved = root(&at, earns * left * earned_share(xi), still);
            x += moved;
            pace = xi.max(c(COLLOCATION.lambda_least)).min(c(1.0));
            if moved.abs().lt(deviation * TIP.near).all() {
                break;
            }
        }
        (x, pace)
    }

    /// The lower boundary, from the time on at which it leaves X = 0; `curve`: the square of the distance from the
    /// tip's ln X to the boundary, a year.
    ///
    /// # Shapes    one contract per lane
    /// # Accuracy  that of [`Self::explicit`]
    fn lower(
        &self,
        contracts: &Contracts,
        stretch: &TimeBetween<Block>,
        tip: (Block, Block),
        curve: Block,
    ) -> LowerBoundary {
        static RULE: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| gauss_legendre(TIP.lower_nodes));
        let c = Block::splat;
        let Terms { r, b, .. } = *self.terms;
        let (time, x) = tip;
        let length = time - self.close;
        let mut slope = -(curve * length).sqrt();
        let mut nodes: Vec<(Block, Block, Block)> = Vec::with_capacity(RULE.len());
        for (u, w) in RULE.iter() {
            let t = time - length * (u * u);
            let wait = c(self.date) - t;
            // where holding is all but certain to be exercised after the date
            let gain = self.k - self.escrow(t) - exp(wait * -r) * self.paid;
            let borrow = c(1.0) - exp(wait * -b);
            let line = ln((gain / borrow).max(c(SAME.divisor)));
            let guess = (x + slope * *u).max(line).min(x);
            let ln_b = self.explicit(contracts, t, time, guess, RegionSide::Lower).0.min(x);
            slope = (ln_b - x) / *u;
            nodes.push((t, ln_b, length * (-w * 2.0 * u)));
        }
        // a moment that has passed has no weight
        let seen = |from: Block, escrow: Block| {
            move |&(t, _, weight): &(Block, Block, Block)| {
                let wait = t - from;
                let ahead = c(SAME.instant).lt(wait);
                SeenMoment::new([r, b], wait.max(c(SAME.instant)), Block::select(ahead, weight, c(0.0)), escrow)
            }
        };
        let begin = seen(c(self.from), stretch.escrow(stretch.length));
        let from_point = |left: Block, escrow: Block| nodes.iter().map(seen(time - left, escrow)).collect();
        LowerBoundary {
            from_begin: nodes
                .iter()
                .map(|node| {
                    let moment = begin(node);
                    let edge = EdgeSeen::new(&moment, node.1);
                    (moment, edge)
                })
                .collect(),
            from_points: stretch.from_points.iter().map(|seen| from_point(seen.left, seen.escrow)).collect(),
            ln_b: nodes.iter().map(|node| node.1).collect(),
        }
    }
}
