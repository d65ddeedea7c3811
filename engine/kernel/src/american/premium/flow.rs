//! The flow that exercise along a boundary earns until it ends (Kim 1990), as a sum over moments. One strike and
//! volatility a lane. Never: a boundary's search.

use crate::american::moment::{Contracts, Moment, within};
use crate::elementary::exp;
use crate::lanes::{InLanes, Lanes, Mask, Registers};
use crate::normal::norm_cdf_short_given;

/// Deviations below the boundary beyond which exercise gains nothing. The normal probability beyond is 1e-12.
const OUT_OF_REACH: f64 = 7.0;

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
    pub(super) fn new<T: InLanes<L>>(moment: &Moment<T>, ln_b: L) -> Self {
        Self { level: ln_b - moment.drift.in_lanes(), turn: exp(ln_b) * moment.carry.in_lanes() }
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
}

impl<L: Lanes> Contracts<L> {
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

/// A region's lower boundary as moments, with negative weights, of the exercise that does not take place below it.
pub(super) struct LowerBoundary<L> {
    pub(super) from_begin: Vec<(Moment<L>, MomentBoundary<L>)>,
    pub(super) from_points: Vec<Vec<Moment<L>>>,
    pub(super) ln_b: Vec<L>,
}

impl<L: InLanes<L>> LowerBoundary<L> {
    /// The lowest ln B.
    pub(super) fn lowest(&self) -> L {
        self.ln_b.iter().fold(L::splat(f64::INFINITY), |lowest, ln_b| lowest.min(*ln_b))
    }

    /// Adds its part, which is negative, of the flow at collocation point `i` and ln X = `x`.
    pub(super) fn add(&self, contracts: &Contracts<L>, i: usize, x: L, to: &mut [L; 3]) {
        let (spot, inv_spot) = (exp(x), exp(-x));
        for (moment, ln_b) in self.from_points[i].iter().zip(&self.ln_b) {
            contracts.add(moment, x, spot, inv_spot, *ln_b, to);
        }
    }
}
