//! The premium at an ex-date (right before it for calls, right after it for puts) and its expectation at an earlier
//! time. One strike and volatility a lane. Never: a search for a boundary.

use crate::american::settings::DATES;
use crate::elementary::{exp, ln};
use crate::lanes::{InLanes, Lanes, Mask};
use crate::normal::{INV_SQRT_2PI, bell, norm_cdf};
use crate::normal_pair::{Correlation, normal_pair_bends, normal_pair_slopes, normal_pair_value};
use crate::solve::{clenshaw, gauss};

/// Positive nodes of the normal distribution, in deviations, and their weights.
///
/// # Source  Gauss-Hermite, eight nodes: exact to degree 15
const HERMITE: [(f64, f64); 4] = [
    (0.539_079_811_351_375_1, 0.373_012_257_679_077_35),
    (1.636_519_042_435_108, 0.117_239_907_661_759_01),
    (2.802_485_861_287_541_7, 0.009_635_220_120_788_267),
    (4.144_547_186_125_894, 0.000_112_614_538_375_367_1),
];
/// Nodes of the expectation in reference values; 60 leave as much.
const REFERENCE_NODES: usize = 48;
/// Nodes that integrate over one side of a window to 1e-7 of the premium, where the boundary or the end of the series
/// leaves no more than that. Tables take 0.95 of the time for it.
const NODES_OF_SIDE: usize = 12;
const _: () = assert!(
    NODES_OF_SIDE.is_multiple_of(DATES.side_by_side) && REFERENCE_NODES.is_multiple_of(DATES.side_by_side),
    "nodes would be left out"
);
/// Greatest length of one side, of the deviations to either side: boundaries of lanes lie about the mean.
const SIDE: f64 = 1.015;
/// Deviations to a boundary from which on the probability beyond it, 1e-6, counts as none for a value: it takes the
/// nodes of `HERMITE`. Tables of weekly payers take 0.78 of the time for it.
const FAR_ABOVE: f64 = 4.7;
/// Deviations from which on the end of a region of exercise, and the premium in reference values, is out of reach. The
/// normal probability beyond is 6e-16.
const OUT_OF_REACH: f64 = 8.0;

/// Value and first three derivatives in ln X.
pub(super) type ValueSlopes<L> = [L; 4];

/// The premium at one date.
#[derive(Clone)]
pub(super) struct DatePremium<L: Lanes> {
    /// +1 call, −1 put.
    pub(super) phi: f64,
    pub(super) rates: [f64; 2],
    /// Years from the date to expiry.
    pub(super) tau: f64,
    /// Value at the date of the dividends from it on (for a put: after it).
    pub(super) collected: f64,
    pub(super) k: L,
    pub(super) sigma: L,
    /// ln of the X from which on the option is exercised; in lanes without exercise, from which on the premium is a
    /// line in X.
    pub(super) boundary: L,
    pub(super) exercised: L::Mask,
    /// Constant and slope in X of that line.
    pub(super) line: [L; 2],
    /// The premium at the boundary.
    pub(super) edge: L,
    /// The premium while holding, from the boundary on; `None`: it is 0.
    pub(super) series: Option<Series<L>>,
    /// The far end of the region of exercise; `None`: out of reach.
    pub(super) end: Option<RegionEnd<L>>,
}

/// A Chebyshev series in the distance from a given ln X, by lane: its length in units of σ, and its coefficients.
pub(super) type Series<L> = (L, Vec<L>);

/// The far end of a region of exercise: beyond it the option is held again.
#[derive(Clone)]
pub(super) struct RegionEnd<L> {
    /// ln X of the end; out of reach in lanes without an end.
    pub(super) x: L,
    /// Constant and slope of the line in X that the premium approaches beyond.
    pub(super) line: [L; 2],
    /// The premium less that line, from the end on; `None`: 0.
    pub(super) series: Option<Series<L>>,
}

/// The wait from an earlier time to a date, with what expectations over it need. `T`: a time that all lanes share, or
/// each lane's own.
pub(super) struct Wait<T = f64> {
    /// Years until the date.
    wait: T,
    root: T,
    correlation: Correlation<T>,
    is_reference: bool,
}

impl<T: Lanes> Wait<T> {
    /// The wait of `wait` years to a date that lies `tau` years before expiry.
    pub(super) fn new(wait: T, tau: f64) -> Self {
        let correlation = Correlation::new((wait / (wait + tau)).sqrt());
        Self { wait, root: wait.sqrt(), correlation, is_reference: false }
    }

    /// The wait with as many nodes as reference values need, or as it is.
    pub(super) fn finer(self, is_reference: bool) -> Self {
        Self { is_reference, ..self }
    }

    /// Deviations that the expectation of a series covers to either side.
    fn window<const SLOPES: bool>(&self) -> f64 {
        match (self.is_reference, SLOPES) {
            (true, _) => OUT_OF_REACH,
            (false, true) => DATES.window_above,
            (false, false) => DATES.window,
        }
    }

    /// Nodes of the expectation of a series over `length` in units of σ, a multiple of `DATES.side_by_side`.
    fn nodes<L: Lanes, const SLOPES: bool>(&self, length: L) -> usize
    where
        T: InLanes<L>,
    {
        if self.is_reference {
            return REFERENCE_NODES;
        }
        let side = (self.root * (self.window::<SLOPES>() * SIDE)).in_lanes();
        if length.le(side).all() { NODES_OF_SIDE } else { DATES.nodes }
    }

    /// √(years until the date).
    pub(super) fn root(&self) -> T {
        self.root
    }
}

impl<L: Lanes> DatePremium<L> {
    /// The premium of strikes `ratio` times as high, where no dividends are to come.
    pub(super) fn scaled(&self, ratio: f64) -> Self {
        let series = self.series.as_ref();
        Self {
            k: self.k * ratio,
            boundary: self.boundary + ratio.ln(),
            line: [self.line[0] * ratio, self.line[1]],
            edge: self.edge * ratio,
            series: series.map(|(reach, terms)| (*reach, terms.iter().map(|term| *term * ratio).collect())),
            end: None,
            ..*self
        }
    }

    /// The premium while the option is held, `away` units of σ from the boundary.
    pub(super) fn held(&self, away: f64) -> L {
        let Some((reach, terms)) = &self.series else { return L::splat(0.0) };
        let u = L::splat(2.0 * away) / *reach - 1.0;
        let [sum] = clenshaw(terms.iter().copied(), &[u.min(L::splat(1.0))]);
        L::select(u.le(L::splat(1.0)), sum, L::splat(0.0))
    }

    /// Slope of the premium at the boundary, along ln X towards exercise.
    pub(super) fn slope_held(&self) -> L {
        let Some((reach, terms)) = &self.series else { return L::splat(0.0) };
        // the derivative of a Chebyshev polynomial at −1
        let slope = |n: usize| (n * n) as f64 * if n % 2 == 1 { -1.0 } else { 1.0 };
        let sum = terms.iter().enumerate().fold(L::splat(0.0), |sum, (n, term)| term.mul_add(L::splat(slope(n)), sum));
        sum * 2.0 / (*reach * self.sigma)
    }

    /// Discounted expectation of the premium, given ln X = `x` at the begin of the wait; with `SLOPES` also its first
    /// three derivatives in ln X.
    ///
    /// # Shapes    one contract per lane
    /// # Units     currency per share
    /// # Accuracy  4e-8 of the strike with thirty weekly dividends
    #[inline(never)]
    pub(super) fn expected<const SLOPES: bool, T: InLanes<L>>(&self, from: &Wait<T>, x: L) -> ValueSlopes<L> {
        let phi = self.phi;
        let seen = Transition::new(self, from, x);
        let cut = seen.cut::<SLOPES>(self.boundary);
        if !SLOPES
            && let Some(series) = &self.series
            && let Some(value) = seen.held_for_sure(cut.z * phi, from, series)
        {
            return [value, L::splat(0.0), L::splat(0.0), L::splat(0.0)];
        }
        let [_, mut sums] = seen.beyond::<SLOPES, T>(self, from, &cut, self.line);
        if SLOPES {
            seen.add_edge(&cut, self.edge * phi, &mut sums);
        }
        if let Some(series) = &self.series {
            seen.add_series::<SLOPES, T>(cut.z, phi, from, series, &mut sums);
        }
        if let Some(end) = &self.end {
            let cut = seen.cut::<SLOPES>(end.x);
            if L::splat(OUT_OF_REACH).lt(cut.z * phi).all() {
                return sums;
            }
            seen.add_beyond::<SLOPES, T>(self, from, &cut, end.line, &mut sums);
            if let Some(series) = &end.series {
                if SLOPES {
                    let [edge] = clenshaw(series.1.iter().copied(), &[L::splat(-1.0)]);
                    seen.add_edge(&cut, edge * -phi, &mut sums);
                }
                seen.add_series::<SLOPES, T>(cut.z, -phi, from, series, &mut sums);
            }
        }
        sums
    }
}

/// Distribution of ln X at a date, given ln X = `x` at an earlier time.
struct Transition<L> {
    x: L,
    spot: L,
    /// Standard deviation of ln X over the wait, and (r − b)·wait.
    width: L,
    drift: L,
    /// e^(−r·wait).
    df: L,
}

/// A ln X that cuts the premium at a date in two, with its normal deviate and the discounted density there.
struct Cut<L> {
    x: L,
    z: L,
    density: L,
}

impl<L: Lanes> Transition<L> {
    #[inline(always)]
    fn new<T: InLanes<L>>(at: &DatePremium<L>, from: &Wait<T>, x: L) -> Self {
        let [r, b] = at.rates;
        let width = at.sigma * from.root.in_lanes();
        let drift = (from.wait * (r - b)).in_lanes();
        Self { x, spot: exp(x), width, drift, df: exp(from.wait * -r).in_lanes() }
    }

    /// The cut at ln X = `x` at the date; without `SLOPES` its density is undefined.
    #[inline(always)]
    fn cut<const SLOPES: bool>(&self, x: L) -> Cut<L> {
        let z = (x - self.x - self.drift) / self.width + self.width * 0.5;
        let density = if SLOPES { bell(z) * self.df * INV_SQRT_2PI } else { z };
        Cut { x, z, density }
    }

    /// Adds to the derivatives the contribution of a moving cut at which the premium is `edge`.
    #[inline(always)]
    fn add_edge(&self, cut: &Cut<L>, edge: L, to: &mut ValueSlopes<L>) {
        let (z, inv) = (cut.z, L::splat(1.0) / self.width);
        let edge = cut.density * inv * edge;
        to[1] += edge;
        to[2] += edge * z * inv;
        to[3] += edge * (z * z - 1.0) * inv * inv;
    }

    /// The expectation of a series that the option most likely stays within: it begins `away` deviations from the mean.
    /// `None`: a lane may reach the boundary or the end of the series.
    ///
    /// # Accuracy  1e-9 of the strike
    fn held_for_sure<T: InLanes<L>>(&self, away: L, from: &Wait<T>, series: &Series<L>) -> Option<L> {
        let (c, root, (reach, coefficients)) = (L::splat, from.root.in_lanes(), series);
        let (centre, [.., (last, _)]) = (away * root, HERMITE);
        if !(c(FAR_ABOVE).lt(away) & root.mul_add(c(last), centre).lt(*reach)).all() {
            return None;
        }
        let scale = c(2.0) / *reach;
        let (middle, step) = (centre * scale - 1.0, root * scale);
        let mut sum = c(0.0);
        for [(near, near_weight), (far, far_weight)] in HERMITE.as_chunks().0 {
            let places = [*near, -near, *far, -far].map(|deviate| step.mul_add(c(deviate), middle));
            let [right, left, far_right, far_left] = clenshaw(coefficients.iter().copied(), &places);
            sum += (right + left) * *near_weight + (far_right + far_left) * *far_weight;
        }
        Some(sum * self.df)
    }

    /// Adds the expectation of a series that begins at the deviate `z`. It runs away from exercise if `phi` is the
    /// option's, towards exercise if `phi` has the opposite sign. `from`: the wait until the date.
    ///
    /// # Domain  `phi` is 1 or −1
    #[inline(always)]
    fn add_series<const SLOPES: bool, T: InLanes<L>>(
        &self,
        z: L,
        phi: f64,
        from: &Wait<T>,
        series: &Series<L>,
        to: &mut ValueSlopes<L>,
    ) {
        let c = L::splat;
        let root: L = from.root.in_lanes();
        let (reach, coefficients) = series;
        let centre = z * root * phi;
        let window = root * from.window::<SLOPES>();
        let begin = (centre - window).max(c(0.0)).min(*reach);
        let length = (centre + window).max(begin).min(*reach) - begin;
        let scale = c(2.0) / *reach;
        let inv_root = c(phi) / root;
        let mut held = [c(0.0); 4];
        for nodes in gauss(from.nodes::<L, SLOPES>(length)).chunks_exact(DATES.side_by_side) {
            let w: [L; DATES.side_by_side] = core::array::from_fn(|i| length.mul_add(c(nodes[i].0), begin));
            let values = clenshaw(coefficients.iter().copied(), &w.map(|w| w * scale - 1.0));
            for ((w, value), (_, weight)) in w.iter().zip(values).zip(nodes) {
                let deviate = z - *w * inv_root;
                let part = bell(deviate) * *weight * value;
                held[0] += part;
                if SLOPES {
                    let square = deviate * deviate;
                    held[1] += part * deviate;
                    held[2] += part * (square - 1.0);
                    held[3] += part * deviate * (square - 3.0);
                }
            }
        }
        let unit = length * self.df * inv_root * (INV_SQRT_2PI * phi);
        to[0] += held[0] * unit;
        if SLOPES {
            let inv = c(1.0) / self.width;
            to[1] += held[1] * unit * inv;
            to[2] += held[2] * unit * inv * inv;
            to[3] += held[3] * unit * inv * inv * inv;
        }
    }

    /// Adds the expectation beyond the cut of the `line` in X less the premium of exercise.
    #[inline(never)]
    fn add_beyond<const SLOPES: bool, T: InLanes<L>>(
        &self,
        at: &DatePremium<L>,
        from: &Wait<T>,
        cut: &Cut<L>,
        line: [L; 2],
        to: &mut ValueSlopes<L>,
    ) {
        let [held, premium] = self.beyond::<SLOPES, T>(at, from, cut, line);
        for ((to, held), premium) in to.iter_mut().zip(held).zip(premium) {
            *to += held - premium;
        }
    }

    /// Discounted expectation beyond a cut of the `line`, and of the premium: payoff less European value in the lanes
    /// that are exercised, elsewhere the line. Derivatives as of [`DatePremium::expected`], without the contribution of
    /// the moving cut.
    ///
    /// # Shapes  one contract per lane
    #[inline(always)]
    fn beyond<const SLOPES: bool, T: InLanes<L>>(
        &self,
        at: &DatePremium<L>,
        from: &Wait<T>,
        cut: &Cut<L>,
        [constant, slope]: [L; 2],
    ) -> [ValueSlopes<L>; 2] {
        let c = L::splat;
        let (phi, [r, b], Wait { wait, correlation, .. }) = (at.phi, at.rates, from);
        let Self { x, spot, width, df, .. } = *self;
        let Cut { z, density, .. } = *cut;
        let (high, low) = ((width - z) * phi, z * -phi);
        let (share, cash) = (norm_cdf(high) * spot * exp(*wait * -b).in_lanes(), norm_cdf(low) * df);
        let inv = c(1.0) / width;
        let at_boundary = density * inv * exp(cut.x);
        let edge_bend = at_boundary * z * inv;
        let mut line = [constant * cash + slope * share, c(0.0), c(0.0), c(0.0)];
        if SLOPES {
            let reached = share + at_boundary * phi;
            line[1..].copy_from_slice(&[slope * share, slope * reached, slope * (reached + edge_bend * phi)]);
        }
        if !at.exercised.any() {
            return [line; 2];
        }
        let life = *wait + at.tau;
        let whole = at.sigma * life.sqrt().in_lanes();
        let d1 = (x - ln(at.k) + (life * (r - b)).in_lanes()) / whole + whole * 0.5;
        let later_share = spot * exp(life * -b).in_lanes();
        let both = [
            normal_pair_value(high, d1 * phi, correlation) * later_share,
            normal_pair_value(low, (d1 - whole) * phi, correlation) * at.k * exp(life * -r).in_lanes(),
        ];
        let stock = (share - both[0]) * phi;
        let mut paid = [stock - ((at.k - at.collected) * cash - both[1]) * phi, c(0.0), c(0.0), c(0.0)];
        if SLOPES {
            let inv_whole = c(1.0) / whole;
            let [by_a, by_d] = normal_pair_slopes(high, d1 * phi, correlation);
            let [by_aa, by_ad, by_dd] = normal_pair_bends(high, d1 * phi, [by_a, by_d], correlation);
            let first = by_a * inv + by_d * inv_whole;
            let second = by_aa * inv * inv + by_ad * inv * inv_whole * 2.0 + by_dd * inv_whole * inv_whole;
            let bend = stock + at_boundary - later_share * first;
            let third = bend + edge_bend - later_share * (first + second * phi);
            paid[1..].copy_from_slice(&[stock, bend, third]);
        }
        [line, core::array::from_fn(|i| L::select(at.exercised, paid[i], line[i]))]
    }
}
