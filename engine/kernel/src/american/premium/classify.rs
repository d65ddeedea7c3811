//! When early exercise can pay at all: which contracts are European, from which date on a table must know better.
//! Never: a grid, a volatility's smile.

use super::super::band::Band;
use super::super::classes::late_call_loses;
use crate::american::settings::{BETWEEN, CLASSES, CLASSIFY, SAME};
use crate::dividends::Terms;
use crate::elementary::ln;
use crate::lanes::Lanes;
use crate::normal::norm_cdf;

/// From when on early exercise can pay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Start {
    /// Never: the option is European.
    Never,
    /// Now.
    Now,
    /// At this date, an ex-date, and not before: years from now.
    At(f64),
    /// Right before expiry only, to collect the dividends of that day.
    AtExpiry,
}

/// The strikes and volatilities of one table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) k: (f64, f64),
    pub(super) sigma: (f64, f64),
    pub(super) depth: Depth,
}

/// From which spots a table of calls is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Those about the strike.
    Usual,
    /// Those so far above it that borrow may exceed the interest on the strike before expiry.
    Deep,
}

impl Span {
    /// True if exercise between ex-dates can pay.
    pub(super) fn continuous(&self, phi: f64, terms: &Terms) -> bool {
        continuous(phi, terms, self.sigma.1, self.depth)
    }
}

/// True if exercise between ex-dates can pay at volatilities up to `sigma`. A call's counts as none where waiting for
/// the next date is bound to lose less than `CLASSES.lost` of its value, and about the strike where exercise begins to
/// earn far above it.
pub(super) fn continuous(phi: f64, terms: &Terms, sigma: f64, depth: Depth) -> bool {
    let Terms { t, r, b, .. } = *terms;
    if phi < 0.0 {
        return true;
    }
    if b <= SAME.no_rate {
        return r < 0.0;
    }
    let is_far = r > 0.0 && (r / b).ln() > BETWEEN.far + BETWEEN.far_deviations * sigma * t.sqrt();
    !(is_far && depth == Depth::Usual) && late_call_loses(terms, r, sigma) > CLASSES.lost
}

/// The lanes of calls so deep in the money that what borrow may exceed the interest on the strike by until expiry,
/// (b·X − r·K)⁺ a year, is worth more than `CLASSES.lost` of X.
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

/// True if the exercise region between ex-dates can have two boundaries, so that nothing may assume one.
pub(super) fn two_sided(phi: f64, terms: &Terms) -> bool {
    let Terms { r, b, .. } = *terms;
    if phi > 0.0 { r < b && b < 0.0 } else { b < r && r < 0.0 }
}

/// From when on exercise can pay for any contract of the span.
pub(super) fn start(phi: f64, terms: &Terms, span: &Span) -> Start {
    if phi > 0.0 { call_start(terms, span) } else { put_start(terms, span) }
}

/// Exercising a call at an ex-date rather than at the next gains the dividend and the borrow, and loses the interest on
/// the strike in between; for b ≤ 0 waiting between ex-dates never loses, which makes the test a proof there.
fn call_start(terms: &Terms, span: &Span) -> Start {
    let between = span.continuous(1.0, terms);
    let first = (0..terms.divs.len()).find(|&i| between || pays(terms, span, i)).map(|i| terms.divs[i].t);
    match first {
        Some(date) if date < terms.t - SAME.date => Start::At(date),
        _ if between => Start::Now,
        Some(_) => Start::AtExpiry,
        None => Start::Never,
    }
}

/// True if exercising a call right before ex-date `i`, rather than before the next or at expiry, can pay.
fn pays(terms: &Terms, span: &Span, i: usize) -> bool {
    let (amount, per_strike) = gain(terms, span.sigma.1, i);
    terms.divs[i].t > terms.t - SAME.date || [span.k.0, span.k.1].iter().any(|k| amount + per_strike * k > 0.0)
}

/// What exercising a call right before ex-date `i` gains at most over exercising before the next: an amount, and a part
/// of the strike.
fn gain(terms: &Terms, sigma: f64, i: usize) -> (f64, f64) {
    let Terms { t, r, b, .. } = *terms;
    let here = terms.divs[i];
    let next = terms.divs.get(i + 1).map_or(t, |d| d.t);
    let gap = next - here.t;
    let highest = (CLASSIFY.highest * sigma * next.sqrt()).min(CLASSIFY.highest_most).exp();
    (here.amount, b.max(0.0) * gap * highest - (1.0 - (-r * gap).exp()) * CLASSIFY.interest)
}

/// The strikes, ascending, at which the date from which on exercise can pay changes.
pub(super) fn changes(phi: f64, terms: &Terms, bands: &[Band]) -> Vec<f64> {
    if phi > 0.0 { call_changes(terms, bands) } else { put_changes(terms, bands) }
}

/// How well the boundary of a put is known where exercise begins to pay.
#[derive(Clone, Copy, PartialEq)]
enum Window {
    /// It begins now.
    Now,
    /// At a date to come, and soon after is there no more: the boundary lies far below, if anywhere.
    Short,
    /// At a date to come, and lasts.
    Long,
}

/// The same for a put, and where its boundary is there or not: close above such a strike it falls away to nothing. A
/// table of strikes on both sides would have to begin where it does not.
fn put_changes(terms: &Terms, bands: &[Band]) -> Vec<f64> {
    let (low, high) = bands.iter().fold((f64::INFINITY, 0.0f64), |k, band| (k.0.min(band.k.0), k.1.max(band.k.1)));
    if terms.r <= SAME.no_rate || terms.divs.is_empty() {
        return Vec::new();
    }
    let mut strikes = Vec::new();
    let mut from = low;
    while from < high {
        let to = (from * CLASSIFY.same_strike).min(high);
        let (mut below, mut above) = (from, to);
        let there = window(terms, from);
        if there != window(terms, to) {
            while above > below * CLASSIFY.close {
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
    if lasts < CLASSIFY.window_years { Window::Short } else { Window::Long }
}

/// Length of the first window in which a put is exercised, and the wait from its end to the ex-date, years; `None`: it
/// lasts until expiry, or there is none.
pub(super) fn first_window(terms: &Terms, k: f64) -> Option<(f64, f64)> {
    if terms.r <= SAME.no_rate {
        return None;
    }
    let start = deterministic_put_start(terms, k)?;
    let next = terms.divs.iter().find(|d| d.t > start + SAME.date && d.t < terms.t - SAME.date)?;
    let wait = gap_before(next.amount, k, terms.r);
    Some((next.t - start - wait, wait))
}

/// The same for a call and its ex-dates.
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
            break; // every strike is
        }
        let up_to = -amount / per_strike;
        if up_to > most * CLASSIFY.same_strike {
            strikes.push(up_to);
            most = up_to;
        }
    }
    strikes
}

/// True if a call that may be exercised right before `date` is European from there on.
pub(super) fn european_after(terms: &Terms, span: &Span, date: f64) -> bool {
    !span.continuous(1.0, terms) && (0..terms.divs.len()).all(|i| terms.divs[i].t <= date || !pays(terms, span, i))
}

/// In the limit X → 0 a put is a sum of cash: right after which ex-date is taking it at once better than waiting?
fn put_start(terms: &Terms, span: &Span) -> Start {
    if terms.r <= SAME.no_rate {
        return if terms.b >= 0.0 { Start::Never } else { Start::Now };
    }
    let first = |terms: &Terms| {
        // a table may end where this changes
        let ends = [span.k.0 * CLASSIFY.close, span.k.1 / CLASSIFY.close].map(|k| deterministic_put_start(terms, k));
        ends.into_iter().flatten().fold(f64::INFINITY, f64::min)
    };
    let date = first(terms);
    // with b < 0 waiting costs −bX besides, X up to K: exercise may begin earlier, on an island of X
    let island = terms.b < 0.0 && first(&Terms { r: terms.r - terms.b, ..terms.clone() }) < date;
    match date {
        _ if island => Start::Now,
        f64::INFINITY => Start::Never,
        0.0 => Start::Now,
        date => Start::At(date),
    }
}

/// Years until the first date right after which exercise of a put with X = 0 pays.
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
        if window < CLASSIFY.window_years && window < CLASSIFY.window_part * first.t {
            return Some(first.t);
        }
    }
    start
}

/// Years before an ex-date during which waiting for the dividend beats the interest on the strike.
fn gap_before(amount: f64, k: f64, r: f64) -> f64 {
    (1.0 + amount / k).ln() / r.max(CLASSIFY.rate_least)
}
