//! The implied borrow rate of each expiry, steadied over the expiries of a chain.
//!
//! b follows from F exactly, but an error d in the spot moves b by d/(S·t): in the last days it is noise while the
//! forward is sound; where quotes are wide and far off it is the other way round. So each expiry's F and b are weighed
//! against what the spot and the neighbours' borrow make expected, by their errors, and the spot that makes the two
//! agree is what the expiry is valued at. Nothing is clamped: b below zero and above one are real.
//! Never: a quote.

use super::SliceInput;
use super::forward::Parity;
use crate::contract::ForwardBasis;
use crate::kernel::dividends::{Dividend, escrowed, escrowed_by_rate};

/// How far the recorded spot may be from the one that the options were quoted against, as a part of it.
const SPOT_NOISE: f64 = 5e-4;
/// How much borrow differs between expiries whose times are a factor e apart: this much plus a part of itself.
const DRIFT: (f64, f64) = (0.01, 0.2);
/// A borrow rate stays where it was while what it moves the forward by is below this part of it, or below this part of
/// the forward's standard error.
const STILL: (f64, f64) = (5e-5, 1.0);
/// Further apart than this in ln t makes no more difference.
const LN_T_FAR: f64 = 2.0;

/// What an expiry is valued on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carry {
    /// Forward, currency per share; NaN: unknown.
    pub fwd: f64,
    /// Its standard error; NaN where it is carried over from neighbours.
    pub fwd_error: f64,
    /// Borrow rate as published.
    pub b: f64,
    /// The underlying price to publish: the spot, or F where parity is the basis.
    pub und: f64,
    /// The spot that F and b imply together: what values are computed from.
    pub s: f64,
}

/// The borrow rate for which (s − A(0))·e^((r−b)t) = fwd, by Newton: A(0) depends on b.
///
/// # Domain   fwd > 0 and s above the dividends; NaN elsewhere
/// # Accuracy 1e-13 relative in fwd
#[must_use]
pub fn implied_borrow(s: f64, fwd: f64, t: f64, r: f64, divs: &[Dividend]) -> f64 {
    let x = s - escrowed(divs, r, 0.0, t);
    if !(x > 0.0 && fwd > 0.0 && t > 0.0) {
        return f64::NAN;
    }
    let mut b = r - (fwd / x).ln() / t;
    if divs.is_empty() {
        return b;
    }
    for _ in 0..30 {
        let x = s - escrowed(divs, r - b, 0.0, t);
        if x <= 0.0 || x.is_nan() {
            return f64::NAN;
        }
        // d/db of ln((s − A)·e^((r−b)t)): dA/db = −dA/dr.
        let slope = escrowed_by_rate(divs, r - b, t) / x - t;
        let step = ((x / fwd).ln() + (r - b) * t) / slope;
        b -= step;
        if step.abs() * t < 1e-14 {
            break;
        }
    }
    b
}

/// Forward, borrow and effective spot of every slice of a chain.
#[derive(Debug, Default)]
pub struct Steadied {
    own: Vec<Own>,
    /// By slice.
    pub carry: Vec<Carry>,
}

impl Steadied {
    /// Works them out anew, `parity` being what each slice says alone. `prior` is the borrow of the last pass (NaN:
    /// none), for chains that have no pair at all.
    pub fn set(&mut self, slices: &[SliceInput], parity: &[Parity], prior: &[f64]) {
        let Self { own, carry } = self;
        own.clear();
        own.extend(slices.iter().zip(parity).map(|(i, p)| Own::new(i, p)));
        carry.clear();
        carry.extend((0..slices.len()).map(|i| match slices[i].basis {
            ForwardBasis::Parity => on_its_own(i, slices, parity),
            ForwardBasis::Spot => steadied(i, &slices[i], &parity[i], own, prior[i]),
        }));
    }
}

/// The borrow that one expiry says alone.
#[derive(Clone, Copy, Debug)]
struct Own {
    b: f64,
    /// Standard error of `b`.
    error: f64,
    ln_t: f64,
}

impl Own {
    fn new(input: &SliceInput, parity: &Parity) -> Self {
        let b = implied_borrow(input.s, parity.fwd, input.t, input.r, input.divs);
        let error = (parity.error / parity.fwd).hypot(SPOT_NOISE) / input.t;
        Self { b, error, ln_t: input.t.ln() }
    }
}

fn steadied(i: usize, input: &SliceInput, parity: &Parity, own: &[Own], prior: f64) -> Carry {
    let (mut w, mut wb) = (0.0, 0.0);
    let heard = |o: &Own| o.b.is_finite() && o.error.is_finite();
    for (_, o) in own.iter().enumerate().filter(|(j, o)| *j != i && heard(o)) {
        let drift = (DRIFT.0 + DRIFT.1 * o.b.abs()) * (o.ln_t - own[i].ln_t).abs().min(LN_T_FAR);
        let weight = 1.0 / (o.error * o.error + drift * drift);
        w += weight;
        wb += weight * o.b;
    }
    let alone = if prior.is_finite() { prior } else { 0.0 };
    let others = if w > 0.0 { wb / w } else { alone };
    let carry = input.r - others;
    let expected = (input.s - escrowed(input.divs, carry, 0.0, input.t)) * (carry * input.t).exp();
    if !heard(&own[i]) {
        let fwd = if expected > 0.0 { expected } else { f64::NAN };
        return Carry { fwd, fwd_error: f64::NAN, b: others, und: input.s, s: input.s };
    }
    let (fwd, fwd_error) = if w > 0.0 && expected > 0.0 {
        let known = (SPOT_NOISE * expected).hypot(expected * input.t / w.sqrt());
        merge((parity.fwd, parity.error), (expected, known))
    } else {
        (parity.fwd, parity.error)
    };
    let mine = implied_borrow(input.s, fwd, input.t, input.r, input.divs);
    let weight = (input.t / (fwd_error / fwd).hypot(SPOT_NOISE)).powi(2);
    let b = if mine.is_finite() { (wb + weight * mine) / (w + weight) } else { others };
    let b = settled(b, prior, input.t, fwd_error / fwd);
    Carry { fwd, fwd_error, b, und: input.s, s: effective_spot(fwd, input, b) }
}

/// A borrow rate, or the one before where the two differ by less than is known of the forward, whose standard error is
/// `error` of it: the forward is kept exactly all the same, and so are the tables that b is the key of.
fn settled(b: f64, prior: f64, t: f64, error: f64) -> f64 {
    if ((b - prior) * t).abs() < STILL.0.max(STILL.1 * error) { prior } else { b }
}

/// The spot that gives the forward at a borrow rate.
#[must_use]
pub fn effective_spot(fwd: f64, input: &SliceInput, b: f64) -> f64 {
    let carry = input.r - b;
    fwd * (-carry * input.t).exp() + escrowed(input.divs, carry, 0.0, input.t)
}

/// Two opinions, each a value and its standard error, as one.
fn merge(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let (wa, wb) = (1.0 / (a.1 * a.1), 1.0 / (b.1 * b.1));
    ((wa * a.0 + wb * b.0) / (wa + wb), 1.0 / (wa + wb).sqrt())
}

/// S := F and b := r; an expiry without pairs takes F from its neighbours in time, else the spot.
fn on_its_own(i: usize, slices: &[SliceInput], parity: &[Parity]) -> Carry {
    let known = |j: &usize| parity[*j].fwd.is_finite();
    let fwd = if known(&i) {
        parity[i].fwd
    } else {
        match ((0..i).rev().find(known), (i + 1..slices.len()).find(known)) {
            (Some(lo), Some(hi)) => {
                let part = (slices[i].t - slices[lo].t) / (slices[hi].t - slices[lo].t).max(1e-9);
                parity[lo].fwd + part * (parity[hi].fwd - parity[lo].fwd)
            }
            (Some(j), None) | (None, Some(j)) => parity[j].fwd,
            (None, None) => slices[i].s,
        }
    };
    Carry { fwd, fwd_error: parity[i].error, b: slices[i].r, und: fwd, s: fwd }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::testing::slice;
    use crate::kernel::dividends::Terms;

    fn steady_borrow(slices: &[SliceInput], parity: &[Parity], prior: &[f64]) -> Vec<Carry> {
        let mut steadied = Steadied::default();
        steadied.set(slices, parity, prior);
        steadied.carry
    }

    fn parity(fwd: f64, error: f64) -> Parity {
        Parity { fwd, error, sd: 0.1, pairs: 9 }
    }

    #[test]
    fn implied_borrow_inverts_the_forward_with_dividends() {
        let divs = [Dividend { t: 0.1, amount: 1.2 }, Dividend { t: 0.4, amount: 1.3 }];
        for b in [-0.02, 0.0, 0.3, 2.5] {
            let terms = Terms { t: 0.5, r: 0.04, b, divs: divs.to_vec() };
            let back = implied_borrow(90.0, terms.fwd(90.0), 0.5, 0.04, &divs);
            assert!((back - b).abs() < 1e-12, "{b} came back as {back}");
        }
        assert!(implied_borrow(2.0, 1.0, 0.5, 0.04, &divs).is_nan(), "dividends worth more than the spot");
    }

    #[test]
    fn last_days_keep_their_forward_and_take_the_neighbours_borrow() {
        let near = slice(100.0, 1.0 / 365.0, &[]);
        let far = slice(100.0, 0.25, &[]);
        let (near, far) = (near.input(), far.input());
        let fwd_far = 100.0 * (0.25 * (near.r - 0.02)).exp();
        let carry = steady_borrow(&[near, far], &[parity(99.9, 0.005), parity(fwd_far, 0.01)], &[f64::NAN; 2]);
        assert!((carry[0].fwd - 99.9).abs() < 0.002 && (carry[0].b - 0.02).abs() < 0.03, "{:?}", carry[0]);
        let back = carry[0].s * ((near.r - carry[0].b) * near.t).exp();
        assert!((back - carry[0].fwd).abs() < 1e-10, "the effective spot must give the forward back: {back}");
        assert!((carry[1].b - 0.02).abs() < 2e-3, "{:?}", carry[1]);
    }

    #[test]
    fn an_expiry_without_pairs_takes_its_neighbours_borrow() {
        let ts = [0.1, 0.3, 0.6].map(|t| slice(50.0, t, &[]));
        let inputs: Vec<_> = ts.iter().map(|s| s.input()).collect();
        let fwd = |i: usize| 50.0 * ((inputs[i].r - 0.8) * inputs[i].t).exp();
        let parities = [parity(fwd(0), 0.01), Parity::NONE, parity(fwd(2), 0.01)];
        let carry = steady_borrow(&inputs, &parities, &[f64::NAN; 3]);
        assert!((carry[1].b - 0.8).abs() < 0.02 && (carry[1].fwd / fwd(1) - 1.0).abs() < 0.01, "{:?}", carry[1]);
        let none = steady_borrow(&inputs[..1], &[Parity::NONE], &[f64::NAN]);
        assert!(none[0].b.abs() < 1e-12, "nothing known: no borrow");
    }
}
