//! What a table solves: the contracts' right, the market, the date to describe. Never: a solve.

use super::between_grid::Fineness;
use crate::dividends::Terms;

/// What all lanes share.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// +1 call, −1 put.
    pub(super) phi: f64,
    pub(super) terms: Terms,
    /// The date at which to stop, years from now, right after its dividend if it is an ex-date.
    pub(super) stop: f64,
    /// True if exercise between ex-dates is worth watching for.
    pub(super) continuous: bool,
    /// How fine a put's window that begins at `stop` is solved; with [`Fineness::Rates`] all of them are solved so.
    pub(super) fineness: Fineness,
}
