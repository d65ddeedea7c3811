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
