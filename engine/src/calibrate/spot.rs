//! The spot that a name's options are quoted against, accurate enough to separate live quotes from dead ones.
//!
//! Each call/put pair implies a spot. If enough near pairs imply the published spot, it is the reference. If they agree
//! on another spot (a halted stock, a spot from before a split), that one is. If they agree on none, the published spot
//! stays.
//!
//! Strikes or prices may be in other units than the spot: strikes in thousandths, prices of a whole contract. C − P
//! falls by the discount factor for each unit of strike, whatever spot and volatility are. If in most expiries it falls
//! by that times a power of ten, strikes and prices have different units. Never: a forward of a value, a repair.

use super::forward::Pair;
use super::input::SliceInput;
use super::settings::{REFERENCE, SCALE};
use super::slice_work::SliceWork;
use crate::store::chain::Uncomputed;
use crate::store::ladder::Ladder;
use kernel::contract::Right;
use kernel::dividends::escrowed;

/// Finds reference spots; kept for its memory.
#[derive(Clone, Debug, Default)]
pub struct Reference {
    /// Implied spot of each pair, its weight, and its relative tolerance.
    votes: Vec<(f64, f64, f64)>,
}

impl Reference {
    /// The spot that the options are quoted against, `spot` being the published one; NaN: neither gives one.
    ///
    /// # Units    currency per share
    /// # Domain   slices of one name whose forward is that of its spot, with any pairs; none leaves the published one
    /// # Source   a mode and not a mean: what most pairs imply, `REFERENCE`
    /// # Cost     the pairs once where the published one holds; 64 candidates times the pairs where it does not
    pub fn spot<'a>(&mut self, spot: f64, slices: impl Iterator<Item = (SliceInput<'a>, &'a [Pair])> + Clone) -> f64 {
        let near = slices.clone().any(|(input, pairs)| input.t <= REFERENCE.near_years && !pairs.is_empty());
        let used = slices.filter(|(input, _)| !near || input.t <= REFERENCE.near_years);
        self.votes.clear();
        for (input, pairs) in used {
            let (df, a) = ((-input.r * input.t).exp(), escrowed(input.divs, input.r, 0.0, input.t));
            for pair in pairs {
                let s = df * pair.k + pair.gap + a;
                // Cauchy in the spread: a pair of dead quotes is as wide as its price, and implies any spot
                let wide = pair.half / (REFERENCE.half_weight * s);
                if s > 0.0 && s.is_finite() {
                    self.votes.push((
                        s,
                        1.0 / (1.0 + wide * wide),
                        REFERENCE.agrees + REFERENCE.agrees_per_year * input.t,
                    ));
                }
            }
        }
        let all: f64 = self.votes.iter().map(|vote| vote.1).sum();
        // the published spot first: a fifth of the pairs seldom agree with it by chance, more often the others are dead
        if spot > 0.0 && spot.is_finite() && self.agreeing(spot) >= REFERENCE.support * all {
            return spot;
        }
        self.votes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let step = (self.votes.len() / REFERENCE.candidates).max(1);
        let candidates = self.votes.iter().step_by(step).map(|vote| (vote.0, self.agreeing(vote.0)));
        let least = if spot.is_nan() { REFERENCE.majority_weight_alone } else { REFERENCE.majority_weight };
        match candidates.max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((s, agreeing)) if agreeing >= REFERENCE.majority * all && agreeing >= least => s,
            _ => spot,
        }
    }

    fn agreeing(&self, s: f64) -> f64 {
        self.votes.iter().filter(|vote| (vote.0 / s - 1.0).abs() <= vote.2).map(|vote| vote.1).sum()
    }
}

/// Finds whether strikes or prices are in other units than the spot; `None`: neither are.
///
/// # Domain   slices with their ladders, any quotes; an expiry needs two strikes with both sides of call and put
/// # Cost     a few ns a slice
pub(super) fn wrong_scale(published: f64, inputs: &[SliceInput<'_>], slices: &[SliceWork]) -> Option<Uncomputed> {
    let (mut asked, mut strikes, mut prices) = (0, 0, 0);
    for (input, slice) in inputs.iter().zip(slices).filter(|(input, _)| input.shares.is_none()) {
        let ladder = &slice.state.ladder;
        let pair = |strike: usize| CrudePair::of(input, ladder, strike);
        let (Some(low), Some(high)) = ((0..ladder.len()).find_map(pair), (0..ladder.len()).rev().find_map(pair)) else {
            continue;
        };
        asked += 1;
        let (fall, apart) = (low.gap - high.gap, high.k - low.k);
        // errors of the two gaps must be small against their difference
        if !(apart > 0.0 && fall > 2.0 * (low.half + high.half)) {
            continue;
        }
        let slope = fall / apart;
        let power = 10f64.powf(slope.log10().round());
        let is_power = (slope / power).ln().abs() < SCALE.within.ln();
        if is_power && (power * SCALE.least <= 1.0 || power >= SCALE.least) {
            // strikes of the order of the spot are right
            let middle = 0.5 * (low.k + high.k) / published;
            let is_strike = !(SCALE.strike_least..SCALE.strike_most).contains(&middle);
            strikes += usize::from(is_strike);
            prices += usize::from(!is_strike);
        }
    }
    match () {
        () if 2 * strikes > asked => Some(Uncomputed::StrikeScale),
        () if 2 * prices > asked => Some(Uncomputed::PriceScale),
        () => None,
    }
}

/// Call and put of one strike as they are quoted, clean or not: prices in other units are mostly too wide.
struct CrudePair {
    k: f64,
    /// Call mid less put mid.
    gap: f64,
    /// Half of both spreads.
    half: f64,
}

impl CrudePair {
    fn of(input: &SliceInput<'_>, ladder: &Ladder, strike: usize) -> Option<Self> {
        let sides = |right: Right| {
            let row = ladder.row(right, strike)?;
            let (bid, ask) = (input.bid[row], input.ask[row]);
            (bid >= 0.0 && ask > bid).then_some((0.5 * (bid + ask), 0.5 * (ask - bid)))
        };
        let ((call, wide), (put, other)) = (sides(Right::Call)?, sides(Right::Put)?);
        Some(Self { k: ladder.strikes()[strike], gap: call - put, half: wide + other })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::testing::slice;

    /// Pairs of one expiry of a tenth of a year that imply the given spots.
    fn reference(published: f64, pair_spots: &[f64]) -> f64 {
        let slice = slice(100.0, 0.1, &[]);
        let df = (-slice.r * slice.t).exp();
        let pair = |&s: &f64| Pair { strike: 0, k: s, gap: s - df * s, half: 0.001 * s, straddle: 0.1 * s };
        let pairs: Vec<Pair> = pair_spots.iter().map(pair).collect();
        Reference::default().spot(published, [(slice.input(), &pairs[..])].into_iter())
    }

    #[test]
    fn the_published_spot_holds_while_some_pairs_agree_with_it() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(reference(100.0, &[100.1, 99.8, 100.0, 30.0, 30.1, 30.2, 30.3]), 100.0));
        // a split: no pair agrees with it, and all agree on another
        assert!((reference(100.0, &[24.9, 25.0, 25.1, 25.0, 25.05]) / 25.0 - 1.0).abs() < 0.01);
        // no pair agrees with it, nor with each other; or too few do
        assert!(near(reference(100.0, &[20.0, 35.0, 50.0, 65.0, 150.0]), 100.0));
        assert!(near(reference(100.0, &[25.0, 25.1]), 100.0));
        assert!(near(reference(100.0, &[]), 100.0));
        // none is published: two pairs that agree are enough, and contradictory pairs imply none
        assert!((reference(f64::NAN, &[25.0; 5]) / 25.0 - 1.0).abs() < 0.01);
        assert!((reference(f64::NAN, &[25.0, 25.1]) / 25.0 - 1.0).abs() < 0.01);
        assert!(reference(f64::NAN, &[20.0, 35.0, 50.0]).is_nan() && reference(f64::NAN, &[]).is_nan());
    }
}
