//! The whole market: some 6,000 names with the shape of the real one, drawn from a seed. Tiers, counts and shares are
//! data; the names that everybody knows keep their own facts. Never: a date, a price of an option.

use super::ladder::{EMPTY, StrikeLadder, Volatility};
use super::rng::Stream;
use super::surface::Class;
use super::symbols::{Every, Level, Name, Payout, Root, name, well_known};
use super::tickers::Tickers;
use super::tier::Tier;
use kernel::elementary::exp;

/// Distributions of the names of a tier. Pairs: median, standard deviation of the logarithm.
struct Plan {
    tier: Tier,
    /// Names, the well-known ones among them.
    names: usize,
    expiries: (f64, f64),
    strikes: (f64, f64),
    /// Currency per share.
    level: (f64, f64),
    /// Share of funds.
    funds: f64,
    /// Shares of the classes of stocks; the rest is [`Class::Meme`].
    mid: f64,
    small: f64,
}

#[rustfmt::skip]
const PLANS: [Plan; 5] = [
    Plan { tier: Tier::Broad,   names: 3,     expiries: (31.0, 0.0),  strikes: (115.0, 0.0), level: (500.0, 0.0), funds: 1.0,  mid: 0.0,  small: 0.0 },
    Plan { tier: Tier::Mega,    names: 40,    expiries: (20.0, 0.12), strikes: (78.0, 0.45), level: (190.0, 0.6), funds: 0.30, mid: 1.0,  small: 0.0 },
    Plan { tier: Tier::Weekly,  names: 560,   expiries: (13.0, 0.12), strikes: (38.0, 0.45), level: (65.0, 0.95), funds: 0.35, mid: 0.65, small: 0.22 },
    Plan { tier: Tier::Monthly, names: 1_400, expiries: (5.5, 0.12),  strikes: (23.0, 0.40), level: (34.0, 1.1),  funds: 0.38, mid: 0.40, small: 0.45 },
    Plan { tier: Tier::Tail,    names: 3_977, expiries: (4.0, 0.0),   strikes: (13.5, 0.42), level: (23.0, 1.25), funds: 0.34, mid: 0.12, small: 0.68 },
];

/// Funds by class: share, and least and greatest 30-day volatility.
const FUNDS: [(f64, Class, (f64, f64)); 8] = [
    (0.18, Class::Bond, (0.05, 0.18)),
    (0.30, Class::LargeIndex, (0.13, 0.20)),
    (0.08, Class::TechIndex, (0.17, 0.25)),
    (0.06, Class::SmallIndex, (0.20, 0.26)),
    (0.10, Class::Commodity, (0.15, 0.45)),
    (0.12, Class::Leveraged, (0.40, 1.10)),
    (0.06, Class::Inverse, (0.40, 1.10)),
    // income from selling options on a stock
    (0.10, Class::MegaCap, (0.22, 0.45)),
];

/// Borrow rates of names that can be special: share, least, greatest. The rest is easy to borrow.
const SPECIALS: [(f64, f64, f64); 5] =
    [(0.005, 1.0, 5.0), (0.015, 0.30, 1.0), (0.03, 0.10, 0.30), (0.05, 0.03, 0.10), (0.10, 0.005, 0.03)];

/// An index with its roots: level, 30-day volatility, strikes of an expiry.
struct Index(&'static str, &'static [(&'static str, StrikeLadder)], f64, f64, f64);

/// Index options beside the well-known ones.
#[rustfmt::skip]
const INDICES: [Index; 14] = [
    Index("MRUT",  &[("MRUT", MINI)], 260.0, 0.22, 75.0),
    Index("XND",   &[("XND", MINI)], 250.0, 0.195, 50.0),
    Index("DJX",   &[("DJX", THIN)], 480.0, 0.14, 75.0),
    Index("MXEF",  &[("MXEF", FEW)], 1_350.0, 0.17, 45.0),
    Index("MXEA",  &[("MXEA", FEW)], 2_800.0, 0.15, 45.0),
    Index("RLG",   &[("RLG", FEW)], 4_800.0, 0.18, 40.0),
    Index("RLV",   &[("RLV", FEW)], 2_000.0, 0.13, 40.0),
    Index("RUI",   &[("RUI", FEW)], 3_800.0, 0.15, 40.0),
    Index("SPEQX", &[("SPEQX", FEW), ("SPEQW", FEW)], 770.0, 0.13, 25.0),
    Index("CBTX",  &[("CBTX", FEW), ("CBTXW", FEW)], 240.0, 0.48, 25.0),
    Index("MBTX",  &[("MBTX", FEW), ("MBTXW", FEW)], 24.0, 0.48, 20.0),
    Index("MGTN",  &[("MGTN", FEW), ("MGTNW", FEW)], 380.0, 0.24, 25.0),
    Index("SOX",   &[("SOX", FEW)], 7_000.0, 0.34, 30.0),
    Index("XAU",   &[("XAU", FEW)], 330.0, 0.38, 30.0),
];

const MINI: StrikeLadder = StrikeLadder { sessions: 10, fridays: 8, month_ends: 4, monthlies: 6, ..EMPTY };
const THIN: StrikeLadder = StrikeLadder { fridays: 5, monthlies: 5, cycle: 2, decembers: 1, ..EMPTY };
const FEW: StrikeLadder = StrikeLadder { monthlies: 3, cycle: 2, ..EMPTY };

/// Dates and strikes of the largest index roots.
#[rustfmt::skip]
const GIANTS: [(&str, StrikeLadder, f64); 11] = [
    ("SPX",  StrikeLadder { monthlies: 12, cycle: 4, decembers: 5, junes: 3, ..EMPTY }, 225.0),
    ("SPXW", StrikeLadder { sessions: 27, fridays: 10, month_ends: 12, quarter_ends: 5, ..EMPTY }, 235.0),
    ("XSP",  StrikeLadder { sessions: 27, fridays: 10, month_ends: 10, monthlies: 12, cycle: 3, ..EMPTY }, 110.0),
    ("NDX",  StrikeLadder { monthlies: 9, cycle: 3, decembers: 4, ..EMPTY }, 215.0),
    ("NDXP", StrikeLadder { sessions: 20, fridays: 9, month_ends: 6, ..EMPTY }, 215.0),
    ("RUT",  StrikeLadder { monthlies: 6, cycle: 3, decembers: 2, ..EMPTY }, 145.0),
    ("RUTW", StrikeLadder { sessions: 10, fridays: 8, month_ends: 5, ..EMPTY }, 145.0),
    ("VIX",  StrikeLadder { volatility: Volatility::Months(9), ..EMPTY }, 66.0),
    ("VIXW", StrikeLadder { volatility: Volatility::Weeks(5), ..EMPTY }, 60.0),
    ("OEX",  THIN, 75.0),
    ("XEO",  THIN, 75.0),
];

/// The names of the whole market, ranked by trading. `scale`: strikes of stocks and funds, 1 for 1.6 million contracts
/// in all.
#[must_use]
pub fn names(seed: u64, scale: f64) -> Vec<Name> {
    let chance = Stream::new(seed).named("universe");
    let known = well_known();
    let taken = known.iter().flat_map(|n| n.roots.iter().map(|r| r.symbol.clone()).chain([n.symbol.clone()]));
    let mut tickers = Tickers::new(chance.sub(1), taken);
    let of = |tier: Tier| known.iter().filter(move |n| n.tier == tier).cloned();
    let indices: Vec<Name> = of(Tier::Index).map(giant).chain(INDICES.iter().map(index)).collect();
    let mut stocks = Vec::new();
    for plan in &PLANS {
        let old: Vec<Name> = of(plan.tier).collect();
        let new = (old.len()..plan.names).map(|i| {
            let symbol = tickers.draw();
            plan.draw(&symbol, chance.sub(plan.tier as u64 + 10).sub(i as u64))
        });
        let mut tier: Vec<Name> = old.into_iter().chain(new).collect();
        for (i, name) in tier.iter_mut().enumerate() {
            plan.list(name, i, chance.sub(plan.tier as u64 + 20).sub(i as u64), scale);
        }
        stocks.push(tier);
    }
    rank(indices, stocks)
}

/// Sorts names by trading: SPX and the broad funds, the giants, the other large indices, the rest by tier.
fn rank(mut indices: Vec<Name>, stocks: Vec<Vec<Name>>) -> Vec<Name> {
    let rest = indices.split_off(indices.len().min(6));
    let others = indices.split_off(1);
    let mut tiers = stocks.into_iter();
    let mut all = indices;
    all.extend(tiers.next().into_iter().chain(tiers.next()).flatten());
    all.extend(others);
    all.extend(tiers.next().into_iter().flatten());
    all.extend(rest);
    all.extend(tiers.flatten());
    for (name, rank) in all.iter_mut().zip(1..) {
        name.rank = rank;
    }
    all
}

/// A well-known index at full size.
fn giant(mut name: Name) -> Name {
    for root in &mut name.roots {
        if let Some((_, ladder, strikes)) = GIANTS.iter().find(|g| g.0 == root.symbol) {
            (root.ladder, root.strikes) = (*ladder, *strikes);
        }
    }
    name
}

fn index(&Index(symbol, roots, level, vol, strikes): &Index) -> Name {
    let root = |&(root, ladder): &(&str, StrikeLadder)| Root { symbol: root.to_owned(), ladder, extra: 0.0, strikes };
    let class = if vol > 0.3 { Class::Commodity } else { Class::LargeIndex };
    let mut index = name(symbol, (Tier::Index, class), level, vol);
    index.roots = roots.iter().map(root).collect();
    index.borrow = 0.008;
    match symbol {
        "MRUT" => index.level = Level::Of("RUT".to_owned(), 0.1),
        "XND" => index.level = Level::Of("NDX".to_owned(), 0.01),
        _ => {}
    }
    index
}

/// A number of a lognormal distribution.
fn lognormal(median: f64, sd: f64, chance: Stream, i: u64) -> f64 {
    median * exp(sd * chance.normal(i))
}

/// From `low` to `high`, even in the logarithm.
fn between(low: f64, high: f64, u: f64) -> f64 {
    low * exp(u * kernel::elementary::ln(high / low))
}

/// To `places` decimals: what is drawn by a logarithm is the same on every build.
fn rounded(x: f64, per_unit: f64) -> f64 {
    (x * per_unit).round() / per_unit
}

impl Plan {
    /// A name of the tier.
    fn draw(&self, symbol: &str, chance: Stream) -> Name {
        if chance.unit(0) < self.funds { self.fund(symbol, chance) } else { self.stock(symbol, chance) }
    }

    fn stock(&self, symbol: &str, chance: Stream) -> Name {
        let u = chance.unit(1);
        let class = match self.tier {
            Tier::Mega => Class::MegaCap,
            _ if u < self.mid => Class::MidCap,
            _ if u < self.mid + self.small => Class::SmallCap,
            _ => Class::Meme,
        };
        let (vol, earnings, cheap, tilt) = match class {
            Class::MegaCap => ((0.25, 0.50), (0.03, 0.05), 1.0, 0.15),
            Class::MidCap => ((0.18, 0.40), (0.04, 0.07), 1.35, 0.15),
            Class::SmallCap => ((0.42, 0.90), (0.08, 0.15), 1.0, 0.25),
            _ => ((0.80, 2.0), (0.08, 0.15), 0.4, 0.3),
        };
        let level = lognormal(self.level.0 * cheap, self.level.1, chance, 2).clamp(0.5, 5000.0);
        let vol = between(vol.0, vol.1, chance.unit(3));
        let mut stock = name(symbol, (self.tier, class), rounded(level, 100.0), rounded(vol, 1e4));
        stock.earnings = rounded(between(earnings.0, earnings.1, chance.unit(4)), 1e4);
        stock.tilt = rounded(tilt * chance.normal(5), 1e3);
        let large = matches!(class, Class::MegaCap | Class::MidCap) && self.tier != Tier::Tail;
        if chance.unit(6) < if large { 0.81 } else { 0.20 } {
            let median = if large { 0.016 } else { 0.026 };
            stock.payout = payout((median, 0.6), chance.sub(7), &STOCKS_PAY);
        }
        if chance.unit(8) < 0.0015 {
            stock.payout.special = rounded(between(0.02, 0.10, chance.unit(9)), 1e3);
        }
        let special = match class {
            Class::Meme => 2.3,
            Class::SmallCap => 1.05,
            _ => 0.0,
        };
        stock.borrow = rounded(borrow(special, class == Class::MegaCap, chance.sub(10)), 1e5);
        if chance.unit(11) < 0.003 {
            let ladder = StrikeLadder::ADJUSTED;
            stock.roots.push(Root { symbol: format!("{symbol}1"), ladder, extra: 0.03, strikes: 10.0 });
        }
        stock
    }

    fn fund(&self, symbol: &str, chance: Stream) -> Name {
        let mut u = chance.unit(1);
        let fits = |&&(share, ..): &&(f64, Class, (f64, f64))| {
            u -= share;
            u < 0.0
        };
        let &(_, class, vol) = FUNDS.iter().find(fits).unwrap_or(&FUNDS[1]);
        let level = lognormal(0.9 * self.level.0, 0.7 * self.level.1, chance, 2).clamp(2.0, 1500.0);
        let vol = between(vol.0, vol.1, chance.unit(3));
        let mut fund = name(symbol, (self.tier, class), rounded(level, 100.0), rounded(vol, 1e4));
        let tilt = if class == Class::Commodity { 0.2 } else { 0.06 };
        fund.tilt = rounded(tilt * chance.normal(5), 1e3);
        if class == Class::MegaCap {
            let every = if chance.unit(12) < 0.5 { Every::Week } else { Every::Month };
            fund.payout = Payout { yield_: rounded(between(0.2, 0.8, chance.unit(4)), 1e4), every, special: 0.0 };
        } else if chance.unit(6) < 0.72 {
            fund.payout = payout((0.018, 0.7), chance.sub(7), &FUNDS_PAY);
        }
        fund.borrow = rounded(borrow(0.15, false, chance.sub(10)), 1e5);
        fund
    }

    /// Gives each root of a name of the tier its dates and its number of strikes.
    fn list(&self, name: &mut Name, place: usize, chance: Stream, scale: f64) {
        let dates = lognormal(self.expiries.0, self.expiries.1, chance, 0).round() as u8;
        let yes = |i: u64, share: f64| u8::from(chance.unit(i) < share);
        let ladder = match self.tier {
            Tier::Broad => StrikeLadder {
                sessions: 12,
                fridays: 8,
                month_ends: 4,
                quarter_ends: 4,
                monthlies: 9,
                januaries: 3,
                junes: 2,
                least: dates,
                ..EMPTY
            },
            Tier::Mega => {
                let mondays_wednesdays = if place < 9 { 2 } else { 0 };
                StrikeLadder {
                    mondays_wednesdays,
                    fridays: 7,
                    monthlies: 4,
                    cycle: 2,
                    januaries: 3,
                    junes: 2,
                    least: dates,
                    ..EMPTY
                }
            }
            Tier::Weekly => {
                StrikeLadder { fridays: 6, monthlies: 3, cycle: 2, januaries: 1 + yes(1, 0.5), least: dates, ..EMPTY }
            }
            Tier::Monthly => StrikeLadder { monthlies: 2, cycle: 2, januaries: yes(1, 0.4), least: dates, ..EMPTY },
            _ => StrikeLadder { monthlies: 2, cycle: 1 + yes(1, 0.75) + yes(2, 0.27), ..EMPTY },
        };
        let strikes = lognormal(self.strikes.0, self.strikes.1, chance, 3) * scale;
        for root in name.roots.iter_mut().filter(|r| r.ladder != StrikeLadder::ADJUSTED) {
            (root.ladder, root.strikes) = (ladder, rounded(strikes, 100.0));
        }
        for root in name.roots.iter_mut().filter(|r| r.ladder == StrikeLadder::ADJUSTED) {
            root.strikes = 10.0;
        }
    }
}

/// Frequencies of dividends: share of payers, frequency.
const STOCKS_PAY: [(f64, Every); 5] = [
    (0.89, Every::Quarter),
    (0.04, Every::Month),
    (0.04, Every::HalfYear),
    (0.02, Every::Year),
    (0.01, Every::Irregular),
];
const FUNDS_PAY: [(f64, Every); 3] = [(0.62, Every::Quarter), (0.36, Every::Month), (0.02, Every::Week)];

/// A payout of a lognormal yield; one payer in twenty pays above 8 %.
fn payout(yields: (f64, f64), chance: Stream, shares: &[(f64, Every)]) -> Payout {
    let mut u = chance.unit(0);
    let fits = |&&(share, _): &&(f64, Every)| {
        u -= share;
        u < 0.0
    };
    let every = shares.iter().find(fits).map_or(Every::Quarter, |s| s.1);
    let rich = chance.unit(1) < 0.04;
    let yield_ = if rich { 0.08 + 0.06 * chance.unit(2) } else { lognormal(yields.0, yields.1, chance, 3) };
    Payout { yield_: rounded(yield_.clamp(0.001, 0.14), 1e5), every, special: 0.0 }
}

/// A borrow rate. `special`: how likely it is a special one, 1 on average; `large`: funds above Treasuries.
fn borrow(special: f64, large: bool, chance: Stream) -> f64 {
    if large {
        return -0.005 + 0.003 * chance.unit(0);
    }
    let mut u = chance.unit(1);
    for (share, low, high) in SPECIALS {
        u -= share * special;
        if u < 0.0 {
            return between(low, high, chance.unit(2));
        }
    }
    0.0025 + 0.0025 * chance.unit(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::contract::Symbol;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_a_ticker_and_there_once() {
        let all = names(1, 1.0);
        let symbols: BTreeSet<_> = all.iter().map(|n| &n.symbol).collect();
        let roots: BTreeSet<_> = all.iter().flat_map(|n| &n.roots).map(|r| &r.symbol).collect();
        assert_eq!((symbols.len(), all.len()), (6000, 6000));
        assert_eq!(roots.len(), all.iter().map(|n| n.roots.len()).sum::<usize>());
        assert!(symbols.iter().chain(&roots).all(|s| Symbol::parse(s).is_some()));
        assert!(all.iter().zip(1..).all(|(n, rank)| n.rank == rank));
        for known in well_known() {
            let found = all.iter().find(|n| n.symbol == known.symbol).unwrap();
            assert_eq!((found.vol, &found.payout, found.class), (known.vol, &known.payout, known.class));
        }
    }

    #[test]
    fn a_seed_is_a_market() {
        assert_eq!(names(3, 1.0), names(3, 1.0));
        let (a, b) = (names(3, 1.0), names(4, 1.0));
        assert!(a.iter().zip(&b).filter(|(a, b)| a.symbol == b.symbol).count() < 200);
    }
}
