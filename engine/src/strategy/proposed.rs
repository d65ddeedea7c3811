//! Contracts of a chain for a known strategy, about the money. Never: a price.

use super::known::{KnownStrategy, ShapeLeg};
use super::{HeldLeg, SpotDistribution};
use crate::store::chain::{Chain, Slice};
use crate::store::columns::Col;
use jiff::civil::Date;
use kernel::contract::{Right, strike_of};
use std::collections::{BTreeMap, BTreeSet};

/// Days to the first settlement, where no expiry is asked for, and from the first to the later one: of the listed
/// expiries the nearest is taken.
const DAYS: f64 = 30.0;

impl KnownStrategy {
    /// Legs of the strategy, with contracts, or shares for each unit of a contract's multiplier; negative if sold. The
    /// strikes lie about the forward, a standard deviation of the spot apart; the one contract beside shares is out of
    /// the money. `None`: the chain does not list such contracts, or they have no values.
    #[must_use]
    pub fn propose(&self, chain: &Chain, expiry: Option<Date>) -> Option<Vec<(HeldLeg, f64)>> {
        let shares = self.has_shares().then_some((HeldLeg::Shares, self.side * self.shape.shares));
        if self.shape.legs.is_empty() {
            return Some(shares.into_iter().collect());
        }
        let nearest = |days: f64, is_asked: &dyn Fn(&Slice) -> bool| {
            let slices = chain.slices.iter().enumerate();
            let slices = slices.filter(|(_, slice)| is_asked(slice) && SpotDistribution::of(chain, slice).is_some());
            let distance = |slice: &Slice| (slice.days - days).abs();
            slices.min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b))).map(|(place, _)| place)
        };
        let near = nearest(DAYS, &|slice| expiry.is_none_or(|expiry| slice.expiry == expiry))?;
        let first = &chain.slices[near];
        let later =
            nearest(first.days + DAYS, &|slice| slice.root == first.root && slice.settles_at > first.settles_at);
        let mut rows: Vec<(&ShapeLeg, usize, BTreeMap<u32, usize>)> = Vec::new();
        for leg in self.shape.legs {
            let slice = if leg.is_later { later? } else { near };
            rows.push((leg, slice, valued(chain, slice, leg.right)));
        }
        let mut listed: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
        for (leg, _, rows) in &rows {
            let strikes = listed.entry(leg.strike).or_insert_with(|| rows.keys().copied().collect());
            strikes.retain(|strike| rows.contains_key(strike));
        }
        let strikes = self.strikes(&listed, &SpotDistribution::of(chain, first)?, first.fwd_price)?;
        let contracts = rows.iter().map(|(leg, slice, rows)| {
            let row = rows[&strikes[&leg.strike]];
            (HeldLeg::Contract { slice: *slice, row }, self.side * leg.ratio)
        });
        Some(shares.into_iter().chain(contracts).collect())
    }

    /// The strike chosen for each place of the shape, out of the strikes `listed` for it; thousandths.
    fn strikes(
        &self,
        listed: &BTreeMap<usize, BTreeSet<u32>>,
        spot: &SpotDistribution,
        fwd: f64,
    ) -> Option<BTreeMap<usize, u32>> {
        let (first, last) = (listed.first_key_value()?.0, listed.last_key_value()?.0);
        let middle = 0.5 * (*first as f64 + *last as f64);
        let beside = match self.shape.legs {
            [leg] if self.has_shares() => 0.5 * leg.right.phi(),
            _ => 0.0,
        };
        let wanted = |place: usize| fwd * ((place as f64 - middle + beside) * spot.deviation()).exp();
        let nearest = |place: usize, strikes: &mut dyn Iterator<Item = u32>| {
            let miss = |strike: u32| (strike_of(strike) / wanted(place)).ln().abs();
            strikes.min_by(|&a, &b| miss(a).total_cmp(&miss(b)))
        };
        let mut chosen = BTreeMap::new();
        if self.shape.is_even {
            let [(&low, lower), (&body, bodies), (&high, higher)] = listed.iter().collect::<Vec<_>>()[..] else {
                return None;
            };
            let center = nearest(body, &mut bodies.iter().copied())?;
            let other = |wing: u32| (2 * center).checked_sub(wing);
            let is_pair = |wing: &u32| other(*wing).is_some_and(|other| higher.contains(&other));
            let wing = nearest(low, &mut lower.range(..center).copied().filter(is_pair))?;
            chosen.extend([(low, wing), (body, center), (high, other(wing)?)]);
        } else {
            let mut from = 0;
            for (&place, strikes) in listed {
                let strike = nearest(place, &mut strikes.range(from..).copied())?;
                chosen.insert(place, strike);
                from = strike + 1;
            }
        }
        Some(chosen)
    }
}

/// The rows of a slice and right that have a value, by strike.
fn valued(chain: &Chain, slice: usize, right: Right) -> BTreeMap<u32, usize> {
    let rows = &chain.slices[slice].rows;
    let values = chain.columns.get(Col::SvcTheo);
    let rows = rows.start as usize..rows.end as usize;
    let rows = rows.filter(|&row| chain.right[row] == right && values[row].is_finite());
    rows.map(|row| (chain.strike_milli[row], row)).collect()
}
