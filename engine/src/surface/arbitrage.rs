//! Static arbitrage of curves: butterflies inside one expiry, calendars between neighbours.
//! Never: a quote.

use super::spline::{Spline, piece, piece_jet};
use super::{Curve, LnVariance, deviations, place_jet};
use crate::kernel::elementary::exp;
use crate::kernel::lanes::{Block, Lanes, Mask};

/// Durrleman's function: the risk-neutral density is its positive multiple, so it must not be negative.
///
/// # Source  Durrleman (2004), as in Gatheral and Jacquier (2014) eq. 2.1, written in ln w
#[must_use]
pub fn durrleman(k: f64, v: &LnVariance) -> f64 {
    density_factor(k, v.value.exp(), [v.slope, v.bend])
}

/// Durrleman's function of k, w and the first two derivatives of ln w in k.
#[inline(always)]
fn density_factor<L: Lanes>(k: L, w: L, [slope, bend]: [L; 2]) -> L {
    let lead = (k * slope).mul_add(L::splat(-0.5), L::splat(1.0));
    let s2 = slope * slope;
    let curved = bend.mul_add(L::splat(0.5), s2 * w.mul_add(L::splat(-0.0625), L::splat(0.25)));
    lead.mul_add(lead, w * curved)
}

/// Rounds of repair over a whole chain at most; after the first ones only the later curve of a pair moves.
const ROUNDS: usize = 14;
const SHARED_ROUNDS: usize = 3;
/// A crossing smaller than this part of w is none.
const CROSSING_SMALL: f64 = 1e-6;
/// Curves that are this part of w apart at their knots do not cross between them.
const CLOSE: f64 = 0.03;
/// Least value of Durrleman's function at the places looked at, so that none between them is negative.
const DENSITY_MIN: f64 = 2e-3;
/// Crossing curves are moved this much further apart in ln σ, so that they do not cross between the places looked at.
const CLEARANCE: f64 = 5e-4;
/// Passes of smoothing over the places of a butterfly.
const SMOOTHINGS: usize = 40;
/// A repair at one place moves the coefficients within this many knots; more of them where smoothing undoes it.
const NEAR_KNOTS: f64 = 1.5;
/// Places looked at between one knot and the next (the bend is linear between them).
const PLACES: usize = 4;
/// A butterfly concerns the coefficients within this many knots.
const FLY_KNOTS: f64 = 2.0;

/// What a look for butterflies takes from the curve but for its spline, at eight places at once.
#[derive(Clone, Copy, Debug)]
struct Place {
    k: Block,
    /// Total variance of the base.
    w: Block,
    /// Derivatives of its logarithm in k.
    slope: Block,
    bend: Block,
    /// Twice du/dk and d²u/dk² in knots, and twice the square of du/dk: g counts twice in ln w.
    rise: Block,
    turn: Block,
    rise2: Block,
}

/// Where butterflies are looked for: every knot inside the quotes and three places between, eight intervals at a time.
/// What does not move with the spline is worked out once.
#[derive(Clone, Debug, Default)]
pub(super) struct Lattice {
    /// The first interval.
    first: usize,
    /// [`PLACES`] for each eight intervals.
    places: Vec<Place>,
    /// Coefficients from the first interval on, padded.
    coef: Vec<f64>,
    /// Where the density was last found to be thin, in knots from the first.
    thin: Vec<f64>,
}

impl Lattice {
    /// Lays the places inside the quotes of a curve.
    pub(super) fn lay(&mut self, curve: &Curve) {
        let (spline, (from, to)) = (&curve.spline, curve.quoted);
        let (start, step, sd) = (spline.ends().0, spline.step(), curve.base.sd());
        let interval = |u: f64| ((u - start) / step).clamp(0.0, (spline.intervals() - 1) as f64) as usize;
        self.first = interval(from);
        self.places.clear();
        // a little beyond both ends, so that they lie between places
        let beyond = step / PLACES as f64;
        let (low, high) = (Block::splat(from - beyond), Block::splat(to + beyond));
        let (c, lanes) = (Block::splat, Block::load(&core::array::from_fn::<f64, { Block::N }, _>(|i| i as f64)));
        for at in (self.first..=interval(to)).step_by(Block::N) {
            for part in 0..PLACES {
                let knots = c(at as f64 + part as f64 / PLACES as f64) + lanes;
                let u = knots.mul_add(c(step), c(start));
                let counts = low.le(u) & u.le(high);
                let [u, u1, u2] = place_jet(u);
                let x = deviations(u);
                let [q, q1, q2] = curve.base.ratio_jet(x);
                let (by_sd, doubled) = (c(1.0 / sd), c(2.0 / (sd * step)));
                // without variance and at the money Durrleman's function is 1
                let counted = |x: Block| Block::select(counts, x, c(0.0));
                self.places.push(Place {
                    k: counted(x * c(sd)),
                    w: counted(q * c(sd * sd)),
                    slope: q1 * by_sd,
                    bend: q2 * by_sd * by_sd,
                    rise: u1 * doubled,
                    turn: u2 * doubled * by_sd,
                    rise2: u1 * u1 * doubled * c(1.0 / (sd * step)),
                });
            }
        }
    }

    /// Looks for places where the density is negative, or nearly so; whether there is one.
    pub(super) fn look(&mut self, spline: &Spline) -> bool {
        self.thin.clear();
        let blocks = self.places.len() / PLACES;
        pad(&spline.coef()[self.first..], (blocks * Block::N) + 3, &mut self.coef);
        for block in 0..blocks {
            let at = block * Block::N;
            let coef = [0, 1, 2, 3].map(|i| Block::load(&self.coef[at + i..]));
            for part in 0..PLACES {
                let p = &self.places[block * PLACES + part];
                let fraction = part as f64 / PLACES as f64;
                let [g, g1, g2] = piece_jet(coef, Block::splat(fraction));
                let w = p.w * exp(g + g);
                let slope = g1.mul_add(p.rise, p.slope);
                let bend = g2.mul_add(p.rise2, g1.mul_add(p.turn, p.bend));
                let thin = density_factor(p.k, w, [slope, bend]).lt(Block::splat(DENSITY_MIN));
                if thin.any() {
                    let knot = (self.first + at) as f64 + fraction;
                    self.thin.extend((0..Block::N).filter(|&i| thin.lane(i)).map(|i| knot + i as f64));
                }
            }
        }
        !self.thin.is_empty()
    }

    /// Whether the last look found a place near coefficient `i`.
    pub(super) fn is_thin(&self, i: usize) -> bool {
        let own = i as f64 - 1.0;
        self.thin.iter().any(|p| (own - p).abs() < FLY_KNOTS)
    }
}

/// `from`, then its last number again until there are `n`.
fn pad(from: &[f64], n: usize, to: &mut Vec<f64>) {
    to.clear();
    to.extend_from_slice(from);
    to.resize(n.max(from.len()), from.last().copied().unwrap_or(0.0));
}

/// A curve's total variance at each of its knots and half way between, for the neighbours to be compared with.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    /// How many knots.
    knots: usize,
    /// Log-moneyness of eight knots, of the eight places after them, and so on.
    k: Vec<Block>,
    /// Total variance of the base there.
    base: Vec<Block>,
    /// Total variance there.
    w: Vec<Block>,
    /// Coefficients, padded.
    coef: Vec<f64>,
}

impl Profile {
    /// Of a curve that has new knots.
    pub(super) fn lay(&mut self, curve: &Curve) {
        let (spline, sd) = (&curve.spline, curve.base.sd());
        let (start, end) = spline.ends();
        self.knots = spline.intervals() + 1;
        self.k.clear();
        self.base.clear();
        let (c, lanes) = (Block::splat, Block::load(&core::array::from_fn::<f64, { Block::N }, _>(|i| i as f64)));
        for at in (0..self.knots).step_by(Block::N) {
            for part in [0.0, 0.5] {
                let u = (c(at as f64 + part) + lanes).mul_add(c(spline.step()), c(start)).min(c(end));
                let x = deviations(u);
                self.k.push(x * c(sd));
                self.base.push(c(sd * sd) * curve.base.ratio(x));
            }
        }
        self.follow(spline);
    }

    /// Of the same curve when its spline has moved.
    fn follow(&mut self, spline: &Spline) {
        let blocks = self.k.len() / 2;
        pad(spline.coef(), blocks * Block::N + 3, &mut self.coef);
        self.w.clear();
        for (i, &base) in self.base.iter().enumerate() {
            let at = i / 2 * Block::N;
            let coef = [0, 1, 2, 3].map(|i| Block::load(&self.coef[at + i..]));
            let g = piece(coef, Block::splat(0.5 * (i % 2) as f64));
            self.w.push(base * exp(g + g));
        }
    }

    /// Adds the places where this curve is out of order with a neighbour: (k, half the fall of ln w from the earlier to
    /// the later, and some more).
    fn compare(&self, other: &Curve, later: bool, out: &mut Vec<(f64, f64)>) {
        let mut close = true;
        for (i, (&k, &own)) in self.k.iter().zip(&self.w).enumerate() {
            // where eight knots in a row are far apart, so are the places between them
            if i % 2 == 1 && !close {
                continue;
            }
            let others = other.variance_at(k);
            let (early, late) = if later { (others, own) } else { (own, others) };
            close = early.gt(late * Block::splat(1.0 - CLOSE)).any();
            let crossed = early.gt(late * Block::splat(1.0 + CROSSING_SMALL));
            if !crossed.any() {
                continue;
            }
            let here = (self.knots - i % 2).saturating_sub(i / 2 * Block::N).min(Block::N);
            let falls = (0..here).filter(|&lane| crossed.lane(lane));
            out.extend(falls.map(|lane| {
                let ratio = early.lane(lane) / late.lane(lane);
                (k.lane(lane), 0.5 * ratio.ln() + CLEARANCE)
            }));
        }
    }
}

/// Repairs the curves of one chain; kept between chains for its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Repair {
    known: Vec<usize>,
    touched: Vec<bool>,
    moved: Vec<bool>,
    crossings: Vec<(f64, f64)>,
    /// By coefficient of the curve being moved.
    by: Vec<f64>,
}

impl Repair {
    /// Parts curves that cross a neighbour in total variance at equal forward moneyness, the less supported one moving
    /// more, and smooths what that bends. Curves in order of time, with their profiles; those that know nothing are
    /// passed over.
    pub(super) fn run(&mut self, curves: &mut [Curve], profiles: &mut [Profile], lattice: &mut Lattice) {
        self.known.clear();
        self.known.extend((0..curves.len()).filter(|&i| curves[i].fwd > 0.0));
        self.touched.clear();
        self.touched.resize(curves.len(), true);
        for round in 0..ROUNDS {
            self.moved.clear();
            self.moved.resize(curves.len(), false);
            let reach = NEAR_KNOTS + 0.5 * round.saturating_sub(SHARED_ROUNDS) as f64;
            let later_only = round >= SHARED_ROUNDS;
            for i in 1..self.known.len() {
                let (early, late) = (self.known[i - 1], self.known[i]);
                let due = self.touched[early] || self.touched[late] || self.moved[early];
                if !due || !self.crossings(early, late, curves, profiles) {
                    continue;
                }
                self.part(early, late, curves, later_only, reach);
                profiles[late].follow(&curves[late].spline);
                self.moved[late] = true;
                if !later_only {
                    profiles[early].follow(&curves[early].spline);
                    self.moved[early] = true;
                }
            }
            for i in (0..curves.len()).filter(|&i| self.moved[i]) {
                smooth_butterflies(&mut curves[i], lattice);
                profiles[i].follow(&curves[i].spline);
            }
            if self.moved.iter().all(|m| !m) {
                break;
            }
            core::mem::swap(&mut self.touched, &mut self.moved);
        }
    }

    /// Finds where the earlier of two curves lies above the later; whether it does anywhere.
    fn crossings(&mut self, early: usize, late: usize, curves: &[Curve], profiles: &[Profile]) -> bool {
        self.crossings.clear();
        profiles[early].compare(&curves[late], false, &mut self.crossings);
        profiles[late].compare(&curves[early], true, &mut self.crossings);
        !self.crossings.is_empty()
    }

    /// Parts the pair whose crossings were found; with `later_only` the earlier curve stays.
    fn part(&mut self, early: usize, late: usize, curves: &mut [Curve], later_only: bool, reach: f64) {
        let shares = [(late, 1.0), (early, -1.0)];
        for (which, sign) in shares.into_iter().take(if later_only { 1 } else { 2 }) {
            let spline = &curves[which].spline;
            let (start, end) = spline.ends();
            self.by.clear();
            self.by.resize(spline.coef().len(), 0.0);
            for &(k, gap) in &self.crossings {
                let [(own, u), (others, _)] = [which, early + late - which].map(|i| curves[i].precision_at(k));
                let share = if later_only { 1.0 } else { (others + 1e-6) / (own + others + 2e-6) };
                // a place beyond the knots counts as the last one
                let knot = (u.clamp(start, end) - start) / spline.step() + 1.0;
                let near = (knot - reach).ceil().max(0.0) as usize..=(knot + reach) as usize;
                for by in self.by.iter_mut().take(near.end() + 1).skip(*near.start()) {
                    *by = by.max(gap * share);
                }
            }
            curves[which].spline.coef_mut().iter_mut().zip(&self.by).for_each(|(c, by)| *c += sign * by);
        }
    }
}

/// Lets the spline diffuse where the density is negative, until it is not.
fn smooth_butterflies(curve: &mut Curve, lattice: &mut Lattice) {
    lattice.lay(curve);
    for _ in 0..SMOOTHINGS {
        if !lattice.look(&curve.spline) {
            return;
        }
        let coef = curve.spline.coef_mut();
        let mut before = coef[0];
        for i in 1..coef.len() - 1 {
            let own = coef[i];
            if lattice.is_thin(i) {
                coef[i] += 0.25 * (before - 2.0 * own + coef[i + 1]);
            }
            before = own;
        }
    }
}
