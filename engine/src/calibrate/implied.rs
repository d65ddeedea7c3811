//! Volatilities at bid, mid and ask of every row of one expiry. Never: smoothing.

use super::borrow::Carry;
use super::clean::Quotes;
use super::invert::{VOL, european, invert};
use super::{Calibrated, Drop, Look, SliceInput, SliceState};
use crate::contract::{Right, Style};
use crate::kernel::american::{Band, PricerAt};
use crate::kernel::dividends::Terms;

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
    if carry.fwd.is_nan() || carry.s <= terms.a(0.0) {
        return out;
    }
    let plain = european(&terms);
    let plain = [plain[0].at(&terms, carry.s), plain[1].at(&terms, carry.s)];
    let start = start_vols(input, quotes, carry.fwd, &plain);
    match input.style {
        Style::European => fill(input, quotes, &plain, None, &start, &mut out),
        Style::American => {
            let pricers = state.pricers.serving(input.style, &terms, &band_of(input, &start));
            let early = [pricers[0].at(&terms, carry.s), pricers[1].at(&terms, carry.s)];
            fill(input, quotes, &early, Some(&plain), &start, &mut out);
        }
    }
    for row in 0..n_rows {
        if quotes.two_sided[row] {
            let known = out.vol_ask[row].is_finite() && out.vol_mid[row].is_finite();
            out.used[row] = known;
            out.dropped[Drop::NoArbitrage as usize] += u32::from(out.vol_ask[row].is_nan());
        }
    }
    out
}

/// The three volatilities of every row, call and put apart.
fn fill(
    input: &SliceInput,
    quotes: &Quotes,
    at: &[PricerAt<'_>; 2],
    plain: Option<&[PricerAt<'_>; 2]>,
    start: &[f64],
    out: &mut Calibrated,
) {
    for right in [Right::Call, Right::Put] {
        let rows: Vec<usize> = (0..input.right.len()).filter(|&i| input.right[i] == right).collect();
        let pick = |f: &dyn Fn(usize) -> f64| rows.iter().map(|&i| f(i)).collect::<Vec<f64>>();
        let k = pick(&|i| input.strike(i));
        let ends = (out.fwd.min(out.s), out.fwd.max(out.s));
        let out_of_money = |k: f64| if right == Right::Call { k > ends.1 } else { k < ends.0 };
        let of = |price: &[f64], start: &[f64]| {
            let mut vols = invert(&at[right as usize], &k, price, start);
            if let Some(plain) = plain {
                let lost: Vec<usize> = (0..k.len()).filter(|&i| vols[i].is_nan() && out_of_money(k[i])).collect();
                fill_beyond(&plain[right as usize], at[right as usize].band(), [&k, price, start], &lost, &mut vols);
            }
            vols
        };
        let first = pick(&|i| start[i]);
        let mid = of(&pick(&|i| if quotes.two_sided[i] { quotes.mid(i) } else { f64::NAN }), &first);
        let near: Vec<f64> = mid.iter().zip(&first).map(|(m, f)| if m.is_finite() { *m } else { *f }).collect();
        let bid = of(&pick(&|i| quotes.bid[i]), &near);
        let ask = of(&pick(&|i| quotes.ask[i]), &near);
        for (j, &row) in rows.iter().enumerate() {
            (out.vol_bid[row], out.vol_mid[row], out.vol_ask[row]) = (bid[j], mid[j], ask[j]);
        }
    }
}

/// Out of the money and beyond the band of the tables early exercise adds nothing that a quote would show: European
/// volatilities fill in for the rows `lost`.
fn fill_beyond(plain: &PricerAt<'_>, band: Band, [k, price, start]: [&[f64]; 3], lost: &[usize], vols: &mut [f64]) {
    let pick = |x: &[f64]| lost.iter().map(|&i| x[i]).collect::<Vec<f64>>();
    let found = invert(plain, &pick(k), &pick(price), &pick(start));
    for (&row, vol) in lost.iter().zip(found) {
        if vol < band.sigma.0 || vol > band.sigma.1 {
            vols[row] = vol;
        }
    }
}

/// European volatilities of the out-of-the-money rows, for both rows of their strike; elsewhere that of the nearest
/// strike. They start every search and bound the band.
#[must_use]
pub fn start_vols(input: &SliceInput, quotes: &Quotes, fwd: f64, plain: &[PricerAt<'_>; 2]) -> Vec<f64> {
    let n_rows = input.strike_milli.len();
    let mut start = vec![f64::NAN; n_rows];
    for right in [Right::Call, Right::Put] {
        let priced =
            |&i: &usize| quotes.two_sided[i] && input.right[i] == right && right.phi() * (input.strike(i) - fwd) >= 0.0;
        let rows: Vec<usize> = (0..n_rows).filter(priced).collect();
        let k: Vec<f64> = rows.iter().map(|&i| input.strike(i)).collect();
        let price: Vec<f64> = rows.iter().map(|&i| quotes.mid(i)).collect();
        // about where the logarithm of the time value bends: Newton's method does well from there
        let bend = |k: &f64| (0.3 * (k / fwd).ln().abs() / input.t.sqrt()).clamp(0.05, 3.0);
        let first: Vec<f64> = k.iter().map(bend).collect();
        let vol = invert(&plain[right as usize], &k, &price, &first);
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
    let n_rows = input.strike_milli.len();
    let k = if n_rows == 0 { (1.0, 1.0) } else { (input.strike(0), input.strike(n_rows - 1)) };
    Band { k, sigma: span(seen) }
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
