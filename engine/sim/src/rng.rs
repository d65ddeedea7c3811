//! Reproducible chance: numbers that depend on a key and a counter only, so that any of them can be had in any order,
//! on any thread, at any time. No state, no dependency, the same bits on every platform.
//!
//! Source: the finalizer of SplitMix64 (Steele, Lea and Flood, 2014), used as a hash of key and counter.

/// 2⁻⁵³: one unit in the last place of a number in [0, 1).
const ULP: f64 = 1.0 / 9_007_199_254_740_992.0;

/// The finalizer of SplitMix64: every bit of the result depends on every bit of `x`.
const fn mix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// An endless table of random numbers, named by its key. A plain value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream(u64);

impl Stream {
    /// The stream of a seed.
    pub(super) const fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// An independent stream below this one.
    pub(super) const fn sub(self, tag: u64) -> Self {
        Self(mix(self.0 ^ mix(tag)))
    }

    /// An independent stream below this one, by name.
    pub(super) fn named(self, name: &str) -> Self {
        name.bytes().fold(self, |stream, byte| stream.sub(u64::from(byte)))
    }

    /// Entry `i`, all 64 bits random.
    pub(super) const fn bits(self, i: u64) -> u64 {
        mix(self.0.wrapping_add(mix(i)))
    }

    /// Entry `i`, uniform in [0, 1).
    pub(super) fn unit(self, i: u64) -> f64 {
        (self.bits(i) >> 11) as f64 * ULP
    }

    /// Entry `i`, uniform in [-1, 1).
    pub(super) fn signed(self, i: u64) -> f64 {
        self.unit(i) * 2.0 - 1.0
    }

    /// About normal, mean 0, standard deviation 1, within ±6: the sum of twelve uniform numbers.
    pub(super) fn normal(self, i: u64) -> f64 {
        (0..12).map(|n| self.sub(i).unit(n)).sum::<f64>() - 6.0
    }

    /// Smooth noise in [-1, 1] over the real line: random at the integers, twice differentiable between them.
    pub(super) fn noise(self, x: f64) -> f64 {
        let left = x.floor();
        let f = x - left;
        let at = |i: f64| self.signed(i as i64 as u64);
        let fade = f * f * f * (f * (f * 6.0 - 15.0) + 10.0);
        let (a, b) = (at(left), at(left + 1.0));
        a + (b - a) * fade
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_uniform_and_streams_differ() {
        let (a, b) = (Stream::new(1), Stream::new(2));
        let n = 20_000;
        let mean = (0..n).map(|i| a.unit(i)).sum::<f64>() / n as f64;
        let cross = (0..n).map(|i| a.signed(i) * b.signed(i)).sum::<f64>() / n as f64;
        let square = (0..n).map(|i| a.signed(i) * a.signed(i)).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.01, "mean {mean}");
        assert!(cross.abs() < 0.01, "two streams correlate: {cross}");
        assert!((square - 1.0 / 3.0).abs() < 0.01, "second moment {square}");
        assert_ne!(a.named("SPX"), a.named("SPY"));
    }

    #[test]
    fn bits_are_those_of_every_platform() {
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf, "first output of the published generator for state 0");
        assert_eq!(mix(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4, "and its second");
    }

    #[test]
    fn noise_is_continuous_and_bounded() {
        let s = Stream::new(3);
        let mut last = s.noise(-5.0);
        for i in 1..=10_000 {
            let now = s.noise(-5.0 + f64::from(i) * 1e-3);
            assert!(now.abs() <= 1.0 && (now - last).abs() < 4e-3, "step {i}: {last} to {now}");
            last = now;
        }
    }
}
