//! Greeks of some contracts under given terms. Never: a difference.

use crate::store::chain::Chain;
use crate::store::columns::Col;
use kernel::american::{Band, Pricer};
use kernel::black76::{Horizon, european, european_vol};
use kernel::contract::{Right, Style};
use kernel::dividends::Terms;
use kernel::greeks::{Greek, Greeks, SpotInputs, finish};
use kernel::quality::Quality;

/// Days of a year.
const DAYS: f64 = 365.0;

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

/// Right, strike and volatility of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) right: Right,
    pub(super) k: f64,
    pub(super) sigma: f64,
}

impl Contract {
    pub(super) const fn point(&self) -> Point {
        Point { right: self.right, k: self.k, sigma: self.sigma }
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
            return self.european_greeks(contracts);
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

    /// The spot less its dividends.
    pub(super) fn x(&self) -> f64 {
        self.s - self.terms.a(0.0)
    }

    /// Raw Greeks of European contracts.
    pub(super) fn european_greeks(&self, contracts: &[Contract]) -> Vec<Greeks<f64>> {
        let market = SpotInputs::new(&self.terms, self.s);
        let at = Horizon::from(&self.terms);
        let of = |c: &Contract| finish(&european(c.right.phi(), &at, market.x, c.k, c.sigma), &market, c.sigma);
        contracts.iter().map(of).collect()
    }

    /// What early exercise adds to the Greeks of some contracts, at their volatilities.
    pub(super) fn premiums(&self, contracts: &[Contract]) -> Vec<Greeks<f64>> {
        let less = |(all, own): (Greeks<f64>, Greeks<f64>)| Greeks::from_fn(|greek| all.get(greek) - own.get(greek));
        self.greeks(contracts).into_iter().zip(self.european_greeks(contracts)).map(less).collect()
    }

    /// Raw Greeks with the premium that was found at nearby inputs.
    pub(super) fn greeks_near(&self, contracts: &[Contract], premiums: &[Greeks<f64>]) -> Vec<Greeks<f64>> {
        let own = self.european_greeks(contracts);
        if self.style == Style::European {
            return own;
        }
        let with = |(own, more): (Greeks<f64>, &Greeks<f64>)| Greeks::from_fn(|greek| own.get(greek) + more.get(greek));
        own.into_iter().zip(premiums).map(with).collect()
    }

    /// By how much the change of a European value over the next calendar day differs from its derivative, forward and
    /// discount factor unchanged.
    pub(super) fn next_day_bend(&self, Point { right, k, sigma }: Point) -> f64 {
        let (x, terms) = (self.x(), &self.terms);
        let later = (terms.t - 1.0 / DAYS).max(0.0);
        let [now, then] = [terms.t, later].map(|t| {
            let at = Horizon { t, root_t: t.sqrt(), ..Horizon::from(terms) };
            european_vol(right.phi(), &at, x, k, sigma)
        });
        // dV/dt at a fixed forward is σ/(2t) times vega
        let slope = 0.5 * sigma / terms.t * now.vega / DAYS;
        if now.value.is_finite() && then.value.is_finite() { then.value - now.value + slope } else { f64::NAN }
    }
}
