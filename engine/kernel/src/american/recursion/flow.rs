//! The expected present value of the flow that exercise between ex-dates earns (Kim 1990), as sums over moments of
//! time.
//!
//! Beyond the boundary B(t), exercise earns φ(bX − (rK − bA(t))) a year more than holding; a moment's share is the
//! expectation of that over X beyond B. A European put has the form of a moment too, with its strike as boundary and as
//! cost, and 1 for b. The lanes are moments.

use super::option::{AmericanOption, Slopes};
use crate::elementary::exp;
use crate::lanes::{Block, Lanes};
use crate::normal::{INV_SQRT_2PI, bell, norm_cdf_given};

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
            let mut block = FlowBlock::new(p, &wait, &lanes(|moment| moment.weight), &lanes(|moment| moment.cost));
            block.pay = Block::load(&lanes(|moment| moment.pay));
            (block, Block::load(&lanes(|moment| moment.ln_b)))
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

/// Moments, one per lane, with the terms that depend neither on x nor on the boundary.
pub(super) struct FlowBlock {
    wait: Block,
    /// 1/(σ√wait), σ√wait.
    inv_width: Block,
    width: Block,
    /// weight·e^(−r·wait), weight·e^(−b·wait).
    cash: Block,
    stock: Block,
    /// e^(−(r − b)·wait).
    carry: Block,
    cost: Block,
    pay: Block,
}

impl FlowBlock {
    /// Moments `wait` years ahead, all above 0.
    #[inline(always)]
    pub(super) fn new(p: &AmericanOption, wait: &[f64; N], weight: &[f64; N], cost: &[f64; N]) -> Self {
        let (wait, weight) = (Block::load(wait), Block::load(weight));
        let width = wait.sqrt() * p.sigma;
        Self {
            wait,
            inv_width: Block::splat(1.0) / width,
            width,
            cash: exp(wait * -p.r) * weight,
            carry: exp(wait * (p.b - p.r)),
            stock: exp(wait * -p.b) * weight,
            cost: Block::load(cost),
            pay: Block::splat(p.b),
        }
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
    /// # Source  Kim (1990); derivatives in x in closed form
    #[inline(always)]
    pub(super) fn add(&mut self, p: &AmericanOption, at: &FlowBlock, x: f64, ln_b: Block) -> [Block; 2] {
        let c = Block::splat;
        let g = at.inv_width;
        let d = (at.wait * (p.r - p.b) - ln_b + x) * g - at.width * 0.5;
        let e = bell(d);
        let low = norm_cdf_given(d * p.phi, e);
        // weight·e^(−r·wait)·n(d), per unit of x
        let mg = e * at.cash * g * INV_SQRT_2PI;
        let cash = at.cost * at.cash * low * p.phi;
        let (edge, stock) = if p.b == 0.0 {
            (c(0.0), c(0.0))
        } else {
            let (edge, spot) = (exp(ln_b), x.exp());
            // n(d+) = n(d)·(B/X)·e^(−(r−b)·wait)
            let e_high = e * edge * at.carry * (1.0 / spot);
            let high = norm_cdf_given((d + at.width) * p.phi, e_high);
            (edge * at.pay, at.stock * at.pay * high * (p.phi * spot))
        };
        let jump = (at.cost - edge) * mg;
        let dg = d * g;
        let bend = (d * d - 1.0) * g * g;
        let twist = (d * d - 3.0) * dg * g * g;
        let lift = edge * mg;
        let both = lift + stock;
        let sums = &mut self.0;
        sums[0] += stock - cash;
        sums[1] += stock - jump;
        sums[2] += jump.mul_add(dg, both);
        sums[3] += both - lift * dg - jump * bend;
        sums[4] += jump.mul_add(twist, lift.mul_add(bend - dg, both));
        // ∂d/∂ln B = −g; the derivatives of edge and stock cancel in the slope
        [jump, -(jump * dg)]
    }
}
