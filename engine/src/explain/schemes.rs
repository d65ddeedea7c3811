//! Values of one contract by each scheme, all from one basis. Never: a column.

use kernel::american::{Band, Counts, Pricer};
use kernel::black76::{Horizon, european};
use kernel::contract::{Deliverable, Right, Style};
use kernel::dividends::Terms;
use kernel::greeks::{Greek, Greeks, SpotInputs, finish};
use kernel::quality::Quality;

/// Within this fraction of the strike a value is the exercise value.
const EXERCISED: f64 = 1e-9;

/// Values and Greeks of one contract, raw units.
#[derive(Clone, Copy, Debug)]
pub struct SchemeValues {
    /// As if it could be exercised at expiry only.
    pub european: Greeks<f64>,
    /// By the scheme of the passes, with tables for this contract alone.
    pub fast: Greeks<f64>,
    /// By the reference scheme.
    pub reference: Greeks<f64>,
    /// Method that values early exercise.
    pub method: EarlyMethod,
}

impl SchemeValues {
    /// Values of a contract of an adjusted root, from those of an option on one share of the underlying: so many of
    /// these, at a strike that moves with the listed one.
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

/// How early exercise is valued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyMethod {
    /// It is not allowed.
    EuropeanStyle,
    /// It is allowed and proved to be worth nothing.
    NeverPays,
    /// It pays now: the value is what exercise pays.
    ExercisedNow,
    /// By the exercise boundary of a contract without dividends.
    Boundary,
    /// In closed form: a call with one date that is worth exercising before.
    ClosedForm,
    /// By tables of the premium over the European value.
    PremiumTables,
    /// By trinomial lattices: the tables are not built yet.
    Lattice,
}

impl EarlyMethod {
    /// Name of the method in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EuropeanStyle => "european_style",
            Self::NeverPays => "never_pays",
            Self::ExercisedNow => "exercised_now",
            Self::Boundary => "boundary",
            Self::ClosedForm => "closed_form",
            Self::PremiumTables => "premium_tables",
            Self::Lattice => "lattice",
        }
    }
}

/// The values of a contract of strike `k` and volatility `sigma`; `preliminary`:
/// its chain values early exercise by lattices.
///
/// # Units    raw, as [`Greeks`]
/// # Domain   as of the pricers; NaN where there is no model value
pub(super) fn values(
    style: Style,
    right: Right,
    terms: &Terms,
    s: f64,
    k: f64,
    sigma: f64,
    preliminary: bool,
) -> SchemeValues {
    let market = SpotInputs::new(terms, s);
    let plain = finish(&european(right.phi(), &Horizon::from(terms), market.x, k, sigma), &market, sigma);
    if style == Style::European {
        return SchemeValues { european: plain, fast: plain, reference: plain, method: EarlyMethod::EuropeanStyle };
    }
    let by = |scheme: Quality| {
        let pricer = Pricer::new(style, right, terms, &Band { k: (k, k), sigma: (sigma, sigma) }, scheme);
        (pricer.at(terms, s).greeks(k, sigma), pricer.counts())
    };
    let ((fast, counts), (reference, _)) = (by(Quality::Full), by(Quality::Reference));
    let payoff = right.phi() * (s - k);
    let method = match counts {
        _ if payoff > 0.0 && (fast.value - payoff).abs() <= EXERCISED * k => EarlyMethod::ExercisedNow,
        Counts { european, boundaries: 0, aligned: 0, anchored: 0, closed: 0, .. } if european > 0 => {
            EarlyMethod::NeverPays
        }
        _ if preliminary => EarlyMethod::Lattice,
        Counts { boundaries, .. } if boundaries > 0 => EarlyMethod::Boundary,
        Counts { aligned: 0, anchored: 0, closed, .. } if closed > 0 => EarlyMethod::ClosedForm,
        _ => EarlyMethod::PremiumTables,
    };
    SchemeValues { european: plain, fast, reference, method }
}
