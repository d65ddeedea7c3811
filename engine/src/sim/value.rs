//! What contracts are truly worth: the truth of an expiry, and values from it by the engine's own kernel.
//!
//! Where the right to wait, or the right not to, is worth next to nothing, the value is that of exercising at the best
//! fixed date or at expiry, in closed form. Only for the strikes between, a [`Pricer`] per (expiry, right) is built, once,
//! and serves while the spot moves. Never: a quote.

use super::surface::Smile;
use crate::contract::{Right, Style};
use crate::kernel::american::{Band, Pricer, Scheme};
use crate::kernel::dividends::{Dividend, Terms};
use crate::kernel::elementary::{exp, ln};
use crate::kernel::lanes::{BLOCK, Block, Lanes};
use crate::kernel::normal::{INV_SQRT_2PI, norm_cdf};

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

    /// What exercising at the best of all fixed dates is worth: now, before a dividend (call) or after one (put).
    fn fixed_exercise(&self, strike: f64, right: Right) -> f64 {
        let Terms { r, b, divs, .. } = &self.terms;
        let carry = r - b;
        let present = |d: &Dividend| d.amount * exp(-carry * d.t);
        let mut later: f64 = divs.iter().map(present).sum();
        let x = self.s - later;
        let mut best = right.phi() * (self.s - strike);
        for d in divs {
            let (before, after) = (later, later - present(d));
            let held = if right == Right::Call { before } else { after };
            best = best.max(right.phi() * ((x + held) * exp(-b * d.t) - strike * exp(-r * d.t)));
            later = after;
        }
        best.max(0.0)
    }

    /// An upper bound, or nearly one, of what the right to choose the date adds to the best fixed date and to expiry.
    ///
    /// # Source  puts: interest on the strike (and a negative borrow rate's yield) while in the money; calls: dividends in
    /// excess of the strike's interest to the next ex-date, and the borrow rate's yield where it exceeds the interest; and
    /// never more than the option of the other right is worth, as what is sure to be exercised is worth its forward
    fn choice_bound(&self, strike: f64, right: Right) -> f64 {
        match right {
            Right::Put => self.put_bound(strike).min(self.european(strike, Right::Call).value),
            Right::Call => self.call_bound(strike).min(self.european(strike, Right::Put).value),
        }
    }

    fn put_bound(&self, strike: f64) -> f64 {
        let Terms { t, r, b, .. } = &self.terms;
        let earned = strike * (1.0 - exp(-r * t)).max(0.0) + (-b).max(0.0) * t * strike;
        earned * norm_cdf(-self.d1(strike) + self.sigma(strike) * t.sqrt())
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

/// The pricers of one American (root, expiry): those of calls, then those of puts, each for a run of strikes. Strikes
/// between them, where exercising early is worth nothing, have European values.
#[derive(Debug)]
pub(super) struct Tables([Vec<Table>; 2]);

#[derive(Debug)]
struct Table {
    pricer: Pricer,
    band: Band,
}

impl Tables {
    /// Builds what the strikes of an expiry need, at its truth at some instant. `ignored`: the error, currency per share,
    /// that a value of this strike may have.
    pub(super) fn build(truth: &SliceTruth, strikes: &[f64], ignored: impl Fn(f64) -> f64) -> Self {
        let table = |right: Right, band: Band| {
            let pricer = Pricer::new(Style::American, right, &truth.terms, &band, Scheme::Fast);
            Table { pricer, band }
        };
        Self(
            [Right::Call, Right::Put].map(|right| {
                bands(truth, strikes, right, &ignored).into_iter().map(|band| table(right, band)).collect()
            }),
        )
    }

    /// Raises European values to American ones: `strikes[i]` of `right` has the value `fair[i]`.
    pub(super) fn value(&self, truth: &SliceTruth, right: Right, strikes: &[f64], fair: &mut [Fair]) {
        for (fair, &strike) in fair.iter_mut().zip(strikes) {
            fair.value = fair.value.max(truth.fixed_exercise(strike, right));
        }
        for table in &self.0[right as usize] {
            let (low, high) = table.band.k;
            let held = |i: &usize| strikes[*i] >= low && strikes[*i] <= high;
            let rows: Vec<usize> = (0..strikes.len()).filter(held).collect();
            for chunk in rows.chunks(Block::N) {
                table.value(truth, strikes, chunk, fair);
            }
        }
    }
}

impl Table {
    /// The rows of one block.
    fn value(&self, truth: &SliceTruth, strikes: &[f64], rows: &[usize], fair: &mut [Fair]) {
        let row = |lane: usize| rows[lane.min(rows.len() - 1)];
        let (low, high) = self.band.sigma;
        let k = core::array::from_fn::<f64, BLOCK, _>(|lane| strikes[row(lane)]);
        let sigma = core::array::from_fn::<f64, BLOCK, _>(|lane| fair[row(lane)].sigma.clamp(low, high));
        let value = self.pricer.at(&truth.terms, truth.s).vol_jet(Block::load(&k), Block::load(&sigma)).value;
        for (lane, &i) in rows.iter().enumerate() {
            fair[i].value = american(value.lane(lane), fair[i].value);
        }
    }
}

/// A table's value, held to what no American contract is below; that where the table has none.
fn american(table: f64, floor: f64) -> f64 {
    if table > floor { table } else { floor }
}

/// The strikes whose right to exercise early is worth something, in runs that one premium table serves, each with its
/// volatilities and a margin. Boundary tables, which know no strike, take all strikes at once.
fn bands(truth: &SliceTruth, strikes: &[f64], right: Right, ignored: &impl Fn(f64) -> f64) -> Vec<Band> {
    let mut bands: Vec<Band> = Vec::new();
    for &k in strikes.iter().filter(|&&k| truth.choice_bound(k, right) > ignored(k)) {
        let sigma = truth.sigma(k);
        let widest = if truth.terms.divs.is_empty() { f64::INFINITY } else { (sigma * truth.terms.t.sqrt()).max(0.18) };
        match bands.last_mut().filter(|last| ln(k / last.k.0) < widest) {
            Some(last) => {
                last.k.1 = k;
                last.sigma = (last.sigma.0.min(sigma / SIGMA_MARGIN), last.sigma.1.max(sigma * SIGMA_MARGIN));
            }
            None => bands.push(Band { k: (k, k), sigma: (sigma / SIGMA_MARGIN, sigma * SIGMA_MARGIN) }),
        }
    }
    bands
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
        assert!(bands(&truth, &strikes, Right::Call, &|_| 0.001).is_empty());
        let puts = bands(&truth, &strikes, Right::Put, &|_| 0.001);
        let served = |k: f64| puts.iter().any(|band| band.k.0 <= k && k <= band.k.1);
        assert!(served(100.0) && served(120.0), "puts are exercised early at positive rates: {puts:?}");
    }
}
