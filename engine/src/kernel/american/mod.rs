//! Value and derivatives of one (expiry, right), American or European: which method serves which contract.
//!
//! The exercise boundary does not depend on the spot. What is expensive (boundary and premium tables) is built once
//! by [`Pricer::new`] for a band of strikes and volatilities; what runs every pass is closed form.

pub mod premium;

use super::dividends::Terms;
use super::greeks::{Greeks, VolJet};
use super::lanes::Lanes;
use crate::contract::{Right, Style};

/// How accurate, how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// What the pass runs; within the tolerances of golden/tolerances.csv.
    Fast,
    /// The reference: finer grids, a table per contract.
    Accurate,
}

/// The strikes and volatilities that a [`Pricer`] must serve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Least and greatest strike, currency per share.
    pub k: (f64, f64),
    /// Least and greatest volatility, per √year.
    pub sigma: (f64, f64),
}

/// Prices the contracts of one (expiry, right).
#[derive(Debug)]
pub struct Pricer {}

impl Pricer {
    /// Builds what does not depend on the spot, for every strike and volatility of `band`.
    #[must_use]
    pub fn new(style: Style, right: Right, terms: &Terms, band: &Band, scheme: Scheme) -> Self {
        let _ = (style, right, terms, band, scheme);
        unimplemented!()
    }

    /// Whether the tables still serve these terms (time passed, r and b moved a little) and this band.
    #[must_use]
    pub fn serves(&self, terms: &Terms, band: &Band) -> bool {
        let _ = (terms, band);
        unimplemented!()
    }

    /// The pricer at a spot and at terms that it [`Pricer::serves`].
    #[must_use]
    pub fn at<'a>(&'a self, terms: &'a Terms, s: f64) -> PricerAt<'a> {
        PricerAt { pricer: self, terms, s }
    }
}

/// A [`Pricer`] at one spot: evaluates strikes and volatilities, one contract per lane.
#[derive(Clone, Copy, Debug)]
pub struct PricerAt<'a> {
    pricer: &'a Pricer,
    terms: &'a Terms,
    s: f64,
}

impl PricerAt<'_> {
    /// Every Greek, raw units. A lane whose strike or volatility lies outside the band, or without model value
    /// (S ≤ A(0)), is NaN.
    pub fn greeks<L: Lanes>(&self, k: L, sigma: L) -> Greeks<L> {
        let _ = (self.pricer, self.terms, self.s, k, sigma);
        unimplemented!()
    }

    /// Value, vega, volga, ultima only.
    pub fn vol_jet<L: Lanes>(&self, k: L, sigma: L) -> VolJet<L> {
        let _ = (k, sigma);
        unimplemented!()
    }
}
