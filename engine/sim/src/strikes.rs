//! The strikes of an expiry in the whole market: so many, on steps that fit the price. Never: a price of an option.

use super::rng::Stream;
use super::tier::Tier;
use kernel::elementary::exp;

/// The steps that exchanges list strikes in, thousandths.
const STEPS: [u32; 11] = [500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 200_000, 500_000, 1_000_000];
/// Fine steps reach this many standard deviations, middle ones twice as many; less where there would be too many
/// strikes.
const FINE: f64 = 1.5;
/// Widths of the fine zone that are tried, to reach the desired number of strikes.
const ZONES: [f64; 11] = [4.0, 2.5, 1.6, 1.0, 0.7, 0.48, 0.36, 0.26, 0.18, 0.1, 0.0];
/// Years before expiry at which third Fridays, and other dates, are listed: their range is as wide as was wanted then.
const LISTED_AHEAD: (f64, f64) = (0.9, 0.4);
/// Standard deviations below and above the spot that are listed, at the listing.
const REACH: (f64, f64) = (9.5, 2.7);
/// The least time, years, whose standard deviation zones are measured in.
const LEAST_TIME: f64 = 0.08;

/// Inputs of the strikes of an expiry.
#[derive(Clone, Copy, Debug)]
pub(super) struct StrikeCount {
    pub(super) tier: Tier,
    /// Strikes of an expiry of this name on average.
    pub(super) mean: f64,
    /// A third Friday: listed longer, so with more strikes.
    pub(super) monthly: bool,
    pub(super) spot: f64,
    /// The spot of some months ago.
    pub(super) past: f64,
    /// Years to settlement.
    pub(super) t: f64,
    /// Volatility at the money.
    pub(super) sigma: f64,
}

impl StrikeCount {
    /// The strikes in thousandths, ascending: a step near the money, two and four outwards, and some far ones left over
    /// from where the spot was.
    pub(super) fn strikes(&self, chance: Stream) -> Vec<u32> {
        let size = if self.monthly { 1.12 } else { 0.9 };
        let wanted = (1.03 * self.mean * size * (0.85 + 0.3 * chance.unit(21))).max(5.0);
        let stale = (wanted * (0.05 + 0.10 * chance.unit(22))).round();
        let near = wanted - stale;
        let (low, high) = self.range();
        let step = self.step(near, low, high);
        let ladders = ZONES.map(|part| self.ladder(step, part, low, high));
        let off = |l: &Vec<u32>| (l.len() as f64 - near).abs();
        let mut strikes = ladders.into_iter().min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or_default();
        let excess = (strikes.len() as f64 - near).max(0.0) as usize;
        strikes.truncate(strikes.len() - excess / 2);
        strikes.drain(..excess - excess / 2);
        self.add_stale(&mut strikes, stale as u64, step, chance);
        strikes.sort_unstable();
        strikes.dedup();
        strikes
    }

    /// The range of strikes.
    fn range(&self) -> (f64, f64) {
        let ahead = if self.monthly { LISTED_AHEAD.0 } else { LISTED_AHEAD.1 };
        let sd = self.sigma * self.t.max(ahead).sqrt();
        let least = (4.0 * sd + 0.04).min(if self.t > 1.0 { 0.8 } else { 0.45 });
        let (below, above) = ((REACH.0 * sd).max(least), (REACH.1 * sd).max(0.6 * least));
        (self.spot * exp(-below.min(3.0)), self.spot * exp(above.min(1.2)))
    }

    /// The widest step that gives `near` strikes or more, but not finer than the class may have.
    fn step(&self, near: f64, low: f64, high: f64) -> u32 {
        let finest = self.finest();
        let enough = |h: &u32| {
            (high - low) * 1000.0 / f64::from(*h) >= near
                && self.ladder(*h, self.evenness(), low, high).len() as f64 >= near
        };
        STEPS.into_iter().rev().filter(|&h| h >= finest).find(enough).unwrap_or(finest)
    }

    /// Width of the fine zone of a name that has its desired number of strikes: active names list wings in full.
    fn evenness(&self) -> f64 {
        match self.tier {
            Tier::Index | Tier::Broad | Tier::Mega | Tier::Weekly => 4.0,
            Tier::Monthly => 1.6,
            Tier::Tail => 1.0,
        }
    }

    /// The finest step of the class, thousandths (volume table of universe section 4, penny names finer).
    fn finest(&self) -> u32 {
        let by_price = |steps: [u32; 5]| {
            let at = [25.0, 75.0, 150.0, 500.0].iter().position(|&most| self.spot < most).unwrap_or(4);
            steps[at]
        };
        let short = self.t < 0.06;
        match self.tier {
            Tier::Index if self.spot > 1000.0 => 5_000,
            Tier::Index | Tier::Broad => 500,
            _ if self.spot < 12.0 => 500,
            _ if self.sigma < 0.25 => by_price([500, 500, 1000, 1000, 5000]),
            Tier::Mega if short => by_price([500, 500, 1000, 2500, 2500]),
            Tier::Mega => by_price([500, 1000, 1000, 2500, 5000]),
            Tier::Weekly if short => by_price([500, 500, 1000, 2500, 5000]),
            Tier::Weekly => by_price([500, 1000, 1000, 5000, 5000]),
            Tier::Monthly => by_price([1000, 1000, 2500, 5000, 10_000]),
            Tier::Tail => by_price([1000, 2500, 5000, 5000, 10_000]),
        }
    }

    /// Multiples of `step` from `low` to `high`: every one within `part` of the fine zone, every second further out,
    /// every fourth far above.
    fn ladder(&self, step: u32, part: f64, low: f64, high: f64) -> Vec<u32> {
        let (h, sd) = (f64::from(step) / 1000.0, self.sigma * self.t.max(LEAST_TIME).sqrt() * self.spot);
        let (first, last) = ((low / h).ceil().max(1.0) as u32, (high / h).floor() as u32);
        let far = if self.t > 1.0 && self.spot > 8.0 * h { 2 } else { 1 };
        let spacing = |n: u32| {
            let k = f64::from(n) * h;
            match (k - self.spot).abs() / sd {
                away if away > 2.0 * FINE * part.max(0.25) => {
                    if k < self.spot {
                        2
                    } else {
                        4
                    }
                }
                away if away > FINE * part => 2 * far,
                _ => far,
            }
        };
        (first..=last).filter(|&n| n % spacing(n) == 0).map(|n| n * step).collect()
    }

    fn add_stale(&self, strikes: &mut Vec<u32>, n: u64, step: u32, chance: Stream) {
        let chance = chance.sub(23);
        for i in 0..n {
            let edge = if chance.unit(i) < 0.75 { 0.55 } else { 1.5 };
            let at = self.past * edge * (1.0 + 0.25 * chance.signed(i + 1000));
            let coarse = 2 * step;
            let strike = ((at * 1000.0 / f64::from(coarse)).round() as u32).max(1) * coarse;
            strikes.push(strike.min(90_000_000));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strikes_are_about_as_many_as_wanted_and_span_the_money() {
        for (tier, mean, spot, sigma) in [
            (Tier::Index, 217.0, 7000.0, 0.15),
            (Tier::Broad, 115.0, 700.0, 0.15),
            (Tier::Mega, 83.0, 275.0, 0.3),
            (Tier::Weekly, 40.0, 60.0, 0.4),
            (Tier::Monthly, 24.0, 30.0, 0.5),
            (Tier::Tail, 14.0, 22.0, 0.6),
            (Tier::Tail, 14.0, 2.3, 1.2),
            (Tier::Tail, 14.0, 0.7, 1.2),
        ] {
            let mut sum = 0;
            for (i, t) in [0.01, 0.05, 0.1, 0.3, 0.8, 1.6].into_iter().enumerate() {
                let count = StrikeCount { tier, mean, monthly: i > 1, spot, past: 1.1 * spot, t, sigma };
                let strikes = count.strikes(Stream::new(i as u64));
                assert!(strikes.is_sorted() && strikes.windows(2).all(|w| w[0] < w[1]), "{strikes:?}");
                let below = strikes.iter().filter(|&&k| f64::from(k) < spot * 1000.0).count();
                assert!(below >= 1 && strikes.len() > below, "{tier:?} {spot} t {t}: {strikes:?}");
                sum += strikes.len();
            }
            let found = sum as f64 / 6.0;
            // below a dollar there is no room for more on steps of 0.50
            let least = if spot < 1.0 { 4.0 } else { 0.6 * mean };
            assert!(found >= least && found < 1.3 * mean, "{tier:?} {spot}: {found} for {mean}");
        }
    }
}
