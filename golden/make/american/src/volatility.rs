//! The volatility at which an American option is worth a given price.

use crate::math::difference;
use crate::solver::{Contract, Scheme, Unsupported, solve};

/// A volatility that a price implies.
#[derive(Clone, Copy, Debug)]
pub struct Implied {
    /// `ok`, or why no volatility is singled out.
    pub status: &'static str,
    pub sigma: f64,
    /// Its absolute error: that of the value there, and a rounding of the given price.
    pub error: f64,
}

/// The best exercise where nothing is random: at a time, at or right before an ex-date, or at expiry.
fn without_volatility(c: &Contract) -> f64 {
    let g = c.r - c.b;
    let worth = |u: f64, counts: &dyn Fn(f64) -> bool| -> f64 {
        let escrow = |from: f64, ahead: &dyn Fn(f64) -> bool| -> f64 {
            c.dividends.iter().filter(|d| ahead(d.0)).map(|&(t, d)| d * (-g * (t - from)).exp()).sum()
        };
        let x = (c.s - escrow(0.0, &|_| true)) * (g * u).exp();
        (-c.r * u).exp() * c.phi * (x + escrow(u, counts) - c.k)
    };
    let grid = (0..=1000).map(|i| c.t * f64::from(i) / 1000.0).map(|u| worth(u, &|t| t > u));
    let before = c.dividends.iter().map(|d| worth(d.0, &|t| t >= d.0));
    let after = c.dividends.iter().map(|d| worth(d.0, &|t| t > d.0));
    grid.chain(before).chain(after).fold(0.0, f64::max)
}

/// Inverts the value in σ: bracketing from 30 %, then the Illinois method in ln σ.
pub fn implied(c: &Contract, price: f64) -> Result<Implied, Unsupported> {
    let none = |status| Implied { status, sigma: f64::NAN, error: f64::NAN };
    let least = without_volatility(c);
    let slack = 1e-12 * c.k;
    if price < least - slack {
        return Ok(none("below_min"));
    }
    let exercise = c.phi * (c.s - c.k);
    if (price - exercise).abs() <= slack && least <= exercise + slack {
        return Ok(none("at_intrinsic"));
    }
    // Volatility without bound: a call is worth the spot, a put the best present value of its strike.
    let most = if c.phi > 0.0 { c.s * (-c.b * c.t).exp().max(1.0) } else { c.k * (-c.r * c.t).exp().max(1.0) };
    if price >= most {
        return Ok(none("above_max"));
    }
    let (working, fine) = Scheme::pair(!c.dividends.is_empty());
    let value = |log_sigma: f64, scheme: &Scheme| {
        solve(&Contract { sigma: log_sigma.exp(), ..c.clone() }, scheme).map(|x| x.value[0] - price)
    };
    let (mut low, mut high) = (0.3_f64.ln(), 0.3_f64.ln());
    let (mut below, mut above) = (value(low, &fine)?, 0.0);
    if below > 0.0 {
        (above, high) = (below, low);
        while below > 0.0 {
            (above, high) = (below, low);
            low -= 0.4;
            if low < -9.0 {
                return Ok(none("below_min"));
            }
            below = value(low, &fine)?;
        }
    } else {
        loop {
            high += 0.4;
            if high > 3.0 {
                return Ok(none("above_max"));
            }
            above = above.max(value(high, &fine)?);
            if above > 0.0 {
                break;
            }
            (below, low) = (value(high, &fine)?, high);
        }
    }
    let mut side = 0;
    for round in 1..60 {
        if high - low < 1e-14 {
            break;
        }
        let secant = (low * above - high * below) / (above - below);
        let middle = if round % 5 == 0 || !secant.is_finite() { 0.5 * (low + high) } else { secant };
        if middle <= low || middle >= high {
            break;
        }
        let gap = value(middle, &fine)?;
        if gap <= 0.0 {
            (low, below) = (middle, gap);
            above *= if side == 1 { 0.5 } else { 1.0 };
            side = 1;
        } else {
            (high, above) = (middle, gap);
            below *= if side == -1 { 0.5 } else { 1.0 };
            side = -1;
        }
        if gap.abs() < 2e-16 * c.k {
            (low, high) = (middle, middle);
        }
    }
    let log_sigma = 0.5 * (low + high);
    let sigma = log_sigma.exp();
    let slope = vega(&Contract { sigma, ..c.clone() }) * 100.0;
    let error = 0.5 * (value(log_sigma, &fine)? - value(log_sigma, &working)?).abs();
    Ok(Implied { status: "ok", sigma, error: (error + f64::EPSILON * (price.abs() + c.k)) / slope.abs() })
}

/// ∂V/∂σ per 1 %, by a difference of eighth order; NaN where exercise is optimal on the way.
pub fn vega(c: &Contract) -> f64 {
    let (_, fine) = Scheme::pair(!c.dividends.is_empty());
    let steps: Vec<f64> = (-4..=4).map(|i| f64::from(i) * 0.02 * c.sigma).collect();
    let weights = difference(&steps, 1);
    let mut sum = 0.0;
    for (step, weight) in steps.iter().zip(weights).filter(|x| *x.0 != 0.0) {
        match solve(&Contract { sigma: c.sigma + step, ..c.clone() }, &fine) {
            Ok(solved) => sum += weight * solved.value[0],
            Err(_) => return f64::NAN,
        }
    }
    sum / 100.0
}
