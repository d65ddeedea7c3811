//! Strategies by the names that traders give them: one table of shapes names legs, and proposes them. Never: a price.

use jiff::Timestamp;
use kernel::contract::Right;
use std::collections::BTreeSet;

/// A contract of a strategy, as its name depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownLeg {
    /// Call or put.
    pub right: Right,
    /// Strike in thousandths of a currency unit.
    pub strike_milli: u32,
    /// Settlement.
    pub settles_at: Timestamp,
    /// Contracts times their multiplier; negative if sold.
    pub units: f64,
}

/// Shares and contracts of a known strategy. With the opposite sides they may be another.
#[derive(Debug)]
pub(super) struct StrategyShape {
    name: &'static str,
    /// Name of the opposite sides.
    opposite: Option<&'static str>,
    /// Shares for each unit of the smallest leg; negative if sold.
    pub(super) shares: f64,
    pub(super) legs: &'static [ShapeLeg],
    /// Strikes lie at equal distances.
    pub(super) is_even: bool,
}

/// A contract of a shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShapeLeg {
    pub(super) right: Right,
    /// Place of its strike. The order names; in a proposal places are a standard deviation of the spot apart.
    pub(super) strike: usize,
    /// It settles after the others.
    pub(super) is_later: bool,
    /// Units relative to the smallest leg; negative if sold.
    pub(super) ratio: f64,
    /// Any ratio above 1 is as good.
    is_open: bool,
}

const fn call(strike: usize, ratio: f64) -> ShapeLeg {
    ShapeLeg { right: Right::Call, strike, is_later: false, ratio, is_open: false }
}

const fn put(strike: usize, ratio: f64) -> ShapeLeg {
    ShapeLeg { right: Right::Put, ..call(strike, ratio) }
}

impl ShapeLeg {
    const fn later(self) -> Self {
        Self { is_later: true, ..self }
    }

    const fn or_more(self) -> Self {
        Self { is_open: true, ..self }
    }
}

const fn shape(name: &'static str, opposite: &'static str, legs: &'static [ShapeLeg]) -> StrategyShape {
    let opposite = if opposite.is_empty() { None } else { Some(opposite) };
    StrategyShape { name, opposite, shares: 0.0, legs, is_even: false }
}

impl StrategyShape {
    const fn with_shares(self) -> Self {
        Self { shares: 1.0, ..self }
    }

    const fn even(self) -> Self {
        Self { is_even: true, ..self }
    }
}

/// Known strategies: name, name of the opposite sides, legs by strike and ratio. Of several that fit the first is the
/// name; of several with one name the first is proposed.
#[rustfmt::skip]
const SHAPES: &[StrategyShape] = &[
    shape("long shares", "short shares", &[]).with_shares(),
    shape("long call", "short call", &[call(1, 1.0)]),
    shape("long put", "short put", &[put(1, 1.0)]),
    shape("covered call", "protective call", &[call(1, -1.0)]).with_shares(),
    shape("protective put", "covered put", &[put(1, 1.0)]).with_shares(),
    shape("collar", "", &[put(1, 1.0), call(2, -1.0)]).with_shares(),
    shape("covered strangle", "", &[put(1, -1.0), call(2, -1.0)]).with_shares(),
    shape("covered straddle", "", &[put(1, -1.0), call(1, -1.0)]).with_shares(),
    shape("conversion", "reversal", &[put(1, 1.0), call(1, -1.0)]).with_shares(),
    shape("bull call vertical", "bear call vertical", &[call(1, 1.0), call(2, -1.0)]),
    shape("bull put vertical", "bear put vertical", &[put(1, 1.0), put(2, -1.0)]),
    shape("call ratio spread", "call backspread", &[call(1, 1.0), call(2, -2.0).or_more()]),
    shape("put ratio spread", "put backspread", &[put(2, 1.0), put(1, -2.0).or_more()]),
    shape("long straddle", "short straddle", &[put(1, 1.0), call(1, 1.0)]),
    shape("long strangle", "short strangle", &[put(1, 1.0), call(2, 1.0)]),
    shape("long guts", "short guts", &[call(1, 1.0), put(2, 1.0)]),
    shape("long strap", "short strap", &[put(1, 1.0), call(1, 2.0)]),
    shape("long strip", "short strip", &[put(1, 2.0), call(1, 1.0)]),
    shape("synthetic long shares", "synthetic short shares", &[put(1, -1.0), call(1, 1.0)]),
    shape("risk reversal", "short risk reversal", &[put(1, -1.0), call(2, 1.0)]),
    shape("risk reversal", "short risk reversal", &[put(2, -1.0), call(1, 1.0)]),
    shape("long call calendar", "short call calendar", &[call(1, -1.0), call(1, 1.0).later()]),
    shape("long put calendar", "short put calendar", &[put(1, -1.0), put(1, 1.0).later()]),
    shape("long call diagonal", "short call diagonal", &[call(2, -1.0), call(1, 1.0).later()]),
    shape("long call diagonal", "short call diagonal", &[call(1, -1.0), call(2, 1.0).later()]),
    shape("long put diagonal", "short put diagonal", &[put(1, -1.0), put(2, 1.0).later()]),
    shape("long put diagonal", "short put diagonal", &[put(2, -1.0), put(1, 1.0).later()]),
    shape("long call butterfly", "short call butterfly", &[call(1, 1.0), call(2, -2.0), call(3, 1.0)]).even(),
    shape("long put butterfly", "short put butterfly", &[put(1, 1.0), put(2, -2.0), put(3, 1.0)]).even(),
    shape("long call broken-wing butterfly", "short call broken-wing butterfly",
          &[call(1, 1.0), call(2, -2.0), call(4, 1.0)]),
    shape("long put broken-wing butterfly", "short put broken-wing butterfly",
          &[put(1, 1.0), put(3, -2.0), put(4, 1.0)]),
    shape("long call ladder", "short call ladder", &[call(1, 1.0), call(2, -1.0), call(3, -1.0)]),
    shape("long put ladder", "short put ladder", &[put(1, -1.0), put(2, -1.0), put(3, 1.0)]),
    shape("jade lizard", "", &[put(1, -1.0), call(2, -1.0), call(3, 1.0)]),
    shape("big lizard", "", &[put(1, -1.0), call(1, -1.0), call(2, 1.0)]),
    shape("reverse jade lizard", "", &[put(1, 1.0), put(2, -1.0), call(3, -1.0)]),
    shape("reverse jade lizard", "", &[put(1, 1.0), put(2, -1.0), call(2, -1.0)]),
    shape("long call condor", "short call condor", &[call(1, 1.0), call(2, -1.0), call(3, -1.0), call(4, 1.0)]),
    shape("long put condor", "short put condor", &[put(1, 1.0), put(2, -1.0), put(3, -1.0), put(4, 1.0)]),
    shape("iron condor", "reverse iron condor", &[put(1, 1.0), put(2, -1.0), call(3, -1.0), call(4, 1.0)]),
    shape("iron butterfly", "reverse iron butterfly", &[put(1, 1.0), put(2, -1.0), call(2, -1.0), call(3, 1.0)]),
    shape("long box", "short box", &[call(1, 1.0), call(2, -1.0), put(1, -1.0), put(2, 1.0)]),
    shape("long double calendar", "short double calendar",
          &[put(1, -1.0), put(1, 1.0).later(), call(2, -1.0), call(2, 1.0).later()]),
    shape("long double calendar", "short double calendar",
          &[put(1, -1.0), put(1, 1.0).later(), call(1, -1.0), call(1, 1.0).later()]),
    shape("long double diagonal", "short double diagonal",
          &[put(2, -1.0), put(1, 1.0).later(), call(3, -1.0), call(4, 1.0).later()]),
    shape("long double diagonal", "short double diagonal",
          &[put(2, -1.0), put(1, 1.0).later(), call(2, -1.0), call(3, 1.0).later()]),
    shape("long double diagonal", "short double diagonal",
          &[put(1, -1.0), put(2, 1.0).later(), call(4, -1.0), call(3, 1.0).later()]),
];

/// The word for legs of no known strategy.
const CUSTOM: &str = "custom";

/// A strategy that traders have a name for.
#[derive(Clone, Copy, Debug)]
pub struct KnownStrategy {
    /// The name.
    pub name: &'static str,
    pub(super) shape: &'static StrategyShape,
    /// 1, or -1 for the opposite sides of the shape.
    pub(super) side: f64,
}

impl KnownStrategy {
    /// Every known strategy; a name of several shapes stands several times.
    fn all() -> impl Iterator<Item = Self> {
        SHAPES.iter().flat_map(|shape| {
            let opposite = shape.opposite.map(|name| Self { name, shape, side: -1.0 });
            std::iter::once(Self { name: shape.name, shape, side: 1.0 }).chain(opposite)
        })
    }

    /// Every name once.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        let mut seen = BTreeSet::new();
        Self::all().map(|known| known.name).filter(|name| seen.insert(*name)).collect()
    }

    /// The strategy of a name, in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|known| known.name.eq_ignore_ascii_case(name))
    }

    /// True if shares are part of it.
    #[must_use]
    pub fn has_shares(&self) -> bool {
        self.shape.shares != 0.0
    }

    /// True if shares and contracts, each contract once, are this strategy.
    fn is(&self, shares: f64, legs: &[KnownLeg]) -> bool {
        let StrategyShape { legs: wanted, is_even, .. } = *self.shape;
        let all = legs.iter().map(|leg| leg.units).chain((shares != 0.0).then_some(shares));
        let smallest = all.fold(f64::INFINITY, |least, units| least.min(units.abs()));
        let is_ratio = |units: f64, ratio: f64| (units / smallest - self.side * ratio).abs() < 1e-9;
        let strikes: BTreeSet<u32> = legs.iter().map(|leg| leg.strike_milli).collect();
        let expiries: BTreeSet<Timestamp> = legs.iter().map(|leg| leg.settles_at).collect();
        let places: BTreeSet<usize> = wanted.iter().map(|leg| leg.strike).collect();
        let is_leg = |leg: &KnownLeg, wanted: &ShapeLeg| {
            let is_more = wanted.is_open && leg.units / smallest * (self.side * wanted.ratio.signum()) > 1.0 + 1e-9;
            leg.right == wanted.right
                && strikes.range(..leg.strike_milli).count() == places.range(..wanted.strike).count()
                && (Some(&leg.settles_at) != expiries.first()) == wanted.is_later
                && (is_more || is_ratio(leg.units, wanted.ratio))
        };
        legs.len() == wanted.len()
            && strikes.len() == places.len()
            && expiries.len() <= 2
            && is_ratio(shares, self.shape.shares)
            && wanted.iter().all(|wanted| legs.iter().any(|leg| is_leg(leg, wanted)))
            && (!is_even || is_arithmetic(&strikes))
    }
}

/// True if the distances of numbers are equal.
fn is_arithmetic(numbers: &BTreeSet<u32>) -> bool {
    let distances = numbers.iter().zip(numbers.iter().skip(1)).map(|(low, high)| high - low);
    distances.collect::<BTreeSet<u32>>().len() <= 1
}

/// The name of a strategy of shares and contracts, `custom` where there is none.
#[must_use]
pub fn name_of(shares: f64, contracts: &[KnownLeg]) -> &'static str {
    let mut legs: Vec<KnownLeg> = Vec::new();
    for leg in contracts {
        let key = |leg: &KnownLeg| (leg.settles_at, leg.strike_milli, leg.right);
        match legs.iter_mut().find(|known| key(known) == key(leg)) {
            Some(known) => known.units += leg.units,
            None => legs.push(*leg),
        }
    }
    legs.retain(|leg| leg.units != 0.0);
    KnownStrategy::all().find(|known| known.is(shares, &legs)).map_or(CUSTOM, |known| known.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::random::Random;

    /// Legs such as `-1 C105`, or of the later expiry `1 C105+`.
    fn named(text: &str) -> &'static str {
        let mut shares = 0.0;
        let mut legs = Vec::new();
        for leg in text.split(", ") {
            let (units, what) = leg.split_once(' ').unwrap();
            let units: f64 = units.parse().unwrap();
            if what == "S" {
                shares += units;
                continue;
            }
            let strike = what[1..].trim_end_matches('+').parse::<u32>().unwrap();
            legs.push(KnownLeg {
                right: Right::parse(&what[..1]).unwrap(),
                strike_milli: strike * 1000,
                settles_at: Timestamp::from_second(if what.ends_with('+') { 200 } else { 100 }).unwrap(),
                units: units * 100.0,
            });
        }
        name_of(shares * 100.0, &legs)
    }

    /// Legs of a known strategy at random strikes and expiries, for a number of units.
    fn random_legs(known: &KnownStrategy, units: f64, random: &mut Random) -> (f64, Vec<KnownLeg>) {
        let start = 1_000 + 500 * random.below(400) as u32;
        let step = 500 * (1 + random.below(20)) as u32;
        let mut at = start;
        let strikes: Vec<u32> = (0..5)
            .map(|place| {
                // a broken wing is wider than the other, whatever is drawn
                at += if known.shape.is_even { step } else { step + 500 * (40 * place + random.below(40)) as u32 };
                at
            })
            .collect();
        let near = random.below(100) as i64;
        let later = near + 1 + random.below(100) as i64;
        let leg = |wanted: &ShapeLeg| KnownLeg {
            right: wanted.right,
            strike_milli: strikes[wanted.strike],
            settles_at: Timestamp::from_second(if wanted.is_later { later } else { near }).unwrap(),
            units: known.side * wanted.ratio * units,
        };
        let mut legs: Vec<KnownLeg> = known.shape.legs.iter().map(leg).collect();
        for (leg, wanted) in legs.iter_mut().zip(known.shape.legs) {
            if wanted.is_open {
                leg.units *= random.pick(&[0.75, 1.0, 1.5, 2.0]);
            }
        }
        for n in (1..legs.len()).rev() {
            legs.swap(n, random.below(n + 1));
        }
        (known.side * known.shape.shares * units, legs)
    }

    #[test]
    fn every_shape_is_named_as_itself() {
        let mut random = Random::new(48);
        for known in KnownStrategy::all() {
            for _ in 0..200 {
                let units = random.pick(&[1.0, 7.0, 100.0, 300.0, 0.5]);
                let (shares, mut legs) = random_legs(&known, units, &mut random);
                assert_eq!(name_of(shares, &legs), known.name, "{shares} {legs:?}");
                // a leg in two parts is one leg
                if let Some(last) = legs.pop() {
                    legs.insert(0, KnownLeg { units: 0.25 * last.units, ..last });
                    legs.push(KnownLeg { units: 0.75 * last.units, ..last });
                    assert_eq!(name_of(shares, &legs), known.name, "{shares} {legs:?}");
                }
            }
        }
    }

    #[test]
    fn a_leg_of_another_ratio_or_one_more_has_no_name() {
        let mut random = Random::new(49);
        for known in KnownStrategy::all().filter(|known| known.shape.legs.len() > 2 || known.has_shares()) {
            let (shares, legs) = random_legs(&known, 100.0, &mut random);
            for n in 0..legs.len() {
                let mut others = legs.clone();
                others[n].units *= 7.0;
                assert_eq!(name_of(shares, &others), CUSTOM, "{} {others:?}", known.name);
            }
            let settles_at = Timestamp::from_second(500).unwrap();
            let far = |right| KnownLeg { right, strike_milli: 9_000_000, settles_at, units: 100.0 };
            let more = [legs, vec![far(Right::Call), far(Right::Put)]].concat();
            assert_eq!(name_of(shares, &more), CUSTOM, "{} {more:?}", known.name);
        }
    }

    #[test]
    fn strategies_have_their_names() {
        for (legs, name) in [
            ("1 S", "long shares"),
            ("-1 C100", "short call"),
            ("1 C100, -1 C105", "bull call vertical"),
            ("1 P95, -1 P100", "bull put vertical"),
            ("-1 P95, 1 P100", "bear put vertical"),
            ("1 C100, 1 P100", "long straddle"),
            ("-2 P95, -2 C105", "short strangle"),
            ("1 C95, 1 P105", "long guts"),
            ("2 C100, 1 P100", "long strap"),
            ("1 C100, -1 P100", "synthetic long shares"),
            ("1 C105, -1 P95", "risk reversal"),
            ("1 C100, -2 C105", "call ratio spread"),
            ("-1 P100, 2 P95", "put backspread"),
            ("-1 C100, 1 C100+", "long call calendar"),
            ("1 P100, -1 P95+", "short put diagonal"),
            ("1 C95, -2 C100, 1 C105", "long call butterfly"),
            ("-2 P95, 4 P100, -2 P110", "short put broken-wing butterfly"),
            ("1 C95, -1 C100, -1 C105", "long call ladder"),
            ("-1 P95, -1 C105, 1 C110", "jade lizard"),
            ("-1 P100, -1 C100, 1 C110", "big lizard"),
            ("1 P90, -1 P95, -1 C105", "reverse jade lizard"),
            ("1 P90, -1 P95, -1 C105, 1 C110", "iron condor"),
            ("-3 P90, 3 P95, 3 C105, -3 C110", "reverse iron condor"),
            ("1 P90, -1 P100, -1 C100, 1 C110", "iron butterfly"),
            ("1 C90, -1 C95, -1 C105, 1 C110", "long call condor"),
            ("1 C90, -1 C110, -1 P90, 1 P110", "long box"),
            ("-1 P95, 1 P95+, -1 C105, 1 C105+", "long double calendar"),
            ("-1 P95, 1 P90+, -1 C105, 1 C110+", "long double diagonal"),
            ("1 S, -1 C105", "covered call"),
            ("1 S, 1 P95", "protective put"),
            ("-1 S, -1 P95", "covered put"),
            ("1 S, 1 P95, -1 C105", "collar"),
            ("1 S, 1 P100, -1 C100", "conversion"),
            ("-1 S, -1 P100, 1 C100", "reversal"),
            ("1 S, -1 P95, -1 C105", "covered strangle"),
        ] {
            assert_eq!(named(legs), name, "{legs}");
        }
    }

    #[test]
    fn other_legs_have_no_name() {
        for legs in [
            "1 C100, 1 C105",
            "1 S, -2 C105",
            "1 P90, -1 P95, -2 C105, 2 C110",
            "1 P95, -1 P90, -1 C105, 1 C110",
            "2 C100, -1 C105",
            "1 C100, -1 P100+",
            "1 C100, -1 C100",
        ] {
            assert_eq!(named(legs), CUSTOM, "{legs}");
        }
        assert_eq!(named("1 C100, 1 C100"), "long call");
    }
}
