//! The spot that a name's options are quoted against, as far as it takes to tell live quotes from dead ones.
//!
//! Each pair of call and put says a spot. Where enough of the near ones say the published spot, it is the reference;
//! where they agree on another (a halted stock, a spot from before a split) that one is, and where they agree on
//! nothing the published one stays.
//! Never: a forward that anything is valued on.

use super::forward::Pair;
use super::input::SliceInput;
use crate::kernel::dividends::escrowed;

/// A pair agrees with a spot that it is this near to, as a part of it, and this much more by year to expiry: the
/// carry is not known yet.
const AGREES: (f64, f64) = (0.03, 0.25);
/// A pair whose spreads add up to this fraction of the spot counts half.
const HALF_WEIGHT: f64 = 0.02;
/// Expiries up to here are asked first, years.
const NEAR_YEARS: f64 = 0.35;
/// The published spot is the reference where pairs with this share of the weight agree with it,
const SUPPORT: f64 = 0.2;
/// and another one only where this share agrees with that, of this weight at least.
const MAJORITY: (f64, f64) = (0.6, 3.0);

/// Works out reference spots; kept for its memory.
#[derive(Clone, Debug, Default)]
pub struct Reference {
    /// Spot that a pair says, its weight, and how near it must be, as a part of it.
    said: Vec<(f64, f64, f64)>,
}

impl Reference {
    /// The spot that the options are quoted against, `spot` being the published one; NaN: neither tells one.
    pub fn spot<'a>(&mut self, spot: f64, slices: impl Iterator<Item = (SliceInput<'a>, &'a [Pair])> + Clone) -> f64 {
        let near = slices.clone().any(|(input, pairs)| input.t <= NEAR_YEARS && !pairs.is_empty());
        let heard = slices.filter(|(input, _)| !near || input.t <= NEAR_YEARS);
        self.said.clear();
        for (input, pairs) in heard {
            let (df, a) = ((-input.r * input.t).exp(), escrowed(input.divs, input.r, 0.0, input.t));
            for pair in pairs {
                let s = df * pair.k + pair.gap + a;
                let wide = pair.half / (HALF_WEIGHT * s);
                if s > 0.0 && s.is_finite() {
                    self.said.push((s, 1.0 / (1.0 + wide * wide), AGREES.0 + AGREES.1 * input.t));
                }
            }
        }
        let all: f64 = self.said.iter().map(|said| said.1).sum();
        if spot > 0.0 && spot.is_finite() && self.agreeing(spot) >= SUPPORT * all {
            return spot;
        }
        self.said.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let step = (self.said.len() / 64).max(1);
        let candidates = self.said.iter().step_by(step).map(|said| (said.0, self.agreeing(said.0)));
        match candidates.max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((s, agreeing)) if agreeing >= MAJORITY.0 * all && agreeing >= MAJORITY.1 => s,
            _ => spot,
        }
    }

    fn agreeing(&self, s: f64) -> f64 {
        self.said.iter().filter(|said| (said.0 / s - 1.0).abs() <= said.2).map(|said| said.1).sum()
    }
}
