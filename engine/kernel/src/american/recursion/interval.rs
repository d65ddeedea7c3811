//! The time between two ex-dates: the value of holding to its end, and of exercise before it.

use super::flow::{AmericanOption, FlowMoment, Flows, Slopes};
use super::stretch::{Curve, Stretch, spot_class, spot_rule};
use crate::american::at_date::{DatePremium, Wait};
use crate::american::settings::COLLOCATION;
use crate::black76::European;
use crate::greeks::by_time;
use std::cell::OnceCell;

/// A spot integrates along the boundary of a put's next interval by its own distance where the ex-date is nearer than
/// this; else at the moments that all earlier values share (part of the next interval).
const NEXT_NEAR: f64 = 0.1;
/// Step of the difference for the fourth slope in x (deviations until the date). Its error is of fourth order.
const FOURTH_STEP: f64 = 0.02;

/// The time from an ex-date (or now) to the next (or expiry), and where the option is exercised within it.
#[derive(Clone)]
pub(super) struct Interval {
    /// Years from now to its ends.
    pub(super) from: f64,
    pub(super) end: f64,
    /// The premium of a call right before `end`; `None`: it is 0.
    pub(super) premium: Option<DatePremium<f64>>,
    /// Dividends to come, as of right before `end`.
    escrow_at_end: f64,
    /// Value of a put that is held to the end of the interval at X = 0, and its slope in X there, both as of now.
    pub(super) at_zero: [f64; 2],
    /// Exercise gains of a put after `end`.
    pub(super) ahead: Vec<FlowMoment>,
    /// Exercise gains of a put after `end`, without those along the boundary of the next interval.
    pub(super) beyond: Vec<FlowMoment>,
    /// The next interval of a put, where a spot may lie close to its boundary.
    pub(super) next: Option<Box<Self>>,
    /// The time from which, for values before the interval, the window closes along a line; `None`: it does not, or the
    /// boundary is solved up to that time only.
    pub(super) cut: Option<f64>,
    /// Moments along solved parts of the boundary that begin after `from`.
    pub(super) later: Vec<FlowMoment>,
    /// The boundary from `from` on, where there is one.
    pub(super) stretch: Option<Stretch>,
    /// ln B at `from` of the second boundary; `None`: the region has one boundary.
    pub(super) other: Option<f64>,
}

impl Interval {
    /// The interval from ex-date number `first` − 1 (0: now) to number `first` (or expiry).
    pub(super) fn new(
        p: &AmericanOption,
        first: usize,
        [from, end]: [f64; 2],
        premium: Option<DatePremium<f64>>,
    ) -> Self {
        let escrow_at_end = p.divs[first..].iter().map(|d| d.amount * (-(p.r - p.b) * (d.t - end)).exp()).sum();
        Self {
            from,
            end,
            premium,
            escrow_at_end,
            at_zero: [p.k * (-p.r * p.t).exp(), -(-p.b * p.t).exp()],
            ahead: Vec::new(),
            beyond: Vec::new(),
            next: None,
            cut: None,
            later: Vec::new(),
            stretch: None,
            other: None,
        }
    }

    /// The interval with an earlier begin: there is no exercise at the ex-date number `first`, nor right before or
    /// after.
    pub(super) fn prolonged(self, p: &AmericanOption, first: usize, from: f64) -> Self {
        Self::new(p, first, [from, self.end], self.premium)
    }

    /// Dividends to come at `t`, A(t).
    pub(super) fn escrow(&self, p: &AmericanOption, t: f64) -> f64 {
        if self.escrow_at_end == 0.0 { 0.0 } else { self.escrow_at_end * (-(p.r - p.b) * (self.end - t)).exp() }
    }

    /// Yearly cost of exercise at X = 0, rK − bA(t).
    pub(super) fn cost(&self, p: &AmericanOption, t: f64) -> f64 {
        p.r * p.k - p.b * self.escrow(p, t)
    }

    /// The value of holding from `t` to the end of the interval, ready for any x.
    pub(super) fn holding(&self, p: &AmericanOption, t: f64) -> Holding {
        self.holding_with(p, t, &self.ahead)
    }

    fn holding_with(&self, p: &AmericanOption, t: f64, ahead: &[FlowMoment]) -> Holding {
        let left = self.end - t;
        Holding {
            european: p.european(p.t - t),
            wait: (self.premium.is_some() && left > 0.0).then(|| Wait::new(left, p.t - self.end).accurate()),
            ahead: Flows::new(p, ahead, t),
            paid: p.phi * (self.escrow(p, t) - p.k),
        }
    }

    /// Value of holding less the payoff of exercise.
    pub(super) fn hold_less_payoff(&self, p: &AmericanOption, x: f64, t: f64) -> Slopes {
        self.holding(p, t).less_payoff(p, self, x)
    }

    /// Time derivative of the value of holding less the payoff, from itself and two slopes by the pricing equation.
    pub(super) fn by_time(&self, p: &AmericanOption, x: f64, t: f64, at: [f64; 3]) -> f64 {
        let (escrow, spot) = (self.escrow(p, t), p.phi * x.exp());
        let held = [at[0] + p.phi * (escrow - p.k) + spot, at[1] + spot, at[2] + spot];
        by_time(p.r, p.b, 0.5 * p.sigma * p.sigma, held) - escrow * ((p.r - p.b) * p.phi)
    }

    /// The valuation at `t`, ready for any x.
    pub(super) fn valuation<'a>(&'a self, p: &'a AmericanOption, t: f64) -> Valuation<'a> {
        let is_near = |next: &&Self| next.from - t < NEXT_NEAR * (next.end - next.from);
        let next = self.next.as_deref().filter(is_near).and_then(|next| StretchFlow::new(p, next, t));
        let holding = self.holding_with(p, t, if next.is_some() { &self.beyond } else { &self.ahead });
        let stretches = [StretchFlow::new(p, self, t), next];
        Valuation { p, interval: self, t, holding, later: Flows::new(p, &self.later, t), stretches }
    }
}

/// The value of holding from one time to the end of an interval, as a function of x.
pub(super) struct Holding {
    european: European<f64>,
    /// The wait until the end of the interval; `None`: the premium there is 0.
    wait: Option<Wait>,
    /// Exercise of a put after the interval.
    ahead: Flows,
    /// The part of the payoff of exercise that does not depend on x.
    paid: f64,
}

impl Holding {
    /// Value and slopes at x.
    pub(super) fn value(&self, p: &AmericanOption, interval: &Interval, x: f64) -> Slopes {
        let mut out = self.european.slopes(x, x.exp());
        self.add_later(p, interval, x, &mut out);
        out
    }

    /// Adds the premium of exercise at the end of the interval and later, with its first three slopes.
    fn add_later(&self, p: &AmericanOption, interval: &Interval, x: f64, to: &mut Slopes) {
        if let (Some(at), Some(wait)) = (&interval.premium, &self.wait) {
            to.iter_mut().zip(at.expected::<true, f64>(wait, x)).for_each(|(to, part)| *to += part);
        }
        self.ahead.add(p, x, to);
    }

    /// Value less the payoff of exercise, and its slopes, at x.
    pub(super) fn less_payoff(&self, p: &AmericanOption, interval: &Interval, x: f64) -> Slopes {
        let mut out = self.value(p, interval, x);
        let spot = p.phi * x.exp();
        out[0] -= self.paid + spot;
        out[1..].iter_mut().for_each(|slope| *slope -= spot);
        out
    }
}

/// Valuation at one time within an interval, as a function of x.
pub(super) struct Valuation<'a> {
    p: &'a AmericanOption,
    interval: &'a Interval,
    t: f64,
    holding: Holding,
    later: Flows,
    /// Exercise along the boundary of the interval, and along that of the next one.
    stretches: [Option<StretchFlow<'a>>; 2],
}

impl Valuation<'_> {
    /// Value and slopes: holding, and exercise from `t` on. Undefined on the exercise side of the boundary.
    pub(super) fn value(&self, x: f64) -> Slopes {
        let mut out = self.holding.value(self.p, self.interval, x);
        self.exercise(x, &mut out);
        out
    }

    /// Premium over the European value, and its slope in x.
    pub(super) fn premium(&self, x: f64) -> [f64; 2] {
        let mut out = [0.0; 5];
        self.holding.add_later(self.p, self.interval, x, &mut out);
        self.exercise(x, &mut out);
        [out[0], out[1]]
    }

    /// The fourth slope in x of the premium at the end of the interval, which values leave out: a difference of the
    /// third.
    pub(super) fn fourth_of_date(&self, x: f64) -> f64 {
        let (Some(at), Some(wait)) = (&self.interval.premium, &self.holding.wait) else { return 0.0 };
        let step = FOURTH_STEP * self.p.sigma * wait.root();
        let third = |n: f64| at.expected::<true, f64>(wait, x + n * step)[3];
        (8.0 * (third(1.0) - third(-1.0)) - (third(2.0) - third(-2.0))) / (12.0 * step)
    }

    /// Adds the value of exercise between `t` and the end of the interval.
    pub(super) fn exercise(&self, x: f64, to: &mut Slopes) {
        self.later.add(self.p, x, to);
        for stretch in self.stretches.iter().flatten() {
            stretch.add(self.p, self.t, x, to);
        }
    }
}

/// Flow of exercise along the stretch of an interval, seen from one time before its end.
struct StretchFlow<'a> {
    interval: &'a Interval,
    curve: Curve<'a>,
    /// Begin of the flow: that of the stretch, or the time itself if later.
    from: f64,
    /// Years from `from` to the end of the stretch, and η² at `from`.
    left: f64,
    eta2: f64,
    /// ln B at `from`, and the standard deviation of ln X over `left`.
    ln_b: f64,
    deviation: f64,
    /// The wait until `from` as a part of `left`.
    ahead: f64,
    /// Moments of the flow, by class of distance from the boundary.
    flows: [OnceCell<Flows>; COLLOCATION.distances],
}

impl<'a> StretchFlow<'a> {
    fn new(p: &AmericanOption, interval: &'a Interval, t: f64) -> Option<Self> {
        let stretch = interval.stretch.as_ref()?;
        let from = t.max(stretch.from);
        let left = stretch.to - from;
        let eta2 = ((stretch.to - stretch.from) / left).ln().max(0.0);
        let curve = stretch.curve();
        (left > 0.0).then(|| Self {
            interval,
            from,
            left,
            eta2,
            ln_b: curve.at(eta2.sqrt()),
            curve,
            deviation: p.width(left),
            ahead: (from - t) / left,
            flows: Default::default(),
        })
    }

    /// Adds value and slopes of the flow at x and the time `t`.
    fn add(&self, p: &AmericanOption, t: f64, x: f64, to: &mut Slopes) {
        let class = spot_class((x - self.ln_b).abs() / self.deviation, self.ahead);
        self.flows[class].get_or_init(|| Flows::new(p, &self.moments(p, class), t)).add(p, x, to);
    }

    fn moments(&self, p: &AmericanOption, class: usize) -> Vec<FlowMoment> {
        let mut nodes = Vec::new();
        for (xi, wait, weight) in spot_rule(class) {
            let time = self.from + self.left * wait;
            let ln_b = self.curve.at((self.eta2 + xi * xi).sqrt());
            let cost = self.interval.cost(p, time);
            nodes.push(FlowMoment { time, ln_b, cost, pay: p.b, weight: self.left * weight });
        }
        nodes
    }
}
