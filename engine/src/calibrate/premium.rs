//! The forward of an American expiry: parity holds for European values, so what early exercise adds is taken out.
//!
//! At each strike near the money the right with the smaller premium gives the volatility; the other right is valued
//! with it, and what it misses its quote by says how far the forward is off. The sensitivity of that miss is learned
//! from one round to the next: where a call is as good as exercised it says nothing, and counts for nothing.
//! Never: a European slice.

use super::borrow::{Carry, effective_spot, implied_borrow};
use super::forward::{Pair, Parity, fit_forward};
use super::implied::{span, start_vols};
use super::invert::{european, invert, values};
use super::{Look, SliceInput, SliceState};
use crate::contract::Right;
use crate::kernel::american::Band;
use crate::kernel::dividends::Terms;

/// Rounds at most; most slices take two or three.
const ROUNDS: usize = 8;
/// The forward has settled when it moves by less than this part of the spot: 0.1 basis point.
const SETTLED: f64 = 1e-5;
/// The nearest strikes that are looked at.
const PAIRS_MAX: usize = 16;
/// Pairs further than this from the money, in standard deviations, have no weight worth a value.
const FAR_SD: f64 = 1.5;
/// From about here on an expiry's own borrow is no noise, and the premium follows from it; before, the steadied one.
const OWN_BORROW_YEARS: f64 = 0.025;
/// Least part of the European sensitivity at which a pair still says something.
const SENSITIVITY_MIN: f64 = 0.05;

/// What a pass learns of early exercise in parity, for the next one to start from.
#[derive(Clone, Debug, Default)]
pub struct Learned {
    /// Refined forward less the rough one, currency per share.
    shift: f64,
    /// (strike, part of the European sensitivity that the pair's miss has to the forward), by strike.
    slopes: Vec<(f64, f64)>,
}

impl Learned {
    /// The sensitivity at a strike: that of the nearest one known, 1 if there is none.
    fn slope(&self, k: f64) -> f64 {
        let away = |known: &&(f64, f64)| (known.0 - k).abs();
        self.slopes.iter().min_by(|a, b| away(a).total_cmp(&away(b))).map_or(1.0, |known| known.1)
    }
}

/// The forward without early-exercise premium, starting from `carry`.
#[must_use]
pub fn refine_forward(input: &SliceInput, look: &Look, carry: &Carry, state: &mut SliceState) -> Parity {
    let rough = look.parity;
    if rough.fwd.is_nan() || carry.fwd.is_nan() {
        return rough;
    }
    let pairs = near_pairs(&look.pairs, &rough);
    let df = (-input.r * input.t).exp();
    let learned = core::mem::take(&mut state.premium);
    let mut slope: Vec<f64> = pairs.iter().map(|p| learned.slope(p.k)).collect();
    let (mut fwd, mut last) = (carry.fwd + learned.shift.clamp(-0.2 * carry.fwd, 0.2 * carry.fwd), rough);
    let mut before: Option<(f64, Vec<f64>)> = None;
    for _ in 0..ROUNDS {
        let misses = premium_misses(input, look, &pairs, (fwd, borrow_at(fwd, input, carry)), state);
        if let Some((fwd_before, misses_before)) = &before {
            learn(&mut slope, misses_before, &misses, (fwd - fwd_before) * df);
        }
        let next = fit_forward(&seen_from(fwd, df, &pairs, &misses, &slope), df, input.t);
        if next.fwd.is_nan() {
            return last;
        }
        last = Parity { sd: rough.sd, ..next };
        if (next.fwd - fwd).abs() < SETTLED * input.s {
            break;
        }
        before = Some((fwd, misses));
        fwd = next.fwd;
    }
    state.premium = Learned { shift: last.fwd - carry.fwd, slopes: pairs.iter().map(|p| p.k).zip(slope).collect() };
    last
}

/// The borrow rate that goes with a forward: the expiry's own but for the last days, which take the steadied one.
fn borrow_at(fwd: f64, input: &SliceInput, carry: &Carry) -> f64 {
    let own_share = 1.0 / (1.0 + (OWN_BORROW_YEARS / input.t).powi(2));
    let own = implied_borrow(input.s, fwd, input.t, input.r, input.divs) - carry.b;
    carry.b + if own.is_finite() { own_share * own } else { 0.0 }
}

/// Takes the sensitivity of each pair's miss from two rounds, `shift` being df times the move of the forward.
fn learn(slope: &mut [f64], before: &[f64], now: &[f64], shift: f64) {
    for ((slope, before), now) in slope.iter_mut().zip(before).zip(now) {
        let seen = (before - now) / shift;
        if seen.is_finite() {
            *slope = seen.clamp(0.0, 1.5);
        }
    }
}

/// The pairs as European ones: each at the forward that would take its miss away, its error grown as far as it is
/// insensitive.
fn seen_from(fwd: f64, df: f64, pairs: &[Pair], misses: &[f64], slope: &[f64]) -> Vec<Pair> {
    let known = pairs.iter().zip(misses.iter().zip(slope));
    known
        .filter(|(_, (miss, slope))| miss.is_finite() && **slope > SENSITIVITY_MIN)
        .map(|(p, (miss, slope))| Pair { gap: df * (fwd - p.k) + miss / slope, half: p.half / slope, ..*p })
        .collect()
}

/// The pairs that are worth a look: near the money and tight.
fn near_pairs(pairs: &[Pair], rough: &Parity) -> Vec<Pair> {
    let far = |p: &Pair| (p.k / rough.fwd).ln().abs() / rough.sd;
    let mut near: Vec<Pair> = pairs.iter().filter(|p| far(p) < FAR_SD).copied().collect();
    near.sort_by(|a, b| (a.half * (1.0 + far(a))).total_cmp(&(b.half * (1.0 + far(b)))));
    near.truncate(PAIRS_MAX);
    near.sort_by(|a, b| a.k.total_cmp(&b.k));
    near
}

/// How much the quoted C − P of each pair exceeds the model's at forward and borrow; NaN: no volatility.
fn premium_misses(
    input: &SliceInput,
    look: &Look,
    pairs: &[Pair],
    (fwd, b): (f64, f64),
    state: &mut SliceState,
) -> Vec<f64> {
    let terms = Terms { t: input.t, r: input.r, b, divs: input.divs.to_vec() };
    let s = effective_spot(fwd, &terms);
    let plain = european(&terms);
    let start = start_vols(input, &look.quotes, fwd, &[plain[0].at(&terms, s), plain[1].at(&terms, s)]);
    let near: Vec<f64> = pairs.iter().map(|p| start[p.call as usize]).collect();
    let ends = (pairs.first().map_or(1.0, |p| p.k), pairs.last().map_or(1.0, |p| p.k));
    let pricers = state.near_pricers.serving(input.style, &terms, &Band { k: ends, sigma: span(&near) });
    let at = |right: Right| pricers[right as usize].at(&terms, s);
    let mid = |i: usize, right: Right| {
        let row = if right == Right::Call { pairs[i].call } else { pairs[i].put };
        look.quotes.mid(row as usize)
    };
    let mut misses = vec![f64::NAN; pairs.len()];
    for (right, other) in [(Right::Call, Right::Put), (Right::Put, Right::Call)] {
        let rows: Vec<usize> = (0..pairs.len()).filter(|&i| side_of(pairs[i].k, fwd, s) == right).collect();
        let pick = |f: &dyn Fn(usize) -> f64| rows.iter().map(|&i| f(i)).collect::<Vec<f64>>();
        let k = pick(&|i| pairs[i].k);
        let sigma = invert(&at(right), &k, &pick(&|i| mid(i, right)), &pick(&|i| near[i]));
        let model = values(&at(other), &k, &sigma);
        for (&i, model) in rows.iter().zip(model) {
            misses[i] = (mid(i, other) - model) * other.phi();
        }
    }
    misses
}

/// The right with less exercise premium: out of the money against spot and forward; between them, the put where the
/// forward is below the spot.
fn side_of(k: f64, fwd: f64, s: f64) -> Right {
    if k >= fwd.max(s) {
        Right::Call
    } else if k <= fwd.min(s) || fwd < s {
        Right::Put
    } else {
        Right::Call
    }
}
