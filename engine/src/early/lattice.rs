//! Greeks from trinomial lattices instead of premium tables: accurate to about 1e-4 of a price, without building tables
//! first. The preliminary pass of a cold start uses them. Never: a table.

use super::valuation::{Valuation, lanes_at_intrinsic, lattice_layers, mask, plain};
use crate::store::ladder::Ladder;
use core::cell::OnceCell;
use kernel::american::{Band, exercised_now, never_exercised};
use kernel::black76::{Horizon, european, european_vol};
use kernel::contract::Right;
use kernel::dividends::Terms;
use kernel::greeks::{Greeks, SpotInputs, VolDerivatives, exercised, finish};
use kernel::lanes::{Block, Lanes, Mask};
use kernel::lattice::{Lattice, LatticeGreeks, Lattices};
use kernel::quality::Quality;

/// The next trading day is a small step for an expiry so many times as far away: a series of second order reaches it,
/// as the third is a hundredth of the first.
const FAR_OFF: f64 = 6.0;

/// American and European Greeks of a block, and the premium elsewhere.
pub(super) struct Taken {
    pub(super) american: Greeks<Block>,
    pub(super) european: Greeks<Block>,
    /// On the next trading day.
    pub(super) later: VolDerivatives<Block>,
    /// At two other volatilities.
    pub(super) low: (Block, VolDerivatives<Block>),
    pub(super) high: (Block, VolDerivatives<Block>),
}

/// The lattices of both rights of a slice at one place, made when they are first needed.
pub(super) struct LatticePair<'a> {
    here: &'a Valuation<'a>,
    /// Layers of the lattices.
    layers: usize,
    sides: [LatticeSide; 2],
    /// Spot and terms on the next trading day.
    next: Option<(f64, Terms)>,
    /// True if those are near enough for a series.
    near: bool,
}

/// The lattices of one right.
#[derive(Default)]
struct LatticeSide {
    never: bool,
    now: OnceCell<Option<Lattices>>,
    next: OnceCell<Lattice>,
}

impl<'a> LatticePair<'a> {
    /// The lattices at `here`, for the strikes of a ladder and the volatilities `sigma`; `None` where tables are asked
    /// for.
    pub(super) fn new(here: &'a Valuation<'a>, ladder: &Ladder, sigma: (f64, f64)) -> Option<Self> {
        let layers = lattice_layers(here.quality)?;
        let k = ladder.strikes();
        let band = Band { k: (k.first().copied().unwrap_or(1.0), k.last().copied().unwrap_or(1.0)), sigma };
        let sides = [Right::Call, Right::Put]
            .map(|right| LatticeSide { never: never_exercised(right, here.terms, &band), ..LatticeSide::default() });
        let next = here.next_session();
        let goes_ex = here.terms.divs.first().is_some_and(|d| d.t <= here.step);
        Some(Self { here, layers, sides, next, near: !goes_ex && here.terms.t > FAR_OFF * here.step })
    }

    /// Quality of early exercise from these lattices.
    pub(super) fn quality(&self) -> Quality {
        self.here.quality
    }

    /// Inputs of a block's expansions, the lanes exercised now and those on the next trading day; no expansions if the
    /// premium is 0.
    ///
    /// # Accuracy 1e-4 of a price: `lattices_are_good_enough_for_a_first_look`
    /// # Cost     eleven walks over the lattice, or none where there is no premium for certain
    pub(super) fn take(&self, right: Right, k: Block, sigma: Block) -> (Option<Taken>, u8, u8) {
        let Valuation { s, terms, .. } = *self.here;
        let (phi, side) = (right.phi(), &self.sides[right as usize]);
        let lattices = || side.now.get_or_init(|| Lattices::new(terms, s, right, self.layers)).as_ref();
        let european_now = plain(right, self.here, k, sigma);
        let payoff = (Block::splat(s) - k) * phi;
        let found = match lattices().filter(|l| !side.never && !l.is_negligible(k, sigma)) {
            Some(lattices) => lattices.jets(k, sigma),
            None => {
                // borrowed stock far in the money: worth no more than now
                let now = exercised_now(right, european_now.value, Block::splat(s), k, mask(0));
                if !now.any() {
                    return (None, 0, 0);
                }
                LatticeGreeks::none(sigma, now)
            }
        };
        let market = SpotInputs::new(terms, s);
        let horizon = Horizon::from(terms);
        let x = Block::splat(market.x);
        let waiting = finish(&european(phi, &horizon, x, k, sigma).zip(&found.jet, |a, b| a + b), &market, sigma);
        let now = exercised_now(right, waiting.value, Block::splat(s), k, mask(0)) | found.exercised;
        let american = Greeks::select(now, &exercised(phi, s, k, [waiting.d1, waiting.d2]), &waiting);
        let [low, high] = found.beside.map(|b| {
            let european = european_vol(phi, &horizon, x, k, b.sigma);
            let exercised = b.exercised | (european.value + b.value).le(payoff);
            (b.sigma, pick(exercised, &less(payoff, &european), b.value, b.vega))
        });
        let bits = lanes_at_intrinsic(right, s, k, american.value);
        let (later, later_bits) = self.later(right, k, sigma, &american, &european_now, bits);
        (Some(Taken { american, european: european_now, later, low, high }), bits, later_bits)
    }

    /// The premium on the next trading day and the lanes that are exercised then, from the values of now.
    ///
    /// # Source   a Taylor series of second order in time for an expiry that is far off, else a lattice of that day
    fn later(
        &self,
        right: Right,
        k: Block,
        sigma: Block,
        american: &Greeks<Block>,
        plain: &Greeks<Block>,
        bits: u8,
    ) -> (VolDerivatives<Block>, u8) {
        let c = |v: f64| Block::splat(v);
        let none = (american.value - plain.value, american.vega - plain.vega);
        let Some((s, next)) = &self.next else { return (VolDerivatives::straight(none.0, none.1), 0) };
        if self.near {
            let Valuation { s, terms, step, .. } = *self.here;
            let (drift, x) = ((terms.r - terms.b) * s, s - terms.a(0.0));
            let half = sigma * sigma * c(0.5 * x * x);
            let [theta, charm, color] =
                [american.theta - plain.theta, american.charm - plain.charm, american.color - plain.color];
            let bend = c(terms.r) * theta - c(drift) * charm - half * color;
            let value = none.0 + c(step) * (theta + c(0.5 * step) * bend);
            return (VolDerivatives::straight(value, none.1 + c(step) * (american.veta - plain.veta)), bits);
        }
        let lattice = self.sides[right as usize].next.get_or_init(|| Lattice::new(next, *s, right, self.layers));
        let phi = right.phi();
        let european = european_vol(phi, &Horizon::from(next), c(*s - next.a(0.0)), k, sigma);
        let payoff = (c(*s) - k) * phi;
        let found = lattice.premium(k, sigma);
        let exercised = found.exercised | (european.value + found.value).le(payoff);
        let premium = pick(exercised, &less(payoff, &european), found.value.max(c(0.0)), found.vega);
        (premium, lanes_at_intrinsic(right, *s, k, european.value + premium.value))
    }
}

/// Payoff of exercise less the European value.
fn less(payoff: Block, european: &VolDerivatives<Block>) -> VolDerivatives<Block> {
    VolDerivatives::straight(payoff - european.value, -european.vega)
}

fn pick(
    now: <Block as Lanes>::Mask,
    exercised: &VolDerivatives<Block>,
    value: Block,
    vega: Block,
) -> VolDerivatives<Block> {
    VolDerivatives::select(now, exercised, &VolDerivatives::straight(value, vega))
}
