//! exp and ln in lanes, accurate to the last place or two.
//!
//! `wide`'s own `ln` is good to 1.6e-13 only, and these are what every formula stands on. Neither allocates, branches
//! on a lane or looks at another lane.

use super::lanes::Lanes;

/// ln 2 in two parts: the first has 32 trailing zero bits, so `n·LN2_HI` is exact for |n| < 2¹¹.
const LN2_HI: f64 = 6.931_471_803_691_238e-1;
const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;
/// 1/n! for n = 2 to 13.
const INV_FACTORIAL: [f64; 12] = [
    0.5,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5_040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
    1.0 / 6_227_020_800.0,
];

/// e to the power `x`.
///
/// # Domain    every finite `x`; below −708 the result is that of −708 (3e-308), above 709 that of 709; NaN: 3e-308
/// # Accuracy  relative error ≤ 2.3e-16 for |x| ≤ 700: `exp_meets_its_bound`
/// # Source    two-part reduction by ln 2 (Cody and Waite), then the series to degree 13 in Estrin form
#[inline(always)]
pub fn exp<L: Lanes>(x: L) -> L {
    // below, the result would be subnormal, above infinite, and 2ⁿ has no such n
    let x = x.max(L::splat(-708.0)).min(L::splat(709.0));
    let n = (x * core::f64::consts::LOG2_E).round();
    // ln 2 in two parts: the first has trailing zeros, so n times it is exact
    let r = n.neg_mul_add(L::splat(LN2_HI), x);
    let r = n.neg_mul_add(L::splat(LN2_LO), r);
    let c = |i: usize| L::splat(INV_FACTORIAL[i]);
    let (r2, pair) = (r * r, |i: usize| c(i + 1).mul_add(r, c(i)));
    // Estrin's scheme: a chain of depth four, where Horner's would be of twelve
    let r4 = r2 * r2;
    let low = pair(2).mul_add(r2, pair(0));
    let mid = pair(6).mul_add(r2, pair(4));
    let high = pair(10).mul_add(r2, pair(8));
    let tail = high.mul_add(r4, mid).mul_add(r4, low);
    (tail.mul_add(r2, r) + 1.0) * n.exp2_int()
}

/// Natural logarithm.
///
/// # Domain    positive normal numbers; elsewhere the result means nothing
/// # Accuracy  relative error ≤ 2.5e-16, absolute near 1: `ln_meets_its_bound`
/// # Source    mantissa in [√½, √2), then the odd series in s = f/(2+f) with the coefficients of fdlibm's `e_log.c`
#[inline(always)]
pub fn ln<L: Lanes>(x: L) -> L {
    // fdlibm's coefficients for atanh's series in f/(2 + f): within one unit in the last place
    let (m, e) = x.mantissa_exponent();
    let c = |v: f64| L::splat(v);
    let f = m - 1.0;
    let s = f / (m + 1.0);
    let z = s * s;
    let w = z * z;
    let even = w
        .mul_add(w.mul_add(c(1.531_383_769_920_937_3e-1), c(2.222_219_843_214_978_4e-1)), c(3.999_999_999_940_942e-1))
        * w;
    let odd = w.mul_add(
        w.mul_add(w.mul_add(c(1.479_819_860_511_658_6e-1), c(1.818_357_216_161_805e-1)), c(2.857_142_874_366_239e-1)),
        c(6.666_666_666_666_735e-1),
    ) * z;
    let half = f * f * 0.5;
    // the large part last: its rounding is the only one that reaches the result
    e * LN2_HI - ((half - s.mul_add(half + even + odd, e * LN2_LO)) - f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Block;

    fn worst(points: impl Iterator<Item = f64>, ours: impl Fn(f64) -> f64, std: impl Fn(f64) -> f64) -> f64 {
        points.map(|x| ((ours(x) - std(x)) / std(x)).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn exp_meets_its_bound() {
        let worst = worst((-70_000..=70_000).map(|i| f64::from(i) * 0.01 + 1e-4), exp, f64::exp);
        assert!(worst <= 2.3e-16 + f64::EPSILON / 2.0, "relative error {worst:e}, of which the library's own half ulp");
        assert!(exp(-1e9) > 0.0 && exp(1e9).is_finite());
    }

    #[test]
    fn ln_meets_its_bound() {
        let points = (1..200_000).map(|i| 1e-300f64.powf(1.0 - f64::from(i) / 1e5) + f64::from(i) * 1e-7);
        let worst = points.map(|x| (ln(x) - x.ln()).abs() / x.ln().abs().max(0.1)).fold(0.0, f64::max);
        assert!(worst <= 2.5e-16 + f64::EPSILON / 2.0, "relative error {worst:e}");
    }

    #[test]
    fn lanes_equal_the_scalar_bit_for_bit() {
        let x: Vec<f64> = (0..8).map(|i| (f64::from(i) * 7.3 + 0.01).powi(3)).collect();
        let lanes = Block::load(&x);
        for (i, &x) in x.iter().enumerate() {
            assert_eq!(ln(lanes).lane(i).to_bits(), ln(x).to_bits(), "ln {x}");
            let y = x * -1e-2;
            assert_eq!(exp(lanes * Block::splat(-1e-2)).lane(i).to_bits(), exp(y).to_bits(), "exp {y}");
        }
    }
}
