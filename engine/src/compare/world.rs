//! Greeks of some contracts under given terms. Never: a difference.

use crate::store::chain::Chain;
use crate::store::columns::Col;
use kernel::american::{Band, Numbers, Pricer, SharedBoundaries};
use kernel::black76::{Horizon, european, european_vol};
use kernel::contract::{Right, Style, strike_of};
use kernel::dividends::Terms;
use kernel::greeks::{Greek, Greeks, SpotInputs, finish};
use kernel::quality::Quality;
use std::sync::{Arc, Mutex, PoisonError};

/// Ends of the band of volatilities for which early exercise is tabulated, as factors of the lower and of the higher of
/// our volatility and the vendor's.
const BAND: (f64, f64) = (0.9, 1.1);
/// Greatest factor between our volatility and the vendor's that the band follows.
const BAND_MOST: f64 = 1.5;
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
    /// Greeks in the vendor's units.
    pub greeks: VendorNumbers,
}

/// A contract with the vendor's numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contract {
    pub(super) row: u32,
    pub(super) right: Right,
    pub(super) k: f64,
    /// The vendor's volatility, and that of our curve.
    pub(super) sigma: f64,
    pub(super) ours: f64,
    /// Band of volatilities for which early exercise is tabulated.
    pub(super) band: (f64, f64),
    pub(super) vendor: VendorNumbers,
}

impl Contract {
    /// Creates a contract; `None`: the vendor has no volatility, or no Greek.
    pub(super) fn new(chain: &Chain, row: &VendorRow) -> Option<Self> {
        let at = row.row as usize;
        let (right, strike) = (*chain.right.get(at)?, strike_of(*chain.strike_milli.get(at)?));
        let is_known = row.sigma > 0.0 && row.sigma.is_finite() && row.greeks.iter().any(|greek| greek.is_finite());
        if !is_known {
            return None;
        }
        let ours = chain.columns.get(Col::SvcVol)[at];
        let near = if ours > 0.0 && ours.is_finite() { ours } else { row.sigma };
        let other = row.sigma.clamp(near / BAND_MOST, near * BAND_MOST);
        let band = (BAND.0 * near.min(other), BAND.1 * near.max(other));
        Some(Self { row: row.row, right, k: strike, sigma: row.sigma, ours, band, vendor: row.greeks })
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

/// Tables of early exercise for some contracts under some terms.
#[derive(Debug)]
pub(super) struct WorldTables {
    terms: Terms,
    /// Pricers of calls and puts, each prepared for a contract when that contract is read; `None`: no such contracts.
    pricers: [Option<Mutex<Pricer>>; 2],
}

impl WorldTables {
    /// The tables of American contracts over the volatilities of their bands.
    pub(super) fn new(terms: &Terms, contracts: &[Contract]) -> Self {
        let pricers = [Right::Call, Right::Put].map(|right| {
            let of_right = contracts.iter().filter(|contract| contract.right == right);
            let bands: Vec<Band> = of_right.map(|c| Band { k: (c.k, c.k), sigma: c.band }).collect();
            let shared = SharedBoundaries::default();
            let new = || Pricer::laid_out(&shared, Style::American, right, terms, bands.as_slice(), Quality::Full);
            (!bands.is_empty()).then(|| Mutex::new(new()))
        });
        Self { terms: terms.clone(), pricers }
    }

    /// Early exercise premiums of the Greeks of some contracts at a spot; a volatility beyond a contract's band counts
    /// as the end of the band.
    fn premiums(&self, s: f64, contracts: &[Contract]) -> Vec<Greeks<f64>> {
        let (market, at) = (SpotInputs::new(&self.terms, s), Horizon::from(&self.terms));
        let of = |contract: &Contract| {
            let Some(pricer) = &self.pricers[contract.right as usize] else { return Greeks::from_fn(|_| f64::NAN) };
            let sigma = contract.sigma.max(contract.band.0).min(contract.band.1);
            let mut pricer = pricer.lock().unwrap_or_else(PoisonError::into_inner);
            let all = pricer.prepare(&self.terms, s, contract.k, sigma, Numbers::Greeks).greeks(contract.k, sigma);
            let own = finish(&european(contract.right.phi(), &at, market.x, contract.k, sigma), &market, sigma);
            Greeks::from_fn(|greek| all.get(greek) - own.get(greek))
        };
        contracts.iter().map(of).collect()
    }
}

/// Early exercise premiums of a world.
#[derive(Clone, Debug)]
pub(super) enum WorldPremium {
    /// No premium: the contracts are European.
    None,
    /// Premiums from tables, at a spot.
    Of(Arc<WorldTables>, f64),
    /// Premiums interpolated between tables at two rates, at a spot; the last number is the weight of the second.
    Between(Arc<WorldTables>, Arc<WorldTables>, f64, f64),
}

/// Inputs that the Greeks of an expiry are computed from: those served, or with a vendor's likely mistake.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) early: WorldPremium,
    pub(super) s: f64,
    pub(super) terms: Terms,
    /// Days between the settlements of a trade today and of a trade at expiry, relative to the days to expiry.
    pub(super) settled: f64,
}

impl World {
    /// The world with European contracts.
    pub(super) fn european(&self) -> Self {
        Self { early: WorldPremium::None, ..self.clone() }
    }

    /// True if no contract can be exercised early.
    pub(super) const fn is_european(&self) -> bool {
        matches!(self.early, WorldPremium::None)
    }

    /// Raw Greeks of some contracts at their volatilities; NaN where there is no model value.
    pub(super) fn greeks(&self, contracts: &[Contract]) -> Vec<Greeks<f64>> {
        let (mut all, premiums) = (self.european_greeks(contracts), self.premiums(contracts));
        for (of, premium) in all.iter_mut().zip(premiums) {
            *of = Greeks::from_fn(|greek| of.get(greek) + premium.get(greek));
        }
        all
    }

    /// The spot less its dividends.
    pub(super) fn x(&self) -> f64 {
        self.s - self.terms.a(0.0)
    }

    /// Raw Greeks of European contracts.
    fn european_greeks(&self, contracts: &[Contract]) -> Vec<Greeks<f64>> {
        let market = SpotInputs::new(&self.terms, self.s);
        let at = Horizon::from(&self.terms);
        let of = |c: &Contract| finish(&european(c.right.phi(), &at, market.x, c.k, c.sigma), &market, c.sigma);
        contracts.iter().map(of).collect()
    }

    /// Early exercise premiums of the Greeks of some contracts, at their volatilities; empty: all are 0.
    fn premiums(&self, contracts: &[Contract]) -> Vec<Greeks<f64>> {
        match &self.early {
            WorldPremium::None => Vec::new(),
            WorldPremium::Of(tables, s) => tables.premiums(*s, contracts),
            WorldPremium::Between(from, to, s, part) => {
                let pairs = from.premiums(*s, contracts).into_iter().zip(to.premiums(*s, contracts));
                let mix = |from: f64, to: f64| from + part * (to - from);
                pairs.map(|(from, to)| Greeks::from_fn(|greek| mix(from.get(greek), to.get(greek)))).collect()
            }
        }
    }

    /// Change of a European value over the next calendar day less its time derivative, with forward and discount factor
    /// unchanged.
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
