//! Source of a column's number, and its unit there; numbers that no column holds, each formula once. Never: its
//! format, a unit factor, a rounding.

use engine::store::chain::Slice;
use engine::store::columns::{Col, Unit};
use kernel::contract::Right;

/// Source of a number.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A column of the contract; in rows by strike the call's, or the put's where no call is listed.
    Own(Col),
    /// A column of the contract of this right, in rows by strike.
    Side(Right, Col),
    /// A number derived from columns of the same contract as [`Source::Own`].
    Derived(Derived),
    /// Always zero, printed as the column's numbers are.
    Zero,
    /// A number of its (root, expiry).
    Slice(SliceNumber),
}

/// The numbers that are constant over one (root, expiry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceNumber {
    /// Underlying price that the slice is valued at.
    UndPrice,
    /// Calibrated forward.
    FwdPrice,
    /// Fractional calendar days to settlement.
    Days,
    /// Variance days to settlement.
    DaysVt,
    /// Rate to settlement.
    DiscRate,
    /// Implied borrow rate.
    BorrRate,
    /// Sum of the dividends to expiry.
    Divs,
}

/// A column of the call, in rows by strike.
#[must_use]
pub const fn call(col: Col) -> Source {
    Source::Side(Right::Call, col)
}

/// A column of the put, in rows by strike.
#[must_use]
pub const fn put(col: Col) -> Source {
    Source::Side(Right::Put, col)
}

/// A number derived from columns of the contract.
#[must_use]
pub const fn derived(derived: Derived) -> Source {
    Source::Derived(derived)
}

/// A number of the (root, expiry).
#[must_use]
pub const fn slice(number: SliceNumber) -> Source {
    Source::Slice(number)
}

/// A column of the contract itself.
#[must_use]
pub const fn own(col: Col) -> Source {
    Source::Own(col)
}

impl Source {
    /// The unit that the value is stored in.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Self::Own(col) | Self::Side(_, col) => col.unit(),
            Self::Slice(_) | Self::Derived(_) | Self::Zero => Unit::Plain,
        }
    }
}

impl SliceNumber {
    /// The value; NaN if it is missing.
    #[must_use]
    pub fn of(self, slice: &Slice) -> f64 {
        match self {
            Self::UndPrice => slice.und_price,
            Self::FwdPrice => slice.fwd_price,
            Self::Days => slice.days,
            Self::DaysVt => slice.days_vt,
            Self::DiscRate => slice.disc_rate,
            Self::BorrRate => slice.borr_rate,
            Self::Divs => slice.divs,
        }
    }
}

/// A number made of a contract's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derived {
    /// Payoff of exercise now, per share; never negative.
    Intrinsic,
    /// Model value less the intrinsic value; never negative.
    Extrinsic,
    /// The price of the underlying at which the holder loses nothing at expiry: strike plus or minus the model value.
    BreakEven,
    /// Distance of the underlying price from the break-even price.
    ToBreakEven,
}

/// Inputs of a derived number.
#[derive(Clone, Copy, Debug)]
pub struct DerivedInputs {
    /// Strike, currency per share.
    pub strike: f64,
    /// Call or put.
    pub right: Right,
    /// Model value; NaN if missing.
    pub theo: f64,
    /// Price of the underlying; NaN if missing.
    pub und_price: f64,
}

impl Derived {
    /// True if the number needs Greeks.
    #[must_use]
    pub fn needs_greeks(self) -> bool {
        self != Self::Intrinsic
    }

    /// Computes the number; NaN if an input is missing.
    #[must_use]
    pub fn of(self, inputs: &DerivedInputs) -> f64 {
        let DerivedInputs { strike, right, theo, und_price } = *inputs;
        let intrinsic = || at_least_zero(right.phi() * (und_price - strike));
        let break_even = || strike + right.phi() * theo;
        match self {
            Self::Intrinsic => intrinsic(),
            Self::Extrinsic => at_least_zero(theo - intrinsic()),
            Self::BreakEven => break_even(),
            Self::ToBreakEven => break_even() - und_price,
        }
    }
}

/// True if exercise now has a positive payoff; false without an underlying price.
#[must_use]
pub fn is_in_the_money(strike: f64, right: Right, und_price: f64) -> bool {
    right.phi() * (und_price - strike) > 0.0
}

/// `x`, or zero if it is negative; NaN stays NaN.
fn at_least_zero(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "sums of halves and quarters are exact")]
    fn each_is_its_definition() {
        let call = DerivedInputs { strike: 100.0, right: Right::Call, theo: 3.75, und_price: 101.25 };
        let put = DerivedInputs { right: Right::Put, theo: 2.25, ..call };
        let all = |inputs| {
            [Derived::Intrinsic, Derived::Extrinsic, Derived::BreakEven, Derived::ToBreakEven].map(|d| d.of(&inputs))
        };
        assert_eq!(all(call), [1.25, 2.5, 103.75, 2.5]);
        assert_eq!(all(put), [0.0, 2.25, 97.75, -3.5]);
        assert_eq!(Derived::Extrinsic.of(&DerivedInputs { theo: 1.0, ..call }), 0.0);
        assert!(all(DerivedInputs { und_price: f64::NAN, theo: f64::NAN, ..call }).iter().all(|x| x.is_nan()));
        assert!(is_in_the_money(100.0, Right::Call, 101.25) && !is_in_the_money(100.0, Right::Put, 101.25));
        assert!(!is_in_the_money(100.0, Right::Call, 100.0) && !is_in_the_money(100.0, Right::Call, f64::NAN));
    }
}
