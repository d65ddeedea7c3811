//! The expected present value of the flow that exercise between ex-dates earns (Kim 1990), as sums over moments of
//! time.
//!
//! Beyond the boundary B(t), exercise earns φ(bX − (rK − bA(t))) a year more than holding; a moment's share is the
//! expectation of that over X beyond B. A European put has the form of a moment too, with its strike as boundary and as
//! cost, and 1 for b. The lanes are moments.

use super::option::{AmericanOption, Slopes};
use crate::elementary::exp;
use crate::lanes::{Block, InLanes, Lanes};
use crate::normal::{INV_SQRT_2PI, norm_cdf_given, norm_cdf_short_given};

/// Cut-off of the deviates of a moment (standard deviations). With all of them, to e^−708, a window with b = 0.3 %
/// takes 0.5 ms in place of 0.2.
const DEVIATE: f64 = 30.0;

/// Moments that are summed side by side.
const N: usize = Block::N;

/// A moment of exercise, or a European put.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowMoment {
    /// Years from now.
    pub(super) time: f64,
    /// ln of the boundary, or of the put's strike.
    pub(super) ln_b: f64,
    /// Yearly cost of exercise, rK − bA; or the put's strike.
    pub(super) cost: f64,
    /// Yearly gain from exercise per unit of X, b; or 1 for a put.
    pub(super) pay: f64,
    /// Length of time that the moment represents, negative for a region's second boundary; or the number of puts.
    pub(super) weight: f64,
}

impl FlowMoment {
    /// `number` European puts with the strike `strike` that expire at `time`.
    pub(super) fn puts(time: f64, strike: f64, number: f64) -> Self {
        Self { time, ln_b: strike.ln(), cost: strike, pay: 1.0, weight: number }
    }
}

/// Moments of exercise, in any order.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowNodes(Vec<FlowMoment>);

impl FlowNodes {
    pub(super) fn push(&mut self, moment: FlowMoment) {
        self.0.push(moment);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &FlowMoment> {
        self.0.iter()
    }

    /// The moments after `t`, ready to be summed for any x there.
    pub(super) fn from(&self, p: &AmericanOption, t: f64) -> Flows {
        // lanes without a moment have weight 0
        let none = FlowMoment { time: t + 1.0, ln_b: 0.0, cost: 0.0, pay: 0.0, weight: 0.0 };
        let ahead: Vec<FlowMoment> = self.0.iter().filter(|moment| moment.time > t).copied().collect();
        let block = |some: &[FlowMoment]| {
            let lanes =
                |of: fn(&FlowMoment) -> f64| -> [f64; N] { core::array::from_fn(|i| of(some.get(i).unwrap_or(&none))) };
            let wait = lanes(|moment| moment.time).map(|time| time - t);
            let block = FlowBlock::new(p, &wait, &lanes(|moment| moment.weight), &lanes(|moment| moment.cost));
            (block.paying(Block::load(&lanes(|moment| moment.pay))), Block::load(&lanes(|moment| moment.ln_b)))
        };
        Flows(ahead.chunks(N).map(block).collect())
    }
}

/// Moments of exercise seen from one time.
pub(super) struct Flows(Vec<(FlowBlock, Block)>);

impl Flows {
    /// Adds value and slopes of exercise at these moments, at x.
    pub(super) fn add(&self, p: &AmericanOption, x: f64, to: &mut Slopes) {
        let mut sums = FlowSums::zero();
        for (block, ln_b) in &self.0 {
            sums.add(p, block, x, *ln_b);
        }
        sums.total(to);
    }
}

/// A moment of exercise, seen from an earlier time. `T`: a time that all lanes share, or each lane's own.
pub(crate) struct Moment<T = f64> {
    /// √wait and 1 over it.
    pub(crate) root: T,
    pub(crate) inv_root: T,
    /// (r − b)·wait, e^(−(r − b)·wait), e^(−r·wait).
    pub(crate) drift: T,
    pub(crate) carry: T,
    pub(crate) discount: T,
    /// weight·e^(−r·wait), weight·b·e^(−b·wait).
    pub(crate) cash: T,
    pub(crate) stock: T,
    /// b·A: the part of the yearly cost of exercise that the dividends to come spare.
    pub(crate) spared: T,
}

impl<T: Lanes> Moment<T> {
    /// The moment after `wait` years, with its weight in a quadrature; `escrow`: dividends to come, as of now.
    pub(crate) fn new([r, b]: [f64; 2], wait: T, weight: T, escrow: T) -> Self {
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
pub(crate) struct Contracts<L> {
    pub(crate) phi: f64,
    pub(crate) rates: [f64; 2],
    pub(crate) sigma: L,
    pub(crate) inv_sigma: L,
    pub(crate) interest: L,
}

/// Clamps a deviate to where the density is not yet negligible: products with a smaller density are subnormal, and
/// slow.
#[inline(always)]
pub(crate) fn within<L: Lanes>(d: L) -> L {
    let most = L::splat(DEVIATE);
    d.max(-most).min(most)
}

/// N(d) given `e` = exp(−d²/2), as accurate as a sum with `S` values needs it.
#[inline(always)]
fn normal<L: Lanes, const S: usize>(d: L, e: L) -> L {
    if S > 3 { norm_cdf_given(d, e) } else { norm_cdf_short_given(d, e) }
}

impl AmericanOption {
    /// The option in each lane.
    pub(super) fn contracts<L: Lanes>(&self) -> Contracts<L> {
        Contracts::new(self.phi, [self.r, self.b], L::splat(self.k), L::splat(self.sigma))
    }
}

impl<L: Lanes> Contracts<L> {
    pub(crate) fn new(phi: f64, rates: [f64; 2], k: L, sigma: L) -> Self {
        Self { phi, rates, sigma, inv_sigma: L::splat(1.0) / sigma, interest: k * rates[0] }
    }

    /// Adds value and two slopes of a moment at ln X = `x` to `to`. Returns the derivatives of value and first slope in
    /// ln B at the moment.
    #[inline(always)]
    pub(crate) fn add<T: InLanes<L>>(
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
    fn add_moment<T: InLanes<L>, const S: usize>(
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

/// Moments, one per lane, with the terms that depend neither on x nor on the boundary.
pub(super) struct FlowBlock {
    moment: Moment<Block>,
    cost: Block,
    pay: Block,
}

impl FlowBlock {
    /// Moments `wait` years ahead, all above 0.
    #[inline(always)]
    pub(super) fn new(p: &AmericanOption, wait: &[f64; N], weight: &[f64; N], cost: &[f64; N]) -> Self {
        let moment = Moment::new([p.r, p.b], Block::load(wait), Block::load(weight), Block::splat(0.0));
        Self { moment, cost: Block::load(cost), pay: Block::splat(p.b) }
    }

    /// Replaces the yearly gain from exercise per unit of X by `pay`.
    fn paying(mut self, pay: Block) -> Self {
        (self.moment.stock, self.pay) = (self.moment.cash / self.moment.carry * pay, pay);
        self
    }
}

/// Sums over moments: value and slopes in x.
pub(super) struct FlowSums([Block; 5]);

impl FlowSums {
    pub(super) fn zero() -> Self {
        Self([Block::splat(0.0); 5])
    }

    /// Adds the lanes up.
    pub(super) fn total(&self, to: &mut Slopes) {
        for (to, sum) in to.iter_mut().zip(self.0) {
            let mut lanes = [0.0; N];
            sum.store(&mut lanes);
            *to += lanes.iter().sum::<f64>();
        }
    }

    /// Adds value and slopes of some moments at x. Returns the derivatives of value and first slope in ln B at each.
    ///
    /// # Shapes  one moment per lane
    #[inline(always)]
    pub(super) fn add(&mut self, p: &AmericanOption, at: &FlowBlock, x: f64, ln_b: Block) -> [Block; 2] {
        let place = [x, x.exp(), (-x).exp()].map(Block::splat);
        p.contracts().add_moment(&at.moment, [at.cost, at.pay], place, ln_b, &mut self.0)
    }
}
