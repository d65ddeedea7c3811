//! The embedded market: a synthetic one whose truth is known, for a first look without data and for measuring the
//! calibration instead of guessing. Every number of it is simulated.
//!
//! Equal seeds and instants give equal quotes, whatever was asked before, in any order, on any thread. Outside the
//! session the market stands still at the last close. Unlike the other feeds this one computes (its values do not come
//! from the pricers that they are to check) and delivers books, not records.
//!
//! # Rooms
//!
//! - names and what they list (`universe.rs`, `tickers.rs`, `tier.rs`, `listing.rs`, `ladder.rs`, `strikes.rs`,
//!   `symbols.rs`), the whole market and the small one (`market.rs`).
//! - true paths, carry and surfaces (`path.rs`, `carry.rs`, `surface.rs`, `series.rs`), values by the lattice of the
//!   kernels (`value.rs`), quotes (`quotes.rs`), bad data (`dirt.rs`).
//! - days of it as rows of recorded quotes (`days.rs`, `days/`).
//!
//! Never: rayon, a clock, an environment, a network, the pricers that it checks.

mod beat;
mod carry;
pub mod days;
mod dirt;
pub mod ladder;
mod listing;
mod market;
mod path;
mod quotes;
mod rng;
mod series;
mod strikes;
pub mod surface;
pub mod symbols;
mod tickers;
pub mod tier;
pub mod universe;
mod value;

pub use dirt::SpotFault;
pub use market::{SimMarket, Updated};
pub use quotes::Fault;
pub use value::SliceTruth;

use core::fmt;
use kernel::limits::{Bound, SIM_SCALE};

/// The options of the feed `sim`, as in `sim:seed=7` or `sim:full,scale=1.3`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimOptions {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of names and contracts.
    pub size: Size,
}

/// The sizes of the market.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// About 60 names that everybody knows, with few contracts each.
    WellKnown,
    /// All 6,000 names; 1 for about 1.6 million contracts.
    Full(f64),
}

impl Default for SimOptions {
    fn default() -> Self {
        Self { seed: 1, size: Size::WellKnown }
    }
}

/// An option of the feed `sim` that it does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimOptionError {
    /// Not an option.
    Unknown(String),
    /// A seed that is not a whole number.
    Seed(String),
    /// A scale that is no number or out of range.
    Scale(String),
    /// A scale without `full`.
    ScaleOfWhat,
}

impl fmt::Display for SimOptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(text) => {
                write!(f, "the feed sim has no option '{text}'; it has full, seed=N and scale=X")
            }
            Self::Seed(text) => write!(f, "the seed of the feed sim must be an integer, not '{text}'"),
            Self::Scale(text) => {
                let Bound { least, most, .. } = SIM_SCALE;
                write!(f, "the scale of the feed sim:full must be a number from {least} to {most}, not '{text}'")
            }
            Self::ScaleOfWhat => f.write_str("scale applies only to sim:full: sim:full,scale=X"),
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
        let (mut full, mut scale) = (false, None);
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            match part.split_once('=') {
                Some(("seed", n)) => options.seed = n.parse().map_err(|_| SimOptionError::Seed(n.to_owned()))?,
                Some(("scale", x)) => {
                    let number = x.parse().ok().filter(|&x| SIM_SCALE.holds(x));
                    scale = Some(number.ok_or_else(|| SimOptionError::Scale(x.to_owned()))?);
                }
                None if part == "full" => full = true,
                _ => return Err(SimOptionError::Unknown(part.to_owned())),
            }
        }
        match (full, scale) {
            (true, scale) => options.size = Size::Full(scale.unwrap_or(1.0)),
            (false, Some(_)) => return Err(SimOptionError::ScaleOfWhat),
            (false, None) => {}
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_or_refused_with_their_text() {
        let full = |seed, scale| Ok(SimOptions { seed, size: Size::Full(scale) });
        assert_eq!(SimOptions::parse(""), Ok(SimOptions { seed: 1, size: Size::WellKnown }));
        assert_eq!(SimOptions::parse("seed=7"), Ok(SimOptions { seed: 7, size: Size::WellKnown }));
        assert_eq!(SimOptions::parse("full"), full(1, 1.0));
        assert_eq!(SimOptions::parse("full,seed=7"), full(7, 1.0));
        assert_eq!(SimOptions::parse("scale=1.3, full"), full(1, 1.3));
        assert_eq!(SimOptions::parse("seed=-1"), Err(SimOptionError::Seed("-1".to_owned())));
        assert_eq!(SimOptions::parse("seed=1,size=3"), Err(SimOptionError::Unknown("size=3".to_owned())));
        assert_eq!(SimOptions::parse("scale=1.3"), Err(SimOptionError::ScaleOfWhat));
        for scale in ["0", "-1", "1e9", "NaN", "x", ""] {
            assert_eq!(SimOptions::parse(&format!("full,scale={scale}")), Err(SimOptionError::Scale(scale.to_owned())));
        }
        for refused in ["full,scale=x", "seed=x", "speed=2", "scale=2", "full=1"] {
            assert!(SimOptions::parse(refused).is_err_and(|e| e.to_string().contains("sim")));
        }
    }
}
