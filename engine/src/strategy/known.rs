//! Strategies by the names that traders give them. Never: a price.

use jiff::Timestamp;
use kernel::contract::Right;
use std::cmp::Ordering;

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

impl KnownLeg {
    fn order(&self, other: &Self) -> Ordering {
        let key = |leg: &Self| (leg.settles_at, leg.strike_milli, leg.right);
        key(self).cmp(&key(other))
    }
}

/// The word for legs of no known strategy.
const CUSTOM: &str = "custom";

/// The name of a strategy of shares and contracts.
#[must_use]
pub fn name_of(shares: f64, contracts: &[KnownLeg]) -> String {
    let mut legs: Vec<KnownLeg> = Vec::new();
    for leg in contracts {
        match legs.iter_mut().find(|known| known.order(leg).is_eq()) {
            Some(known) => known.units += leg.units,
            None => legs.push(*leg),
        }
    }
    legs.retain(|leg| leg.units != 0.0);
    legs.sort_by(KnownLeg::order);
    let found = match (shares == 0.0, legs.as_slice()) {
        (true, []) => None,
        (false, []) => Some(format!("{} shares", side(shares))),
        (false, legs) => with_shares(shares, legs).map(str::to_owned),
        (true, [leg]) => Some(format!("{} {}", side(leg.units), word(leg.right))),
        (true, [a, b]) => of_two(a, b),
        (true, [a, b, c]) => of_three([a, b, c]),
        (true, [a, b, c, d]) => of_four([a, b, c, d]),
        _ => None,
    };
    found.unwrap_or_else(|| CUSTOM.to_owned())
}

fn side(units: f64) -> &'static str {
    if units > 0.0 { "long" } else { "short" }
}

fn word(right: Right) -> &'static str {
    match right {
        Right::Call => "call",
        Right::Put => "put",
    }
}

/// True if units are as many as others, bought or sold.
fn is_as_many(a: f64, b: f64) -> bool {
    (a.abs() - b.abs()).abs() < 1e-9 * a.abs()
}

/// Contracts beside as many shares.
fn with_shares(shares: f64, legs: &[KnownLeg]) -> Option<&'static str> {
    if !legs.iter().all(|leg| is_as_many(leg.units, shares)) {
        return None;
    }
    match legs {
        [leg] => match (leg.right, leg.units > 0.0, shares > 0.0) {
            (Right::Call, false, true) => Some("covered call"),
            (Right::Put, true, true) => Some("protective put"),
            (Right::Put, false, false) => Some("covered put"),
            (Right::Call, true, false) => Some("protective call"),
            _ => None,
        },
        [a, b] if a.settles_at == b.settles_at && a.right != b.right => {
            let (put, call) = if a.right == Right::Put { (a, b) } else { (b, a) };
            let strikes = put.strike_milli.cmp(&call.strike_milli);
            match (put.units > 0.0, call.units > 0.0, shares > 0.0, strikes) {
                (true, false, true, Ordering::Less) => Some("collar"),
                (true, false, true, Ordering::Equal) => Some("conversion"),
                (false, true, false, Ordering::Equal) => Some("reversal"),
                (false, false, true, Ordering::Less) => Some("covered strangle"),
                (false, false, true, Ordering::Equal) => Some("covered straddle"),
                _ => None,
            }
        }
        _ => None,
    }
}

fn of_two(a: &KnownLeg, b: &KnownLeg) -> Option<String> {
    let (is_even, is_opposite) = (is_as_many(a.units, b.units), (a.units > 0.0) != (b.units > 0.0));
    let is_one_strike = a.strike_milli == b.strike_milli;
    if a.settles_at != b.settles_at {
        if a.right != b.right || !is_even || !is_opposite {
            return None;
        }
        let kind = if is_one_strike { "calendar" } else { "diagonal" };
        return Some(format!("{} {} {kind}", side(b.units), word(a.right)));
    }
    if a.right == b.right {
        if !is_opposite {
            return None;
        }
        if is_even {
            let outlook = if a.units > 0.0 { "bull" } else { "bear" };
            return Some(format!("{outlook} {} vertical", word(a.right)));
        }
        // a ratio spread sells more of what is further out of the money, a backspread buys it
        let (near, far) = if a.right == Right::Call { (a, b) } else { (b, a) };
        if far.units.abs() < near.units.abs() {
            return None;
        }
        let kind = if far.units < 0.0 { "ratio spread" } else { "backspread" };
        return Some(format!("{} {kind}", word(a.right)));
    }
    let (put, call) = if a.right == Right::Put { (a, b) } else { (b, a) };
    if is_opposite {
        return is_even.then(|| match (is_one_strike, call.units > 0.0) {
            (true, true) => "synthetic long shares".to_owned(),
            (true, false) => "synthetic short shares".to_owned(),
            (false, true) => "risk reversal".to_owned(),
            (false, false) => "short risk reversal".to_owned(),
        });
    }
    let kind = match put.strike_milli.cmp(&call.strike_milli) {
        Ordering::Equal if is_even => "straddle",
        Ordering::Equal if is_as_many(call.units, 2.0 * put.units) => "strap",
        Ordering::Equal if is_as_many(put.units, 2.0 * call.units) => "strip",
        Ordering::Less if is_even => "strangle",
        Ordering::Greater if is_even => "guts",
        _ => return None,
    };
    Some(format!("{} {kind}", side(call.units)))
}

/// True if all settle together.
fn is_of_one_expiry(legs: &[&KnownLeg]) -> bool {
    legs.windows(2).all(|pair| pair[0].settles_at == pair[1].settles_at)
}

/// Units of legs relative to the fewest, if these are as whole as a ratio has them.
fn ratios(legs: &[&KnownLeg]) -> Option<Vec<i32>> {
    let one = legs.iter().fold(f64::INFINITY, |least, leg| least.min(leg.units.abs()));
    let ratio = |leg: &&KnownLeg| {
        let ratio = leg.units / one;
        ((ratio - ratio.round()).abs() < 1e-9 && ratio.abs() < 100.0).then_some(ratio.round() as i32)
    };
    legs.iter().map(ratio).collect()
}

fn of_three(legs: [&KnownLeg; 3]) -> Option<String> {
    let ratios = ratios(&legs)?;
    if !is_of_one_expiry(&legs) {
        return None;
    }
    let [a, b, c] = legs.map(|leg| leg.strike_milli);
    let [right, ..] = legs.map(|leg| leg.right);
    if legs.iter().all(|leg| leg.right == right) {
        let named = |kind: &str, units: f64| Some(format!("{} {} {kind}", side(units), word(right)));
        return match ratios.as_slice() {
            [1, -2, 1] | [-1, 2, -1] if c - b == b - a => named("butterfly", legs[0].units),
            [1, -2, 1] | [-1, 2, -1] => named("broken-wing butterfly", legs[0].units),
            [1, -1, -1] | [-1, 1, 1] if right == Right::Call => named("ladder", legs[0].units),
            [-1, -1, 1] | [1, 1, -1] if right == Right::Put => named("ladder", legs[2].units),
            _ => None,
        };
    }
    if !ratios.iter().all(|ratio| ratio.abs() == 1) {
        return None;
    }
    let (puts, calls) = by_right(&legs);
    let sold = |leg: &KnownLeg| leg.units < 0.0;
    match (puts.as_slice(), calls.as_slice()) {
        ([put], [low, high]) if sold(put) && sold(low) && !sold(high) => {
            match put.strike_milli.cmp(&low.strike_milli) {
                Ordering::Less => Some("jade lizard".to_owned()),
                Ordering::Equal => Some("big lizard".to_owned()),
                Ordering::Greater => None,
            }
        }
        ([low, high], [call]) if !sold(low) && sold(high) && sold(call) => {
            (high.strike_milli <= call.strike_milli).then(|| "reverse jade lizard".to_owned())
        }
        _ => None,
    }
}

/// The puts and the calls.
fn by_right<'a>(legs: &[&'a KnownLeg]) -> (Vec<&'a KnownLeg>, Vec<&'a KnownLeg>) {
    legs.iter().copied().partition(|leg| leg.right == Right::Put)
}

fn of_four(legs: [&KnownLeg; 4]) -> Option<String> {
    let ratios = ratios(&legs)?;
    if !ratios.iter().all(|ratio| ratio.abs() == 1) {
        return None;
    }
    let (puts, calls) = by_right(&legs);
    if !is_of_one_expiry(&legs) {
        let ([put, later_put], [call, later_call]) = (puts.as_slice(), calls.as_slice()) else { return None };
        let (of_puts, of_calls) = (of_two(put, later_put)?, of_two(call, later_call)?);
        let kind =
            ["calendar", "diagonal"].into_iter().find(|kind| of_puts.ends_with(kind) && of_calls.ends_with(kind))?;
        let is_of_one_side = (later_put.units > 0.0) == (later_call.units > 0.0);
        return is_of_one_side.then(|| format!("{} double {kind}", side(later_call.units)));
    }
    let pattern: Vec<bool> = legs.iter().map(|leg| leg.units > 0.0).collect();
    if puts.len() == 4 || calls.len() == 4 {
        let is_condor = matches!(pattern.as_slice(), [true, false, false, true] | [false, true, true, false]);
        return is_condor.then(|| format!("{} {} condor", side(legs[0].units), word(legs[0].right)));
    }
    let ([low_put, high_put], [low_call, high_call]) = (puts.as_slice(), calls.as_slice()) else { return None };
    let is_opposite = |a: &KnownLeg, b: &KnownLeg| (a.units > 0.0) != (b.units > 0.0);
    if !is_opposite(low_put, high_put) || !is_opposite(low_call, high_call) {
        return None;
    }
    let is_box = low_put.strike_milli == low_call.strike_milli && high_put.strike_milli == high_call.strike_milli;
    if is_box {
        return is_opposite(low_put, low_call).then(|| format!("{} box", side(low_call.units)));
    }
    // the wings are bought where the body is sold
    if is_opposite(low_put, high_call) {
        return None;
    }
    let kind = match high_put.strike_milli.cmp(&low_call.strike_milli) {
        Ordering::Less => "iron condor",
        Ordering::Equal => "iron butterfly",
        Ordering::Greater => return None,
    };
    Some(if low_put.units > 0.0 { kind.to_owned() } else { format!("reverse {kind}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Legs such as `-1 C105`, or of the later expiry `1 C105+`.
    fn named(text: &str) -> String {
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
