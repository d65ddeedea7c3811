//! The spot that a name's options are quoted against, accurate enough to separate live quotes from dead ones.
//!
//! Each call/put pair implies a spot. If enough near pairs imply the published spot, it is the reference. If they agree
//! on another spot (a halted stock, a spot from before a split), that one is. If they agree on none, the published spot
//! stays. Never: a forward of a value, a repair.

use super::forward::Pair;
use super::input::SliceInput;
use super::settings::REFERENCE;
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
