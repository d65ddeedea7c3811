//! Boundaries of puts with b < 0: their window ends in a tip, the last time at which exercise gains at any X.
//!
//! Exercise then saves a yield that X costs its holder, so that it stops to gain at X = 0 earlier than at higher X.
//! From that time until the tip the region of exercise also has a lower boundary, which is taken from an explicit
//! formula. The upper boundary is solved, and starts from the same formula. Times are each lane's own. Never: a
//! premium.

use super::between_dates::{ExerciseBoundary, HoldingLessPayoff, Nearby, PerPoint, Search};
use super::time_between::{BetweenGrid, Fineness, GridNode, MOST_POINTS, TAIL, TimeBetween, to_come};
use crate::american::at_date::{DatePremium, ValueSlopes, Wait};
use crate::american::moment::{Contracts, Flow, FlowTime, KnownBoundary, Moment, MomentBoundary};
use crate::american::settings::{LAMBDA_LEAST, SAME, TIP};
use crate::american::start::{carried, earned, explicit};
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::greeks::by_time;
use crate::lanes::{Lanes, Mask};
use crate::solve::gauss;

/// A window counts as none if exercise gains less in it, and nothing at X = 0 (part of the strike). All that is lost by
/// it.
const GAIN_LEAST: f64 = 1e-5;
/// Places below the strike at which the search for the least excess of holding over exercise looks. Five deviations
/// down; the value is smooth over half of one.
const SCAN: usize = 10;
/// Distance between the places of `SCAN` (deviations until the date). Five deviations down; the value is smooth over
/// half of one.
const SCAN_STEP: f64 = 0.5;
/// Most steps of Newton's method to the tip. Six as a rule.
const TIP_STEPS: usize = 30;
/// Longest step in ln X, and greatest distance from a guess (deviations until the date). The bend changes over a
/// deviation.
const TIP_STEP: f64 = 0.5;
/// Longest step in time (part of the time until the date). The tip may lie anywhere before the date.
const TIME_STEP: f64 = 0.5;
/// A shorter step in ln X ends the search for the tip, together with `TIP_FOUND`: the value is stationary there
/// (deviations until the date).
const LEVEL_FOUND: f64 = 1e-3;
/// A shorter step in time ends the search for the tip, together with `LEVEL_FOUND` (part of the time until the date).
const TIP_FOUND: f64 = 1e-8;
/// A boundary is found if the residual of its equations is below this (part of the strike).
const MISSED: f64 = 1e-9;

/// Inputs of a window of puts, one contract per lane.
pub(super) struct PutWindow<'a, L: Lanes> {
    pub(super) terms: &'a Terms,
    /// Years from now to its begin, to the last gain from exercise at X = 0, and to the date.
    pub(super) from: f64,
    pub(super) close: L,
    pub(super) date: f64,
    /// Payoff at X = 0 of exercise right after the date.
    pub(super) paid: L,
    /// The premium at the date; `None`: it is expiry.
    pub(super) at: Option<&'a DatePremium<L>>,
    pub(super) k: L,
    pub(super) sigma: L,
    /// Lanes in which exercise gains nowhere.
    pub(super) never_gains: L::Mask,
    pub(super) fineness: Fineness,
}

/// The tip of a window and its upper boundary, by lane.
#[derive(Clone, Copy)]
pub(super) struct Tip<L> {
    /// Years from now to the tip, and ln(X/K) of the tip.
    time: L,
    level: L,
    /// ln of the X at which the lower boundary begins.
    pub(super) lower: L,
    /// ln B of the upper boundary at the collocation points, and λ there.
    upper: PerPoint<L>,
    pace: PerPoint<L>,
}

/// Value of holding less the payoff of exercise at one time and ln X, with its derivatives in ln X and in time.
pub(super) struct Excess<L> {
    pub(super) at: ValueSlopes<L>,
    by_time: L,
}

/// One of the two boundaries of a region.
#[derive(Clone, Copy, PartialEq)]
enum RegionSide {
    /// Above it the option is held.
    Upper,
    /// Below it the option is held.
    Lower,
}

impl<L: FlowTime<L>> PutWindow<'_, L> {
    /// Solves the window; `near`: the tip of a strike or of rates close by. `None`: the tip or the boundary of a lane
    /// is not found.
    ///
    /// # Shapes    one contract per lane
    /// # Domain    r ≥ 0, b < 0; exercise at X = 0 gains until `close`, or never
    /// # Accuracy  `premiums_of_puts_are_those_of_the_reference`
    pub(super) fn solve(&self, near: Option<Nearby<&Tip<L>>>) -> Option<(ExerciseBoundary<L>, Flow<L>, Tip<L>)> {
        let (c, fineness) = (L::splat, self.fineness);
        let Terms { r, b, .. } = *self.terms;
        let contracts = Contracts::new(-1.0, [r, b], self.k, self.sigma);
        let ln_k = ln(self.k);
        let (time, x) = self.tip(&contracts, near.map(Nearby::get), ln_k)?;
        let at_rates = near.and_then(Nearby::at_rates);
        let grid = BetweenGrid::at_tip(fineness);
        let stretch = TimeBetween::to_tip(self.terms, [self.from, self.date], time, fineness);
        let excess = self.excess(&contracts, time, x);
        // near the tip the region is a parabola
        let curve = excess.by_time * 2.0 / excess.at[2];
        let (lower, begins) = self.lower(&contracts, &stretch, (time, x), curve);
        let points = &stretch.from_points;
        let last = points.len() - 1;
        let (mut y, mut pace) =
            at_rates.map_or(([c(0.0); MOST_POINTS], [c(1.0); MOST_POINTS]), |near| (near.upper, near.pace));
        if at_rates.is_none() {
            for (i, seen) in points.iter().enumerate().rev() {
                let away = if i == last {
                    (curve * seen.left).sqrt()
                } else {
                    (y[i + 1] - x) * (seen.left / points[i + 1].left).sqrt()
                };
                let guess = (x + away).min(contracts.limit(self.k, seen));
                (y[i], pace[i]) = self.explicit(&contracts, time - seen.left, time, guess, RegionSide::Upper);
                y[i] = L::select(self.never_gains, x, y[i]);
            }
        }
        let mut tail = [y[last]; TAIL];
        for (i, eta) in BetweenGrid::tip_tail(fineness).into_iter().enumerate().skip(1) {
            let t = time - stretch.length * (-eta * eta).exp();
            let ln_b = self.explicit(&contracts, t, time, tail[i - 1], RegionSide::Upper).0.max(x);
            tail[i] = L::select(self.never_gains, x, ln_b);
        }
        let moves = tail.map(|ln_b| ln_b - y[last]);
        let known = |nodes: &[GridNode]| -> Vec<L> { nodes.iter().map(|node| node.known(&moves)).collect() };
        let search = Search {
            fixed: grid.points.iter().map(|point| known(&point.nodes)).collect(),
            pace,
            n: last,
            missed: if fineness.is_reference() { 0.0 } else { MISSED },
            known: Some(&lower),
            is_settled: self.never_gains,
            ..Search::to_end(&stretch, grid, contracts, self.at, [self.k, x])
        };
        let upper = &mut y[..last + 1];
        if !search.solve(upper, near) {
            return None;
        }
        let between = search.found(upper, x, known(&grid.spot));
        drop(search);
        let mut moments = between.seen(&stretch);
        moments.extend(lower.from_begin);
        Some((
            between,
            Flow::new(L::moments(moments), contracts),
            Tip { time, level: x - ln_k, lower: begins, upper: y, pace },
        ))
    }

    /// The lanes in which exercise gains nowhere at the begin, and hence never: the gain falls until the date.
    ///
    /// # Accuracy  gains between places `SCAN_STEP` apart may be missed
    pub(super) fn lanes_without_gain(&self) -> L::Mask {
        let contracts = Contracts::new(-1.0, [self.terms.r, self.terms.b], self.k, self.sigma);
        let least = self.least(&contracts, L::splat(self.from)).0;
        (self.k * -GAIN_LEAST).le(least)
    }

    /// The least excess of holding over exercise at the time `t`, and the ln X of it, approximately.
    fn least(&self, contracts: &Contracts<L>, t: L) -> (L, L) {
        let c = L::splat;
        let (ln_k, deviation) = (ln(self.k), self.sigma * (c(self.date) - t).sqrt());
        // right before the date holding is worth least next to the boundary there
        let top = self.at.map_or(ln_k, |at| L::select(at.exercised, ln_k.min(at.boundary + deviation), ln_k));
        let (mut least, mut x) = (c(f64::INFINITY), top);
        for i in 1..=SCAN {
            let place = top - deviation * (SCAN_STEP * i as f64);
            let [value, ..] = self.excess(contracts, t, place).at;
            (least, x) = (least.min(value), L::select(value.lt(least), place, x));
        }
        (least, x)
    }

    /// The excess of holding over exercise at ln X = `x` and the time `t` of each lane.
    pub(super) fn excess(&self, contracts: &Contracts<L>, t: L, x: L) -> Excess<L> {
        let at = self.holding(contracts, t, &self.wait(t)).at(x);
        Excess { at, by_time: self.by_time(contracts, [at[0], at[1], at[2]], x, self.escrow(t)) }
    }

    /// The wait from the time `t` of each lane to the date.
    fn wait(&self, t: L) -> Wait<L> {
        Wait::new(L::splat(self.date) - t, self.terms.t - self.date).finer(self.fineness.is_reference())
    }

    /// Holding less payoff at the time `t` of each lane, `wait` before the date.
    fn holding<'b>(&'b self, contracts: &Contracts<L>, t: L, wait: &'b Wait<L>) -> HoldingLessPayoff<'b, L, L> {
        let life = L::splat(self.terms.t) - t;
        HoldingLessPayoff::new(contracts, self.k, life, self.escrow(t), self.at.map(|at| (at, wait)))
    }

    /// Time derivative of the excess at `x` from itself and its first two slopes, `at`.
    fn by_time(&self, contracts: &Contracts<L>, at: [L; 3], x: L, escrow: L) -> L {
        let spot = exp(x);
        let [r, b] = contracts.rates;
        let held = [at[0] + self.k - escrow - spot, at[1] - spot, at[2] - spot];
        by_time(r, b, contracts.sigma * contracts.sigma * 0.5, held) + escrow * (r - b)
    }

    /// The dividends to come.
    fn escrow(&self, t: L) -> L {
        to_come(self.terms, self.from, t - self.from)
    }

    /// Time and ln X of the tip, where the least excess of holding over exercise is 0.
    ///
    /// # Accuracy  `TIP_FOUND` of the time until the date
    fn tip(&self, contracts: &Contracts<L>, near: Option<&Tip<L>>, ln_k: L) -> Option<(L, L)> {
        let c = L::splat;
        let until = c(self.date) - self.close;
        let deviation = self.sigma * until.sqrt();
        let (mut t, mut x) = if let Some(near) = near {
            // the time until the date is in proportion to what the strike earns until then
            let part = (c(self.date) - near.time) / until;
            (c(self.date) - part.min(c(1.0)) * until, near.level + ln_k)
        } else {
            (self.close, self.least(contracts, self.close).1)
        };
        for _ in 0..TIP_STEPS {
            let Excess { at, by_time } = self.excess(contracts, t, x);
            let down = L::select(at[1].lt(c(0.0)), c(1.0), c(-1.0)) * deviation;
            let most = deviation * TIP_STEP;
            let step = L::select(c(0.0).lt(at[2]), -at[1] / at[2], down).max(-most).min(most);
            let value = carried(&at, step)[0];
            let wait = c(self.date) - t;
            let later = (-value / by_time).max(wait * -TIME_STEP).min(wait * TIME_STEP);
            let next = (t + later).max(self.close);
            let settled = step.abs().lt(deviation * LEVEL_FOUND) & (next - t).abs().lt(wait * TIP_FOUND);
            (t, x) = (next, x + step);
            if (settled | self.never_gains).all() {
                let is_after = self.close.max(c(self.from)).lt(t) & t.lt(c(self.date));
                // a window that never gains counts as open for a moment
                let t = L::select(self.never_gains, c(self.from + SAME.date), t);
                return (is_after | self.never_gains).all().then_some((t, x));
            }
        }
        None
    }

    /// ln B at the time `t` from an explicit formula, and the pace of the boundary (λ in deviations of the time left).
    /// Exercise ends at the tip at `end`; the search starts at ln X = `guess`.
    ///
    /// # Accuracy  as of [`explicit`]
    fn explicit(&self, contracts: &Contracts<L>, t: L, end: L, guess: L, side: RegionSide) -> (L, L) {
        let (left, sign, escrow) = (end - t, if side == RegionSide::Upper { 1.0 } else { -1.0 }, self.escrow(t));
        let flow = |x: L, at: [L; 3]| {
            let speed = self.by_time(contracts, at, x, escrow) / at[1];
            earned(self.sigma, left, speed, contracts.interest - (exp(x) + escrow) * self.terms.b)
        };
        let deviation = self.sigma * (L::splat(self.date) - t).sqrt();
        let wait = self.wait(t);
        let holding = self.holding(contracts, t, &wait);
        let (x, pace, _) = explicit(guess, sign, deviation, |x| holding.at(x), flow);
        (x, pace.max(L::splat(LAMBDA_LEAST)).min(L::splat(1.0)))
    }

    /// The lower boundary from the time at which it leaves X = 0 to the tip, and ln B at its begin; `curve`: the square
    /// of the distance in ln X from the tip to the boundary, per year.
    ///
    /// # Shapes    one contract per lane
    /// # Accuracy  that of [`Self::explicit`]
    fn lower(
        &self,
        contracts: &Contracts<L>,
        stretch: &TimeBetween<L>,
        tip: (L, L),
        curve: L,
    ) -> (KnownBoundary<L>, L) {
        let c = L::splat;
        let Terms { r, b, .. } = *self.terms;
        let (time, x) = tip;
        let length = time - self.close;
        let mut slope = -(curve * length).sqrt();
        let mut at = |u: f64| {
            let t = time - length * (u * u);
            let wait = c(self.date) - t;
            // where holding is all but certain to be exercised after the date
            let gain = self.k - self.escrow(t) - exp(wait * -r) * self.paid;
            let borrow = c(1.0) - exp(wait * -b);
            let line = ln((gain / borrow).max(c(SAME.divisor)));
            let guess = (x + slope * u).max(line).min(x);
            let ln_b = self.explicit(contracts, t, time, guess, RegionSide::Lower).0.min(x);
            let ln_b = L::select(self.never_gains, x, ln_b);
            slope = (ln_b - x) / u;
            (t, ln_b)
        };
        let mut node = |&(u, w): &(f64, f64)| {
            let (t, ln_b) = at(u);
            (t, ln_b, length * (-w * 2.0 * u))
        };
        let nodes: Vec<(L, L, L)> = gauss(TIP.lower_nodes).iter().map(&mut node).collect();
        let begins = at(1.0).1;
        // a moment that has passed has no weight
        let seen = |from: L, escrow: L| {
            move |&(t, _, weight): &(L, L, L)| {
                let wait = t - from;
                let ahead = c(SAME.instant).lt(wait);
                Moment::new([r, b], wait.max(c(SAME.instant)), L::select(ahead, weight, c(0.0)), escrow)
            }
        };
        let begin = seen(c(self.from), stretch.escrow(stretch.length));
        let from_point = |left: L, escrow: L| nodes.iter().map(seen(time - left, escrow)).collect();
        let boundary = KnownBoundary {
            from_begin: nodes.iter().map(|node| MomentBoundary::with(begin(node), node.1)).collect(),
            from_points: stretch.from_points.iter().map(|seen| from_point(seen.left, seen.escrow)).collect(),
            ln_b: nodes.iter().map(|node| node.1).collect(),
        };
        (boundary, begins)
    }
}
