//! Total variance must not fall along the expiries of a name at equal forward moneyness.
//!
//! Where curves cross, the values of all expiries that list such strikes are put in order by isotonic regression, each
//! weighted by the precision with which its own quotes know it there: well-quoted parts stay, others move, wings beyond
//! the quotes first. Each curve that must move is then fitted again to its quotes with these values as bounds, so that
//! it moves there and nowhere else, and stays smooth. Source: pool adjacent violators (Ayer and others 1955; Barlow and
//! others 1972); bounds on total variance at equal forward moneyness are those of Fengler (2009), Arbitrage-free
//! smoothing of the implied volatility surface. Never: a quote.

use super::curve::{Curve, deviations, spline_place};
use super::settings::CALENDAR;
use kernel::elementary::ln;
use kernel::lanes::{Block, Lanes, Mask};

/// A bound on a curve, for its next fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurveBound {
    /// ln(K/F).
    pub(super) k: f64,
    /// ln σ.
    pub(super) ln_vol: f64,
    /// True: the curve must be below the bound; false: above it.
    pub(super) from_above: bool,
    /// Half width of the bound in ln σ.
    pub(super) half: f64,
}

/// Puts the curves of one chain in order; kept between chains for its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct CalendarOrder {
    /// Log-moneyness of the places looked at, by slice, in blocks, each with the places half way to the next ones.
    places: Vec<Vec<[Block; 2]>>,
    /// Bounds found so far, by slice.
    pub(super) bounds: Vec<Vec<CurveBound>>,
    /// Bounds of this round: slice, log-moneyness, and the move of ln σ that the curve needs.
    fresh: Vec<(usize, f64, f64)>,
    /// Slices with a new bound.
    pub(super) moved: Vec<usize>,
    by: Vec<f64>,
    falls: Vec<f64>,
    pools: Vec<Pool>,
    column: Vec<(usize, f64, f64)>,
}

/// Neighbouring expiries with one pooled value of ln w.
#[derive(Clone, Copy, Debug)]
struct Pool {
    value: f64,
    weight: f64,
    n: usize,
}

impl CalendarOrder {
    /// Forgets all bounds and takes the places of new curves, in order of time.
    pub(super) fn begin(&mut self, curves: &[Curve]) {
        let n = curves.len();
        if self.places.len() < n {
            self.places.resize_with(n, Vec::new);
            self.bounds.resize_with(n, Vec::new);
        }
        for (i, curve) in curves.iter().enumerate() {
            self.bounds[i].clear();
            lay(curve, &mut self.places[i]);
        }
    }

    /// Finds falls of total variance, and bounds that repair them; returns true if there is one.
    pub(super) fn find(&mut self, curves: &[Curve]) -> bool {
        self.falls.clear();
        self.moved.clear();
        self.fresh.clear();
        for i in 0..curves.len() {
            if curves[i].fwd > 0.0 {
                self.compare(i, curves);
            }
        }
        if self.falls.is_empty() {
            return false;
        }
        self.falls.sort_unstable_by(f64::total_cmp);
        // sorted and thinned evenly: places next to each other ask for the same bound
        let every = self.falls.len().div_ceil(CALENDAR.falls_most * curves.len());
        for at in (0..self.falls.len()).step_by(every) {
            self.order(self.falls[at], curves);
        }
        self.moved.sort_unstable();
        self.moved.dedup();
        !self.moved.is_empty()
    }

    /// Moves the coefficients of curve `i` at the places found, and no others.
    pub(super) fn nudge(&mut self, i: usize, curve: &mut Curve) {
        let sd = curve.base.sd();
        let place = |k: f64| spline_place(k / sd);
        let fresh = self.fresh.iter().filter(|(slice, ..)| *slice == i);
        let reach = fresh.clone().map(|&(_, k, _)| place(k)).fold(curve.spline.ends(), |e, u| (e.0.min(u), e.1.max(u)));
        // a place beyond the knots has no coefficient of its own to move
        curve.spline.extend(reach.0, reach.1);
        let (start, step) = (curve.spline.ends().0, curve.spline.step());
        self.by.clear();
        self.by.resize(curve.spline.coef().len(), 0.0);
        for &(_, k, by) in fresh {
            let knot = (place(k) - start) / step + 1.0;
            let (first, last) =
                ((knot - CALENDAR.near_knots).ceil().max(0.0) as usize, (knot + CALENDAR.near_knots) as usize);
            for (i, most) in self.by.iter_mut().enumerate().take(last + 1).skip(first) {
                let away = (i as f64 - knot) / CALENDAR.near_knots;
                // falls to zero at the edge, so that a nudge leaves no corner
                let by = by * (1.0 - away * away);
                // the largest of overlapping moves, as their sum would overshoot where places are dense
                if most.abs() < by.abs() {
                    *most = by;
                }
            }
        }
        curve.spline.coef_mut().iter_mut().zip(&self.by).for_each(|(coef, by)| *coef += by);
    }

    /// Compares a curve at its own places with the expiries before and after it that list them.
    fn compare(&mut self, i: usize, curves: &[Curve]) {
        let (before, after) = (curves[..i].iter().rev(), curves[i + 1..].iter());
        for &[k, between] in &self.places[i] {
            let own = curves[i].variance_at(k);
            let mut close = falls(k, own, -1.0, before.clone(), &mut self.falls);
            close |= falls(k, own, 1.0, after.clone(), &mut self.falls);
            if close {
                // only where the two are close: a crossing between two places needs both ends near
                let own = curves[i].variance_at(between);
                falls(between, own, -1.0, before.clone(), &mut self.falls);
                falls(between, own, 1.0, after.clone(), &mut self.falls);
            }
        }
    }

    /// Puts all expiries that list log-moneyness `k` in order there.
    ///
    /// # Source   isotonic regression by pooling adjacent violators (Barlow and others 1972), weights the precisions of
    /// the fits
    /// # Cost     linear in the expiries
    fn order(&mut self, k: f64, curves: &[Curve]) {
        self.column.clear();
        for (i, curve) in curves.iter().enumerate() {
            if curve.fwd > 0.0 && curve.listed.0 <= k && k <= curve.listed.1 {
                let w = curve.variance_at(k);
                // in ln w, as errors of quotes are in ln σ: a weight is the inverse of a variance only there
                self.column.push((i, ln(w), known(curve, k)));
            }
        }
        self.pools.clear();
        for &(_, value, weight) in &self.column {
            let mut pool = Pool { value, weight, n: 1 };
            while let Some(before) = self.pools.pop_if(|before| before.value > pool.value) {
                let weight = before.weight + pool.weight;
                let value = (before.weight * before.value + pool.weight * pool.value) / weight;
                pool = Pool { value, weight, n: before.n + pool.n };
            }
            self.pools.push(pool);
        }
        let mut at = 0;
        for pool in &self.pools {
            let members = &self.column[at..at + pool.n];
            at += pool.n;
            if pool.n < 2 {
                continue;
            }
            for (place, &(i, value, _)) in members.iter().enumerate() {
                // the pool has one value; its members get a little apart, or rounding would find the next fall
                let apart = (place as f64 - 0.5 * (pool.n - 1) as f64) * CALENDAR.clearance;
                let ln_vol = 0.5 * (pool.value - curves[i].t.ln()) + apart;
                self.bounds[i].push(CurveBound {
                    k,
                    ln_vol,
                    from_above: value > pool.value,
                    half: CALENDAR.half_order,
                });
                self.fresh.push((i, k, 0.5 * (pool.value - value) + apart));
                self.moved.push(i);
            }
        }
    }
}

/// Adds the places among `k` where total variance falls between this curve, which has `own` there, and the nearest of
/// `others` that lists them: later ones for a `side` of 1, earlier ones for −1. Returns true if the two are close
/// somewhere.
#[inline(always)]
fn falls<'a>(k: Block, own: Block, side: f64, others: impl Iterator<Item = &'a Curve>, out: &mut Vec<f64>) -> bool {
    let (c, mut open, mut close) = (Block::splat, k.le(k), false);
    for other in others.filter(|other| other.fwd > 0.0).take(CALENDAR.back) {
        let lists = c(other.listed.0).le(k) & k.le(c(other.listed.1)) & open;
        if !lists.any() {
            continue;
        }
        // how far total variance rises from the earlier to the later, as a part of it
        let rise = (other.variance_at(k) / own - 1.0) * side;
        close |= (rise.lt(c(CALENDAR.close)) & lists).any();
        let fall = rise.lt(c(-CALENDAR.fall_small)) & lists;
        if fall.any() {
            out.extend((0..Block::N).filter(|&lane| fall.lane(lane)).map(|lane| k.lane(lane)));
        }
        // order with the nearest that lists a strike is enough: order is transitive along the expiries
        open = open & !lists;
        if !open.any() {
            break;
        }
    }
    close
}

/// The places of a curve: even on its spline's coordinate, from its lowest listed strike to its highest.
fn lay(curve: &Curve, places: &mut Vec<[Block; 2]>) {
    places.clear();
    if curve.fwd.is_nan() || curve.fwd <= 0.0 {
        return;
    }
    let sd = curve.base.sd();
    let (low, high) = (spline_place(curve.listed.0 / sd), spline_place(curve.listed.1 / sd));
    let n = (((high - low) / CALENDAR.step).ceil() as usize + 1).next_multiple_of(Block::N).min(CALENDAR.places_most);
    let step = (high - low) / (n - 1) as f64;
    let lanes = Block::load(&core::array::from_fn::<f64, { Block::N }, _>(|i| i as f64));
    for at in (0..n).step_by(Block::N) {
        let u = (Block::splat(at as f64) + lanes).mul_add(Block::splat(step), Block::splat(low));
        let place = |u: Block| {
            let k = deviations(u) * sd;
            // rounding on the way through sinh would leave the outermost strikes out by a bit
            k.max(Block::splat(curve.listed.0)).min(Block::splat(curve.listed.1))
        };
        places.push([place(u), place(u + Block::splat(0.5 * step))]);
    }
}

/// 1/variance of the ln σ of a curve at log-moneyness `k`, from nearby quotes and from its shape.
fn known(curve: &Curve, k: f64) -> f64 {
    let (precision, u) = curve.precision_at(k);
    let beyond = (curve.quoted.0 - u).max(u - curve.quoted.1).max(0.0);
    let half = CALENDAR.known + CALENDAR.known_beyond * beyond;
    (precision + curve.firmness / (half * half)) * (curve.t / CALENDAR.last_day).min(1.0).powi(2)
}
