//! The exercise premium of one right of a block of strikes: what is remembered of it, how far that holds, and what is
//! taken anew where it does not.
//!
//! A block that the spot has just come to has one anchor. When the spot leaves that one's neighbourhood, a second anchor
//! is set on the side where it went, and everything in between is read from both; from then on the spot crosses a whole
//! interval before one more is needed. Next to an exercise boundary, where the premium bends, there is one anchor only.
//! Never: a quote, a curve.

use super::around::{Around, BySigma, NextSession};
use super::free::Free;
use super::jets::{Anchor, Jets, between, load};
use super::place::{Place, SAME_DATE};
use super::pricers::nodes;
use super::rough::{Rough, Taken};
use super::{Depth, Valuation, jets, plain, rough};
use crate::contract::Right;
use crate::kernel::american::Pricer;
use crate::kernel::black76::{Horizon, european_vol};
use crate::kernel::dividends::Terms;
use crate::kernel::greeks::{Greeks, VolJet, exercised};
use crate::kernel::lanes::{BLOCK, Block, Lanes, Mask};

/// From one anchor the spot may move by this part of a standard deviation to expiry.
const SPOT_MOVE: f64 = 0.005;
/// Two anchors lie this part of a deviation apart, and the spot may leave them by this part of their distance.
const APART: f64 = 0.05;
const BESIDE: f64 = 0.5;
/// How far it may move where there is no premium, and from where the premium at other volatilities was taken.
const NOTHING_MOVE: f64 = 0.05;
const AROUND_MOVE: f64 = 0.1;
/// A volatility may move by this part of itself; that around which others were taken, by this.
const SIGMA_MOVE: f64 = 0.007;
const AROUND_SIGMA: f64 = 0.02;
/// A gain below this part of the strike is none.
const NO_GAIN: f64 = 1e-13;
/// Within this part of the strike a value is the exercise value.
const EXERCISED: f64 = 1e-9;

/// The premium of one right of a block of strikes.
#[derive(Clone, Debug)]
pub(super) struct Premium {
    depth: Depth,
    known: Known,
    around: Option<Box<Around>>,
    /// Lanes where exercising now is optimal.
    exercised: u8,
    free: Free,
}

/// From how many anchors.
#[derive(Clone, Debug)]
enum Known {
    Unknown,
    /// There is no premium.
    Nothing(Box<Anchor>),
    One(Box<Jets>),
    /// The lower one first.
    Two([Box<Jets>; 2]),
}

/// What jets are taken from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables<'a> {
    pub(super) now: &'a Pricer,
    /// Spot, terms and pricer of the next trading day.
    pub(super) later: Option<(f64, &'a Terms, &'a Pricer)>,
}

/// What a block is worth on the next trading day over its European value.
#[derive(Clone, Copy, Debug)]
pub struct Later {
    /// The premium then.
    pub premium: Block,
    exercised: u8,
}

impl Later {
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

impl Premium {
    pub(super) fn unknown() -> Self {
        Self { depth: Depth::Full, known: Known::Unknown, around: None, exercised: 0, free: Free::nowhere() }
    }

    /// Whether what is remembered holds at `place`; what lattices said does not where tables are asked for.
    pub(super) fn holds(&self, place: &Place<'_>) -> bool {
        match (self.depth, place.here.depth) {
            (Depth::Rough, Depth::Full) => false,
            (Depth::Rough, Depth::Rough) => self.holds_roughly(place),
            (Depth::Full, _) => self.jets_hold(place) && self.around_holds(place),
        }
    }

    /// Jets from a lattice are rough anyway.
    fn holds_roughly(&self, place: &Place<'_>) -> bool {
        let at = match &self.known {
            Known::Nothing(at) => at,
            Known::One(jets) => &jets.at,
            Known::Unknown | Known::Two(_) => return false,
        };
        place.still(at, rough::SIGMA_MOVE)
            && place.near(at, rough::TIMES)
            && place.away(at) <= rough::SPOT_MOVE * place.deviation
    }

    /// Takes everything anew from lattices.
    pub(super) fn take_roughly(&mut self, place: &Place<'_>, rough: &Rough<'_>) {
        let at = place.anchor(place.here.s);
        let (taken, exercised, later_exercised) = rough.take(place.right, place.k, load(&at.sigma));
        (self.depth, self.exercised, self.free) = (Depth::Rough, exercised, Free::everywhere());
        let Some(Taken { american, european, later, low, high }) = taken else {
            (self.known, self.around) = (Known::Nothing(Box::new(at)), None);
            return;
        };
        let now = difference(&vol_jet(&american), &vol_jet(&european));
        let around = Around::new((at, place.here.step), &now, [low, high], Some((later, later_exercised)));
        self.around = Some(Box::new(around));
        self.known = Known::One(Box::new(Jets::new(at, &american, &european)));
    }

    fn jets_hold(&self, place: &Place<'_>) -> bool {
        let here = |at: &Anchor| place.still(at, SIGMA_MOVE) && place.near(at, 1.0);
        match &self.known {
            Known::Unknown => false,
            Known::Nothing(at) => here(at) && place.away(at) <= NOTHING_MOVE * place.deviation,
            Known::One(jets) => {
                let at = &jets.at;
                here(at)
                    && place.away(at) <= SPOT_MOVE * place.deviation
                    && self.free.is_near(at.s, place.here.s, place.drift(at))
            }
            Known::Two([low, high]) => {
                let (s, h) = (place.here.s, high.at.s - low.at.s);
                here(&low.at)
                    && here(&high.at)
                    && low.at.s - BESIDE * h <= s
                    && s <= high.at.s + BESIDE * h
                    && self.free.covers((s.min(low.at.s), s.max(high.at.s)), 0.5 * h + place.drift(&low.at))
            }
        }
    }

    fn around_holds(&self, place: &Place<'_>) -> bool {
        match (&self.known, &self.around) {
            (Known::Nothing(_), _) => true,
            (_, None) => false,
            (_, Some(around)) => {
                let at = &around.at;
                place.still(at, AROUND_SIGMA)
                    && place.near(at, AROUND_SIGMA / SIGMA_MOVE)
                    && place.away(at) <= AROUND_MOVE * place.deviation
                    && (place.away(at) <= SPOT_MOVE * place.deviation
                        || self.free.is_near(at.s, place.here.s, place.drift(at)))
                    && (around.step - place.here.step).abs() < SAME_DATE
            }
        }
    }

    /// Takes anew what does not hold at `place`.
    pub(super) fn refresh(&mut self, place: &Place<'_>, tables: &Tables<'_>) {
        if self.depth == Depth::Rough {
            *self = Self::unknown();
        }
        if !self.jets_hold(place) {
            let kept = self.nearest(place);
            let pair = kept.and_then(|jets| self.paired(jets, place, tables));
            self.known = pair.unwrap_or_else(|| self.anew(place, tables));
        }
        if matches!(self.known, Known::Nothing(_)) {
            self.around = None;
        } else if !self.around_holds(place) {
            let around = self.look_around(place, tables);
            match &mut self.around {
                Some(held) => **held = around,
                none => *none = Some(Box::new(around)),
            }
        }
    }

    /// The anchor nearest to the spot of those that still hold but for the spot.
    fn nearest(&mut self, place: &Place<'_>) -> Option<Box<Jets>> {
        let jets = match core::mem::replace(&mut self.known, Known::Unknown) {
            Known::Unknown | Known::Nothing(_) => return None,
            Known::One(jets) => jets,
            Known::Two([low, high]) => {
                if place.away(&low.at) < place.away(&high.at) {
                    low
                } else {
                    high
                }
            }
        };
        (place.still(&jets.at, SIGMA_MOVE) && place.near(&jets.at, 1.0)).then_some(jets)
    }

    /// A second anchor on the side of the first where the spot has gone, if it has gone there, not too far, and nothing
    /// is exercised on the way.
    fn paired(&mut self, jets: Box<Jets>, place: &Place<'_>, tables: &Tables<'_>) -> Option<Known> {
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
        Some(Known::Two(if away > 0.0 { [jets, new] } else { [new, jets] }))
    }

    /// One anchor, here.
    fn anew(&mut self, place: &Place<'_>, tables: &Tables<'_>) -> Known {
        let s = place.here.s;
        let (jets, american, gain) = taken(place, tables, s);
        let before = self.exercised;
        (self.exercised, self.free) = boundary(place, tables, s, &american);
        if before != self.exercised {
            self.around = None;
        }
        if gain.abs().le(place.k * NO_GAIN).all() {
            return Known::Nothing(Box::new(jets.at));
        }
        Known::One(Box::new(jets))
    }

    fn look_around(&self, place: &Place<'_>, tables: &Tables<'_>) -> Around {
        let Place { here, right, k, .. } = *place;
        let at = place.anchor(here.s);
        let sigma = load(&at.sigma);
        let zero = Block::splat(0.0);
        let nothing = VolJet { value: zero, vega: zero, volga: zero, ultima: zero };
        let now = self.read(here, sigma).map_or(nothing, |premium| vol_jet(&premium));
        let side = |sigma: Block| (sigma, premium_vol(right, here.s, here.terms, tables.now, k, sigma).0);
        let (low, high) = nodes(tables.now.at(here.terms, here.s).sigma_range(k, sigma), sigma);
        let later: Option<NextSession> = tables.later.map(|(s, terms, pricer)| {
            let (premium, value) = premium_vol(right, s, terms, pricer, k, sigma);
            (premium, lanes_at_intrinsic(right, s, k, value))
        });
        Around::new((at, here.step), &now, [side(low), side(high)], later)
    }

    /// The premium here; `None`: nothing.
    #[inline(always)]
    fn read(&self, here: &Valuation<'_>, sigma: Block) -> Option<Greeks<Block>> {
        match &self.known {
            Known::Unknown | Known::Nothing(_) => None,
            Known::One(jets) => Some(jets.read(here.s, here.terms, sigma)),
            Known::Two([low, high]) => Some(between([low, high], here.s, here.terms, sigma)),
        }
    }

    /// The premium by volatility.
    pub(super) fn by_sigma(&self, here: &Valuation<'_>) -> BySigma {
        let Some(around) = &self.around else { return BySigma::none() };
        let now = self.read(here, around.centre());
        now.map_or_else(BySigma::none, |now| around.by_sigma(&vol_jet(&now)))
    }

    /// Adds the premium to European Greeks at `sigma`; what it will be on the next trading day. Lanes that are exercised
    /// now become those of exercise.
    pub(super) fn add(
        &self,
        here: &Valuation<'_>,
        right: Right,
        (k, sigma): (Block, Block),
        greeks: &mut Greeks<Block>,
    ) -> Later {
        let d = [greeks.d1, greeks.d2];
        let mut later = Later::none();
        if let Some(premium) = self.read(here, sigma) {
            jets::add(&premium, greeks);
            greeks.lambda = lambda(greeks, here.s);
            if let Some(around) = &self.around {
                let change = around.until_later(here.s, sigma, premium.charm);
                later = Later { premium: premium.value + change, exercised: around.later_exercised };
            }
        }
        if self.exercised != 0 {
            let row = exercised(right.phi(), here.s, k, d);
            *greeks = Greeks::select(mask(self.exercised), &row, greeks);
        }
        later
    }
}

/// The premium at spot `s`, the American Greeks there, and by how much their value exceeds the European one.
fn taken(place: &Place<'_>, tables: &Tables<'_>, s: f64) -> (Jets, Greeks<Block>, Block) {
    let at = place.anchor(s);
    let sigma = load(&at.sigma);
    let american = tables.now.at(place.here.terms, s).greeks(place.k, sigma);
    let european = plain(place.right, &Valuation { s, ..*place.here }, place.k, sigma);
    (Jets::new(at, &american, &european), american, american.value - european.value)
}

/// The lanes that are exercised at `s`, and how far the spot may move before that changes.
fn boundary(place: &Place<'_>, tables: &Tables<'_>, s: f64, american: &Greeks<Block>) -> (u8, Free) {
    let Place { here, right, k, .. } = *place;
    let exercised = lanes_at_intrinsic(right, s, k, american.value);
    let boundary = tables.now.at(here.terms, s).boundary(k, load(&place.sigma));
    (exercised, Free::new((right, s, k), boundary, american, exercised))
}

/// American less European value and volatility derivatives, and the American value.
fn premium_vol(right: Right, s: f64, terms: &Terms, pricer: &Pricer, k: Block, sigma: Block) -> (VolJet<Block>, Block) {
    let american = pricer.at(terms, s).vol_jet(k, sigma);
    let x = Block::splat(s - terms.a(0.0));
    let european = european_vol(right.phi(), &Horizon::from(terms), x, k, sigma);
    (difference(&american, &european), american.value)
}

fn difference(a: &VolJet<Block>, b: &VolJet<Block>) -> VolJet<Block> {
    VolJet { value: a.value - b.value, vega: a.vega - b.vega, volga: a.volga - b.volga, ultima: a.ultima - b.ultima }
}

fn vol_jet(greeks: &Greeks<Block>) -> VolJet<Block> {
    VolJet { value: greeks.value, vega: greeks.vega, volga: greeks.volga, ultima: greeks.ultima }
}

fn lambda(greeks: &Greeks<Block>, s: f64) -> Block {
    let zero = Block::splat(0.0);
    Block::select(greeks.value.le(zero), zero, greeks.delta * s / greeks.value)
}

/// The lanes whose value is what exercising now pays.
pub(super) fn lanes_at_intrinsic(right: Right, s: f64, k: Block, value: Block) -> u8 {
    let payoff = (Block::splat(s) - k) * Block::splat(right.phi());
    let at = (value - payoff).abs().le(k * EXERCISED) & payoff.gt(Block::splat(0.0));
    (0..BLOCK).fold(0, |bits, lane| bits | u8::from(at.lane(lane)) << lane)
}

fn mask(bits: u8) -> <Block as Lanes>::Mask {
    let lanes = core::array::from_fn::<f64, BLOCK, _>(|lane| f64::from(bits >> lane & 1));
    Block::load(&lanes).gt(Block::splat(0.5))
}
