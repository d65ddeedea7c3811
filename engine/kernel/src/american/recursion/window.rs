//! Windows of exercise of a put before an ex-date. A window closes some time before the date, from when on the dividend
//! is worth more than the interest on the strike.
//!
//! With b = 0 the boundary falls to 0 where the window closes. With b > 0 it falls along a line in X with a corner
//! before that. With b < 0 the region leaves X = 0 first and ends in a tip at a positive X.

use super::collocation::Outcome;
use super::flow::{AmericanOption, FlowMoment};
use super::interval::{Holding, Interval};
use super::stretch::{POINTS, Stretch, TAIL_STEP, points, reach_class};
use crate::american::settings::{CLOSING_STRIKES, REACHES, SAME, WINDOW_FOUND};
use crate::american::start::{earned, explicit};
use crate::solve::{bracketed_root, gauss};

/// Lower bound of X where only its logarithm is needed (currency per share). No stock trades there.
pub(super) const SPOT_LEAST: f64 = 1e-9;
/// Windows and parts of windows that are shorter count as none (years). Three seconds: exercise earns 1e-8 of the
/// strike.
const SHORTEST: f64 = 1e-7;
/// The corner is where the value of holding exceeds the payoff by this part of the gain from exercise at X = 0.
const CORNER: f64 = 0.015;
/// Halvings in the search for the corner. The corner may lie anywhere near.
const CORNER_STEPS: usize = 9;
/// Greatest −ln(time before the window closes, of its length) in the search for the corner. e^−18 of a year is half a
/// second.
const CORNER_MOST: f64 = 18.0;
/// A corner counts as none if ln X deviates by more than this over the part after it (standard deviations).
const ROUND_CORNER: f64 = 0.2;
/// Where the boundary is solved beyond the corner, earlier values approximate it by the line once the window closes
/// within so many deviations of ln X.
const WINDOW_CUT: f64 = 0.05;
/// Steps of Newton's method to the boundary where a window begins to close. Newton's method squares its error; the line
/// is close.
const CLOSING_STEPS: usize = 8;
/// Longest step to the boundary where a window begins to close (part of the deviation until the ex-date). The value of
/// holding bends over a deviation.
const CLOSING_STEP: f64 = 0.3;
/// A shorter step ends the search for the boundary where a window begins to close. The error of values is of second
/// order in it.
const CLOSING_FOUND: f64 = 1e-9;
/// A shorter late part is left out (part of the window).
const LATE_PART: f64 = 1e-4;
/// A shorter early part is joined to the late one.
const EARLY_PART: f64 = 0.1;
/// Least η of the last collocation point, for a part that ends at a corner or tip.
const REACH_EARLY: f64 = 1.6;
/// Least η of the last collocation point, for the late part.
const REACH_LATE: f64 = 2.4;
/// Greatest η of the last collocation point.
const REACH_MOST: f64 = 3.0;
/// Distance of the last collocation point from the end of the window (part of that time).
const RESOLVED: f64 = 0.005;
/// Nodes of the lower boundary.
const LOWER_NODES: usize = 16;
/// Depth of the search for the lower boundary, below the tip (ln X). 6e-6 of the tip.
const WINDOW_LOWER: f64 = 12.0;
/// Depth of the search for a boundary, below its limit (ln X). 1e-6 of the limit.
const DEEPEST: f64 = 14.0;
/// η at which an early part meets the late one. e^(−4.3²) of the part is left, 9e-9.
const JOIN: f64 = 4.3;
/// Lower bound of the time from the end of a window to the ex-date, where a reach divides by it (years). Half a minute
/// before an ex-date.
const GAP_LEAST: f64 = 1e-6;
/// Times at which the search for the last gain at X = 0 looks.
const GAIN_SCAN: usize = 16;
/// Places at which the search for a region above X = 0 looks.
const TIP_SCAN: usize = 24;
/// Depth of the search for a region above X = 0, in deviations of ln X over the whole life.
const TIP_DEVIATIONS: f64 = 10.0;
/// Distance in ln X that is added to `TIP_DEVIATIONS`.
const TIP_EXTRA: f64 = 1.0;
/// Greatest depth of the search for a region above X = 0 (ln X). 0.25 % of the strike.
const TIP_DEEPEST: f64 = 6.0;
/// Distance from the end of an interval at which values right before it are taken (part of the interval). The value of
/// holding has a kink at the end.
const BEFORE_END: f64 = 1e-9;
/// Most steps of Newton's method to the least excess of holding over the payoff. Newton's method squares its error.
const LEAST_STEPS: usize = 12;
/// Longest step to the least excess of holding over the payoff (standard deviations). The bend changes over a
/// deviation.
const LEAST_STEP: f64 = 0.5;
/// A shorter step ends the search for the least excess of holding over the payoff (standard deviations). The value is
/// stationary there.
const LEAST_FOUND: f64 = 1e-3;
/// Most steps of the search for the time of the tip. Halvings alone give twelve digits.
const TIP_STEPS: usize = 40;
/// A shorter step ends the search for the time of the tip (part of the interval). The flow at the tip vanishes.
const TIP_FOUND: f64 = 1e-10;
/// Lower bound of the length of the interval that `TIP_FOUND` refers to (years). Eight hours of an interval.
const TIP_LENGTH_LEAST: f64 = 1e-3;

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

/// One of a region's boundaries, and the bracket in ln B of the search for it.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// True for the boundary above which the option is held.
    upper: bool,
    lo: f64,
    hi: f64,
}

impl Interval {
    /// ln of the X above which exercise of a put at `t` loses.
    pub(super) fn put_limit(&self, p: &AmericanOption, t: f64) -> f64 {
        let escrow = self.escrow(p, t);
        let pays = p.k - escrow;
        let earns = if p.b > 0.0 { p.r * p.k / p.b - escrow } else { f64::INFINITY };
        pays.min(earns).max(SPOT_LEAST).ln()
    }

    /// Gain at X = 0 of exercise at `t` over holding.
    fn gain_at_zero(&self, p: &AmericanOption, t: f64) -> f64 {
        p.k - self.escrow(p, t) - (p.r * t).exp() * self.at_zero[0]
    }

    /// The last time at which exercise at X = 0 gains.
    fn last_gain_at_zero(&self, p: &AmericanOption) -> f64 {
        let length = self.end - self.from;
        let mut after = self.end;
        for j in 1..=GAIN_SCAN {
            let t = self.end - length * (j as f64 / GAIN_SCAN as f64).powi(2);
            if self.gain_at_zero(p, t) > 0.0 {
                let gain = |t: f64| self.gain_at_zero(p, t);
                return bracketed_root(gain, t, after, WINDOW_FOUND).unwrap_or(after);
            }
            after = t;
        }
        f64::NEG_INFINITY
    }

    /// Solves the window of a put before the ex-date at the end of the interval.
    ///
    /// # Domain  later intervals are solved
    /// # Source  docs/american.md, windows of puts
    pub(super) fn solve_window(&mut self, p: &AmericanOption) -> Outcome {
        let never = (p.b >= 0.0 && p.r <= 0.0) || (p.r < 0.0 && p.b >= p.r);
        if self.end - self.from < SHORTEST || never {
            return Outcome::Solved;
        }
        let close = self.last_gain_at_zero(p);
        if p.b < 0.0 {
            return self.solve_island(p, close);
        }
        if close - self.from <= SHORTEST || p.flow(f64::NEG_INFINITY, self.escrow(p, self.from)) <= 0.0 {
            return Outcome::Solved;
        }
        let gap = (self.end - close).max(GAP_LEAST);
        let corner = if p.b > 0.0 { self.corner(p, close) } else { close };
        let late = close - corner;
        let anywhere = f64::NEG_INFINITY;
        let is_late = late > LATE_PART * (close - self.from);
        let ends_at_corner = corner - self.from >= EARLY_PART * late && p.width(late) < ROUND_CORNER;
        let cut = corner.max(close - (WINDOW_CUT / p.sigma).powi(2));
        if ends_at_corner || !is_late {
            let mut outcome = Outcome::Solved;
            let mut lowest = anywhere;
            let mut join = None;
            if is_late {
                let mut end = None;
                if cut > corner {
                    let last = self.open(corner, close, gap, REACH_LATE, anywhere, None);
                    let mut last = self.started(p, WindowPart { is_late: true, ..last });
                    outcome = last.solve_alone(p, self, |t| self.put_limit(p, t));
                    self.later.extend(last.nodes(cut, |t| self.cost(p, t), p.b));
                    end = Some(last.ln_b[0]);
                }
                let Closing { puts, ln_b } = self.closing(p, cut);
                self.later.extend(puts);
                let end = end.unwrap_or(ln_b);
                (lowest, join) = (end - 1.0, Some(end));
            }
            let early = self.open(self.from, corner, gap, REACH_EARLY, lowest, join);
            let first = self.finish(p, early);
            return if outcome == Outcome::Unsolved { outcome } else { first };
        }
        let mut whole = self.open(self.from, close, gap, REACH_LATE, anywhere, None);
        whole.is_late = true;
        self.cut = Some(cut);
        self.finish(p, whole)
    }

    /// The exercise gains from `t` on, where the boundary then falls to 0 along the [line](Self::line) within a small
    /// part of a deviation. At `t` exercise then exceeds holding to the end of the interval by a function of X alone:
    /// by a line far below the boundary, by less close to it, since holding may end above the boundary of the next
    /// interval. A sum of European puts approximates this function.
    ///
    /// # Domain  b > 0; `t` within the window, close to its end
    pub(super) fn closing(&self, p: &AmericanOption, t: f64) -> Closing {
        let line = self.line(p, t);
        let gain = self.gain_at_zero(p, t);
        let number = gain / line.exp();
        let holding = self.holding(p, t);
        let deviation = p.width(self.end - t);
        let most = CLOSING_STEP * deviation;
        let mut ln_b = line;
        for _ in 0..CLOSING_STEPS {
            let at = holding.less_payoff(p, self, ln_b);
            if at[1] <= 0.0 || at[1].is_nan() {
                break;
            }
            let step = (at[0] / at[1]).clamp(-most, most);
            ln_b -= step;
            if step.abs() < CLOSING_FOUND {
                break;
            }
        }
        // straight between the strikes
        let mut puts = Vec::new();
        let (mut strike, mut value, mut slope) = (ln_b.exp(), 0.0, 0.0);
        for (i, away) in CLOSING_STRIKES.iter().enumerate() {
            let x = ln_b - away * deviation;
            let lower = x.exp();
            let is_last = i + 1 == CLOSING_STRIKES.len();
            let gained = if is_last { gain - number * lower } else { -holding.less_payoff(p, self, x)[0] };
            let steeper = (gained - value) / (strike - lower);
            puts.push(FlowMoment::puts(t, strike, steeper - slope));
            (strike, value, slope) = (lower, gained, steeper);
        }
        puts.push(FlowMoment::puts(t, strike, number - slope));
        Closing { puts, ln_b }
    }

    /// ln X of the line, with b > 0, on which exercise and holding are worth the same where either is almost certain.
    fn line(&self, p: &AmericanOption, t: f64) -> f64 {
        let x = self.gain_at_zero(p, t) / (1.0 + (p.b * t).exp() * self.at_zero[1]).max(SAME.divisor);
        x.max(SAME.divisor).ln()
    }

    /// The time of the corner of a boundary with b > 0: before it the boundary follows the value of holding, after it
    /// the [line](Self::line).
    fn corner(&self, p: &AmericanOption, close: f64) -> f64 {
        let is_before = |t: f64| self.hold_less_payoff(p, self.line(p, t), t)[0] > CORNER * self.gain_at_zero(p, t);
        if !is_before(self.from) {
            return self.from;
        }
        let at = |m: f64| close - (close - self.from) * (-m).exp();
        let (mut before, mut after) = (0.0, CORNER_MOST);
        for _ in 0..CORNER_STEPS {
            let middle = 0.5 * (before + after);
            *(if is_before(at(middle)) { &mut before } else { &mut after }) = middle;
        }
        at(0.5 * (before + after))
    }

    /// Solves a window with b < 0: the region ends in a tip, and leaves X = 0 before that, at `close`.
    fn solve_island(&mut self, p: &AmericanOption, close: f64) -> Outcome {
        let Some((tip, at)) = self.tip(p, close) else { return Outcome::Solved };
        if tip - self.from < SHORTEST {
            return Outcome::Solved;
        }
        let opens = close.max(self.from);
        let length = tip - opens;
        if length > SAME.date {
            let below = Side { upper: false, lo: at - WINDOW_LOWER, hi: at };
            let mut guess = at;
            for (u, w) in gauss(LOWER_NODES) {
                let t = tip - length * u * u;
                if tip - t > SAME.instant {
                    let (ln_b, _) = self.explicit(p, t, tip, Some(guess), below);
                    guess = ln_b;
                    let cost = self.cost(p, t);
                    self.later.push(FlowMoment { time: t, ln_b, cost, pay: p.b, weight: -w * 2.0 * u * length });
                }
            }
            if close < self.from {
                self.other = Some(self.explicit(p, self.from, tip, None, below).0);
            }
        }
        let window = self.open(self.from, tip, (self.end - tip).max(GAP_LEAST), REACH_EARLY, at, None);
        self.finish(p, window)
    }

    /// Time and ln X of the tip, the last time of exercise; `None`: there is no exercise in the interval.
    ///
    /// # Domain    puts with b < 0; one region
    /// # Accuracy  `TIP_FOUND` of the interval
    fn tip(&self, p: &AmericanOption, close: f64) -> Option<(f64, f64)> {
        let length = self.end - self.from;
        let top = (p.k - self.escrow(p, self.end - BEFORE_END * length)).max(SPOT_LEAST).ln();
        let depth = (p.width(p.t) * TIP_DEVIATIONS + TIP_EXTRA).min(TIP_DEEPEST);
        // the x at which holding exceeds the payoff least, by Newton's method on the slope
        let least = |t: f64, from: f64| {
            let (mut x, deviation) = (from, p.width(self.end - t));
            let holding = self.holding(p, t);
            for _ in 0..LEAST_STEPS {
                let at = holding.less_payoff(p, self, x);
                let newton = if at[2] > 0.0 { -at[1] / at[2] } else { -deviation * at[1].signum() };
                let step = newton.clamp(-LEAST_STEP * deviation, LEAST_STEP * deviation);
                x = (x + step).min(top);
                if step.abs() < LEAST_FOUND * deviation {
                    break;
                }
            }
            (x, holding.less_payoff(p, self, x))
        };
        let scan = (0..=TIP_SCAN).map(|j| top - depth * (j as f64 / TIP_SCAN as f64).powi(2));
        let (mut x, lowest) =
            scan.map(|x| (x, self.hold_less_payoff(p, x, self.from)[0])).min_by(|a, b| a.1.total_cmp(&b.1))?;
        if lowest >= 0.0 || lowest.is_nan() {
            return None;
        }
        let (mut gains, mut loses) = (self.from, self.end - BEFORE_END * length);
        let mut t = close.max(self.from);
        for _ in 0..TIP_STEPS {
            let (there, at) = least(t, x);
            if at[0] < 0.0 {
                (gains, x) = (t, there);
            } else {
                loses = t;
            }
            let newton = t - at[0] / self.by_time(p, there, t, [at[0], at[1], at[2]]);
            let next = if newton > gains && newton < loses { newton } else { 0.5 * (gains + loses) };
            let settled = (next - t).abs() < TIP_FOUND * length.max(TIP_LENGTH_LEAST);
            t = next;
            if settled {
                x = there;
                break;
            }
        }
        Some((t, x))
    }

    /// ln B and pace (as of [`Stretch::pace`]) of the explicit boundary at `t` of exercise that ends at `end`: searched
    /// for from `guess`, and between the ends of its side where that fails.
    fn explicit(&self, p: &AmericanOption, t: f64, end: f64, guess: Option<f64>, side: Side) -> (f64, f64) {
        let (holding, escrow) = (self.holding(p, t), self.escrow(p, t));
        let flow = |x: f64, at: [f64; 3]| {
            let speed = self.by_time(p, x, t, at) / at[1];
            earned(p.sigma, end - t, speed, p.flow(x, escrow))
        };
        let held = |x: f64| holding.less_payoff(p, self, x);
        if let Some(guess) = guess {
            let sign = if side.upper { 1.0 } else { -1.0 };
            let (ln_b, pace, found) = explicit(guess, sign, p.width(self.end - t), held, flow);
            if found && side.lo < ln_b && ln_b < side.hi {
                return (ln_b, pace.min(1.0));
            }
        }
        let still = self.root(p, t, &holding, 0.0, side);
        let [value, slope, bend, ..] = held(still);
        let [add, pace] = flow(still, [value, slope, bend]);
        let side = if side.upper { Side { hi: still + ABOVE, ..side } } else { Side { lo: still - BELOW, ..side } };
        (self.root(p, t, &holding, add, side), pace.min(1.0))
    }

    /// The root in x of holding less payoff plus `add`.
    ///
    /// # Domain    a change of sign between the ends of the side; else the result is one of the ends
    /// # Accuracy  `START_FOUND` in x
    fn root(&self, p: &AmericanOption, t: f64, holding: &Holding, add: f64, side: Side) -> f64 {
        let Side { upper, mut lo, mut hi } = side;
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

    /// A part of a window from `from` to `to`, with η of its last collocation point.
    fn open(&self, from: f64, to: f64, gap: f64, least: f64, lowest: f64, join: Option<f64>) -> WindowPart {
        let reach = ((to - from) / (RESOLVED * gap)).ln().max(0.0).sqrt().clamp(least, REACH_MOST);
        WindowPart { from, to, reach: reach_class(reach), lowest, join, is_late: false }
    }

    /// The explicit boundary of a part, shifted to meet the part that follows.
    fn started(&self, p: &AmericanOption, part: WindowPart) -> Stretch {
        let WindowPart { from, to, reach, lowest, join, is_late } = part;
        let mut stretch = Stretch { from, to, reach, ln_b: [0.0; POINTS], tail: [0.0; 3], pace: None };
        let reach = REACHES[reach];
        let mut guess: Option<f64> = None;
        let mut at = |eta: f64| {
            let t = (to - (to - from) * (-eta * eta).exp()).min(to - SAME.instant);
            let top = self.put_limit(p, t);
            let side = Side { upper: true, lo: lowest.max(top - DEEPEST), hi: top };
            let near = if is_late { Some(self.line(p, t)) } else { guess };
            let found = self.explicit(p, t, to, near, side);
            guess = Some(found.0);
            found
        };
        let shift = join.map_or(0.0, |join| join - at(JOIN).0);
        let explicit = points().map(|u| at(u * reach));
        stretch.tail = [0.0, 1.0, 2.0].map(|steps| at(reach + steps * TAIL_STEP).0 + shift);
        stretch.ln_b = explicit.map(|(ln_b, _)| ln_b + shift);
        stretch.pace = Some(explicit.map(|(_, pace)| pace));
        stretch
    }

    /// Solves the part of the window at the begin of the interval.
    fn finish(&mut self, p: &AmericanOption, part: WindowPart) -> Outcome {
        let mut stretch = self.started(p, part);
        let outcome = stretch.solve_alone(p, self, |t| self.put_limit(p, t));
        self.stretch = Some(stretch);
        outcome
    }
}

/// The end of a window along a line.
pub(super) struct Closing {
    /// Exercise gains along the line, as European puts.
    pub(super) puts: Vec<FlowMoment>,
    /// ln B where the line begins.
    pub(super) ln_b: f64,
}

/// A part of a window.
struct WindowPart {
    from: f64,
    to: f64,
    reach: usize,
    /// Lower end of the search for ln B.
    lowest: f64,
    /// ln B at which the part must end.
    join: Option<f64>,
    /// True if the search for its boundary starts from the line.
    is_late: bool,
}
