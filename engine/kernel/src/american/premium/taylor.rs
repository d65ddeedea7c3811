//! Truncated Taylor series in the five inputs of a price: the chain rule as arithmetic.
//!
//! A table gives the premium as a function of its own coordinates; callers need derivatives in X, σ, K, r and b. Each
//! coordinate is written as a series, and products of series replace pages of hand-made chain rule. Never: a formula of
//! finance.

use crate::lanes::Lanes;
use core::ops::{Add, Mul, Sub};

/// Index of each monomial's coefficient. Variables: x = ln X, l = ln σ, q = ln K, r, b, each measured from the point of
/// expansion. The set is closed under division of monomials, so that products of series are exact in it.
pub(super) mod at {
    pub(crate) const ONE: usize = 0;
    pub(crate) const X: usize = ONE + 1;
    pub(crate) const XX: usize = X + 1;
    pub(crate) const XXX: usize = XX + 1;
    pub(crate) const XXXX: usize = XXX + 1;
    pub(crate) const L: usize = XXXX + 1;
    pub(crate) const LL: usize = L + 1;
    pub(crate) const LLL: usize = LL + 1;
    pub(crate) const XL: usize = LLL + 1;
    pub(crate) const XXL: usize = XL + 1;
    pub(crate) const Q: usize = XXL + 1;
    pub(crate) const QQ: usize = Q + 1;
    pub(crate) const R: usize = QQ + 1;
    pub(crate) const RL: usize = R + 1;
    pub(crate) const B: usize = RL + 1;
}
/// Number of monomials.
pub(super) const TERMS: usize = at::B + 1;

/// Coefficients of the monomials of [`at`], not derivatives: ∂²/∂x² is twice the coefficient of x².
#[derive(Clone, Copy, Debug)]
pub(super) struct Taylor<V>(pub(super) [V; TERMS]);

impl<V: Lanes> Taylor<V> {
    /// The constant `c`.
    #[inline(always)]
    pub(super) fn constant(c: V) -> Self {
        let mut terms = [V::splat(0.0); TERMS];
        terms[at::ONE] = c;
        Taylor(terms)
    }

    /// The series with the coefficient of monomial `i` set to `c`.
    #[inline(always)]
    pub(super) fn with(mut self, i: usize, c: V) -> Self {
        self.0[i] = c;
        self
    }

    /// The series times `c`.
    #[inline(always)]
    pub(super) fn scale(self, c: V) -> Self {
        Taylor(core::array::from_fn(
            #[inline(always)]
            |i| self.0[i] * c,
        ))
    }

    /// self + a constant.
    #[inline(always)]
    pub(super) fn plus(mut self, c: V) -> Self {
        self.0[at::ONE] += c;
        self
    }

    /// The series without its constant term.
    #[inline(always)]
    pub(super) fn moving(self) -> Self {
        self.with(at::ONE, V::splat(0.0))
    }

    /// The constant term.
    #[inline(always)]
    pub(super) fn value(&self) -> V {
        self.0[at::ONE]
    }

    /// σ·e^(n·l) as a series, `n` any power: σ itself, 1/σ.
    #[inline(always)]
    pub(super) fn power_of_sigma(value: V, n: f64) -> Self {
        Taylor::constant(value)
            .with(at::L, value * V::splat(n))
            .with(at::LL, value * V::splat(n * n / 2.0))
            .with(at::LLL, value * V::splat(n * n * n / 6.0))
    }

    /// K as a series in q = ln K.
    #[inline(always)]
    pub(super) fn strike(k: V) -> Self {
        Taylor::constant(k).with(at::Q, k).with(at::QQ, k * V::splat(0.5))
    }

    /// f(self), given f and its first four derivatives at the constant term.
    #[inline(never)]
    pub(super) fn compose(&self, f: [V; 5]) -> Self {
        let d = self.moving();
        let c = |i: usize, factorial: f64| f[i] * V::splat(1.0 / factorial);
        // Horner on the nilpotent part
        let mut out = d.scale(c(4, 24.0)).plus(c(3, 6.0));
        out = (out * d).plus(c(2, 2.0));
        out = (out * d).plus(f[1]);
        (out * d).plus(f[0])
    }
}

impl<V: Lanes> Add for Taylor<V> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Taylor(core::array::from_fn(
            #[inline(always)]
            |i| self.0[i] + o.0[i],
        ))
    }
}

impl<V: Lanes> Sub for Taylor<V> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Taylor(core::array::from_fn(
            #[inline(always)]
            |i| self.0[i] - o.0[i],
        ))
    }
}

impl<V: Lanes> Mul for Taylor<V> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        product(&self, &o)
    }
}

/// The product, monomial by monomial.
#[inline(never)]
fn product<V: Lanes>(a: &Taylor<V>, b: &Taylor<V>) -> Taylor<V> {
    use at::{B, L, LL, LLL, ONE, Q, QQ, R, RL, X, XL, XX, XXL, XXX, XXXX};
    let (a, b) = (&a.0, &b.0);
    let both = |i: usize, j: usize| a[i].mul_add(b[j], a[j] * b[i]);
    let square = |i: usize| a[i] * b[i];
    let first = |i: usize| both(ONE, i);
    let second = |i: usize, ii: usize| first(ii) + square(i);
    let third = |i: usize, ii: usize, iii: usize| first(iii) + both(i, ii);
    let mut c = [V::splat(0.0); TERMS];
    c[ONE] = square(ONE);
    c[X] = first(X);
    c[XX] = second(X, XX);
    c[XXX] = third(X, XX, XXX);
    c[XXXX] = first(XXXX) + both(X, XXX) + square(XX);
    c[L] = first(L);
    c[LL] = second(L, LL);
    c[LLL] = third(L, LL, LLL);
    c[XL] = first(XL) + both(X, L);
    c[XXL] = first(XXL) + both(XX, L) + both(X, XL);
    c[Q] = first(Q);
    c[QQ] = second(Q, QQ);
    c[R] = first(R);
    c[RL] = first(RL) + both(R, L);
    c[B] = first(B);
    Taylor(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::american::draws::Draws;

    /// Powers of (x, l, q, r, b) of each monomial.
    const POWERS: [[i32; 5]; TERMS] = [
        [0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [2, 0, 0, 0, 0],
        [3, 0, 0, 0, 0],
        [4, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 2, 0, 0, 0],
        [0, 3, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [2, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 2, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 1, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ];

    #[test]
    fn products_are_those_of_polynomials() {
        let mut draws = Draws(11);
        for _ in 0..50 {
            let [a, b]: [Taylor<f64>; 2] =
                core::array::from_fn(|_| Taylor(core::array::from_fn(|_| draws.between(-2.0, 2.0))));
            let got = (a * b).0;
            for (i, of) in POWERS.iter().enumerate() {
                let mut want = 0.0;
                for (j, one) in POWERS.iter().enumerate() {
                    for (k, other) in POWERS.iter().enumerate() {
                        if (0..5).all(|v| one[v] + other[v] == of[v]) {
                            want += a.0[j] * b.0[k];
                        }
                    }
                }
                assert!((got[i] - want).abs() < 1e-12, "{of:?}: {} for {want}", got[i]);
            }
        }
    }

    #[test]
    fn a_function_of_a_series_is_composed_of_its_derivatives() {
        let series = Taylor::constant(0.7).with(at::X, 1.0).with(at::L, -0.5).with(at::Q, 0.2).with(at::XL, 0.3);
        let value = 0.7f64.exp();
        let got = series.compose([value; 5]).0;
        // e^(0.7 + x − l/2 + q/5 + 0.3xl)
        for (i, want) in [
            (at::ONE, 1.0),
            (at::X, 1.0),
            (at::XXXX, 1.0 / 24.0),
            (at::LLL, -0.125 / 6.0),
            (at::XL, -0.5 + 0.3),
            (at::XXL, -0.25 + 0.3),
            (at::QQ, 0.02),
        ] {
            assert!((got[i] / value - want).abs() < 1e-14, "{i}: {} for {want}", got[i] / value);
        }
    }
}
