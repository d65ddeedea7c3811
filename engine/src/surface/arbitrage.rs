//! Butterflies of one curve: where its density would be negative.
//! Never: a quote.

use super::curve::{Curve, LnVariance, deviations, place_jet, spline_place};
use super::settings::BUTTERFLY;
use super::spline::{Spline, piece_jet};
use kernel::elementary::exp;
use kernel::lanes::{Block, Lanes, Mask};
use kernel::normal::norm_cdf;

/// Durrleman's function: the risk-neutral density is a positive multiple of it, so it must not be negative.
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

/// Parts of the curve besides its spline that the butterfly check needs, at eight places at once.
#[derive(Clone, Copy, Debug)]
struct GridPoint {
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

/// Places of the butterfly check: every knot inside the quotes and three places between, eight intervals at a time. The
/// parts that do not depend on the spline are computed once.
#[derive(Clone, Debug, Default)]
pub(super) struct ButterflyGrid {
    /// The first interval.
    first: usize,
    /// `BUTTERFLY.places` for each eight intervals.
    places: Vec<GridPoint>,
    /// Coefficients from the first interval on, padded.
    coef: Vec<f64>,
    /// Places of thin density found last, in knots from the first.
    thin: Vec<f64>,
}

impl ButterflyGrid {
    /// Lays the places between the outermost strikes, as far as the spline reaches.
    ///
    /// # Shapes   [`GridPoint`]s of eight intervals each, `BUTTERFLY.places` for each eight
    /// # Units    k in ln(K/F), derivatives by it
    /// # Cost     once a fit; looks repeat without it
    pub(super) fn lay(&mut self, curve: &Curve) {
        let (spline, place) = (&curve.spline, |k: f64| spline_place(k / curve.base.sd()));
        let (first, last) = spline.ends();
        let from = place(curve.listed.0).max(first).min(curve.shaped.0);
        let to = place(curve.listed.1).min(last).max(curve.shaped.1);
        let (start, step, sd) = (spline.ends().0, spline.step(), curve.base.sd());
        let interval = |u: f64| ((u - start) / step).clamp(0.0, (spline.intervals() - 1) as f64) as usize;
        // intervals before it are padding of the wings, where no strike is listed
        self.first = interval(from);
        self.places.clear();
        // a little beyond both ends, so that they lie between places
        let beyond = step / BUTTERFLY.places as f64;
        let (low, high) = (Block::splat(from - beyond), Block::splat(to + beyond));
        let (c, lanes) = (Block::splat, Block::load(&core::array::from_fn::<f64, { Block::N }, _>(|i| i as f64)));
        for at in (self.first..=interval(to)).step_by(Block::N) {
            for part in 0..BUTTERFLY.places {
                let knots = c(at as f64 + part as f64 / BUTTERFLY.places as f64) + lanes;
                let u = knots.mul_add(c(step), c(start));
                let counts = low.le(u) & u.le(high);
                let [u, u1, u2] = place_jet(u);
                let x = deviations(u);
                let [q, q1, q2] = curve.base.ratio_jet(x);
                let (by_sd, doubled) = (c(1.0 / sd), c(2.0 / (sd * step)));
                // without variance and at the money Durrleman's function is 1
                let counted = |x: Block| Block::select(counts, x, c(0.0));
                self.places.push(GridPoint {
                    k: counted(x * sd),
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

    /// Finds places where the density is negative, or nearly so; returns true if there is one.
    pub(super) fn look(&mut self, spline: &Spline) -> bool {
        self.thin.clear();
        let blocks = self.places.len() / BUTTERFLY.places;
        pad(&spline.coef()[self.first..], (blocks * Block::N) + 3, &mut self.coef);
        for block in 0..blocks {
            let at = block * Block::N;
            let coef = [0, 1, 2, 3].map(|i| Block::load(&self.coef[at + i..]));
            for part in 0..BUTTERFLY.places {
                let p = &self.places[block * BUTTERFLY.places + part];
                // the same fraction in all lanes: its B-spline weights are four numbers for eight intervals
                let fraction = part as f64 / BUTTERFLY.places as f64;
                let [g, g1, g2] = piece_jet(coef, Block::splat(fraction));
                let w = p.w * exp(g + g);
                let slope = g1.mul_add(p.rise, p.slope);
                let bend = g2.mul_add(p.rise2, g1.mul_add(p.turn, p.bend));
                let thin = density_factor(p.k, w, [slope, bend]).lt(Block::splat(BUTTERFLY.density_least));
                if thin.any() {
                    // in knots from the first of the spline, as coefficients are counted
                    let knot = (self.first + at) as f64 + fraction;
                    self.thin.extend((0..Block::N).filter(|&i| thin.lane(i)).map(|i| knot + i as f64));
                }
            }
        }
        !self.thin.is_empty()
    }

    /// For each wing, low and high: true if values rise where they must fall, at the outermost quote.
    pub(super) fn tails(&self, curve: &Curve) -> [bool; 2] {
        let place = |u: f64| deviations(u) * curve.base.sd();
        let (low, high) = curve.shaped;
        [tail_beyond(curve, place(low), -1.0) < 0.0, tail_beyond(curve, place(high), 1.0) < 0.0]
    }

    /// Adds the wings where values rise to the places found last; returns true if there is one.
    pub(super) fn look_at_tails(&mut self, curve: &Curve) -> bool {
        let knot = |u: f64| (u - curve.spline.ends().0) / curve.spline.step();
        let [low, high] = self.tails(curve);
        if low {
            self.thin.extend((0..BUTTERFLY.wing_knots).map(|i| knot(curve.shaped.0) + i as f64));
        }
        if high {
            self.thin.extend((0..BUTTERFLY.wing_knots).map(|i| knot(curve.shaped.1) - i as f64));
        }
        low || high
    }

    /// Smooths the spline at places of thin density by explicit steps of the heat equation, which flatten a bend and
    /// keep the mean.
    pub(super) fn smooth(&self, spline: &mut Spline) {
        let coef = spline.coef_mut();
        // the old left neighbour: an explicit step must not see its own result
        let mut before = coef[0];
        for i in 1..coef.len() - 1 {
            let own = coef[i];
            if self.is_thin(i) {
                coef[i] += BUTTERFLY.diffusion * (before - 2.0 * own + coef[i + 1]);
            }
            before = own;
        }
    }

    /// True if the last check found a place near coefficient `i`.
    pub(super) fn is_thin(&self, i: usize) -> bool {
        let own = i as f64 - 1.0;
        self.thin.iter().any(|p| (own - p).abs() < BUTTERFLY.near_knots)
    }
}

/// The probability beyond log-moneyness `k` that the curve implies, to the right (`side` 1) or the left (−1): minus the
/// slope of the call, or the slope of the put, in strike. Negative: values rise where they must fall.
fn tail_beyond(curve: &Curve, k: f64, side: f64) -> f64 {
    let v = curve.ln_variance_at(k);
    // √w, the unit of d2
    let sd = exp(0.5 * v.value);
    let d2 = -k / sd - 0.5 * sd;
    // ∂σ√t/∂k = ½ σ√t · ∂ln w/∂k
    let density = exp(-0.5 * d2 * d2) * (0.5 * core::f64::consts::FRAC_1_PI).sqrt();
    norm_cdf(side * d2) - side * density * 0.5 * sd * v.slope
}

/// Copies `from`, padded with its last number to length `n`.
fn pad(from: &[f64], n: usize, to: &mut Vec<f64>) {
    to.clear();
    to.extend_from_slice(from);
    to.resize(n.max(from.len()), from.last().copied().unwrap_or(0.0));
}
