//! The spot that a name's options imply together, and where the spot of its values comes from. Never: a quote.

use super::settings::REFERENCE;

/// The implied spot of a name.
#[derive(Clone, Copy, Debug)]
pub struct ImpliedSpot {
    /// Spot, currency per share; NaN: none is implied.
    pub s: f64,
    /// Standard error, currency per share.
    pub error: f64,
    /// True if it differs from the published one beyond its error, so that values use it.
    pub off: bool,
}

impl ImpliedSpot {
    /// True if the options imply no spot, or one too uncertain to value anything on: far expiries alone cannot separate
    /// the spot from borrow.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        !(self.s > 0.0 && self.error <= REFERENCE.agrees * self.s)
    }
}

/// Source of the spot that a name is valued on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpotSource {
    /// A feed publishes it, unless the options contradict it.
    Published,
    /// No feed has one, or the options contradict it: it is implied by options alone.
    Implied,
    /// A feed publishes it, and it stays even against the options: borrow is whatever they imply.
    Held,
}

impl Default for ImpliedSpot {
    fn default() -> Self {
        Self { s: f64::NAN, error: f64::NAN, off: false }
    }
}
