//! Values of one contract by each scheme, all from one basis. Never: a column.

use kernel::american::{Band, Numbers, Pricer, SharedBoundaries};
use kernel::black76::{Horizon, european};
use kernel::contract::{Deliverable, Right, Style};
use kernel::dividends::Terms;
use kernel::greeks::{Greek, Greeks, SpotInputs, finish};
use kernel::quality::Quality;

/// Values and Greeks of one contract, raw units.
#[derive(Clone, Copy, Debug)]
pub struct SchemeValues {
    /// Greeks without early exercise.
    pub european: Greeks<f64>,
    /// Greeks by the scheme of the passes, with tables for this contract alone.
    pub fast: Greeks<f64>,
    /// Greeks by the reference scheme.
    pub reference: Greeks<f64>,
}

impl SchemeValues {
    /// Turns values per share of the underlying into those of an adjusted contract, with its number of shares and its
    /// strike.
    pub(super) fn of_deliverable(mut self, terms: &Deliverable) -> Self {
        let (shares, strike) = (terms.shares_per_unit(), terms.strike_per_unit());
        for greeks in [&mut self.european, &mut self.fast, &mut self.reference] {
            let of_share = *greeks;
            *greeks = Greeks::from_fn(|greek| {
                let factor = match greek {
                    Greek::Lambda | Greek::D1 | Greek::D2 => 1.0,
                    Greek::DualDelta => strike,
                    Greek::DualGamma => strike * strike / shares,
                    _ => shares,
                };
                factor * of_share.get(greek)
            });
        }
        self
    }
}

/// The values of a contract of strike `k` and volatility `sigma`.
///
/// # Units    raw, as [`Greeks`]
/// # Domain   as of the pricers; NaN where there is no model value
pub(super) fn values(style: Style, right: Right, terms: &Terms, s: f64, k: f64, sigma: f64) -> SchemeValues {
    let market = SpotInputs::new(terms, s);
    let plain = finish(&european(right.phi(), &Horizon::from(terms), market.x, k, sigma), &market, sigma);
    if style == Style::European {
        return SchemeValues { european: plain, fast: plain, reference: plain };
    }
    let by = |quality: Quality| {
        let band = Band { k: (k, k), sigma: (sigma, sigma) };
        let mut pricer = Pricer::laid_out(&SharedBoundaries::default(), style, right, terms, &band, quality);
        pricer.prepare(terms, s, k, sigma, Numbers::Greeks).greeks(k, sigma)
    };
    SchemeValues { european: plain, fast: by(Quality::Full), reference: by(Quality::Reference) }
}
