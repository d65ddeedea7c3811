//! The best exercise date fixed in advance: the value of an option far from its strike, and a bound that no value may
//! fall below. Never: a table.

use super::exercise::Inputs;
use super::taylor::{Taylor, at};
use crate::american::settings::SAME;
use crate::dividends::Terms;
use crate::lanes::Lanes;

/// Exercise at `t`: φ·(share·X − df·(K − A)) now.
#[derive(Clone, Copy, Debug)]
struct Date<L> {
    t: L,
    share: L,
    df: L,
    a: L,
    a_r: L,
}

impl<L: Lanes> Date<L> {
    fn new(terms: &Terms, t: f64, a: f64, a_r: f64) -> Self {
        let c = |v: f64| L::splat(v);
        Date { t: c(t), share: c((-terms.b * t).exp()), df: c((-terms.r * t).exp()), a: c(a), a_r: c(a_r) }
    }

    fn value(&self, phi: f64, on: &Inputs<L>) -> L {
        L::splat(phi) * (on.spot.value() * self.share - self.df * (on.strike.value() - self.a))
    }

    fn select(mask: L::Mask, yes: &Self, no: &Self) -> Self {
        Date {
            t: L::select(mask, yes.t, no.t),
            share: L::select(mask, yes.share, no.share),
            df: L::select(mask, yes.df, no.df),
            a: L::select(mask, yes.a, no.a),
            a_r: L::select(mask, yes.a_r, no.a_r),
        }
    }

    /// The value as a series.
    fn series(&self, phi: f64, on: &Inputs<L>) -> Taylor<L> {
        let share = Taylor::constant(self.share).with(at::B, -(self.share * self.t));
        let df = Taylor::constant(self.df).with(at::R, -(self.df * self.t));
        let collected = Taylor::constant(self.a).with(at::R, self.a_r).with(at::B, -self.a_r);
        (on.spot * share - df * (on.strike - collected)).scale(L::splat(phi))
    }
}

/// Value of exercise at the best date fixed in advance, as a series: the value of an option far from its strike.
#[inline(never)]
pub(super) fn best_plan<L: Lanes>(phi: f64, terms: &Terms, on: &Inputs<L>) -> Taylor<L> {
    let expiry = Date::new(terms, terms.t, 0.0, 0.0);
    let mut best = expiry;
    let now = (0.0, 0.0);
    // right before an ex-date for a call, right after it for a put
    let dates = terms.divs.iter().map(|d| (d.t, if phi > 0.0 { d.t - SAME.instant } else { d.t }));
    for (t, collects_after) in core::iter::once(now).chain(dates) {
        let [a, a_r] = terms.collected(t, collects_after);
        let date = Date::new(terms, t, a, a_r);
        best = Date::select(date.value(phi, on).gt(best.value(phi, on)), &date, &best);
    }
    best.series(phi, on)
}

#[cfg(test)]
mod tests {
    use super::super::PremiumTables;
    use super::*;
    use crate::american::draws::{Draws, every};
    use crate::american::recursion::{AmericanOption, Solution};
    use crate::american::{Band, Numbers, SharedBoundaries};
    use crate::contract::Right;

    #[test]
    fn the_best_plan_is_the_best_of_all_dates() {
        let mut draws = Draws(5);
        for i in 0..300 {
            let phi = if i % 2 == 0 { 1.0 } else { -1.0 };
            let t = draws.between(0.05, 2.0);
            let divs = every(0.25, draws.between(0.01, 0.25), t, draws.between(0.0, 3.0));
            let terms = Terms { t, r: draws.between(-0.02, 0.08), b: draws.between(-0.05, 0.05), divs };
            let (x, k) = (draws.between(40.0, 160.0), draws.between(40.0, 160.0));
            let got = best_plan(phi, &terms, &Inputs::new(x, k, 0.2)).value();
            let at = |t: f64, a: f64| phi * (x * (-terms.b * t).exp() - (k - a) * (-terms.r * t).exp());
            let side = |t: f64| if phi > 0.0 { t - 1e-12 } else { t };
            let dates = terms.divs.iter().map(|d| at(d.t, terms.a(side(d.t))));
            let want = dates.chain([at(0.0, terms.a(0.0)), at(t, 0.0)]).fold(f64::NEG_INFINITY, f64::max);
            assert!((got - want).abs() < 1e-9, "{phi} {terms:?} X {x} K {k}: {got} for {want}");
        }
    }

    /// Far above the strike borrow on X makes an ex-date pay that does not about the strike.
    #[test]
    fn deep_calls_with_borrow_are_worth_the_best_plan() {
        const S: f64 = 100.0;
        let mut draws = Draws(7);
        let mut errors = Vec::new();
        for _ in 0..500 {
            let (t, sigma, k) = (draws.between(0.1, 2.0), draws.between(0.2, 0.8), S / draws.between(1.5, 8.0));
            let (b, amount) = (0.0005 * 40f64.powf(draws.unit()), 0.05 * 20f64.powf(draws.unit()));
            let divs = every(0.25, draws.between(0.005, 0.1), t, amount);
            let terms = Terms { t, r: draws.between(0.01, 0.06), b, divs };
            let band = Band { k: (k, k), sigma: (sigma, sigma) };
            let mut tables = PremiumTables::new(&SharedBoundaries::default(), Right::Call, &terms, &[band]);
            tables.prepare(&terms, S, k, sigma, Numbers::ByVolatility);
            let (read, exercised) = tables.vol_derivatives(&terms, S, k, sigma);
            let (got, x) = (if exercised { S - k } else { read.value }, S - terms.a(0.0));
            let plan = best_plan(1.0, &terms, &Inputs::new(x, k, sigma)).value();
            assert!(got > plan - 3e-5 * k, "{terms:?} K {k} σ {sigma}: {got} for at least {plan}");
            let want = Solution::new(&AmericanOption::new(1.0, &terms, k, sigma)).value(x.ln())[0].max(S - k);
            errors.push((got - want).abs() / S);
        }
        errors.sort_by(f64::total_cmp);
        let [p90, worst] = [450, 499].map(|i| errors[i]);
        assert!(p90 < 1e-6 && worst < 3e-4, "{p90:e}, {worst:e}");
    }
}
