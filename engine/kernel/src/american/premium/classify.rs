//! The first date at which early exercise can pay, and the contracts for which it never can. Never: a grid, a
//! volatility's smile.

use super::super::band::Band;
use super::super::pays::late_call_loses;
use crate::american::settings::{CLASSES, SAME};
use crate::dividends::Terms;
use crate::elementary::ln;
use crate::lanes::Lanes;
use crate::normal::norm_cdf;

/// A put's first exercise window is ignored if it is shorter than this and than `WINDOW_PART` (years). The premium lost
/// is below 1e-4.
const WINDOW_YEARS: f64 = 0.012;
/// A put's first exercise window is ignored if it is shorter than this and than `WINDOW_YEARS` (part of the way to the
/// ex-date). The premium lost is below 1e-4.
const WINDOW_PART: f64 = 0.4;
/// Deviations of ln X up to which a call's gain from borrow is computed.
const HIGHEST: f64 = 2.0;
/// Upper bound of `HIGHEST` in ln X.
const HIGHEST_MOST: f64 = 1.5;
/// Exercise between dates is ignored if it begins to earn only further above the strike than this and
/// `FAR_DEVIATIONS` together (ln X): few contracts lie so deep in the money.
const BETWEEN_FAR: f64 = 1.2;
/// Deviations of ln X over the whole term that are added to `BETWEEN_FAR`. A spot at the strike gets there once in a
/// million times, one that lies as deep once in ten.
const FAR_DEVIATIONS: f64 = 1.5;

/// Strikes at which the first ex-date changes are one within this ratio.
const SAME_STRIKE: f64 = 1.02;
/// Ratio to which a strike is found at which a put's first ex-date changes: strikes of a chain lie further apart.
const CLOSE: f64 = 1.001;
/// Part of the interest that waiting must earn: below 1, so that equality counts as worth exercising.
const INTEREST: f64 = 0.999;
/// Least rate, per year, by which the wait for a dividend divides: such a wait is longer than any life.
const RATE_LEAST: f64 = 1e-6;

/// Begin of the time in which early exercise can pay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ExerciseStart {
    /// Never: the option is European.
    Never,
    /// Now.
    Now,
    /// An ex-date, years from now.
    At(f64),
    /// Right before expiry, to collect the dividends of that day.
    AtExpiry,
}

/// The strikes and volatilities of one table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) k: (f64, f64),
    pub(super) sigma: (f64, f64),
    pub(super) depth: Depth,
}

/// The spots for which a table of calls is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Spots about the strike.
    Usual,
    /// Spots so far above the strike that borrow may exceed the interest on the strike before expiry.
    Deep,
}

impl Span {
    /// The nearest strikes and volatilities within the span.
    pub(super) fn within<L: Lanes>(&self, k: L, sigma: L) -> (L, L) {
        let within = |v: L, (low, high): (f64, f64)| v.max(L::splat(low)).min(L::splat(high));
        (within(k, self.k), within(sigma, self.sigma))
    }

    /// True if exercise between ex-dates can pay.
    pub(super) fn continuous(&self, phi: f64, terms: &Terms) -> bool {
        continuous(phi, terms, self.sigma.1, self.depth)
    }
}

/// True if exercise between ex-dates can pay at volatilities up to `sigma`. For a call it counts as worthless where
/// waiting for the next date loses less than `CLASSES.lost` of the value, and, for spots about the strike, where
/// exercise begins to earn far above it.
pub(super) fn continuous(phi: f64, terms: &Terms, sigma: f64, depth: Depth) -> bool {
    let Terms { t, r, b, .. } = *terms;
    if phi < 0.0 {
        return true;
    }
    if b <= SAME.no_rate {
        return r < 0.0;
    }
    let is_far = r > 0.0 && (r / b).ln() > BETWEEN_FAR + FAR_DEVIATIONS * sigma * t.sqrt();
    !(is_far && depth == Depth::Usual) && late_call_loses(terms, r, sigma) > CLASSES.lost
}

/// The lanes of calls deep in the money: the excess of borrow over the interest on the strike until expiry, (b·X −
/// r·K)⁺ a year, is worth more than `CLASSES.lost` of X.
pub(super) fn deep<L: Lanes>(terms: &Terms, x: L, k: L, sigma: L) -> L::Mask {
    let Terms { t, r, b, .. } = *terms;
    if b <= SAME.no_rate || r <= b || b * t < CLASSES.lost {
        return x.lt(x);
    }
    let c = |v: f64| L::splat(v);
    let width = sigma * t.sqrt();
    let d = (ln(x / k) + c((b / r).ln() + (r - b) * t)) / width + width * 0.5;
    let earned = x * norm_cdf(d) * (b * (-b * t).exp()) - k * norm_cdf(d - width) * (r * (-r * t).exp());
    (x * CLASSES.lost).lt(earned * t)
}

/// True if the exercise region between ex-dates can have two boundaries.
pub(super) fn two_sided(phi: f64, terms: &Terms) -> bool {
    let Terms { r, b, .. } = *terms;
    if phi > 0.0 { r < b && b < 0.0 } else { b < r && r < 0.0 }
}

/// Begin of the time in which exercise can pay for any contract of the span.
pub(super) fn start(phi: f64, terms: &Terms, span: &Span) -> ExerciseStart {
    if phi > 0.0 { call_start(terms, span) } else { put_start(terms, span) }
}

/// [`start`] of calls. Exercise at an ex-date rather than at the next gains the dividend and the borrow, and loses the
/// interest on the strike in between. For b ≤ 0 waiting between ex-dates never loses, so that the test is a proof.
fn call_start(terms: &Terms, span: &Span) -> ExerciseStart {
    let between = span.continuous(1.0, terms);
    let first = (0..terms.divs.len()).find(|&i| between || pays(terms, span, i)).map(|i| terms.divs[i].t);
    match first {
        Some(date) if date < terms.t - SAME.date => ExerciseStart::At(date),
        _ if between => ExerciseStart::Now,
        Some(_) => ExerciseStart::AtExpiry,
        None => ExerciseStart::Never,
    }
}

/// True if exercising a call right before ex-date `i`, rather than before the next or at expiry, can pay.
fn pays(terms: &Terms, span: &Span, i: usize) -> bool {
    let (amount, per_strike) = gain(terms, span.sigma.1, i);
    terms.divs[i].t > terms.t - SAME.date || [span.k.0, span.k.1].iter().any(|k| amount + per_strike * k > 0.0)
}

/// Upper bound of the gain from exercising a call right before ex-date `i` rather than before the next: an amount, and
/// a part of the strike.
fn gain(terms: &Terms, sigma: f64, i: usize) -> (f64, f64) {
    let Terms { t, r, b, .. } = *terms;
    let here = terms.divs[i];
    let next = terms.divs.get(i + 1).map_or(t, |d| d.t);
    let gap = next - here.t;
    let highest = (HIGHEST * sigma * next.sqrt()).min(HIGHEST_MOST).exp();
    (here.amount, b.max(0.0) * gap * highest - (1.0 - (-r * gap).exp()) * INTEREST)
}

/// The strikes, ascending, at which the begin of exercise changes. No table spans such a strike.
pub(super) fn changes(phi: f64, terms: &Terms, bands: &[Band]) -> Vec<f64> {
    if phi > 0.0 { call_changes(terms, bands) } else { put_changes(terms, bands) }
}

/// The first window of a put, by begin and length.
#[derive(Clone, Copy, PartialEq)]
enum Window {
    /// Begins now.
    Now,
    /// Begins at a later date and soon closes: the boundary lies far below the strike, if there is one.
    Short,
    /// Begins at a later date and lasts.
    Long,
}

/// [`changes`] of puts: strikes at which the first window changes. Close above such a strike the boundary falls away to
/// 0, and a table that spans the strike could not begin at the boundary.
fn put_changes(terms: &Terms, bands: &[Band]) -> Vec<f64> {
    let (low, high) = bands.iter().fold((f64::INFINITY, 0.0f64), |k, band| (k.0.min(band.k.0), k.1.max(band.k.1)));
    if terms.r <= SAME.no_rate || terms.divs.is_empty() {
        return Vec::new();
    }
    let mut strikes = Vec::new();
    let mut from = low;
    while from < high {
        let to = (from * SAME_STRIKE).min(high);
        let (mut below, mut above) = (from, to);
        let there = window(terms, from);
        if there != window(terms, to) {
            while above > below * CLOSE {
                let middle = (below * above).sqrt();
                *(if window(terms, middle) == there { &mut below } else { &mut above }) = middle;
            }
            strikes.push(above);
        }
        from = to;
    }
    strikes
}

fn window(terms: &Terms, k: f64) -> Window {
    if deterministic_put_start(terms, k).is_none_or(|start| start <= 0.0) {
        return Window::Now;
    }
    let lasts = first_window(terms, k).map_or(f64::INFINITY, |(length, _)| length);
    if lasts < WINDOW_YEARS { Window::Short } else { Window::Long }
}

/// Length of a put's first window, and the wait from its end to the ex-date, years; `None`: the window lasts until
/// expiry, or there is none.
pub(super) fn first_window(terms: &Terms, k: f64) -> Option<(f64, f64)> {
    if terms.r <= SAME.no_rate {
        return None;
    }
    let start = deterministic_put_start(terms, k)?;
    let next = terms.divs.iter().find(|d| d.t > start + SAME.date && d.t < terms.t - SAME.date)?;
    let wait = gap_before(next.amount, k, terms.r);
    Some((next.t - start - wait, wait))
}

/// [`changes`] of calls: strikes at which another ex-date becomes the first one before which exercise can pay.
fn call_changes(terms: &Terms, bands: &[Band]) -> Vec<f64> {
    let sigma = bands.iter().fold(0.0, |most: f64, band| most.max(band.sigma.1));
    if continuous(1.0, terms, sigma, Depth::Usual) {
        return Vec::new();
    }
    let mut strikes = Vec::new();
    let mut most = 0.0;
    for (i, date) in terms.divs.iter().enumerate() {
        let (amount, per_strike) = gain(terms, sigma, i);
        if per_strike >= 0.0 || date.t > terms.t - SAME.date {
            break; // exercise before this date can pay at every strike
        }
        let up_to = -amount / per_strike;
        if up_to > most * SAME_STRIKE {
            strikes.push(up_to);
            most = up_to;
        }
    }
    strikes
}

/// True if a call that may be exercised right before `date` is European after it.
pub(super) fn european_after(terms: &Terms, span: &Span, date: f64) -> bool {
    !span.continuous(1.0, terms) && (0..terms.divs.len()).all(|i| terms.divs[i].t <= date || !pays(terms, span, i))
}

/// [`start`] of puts. In the limit X → 0 a put is a sum of cash: the start is the first ex-date right after which
/// taking the cash beats waiting.
fn put_start(terms: &Terms, span: &Span) -> ExerciseStart {
    if terms.r <= SAME.no_rate {
        return if terms.b >= 0.0 { ExerciseStart::Never } else { ExerciseStart::Now };
    }
    let first = |terms: &Terms| {
        // a table may end where this changes
        let ends = [span.k.0 * CLOSE, span.k.1 / CLOSE].map(|k| deterministic_put_start(terms, k));
        ends.into_iter().flatten().fold(f64::INFINITY, f64::min)
    };
    let date = first(terms);
    // with b < 0 waiting costs −bX besides, X up to K: exercise may begin earlier, on an island of X
    let island = terms.b < 0.0 && first(&Terms { r: terms.r - terms.b, ..terms.clone() }) < date;
    match date {
        _ if island => ExerciseStart::Now,
        f64::INFINITY => ExerciseStart::Never,
        0.0 => ExerciseStart::Now,
        date => ExerciseStart::At(date),
    }
}

/// Years until the first date right after which exercise of a put pays at X = 0; `None`: there is no such date.
fn deterministic_put_start(terms: &Terms, k: f64) -> Option<f64> {
    let live: Vec<_> = terms.divs.iter().filter(|d| d.t > 0.0 && d.t < terms.t - SAME.date).collect();
    let (mut worth, mut start) = (k, None);
    for i in (0..=live.len()).rev() {
        let from = if i == 0 { 0.0 } else { live[i - 1].t };
        let next = live.get(i).map_or(terms.t, |d| d.t);
        let taken = k - terms.a(from);
        let waited = worth * (-terms.r * (next - from)).exp();
        if taken > waited {
            start = Some(from);
        }
        worth = taken.max(waited);
    }
    if let (Some(0.0), Some(first)) = (start, live.first()) {
        let window = first.t - gap_before(first.amount, k, terms.r);
        if window < WINDOW_YEARS && window < WINDOW_PART * first.t {
            return Some(first.t);
        }
    }
    start
}

/// Length in years of the time before an ex-date in which waiting for the dividend beats the interest on the strike.
fn gap_before(amount: f64, k: f64, r: f64) -> f64 {
    (1.0 + amount / k).ln() / r.max(RATE_LEAST)
}
