//! The exercise premium of one right of a block of strikes: what is remembered of it, how far that holds, and what is
//! taken again where it does not.
//!
//! A block that the spot has just come to has one expansion point. When the spot leaves that one's neighbourhood, a
//! second expansion point is set on the side where it went, and everything in between is read from both; from then on
//! the spot crosses a whole interval before one more is needed. Next to an exercise boundary, where the premium bends,
//! there is one expansion point only. Never: a quote, a curve.

use super::block_valuation::{BlockValuation, SAME_DATE};
use super::boundary_distance::BoundaryDistance;
use super::expansion::{self, Expansion, ExpansionPoint, between, load};
use super::preliminary::{self, PreliminaryLattices, Taken};
use super::pricers::nodes;
use super::valuation::{Valuation, lanes_at_intrinsic, plain};
use super::vol_slice::{NextSessionChange, PremiumByVol, VolSlice};
use crate::store::evidence::ValueMethod;
use kernel::american::Pricer;
use kernel::black76::{Horizon, european_vol};
use kernel::contract::Right;
use kernel::dividends::Terms;
use kernel::greeks::{Greeks, VolDerivatives, exercised};
use kernel::lanes::{BLOCK, Block, Lanes, Mask};
use kernel::quality::Quality;

/// From one expansion point the spot may move by this fraction of a standard deviation to expiry.
const SPOT_MOVE: f64 = 0.005;
/// Two expansion points lie this fraction of a deviation apart, and the spot may leave them by this fraction of their
/// distance.
const APART: f64 = 0.05;
const BESIDE: f64 = 0.5;
/// How far it may move where there is no premium, and from where the premium at other volatilities was taken.
const NOTHING_MOVE: f64 = 0.05;
const AROUND_MOVE: f64 = 0.1;
/// A volatility may move by this fraction of itself; that around which others were taken, by this.
const SIGMA_MOVE: f64 = 0.007;
const AROUND_SIGMA: f64 = 0.02;
/// A gain below this fraction of the strike is none.
const NO_GAIN: f64 = 1e-13;

/// The premium of one right of a block of strikes.
#[derive(Clone, Debug)]
pub(super) struct BlockPremium {
    quality: Quality,
    known: PremiumSource,
    slice: Option<Box<VolSlice>>,
    /// Lanes where exercising now is optimal.
    exercised: u8,
    free: BoundaryDistance,
}

/// From how many expansion points.
#[derive(Clone, Debug)]
enum PremiumSource {
    Unknown,
    /// There is no premium.
    Nothing(Box<ExpansionPoint>),
    One(Box<Expansion>),
    /// The lower one first.
    Two([Box<Expansion>; 2]),
}

/// What expansions are taken from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables<'a> {
    pub(super) now: &'a Pricer,
    /// Spot, terms and pricer of the next trading day.
    pub(super) later: Option<(f64, &'a Terms, &'a Pricer)>,
}

/// What a block is worth on the next trading day over its European value.
#[derive(Clone, Copy, Debug)]
pub struct NextSession {
    /// The premium then.
    pub premium: Block,
    exercised: u8,
}

/// How the values of a block were computed.
#[derive(Clone, Copy, Debug)]
pub struct BlockMethod {
    /// Of the lanes that are not exercised.
    waiting: ValueMethod,
    exercised: u8,
}

impl BlockMethod {
    /// Of contracts that cannot be exercised early.
    #[must_use]
    pub fn european() -> Self {
        Self { waiting: ValueMethod::EuropeanStyle, exercised: 0 }
    }

    /// How the value of a lane was computed.
    #[must_use]
    pub fn of(&self, lane: usize) -> ValueMethod {
        if self.exercised >> lane & 1 == 1 { ValueMethod::ExercisedNow } else { self.waiting }
    }
}

/// What a premium adds to values beside their numbers.
#[derive(Clone, Copy, Debug)]
pub struct PremiumAdded {
    /// On the next trading day.
    pub next: NextSession,
    /// How the values were computed.
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

impl BlockPremium {
    /// Bytes held, itself among them.
    pub(super) fn bytes(&self) -> usize {
        let known = match &self.known {
            PremiumSource::Unknown => 0,
            PremiumSource::Nothing(_) => size_of::<ExpansionPoint>(),
            PremiumSource::One(_) => size_of::<Expansion>(),
            PremiumSource::Two(_) => 2 * size_of::<Expansion>(),
        };
        size_of::<Self>() + known + self.slice.as_ref().map_or(0, |_| size_of::<VolSlice>())
    }

    pub(super) fn unknown(quality: Quality) -> Self {
        Self { quality, known: PremiumSource::Unknown, slice: None, exercised: 0, free: BoundaryDistance::nowhere() }
    }

    /// True if what is remembered holds at `place`; values from lattices do not hold where tables are requested.
    pub(super) fn holds(&self, place: &BlockValuation<'_>) -> bool {
        let holds = if self.quality.is_final() {
            self.expansions_hold(place) && self.vol_slice_holds(place)
        } else {
            self.lattice_expansion_holds(place)
        };
        holds && self.quality >= place.here.quality
    }

    /// True if an expansion from a lattice still holds. It needs only the coarser check: lattices are less accurate
    /// anyway.
    fn lattice_expansion_holds(&self, place: &BlockValuation<'_>) -> bool {
        let at = match &self.known {
            PremiumSource::Nothing(at) => at,
            PremiumSource::One(jets) => &jets.at,
            PremiumSource::Unknown | PremiumSource::Two(_) => return false,
        };
        place.still(at, preliminary::SIGMA_MOVE)
            && place.near(at, preliminary::TIMES)
            && place.away(at) <= preliminary::SPOT_MOVE * place.deviation
    }

    /// Takes everything again from lattices.
    pub(super) fn take_preliminary(&mut self, place: &BlockValuation<'_>, lattices: &PreliminaryLattices<'_>) {
        let at = place.expansion_point(place.here.s);
        let (taken, exercised, later_exercised) = lattices.take(place.right, place.k, load(&at.sigma));
        (self.quality, self.exercised, self.free) = (lattices.quality(), exercised, BoundaryDistance::everywhere());
        let Some(Taken { american, european, later, low, high }) = taken else {
            (self.known, self.slice) = (PremiumSource::Nothing(Box::new(at)), None);
            return;
        };
        let now = difference(&vol_derivatives(&american), &vol_derivatives(&european));
        let slice = VolSlice::new((at, place.here.step), &now, [low, high], Some((later, later_exercised)));
        self.slice = Some(Box::new(slice));
        self.known = PremiumSource::One(Box::new(Expansion::new(at, &american, &european)));
    }

    fn expansions_hold(&self, place: &BlockValuation<'_>) -> bool {
        let here = |at: &ExpansionPoint| place.still(at, SIGMA_MOVE) && place.near(at, 1.0);
        match &self.known {
            PremiumSource::Unknown => false,
            PremiumSource::Nothing(at) => here(at) && place.away(at) <= NOTHING_MOVE * place.deviation,
            PremiumSource::One(jets) => {
                let at = &jets.at;
                here(at)
                    && place.away(at) <= SPOT_MOVE * place.deviation
                    && self.free.is_near(at.s, place.here.s, place.drift(at))
            }
            PremiumSource::Two([low, high]) => {
                let (s, h) = (place.here.s, high.at.s - low.at.s);
                here(&low.at)
                    && here(&high.at)
                    && low.at.s - BESIDE * h <= s
                    && s <= high.at.s + BESIDE * h
                    && self.free.covers((s.min(low.at.s), s.max(high.at.s)), 0.5 * h + place.drift(&low.at))
            }
        }
    }

    fn vol_slice_holds(&self, place: &BlockValuation<'_>) -> bool {
        match (&self.known, &self.slice) {
            (PremiumSource::Nothing(_), _) => true,
            (_, None) => false,
            (_, Some(slice)) => {
                let at = &slice.at;
                place.still(at, AROUND_SIGMA)
                    && place.near(at, AROUND_SIGMA / SIGMA_MOVE)
                    && place.away(at) <= AROUND_MOVE * place.deviation
                    && (place.away(at) <= SPOT_MOVE * place.deviation
                        || self.free.is_near(at.s, place.here.s, place.drift(at)))
                    && (slice.step - place.here.step).abs() < SAME_DATE
            }
        }
    }

    /// Takes again what does not hold at `place`.
    pub(super) fn refresh(&mut self, place: &BlockValuation<'_>, tables: &Tables<'_>) {
        if self.quality < place.here.quality || !self.quality.is_final() {
            *self = Self::unknown(place.here.quality);
        }
        if !self.expansions_hold(place) {
            let kept = self.nearest(place);
            let pair = kept.and_then(|jets| self.paired(jets, place, tables));
            self.known = pair.unwrap_or_else(|| self.anew(place, tables));
        }
        if matches!(self.known, PremiumSource::Nothing(_)) {
            self.slice = None;
        } else if !self.vol_slice_holds(place) {
            let slice = self.take_vol_slice(place, tables);
            match &mut self.slice {
                Some(held) => **held = slice,
                none => *none = Some(Box::new(slice)),
            }
        }
    }

    /// The expansion point nearest to the spot of those that still hold but for the spot.
    fn nearest(&mut self, place: &BlockValuation<'_>) -> Option<Box<Expansion>> {
        let jets = match core::mem::replace(&mut self.known, PremiumSource::Unknown) {
            PremiumSource::Unknown | PremiumSource::Nothing(_) => return None,
            PremiumSource::One(jets) => jets,
            PremiumSource::Two([low, high]) => {
                if place.away(&low.at) < place.away(&high.at) {
                    low
                } else {
                    high
                }
            }
        };
        (place.still(&jets.at, SIGMA_MOVE) && place.near(&jets.at, 1.0)).then_some(jets)
    }

    /// A second expansion point on the side of the first where the spot has gone, if it has gone there, not too far,
    /// and nothing is exercised on the way.
    fn paired(
        &mut self,
        jets: Box<Expansion>,
        place: &BlockValuation<'_>,
        tables: &Tables<'_>,
    ) -> Option<PremiumSource> {
        let (h, away) = (APART * place.deviation, place.here.s - jets.at.s);
        if away.abs() <= SPOT_MOVE * place.deviation || away.abs() > (1.0 + BESIDE) * h {
            return None;
        }
        let s = jets.at.s + h.copysign(away);
        let ends = (jets.at.s.min(s).min(place.here.s), jets.at.s.max(s).max(place.here.s));
        if s <= 0.0 || !self.free.covers(ends, 0.5 * h + place.drift(&jets.at)) {
            return None;
        }
        let (new, american, _) = taken(place, tables, s);
        let (same, free) = boundary(place, tables, s, &american);
        if same != self.exercised || !free.covers(ends, 0.5 * h) {
            return None;
        }
        self.free = free;
        let new = Box::new(new);
        Some(PremiumSource::Two(if away > 0.0 { [jets, new] } else { [new, jets] }))
    }

    /// One expansion point, here.
    fn anew(&mut self, place: &BlockValuation<'_>, tables: &Tables<'_>) -> PremiumSource {
        let s = place.here.s;
        let (jets, american, gain) = taken(place, tables, s);
        let before = self.exercised;
        (self.exercised, self.free) = boundary(place, tables, s, &american);
        if before != self.exercised {
            self.slice = None;
        }
        if gain.abs().le(place.k * NO_GAIN).all() {
            return PremiumSource::Nothing(Box::new(jets.at));
        }
        PremiumSource::One(Box::new(jets))
    }

    fn take_vol_slice(&self, place: &BlockValuation<'_>, tables: &Tables<'_>) -> VolSlice {
        let BlockValuation { here, right, k, .. } = *place;
        let at = place.expansion_point(here.s);
        let sigma = load(&at.sigma);
        let zero = Block::splat(0.0);
        let nothing = VolDerivatives { value: zero, vega: zero, volga: zero, ultima: zero };
        let now = self.read(here, sigma).map_or(nothing, |premium| vol_derivatives(&premium));
        let side = |sigma: Block| (sigma, premium_vol(right, here.s, here.terms, tables.now, k, sigma).0);
        let (low, high) = nodes(tables.now.at(here.terms, here.s).sigma_range(k, sigma), sigma);
        let later: Option<NextSessionChange> = tables.later.map(|(s, terms, pricer)| {
            let (premium, value) = premium_vol(right, s, terms, pricer, k, sigma);
            (premium, lanes_at_intrinsic(right, s, k, value))
        });
        VolSlice::new((at, here.step), &now, [side(low), side(high)], later)
    }

    /// The premium here; `None`: nothing.
    #[inline(always)]
    fn read(&self, here: &Valuation<'_>, sigma: Block) -> Option<Greeks<Block>> {
        match &self.known {
            PremiumSource::Unknown | PremiumSource::Nothing(_) => None,
            PremiumSource::One(jets) => Some(jets.read(here.s, here.terms, sigma)),
            PremiumSource::Two([low, high]) => Some(between([low, high], here.s, here.terms, sigma)),
        }
    }

    /// How values of lanes that are not exercised are computed.
    fn method(&self, here: &Valuation<'_>) -> ValueMethod {
        match &self.known {
            PremiumSource::Unknown | PremiumSource::Nothing(_) => ValueMethod::NeverPays,
            _ if !self.quality.is_final() => ValueMethod::Lattice,
            _ if here.terms.divs.is_empty() => ValueMethod::NoDividends,
            _ => ValueMethod::Dividends,
        }
    }

    /// The premium by volatility.
    pub(super) fn by_sigma(&self, here: &Valuation<'_>) -> PremiumByVol {
        let Some(slice) = &self.slice else { return PremiumByVol::none() };
        let now = self.read(here, slice.centre());
        now.map_or_else(PremiumByVol::none, |now| slice.by_sigma(&vol_derivatives(&now)))
    }

    /// Adds the premium to European Greeks at `sigma`; returns what goes with them. Lanes that are
    /// exercised now become those of exercise, and so do those that a preliminary premium, carried further than one
    /// from tables, leaves below it.
    pub(super) fn add(
        &self,
        here: &Valuation<'_>,
        right: Right,
        (k, sigma): (Block, Block),
        greeks: &mut Greeks<Block>,
    ) -> PremiumAdded {
        let d = [greeks.d1, greeks.d2];
        let mut next = NextSession::none();
        if let Some(premium) = self.read(here, sigma) {
            expansion::add(&premium, greeks);
            greeks.lambda = lambda(greeks, here.s);
            if let Some(slice) = &self.slice {
                let change = slice.until_later(here.s, sigma, premium.charm);
                next = NextSession { premium: premium.value + change, exercised: slice.later_exercised };
            }
        }
        let mut now = mask(self.exercised);
        if !self.quality.is_final() {
            now = now | greeks.value.lt((Block::splat(here.s) - k) * right.phi());
        }
        if now.any() {
            let row = exercised(right.phi(), here.s, k, d);
            *greeks = Greeks::select(now, &row, greeks);
        }
        PremiumAdded { next, method: BlockMethod { waiting: self.method(here), exercised: bits(now) } }
    }
}

/// The premium at spot `s`, the American Greeks there, and by how much their value exceeds the European one.
fn taken(place: &BlockValuation<'_>, tables: &Tables<'_>, s: f64) -> (Expansion, Greeks<Block>, Block) {
    let at = place.expansion_point(s);
    let sigma = load(&at.sigma);
    let american = tables.now.at(place.here.terms, s).greeks(place.k, sigma);
    let european = plain(place.right, &Valuation { s, ..*place.here }, place.k, sigma);
    (Expansion::new(at, &american, &european), american, american.value - european.value)
}

/// The lanes that are exercised at `s`, and how far the spot may move before that changes.
fn boundary(
    place: &BlockValuation<'_>,
    tables: &Tables<'_>,
    s: f64,
    american: &Greeks<Block>,
) -> (u8, BoundaryDistance) {
    let BlockValuation { here, right, k, .. } = *place;
    let exercised = lanes_at_intrinsic(right, s, k, american.value);
    let boundary = tables.now.at(here.terms, s).boundary(k, load(&place.sigma));
    (exercised, BoundaryDistance::new((right, s, k), boundary, american, exercised))
}

/// American less European value and volatility derivatives, and the American value.
fn premium_vol(
    right: Right,
    s: f64,
    terms: &Terms,
    pricer: &Pricer,
    k: Block,
    sigma: Block,
) -> (VolDerivatives<Block>, Block) {
    let american = pricer.at(terms, s).vol_derivatives(k, sigma);
    let x = Block::splat(s - terms.a(0.0));
    let european = european_vol(right.phi(), &Horizon::from(terms), x, k, sigma);
    (difference(&american, &european), american.value)
}

fn difference(a: &VolDerivatives<Block>, b: &VolDerivatives<Block>) -> VolDerivatives<Block> {
    VolDerivatives {
        value: a.value - b.value,
        vega: a.vega - b.vega,
        volga: a.volga - b.volga,
        ultima: a.ultima - b.ultima,
    }
}

fn vol_derivatives(greeks: &Greeks<Block>) -> VolDerivatives<Block> {
    VolDerivatives { value: greeks.value, vega: greeks.vega, volga: greeks.volga, ultima: greeks.ultima }
}

fn lambda(greeks: &Greeks<Block>, s: f64) -> Block {
    let zero = Block::splat(0.0);
    Block::select(greeks.value.le(zero), zero, greeks.delta * s / greeks.value)
}

fn bits(mask: <Block as Lanes>::Mask) -> u8 {
    (0..BLOCK).fold(0, |bits, lane| bits | u8::from(mask.lane(lane)) << lane)
}

fn mask(bits: u8) -> <Block as Lanes>::Mask {
    let lanes = core::array::from_fn::<f64, BLOCK, _>(|lane| f64::from(bits >> lane & 1));
    Block::load(&lanes).gt(Block::splat(0.5))
}
