//! Columns of prices to columns of volatilities and back, a block of rows of one right at a time.
//! Never: a quote's fate.

use crate::contract::{Right, Style};
use crate::kernel::american::{Band, Pricer, PricerAt, Scheme};
use crate::kernel::dividends::Terms;
use crate::kernel::implied::implied;
use crate::kernel::lanes::{BLOCK, Block, Lanes};

/// Least and greatest volatility that is looked for, per √year.
pub const VOL: (f64, f64) = (1e-3, 20.0);
/// Any strike.
const STRIKES: (f64, f64) = (1e-6, 1e9);

/// Pricers of calls and puts as if no right could be exercised early; they cost nothing to build.
#[must_use]
pub fn european(terms: &Terms) -> [Pricer; 2] {
    let band = Band { k: STRIKES, sigma: VOL };
    let of = |right| Pricer::new(Style::European, right, terms, &band, Scheme::Fast);
    [of(Right::Call), of(Right::Put)]
}

/// Volatilities of prices, each searched from `start`; NaN where no volatility of the pricer's band gives the price.
#[must_use]
pub fn invert(at: &PricerAt<'_>, k: &[f64], price: &[f64], start: &[f64]) -> Vec<f64> {
    by_block([k, price, start], |[k, price, start]| implied(at, k, price, start).sigma)
}

/// Values at volatilities; NaN where a volatility is.
#[must_use]
pub fn values(at: &PricerAt<'_>, k: &[f64], sigma: &[f64]) -> Vec<f64> {
    by_block([k, sigma], |[k, sigma]| at.vol_jet(k, sigma).value)
}

/// Applies a function of lanes to the rows where every column is known, the last block filled with its last row.
fn by_block<const N: usize>(columns: [&[f64]; N], f: impl Fn([Block; N]) -> Block) -> Vec<f64> {
    let n_rows = columns[0].len();
    let mut out = vec![f64::NAN; n_rows];
    let known: Vec<usize> = (0..n_rows).filter(|&i| columns.iter().all(|c| c[i].is_finite())).collect();
    for rows in known.chunks(BLOCK) {
        let row = |lane: usize| rows[lane.min(rows.len() - 1)];
        let lanes = columns.map(|c| Block::load(&core::array::from_fn::<f64, BLOCK, _>(|lane| c[row(lane)])));
        let result = f(lanes);
        rows.iter().enumerate().for_each(|(lane, &row)| out[row] = result.lane(lane));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volatilities_come_back_from_their_values_and_gaps_stay_gaps() {
        let terms = Terms { t: 0.4, r: 0.03, b: 0.01, divs: Vec::new() };
        let pricers = european(&terms);
        let at = pricers[Right::Put as usize].at(&terms, 50.0);
        let k: Vec<f64> = (0..19).map(|i| 40.0 + f64::from(i)).collect();
        let mut sigma: Vec<f64> = (0..19).map(|i| 0.2 + 0.01 * f64::from(i)).collect();
        sigma[7] = f64::NAN;
        let price = values(&at, &k, &sigma);
        let back = invert(&at, &k, &price, &[0.3; 19]);
        for i in 0..19 {
            let same = sigma[i].is_nan() && back[i].is_nan() || (sigma[i] - back[i]).abs() < 1e-9;
            assert!(same, "row {i}: {} came back as {}", sigma[i], back[i]);
        }
        assert!(invert(&at, &[50.0], &[-1.0], &[0.3])[0].is_nan());
    }
}
