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

/// Rounds of calendar repair; what is left after them is below [`CALENDAR_SMALL`] of ln w.
const CALENDAR_ROUNDS: usize = 6;
/// A crossing smaller than this part of ln w is none.
const CALENDAR_SMALL: f64 = 1e-5;

/// Moves curves that cross a neighbour in total variance at equal forward moneyness, the less supported one more.
/// Curves in order of time; those without a forward are passed over.
pub fn repair_calendar(curves: &mut [Curve]) {
    let known: Vec<usize> = (0..curves.len()).filter(|&i| curves[i].fwd > 0.0).collect();
    for round in 0..CALENDAR_ROUNDS {
        let last = round + 2 >= CALENDAR_ROUNDS;
        let mut moved = false;
        for pair in known.windows(2) {
            moved |= part_pair(curves, pair[0], pair[1], last);
        }
        if !moved {
            break;
        }
    }
}

/// Parts one crossing pair; with `later_only` the earlier curve stays.
fn part_pair(curves: &mut [Curve], early: usize, late: usize, later_only: bool) -> bool {
    let up = crossings(&curves[late], &curves[early], &curves[late]);
    let down = crossings(&curves[early], &curves[early], &curves[late]);
    let share = |k: f64| {
        let (a, b) = (curves[early].precision_at(k) + 1e-6, curves[late].precision_at(k) + 1e-6);
        if later_only { 1.0 } else { a / (a + b) }
    };
    let ups: Vec<_> = up.iter().map(|&(i, k, gap)| (i, gap * share(k))).collect();
    let downs: Vec<_> = down.iter().map(|&(i, k, gap)| (i, gap * (1.0 - share(k)))).collect();
    ups.iter().for_each(|&(i, by)| curves[late].spline.lift(i, by));
    downs.iter().for_each(|&(i, by)| curves[early].spline.lift(i, -by));
    !up.is_empty() || !down.is_empty()
}

/// Where, at the coefficients of `on`, the earlier curve lies above the later: (coefficient, k, ½ Δ ln w).
fn crossings(on: &Curve, early: &Curve, late: &Curve) -> Vec<(usize, f64, f64)> {
    (0..on.spline.len())
        .filter_map(|i| {
            let k = on.k_of(on.spline.place(i));
            let gap = (early.variance_at(k) / late.variance_at(k)).ln();
            (gap > CALENDAR_SMALL).then_some((i, k, 0.5 * gap))
        })
        .collect()
}
