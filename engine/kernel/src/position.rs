//! Positions: shares and contracts held, by account. Never: a market price.

use crate::contract::{ContractKey, Symbol};
use std::sync::Arc;

/// One line of a book of positions.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionLine {
    /// The account; empty where the file names none.
    pub account: Arc<str>,
    /// The instrument held.
    pub instrument: Instrument,
    /// Shares or contracts; negative if sold.
    pub quantity: f64,
    /// Price paid per share, or per share of a contract's underlying, as quoted. NaN: unknown.
    pub price: f64,
    /// Beta of its underlying against the user's index; NaN: not given.
    pub beta: f64,
}

/// The instrument of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Instrument {
    /// Shares of an underlying.
    Share(Symbol),
    /// An option.
    Contract(ContractKey),
}
