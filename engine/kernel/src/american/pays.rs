//! When early exercise can pay, and when it is done now: the rules that all methods share. Never: a table, a boundary.

use super::band::Band;
use super::settings::{CLASSES, SAME};
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
