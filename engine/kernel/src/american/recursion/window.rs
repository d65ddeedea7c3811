//! When a put is exercised before an ex-date: a window that closes some time before it, since the dividend to come is
//! worth more than the interest on the strike.
//!
//! With b = 0 the boundary falls to 0 where the window closes. With b > 0 it falls along a line in X with a corner
//! before that. With b < 0 the region leaves X = 0 first and ends in a tip at a positive X.

use super::collocation::Outcome;
use super::interval::Interval;
use super::option::AmericanOption;
use super::premium::Piece;
use super::rules::{POINTS, gauss, points, reach_class};
use super::start::{Explicit, Side};
use super::stretch::Stretch;
use crate::american::settings::{COLLOCATION, REACHES, RECURSION, SAME, WINDOW};

impl Interval {
    /// ln of the X above which exercise of a put at `t` loses.
    pub(super) fn put_limit(&self, p: &AmericanOption, t: f64) -> f64 {
        let escrow = self.escrow(p, t);
        let pays = p.k - escrow;
        let earns = if p.b > 0.0 { p.r * p.k / p.b - escrow } else { f64::INFINITY };
        pays.min(earns).max(RECURSION.spot_least).ln()
    }

    /// What exercise at `t` gains over holding at X = 0.
    fn gain_at_zero(&self, p: &AmericanOption, t: f64) -> f64 {
        p.k - self.escrow(p, t) - (-p.r * (self.end - t)).exp() * self.premium.at_zero
    }

    /// The last time at which exercise at X = 0 gains.
    fn last_gain_at_zero(&self, p: &AmericanOption) -> f64 {
        let length = self.end - self.from;
        let mut after = self.end;
        for j in 1..=WINDOW.gain_scan {
            let t = self.end - length * (j as f64 / WINDOW.gain_scan as f64).powi(2);
            if self.gain_at_zero(p, t) > 0.0 {
                let (mut gains, mut loses) = (t, after);
                for _ in 0..WINDOW.gain_halvings {
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
    ///
    /// # Domain  the premium at the end of the interval is known
    /// # Source  docs/american.md, windows of puts
    pub(super) fn solve_window(&mut self, p: &AmericanOption) -> Outcome {
        let never = (p.b >= 0.0 && p.r <= 0.0) || (p.r < 0.0 && p.b >= p.r);
        if self.end - self.from < WINDOW.shortest || never {
            return Outcome::Solved;
        }
        let close = self.last_gain_at_zero(p);
        if p.b < 0.0 {
            return self.solve_island(p, close);
        }
        if close - self.from <= WINDOW.shortest || p.flow(f64::NEG_INFINITY, self.escrow(p, self.from)) <= 0.0 {
            return Outcome::Solved;
        }
        let gap = (self.end - close).max(WINDOW.gap_least);
        let corner = if p.b > 0.0 { self.corner(p, close) } else { close };
        let late = close - corner;
        let anywhere = f64::NEG_INFINITY;
        let is_late = late > WINDOW.late_part * (close - self.from);
        let is_sharp = corner <= self.from || p.width(late) < WINDOW.round_corner;
        if !(is_late && is_sharp) {
            let to = if is_late { close } else { corner };
            let early = self.open(self.from, to, gap, WINDOW.reach_early, anywhere, None);
            return self.finish(p, early);
        }
        let corner = if corner - self.from < WINDOW.early_part * late { self.from } else { corner };
        let mut last = self.open(corner, close, gap, WINDOW.reach_late, anywhere, None);
        last.is_late = p.b > 0.0;
        if corner <= self.from {
            return self.finish(p, last);
        }
        let mut last = self.started(p, last);
        let outcome = self.solve_stretch(p, &mut last);
        let nodes = last.nodes(|t| self.cost(p, t));
        self.later.extend(&nodes);
        let early = self.open(self.from, corner, gap, WINDOW.reach_early, last.ln_b[0] - 1.0, Some(last.ln_b[0]));
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
        let x = self.gain_at_zero(p, t) / (1.0 + slope * (-p.b * (self.end - t)).exp()).max(SAME.divisor);
        x.max(SAME.divisor).ln()
    }

    /// The time of the corner of a boundary with b > 0: until then it follows the value of holding, from then on the
    /// [line](Self::line).
    fn corner(&self, p: &AmericanOption, close: f64) -> f64 {
        let is_before =
            |t: f64| self.hold_less_payoff(p, self.line(p, t), t)[0] > WINDOW.corner * self.gain_at_zero(p, t);
        if !is_before(self.from) {
            return self.from;
        }
        let at = |m: f64| close - (close - self.from) * (-m).exp();
        let (mut before, mut after) = (0.0, WINDOW.corner_most);
        for _ in 0..WINDOW.corner_steps {
            let middle = 0.5 * (before + after);
            *(if is_before(at(middle)) { &mut before } else { &mut after }) = middle;
        }
        at(0.5 * (before + after))
    }

    /// With b < 0: the region ends in a tip, and leaves X = 0 at `close`, before it.
    fn solve_island(&mut self, p: &AmericanOption, close: f64) -> Outcome {
        let Some((tip, at)) = self.tip(p, close) else { return Outcome::Solved };
        if tip - self.from < WINDOW.shortest {
            return Outcome::Solved;
        }
        let opens = close.max(self.from);
        let length = tip - opens;
        if length > SAME.date {
            let below = Side { upper: false, lo: at - WINDOW.lower, hi: at };
            let mut guess = at;
            for (u, w) in gauss(WINDOW.lower_nodes) {
                let t = tip - length * u * u;
                if tip - t > SAME.instant {
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
        let window = self.open(self.from, tip, (self.end - tip).max(WINDOW.gap_least), WINDOW.reach_early, at, None);
        self.finish(p, window)
    }

    /// The last time of exercise and ln X there; `None`: there is none.
    ///
    /// # Domain    puts with b < 0; one region
    /// # Accuracy  `WINDOW.tip_found` of the interval
    fn tip(&self, p: &AmericanOption, close: f64) -> Option<(f64, f64)> {
        let length = self.end - self.from;
        let top = (p.k - self.escrow(p, self.end - WINDOW.before_end * length)).max(RECURSION.spot_least).ln();
        let depth = (p.width(p.t) * WINDOW.tip_deviations + WINDOW.tip_extra).min(WINDOW.tip_deepest);
        // the x at which holding exceeds the payoff least, by Newton's method on the slope
        let least = |t: f64, from: f64| {
            let (mut x, deviation) = (from, p.width(self.end - t));
            let holding = self.holding(p, t);
            for _ in 0..WINDOW.least_steps {
                let at = holding.less_payoff(p, self, x);
                let newton = if at[2] > 0.0 { -at[1] / at[2] } else { -deviation * at[1].signum() };
                let step = newton.clamp(-WINDOW.least_step * deviation, WINDOW.least_step * deviation);
                x = (x + step).min(top);
                if step.abs() < WINDOW.least_found * deviation {
                    break;
                }
            }
            (x, holding.less_payoff(p, self, x))
        };
        let scan = (0..=WINDOW.tip_scan).map(|j| top - depth * (j as f64 / WINDOW.tip_scan as f64).powi(2));
        let (mut x, lowest) =
            scan.map(|x| (x, self.hold_less_payoff(p, x, self.from)[0])).min_by(|a, b| a.1.total_cmp(&b.1))?;
        if lowest >= 0.0 || lowest.is_nan() {
            return None;
        }
        let (mut gains, mut loses) = (self.from, self.end - WINDOW.before_end * length);
        let mut t = close.max(self.from);
        for _ in 0..WINDOW.tip_steps {
            let (there, at) = least(t, x);
            if at[0] < 0.0 {
                (gains, x) = (t, there);
            } else {
                loses = t;
            }
            let newton = t - at[0] / self.by_time(p, there, t, &at);
            let next = if newton > gains && newton < loses { newton } else { 0.5 * (gains + loses) };
            let settled = (next - t).abs() < WINDOW.tip_found * length.max(WINDOW.tip_length_least);
            t = next;
            if settled {
                x = there;
                break;
            }
        }
        Some((t, x))
    }

    /// A part of a window, before its boundary has a start.
    fn open(&self, from: f64, to: f64, gap: f64, least: f64, lowest: f64, join: Option<f64>) -> WindowPart {
        let reach = ((to - from) / (WINDOW.resolved * gap)).ln().max(0.0).sqrt().clamp(least, WINDOW.reach_most);
        WindowPart { from, to, reach: reach_class(reach), lowest, join, is_late: false }
    }

    /// The part with the explicit boundary, shifted to meet what follows.
    fn started(&self, p: &AmericanOption, part: WindowPart) -> Stretch {
        let WindowPart { from, to, reach, lowest, join, is_late } = part;
        let mut stretch = Stretch { from, to, reach, ln_b: [0.0; POINTS], tail: [0.0; 3], pace: None };
        let reach = REACHES[reach];
        let mut guess: Option<f64> = None;
        let mut at = |eta: f64| {
            let t = (to - (to - from) * (-eta * eta).exp()).min(to - SAME.instant);
            let top = self.put_limit(p, t);
            let side = Side { upper: true, lo: lowest.max(top - WINDOW.deepest), hi: top };
            let near = if is_late { Some(self.line(p, t)) } else { guess };
            let near = near.and_then(|guess| self.explicit_near(p, t, to, guess, side));
            let found = near.unwrap_or_else(|| self.explicit(p, t, to, side));
            guess = Some(found.ln_b);
            found
        };
        let shift = join.map_or(0.0, |join| join - at(WINDOW.join).ln_b);
        let explicit: [Explicit; POINTS] = points().map(|u| at(u * reach));
        stretch.tail = [0.0, 1.0, 2.0].map(|steps| at(reach + steps * COLLOCATION.tail_step).ln_b + shift);
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
