//! Intended accuracy of American values, by the measure of testkit::ruler.

use kernel::greeks::Greek;

/// A bound of an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aim {
    /// The error that is allowed.
    pub error: f64,
    /// True if it is asked for; else it follows from those of like order.
    pub named: bool,
}

/// Errors that 99 % of all rows may have.
#[must_use]
pub fn aim(greek: Greek) -> Aim {
    use Greek::{
        Charm, Delta, DualDelta, DualGamma, Epsilon, Gamma, Lambda, Rho, Theta, Value, Vanna, Vega, Vera, Veta,
    };
    let (error, named) = match greek {
        Value => (1e-6, true),
        Delta => (1e-5, true),
        Gamma | Vega | Theta => (1e-3, true),
        Rho | Vera | Epsilon => (1e-2, true),
        DualDelta | Lambda => (1e-5, false),
        DualGamma => (1e-3, false),
        Vanna | Greek::Volga | Charm | Veta => (1e-2, false),
        _ => (1e-2, greek.order() == 3),
    };
    Aim { error, named }
}

/// Errors that 90 % of the rows within half a deviation of the exercise boundary, or within two days of an ex-date, may
/// have; `None`: no requirement.
#[must_use]
pub fn aim_near(greek: Greek) -> Option<Aim> {
    let error = match greek {
        Greek::Gamma => Some(1e-3),
        _ => (greek.order() == 3).then_some(1e-2),
    };
    error.map(|error| Aim { error, named: true })
}
