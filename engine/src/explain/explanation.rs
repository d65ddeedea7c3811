//! Contents of an explanation. Never: its computation.

use super::basis::ValueBasis;
use super::parity::StrikeParity;
use super::schemes::SchemeValues;
use super::warning::Warning;
use crate::calibrate::forward::Parity;
use crate::store::evidence::ValueMethod;

/// Explanation of one contract.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Index of the slice in the chain.
    pub slice: usize,
    /// Row of the contract.
    pub row: usize,
    /// Inputs of the value; `None`: there is no value, or the evidence is not available.
    pub basis: Option<ValueBasis>,
    /// Forward implied by the call/put pairs of its expiry, without the other expiries.
    pub parity: Parity,
    /// Forward implied by each strike of the expiry, ascending.
    pub strikes: Vec<StrikeParity>,
    /// Rows of the same right around the contract, its own included, ascending.
    pub beside: Vec<usize>,
    /// Slice and row of the contract of the same right in the expiries before and after, whose strike has the nearest
    /// ratio to the forward.
    pub expiries: Vec<(usize, usize)>,
    /// Method of the served value; `None`: the contract has no value, or the evidence is not available.
    pub method: Option<ValueMethod>,
    /// Values by other schemes; `None`: the contract has no value.
    pub values: Option<SchemeValues>,
    /// Warnings, the most serious first.
    pub warnings: Vec<Warning>,
}
