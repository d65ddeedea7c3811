//! A chain around one contract: the strikes and volatilities that a pass builds tables for, of which it is one.

use kernel::american::{Band, Pricer, Scheme};
use kernel::contract::{Right, Style};
use kernel::dividends::Terms;

/// Strikes on either side, and the ratio of the outermost to the contract's.
const SIDE: i32 = 6;
const REACH: f64 = 1.3;
/// How volatility falls with the strike: by this power of it, a tenth at 30 % more.
const SKEW: f64 = -0.35;
/// Tables reach this factor beyond the volatilities of the chain, as those of a pass do.
pub const ROOM: f64 = 1.1;

/// The strikes of the chain, ascending: the contract's and those about it, which no table is laid out for.
#[must_use]
pub fn strikes(k: f64) -> Vec<f64> {
    (-SIDE..=SIDE).map(|i| k * REACH.powf(f64::from(i) / f64::from(SIDE))).collect()
}

/// A band for each strike of a list with its volatility, as a pass asks for them.
#[must_use]
pub fn bands(strikes: &[f64], sigma: impl Fn(f64) -> f64) -> Vec<Band> {
    strikes.iter().map(|&k| Band { k: (k, k), sigma: (sigma(k) / ROOM, sigma(k) * ROOM) }).collect()
}

/// The bands of a chain around a contract, with a skew.
#[must_use]
pub fn bands_around(k: f64, sigma: f64) -> Vec<Band> {
    bands(&strikes(k), |strike| sigma * (strike / k).powf(SKEW))
}

/// The pricer of the (expiry, right) that a contract belongs to: what a pass reads it from.
#[must_use]
pub fn served(style: Style, right: Right, terms: &Terms, k: f64, sigma: f64) -> Pricer {
    Pricer::new(style, right, terms, &bands_around(k, sigma), Scheme::Fast)
}

/// The pricer of a contract by itself, as accurate as the kernel can be.
#[must_use]
pub fn accurate(style: Style, right: Right, terms: &Terms, k: f64, sigma: f64) -> Pricer {
    Pricer::new(style, right, terms, &Band { k: (k, k), sigma: (sigma, sigma) }, Scheme::Accurate)
}
