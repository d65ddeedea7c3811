//! What a method of smoothing is given, and what a pass reads of what it made.

use kernel::contract::Right;
use kernel::lanes::Block;

/// Everything that the curve of one (root, expiry) is fitted to.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceInput<'a> {
    /// Years to settlement, positive.
    pub t: f64,
    /// Forward, currency per share; NaN: unknown, no curve.
    pub fwd: f64,
    /// Strikes by row, thousandths; ascending.
    pub strike_milli: &'a [u32],
    /// Call or put, by row.
    pub right: &'a [Right],
    /// Volatility at the bid, by row; NaN: none.
    pub vol_bid: &'a [f64],
    /// Volatility at the mid, by row; NaN: none.
    pub vol_mid: &'a [f64],
    /// Volatility at the ask, by row; NaN: none.
    pub vol_ask: &'a [f64],
    /// Whether the row's quote may support the curve.
    pub used: &'a [bool],
}

/// What a pass reads of a fitted expiry.
pub trait Fitted {
    /// Whether anything is known of the expiry; where nothing is, every volatility is missing.
    fn is_known(&self) -> bool;

    /// Volatility per √year and confidence, 0 to 1, at a block of strikes, currency per share.
    fn at_strikes(&self, strikes: Block) -> (Block, Block);
}

/// A method that turns the volatilities of a chain into one curve per expiry. Another one is another type with this
/// trait, named in [`super::DefaultSmoother`].
pub trait Smoother: core::fmt::Debug + core::default::Default + Send {
    /// What it fits.
    type Curve: Fitted + Sync;

    /// The curves of all slices of one chain, given in native order.
    fn fit(&mut self, slices: &[SurfaceInput]) -> &[Self::Curve];
}
