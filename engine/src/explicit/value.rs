//! Values of one contract, and the columns that they are shown under. Never: a cell of a table.

use crate::store::columns::{Col, Unit};
use kernel::american::{Band, Numbers, Pricer, SharedBoundaries};
use kernel::contract::{Right, Style};
use kernel::dividends::Terms;
use kernel::greeks::Greeks;
use kernel::implied::{ImpliedStatus, implied_alone};
use kernel::quality::Quality;

/// Where the search for a volatility begins that nothing else suggests.
const START_SIGMA: f64 = 0.3;
/// Volatilities outside of this are not looked for, per √year.
const SIGMA: (f64, f64) = (0.001, 12.0);
/// How far a band of the search reaches to either side.
const BAND_RATIO: f64 = 1.5;
/// By how much neighbouring bands overlap, so that no volatility falls between two tables.
const OVERLAP: f64 = 1.02;

/// Tables about a volatility that has been found reach this far: enough to move it, and no wider than it needs.
const POLISH_REACH: f64 = 1.05;
/// The value at an implied volatility is the price that was given, to this fraction of the spot.
const PRICE_AGREES: f64 = 1e-6;

/// A contract with all of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplicitContract {
    /// American or European.
    pub style: Style,
    /// Call or put.
    pub right: Right,
    /// Spot, currency per share.
    pub s: f64,
    /// Strike, currency per share.
    pub k: f64,
    /// Time, rates and dividends.
    pub terms: Terms,
    /// Volatility or price of the contract.
    pub asked: PriceInput,
}

/// Volatility or price of a contract.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PriceInput {
    /// Values at this volatility.
    At(f64),
    /// The volatility that gives this price, and values there.
    Implied(f64),
}

/// Every value of a contract, raw units.
#[derive(Clone, Debug)]
pub struct ExplicitValues {
    /// Volatility, per √year: the given one, or the implied one.
    pub sigma: f64,
    greeks: Greeks<f64>,
    fwd: f64,
}

/// One column of the output: its name, its number in raw units, and the unit it is written in.
#[derive(Clone, Copy, Debug)]
pub struct ValueColumn {
    /// Name of the number.
    pub name: &'static str,
    /// The column of the native record that has the same number; `None`: it has none.
    pub col: Option<Col>,
    of: fn(&ExplicitValues) -> f64,
    unit: Unit,
}

impl ValueColumn {
    /// The number in the unit that is shown.
    #[must_use]
    pub fn number(&self, values: &ExplicitValues) -> f64 {
        // adding 0 turns -0 into 0
        (self.of)(values) / self.unit.divisor() + 0.0
    }
}

/// A column in the unit of the native record.
const fn native(name: &'static str, col: Col, of: fn(&ExplicitValues) -> f64) -> ValueColumn {
    ValueColumn { name, col: Some(col), of, unit: col.unit() }
}

/// The value columns of the golden files, in their order.
pub const COLUMNS: [ValueColumn; 22] = [
    native("price", Col::SvcTheo, |p| p.greeks.value),
    native("delta", Col::Delta, |p| p.greeks.delta),
    native("gamma", Col::Gamma, |p| p.greeks.gamma),
    native("speed", Col::Speed, |p| p.greeks.speed),
    native("vega", Col::Vega, |p| p.greeks.vega),
    native("volga", Col::Volga, |p| p.greeks.volga),
    native("ultima", Col::Ultima, |p| p.greeks.ultima),
    native("vanna", Col::Vanna, |p| p.greeks.vanna),
    native("zomma", Col::Zomma, |p| p.greeks.zomma),
    native("theta", Col::Theta, |p| p.greeks.theta),
    native("charm", Col::Charm, |p| p.greeks.charm),
    native("color", Col::Color, |p| p.greeks.color),
    native("veta", Col::Veta, |p| p.greeks.veta),
    native("rho", Col::Rho, |p| p.greeks.rho),
    native("vera", Col::Vera, |p| p.greeks.vera),
    native("epsilon", Col::Epsilon, |p| p.greeks.epsilon),
    native("lambda", Col::Lambda, |p| p.greeks.lambda),
    native("dual_delta", Col::DualDelta, |p| p.greeks.dual_delta),
    native("dual_gamma", Col::DualGamma, |p| p.greeks.dual_gamma),
    native("d1", Col::D1, |p| p.greeks.d1),
    native("d2", Col::D2, |p| p.greeks.d2),
    ValueColumn { name: "fwd", col: None, of: |p| p.fwd, unit: Unit::Plain },
];

/// Prices one contract; contracts with the same `shared` boundaries share what they solve.
///
/// # Errors
/// Why it has no value, or no implied volatility, in words.
///
/// # Domain   what [`ParameterColumns::contract`](super::ParameterColumns::contract) lets in
pub(super) fn value(
    shared: &SharedBoundaries,
    contract: &ExplicitContract,
    scheme: Quality,
) -> Result<ExplicitValues, String> {
    let ExplicitContract { s, k, terms, .. } = contract;
    if terms.a(0.0) >= *s {
        return Err("no model value: the dividends are worth more than the spot".to_owned());
    }
    let (style, right) = (contract.style, contract.right);
    let tables = |reach: f64, sigma: f64| {
        let band = Band { k: (*k, *k), sigma: (sigma / reach, sigma * reach) };
        Pricer::laid_out(shared, style, right, terms, &band, scheme)
    };
    let (mut pricer, sigma) = match contract.asked {
        PriceInput::At(sigma) => (tables(1.0, sigma), sigma),
        PriceInput::Implied(price) => {
            let near = implied(shared, contract, price, scheme)?;
            let mut pricer = tables(POLISH_REACH, near);
            let polished = implied_alone(&mut pricer, terms, *s, *k, price, near);
            (pricer, if polished.status(0) == ImpliedStatus::Ok { polished.sigma } else { near })
        }
    };
    let greeks = pricer.prepare(terms, *s, *k, sigma, Numbers::Greeks).greeks(*k, sigma);
    let priced = ExplicitValues { sigma, greeks, fwd: terms.fwd(*s) };
    if !COLUMNS.iter().all(|column| (column.of)(&priced).is_finite()) {
        return Err("no model value: outside the range that can be computed".to_owned());
    }
    match contract.asked {
        PriceInput::Implied(price) if (priced.greeks.value - price).abs() > PRICE_AGREES * price.max(*s) => {
            Err(format!("price: no implied volatility found: {price}"))
        }
        _ => Ok(priced),
    }
}

/// The volatility at which the contract is worth `price`.
///
/// Goes from band to band, each narrow enough for one set of tables, towards the side that the last one pointed to.
fn implied(shared: &SharedBoundaries, contract: &ExplicitContract, price: f64, scheme: Quality) -> Result<f64, String> {
    let european = search(shared, contract, Style::European, price, scheme, START_SIGMA);
    if contract.style == Style::European {
        return european.map_err(|status| reason(status, price));
    }
    // An American option is worth more than the European one, so its volatility lies below.
    let start = european.unwrap_or(START_SIGMA);
    search(shared, contract, Style::American, price, scheme, start).map_err(|status| reason(status, price))
}

fn search(
    shared: &SharedBoundaries,
    contract: &ExplicitContract,
    style: Style,
    price: f64,
    scheme: Quality,
    start: f64,
) -> Result<f64, ImpliedStatus> {
    let ExplicitContract { right, s, k, terms, .. } = contract;
    let (mut low, mut high) = (start / BAND_RATIO, start * BAND_RATIO);
    let mut last = ImpliedStatus::Ok;
    loop {
        let band = Band { k: (*k, *k), sigma: (low.max(SIGMA.0), high.min(SIGMA.1)) };
        let mut pricer = Pricer::laid_out(shared, style, *right, terms, &band, scheme);
        let found = implied_alone(&mut pricer, terms, *s, *k, price, start);
        let status = found.status(0);
        match status {
            ImpliedStatus::Ok => return Ok(found.sigma),
            ImpliedStatus::BelowMin if band.sigma.0 > SIGMA.0 && last != ImpliedStatus::AboveMax => {
                (low, high) = (low / (BAND_RATIO * BAND_RATIO), band.sigma.0 * OVERLAP);
            }
            ImpliedStatus::AboveMax if band.sigma.1 < SIGMA.1 && last != ImpliedStatus::BelowMin => {
                (low, high) = (band.sigma.1 / OVERLAP, high * (BAND_RATIO * BAND_RATIO));
            }
            _ => return Err(status),
        }
        last = status;
    }
}

fn reason(status: ImpliedStatus, price: f64) -> String {
    match status {
        ImpliedStatus::BelowMin => format!("price: below the value at any volatility: {price}"),
        ImpliedStatus::AboveMax => format!("price: above the value at any volatility: {price}"),
        ImpliedStatus::AtIntrinsic | ImpliedStatus::Ok => {
            format!("price: equals the exercise value, so any low volatility fits: {price}")
        }
    }
}
