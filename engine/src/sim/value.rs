//! What contracts are truly worth: the truth of an expiry, and values from it by the engine's own kernel.
//!
//! Where exercising early is worth less than a tenth of a cent, the European value is the value, in closed form. Elsewhere
//! a [`Pricer`] per (expiry, right) is built once and serves while the spot moves. Never: a quote, a spread.

use super::surface::Smile;
use crate::contract::{Right, Style};
use crate::kernel::american::{Band, Pricer, Scheme};
use crate::kernel::dividends::{Dividend, Terms};
use crate::kernel::elementary::{exp, ln};
use crate::kernel::lanes::{Block, Lanes};
use crate::kernel::normal::{INV_SQRT_2PI, norm_cdf};

/// Exercise premium, currency per share, below which a contract counts as European.
const PREMIUM_IGNORED: f64 = 0.001;
/// How much wider than the volatilities at its making a pricer is built: they move during a session.
const SIGMA_MARGIN: f64 = 1.12;

/// What is true of one (root, expiry) at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceTruth {
    /// The price that options are written on: the spot (of the deliverable), or the forward for the VIX family.
    pub s: f64,
    /// Forward, currency per share.
    pub fwd: f64,
    /// Time, rate, borrow and dividends.
    pub terms: Terms,
    /// Volatilities.
    pub smile: Smile,
}

impl SliceTruth {
    /// The truth of an expiry whose forward follows from the spot.
    pub(super) fn carried(s: f64, terms: Terms, smile: Smile) -> Self {
        let carry = terms.r - terms.b;
        let paid: f64 = terms.divs.iter().map(|d: &Dividend| d.amount * exp(-carry * d.t)).sum();
        Self { s, fwd: (s - paid) * exp(carry * terms.t), terms, smile }
    }

    /// The truth of an expiry that has a forward of its own: then S = F and b = r.
    pub(super) fn on_forward(fwd: f64, t: f64, r: f64, smile: Smile) -> Self {
        Self { s: fwd, fwd, terms: Terms { t, r, b: r, divs: Vec::new() }, smile }
    }

    /// Volatility of a strike.
    #[must_use]
    pub fn sigma(&self, strike: f64) -> f64 {
        self.smile.sigma(ln(strike / self.fwd))
    }

    /// Discount factor.
    #[must_use]
    pub fn df(&self) -> f64 {
        exp(-self.terms.r * self.terms.t)
    }

    /// Value, delta and vega of a European contract.
    pub(super) fn european(&self, strike: f64, right: Right) -> Fair {
        let sigma = self.sigma(strike);
        let sd = sigma * self.terms.t.sqrt();
        let d1 = self.d1(strike);
        let (phi, df) = (right.phi(), self.df());
        let (n1, n2) = (norm_cdf(phi * d1), norm_cdf(phi * (d1 - sd)));
        let density = INV_SQRT_2PI * exp(-0.5 * d1 * d1);
        Fair {
            value: (df * phi * (self.fwd * n1 - strike * n2)).max(0.0),
            delta: phi * n1,
            vega: df * self.fwd * density * self.terms.t.sqrt(),
            sigma,
        }
    }

    /// What exercise at once pays.
    fn intrinsic(&self, strike: f64, right: Right) -> f64 {
        (right.phi() * (self.s - strike)).max(0.0)
    }

    /// An upper bound, or nearly one, of what the right to exercise early is worth.
    ///
    /// # Source  puts: interest on the strike (and a negative borrow rate's yield) while in the money, and no more than
    ///           the call where nothing is paid (American parity); calls: dividends in excess of the strike's interest to
    ///           the next ex-date, and the borrow rate's yield where it exceeds the interest
    fn premium_bound(&self, strike: f64, right: Right) -> f64 {
        match right {
            Right::Put => self.put_bound(strike),
            Right::Call => self.call_bound(strike),
        }
    }

    fn put_bound(&self, strike: f64) -> f64 {
        let Terms { t, r, b, divs } = &self.terms;
        let earned = strike * (1.0 - exp(-r * t)).max(0.0) + (-b).max(0.0) * t * strike;
        let bound = earned * norm_cdf(-self.d1(strike) + self.sigma(strike) * t.sqrt());
        if divs.is_empty() {
            bound.min(self.european(strike, Right::Call).value + b.max(0.0) * t * self.s)
        } else {
            bound
        }
    }

    fn call_bound(&self, strike: f64) -> f64 {
        let Terms { t, r, b, divs } = &self.terms;
        let yield_ = b.max(0.0);
        let until_next = |i: usize| divs.get(i + 1).map_or(*t, |d| d.t) - divs[i].t;
        let interest = |years: f64| strike * (1.0 - exp(-r * years));
        let gain = |i: usize| divs[i].amount + yield_ * until_next(i) * self.s - interest(until_next(i));
        let paid: f64 = (0..divs.len()).map(|i| gain(i).max(0.0)).sum();
        let dear = if yield_ > 0.0 { strike * (r / yield_).max(1.0) } else { strike };
        let carried = (yield_ + (-r).max(0.0)) * t * self.s * norm_cdf(self.d1(dear));
        paid * (2.0 * norm_cdf(self.d1(strike))).min(1.0) + carried
    }

    fn d1(&self, strike: f64) -> f64 {
        let sd = self.sigma(strike) * self.terms.t.sqrt();
        ln(self.fwd / strike) / sd + 0.5 * sd
    }
}

/// A contract's true value, and what the spread depends on (European, which is near enough there).
#[derive(Clone, Copy, Debug)]
pub(super) struct Fair {
    pub(super) value: f64,
    pub(super) delta: f64,
    pub(super) vega: f64,
    pub(super) sigma: f64,
}

/// The pricers of one American (root, expiry): calls, then puts; none where exercise is worth nothing at any strike.
#[derive(Debug)]
pub(super) struct Tables([Option<Table>; 2]);

#[derive(Debug)]
struct Table {
    pricer: Pricer,
    band: Band,
}

impl Tables {
    /// Builds what the strikes of an expiry need, at its truth at some instant.
    pub(super) fn build(truth: &SliceTruth, strikes: &[f64]) -> Self {
        Self([Right::Call, Right::Put].map(|right| {
            let band = band(truth, strikes, right)?;
            let pricer = Pricer::new(Style::American, right, &truth.terms, &band, Scheme::Fast);
            Some(Table { pricer, band })
        }))
    }

    /// Raises European values to American ones: `strikes[i]` of `right` has the value `fair[i]`.
    pub(super) fn value(&self, truth: &SliceTruth, right: Right, strikes: &[f64], fair: &mut [Fair]) {
        let Some(table) = &self.0[right as usize] else { return };
        let held = |i: &usize| strikes[*i] >= table.band.k.0 && strikes[*i] <= table.band.k.1;
        let rows: Vec<usize> = (0..strikes.len()).filter(held).collect();
        let at = table.pricer.at(&truth.terms, truth.s);
        for chunk in rows.chunks(Block::N) {
            let place = |lane: usize| chunk[lane.min(chunk.len() - 1)];
            let (low, high) = table.band.sigma;
            let k = core::array::from_fn::<f64, 8, _>(|lane| strikes[place(lane)]);
            let sigma = core::array::from_fn::<f64, 8, _>(|lane| fair[place(lane)].sigma.clamp(low, high));
            let value = at.vol_jet(Block::load(&k), Block::load(&sigma)).value;
            for (lane, &i) in chunk.iter().enumerate() {
                fair[i].value = american(value.lane(lane), fair[i].value, truth.intrinsic(strikes[i], right));
            }
        }
    }
}

/// A table's value, held to what no American contract is below.
fn american(table: f64, european: f64, intrinsic: f64) -> f64 {
    let floor = european.max(intrinsic);
    if table > floor { table } else { floor }
}

/// The strikes whose right to exercise early is worth something, and their volatilities with a margin.
fn band(truth: &SliceTruth, strikes: &[f64], right: Right) -> Option<Band> {
    let held = strikes.iter().filter(|&&k| truth.premium_bound(k, right) > PREMIUM_IGNORED);
    let wide = |(low, high): (f64, f64), x: f64| (low.min(x), high.max(x));
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let (k, sigma) = held.fold((none, none), |(k, sigma), &strike| (wide(k, strike), wide(sigma, truth.sigma(strike))));
    (k.0 <= k.1).then(|| Band { k, sigma: (sigma.0 / SIGMA_MARGIN, sigma.1 * SIGMA_MARGIN) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::surface::{Class, Term};

    fn truth() -> SliceTruth {
        let smile = Term::new(Class::MidCap, 0.25).smile(0.5, 0.0, 1.0);
        let divs = vec![Dividend { t: 0.1, amount: 0.8 }, Dividend { t: 0.35, amount: 0.8 }];
        SliceTruth::carried(100.0, Terms { t: 0.5, r: 0.04, b: 0.004, divs }, smile)
    }

    #[test]
    fn european_values_hold_parity_and_their_own_derivatives() {
        let truth = truth();
        assert!((truth.fwd - truth.terms.fwd(100.0)).abs() < 1e-12, "the forward is MODEL's");
        for k in [70.0, 95.0, 100.0, 130.0] {
            let (call, put) = (truth.european(k, Right::Call), truth.european(k, Right::Put));
            let parity = truth.df() * (truth.fwd - k);
            assert!((call.value - put.value - parity).abs() < 1e-12, "strike {k}");
            assert!((call.delta - put.delta - 1.0).abs() < 1e-12, "strike {k}");
        }
    }

    #[test]
    fn a_call_without_reason_to_exercise_is_european_at_every_strike() {
        let mut truth = truth();
        truth.terms.b = -0.003;
        truth.terms.divs = vec![Dividend { t: 0.1, amount: 0.1 }];
        let strikes = [60.0, 80.0, 100.0, 120.0];
        assert!(band(&truth, &strikes, Right::Call).is_none());
        let puts = band(&truth, &strikes, Right::Put).expect("puts are exercised early at positive rates");
        assert!(puts.k.1 >= 120.0 && puts.sigma.0 < puts.sigma.1);
    }
}
