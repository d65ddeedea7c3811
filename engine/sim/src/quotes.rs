//! From values to quotes: spreads, ticks, empty sides, placeholder asks, and some bad data on purpose.
//! Never: a value, a clock.

use super::rng::Stream;
use super::tier::{Ticks, Tier};
use super::value::Fair;

/// A placeholder ask, which means that there is no offer.
const NO_OFFER: f64 = 9_999.0;
/// The chance of each kind of bad data per contract and ten minutes.
const FAULT_RATE: f64 = 0.0004;
/// Below this volatility, spreads fall in proportion.
const CALM: f64 = 0.4;
/// Duration of a fault, seconds.
const FAULT_SECONDS: i64 = 600;

/// Quoting of the contracts of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trading {
    /// Volatility across the spread at the money.
    vol: f64,
    /// Part of the spread that hedging costs, per delta and spot.
    stock: f64,
    /// Part proportional to the value.
    value: f64,
    /// Least and greatest ask of a contract that is worth nothing.
    placeholder: (f64, f64),
    /// Tick below and from 3.00, cents.
    ticks: (u32, u32),
    /// Layers of the lattice that values American contracts: its error stays far within the spread.
    pub(super) steps: usize,
}

impl Trading {
    /// Quoting of a tier.
    #[rustfmt::skip]
    pub(super) fn of(tier: Tier, ticks: Ticks) -> Self {
        let ticks = match ticks {
            Ticks::Cents  => (1, 1),
            Ticks::Penny  => (1, 5),
            Ticks::Nickel => (5, 10),
        };
        let (vol, stock, value, placeholder, steps) = match tier {
            Tier::Broad   => (0.0015, 0.000_05, 0.0,   (0.01, 0.02), 256),
            Tier::Index   => (0.0025, 0.000_1,  0.002, (0.05, 0.10), 128),
            Tier::Mega    => (0.005,  0.000_3,  0.005, (0.01, 0.05), 128),
            Tier::Weekly  => (0.015,  0.002,    0.02,  (0.05, 0.50), 64),
            Tier::Monthly => (0.04,   0.006,    0.05,  (0.10, 1.00), 32),
            Tier::Tail    => (0.10,   0.015,    0.10,  (0.25, 5.00), 24),
        };
        Self { vol, stock, value, placeholder, ticks, steps }
    }

    fn tick(&self, price: f64) -> u32 {
        if price < 3.0 { self.ticks.0 } else { self.ticks.1 }
    }

    /// The full spread of a contract before rounding. `hour`: the factor of the time of day.
    pub(super) fn spread(&self, fair: &Fair, spot: f64, t: f64, hour: f64) -> f64 {
        let long = if t > 1.0 { 1.5 } else { 1.0 };
        let model = self.vol * fair.vega + fair.delta.abs() * spot * self.stock + self.value * fair.value;
        let calm = (fair.sigma / CALM).min(1.0);
        (model * calm * long * hour).max(f64::from(self.tick(fair.value)) / 100.0)
    }

    /// The market maker's quote: bid and ask, NaN where there is none. The value lies between them.
    pub(super) fn quote(&self, fair: &Fair, spread: f64, chance: Stream, u: i64) -> (f64, f64) {
        let least = f64::from(self.ticks.0) / 100.0;
        if fair.value < 0.5 * least {
            let (low, high) = self.placeholder;
            let ask = low + (high - low) * chance.unit(1) * chance.unit(2);
            return (f64::NAN, self.up(ask.max(fair.value)));
        }
        let shift = 0.2 * chance.sub(1).noise(u as f64 / 400.0);
        let mid = fair.value + spread * shift;
        let bid = self.down(mid - 0.5 * spread);
        let unwanted = fair.value < spread && chance.unit(3) < 0.3;
        (if bid > 0.0 && !unwanted { bid } else { f64::NAN }, self.up(mid + 0.5 * spread))
    }

    fn down(&self, price: f64) -> f64 {
        let tick = f64::from(self.tick(price));
        (price * 100.0 / tick + 1e-9).floor() * tick / 100.0
    }

    fn up(&self, price: f64) -> f64 {
        let tick = f64::from(self.tick(price));
        (price * 100.0 / tick - 1e-9).ceil() * tick / 100.0
    }
}

/// The factor of all spreads at a second of the session: wide at the open, wider before the close.
pub(super) fn hour_factor(since_open: i64, to_close: i64) -> f64 {
    if since_open < 300 {
        2.0
    } else if to_close < 600 {
        1.3
    } else {
        1.0
    }
}

/// Bad data, injected on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Bid above ask.
    Crossed,
    /// Bid equal to ask.
    Locked,
    /// A quote of hours ago, with its time.
    Stale,
    /// The ask is missing.
    NoAsk,
    /// The bid is missing where there is a market.
    NoBid,
    /// An ask of 9,999.
    NoOffer,
    /// Both sides far too high.
    Fat,
    /// The contract came twice, the second time with the quote of the next strike.
    Repeated,
    /// Both sides raised by what the other right would pay at once.
    OtherRight,
    /// In dirty names: both sides frozen before a split, at many times the spot.
    BeforeSplit,
    /// In dirty names: both sides frozen far from the money, many times too dear.
    StaleWing,
    /// In dirty names: the call of a strike too dear and the put too cheap, or the reverse.
    Contradicting,
    /// In dirty names: bid and ask of zero, which a book treats as missing.
    Zero,
}

/// Faults that any contract can have for a while.
const FAULTS: [Fault; 9] = [
    Fault::Crossed,
    Fault::Locked,
    Fault::Stale,
    Fault::NoAsk,
    Fault::NoBid,
    Fault::NoOffer,
    Fault::Fat,
    Fault::Repeated,
    Fault::OtherRight,
];

impl Fault {
    /// The fault of a contract's quote at `u` seconds; `None` nearly always.
    pub(super) fn of(chance: Stream, u: i64) -> Option<Self> {
        let draw = chance.sub(2).unit(u.div_euclid(FAULT_SECONDS) as u64) / FAULT_RATE;
        FAULTS.get(draw as usize).copied()
    }

    /// Spoils a good quote.
    pub(super) fn spoil(self, bid: f64, ask: f64) -> (f64, f64) {
        match self {
            Self::Crossed => (ask, bid),
            Self::Locked => (if bid.is_nan() { bid } else { ask }, ask),
            Self::Stale | Self::Repeated | Self::OtherRight => (bid, ask),
            Self::BeforeSplit | Self::StaleWing | Self::Contradicting => (bid, ask),
            Self::Zero => (f64::NAN, f64::NAN),
            Self::NoAsk => (bid, f64::NAN),
            Self::NoBid => (f64::NAN, ask),
            Self::NoOffer => (bid, NO_OFFER),
            Self::Fat => ((bid * 180.0).round() / 100.0, (ask * 180.0).round() / 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_quote_is_on_the_tick_and_holds_the_value() {
        let trading = Trading::of(Tier::Weekly, Ticks::Penny);
        for i in 0..2000_u32 {
            let value = 0.004 * f64::from(i) + 0.003;
            let fair = Fair { value, delta: 0.5, vega: 10.0, sigma: 0.3 };
            let spread = trading.spread(&fair, 70.0, 0.1, 1.0);
            let (bid, ask) = trading.quote(&fair, spread, Stream::new(u64::from(i)), 1_790_000_000 + i64::from(i));
            assert!(ask >= value, "{value}: ask {ask}");
            assert!(bid.is_nan() || (bid > 0.0 && bid <= value), "{value}: bid {bid}");
            let cents = ask * 100.0;
            let tick = if ask < 3.0 { 1.0 } else { 5.0 };
            assert!((cents / tick - (cents / tick).round()).abs() < 1e-9, "ask {ask} is off the tick");
        }
    }

    #[test]
    fn faults_come_at_their_rate() {
        let n = 400_000_u64;
        let bad = (0..n).filter(|&i| Fault::of(Stream::new(i), 1_790_000_000).is_some()).count() as f64;
        let want = n as f64 * FAULT_RATE * FAULTS.len() as f64;
        assert!((bad / want - 1.0).abs() < 0.1, "{bad} faults, {want} expected");
    }
}
