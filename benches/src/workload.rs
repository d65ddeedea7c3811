//! Contracts to price, shaped like a chain: a few expiries, calls and puts, strikes within two standard deviations.

use crate::naive::Contract;
use kernel::american::{Band, Numbers, Pricer, SharedBoundaries};
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::greeks::Greeks;
use kernel::lanes::{BLOCK, Block, Lanes};
use kernel::quality::Quality;
use std::hint::black_box;

/// Spot of every workload, currency per share.
const SPOT: f64 = 100.0;
/// Strikes of one (expiry, right): whole blocks.
const STRIKES: usize = 8 * BLOCK;
/// Calendar days to the expiries.
const DAYS: [f64; 6] = [8.0, 36.0, 92.0, 183.0, 365.0, 730.0];
/// Years to the first of the quarterly ex-dates.
const FIRST_EX: f64 = 0.011;
/// Number of strikes of a chain; with [`CHAIN_DAYS`] whole numbers, as in calendars of days.
const CHAIN_STRIKES: usize = 60;
const CHAIN_DAYS: [f64; 3] = [30.0, 91.0, 365.0];
const CHAIN_FIRST_EX: f64 = 20.0 / 365.0;
const QUARTER: f64 = 91.0 / 365.0;

/// The contracts of one (expiry, right).
#[derive(Clone, Debug)]
pub struct Slice {
    /// Exercise style.
    pub style: Style,
    /// Call or put.
    pub right: Right,
    /// Time, rates and dividends.
    pub terms: Terms,
    contracts: usize,
    /// Padded to whole blocks with the last contract.
    k: Vec<f64>,
    sigma: Vec<f64>,
}

/// Twelve slices of 64 contracts: 4 % rate, borrow `b`, a `dividend` every quarter (0: none).
#[must_use]
pub fn slices(style: Style, b: f64, dividend: f64) -> Vec<Slice> {
    let expiry = |days: f64| terms(days / 365.0, b, FIRST_EX, 0.25, dividend);
    both(style, DAYS.into_iter().map(expiry), STRIKES)
}

/// Six slices of 60 contracts: a chain of three expiries and 60 strikes, whose times are whole days.
#[must_use]
pub fn chain(style: Style, b: f64, dividend: f64) -> Vec<Slice> {
    let expiry = |days: f64| terms(days / 365.0, b, CHAIN_FIRST_EX, QUARTER, dividend);
    both(style, CHAIN_DAYS.into_iter().map(expiry), CHAIN_STRIKES)
}

/// Calls and puts of each expiry.
fn both(style: Style, expiries: impl Iterator<Item = Terms>, strikes: usize) -> Vec<Slice> {
    expiries
        .flat_map(|terms| [Right::Call, Right::Put].map(|right| Slice::new(style, right, &terms, strikes)))
        .collect()
}

/// Terms of `t` years with dividends at `first`, every `step`, of `amount`.
fn terms(t: f64, b: f64, first: f64, step: f64, amount: f64) -> Terms {
    let ex_dates = (0..).map(|i| first + step * f64::from(i)).take_while(|&ex| ex < t && amount > 0.0);
    Terms { t, r: 0.04, b, divs: ex_dates.map(|ex| Dividend { t: ex, amount }).collect() }
}

impl Slice {
    fn new(style: Style, right: Right, terms: &Terms, strikes: usize) -> Self {
        let last = strikes - 1;
        let padded = (0..strikes.next_multiple_of(BLOCK)).map(|i| i.min(last));
        let deviations = padded.map(|i| 4.0 * i as f64 / last as f64 - 2.0);
        let (k, sigma) =
            deviations.map(|d| (SPOT * (0.25 * terms.t.sqrt() * d).exp(), 0.25 - 0.02 * d + 0.01 * d * d)).unzip();
        Self { style, right, terms: terms.clone(), contracts: strikes, k, sigma }
    }

    /// How many contracts.
    #[must_use]
    pub fn contracts(&self) -> u64 {
        self.contracts as u64
    }

    /// Contract `i`, for the plain versions.
    #[must_use]
    pub fn contract(&self, i: usize) -> Contract {
        let (k, sigma, terms) = (self.k[i], self.sigma[i], self.terms.clone());
        Contract { style: self.style, right: self.right, s: SPOT, k, sigma, terms }
    }

    /// Returns the slice's pricer at full quality, with its tables of early exercise built.
    #[must_use]
    pub fn pricer(&self) -> Pricer {
        self.pricer_with(Quality::Full)
    }

    /// Returns the slice's pricer at a given quality, with its tables built.
    #[must_use]
    pub fn pricer_with(&self, scheme: Quality) -> Pricer {
        let ends = |of: &[f64]| of.iter().fold((f64::INFINITY, 0.0f64), |(lo, hi), &x| (lo.min(x), hi.max(x)));
        let band = Band { k: ends(&self.k), sigma: ends(&self.sigma) };
        let shared = SharedBoundaries::default();
        let mut pricer = Pricer::laid_out(&shared, self.style, self.right, &self.terms, &band, scheme);
        for (k, sigma) in self.k.chunks_exact(BLOCK).zip(self.sigma.chunks_exact(BLOCK)) {
            pricer.prepare(&self.terms, SPOT, Block::load(k), Block::load(sigma), Numbers::Greeks);
        }
        pricer
    }

    /// Every value of every contract, [`BLOCK`] at a time.
    pub fn value(&self, pricer: &Pricer) {
        let at = pricer.at(&self.terms, SPOT);
        for (k, sigma) in self.k.chunks_exact(BLOCK).zip(self.sigma.chunks_exact(BLOCK)) {
            let greeks: Greeks<Block> = at.greeks(Block::load(k), Block::load(sigma));
            black_box(&greeks);
        }
    }

    /// Value and volatility derivatives of every contract, the borrow rate moved by `db`.
    pub fn value_by_vol(&self, pricer: &Pricer, db: f64) {
        let terms = Terms { b: self.terms.b + db, ..self.terms.clone() };
        let at = pricer.at(&terms, SPOT);
        for (k, sigma) in self.k.chunks_exact(BLOCK).zip(self.sigma.chunks_exact(BLOCK)) {
            black_box(&at.vol_derivatives(Block::load(k), Block::load(sigma)));
        }
    }

    /// Values the contracts one at a time.
    pub fn value_singly(&self, pricer: &Pricer) {
        let at = pricer.at(&self.terms, SPOT);
        for (&k, &sigma) in self.k.iter().zip(&self.sigma) {
            let greeks: Greeks<f64> = at.greeks(k, sigma);
            black_box(&greeks);
        }
    }
}

/// All values of one contract from tables made for a band around it, as a chain would have them.
#[must_use]
pub fn engine_greeks(o: &Contract) -> Greeks<f64> {
    engine_greeks_with(o, Quality::Full)
}

/// All values of one contract by either scheme; see [`engine_greeks`].
#[must_use]
pub fn engine_greeks_with(o: &Contract, scheme: Quality) -> Greeks<f64> {
    let band = Band { k: (0.8 * o.k, 1.25 * o.k), sigma: (0.7 * o.sigma, 1.3 * o.sigma) };
    let mut pricer = Pricer::laid_out(&SharedBoundaries::default(), o.style, o.right, &o.terms, &band, scheme);
    pricer.prepare(&o.terms, o.s, o.k, o.sigma, Numbers::Greeks).greeks(o.k, o.sigma)
}
