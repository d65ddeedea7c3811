//! Numbers of a name at a tenor, between its expiries: what watch lists and alerts look at. Read from the columns of a
//! finished chain. Never: a fit.
#![warn(clippy::arithmetic_side_effects)]

use crate::store::chain::{Chain, Slice};
use crate::store::columns::Col;

/// The volatility of an expiry at its forward, between the strikes beside it; NaN: there is none.
#[must_use]
pub fn at_forward_vol(chain: &Chain, slice: &Slice) -> f64 {
    let forward = slice.fwd_price * 1000.0;
    let (mut below, mut above) = ((f64::NAN, f64::NAN), (f64::NAN, f64::NAN));
    for row in slice.rows.start as usize..slice.rows.end as usize {
        let (strike, vol) = (f64::from(chain.strike_milli[row]), chain.columns.get(Col::SvcVol)[row]);
        if vol.is_nan() {
            continue;
        }
        if strike <= forward {
            below = (strike, vol);
        } else if above.0.is_nan() {
            above = (strike, vol);
        }
    }
    match (below.1.is_nan(), above.1.is_nan()) {
        (false, false) => below.1 + (above.1 - below.1) * (forward - below.0) / (above.0 - below.0),
        (false, true) => below.1,
        _ => above.1,
    }
}

/// The volatility at the forward, so many days ahead: total variance is linear in time between two expiries, and
/// volatility flat before the first and after the last; NaN: no expiry has one.
#[must_use]
pub fn vol_at(chain: &Chain, days: f64) -> f64 {
    let variance = |slice: &Slice| {
        let vol = at_forward_vol(chain, slice);
        (slice.days, vol * vol * slice.days)
    };
    let at = between(chain, days, variance, |t, first, last| match (first, last) {
        (Some((t0, w0)), Some((t1, w1))) if t1 > t0 => w0 + (w1 - w0) * (t - t0) / (t1 - t0),
        (Some((t0, w)), _) | (None, Some((t0, w))) => w * t / t0,
        (None, None) => f64::NAN,
    });
    (at / days).sqrt()
}

/// The borrow rate so many days ahead, decimal: linear between two expiries, flat beyond; NaN: no expiry has one.
#[must_use]
pub fn borrow_at(chain: &Chain, days: f64) -> f64 {
    let rate = |slice: &Slice| (slice.days, slice.borr_rate);
    between(chain, days, rate, |t, first, last| match (first, last) {
        (Some((t0, b0)), Some((t1, b1))) if t1 > t0 => b0 + (b1 - b0) * (t - t0) / (t1 - t0),
        (Some((_, b)), _) | (None, Some((_, b))) => b,
        (None, None) => f64::NAN,
    })
}

/// A number of an expiry with its days to settlement.
type Dated = (f64, f64);

/// Joins the numbers of the last expiry up to a tenor and of the first one after it; adjusted roots do not count.
fn between(
    chain: &Chain,
    days: f64,
    number: impl Fn(&Slice) -> Dated,
    join: impl Fn(f64, Option<Dated>, Option<Dated>) -> f64,
) -> f64 {
    let (mut before, mut after): (Option<Dated>, Option<Dated>) = (None, None);
    for slice in chain.slices.iter().filter(|slice| !slice.adjusted && slice.days > 0.0) {
        let of = number(slice);
        if !of.1.is_finite() {
            continue;
        }
        if of.0 <= days {
            before = Some(of);
        } else if after.is_none_or(|known| of.0 < known.0) {
            after = Some(of);
        }
    }
    join(days, before, after)
}
