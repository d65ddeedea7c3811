//! What an explanation has. Never: how it is found.

use super::basis::ValueBasis;
use super::parity::StrikeSaid;
use super::schemes::SchemeValues;
use super::warning::Warning;
use crate::calibrate::forward::Parity;

/// Everything behind one contract.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Its slice in the chain.
    pub slice: usize,
    /// Its row.
    pub row: usize,
    /// What it is valued on; `None`: it is not, or nobody knows any more.
    pub basis: Option<ValueBasis>,
    /// What the pairs of its expiry say of the forward together, without the other expiries.
    pub told: Parity,
    /// What each strike of the expiry says of it, ascending.
    pub strikes: Vec<StrikeSaid>,
    /// Rows of the same right around it, itself among them, ascending.
    pub beside: Vec<usize>,
    /// Of the expiries before and after it the row of the same right whose strike is as far from the forward: slice and row.
    pub expiries: Vec<(usize, usize)>,
    /// Its values by other schemes; `None`: it has no value.
    pub values: Option<SchemeValues>,
    /// What a reader should know, the gravest first.
    pub warnings: Vec<Warning>,
}
