//! Puts that are not exercised before the last ex-date: no dividend is paid after it, so that their premium is Kim's
//! integral, from the date on, over the boundaries that puts without dividends share. Never: a table of its own.

use super::classify::Span;
use super::exercise::{Inputs, premium_series};
use super::taylor::{Taylor, at};
use crate::american::no_dividends::NoDividends;
use crate::american::shared::SharedBoundaries;
use crate::contract::Right;
use crate::dividends::Terms;
use crate::lanes::Lanes;
use crate::quality::Quality;

/// The boundaries of the last interval.
#[derive(Clone)]
pub(super) struct LastInterval(pub(super) NoDividends);

impl core::fmt::Debug for LastInterval {
    /// The name only: a table prints it as a part of its layout.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LastInterval").finish_non_exhaustive()
    }
}

impl LastInterval {
    /// The boundaries from `stop` years after `terms` on, for the volatilities of `span`.
    pub(super) fn new(shared: &SharedBoundaries, terms: &Terms, stop: f64, span: &Span) -> Self {
        Self(NoDividends::new(shared, Right::Put, &after(terms, terms.t - stop), span.sigma, Quality::Full))
    }

    /// True if the boundaries serve the rates of `terms`; `life`: years from the last ex-date to expiry.
    pub(super) fn serves(&self, terms: &Terms, life: f64) -> bool {
        self.0.serves(&after(terms, life))
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The premium as a series; without `ALL` in sigma only. `terms`: rates and time to expiry; `from`: years from now
    /// to the begin of exercise.
    ///
    /// # Cost  as without dividends: 0.35 µs a contract
    #[inline(never)]
    pub(super) fn premium<L: Lanes, const ALL: bool>(&self, terms: &Terms, from: f64, on: &Inputs<L>) -> Taylor<L> {
        let (spot, k, sigma) = (on.spot.value(), on.strike.value(), on.sigma.value());
        let (gain, by_rates) = self.0.premium_from::<L, ALL>(terms, from, spot, k, sigma);
        let series = premium_series::<L, ALL>(&gain, sigma);
        if !ALL {
            return series;
        }
        // of first degree in X and K
        let [l1, l2, ..] = gain.l;
        series
            .with(at::Q, gain.v - l1)
            .with(at::QQ, (gain.v - l1 - l1 + l2) * 0.5)
            .with(at::R, by_rates.r)
            .with(at::RL, by_rates.r_sigma * sigma)
            .with(at::B, by_rates.b)
    }
}

/// Terms as of the begin of the last interval, `life` years before expiry.
fn after(terms: &Terms, life: f64) -> Terms {
    Terms { t: life, r: terms.r, b: terms.b, divs: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::super::classify::Depth;
    use super::*;
    use crate::american::recursion::{AmericanOption, Solution};
    use crate::black76::{Horizon, european};
    use crate::dividends::Dividend;

    const SPAN: Span = Span { k: (80.0, 120.0), sigma: (0.15, 0.4), depth: Depth::Usual };

    fn terms(t: f64, r: f64, b: f64, dates: &[(f64, f64)]) -> Terms {
        Terms { t, r, b, divs: dates.iter().map(|&(t, amount)| Dividend { t, amount }).collect() }
    }

    fn premium(terms: &Terms, x: f64, k: f64, sigma: f64) -> Taylor<f64> {
        let stop = terms.divs.last().expect("a dividend").t;
        let last = LastInterval::new(&SharedBoundaries::default(), terms, stop, &SPAN);
        last.0.prepare_all();
        last.premium::<f64, true>(terms, stop, &Inputs::new(x.exp(), k, sigma))
    }

    #[test]
    fn values_and_slopes_are_those_of_the_recursion() {
        for terms in [
            terms(0.2, 0.04, 0.0, &[(0.1, 0.6)]),
            terms(0.2, 0.04, 0.02, &[(0.0005, 0.6)]),
            terms(1.5, 0.05, 0.0, &[(0.2, 3.0), (0.7, 4.0), (1.2, 4.0)]),
            terms(1.5, 0.05, 0.3, &[(0.2, 3.0), (0.7, 4.0), (1.2, 4.0)]),
        ] {
            for (k, sigma) in [(85.0, 0.2), (100.0, 0.3), (118.0, 0.39)] {
                let solution = Solution::new(&AmericanOption::new(-1.0, &terms, k, sigma));
                assert!(solution.boundary().is_none(), "exercised now");
                for x in [75.0f64, 90.0, 100.0, 120.0].map(f64::ln) {
                    let got = premium(&terms, x, k, sigma).0;
                    let plain = european(-1.0, &Horizon::from(&terms), x.exp(), k, sigma);
                    let [x1, x2, ..] = plain.x;
                    let (first, second) = (x1 * x.exp(), x2 * (2.0 * x).exp() + x1 * x.exp());
                    let want = solution.value(x);
                    for (i, (got, want)) in [
                        (got[at::ONE], want[0] - plain.v),
                        (got[at::X], want[1] - first),
                        (2.0 * got[at::XX], want[2] - second),
                    ]
                    .into_iter()
                    .enumerate()
                    {
                        assert!((got - want).abs() <= 3e-6 * k, "{terms:?} K {k} σ {sigma} at {x}, {i}: {got} {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn derivatives_are_those_of_the_value() {
        let terms = terms(0.5, 0.04, 0.01, &[(0.3, 1.5)]);
        let (x, k, sigma) = (95.0f64.ln(), 100.0, 0.25);
        let own = premium(&terms, x, k, sigma).0;
        let value = |terms: &Terms, k: f64, ln_sigma: f64| premium(terms, x, k, (sigma.ln() + ln_sigma).exp()).0;
        let h = 1e-3;
        let slope = |of: &dyn Fn(f64) -> f64, h: f64| (of(h) - of(-h)) / (2.0 * h);
        let bend = |of: &dyn Fn(f64) -> f64, h: f64| (of(h) - 2.0 * of(0.0) + of(-h)) / (h * h);
        let by_r = |h: f64| Terms { r: terms.r + h, ..terms.clone() };
        let by_b = |h: f64| Terms { b: terms.b + h, ..terms.clone() };
        let rate = 2e-5;
        for (name, got, want) in [
            ("l", own[at::L], slope(&|h| value(&terms, k, h)[at::ONE], h)),
            ("ll", 2.0 * own[at::LL], bend(&|h| value(&terms, k, h)[at::ONE], h)),
            ("lll", 6.0 * own[at::LLL], bend(&|h| value(&terms, k, h)[at::L], h)),
            ("xl", own[at::XL], slope(&|h| value(&terms, k, h)[at::X], h)),
            ("xxl", 2.0 * own[at::XXL], 2.0 * slope(&|h| value(&terms, k, h)[at::XX], h)),
            ("q", own[at::Q], slope(&|h| value(&terms, k * h.exp(), 0.0)[at::ONE], h)),
            ("qq", 2.0 * own[at::QQ], bend(&|h| value(&terms, k * h.exp(), 0.0)[at::ONE], h)),
            ("r", own[at::R], slope(&|h| value(&by_r(h), k, 0.0)[at::ONE], rate)),
            ("rl", own[at::RL], slope(&|h| value(&by_r(h), k, 0.0)[at::L], rate)),
            ("b", own[at::B], slope(&|h| value(&by_b(h), k, 0.0)[at::ONE], rate)),
        ] {
            assert!((got - want).abs() <= 2e-4 * want.abs().max(0.1), "{name}: {got} for {want}");
        }
    }
}
