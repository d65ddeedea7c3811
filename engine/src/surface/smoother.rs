//! Input and output of a smoothing method.

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
    /// True if the row's quote may support the curve.
    pub used: &'a [bool],
}

/// A fitted expiry.
pub trait Fitted {
    /// True if the expiry has a curve; otherwise every volatility is missing.
    fn is_known(&self) -> bool;

    /// Volatility per √year and confidence, 0 to 1, at a block of strikes, currency per share.
    fn at_strikes(&self, strikes: Block) -> (Block, Block);

    /// The first two derivatives of volatility in ln K at a block of strikes; NaN further than a standard deviation
    /// from the outermost quotes.
    fn bends_at(&self, strikes: Block) -> [Block; 2];
}

/// A method that turns the volatilities of a chain into one curve per expiry. [`super::DefaultSmoother`] names the one
/// in use.
pub trait Smoother: core::fmt::Debug + core::default::Default + Send {
    /// The fitted curve.
    type Curve: Fitted + Sync;

    /// Fits the curves of all slices of one chain, given in native order.
    fn fit(&mut self, slices: &[SurfaceInput]) -> &[Self::Curve];
}
