//! Estimates from its coefficients whether a table that begins at an anchor, and not at a boundary, is resolved.
//!
//! The series of such a table crosses the exercise boundaries of the strikes and volatilities that have one, where the
//! premium bends. The size of its last terms and of its highest powers in strike and volatility estimates the terms
//! that are missing. Of 2,358 tables of a start of a fiftieth of the simulated market 31 are built again for it. Never:
//! a solve, a clock.

use super::exercise::{Inputs, best_plan};
use super::table::Table;
use crate::american::settings::{CHECKED_SIGMAS, CHECKED_STRIKES};
use crate::black76::European;
use crate::dividends::{Dividend, Terms};
use crate::solve::chebyshev;

/// Greatest error that the check may estimate (part of the price's unit). Smaller builds more tables again, larger
/// leaves prices off by half of it. About half of what it finds is the worst price error of a table.
const RESOLVED: f64 = 6e-4;
/// Factor c of the estimated error c·n·m·√(1 − u²) of a series at u, with n terms and m the greatest of the last ones.
const TAIL: f64 = 0.15;
/// Factor of the highest term in the volatility in the estimated error of a tensor.
const SIGMA_TOP: f64 = 0.3;
/// Deviations below the strike from which a put is worth the best plan fixed in advance.
const RESOLUTION_FAR: f64 = 3.0;
/// Number of terms that count as the last ones. A term may be small by chance, four are not.
const RESOLUTION_LAST: usize = 4;
/// Intervals along the series at whose ends the check looks. More than the terms of a series.
const PLACES: usize = 40;
/// Lower bound of the price's unit, as in golden/tolerances.csv (part of the spot). The unit of every price error
/// (golden/README.md).
const UNIT_LEAST: f64 = 0.05;

/// One term of the series at a volatility and strike: its value, and the part of it from the highest power in 1/K and
/// ln σ.
struct Term {
    value: f64,
    strike_top: f64,
    sigma_top: f64,
}

impl Table {
    /// True if the table begins at a boundary, or if its greatest estimated error, along its series and between its
    /// strikes and volatilities, is at most `RESOLVED`.
    ///
    /// # Accuracy  finds four in five of the tables whose price is off by more than 1e-4 within a few days' move of
    /// the spot; of the tables found, half are off there, and nearly all others further away
    /// # Cost      50 µs
    pub(super) fn is_resolved(&self, terms: &Terms) -> bool {
        if !self.is_anchored() {
            return true;
        }
        let mut most: f64 = 0.0;
        let terms = &self.at_stop(terms);
        let collected = terms.a(0.0);
        for (at_sigma, at_strike) in
            CHECKED_SIGMAS.iter().flat_map(|sigma| CHECKED_STRIKES.map(|strike| (*sigma, strike)))
        {
            let sigma = (self.sigma.centre + self.sigma.half * at_sigma).exp();
            let k = 1.0 / (self.strike.centre + self.strike.half * at_strike);
            let series: Vec<Term> = (0..self.n_terms()).map(|term| self.term_at(term, at_sigma, at_strike)).collect();
            let last = series.iter().rev().take(RESOLUTION_LAST).map(|term| term.value.abs()).fold(0.0, f64::max);
            let from = self.boundary_at(k, sigma);
            most = most.max(self.beyond(terms, from, k, sigma, &series));
            for j in 0..=PLACES {
                let u = 2.0 * j as f64 / PLACES as f64 - 1.0;
                let spot = (from - self.phi * sigma * self.place(u)).exp() + collected;
                let scale = k / (self.phi * (spot - k)).max(UNIT_LEAST * spot);
                let (strike_top, sigma_top) = tops(&series, u);
                let tensor = strike_top.abs().max(SIGMA_TOP * sigma_top.abs());
                let tail = TAIL * series.len() as f64 * last * (1.0 - u * u).sqrt();
                most = most.max(tensor.max(tail) * scale);
            }
        }
        most <= RESOLVED
    }

    /// Time, rates and dividends as of the date that the table describes.
    fn at_stop(&self, terms: &Terms) -> Terms {
        let later = terms.divs.iter().filter(|d| d.t > self.stop);
        let divs = later.map(|d| Dividend { t: d.t - self.stop, amount: d.amount }).collect();
        Terms { t: terms.t - self.stop, divs, ..*terms }
    }

    /// Jump of a put's value at ln X = `from`, where its series begins and the value of the best date fixed in advance
    /// ends; 0 if `from` is far below the strike. In units of the price.
    fn beyond(&self, terms: &Terms, from: f64, k: f64, sigma: f64, series: &[Term]) -> f64 {
        let spot = from.exp() + terms.a(0.0);
        if self.phi > 0.0 || (spot / k).ln() < -RESOLUTION_FAR * sigma * terms.t.sqrt() {
            return 0.0;
        }
        let alternating = series.iter().rev().fold(0.0, |sum, term| term.value - sum);
        let european = European::new(self.phi, k, sigma, terms.t, terms.r, terms.b).at(from, from.exp());
        let best_plan = best_plan(self.phi, terms, &Inputs::new(from.exp(), k, sigma)).value();
        (european + alternating * k - best_plan).abs() / (k - spot).max(UNIT_LEAST * spot)
    }

    /// One term at a volatility and strike in units of their axes.
    fn term_at(&self, term: usize, at_sigma: f64, at_strike: f64) -> Term {
        let (ns, nk) = (self.sigma.len(), self.strike.len());
        let c = &self.premium[term * ns * nk..(term + 1) * ns * nk];
        let along = |q: usize| c[q * ns..(q + 1) * ns].iter().rev().fold(0.0, |y, c| y * at_sigma + f64::from(*c));
        let top = |q: usize| f64::from(c[(q + 1) * ns - 1]);
        let over_strikes = |f: &dyn Fn(usize) -> f64| (0..nk).rev().fold(0.0, |y, q| y * at_strike + f(q));
        Term {
            value: over_strikes(&along),
            strike_top: along(nk - 1) * self.strike.of_leading(),
            sigma_top: over_strikes(&top) * self.sigma.of_leading(),
        }
    }
}

/// The sums of the series of the highest powers at `u`.
fn tops(series: &[Term], u: f64) -> (f64, f64) {
    series
        .iter()
        .zip(chebyshev(u))
        .fold((0.0, 0.0), |(strike, sigma), (term, t)| (strike + term.strike_top * t, sigma + term.sigma_top * t))
}
