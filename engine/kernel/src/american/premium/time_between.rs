//! The time between two ex-dates, or between the last one and expiry, in which exercise pays: what all lanes share.
//! Never: a boundary.

use super::at_date::Wait;
use super::between_grid::{BetweenGrid, GridNode, GridPoint};
use super::falling::{Fineness, Line};
use crate::american::settings::{FALLING, SAME};
use crate::dividends::Terms;

/// How a boundary ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StretchEnd {
    /// With the stretch, at a date or at expiry.
    AtDate,
    /// It runs away to 0 before a date: a put's window closes.
    RunsAway(WindowEnd),
}

/// The date that a window of puts with one strike closes before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WindowEnd {
    pub(super) fineness: Fineness,
    /// Years from now.
    pub(super) date: f64,
    pub(super) strike: f64,
    /// What exercise right after the date pays at X = 0.
    pub(super) paid: f64,
}

/// A stretch of time without ex-dates, as all lanes see it.
pub(super) struct TimeBetween {
    /// +1 call, −1 put.
    pub(super) phi: f64,
    pub(super) rates: [f64; 2],
    /// How long it lasts, years.
    pub(super) length: f64,
    pub(super) end: StretchEnd,
    /// Years from its end to the date that follows.
    pub(super) after: f64,
    /// Dividends to come right before its end.
    pub(super) escrow: f64,
    /// Years from its end to expiry; 0: it ends with the option.
    pub(super) tau: f64,
    pub(super) from_points: Vec<FromPoint>,
}

/// What follows a collocation point.
pub(super) struct FromPoint {
    /// Years to the end, and the dividends to come.
    pub(super) left: f64,
    pub(super) escrow: f64,
    pub(super) line: Option<Line>,
    /// The date at the end; `None`: the stretch ends with the option.
    pub(super) wait: Option<Wait>,
    pub(super) moments: Vec<SeenMoment>,
}

/// A moment of exercise as seen from one time.
pub(super) struct SeenMoment {
    /// √wait and 1 over it.
    pub(super) root: f64,
    pub(super) inv_root: f64,
    /// (r − b)·wait, e^(−(r − b)·wait), e^(−r·wait).
    pub(super) drift: f64,
    pub(super) carry: f64,
    pub(super) discount: f64,
    /// weight·e^(−r·wait), weight·b·e^(−b·wait).
    pub(super) cash: f64,
    pub(super) stock: f64,
    /// b·A: what dividends make exercise lose less, a year.
    pub(super) spared: f64,
}

impl FromPoint {
    /// √(years until the date, or expiry).
    pub(super) fn until_date(&self) -> f64 {
        self.wait.as_ref().map_or(self.left.sqrt(), Wait::root)
    }
}

impl TimeBetween {
    /// That between two times, years from now.
    ///
    /// # Domain  no ex-date between them at which anything is exercised
    pub(super) fn new(phi: f64, terms: &Terms, from: f64, to: f64, end: StretchEnd) -> Self {
        let Terms { t, r, b, .. } = *terms;
        let length = to - from;
        let date = match end {
            StretchEnd::AtDate => to,
            StretchEnd::RunsAway(end) => end.date,
        };
        let ends = end == StretchEnd::AtDate;
        let last = terms.a(to - SAME.instant);
        let stretch = Self {
            phi,
            rates: [r, b],
            length,
            end,
            after: date - to,
            escrow: last,
            tau: t - to,
            from_points: Vec::new(),
        };
        let seen = |point: &GridPoint| {
            let left = length * (-point.eta * point.eta).exp();
            let wait = (date < t).then(|| Wait::new(date - to + left, t - date));
            let moments = if ends { stretch.moments(&point.nodes, left).collect() } else { Vec::new() };
            let line = stretch.lines(left).map(|lines| lines.now());
            FromPoint { left, escrow: stretch.escrow(left), line, wait, moments }
        };
        let grid = match end {
            StretchEnd::AtDate => BetweenGrid::at_date(),
            StretchEnd::RunsAway(end) => BetweenGrid::running_away(FALLING.cells, end.fineness),
        };
        Self { from_points: grid.points.iter().map(seen).collect(), ..stretch }
    }

    /// The dividends to come `left` years before the end.
    pub(super) fn escrow(&self, left: f64) -> f64 {
        let [r, b] = self.rates;
        self.escrow * (-(r - b) * left).exp()
    }

    /// What counts at X = 0 in the last `life` years of a window; `None`: the boundary has an end.
    pub(super) fn lines(&self, life: f64) -> Option<Lines> {
        let StretchEnd::RunsAway(end) = self.end else { return None };
        let ([r, b], wait) = (self.rates, self.after + life);
        let share = (-b * wait).exp();
        Some(Lines { strike: end.strike, escrow: self.escrow(life), paid: end.paid * (-r * wait).exp(), share, wait })
    }

    /// Moments of exercise in the last `life` years, as seen from their begin.
    pub(super) fn moments<'a>(&self, nodes: &'a [GridNode], life: f64) -> impl Iterator<Item = SeenMoment> + 'a {
        let ([r, b], escrow) = (self.rates, self.escrow(life));
        nodes.iter().map(move |node| {
            let (wait, weight) = (life * node.wait, life * node.weight);
            let (drift, discount) = ((r - b) * wait, (-r * wait).exp());
            let (root, carry) = (wait.sqrt(), (-drift).exp());
            SeenMoment {
                root,
                inv_root: 1.0 / root,
                drift,
                carry,
                discount,
                cash: weight * discount,
                stock: weight * b * discount / carry,
                spared: b * escrow / carry,
            }
        })
    }
}

/// What counts at X = 0 from one time of a window on.
pub(super) struct Lines {
    strike: f64,
    /// The dividends to come.
    escrow: f64,
    /// What exercise right after the date pays, discounted, and a unit of X then.
    paid: f64,
    share: f64,
    /// Years until the date.
    wait: f64,
}

impl Lines {
    /// At the time itself.
    pub(super) fn now(&self) -> Line {
        Line::new(self.strike - self.escrow - self.paid, 1.0 - self.share, self.wait)
    }

    /// At a moment after it.
    pub(super) fn at(&self, moment: &SeenMoment) -> Line {
        let gain = self.strike - self.escrow / moment.carry - self.paid / moment.discount;
        let share = self.share * moment.carry / moment.discount;
        Line::new(gain, 1.0 - share, self.wait - moment.root * moment.root)
    }
}
