//! Contracts solved back to now, one per lane: for reference values, and for tables those that eight lanes do not
//! solve. Never: a table.

use super::dates::call_periods;
use super::pair::BoundaryPair;
use super::periods::{DateSolution, HeldPremium, LaterExercise, Problem};
use super::time_between::Fineness;
use super::windows::put_windows;
use crate::american::moment::FlowTime;
use crate::american::pays::two_sided;
use crate::american::settings::SAME;
use crate::black76::European;
use crate::dividends::{Dividend, Terms};
use crate::elementary::exp;
use crate::lanes::{Lanes, Mask};

/// Time before expiry at which a dividend of that day counts: the least that is no longer the same date.
const LAST_DATE: f64 = 2.0 * SAME.date;

/// Contracts of one expiry and right, solved back to now.
pub(crate) struct Now<L: Lanes> {
    phi: f64,
    /// The strike less the dividends to come.
    paid: L,
    european: European<L>,
    /// The ends of the region of exercise in ln X, towards the strike and away from it. NaN: there is no region.
    /// `None`: the region has one end.
    near: L,
    far: Option<L>,
    later: Option<Box<LaterExercise<L>>>,
}

impl<L: FlowTime<L>> Now<L> {
    /// Solves the contracts for reference values. `None`, for more than one: lanes differ in their windows, or one is
    /// not solved.
    ///
    /// # Shapes    one contract per lane
    /// # Domain    X, K, σ, t above 0
    /// # Accuracy  of a price 1e-8 of max(V, 5 % of S) at 99 of 100: golden/tolerances.csv, `american_div_accurate`
    /// # Cost      1 ms for eight contracts and each ex-date that matters
    /// # Source    docs/american.md
    pub(crate) fn new(phi: f64, terms: &Terms, k: L, sigma: L) -> Option<Self> {
        Self::solve(phi, terms, [k, sigma], Fineness::Reference)
    }

    /// [`Self::new`] at a fineness.
    fn solve(phi: f64, terms: &Terms, [k, sigma]: [L; 2], fineness: Fineness) -> Option<Self> {
        let terms = that_count(phi, terms);
        let mut solved = Self::held(phi, &terms, k, sigma);
        if two_sided(phi, &terms) {
            if L::N > 1 {
                // each lane's boundaries meet at a time of their own
                return None;
            }
            if phi > 0.0 && terms.divs.is_empty() {
                solved.between_two(BoundaryPair::new(phi, &terms, 0.0, k, sigma), terms.t);
                return Some(solved);
            }
        }
        let continuous = terms.b > 0.0 || (terms.b >= 0.0 && terms.r < 0.0);
        let problem = Problem { phi, terms, stop: 0.0, continuous, fineness };
        let DateSolution { boundary, held, .. } = if phi > 0.0 {
            DateSolution::of_calls(&problem.terms, &call_periods(&problem, 0.0), true, [k, sigma])?
        } else if k.le(L::splat(k.lane(0))).all() && L::splat(k.lane(0)).le(k).all() {
            put_windows(&problem, k.lane(0), sigma, None)?
        } else {
            put_windows(&problem, k, sigma, None)?
        };
        let HeldPremium::Lanes { later, .. } = held else { return None };
        solved.near = boundary;
        if let Some(island) = &later.island {
            solved.near = L::select(island.is_there(), island.upper, solved.near);
            solved.far = Some(island.lower);
        }
        solved.later = Some(later);
        Some(solved)
    }

    /// Contracts that are not exercised early.
    fn held(phi: f64, terms: &Terms, k: L, sigma: L) -> Self {
        let european = European::new(phi, k, sigma, terms.t, terms.r, terms.b);
        Self { phi, paid: k - terms.a(0.0), european, near: L::splat(f64::NAN), far: None, later: None }
    }

    /// Takes in both boundaries of contracts without dividends until expiry, in `t` years.
    fn between_two(&mut self, pair: Option<BoundaryPair<L>>, t: f64) {
        let Some(pair) = pair else { return };
        if pair.is_whole {
            (self.near, self.far) = (pair.near.begin(), Some(pair.far.begin()));
        }
        self.later = Some(Box::new(LaterExercise::of_flow(t, pair.flow)));
    }

    /// Value and first four derivatives in ln X, where the option is held.
    pub(crate) fn value(&self, x: L) -> [L; 5] {
        let mut value = self.european.slopes(x, exp(x));
        if let Some(later) = &self.later {
            value.iter_mut().zip(later.slopes(x)).for_each(|(value, premium)| *value += premium);
        }
        value
    }

    /// The premium over the European value: payoff less that value where the option is exercised.
    pub(super) fn premium(&self, x: L) -> L {
        let spot = exp(x);
        let exercise = (spot - self.paid) * self.phi - self.european.at(x, spot);
        let held = self.later.as_ref().map_or(L::splat(0.0), |later| later.premium(x));
        L::select(self.is_exercised(x), exercise, held)
    }

    /// ln B now; NaN: there is no boundary.
    pub(crate) fn boundary(&self) -> L {
        self.near
    }

    /// True if the region of exercise has a second end.
    pub(super) fn has_end(&self) -> bool {
        self.far.is_some()
    }

    /// True if exercise is optimal now.
    pub(crate) fn is_exercised(&self, x: L) -> L::Mask {
        let zero = L::splat(0.0);
        let beyond = zero.le((x - self.near) * self.phi);
        self.far.map_or(beyond, |far| beyond & ((x - far) * self.phi).le(zero))
    }
}

impl Now<f64> {
    /// Solves one contract, which always has a solution: exercise along a boundary that is not found counts as none.
    pub(crate) fn alone(phi: f64, terms: &Terms, k: f64, sigma: f64) -> Self {
        Self::new(phi, terms, k, sigma).unwrap_or_else(|| Self::held(phi, terms, k, sigma))
    }

    /// [`Self::alone`] as fine as tables are, at a tenth of the cost.
    pub(super) fn of_table(phi: f64, terms: &Terms, k: f64, sigma: f64) -> Self {
        let solved = Self::solve(phi, terms, [k, sigma], Fineness::First);
        solved.unwrap_or_else(|| Self::held(phi, terms, k, sigma))
    }
}

/// Terms with the dividends that count until expiry. Right before its date a dividend can be collected by exercise: one
/// of a call on the day of expiry counts an instant before that.
pub(super) fn that_count(phi: f64, terms: &Terms) -> Terms {
    let last = if phi > 0.0 { terms.t - LAST_DATE } else { terms.t };
    let alive = terms.divs.iter().filter(|d| d.t > 0.0 && d.t <= terms.t && d.amount > 0.0);
    Terms { divs: alive.map(|d| Dividend { t: d.t.min(last), ..*d }).collect(), ..*terms }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::american::draws::{Draws, every};
    use crate::black76::{Horizon, european};
    use crate::lanes::Block;

    const K: f64 = 100.0;

    impl Draws {
        /// Terms with up to ten dividends and rates of either sign, a right and a volatility.
        fn problem(&mut self) -> (f64, Terms, f64) {
            let t = 10f64.powf(self.between(-2.5, 0.4));
            let (first, gap) = (self.between(0.01, 1.0) * t, 10f64.powf(self.between(-1.3, 0.0)));
            let n = self.between(0.0, 10.0) as usize;
            let amount = 10f64.powf(self.between(-1.5, 0.7));
            let divs = every(gap, first, t, amount).into_iter().take(n).collect();
            let r = if self.unit() < 0.8 { self.between(0.0, 0.06) } else { self.between(-0.02, 0.2) };
            let b = if self.unit() < 0.5 { self.between(-0.005, 0.005) } else { self.between(-0.04, 0.3) };
            let phi = if self.unit() < 0.5 { 1.0 } else { -1.0 };
            (phi, Terms { t, r, b, divs }, self.between(0.08, 0.8))
        }
    }

    fn payoff(phi: f64, terms: &Terms, x: f64) -> f64 {
        phi * (x.exp() + terms.a(0.0) - K)
    }

    #[test]
    fn values_exceed_payoff_and_european_value() {
        let mut draws = Draws(1);
        for _ in 0..600 {
            let (phi, terms, sigma) = draws.problem();
            if phi > 0.0 && two_sided(phi, &terms) && !terms.divs.is_empty() {
                continue; // exercise between the dates counts as worthless
            }
            let solution = Now::alone(phi, &terms, K, sigma);
            for deviations in [-3.0, -1.0, -0.2, 0.0, 0.3, 1.2, 3.0] {
                let x = K.ln() + deviations * sigma * terms.t.sqrt();
                if solution.is_exercised(x) {
                    continue;
                }
                let [value, slope, ..] = solution.value(x);
                let european = european(phi, &Horizon::from(&terms), x.exp(), K, sigma).v;
                let least = european.max(payoff(phi, &terms, x));
                assert!(value >= least - 1e-7 * K, "{phi} {terms:?} σ {sigma} at {deviations}: {value} below {least}");
                let most = 1.001 * (x + terms.b.abs() * terms.t).exp();
                assert!(slope.abs() <= most, "{phi} {terms:?} σ {sigma} at {deviations}: slope {slope}");
            }
        }
    }

    #[test]
    fn value_and_slope_are_those_of_the_payoff_at_the_boundary() {
        let mut draws = Draws(2);
        let mut seen = 0;
        while seen < 200 {
            let (phi, terms, sigma) = draws.problem();
            let solution = Now::alone(phi, &terms, K, sigma);
            let x = solution.boundary();
            if x.is_nan() {
                continue;
            }
            seen += 1;
            let ([value, slope, ..], payoff) = (solution.value(x), payoff(phi, &terms, x));
            assert!((value - payoff).abs() <= 2e-6 * K, "{phi} {terms:?} σ {sigma}: {value} for {payoff}");
            // next to a kink or to the end of a window the slope changes within a small part of the deviation
            let off = (slope - phi * x.exp()).abs();
            assert!(off <= 2e-3 * x.exp(), "{phi} {terms:?} σ {sigma}: slope {slope} at {}", x.exp());
        }
    }

    /// Eight volatilities side by side have the values of eight solutions.
    #[test]
    fn lanes_are_the_contracts_alone() {
        let mut draws = Draws(3);
        let (mut seen, mut worst): (usize, f64) = (0, 0.0);
        for _ in 0..60 {
            let (phi, terms, sigma) = draws.problem();
            let sigmas: [f64; 8] = core::array::from_fn(|i| sigma * (1.0 + 0.01 * i as f64));
            let Some(block) = Now::new(phi, &terms, Block::splat(K), Block::load(&sigmas)) else { continue };
            seen += 1;
            for (lane, sigma) in sigmas.into_iter().enumerate() {
                let alone = Now::alone(phi, &terms, K, sigma);
                for x in [80.0f64, 95.0, 110.0].map(f64::ln) {
                    let [got, want] = [block.premium(Block::splat(x)).lane(lane), alone.premium(x)];
                    worst = worst.max((got - want).abs() / K);
                }
            }
        }
        assert!(seen > 45 && worst < 1e-7, "{seen}, {worst:e}");
    }

    /// The value of a call that is worth exercising at one date only, by Simpson's rule over the better of both there.
    #[test]
    fn one_date_of_exercise_agrees_with_direct_integration() {
        for (sigma, b, amount) in [(0.2, 0.0, 3.0), (0.35, -0.01, 4.0), (0.15, 0.0, 1.0)] {
            let (t, date, r, k) = (0.5, 0.3, 0.04, K);
            let terms = Terms { t, r, b, divs: vec![Dividend { t: date, amount }] };
            let x = (101.0 - terms.a(0.0)).ln();
            let (width, mean) = (sigma * date.sqrt(), x + (r - b - 0.5 * sigma * sigma) * date);
            let after = Horizon::new(t - date, r, b);
            let n = 4_000;
            let at = |i: usize| {
                let z = -9.0 + 18.0 * i as f64 / n as f64;
                let spot = (mean + width * z).exp();
                let held = european(1.0, &after, spot, k, sigma).v;
                held.max(spot + amount - k) * (-0.5 * z * z).exp() / core::f64::consts::TAU.sqrt()
            };
            let weight = |i: usize| if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
            let sum: f64 = (0..=n).map(|i| weight(i) * at(i)).sum::<f64>() * 18.0 / n as f64 / 3.0;
            let (want, got) = (sum * (-r * date).exp(), Now::alone(1.0, &terms, k, sigma).value(x)[0]);
            assert!((got - want).abs() <= 2e-6, "σ {sigma} b {b} D {amount}: {got} for {want}");
        }
    }

    /// Where b > 0 a window closes along a line whose slope is a difference of about b: next to 0 that is rounding.
    #[test]
    fn a_borrow_rate_next_to_0_changes_little() {
        for (r, sigma, t) in [(0.04, 0.25, 1.1), (0.001, 0.15, 1.1), (0.08, 0.7, 0.99), (0.04, 0.25, 0.5)] {
            let at = |b: f64, x: f64| {
                let terms = Terms { t, r, b, divs: every(0.25, 0.2, t, 0.5) };
                Now::alone(-1.0, &terms, K, sigma).value(x)[0]
            };
            for x in [60.0f64, 80.0, 95.0, 130.0].map(f64::ln) {
                let none = at(0.0, x);
                for b in [1e-300, 1e-17, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7, -1e-16, -1e-13, -1e-9] {
                    let little = at(b, x);
                    let moves = 2.0 * b.abs() * t * x.exp() + 1e-7 * K;
                    assert!((little - none).abs() <= moves, "r {r} σ {sigma} T {t} b {b} x {x}: {little} {none}");
                }
            }
        }
    }

    /// The value by binomial trees of `n` and twice as many steps, extrapolated.
    fn tree(phi: f64, terms: &Terms, x: f64, sigma: f64, n: i32) -> f64 {
        let one = |n: i32| {
            let step = terms.t / f64::from(n);
            let up = (sigma * step.sqrt()).exp();
            let chance = (((terms.r - terms.b) * step).exp() - 1.0 / up) / (up - 1.0 / up);
            let paid = |i: i32, j: i32, escrow: f64| phi * (x * up.powi(2 * j - i) + escrow - K);
            let mut values: Vec<f64> = (0..=n).map(|j| paid(n, j, 0.0).max(0.0)).collect();
            for i in (0..n).rev() {
                let escrow = terms.a(step * f64::from(i));
                for j in 0..=i {
                    let (low, high) = (values[j as usize], values[j as usize + 1]);
                    let held = (-terms.r * step).exp() * (chance * high + (1.0 - chance) * low);
                    values[j as usize] = held.max(paid(i, j, escrow));
                }
            }
            values[0]
        };
        // even and odd numbers of steps are off to either side
        let mean = |n: i32| 0.5 * (one(n) + one(n + 1));
        2.0 * mean(2 * n) - mean(n)
    }

    /// Puts in windows with b of either sign, and calls and puts with two boundaries.
    #[test]
    fn values_are_those_of_a_tree() {
        let divs = |amount: f64| every(0.25, 0.21, 1.0, amount);
        for (phi, r, b, divs) in [
            (-1.0, -0.01, -0.04, vec![]),
            (1.0, -0.05, -0.01, vec![]),
            (-1.0, -0.02, -0.06, vec![]),
            (-1.0, -0.018, -0.057, divs(0.4)),
            (-1.0, 0.04, 0.02, divs(0.4)),
            (-1.0, 0.03, 0.2, divs(0.4)),
            (-1.0, 0.04, 0.0, divs(0.6)),
            (-1.0, 0.04, -0.02, divs(0.6)),
        ] {
            let terms = Terms { t: 1.0, r, b, divs };
            for sigma in [0.1, 0.25] {
                let solution = Now::alone(phi, &terms, K, sigma);
                for x in [80.0, 100.0, 120.0f64] {
                    let want = tree(phi, &terms, x, sigma, 700);
                    let exercised = solution.is_exercised(x.ln());
                    let got = if exercised { payoff(phi, &terms, x.ln()) } else { solution.value(x.ln())[0] };
                    assert!((got - want).abs() <= 1.5e-3, "φ {phi} r {r} b {b} σ {sigma} at {x}: {got} for {want}");
                }
            }
        }
    }
}
