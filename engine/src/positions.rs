//! Values and Greeks of positions, from a finished market, in the units of a book. Sums of rows of chains; nothing is
//! priced here. Never: a file, an account's meaning.
#![warn(clippy::arithmetic_side_effects)]

use crate::store::chain::Chain;
use crate::store::columns::Col;
use core::ops::AddAssign;

/// Value and sensitivities of positions, in currency; NaN: missing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PositionNumbers {
    /// Model value.
    pub value: f64,
    /// Value less cost.
    pub profit: f64,
    /// Value less that of the last look of the session before.
    pub session_profit: f64,
    /// Change of value for a rise of the spot by 100 %, to first order: delta · spot.
    pub dollar_delta: f64,
    /// Change of `dollar_delta` for a rise of the spot by 1 %: gamma · spot² / 100.
    pub gamma_1pct: f64,
    /// Per 1 % of volatility.
    pub vega: f64,
    /// Per calendar day.
    pub theta: f64,
    /// To the same clock time on the next trading day.
    pub decay: f64,
    /// Per 1 % of the discount rate.
    pub rho: f64,
    /// Per 1 % of the borrow rate, or of a dividend yield.
    pub epsilon: f64,
    /// `dollar_delta` times beta: the dollar delta of the index.
    pub beta_delta: f64,
}

/// Quantity held of a contract or share, and its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Holding {
    /// Shares, or contracts times their multiplier.
    pub units: f64,
    /// Cost of a unit; NaN: unknown.
    pub price: f64,
    /// Value of a unit in the session before; NaN: unknown.
    pub session_price: f64,
    /// Beta of the underlying; NaN: unknown.
    pub beta: f64,
}

impl PositionNumbers {
    /// Nothing is known.
    pub const MISSING: Self = Self {
        value: f64::NAN,
        profit: f64::NAN,
        session_profit: f64::NAN,
        dollar_delta: f64::NAN,
        gamma_1pct: f64::NAN,
        vega: f64::NAN,
        theta: f64::NAN,
        decay: f64::NAN,
        rho: f64::NAN,
        epsilon: f64::NAN,
        beta_delta: f64::NAN,
    };

    /// Contracts of a row; `spot` is the price of their underlying.
    #[must_use]
    pub fn of_row(chain: &Chain, row: usize, spot: f64, held: &Holding) -> Self {
        let get = |col: Col| chain.columns.get(col)[row];
        let price = get(Col::SvcTheo);
        let dollar_delta = held.units * get(Col::Delta) * spot;
        Self {
            value: held.units * price,
            profit: held.units * (price - held.price),
            session_profit: held.units * (price - held.session_price),
            dollar_delta,
            gamma_1pct: held.units * get(Col::Gamma) * spot * spot / 100.0,
            vega: held.units * get(Col::Vega),
            theta: held.units * get(Col::Theta),
            decay: held.units * get(Col::Decay),
            rho: held.units * get(Col::Rho),
            epsilon: held.units * get(Col::Epsilon),
            beta_delta: dollar_delta * held.beta,
        }
    }

    /// Shares at a price.
    #[must_use]
    pub fn of_shares(spot: f64, held: &Holding) -> Self {
        let value = held.units * spot;
        Self {
            value,
            profit: held.units * (spot - held.price),
            session_profit: held.units * (spot - held.session_price),
            dollar_delta: value,
            beta_delta: value * held.beta,
            ..Self::default()
        }
    }

    /// True if there is a value.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.value.is_finite()
    }
}

impl AddAssign for PositionNumbers {
    /// A sum with something unknown in it is unknown, number by number.
    fn add_assign(&mut self, o: Self) {
        self.value += o.value;
        self.profit += o.profit;
        self.session_profit += o.session_profit;
        self.dollar_delta += o.dollar_delta;
        self.gamma_1pct += o.gamma_1pct;
        self.vega += o.vega;
        self.theta += o.theta;
        self.decay += o.decay;
        self.rho += o.rho;
        self.epsilon += o.epsilon;
        self.beta_delta += o.beta_delta;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_value_and_delta_alone() {
        let held = Holding { units: -100.0, price: 50.0, session_price: f64::NAN, beta: 0.5 };
        let of = PositionNumbers::of_shares(60.0, &held);
        assert_eq!((of.value, of.profit, of.dollar_delta, of.beta_delta), (-6000.0, -1000.0, -6000.0, -3000.0));
        assert!(of.session_profit.is_nan() && of.vega == 0.0);
    }

    #[test]
    fn a_sum_is_unknown_where_a_part_is() {
        let held = Holding { units: 1.0, price: f64::NAN, session_price: 1.0, beta: 1.0 };
        let mut sum = PositionNumbers::of_shares(2.0, &held);
        sum += PositionNumbers::of_shares(3.0, &Holding { price: 1.0, ..held });
        assert!(sum.profit.is_nan() && (sum.value - 5.0).abs() < 1e-15 && (sum.session_profit - 3.0).abs() < 1e-15);
        assert!(!PositionNumbers::MISSING.is_known());
    }
}
