//! What follows an ex-date until the next one, or expiry. One strike and volatility a lane. Never: a boundary's search.

use super::at_date::{AtDate, Series, Wait};
use super::between_dates::Between;
use super::chebyshev::Lobatto;
use super::european::European;
use super::falling::Falling;
use super::flow::Flow;
use super::time_between::TimeBetween;
use super::tip::Tip;
use crate::american::recursion::Solution;
use crate::american::settings::{BETWEEN, DATES, EVALUATE};
use crate::dividends::Terms;
use crate::elementary::exp;
use crate::lanes::{Block, Lanes, Mask};
use std::sync::Arc;

/// What there is at the date that a table describes, of some lanes.
pub(super) struct First {
    pub(super) k: Block,
    pub(super) sigma: Block,
    /// ln of the X from which on the option is exercised; NaN: it is not.
    pub(super) boundary: Block,
    /// True if any lane is exercised, and if one is so only up to a second boundary.
    pub(super) is_exercised: bool,
    pub(super) has_end: bool,
    /// ln X to which the premium matters.
    pub(super) far: Block,
    pub(super) held: HeldPremium,
    /// Exercise until the date.
    pub(super) before: Option<Between>,
    /// How a put's boundary ends in each of its windows, by the time at which that begins.
    pub(super) windows: Vec<(f64, WindowClose)>,
    /// What follows a put's last date.
    pub(super) after_last: Option<AfterLast>,
}

/// The premium while the option is held.
pub(super) enum HeldPremium {
    /// From what follows, one contract per lane; of calls exercised until the date also as their series there.
    Lanes { later: Box<Later>, at: Option<Box<AtDate>> },
    /// Each contract by the recursion of the reference.
    Each(Vec<Solution>),
}

/// How the boundary of a put's window ends.
#[derive(Clone)]
pub(super) enum WindowClose {
    /// It falls to 0.
    Falling(Box<Falling>),
    /// In a tip.
    Tip(Box<Tip>),
}

impl WindowClose {
    pub(super) fn falling(&self) -> Option<&Falling> {
        if let Self::Falling(falling) = self { Some(falling) } else { None }
    }

    pub(super) fn tip(&self) -> Option<&Tip> {
        if let Self::Tip(tip) = self { Some(tip) } else { None }
    }
}

/// The time from now or a date to the next, or to expiry.
pub(super) struct DatePeriod {
    pub(super) from: f64,
    pub(super) to: f64,
    /// The end as seen from the begin; `None`: it is expiry.
    pub(super) wait: Option<Wait>,
    /// `None`: nothing is exercised between.
    pub(super) stretch: Option<TimeBetween>,
}

impl DatePeriod {
    pub(super) fn new(terms: &Terms, from: f64, to: f64, between: bool) -> Self {
        let wait = (to < terms.t).then(|| Wait::new(to - from, terms.t - to));
        let stretch = between.then(|| TimeBetween::to_date(1.0, terms, from, to));
        Self { from, to, wait, stretch }
    }

    /// Exercise until the end, where the premium is `at`; `None`: it has no boundary that can be found.
    pub(super) fn solve(&self, at: Option<&AtDate>, k: Block, sigma: Block) -> Option<Option<Between>> {
        self.stretch.as_ref().map_or(Some(None), |stretch| Between::to_date(stretch, at, None, k, sigma).map(Some))
    }
}

/// What follows a date: exercise until the next, and the premium there.
pub(super) struct Later {
    pub(super) period: Arc<DatePeriod>,
    pub(super) at: Option<AtDate>,
    pub(super) between: Option<Between>,
    /// What exercise until the date is worth right after the one before.
    pub(super) flow: Option<Flow>,
    /// The region of exercise right after the date of puts that are not exercised at X = 0 there.
    pub(super) island: Option<Island>,
}

/// A region of exercise with two ends: the ln X between which a put is worth its payoff. Of lanes without one the lower
/// end is above the upper one.
#[derive(Clone, Copy)]
pub(super) struct Island {
    pub(super) lower: Block,
    pub(super) upper: Block,
    /// What exercise pays at X = 0.
    pub(super) paid: Block,
    pub(super) european: European<Block>,
}

impl Island {
    /// The lanes that have one.
    pub(super) fn is_there(&self) -> <Block as Lanes>::Mask {
        self.lower.lt(self.upper)
    }

    /// What exercise at ln X = `x` pays over the European value.
    pub(super) fn exercise(&self, x: Block) -> Block {
        let spot = exp(x);
        self.paid - spot - self.european.at(x, spot)
    }
}

impl Later {
    /// Of calls.
    pub(super) fn new(period: &Arc<DatePeriod>, at: Option<AtDate>, between: Option<Between>) -> Self {
        let flow = period.stretch.as_ref().zip(between.as_ref()).map(|(stretch, between)| between.flow(stretch));
        Self { period: Arc::clone(period), at, between, flow, island: None }
    }

    /// Of puts, from one date to the next or to expiry, at `t`; `window`: what begins with it.
    pub(super) fn of_puts([from, to]: [f64; 2], t: f64, at: Option<AtDate>, window: Option<(Between, Flow)>) -> Self {
        let wait = (to < t).then(|| Wait::new(to - from, t - to));
        let period = Arc::new(DatePeriod { from, to, wait, stretch: None });
        let (between, flow) = window.unzip();
        Self { period, at, between, flow, island: None }
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.at.is_none() && self.between.is_none()
    }

    /// The premium at ln X = `x`, where the option is held right after the date.
    pub(super) fn premium(&self, x: Block) -> Block {
        let mut sum = Block::splat(0.0);
        if let (Some(at), Some(wait)) = (&self.at, &self.period.wait) {
            sum += at.expected::<false, f64>(wait, x)[0];
        }
        if let Some(flow) = &self.flow {
            sum += flow.value(x);
        }
        let Some(island) = &self.island else { return sum };
        let inside = island.lower.lt(x) & x.lt(island.upper);
        if inside.any() { Block::select(inside, island.exercise(x), sum) } else { sum }
    }

    /// ln X below which a put's premium is a line in X, all but surely exercised after the next date.
    pub(super) fn lowest(&self, sigma: Block) -> Block {
        let of_date = self.at.iter().map(|at| at.end.as_ref().map_or(at.boundary, |end| end.x));
        let boundaries = of_date.chain(self.between.iter().map(Between::lowest));
        let root = self.period.wait.as_ref().map_or(0.0, Wait::root);
        boundaries.fold(Block::splat(f64::INFINITY), Block::min) - sigma * (root * DATES.top)
    }

    /// The line in X that the premium of holding is at ln X = `x`, `width` being the deviation until expiry: constant
    /// and slope.
    pub(super) fn line(&self, phi: f64, x: Block, width: Block) -> [Block; 2] {
        let step = width * (DATES.slope_step * phi);
        let value = self.premium(x);
        let slope = (value - self.premium(x - step)) / step;
        [value - slope, slope / exp(x)]
    }

    /// The premium of calls (`phi` = 1) or puts (−1) from ln X = `boundary` to `far`, right after a date `tau` years
    /// before expiry: the length of the interval in units of σ, and the coefficients of a Chebyshev series over it.
    ///
    /// # Shapes  one contract per lane
    pub(super) fn series(&self, phi: f64, ends: [Block; 2], sigma: Block, tau: f64) -> Series {
        self.series_of(phi, ends, sigma, tau, |x| self.premium(x))
    }

    /// The same of a function of ln X that bends like it.
    pub(super) fn series_of(
        &self,
        phi: f64,
        [boundary, far]: [Block; 2],
        sigma: Block,
        tau: f64,
        of: impl Fn(Block) -> Block,
    ) -> Series {
        let width = sigma * tau.sqrt();
        let reach = ((boundary - far) * phi).max(width * DATES.reach_least) / sigma;
        let place = |u: f64| boundary - sigma * reach * (0.5 * (1.0 + u) * phi);
        let deviations = (0..Block::N).map(|lane| reach.lane(lane)).fold(0.0, f64::max) / tau.sqrt();
        let usual = if self.between.is_some() { BETWEEN.terms } else { DATES.terms };
        let terms = (usual as f64 * (deviations / DATES.usual).max(1.0)) as usize;
        (reach, Lobatto::of(terms.min(EVALUATE.most_terms)).lanes(|u| of(place(u))))
    }
}

/// What follows the last ex-date: the boundary until expiry, and the premium right after the date. Both are of first
/// degree in X and K, since no dividend is left.
pub(super) struct AfterLast {
    pub(super) between: Between,
    pub(super) at: Option<AtDate>,
}

impl AfterLast {
    /// That of a strike this many times as high.
    pub(super) fn scaled(&self, ratio: f64) -> Self {
        Self { between: self.between.scaled(ratio), at: self.at.as_ref().map(|at| at.scaled(ratio)) }
    }
}
