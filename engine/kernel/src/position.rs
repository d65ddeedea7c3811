//! What somebody holds: shares and contracts, by account. Never: a price of the market.

use crate::contract::{ContractKey, Symbol};
use std::sync::Arc;

/// One line of a book of positions.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionLine {
    /// The account; empty where the file names none.
    pub account: Arc<str>,
    /// What is held.
    pub instrument: Instrument,
    /// Shares or contracts; negative if sold.
    pub quantity: f64,
    /// What one share cost, or one contract per share of its underlying: as it is quoted. NaN: unknown.
    pub price: f64,
    /// Beta of its underlying against the user's index; NaN: not given.
    pub beta: f64,
}

/// What a position is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Instrument {
    /// Shares of an underlying.
    Share(Symbol),
    /// An option.
    Contract(ContractKey),
}
