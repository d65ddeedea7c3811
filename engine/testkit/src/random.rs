//! Numbers that look random and are the same in every run.

/// SplitMix64 (Steele, Lea and Flood 2014): a generator with one word of state, good enough for tests.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// A whole number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// One of some values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sequence_that_fills_the_interval() {
        let draws = |seed| (0..10_000).scan(Random::new(seed), |random, _| Some(random.unit())).collect::<Vec<f64>>();
        assert_eq!(
            draws(7).iter().map(|x| x.to_bits()).sum::<u64>(),
            draws(7).iter().map(|x| x.to_bits()).sum::<u64>()
        );
        let mean = draws(7).iter().sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.02 && draws(7).iter().all(|x| (0.0..1.0).contains(x)), "{mean}");
        assert!(draws(7)[0].to_bits() != draws(8)[0].to_bits());
    }
}
