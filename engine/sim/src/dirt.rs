//! Names with much bad data, as recorded markets have it: stocks and funds that split, far strikes that nobody quotes
//! any more, missing prices. The faults of a name never change: they depend on its chance alone, so that the true
//! values stay known. Never: a value, a clock.

use super::quotes::Fault;
use super::rng::Stream;
use super::tier::Tier;
use core::ops::Range;
use kernel::contract::Right;

/// The share of stocks and funds that are dirty.
const DIRTY: f64 = 0.05;
/// Share of the dirty names with each kind of fault; one name can have several.
const SPLIT: f64 = 0.40;
const WINGS: f64 = 0.70;
const CONTRADICTING: f64 = 0.60;
const ZEROS: f64 = 0.50;
const NO_SPOT: f64 = 0.08;
const SPOT_BEHIND: f64 = 0.35;
/// Shares of the expiries, and of their strikes, of a name that split whose quotes date from before the split.
const DEAD_EXPIRIES: f64 = 0.5;
const DEAD_STRIKES: f64 = 0.15;
/// Factor of the spot before a split.
const SPLITS: Range<f64> = 2.0..10.0;
/// The part of the expiries with a stale wing, and what part of an expiry's rows a wing is.
const WING_EXPIRIES: f64 = 0.25;
const WING_ROWS: Range<f64> = 0.05..0.30;
/// Factor by which a stale wing is too dear, and its spread as a part of the price.
const WING_TIMES: Range<f64> = 3.0..15.0;
const WING_SPREAD: Range<f64> = 0.05..0.30;
/// The part of the strikes whose call and put contradict each other, and by how much each is off, part of the spot.
const CONTRADICTING_STRIKES: f64 = 0.015;
const CONTRADICTED_BY: Range<f64> = 0.02..0.10;
/// The part of the expiries, and of the contracts of all others, that have prices of zero.
const ZERO_EXPIRIES: f64 = 0.02;
const ZERO_CONTRACTS: f64 = 0.01;
/// Error of a late spot, as a part of the spot.
const BEHIND_BY: Range<f64> = 0.003..0.03;

/// Fault of the spot of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpotFault {
    /// The spot is missing.
    Missing,
    /// The spot is late: options are quoted from another one, up to 3 % away.
    Behind,
}

/// Faults of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dirt {
    chance: Stream,
    /// The spot before a split over the one since then.
    split: Option<f64>,
    wings: bool,
    contradicting: bool,
    zeros: bool,
    spot: Option<SpotFault>,
}

/// A contract of a dirty name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The chance of its expiry, of its strike and its own.
    pub(super) expiry: Stream,
    pub(super) strike: Stream,
    pub(super) contract: Stream,
    pub(super) right: Right,
    /// Position of the row among those of the expiry: 0 for the lowest strike, 1 for the highest.
    pub(super) height: f64,
}

fn within(range: &Range<f64>, unit: f64) -> f64 {
    range.start + (range.end - range.start) * unit
}

impl Dirt {
    /// The dirt of a name, by its chance; mostly none. Indices are clean.
    pub(super) fn of(chance: Stream, tier: Tier) -> Option<Self> {
        if tier == Tier::Index || chance.unit(0) >= DIRTY {
            return None;
        }
        let has = |entry: u64, part: f64| chance.unit(entry) < part;
        let spot = match chance.unit(5) {
            x if x < NO_SPOT => Some(SpotFault::Missing),
            x if x < NO_SPOT + SPOT_BEHIND => Some(SpotFault::Behind),
            _ => None,
        };
        Some(Self {
            chance,
            split: has(1, SPLIT).then(|| within(&SPLITS, chance.unit(6))),
            wings: has(2, WINGS),
            contradicting: has(3, CONTRADICTING),
            zeros: has(4, ZEROS),
            spot,
        })
    }

    /// Fault of the name's spot.
    pub(super) fn spot(&self) -> Option<SpotFault> {
        self.spot
    }

    /// The spot that comes late over the one that options are quoted from.
    pub(super) fn behind(&self) -> f64 {
        1.0 + within(&BEHIND_BY, self.chance.unit(7)) * self.chance.signed(8).signum()
    }

    /// Fault of a contract.
    pub(super) fn fault(&self, at: &Place) -> Option<Fault> {
        let dead = || at.expiry.unit(0) < DEAD_EXPIRIES && at.strike.unit(0) < DEAD_STRIKES;
        let contradicts = || at.strike.unit(1) < CONTRADICTING_STRIKES;
        let zero = || at.expiry.unit(1) < ZERO_EXPIRIES || at.contract.unit(0) < ZERO_CONTRACTS;
        if self.zeros && zero() {
            Some(Fault::Zero)
        } else if self.split.is_some() && dead() {
            Some(Fault::BeforeSplit)
        } else if self.wings && in_wing(at) {
            Some(Fault::StaleWing)
        } else if self.contradicting && contradicts() {
            Some(Fault::Contradicting)
        } else {
            None
        }
    }

    /// The spot before the split over the one since then.
    pub(super) fn split(&self) -> f64 {
        self.split.unwrap_or(1.0)
    }

    /// Factor by which a contract of a stale wing is too dear, and its spread as a part of its price.
    pub(super) fn wing(at: &Place) -> (f64, f64) {
        (within(&WING_TIMES, at.contract.unit(1)), within(&WING_SPREAD, at.contract.unit(2)))
    }

    /// Error, as a part of the spot, of a contract whose call and put contradict each other: one is too dear, the other
    /// too cheap.
    pub(super) fn off(at: &Place) -> f64 {
        within(&CONTRADICTED_BY, at.strike.unit(2)) * at.strike.signed(3).signum() * at.right.phi()
    }
}

/// True if a contract is in the stale wing of its expiry: the highest strikes of the calls or the lowest of the puts.
fn in_wing(at: &Place) -> bool {
    let right = if at.expiry.unit(3) < 0.5 { Right::Call } else { Right::Put };
    let part = within(&WING_ROWS, at.expiry.unit(4));
    let far = if right == Right::Call { at.height > 1.0 - part } else { at.height < part };
    at.right == right && far && at.expiry.unit(2) < WING_EXPIRIES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_twenty_is_dirty_and_no_index() {
        let all = || (0..40_000).map(|i| Stream::new(i).sub(1));
        let dirty: Vec<Dirt> = all().filter_map(|chance| Dirt::of(chance, Tier::Monthly)).collect();
        assert!((0.045..0.055).contains(&(dirty.len() as f64 / 40_000.0)), "{} of 40,000", dirty.len());
        assert_eq!(all().filter_map(|chance| Dirt::of(chance, Tier::Index)).count(), 0);
        for dirt in &dirty {
            let behind = (dirt.behind() - 1.0).abs();
            assert!(
                BEHIND_BY.contains(&behind) && (SPLITS.contains(&dirt.split()) || dirt.split.is_none()),
                "{dirt:?}"
            );
        }
        let missing = dirty.iter().filter(|d| d.spot() == Some(SpotFault::Missing)).count();
        assert!((100..250).contains(&missing), "{missing} without a spot");
    }

    #[test]
    fn call_and_put_of_a_strike_contradict_each_other() {
        for i in 0..100 {
            let (expiry, strike) = (Stream::new(1), Stream::new(i));
            let at = |right| Place { expiry, strike, contract: strike.sub(right as u64), right, height: 0.5 };
            let (call, put) = (Dirt::off(&at(Right::Call)), Dirt::off(&at(Right::Put)));
            assert!((call + put).abs() < 1e-15 && CONTRADICTED_BY.contains(&call.abs()), "{call} and {put}");
        }
    }
}
