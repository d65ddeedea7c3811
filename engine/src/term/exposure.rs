//! Exposures of open interest: sums of Greeks times open contracts, in currency of the underlying, for calls and puts
//! apart, as if everybody were long. One number of both has to assume who is long and who is short. Never: a price of
//! an option.

use super::event::YEAR_DAYS;
use crate::store::chain::{Chain, Slice};
use crate::store::columns::Col;
use crate::store::quotes::QuoteNumber;
use core::ops::{AddAssign, Range};
use kernel::contract::{Right, RootTable, Symbol, strike_of};
use kernel::elementary::{exp, ln};
use kernel::normal::bell;
use kernel::solve::bracketed_root;

/// Part of the price, and points of volatility, that exposures are of: 1 %.
const PERCENT: f64 = 0.01;
/// Distance from the price, as a part of it, within which a change of gamma's sign is searched; number of steps.
const FLIP_REACH: f64 = 0.25;
const FLIP_STEPS: i32 = 100;
/// Error of that place, as a part of the price.
const FLIP_ERROR: f64 = 1e-12;
const NO_INTEREST: &str = "no_open_interest";

/// Exposures of the long side of open contracts of one right.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exposure {
    /// Currency of delta gained if the underlying rises by 1 %.
    pub gamma: f64,
    /// Currency of delta gained for a point of volatility.
    pub vanna: f64,
    /// Currency of delta gained in a calendar day.
    pub charm: f64,
    /// Currency of delta.
    pub delta: f64,
    /// Contracts.
    pub open: f64,
}

impl AddAssign for Exposure {
    fn add_assign(&mut self, other: Self) {
        self.gamma += other.gamma;
        self.vanna += other.vanna;
        self.charm += other.charm;
        self.delta += other.delta;
        self.open += other.open;
    }
}

/// Exposures of some contracts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exposures {
    /// Exposures of the calls.
    pub calls: Exposure,
    /// Exposures of the puts.
    pub puts: Exposure,
    /// Contracts whose open interest is known.
    pub known: u32,
    /// Contracts whose open interest is not known.
    pub unknown: u32,
    /// Contracts that are open and have no value: their part is missing.
    pub unpriced: u32,
}

impl AddAssign for Exposures {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.puts += other.puts;
        self.known += other.known;
        self.unknown += other.unknown;
        self.unpriced += other.unpriced;
    }
}

impl Exposures {
    /// Exposures of some rows of a chain, which ascend.
    #[must_use]
    pub fn of_rows(chain: &Chain, rows: &[Range<u32>], roots: &RootTable) -> Self {
        let mut all = Self::default();
        if chain.quotes.is_none() {
            let counted = chain.slices.iter().filter(|slice| !slice.adjusted);
            all.unknown = counted.map(|slice| slice.rows_among(rows).count() as u32).sum();
            return all;
        }
        each_exposure(chain, rows, roots, |_, _, exposures| all += exposures);
        all
    }

    /// A sum over the contracts; of nothing that is known it is no 0.
    ///
    /// # Errors
    /// The reason: there is no open interest, or no value of a contract that is open.
    pub fn sum(&self, x: f64) -> Result<f64, &'static str> {
        match () {
            () if self.known == 0 => Err(NO_INTEREST),
            () if self.unpriced > 0 && self.calls.open + self.puts.open == 0.0 => Err("no_values"),
            () if x.is_finite() => Ok(x),
            () => Err("no_values"),
        }
    }

    /// Exposures of a row of a slice whose contracts are of `multiplier` shares.
    fn of(chain: &Chain, slice: &Slice, row: usize, multiplier: f64, greeks: &GreekColumns<'_>) -> Self {
        let mut all = Self::default();
        let open = open_interest(chain, row);
        if open.is_nan() {
            all.unknown = 1;
            return all;
        }
        all.known = 1;
        if open == 0.0 {
            return all;
        }
        let [gamma, vanna, charm, delta] = greeks.0.map(|(column, factor)| column[row] * factor);
        if gamma.is_nan() {
            all.unpriced = 1;
            return all;
        }
        let s = slice.und_price;
        let shares = open * multiplier;
        let of = Exposure {
            gamma: gamma * shares * s * s * PERCENT,
            vanna: vanna * shares * s * PERCENT,
            charm: charm * shares * s / YEAR_DAYS,
            delta: delta * shares * s,
            open,
        };
        match chain.right[row] {
            Right::Call => all.calls = of,
            Right::Put => all.puts = of,
        }
        all
    }

    /// The exposure `of` of calls less that of puts: long calls and short puts.
    #[must_use]
    pub fn net(&self, of: fn(&Exposure) -> f64) -> f64 {
        of(&self.calls) - of(&self.puts)
    }
}

/// Gamma, vanna, charm and delta of a chain, each with its factor to the plain unit: found once for all rows.
struct GreekColumns<'a>([(&'a [f64], f64); 4]);

impl<'a> GreekColumns<'a> {
    fn of(chain: &'a Chain) -> Self {
        let columns = [Col::Gamma, Col::Vanna, Col::Charm, Col::Delta];
        Self(columns.map(|col| (chain.columns.get(col), col.unit().divisor())))
    }
}

fn open_interest(chain: &Chain, row: usize) -> f64 {
    chain.quotes.as_ref().map_or(f64::NAN, |quotes| quotes.get(row, QuoteNumber::OpenInterest))
}

/// Hands over the exposures of each of some rows, which ascend, and the slice of each; adjusted roots do not count.
pub fn each_exposure<'a>(
    chain: &'a Chain,
    rows: &[Range<u32>],
    roots: &RootTable,
    mut take: impl FnMut(&'a Slice, usize, Exposures),
) {
    let (greeks, mut multipliers) = (GreekColumns::of(chain), Multipliers::new(chain, roots));
    for slice in chain.slices.iter().filter(|slice| !slice.adjusted) {
        let shares = multipliers.of(slice);
        for row in slice.rows_among(rows).map(|row| row as usize) {
            take(slice, row, Exposures::of(chain, slice, row, shares, &greeks));
        }
    }
}

/// Shares of a contract of each slice of a name: a table is searched for its root, which is mostly that of the slice
/// before.
struct Multipliers<'a> {
    underlying: Symbol,
    roots: &'a RootTable,
    last: Option<(Symbol, f64)>,
}

impl<'a> Multipliers<'a> {
    fn new(chain: &Chain, roots: &'a RootTable) -> Self {
        Self { underlying: chain.underlying, roots, last: None }
    }

    fn of(&mut self, slice: &Slice) -> f64 {
        if let Some((_, shares)) = self.last.filter(|(root, _)| *root == slice.root) {
            return shares;
        }
        let shares = f64::from(self.roots.facts(slice.root, self.underlying).multiplier);
        self.last = Some((slice.root, shares));
        shares
    }
}

/// Open contracts of a strike, calls less puts, as their gamma depends on the price.
struct NetStrike {
    /// Shares times discount factor and forward, over the standard deviation.
    size: f64,
    /// The number d1 at the present price, and how much it grows with the logarithm of the price.
    d1: f64,
    slope: f64,
}

/// The price nearest to that of now, within a quarter of it, at which the gamma of calls less that of puts changes its
/// sign: by Black's formula, volatilities of strikes unchanged, forwards in proportion.
///
/// # Domain   rows of the chain, ascending
/// # Errors
/// The reason: there is no open interest, or no change of sign.
pub fn gamma_flip(chain: &Chain, rows: &[Range<u32>], roots: &RootTable) -> Result<f64, &'static str> {
    let (mut all, mut is_known): (Vec<NetStrike>, bool) = (Vec::new(), false);
    let (vols, mut multipliers) = (chain.columns.get(Col::SvcVol), Multipliers::new(chain, roots));
    for slice in chain.slices.iter().filter(|slice| !slice.adjusted) {
        let years = slice.days / YEAR_DAYS;
        let shares = multipliers.of(slice) * exp(-slice.disc_rate * years) * slice.fwd_price;
        for row in slice.rows_among(rows).map(|row| row as usize) {
            let (open, vol) = (open_interest(chain, row), vols[row]);
            is_known |= open.is_finite();
            if !(open > 0.0 && vol > 0.0) {
                continue;
            }
            let deviation = vol * years.sqrt();
            let sign = if chain.right[row] == Right::Call { 1.0 } else { -1.0 };
            let strike = strike_of(chain.strike_milli[row]);
            let (slope, size) = (deviation.recip(), sign * open * shares / deviation);
            all.push(NetStrike { size, d1: ln(slice.fwd_price / strike) * slope + 0.5 * deviation, slope });
        }
    }
    if !is_known {
        return Err(NO_INTEREST);
    }
    // gamma at so many times the present price
    let gamma = |times: f64| {
        let away = ln(times);
        times * all.iter().map(|strike| strike.size * bell(strike.d1 + away * strike.slope)).sum::<f64>()
    };
    let price = chain.slices.iter().map(|slice| slice.und_price).find(|price| price.is_finite()).unwrap_or(f64::NAN);
    let (now, none) = (gamma(1.0), Err("no_change_of_sign"));
    if now == 0.0 || !now.is_finite() || price.is_nan() {
        return none;
    }
    // outward on both sides, a step at a time, from where the sign is still that of now
    let mut ends = [1.0, 1.0];
    for n in 1..=FLIP_STEPS {
        for (side, end) in [-1.0, 1.0].into_iter().zip(&mut ends) {
            let next = 1.0 + side * FLIP_REACH * f64::from(n) / f64::from(FLIP_STEPS);
            if gamma(next) * now < 0.0 {
                return bracketed_root(gamma, *end, next, FLIP_ERROR).map_or(none, |times| Ok(price * times));
            }
            *end = next;
        }
    }
    none
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::columns::Columns;
    use crate::store::firm_quotes::FirmQuotes;
    use crate::store::quotes::ChainQuotes;
    use jiff::Timestamp;
    use kernel::contract::{Settle, Style};

    const VOL: f64 = 0.3;
    const DAYS: f64 = 36.5;

    /// Calls and puts of 90 and 110, at 105 without rates, with so many contracts open by row.
    fn chain(open: [f64; 4]) -> Chain {
        let root = Symbol::parse("KO").unwrap();
        let expiry = "2026-12-18".parse().unwrap();
        let mut columns = Columns::missing(4);
        columns.get_mut(Col::SvcVol).fill(VOL);
        for (col, x) in [(Col::Gamma, 0.02), (Col::Vanna, 0.5), (Col::Charm, -0.73), (Col::Delta, 0.4)] {
            columns.get_mut(col).fill(x);
        }
        let counts = open.map(|open| [f64::NAN, f64::NAN, 10.0, open]);
        let quotes = ChainQuotes::new(vec![[1.0, 1.1]; 4], counts.to_vec(), vec![Timestamp::UNIX_EPOCH; 4]);
        let slice = Slice {
            root,
            expiry,
            listed: expiry,
            rows: 0..4,
            style: Style::American,
            settle: Settle::Pm,
            settles_at: Timestamp::UNIX_EPOCH,
            adjusted: false,
            days: DAYS,
            days_vt: DAYS,
            und_price: 105.0,
            fwd_price: 105.0,
            disc_rate: 0.0,
            borr_rate: 0.0,
            divs: 0.0,
        };
        Chain {
            underlying: root,
            spot: 105.0,
            implied_spot: f64::NAN,
            implied_spot_error: f64::NAN,
            spot_off: false,
            doubt: None,
            firm: FirmQuotes::default(),
            uncomputed: None,
            valued_at: Timestamp::UNIX_EPOCH,
            preliminary: false,
            slices: [slice].into_iter().collect(),
            strike_milli: vec![90_000, 90_000, 110_000, 110_000],
            right: [Right::Call, Right::Put].repeat(2),
            dropped: vec![None; 4],
            columns,
            quotes: Some(Box::new(quotes)),
            evidence: None,
        }
    }

    fn all(chain: &Chain) -> Exposures {
        Exposures::of_rows(chain, std::slice::from_ref(&(0..4)), &RootTable::embedded())
    }

    #[test]
    fn exposures_are_sums_over_open_contracts() {
        let mut chain = chain([3.0, 5.0, 7.0, f64::NAN]);
        let found = all(&chain);
        assert_eq!((found.calls.open, found.puts.open, found.known, found.unknown), (10.0, 5.0, 3, 1));
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9 * wanted.abs(), "{found} {wanted}");
        near(found.calls.gamma, 0.02 * 1000.0 * 105.0 * 105.0 * 0.01);
        near(found.net(|of| of.gamma), 0.02 * 500.0 * 105.0 * 105.0 * 0.01);
        near(found.puts.vanna, 0.5 * 500.0 * 105.0 * 0.01);
        // per year in the column, per day here
        near(found.calls.charm, -0.73 * 1000.0 * 105.0 / 365.0);
        near(found.puts.delta, 0.4 * 500.0 * 105.0);
        chain.columns.get_mut(Col::Gamma)[0] = f64::NAN;
        let found = all(&chain);
        assert_eq!((found.calls.open, found.unpriced), (7.0, 1));
        // nothing is known where no quotes are kept
        let without = Chain { quotes: None, ..chain.clone() };
        assert_eq!(all(&without), Exposures { unknown: 4, ..Exposures::default() });
        let adjusted = Slice { adjusted: true, ..chain.slices[0].clone() };
        chain.slices = [adjusted].into_iter().collect();
        assert_eq!(all(&chain), Exposures::default());
    }

    #[test]
    fn gamma_flips_between_calls_above_and_puts_below() {
        let roots = RootTable::embedded();
        let flip = |open: [f64; 4]| gamma_flip(&chain(open), std::slice::from_ref(&(0..4)), &roots);
        let v = VOL * (DAYS / YEAR_DAYS).sqrt();
        let wanted = (90.0_f64 * 110.0).sqrt() * (-0.5 * v * v).exp();
        let found = flip([0.0, 50.0, 50.0, 0.0]).unwrap();
        assert!((found - wanted).abs() < 1e-6, "{found} {wanted}");
        // more puts than calls of either strike: everywhere below zero
        assert_eq!([[1.0, 50.0, 1.0, 50.0], [0.0; 4]].map(flip), [Err("no_change_of_sign"); 2]);
        assert_eq!(flip([f64::NAN; 4]), Err(NO_INTEREST));
    }
}
