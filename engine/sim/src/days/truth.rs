//! True values and Greeks of contracts of the simulated market, by the lattice of the kernels. Never: a quote.

use crate::{SimMarket, SliceTruth};
use engine::store::book::BookSlice;
use jiff::Timestamp;
use kernel::calendar::days_between;
use kernel::contract::{Right, Style, strike_of};
use kernel::elementary::{exp, ln};
use kernel::lanes::{Block, Lanes, Mask};
use kernel::lattice::Lattice;
use kernel::normal::{INV_SQRT_2PI, norm_cdf};

/// Layers of the lattice for the early exercise premiums of the Greeks.
const STEPS: usize = 256;

/// True value and Greeks of a contract.
#[derive(Clone, Copy, Debug)]
pub struct TrueGreeks {
    /// Per year.
    pub vol: f64,
    /// Dollars a share.
    pub value: f64,
    /// Dollars a share per dollar of the spot, the volatility unchanged.
    pub delta: f64,
    /// The derivative of delta by the spot, per dollar.
    pub gamma: f64,
    /// Dollars a share per 1 % of volatility.
    pub vega: f64,
    /// Dollars a share per calendar day.
    pub theta: f64,
    /// Forward of the expiry, dollars a share.
    pub forward: f64,
    /// Cash dividends to expiry, dollars a share.
    pub dividends: f64,
}

/// True values and Greeks of the contracts of a slice, by row; `None`: the market does not list the slice.
pub(super) fn true_greeks(market: &SimMarket, slice: &BookSlice, ts: Timestamp) -> Option<Vec<TrueGreeks>> {
    let truth = market.truth(slice.root, slice.expiry, ts)?;
    let values = market.values(slice.root, slice.expiry, ts)?;
    let strikes: Vec<f64> = slice.strike_milli.iter().map(|&milli| strike_of(milli)).collect();
    let lattices = [Right::Call, Right::Put].map(|right| Lattice::new(&truth.terms, truth.s, right, STEPS));
    let american = slice.style == Style::American && days_between(ts, slice.settles_at) > 0.0;
    // an empty sum of floats is -0
    let dividends = truth.terms.divs.iter().fold(0.0, |sum, dividend| sum + dividend.amount);
    let greeks = |row: usize| {
        let (strike, right) = (strikes[row], slice.right[row]);
        let [delta, gamma, vega] = european(&truth, strike, right);
        if !american {
            return [delta, gamma, vega];
        }
        let lattice = &lattices[usize::from(right == Right::Put)];
        let premium = lattice.premium(Block::splat(strike), Block::splat(truth.sigma(strike)));
        if premium.exercised.lane(0) {
            [right.phi(), 0.0, 0.0]
        } else {
            [delta + premium.slope.lane(0), gamma + premium.curve.lane(0), vega + premium.vega.lane(0)]
        }
    };
    let of = |(row, value): (usize, f64)| {
        let ([delta, gamma, vega], vol) = (greeks(row), truth.sigma(strikes[row]));
        let theta = if gamma == 0.0 { 0.0 } else { theta(&truth, vol, [value, delta, gamma]) / 365.0 };
        TrueGreeks { vol, value, delta, gamma, vega: vega / 100.0, theta, forward: truth.fwd, dividends }
    };
    Some(values.into_iter().enumerate().map(of).collect())
}

/// S − A(0): what of the spot is not dividends to come.
fn without_dividends(truth: &SliceTruth) -> f64 {
    truth.fwd * exp((truth.terms.b - truth.terms.r) * truth.terms.t)
}

/// Black-76 by the spot: the forward moves by e^((r − b)·t) of it. Delta, gamma, and vega per 1.00.
fn european(truth: &SliceTruth, strike: f64, right: Right) -> [f64; 3] {
    let (root_t, phi) = (truth.terms.t.sqrt(), right.phi());
    let sd = truth.sigma(strike) * root_t;
    let d1 = ln(truth.fwd / strike) / sd + 0.5 * sd;
    let (x, carried) = (without_dividends(truth), exp(-truth.terms.b * truth.terms.t));
    let density = INV_SQRT_2PI * exp(-0.5 * d1 * d1);
    [phi * carried * norm_cdf(phi * d1), carried * density / (x * sd), carried * x * density * root_t]
}

/// The pricing equation, which holds as long as the option is alive (docs/model.md): per year, of value, delta and
/// gamma.
fn theta(truth: &SliceTruth, vol: f64, [value, delta, gamma]: [f64; 3]) -> f64 {
    let (r, b, x) = (truth.terms.r, truth.terms.b, without_dividends(truth));
    r * value - (r - b) * truth.s * delta - 0.5 * (vol * x).powi(2) * gamma
}
