//! The exercise boundary without dividends: a function of (rate, yield, sigma, time to expiry) alone.
//!
//! Collocation of H = ln²(B/B(0+)) at Chebyshev points in √tau, where H is smooth, on the equation of smooth pasting
//! (Andersen, Lake and Offengenden, 2016, equation A). They iterate a fixed point; with high rates or low volatility
//! those sweeps diverge, and their damped forms need up to 200. Newton with the whole matrix takes 4 to 10 steps for
//! every sign and size of rates, and the same matrix gives the boundary's derivative in a rate without a second
//! solution. The lanes of a solve are volatilities; a [`Boundary`] keeps H/sigma² as a polynomial in √tau and ln sigma,
//! so that one table serves every spot, every strike (B scales with K), every volatility of its range and every moment
//! until expiry. In the borrow rate, which quotes imply again every pass, H is a cubic from three solutions and a
//! slope; in the rate, which hardly moves, a straight line. A call is the put with rate and yield
//! exchanged and the opposite sign of ln(B/K). Never: a spot.

use super::settings::BOUNDARY;
use crate::contract::Right;
use crate::elementary::{exp, ln};
use crate::lanes::{Block, Lanes, Mask};
use crate::normal::{INV_SQRT_2PI, bell, norm_cdf_given};
use crate::quality::Quality;
use crate::solve::{
    chebyshev, chebyshev_roots, eliminate, gauss_legendre, lobatto, lobatto_row, lobatto_to_chebyshev,
    roots_to_monomials,
};
use std::f64::consts::FRAC_PI_2;
use std::sync::LazyLock;

/// Greatest move of the borrow rate as a part of the greater rate.
const REACH_MOST: f64 = 0.3;
/// Greatest move of the borrow rate as a part of its distance from r, where B(0+) has a kink (part of |r − b|).
const REACH_TO_KINK: f64 = 0.2;
/// Move of the borrow rate that is allowed at the kink r = b (part of the greater rate).
const REACH_AT_KINK: f64 = 0.005;
/// Standard deviations from the strike at which a call's premium is below 1e-7 of the stock. The normal probability
/// beyond is 3e-5, times what a boundary so far off can earn.
const BOUNDARY_FAR: f64 = 4.0;
/// Part of its range by which a table also serves rates beyond either end, so that noise about an end does not build
/// tables in turn (part of the range).
const BEYOND: f64 = 0.2;
/// Greatest move of the rate from where the boundary was solved (part of the greater rate).
const RATE_PART: f64 = 5e-3;

/// Least half range of ln σ of a table: over less, derivatives in σ divide by almost nothing.
const HALF_LEAST: f64 = 0.05;
/// Step, per year, of the one-sided difference of the equations in a rate: the root of rounding, less the size of a
/// rate.
const BUMP: f64 = 1e-6;
/// Greatest `BUMP` of the put's rate, as a part of that rate, which must not cross 0.
const BUMP_PART: f64 = 0.01;
/// Most steps of Newton's method. It takes 4 to 10 as a rule, 13 at most in golden/.
const MOST_STEPS: usize = 30;
/// A step of ln B below this part of σ√t ends the iteration: its square is below rounding of ln B.
const CONVERGED: f64 = 2e-5;
/// Part of the distance to B(0+) that a step leaves at least.
const STEP_LEFT: f64 = 0.1;
/// Distance below B(0+), in σ√t, at which a start lies at least, also where a neighbour's boundary is extrapolated too
/// far.
const BELOW_START: f64 = 1e-3;
/// Least move of the borrow rate, per year, that a cubic serves: an interval of no length has none.
const REACH_LEAST: f64 = 1e-6;
/// Part of the reach by which a range next to the kink extends beyond its middle.
const KEPT_AT_KINK: f64 = 0.05;
/// Least time to expiry, years, in powers of 1/time: an hour before, no move of a rate is worth anything.
pub(super) const TIME_LEAST: f64 = 1e-4;
/// Distance in ln X that is added to `BOUNDARY_FAR`, for low volatilities.
const FAR_EXTRA: f64 = 0.7;
/// An end of the range nearer to the middle than this part of the range does not determine the cubic, whose second
/// difference divides by the square of that distance.
const NO_BEND: f64 = 1e-9;
/// The derivative in r follows from that in b by an identity with the factor b/r, which loses digits. Above this
/// factor, the derivative in b follows from that in r.
const FAR_ABOVE: f64 = 3.0;
/// Decay times after which the boundary is the perpetual one: e^−25 is 1e-11.
const SETTLED: f64 = 25.0;
/// Least rate of that decay, per year: below, a boundary never settles, whatever the life.
const DECAY_LEAST: f64 = 1e-9;
/// Least exponent less 1 of Bjerksund and Stensland: the perpetual boundary divides by it.
const EXPONENT_LEAST: f64 = 1e-6;
/// Least rise of Bjerksund and Stensland's boundary to the perpetual one, parts of B(0+): its exponential divides by
/// it.
const RISE_LEAST: f64 = 1e-6;
/// Least distance of a start from B(0+), parts of B(0+): ln²(B/B(0+)) has its root there.
const START_LEAST: f64 = 1e-7;
/// Least ln²(B/B(0+)) in a solve: its root is 1e-10 of the boundary.
const HEIGHT_LEAST: f64 = 1e-20;
/// Least ln²(B/B(0+))/σ² that a read takes from a table, whose interpolation may dip below 0.
const HEIGHT_READ: f64 = 1e-12;

/// Volatility nodes of a table: the lanes of a solve.
pub(super) const NODES: usize = Sigmas::N;
/// Numbers of a solve, one lane per volatility node.
type Sigmas = Block;
/// Most collocation points of a scheme, the one at expiry not counted.
const MOST_POINTS: usize = BOUNDARY.points_accurate;

/// Constants of a discretisation, the same for every expiry.
struct Collocation {
    /// Collocation points: √(tau/t), from 1 down to 0.
    root: Vec<f64>,
    /// sin of the inner quadrature's angle: √(tau − u) = √tau·sin, √u = √tau·cos; weight of du/tau.
    inner: Vec<(f64, f64)>,
    /// Interpolation weights from the collocation points to the inner nodes of each point but the last.
    rows: Vec<Vec<f64>>,
    /// From values at the collocation points to Chebyshev coefficients in 2√(tau/t) − 1.
    to_chebyshev: Vec<Vec<f64>>,
}

impl Collocation {
    fn new(n: usize, n_inner: usize) -> Self {
        let root: Vec<f64> = lobatto(n).iter().map(|z| 0.5 * (1.0 + z)).collect();
        let angles: Vec<(f64, f64)> = gauss_legendre(n_inner).iter().map(|(s, w)| (FRAC_PI_2 * s, *w)).collect();
        let inner = angles.iter().map(|(a, w)| (a.sin(), w * 2.0 * FRAC_PI_2 * a.sin() * a.cos())).collect();
        let row = |root: f64, angle: f64| lobatto_row(n, 2.0 * root * angle.cos() - 1.0);
        let rows = root[..n].iter().flat_map(|&x| angles.iter().map(move |(a, _)| row(x, *a))).collect();
        Self { root, inner, rows, to_chebyshev: lobatto_to_chebyshev(n) }
    }

    fn of(scheme: Quality) -> &'static Self {
        static FAST: LazyLock<Collocation> = LazyLock::new(|| Collocation::new(BOUNDARY.points, BOUNDARY.inner));
        static ACCURATE: LazyLock<Collocation> =
            LazyLock::new(|| Collocation::new(BOUNDARY.points_accurate, BOUNDARY.inner_accurate));
        match scheme {
            Quality::Preliminary | Quality::Full => &FAST,
            Quality::Reference => &ACCURATE,
        }
    }
}

/// A put with strike 1.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Put {
    rate: f64,
    yield_: f64,
    t: f64,
}

/// Integrands of smooth pasting in numerator and denominator, and their derivatives in ln B.
struct Densities {
    num: Sigmas,
    den: Sigmas,
    num_y: Sigmas,
    den_y: Sigmas,
}

impl Put {
    /// ln B(0+) = ln min(1, rate/yield).
    fn ln_b0(&self) -> f64 {
        if self.yield_ > self.rate { (self.rate / self.yield_).ln() } else { 0.0 }
    }

    /// ln B at the collocation points, one volatility per lane, by Newton's method from `near`.
    #[inline(never)]
    fn solve(&self, grid: &Collocation, sigma: Sigmas, near: Vec<Sigmas>) -> Vec<Sigmas> {
        let last = grid.root.len() - 1;
        let ln_b0 = Sigmas::splat(self.ln_b0());
        let reach = sigma * Sigmas::splat(self.t.sqrt());
        let mut y = near;
        y[last] = ln_b0;
        for _ in 0..MOST_STEPS {
            let mut system = self.system(grid, sigma, &y);
            eliminate(&mut system.jacobian, &mut system.residual);
            let mut worst = Sigmas::splat(0.0);
            for (y, step) in y.iter_mut().zip(&system.residual) {
                worst = worst.max((*step / reach).abs());
                // at most one standard deviation, and a part of the way to B(0+) is always left
                *y = (*y - step.max(-reach).min(reach)).min(ln_b0 + (*y - ln_b0) * Sigmas::splat(STEP_LEFT));
            }
            if !worst.gt(Sigmas::splat(CONVERGED)).any() {
                break;
            }
        }
        y
    }

    /// Start of the iteration without a neighbour's solution: ln B at the collocation points.
    fn starts(&self, grid: &Collocation, sigma: Sigmas) -> Vec<Sigmas> {
        grid.root.iter().map(|x| self.start(sigma, self.t * x * x)).collect()
    }

    /// Start of the iteration from `near`, the solution of `other`.
    fn starts_from(&self, other: &Self, near: &[Sigmas]) -> Vec<Sigmas> {
        let shift = Sigmas::splat(self.ln_b0() - other.ln_b0());
        near.iter().map(|y| *y + shift).collect()
    }

    /// The derivative of the solution `y` in a rate, in which `next` differs by `step`: the equations are solved for
    /// the change that leaves them satisfied, so that no second solution is needed.
    fn slopes(&self, next: &Self, step: f64, grid: &Collocation, sigma: Sigmas, y: &[Sigmas]) -> Vec<Sigmas> {
        let mut system = self.system(grid, sigma, y);
        let shift = next.ln_b0() - self.ln_b0();
        let moved: Vec<Sigmas> = y.iter().map(|y| *y + Sigmas::splat(shift)).collect();
        for (i, residual) in system.residual.iter_mut().enumerate() {
            let unused = &mut [Sigmas::splat(0.0); MOST_POINTS];
            *residual = next.pasting::<false>(grid, i, sigma, &moved, unused) - *residual;
        }
        eliminate(&mut system.jacobian, &mut system.residual);
        let slope = |change: &Sigmas| (Sigmas::splat(shift) - *change) / Sigmas::splat(step);
        let at_expiry = Sigmas::splat(shift / step);
        system.residual.iter().map(slope).chain([at_expiry]).collect()
    }

    /// Residuals of smooth pasting at all collocation points but the last, and their derivatives.
    fn system(&self, grid: &Collocation, sigma: Sigmas, y: &[Sigmas]) -> System {
        let last = grid.root.len() - 1;
        let mut jacobian = vec![[Sigmas::splat(0.0); MOST_POINTS]; last];
        let residual = (0..last).map(|i| self.pasting::<true>(grid, i, sigma, y, &mut jacobian[i])).collect();
        System { residual, jacobian }
    }

    /// ln B of Bjerksund and Stensland's (1993) flat boundary at `tau`, as the call with rate and yield exchanged.
    fn start(&self, sigma: Sigmas, tau: f64) -> Sigmas {
        let c = |v: f64| Sigmas::splat(v);
        let s2 = sigma * sigma;
        let carry = c(self.yield_ - self.rate) / s2;
        let a = carry - 0.5;
        let root = (a * a + c(2.0 * self.yield_) / s2).max(c(0.0)).sqrt();
        let beta = (c(0.5) - carry + root).max(c(1.0 + EXPONENT_LEAST));
        let (b0, b_inf) = (c((-self.ln_b0()).exp()), beta / (beta - 1.0));
        let width = sigma * c(tau.sqrt());
        let reach = (c((self.yield_ - self.rate) * tau) + width + width).max(width * 0.5);
        let gap = (b_inf - b0).max(b0 * c(RISE_LEAST));
        let b = b0 + gap * (c(1.0) - exp(-(reach * b0 / gap)));
        -ln(b.max(b0 * c(1.0 + START_LEAST)))
    }

    /// Residual of smooth pasting at collocation point `i`, as a difference of ln B; with `SLOPES` its derivatives.
    ///
    /// B·e^((r−q)tau) = num/den, where num and den are the densities and probabilities of ending in the exercise
    /// region: equation (A) of Andersen, Lake and Offengenden.
    ///
    /// # Shapes  `y`: ln B at all points, one volatility per lane · `slopes`: by point, added to
    /// # Domain  rate above 0; `y` below ln B(0+), but at the last point
    /// # Source  Andersen, Lake and Offengenden (2016), equation A
    #[inline(always)]
    fn pasting<const SLOPES: bool>(
        &self,
        grid: &Collocation,
        i: usize,
        sigma: Sigmas,
        y: &[Sigmas],
        slopes: &mut [Sigmas; MOST_POINTS],
    ) -> Sigmas {
        let c = |v: f64| Sigmas::splat(v);
        let root_tau = self.t.sqrt() * grid.root[i];
        let (tau, ln_b0) = (root_tau * root_tau, c(self.ln_b0()));
        let last = grid.root.len() - 1;
        let mut h = [c(0.0); MOST_POINTS];
        for (h, y) in h.iter_mut().zip(&y[..last]) {
            let below = ln_b0 - *y;
            *h = below * below;
        }
        let end = self.densities(sigma, y[i], root_tau);
        let (mut num, mut den, mut num_y, mut den_y) = (end.num, end.den, end.num_y, end.den_y);
        // by ln B_u, and by h: num, den
        let mut by_h = [[c(0.0); MOST_POINTS]; 2];
        let n_inner = grid.inner.len();
        for (j, (sin, weight)) in grid.inner.iter().enumerate() {
            let row = &grid.rows[i * n_inner + j][..last];
            let at_u = row.iter().zip(&h).fold(c(0.0), |acc, (w, h)| h.mul_add(c(*w), acc));
            let below = at_u.max(c(HEIGHT_LEAST)).sqrt();
            let root_wait = root_tau * sin;
            let u = tau - root_wait * root_wait;
            let part = self.densities(sigma, y[i] - ln_b0 + below, root_wait);
            let weight_num = c(self.rate * (self.rate * u).exp() * weight * tau);
            let weight_den = c(self.yield_ * (self.yield_ * u).exp() * weight * tau);
            num = part.num.mul_add(weight_num, num);
            den = part.den.mul_add(weight_den, den);
            if SLOPES {
                let (part_num_y, part_den_y) = (part.num_y * weight_num, part.den_y * weight_den);
                num_y += part_num_y;
                den_y += part_den_y;
                // next to expiry the interpolant of h may dip below 0
                let per_h = Sigmas::select(at_u.gt(c(HEIGHT_LEAST)), c(0.5) / below, c(0.0));
                let by = [part_num_y * per_h, part_den_y * per_h];
                for (sums, by) in by_h.iter_mut().zip(by) {
                    for (sum, w) in sums.iter_mut().zip(row) {
                        *sum = by.mul_add(c(*w), *sum);
                    }
                }
            }
        }
        if SLOPES {
            let (per_num, per_den) = (c(1.0) / num, c(1.0) / den);
            for (m, slope) in slopes.iter_mut().enumerate().take(last) {
                let h_y = (y[m] - ln_b0) * 2.0;
                *slope = (by_h[1][m] * per_den - by_h[0][m] * per_num) * h_y;
            }
            slopes[i] = slopes[i] + 1.0 - num_y * per_num + den_y * per_den;
        }
        y[i] + c((self.rate - self.yield_) * tau) - ln(num / den)
    }

    /// The integrands of smooth pasting for ln(B/B_u) = `y` and √wait, and their derivatives in `y`.
    #[inline(always)]
    fn densities(&self, sigma: Sigmas, y: Sigmas, root_wait: f64) -> Densities {
        let c = |v: f64| Sigmas::splat(v);
        let width = sigma * root_wait;
        let inv = c(1.0) / width;
        let drift = c((self.rate - self.yield_) * root_wait * root_wait);
        let low = (y + drift).mul_add(inv, width * -0.5);
        let high = low + width;
        let (e_low, e_high) = (bell(low), bell(high));
        let (p_low, p_high) = (e_low * inv * INV_SQRT_2PI, e_high * inv * INV_SQRT_2PI);
        Densities {
            num: p_low,
            den: p_high + norm_cdf_given(high, e_high),
            num_y: -(p_low * low * inv),
            den_y: p_high - p_high * high * inv,
        }
    }
}

/// Linear equations of a Newton step, one system per lane. The matrix is nearly triangular: a boundary point depends on
/// later times, hence on points after it.
struct System {
    residual: Vec<Sigmas>,
    jacobian: Vec<[Sigmas; MOST_POINTS]>,
}

/// A rate of docs/model.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rate {
    /// The risk-free rate.
    R,
    /// The borrow rate.
    B,
}

/// Inputs of a boundary: one (right, rates), a range of volatilities, every time to expiry up to `t`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Domain {
    pub(super) right: Right,
    /// Greatest time to expiry, years.
    pub(super) t: f64,
    /// The rates to solve at.
    pub(super) r: f64,
    pub(super) b: f64,
    /// Least and greatest volatility; the range should not exceed a factor of `band::sigma_ratio`.
    pub(super) sigma: (f64, f64),
    /// Least and greatest borrow rate solved for.
    range: (f64, f64),
    /// True for the boundary of a call so far above the strike that its height over B(0+) hardly matters: the boundary
    /// at the least b then serves every lesser b.
    far: bool,
}

impl Domain {
    pub(super) fn new(right: Right, r: f64, b: f64, t: f64, sigma: (f64, f64)) -> Self {
        let most = far_borrow(right, r, t, sigma.1);
        let range = borrow_range(right, r, b, t, most);
        Domain { right, t, r, b, sigma, range, far: range.0 < most }
    }

    /// Distance of the borrow rate from the nearer end of its range.
    pub(super) fn reach(&self) -> f64 {
        (self.b - self.range.0).min(self.range.1 - self.b)
    }

    /// The time to expiry beyond which boundaries for the volatilities `sigma` no longer move.
    pub(super) fn settles_at(&self, sigma: (f64, f64)) -> f64 {
        let (rate, yield_) = put_rates(self.right, self.r, self.b);
        settling(rate, yield_, sigma)
    }

    /// True if `b` lies in the range of the solutions.
    pub(super) fn holds(&self, b: f64) -> bool {
        (self.far || self.range.0 <= b) && b <= self.range.1
    }

    /// True if the boundary serves these rates: within its range, or a little beyond.
    pub(super) fn reaches(&self, r: f64, b: f64) -> bool {
        let room = BEYOND * (self.range.1 - self.range.0);
        let size = self.r.abs().max(self.b.abs());
        let low = if self.far { f64::NEG_INFINITY } else { self.range.0 - room };
        (r - self.r).abs() <= RATE_PART * size && low <= b && b <= self.range.1 + room
    }
}

/// An exercise boundary.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Boundary {
    domain: Domain,
    /// Time to expiry beyond which the boundary no longer moves, or the domain's.
    span: f64,
    /// The rate in which the boundary has a derivative.
    pub(super) moved: Rate,
    /// True if the put's yield exceeds its rate, so that its boundary begins below the strike.
    starts_below: bool,
    /// Mid and half width of the ln sigma range.
    centre: f64,
    half: f64,
    /// H/sigma² by Chebyshev order in √tau.
    h: Box<[Order]>,
}

/// Coefficients of one Chebyshev order: polynomials in the scaled ln sigma.
#[derive(Clone, Debug, PartialEq)]
struct Order {
    h: [f64; NODES],
    /// First to third order of a cubic in the move of b, as a part of its range.
    by_b: [[f32; NODES]; 3],
    by_r: [f32; NODES],
}

impl Boundary {
    /// Solves the boundary of `domain`.
    ///
    /// # Cost  0.3 ms with [`Quality::Full`]
    pub(super) fn new(domain: &Domain, scheme: Quality) -> Self {
        let Domain { right, t, r, b, sigma, range, far } = *domain;
        let grid = Collocation::of(scheme);
        let (lo, hi) = (sigma.0.ln(), sigma.1.ln());
        let (centre, half) = (0.5 * (lo + hi), (0.5 * (hi - lo)).max(HALF_LEAST));
        let nodes: Vec<f64> = chebyshev_roots(NODES).iter().map(|x| (centre + half * x).exp()).collect();
        let (rate, yield_) = put_rates(right, r, b);
        let span = t.min(domain.settles_at(sigma));
        let put = |r: f64, b: f64| {
            let (rate, yield_) = put_rates(right, r, b);
            Put { rate, yield_, t: span }
        };
        let (base, lanes) = (put(r, b), Sigmas::load(&nodes));
        let y = base.solve(grid, lanes, base.starts(grid, lanes));
        // on the side of the kink on which `bump` takes its differences
        let starts_below = yield_ > rate || (yield_ >= rate && right == Right::Put);
        let height = |put: &Put, y: &[Sigmas]| {
            let ln_b0 = Sigmas::splat(if starts_below { put.ln_b0() } else { 0.0 });
            let below = |y: &Sigmas| (*y - ln_b0) / lanes;
            fit(grid, &y.iter().map(|y| below(y) * below(y)).collect::<Vec<_>>())
        };
        let slopes = |rate: Rate| {
            let step = bump(rate, &base, right);
            let next = if rate == Rate::R { put(r + step, b) } else { put(r, b + step) };
            let ln_b0 = (next.ln_b0() - base.ln_b0()) / step;
            (ln_b0, base.slopes(&next, step, grid, lanes, &y))
        };
        let by = |(ln_b0, slopes): &(f64, Vec<Sigmas>)| {
            let slope = |(y, d): (&Sigmas, &Sigmas)| {
                let below = (*y - Sigmas::splat(base.ln_b0())) / lanes;
                (below + below) * (*d - Sigmas::splat(*ln_b0)) / lanes
            };
            fit(grid, &y.iter().zip(slopes).map(slope).collect::<Vec<_>>())
        };
        let in_b = slopes(Rate::B);
        let at = |to: f64| {
            let put = put(r, to);
            let reach = lanes * Sigmas::splat(put.t.sqrt());
            let near = |(y, slope): (&Sigmas, &Sigmas)| {
                let step = *slope * Sigmas::splat(to - b);
                (*y + step.max(-reach).min(reach)).min(Sigmas::splat(put.ln_b0()) - reach * Sigmas::splat(BELOW_START))
            };
            let start = if far { put.starts_from(&base, &y) } else { y.iter().zip(&in_b.1).map(near).collect() };
            height(&put, &put.solve(grid, lanes, start))
        };
        let (h, high) = (height(&base, &y), at(range.1));
        let low = if far { h.clone() } else { at(range.0) };
        let (by_r, by_b) = (by(&slopes(Rate::R)), by(&in_b));
        let unit = range.1 - range.0;
        let (down, up) = ((range.0 - b) / unit, (range.1 - b) / unit);
        let cubic = |order: usize, p: usize| {
            let (h, slope) = (h[order][p], by_b[order][p] * unit);
            if far {
                return [(high[order][p] - h) / up, 0.0, 0.0];
            }
            // an end of the range that coincides with b does not determine the bend
            let bend = |at: f64, value: f64| (at.abs() > NO_BEND).then(|| (value - h - slope * at) / (at * at));
            match (bend(down, low[order][p]), bend(up, high[order][p])) {
                (Some(low), Some(high)) => {
                    let third = (high - low) / (up - down);
                    [slope, low - third * down, third]
                }
                (low, high) => [slope, low.or(high).unwrap_or(0.0), 0.0],
            }
        };
        let order = |order: usize| {
            let by_b: [[f64; 3]; NODES] = core::array::from_fn(|p| cubic(order, p));
            Order {
                h: h[order],
                by_b: core::array::from_fn(|part| core::array::from_fn(|p| by_b[p][part] as f32)),
                by_r: by_r[order].map(|c| c as f32),
            }
        };
        let moved = if b.abs() > FAR_ABOVE * r.abs() { Rate::R } else { Rate::B };
        let h = (0..h.len()).map(order).collect();
        Self { domain: *domain, span, moved, starts_below, centre, half, h }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.h)
    }

    /// The boundary at the rates `r` and `b`; without `SLOPES` its derivative in the moved rate is undefined.
    ///
    /// # Domain  rates that the domain [reaches](Domain::reaches)
    /// # Cost    once for all contracts of an (expiry, right) and moment
    #[inline(never)]
    pub(super) fn at_rates<const SLOPES: bool>(&self, r: f64, b: f64) -> BoundaryAtRates {
        let c = |v: f64| Sigmas::splat(v);
        let known = &self.domain;
        let unit = known.range.1 - known.range.0;
        let low = if known.far { known.range.0 } else { f64::NEG_INFINITY };
        let (dr, move_) = (c(r - known.r), c((b.max(low) - known.b) / unit));
        let zero = c(0.0);
        let mut out = BoundaryAtRates {
            h: [[zero; 2]; MOST_POINTS + 1],
            orders: self.h.len(),
            per_span: 1.0 / self.span,
            ln_b0: self.start_at(r, b),
            sign: -known.right.phi(),
        };
        let per_unit = c(1.0 / unit);
        let wide = |narrow: &[f32; NODES]| Sigmas::load(&narrow.map(f64::from));
        for (out, order) in out.h.iter_mut().zip(&self.h) {
            let [first, second, third] = [0, 1, 2].map(|i: usize| wide(&order.by_b[i]));
            let (h, by_r) = (Sigmas::load(&order.h), wide(&order.by_r));
            let bend = third.mul_add(move_, second);
            let chord = bend.mul_add(move_, first);
            out[0] = chord.mul_add(move_, by_r.mul_add(dr, h));
            if SLOPES {
                out[1] = match self.moved {
                    Rate::R => by_r,
                    Rate::B => third.mul_add(move_, bend).mul_add(move_, chord) * per_unit,
                };
            }
        }
        out
    }

    /// ln(B(0+)/K) of the put, and its derivative in the moved rate.
    fn start_at(&self, r: f64, b: f64) -> [f64; 2] {
        let (rate, yield_) = put_rates(self.domain.right, r, b);
        if !self.starts_below || yield_ < rate {
            return [0.0; 2];
        }
        let is_rate = (self.moved == Rate::R) == (self.domain.right == Right::Put);
        [(rate / yield_).ln(), if is_rate { 1.0 / rate } else { -1.0 / yield_ }]
    }

    /// ln sigma scaled to −1 to 1 over the table's range, and the derivative of the scaled value in ln sigma.
    #[inline(always)]
    pub(super) fn place<L: Lanes>(&self, sigma: L) -> (L, f64) {
        ((ln(sigma) - self.centre) * (1.0 / self.half), 1.0 / self.half)
    }
}

/// The boundary at some rates.
pub(super) struct BoundaryAtRates {
    /// H/sigma² by Chebyshev order in √tau and power of the scaled ln sigma, and its derivative in the moved rate.
    h: [[Sigmas; 2]; MOST_POINTS + 1],
    orders: usize,
    /// 1 over the time to expiry beyond which the boundary no longer moves.
    per_span: f64,
    /// ln(B(0+)/K) of the put, and its derivative in the moved rate.
    ln_b0: [f64; 2],
    /// ln(B/K) of a call has the opposite sign of the put's: −1 or +1.
    sign: f64,
}

impl BoundaryAtRates {
    /// The boundary at `tau` years before expiry as a polynomial in ln sigma; `SLOPES` as in [`Boundary::at_rates`].
    #[inline(always)]
    pub(super) fn at_time<const SLOPES: bool>(&self, tau: f64) -> BoundaryAtTime {
        let z = 2.0 * (tau * self.per_span).clamp(0.0, 1.0).sqrt() - 1.0;
        let [mut h, mut slope] = [Sigmas::splat(0.0); 2];
        for (order, t) in self.h[..self.orders].iter().zip(chebyshev(z)) {
            let t = Sigmas::splat(t);
            h = order[0].mul_add(t, h);
            if SLOPES {
                slope = order[1].mul_add(t, slope);
            }
        }
        let mut out = BoundaryAtTime { h: [0.0; NODES], slope: [0.0; NODES], ln_b0: self.ln_b0, sign: self.sign };
        h.store(&mut out.h);
        if SLOPES {
            slope.store(&mut out.slope);
        }
        out
    }
}

/// Rate and yield of the put with the same boundary: those of a call are exchanged.
fn put_rates(right: Right, r: f64, b: f64) -> (f64, f64) {
    match right {
        Right::Put => (r, b),
        Right::Call => (b, r),
    }
}

/// The borrow rate below which a call's boundary lies `BOUNDARY_FAR` standard deviations beyond any likely spot;
/// negative if there is none.
fn far_borrow(right: Right, r: f64, t: f64, sigma: f64) -> f64 {
    if right == Right::Call && r > 0.0 {
        r * (-BOUNDARY_FAR * sigma * t.sqrt() - FAR_EXTRA).exp()
    } else {
        f64::NEG_INFINITY
    }
}

/// The borrow rates about `b` that a cubic serves: on one side of the kink of B(0+) at r = b, and, where it is the
/// borrow that exercise earns, away from 0 unless it is below `far`.
fn borrow_range(right: Right, r: f64, b: f64, t: f64, far: f64) -> (f64, f64) {
    let size = r.abs().max(b.abs());
    let reach = (BOUNDARY.reach * size.powf(2.0 / 3.0) * t.max(TIME_LEAST).powf(-1.0 / 3.0)).min(REACH_MOST * size);
    let reach = reach.min((REACH_TO_KINK * (r - b).abs()).max(REACH_AT_KINK * size)).max(REACH_LEAST);
    let (mut low, mut high) = (b - reach, b + reach);
    if right == Right::Call && r > 0.0 {
        (low, high) = (low.max((1.0 - REACH_MOST) * b), high.min(((1.0 + REACH_MOST) * b).max(far)));
    } else if right == Right::Call {
        low = low.max(0.0);
    }
    // next to the kink the range keeps a part of its width, beyond the kink
    let least = KEPT_AT_KINK * reach;
    if b >= r { (low.max(r.min(b - least)), high) } else { (low, high.min(r.max(b + least))) }
}

/// The time to expiry at which the boundary has come within 1e-11 of the perpetual one, at every volatility of a range.
///
/// Values of a life tau differ from perpetual ones like e^(−lambda·tau), lambda = (drift of ln X)²/(2·sigma²) + rate.
/// Where that is early in the life (a high rate over a low volatility), polynomials over all of it would see a jump.
fn settling(rate: f64, yield_: f64, sigma: (f64, f64)) -> f64 {
    let still = (2.0 * (rate - yield_)).max(0.0).sqrt().clamp(sigma.0, sigma.1);
    let lambda = |sigma: f64| {
        let drift = rate - yield_ - 0.5 * sigma * sigma;
        drift * drift / (2.0 * sigma * sigma) + rate
    };
    SETTLED / lambda(still).min(lambda(sigma.0)).min(lambda(sigma.1)).max(DECAY_LEAST)
}

/// The step of a difference: away from the kink at rate = yield, and never across 0 of the put's rate.
fn bump(by: Rate, put: &Put, right: Right) -> f64 {
    if (by == Rate::R) != (right == Right::Put) {
        return if put.yield_ >= put.rate { BUMP } else { -BUMP };
    }
    if put.rate >= put.yield_ { BUMP } else { -BUMP.min(BUMP_PART * put.rate) }
}

/// From values at (collocation point, volatility node) to coefficients (Chebyshev order, power of scaled ln sigma).
fn fit(grid: &Collocation, values: &[Sigmas]) -> Vec<[f64; NODES]> {
    let monomials = roots_to_monomials(NODES);
    let in_sigma: Vec<[f64; NODES]> = values
        .iter()
        .map(|v| {
            let mut at = [0.0; NODES];
            v.store(&mut at);
            core::array::from_fn(|p| monomials[p].iter().zip(&at).map(|(m, v)| m * v).sum())
        })
        .collect();
    let order = |row: &Vec<f64>| core::array::from_fn(|p| row.iter().zip(&in_sigma).map(|(w, c)| w * c[p]).sum());
    grid.to_chebyshev.iter().map(order).collect()
}

/// The boundary at one time, as a polynomial in ln sigma.
pub(super) struct BoundaryAtTime {
    h: [f64; NODES],
    slope: [f64; NODES],
    ln_b0: [f64; 2],
    sign: f64,
}

/// ln(B/K) and its derivatives, one volatility per lane.
pub(super) struct BoundaryPoint<L> {
    /// ln(B/K).
    pub(super) y: L,
    /// First to third derivative of ln(B/K) in sigma.
    pub(super) sigma: [L; 3],
    /// Derivative of ln(B/K) in the moved rate, and its derivative in sigma.
    pub(super) rate: L,
    pub(super) rate_sigma: L,
}

impl BoundaryAtTime {
    /// ln(B/K) without derivatives.
    #[inline(always)]
    pub(super) fn ln_b<L: Lanes>(&self, sigma: L, place: L) -> L {
        let h = self.h.iter().rev().fold(L::splat(0.0), |acc, c| acc.mul_add(place, L::splat(*c)));
        let root = h.max(L::splat(0.0)).sqrt();
        (L::splat(self.ln_b0[0]) - sigma * root) * self.sign
    }

    /// ln(B/K) = ln(B(0+)/K) − sigma·√h and its derivatives, from sigma and 1/sigma; `place`, `unit` from
    /// [`Boundary::place`].
    #[inline(always)]
    pub(super) fn edge<L: Lanes>(&self, sigma: L, inv_sigma: L, place: L, unit: f64) -> BoundaryPoint<L> {
        let c = |v: f64| L::splat(v);
        let [h, h1, h2, h3] = taylor(&self.h, place);
        let [p, p1] = taylor(&self.slope, place);
        // interpolation may dip below 0 next to expiry, where the boundary is at ln_b0 anyway
        let flat = h.le(c(HEIGHT_READ));
        let keep = |v: L| L::select(flat, c(0.0), v);
        let (h1, h2, h3) = (keep(h1) * unit, keep(h2) * c(2.0 * unit * unit), keep(h3) * c(6.0 * unit * unit * unit));
        let (p, p1) = (keep(p), keep(p1) * unit);
        let root = h.max(c(HEIGHT_READ)).sqrt();
        let inv = c(0.5) / root;
        let root1 = h1 * inv;
        let root2 = (root1 * root1).neg_mul_add(c(2.0), h2) * inv;
        let root3 = (root1 * root2).neg_mul_add(c(6.0), h3) * inv;
        let (by_rate, by_rate1) = (p * inv, (p1 - (p + p) * root1 * inv) * inv);
        let per_sigma = inv_sigma * -self.sign;
        BoundaryPoint {
            y: (c(self.ln_b0[0]) - sigma * root) * self.sign,
            sigma: [(root + root1) * -self.sign, (root1 + root2) * per_sigma, (root3 - root1) * per_sigma * inv_sigma],
            rate: (c(self.ln_b0[1]) - sigma * by_rate) * self.sign,
            rate_sigma: (by_rate + by_rate1) * -self.sign,
        }
    }
}

/// Value and first Taylor coefficients of a polynomial.
#[inline(always)]
fn taylor<L: Lanes, const N: usize>(c: &[f64; NODES], x: L) -> [L; N] {
    let mut t = [L::splat(0.0); N];
    t[0] = L::splat(c[NODES - 1]);
    for c in c[..NODES - 1].iter().rev() {
        for i in (1..N).rev() {
            t[i] = t[i].mul_add(x, t[i - 1]);
        }
        t[0] = t[0].mul_add(x, L::splat(*c));
    }
    t
}

#[cfg(test)]
mod tests {
    use super::super::{Band, Pricer};
    use super::*;
    use crate::contract::Style;
    use crate::dividends::Terms;

    const RATES: [(f64, f64); 7] =
        [(0.05, 0.0), (0.05, 0.03), (0.03, 0.06), (0.08, -0.02), (0.02, 0.5), (0.4, 0.05), (1.4, 0.12)];

    fn ln_b(right: Right, (r, b, t): (f64, f64, f64), sigma: f64) -> f64 {
        let table = Boundary::new(&Domain::new(right, r, b, t, (0.9 * sigma, 1.1 * sigma)), Quality::Reference);
        table.at_rates::<false>(r, b).at_time::<false>(t).ln_b(sigma, table.place(sigma).0)
    }

    #[test]
    fn value_at_the_boundary_is_the_exercise_value() {
        // the solver imposes the slope there, not the value
        for right in [Right::Call, Right::Put] {
            for (r, b) in RATES {
                let (r, b) = if right == Right::Call { (b, r) } else { (r, b) };
                for (t, sigma) in
                    [(0.02, 0.3), (0.5, 0.15), (2.0, 0.6), (3.0, 0.04), (1e-5, 4.0), (3e-3, 0.01), (10.0, 1.0)]
                {
                    let terms = Terms { t, r, b, divs: vec![] };
                    let band = Band { k: (50.0, 200.0), sigma: (0.9 * sigma, 1.1 * sigma) };
                    let pricer = Pricer::new(Style::American, right, &terms, &band, Quality::Reference);
                    let inside = 1e-4 * right.phi() * sigma * t.sqrt();
                    let s = 100.0 * (ln_b(right, (r, b, t), sigma) - inside).exp();
                    let g = pricer.at(&terms, s).greeks(100.0, sigma);
                    let exercise = right.phi() * (s - 100.0);
                    // gamma there is 2(rK − bS)/(sigma·S)², a density of its own
                    let curve = 3.0 * (r * 100.0 - b * s).abs() / (sigma * sigma * s) * inside.abs();
                    assert!(
                        (g.value - exercise).abs() <= 1e-5 * s.max(100.0) * sigma * t.sqrt(),
                        "{right:?} {terms:?} sigma {sigma}: {g:?} {exercise}"
                    );
                    assert!(
                        (g.delta - right.phi()).abs() <= 2e-3 + curve,
                        "{right:?} {terms:?} sigma {sigma}: {}",
                        g.delta
                    );
                }
            }
        }
    }

    #[test]
    fn boundary_of_a_long_life_is_the_perpetual_one() {
        // Merton (1973): B = K·m/(m − 1), m the negative root of ½σ²m(m − 1) + (r − b)m = r
        for (r, b, sigma) in [(0.05, 0.0, 0.2f64), (0.06, 0.03, 0.3), (0.04, 0.05, 0.25)] {
            let a = (r - b) / (sigma * sigma) - 0.5;
            let m = -a - (a * a + 2.0 * r / (sigma * sigma)).sqrt();
            let perpetual: f64 = m / (m - 1.0);
            let ours = ln_b(Right::Put, (r, b, 150.0), sigma);
            assert!((ours - perpetual.ln()).abs() <= 2e-3, "r {r} b {b} sigma {sigma}: {} not {perpetual}", ours.exp());
        }
    }

    #[test]
    fn boundaries_exist_for_hard_terms() {
        for right in [Right::Call, Right::Put] {
            for (r, b) in RATES.into_iter().chain([(1.5, 0.0), (0.05, 2.0), (0.0, -0.03), (1e-6, 1e-3), (0.05, 0.05)]) {
                let (r, b) = if right == Right::Call { (b, r) } else { (r, b) };
                for t in [1e-5, 0.003, 0.2, 3.0, 10.0] {
                    for sigma in [0.01, 0.03, 0.1, 0.8, 4.0] {
                        let y = -right.phi() * ln_b(right, (r, b, t), sigma);
                        assert!((-300.0..=0.0).contains(&y), "{right:?} r {r} b {b} t {t} sigma {sigma}: {y}");
                    }
                }
            }
        }
    }
}
