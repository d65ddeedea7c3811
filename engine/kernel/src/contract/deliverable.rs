//! Deliverables of adjusted roots, and their values from standard contracts.
//!
//! Exercise pays shares · S + cash − strike · strike multiplier. Cash is a fixed sum that is paid at exercise and earns
//! nothing before. So, whenever it is exercised, an option pays what one on shares / multiplier of the underlying pays
//! at the strike less the cash: [`Deliverable::strike_milli`]. Never: a price, a file.

use super::terms::strike_of;

/// The terms of an adjusted root as OCC publishes them, per contract.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deliverable {
    /// Shares of the underlying.
    pub shares: f64,
    /// Cash, currency.
    pub cash: f64,
    /// Factor from a quoted price to the price of a contract.
    pub multiplier: f64,
    /// Factor from the strike to the cost of exercise of a contract.
    pub strike_multiplier: f64,
}

impl Deliverable {
    /// A deliverable of shares and cash at the usual multipliers of 100.
    #[must_use]
    pub const fn usual(shares: f64, cash: f64) -> Self {
        Self { shares, cash, multiplier: 100.0, strike_multiplier: 100.0 }
    }

    /// Shares of the underlying behind a quoted price.
    #[must_use]
    pub fn shares_per_unit(&self) -> f64 {
        self.shares / self.multiplier
    }

    /// Derivative of the effective strike in the listed strike.
    #[must_use]
    pub fn strike_per_unit(&self) -> f64 {
        self.strike_multiplier / self.multiplier
    }

    /// The strike on [`Deliverable::shares_per_unit`] shares: the listed one less the cash, thousandths, to the
    /// nearest; `None` where the cash alone pays for exercise.
    #[must_use]
    pub fn strike_milli(&self, listed_milli: u32) -> Option<u32> {
        let strike = (f64::from(listed_milli) * self.strike_per_unit() - 1000.0 * self.cash / self.multiplier).round();
        // a sum within the range of the type
        (strike >= 1.0 && strike < f64::from(u32::MAX)).then_some(strike as u32)
    }

    /// The strike on one share, currency: what an option on the underlying itself has.
    #[must_use]
    pub fn strike_of_share(&self, listed_milli: u32) -> Option<f64> {
        Some(strike_of(self.strike_milli(listed_milli)?) / self.shares_per_unit())
    }
}

/// The strike on one share of the underlying, currency: that of a standard contract is the listed one. NaN: the cash
/// of the deliverable pays for exercise.
#[must_use]
pub fn strike_of_share(terms: Option<Deliverable>, listed_milli: u32) -> f64 {
    terms.map_or(Some(strike_of(listed_milli)), |terms| terms.strike_of_share(listed_milli)).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exercise_pays_shares_and_cash_less_the_strike() {
        // 50 shares and 1,250 in cash: at a strike of 40 exercise costs 4,000 for what is worth 50 · S + 1,250
        let terms = Deliverable::usual(50.0, 1250.0);
        assert_eq!((terms.strike_milli(40_000), terms.strike_of_share(40_000)), (Some(27_500), Some(55.0)));
        let (s, contract) = (61.0, 50.0 * 61.0 + 1250.0 - 4000.0);
        assert!((100.0 * terms.shares_per_unit() * (s - 55.0) - contract).abs() < 1e-9);
        assert_eq!(terms.strike_milli(12_500), None, "cash pays for it");
        // a reverse split: ten shares for the price of a hundred, strikes as listed
        let split = Deliverable::usual(10.0, 0.0);
        assert_eq!(split.strike_of_share(2_500), Some(25.0));
        let by_strike = Deliverable { strike_multiplier: 10.0, ..Deliverable::usual(100.0, 0.0) };
        assert_eq!(by_strike.strike_milli(50_000), Some(5_000));
    }
}
