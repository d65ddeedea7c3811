//! Source of a column's number, and its unit there. Never: its format.

use super::derived::Derived;
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
