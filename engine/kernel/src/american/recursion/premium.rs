//! The early exercise premium of a call right before an ex-date as a function of x, and its expectation at an earlier
//! time.
//!
//! Where the option is exercised at that date the premium is the payoff less the European value, which put-call parity
//! makes a line less the European option of the other right. Elsewhere it is a Chebyshev series. The lanes are nodes of
//! the quadrature.

use super::option::{AmericanOption, Slopes};
use super::rules::normals;
use crate::american::european::European;
use crate::american::settings::{DATE_PREMIUM, SAME};
use crate::elementary::exp;
use crate::lanes::{Lanes, TwoBlocks};
use crate::normal::INV_SQRT_2PI;
use crate::solve::{clenshaw, gauss};
use std::f64::consts::PI;

/// Standard deviations of the kernel that a quadrature covers to either side. The normal probability beyond is 1e-15.
const KERNEL: f64 = 8.0;
/// Nodes of a quadrature over a narrow part of the kernel.
const FEWEST: f64 = 32.0;
/// Nodes of a quadrature over the whole kernel.
const ALL_OF_KERNEL: f64 = 48.0;
/// Deviations of its own beyond which the European option of the other right counts as worthless. The normal
/// probability beyond is 1e-15.
const OPPOSITE: f64 = 8.0;
/// Size of the last terms of a resolved series (part of the strike).
const RESOLVED: f64 = 3e-9;
/// Terms below this are dropped (part of the strike). A thousandth of what is resolved.
const DROPPED: f64 = 1e-12;

/// Nodes that are summed side by side.
type NodeLanes = TwoBlocks;
const N: usize = NodeLanes::N;

/// A part of the premium.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// The line c0 + c1·X from x = `lo` to `hi`.
    Line { lo: f64, hi: f64, c0: f64, c1: f64 },
    /// Minus the European option of the other right.
    Opposite { lo: f64, hi: f64 },
    /// A series in v on [0, 1], x = lo + (hi − lo)v², or x = hi − (hi − lo)(1 − v)².
    Series { lo: f64, hi: f64, from_low: bool, terms: Vec<f64> },
}

impl Piece {
    /// The series through `f`, with as many terms as resolve it.
    pub(super) fn series(lo: f64, hi: f64, from_low: bool, k: f64, f: impl Fn(f64) -> f64) -> Self {
        let place = |u: f64| {
            let v = 0.5 * (1.0 + u);
            if from_low { lo + (hi - lo) * v * v } else { hi - (hi - lo) * (1.0 - v) * (1.0 - v) }
        };
        let mut n = DATE_PREMIUM.samples;
        // Lobatto points: half of the values are reused when their number doubles
        let mut values: Vec<f64> = (0..=n).map(|i| f(place((PI * i as f64 / n as f64).cos()))).collect();
        let mut terms = coefficients(&values);
        while n < DATE_PREMIUM.most_samples && terms[n - 2..].iter().any(|c| c.abs() > RESOLVED * k) {
            n *= 2;
            let between = |i: usize| f(place((PI * i as f64 / n as f64).cos()));
            values = (0..=n).map(|i| if i % 2 == 0 { values[i / 2] } else { between(i) }).collect();
            terms = coefficients(&values);
        }
        let last = terms.iter().rposition(|c| c.abs() > DROPPED * k).unwrap_or(0);
        terms.truncate(last + 1);
        Self::Series { lo, hi, from_low, terms }
    }

    /// The tangent at x, as a line in X, from x upwards; `premium`: value and slope in x.
    pub(super) fn tail(x: f64, premium: impl Fn(f64) -> (f64, f64)) -> Self {
        let (value, slope) = premium(x);
        Self::Line { lo: x, hi: f64::INFINITY, c0: value - slope, c1: slope / x.exp() }
    }
}

/// Coefficients of the Chebyshev series through values at cos(πi/n).
fn coefficients(values: &[f64]) -> Vec<f64> {
    let n = values.len() - 1;
    let cos: Vec<f64> = (0..2 * n).map(|i| (PI * i as f64 / n as f64).cos()).collect();
    let end = |i: usize| if i == 0 || i == n { 0.5 } else { 1.0 };
    let term = |j: usize| -> f64 { values.iter().enumerate().map(|(i, v)| v * end(i) * cos[i * j % (2 * n)]).sum() };
    (0..=n).map(|j| term(j) * 2.0 / n as f64 * end(j)).collect()
}

/// The premium right before a date.
#[derive(Clone, Debug)]
pub(super) struct DatePremium {
    /// Years from now to the date.
    pub(super) t: f64,
    pub(super) pieces: Vec<Piece>,
}

impl DatePremium {
    /// No premium at expiry `t`.
    pub(super) fn at_expiry(t: f64) -> Self {
        Self { t, pieces: Vec::new() }
    }

    /// Adds e^(−rs)·E\[premium\] and its slopes, given x at the time of the kernel `at`.
    pub(super) fn expect(&self, p: &AmericanOption, at: &Kernel, x: f64, to: &mut Slopes) {
        let mean = x + at.drift;
        for piece in &self.pieces {
            match piece {
                Piece::Line { lo, hi, c0, c1 } => at.line(mean, *lo, *hi, [*c0, *c1], to),
                Piece::Opposite { lo, hi } => {
                    let (w, centre) = (at.opposite.width.lane(0), at.opposite.centre.lane(0));
                    let reach = (OPPOSITE + w) * w;
                    let (lo, hi) =
                        if p.phi > 0.0 { (*lo, hi.min(centre + reach)) } else { (lo.max(centre - reach), *hi) };
                    at.integrate(mean, lo, hi, to, |x| -at.opposite.at(x, exp(x)));
                }
                Piece::Series { lo, hi, from_low, terms } => {
                    let scale = 1.0 / (hi - lo);
                    at.integrate(mean, *lo, *hi, to, |x| {
                        let f = ((x - *lo) * scale).max(NodeLanes::splat(0.0)).min(NodeLanes::splat(1.0));
                        let v = if *from_low {
                            f.sqrt()
                        } else {
                            NodeLanes::splat(1.0) - (NodeLanes::splat(1.0) - f).sqrt()
                        };
                        let [sum] = clenshaw(terms.iter().map(|term| NodeLanes::splat(*term)), &[v * 2.0 - 1.0]);
                        sum
                    });
                }
            }
        }
    }
}

/// Density of x at a date, given x at an earlier time, and the European option at the date.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    df: f64,
    /// The mean of x less x now.
    drift: f64,
    width: f64,
    inv_width: f64,
    opposite: European<NodeLanes>,
}

impl Kernel {
    /// The kernel over the `s` years before a date that lies `tau` years before expiry.
    pub(super) fn new(p: &AmericanOption, s: f64, tau: f64) -> Self {
        let width = p.width(s);
        Self {
            df: (-p.r * s).exp(),
            drift: (p.r - p.b - 0.5 * p.sigma * p.sigma) * s,
            width,
            inv_width: 1.0 / width,
            opposite: p.opposite(tau),
        }
    }

    /// Adds the expectation of c0 + c1·X between two x.
    ///
    /// # Domain    either end may be infinite
    /// # Accuracy  rounding: normal probabilities are taken from the side where they are small
    fn line(&self, mean: f64, lo: f64, hi: f64, [c0, c1]: [f64; 2], to: &mut Slopes) {
        let w = self.width;
        let [za, zb] = [lo, hi].map(|end| ((end - mean) * self.inv_width).clamp(-SAME.deviate, SAME.deviate));
        // next to 1 the distribution is known to fewer digits than next to 0
        let sign = if za > 0.0 { -1.0 } else { 1.0 };
        let z = [
            za,
            zb,
            (za - w).clamp(-SAME.deviate, SAME.deviate),
            (zb - w).clamp(-SAME.deviate, SAME.deviate),
            0.0,
            0.0,
            0.0,
            0.0,
        ];
        let (cdf, density) = normals(&z, sign);
        let i = self.inv_width;
        let between = |a: usize, b: usize| {
            let slope = |he: fn(f64) -> f64| he(z[a]) * density[a] - he(z[b]) * density[b];
            [
                sign * (cdf[b] - cdf[a]),
                i * (density[a] - density[b]),
                i * i * slope(|z| z),
                i * i * i * slope(|z| z * z - 1.0),
                i * i * i * i * slope(|z| z * (z * z - 3.0)),
            ]
        };
        if c0 != 0.0 {
            for (to, part) in to.iter_mut().zip(between(0, 1)) {
                *to += self.df * c0 * part;
            }
        }
        if c1 != 0.0 {
            let forward = self.df * c1 * (mean + 0.5 * w * w).exp();
            let [p0, p1, p2, p3, p4] = between(2, 3);
            // the forward grows with e^x itself
            let with =
                [p0, p0 + p1, p0 + 2.0 * p1 + p2, p0 + 3.0 * (p1 + p2) + p3, p0 + 4.0 * (p1 + p3) + 6.0 * p2 + p4];
            for (to, part) in to.iter_mut().zip(with) {
                *to += forward * part;
            }
        }
    }

    /// Adds the expectation of `f` between the x `lo` and `hi`, cut off where the kernel is negligible.
    ///
    /// # Domain    `f` smooth between the ends
    /// # Accuracy  `KERNEL` deviations to either side, more nodes the more of them lie between the ends
    #[inline(always)]
    fn integrate(&self, mean: f64, lo: f64, hi: f64, to: &mut Slopes, f: impl Fn(NodeLanes) -> NodeLanes) {
        let reach = KERNEL * self.width;
        let (a, b) = (lo.max(mean - reach), hi.min(mean + reach));
        if b <= a {
            return;
        }
        let c = NodeLanes::splat;
        let part = (b - a) * self.inv_width / (2.0 * KERNEL);
        let n = (FEWEST + (ALL_OF_KERNEL - FEWEST) * part).ceil() as usize;
        let rule = gauss(n.next_multiple_of(N));
        let scale = self.df * (b - a) * self.inv_width * INV_SQRT_2PI;
        let mut sums = [c(0.0); 5];
        for block in rule.chunks_exact(N) {
            let (node, weight): ([f64; N], [f64; N]) =
                (core::array::from_fn(|i| block[i].0), core::array::from_fn(|i| block[i].1));
            let x = NodeLanes::load(&node) * (b - a) + a;
            let z = (x - mean) * self.inv_width;
            let z2 = z * z;
            let v = NodeLanes::load(&weight) * scale * exp(z2 * -0.5) * f(x);
            sums[0] += v;
            sums[1] += v * z;
            sums[2] += v * (z2 - 1.0);
            sums[3] += v * z * (z2 - 3.0);
            sums[4] += v * ((z2 - 6.0) * z2 + 3.0);
        }
        let mut unit = 1.0;
        for (to, sum) in to.iter_mut().zip(sums) {
            let mut lanes = [0.0; N];
            sum.store(&mut lanes);
            *to += unit * lanes.iter().sum::<f64>();
            unit *= self.inv_width;
        }
    }
}
