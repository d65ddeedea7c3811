//! The spot that a name's options are quoted against, as far as it takes to tell live quotes from dead ones.
//!
//! Each pair of call and put says a spot. Where enough of the near ones say the published spot, it is the reference;
//! where they agree on another (a halted stock, a spot from before a split) that one is, and where they agree on
//! nothing the published one stays.
//! Never: a forward that anything is valued on.

use super::forward::Pair;
use super::input::SliceInput;
use super::settings::REFERENCE;
use crate::kernel::dividends::escrowed;

/// Works out reference spots; kept for its memory.
#[derive(Clone, Debug, Default)]
pub struct Reference {
    /// Spot that a pair says, its weight, and how near it must be, as a part of it.
    said: Vec<(f64, f64, f64)>,
}

impl Reference {
    /// The spot that the options are quoted against, `spot` being the published one; NaN: neither tells one.
    pub fn spot<'a>(&mut self, spot: f64, slices: impl Iterator<Item = (SliceInput<'a>, &'a [Pair])> + Clone) -> f64 {
        let near = slices.clone().any(|(input, pairs)| input.t <= REFERENCE.near_years && !pairs.is_empty());
        let heard = slices.filter(|(input, _)| !near || input.t <= REFERENCE.near_years);
        self.said.clear();
        for (input, pairs) in heard {
            let (df, a) = ((-input.r * input.t).exp(), escrowed(input.divs, input.r, 0.0, input.t));
            for pair in pairs {
                let s = df * pair.k + pair.gap + a;
                let wide = pair.half / (REFERENCE.half_weight * s);
                if s > 0.0 && s.is_finite() {
                    self.said.push((
                        s,
                        1.0 / (1.0 + wide * wide),
                        REFERENCE.agrees + REFERENCE.agrees_per_year * input.t,
                    ));
                }
            }
        }
        let all: f64 = self.said.iter().map(|said| said.1).sum();
        if spot > 0.0 && spot.is_finite() && self.agreeing(spot) >= REFERENCE.support * all {
            return spot;
        }
        self.said.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let step = (self.said.len() / REFERENCE.candidates).max(1);
        let candidates = self.said.iter().step_by(step).map(|said| (said.0, self.agreeing(said.0)));
        match candidates.max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((s, agreeing)) if agreeing >= REFERENCE.majority * all && agreeing >= REFERENCE.majority_weight => s,
            _ => spot,
        }
    }

    fn agreeing(&self, s: f64) -> f64 {
        self.said.iter().filter(|said| (said.0 / s - 1.0).abs() <= said.2).map(|said| said.1).sum()
    }
}
