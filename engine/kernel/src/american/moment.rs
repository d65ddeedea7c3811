//! The value of exercise at later moments (Kim 1990): the integrand of every boundary equation and premium with
//! dividends with its derivatives, and the flow of exercise along a boundary as a sum over moments. Never: a boundary's
//! search.

use crate::elementary::exp;
use crate::lanes::{InLanes, Lanes, Mask, Registers};
use crate::normal::{INV_SQRT_2PI, norm_cdf_given, norm_cdf_short_given};

/// Cut-off of the deviates of a moment (standard deviations). With all of them, to e^−708, a window with b = 0.3 %
/// takes 0.5 ms in place of 0.2.
const DEVIATE: f64 = 30.0;

/// Deviations below the boundary beyond which exercise gains nothing. The normal probability beyond is 1e-12.
const OUT_OF_REACH: f64 = 7.0;

/// A moment of exercise, seen from an earlier time. `T`: a time that all lanes share, or each lane's own.
pub(super) struct Moment<T = f64> {
    /// √wait and 1 over it.
    pub(super) root: T,
    pub(super) inv_root: T,
    /// (r − b)·wait, e^(−(r − b)·wait), e^(−r·wait).
    pub(super) drift: T,
    pub(super) carry: T,
    pub(super) discount: T,
    /// weight·e^(−r·wait), weight·b·e^(−b·wait).
    pub(super) cash: T,
    pub(super) stock: T,
    /// b·A: the part of the yearly cost of exercise that the dividends to come spare.
    pub(super) spared: T,
}

impl<T: Lanes> Moment<T> {
    /// The moment after `wait` years, with its weight in a quadrature; `escrow`: dividends to come, as of now.
    pub(super) fn new([r, b]: [f64; 2], wait: T, weight: T, escrow: T) -> Self {
        let (drift, discount) = (wait * (r - b), exp(wait * -r));
        let (root, carry) = (wait.sqrt(), exp(-drift));
        let cash = weight * discount;
        let inv_carry = T::splat(1.0) / carry;
        Moment {
            root,
            inv_root: T::splat(1.0) / root,
            drift,
            carry,
            discount,
            cash,
            stock: cash * inv_carry * b,
            spared: escrow * inv_carry * b,
        }
    }
}

/// Contracts, one per lane; `interest`: a year's interest on their strikes.
#[derive(Clone, Copy)]
pub(super) struct Contracts<L> {
    pub(super) phi: f64,
    pub(super) rates: [f64; 2],
    pub(super) sigma: L,
    pub(super) inv_sigma: L,
    pub(super) interest: L,
}

/// Clamps a deviate to where the density is not yet negligible: products with a smaller density are subnormal, and
/// slow.
#[inline(always)]
fn within<L: Lanes>(d: L) -> L {
    let most = L::splat(DEVIATE);
    d.max(-most).min(most)
}

/// N(d) given `e` = exp(−d²/2), as accurate as a sum with `S` values needs it.
#[inline(always)]
fn normal<L: Lanes, const S: usize>(d: L, e: L) -> L {
    if S > 3 { norm_cdf_given(d, e) } else { norm_cdf_short_given(d, e) }
}

impl<L: Lanes> Contracts<L> {
    pub(super) fn new(phi: f64, rates: [f64; 2], k: L, sigma: L) -> Self {
        Self { phi, rates, sigma, inv_sigma: L::splat(1.0) / sigma, interest: k * rates[0] }
    }

    /// Adds value and two slopes of a moment at ln X = `x` to `to`. Returns the derivatives of value and first slope in
    /// ln B at the moment.
    #[inline(always)]
    pub(super) fn add<T: InLanes<L>>(
        &self,
        at: &Moment<T>,
        x: L,
        spot: L,
        inv_spot: L,
        ln_b: L,
        to: &mut [L; 3],
    ) -> [L; 2] {
        let earns = [self.interest - at.spared.in_lanes(), L::splat(self.rates[1])];
        self.add_moment(at, earns, [x, spot, inv_spot], ln_b, to)
    }

    /// [`Self::add`] of a moment at which exercise costs the first of `earns` a year, and gains the second per unit of
    /// X; with four slopes normal probabilities are taken to full accuracy. `place`: ln X, X and 1/X.
    ///
    /// # Domain  no gain where b = 0
    /// # Source  Kim (1990); derivatives in closed form
    #[inline(always)]
    pub(super) fn add_moment<T: InLanes<L>, const S: usize>(
        &self,
        at: &Moment<T>,
        earns: [L; 2],
        place: [L; 3],
        ln_b: L,
        to: &mut [L; S],
    ) -> [L; 2] {
        let (c, phi, [cost, gain], [x, spot, inv_spot]) = (L::splat, self.phi, earns, place);
        let (g, width) = (self.inv_sigma * at.inv_root.in_lanes(), self.sigma * at.root.in_lanes());
        let cash = at.cash.in_lanes();
        let d = within((x - ln_b + at.drift.in_lanes()) * g - width * 0.5);
        let e = exp(d * d * -0.5);
        let mg = e * g * cash * INV_SQRT_2PI;
        let cash = cost * normal::<L, S>(d * phi, e) * cash * phi;
        let (edge, stock) = if self.rates[1] == 0.0 {
            (c(0.0), c(0.0))
        } else {
            let edge = exp(ln_b);
            // n(d+) = n(d)·(B/X)·e^(−(r−b)·wait)
            let high = normal::<L, S>((d + width) * phi, e * edge * inv_spot * at.carry.in_lanes());
            (edge * gain, high * spot * at.stock.in_lanes() * phi)
        };
        let (jump, lift) = ((cost - edge) * mg, edge * mg);
        let tilt = jump * d * g;
        to[0] += stock - cash;
        to[1] += stock - jump;
        to[2] += tilt + lift + stock;
        if let [_, _, _, third, fourth] = &mut to[..] {
            let (both, bend, twist) = (lift + stock, (d * d - 1.0) * g * g, (d * d - 3.0) * d * g * g * g);
            *third += both - lift * d * g - jump * bend;
            *fourth += jump.mul_add(twist, lift.mul_add(bend - d * g, both));
        }
        [jump, -tilt]
    }
}

/// Value at one time of exercise along a boundary after it.
pub(super) struct Flow<L> {
    pub(super) moments: FlowMoments<L>,
    pub(super) contracts: Contracts<L>,
    /// φ·ln X below which the flow is negligible.
    pub(super) idle: L,
}

/// Moments of exercise, each with its boundary: at times shared by all lanes, or per lane.
pub(super) enum FlowMoments<L> {
    Shared(Vec<(Moment, MomentBoundary<L>)>),
    Own(Vec<(Moment<L>, MomentBoundary<L>)>),
}

/// A type of times: shared by all lanes, or per lane.
pub(super) trait FlowTime<L: Lanes>: InLanes<L> {
    /// The moments of a flow from moments at times of this type.
    fn moments(seen: Vec<(Moment<Self>, MomentBoundary<L>)>) -> FlowMoments<L>;
}

impl<L: Lanes> FlowTime<L> for f64 {
    fn moments(seen: Vec<(Moment<Self>, MomentBoundary<L>)>) -> FlowMoments<L> {
        FlowMoments::Shared(seen)
    }
}

impl<R: Lanes, const G: usize> FlowTime<Self> for Registers<R, G> {
    fn moments(seen: Vec<(Moment<Self>, MomentBoundary<Self>)>) -> FlowMoments<Self> {
        FlowMoments::Own(seen)
    }
}

/// The boundary at a moment.
pub(super) struct MomentBoundary<L> {
    /// ln B less the drift of ln X until the moment.
    pub(super) level: L,
    /// The factor that turns n(d) into n(d+)·X.
    pub(super) turn: L,
}

impl<L: Lanes> MomentBoundary<L> {
    fn new<T: InLanes<L>>(moment: &Moment<T>, ln_b: L) -> Self {
        Self { level: ln_b - moment.drift.in_lanes(), turn: exp(ln_b) * moment.carry.in_lanes() }
    }

    /// The moment with the boundary at ln B = `ln_b`.
    pub(super) fn with<T: InLanes<L>>(moment: Moment<T>, ln_b: L) -> (Moment<T>, Self) {
        let edge = Self::new(&moment, ln_b);
        (moment, edge)
    }
}

impl<L: InLanes<L>> Flow<L> {
    pub(super) fn new(moments: FlowMoments<L>, contracts: Contracts<L>) -> Self {
        let idle = match &moments {
            FlowMoments::Shared(moments) => contracts.idle(moments),
            FlowMoments::Own(moments) => contracts.idle(moments),
        };
        Self { moments, contracts, idle }
    }

    /// The value at ln X = `x`, where the option is held.
    #[inline(never)]
    pub(super) fn value(&self, x: L) -> L {
        if (x * self.contracts.phi).lt(self.idle).all() {
            return L::splat(0.0);
        }
        match &self.moments {
            FlowMoments::Shared(moments) => self.contracts.sum(moments, x),
            FlowMoments::Own(moments) => self.contracts.sum(moments, x),
        }
    }

    /// Adds the value and its first four derivatives in ln X.
    pub(super) fn add_slopes(&self, x: L, to: &mut [L; 5]) {
        match &self.moments {
            FlowMoments::Shared(moments) => self.contracts.add_slopes(moments, x, to),
            FlowMoments::Own(moments) => self.contracts.add_slopes(moments, x, to),
        }
    }
}

impl<L: Lanes> Contracts<L> {
    fn add_slopes<T: InLanes<L>>(&self, moments: &[(Moment<T>, MomentBoundary<L>)], x: L, to: &mut [L; 5]) {
        let place = [x, exp(x), exp(-x)];
        for (at, edge) in moments {
            let earns = [self.interest - at.spared.in_lanes(), L::splat(self.rates[1])];
            self.add_moment(at, earns, place, edge.level + at.drift.in_lanes(), to);
        }
    }

    /// φ·ln X below which no moment's boundary is in reach.
    fn idle<T: InLanes<L>>(&self, moments: &[(Moment<T>, MomentBoundary<L>)]) -> L {
        moments.iter().fold(L::splat(f64::INFINITY), |idle, (at, edge)| {
            idle.min(edge.level * self.phi - self.sigma * (at.root.in_lanes() * OUT_OF_REACH))
        })
    }

    /// Value of moments of exercise at ln X = `x`.
    #[inline(always)]
    fn sum<T: InLanes<L>>(&self, moments: &[(Moment<T>, MomentBoundary<L>)], x: L) -> L {
        let mut sum = L::splat(0.0);
        let Self { phi, sigma, inv_sigma, interest, .. } = *self;
        let (spot, inv_spot) = (exp(x), exp(-x));
        for (at, edge) in moments {
            let width = sigma * at.root.in_lanes();
            let d = within((x - edge.level) * inv_sigma * at.inv_root.in_lanes() - width * 0.5);
            let e = exp(d * d * -0.5);
            let high = norm_cdf_short_given((d + width) * phi, e * edge.turn * inv_spot);
            let cash = (interest - at.spared.in_lanes()) * norm_cdf_short_given(d * phi, e);
            sum += high * spot * at.stock.in_lanes() - cash * at.cash.in_lanes();
        }
        sum * phi
    }
}

/// A boundary that is known before the one that is searched for: of exercise after that, or with negative weights the
/// lower boundary of the region, below which there is no exercise.
pub(super) struct KnownBoundary<L> {
    pub(super) from_begin: Vec<(Moment<L>, MomentBoundary<L>)>,
    pub(super) from_points: Vec<Vec<Moment<L>>>,
    pub(super) ln_b: Vec<L>,
}

impl<L: InLanes<L>> KnownBoundary<L> {
    /// The lowest ln B.
    pub(super) fn lowest(&self) -> L {
        self.ln_b.iter().fold(L::splat(f64::INFINITY), |lowest, ln_b| lowest.min(*ln_b))
    }

    /// Adds its part of the flow at collocation point `i` and ln X = `x`.
    pub(super) fn add(&self, contracts: &Contracts<L>, i: usize, x: L, to: &mut [L; 3]) {
        let (spot, inv_spot) = (exp(x), exp(-x));
        for (moment, ln_b) in self.from_points[i].iter().zip(&self.ln_b) {
            contracts.add(moment, x, spot, inv_spot, *ln_b, to);
        }
    }
}
