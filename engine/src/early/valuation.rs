//! Inputs of the valuation of a slice and of a block of strikes, a block's distance from an expansion point, and what
//! accompanies a premium: method and next trading day. Never: a table, a state.

use super::expansion::{ExpansionPoint, load, rounded};
use super::settings::LATTICE;
use super::validity::MarketLimits;
use super::work::Left;
use crate::store::evidence::ValueMethod;
use kernel::american::exercised_now;
use kernel::black76::{Horizon, european as black};
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, SET_BACK, Terms, escrowed};
use kernel::greeks::{Greeks, SpotInputs, finish};
use kernel::lanes::{BLOCK, Block, Lanes, Mask};
use kernel::quality::Quality;

/// Layers of the lattices that value early exercise at a quality; `None`: tables.
pub(super) const fn lattice_layers(quality: Quality) -> Option<usize> {
    match quality {
        Quality::Preliminary => Some(LATTICE.preliminary),
        Quality::Full | Quality::Reference => None,
    }
}

/// Inputs of the valuation of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Valuation<'a> {
    /// Exercise style.
    pub style: Style,
    /// Accuracy of early exercise.
    pub quality: Quality,
    /// The spot to value at, currency per share.
    pub s: f64,
    /// Time, rates and dividends.
    pub terms: &'a Terms,
    /// Years to the same clock time on the next trading day.
    pub step: f64,
}

impl Valuation<'_> {
    /// Spot and terms at the same clock time on the next trading day, all else equal: dividends that go ex meanwhile
    /// leave the spot, the others come nearer. `None`: the contract settles before.
    #[must_use]
    pub fn next_session(&self) -> Option<(f64, Terms)> {
        let (terms, step) = (self.terms, self.step);
        (terms.t > step).then(|| {
            let later = terms.divs.iter().filter(|d| d.t > step);
            let divs = later.map(|d| Dividend { t: d.t - step, amount: d.amount }).collect();
            (self.next_spot(), Terms { t: terms.t - step, r: terms.r, b: terms.b, divs })
        })
    }

    /// Horizon and X of the next trading day, as of [`Valuation::next_session`].
    #[must_use]
    pub fn next_horizon(&self) -> Option<(Horizon, f64)> {
        let Terms { t, r, b, divs } = self.terms;
        let x = self.next_spot() - escrowed(divs, r - b, self.step, *t);
        (*t > self.step).then(|| (Horizon::new(t - self.step, *r, *b), x))
    }

    /// The spot less the dividends that go ex before the next trading day, and before settlement.
    #[must_use]
    pub fn next_spot(&self) -> f64 {
        let until = self.step.min(self.terms.t);
        self.s - self.terms.divs.iter().filter(|d| d.t <= until).map(|d| d.amount).sum::<f64>()
    }

    /// A bound that every value exceeds: exercise now where that is allowed, or at expiry at the forward.
    pub(crate) fn floor<L: Lanes>(&self, right: Right, k: L) -> L {
        let phi = right.phi();
        let at_expiry = (L::splat(self.terms.fwd(self.s)) - k) * self.terms.df() * phi;
        let now = if self.style == Style::American { (L::splat(self.s) - k) * phi } else { at_expiry };
        at_expiry.max(now).max(L::splat(0.0))
    }
}

/// European Greeks here.
#[must_use]
pub fn plain(right: Right, here: &Valuation<'_>, k: Block, sigma: Block) -> Greeks<Block> {
    let market = SpotInputs::new(here.terms, here.s);
    finish(&black(right.phi(), &Horizon::from(here.terms), Block::splat(market.x), k, sigma), &market, sigma)
}

/// The lanes whose value is what exercising now pays.
pub(super) fn lanes_at_intrinsic(right: Right, s: f64, k: Block, value: Block) -> u8 {
    bits(exercised_now(right, value, Block::splat(s), k, mask(u8::MAX)))
}

/// Inputs of the valuation of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockValuation<'a> {
    pub(super) here: &'a Valuation<'a>,
    pub(super) right: Right,
    pub(super) k: Block,
    /// In single precision: what an expansion point says it was taken at.
    pub(super) sigma: [f32; BLOCK],
    /// The volatilities as they are asked for.
    asked: Block,
    /// The least of them, the standard deviation of the spot to expiry with it, currency per share.
    pub(super) deviation: f64,
}

impl<'a> BlockValuation<'a> {
    /// `None`: no lane has a volatility.
    pub(super) fn new(here: &'a Valuation<'a>, right: Right, k: Block, sigma: Block) -> Option<Self> {
        let known = sigma.abs().lt(Block::splat(f64::INFINITY));
        if !known.any() {
            return None;
        }
        let vols = Block::select(known, sigma, Block::splat(f64::INFINITY));
        let least = (0..BLOCK).fold(f64::INFINITY, |least, lane| least.min(vols.lane(lane)));
        let deviation = here.s * least * here.terms.t.sqrt();
        Some(Self { here, right, k, sigma: rounded(sigma), asked: sigma, deviation })
    }

    /// The quantity, other than the spot, that has left the limits around an expansion point; `None`: none has.
    pub(super) fn left_besides_spot(&self, at: &ExpansionPoint, limits: &MarketLimits) -> Option<Left> {
        let t = self.here.terms.t;
        let elapsed = at.t - t;
        let by = if limits.scales { at.elapsed(self.here.terms) } else { at.unscaled(self.here.terms) };
        if !self.vols_are_near(at, limits.sigma, by.root) {
            Some(Left::Volatility)
        } else if elapsed < -SET_BACK || elapsed > limits.time * t && !by.is_scaled() {
            Some(Left::Time)
        } else if by.dr.abs() * t > limits.rates {
            Some(Left::Rate)
        } else if by.db.abs() * t > limits.rates {
            Some(Left::Borrow)
        } else {
            None
        }
    }

    /// The quantity that has left the limits around an expansion point; `None`: none has.
    pub(super) fn left(&self, at: &ExpansionPoint, limits: &MarketLimits) -> Option<Left> {
        let spot = || (self.away(at) > limits.spot * self.deviation).then_some(Left::Spot);
        self.left_besides_spot(at, limits).or_else(spot)
    }

    /// True if no volatility has moved by more, over the time of which the part with the root `root` is left.
    fn vols_are_near(&self, at: &ExpansionPoint, by: f64, root: f64) -> bool {
        let before = load(&at.sigma);
        let moved = (self.asked * root - before).abs().gt(before * by);
        let new = before.abs().lt(Block::splat(f64::INFINITY));
        let asked = self.asked.abs().lt(Block::splat(f64::INFINITY));
        !(asked & (moved | !new)).any()
    }

    /// Bound on the move of an exercise boundary since an expansion point: it follows volatility and time.
    pub(super) fn drift(&self, at: &ExpansionPoint) -> f64 {
        let t = self.here.terms.t;
        let before = load(&at.sigma);
        let moved = (self.asked - before).abs() / before;
        let most = (0..BLOCK).fold(0.0, |most: f64, lane| most.max(moved.lane(lane)));
        self.deviation * (most + (at.t - t).max(0.0) / t)
    }

    /// Distance of the spot from that of an expansion point, currency per share.
    pub(super) fn away(&self, at: &ExpansionPoint) -> f64 {
        (self.here.s - at.s).abs()
    }

    pub(super) fn expansion_point(&self, s: f64) -> ExpansionPoint {
        ExpansionPoint::new(s, self.here.terms, self.sigma)
    }
}

/// Premium of a block on the next trading day.
#[derive(Clone, Copy, Debug)]
pub struct NextSession {
    /// The premium then.
    pub premium: Block,
    pub(super) exercised: u8,
}

/// Method of the values of a block.
#[derive(Clone, Copy, Debug)]
pub struct BlockMethod {
    /// Method of the lanes that are not exercised.
    pub(super) waiting: ValueMethod,
    pub(super) exercised: u8,
}

impl BlockMethod {
    /// The method of contracts that cannot be exercised early.
    #[must_use]
    pub fn european() -> Self {
        Self { waiting: ValueMethod::EuropeanStyle, exercised: 0 }
    }

    /// Method of the value of a lane.
    #[must_use]
    pub fn of(&self, lane: usize) -> ValueMethod {
        if self.exercised >> lane & 1 == 1 { ValueMethod::ExercisedNow } else { self.waiting }
    }
}

/// Data that a premium adds beside the numbers.
#[derive(Clone, Copy, Debug)]
pub struct PremiumAdded {
    /// On the next trading day.
    pub next: NextSession,
    /// Method of the values.
    pub method: BlockMethod,
}

impl PremiumAdded {
    pub(super) fn none() -> Self {
        let method = BlockMethod { waiting: ValueMethod::NeverPays, exercised: 0 };
        Self { next: NextSession::none(), method }
    }
}

impl NextSession {
    pub(super) fn none() -> Self {
        Self { premium: Block::splat(0.0), exercised: 0 }
    }

    /// The value then: `european` and the premium, or the exercise value where exercise is optimal.
    #[must_use]
    pub fn value(&self, european: Block, payoff: Block) -> Block {
        // in this order a value that is missing stays missing
        Block::select(mask(self.exercised), payoff, Block::splat(0.0).max(european + self.premium))
    }
}

/// The lanes of a mask.
pub(super) fn bits(mask: <Block as Lanes>::Mask) -> u8 {
    (0..BLOCK).fold(0, |bits, lane| bits | u8::from(mask.lane(lane)) << lane)
}

/// A mask of lanes.
pub(super) fn mask(bits: u8) -> <Block as Lanes>::Mask {
    let lanes = core::array::from_fn::<f64, BLOCK, _>(|lane| f64::from(bits >> lane & 1));
    Block::load(&lanes).gt(Block::splat(0.5))
}
