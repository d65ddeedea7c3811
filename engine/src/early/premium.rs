//! The exercise premium of one right of a block of strikes: what is remembered of it, how far that holds, and what is
//! taken again where it does not.
//!
//! A block that the spot has just come to has one expansion point. When the spot leaves that one's neighbourhood, a
//! second expansion point is set on the side where it went, and everything in between is read from both; from then on
//! the spot crosses a whole interval before one more is needed. Next to an exercise boundary, where the premium bends,
//! there is one expansion point only. Never: a quote, a curve.

use super::by_volatility::{NextSessionChange, PremiumByVol, VolPolynomial};
use super::expansion::{self, Expansion, ExpansionPoint, between, load};
use super::lattice::{LatticePair, Taken};
use super::settings::{BETWEEN, EXPANSION};
use super::tables::nodes;
use super::validity::{NOTHING, OF_LATTICE, ONE_POINT, OTHER_VOLATILITIES};
use super::valuation::{
    BlockMethod, BlockValuation, NextSession, PremiumAdded, Valuation, bits, lanes_at_intrinsic, mask, plain,
};
use super::work::{EarlyWork, Left};
use crate::store::evidence::ValueMethod;
use kernel::american::{Numbers, Pricer, exercised_now};
use kernel::black76::{Horizon, european_vol};
use kernel::contract::Right;
use kernel::dividends::{Terms, is_same_date};
use kernel::greeks::{Greeks, VolDerivatives, exercised};
use kernel::lanes::{BLOCK, Block, Lanes, Mask};
use kernel::quality::Quality;

/// Rounding of the difference of two values, parts of the strike: a premium below is none.
const ROUNDING: f64 = 1e-13;

/// The premium of one right of a block of strikes.
#[derive(Clone, Debug)]
pub(super) struct BlockPremium {
    quality: Quality,
    known: PremiumSource,
    by_volatility: Option<Box<VolPolynomial>>,
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

/// Tables from which expansions are taken; each is prepared for what is read.
#[derive(Debug)]
pub(super) struct Tables<'a> {
    pub(super) now: &'a mut Pricer,
    /// Spot and terms of the next trading day.
    pub(super) next: Option<&'a (f64, Terms)>,
    /// The pricer of the next trading day; `None`: that of now serves it.
    pub(super) own_later: Option<&'a mut Pricer>,
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
        size_of::<Self>() + known + self.by_volatility.as_ref().map_or(0, |_| size_of::<VolPolynomial>())
    }

    pub(super) fn unknown(quality: Quality) -> Self {
        Self {
            quality,
            known: PremiumSource::Unknown,
            by_volatility: None,
            exercised: 0,
            free: BoundaryDistance::nowhere(),
        }
    }

    /// The reason why the kept premium is not valid at `place`; values from lattices are not if tables are requested.
    pub(super) fn left(&self, place: &BlockValuation<'_>) -> Option<Left> {
        if self.quality < place.here.quality {
            Some(Left::New)
        } else if self.quality.is_final() {
            self.expansions_left(place).or_else(|| self.by_volatility_left(place))
        } else {
            self.lattice_expansion_left(place)
        }
    }

    /// The reason why an expansion from a lattice is not valid, by a coarser check: lattices are less accurate anyway.
    fn lattice_expansion_left(&self, place: &BlockValuation<'_>) -> Option<Left> {
        match &self.known {
            PremiumSource::Nothing(at) => place.left(at, &OF_LATTICE),
            PremiumSource::One(jets) => place.left(&jets.at, &OF_LATTICE),
            PremiumSource::Unknown | PremiumSource::Two(_) => Some(Left::New),
        }
    }

    /// Computes the whole premium again from lattices.
    pub(super) fn take_preliminary(&mut self, place: &BlockValuation<'_>, lattices: &LatticePair<'_>) {
        let at = place.expansion_point(place.here.s);
        let (taken, exercised, later_exercised) = lattices.take(place.right, place.k, load(&at.sigma));
        (self.quality, self.exercised, self.free) = (lattices.quality(), exercised, BoundaryDistance::everywhere());
        let Some(Taken { american, european, later, low, high }) = taken else {
            (self.known, self.by_volatility) = (PremiumSource::Nothing(Box::new(at)), None);
            return;
        };
        let now = difference(&vol_derivatives(&american), &vol_derivatives(&european));
        let slice = VolPolynomial::new(at, place.here.step, &now, [low, high], Some((later, later_exercised)));
        self.by_volatility = Some(Box::new(slice));
        self.known = PremiumSource::One(Box::new(Expansion::new(at, &american, &european)));
    }

    fn expansions_left(&self, place: &BlockValuation<'_>) -> Option<Left> {
        match &self.known {
            PremiumSource::Unknown => Some(Left::New),
            PremiumSource::Nothing(at) => place.left(at, &NOTHING),
            PremiumSource::One(jets) => {
                let at = &jets.at;
                let boundary = || (!self.free.is_near(at.s, place.here.s, place.drift(at))).then_some(Left::Boundary);
                place.left(at, &ONE_POINT).or_else(boundary)
            }
            PremiumSource::Two([low, high]) => {
                let (s, h) = (place.here.s, high.at.s - low.at.s);
                let beside = BETWEEN.beside * h;
                let spot = || (s < low.at.s - beside || high.at.s + beside < s).then_some(Left::Spot);
                let margin = beside + place.drift(&low.at);
                let covered = || self.free.covers(s.min(low.at.s), s.max(high.at.s), margin);
                place
                    .left_besides_spot(&low.at, &ONE_POINT)
                    .or_else(|| place.left_besides_spot(&high.at, &ONE_POINT))
                    .or_else(spot)
                    .or_else(|| (!covered()).then_some(Left::Boundary))
            }
        }
    }

    fn by_volatility_left(&self, place: &BlockValuation<'_>) -> Option<Left> {
        let polynomial = match (&self.known, &self.by_volatility) {
            (PremiumSource::Nothing(_), _) => return None,
            (_, None) => return Some(Left::New),
            (_, Some(polynomial)) => polynomial,
        };
        let at = &polynomial.at;
        let boundary_is_far = place.away(at) <= EXPANSION.spot * place.deviation
            || self.free.is_near(at.s, place.here.s, place.drift(at));
        let is_of_the_day = is_same_date(polynomial.step, place.here.step);
        place
            .left(at, &OTHER_VOLATILITIES)
            .or_else(|| (!boundary_is_far).then_some(Left::Boundary))
            .or_else(|| (!is_of_the_day).then_some(Left::NextDay))
    }

    /// Computes again the parts of the premium that are not valid at `place`.
    pub(super) fn refresh(&mut self, place: &BlockValuation<'_>, tables: &mut Tables<'_>, work: &mut EarlyWork) {
        if self.quality < place.here.quality || !self.quality.is_final() {
            *self = Self::unknown(place.here.quality);
        }
        if self.expansions_left(place).is_some() {
            let kept = self.nearest(place);
            let pair = kept.and_then(|jets| self.paired(jets, place, tables));
            work.second_points += u64::from(pair.is_some());
            self.known = pair.unwrap_or_else(|| self.at_one_point(place, tables));
        }
        if matches!(self.known, PremiumSource::Nothing(_)) {
            self.by_volatility = None;
        } else if self.by_volatility_left(place).is_some() {
            work.by_volatility += 1;
            let slice = self.take_by_volatility(place, tables);
            match &mut self.by_volatility {
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
        place.left_besides_spot(&jets.at, &ONE_POINT).is_none().then_some(jets)
    }

    /// A second expansion point on the side of the first where the spot has gone, if it has gone there, not too far,
    /// and nothing is exercised on the way.
    fn paired(
        &mut self,
        jets: Box<Expansion>,
        place: &BlockValuation<'_>,
        tables: &mut Tables<'_>,
    ) -> Option<PremiumSource> {
        let (h, away) = (BETWEEN.apart * place.deviation, place.here.s - jets.at.s);
        if away.abs() <= EXPANSION.spot * place.deviation || away.abs() > (1.0 + BETWEEN.beside) * h {
            return None;
        }
        let s = jets.at.s + h.copysign(away);
        let (low, high) = (jets.at.s.min(s).min(place.here.s), jets.at.s.max(s).max(place.here.s));
        let margin = BETWEEN.beside * h;
        if s <= 0.0 || !self.free.covers(low, high, margin + place.drift(&jets.at)) {
            return None;
        }
        let (new, american, _) = taken(place, tables, s);
        let (same, free) = boundary(place, tables, s, &american);
        if same != self.exercised || !free.covers(low, high, margin) {
            return None;
        }
        self.free = free;
        let new = Box::new(new);
        Some(PremiumSource::Two(if away > 0.0 { [jets, new] } else { [new, jets] }))
    }

    /// A source with one expansion point, at `place`.
    fn at_one_point(&mut self, place: &BlockValuation<'_>, tables: &mut Tables<'_>) -> PremiumSource {
        let s = place.here.s;
        let (jets, american, gain) = taken(place, tables, s);
        let before = self.exercised;
        (self.exercised, self.free) = boundary(place, tables, s, &american);
        if before != self.exercised {
            self.by_volatility = None;
        }
        if gain.abs().le(place.k * ROUNDING).all() {
            return PremiumSource::Nothing(Box::new(jets.at));
        }
        PremiumSource::One(Box::new(jets))
    }

    fn take_by_volatility(&self, place: &BlockValuation<'_>, tables: &mut Tables<'_>) -> VolPolynomial {
        let BlockValuation { here, right, k, .. } = *place;
        let at = place.expansion_point(here.s);
        let sigma = load(&at.sigma);
        let zero = Block::splat(0.0);
        let nothing = VolDerivatives::straight(zero, zero);
        let now = self.read(here, sigma).map_or(nothing, |premium| vol_derivatives(&premium));
        let (least, most) = tables.now.at(here.terms, here.s).sigma_range(k, sigma);
        let (low, high) = nodes(least, most, sigma);
        let mut side = |sigma: Block| (sigma, premium_vol(right, here.s, here.terms, tables.now, k, sigma).0);
        let sides = [side(low), side(high)];
        let later: Option<NextSessionChange> = tables.next.map(|&(s, ref terms)| {
            let pricer = tables.own_later.as_deref_mut().unwrap_or(tables.now);
            let (premium, value) = premium_vol(right, s, terms, pricer, k, sigma);
            (premium, lanes_at_intrinsic(right, s, k, value))
        });
        VolPolynomial::new(at, here.step, &now, sides, later)
    }

    /// The premium here; `None`: nothing.
    #[inline(always)]
    fn read(&self, here: &Valuation<'_>, sigma: Block) -> Option<Greeks<Block>> {
        match &self.known {
            PremiumSource::Unknown | PremiumSource::Nothing(_) => None,
            PremiumSource::One(jets) => Some(jets.read(here.s, here.terms, sigma)),
            PremiumSource::Two([low, high]) => Some(between(low, high, here.s, here.terms, sigma)),
        }
    }

    /// Method of the values of lanes that are not exercised.
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
        let Some(slice) = &self.by_volatility else { return PremiumByVol::none() };
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
        k: Block,
        sigma: Block,
        greeks: &mut Greeks<Block>,
    ) -> PremiumAdded {
        let d = [greeks.d1, greeks.d2];
        let mut next = NextSession::none();
        if let Some(premium) = self.read(here, sigma) {
            expansion::add(&premium, greeks);
            greeks.lambda = lambda(greeks, here.s);
            if let Some(slice) = &self.by_volatility {
                let change = slice.until_later(here.s, sigma, premium.charm);
                next = NextSession { premium: premium.value + change, exercised: slice.later_exercised };
            }
        }
        let mut now = mask(self.exercised);
        if !self.quality.is_final() {
            now = now | exercised_now(right, greeks.value, Block::splat(here.s), k, mask(0));
        }
        if now.any() {
            let row = exercised(right.phi(), here.s, k, d);
            *greeks = Greeks::select(now, &row, greeks);
        }
        PremiumAdded { next, method: BlockMethod { waiting: self.method(here), exercised: bits(now) } }
    }
}

/// The premium at spot `s`, the American Greeks there, and by how much their value exceeds the European one.
fn taken(place: &BlockValuation<'_>, tables: &mut Tables<'_>, s: f64) -> (Expansion, Greeks<Block>, Block) {
    let at = place.expansion_point(s);
    let sigma = load(&at.sigma);
    let at_spot = tables.now.prepare(place.here.terms, s, place.k, sigma, Numbers::Boundary);
    let american = at_spot.greeks(place.k, sigma);
    let european = plain(place.right, &Valuation { s, ..*place.here }, place.k, sigma);
    (Expansion::new(at, &american, &european), american, american.value - european.value)
}

/// The lanes that are exercised at `s`, and how far the spot may move before that changes.
fn boundary(
    place: &BlockValuation<'_>,
    tables: &mut Tables<'_>,
    s: f64,
    american: &Greeks<Block>,
) -> (u8, BoundaryDistance) {
    let BlockValuation { here, right, k, .. } = *place;
    let exercised = lanes_at_intrinsic(right, s, k, american.value);
    let boundary = tables.now.at(here.terms, s).boundary(k, load(&place.sigma));
    (exercised, BoundaryDistance::new(right, s, k, boundary, american, exercised))
}

/// American less European value and volatility derivatives, and the American value.
fn premium_vol(
    right: Right,
    s: f64,
    terms: &Terms,
    pricer: &mut Pricer,
    k: Block,
    sigma: Block,
) -> (VolDerivatives<Block>, Block) {
    let american = pricer.prepare(terms, s, k, sigma, Numbers::ByVolatility).vol_derivatives(k, sigma);
    let x = Block::splat(s - terms.a(0.0));
    let european = european_vol(right.phi(), &Horizon::from(terms), x, k, sigma);
    (difference(&american, &european), american.value)
}

fn difference(a: &VolDerivatives<Block>, b: &VolDerivatives<Block>) -> VolDerivatives<Block> {
    a.zip(b, |a, b| a - b)
}

fn vol_derivatives(greeks: &Greeks<Block>) -> VolDerivatives<Block> {
    VolDerivatives { value: greeks.value, vega: greeks.vega, volga: greeks.volga, ultima: greeks.ultima }
}

fn lambda(greeks: &Greeks<Block>, s: f64) -> Block {
    let zero = Block::splat(0.0);
    Block::select(greeks.value.le(zero), zero, greeks.delta * s / greeks.value)
}

/// The spots around an expansion point at which the same lanes are exercised, currency per share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BoundaryDistance {
    low: f64,
    high: f64,
}

impl BoundaryDistance {
    /// No spot.
    pub(super) fn nowhere() -> Self {
        Self { low: f64::INFINITY, high: f64::NEG_INFINITY }
    }

    /// Every spot.
    pub(super) fn everywhere() -> Self {
        Self { low: f64::NEG_INFINITY, high: f64::INFINITY }
    }

    /// From the boundaries of the lanes; where one is not known, from the value: the time value of a lane that waits
    /// vanishes like ½·gamma·distance², and a lane that is exercised is at least as far from its boundary as the next
    /// one that is exercised too.
    pub(super) fn new(right: Right, s: f64, k: Block, boundary: Block, greeks: &Greeks<Block>, exercised: u8) -> Self {
        let payoff = (Block::splat(s) - k) * Block::splat(right.phi());
        let guessed = ((greeks.value - payoff) * 2.0 / greeks.gamma).sqrt();
        let is = |lane: usize| exercised >> lane & 1 == 1;
        let mut free = Self::everywhere();
        for lane in 0..BLOCK {
            // exercise lies above the boundary of a call, and below that of a put
            let below = (right == Right::Call) == is(lane);
            let known = boundary.lane(lane);
            let away = if known.is_finite() {
                (s - known).abs()
            } else if !is(lane) {
                guessed.lane(lane)
            } else {
                let beside = if right == Right::Put { lane.checked_sub(1) } else { Some(lane + 1) };
                let beside = beside.filter(|&l| l < BLOCK && is(l));
                beside.map_or(0.0, |l| s * (k.lane(lane) / k.lane(l) - 1.0).abs())
            };
            // a distance that is no number changes nothing
            if below {
                free.low = free.low.max(s - away);
            } else {
                free.high = free.high.min(s + away);
            }
        }
        free
    }

    /// True if `s` is still far from a boundary against its distance from the expansion point at `from`; boundaries
    /// have moved by `drift` at most.
    pub(super) fn is_near(&self, from: f64, s: f64, drift: f64) -> bool {
        let reach = |distance: f64| EXPANSION.on_the_way * distance - drift;
        if s < from { from - s <= reach(from - self.low) } else { s - from <= reach(self.high - from) }
    }

    /// True if no boundary lies between the ends nor within `margin` of them.
    pub(super) fn covers(&self, low: f64, high: f64, margin: f64) -> bool {
        self.low + margin <= low && high + margin <= self.high
    }
}
