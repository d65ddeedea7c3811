//! The normal distribution in lanes: N(x) and n(x), tails included.

use super::elementary::exp;
use super::lanes::Lanes;

/// 1/√(2π).
pub const INV_SQRT_2PI: f64 = 0.398_942_280_401_432_7;

/// Coefficients in q = (x−2)/(x+2), x = |d|/√2, of (1+2x)·erfcx(x), degree 24: absolute error 3.6e-16
/// (golden/make/erfcx_fit.py).
const FULL: [f64; 25] = [
    1.2769783815525286,
    -0.09276382658574427,
    -0.16603039761529628,
    0.16405128003325747,
    -0.05422000099131832,
    -0.008034015076416627,
    0.008722653853544008,
    0.001271338872607465,
    -0.001456813629857029,
    -0.00045433999783661087,
    0.0002063646693995606,
    0.00015103446495465947,
    -1.4972567823040672e-06,
    -3.640549291523768e-05,
    -1.3533490182299369e-05,
    3.6639699204911323e-06,
    5.311193956211715e-06,
    1.5896847437505345e-06,
    -8.205354213697782e-07,
    -9.443781909812544e-07,
    -1.4694084872695033e-07,
    2.3284451089881772e-07,
    9.819701889739516e-08,
    -2.479113481304322e-08,
    -1.545898505268754e-08,
];

/// Coefficients in q of (1+2x)·erfcx(x), degree 12: absolute error 5.2e-9.
const SHORT: [f64; 13] = [
    1.2769783815525286,
    -0.09276375981353936,
    -0.16603039128745392,
    0.16404939535070093,
    -0.05422018605110092,
    -0.008018635692177228,
    0.008724294537976393,
    0.0012166654960141198,
    -0.0014635116701689403,
    -0.0003571778924625534,
    0.00022110545249492226,
    6.310018545878825e-05,
    -2.0108931189167087e-05,
];

/// Polynomial in `q`, even and odd powers apart, which halves the dependent chain.
#[inline(always)]
fn polynomial<L: Lanes, const M: usize>(q: L, c: &[f64; M]) -> L {
    // even and odd terms apart: two short chains of multiply-adds run side by side where one long one would wait
    let q2 = q * q;
    let top = |start: usize| {
        let mut acc = L::splat(c[start]);
        let mut k = start;
        while k >= 2 {
            k -= 2;
            acc = acc.mul_add(q2, L::splat(c[k]));
        }
        acc
    };
    let even = top((M - 1) & !1);
    let odd = top((M - 2) | 1);
    odd.mul_add(q, even)
}

/// N(d), the normal distribution function, given `e` = exp(−d²/2).
///
/// # Domain    every finite d; the tails keep their relative accuracy as far as `e` does (|d| ≤ 37)
/// # Accuracy  absolute error ≤ 2.3e-16; left of 0 relative ≤ 2e-15 + that of `e`: `norm_cdf_meets_its_bound`
/// # Source    N = e·erfcx(|d|/√2)/2 on the left; (1+2x)·erfcx(x) as a polynomial in (x−2)/(x+2)
#[inline(always)]
pub fn norm_cdf_given<L: Lanes>(d: L, e: L) -> L {
    let x = d.abs() * core::f64::consts::FRAC_1_SQRT_2;
    let two = L::splat(2.0);
    let q = (x - two) / (x + two);
    let tail = e * polynomial(q, &FULL) * 0.5 / (x + x + 1.0);
    L::select(d.lt(L::splat(0.0)), tail, L::splat(1.0) - tail)
}

/// N(d) given `e` = exp(−d²/2), for integrands that are weighted by an interest rate anyway: one division, half the
/// polynomial.
///
/// # Domain    every finite d
/// # Accuracy  absolute error ≤ 2.7e-9; left of 0 relative ≤ 5e-9: `norm_cdf_short_meets_its_bound`
/// # Source    as [`norm_cdf_given`], degree 12 (golden/make/erfcx_fit.py)
#[inline(always)]
pub fn norm_cdf_short_given<L: Lanes>(d: L, e: L) -> L {
    let x = d.abs() * core::f64::consts::FRAC_1_SQRT_2;
    let (plus, twice) = (x + 2.0, x + x + 1.0);
    // one division in place of two: the costliest instruction here
    let inv = L::splat(1.0) / (plus * twice);
    let q = (x - 2.0) * twice * inv;
    let tail = e * polynomial(q, &SHORT) * 0.5 * plus * inv;
    L::select(d.lt(L::splat(0.0)), tail, L::splat(1.0) - tail)
}

/// |d| beyond which [`bell`] is 0: it is 1e-304 there, about the least normal number.
const FAR: f64 = 37.4;

/// e^(−d²/2), the normal density but for its factor; 0 for |d| above 37.4. Products with less would be subnormal, and
/// arithmetic on those takes a hundred cycles on some processors.
///
/// # Domain    every finite d
/// # Accuracy  relative error ≤ 2.3e-16 + 1.2e-16·d², the rounding of d²/2
#[inline(always)]
pub fn bell<L: Lanes>(d: L) -> L {
    L::select(d.abs().lt(L::splat(FAR)), exp(d * d * -0.5), L::splat(0.0))
}

/// N(d), the normal distribution function. Accuracy and source: [`norm_cdf_given`].
#[inline(always)]
pub fn norm_cdf<L: Lanes>(d: L) -> L {
    norm_cdf_given(d, bell(d))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Block;

    /// d and N(d) of golden/normal.csv.
    fn golden() -> Vec<(f64, f64)> {
        let text = include_str!("../../../golden/normal.csv");
        let row = |line: &str| {
            let (d, n) = line.split_once(',').unwrap();
            (d.parse().unwrap(), n.parse().unwrap())
        };
        text.lines().skip(1).map(row).collect()
    }

    #[test]
    fn norm_cdf_meets_its_bound() {
        for (d, n) in golden() {
            let ours = norm_cdf(d);
            assert!((ours - n).abs() <= 2.3e-16, "N({d}) = {n}, not {ours}");
            if d < 0.0 {
                // exp(-d²/2) inherits the rounding of d²/2
                let bound = 2e-15 + 1.2e-16 * d * d;
                assert!((ours - n).abs() <= bound * n, "N({d}) = {n}, not {ours}");
            }
        }
    }

    #[test]
    fn norm_cdf_short_meets_its_bound() {
        for (d, n) in golden() {
            let ours = norm_cdf_short_given(d, exp(d * d * -0.5));
            assert!((ours - n).abs() <= 2.7e-9, "N({d}) = {n}, not {ours}");
            if d < 0.0 {
                assert!((ours - n).abs() <= 5e-9 * n, "N({d}) = {n}, not {ours}");
            }
        }
    }

    #[test]
    fn both_sides_add_up_to_one() {
        for (d, _) in golden() {
            assert!((norm_cdf(d) + norm_cdf(-d) - 1.0).abs() <= 4.5e-16, "{d}");
        }
    }

    #[test]
    fn lanes_equal_the_scalar_bit_for_bit() {
        let d: Vec<f64> = golden().iter().map(|g| g.0).collect();
        for d in d.chunks_exact(8) {
            let lanes = norm_cdf(Block::load(d));
            (0..8).for_each(|i| assert_eq!(lanes.lane(i).to_bits(), norm_cdf(d[i]).to_bits(), "N({})", d[i]));
        }
    }
}
