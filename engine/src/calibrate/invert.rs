//! Prices to volatilities, a block of rows of one right at a time. Never: a quote's fate.

use crate::contract::Right;
use crate::kernel::american::PricerAt;
use crate::kernel::black76::{Horizon, european_vol};
use crate::kernel::greeks::VolJet;
use crate::kernel::lanes::{BLOCK, Block, Lanes};

/// Evaluations at most; a dozen Newton steps or forty halvings reach the tolerance.
const ROUNDS: usize = 40;
/// Relative error of the time value at which a volatility is found.
const CLOSE: f64 = 1e-10;

/// What gives values while a slice is calibrated.
#[derive(Clone, Copy, Debug)]
pub enum Model<'a> {
    /// Black-76.
    European,
    /// With the right to exercise early.
    American([PricerAt<'a>; 2]),
}

/// A slice at one spot and carry.
#[derive(Clone, Copy, Debug)]
pub struct Valuation<'a> {
    /// How values come about.
    pub model: Model<'a>,
    /// Discounting and drift.
    pub at: Horizon,
    /// X = S − A(0).
    pub x: f64,
    /// Spot.
    pub s: f64,
    /// Least and greatest volatility that can be valued.
    pub sigma: (f64, f64),
}

impl Valuation<'_> {
    /// European value with volatility derivatives.
    pub fn european(&self, right: Right, k: Block, sigma: Block) -> VolJet<Block> {
        european_vol(right.phi(), &self.at, Block::splat(self.x), k, sigma)
    }

    /// Value with volatility derivatives.
    pub fn value(&self, right: Right, k: Block, sigma: Block) -> VolJet<Block> {
        match self.model {
            Model::European => self.european(right, k, sigma),
            Model::American(pricers) => pricers[right as usize].vol_jet(k, sigma),
        }
    }

    /// What the option is worth at no volatility at least: exercised now, or held to expiry.
    fn floor(&self, right: Right, k: f64) -> f64 {
        let held = right.phi() * (self.x * self.at.df_b - k * self.at.df);
        match self.model {
            Model::European => held.max(0.0),
            Model::American(_) => held.max(right.phi() * (self.s - k)).max(0.0),
        }
    }

    /// Values of options of one right; NaN where the volatility is.
    #[must_use]
    pub fn values(&self, right: Right, k: &[f64], sigma: &[f64]) -> Vec<f64> {
        let mut out = vec![f64::NAN; k.len()];
        let known: Vec<usize> = (0..k.len()).filter(|&i| sigma[i].is_finite()).collect();
        for block in known.chunks(BLOCK) {
            let lane = |i: usize| block[i.min(block.len() - 1)];
            let strikes = Block::load(&core::array::from_fn::<f64, BLOCK, _>(|i| k[lane(i)]));
            let vols = Block::load(&core::array::from_fn::<f64, BLOCK, _>(|i| sigma[lane(i)]));
            let value = self.value(right, strikes, vols).value;
            block.iter().enumerate().for_each(|(i, &row)| out[row] = value.lane(i));
        }
        out
    }

    /// The volatilities of prices of options of one right, starting from `start`. NaN where no volatility gives the
    /// price, or none inside the bounds.
    #[must_use]
    pub fn invert(&self, right: Right, k: &[f64], price: &[f64], start: &[f64]) -> Vec<f64> {
        let mut out = vec![f64::NAN; k.len()];
        let solvable: Vec<usize> =
            (0..k.len()).filter(|&i| price[i] > self.floor(right, k[i]) && start[i].is_finite()).collect();
        for block in solvable.chunks(BLOCK) {
            let lane = |i: usize| block[i.min(block.len() - 1)];
            let mut solver: [Lane; BLOCK] = core::array::from_fn(|i| {
                let row = lane(i);
                let floor = self.floor(right, k[row]);
                Lane::new(price[row] - floor, floor, start[row], self.sigma)
            });
            let strikes = Block::load(&core::array::from_fn::<f64, BLOCK, _>(|i| k[lane(i)]));
            for _ in 0..ROUNDS {
                let sigma = Block::load(&solver.map(|l| l.sigma));
                let jet = self.value(right, strikes, sigma);
                solver.iter_mut().enumerate().for_each(|(i, l)| l.step(jet.value.lane(i), jet.vega.lane(i)));
                if solver.iter().all(|l| l.done) {
                    break;
                }
            }
            block.iter().zip(&solver).for_each(|(&row, l)| out[row] = l.result());
        }
        out
    }
}

/// One bracketed Newton iteration in the logarithm of the time value.
#[derive(Clone, Copy, Debug)]
struct Lane {
    target: f64,
    floor: f64,
    sigma: f64,
    low: f64,
    high: f64,
    /// The bounds of the model: a volatility at one of them is not the price's.
    ends: (f64, f64),
    done: bool,
}

impl Lane {
    fn new(target: f64, floor: f64, start: f64, (low, high): (f64, f64)) -> Self {
        Self { target, floor, sigma: start.clamp(low, high), low, high, ends: (low, high), done: false }
    }

    fn step(&mut self, value: f64, vega: f64) {
        if self.done {
            return;
        }
        if value.is_nan() {
            (self.done, self.sigma) = (true, f64::NAN);
            return;
        }
        let time_value = value - self.floor;
        let miss = (time_value / self.target).ln();
        if miss.abs() < CLOSE {
            self.done = true;
            return;
        }
        if time_value > self.target {
            self.high = self.sigma;
        } else {
            self.low = self.sigma;
        }
        let newton = self.sigma - miss * time_value / vega;
        let next = if newton > self.low && newton < self.high { newton } else { (self.low * self.high).sqrt() };
        let moved = (next / self.sigma - 1.0).abs();
        self.done = moved < 1e-12 || self.high / self.low - 1.0 < 1e-11;
        self.sigma = next;
    }

    fn result(&self) -> f64 {
        let inside = self.sigma > self.ends.0 * (1.0 + 1e-9) && self.sigma < self.ends.1 * (1.0 - 1e-9);
        if self.done && inside { self.sigma } else { f64::NAN }
    }
}
