//! The plain versions to beat: scalar Black-Scholes on libm, a Leisen-Reimer tree, and every Greek by bumping. Written
//! to be read and to be right, as one would without a reason to hurry. Never: a lane, a table, a derivative by hand.

use kernel::contract::{Right, Style};
use kernel::dividends::Terms;
use kernel::greeks::Greeks;

/// One contract and its market.
#[derive(Clone, Debug)]
pub struct Contract {
    /// Exercise style.
    pub style: Style,
    /// Call or put.
    pub right: Right,
    /// Spot, currency per share.
    pub s: f64,
    /// Strike, currency per share.
    pub k: f64,
    /// Volatility, per √year.
    pub sigma: f64,
    /// Time, rates and dividends.
    pub terms: Terms,
}

/// The cumulative normal distribution.
fn norm_cdf(d: f64) -> f64 {
    0.5 * libm::erfc(-d * core::f64::consts::FRAC_1_SQRT_2)
}

/// The European value by the formula (Black, 1976).
#[must_use]
pub fn black_scholes(o: &Contract) -> f64 {
    let (t, phi) = (o.terms.t, o.right.phi());
    let (fwd, width) = (o.terms.fwd(o.s), o.sigma * t.sqrt());
    let d1 = libm::log(fwd / o.k) / width + 0.5 * width;
    o.terms.df() * phi * (fwd * norm_cdf(phi * d1) - o.k * norm_cdf(phi * (d1 - width)))
}

/// The American value by a binomial tree of an odd number of steps (Leisen and Reimer, 1996), dividends escrowed.
#[must_use]
pub fn tree(o: &Contract, steps: usize) -> f64 {
    let (t, phi, n) = (o.terms.t, o.right.phi(), steps as f64);
    let x = o.s - o.terms.a(0.0);
    let (dt, width) = (t / n, o.sigma * t.sqrt());
    let d1 = libm::log(o.terms.fwd(o.s) / o.k) / width + 0.5 * width;
    let (p, p_stock) = (peizer_pratt(d1 - width, n), peizer_pratt(d1, n));
    let growth = libm::exp((o.terms.r - o.terms.b) * dt);
    let (up, down) = (growth * p_stock / p, growth * (1.0 - p_stock) / (1.0 - p));
    let df = libm::exp(-o.terms.r * dt);
    let (weight_up, weight_down) = (df * p, df * (1.0 - p));

    let mut spots: Vec<f64> =
        (0..=steps).map(|j| x * libm::pow(up, j as f64) * libm::pow(down, n - j as f64)).collect();
    let mut values: Vec<f64> = spots.iter().map(|x| (phi * (x - o.k)).max(0.0)).collect();
    for step in (0..steps).rev() {
        let strike = o.k - o.terms.a(step as f64 * dt);
        for j in 0..=step {
            spots[j] /= down;
            let held = weight_up * values[j + 1] + weight_down * values[j];
            values[j] = held.max(phi * (spots[j] - strike));
        }
    }
    values[0]
}

/// The probability whose binomial distribution of `n` steps matches the normal one at `z` (Peizer and Pratt, 1968).
fn peizer_pratt(z: f64, n: f64) -> f64 {
    let scaled = z / (n + 1.0 / 3.0 + 0.1 / (n + 1.0));
    0.5 + 0.5 * (1.0 - libm::exp(-scaled * scaled * (n + 1.0 / 6.0))).sqrt().copysign(z)
}

/// Every Greek by central differences of `value`: 33 valuations. `step` is the bump in standard deviations of ln S.
#[must_use]
pub fn bumped(o: &Contract, step: f64, value: impl Fn(&Contract) -> f64) -> Greeks<f64> {
    let width = o.sigma * o.terms.t.sqrt();
    let (hs, hv, hk) = (step * width * o.s, step * o.sigma, step * width * o.k);
    let (ht, hr) = (0.01 * o.terms.t, 1e-3);
    let at = |s: f64, v: f64, shift: &dyn Fn(&mut Contract)| {
        let mut moved = o.clone();
        moved.s += s * hs;
        moved.sigma += v * hv;
        shift(&mut moved);
        value(&moved)
    };
    let spot_vol = |s: f64, v: f64| at(s, v, &|_| ());
    let later = |s: f64, v: f64, sign: f64| at(s, v, &|m| pass_time(m, sign * ht));
    let rate = |v: f64, sign: f64| at(0.0, v, &|m| m.terms.r += sign * hr);
    let borrow = |sign: f64| at(0.0, 0.0, &|m| m.terms.b += sign * hr);
    let strike = |sign: f64| at(0.0, 0.0, &|m| m.k += sign * hk);

    let [low2, low, mid, high, high2] = [-2.0, -1.0, 0.0, 1.0, 2.0].map(|s| spot_vol(s, 0.0));
    let [calm2, calm, wild, wild2] = [-2.0, -1.0, 1.0, 2.0].map(|v| spot_vol(0.0, v));
    let [corner_lc, corner_hc] = [-1.0, 1.0].map(|s| spot_vol(s, -1.0));
    let [corner_lw, corner_hw] = [-1.0, 1.0].map(|s| spot_vol(s, 1.0));
    let [past, future] = [-1.0, 1.0].map(|sign| {
        let [mid, low, high] = [0.0, -1.0, 1.0].map(|s| later(s, 0.0, sign));
        let [calm, wild] = [-1.0, 1.0].map(|v| later(0.0, v, sign));
        [mid, (high - low) / (2.0 * hs), (high - 2.0 * mid + low) / (hs * hs), (wild - calm) / (2.0 * hv)]
    });
    let per_year = |i: usize| (future[i] - past[i]) / (2.0 * ht);
    let [strike_low, strike_high] = [-1.0, 1.0].map(strike);
    let vega_by_rate = [-1.0, 1.0].map(|sign| rate(1.0, sign) - rate(-1.0, sign));
    let delta = (high - low) / (2.0 * hs);
    let d1 = libm::log(o.terms.fwd(o.s) / o.k) / width + 0.5 * width;
    Greeks {
        value: mid,
        delta,
        gamma: (high - 2.0 * mid + low) / (hs * hs),
        speed: (high2 - 2.0 * high + 2.0 * low - low2) / (2.0 * hs * hs * hs),
        vega: (wild - calm) / (2.0 * hv),
        volga: (wild - 2.0 * mid + calm) / (hv * hv),
        ultima: (wild2 - 2.0 * wild + 2.0 * calm - calm2) / (2.0 * hv * hv * hv),
        vanna: (corner_hw - corner_lw - corner_hc + corner_lc) / (4.0 * hs * hv),
        zomma: (corner_hw - 2.0 * wild + corner_lw - corner_hc + 2.0 * calm - corner_lc) / (2.0 * hs * hs * hv),
        theta: per_year(0),
        charm: per_year(1),
        color: per_year(2),
        veta: per_year(3),
        rho: (rate(0.0, 1.0) - rate(0.0, -1.0)) / (2.0 * hr),
        vera: (vega_by_rate[1] - vega_by_rate[0]) / (4.0 * hv * hr),
        epsilon: (borrow(1.0) - borrow(-1.0)) / (2.0 * hr),
        lambda: if mid == 0.0 { 0.0 } else { delta * o.s / mid },
        dual_delta: (strike_high - strike_low) / (2.0 * hk),
        dual_gamma: (strike_high - 2.0 * mid + strike_low) / (hk * hk),
        d1,
        d2: d1 - width,
    }
}

/// Lets `years` go by; a dividend that has gone ex is gone.
fn pass_time(o: &mut Contract, years: f64) {
    o.terms.t -= years;
    o.terms.divs.iter_mut().for_each(|d| d.t -= years);
    o.terms.divs.retain(|d| d.t > 0.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, Row};

    /// The worst error of value, delta, gamma and vega by row, against the reference.
    fn worst(rows: &[Row], greeks: impl Fn(&Contract) -> Greeks<f64>) -> f64 {
        let errors = rows.iter().flat_map(|row| {
            let got = greeks(&row.contract);
            ["price", "delta", "gamma", "vega"].map(|name| golden::error(row, name, &got).unwrap_or(0.0))
        });
        errors.fold(0.0, f64::max)
    }

    #[test]
    fn black_scholes_and_its_bumps_are_right() {
        let rows = golden::read("european.csv", 5);
        assert!(rows.len() > 30);
        let error = worst(&rows, |o| bumped(o, 0.01, black_scholes));
        assert!(error < 1e-3, "{error}");
    }

    #[test]
    fn the_tree_is_right() {
        let rows = golden::read("american_nodiv.csv", 20);
        let error = rows.iter().map(|row| {
            let got = tree(&row.contract, 1001);
            (got - row.value("price").unwrap_or(f64::NAN)).abs() / row.contract.s
        });
        let error = error.fold(0.0, f64::max);
        assert!(error < 1e-4, "{error}");
    }
}
