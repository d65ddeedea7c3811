//! Greeks of some contracts under given terms. Never: a difference.

use crate::store::chain::Chain;
use crate::store::columns::Col;
use kernel::american::{Band, Pricer};
use kernel::black76::{Horizon, european};
use kernel::contract::{Right, Style};
use kernel::dividends::Terms;
use kernel::greeks::{Greek, Greeks, SpotInputs, finish};
use kernel::quality::Quality;

/// The Greeks that are compared.
pub const COMPARED: [Greek; 5] = [Greek::Delta, Greek::Gamma, Greek::Vega, Greek::Theta, Greek::Rho];

/// One number for each of [`COMPARED`]; NaN: missing.
pub type VendorNumbers = [f64; COMPARED.len()];

/// Volatility and Greeks that a vendor prints for a contract.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VendorRow {
    /// The contract's row in the chain.
    pub row: u32,
    /// The vendor's volatility, per √year, decimal; NaN or 0: none.
    pub sigma: f64,
    /// Its Greeks, in whatever units the vendor has.
    pub greeks: VendorNumbers,
}

/// A contract with the vendor's numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contract {
    pub(super) row: u32,
    pub(super) right: Right,
    pub(super) k: f64,
    /// The vendor's volatility; and that of our curve.
    pub(super) sigma: f64,
    pub(super) ours: f64,
    pub(super) vendor: VendorNumbers,
}

impl Contract {
    /// `None`: the vendor has no volatility, or no Greek.
    pub(super) fn new(chain: &Chain, row: &VendorRow) -> Option<Self> {
        let at = row.row as usize;
        let (right, strike) = (*chain.right.get(at)?, f64::from(*chain.strike_milli.get(at)?) / 1000.0);
        let is_known = row.sigma > 0.0 && row.sigma.is_finite() && row.greeks.iter().any(|greek| greek.is_finite());
        let ours = chain.columns.get(Col::SvcVol)[at];
        is_known.then_some(Self { row: row.row, right, k: strike, sigma: row.sigma, ours, vendor: row.greeks })
    }
}

/// Inputs of the values.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) style: Style,
    pub(super) s: f64,
    pub(super) terms: Terms,
}

impl World {
    /// Raw Greeks of some contracts at the vendor's volatilities; NaN where there is no model value.
    pub(super) fn greeks(&self, contracts: &[Contract]) -> Vec<Greeks<f64>> {
        if self.style == Style::European {
            return contracts.iter().map(|contract| self.european(contract)).collect();
        }
        let pricers = [Right::Call, Right::Put].map(|right| {
            let of_right = contracts.iter().filter(|contract| contract.right == right);
            let bands: Vec<Band> = of_right.map(|c| Band { k: (c.k, c.k), sigma: (c.sigma, c.sigma) }).collect();
            (!bands.is_empty()).then(|| Pricer::new(self.style, right, &self.terms, bands.as_slice(), Quality::Full))
        });
        let value = |contract: &Contract| match &pricers[contract.right as usize] {
            Some(pricer) => pricer.at(&self.terms, self.s).greeks(contract.k, contract.sigma),
            None => Greeks::from_fn(|_| f64::NAN),
        };
        contracts.iter().map(value).collect()
    }

    fn european(&self, contract: &Contract) -> Greeks<f64> {
        let market = SpotInputs::new(&self.terms, self.s);
        let (phi, sigma) = (contract.right.phi(), contract.sigma);
        finish(&european(phi, &Horizon::from(&self.terms), market.x, contract.k, sigma), &market, sigma)
    }
}
