//! Spots and volatility levels in time: smooth noise of many time scales, so that any instant can be had directly and
//! nothing depends on what was asked before. Never: a clock, a contract.

use super::rng::Stream;
use super::surface::Class;
use super::symbols::{Level, Name};
use kernel::elementary::exp;

const SECONDS_PER_YEAR: f64 = 365.0 * 86_400.0;
/// Periods in seconds, and what share of a random walk's move over that period each carries.
const SCALES: [(f64, f64); 7] = [
    (120.0, 0.15),
    (900.0, 0.5),
    (7_200.0, 0.8),
    (43_200.0, 0.9),
    (345_600.0, 0.9),
    (1_728_000.0, 0.7),
    (7_776_000.0, 0.5),
];
/// Volatility of what all names share.
const MARKET_VOL: f64 = 0.125;
/// Rise of the logarithm of total variance when the logarithm of the market falls by 1.
const LEVERAGE: f64 = 3.0;

/// Beta of a class against the market.
const fn beta(class: Class) -> f64 {
    match class {
        Class::LargeIndex => 1.0,
        Class::TechIndex | Class::MegaCap => 1.2,
        Class::SmallIndex | Class::SmallCap => 1.1,
        Class::MidCap => 0.8,
        Class::Meme => 1.3,
        Class::Bond => -0.1,
        Class::Commodity => 0.1,
        Class::Leveraged => 3.3,
        Class::Inverse => -3.3,
        Class::Volatility => -5.0,
    }
}

/// Log deviation at `u` seconds of a path of volatility `vol`.
fn deviation(chance: Stream, vol: f64, u: i64) -> f64 {
    let term = |(scale, (period, share)): (u64, (f64, f64))| {
        share * vol * (period / SECONDS_PER_YEAR).sqrt() * chance.sub(scale).noise(u as f64 / period)
    };
    (0..).zip(SCALES).map(term).sum()
}

/// The greatest change of the log of a path of volatility `vol` in a second: the slope of the noise, all scales at
/// once.
pub(super) fn drift_most(vol: f64) -> f64 {
    let slope = |(period, share): (f64, f64)| share * (period / SECONDS_PER_YEAR).sqrt() * 3.75 / period;
    vol * SCALES.into_iter().map(slope).sum::<f64>()
}

/// The spot and the volatility level of one name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    market: Stream,
    own: Stream,
    vol_level: Stream,
    level: f64,
    beta: f64,
    own_vol: f64,
}

impl Path {
    /// The path of a name of a universe. A name that follows another has its path, at a fraction of its level; `None`
    /// where the other one is missing, or follows a third.
    pub(super) fn new(seed: Stream, name: &Name, universe: &[Name]) -> Option<Self> {
        let (leader, fraction) = match &name.level {
            Level::Own(_) => (name, 1.0),
            Level::Of(parent, fraction) => (universe.iter().find(|n| n.symbol == *parent)?, *fraction),
        };
        let Level::Own(level) = leader.level else { return None };
        let level = level * fraction;
        let chance = seed.named(&leader.symbol);
        let beta = beta(leader.class);
        let shared = beta * MARKET_VOL;
        let own = (leader.vol * leader.vol - shared * shared).max(0.09 * leader.vol * leader.vol);
        Some(Self {
            market: seed.named("market"),
            own: chance.sub(1),
            vol_level: chance.sub(2),
            level,
            beta,
            own_vol: own.sqrt(),
        })
    }

    /// Average price of the name.
    pub(super) fn level(&self) -> f64 {
        self.level
    }

    /// The spot at `u` seconds, whole cents.
    pub(super) fn spot(&self, u: i64) -> f64 {
        let moved = self.beta * deviation(self.market, MARKET_VOL, u) + deviation(self.own, self.own_vol, u);
        (self.level * exp(moved) * 100.0).round().max(1.0) / 100.0
    }

    /// The factor of all total variances at `u` seconds: up when the market falls, and noise of its own.
    pub(super) fn variance_scale(&self, u: i64) -> f64 {
        let u_years = u as f64 / SECONDS_PER_YEAR;
        let own =
            0.14 * self.vol_level.sub(1).noise(u_years * 60.0) + 0.04 * self.vol_level.sub(2).noise(u_years * 3000.0);
        exp(own - LEVERAGE * deviation(self.market, MARKET_VOL, u))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::well_known;

    fn path(symbol: &str) -> Path {
        let names = well_known();
        Path::new(Stream::new(1), names.iter().find(|n| n.symbol == symbol).unwrap(), &names).unwrap()
    }

    #[test]
    fn spots_stay_near_their_level_for_years_and_move_every_minute() {
        for (symbol, low, high) in [("SPX", 0.8, 1.25), ("KO", 0.8, 1.25), ("BYND", 0.3, 3.5), ("VIX", 0.4, 2.5)] {
            let path = path(symbol);
            let hours: Vec<f64> = (0..20_000).map(|h| path.spot(1_790_000_000 + h * 3600) / path.level()).collect();
            assert!(hours.iter().all(|&x| x > low && x < high), "{symbol} leaves its range");
            let mean_square = hours.windows(2).map(|w| (w[1] / w[0] - 1.0).powi(2)).sum::<f64>() / hours.len() as f64;
            assert!(mean_square > 1e-9, "{symbol} does not move");
        }
    }

    #[test]
    fn no_second_moves_a_spot_further_than_the_bound() {
        let spx = path("SPX");
        let most = drift_most(0.2);
        let at = |i: i64| spx.spot(1_795_000_000 + i);
        let worst = (0..5000).map(|i| (at(i + 1) / at(i) - 1.0).abs()).fold(0.0, f64::max);
        assert!(worst <= most + 2e-6, "{worst} in a second, bound {most} and a cent");
    }

    #[test]
    fn a_fund_follows_its_index() {
        let (spx, xsp) = (path("SPX"), path("XSP"));
        for day in 0..100 {
            let u = 1_795_000_000 + day * 86_400;
            assert!((xsp.spot(u) - spx.spot(u) / 10.0).abs() < 0.011, "day {day}");
        }
    }
}
