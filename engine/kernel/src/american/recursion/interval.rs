//! The time between two ex-dates: the value of holding to its end, and of exercise before it.

use super::flow::{FlowMoment, FlowNodes, Flows};
use super::option::{AmericanOption, EuropeanValue, Slopes};
use super::premium::{DatePremium, Kernel};
use super::rules::SpotRule;
use super::stretch::{Curve, Stretch};
use crate::american::settings::{COLLOCATION, RECURSION};
use std::cell::OnceCell;

/// The time from an ex-date (or now) to the next (or expiry), and where the option is exercised within it.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    /// Years from now to its ends.
    pub(super) from: f64,
    pub(super) end: f64,
    /// The premium of a call right before `end`.
    pub(super) premium: DatePremium,
    /// Dividends to come, as of right before `end`.
    escrow_at_end: f64,
    /// Value of a put that is held to the end of the interval at X = 0, and its slope in X there, both as of now.
    pub(super) at_zero: [f64; 2],
    /// What a put earns by exercise after `end`; and the same without that along the boundary of the next interval.
    pub(super) ahead: FlowNodes,
    pub(super) beyond: FlowNodes,
    /// The next interval of a put, where a spot may lie close to its boundary.
    pub(super) next: Option<Box<Self>>,
    /// From when on, for values before the interval, the window closes along a line; `None`: it does not, or the
    /// boundary is solved until then only.
    pub(super) cut: Option<f64>,
    /// Parts of the boundary that are solved and begin after `from`.
    pub(super) later: FlowNodes,
    /// The boundary from `from` on, where there is one.
    pub(super) stretch: Option<Stretch>,
    /// ln B of the other boundary at `from`, of a region that has two.
    pub(super) other: Option<f64>,
}

impl Interval {
    /// The interval from ex-date number `first` − 1 (0: now) to number `first` (or expiry).
    pub(super) fn new(p: &AmericanOption, first: usize, from: f64, premium: DatePremium) -> Self {
        let end = premium.t;
        let escrow_at_end = p.divs[first..].iter().map(|d| d.amount * (-(p.r - p.b) * (d.t - end)).exp()).sum();
        Self {
            from,
            end,
            premium,
            escrow_at_end,
            at_zero: [p.k * (-p.r * p.t).exp(), -(-p.b * p.t).exp()],
            ahead: FlowNodes::default(),
            beyond: FlowNodes::default(),
            next: None,
            cut: None,
            later: FlowNodes::default(),
            stretch: None,
            other: None,
        }
    }

    /// The same interval with an earlier begin: nothing is exercised at the ex-date number `first` or around it.
    pub(super) fn prolonged(self, p: &AmericanOption, first: usize, from: f64) -> Self {
        Self::new(p, first, from, self.premium)
    }

    /// Dividends to come at `t`, A(t).
    pub(super) fn escrow(&self, p: &AmericanOption, t: f64) -> f64 {
        if self.escrow_at_end == 0.0 { 0.0 } else { self.escrow_at_end * (-(p.r - p.b) * (self.end - t)).exp() }
    }

    /// rK − bA(t): what the holder loses by exercise, a year, beside the yield on X.
    pub(super) fn cost(&self, p: &AmericanOption, t: f64) -> f64 {
        p.r * p.k - p.b * self.escrow(p, t)
    }

    /// Holding from `t` to the end of the interval, for any x.
    pub(super) fn holding(&self, p: &AmericanOption, t: f64) -> Holding {
        self.holding_with(p, t, &self.ahead)
    }

    fn holding_with(&self, p: &AmericanOption, t: f64, ahead: &FlowNodes) -> Holding {
        let left = self.end - t;
        let kernel = !self.premium.pieces.is_empty() && left > 0.0;
        Holding {
            european: p.european(p.t - t),
            kernel: kernel.then(|| Kernel::new(p, left, p.t - self.end)),
            ahead: ahead.from(p, t),
            paid: p.phi * (self.escrow(p, t) - p.k),
        }
    }

    /// Value of holding less the payoff of exercise.
    pub(super) fn hold_less_payoff(&self, p: &AmericanOption, x: f64, t: f64) -> Slopes {
        self.holding(p, t).less_payoff(p, self, x)
    }

    /// The time derivative of the value of holding less the payoff; it follows from its slopes by the pricing equation.
    pub(super) fn by_time(&self, p: &AmericanOption, x: f64, t: f64, at: &Slopes) -> f64 {
        let (escrow, spot) = (self.escrow(p, t), p.phi * x.exp());
        let (w, w1, w2) = (at[0] + p.phi * (escrow - p.k) + spot, at[1] + spot, at[2] + spot);
        let half = 0.5 * p.sigma * p.sigma;
        p.r * w - (p.r - p.b - half) * w1 - half * w2 - p.phi * (p.r - p.b) * escrow
    }

    /// The interval as seen from `t`, for any x.
    pub(super) fn seen_from<'a>(&'a self, p: &'a AmericanOption, t: f64) -> SeenFrom<'a> {
        let is_near = |next: &&Self| next.from - t < RECURSION.next_near * (next.end - next.from);
        let next = self.next.as_deref().filter(is_near).and_then(|next| SeenStretch::new(p, next, t));
        let holding = self.holding_with(p, t, if next.is_some() { &self.beyond } else { &self.ahead });
        let stretches = [SeenStretch::new(p, self, t), next];
        SeenFrom { p, interval: self, t, holding, later: self.later.from(p, t), stretches }
    }
}

/// Holding from one time to the end of an interval.
pub(super) struct Holding {
    european: EuropeanValue,
    /// `None`: the interval ends with no premium.
    kernel: Option<Kernel>,
    /// Exercise after the interval.
    ahead: Flows,
    /// The part of the payoff of exercise that does not depend on x.
    paid: f64,
}

impl Holding {
    /// The value at e^x.
    pub(super) fn value(&self, p: &AmericanOption, interval: &Interval, x: f64) -> Slopes {
        let mut out = self.european.at(x, x.exp());
        if let Some(kernel) = &self.kernel {
            interval.premium.expect(p, kernel, x, &mut out);
        }
        self.ahead.add(p, x, &mut out);
        out
    }

    /// The same less the payoff of exercise.
    pub(super) fn less_payoff(&self, p: &AmericanOption, interval: &Interval, x: f64) -> Slopes {
        let mut out = self.value(p, interval, x);
        let spot = p.phi * x.exp();
        out[0] -= self.paid + spot;
        out[1..].iter_mut().for_each(|slope| *slope -= spot);
        out
    }
}

/// An interval as seen from one time within it.
pub(super) struct SeenFrom<'a> {
    p: &'a AmericanOption,
    interval: &'a Interval,
    t: f64,
    holding: Holding,
    later: Flows,
    /// Of the interval and of the next one.
    stretches: [Option<SeenStretch<'a>>; 2],
}

impl SeenFrom<'_> {
    /// The value: of holding, and of exercise from `t` on. On the exercise side of the boundary it means nothing.
    pub(super) fn value(&self, x: f64) -> Slopes {
        let mut out = self.holding.value(self.p, self.interval, x);
        self.exercise(x, &mut out);
        out
    }

    /// Value and slope in x over those of the European option.
    pub(super) fn premium(&self, x: f64) -> (f64, f64) {
        let mut out = [0.0; 5];
        if let Some(kernel) = &self.holding.kernel {
            self.interval.premium.expect(self.p, kernel, x, &mut out);
        }
        self.holding.ahead.add(self.p, x, &mut out);
        self.exercise(x, &mut out);
        (out[0], out[1])
    }

    /// Adds what exercise between `t` and the end of the interval is worth.
    pub(super) fn exercise(&self, x: f64, to: &mut Slopes) {
        self.later.add(self.p, x, to);
        for stretch in self.stretches.iter().flatten() {
            stretch.add(self.p, self.t, x, to);
        }
    }
}

/// The stretch of an interval as seen from one time before its end.
struct SeenStretch<'a> {
    interval: &'a Interval,
    curve: Curve<'a>,
    /// Its begin or the time, the later one; what is left of it from there on, and η² there.
    from: f64,
    left: f64,
    eta2: f64,
    /// ln B at `from`, and the deviation of ln X over what is left.
    ln_b: f64,
    deviation: f64,
    /// The wait until `from`, as part of what is left.
    ahead: f64,
    /// As moments, for each class of distance from the boundary.
    flows: [OnceCell<Flows>; COLLOCATION.distances],
}

impl<'a> SeenStretch<'a> {
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

    /// Adds what exercise along it is worth at e^x at the time `t`.
    fn add(&self, p: &AmericanOption, t: f64, x: f64, to: &mut Slopes) {
        let class = SpotRule::class((x - self.ln_b).abs() / self.deviation, self.ahead);
        self.flows[class].get_or_init(|| self.moments(p, class).from(p, t)).add(p, x, to);
    }

    fn moments(&self, p: &AmericanOption, class: usize) -> FlowNodes {
        let rule = SpotRule::of(class);
        let mut nodes = FlowNodes::default();
        for ((xi, wait), weight) in rule.xi.iter().zip(&rule.wait).zip(&rule.weight) {
            let time = self.from + self.left * wait;
            let ln_b = self.curve.at((self.eta2 + xi * xi).sqrt());
            let cost = self.interval.cost(p, time);
            nodes.push(FlowMoment { time, ln_b, cost, pay: p.b, weight: self.left * weight });
        }
        nodes
    }
}
