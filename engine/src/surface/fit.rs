//! From volatilities at bid, mid and ask to curves. Never: a price.

use super::arbitrage::{butterflies, repair};
use super::base::{Base, Point, Prior, fit_base};
use super::confidence::Support;
use super::spline::{Sample, Spline, Stiffness};
use super::{Curve, SurfaceInput, spline_place};
use crate::contract::Right;

/// A mid is not known better than this, in ln σ.
const HALF_MIN: f64 = 0.0015;
/// Knot distance on the spline's coordinate, and the most pieces.
const KNOT_STEP: f64 = 0.12;
const PIECES_MAX: f64 = 56.0;
/// How far the spline reaches beyond the quotes.
const REACH: f64 = 0.6;
/// Standard deviation of the second difference of g at [`KNOT_STEP`].
const BEND_SD: f64 = 0.003;
/// Each retry lets the spline bend this much more.
const SOFTER: f64 = 2.5;
/// Enough of the quotes have the curve inside their spread.
const INSIDE_ENOUGH: f64 = 0.95;
/// A quote further off than this many half spreads is an outlier.
const OUTLIER_HALVES: f64 = 6.0;
/// Strikes this far in standard deviations from the money take calls and puts, others the out-of-the-money side.
const BOTH_SIDES_SD: f64 = 1.0;
/// More points than this teach three numbers nothing.
const POINTS_MAX: usize = 48;
/// Fewer quotes than this borrow their shape from neighbours.
const QUOTES_FEW: usize = 6;

/// What the quotes of one strike say of its volatility, in ln σ.
#[derive(Clone, Copy, Debug)]
struct StrikeQuote {
    k: f64,
    mid: f64,
    half: f64,
    /// Only an ask: the volatility is at most `mid`.
    ask_only: bool,
}

/// The curves of all slices of one chain, given in native order.
#[must_use]
pub fn fit(slices: &[SurfaceInput]) -> Vec<Curve> {
    let quotes: Vec<Vec<StrikeQuote>> = slices.iter().map(merge_quotes).collect();
    let bases = fit_bases(slices, &quotes);
    let mut before = (0.0, 0.0);
    let mut curves: Vec<Curve> = Vec::with_capacity(slices.len());
    for i in 0..slices.len() {
        let Some(base) = bases[i] else {
            curves.push(Curve::missing(slices[i].t));
            continue;
        };
        curves.push(fit_curve(&slices[i], &quotes[i], base, before));
        before = two_sided_range(quotes[i].iter().map(|q| (q, q.k)));
    }
    repair(&mut curves);
    curves
}

/// One quote per strike: the out-of-the-money side, near the money both.
fn merge_quotes(input: &SurfaceInput) -> Vec<StrikeQuote> {
    if !(input.fwd > 0.0 && input.t > 0.0) {
        return Vec::new();
    }
    let near = BOTH_SIDES_SD * rough_vol(input) * input.t.sqrt();
    let mut out: Vec<StrikeQuote> = Vec::with_capacity(input.strike_milli.len() / 2 + 1);
    for row in 0..input.strike_milli.len() {
        let k = (f64::from(input.strike_milli[row]) * 1e-3 / input.fwd).ln();
        let otm = (input.right[row] == Right::Call) == (k >= 0.0);
        if !otm && k.abs() > near {
            continue;
        }
        let Some(quote) = row_quote(input, row, k, otm) else { continue };
        match out.last_mut() {
            Some(last) if (last.k - k).abs() < 1e-12 => *last = both(*last, quote),
            _ => out.push(quote),
        }
    }
    out
}

fn row_quote(input: &SurfaceInput, row: usize, k: f64, otm: bool) -> Option<StrikeQuote> {
    let (bid, mid, ask) = (input.vol_bid[row], input.vol_mid[row], input.vol_ask[row]);
    if input.used[row] && mid > 0.0 && ask > 0.0 {
        let low = if bid > 0.0 { bid } else { mid * mid / ask };
        let half = (0.5 * (ask / low).ln()).max(HALF_MIN);
        return Some(StrikeQuote { k, mid: mid.ln(), half, ask_only: false });
    }
    let bound = otm && ask > 0.0;
    bound.then(|| StrikeQuote { k, mid: ask.ln(), half: 0.1, ask_only: true })
}

/// Call and put of one strike: the overlap of their spreads, weighted where they do not overlap.
fn both(a: StrikeQuote, b: StrikeQuote) -> StrikeQuote {
    if a.ask_only || b.ask_only {
        return if a.ask_only { b } else { a };
    }
    let (wa, wb) = (1.0 / (a.half * a.half), 1.0 / (b.half * b.half));
    let mid = (wa * a.mid + wb * b.mid) / (wa + wb);
    let (low, high) = ((a.mid - a.half).max(b.mid - b.half), (a.mid + a.half).min(b.mid + b.half));
    let apart = (a.mid - b.mid).abs();
    if low < high {
        let half = (0.5 * (high - low)).max(HALF_MIN);
        StrikeQuote { mid: mid.clamp(low, high), half, ..a }
    } else {
        StrikeQuote { mid, half: (0.5 * apart).max(a.half.min(b.half)), ..a }
    }
}

/// Median of the volatilities of the five used rows nearest to the money; NaN: none.
fn rough_vol(input: &SurfaceInput) -> f64 {
    let mut best = [(f64::INFINITY, f64::NAN); 5];
    for row in 0..input.strike_milli.len() {
        let (vol, used) = (input.vol_mid[row], input.used[row]);
        if used && vol > 0.0 {
            let far = (f64::from(input.strike_milli[row]) * 1e-3 - input.fwd).abs();
            if far < best[4].0 {
                best[4] = (far, vol);
                best.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            }
        }
    }
    let n = best.iter().filter(|b| b.0.is_finite()).count();
    let mut vols = best.map(|b| b.1);
    vols[..n].sort_unstable_by(f64::total_cmp);
    if n == 0 { f64::NAN } else { vols[n / 2] }
}

/// The bases: well-quoted expiries from their own quotes, the others with the shape of the neighbours as prior.
fn fit_bases(slices: &[SurfaceInput], quotes: &[Vec<StrikeQuote>]) -> Vec<Option<Base>> {
    let points: Vec<Vec<Point>> = quotes.iter().map(|q| base_points(q)).collect();
    let mut bases: Vec<Option<Base>> = (0..slices.len())
        .map(|i| {
            let vol = rough_vol(&slices[i]);
            (points[i].len() >= QUOTES_FEW && vol > 0.0).then(|| {
                let prior = Prior { base: Base::usual(vol, slices[i].t), sd: [1.0, 0.7, 0.7] };
                fit_base(&points[i], &prior, slices[i].t)
            })
        })
        .collect();
    // first those with a few quotes, then those with none, which may take their shape from the former
    for with_quotes in [true, false] {
        let known = bases.clone();
        for i in 0..slices.len() {
            if bases[i].is_none() && slices[i].fwd > 0.0 && points[i].is_empty() != with_quotes {
                bases[i] = borrowed_base(&slices[i], &points[i], slices, &known);
            }
        }
    }
    bases
}

/// What the base is fitted to: the two-sided quotes, thinned out where there are many.
fn base_points(quotes: &[StrikeQuote]) -> Vec<Point> {
    let every = quotes.len().div_ceil(POINTS_MAX).max(1);
    let two_sided = quotes.iter().filter(|q| !q.ask_only).step_by(every);
    two_sided.map(|q| Point { k: q.k, ln_vol: q.mid, half: q.half.max(0.01) }).collect()
}

/// A base of few or no quotes: level and shape expected from the neighbours in time, moved by what quotes there are.
fn borrowed_base(
    slice: &SurfaceInput,
    points: &[Point],
    slices: &[SurfaceInput],
    known: &[Option<Base>],
) -> Option<Base> {
    let own = rough_vol(slice);
    let (mut near, mut far) = (None, f64::INFINITY);
    let (mut w, mut wv) = (0.0, 0.0);
    for (other, base) in slices.iter().zip(known) {
        let Some(base) = base else { continue };
        let apart = (other.t / slice.t).ln().abs();
        let weight = 1.0 / (0.01 + apart * apart);
        w += weight;
        wv += weight * base.atm().ln();
        if apart < far {
            (near, far) = (Some(*base), apart);
        }
    }
    let prior = match near {
        Some(base) => Prior { base: base.moved((wv / w).exp(), slice.t), sd: [0.1 + 0.2 * far.min(2.0), 0.15, 0.15] },
        None if own > 0.0 => Prior { base: Base::usual(own, slice.t), sd: [1.0, 0.3, 0.3] },
        None => return None,
    };
    Some(fit_base(points, &prior, slice.t))
}

/// The spline over a base, softened until it meets the quotes, stiffened where it would bend into arbitrage.
///
/// Its knots reach beyond its own quotes, and to those of the expiry before (log-moneyness `before`), with which it
/// must not cross.
fn fit_curve(slice: &SurfaceInput, quotes: &[StrikeQuote], base: Base, before: (f64, f64)) -> Curve {
    let place = |k: f64| spline_place(k / base.sd());
    let places: Vec<f64> = quotes.iter().map(|q| place(q.k)).collect();
    let (from, to) = two_sided_range(quotes.iter().zip(places.iter().copied()));
    let (start, end) = (from.min(place(before.0)) - REACH, to.max(place(before.1)) + REACH);
    let pieces = ((end - start) / KNOT_STEP).ceil().min(PIECES_MAX);
    let step = (end - start) / pieces;
    let mut curve = Curve {
        fwd: slice.fwd,
        t: slice.t,
        base,
        spline: Spline::with_knots(start, end, pieces as usize),
        support: Support::default(),
        quoted: (from, to),
        outliers: 0,
    };
    let mut problem = Problem::new(&curve, quotes, &places, step);
    problem.fit(&mut curve);
    repair_butterflies(&mut curve, &mut problem);
    let n = curve.spline.len();
    let (inside, outliers) = problem.judge(&curve);
    let tight = quotes.iter().zip(&places).filter(|(q, _)| !q.ask_only).map(|(q, &u)| (u, q.half));
    curve.support = Support::new(tight, curve.spline.place(0), step, n, inside);
    curve.outliers = outliers;
    curve
}

/// Least and greatest place of the two-sided quotes; the money where there are none.
fn two_sided_range<'a>(quotes: impl Iterator<Item = (&'a StrikeQuote, f64)>) -> (f64, f64) {
    let firm = quotes.filter(|(q, _)| !q.ask_only).map(|(_, place)| place);
    let (from, to) = firm.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), u| (a.min(u), b.max(u)));
    if from <= to { (from, to) } else { (0.0, 0.0) }
}

/// The least-squares problem of one curve, its weights changing from round to round.
struct Problem<'a> {
    quotes: &'a [StrikeQuote],
    samples: Vec<Sample>,
    stiffness: Stiffness,
}

impl<'a> Problem<'a> {
    fn new(curve: &Curve, quotes: &'a [StrikeQuote], places: &[f64], step: f64) -> Self {
        let sd = curve.base.sd();
        let samples = quotes.iter().zip(places).map(|(q, &u)| {
            let y = q.mid - curve.base.vol(q.k / sd).ln();
            Sample { u, y, w: if q.ask_only { 0.0 } else { 1.0 / (q.half * q.half) } }
        });
        let (start, end) = (curve.spline.place(1), curve.spline.place(curve.spline.len() - 2));
        let beyond = |reach: f64| ((reach / step) as usize).saturating_sub(1);
        let bend_sd = BEND_SD * (step / KNOT_STEP).powi(2);
        let stiffness = Stiffness {
            bend: vec![1.0 / (bend_sd * bend_sd); curve.spline.len() - 2],
            end_slope: 1.0 / (0.02 * step).powi(2),
            ends: (beyond(curve.quoted.0 - start), beyond(end - curve.quoted.1)),
            level: 1.0,
        };
        Self { samples: samples.collect(), quotes, stiffness }
    }

    /// Fits, reweights and softens until enough quotes are met.
    fn fit(&mut self, curve: &mut Curve) {
        for attempt in 0..4 {
            for _ in 0..3 {
                curve.spline.fit(&self.samples, &self.stiffness);
                self.reweight(curve);
            }
            if attempt == 3 || self.judge(curve).0 >= INSIDE_ENOUGH {
                break;
            }
            self.stiffness.bend.iter_mut().for_each(|b| *b /= SOFTER * SOFTER);
        }
        curve.spline.fit(&self.samples, &self.stiffness);
    }

    fn reweight(&mut self, curve: &Curve) {
        for (s, q) in self.samples.iter_mut().zip(self.quotes) {
            let miss = (curve.spline.value(s.u) - s.y) / q.half;
            let base = 1.0 / (q.half * q.half);
            s.w = if q.ask_only { if miss > 0.0 { base } else { 0.0 } } else { base / (1.0 + (miss / 3.0).powi(2)) };
        }
    }

    /// Part of the two-sided quotes that the curve passes within, and the count of outliers.
    fn judge(&self, curve: &Curve) -> (f64, u32) {
        let (mut n, mut inside, mut outliers) = (0u32, 0u32, 0u32);
        for (s, q) in self.samples.iter().zip(self.quotes).filter(|(_, q)| !q.ask_only) {
            let miss = (curve.spline.value(s.u) - s.y).abs();
            n += 1;
            inside += u32::from(miss <= q.half);
            outliers += u32::from(miss > OUTLIER_HALVES * q.half);
        }
        (if n == 0 { 0.0 } else { f64::from(inside) / f64::from(n) }, outliers)
    }
}

/// Stiffens the spline where the density would be negative; as a last resort shrinks it to the base.
fn repair_butterflies(curve: &mut Curve, problem: &mut Problem) {
    let step = curve.spline.step();
    for _ in 0..6 {
        let bad = butterflies(curve);
        if bad.is_empty() {
            return;
        }
        for (i, bend) in problem.stiffness.bend.iter_mut().enumerate() {
            let place = curve.spline.place(i + 1);
            if bad.iter().any(|u| (place - u).abs() < 2.0 * step) {
                *bend *= 4.0;
            }
        }
        curve.spline.fit(&problem.samples, &problem.stiffness);
    }
    for _ in 0..12 {
        if butterflies(curve).is_empty() {
            return;
        }
        curve.spline.scale(0.7);
    }
    curve.spline.scale(0.0);
}
