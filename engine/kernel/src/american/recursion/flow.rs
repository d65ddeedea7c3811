//! The expected present value of the flow that exercise between ex-dates earns (Kim 1990), as sums over moments of
//! time.
//!
//! Beyond the boundary B(t), exercise earns φ(bX − (rK − bA(t))) a year more than holding; a moment's share is the
//! expectation of that over X beyond B. A European put has the form of a moment too, with its strike as boundary and as
//! cost, and 1 for b. The lanes are moments.

use crate::american::moment::{Contracts, Moment};
use crate::black76::European;
use crate::dividends::{Dividend, Terms};
use crate::lanes::{Block, Lanes};

/// Lower bound of the strike less the dividend on the day of expiry. A call with such a strike is the stock.
const STRIKE_LEAST: f64 = 1e-9;
/// Value and first to fourth derivative in x.
pub(super) type Slopes = [f64; 5];

/// One American option.
#[derive(Clone, Debug)]
pub(crate) struct AmericanOption {
    /// +1 for a call, −1 for a put.
    pub(super) phi: f64,
    /// Strike of exercise.
    pub(super) k: f64,
    /// Strike of the European part: a dividend on the day of expiry lowers a call's.
    pub(super) european_k: f64,
    pub(super) sigma: f64,
    /// Years to expiry.
    pub(super) t: f64,
    pub(super) r: f64,
    pub(super) b: f64,
    /// Dividends with ex-dates in (0, t], ascending.
    pub(super) divs: Vec<Dividend>,
}

impl AmericanOption {
    /// The option of one strike and volatility.
    pub(crate) fn new(phi: f64, terms: &Terms, k: f64, sigma: f64) -> Self {
        let Terms { t, r, b, .. } = *terms;
        let divs: Vec<Dividend> =
            terms.divs.iter().filter(|d| d.t > 0.0 && d.t <= t && d.amount > 0.0).copied().collect();
        let last: f64 = divs.iter().filter(|d| d.t >= t).map(|d| d.amount).sum();
        let european_k = if phi > 0.0 { (k - last).max(STRIKE_LEAST * k) } else { k };
        Self { phi, k, european_k, sigma, t, r, b, divs }
    }

    pub(super) fn is_put(&self) -> bool {
        self.phi < 0.0
    }

    /// Standard deviation of ln X over `span` years.
    pub(super) fn width(&self, span: f64) -> f64 {
        self.sigma * span.sqrt()
    }

    /// True if exercise has two boundaries at every time close to expiry.
    pub(super) fn is_double(&self) -> bool {
        let Self { r, b, .. } = *self;
        if self.is_put() { r < 0.0 && b < r } else { b < 0.0 && r < b }
    }

    /// True if exercise between ex-dates can gain.
    pub(super) fn has_flow(&self) -> bool {
        let Self { r, b, .. } = *self;
        if self.is_double() {
            return true;
        }
        if self.is_put() { r > 0.0 || (r == 0.0 && b < 0.0) } else { b > 0.0 || (b == 0.0 && r < 0.0) }
    }

    /// Yearly flow of exercise over holding at X = e^x with dividends to come of `escrow`: φ(b(X + A) − rK).
    pub(super) fn flow(&self, x: f64, escrow: f64) -> f64 {
        self.phi * (self.b * (x.exp() + escrow) - self.r * self.k)
    }

    /// The European value `tau` years before expiry.
    pub(super) fn european(&self, tau: f64) -> European<f64> {
        European::new(self.phi, self.european_k, self.sigma, tau, self.r, self.b)
    }

    /// The option in each lane.
    pub(super) fn contracts<L: Lanes>(&self) -> Contracts<L> {
        Contracts::new(self.phi, [self.r, self.b], L::splat(self.k), L::splat(self.sigma))
    }
}

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

/// Moments of exercise seen from one time.
pub(super) struct Flows(Vec<(FlowBlock, Block)>);

impl Flows {
    /// The moments of exercise that lie after `t`; `moments` stand in any order.
    pub(super) fn new(p: &AmericanOption, moments: &[FlowMoment], t: f64) -> Self {
        // lanes without a moment have weight 0
        let none = FlowMoment { time: t + 1.0, ln_b: 0.0, cost: 0.0, pay: 0.0, weight: 0.0 };
        let ahead: Vec<FlowMoment> = moments.iter().filter(|moment| moment.time > t).copied().collect();
        let block = |some: &[FlowMoment]| {
            let lanes =
                |of: fn(&FlowMoment) -> f64| -> [f64; N] { core::array::from_fn(|i| of(some.get(i).unwrap_or(&none))) };
            let wait = lanes(|moment| moment.time).map(|time| time - t);
            let block = FlowBlock::new(p, &wait, &lanes(|moment| moment.weight), &lanes(|moment| moment.cost));
            (block.paying(Block::load(&lanes(|moment| moment.pay))), Block::load(&lanes(|moment| moment.ln_b)))
        };
        Self(ahead.chunks(N).map(block).collect())
    }

    /// Adds value and slopes of exercise at these moments, at x.
    pub(super) fn add(&self, p: &AmericanOption, x: f64, to: &mut Slopes) {
        let mut sums = FlowSums::zero();
        for (block, ln_b) in &self.0 {
            sums.add(p, block, x, *ln_b);
        }
        sums.total(1.0, to);
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

    /// Adds the lanes, `sign` times.
    pub(super) fn total(&self, sign: f64, to: &mut Slopes) {
        for (to, sum) in to.iter_mut().zip(self.0) {
            let mut lanes = [0.0; N];
            sum.store(&mut lanes);
            *to += sign * lanes.iter().sum::<f64>();
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
