//! The embedded market: a synthetic one whose truth is known, for a first look without data and for measuring the
//! calibration instead of guessing. Every number of it is simulated.
//!
//! The same seed and instant give the same quotes, whatever was asked before, in any order, on any thread. Outside the
//! session the market stands still at the last close. Unlike the other feeds this one computes (its values come from the
//! engine's own kernel) and delivers books, not records. Never: a clock, an environment, a network.

mod carry;
pub mod ladder;
mod listing;
mod market;
mod path;
mod quotes;
mod rng;
mod series;
pub mod surface;
pub mod symbols;
mod value;

pub use market::SimMarket;
pub use quotes::Fault;
pub use value::SliceTruth;

use core::fmt;

/// The options of the feed `sim`, as in `sim:seed=7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimOptions {
    /// Which of the possible markets.
    pub seed: u64,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self { seed: 1 }
    }
}

/// An option of the feed `sim` that it does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimOptionError {
    /// Not an option.
    Unknown(String),
    /// A seed that is not a whole number.
    Seed(String),
    /// The full-size universe.
    Full,
}

impl fmt::Display for SimOptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(text) => write!(f, "the feed sim has no option '{text}'; it has seed=N"),
            Self::Seed(text) => write!(f, "the seed of the feed sim is a whole number, not '{text}'"),
            Self::Full => f.write_str("sim:full is not there yet; use sim or sim:seed=N"),
        }
    }
}

impl core::error::Error for SimOptionError {}

impl SimOptions {
    /// Reads what follows `sim:`, parts separated by commas; empty: the defaults.
    ///
    /// # Errors
    /// For a part that is not an option of this feed.
    pub fn parse(text: &str) -> Result<Self, SimOptionError> {
        let mut options = Self::default();
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            match part.split_once('=') {
                Some(("seed", n)) => options.seed = n.parse().map_err(|_| SimOptionError::Seed(n.to_owned()))?,
                None if part == "full" => return Err(SimOptionError::Full),
                _ => return Err(SimOptionError::Unknown(part.to_owned())),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_or_refused_with_their_text() {
        assert_eq!(SimOptions::parse(""), Ok(SimOptions { seed: 1 }));
        assert_eq!(SimOptions::parse("seed=7"), Ok(SimOptions { seed: 7 }));
        assert_eq!(SimOptions::parse("full"), Err(SimOptionError::Full));
        assert_eq!(SimOptions::parse("seed=-1"), Err(SimOptionError::Seed("-1".to_owned())));
        assert_eq!(SimOptions::parse("seed=1,size=3"), Err(SimOptionError::Unknown("size=3".to_owned())));
        for refused in ["full", "seed=x", "speed=2"] {
            assert!(SimOptions::parse(refused).is_err_and(|e| e.to_string().contains("sim")));
        }
    }
}
