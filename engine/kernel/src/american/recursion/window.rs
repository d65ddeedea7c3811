//! When a put is exercised before an ex-date: a window that closes some time before it, since the dividend to come is
//! worth more than the interest on the strike.
//!
//! With b = 0 the boundary falls to 0 where the window closes. With b > 0 it falls along a line in X with a corner
//! before that. With b < 0 the region leaves X = 0 first and ends in a tip at a positive X.

use super::collocation::Outcome;
use super::interval::Interval;
use super::option::AmericanOption;
use super::premium::Piece;
use super::rules::{POINTS, REACHES, TAIL_STEP, gauss, points, reach_class};
use super::start::{Explicit, Side};
use super::stretch::Stretch;

/// Windows and parts of them that are shorter count as none, years.
const SHORTEST: f64 = 1e-7;
/// The corner is where the value of holding exceeds the payoff by this part of what exercise gains at X = 0.
const CORNER: f64 = 0.015;
/// Halvings of ln(time before the window closes) in the search for the corner, which may lie anywhere near.
const CORNER_STEPS: usize = 9;
/// A corner this round, in deviations of ln X over the part after it, is none.
const ROUND_CORNER: f64 = 0.2;
/// Parts of a window that are shorter than this part of the other one are joined to it, late and early.
const LATE_PART: f64 = 1e-4;
const EARLY_PART: f64 = 0.1;
/// η of the last collocation point: least for a part that ends at a corner or tip, for the late part, and greatest.
const REACH_EARLY: f64 = 1.6;
const REACH_LATE: f64 = 2.4;
const REACH_MOST: f64 = 3.0;
/// Nodes of the lower boundary.
const LOWER_NODES: usize = 16;
/// ln B is not looked for further below its limit.
const DEEPEST: f64 = 14.0;

impl Interval {
    /// ln of the X above which exercise of a put at `t` loses.
    pub(super) fn put_limit(&self, p: &AmericanOption, t: f64) -> f64 {
        let escrow = self.escrow(p, t);
        let pays = p.k - escrow;
        let earns = if p.b > 0.0 { p.r * p.k / p.b - escrow } else { f64::INFINITY };
        pays.min(earns).max(1e-9).ln()
    }

    /// What exercise at `t` gains over holding at X = 0.
    fn gain_at_zero(&self, p: &AmericanOption, t: f64) -> f64 {
        p.k - self.escrow(p, t) - (-p.r * (self.end - t)).exp() * self.premium.at_zero
    }

    /// The last time at which exercise at X = 0 gains.
    fn last_gain_at_zero(&self, p: &AmericanOption) -> f64 {
        const STEPS: usize = 16;
        let length = self.end - self.from;
        let mut after = self.end;
        for j in 1..=STEPS {
            let t = self.end - length * (j as f64 / STEPS as f64).powi(2);
            if self.gain_at_zero(p, t) > 0.0 {
                let (mut gains, mut loses) = (t, after);
                for _ in 0..60 {
                    let middle = 0.5 * (gains + loses);
                    *(if self.gain_at_zero(p, middle) > 0.0 { &mut gains } else { &mut loses }) = middle;
                }
                return 0.5 * (gains + loses);
            }
            after = t;
        }
        f64::NEG_INFINITY
    }

    /// Solves the window of a put before the ex-date at the end of the interval.
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
        let gap = (self.end - close).max(1e-6);
        let corner = if p.b > 0.0 { self.corner(p, close) } else { close };
        let late = close - corner;
        let anywhere = f64::NEG_INFINITY;
        let is_late = late > LATE_PART * (close - self.from);
        let is_sharp = corner <= self.from || p.width(late) < ROUND_CORNER;
        if !(is_late && is_sharp) {
            let to = if is_late { close } else { corner };
            let early = self.open((self.from, to), gap, REACH_EARLY, anywhere, None);
            return self.finish(p, early);
        }
        let corner = if corner - self.from < EARLY_PART * late { self.from } else { corner };
        let mut last = self.open((corner, close), gap, REACH_LATE, anywhere, None);
        last.is_late = p.b > 0.0;
        if corner <= self.from {
            return self.finish(p, last);
        }
        let mut last = self.started(p, last);
        let outcome = self.solve_stretch(p, &mut last);
        let nodes = last.nodes(|t| self.cost(p, t));
        self.later.extend(&nodes);
        let early = self.open((self.from, corner), gap, REACH_EARLY, last.ln_b[0] - 1.0, Some(last.ln_b[0]));
        let first = self.finish(p, early);
        if outcome == Outcome::Unsolved { outcome } else { first }
    }

    /// ln X of the line, with b > 0, on which exercise and holding are worth the same where either is almost certain.
    fn line(&self, p: &AmericanOption, t: f64) -> f64 {
        let after = p.t - self.premium.t;
        // dV/dX at X = 0 and the end of the interval
        let exercised = self.premium.pieces.iter().find_map(|piece| match piece {
            Piece::Line { lo, c1, .. } if lo.is_infinite() => Some(*c1),
            _ => None,
        });
        let slope = exercised.unwrap_or(0.0) - (-p.b * after).exp();
        let x = self.gain_at_zero(p, t) / (1.0 + slope * (-p.b * (self.end - t)).exp()).max(1e-300);
        x.max(1e-300).ln()
    }

    /// The time of the corner of a boundary with b > 0: until then it follows the value of holding, from then on the
    /// [line](Self::line).
    fn corner(&self, p: &AmericanOption, close: f64) -> f64 {
        let is_before = |t: f64| self.hold_less_payoff(p, self.line(p, t), t)[0] > CORNER * self.gain_at_zero(p, t);
        if !is_before(self.from) {
            return self.from;
        }
        let at = |m: f64| close - (close - self.from) * (-m).exp();
        let (mut before, mut after) = (0.0, 18.0);
        for _ in 0..CORNER_STEPS {
            let middle = 0.5 * (before + after);
            *(if is_before(at(middle)) { &mut before } else { &mut after }) = middle;
        }
        at(0.5 * (before + after))
    }

    /// With b < 0: the region ends in a tip, and leaves X = 0 at `close`, before it.
    fn solve_island(&mut self, p: &AmericanOption, close: f64) -> Outcome {
        let Some((tip, at)) = self.tip(p, close) else { return Outcome::Solved };
        if tip - self.from < SHORTEST {
            return Outcome::Solved;
        }
        let opens = close.max(self.from);
        let length = tip - opens;
        if length > 1e-9 {
            let below = Side { upper: false, lo: at - 12.0, hi: at };
            let mut guess = at;
            for (u, w) in gauss(LOWER_NODES) {
                let t = tip - length * u * u;
                if tip - t > 1e-12 {
                    let near = self.explicit_near(p, t, tip, guess, below);
                    let Explicit { ln_b, .. } = near.unwrap_or_else(|| self.explicit(p, t, tip, below));
                    guess = ln_b;
                    let cost = self.cost(p, t);
                    self.later.push(t, ln_b, cost, -w * 2.0 * u * length);
                }
            }
            if close < self.from {
                self.other = Some(self.explicit(p, self.from, tip, below).ln_b);
            }
        }
        let window = self.open((self.from, tip), (self.end - tip).max(1e-6), REACH_EARLY, at, None);
        self.finish(p, window)
    }

    /// The last time of exercise and ln X there; `None`: there is none.
    fn tip(&self, p: &AmericanOption, close: f64) -> Option<(f64, f64)> {
        const SCAN: usize = 24;
        let length = self.end - self.from;
        let top = (p.k - self.escrow(p, self.end - 1e-9 * length)).max(1e-9).ln();
        let depth = (p.width(p.t) * 10.0 + 1.0).min(6.0);
        // the x at which holding exceeds the payoff least, by Newton's method on the slope
        let least = |t: f64, from: f64| {
            let (mut x, deviation) = (from, p.width(self.end - t));
            let holding = self.holding(p, t);
            for _ in 0..12 {
                let at = holding.less_payoff(p, self, x);
                let newton = if at[2] > 0.0 { -at[1] / at[2] } else { -deviation * at[1].signum() };
                let step = newton.clamp(-0.5 * deviation, 0.5 * deviation);
                x = (x + step).min(top);
                if step.abs() < 1e-3 * deviation {
                    break;
                }
            }
            (x, holding.less_payoff(p, self, x))
        };
        let scan = (0..=SCAN).map(|j| top - depth * (j as f64 / SCAN as f64).powi(2));
        let (mut x, lowest) =
            scan.map(|x| (x, self.hold_less_payoff(p, x, self.from)[0])).min_by(|a, b| a.1.total_cmp(&b.1))?;
        if lowest >= 0.0 || lowest.is_nan() {
            return None;
        }
        let (mut gains, mut loses) = (self.from, self.end - 1e-9 * length);
        let mut t = close.max(self.from);
        for _ in 0..40 {
            let (there, at) = least(t, x);
            if at[0] < 0.0 {
                (gains, x) = (t, there);
            } else {
                loses = t;
            }
            let newton = t - at[0] / self.by_time(p, there, t, &at);
            let next = if newton > gains && newton < loses { newton } else { 0.5 * (gains + loses) };
            let settled = (next - t).abs() < 1e-10 * length.max(1e-3);
            t = next;
            if settled {
                x = there;
                break;
            }
        }
        Some((t, x))
    }

    /// A part of a window, before its boundary has a start.
    fn open(&self, (from, to): (f64, f64), gap: f64, least: f64, lowest: f64, join: Option<f64>) -> WindowPart {
        let reach = ((to - from) / (0.005 * gap)).ln().max(0.0).sqrt().clamp(least, REACH_MOST);
        WindowPart { from, to, reach: reach_class(reach), lowest, join, is_late: false }
    }

    /// The part with the explicit boundary, shifted to meet what follows.
    fn started(&self, p: &AmericanOption, part: WindowPart) -> Stretch {
        let WindowPart { from, to, reach, lowest, join, is_late } = part;
        let mut stretch = Stretch { from, to, reach, ln_b: [0.0; POINTS], tail: [0.0; 3], pace: None };
        let reach = REACHES[reach];
        let mut guess: Option<f64> = None;
        let mut at = |eta: f64| {
            let t = (to - (to - from) * (-eta * eta).exp()).min(to - 1e-12);
            let top = self.put_limit(p, t);
            let side = Side { upper: true, lo: lowest.max(top - DEEPEST), hi: top };
            let near = if is_late { Some(self.line(p, t)) } else { guess };
            let near = near.and_then(|guess| self.explicit_near(p, t, to, guess, side));
            let found = near.unwrap_or_else(|| self.explicit(p, t, to, side));
            guess = Some(found.ln_b);
            found
        };
        let shift = join.map_or(0.0, |join| join - at(4.3).ln_b);
        let explicit: [Explicit; POINTS] = points().map(|u| at(u * reach));
        stretch.tail = [0.0, 1.0, 2.0].map(|steps| at(reach + steps * TAIL_STEP).ln_b + shift);
        stretch.ln_b = explicit.map(|e| e.ln_b + shift);
        stretch.pace = Some(explicit.map(|e| e.pace));
        stretch
    }

    fn solve_stretch(&self, p: &AmericanOption, stretch: &mut Stretch) -> Outcome {
        stretch.solve(p, self, |t| self.put_limit(p, t))
    }

    /// Solves the part that begins with the interval.
    fn finish(&mut self, p: &AmericanOption, part: WindowPart) -> Outcome {
        let mut stretch = self.started(p, part);
        let outcome = self.solve_stretch(p, &mut stretch);
        self.stretch = Some(stretch);
        outcome
    }
}

/// A part of a window.
struct WindowPart {
    from: f64,
    to: f64,
    reach: usize,
    /// ln B is looked for above this.
    lowest: f64,
    /// ln B that the part must end at.
    join: Option<f64>,
    /// True after a corner.
    is_late: bool,
}
