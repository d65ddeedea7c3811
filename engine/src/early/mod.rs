//! Early exercise premiums, kept from pass to pass.
//!
//! Tables give the premium of a contract in a third to one microsecond. Between two passes a market moves little, and
//! the premium is a small and smooth part of a value: so it is kept as expansions taken at one or two expansion points,
//! block by block, and carried from there while the market stays near. The European part is always computed exactly. A
//! block that the market has left, or whose exercise boundary has come near, is taken again. Before tables are asked
//! for, expansions come from lattices ([`Quality`]). Never: a quote, a curve.

mod by_volatility;
mod expansion;
mod lattice;
mod premium;
pub mod settings;
mod tables;
pub mod validity;
mod valuation;
mod work;

pub use by_volatility::PremiumByVol;
pub use settings::VOL;
pub use tables::european;
pub use valuation::{BlockMethod, NextSession, PremiumAdded, Valuation, plain};
pub use work::{EarlyWork, Left};

use crate::store::ladder::Ladder;
use kernel::american::{Counts, SharedBoundaries};
use kernel::contract::Right;
use kernel::dividends::{Dividend, Terms, are_same};
use kernel::greeks::Greeks;
use kernel::lanes::{BLOCK, Block, Lanes};
use kernel::quality::Quality;
use kernel::work::Work;
use lattice::LatticePair;
use premium::{BlockPremium, Tables};
use tables::{Pricers, bands, span};
use valuation::BlockValuation;

/// Early exercise of one slice: the premium of every strike and right over its European value.
///
/// The state of a slice owns it. A pass brings it up to date twice: before the carry is settled, at the carry of the
/// pass before, and after the curve is fitted, at the carry and volatilities of this pass. Everything else only reads
/// it.
#[derive(Debug, Default)]
pub struct EarlyExercise {
    tables: Pricers,
    /// For the terms of the next trading day, where `tables` do not serve those.
    later: Pricers,
    /// The dividends that the expansions know of, and the time to expiry then.
    dividends: (Vec<Dividend>, f64),
    blocks: [Vec<BlockPremium>; 2],
}

impl EarlyExercise {
    /// Forgets what was remembered of other strikes, or of other dividends than these.
    fn forget_others(&mut self, ladder: &Ladder, terms: &Terms) {
        let blocks = ladder.blocks();
        let (known, t) = &mut self.dividends;
        let age = *t - terms.t;
        let same = are_same(known, &terms.divs, age);
        if !same {
            known.clear();
            known.extend_from_slice(&terms.divs);
            *t = terms.t;
        }
        for premiums in &mut self.blocks {
            if !same || premiums.len() != blocks {
                premiums.clear();
                premiums.resize(blocks, BlockPremium::unknown(Quality::Full));
            }
        }
    }

    /// Forgets everything but the tables: the strikes have changed.
    pub fn forget(&mut self) {
        self.blocks.iter_mut().for_each(Vec::clear);
    }

    /// Brings the premium of every strike up to date with a market: expansions that it has left are taken again.
    /// `sigma` by strike, padded; a block without a volatility has no premium. Returns what
    /// that took.
    ///
    /// # Domain   any ladder and dividends: of others than the last ones nothing is remembered
    /// # Accuracy the tolerances of the tables, or 1e-4 of a price at preliminary quality
    /// # Cost     a look where the expansions hold; milliseconds where tables have to be built
    /// (PERF.md)
    pub fn update(
        &mut self,
        shared: &SharedBoundaries,
        here: &Valuation<'_>,
        ladder: &Ladder,
        sigma: &[f64],
    ) -> EarlyWork {
        self.forget_others(ladder, here.terms);
        let before = Work::of_thread();
        let mut done = EarlyWork::default();
        let mut next = None;
        let mut has_own_later = [false; 2];
        let lattices = LatticePair::new(here, ladder, span(sigma));
        for block in 0..ladder.blocks() {
            let (k, vols) = (ladder.block(block), Block::load(&sigma[block * BLOCK..]));
            for right in [Right::Call, Right::Put] {
                let Some(place) = BlockValuation::new(here, right, k, vols) else { continue };
                let Some(left) = self.blocks[right as usize][block].left(&place) else {
                    done.kept += 1;
                    continue;
                };
                let is_first = done.taken() == 0;
                done.left[left as usize] += 1;
                if let Some(lattices) = &lattices {
                    self.blocks[right as usize][block].take_preliminary(&place, lattices);
                    continue;
                }
                if is_first {
                    next = here.next_session();
                    has_own_later = self.lay_out(shared, here, next.as_ref(), ladder, sigma, &mut done);
                }
                let Self { tables, later, blocks, .. } = self;
                let i = right as usize;
                let Some(now) = tables.of(right) else { continue };
                let own_later = later.of(right).filter(|_| has_own_later[i]);
                let mut tables = Tables { now, next: next.as_ref(), own_later };
                blocks[i][block].refresh(&place, &mut tables, &mut done);
            }
        }
        done.work = Work::since(&before);
        done
    }

    /// The tables held.
    #[must_use]
    pub fn tables(&self) -> Counts {
        let mut sum = Counts::default();
        let pairs = [self.tables.get(), self.later.get()];
        pairs.into_iter().flatten().flatten().for_each(|pricer| sum += pricer.counts());
        sum
    }

    /// Bytes held beside itself.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let blocks = self.blocks.iter().map(|blocks| {
            let spare = blocks.capacity() - blocks.len();
            spare * size_of::<BlockPremium>() + blocks.iter().map(BlockPremium::bytes).sum::<usize>()
        });
        self.tables.bytes()
            + self.later.bytes()
            + self.dividends.0.capacity() * size_of::<Dividend>()
            + blocks.sum::<usize>()
    }

    /// Lays out the tables for now and for the next trading day, if missing. Returns, by right, whether the next
    /// trading day needs tables of its own.
    fn lay_out(
        &mut self,
        shared: &SharedBoundaries,
        here: &Valuation<'_>,
        next: Option<&(f64, Terms)>,
        ladder: &Ladder,
        sigma: &[f64],
        work: &mut EarlyWork,
    ) -> [bool; 2] {
        let [near, roomy] = bands(ladder.strikes(), sigma);
        self.tables.serve(shared, here, here.terms, &near, &roomy, work);
        let Some((_, later)) = next else { return [false; 2] };
        let own = self.tables.serve_terms(later).map(|serves| !serves);
        if own.contains(&true) {
            self.later.serve(shared, here, later, &near, &roomy, work);
        }
        own
    }

    /// The premium of one right of a block, by volatility.
    #[must_use]
    pub fn by_sigma(&self, here: &Valuation<'_>, right: Right, block: usize) -> PremiumByVol {
        let known = self.blocks[right as usize].get(block);
        known.map_or_else(PremiumByVol::none, |premium| premium.by_sigma(here))
    }

    /// Adds the premium of one right of a block to European Greeks at `sigma`. Rows exercised now become those of
    /// exercise. Returns the premium on the next trading day, and how the values were computed.
    pub fn add(
        &self,
        here: &Valuation<'_>,
        right: Right,
        block: usize,
        k: Block,
        sigma: Block,
        greeks: &mut Greeks<Block>,
    ) -> PremiumAdded {
        let known = self.blocks[right as usize].get(block);
        known.map_or_else(PremiumAdded::none, |premium| premium.add(here, right, k, sigma, greeks))
    }
}
