//! Time between two ex-dates, or between the last one and expiry, in which exercise pays. Never: a boundary.

use super::between_grid::FALLING_CELLS;
use super::between_grid::{BetweenGrid, Fineness, GridNode, GridPoint};
use crate::american::at_date::Wait;
use crate::american::moment::Moment;
use crate::american::settings::SAME;
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::lanes::{InLanes, Lanes};

/// The end of a window of puts that closes before a date, where the boundary runs away to 0. `T`: of one strike, or per
/// lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosingWindow<T = f64> {
    pub(super) fineness: Fineness,
    /// Years from now to the date.
    pub(super) date: f64,
    pub(super) strike: T,
    /// Payoff at X = 0 of exercise right after the date.
    pub(super) paid: T,
}

/// A stretch of time without ex-dates. `T`: times shared by all lanes, or per lane.
pub(super) struct TimeBetween<T = f64> {
    /// +1 call, −1 put.
    pub(super) phi: f64,
    pub(super) rates: [f64; 2],
    /// Length in years.
    pub(super) length: T,
    /// The window that closes at the end of the stretch; `None`: the boundary approaches an end.
    pub(super) window: Option<ClosingWindow<T>>,
    /// Years from the end of the stretch to the next date.
    after: T,
    /// Dividends to come right before the end of the stretch.
    pub(super) escrow: T,
    /// Years from the end of the stretch to expiry.
    pub(super) tau: T,
    pub(super) from_points: Vec<FromPoint<T>>,
}

/// The stretch from a collocation point on.
pub(super) struct FromPoint<T = f64> {
    /// Years to the end of the stretch.
    pub(super) left: T,
    /// Dividends to come.
    pub(super) escrow: T,
    /// The wait until the next date; `None`: expiry is next.
    pub(super) wait: Option<Wait<T>>,
    pub(super) moments: Vec<Moment<T>>,
}

/// Dividends to come at `wait` years after `from`, if no ex-date lies between.
pub(super) fn to_come<T: Lanes>(terms: &Terms, from: f64, wait: T) -> T {
    // the dividend of the date `from` counts as paid, although rounding may put it a moment later
    exp(wait * (terms.r - terms.b)) * terms.a(from + SAME.date)
}

impl<T: Lanes> FromPoint<T> {
    /// √(years until the next date, or expiry).
    pub(super) fn until_date<L: Lanes>(&self) -> L
    where
        T: InLanes<L>,
    {
        self.wait.as_ref().map_or(self.left.sqrt(), Wait::root).in_lanes()
    }
}

impl TimeBetween {
    /// The stretch until a date or expiry.
    ///
    /// # Domain  no ex-date within it at which anything is exercised
    pub(super) fn to_date(phi: f64, terms: &Terms, from: f64, to: f64) -> Self {
        Self::new(phi, terms, [from, to], to, None, BetweenGrid::at_date())
    }
}

impl<L: Lanes> TimeBetween<L> {
    /// The window of puts with b < 0 until its tip, at `tip` years from now.
    pub(super) fn to_tip(terms: &Terms, from: f64, tip: L, date: f64, grid: &BetweenGrid) -> Self {
        Self::new(-1.0, terms, [from, date], tip, None, grid)
    }
}

impl<T: Lanes> TimeBetween<T> {
    /// The window of puts until it closes.
    pub(super) fn to_close(terms: &Terms, from: f64, close: T, end: ClosingWindow<T>) -> Self {
        let grid = BetweenGrid::running_away(FALLING_CELLS, end.fineness);
        Self::new(-1.0, terms, [from, end.date], close, Some(end), grid)
    }

    /// The line of exercise against waiting in the last `life` years of a window; `None`: no window closes.
    pub(super) fn lines(&self, life: T) -> Option<Lines<T>> {
        let ([r, b], wait, end) = (self.rates, self.after + life, self.window?);
        let share = exp(wait * -b);
        Some(Lines { strike: end.strike, escrow: self.escrow(life), paid: end.paid * exp(wait * -r), share, wait, b })
    }

    /// The stretch from the first of `ends` to `to`; the second of `ends` is the next date. Years from now.
    ///
    /// # Domain  no ex-date between `from` and the date at which anything is exercised
    fn new(
        phi: f64,
        terms: &Terms,
        ends: [f64; 2],
        to: T,
        window: Option<ClosingWindow<T>>,
        grid: &BetweenGrid,
    ) -> Self {
        let Terms { t, r, b, .. } = *terms;
        let [from, date] = ends;
        let c = T::splat;
        let (length, after) = (to - from, c(date) - to);
        let stretch = Self {
            phi,
            rates: [r, b],
            length,
            window,
            after,
            escrow: to_come(terms, from, length),
            tau: c(t) - to,
            from_points: Vec::new(),
        };
        let seen = |point: &GridPoint| {
            let left = length * (-point.eta * point.eta).exp();
            let wait = (date < t).then(|| Wait::new(after + left, t - date));
            let moments = window.map_or_else(|| stretch.moments(&point.nodes, left).collect(), |_| Vec::new());
            FromPoint { left, escrow: stretch.escrow(left), wait, moments }
        };
        Self { from_points: grid.points.iter().map(seen).collect(), ..stretch }
    }

    /// The dividends to come `left` years before the end.
    pub(super) fn escrow(&self, left: T) -> T {
        let [r, b] = self.rates;
        self.escrow * exp(left * (b - r))
    }

    /// Moments of exercise in the last `life` years before the end, as seen `life` years before it.
    pub(super) fn moments<'a>(&self, nodes: &'a [GridNode], life: T) -> impl Iterator<Item = Moment<T>> + use<'a, T> {
        let (rates, escrow) = (self.rates, self.escrow(life));
        nodes.iter().map(move |node| Moment::new(rates, life * node.wait, life * node.weight, escrow))
    }
}

/// Value of exercise over waiting for the date, at one time of a window and low X: the line gain − borrow·X.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<T = f64> {
    /// Gain from exercise at X = 0.
    pub(super) gain: T,
    /// Loss by exercise per unit of X.
    pub(super) borrow: T,
    /// ln of the X at which gain and loss are equal.
    pub(super) edge: T,
    /// √(years until the date).
    pub(super) root: T,
}

impl<T: Lanes> Line<T> {
    /// The line `wait` years before the date.
    fn new(gain: T, borrow: T, b: f64, wait: T) -> Self {
        let gain = gain.max(T::splat(SAME.divisor));
        let edge = if b == 0.0 { T::splat(f64::INFINITY) } else { ln(gain / borrow.abs()) };
        Self { gain, borrow, edge, root: wait.sqrt() }
    }
}

/// The lines of exercise against waiting from one time of a window on.
pub(super) struct Lines<T = f64> {
    strike: T,
    /// The dividends to come.
    escrow: T,
    /// Payoff at X = 0 of exercise right after the date, discounted.
    paid: T,
    /// Value now of a unit of X at the date.
    share: T,
    /// Years until the date.
    wait: T,
    b: f64,
}

impl<T: Lanes> Lines<T> {
    /// The line at that time.
    pub(super) fn now(&self) -> Line<T> {
        Line::new(self.strike - self.escrow - self.paid, T::splat(1.0) - self.share, self.b, self.wait)
    }

    /// The line at a later moment.
    pub(super) fn at(&self, moment: &Moment<T>) -> Line<T> {
        let gain = self.strike - self.escrow / moment.carry - self.paid / moment.discount;
        let share = self.share * moment.carry / moment.discount;
        Line::new(gain, T::splat(1.0) - share, self.b, self.wait - moment.root * moment.root)
    }
}
