//! Volatilities at bid, mid and ask of every row of one expiry. Never: smoothing.

use super::borrow::Carry;
use super::clean::Quotes;
use super::invert::{Model, Valuation};
use super::premium::valuation;
use super::{Calibrated, Drop, Look, SliceInput, SliceState};
use crate::contract::{Right, Style};
use crate::kernel::american::Band;
use crate::kernel::black76::Horizon;
use crate::kernel::dividends::Terms;

/// Least and greatest volatility that is looked for, per √year.
pub const VOL: (f64, f64) = (1e-3, 20.0);
/// Bands of volatility end at powers of this, so that a pass does not rebuild tables for a small move.
const BAND_STEP: f64 = 1.25;
/// Tables reach this factor beyond the strikes asked for, so that they serve while the spot moves.
const STRIKE_ROOM: f64 = 1.02;
/// Tables reach this factor beyond the volatilities asked for.
const BAND_MARGIN: f64 = 1.3;

/// Implied volatilities of a slice on its carry. Afterwards the tables of an American `state` serve
/// the carry's terms.
#[must_use]
pub fn imply_vols(input: &SliceInput, look: &Look, carry: &Carry, state: &mut SliceState) -> Calibrated {
    let n_rows = input.strike_milli.len();
    let quotes = &look.quotes;
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
    let terms = Terms { t: input.t, r: input.r, b: carry.b, divs: input.divs.to_vec() };
    let value = european(&terms, carry.s);
    if !(carry.fwd > 0.0 && value.x > 0.0) {
        return out;
    }
    let start = start_vols(input, quotes, &value);
    let value = match input.style {
        Style::European => value,
        Style::American => {
            let (pricers, band) = state.pricers.serving_band(input.style, &terms, &band_of(input, &start));
            valuation(pricers, &terms, carry.s, band.sigma)
        }
    };
    fill(input, quotes, &value, &start, &mut out);
    for row in 0..n_rows {
        if quotes.two_sided[row] {
            let known = out.vol_ask[row].is_finite() && out.vol_mid[row].is_finite();
            out.used[row] = known;
            out.dropped[Drop::NoArbitrage as usize] += u32::from(out.vol_ask[row].is_nan());
        }
    }
    out
}

/// European values at a spot.
#[must_use]
pub fn european(terms: &Terms, s: f64) -> Valuation<'static> {
    Valuation { model: Model::European, at: Horizon::from(terms), x: s - terms.a(0.0), s, sigma: VOL }
}

/// The three volatilities of every row, call and put apart.
fn fill(input: &SliceInput, quotes: &Quotes, value: &Valuation, start: &[f64], out: &mut Calibrated) {
    for right in [Right::Call, Right::Put] {
        let rows: Vec<usize> = (0..input.right.len()).filter(|&i| input.right[i] == right).collect();
        let pick = |f: &dyn Fn(usize) -> f64| rows.iter().map(|&i| f(i)).collect::<Vec<f64>>();
        let k = pick(&|i| f64::from(input.strike_milli[i]) * 1e-3);
        let first = pick(&|i| start[i]);
        let mid_price = pick(&|i| if quotes.two_sided[i] { quotes.mid(i) } else { f64::NAN });
        let mid = invert(value, right, &k, &mid_price, &first);
        let near: Vec<f64> = mid.iter().zip(&first).map(|(m, f)| if m.is_finite() { *m } else { *f }).collect();
        let bid = invert(value, right, &k, &pick(&|i| quotes.bid[i]), &near);
        let ask = invert(value, right, &k, &pick(&|i| quotes.ask[i]), &near);
        for (j, &row) in rows.iter().enumerate() {
            (out.vol_bid[row], out.vol_mid[row], out.vol_ask[row]) = (bid[j], mid[j], ask[j]);
        }
    }
}

/// Volatilities of prices; out of the money and beyond the band of the tables, where early exercise adds nothing that
/// a quote would show, European ones.
fn invert(value: &Valuation, right: Right, k: &[f64], price: &[f64], start: &[f64]) -> Vec<f64> {
    let mut vols = value.invert(right, k, price, start);
    if let Model::American(_) = value.model {
        let fwd = value.x * value.at.drift.exp();
        let plain = Valuation { model: Model::European, sigma: VOL, ..*value };
        let out = |k: f64| right.phi() * (k - fwd) > 0.0 && right.phi() * (k - value.s) > 0.0;
        let beyond = |i: &usize| vols[*i].is_nan() && price[*i] > 0.0 && out(k[*i]);
        let rows: Vec<usize> = (0..k.len()).filter(beyond).collect();
        let pick = |x: &[f64]| rows.iter().map(|&i| x[i]).collect::<Vec<f64>>();
        let found = plain.invert(right, &pick(k), &pick(price), &pick(start));
        for (&row, vol) in rows.iter().zip(found) {
            // inside the band the tables have spoken
            if vol < value.sigma.0 || vol > value.sigma.1 {
                vols[row] = vol;
            }
        }
    }
    vols
}

/// European volatilities of the out-of-the-money rows, for both rows of their strike; elsewhere that of the nearest
/// strike. They start every search and bound the band.
#[must_use]
pub fn start_vols(input: &SliceInput, quotes: &Quotes, value: &Valuation) -> Vec<f64> {
    let fwd = value.x * value.at.drift.exp();
    let n_rows = input.strike_milli.len();
    let mut start = vec![f64::NAN; n_rows];
    for right in [Right::Call, Right::Put] {
        let strike = |i: usize| f64::from(input.strike_milli[i]) * 1e-3;
        let otm = |i: usize| right.phi() * (strike(i) - fwd) >= 0.0;
        let priced = |i: usize| quotes.two_sided[i] && input.right[i] == right && otm(i);
        let rows: Vec<usize> = (0..n_rows).filter(|&i| priced(i)).collect();
        let k: Vec<f64> = rows.iter().map(|&i| strike(i)).collect();
        let price: Vec<f64> = rows.iter().map(|&i| quotes.mid(i)).collect();
        // from the left of the answer Newton in the logarithm is monotone; this is about where the curve bends
        let first: Vec<f64> =
            k.iter().map(|k| (0.3 * (k / fwd).ln().abs() / value.at.root_t).clamp(0.05, 3.0)).collect();
        let vol = value.invert(right, &k, &price, &first);
        rows.iter().zip(vol).for_each(|(&row, v)| start[row] = v);
    }
    spread_to_neighbours(input.strike_milli, &mut start);
    start
}

/// Fills gaps with the nearest known value in row order; nothing known: 0.3.
fn spread_to_neighbours(strike_milli: &[u32], start: &mut [f64]) {
    let known: Vec<usize> = (0..start.len()).filter(|&i| start[i].is_finite()).collect();
    if known.is_empty() {
        start.fill(0.3);
        return;
    }
    let mut next = 0;
    for i in 0..start.len() {
        while next + 1 < known.len() {
            let away = |j: usize| strike_milli[known[j]].abs_diff(strike_milli[i]);
            if away(next + 1) > away(next) {
                break;
            }
            next += 1;
        }
        start[i] = start[known[next]];
    }
}

/// The strikes of the slice, and the volatilities from the least to the greatest of those seen.
#[must_use]
pub fn band_of(input: &SliceInput, seen: &[f64]) -> Band {
    let strike = |milli: Option<&u32>| f64::from(*milli.unwrap_or(&1)) * 1e-3;
    Band { k: (strike(input.strike_milli.first()), strike(input.strike_milli.last())), sigma: span(seen) }
}

/// The least and the greatest of some volatilities, inside [`VOL`].
#[must_use]
pub fn span(vols: &[f64]) -> (f64, f64) {
    let (low, high) = vols.iter().fold((VOL.1, VOL.0), |(low, high), &v| (low.min(v), high.max(v)));
    (low.min(high), high)
}

/// A wider band, its volatilities at round steps, so that quotes can move for a while.
#[must_use]
pub fn with_room(band: &Band) -> Band {
    let power = |x: f64| BAND_STEP.powf(x);
    let log = |x: f64| x.ln() / BAND_STEP.ln();
    let (low, high) = (band.sigma.0 / BAND_MARGIN, band.sigma.1 * BAND_MARGIN);
    Band {
        k: (band.k.0 / STRIKE_ROOM, band.k.1 * STRIKE_ROOM),
        sigma: (power(log(low).floor()), power(log(high).ceil())),
    }
}
