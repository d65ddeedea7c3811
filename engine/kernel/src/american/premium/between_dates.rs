//! Exercise between two ex-dates, or between the last one and expiry: the boundary, and the flow that exercise along it
//! earns (Kim 1990).
//!
//! In η, t = to − (to − from)·e^(−η²), the logarithm of the boundary is a polynomial through collocation points. At
//! each point value matching less λ times smooth pasting holds: value matching alone is an Abel equation, flat next to
//! expiry; smooth pasting alone does not determine a boundary that runs away. One strike and volatility a lane. This
//! file has the equations, and boundaries that end at a date or at expiry; `falling` and `tip` have the boundaries of a
//! put's windows. Never: exercise right before a date, a table.

use super::time_between::{BetweenGrid, FromPoint, GridNode, MOST_POINTS, TimeBetween, turning};
use crate::american::at_date::{DatePremium, ValueSlopes, Wait};
use crate::american::moment::{Contracts, Flow, FlowTime, KnownBoundary, Moment, MomentBoundary};
use crate::american::settings::{BETWEEN, FALLING, LIMIT_LEFT, PACES, REFERENCE, SAME, SHRINKS};
use crate::american::start::{BoundaryStart, carried};
use crate::black76::European;
use crate::elementary::{exp, ln};
use crate::lanes::{InLanes, Lanes, Mask};
use crate::solve::eliminate;

/// Most nodes of the flow from a point.
const MOST_NODES: usize = {
    let windows = [turning(FALLING.inner), turning(FALLING.inner_first), turning(FALLING.inner_rates)];
    let (mut most, of) = (BETWEEN.inner, [windows[0], windows[1], windows[2], REFERENCE.inner]);
    let mut i = 0;
    while i < of.len() {
        most = if of[i] > most { of[i] } else { most };
        i += 1;
    }
    most
};
/// Most steps of Newton's method.
const MOST_STEPS: usize = 20;
/// A shorter step ends the iteration (deviations of the time left). Newton's method squares its error, of which values
/// are of second order: 3e-4 takes a tenth more steps.
const CONVERGED: f64 = 2e-3;
/// [`CONVERGED`] of reference values, which are differentiated by differences.
const CONVERGED_REFERENCE: f64 = 1e-7;
/// A Taylor series extrapolates the value of holding over at most this (deviations until the date).
const CARRIED: f64 = 0.03;
/// [`CARRIED`] of reference values: 0.03 would leave ten times the error of a gamma.
const CARRIED_REFERENCE: f64 = 3e-3;
/// A boundary whose last step was longer is not found; steps that are shorter and no longer shrink are rounding
/// (deviations of the time left).
const SOLVED: f64 = 1e-3;
/// A residual of the equations below this is rounding (part of the strike). A hundred times the rounding of a
/// difference of two values.
const MISSED: f64 = 1e-12;
/// Steps after which `STALLED` and `MISSED_STALLED` apply: where two roots meet, steps no longer shrink. Four steps are
/// taken as a rule.
const STALLED_AFTER: usize = 7;
/// Longest last step of a boundary whose steps no longer shrink (deviations of the time left).
const STALLED: f64 = 0.02;
/// Greatest residual of the equations of a boundary whose steps no longer shrink (part of the strike).
const MISSED_STALLED: f64 = 1e-7;
/// Distances of a boundary from its end to start from, one after the other until it is found, parts of the usual start.
const STARTS: [f64; 4] = [1.0, 0.5, 2.0, 0.25];
/// Most steps of Newton's method from the boundary at one rate to that at the next; two or three as a rule.
const FOLLOW_STEPS: usize = 4;

/// The exercise boundary over a stretch of time, one contract per lane.
#[derive(Clone)]
pub(super) struct ExerciseBoundary<L> {
    /// ln B at the end and at the begin, and the lowest ln B.
    end: L,
    begin: L,
    lowest: L,
    /// The unknowns at the points: ln B, or its excess over the shape of a boundary that runs away.
    y: PerPoint<L>,
    /// Chebyshev coefficients of the unknowns in 1 − 2η/`BETWEEN.reach`.
    terms: Vec<L>,
    /// The moments of the flow from the begin on, and ln B at these.
    spot: &'static [GridNode],
    ln_b: Vec<L>,
    contracts: Contracts<L>,
}

/// Value of holding, from a time within a stretch until the next date, less the payoff of exercise.
pub(super) struct HoldingLessPayoff<'a, L: Lanes, T> {
    phi: f64,
    date: Option<(&'a DatePremium<L>, &'a Wait<T>)>,
    /// The European option of the other right.
    other: European<L>,
    /// Amount that exercise keeps at X = 0, and its increase per unit of X.
    kept: L,
    borrow: L,
}

impl<'a, L: Lanes, T: InLanes<L>> HoldingLessPayoff<'a, L, T> {
    /// Holding less payoff `tau` years before expiry, with dividends to come of `escrow`; `date`: the premium at the
    /// next date, and the wait until then.
    pub(super) fn new(
        contracts: &Contracts<L>,
        k: L,
        tau: T,
        escrow: T,
        date: Option<(&'a DatePremium<L>, &'a Wait<T>)>,
    ) -> Self {
        let Contracts { phi, sigma, rates: [r, b], .. } = *contracts;
        let other = European::new(-phi, k, sigma, tau, r, b);
        let kept = k * (exp(tau * -r) - T::splat(1.0)).in_lanes() + escrow.in_lanes();
        Self { phi, date, kept, borrow: L::splat(1.0) - other.share, other }
    }

    /// A forward less the payoff of exercise at once, `tau` years before it is due, without dividends.
    pub(super) fn of_forward(contracts: &Contracts<L>, k: L, tau: T) -> Self {
        // the option of the other right is worth nothing
        let nowhere = k * 10f64.powf(-30.0 * contracts.phi);
        let Contracts { phi, sigma, rates: [r, b], .. } = *contracts;
        let other = European::new(-phi, nowhere, sigma, tau, r, b);
        Self { other, ..Self::new(contracts, k, tau, T::splat(0.0), None) }
    }

    /// Value and slopes of holding less payoff at ln X = `x`: by parity the European option of the other right and the
    /// premium of later exercise, less the amount that exercise keeps.
    #[inline(never)]
    pub(super) fn at(&self, x: L) -> ValueSlopes<L> {
        let spot = exp(x);
        let kept = spot * self.borrow * self.phi;
        let [value, slopes @ .., _] = self.other.slopes(x, spot).map(|slope| slope - kept);
        let [first, second, third] = slopes;
        let own = [value - self.kept * self.phi, first, second, third];
        let Some((at, wait)) = self.date else { return own };
        let later = at.expected::<true, T>(wait, x);
        core::array::from_fn(|i| own[i] + later[i])
    }
}

/// A solution at similar inputs, to start from.
#[derive(Clone, Copy)]
pub(super) enum Nearby<T> {
    /// The solution of a strike close by, or of the next period or window of the same contracts.
    Alike(T),
    /// The solution of the same contracts at rates that a few steps of Newton's method bridge.
    Rates(T),
}

impl<T> Nearby<T> {
    pub(super) fn get(self) -> T {
        match self {
            Self::Alike(of) | Self::Rates(of) => of,
        }
    }

    pub(super) fn and_then<U>(self, of: impl FnOnce(T) -> Option<U>) -> Option<Nearby<U>> {
        match self {
            Self::Alike(near) => of(near).map(Nearby::Alike),
            Self::Rates(near) => of(near).map(Nearby::Rates),
        }
    }

    /// The solution at rates close by; `None` if it is of another strike or time.
    pub(super) fn at_rates(self) -> Option<T> {
        if let Self::Rates(of) = self { Some(of) } else { None }
    }
}

/// A number per collocation point. Boundaries with fewer points leave the rest unused.
pub(super) type PerPoint<L> = [L; MOST_POINTS];

/// A function's value and slopes and the ln X that they are of, by collocation point.
pub(super) type HeldAt<L> = [(L, ValueSlopes<L>); MOST_POINTS];

/// No value yet: at ln X that nothing is near.
pub(super) fn not_held<L: Lanes>() -> HeldAt<L> {
    [(L::splat(f64::NAN), [L::splat(0.0); 4]); MOST_POINTS]
}

/// The collocation equations of a boundary, one contract per lane.
pub(super) struct Search<'a, L: Lanes, T> {
    pub(super) stretch: &'a TimeBetween<T>,
    pub(super) grid: &'static BetweenGrid,
    pub(super) contracts: Contracts<L>,
    pub(super) k: L,
    /// Holding less payoff, by point.
    pub(super) holdings: Vec<HoldingLessPayoff<'a, L, T>>,
    /// Holding less payoff where it was last computed, by point.
    pub(super) held: HeldAt<L>,
    /// ln B beyond which exercise loses.
    pub(super) limits: PerPoint<L>,
    /// Offset of ln B from the unknowns.
    pub(super) from: PerPoint<L>,
    /// λ in deviations of ln X over the time left.
    pub(super) pace: PerPoint<L>,
    /// Longest step.
    pub(super) most: PerPoint<L>,
    /// The moments seen from each point.
    pub(super) moments: Vec<&'a [Moment<T>]>,
    /// The part of ln B at those moments that does not depend on the unknowns.
    pub(super) fixed: Vec<Vec<L>>,
    /// Number of points to solve, from the begin on: the last point of a window stays at its start.
    pub(super) n: usize,
    /// A boundary is found if the residual of its equations is below this.
    pub(super) missed: f64,
    /// Exercise along another boundary.
    pub(super) known: Option<&'a KnownBoundary<L>>,
    /// Lanes whose boundary stays where it starts.
    pub(super) is_settled: L::Mask,
}

impl<'a, L: InLanes<L>, T: InLanes<L>> Search<'a, L, T> {
    /// The equations of a boundary that approaches ln B = `end`; `at`: the premium at the next date.
    pub(super) fn to_end(
        stretch: &'a TimeBetween<T>,
        grid: &'static BetweenGrid,
        contracts: Contracts<L>,
        at: Option<&'a DatePremium<L>>,
        [k, end]: [L; 2],
    ) -> Self {
        let points = &stretch.from_points;
        Self {
            stretch,
            grid,
            contracts,
            k,
            holdings: contracts.holdings(stretch, at, k),
            held: not_held(),
            limits: per_point(points, |seen| contracts.limit(k, seen)),
            from: [L::splat(0.0); MOST_POINTS],
            pace: [L::splat(1.0); MOST_POINTS],
            most: per_point(points, |seen| contracts.sigma * seen.left.sqrt().in_lanes()),
            moments: points.iter().map(|seen| &seen.moments[..]).collect(),
            fixed: grid.points.iter().map(|point| ends(&point.nodes, end)).collect(),
            n: points.len(),
            missed: 0.0,
            known: None,
            is_settled: k.lt(L::splat(0.0)),
        }
    }

    /// Newton's method from the unknowns `y`; false if the boundary of a lane is not found. Lanes that do not converge
    /// are tried again with other weights of smooth pasting, since these equations have the same boundary; but not if
    /// the start is a solution that is alike, since the caller then tries the lanes' own start.
    ///
    /// # Shapes    one contract per lane; `y`: ln B less `from` at the points
    /// # Accuracy  `CONVERGED`, the last step, whose square the error is about
    pub(super) fn solve<U>(&self, y: &mut [L], near: Option<Nearby<U>>) -> bool {
        if matches!(near, Some(Nearby::Rates(_))) {
            self.follow(y);
            return true;
        }
        let start = y.to_vec();
        let mut found = self.newton(y, 1.0, MOST_STEPS);
        for pace in PACES {
            if found.all() || near.is_some() {
                break;
            }
            let mut again = start.clone();
            let now = self.newton(&mut again, pace, MOST_STEPS);
            y.iter_mut().zip(&again).for_each(|(y, again)| *y = L::select(found, *y, *again));
            found = found | now;
        }
        found.all()
    }

    fn is_reference(&self) -> bool {
        self.stretch.fineness.is_reference()
    }

    /// A few steps of Newton's method from the unknowns `y` of rates close by; lanes that do not converge keep them.
    fn follow(&self, y: &mut [L]) {
        let near = y.to_vec();
        let found = self.newton(y, 1.0, FOLLOW_STEPS);
        y.iter_mut().zip(near).for_each(|(y, near)| *y = L::select(found, *y, near));
    }

    /// At most `steps` of Newton's method from the unknowns `y`, with λ times `pace`, until one is shorter than
    /// `CONVERGED`. Returns the lanes whose boundary is found; their unknowns stay as they are from then on.
    ///
    /// # Shapes  one contract per lane
    fn newton(&self, y: &mut [L], pace: f64, steps: usize) -> L::Mask {
        // a matrix that is no larger than the equations
        match self.n {
            0..=8 => self.newton_of::<8>(y, pace, steps),
            9..=12 => self.newton_of::<12>(y, pace, steps),
            _ => self.newton_of::<MOST_POINTS>(y, pace, steps),
        }
    }

    /// [`Self::newton`] of at most `N` equations, a multiple of `TOGETHER`.
    fn newton_of<const N: usize>(&self, y: &mut [L], pace: f64, steps: usize) -> L::Mask {
        let c = L::splat;
        let Self { stretch, grid, contracts, n, .. } = *self;
        let (phi, sigma) = (contracts.phi, contracts.sigma);
        let mut jacobian = [[c(0.0); N]; N];
        let mut residual = [c(0.0); N];
        let mut before = c(f64::INFINITY);
        let mut done = self.is_settled;
        let mut by_node = [c(0.0); MOST_NODES];
        let mut held = self.held;
        let [converged, carried_most] =
            if self.is_reference() { [CONVERGED_REFERENCE, CARRIED_REFERENCE] } else { [CONVERGED, CARRIED] };
        for step in 0..steps {
            for (i, (seen, point)) in stretch.from_points.iter().zip(&grid.points).take(n).enumerate() {
                let x = y[i] + self.from[i];
                let (spot, inv_spot) = (exp(x), exp(-x));
                if !(x - held[i].0).abs().lt(sigma * seen.until_date() * carried_most).all() {
                    held[i] = (x, self.holdings[i].at(x));
                }
                let [value, slope, bend, _] = carried(&held[i].1, x - held[i].0);
                let mut sums = [value, slope, bend];
                if let Some(known) = self.known {
                    known.add(&contracts, i, x, &mut sums);
                }
                let pasted = sigma * seen.left.sqrt().in_lanes() * self.pace[i] * (phi * pace);
                for (((moment, node), fixed), by) in
                    self.moments[i].iter().zip(&point.nodes).zip(&self.fixed[i]).zip(&mut by_node)
                {
                    let ln_b = node.ln_b(y, *fixed);
                    let [by_value, by_slope] = contracts.add(moment, x, spot, inv_spot, ln_b, &mut sums);
                    *by = by_value - pasted * by_slope;
                }
                let mut row = by_unknowns(&by_node, &point.nodes, n);
                row[i] += sums[1] - pasted * sums[2];
                (jacobian[i], residual[i]) = (row, sums[0] - pasted * sums[1]);
            }
            let missed = residual[..n].iter().fold(c(0.0), |most, residual| most.max(residual.abs()));
            eliminate(&mut jacobian[..n], &mut residual[..n]);
            let mut worst = c(0.0);
            for i in 0..n {
                let most = self.most[i];
                let by = residual[i].max(-most).min(most);
                worst = worst.max((residual[i] / most).abs());
                let limit = self.limits[i] - self.from[i];
                let next = beyond(phi, y[i] - by, limit + (y[i] - limit) * LIMIT_LEFT);
                y[i] = L::select(done, y[i], next);
            }
            // where nothing is gained or lost near the boundary, rounding moves it
            let rounding = worst.lt(c(SOLVED)) | missed.lt(self.k * MISSED);
            let mut found = missed.lt(self.k * self.missed) | worst.lt(c(converged));
            if step >= STALLED_AFTER {
                // where two roots meet, steps shrink no more
                found = found | (missed.lt(self.k * MISSED_STALLED) & worst.lt(c(STALLED)));
            }
            done = done | found | (rounding & (before * SHRINKS).lt(worst));
            if done.all() {
                return done;
            }
            before = worst;
        }
        done
    }

    /// The boundary with the unknowns `y` and this `end`; `at_spot`: the part of ln B at the moments seen from the
    /// begin that does not depend on the unknowns.
    pub(super) fn found(&self, y: &[L], end: L, at_spot: Vec<L>) -> ExerciseBoundary<L> {
        let grid = self.grid;
        let product =
            |row: &Vec<f64>| row.iter().zip(y).fold(L::splat(0.0), |sum, (w, y)| y.mul_add(L::splat(*w), sum));
        ExerciseBoundary {
            end,
            begin: y[0] + self.from[0],
            lowest: self.known.map_or(end, KnownBoundary::lowest),
            y: per_point(y, |y| *y),
            terms: grid.to_chebyshev.iter().map(product).collect(),
            ln_b: grid.spot.iter().zip(at_spot).map(|(node, fixed)| node.ln_b(y, fixed)).collect(),
            spot: &grid.spot,
            contracts: self.contracts,
        }
    }
}

/// The part of ln B at some moments that the `end` of the boundary gives.
pub(super) fn ends<L: Lanes>(nodes: &[GridNode], end: L) -> Vec<L> {
    nodes.iter().map(|node| node.known(&[end])).collect()
}

/// Unknowns whose derivatives are summed side by side.
const TOGETHER: usize = 4;

/// Derivatives in the first `n` unknowns of a sum over `nodes`, from its derivatives `by` ln B at the nodes. The
/// unknowns are taken a few at a time, so that their sums stay in registers.
#[inline(always)]
fn by_unknowns<L: Lanes, const N: usize>(by: &[L], nodes: &[GridNode], n: usize) -> [L; N] {
    const { assert!(N.is_multiple_of(TOGETHER)) };
    let mut all = [L::splat(0.0); N];
    for (first, of) in all.chunks_exact_mut(TOGETHER).enumerate().take(n.div_ceil(TOGETHER)) {
        let mut sums = [L::splat(0.0); TOGETHER];
        for (by, node) in by.iter().zip(nodes) {
            for (sum, weight) in sums.iter_mut().zip(&node.row[first * TOGETHER..]) {
                *sum = by.mul_add(L::splat(*weight), *sum);
            }
        }
        of.copy_from_slice(&sums);
    }
    all
}

/// The one of two ln X that lies further towards exercise.
fn beyond<L: Lanes>(phi: f64, a: L, b: L) -> L {
    if phi > 0.0 { a.max(b) } else { a.min(b) }
}

impl<L: InLanes<L>> ExerciseBoundary<L> {
    /// Solves the boundary of a stretch before a date at which the premium is `at`, or before expiry. `None`: the
    /// boundary of a lane is not found.
    ///
    /// # Shapes    one contract per lane
    /// # Domain    exercise that earns: of a call b > 0, or b = 0 and r < 0; of a put r > 0
    /// # Accuracy  `premiums_between_dates_are_those_of_the_reference`
    pub(super) fn to_date(
        stretch: &TimeBetween,
        at: Option<&DatePremium<L>>,
        near: Option<Nearby<&Self>>,
        k: L,
        sigma: L,
    ) -> Option<Self> {
        let contracts = Contracts::new(stretch.phi, stretch.rates, k, sigma);
        let further = |a: L, b: L| beyond(stretch.phi, a, b);
        let kink = at.map_or(ln(k), |at| at.boundary);
        let end = if contracts.rates[1] > 0.0 { further(kink, ln(contracts.earns(k, stretch.escrow))) } else { kink };
        let grid = BetweenGrid::at_date(stretch.fineness);
        let points = &stretch.from_points;
        let search = Search::to_end(stretch, grid, contracts, at, [k, end]);
        let mut unknowns = [L::splat(0.0); MOST_POINTS];
        let y = &mut unknowns[..points.len()];
        if let Some(near) = near.filter(|near| near.get().terms.len() == points.len()) {
            let by = if near.at_rates().is_some() { L::splat(0.0) } else { end - near.get().end };
            for ((y, near), limit) in y.iter_mut().zip(&near.get().y).zip(&search.limits) {
                *y = further(*near + by, *limit);
            }
            if search.solve(y, Some(near)) {
                return Some(search.found(y, end, ends(&grid.spot, end)));
            }
        }
        let start = BoundaryStart::new(&contracts, [stretch.tau, stretch.escrow], at, k, kink);
        // the last resort of one contract are other starts, each tried once
        let starts = if L::N == 1 { &STARTS[..] } else { &STARTS[..1] };
        starts.iter().enumerate().find_map(|(i, part)| {
            for ((y, seen), limit) in y.iter_mut().zip(points).zip(&search.limits) {
                *y = further(end + (start.at(seen.left, end) - end) * *part, *limit);
            }
            let once = (i > 0).then_some(Nearby::Alike(()));
            search.solve(y, once).then(|| search.found(y, end, ends(&grid.spot, end)))
        })
    }

    /// The boundary of strikes `ratio` times as high, where no dividends are to come.
    pub(super) fn scaled(&self, ratio: f64) -> Self {
        let by = ratio.ln();
        let mut scaled = self.clone();
        (scaled.end, scaled.begin) = (self.end + by, self.begin + by);
        scaled.terms[0] += L::splat(by);
        scaled.y.iter_mut().for_each(|y| *y += L::splat(by));
        scaled.ln_b.iter_mut().for_each(|ln_b| *ln_b += L::splat(by));
        scaled.contracts.interest = self.contracts.interest * ratio;
        scaled
    }

    /// The flow of exercise along the boundary, seen from the begin of the stretch.
    pub(super) fn flow<T: FlowTime<L>>(&self, stretch: &TimeBetween<T>) -> Flow<L> {
        Flow::new(T::moments(self.seen(stretch)), self.contracts)
    }

    /// The moments seen from the begin, each with its boundary.
    pub(super) fn seen<T: InLanes<L>>(&self, stretch: &TimeBetween<T>) -> Vec<(Moment<T>, MomentBoundary<L>)> {
        let moments = stretch.moments(self.spot, stretch.length);
        moments.zip(&self.ln_b).map(|(moment, ln_b)| MomentBoundary::with(moment, *ln_b)).collect()
    }

    /// The boundary of a region that reaches down to `lower`.
    pub(super) fn above(self, lower: &Self) -> Self {
        Self { lowest: lower.ln_b.iter().fold(lower.begin, |lowest, ln_b| lowest.min(*ln_b)), ..self }
    }

    /// ln B at the collocation points.
    pub(super) fn boundaries(&self) -> impl Iterator<Item = L> {
        self.y.iter().take(self.terms.len()).copied()
    }

    /// The moments of the flow from the begin on, and ln B at these.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&GridNode, L)> {
        self.spot.iter().zip(self.ln_b.iter().copied())
    }

    /// ln of the X from which on the option is exercised at the begin.
    pub(super) fn begin(&self) -> L {
        self.begin
    }

    /// ln of the lowest X at which the option is exercised, of a region that has one.
    pub(super) fn lowest(&self) -> L {
        self.lowest
    }

    /// ln B at the end, then its Chebyshev coefficients in 1 − 2η/`BETWEEN.reach`.
    pub(super) fn boundary(&self) -> impl Iterator<Item = L> {
        core::iter::once(self.end).chain(self.terms.iter().copied())
    }
}

impl<L: Lanes> Contracts<L> {
    /// Holding less payoff at each point of `stretch`.
    pub(super) fn holdings<'a, T: InLanes<L>>(
        &self,
        stretch: &'a TimeBetween<T>,
        at: Option<&'a DatePremium<L>>,
        k: L,
    ) -> Vec<HoldingLessPayoff<'a, L, T>> {
        stretch.from_points.iter().map(|seen| self.holding(stretch, seen, at, k)).collect()
    }

    /// Holding less payoff at one time of `stretch`.
    pub(super) fn holding<'a, T: InLanes<L>>(
        &self,
        stretch: &TimeBetween<T>,
        seen: &'a FromPoint<T>,
        at: Option<&'a DatePremium<L>>,
        k: L,
    ) -> HoldingLessPayoff<'a, L, T> {
        HoldingLessPayoff::new(self, k, stretch.tau + seen.left, seen.escrow, at.zip(seen.wait.as_ref()))
    }

    /// The strike less the dividends to come.
    fn pays(k: L, escrow: L) -> L {
        (k - escrow).max(k * SAME.strike_left)
    }

    /// The X from which on exercise earns.
    fn earns<T: InLanes<L>>(&self, k: L, escrow: T) -> L {
        let ([r, b], escrow) = (self.rates, escrow.in_lanes());
        if b > 0.0 { (k * (r / b) - escrow).max(k * SAME.strike_left) } else { Self::pays(k, escrow) }
    }

    /// ln B beyond which exercise at a point loses.
    pub(super) fn limit<T: InLanes<L>>(&self, k: L, seen: &FromPoint<T>) -> L {
        let pays = Self::pays(k, seen.escrow.in_lanes());
        beyond(self.phi, ln(pays), ln(self.earns(k, seen.escrow)))
    }
}

/// The number that `of` gives for each point.
pub(super) fn per_point<P, L: Lanes>(points: &[P], of: impl Fn(&P) -> L) -> PerPoint<L> {
    let mut all = [L::splat(0.0); MOST_POINTS];
    for (to, point) in all.iter_mut().zip(points) {
        *to = of(point);
    }
    all
}
