//! Static arbitrage of curves: butterflies inside one expiry, calendars between neighbours.
//! Never: a quote.

use super::{Curve, LnVariance};

/// Durrleman's function: the risk-neutral density is its positive multiple, so it must not be negative.
///
/// # Source  Durrleman (2004), as in Gatheral and Jacquier (2014) eq. 2.1, written in ln w
#[must_use]
pub fn durrleman(k: f64, v: &LnVariance) -> f64 {
    let w = v.value.exp();
    let lead = 1.0 - 0.5 * k * v.slope;
    let s2 = v.slope * v.slope;
    lead * lead + w * (0.5 * v.bend + 0.25 * s2 - 0.0625 * w * s2)
}

/// Rounds of repair over a whole chain at most; after the first ones only the later curve of a pair moves.
const ROUNDS: usize = 14;
const SHARED_ROUNDS: usize = 3;
/// A crossing smaller than this part of w is none.
const CROSSING_SMALL: f64 = 1e-6;
/// Least value of Durrleman's function at the places looked at, so that none between them is negative.
const DENSITY_MIN: f64 = 2e-3;
/// Crossing curves are moved this much further apart in ln σ, so that they do not cross between the places looked at.
const CLEARANCE: f64 = 5e-4;
/// Passes of smoothing over the places of a butterfly.
const SMOOTHINGS: usize = 40;
/// A repair at one place moves the coefficients within this many knots; more of them where smoothing undoes it.
const NEAR_KNOTS: f64 = 1.5;

/// Repairs curves that cross a neighbour in total variance at equal forward moneyness, the less supported one moving
/// more, and smooths what that bends. Curves in order of time; those that know nothing are passed over.
pub fn repair(curves: &mut [Curve]) {
    let known: Vec<usize> = (0..curves.len()).filter(|&i| curves[i].fwd > 0.0).collect();
    let mut touched = vec![true; curves.len()];
    for round in 0..ROUNDS {
        let reach = NEAR_KNOTS + 0.5 * round.saturating_sub(SHARED_ROUNDS) as f64;
        let later_only = round >= SHARED_ROUNDS;
        let mut moved = vec![false; curves.len()];
        for pair in known.windows(2) {
            let (early, late) = (pair[0], pair[1]);
            let due = touched[early] || touched[late] || moved[early];
            if due && part_pair(curves, (early, late), later_only, reach) {
                moved[early] |= !later_only;
                moved[late] = true;
            }
        }
        for &i in known.iter().filter(|&&i| moved[i]) {
            smooth_butterflies(&mut curves[i]);
        }
        if moved.iter().all(|m| !m) {
            break;
        }
        touched = moved;
    }
}

/// Where the density of a curve is negative, or nearly so, inside its quotes: places on the spline's coordinate, looked
/// for at every knot (the bend is linear between them) and three places between.
#[must_use]
pub fn butterflies(curve: &Curve) -> Vec<f64> {
    let (from, to) = curve.quoted;
    let (start, step) = (curve.spline.place(1), 0.25 * curve.spline.step());
    let first = ((from - start) / step).ceil().max(0.0) as usize;
    let inner = (first..).map(|i| start + step * i as f64).take_while(|&u| u < to);
    let thin = |&u: &f64| {
        let k = curve.k_of(u);
        durrleman(k, &curve.ln_variance_at(k)) < DENSITY_MIN
    };
    core::iter::once(from).chain(inner).chain([to]).filter(thin).collect()
}

/// Lets the spline diffuse where the density is negative, until it is not.
pub fn smooth_butterflies(curve: &mut Curve) {
    for _ in 0..SMOOTHINGS {
        let bad = butterflies(curve);
        if bad.is_empty() {
            return;
        }
        curve.spline.diffuse(|place, step| bad.iter().any(|u| (place - u).abs() < 2.0 * step));
    }
}

/// Parts one crossing pair; with `later_only` the earlier curve stays.
fn part_pair(curves: &mut [Curve], (early, late): (usize, usize), later_only: bool, reach: f64) -> bool {
    let crossings = crossings(&curves[early], &curves[late]);
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for &(k, gap) in &crossings {
        let (a, b) = (curves[early].precision_at(k) + 1e-6, curves[late].precision_at(k) + 1e-6);
        let share = if later_only { 1.0 } else { a / (a + b) };
        up.push((curves[late].place_of(k), gap * share));
        down.push((curves[early].place_of(k), gap * (1.0 - share)));
    }
    if !crossings.is_empty() {
        curves[late].spline.move_near(&up, reach, 1.0);
        curves[early].spline.move_near(&down, reach, -1.0);
    }
    !crossings.is_empty()
}

/// Where the earlier curve lies above the later: (k, ½ Δ ln w), looked for at every half knot of both.
fn crossings(early: &Curve, late: &Curve) -> Vec<(f64, f64)> {
    let (a, b) = (half_knots(early), half_knots(late));
    let crossing = |k: f64| {
        let ratio = early.variance_at(k) / late.variance_at(k);
        (ratio > 1.0 + CROSSING_SMALL).then(|| (k, 0.5 * ratio.ln() + CLEARANCE))
    };
    a.chain(b).filter_map(crossing).collect()
}

/// Log-moneyness of every half knot of a curve.
fn half_knots(curve: &Curve) -> impl Iterator<Item = f64> + '_ {
    let (start, step) = (curve.spline.place(0), 0.5 * curve.spline.step());
    (0..2 * curve.spline.len()).map(move |i| curve.k_of(start + step * i as f64))
}
