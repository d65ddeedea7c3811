//! When early exercise can pay, from which date on, and when it is done now: the rules that all methods share. Never: a
//! table, a boundary.

use super::band::Band;
use crate::american::settings::{CLASSES, SAME};
use crate::contract::Right;
use crate::dividends::Terms;
use crate::elementary::ln;
use crate::lanes::Lanes;
use crate::normal::norm_cdf;

/// An option whose value exceeds that of exercise by less than this part of the strike is exercised now
/// (docs/model.md): far below the error of any table, far above rounding.
const EXERCISED: f64 = 1e-9;
/// Upper bound of ∫√(u/2π)du from 0 to 1, 0.266: the loss by exercising late, in units of rate·X·σ·t^1.5.
const LATE_LOSS: f64 = 0.27;
/// Part of the spot from which exercise earns that must lie above the strike, for the bound on the loss to hold.
const REST_LEAST: f64 = 0.5;

/// Class of options by the shape of their exercise region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Early exercise adds nothing, or is optimal now: the value is the European or the intrinsic one.
    European,
    /// No dividends, one exercise boundary.
    OneBoundary,
    /// No dividends, exercise between two boundaries: b < r < 0 (put), r < b < 0 (call).
    TwoBoundaries,
    /// Dividends before expiry.
    Dividends,
}

/// The lanes that are exercised now: American options whose value is the payoff of exercise or less (docs/model.md).
/// Where exercise `may` gain, a value above the payoff by as little as rounding is the payoff too. Elsewhere equality
/// has other causes, such as rates of 0, and the option waits.
#[inline(always)]
pub fn exercised_now<L: Lanes>(right: Right, value: L, s: L, k: L, may: L::Mask) -> L::Mask {
    let payoff = (s - k) * right.phi();
    let gain = value - payoff;
    let least = k * EXERCISED;
    payoff.gt(L::splat(0.0)) & ((may & gain.lt(least)) | gain.lt(-least))
}

/// Upper bound of the premium of early exercise: the greatest gain from exercise times the probability of ending in the
/// money. `spot` is X, or the spot itself for a wider bound.
pub(crate) fn most_premium<L: Lanes>(right: Right, terms: &Terms, spot: L, k: L, sigma: L) -> L {
    let Terms { t, r, b, .. } = *terms;
    let c = |v: f64| L::splat(v);
    let collected = terms.divs.iter().map(|d| d.amount).sum::<f64>() * ((b - r).max(0.0) * t).exp();
    let deviation = sigma * c(t.sqrt());
    // a call exercised early collects the dividends
    let pays_from = if right == Right::Call { (k - collected).max(k * c(SAME.strike_left)) } else { k };
    let d = (ln(spot / pays_from) + c((r - b) * t)) / deviation;
    let gain = spot.max(k) * c((r.abs() + b.abs()) * t) + collected;
    gain * norm_cdf(d * c(right.phi()) + deviation * 0.5)
}

/// The class of the American options of `right` in `band`, calls losing at most the part `lost` by it.
pub(super) fn class(right: Right, terms: &Terms, band: &Band, lost: f64) -> Class {
    if terms.divs.iter().any(|d| d.t > 0.0 && d.t <= terms.t && d.amount != 0.0) {
        return if never_pays(right, terms, band, lost) { Class::European } else { Class::Dividends };
    }
    // calls are puts with rate and yield exchanged
    let (rate, yield_) = match right {
        Right::Put => (terms.r, terms.b),
        Right::Call => (terms.b, terms.r),
    };
    // exercising earns at most rate·K − yield·X a year, where X lies between 0 and K
    let most = rate.max(rate - yield_);
    let late = right == Right::Call && late_call_loses(terms, terms.r, band.sigma.1) <= lost;
    if most * terms.t <= CLASSES.negligible || (rate <= 0.0 && yield_ >= rate) || late {
        Class::European
    } else if rate < 0.0 {
        Class::TwoBoundaries
    } else {
        Class::OneBoundary
    }
}

/// Upper bound of a call's loss, as a part of its value, if it is exercised now or at expiry only, where keeping it
/// saves the rate `saved` on the strike: exercise earns b·X − saved·K a year, nothing below X₀ = saved·K/b. The loss is
/// greatest there, at most ∫E[(b·X_u − saved·K)⁺]du ≈ 0.27·b·X₀·σ·t^1.5, and the call is worth X₀ − K at least.
pub(super) fn late_call_loses(terms: &Terms, saved: f64, sigma: f64) -> f64 {
    if saved < 0.0 {
        return f64::INFINITY;
    }
    if terms.b <= 0.0 {
        return 0.0;
    }
    let rest = 1.0 - terms.b / saved;
    if rest < REST_LEAST { f64::INFINITY } else { LATE_LOSS * terms.b * sigma * terms.t.powf(1.5) / rest }
}

/// True if no option of the band is worth exercising early although there are dividends.
///
/// Put: with r ≤ 0 ≤ b waiting earns on the strike and on the stock. Call: exercising right before an ex-date instead
/// of right before the next one (or at expiry) gains the dividend and loses the interest on the strike; the part of
/// that interest that no dividend makes up for must exceed what is earned on the stock.
fn never_pays(right: Right, terms: &Terms, band: &Band, lost: f64) -> bool {
    if right == Right::Put {
        return terms.r <= 0.0 && terms.b >= 0.0;
    }
    let next = |after: f64| {
        let later = terms.divs.iter().filter(|d| d.t > after && d.t <= terms.t).map(|d| d.t);
        later.fold(terms.t, f64::min)
    };
    let interest = |t: f64| band.k.0 * -(-terms.r * (next(t) - t)).exp_m1();
    let live = terms.divs.iter().filter(|d| d.t > 0.0 && d.t <= terms.t && d.amount > 0.0);
    let saved = live.map(|d| 1.0 - d.amount / interest(d.t).max(SAME.divisor)).fold(1.0, f64::min);
    saved >= 0.0 && late_call_loses(terms, saved * terms.r, band.sigma.1) <= lost
}

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

#[cfg(test)]
mod tests {
    use super::super::Pricer;
    use super::super::draws::{Draws, every};
    use super::*;
    use crate::black76::{Horizon, european_vol};
    use crate::contract::Style;
    use crate::dividends::Dividend;
    use crate::quality::Quality;

    const BAND: Band = Band { k: (80.0, 120.0), sigma: (0.1, 0.5) };

    fn terms(r: f64, b: f64, divs: &[(f64, f64)]) -> Terms {
        Terms { t: 1.0, r, b, divs: divs.iter().map(|&(t, amount)| Dividend { t, amount }).collect() }
    }

    #[test]
    fn signs_of_the_rates_decide_without_dividends() {
        for (right, r, b, expected) in [
            (Right::Call, 0.05, 0.0, Class::European),
            (Right::Call, 0.05, -0.02, Class::European),
            (Right::Call, 0.05, 0.01, Class::OneBoundary),
            (Right::Call, -0.01, 0.0, Class::OneBoundary),
            (Right::Call, -0.02, -0.01, Class::TwoBoundaries),
            (Right::Put, 0.0, 0.0, Class::European),
            (Right::Put, 0.05, 0.0, Class::OneBoundary),
            (Right::Put, 0.05, -0.3, Class::OneBoundary),
            (Right::Put, 0.0, -0.01, Class::OneBoundary),
            (Right::Put, -0.01, 0.01, Class::European),
            (Right::Put, -0.02, -0.01, Class::European),
            (Right::Put, -0.01, -0.02, Class::TwoBoundaries),
            (Right::Put, 1e-8, 0.01, Class::European),
        ] {
            assert_eq!(class(right, &terms(r, b, &[]), &BAND, CLASSES.lost), expected, "{right:?} r {r} b {b}");
        }
    }

    #[test]
    fn a_value_at_its_payoff_is_exercised_where_that_may_gain() {
        for (right, s, value, may, expected) in [
            (Right::Put, 80.0, 20.0, true, true),
            (Right::Put, 80.0, 20.0, false, false),
            (Right::Put, 80.0, 20.0 + 9e-8, true, true),
            (Right::Put, 80.0, 20.0 + 2e-7, true, false),
            (Right::Put, 80.0, 20.0 - 2e-7, false, true),
            (Right::Put, 120.0, 0.0, true, false),
            (Right::Call, 120.0, 20.0, true, true),
            (Right::Call, 120.0, f64::NAN, true, false),
            (Right::Call, 100.0, 0.0, true, false),
        ] {
            assert_eq!(exercised_now(right, value, s, 100.0, may), expected, "{right:?} {s} {value} {may}");
        }
    }

    #[test]
    fn no_premium_exceeds_its_bound() {
        let mut draws = Draws(3);
        for i in 0..400 {
            let right = if i % 2 == 0 { Right::Put } else { Right::Call };
            let t = draws.between(0.01, 2.0);
            let divs = if i % 3 == 0 {
                Vec::new()
            } else {
                every(0.25, draws.between(0.001, 0.25), t, draws.between(0.0, 2.0))
            };
            let terms = Terms { t, r: draws.between(0.0, 0.08), b: draws.between(-0.02, 0.06), divs };
            let (k, sigma) = (draws.between(60.0, 150.0), draws.between(0.08, 0.8));
            let x = 100.0 - terms.a(0.0);
            let band = Band { k: (k, k), sigma: (sigma / 1.05, sigma * 1.05) };
            let pricer = Pricer::new(Style::American, right, &terms, &band, Quality::Full);
            let value = pricer.at(&terms, 100.0).vol_derivatives(k, sigma).value;
            let premium = value - european_vol(right.phi(), &Horizon::from(&terms), x, k, sigma).value;
            // far in the money exercise now gains what waiting loses until expiry, whatever ends there
            let least = (right.phi() * (100.0 - k)).max(0.0) * (terms.r.abs() + terms.b.abs()) * t;
            let most = most_premium(right, &terms, 100.0, k, sigma) + least;
            assert!(premium <= most + 1e-4, "{right:?} {terms:?} K {k} σ {sigma}: {premium} exceeds {most}");
        }
    }

    #[test]
    fn small_dividends_do_not_make_a_call_pay() {
        let of = |r, b, divs: &[(f64, f64)]| class(Right::Call, &terms(r, b, divs), &BAND, CLASSES.lost);
        // interest on a strike of 80 over the half year after the ex-date: 80·(1 − e^(−0.025)) = 1.975
        assert_eq!(of(0.05, 0.0, &[(0.5, 1.97)]), Class::European);
        assert_eq!(of(0.05, 0.0, &[(0.5, 1.98)]), Class::Dividends);
        assert_eq!(of(0.05, 0.001, &[(0.5, 0.1)]), Class::Dividends);
        assert_eq!(of(0.05, 0.0, &[(0.5, 0.5), (0.9, 0.5)]), Class::Dividends, "the last gap is too short");
        assert_eq!(of(0.05, 0.0, &[(1.5, 5.0), (-0.1, 3.0)]), Class::European, "not of this term");
    }
}
