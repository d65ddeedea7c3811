//! What the right to exercise early adds to the European value, remembered from pass to pass.
//!
//! Tables give the premium of a contract in a third to one microsecond. Between two passes a market moves little, and the
//! premium is a small and smooth part of a value: so it is kept as [jets] taken at an anchor, block by block, and
//! carried by Taylor's series while the market stays near. The European part is always computed exactly. A block that
//! the market has left, or whose exercise boundary has come near, is taken anew. Never: a quote, a curve.

mod jets;
mod pricers;

pub use jets::BySigma;
pub use pricers::{VOL, european, span};

use crate::contract::{Right, Style};
use crate::kernel::american::{Band, Counts, Pricer, PricerAt};
use crate::kernel::black76::{Horizon, european as black, european_vol};
use crate::kernel::dividends::{Dividend, Terms, escrowed};
use crate::kernel::greeks::{Greeks, Market, VolJet, exercised, finish};
use crate::kernel::lanes::{BLOCK, Block, Lanes, Mask};
use crate::store::ladder::Ladder;
use jets::{Anchor, Moved, Numbers, Taken, load, rounded};
use pricers::{BAND_MARGIN, Pricers};

/// The spot may move by this part of a standard deviation to expiry.
const SPOT_MOVE: f64 = 0.005;
/// A volatility by this part of itself.
const SIGMA_MOVE: f64 = 0.005;
/// Rates by this much over the time to expiry.
const RATE_MOVE: f64 = 2e-4;
/// The time to expiry by this part of itself.
const TIME_MOVE: f64 = 0.01;
/// A jet holds on its side of the exercise boundary, and the spot may come this part of the way to it.
const TO_BOUNDARY: f64 = 0.33;
/// Within this part of the strike a value is the exercise value.
const EXERCISED: f64 = 1e-9;
/// How much dates may differ that are the same, years.
const SAME_DATE: f64 = 1e-7;

/// The market that a slice is valued in.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    /// Exercise style.
    pub style: Style,
    /// The spot to value at, currency per share.
    pub s: f64,
    /// Time, rates and dividends.
    pub terms: &'a Terms,
    /// Years to the same clock time on the next trading day.
    pub step: f64,
}

/// The premium of every strike of a slice, both rights.
#[derive(Debug, Default)]
pub struct Early {
    tables: Pricers,
    /// For the terms of the next trading day, where `tables` do not serve those.
    later: Pricers,
    /// The dividends that the jets know of, and the time to expiry then.
    dividends: (Vec<Dividend>, f64),
    blocks: [Vec<Premium>; 2],
}

/// The premium of one right of a block of strikes.
#[derive(Clone, Debug)]
struct Premium {
    at: Anchor,
    sigma: [f32; BLOCK],
    /// How far the spot may move before the exercise boundary is near, currency per share.
    reach: f64,
    /// Lanes where exercising now is optimal; where it is on the next trading day.
    exercised: u8,
    later_exercised: u8,
    /// `None`: there is no premium.
    numbers: Option<Box<Numbers>>,
}

impl Early {
    /// Forgets what was remembered of other strikes, or of other dividends than these.
    pub fn prepare(&mut self, ladder: &Ladder, terms: &Terms) {
        let blocks = ladder.blocks();
        let (known, t) = &mut self.dividends;
        let age = *t - terms.t;
        let same = known.len() == terms.divs.len()
            && known.iter().zip(&terms.divs).all(|(old, new)| {
                (old.t - age - new.t).abs() < SAME_DATE && (old.amount - new.amount).abs() <= 1e-9 * old.amount
            });
        if !same {
            known.clear();
            known.extend_from_slice(&terms.divs);
            *t = terms.t;
        }
        for premiums in &mut self.blocks {
            if !same || premiums.len() != blocks {
                premiums.clear();
                premiums.resize(blocks, Premium::unknown());
            }
        }
    }

    /// Forgets everything but the tables: the strikes have changed.
    pub fn forget(&mut self) {
        self.blocks.iter_mut().for_each(Vec::clear);
    }

    /// Takes the jets of the blocks `which` anew where the market has left them; `sigma` by strike, padded. Returns how
    /// many were taken.
    pub fn refresh(
        &mut self,
        here: &Here<'_>,
        ladder: &Ladder,
        sigma: &[f64],
        which: core::ops::Range<usize>,
    ) -> usize {
        let mut taken = 0;
        let mut ready = false;
        for block in which {
            let vols = Block::load(&sigma[block * BLOCK..]);
            for right in [Right::Call, Right::Put] {
                if self.blocks[right as usize][block].holds(here, vols) {
                    continue;
                }
                if !ready {
                    self.build(here, ladder, sigma);
                    ready = true;
                }
                self.take(here, ladder, (right, block), vols);
                taken += 1;
            }
        }
        taken
    }

    /// The tables held.
    #[must_use]
    pub fn tables(&self) -> Counts {
        let mut sum = Counts::default();
        let pairs = [self.tables.get(), self.later.get()];
        pairs.into_iter().flatten().flatten().for_each(|pricer| sum += pricer.counts());
        sum
    }

    /// Makes sure that tables for now and for the next trading day are there.
    fn build(&mut self, here: &Here<'_>, ladder: &Ladder, sigma: &[f64]) {
        let k = ladder.strikes();
        let ends = (k.first().copied().unwrap_or(1.0), k.last().copied().unwrap_or(1.0));
        let band = Band { k: ends, sigma: span(sigma) };
        self.tables.serve(here.style, here.terms, &band);
        if let Some((_, later)) = here.next_session()
            && !self.tables.serves(&later, &band)
        {
            self.later.serve(here.style, &later, &band);
        }
    }

    fn take(&mut self, here: &Here<'_>, ladder: &Ladder, (right, block): (Right, usize), sigma: Block) {
        let Self { tables, later, blocks, .. } = self;
        let Some(tables) = tables.get() else { return };
        let rounded = rounded(sigma);
        let sigma = load(&rounded);
        let k = ladder.block(block);
        let pricer = &tables[right as usize];
        let american: Greeks<Block> = pricer.at(here.terms, here.s).greeks(k, sigma);
        let european = plain(right, here, k, sigma);
        // towards the boundary lie lower strikes for puts, higher ones for calls
        let side = &mut blocks[right as usize];
        let beside = if right == Right::Put { block.checked_sub(1) } else { Some(block + 1) };
        let beside = beside.and_then(|i| side.get(i)).map_or(0, |premium| premium.exercised);
        let premium = &mut side[block];
        premium.at = here.anchor();
        premium.sigma = rounded;
        premium.exercised = lanes_at_intrinsic(right, here.s, k, american.value);
        (premium.reach, premium.later_exercised) = (f64::INFINITY, 0);
        let gain = american.value - european.value;
        if gain.abs().le(k * Block::splat(1e-13)).all() {
            premium.numbers = None;
            return;
        }
        premium.reach = TO_BOUNDARY * to_boundary(right, here.s, k, &american, (premium.exercised, beside));
        let band = pricer.at(here.terms, here.s).band();
        let (low, high) = nodes(band.sigma, sigma);
        let at = |sigma: Block| (sigma, premium_vol(right, here.s, here.terms, pricer, k, sigma).0);
        let mut taken = Taken {
            american,
            european,
            later: VolJet { value: gain, vega: american.vega - european.vega, volga: gain, ultima: gain },
            low: at(low),
            high: at(high),
        };
        if let Some((s, terms)) = here.next_session() {
            let serving = later.get().filter(|pair| pair[0].serves(&terms, &band)).unwrap_or(tables);
            let serving = &serving[right as usize];
            let (later, value) = premium_vol(right, s, &terms, serving, k, sigma);
            taken.later = later;
            premium.later_exercised = lanes_at_intrinsic(right, s, k, value);
        }
        let numbers = taken.numbers();
        match &mut premium.numbers {
            Some(place) => **place = numbers,
            None => premium.numbers = Some(Box::new(numbers)),
        }
    }

    /// The premium of one right of a block, by volatility.
    #[must_use]
    pub fn by_sigma(&self, here: &Here<'_>, right: Right, block: usize) -> BySigma {
        let known = self.blocks[right as usize].get(block).and_then(|p| Some((p, p.numbers.as_ref()?)));
        known.map_or_else(BySigma::none, |(p, numbers)| {
            BySigma::new(numbers, &p.sigma, &Moved::new(&p.at, here.s, here.terms))
        })
    }

    /// The tables, where they serve here: for searches that the jets do not reach.
    #[must_use]
    pub fn pricer<'a>(&'a self, here: &'a Here<'_>, right: Right) -> Option<PricerAt<'a>> {
        let pair = self.tables.get()?;
        let pricer = &pair[right as usize];
        let at = pricer.at(here.terms, here.s);
        pricer.serves(here.terms, &at.band()).then_some(at)
    }

    /// Adds the premium of one right of a block to European Greeks at `sigma`, and returns the premium on the next
    /// trading day and the lanes that are exercised now and then. Rows exercised now become those of exercise.
    pub fn add(
        &self,
        here: &Here<'_>,
        (right, block): (Right, usize),
        (k, sigma): (Block, Block),
        greeks: &mut Greeks<Block>,
    ) -> Later {
        let Some(premium) = self.blocks[right as usize].get(block) else { return Later::none() };
        let d = [greeks.d1, greeks.d2];
        let mut later = Later::none();
        if let Some(numbers) = &premium.numbers {
            let by = Moved::new(&premium.at, here.s, here.terms);
            jets::add(numbers, &premium.sigma, &by, sigma, greeks);
            greeks.lambda = lambda(greeks, here.s);
            later = Later {
                premium: jets::later(numbers, &premium.sigma, &by, sigma, here.step),
                exercised: premium.later_exercised,
            };
        }
        if premium.exercised != 0 {
            let row = exercised(right.phi(), here.s, k, d);
            *greeks = Greeks::select(mask(premium.exercised), &row, greeks);
        }
        later
    }
}

/// What a block is worth on the next trading day over its European value.
#[derive(Clone, Copy, Debug)]
pub struct Later {
    /// The premium then.
    pub premium: Block,
    exercised: u8,
}

impl Later {
    fn none() -> Self {
        Self { premium: Block::splat(0.0), exercised: 0 }
    }

    /// The value then: `european` and the premium, or the exercise value where exercise is optimal.
    #[must_use]
    pub fn value(&self, european: Block, payoff: Block) -> Block {
        // in this order a value that is missing stays missing
        Block::select(mask(self.exercised), payoff, Block::splat(0.0).max(european + self.premium))
    }
}

impl Here<'_> {
    fn anchor(&self) -> Anchor {
        let Terms { t, r, b, .. } = *self.terms;
        Anchor { s: self.s, t, r, b, step: self.step }
    }

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

    /// Horizon and X of the next trading day, as of [`Here::next_session`].
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
}

impl Premium {
    fn unknown() -> Self {
        let nan = f64::NAN;
        Self {
            at: Anchor { s: nan, t: nan, r: nan, b: nan, step: nan },
            sigma: [f32::NAN; BLOCK],
            reach: 0.0,
            exercised: 0,
            later_exercised: 0,
            numbers: None,
        }
    }

    /// Whether the market is still near the anchor, for the lanes that have a volatility.
    fn holds(&self, here: &Here<'_>, sigma: Block) -> bool {
        let by = Moved::new(&self.at, here.s, here.terms);
        let Terms { t, .. } = *here.terms;
        let before = load(&self.sigma);
        let asked = sigma.abs().lt(Block::splat(f64::INFINITY));
        let still = (sigma - before).abs().le(before * Block::splat(SIGMA_MOVE));
        if (asked & !still).any() {
            return false;
        }
        if !asked.any() {
            return true;
        }
        let mut vols = [0.0; BLOCK];
        sigma.store(&mut vols);
        let pairs = || vols.iter().zip(self.sigma).filter(|(new, _)| new.is_finite());
        let least = pairs().fold(f64::INFINITY, |least, (_, old)| least.min(f64::from(old)));
        let shift = pairs().fold(0.0, |most: f64, (new, old)| most.max((new - f64::from(old)).abs()));
        let deviation = here.s * least * t.sqrt();
        // the boundary itself moves with volatility and time
        let boundary = here.s * t.sqrt() * shift + deviation * by.t.max(0.0) / t;
        let reach = self.reach - boundary;
        by.s.abs() <= (SPOT_MOVE * deviation).min(reach)
            && by.t >= -SAME_DATE
            && by.t <= TIME_MOVE * t
            && by.r.abs().max(by.b.abs()) * t <= RATE_MOVE
            && (self.at.step - here.step).abs() < SAME_DATE
    }
}

/// European Greeks here.
#[must_use]
pub fn plain(right: Right, here: &Here<'_>, k: Block, sigma: Block) -> Greeks<Block> {
    let market = Market::new(here.terms, here.s);
    finish(&black(right.phi(), &Horizon::from(here.terms), Block::splat(market.x), k, sigma), &market, sigma)
}

/// American less European value and volatility derivatives, and the American value.
fn premium_vol(right: Right, s: f64, terms: &Terms, pricer: &Pricer, k: Block, sigma: Block) -> (VolJet<Block>, Block) {
    let american = pricer.at(terms, s).vol_jet(k, sigma);
    let x = Block::splat(s - terms.a(0.0));
    let european = european_vol(right.phi(), &Horizon::from(terms), x, k, sigma);
    let premium = VolJet {
        value: american.value - european.value,
        vega: american.vega - european.vega,
        volga: american.volga - european.volga,
        ultima: american.ultima - european.ultima,
    };
    (premium, american.value)
}

/// A lower and a higher volatility inside the band of the tables.
fn nodes((low, high): (f64, f64), sigma: Block) -> (Block, Block) {
    let c = |v: f64| Block::splat(v);
    let down = (sigma * c(1.0 / BAND_MARGIN)).max(c(low * (1.0 + 1e-9)));
    let up = (sigma * c(BAND_MARGIN)).min(c(high * (1.0 - 1e-9)));
    (down, up)
}

/// How far the spot is from the exercise boundary of the nearest lane, about, currency per share. A lane that waits knows
/// it from its time value, which vanishes like ½·gamma·distance²; one that is exercised from the strike beside it,
/// `beside` being the lanes exercised in the block where that one may lie.
fn to_boundary(right: Right, s: f64, k: Block, greeks: &Greeks<Block>, (exercised, beside): (u8, u8)) -> f64 {
    let payoff = (Block::splat(s) - k) * Block::splat(right.phi());
    let waiting = ((greeks.value - payoff) * Block::splat(2.0) / greeks.gamma).sqrt();
    let is = |bits: u8, lane: usize| bits >> lane & 1 == 1;
    let next = |lane: usize| match right {
        Right::Put => lane.checked_sub(1),
        Right::Call => Some(lane + 1).filter(|&l| l < BLOCK),
    };
    let known = |x: f64| if x.is_nan() { f64::INFINITY } else { x };
    let of = |lane: usize| {
        if !is(exercised, lane) {
            return known(waiting.lane(lane));
        }
        let Some(next) = next(lane) else {
            let edge = if right == Right::Put { BLOCK - 1 } else { 0 };
            return if is(beside, edge) { f64::INFINITY } else { 0.0 };
        };
        let gap = (k.lane(lane) - k.lane(next)).abs() * s / k.lane(lane);
        if gap <= 0.0 {
            f64::INFINITY
        } else if is(exercised, next) {
            gap
        } else {
            (gap - known(waiting.lane(next))).max(0.0)
        }
    };
    (0..BLOCK).map(of).fold(f64::INFINITY, f64::min)
}

fn lambda(greeks: &Greeks<Block>, s: f64) -> Block {
    let zero = Block::splat(0.0);
    Block::select(greeks.value.le(zero), zero, greeks.delta * Block::splat(s) / greeks.value)
}

/// The lanes whose value is what exercising now pays.
fn lanes_at_intrinsic(right: Right, s: f64, k: Block, value: Block) -> u8 {
    let payoff = (Block::splat(s) - k) * Block::splat(right.phi());
    let at = (value - payoff).abs().le(k * Block::splat(EXERCISED)) & payoff.gt(Block::splat(0.0));
    let mut bits = 0;
    for lane in 0..BLOCK {
        bits |= u8::from(at.lane(lane)) << lane;
    }
    bits
}

fn mask(bits: u8) -> <Block as Lanes>::Mask {
    let lanes = core::array::from_fn::<f64, BLOCK, _>(|lane| f64::from(bits >> lane & 1));
    Block::load(&lanes).gt(Block::splat(0.5))
}
