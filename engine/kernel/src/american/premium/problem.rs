//! Inputs of the solve of a table: the right, the market, the date that the table describes. Never: a solve.

use super::between_grid::Fineness;
use crate::dividends::Terms;

/// Inputs of a solve that all contracts share.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// +1 call, −1 put.
    pub(super) phi: f64,
    pub(super) terms: Terms,
    /// Years from now to the date that the solve goes back to; right after its dividend if it is an ex-date.
    pub(super) stop: f64,
    /// True if exercise between ex-dates can pay.
    pub(super) continuous: bool,
    /// Fineness of a put's window that begins at `stop`; [`Fineness::Rates`] applies to all windows.
    pub(super) fineness: Fineness,
}
