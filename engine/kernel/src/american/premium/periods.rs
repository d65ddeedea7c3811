//! Inputs and solution of a table's date, and what the solution is made of: periods between two ex-dates, or from the
//! last one to expiry, and the premium at their begin. One strike and volatility a lane. Never: a boundary's search.

use super::between_dates::{ExerciseBoundary, Nearby};
use super::falling::Falling;
use super::series::{Lobatto, MOST_TERMS};
use super::time_between::{Fineness, TimeBetween};
use super::tip::Tip;
use crate::american::at_date::{DatePremium, Series, Wait};
use crate::american::moment::Flow;
use crate::american::settings::{BETWEEN, DATES, EVALUATE, REFERENCE};
use crate::black76::European;
use crate::dividends::Terms;
use crate::elementary::exp;
use crate::lanes::{InLanes, Lanes, Mask};
use std::sync::Arc;

/// Length of a series from which its terms grow in proportion (standard deviations). 4.5 below K − A, 5 above K.
const USUAL: f64 = 9.5;
/// Standard deviations below K − A down to which a series reaches.
const DATES_FAR: f64 = 4.5;
/// Standard deviations beyond which a premium counts as none or as a line in reference values; 9 leave as much.
pub(super) const REFERENCE_FAR: f64 = 7.5;
/// Lower bound of K − A where a series begins `DATES_FAR` below it (part of the strike).
pub(super) const FAR_LEAST: f64 = 0.3;
/// Standard deviations above K where a date at which nothing is exercised is cut in two.
const DATES_TOP: f64 = 5.0;
/// Step of ln X for the slope of a premium where a date is cut in two (standard deviations). The premium is a line in X
/// there.
const SLOPE_STEP: f64 = 1e-3;
/// Greatest difference of the lengths of two periods of which one starts from the other's boundary (part of a length).
/// Tables of monthly and weekly payers take 0.9 of the time for it.
const ALIKE: f64 = 0.3;
/// Step of the difference for the fourth slope in x (deviations until the date). Its error is of fourth order.
const FOURTH_STEP: f64 = 0.02;
/// Last terms of a series of reference values are dropped below this part of its largest term. A tenth of what
/// rounding leaves of a premium; each earlier date sums the terms some thousand times.
const ROUNDING: f64 = 1e-14;
/// Lower bound of the length of a series (standard deviations). A series over nothing divides by it.
const REACH_LEAST: f64 = 0.1;

/// The solution of one block at the date that a table describes.
pub(super) struct DateSolution<L: Lanes> {
    pub(super) k: L,
    pub(super) sigma: L,
    /// ln B: exercise is optimal from X = B on; NaN: nowhere.
    pub(super) boundary: L,
    /// True if any lane has a region of exercise.
    pub(super) is_exercised: bool,
    /// True if the region of any lane has a second boundary.
    pub(super) has_end: bool,
    /// ln X beyond which the premium, away from exercise, is negligible.
    pub(super) far: L,
    pub(super) held: HeldPremium<L>,
    /// The boundary of exercise from now until the date; `None`: there is no such exercise.
    pub(super) before: Option<ExerciseBoundary<L>>,
    /// Begin of each window of a put, years from now, and the window's boundary.
    pub(super) windows: Vec<(f64, WindowBoundary<L>)>,
    /// The period after a put's last ex-date.
    pub(super) after_last: Option<AfterLast<L>>,
}

/// The premium of one contract by ln X.
pub(super) type PremiumFunction = Box<dyn Fn(f64) -> f64>;

/// The premium while the option is held.
pub(super) enum HeldPremium<L: Lanes> {
    /// From later exercise, one contract per lane; for calls exercised until the date also as a series, `at`.
    Lanes { later: Box<LaterExercise<L>>, at: Option<Box<DatePremium<L>>> },
    /// Of each contract as a function of ln X, solved one by one.
    Each(Vec<PremiumFunction>),
}

/// The boundary of a put's window, by its end.
#[derive(Clone)]
pub(super) enum WindowBoundary<L> {
    /// The boundary falls to 0.
    Falling(Box<Falling<L>>),
    /// The boundary ends in a tip at a positive X.
    Tip(Box<Tip<L>>),
}

impl<L: Lanes> WindowBoundary<L> {
    pub(super) fn falling(&self) -> Option<&Falling<L>> {
        if let Self::Falling(falling) = self { Some(falling) } else { None }
    }

    pub(super) fn tip(&self) -> Option<&Tip<L>> {
        if let Self::Tip(tip) = self { Some(tip) } else { None }
    }
}

/// The time from now or a date to the next, or to expiry.
pub(super) struct Period {
    pub(super) from: f64,
    pub(super) to: f64,
    /// The wait from begin to end; `None`: the period ends at expiry.
    pub(super) wait: Option<Wait>,
    /// True for reference values.
    pub(super) is_reference: bool,
    /// The time in which exercise can pay; `None`: exercise within the period does not pay.
    pub(super) stretch: Option<TimeBetween>,
}

/// Standard deviations from K − A or K to which a series reaches.
pub(super) fn far_deviations(is_reference: bool) -> f64 {
    if is_reference { REFERENCE_FAR } else { DATES_FAR }
}

/// Standard deviations above K, or below a put's lowest boundary, where a date is cut in two.
pub(super) fn top_deviations(is_reference: bool) -> f64 {
    if is_reference { REFERENCE_FAR } else { DATES_TOP }
}

impl Period {
    /// A period of calls; `between`: the fineness with which exercise within it is solved, `None` if that does not pay.
    pub(super) fn new(terms: &Terms, from: f64, to: f64, between: Option<Fineness>, is_reference: bool) -> Self {
        let wait = (to < terms.t).then(|| Wait::new(to - from, terms.t - to).finer(is_reference));
        let stretch = between.map(|fineness| TimeBetween::to_date(1.0, terms, from, to, fineness));
        Self { from, to, wait, is_reference, stretch }
    }

    /// The boundary within the period, given the premium `at` its end and the exercise `after` that. Outer `None`: a
    /// boundary is not found; inner `None`: exercise within the period does not pay.
    pub(super) fn solve<L: InLanes<L>>(
        &self,
        at: Option<&DatePremium<L>>,
        after: Option<&LaterExercise<L>>,
        k: L,
        sigma: L,
    ) -> Option<Option<ExerciseBoundary<L>>> {
        let Some(stretch) = &self.stretch else { return Some(None) };
        // the boundary of the next period is the start, unless that ends at expiry or is of another length
        let is_alike = |later: &&LaterExercise<L>| {
            let Self { from, to, .. } = *later.period;
            later.at.is_some() && ((to - from) / (self.to - self.from) - 1.0).abs() < ALIKE
        };
        let near = after.filter(is_alike).and_then(|later| later.between.as_ref());
        let between = ExerciseBoundary::to_date(stretch, at, near.map(Nearby::Alike), k, sigma);
        // of one contract such exercise counts as none
        if L::N == 1 { Some(between) } else { between.map(Some) }
    }
}

/// Exercise after a date: within the period until the next date, and the premium there.
pub(super) struct LaterExercise<L: Lanes> {
    pub(super) period: Arc<Period>,
    pub(super) at: Option<DatePremium<L>>,
    pub(super) between: Option<ExerciseBoundary<L>>,
    /// Value at the begin of the period of exercise within it.
    pub(super) flow: Option<Flow<L>>,
    /// The region of exercise at the begin, of puts that are not exercised at X = 0 there.
    pub(super) island: Option<Island<L>>,
}

/// A region of exercise with two ends: a put is worth its payoff between them. In lanes without a region the lower end
/// lies above the upper one.
#[derive(Clone, Copy)]
pub(super) struct Island<L> {
    pub(super) lower: L,
    pub(super) upper: L,
    /// Payoff of exercise at X = 0.
    pub(super) paid: L,
    pub(super) european: European<L>,
}

impl<L: Lanes> Island<L> {
    /// The lanes that have a region.
    pub(super) fn is_there(&self) -> L::Mask {
        self.lower.lt(self.upper)
    }

    /// Payoff of exercise less the European value, at ln X = `x`.
    pub(super) fn exercise(&self, x: L) -> L {
        let spot = exp(x);
        self.paid - spot - self.european.at(x, spot)
    }
}

impl<L: InLanes<L>> LaterExercise<L> {
    /// Later exercise of calls.
    pub(super) fn new(period: &Arc<Period>, at: Option<DatePremium<L>>, between: Option<ExerciseBoundary<L>>) -> Self {
        let flow = period.stretch.as_ref().zip(between.as_ref()).map(|(stretch, between)| between.flow(stretch));
        Self { period: Arc::clone(period), at, between, flow, island: None }
    }

    /// Later exercise of puts in the period between two dates; `t`: years to expiry, `window`: boundary and flow of the
    /// window that begins with the period.
    pub(super) fn of_puts(
        [from, to]: [f64; 2],
        t: f64,
        at: Option<DatePremium<L>>,
        window: Option<(ExerciseBoundary<L>, Flow<L>)>,
        is_reference: bool,
    ) -> Self {
        let wait = (to < t).then(|| Wait::new(to - from, t - to).finer(is_reference));
        let period = Arc::new(Period { from, to, wait, is_reference, stretch: None });
        let (between, flow) = window.unzip();
        Self { period, at, between, flow, island: None }
    }

    /// Exercise until expiry, `t` years from now, that is worth a flow.
    pub(super) fn of_flow(t: f64, flow: Flow<L>) -> Self {
        let period = Arc::new(Period { from: 0.0, to: t, wait: None, is_reference: true, stretch: None });
        Self { period, at: None, between: None, flow: Some(flow), island: None }
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.at.is_none() && self.between.is_none()
    }

    /// The premium at ln X = `x`, where the option is held right after the date.
    pub(super) fn premium(&self, x: L) -> L {
        let mut sum = L::splat(0.0);
        if let (Some(at), Some(wait)) = (&self.at, &self.period.wait) {
            sum += at.expected::<false, f64>(wait, x)[0];
        }
        if let Some(flow) = &self.flow {
            sum += flow.value(x);
        }
        let Some(island) = &self.island else { return sum };
        let inside = island.lower.lt(x) & x.lt(island.upper);
        if inside.any() { L::select(inside, island.exercise(x), sum) } else { sum }
    }

    /// The premium and its first four derivatives in ln X, where the option is held now.
    pub(super) fn slopes(&self, x: L) -> [L; 5] {
        let mut out = [L::splat(0.0); 5];
        if let (Some(at), Some(wait)) = (&self.at, &self.period.wait) {
            let expected = at.expected::<true, f64>(wait, x);
            out[..4].copy_from_slice(&expected);
            let step = at.sigma * (FOURTH_STEP * wait.root());
            let third = |n: f64| at.expected::<true, f64>(wait, x + step * n)[3];
            out[4] = ((third(1.0) - third(-1.0)) * 8.0 - (third(2.0) - third(-2.0))) / (step * 12.0);
        }
        if let Some(flow) = &self.flow {
            flow.add_slopes(x, &mut out);
        }
        out
    }

    /// ln X below which a put's premium is a line in X: exercise after the next date is almost certain.
    pub(super) fn lowest(&self, sigma: L) -> L {
        let of_date = self.at.iter().map(|at| at.end.as_ref().map_or(at.boundary, |end| end.x));
        let boundaries = of_date.chain(self.between.iter().map(ExerciseBoundary::lowest));
        let root = (self.period.to - self.period.from).sqrt();
        boundaries.fold(L::splat(f64::INFINITY), L::min) - sigma * (root * top_deviations(self.period.is_reference))
    }

    /// The tangent, as a line in X, of the premium at ln X = `x`: constant and slope. `width`: deviation of ln X until
    /// expiry.
    pub(super) fn line(&self, phi: f64, x: L, width: L) -> [L; 2] {
        let step = width * (SLOPE_STEP * phi);
        let value = self.premium(x);
        let slope = (value - self.premium(x - step)) / step;
        [value - slope, slope / exp(x)]
    }

    /// Chebyshev series of the premium of calls (`phi` = 1) or puts (−1) between two ln X, the boundary and the far
    /// end; right after a date `tau` years before expiry.
    ///
    /// # Shapes  one contract per lane
    pub(super) fn series(&self, phi: f64, ends: [L; 2], sigma: L, tau: f64) -> Series<L> {
        self.series_of(phi, ends, sigma, tau, |x| self.premium(x))
    }

    /// Chebyshev series, with the terms of [`Self::series`], of a function `of` ln X that bends like the premium.
    pub(super) fn series_of(
        &self,
        phi: f64,
        [boundary, far]: [L; 2],
        sigma: L,
        tau: f64,
        of: impl Fn(L) -> L,
    ) -> Series<L> {
        let width = sigma * tau.sqrt();
        let reach = ((boundary - far) * phi).max(width * REACH_LEAST) / sigma;
        let place = |u: f64| boundary - sigma * reach * (0.5 * (1.0 + u) * phi);
        let deviations = (0..L::N).map(|lane| reach.lane(lane)).fold(0.0, f64::max) / tau.sqrt();
        let (usual, most) = match (self.period.is_reference, self.between.is_some()) {
            (true, _) => (REFERENCE.terms, MOST_TERMS),
            (false, true) => (BETWEEN.terms, EVALUATE.most_terms),
            (false, false) => (DATES.terms, EVALUATE.most_terms),
        };
        let terms = (usual as f64 * (deviations / USUAL).max(1.0)) as usize;
        let mut series = Lobatto::of(terms.min(most)).lanes(|u| of(place(u)));
        if self.period.is_reference {
            let largest = series.iter().fold(L::splat(0.0), |largest, term| largest.max(term.abs()));
            let least = largest * ROUNDING;
            let last = series.iter().rposition(|term| least.lt(term.abs()).any()).unwrap_or(0);
            series.truncate(last + 1);
        }
        (reach, series)
    }
}

/// The period after the last ex-date: its boundary, and the premium at its begin. Both are of first degree in X and K,
/// since no dividend is left.
pub(super) struct AfterLast<L: Lanes> {
    pub(super) between: ExerciseBoundary<L>,
    pub(super) at: Option<DatePremium<L>>,
}

impl<L: InLanes<L>> AfterLast<L> {
    /// The solution of strikes `ratio` times as high.
    pub(super) fn scaled(&self, ratio: f64) -> Self {
        Self { between: self.between.scaled(ratio), at: self.at.as_ref().map(|at| at.scaled(ratio)) }
    }
}

/// Inputs of a solve that all contracts share.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// +1 call, −1 put.
    pub(super) phi: f64,
    pub(super) terms: Terms,
    /// Years from now to the date that the solve goes back to; right after its dividend if it is an ex-date.
    pub(super) stop: f64,
    /// True if exercise between ex-dates can pay.
    pub(super) continuous: bool,
    /// Fineness of a put's window that begins at `stop`; [`Fineness::Rates`] and [`Fineness::Reference`] apply to all
    /// boundaries.
    pub(super) fineness: Fineness,
}
