//! From volatilities at bid, mid and ask to curves. Never: a price.

use super::arbitrage::ButterflyGrid;
use super::base::{Base, Points, Prior, fit_base};
use super::calendar::{CalendarOrder, CurveBound};
use super::curve::{Curve, Fitted, spline_place};
use super::quotes::{Candidates, StrikeQuotes, SurfaceInput};
use super::settings::{BASE, BUTTERFLY, CALENDAR, SPLINE};
use super::spline::{LeastSquares, Stiffness};
use kernel::elementary::ln;
use kernel::lanes::{Block, Lanes, Mask};

/// A method that turns the volatilities of a chain into one curve per expiry. [`super::DefaultSmoother`] names the one
/// in use.
pub trait Smoother: core::fmt::Debug + core::default::Default + Send {
    /// The fitted curve.
    type Curve: Fitted + Sync;

    /// Fits the curves of all slices of one chain, given in native order.
    fn fit(&mut self, slices: &[SurfaceInput]) -> &[Self::Curve];
}

/// Fits the curves of one chain after another. It keeps memory only: from the second chain of a size on it allocates
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct Fitter {
    // by slice; as long as the longest chain so far
    curves: Vec<Curve>,
    quotes: Vec<StrikeQuotes>,
    bases: Vec<Option<Base>>,
    known: Vec<Option<Base>>,
    // of the current slice
    candidates: Candidates,
    points: Points,
    problem: CurveProblem,
    lattice: ButterflyGrid,
    calendar: CalendarOrder,
}

/// Fits the curves of all slices of one chain, given in native order.
///
/// # Shapes   a curve for each slice
/// # Domain   any volatilities, NaN for none; a slice without a quote takes its shape from the nearest in time
/// # Accuracy docs/surface.md, and beside other programs benches/surface-peers/README.md
/// # Source   docs/surface.md
#[must_use]
pub fn fit(slices: &[SurfaceInput]) -> Vec<Curve> {
    let mut fitter = Fitter::default();
    fitter.fit(slices);
    fitter.curves
}

impl Fitter {
    /// Fits the curves of all slices of one chain, given in native order: first each alone, then below lone asks that
    /// it exceeds, then all in calendar order.
    ///
    /// # Shapes   a curve for each slice
    /// # Domain   as of [`fit`](fn@fit), which this is with memory
    /// # Source   docs/surface.md
    /// # Cost     2.5 to 9 µs a slice of 7 to 126 strikes (PERF.md); nothing is allocated from the
    /// second chain of a size on
    pub fn fit(&mut self, slices: &[SurfaceInput]) -> &[Curve] {
        let n = slices.len();
        // grows and never shrinks: chains of one worker come in all lengths, and freeing would allocate again
        if self.curves.len() < n {
            self.curves.resize_with(n, || Curve::missing(0.0));
            self.quotes.resize_with(n, StrikeQuotes::default);
        }
        for (slice, quotes) in slices.iter().zip(&mut self.quotes) {
            quotes.read(slice, &mut self.candidates);
        }
        self.fit_bases(slices);
        let mut before = (0.0, 0.0);
        for (i, slice) in slices.iter().enumerate() {
            let (curve, quotes) = (&mut self.curves[i], &self.quotes[i]);
            let Some(base) = self.bases[i] else {
                // without this, a curve of the previous chain would be served as this slice's
                curve.forget(slice.t);
                continue;
            };
            (curve.fwd, curve.t, curve.base) = (slice.fwd, slice.t, base);
            let own = listed(slice);
            // calendar order must hold at strikes of the expiry before, too
            curve.listed = (own.0.min(before.0), own.1.max(before.1));
            before = own;
            // in a calendar conflict, a curve with quotes of its own must win over a borrowed shape
            curve.firmness = if quotes.n_firm() > 0.0 { 1.0 } else { CALENDAR.borrowed };
            self.problem.fit_curve(curve, quotes, &[], &mut self.lattice);
        }
        let curves = &mut self.curves[..n];
        // only after all curves are fitted, as the others are still of the previous chain
        self.calendar.begin(curves);
        for (i, curve) in curves.iter_mut().enumerate().filter(|(_, curve)| curve.fwd > 0.0) {
            let bounds = &mut self.calendar.bounds[i];
            // a lone ask is a bound and no sample: it excludes volatilities, but gives none
            curve.above_asks(&self.quotes[i], bounds);
            if !bounds.is_empty() {
                self.problem.fit_curve(curve, &self.quotes[i], bounds, &mut self.lattice);
            }
        }
        // A fit against bounds keeps a curve smooth but may move it elsewhere and cross there; a nudge moves nothing
        // else but may bend too much. So fits come first, and nudges for the rest.
        for round in 0..CALENDAR.fits + CALENDAR.nudges {
            if !self.calendar.find(curves) {
                break;
            }
            for at in 0..self.calendar.moved.len() {
                let i = self.calendar.moved[at];
                if round < CALENDAR.fits {
                    self.problem.fit_curve(
                        &mut curves[i],
                        &self.quotes[i],
                        &self.calendar.bounds[i],
                        &mut self.lattice,
                    );
                } else {
                    let curve = &mut curves[i];
                    self.calendar.nudge(i, curve);
                    self.lattice.lay(curve);
                    for _ in 0..CALENDAR.smoothings {
                        // the last nudges are not smoothed, which would undo them: calendar order has the last word
                        if round >= CALENDAR.fits + CALENDAR.smoothed || !self.lattice.look(&curve.spline) {
                            break;
                        }
                        self.lattice.smooth(&mut curve.spline);
                    }
                }
            }
        }
        // curves without a bound were judged at their fit and have not moved since
        for (i, curve) in curves.iter_mut().enumerate().filter(|(i, _)| !self.calendar.bounds[*i].is_empty()) {
            curve.judge(&self.quotes[i]);
        }
        &self.curves[..n]
    }

    /// The bases: well-quoted expiries from their own quotes, the others with the shape of the neighbours as prior.
    fn fit_bases(&mut self, slices: &[SurfaceInput]) {
        self.bases.clear();
        for (slice, quotes) in slices.iter().zip(&self.quotes) {
            quotes.base_points(&mut self.points);
            // three parameters from two quotes would follow their noise
            let own = (self.points.len() >= BASE.quotes_few && quotes.usual_vol > 0.0).then(|| {
                let prior = Prior {
                    base: Base::usual(quotes.usual_vol, slice.t),
                    sd: [BASE.own_level, BASE.own_shape, BASE.own_shape],
                };
                fit_base(&self.points, &prior, slice.t)
            });
            self.bases.push(own);
        }
        // first expiries with few quotes, then those with none, which may take their shape from the former
        for with_quotes in [true, false] {
            // a copy, so that no borrowed shape is passed on within a round, as the result must not depend on the order
            self.known.clone_from(&self.bases);
            for (i, slice) in slices.iter().enumerate() {
                if self.bases[i].is_none() && slice.fwd > 0.0 {
                    self.quotes[i].base_points(&mut self.points);
                    if self.points.is_empty() != with_quotes {
                        let own = self.quotes[i].usual_vol;
                        self.bases[i] = borrowed_base(slice.t, own, &self.points, slices, &self.known);
                    }
                }
            }
        }
    }
}

impl Smoother for Fitter {
    type Curve = Curve;

    fn fit(&mut self, slices: &[SurfaceInput]) -> &[Curve] {
        Self::fit(self, slices)
    }
}

/// Log-moneyness of the lowest and the highest strike.
fn listed(slice: &SurfaceInput) -> (f64, f64) {
    let at = |strike: Option<&u32>| strike.map_or(0.0, |&milli| (1e-3 * f64::from(milli) / slice.fwd).ln());
    (at(slice.strike_milli.first()), at(slice.strike_milli.last()))
}

/// The base of an expiry with few or no quotes, at time `t` and usual volatility `own`: level and shape from the
/// neighbours in time, moved by its quotes.
///
/// # Units    `t` in years, `own` per √year; NaN: no quote of its own
/// # Domain   without a neighbour and without a quote there is none; slices ascend in time
/// # Source   the prior of [`fit_base`]: level by total variance, shape that of the nearest
fn borrowed_base(t: f64, own: f64, points: &Points, slices: &[SurfaceInput], known: &[Option<Base>]) -> Option<Base> {
    let (mut near, mut far) = (None, f64::INFINITY);
    let (mut before, mut after) = (None, None);
    for (other, base) in slices.iter().zip(known) {
        let Some(base) = base else { continue };
        let apart = (other.t / t).ln().abs();
        // of two at the same distance the earlier expiry
        if apart < far {
            (near, far) = (Some(*base), apart);
        }
        let at = (other.t, base.sd() * base.sd());
        if other.t <= t {
            before = Some(at);
        } else {
            after = after.or(Some(at));
        }
    }
    let prior = match near {
        Some(base) => Prior {
            base: base.moved((variance_between(t, before, after) / t).sqrt(), t),
            sd: [
                BASE.borrowed_level + BASE.borrowed_level_by_ln_t * far.min(BASE.borrowed_ln_t_most),
                BASE.borrowed_shape,
                BASE.borrowed_shape,
            ],
        },
        None if own > 0.0 => {
            Prior { base: Base::usual(own, t), sd: [BASE.single_level, BASE.single_shape, BASE.single_shape] }
        }
        None => return None,
    };
    Some(fit_base(points, &prior, t))
}

/// Total variance at the money at `t`, from that of the expiries before and after it, each (years, total variance):
/// linear between two; with one, at its volatility; NaN: none.
fn variance_between(t: f64, before: Option<(f64, f64)>, after: Option<(f64, f64)>) -> f64 {
    match (before, after) {
        (Some((t0, w0)), Some((t1, w1))) => w0 + (w1 - w0) * (t - t0) / (t1 - t0),
        (Some((t0, w0)), None) | (None, Some((t0, w0))) => w0 * t / t0,
        (None, None) => f64::NAN,
    }
}

/// The least-squares problem of one curve, its weights changing from round to round.
#[derive(Clone, Debug, Default)]
struct CurveProblem {
    places: Vec<f64>,
    squares: LeastSquares,
    stiffness: Stiffness,
}

/// Maximum weight of a two-sided quote after a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// By its distance from the curve.
    Fresh,
    /// No more than before, as a quote that the stiff curve found bad stays bad for the softer one.
    Kept,
}

/// Fit of a curve to its quotes.
#[derive(Clone, Copy, Debug, Default)]
struct Judgement {
    /// Part of the two-sided quotes that contain the curve.
    inside: f64,
    /// Weighted sum of squared distances from the two-sided quotes.
    misfit: f64,
    /// True if a weight has moved by more than `SPLINE.weight_settled`.
    moved: bool,
}

impl Curve {
    /// Moves the outer `n` coefficients of the wings `which`, low and high, towards the base.
    fn shrink(&mut self, which: [bool; 2], n: usize) {
        let coef = self.spline.coef_mut();
        // short curves have fewer coefficients than a wing is long
        let n = n.min(coef.len());
        if which[0] {
            coef[..n].iter_mut().for_each(|c| *c *= BUTTERFLY.shrink);
        }
        if which[1] {
            coef.iter_mut().rev().take(n).for_each(|c| *c *= BUTTERFLY.shrink);
        }
    }

    /// Adds bounds for the lone asks that the curve exceeds. A fit comes near a bound but not always below it, so each
    /// bound lies its half width below the ask.
    fn above_asks(&self, quotes: &StrikeQuotes, bounds: &mut Vec<CurveBound>) {
        for i in (0..quotes.len()).filter(|&i| quotes.firm[i] < 0.5) {
            let (k, ln_ask) = (quotes.k[i], quotes.mid[i]);
            if 0.5 * ln(self.variance_at(k) / self.t) > ln_ask {
                let half = SPLINE.half_ask;
                bounds.push(CurveBound { k, ln_vol: ln_ask - half, from_above: true, half });
            }
        }
    }

    /// Measures the support of the current curve by quotes.
    fn judge(&mut self, quotes: &StrikeQuotes) {
        let (by_sd, level) = (Block::splat(1.0 / self.base.sd()), Block::splat(self.base.atm().ln()));
        let (mut inside, mut firm) = (0.0, 0.0);
        let Self { base, spline, support, .. } = self;
        support.begin(spline);
        for at in (0..quotes.k.len()).step_by(Block::N) {
            let load = |column: &[f64]| Block::load(&column[at..]);
            let x = load(&quotes.k) * by_sd;
            let u = spline_place(x);
            let shape = ln(base.ratio(x));
            // in ln σ, where errors of quotes are about the same at every strike
            let miss = load(&quotes.mid) - (shape.mul_add(Block::splat(0.5), level) + spline.value(u));
            let halves2 = miss * miss * load(&quotes.precision);
            // padding has no firm quote, so it is never counted
            for lane in (0..Block::N).filter(|&lane| quotes.firm[at + lane] > 0.0) {
                let halves2 = halves2.lane(lane);
                firm += 1.0;
                inside += f64::from(u8::from(halves2 <= 1.0));
                // a quote that the curve misses does not support it
                support.add(u.lane(lane), quotes.precision[at + lane] / halves2.max(1.0), spline);
            }
        }
        support.finish(inside / f64::max(firm, 1.0));
    }
}

impl CurveProblem {
    /// Fits the spline over a base, softened until it meets quotes and bounds, stiffened where it would bend into
    /// arbitrage. Its knots reach beyond its quotes and bounds.
    fn fit_curve(
        &mut self,
        curve: &mut Curve,
        quotes: &StrikeQuotes,
        bounds: &[CurveBound],
        lattice: &mut ButterflyGrid,
    ) {
        self.begin(curve, quotes, bounds);
        self.fit(curve, quotes, bounds);
        lattice.lay(curve);
        self.repair_butterflies(curve, lattice);
        // curves with bounds are judged when all curves are fitted
        if bounds.is_empty() {
            curve.judge(quotes);
            curve.alone.keep(&curve.support, &curve.spline);
        }
    }

    /// Prepares a fit: places of the quotes, knots, distances to the base, first weights.
    ///
    /// # Shapes   samples are the quotes, padded to blocks, then the bounds
    /// # Units    places on the spline's coordinate, distances in ln σ
    /// # Domain   a curve with a base; quotes without a bid have no first weight
    fn begin(&mut self, curve: &mut Curve, quotes: &StrikeQuotes, bounds: &[CurveBound]) {
        let by_sd = 1.0 / curve.base.sd();
        // a strike of a cent under a large forward would ask for knots without end
        let place = |k: f64| spline_place(k * by_sd).clamp(-SPLINE.place_most, SPLINE.place_most);
        curve.quoted = (place(quotes.range.0), place(quotes.range.1));
        curve.shaped = bounds.iter().map(|bound| place(bound.k)).fold(curve.quoted, |s, u| (s.0.min(u), s.1.max(u)));
        // beyond the outermost quotes the spline needs room to become flat, or it would end with a slope
        let (start, end) = (curve.shaped.0 - SPLINE.reach, curve.shaped.1 + SPLINE.reach);
        let pieces = ((end - start) / SPLINE.knot_step).ceil().min(SPLINE.pieces_most);
        curve.spline.reset(start, end, pieces as usize);
        let (n, level) = (quotes.k.len(), curve.base.atm().ln());
        self.places.clear();
        self.places.resize(n, 0.0);
        for (k, place) in quotes.k.chunks_exact(Block::N).zip(self.places.chunks_exact_mut(Block::N)) {
            spline_place(Block::load(k) * by_sd).store(place);
        }
        // bounds come after the padding, so that blocks of quotes stay whole
        self.places.extend(bounds.iter().map(|bound| place(bound.k)));
        self.squares.begin(
            &curve.spline,
            &self.places,
            if bounds.is_empty() { quotes.len() } else { self.places.len() },
        );
        let half = Block::splat(0.5);
        for at in (0..n).step_by(Block::N) {
            let load = |column: &[f64]| Block::load(&column[at..]);
            let shape = ln(curve.base.ratio(load(&quotes.k) * by_sd));
            (load(&quotes.mid) - shape.mul_add(half, Block::splat(level))).store(&mut self.squares.y[at..]);
            (load(&quotes.precision) * load(&quotes.firm)).store(&mut self.squares.w[at..]);
        }
        for (i, bound) in bounds.iter().enumerate() {
            self.squares.y[n + i] = bound.ln_vol - level - 0.5 * ln(curve.base.ratio(bound.k * by_sd));
            // a bound counts from the first round on; one that the curve keeps by itself is released later
            self.squares.w[n + i] = 1.0 / (bound.half * bound.half);
        }
        self.set_stiffness(curve);
        let (start, step) = (curve.spline.ends().0, curve.spline.step());
        let knots: &[f64] = &self.places[n..];
        if !bounds.is_empty() {
            for (i, bend) in self.stiffness.bend.iter_mut().enumerate() {
                if knots.iter().any(|u| ((u - start) / step - i as f64).abs() < SPLINE.bound_knots) {
                    // a bound is one sample among many, so a stiff spline would ignore it and cross again
                    *bend /= SPLINE.bound_softer * SPLINE.bound_softer;
                }
            }
        }
    }

    fn set_stiffness(&mut self, curve: &Curve) {
        let (n, step, (start, end)) = (curve.spline.coef().len(), curve.spline.step(), curve.spline.ends());
        let beyond = |reach: f64| ((reach / step) as usize).saturating_sub(1);
        // a second difference grows with the square of the step: the same curve costs the same at any number of pieces
        let bend_sd = SPLINE.bend * (step / SPLINE.knot_step).powi(2);
        self.stiffness.bend.clear();
        self.stiffness.bend.resize(n - 2, 1.0 / (bend_sd * bend_sd));
        self.stiffness.end_slope = 1.0 / (SPLINE.end_slope * step).powi(2);
        self.stiffness.ends = (beyond(curve.shaped.0 - start), beyond(end - curve.shaped.1));
        // small and above zero: it makes the system definite where an interval has no sample
        self.stiffness.level = SPLINE.level_precision;
    }

    /// Fits, reweights and softens until enough quotes are met, then as far as that predicts the quotes better.
    ///
    /// A fit within bounds bends as far as the fit without them chose to.
    fn fit(&mut self, curve: &mut Curve, quotes: &StrikeQuotes, bounds: &[CurveBound]) {
        let n = curve.spline.coef().len();
        // From stiff to soft: bad quotes have lost their weight before the curve can follow them.
        let mut softness = 1.0;
        for attempt in 0..SPLINE.attempts {
            self.squares.penalise(n, &self.stiffness);
            let met = self.reweigh(curve, quotes, bounds, Trust::Fresh);
            let held = self.keeps(bounds, quotes.k.len());
            // the last attempt counts in any case, as some markets contradict themselves
            if attempt + 1 == SPLINE.attempts || (met.inside >= SPLINE.inside_enough && held) {
                if met.moved {
                    self.squares.solve(&mut curve.spline);
                }
                break;
            }
            softness *= self.stiffness.soften(SPLINE.softer * SPLINE.softer);
        }
        if bounds.is_empty() {
            let further = self.soften_by_prediction(curve, quotes);
            // kept for the fit within bounds, which must not choose again from quotes that bounds have moved it away
            // from
            curve.softness = if further > 1.0 { softness * further } else { 1.0 };
        } else if curve.softness > softness {
            self.stiffness.soften(curve.softness / softness);
            self.squares.penalise(n, &self.stiffness);
            if self.reweigh(curve, quotes, bounds, Trust::Kept).moved {
                self.squares.solve(&mut curve.spline);
            }
        }
    }

    /// Solves and weighs the quotes by their distances, in turn, until the weights stand still.
    fn reweigh(&mut self, curve: &mut Curve, quotes: &StrikeQuotes, bounds: &[CurveBound], trust: Trust) -> Judgement {
        let mut met = Judgement::default();
        for _ in 0..SPLINE.reweights {
            self.squares.solve(&mut curve.spline);
            met = self.weigh(quotes, trust);
            met.moved |= self.weigh_bounds(bounds, quotes.k.len());
            if !met.moved {
                break;
            }
        }
        met
    }

    /// Softens the spline as long as that predicts its quotes better; returns the factor. With few quotes nothing
    /// changes.
    ///
    /// # Source   generalised cross-validation (Craven and Wahba 1979), each parameter counting a little more than one
    /// (Kim and Gu 2004), over the weights of the robust fit
    /// # Cost     a solution and a trace for each degree tried
    fn soften_by_prediction(&mut self, curve: &mut Curve, quotes: &StrikeQuotes) -> f64 {
        let (n, n_firm) = (curve.spline.coef().len(), quotes.n_firm());
        // the trace divides by the number of quotes: with few the score falls without end towards interpolation
        if n_firm < SPLINE.predicted_least {
            return 1.0;
        }
        let score = |problem: &mut Self| {
            let free = 1.0 - SPLINE.parameter_cost * problem.squares.freedom(n) / n_firm;
            let misfit = problem.weigh(quotes, Trust::Kept).misfit;
            // as many parameters as quotes predict nothing, whatever the misfit
            if free > 0.0 { misfit / (free * free) } else { f64::INFINITY }
        };
        let (mut least, mut further) = (score(self), 1.0);
        for _ in 0..SPLINE.degrees {
            let by = self.stiffness.soften(SPLINE.degree * SPLINE.degree);
            self.squares.penalise(n, &self.stiffness);
            self.squares.solve(&mut curve.spline);
            let next = score(self);
            // a gain that is smaller than the noise of the score would soften every curve to the last degree
            if next > SPLINE.predicts_better * least {
                self.stiffness.soften(1.0 / by);
                break;
            }
            (least, further) = (next, further * by);
        }
        self.squares.penalise(n, &self.stiffness);
        self.reweigh(curve, quotes, &[], Trust::Kept);
        self.squares.solve(&mut curve.spline);
        further
    }

    /// Releases the bounds that the curve keeps by itself; returns true if a bound was released or is needed again.
    fn weigh_bounds(&mut self, bounds: &[CurveBound], first: usize) -> bool {
        let mut moved = false;
        for (i, bound) in (first..).zip(bounds) {
            let over = self.squares.fitted[i] - self.squares.y[i];
            let kept = if bound.from_above { over < 0.0 } else { over > 0.0 };
            let w = if kept { 0.0 } else { 1.0 / (bound.half * bound.half) };
            // only a change of sides counts: the weight itself is one of two numbers
            moved |= (w > 0.0) != (self.squares.w[i] > 0.0);
            self.squares.w[i] = w;
        }
        moved
    }

    /// True if the curve keeps its bounds.
    fn keeps(&self, bounds: &[CurveBound], first: usize) -> bool {
        let over = |i: usize| self.squares.fitted[first + i] - self.squares.y[first + i];
        let broken = |i: usize, bound: &CurveBound| if bound.from_above { over(i) } else { -over(i) };
        bounds.iter().enumerate().all(|(i, bound)| broken(i, bound) < SPLINE.bound_met * bound.half)
    }

    /// Weighs the quotes by their distance from the last curve; a lone ask counts only if the curve is above it.
    fn weigh(&mut self, quotes: &StrikeQuotes, trust: Trust) -> Judgement {
        let (zero, one) = (Block::splat(0.0), Block::splat(1.0));
        let robust = Block::splat(SPLINE.robust_halves.powi(-2));
        let (settled, mut moved) = (Block::splat(SPLINE.weight_settled), zero.gt(zero));
        let (mut inside, mut misfit) = (zero, zero);
        let squares = &mut self.squares;
        for at in (0..quotes.k.len()).step_by(Block::N) {
            let load = |column: &[f64]| Block::load(&column[at..]);
            let (precision, firm) = (load(&quotes.precision), load(&quotes.firm));
            let miss = load(&squares.fitted) - load(&squares.y);
            let halves2 = miss * miss * precision;
            let two_sided = one / halves2.mul_add(robust, one);
            let two_sided = match trust {
                Trust::Fresh => two_sided,
                Trust::Kept => two_sided.min(load(&squares.w) / precision),
            };
            let above = Block::select(miss.gt(zero), one, zero);
            let w = Block::select(firm.gt(zero), two_sided, above) * precision;
            moved = moved | (w - load(&squares.w)).abs().gt(precision * settled);
            w.store(&mut squares.w[at..]);
            inside += Block::select(halves2.le(one), firm, zero);
            misfit = (w * firm).mul_add(miss * miss, misfit);
        }
        let count = |of: Block| (0..Block::N).map(|i| of.lane(i)).sum::<f64>();
        let n_firm = quotes.n_firm();
        Judgement { inside: count(inside) / n_firm.max(1.0), misfit: count(misfit), moved: moved.any() }
    }

    /// Stiffens the spline where the density would be negative; if that is not enough, reduces the weight of quotes
    /// there; as a last resort, smooths it.
    ///
    /// # Source   Durrleman's condition at the points of a grid; stiffening where it fails, then yielding, then
    /// smoothing
    /// # Cost     one check if the first fit has no butterfly
    fn repair_butterflies(&mut self, curve: &mut Curve, lattice: &mut ButterflyGrid) {
        for round in 0..BUTTERFLY.rounds {
            if !lattice.look(&curve.spline) & !lattice.look_at_tails(curve) {
                return;
            }
            for (i, bend) in self.stiffness.bend.iter_mut().enumerate() {
                if lattice.is_thin(i + 1) {
                    *bend *= BUTTERFLY.stiffer;
                }
            }
            if round >= BUTTERFLY.stiff_rounds {
                let (start, step) = (curve.spline.ends().0, curve.spline.step());
                for (place, w) in self.places.iter().zip(&mut self.squares.w) {
                    if lattice.is_thin(((place - start) / step).round().max(0.0) as usize + 1) {
                        *w *= BUTTERFLY.yielding;
                    }
                }
            }
            self.squares.penalise(curve.spline.coef().len(), &self.stiffness);
            self.squares.solve(&mut curve.spline);
        }
        for round in 0..BUTTERFLY.smoothings {
            let thin = lattice.look(&curve.spline);
            let tails = lattice.tails(curve);
            if !thin && tails == [false, false] {
                return;
            }
            if thin {
                lattice.smooth(&mut curve.spline);
            }
            curve.shrink(tails, BUTTERFLY.wing_first + round);
        }
    }
}
