//! Volatilities at bid, mid and ask of every row of one expiry. Never: smoothing.

use super::borrow::Carry;
use super::clean::Quotes;
use super::{Calibrated, Drop, SliceInput};

/// Implied volatilities of a slice on its carry.
#[must_use]
pub fn imply_vols(input: &SliceInput, quotes: &Quotes, carry: &Carry) -> Calibrated {
    let n_rows = input.strike_milli.len();
    let df = (-input.r * input.t).exp();
    let mut out = Calibrated {
        fwd: carry.fwd,
        fwd_error: carry.fwd_error,
        borr: carry.b,
        und: carry.und,
        s: carry.s,
        vol_bid: vec![f64::NAN; n_rows],
        vol_mid: vec![f64::NAN; n_rows],
        vol_ask: vec![f64::NAN; n_rows],
        used: vec![false; n_rows],
        dropped: quotes.dropped,
    };
    if !(carry.fwd > 0.0) {
        return out;
    }
    for row in 0..n_rows {
        let k = f64::from(input.strike_milli[row]) * 1e-3;
        let phi = input.right[row].phi();
        let vol = |price: f64| black_vol(phi, carry.fwd, k, df, input.t, price);
        out.vol_bid[row] = vol(quotes.bid[row]);
        out.vol_ask[row] = vol(quotes.ask[row]);
        if quotes.two_sided[row] {
            out.vol_mid[row] = vol(quotes.mid(row));
            out.used[row] = out.vol_ask[row].is_finite() && out.vol_mid[row].is_finite();
            out.dropped[Drop::NoArbitrage as usize] += u32::from(out.vol_ask[row].is_nan());
        }
    }
    out
}

/// Stand-in.
fn black_vol(phi: f64, fwd: f64, k: f64, df: f64, t: f64, price: f64) -> f64 {
    use crate::kernel::normal::{INV_SQRT_2PI, norm_cdf};
    let forward_price = price / df;
    // the out-of-the-money price
    let intrinsic = (phi * (fwd - k)).max(0.0);
    let tv = forward_price - intrinsic;
    if !(tv > 0.0) || tv >= fwd.min(k) {
        return f64::NAN;
    }
    let x = (fwd / k).ln();
    let phi = if fwd > k { -1.0 } else { 1.0 };
    let value = |sd: f64| {
        let d1 = x / sd + 0.5 * sd;
        let v = phi * (fwd * norm_cdf(phi * d1) - k * norm_cdf(phi * (d1 - sd)));
        (v, fwd * INV_SQRT_2PI * (-0.5 * d1 * d1).exp())
    };
    let (mut lo, mut hi) = (1e-5, 20.0);
    let mut sd = (2.0 * x.abs()).sqrt().clamp(1e-3, 5.0);
    for _ in 0..60 {
        let (v, vega) = value(sd);
        if v > tv {
            hi = sd;
        } else {
            lo = sd;
        }
        let step = if v > 0.0 && vega > 0.0 { (tv / v).ln() * v / vega } else { f64::NAN };
        let next = sd + step;
        let next = if next > lo && next < hi { next } else { 0.5 * (lo + hi) };
        if (next - sd).abs() < 1e-13 * sd {
            break;
        }
        sd = next;
    }
    sd / t.sqrt()
}
