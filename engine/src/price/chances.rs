//! Probabilities that a curve of volatilities implies, a block of strikes at a time. Never: a curve.
//!
//! Method: P(S_T < K) is the slope of undiscounted puts in K, N(−d₂) + n(d₂)·√T·∂σ/∂ln K; its own slope is the density.
//! Source: Breeden, Litzenberger, "Prices of state-contingent claims implicit in option prices", Journal of Business 51
//! (1978); touching: the reflection principle, which needs one volatility and no drift of the forward.

use crate::early::Valuation;
use kernel::contract::Right;
use kernel::lanes::{Block, Lanes};
use kernel::normal::{INV_SQRT_2PI, bell, norm_cdf_given};

/// Probabilities of one right of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chances {
    /// To settle in the money.
    pub(super) itm: Block,
    /// To trade at the strike until settlement.
    pub(super) touch: Block,
    /// Density of the price at settlement, at the strike.
    pub(super) density: Block,
}

/// Probabilities at strikes `k` and volatilities `sigma`, from Black's d₁ and d₂ and the first two derivatives of
/// volatility in ln K.
pub(super) fn chances(
    right: Right,
    here: &Valuation<'_>,
    k: Block,
    sigma: Block,
    [d1, d2]: [Block; 2],
    [slope, bend]: [Block; 2],
) -> Chances {
    let (zero, one) = (Block::splat(0.0), Block::splat(1.0));
    let (phi, root) = (right.phi(), here.terms.t.sqrt());
    let (bell1, bell2) = (bell(d1), bell(d2));
    let (n1, n2) = (norm_cdf_given(d1 * phi, bell1), norm_cdf_given(d2 * phi, bell2));
    let (slope, bend, near) = (slope * root, bend * root, bell2 * INV_SQRT_2PI);
    // what is missing must stay so: comparisons with NaN are false
    let held = |x: Block| Block::select(x.lt(zero), zero, Block::select(x.gt(one), one, x));
    let itm = held(n2 - near * slope * phi);
    // with one volatility and no drift, touching is as likely as N(φd₂) + F/K·N(φd₁)
    let times = one + Block::splat(here.terms.fwd(here.s)) / k * n1 / n2;
    let is_beyond = ((Block::splat(here.s) - k) * phi).lt(zero);
    let touch = Block::select(is_beyond, held(itm * times), one + slope * zero);
    let density = near * ((one + d1 * slope) * (one + d2 * slope) / (sigma * root) + bend) / k;
    // a curve may have butterflies below zero where nothing is quoted
    let density = Block::select(density.lt(zero), Block::splat(f64::NAN), density);
    Chances { itm, touch, density }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::contract::Style;
    use kernel::dividends::Terms;
    use kernel::normal::norm_cdf;
    use kernel::quality::Quality;

    /// σ at ln K, with its first two derivatives.
    type Smile = fn(f64) -> [f64; 3];

    struct Expiry {
        fwd: f64,
        t: f64,
        smile: Smile,
    }

    impl Expiry {
        fn d(&self, k: f64, sigma: f64) -> [f64; 2] {
            let v = sigma * self.t.sqrt();
            let d1 = (self.fwd / k).ln() / v + 0.5 * v;
            [d1, d1 - v]
        }

        /// Undiscounted.
        fn put(&self, k: f64) -> f64 {
            let [d1, d2] = self.d(k, (self.smile)(k.ln())[0]);
            k * norm_cdf(-d2) - self.fwd * norm_cdf(-d1)
        }

        fn chances(&self, right: Right, k: f64) -> [f64; 3] {
            let terms = Terms { t: self.t, r: 0.0, b: 0.0, divs: Vec::new() };
            let (style, quality, s) = (Style::European, Quality::Full, self.fwd);
            let here = Valuation { style, quality, s, terms: &terms, step: 1.0 / 365.0 };
            let [sigma, slope, bend] = (self.smile)(k.ln());
            let d = self.d(k, sigma).map(Block::splat);
            let found = chances(right, &here, Block::splat(k), Block::splat(sigma), d, [slope, bend].map(Block::splat));
            [found.itm, found.touch, found.density].map(|x| x.lane(0))
        }
    }

    /// Slopes of prices, numerically, of a smile with a slope and a bend.
    #[test]
    fn probability_and_density_are_slopes_of_prices() {
        let smile: Smile = |x| {
            let m = x - 100.0_f64.ln();
            [0.2 - 0.4 * m + 0.9 * m * m, 1.8 * m - 0.4, 1.8]
        };
        let of = Expiry { fwd: 100.0, t: 0.08, smile };
        let h = 1e-3;
        for k in (80..=118).map(f64::from) {
            let [below, at, above] = [k - h, k, k + h].map(|k| of.put(k));
            let ([put, _, density], [call, ..]) = (of.chances(Right::Put, k), of.chances(Right::Call, k));
            let slope = (above - below) / (2.0 * h);
            assert!((put - slope).abs() < 1e-6 && (put + call - 1.0).abs() < 1e-12, "{k}: {put} {slope}");
            let bend = (above - 2.0 * at + below) / (h * h);
            assert!((density - bend).abs() < 1e-5, "{k}: {density} {bend}");
        }
    }

    /// A recorded put of AAPL of 315, and one of SPX of 4465, of which N(−d₂) says 0.3035 and 0.3256.
    #[test]
    fn recorded_puts_are_less_likely_than_one_volatility_says() {
        let aapl = Expiry { fwd: 331.70, t: 36.1965 / 365.0, smile: |_| [0.29275, -9.726e-4 * 315.0, 0.0] };
        let [itm, ..] = aapl.chances(Right::Put, 315.0);
        assert!((itm - 0.2697).abs() < 1e-3, "{itm}");
        let spx = Expiry { fwd: 4524.1, t: 21.9785 / 365.0, smile: |_| [0.1150, -2.031e-4 * 4465.0, 0.0] };
        let [itm, touch, _] = spx.chances(Right::Put, 4465.0);
        assert!((itm - 0.2455).abs() < 1e-3 && (touch - 0.487).abs() < 2e-3, "{itm} {touch}");
    }

    #[test]
    fn what_is_beyond_the_strike_has_touched_it_and_what_is_missing_stays_so() {
        let flat = Expiry { fwd: 100.0, t: 0.1, smile: |_| [0.2, 0.0, 0.0] };
        assert_eq!(flat.chances(Right::Call, 90.0)[1].to_bits(), 1.0_f64.to_bits());
        let [itm, touch, _] = flat.chances(Right::Call, 110.0);
        assert!(itm < touch && touch < 2.1 * itm, "{itm} {touch}");
        let none = Expiry { fwd: 100.0, t: 0.1, smile: |_| [0.2, f64::NAN, f64::NAN] };
        assert!(none.chances(Right::Put, 90.0).iter().all(|x| x.is_nan()));
        // a smile that no market has
        let steep = Expiry { fwd: 100.0, t: 0.1, smile: |_| [0.2, 9.0, -90.0] };
        let [itm, _, density] = steep.chances(Right::Call, 100.0);
        assert!(itm.to_bits() == 0.0_f64.to_bits() && density.is_nan(), "{itm} {density}");
    }
}
