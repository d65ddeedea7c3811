//! Start of the iteration for a boundary: an explicit boundary before an ex-date, a coarse one before expiry.

use super::collocation::carried;
use super::flow::{FlowBlock, FlowSums};
use super::interval::Interval;
use super::option::{AmericanOption, Slopes};
use super::rules::{POINTS, points};
use super::stretch::Stretch;
use crate::american::moment::earned_share;
use crate::american::settings::{NEAREST_TO_END, PACE_MOST, REACHES, SAME};
use crate::lanes::{Block, Lanes};
use crate::solve::{bracketed_root, crowded};

/// Points of the coarse boundary.
const START_POINTS: usize = 8;
/// Nodes of the flow from each coarse point.
const NODES: usize = 16;
/// η of the last of the `NODES`. e^(−3.6²) is 2e-6.
const ETA: f64 = 3.6;
/// First step down in the search from the top of a region (part of the deviation).
const START_DOWN: f64 = 0.02;
/// Lower bound of the first step down (part of σ·√year). Next to the end of an interval the deviation vanishes.
const DOWN_LEAST: f64 = 1e-4;
/// Factor from one step down to the next. Fifty times the first after ten steps.
const DOWN_GROWS: f64 = 1.5;
/// The search for a lower boundary with a flow begins this far below the root without it.
const BELOW: f64 = 0.5;
/// A root without a flow bounds the root with it from above, up to this. Rounding of the root.
const ABOVE: f64 = 1e-12;
/// Tolerance of a bracketed root in ln X. Far below what a start must meet; a search ends there.
const START_FOUND: f64 = 1e-12;
/// Most steps of Newton's method on a Taylor series. Newton's method squares its error, from a tenth of a deviation.
const SERIES_STEPS: usize = 12;
/// Most points about which a Taylor series is taken. Each goes half a deviation.
const SERIES_POINTS: usize = 7;
/// Longest step on a Taylor series (standard deviations).
const SERIES_STEP: f64 = 0.3;
/// Longest step to the next point of a Taylor series (standard deviations).
const POINT_STEP: f64 = 0.5;
/// A root without flow that is nearer to the point is read from the same series (standard deviations).
const START_NEAR: f64 = 0.1;
/// A root with flow that is nearer to the point is read from the same series (standard deviations).
const NEAR_WITH_FLOW: f64 = 0.35;
/// A root with flow is read from the series about the root before it, if nearer than this (standard deviations).
const NEAR_AGAIN: f64 = 0.4;
/// First step outwards in the search for a point of the coarse boundary (standard deviations).
const START_OUT: f64 = 0.25;
/// Lower bound of the first step outwards, where the next point is already found. A step of 0 would not move.
const OUT_LEAST: f64 = 1e-6;
/// Factor from one step outwards to the next. A hundred times the first after ten steps.
const OUT_GROWS: f64 = 1.6;
/// Longest step outwards, in ln X. Boundaries further away count as none.
const OUT_MOST: f64 = 6.0;
/// Most steps outwards. More than it takes to the greatest.
const OUT_STEPS: usize = 40;
/// A call's boundary is rejected if it is found further from its limit than this (standard deviations).
const START_FAR: f64 = 3.0;
/// Distance from the limit at which a rejected boundary starts (standard deviations).
const INSTEAD: f64 = 0.7;
/// Tolerance of a point of the coarse boundary (standard deviations). Three digits, and one to spare.
const START_CLOSE: f64 = 1e-4;

/// Points of the coarse boundary, and nodes of the flow from each.
const COARSE: usize = START_POINTS;
const COARSE_NODES: usize = NODES;
const N: usize = <Block as Lanes>::N;

/// A point of the explicit boundary: ln B, and the pace of the boundary there ([`Stretch::pace`]).
#[derive(Clone, Copy, Debug)]
pub(super) struct Explicit {
    pub(super) ln_b: f64,
    pub(super) pace: f64,
}

/// One of a region's boundaries, and the bracket in ln B of the search for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    /// True for the boundary above which the option is held.
    pub(super) upper: bool,
    pub(super) lo: f64,
    pub(super) hi: f64,
}

impl Interval {
    /// The explicit boundary at `t` of exercise that ends at `end`, by a bracketed search: value matching, with the
    /// remaining flow replaced by the fraction of it that a boundary with this pace earns.
    pub(super) fn explicit(&self, p: &AmericanOption, t: f64, end: f64, side: Side) -> Explicit {
        let still = self.root(p, t, 0.0, side);
        let (add, pace) = self.earned(p, t, end, still);
        let side = if side.upper { Side { hi: still + ABOVE, ..side } } else { Side { lo: still - BELOW, ..side } };
        Explicit { ln_b: self.root(p, t, add, side), pace }
    }

    /// The flow that a boundary at `x` earns until `end`, and its pace.
    fn earned(&self, p: &AmericanOption, t: f64, end: f64, x: f64) -> (f64, f64) {
        let at = self.hold_less_payoff(p, x, t);
        self.earned_at(p, t, end, x, &at)
    }

    fn earned_at(&self, p: &AmericanOption, t: f64, end: f64, x: f64, at: &Slopes) -> (f64, f64) {
        let left = end - t;
        let speed = (self.by_time(p, x, t, at) / at[1]).abs();
        let xi = (p.sigma / (speed * left.sqrt())).min(PACE_MOST);
        let earned = p.flow(x, self.escrow(p, t)).max(0.0) * left * earned_share(xi);
        (earned, xi.min(1.0))
    }

    /// The root in x of holding less payoff plus `add`.
    ///
    /// # Domain    a change of sign between the ends of the side; else the result is one of the ends
    /// # Accuracy  `START_FOUND` in x
    fn root(&self, p: &AmericanOption, t: f64, add: f64, side: Side) -> f64 {
        let Side { upper, mut lo, mut hi } = side;
        let holding = self.holding(p, t);
        let sign = if upper { 1.0 } else { -1.0 };
        if upper {
            // down from the top: below the region there may be a second root
            let mut step = START_DOWN * p.width(self.end - t).max(DOWN_LEAST * p.sigma);
            loop {
                let x = hi - step;
                if x <= lo {
                    break;
                }
                if holding.less_payoff(p, self, x)[0] + add <= 0.0 {
                    lo = x;
                    break;
                }
                hi = x;
                step *= DOWN_GROWS;
            }
        }
        let value = |x: f64| holding.less_payoff(p, self, x)[0] + add;
        bracketed_root(value, lo, hi, START_FOUND).unwrap_or_else(|| if sign * value(lo) > 0.0 { lo } else { hi })
    }

    /// [`Self::explicit`] by Newton's method on Taylor series from a `guess` near the boundary; `None`: it does not
    /// converge.
    ///
    /// # Domain    a `guess` between the ends of the side
    /// # Accuracy  a start only
    pub(super) fn explicit_near(
        &self,
        p: &AmericanOption,
        t: f64,
        end: f64,
        guess: f64,
        side: Side,
    ) -> Option<Explicit> {
        let deviation = p.width(self.end - t);
        let inside = |x: f64| x > side.lo && x < side.hi;
        let sign = if side.upper { 1.0 } else { -1.0 };
        let holding = self.holding(p, t);
        // the root of a Taylor series plus `add`, as a distance from its point
        let root = |at: &Slopes, add: f64, from: f64| {
            let mut h = from;
            for _ in 0..SERIES_STEPS {
                let [value, slope, ..] = carried(at, h);
                if sign * slope <= 0.0 || slope.is_nan() {
                    return None;
                }
                let next = (h - (value + add) / slope).clamp(h - SERIES_STEP * deviation, h + SERIES_STEP * deviation);
                if (next - h).abs() < SAME.root {
                    return Some(next);
                }
                h = next;
                if h.abs() > deviation {
                    return Some(h);
                }
            }
            Some(h)
        };
        let mut x = guess;
        for _ in 0..SERIES_POINTS {
            let at = holding.less_payoff(p, self, x);
            let h = root(&at, 0.0, 0.0)?;
            let still = x + h.clamp(-POINT_STEP * deviation, POINT_STEP * deviation);
            if !inside(still) {
                return None;
            }
            if h.abs() >= START_NEAR * deviation {
                x = still;
                continue;
            }
            let mut there = carried(&at, h);
            there[0] = 0.0;
            let (add, pace) = self.earned_at(p, t, end, x + h, &there);
            let moved = root(&at, add, h)?;
            if moved.abs() < NEAR_WITH_FLOW * deviation {
                return inside(x + moved).then_some(Explicit { ln_b: x + moved, pace });
            }
            let near = x + moved.clamp(-POINT_STEP * deviation, POINT_STEP * deviation);
            let again = root(&holding.less_payoff(p, self, near), add, 0.0)?;
            return (again.abs() < NEAR_AGAIN * deviation && inside(near + again))
                .then_some(Explicit { ln_b: near + again, pace });
        }
        None
    }

    /// A coarse boundary that ends at ln B = `end`, before expiry or before a call's ex-date: a bracketed root at each
    /// of a few points from the end backwards, and a curve through them.
    pub(super) fn coarse(&self, p: &AmericanOption, reach: usize, end: f64, limit: impl Fn(f64) -> f64) -> Stretch {
        let mut stretch =
            Stretch { from: self.from, to: self.end, reach, ln_b: [end; POINTS], tail: [end; 3], pace: None };
        let eta: [f64; COARSE] = core::array::from_fn(|i| REACHES[reach] * i as f64 / (COARSE - 1) as f64);
        let mut y = [end; COARSE];
        for k in (0..COARSE).rev() {
            y[k] = self.coarse_point(p, &stretch, &eta, &y, k, limit(stretch.time(eta[k])));
        }
        let places = *points();
        for (ln_b, u) in stretch.ln_b.iter_mut().zip(places) {
            *ln_b = hermite(&eta, &y, u * REACHES[reach]);
        }
        stretch
    }

    /// ln B of point `k` of the coarse boundary; `eta`, `y`: all points, `limit`: the ln B beyond which exercise loses.
    ///
    /// # Domain    the points after `k` are found
    /// # Accuracy  `START_CLOSE` of a deviation: a start only
    fn coarse_point(
        &self,
        p: &AmericanOption,
        stretch: &Stretch,
        eta: &[f64; COARSE],
        y: &[f64; COARSE],
        k: usize,
        limit: f64,
    ) -> f64 {
        let t = stretch.time(eta[k]);
        let left = self.end - t;
        let (deviation, dir, end) = (p.width(left), p.phi, stretch.tail[0]);
        let reach = REACHES[stretch.reach];
        let rule = crowded(COARSE_NODES, NEAREST_TO_END, ETA);
        let block = |i: usize| {
            let wait: [f64; N] = core::array::from_fn(|lane| left * rule[i * N + lane].1);
            let weight: [f64; N] = core::array::from_fn(|lane| left * rule[i * N + lane].2);
            FlowBlock::new(p, &wait, &weight, &wait.map(|wait| self.cost(p, t + wait)))
        };
        let blocks: [FlowBlock; COARSE_NODES / N] = core::array::from_fn(block);
        let holding = self.holding(p, t);
        let equation = |x: f64| {
            let mut y = *y;
            y[k] = x;
            let ln_b = |xi: f64| {
                let there = (eta[k] * eta[k] + xi * xi).sqrt();
                if there >= reach {
                    return end + (y[COARSE - 1] - end) * (-0.5 * (there * there - reach * reach)).exp();
                }
                let j = ((there / reach * (COARSE - 1) as f64) as usize).min(COARSE - 2);
                y[j] + (y[j + 1] - y[j]) * (there - eta[j]) / (eta[j + 1] - eta[j])
            };
            let mut at = holding.less_payoff(p, self, x);
            let mut sums = FlowSums::zero();
            for (i, block) in blocks.iter().enumerate() {
                let ln_b: [f64; N] = core::array::from_fn(|lane| ln_b(rule[i * N + lane].0));
                sums.add(p, block, x, Block::load(&ln_b));
            }
            sums.total(1.0, &mut at);
            at[0] - dir * deviation * at[1]
        };
        if equation(limit) <= 0.0 {
            return limit;
        }
        let mut a = limit;
        let mut step = START_OUT * deviation;
        if k + 1 < COARSE {
            let (c, fc) = (y[k + 1], equation(y[k + 1]));
            if fc > 0.0 && (c - a) * dir > 0.0 {
                a = c;
            } else if fc <= 0.0 {
                step = (c - a).abs().max(OUT_LEAST);
            }
        }
        let (mut b, mut fb) = (a, f64::INFINITY);
        for _ in 0..OUT_STEPS {
            b = a + dir * step;
            fb = equation(b);
            if fb <= 0.0 {
                break;
            }
            a = b;
            step *= OUT_GROWS;
            if step > OUT_MOST {
                break;
            }
        }
        let far = !p.is_put() && !p.divs.is_empty() && (b - limit).abs() > START_FAR * deviation;
        if fb > 0.0 || far {
            return if k + 1 < COARSE && fb > 0.0 { y[k + 1] } else { limit + dir * deviation * INSTEAD };
        }
        bracketed_root(equation, a, b, START_CLOSE * deviation).unwrap_or(b)
    }
}

/// Cubic through equidistant points with the slopes of their neighbours.
fn hermite(x: &[f64; COARSE], y: &[f64; COARSE], at: f64) -> f64 {
    let h = x[1];
    let j = ((at / h) as usize).min(COARSE - 2);
    let slope = |i: usize| match i {
        0 => 0.0,
        _ if i == COARSE - 1 => y[i] - y[i - 1],
        _ => 0.5 * (y[i + 1] - y[i - 1]),
    };
    let u = (at - x[j]) / h;
    let rest = 1.0 - u;
    y[j] * (1.0 + u * u * (2.0 * u - 3.0))
        + slope(j) * u * rest * rest
        + y[j + 1] * u * u * (3.0 - 2.0 * u)
        + slope(j + 1) * u * u * (u - 1.0)
}
