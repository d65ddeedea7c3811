//! True values of contracts: the true market of an expiry, and values from it.
//!
//! A European value is a closed form. Where the right to wait, or the right not to, is worth next to nothing, an
//! American one is that of exercising at the best fixed date or at expiry, in closed form too. Only for the strikes
//! between, a lattice says what early exercise adds; that part is kept for a while, and moved with the spot and the
//! volatility. Never: a quote.

use super::surface::Smile;
use kernel::contract::Right;
use kernel::dividends::{Dividend, Terms};
use kernel::elementary::{exp, ln};
use kernel::lanes::{Block, Lanes, Mask, Pack};
use kernel::lattice::Lattice;
use kernel::normal::{INV_SQRT_2PI, norm_cdf};

/// True market of one (root, expiry) at one instant.
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

    /// X = S − A(0).
    fn x(&self) -> f64 {
        self.fwd * exp((self.terms.b - self.terms.r) * self.terms.t)
    }

    /// Discount factor.
    #[must_use]
    pub fn df(&self) -> f64 {
        exp(-self.terms.r * self.terms.t)
    }

    /// Value, delta and vega of a European contract.
    pub(super) fn european(&self, strike: f64, right: Right) -> Fair {
        self.frame().fair(strike, right)
    }

    /// Numbers that all strikes share.
    pub(super) fn frame(&self) -> Frame<'_> {
        Frame { truth: self, df: self.df(), root_t: self.terms.t.sqrt() }
    }

    /// Value of exercise at the best of all fixed dates (now, before a dividend for a call, after one for a put), and
    /// its slope in the spot.
    fn fixed_exercise(&self, strike: f64, right: Right) -> (f64, f64) {
        let Terms { r, b, divs, .. } = &self.terms;
        let (carry, phi) = (r - b, right.phi());
        let present = |d: &Dividend| d.amount * exp(-carry * d.t);
        let mut later: f64 = divs.iter().map(present).sum();
        let x = self.s - later;
        let mut best = (phi * (self.s - strike), phi);
        for d in divs {
            let (before, after) = (later, later - present(d));
            let held = if right == Right::Call { before } else { after };
            let carried = exp(-b * d.t);
            let value = phi * ((x + held) * carried - strike * exp(-r * d.t));
            if value > best.0 {
                best = (value, phi * carried);
            }
            later = after;
        }
        best
    }

    /// An upper bound, or nearly one, of what the right to choose the date adds to the best fixed date and to expiry.
    ///
    /// # Source  puts: interest on the strike (and a negative borrow rate's yield) while in the money; calls: dividends
    /// in excess of the strike's interest to the next ex-date, and the borrow rate's yield where it exceeds the
    /// interest; and never more than the option of the other right is worth, as what is sure to be exercised is worth
    /// its forward
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

/// The truth of an expiry with what all its strikes share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    truth: &'a SliceTruth,
    df: f64,
    root_t: f64,
}

/// A contract's true value, and what the spread depends on (European, which is near enough there).
#[derive(Clone, Copy, Debug)]
pub(super) struct Fair {
    pub(super) value: f64,
    pub(super) delta: f64,
    pub(super) vega: f64,
    pub(super) sigma: f64,
}

impl Frame<'_> {
    /// A European contract.
    pub(super) fn fair(&self, strike: f64, right: Right) -> Fair {
        let (fwd, phi) = (self.truth.fwd, right.phi());
        let log = ln(strike / fwd);
        let sigma = self.truth.smile.sigma(log);
        let sd = sigma * self.root_t;
        let d1 = 0.5 * sd - log / sd;
        let (n1, n2) = (norm_cdf(phi * d1), norm_cdf(phi * (d1 - sd)));
        let density = INV_SQRT_2PI * exp(-0.5 * d1 * d1);
        Fair {
            value: (self.df * phi * (fwd * n1 - strike * n2)).max(0.0),
            delta: phi * n1,
            vega: self.df * fwd * density * self.root_t,
            sigma,
        }
    }
}

/// Early exercise premium over a European value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Premium {
    /// Currency per share.
    pub(super) value: f64,
    /// First derivative by the spot.
    pub(super) slope: f64,
    /// Second derivative by the spot.
    pub(super) curve: f64,
    /// Derivative by the volatility.
    pub(super) vega: f64,
}

impl Premium {
    /// The premium of a contract with the certain value `value` and its `slope`.
    fn of_certain(value: f64, slope: f64, fair: &Fair, truth: &SliceTruth) -> Self {
        let Terms { t, b, .. } = truth.terms;
        let x = truth.x();
        let carried = exp(-b * t);
        let gamma = fair.vega * carried / (truth.df() * truth.fwd * x * fair.sigma * t);
        Self { value: value - fair.value, slope: slope - carried * fair.delta, curve: -gamma, vega: -fair.vega }
    }
}

/// The premium of each contract, strikes `k` and volatilities `sigma`. Contracts to be exercised now have an infinite
/// one.
fn all_premiums(lattice: &Lattice, k: &[f64], sigma: &[f64]) -> Vec<Premium> {
    let mut out = Vec::with_capacity(k.len());
    for (k, sigma) in k.chunks(Block::N).zip(sigma.chunks(Block::N)) {
        match k.len() {
            0..=4 => add_premiums::<Pack<1>>(lattice, k, sigma, &mut out),
            _ => add_premiums::<Block>(lattice, k, sigma, &mut out),
        }
    }
    out
}

fn add_premiums<L: Lanes>(lattice: &Lattice, k: &[f64], sigma: &[f64], out: &mut Vec<Premium>) {
    let fill = |from: &[f64]| {
        let mut lanes = [0.0; Block::N];
        lanes.iter_mut().enumerate().for_each(|(i, x)| *x = from[i.min(from.len() - 1)]);
        L::load(&lanes)
    };
    let premium = lattice.premium(fill(k), fill(sigma));
    out.extend((0..k.len()).map(|i| Premium {
        value: if premium.exercised.lane(i) { f64::INFINITY } else { premium.value.lane(i).max(0.0) },
        slope: premium.slope.lane(i),
        curve: premium.curve.lane(i),
        vega: premium.vega.lane(i),
    }));
}

/// The premiums of the contracts of an American expiry at one instant, kept while the market moves.
#[derive(Debug)]
pub(super) struct Anchor {
    /// The instant, seconds.
    pub(super) at: i64,
    s: f64,
    fwd: f64,
    smile: Smile,
    /// Value, slope, curvature and vega of the rows that have a premium, rows ascending.
    premiums: Box<[(u32, [f32; 4])]>,
}

impl Anchor {
    /// The premiums of `contracts` at a truth. `ignored`: the error, currency per share, that a value may have.
    pub(super) fn new(
        at: i64,
        truth: &SliceTruth,
        contracts: &[(f64, Right)],
        steps: usize,
        ignored: impl Fn(&Fair) -> f64,
    ) -> Self {
        let mut premiums = Vec::new();
        for right in [Right::Call, Right::Put] {
            if right == Right::Call && truth.terms.divs.is_empty() && truth.terms.b <= 0.0 && truth.terms.r >= 0.0 {
                continue;
            }
            let rows = || contracts.iter().enumerate().filter(move |(_, c)| c.1 == right).map(|(i, c)| (i, c.0));
            let mut set = |row: usize, premium: Premium| {
                let numbers = [premium.value, premium.slope, premium.curve, premium.vega].map(|x| x as f32);
                premiums.push((row as u32, numbers));
            };
            let frame = truth.frame();
            let mut open: Vec<(usize, f64, Fair)> = Vec::new();
            for (row, strike) in rows() {
                let fair = frame.fair(strike, right);
                if truth.choice_bound(strike, right) > ignored(&fair) {
                    open.push((row, strike, fair));
                } else {
                    let fixed = truth.fixed_exercise(strike, right);
                    if fixed.0 > fair.value {
                        set(row, Premium::of_certain(fixed.0, fixed.1, &fair, truth));
                    }
                }
            }
            if open.is_empty() {
                continue;
            }
            let k: Vec<f64> = open.iter().map(|o| o.1).collect();
            let sigma: Vec<f64> = open.iter().map(|o| o.2.sigma).collect();
            let chosen = all_premiums(&Lattice::new(&truth.terms, truth.s, right, steps), &k, &sigma);
            for ((row, strike, fair), chosen) in open.iter().zip(chosen) {
                let fixed = truth.fixed_exercise(*strike, right);
                let certain = Premium::of_certain(fixed.0, fixed.1, fair, truth);
                set(*row, if chosen.value > certain.value && chosen.value < f64::INFINITY { chosen } else { certain });
            }
        }
        premiums.sort_unstable_by_key(|premium| premium.0);
        Self { at, s: truth.s, fwd: truth.fwd, smile: truth.smile, premiums: premiums.into() }
    }

    /// Raises the European value of the contract of `row` to the American one of another instant, some minutes away.
    pub(super) fn raise(&self, row: usize, contract: (f64, Right), truth: &SliceTruth, fair: &mut Fair) {
        let (strike, right) = contract;
        if let Ok(place) = self.premiums.binary_search_by_key(&(row as u32), |premium| premium.0) {
            let [value, slope, curve, vega] = self.premiums[place].1.map(f64::from);
            let moved = truth.s - self.s;
            let wilder = fair.sigma - self.smile.sigma(ln(strike / self.fwd));
            fair.value += (value + (slope + 0.5 * curve * moved) * moved + vega * wilder).max(0.0);
        }
        fair.value = fair.value.max(right.phi() * (truth.s - strike));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::{Class, Term};

    fn truth() -> SliceTruth {
        let smile = Term::new(Class::MidCap, 0.25, 0.0).smile(0.5, 0.0, 1.0);
        let divs = vec![Dividend { t: 0.1, amount: 0.8 }, Dividend { t: 0.35, amount: 0.8 }];
        SliceTruth::carried(100.0, Terms { t: 0.5, r: 0.04, b: 0.004, divs }, smile)
    }

    #[test]
    fn european_values_hold_parity_and_their_own_derivatives() {
        let truth = truth();
        assert!((truth.fwd - truth.terms.fwd(100.0)).abs() < 1e-12, "the forward is the model's");
        for k in [70.0, 95.0, 100.0, 130.0] {
            let (call, put) = (truth.european(k, Right::Call), truth.european(k, Right::Put));
            let parity = truth.df() * (truth.fwd - k);
            assert!((call.value - put.value - parity).abs() < 1e-12, "strike {k}");
            assert!((call.delta - put.delta - 1.0).abs() < 1e-12, "strike {k}");
        }
    }

    #[test]
    fn a_call_without_reason_to_exercise_is_european_at_every_strike() {
        let divs = vec![Dividend { t: 0.1, amount: 0.1 }];
        let Terms { t, r, .. } = truth().terms;
        let truth = SliceTruth::carried(100.0, Terms { t, r, b: -0.003, divs }, truth().smile);
        let premium = |k: f64, right: Right| {
            let mut fair = truth.european(k, right);
            let european = fair.value;
            Anchor::new(0, &truth, &[(k, right)], 32, |_| 0.001).raise(0, (k, right), &truth, &mut fair);
            fair.value - european
        };
        for k in [60.0, 80.0, 100.0, 120.0] {
            assert!(premium(k, Right::Call).abs() < 1e-9, "call at {k}: {}", premium(k, Right::Call));
        }
        assert!(premium(100.0, Right::Put) > 0.01 && premium(120.0, Right::Put) > 1.0, "puts are exercised early");
    }

    /// The contracts of a golden file: terms, right, strike, volatility, spot, price.
    fn golden(text: &str) -> Vec<(SliceTruth, Right, f64, f64)> {
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |i: usize| cells[i].parse::<f64>().unwrap();
            let div = |d: &str| {
                let (t, amount) = d.split_once(':').unwrap();
                Dividend { t: t.parse().unwrap(), amount: amount.parse().unwrap() }
            };
            let divs = cells[9].split(';').filter(|d| !d.is_empty()).map(div).collect();
            let terms = Terms { t: number(5), r: number(6), b: number(7), divs };
            let smile = Smile::flat(number(8), number(5));
            let right = if cells[2] == "call" { Right::Call } else { Right::Put };
            (SliceTruth::carried(number(3), terms, smile), right, number(4), number(10))
        };
        text.lines().skip(1).map(row).collect()
    }

    #[test]
    fn american_values_are_those_of_the_golden_files() {
        let files =
            [include_str!("../../../golden/american_nodiv.csv"), include_str!("../../../golden/american_div.csv")];
        for (steps, middle, most) in [(24, 3e-4, 3e-3), (64, 1e-4, 1e-3), (256, 3e-5, 3e-4)] {
            let mut errors = Vec::new();
            for (truth, right, k, want) in files.iter().flat_map(|text| golden(text)) {
                let mut fair = truth.european(k, right);
                Anchor::new(0, &truth, &[(k, right)], steps, |_| 1e-6 * truth.s).raise(
                    0,
                    (k, right),
                    &truth,
                    &mut fair,
                );
                errors.push(((fair.value - want).abs() / truth.s, k, want, truth));
            }
            errors.sort_by(|a, b| a.0.total_cmp(&b.0));
            let at = |p: f64| errors[((errors.len() - 1) as f64 * p) as usize].0;
            println!(
                "{steps} steps, error over spot: median {:.1e}, 90 % {:.1e}, 99 % {:.1e}, worst {:.1e}",
                at(0.5),
                at(0.9),
                at(0.99),
                at(1.0)
            );
            assert!(at(0.9) < middle && at(1.0) < most, "{steps} steps: {:?}", errors.last());
        }
    }
}
