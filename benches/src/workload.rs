//! Contracts to price, shaped like a chain: a few expiries, calls and puts, strikes within two standard deviations.

use crate::naive::Contract;
use engine::contract::{Right, Style};
use engine::kernel::american::{Band, Pricer, Scheme};
use engine::kernel::dividends::{Dividend, Terms};
use engine::kernel::greeks::Greeks;
use engine::kernel::lanes::{BLOCK, Block, Lanes};
use std::hint::black_box;

/// Spot of every workload, currency per share.
const SPOT: f64 = 100.0;
/// Strikes of one (expiry, right): whole blocks.
const STRIKES: usize = 8 * BLOCK;
/// Calendar days to the expiries.
const DAYS: [f64; 6] = [8.0, 36.0, 92.0, 183.0, 365.0, 730.0];

/// The contracts of one (expiry, right).
#[derive(Clone, Debug)]
pub struct Slice {
    /// Exercise style.
    pub style: Style,
    /// Call or put.
    pub right: Right,
    /// Time, rates and dividends.
    pub terms: Terms,
    k: Vec<f64>,
    sigma: Vec<f64>,
}

/// Twelve slices of 64 contracts: 4 % rate, borrow `b`, a `dividend` every quarter (0: none).
#[must_use]
pub fn slices(style: Style, b: f64, dividend: f64) -> Vec<Slice> {
    let each = |days: f64| [Right::Call, Right::Put].map(|right| Slice::new(style, right, days / 365.0, b, dividend));
    DAYS.into_iter().flat_map(each).collect()
}

impl Slice {
    fn new(style: Style, right: Right, t: f64, b: f64, dividend: f64) -> Self {
        let ex_dates = (0..).map(|i| 0.011 + 0.25 * f64::from(i)).take_while(|&ex| ex < t && dividend > 0.0);
        let divs = ex_dates.map(|ex| Dividend { t: ex, amount: dividend }).collect();
        let deviations = (0..STRIKES).map(|i| 4.0 * i as f64 / (STRIKES - 1) as f64 - 2.0);
        let (k, sigma) =
            deviations.map(|d| (SPOT * (0.25 * t.sqrt() * d).exp(), 0.25 - 0.02 * d + 0.01 * d * d)).unzip();
        Self { style, right, terms: Terms { t, r: 0.04, b, divs }, k, sigma }
    }

    /// How many contracts.
    #[must_use]
    pub fn contracts(&self) -> u64 {
        self.k.len() as u64
    }

    /// Contract `i`, for the plain versions.
    #[must_use]
    pub fn contract(&self, i: usize) -> Contract {
        let (k, sigma, terms) = (self.k[i], self.sigma[i], self.terms.clone());
        Contract { style: self.style, right: self.right, s: SPOT, k, sigma, terms }
    }

    /// What a pass keeps of the slice, its tables built.
    #[must_use]
    pub fn pricer(&self) -> Pricer {
        let ends = |of: &[f64]| of.iter().fold((f64::INFINITY, 0.0f64), |(lo, hi), &x| (lo.min(x), hi.max(x)));
        let band = Band { k: ends(&self.k), sigma: ends(&self.sigma) };
        let pricer = Pricer::new(self.style, self.right, &self.terms, &band, Scheme::Fast);
        self.value(&pricer); // tables of a premium are built when they are first read
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
            black_box(&at.vol_jet(Block::load(k), Block::load(sigma)));
        }
    }

    /// The same, one contract at a time.
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
    let band = Band { k: (0.8 * o.k, 1.25 * o.k), sigma: (0.7 * o.sigma, 1.3 * o.sigma) };
    Pricer::new(o.style, o.right, &o.terms, &band, Scheme::Fast).at(&o.terms, o.s).greeks(o.k, o.sigma)
}
