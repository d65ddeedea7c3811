//! Properties of every option, whatever its value.

use kernel::american::{Band, Pricer};
use kernel::contract::{Right, Style};
use kernel::dividends::Terms;
use kernel::greeks::{Greek, Greeks};
use kernel::implied::{ImpliedStatus, implied};
use kernel::lanes::{Lanes, Pack};
use kernel::quality::Quality;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// An option without dividends.
#[derive(Clone, Debug)]
struct Case {
    right: Right,
    terms: Terms,
    /// ln(S/K) in units of sigma·√t.
    depth: f64,
    sigma: f64,
}

const K: f64 = 100.0;

impl Case {
    fn s(&self) -> f64 {
        K * (self.depth * self.sigma * self.terms.t.sqrt()).exp()
    }

    fn band(&self) -> Band {
        Band { k: (0.1, 1e4), sigma: (0.7 * self.sigma, 1.3 * self.sigma) }
    }

    fn pricer(&self, style: Style) -> Pricer {
        Pricer::new(style, self.right, &self.terms, &self.band(), Quality::Full)
    }

    fn value(&self, style: Style, s: f64, sigma: f64) -> f64 {
        self.pricer(style).at(&self.terms, s).greeks(K, sigma).value
    }
}

/// Rates and volatilities of listed options, easy and hard to borrow, without the regimes of two boundaries.
fn case() -> impl Strategy<Value = Case> {
    let right = prop_oneof![Just(Right::Call), Just(Right::Put)];
    let b = prop_oneof![Just(0.0), -0.05..0.1f64, 0.1..1.5f64];
    (right, 0.0005..3.0f64, 0.0..0.12f64, b, -4.0..4.0f64, -3.3..0.7f64).prop_map(
        |(right, t, r, b, depth, ln_sigma)| Case {
            right,
            terms: Terms { t, r, b, divs: vec![] },
            depth,
            sigma: ln_sigma.exp(),
        },
    )
}

fn all(g: &Greeks<f64>) -> Vec<f64> {
    Greek::ALL.iter().map(|&greek| g.get(greek)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn american_is_worth_more_than_european_and_intrinsic(case in case()) {
        let s = case.s();
        let american = case.value(Style::American, s, case.sigma);
        let european = case.value(Style::European, s, case.sigma);
        let intrinsic = (case.right.phi() * (s - K)).max(0.0);
        prop_assert!(american >= european - 1e-7 * K, "{american} {european}");
        prop_assert!(american >= intrinsic - 1e-12 * K, "{american} {intrinsic}");
        let Terms { t, r, b, .. } = case.terms;
        let most = if case.right == Right::Call { s * (-b * t).exp().max(1.0) } else { K * (-r * t).exp().max(1.0) };
        prop_assert!(american <= most * (1.0 + 1e-9));
    }

    #[test]
    fn every_value_is_finite_and_ordinary(case in case()) {
        let g = case.pricer(Style::American).at(&case.terms, case.s()).greeks(K, case.sigma);
        for v in all(&g) {
            prop_assert!(v.is_finite(), "{g:?}");
        }
        prop_assert!(case.right.phi() * g.delta >= -1e-6 && case.right.phi() * g.delta <= 1.0 + 1e-6 + (-case.terms.b * case.terms.t).exp());
        prop_assert!(g.gamma >= -1e-6 / (case.s() * case.sigma * case.terms.t.sqrt()), "{g:?}");
        prop_assert!(g.vega >= -1e-6 * K, "{g:?}");
    }

    #[test]
    fn longer_life_is_worth_more(case in case()) {
        let s = case.s();
        let now = case.value(Style::American, s, case.sigma);
        let mut longer = case.clone();
        longer.terms.t *= 1.05;
        prop_assert!(longer.value(Style::American, s, case.sigma) >= now - 2e-6 * s.max(K));
    }

    #[test]
    fn prices_give_their_volatility_back(case in case()) {
        let pricer = case.pricer(Style::American);
        let at = pricer.at(&case.terms, case.s());
        let g = at.greeks(K, case.sigma);
        if g.vega * case.sigma <= 1e-6 * K {
            return Ok(());
        }
        for start in [f64::NAN, 0.75 * case.sigma, 1.25 * case.sigma] {
            let found = implied(&at, K, g.value, start);
            prop_assert_eq!(found.status(0), ImpliedStatus::Ok);
            let error = (found.sigma - case.sigma).abs() * g.vega;
            // the value steps by less than this where the quadrature changes
            prop_assert!(error <= 5e-6 * case.s().max(K), "{} not {}", found.sigma, case.sigma);
        }
    }

    #[test]
    fn volatility_jets_equal_the_greeks(case in case()) {
        let pricer = case.pricer(Style::American);
        let at = pricer.at(&case.terms, case.s());
        let (g, j) = (at.greeks(K, case.sigma), at.vol_derivatives(K, case.sigma));
        for (a, b) in [(g.value, j.value), (g.vega, j.vega), (g.volga, j.volga), (g.ultima, j.ultima)] {
            prop_assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs()), "{a} {b}");
        }
    }

    #[test]
    fn lanes_agree_with_the_scalar(case in case()) {
        let pricer = case.pricer(Style::American);
        let at = pricer.at(&case.terms, case.s());
        let k: Vec<f64> = (0..8).map(|i| K * (1.0 + 0.02 * f64::from(i))).collect();
        let sigma: Vec<f64> = (0..8).map(|i| case.sigma * (0.8 + 0.06 * f64::from(i))).collect();
        let lanes = at.greeks(Pack::<2>::load(&k), Pack::load(&sigma));
        for i in 0..8 {
            let one = at.greeks(k[i], sigma[i]);
            // a block takes the finest quadrature that one of its lanes needs
            prop_assert!((lanes.value.lane(i) - one.value).abs() <= 2e-5 * case.s().max(K), "lane {i}: {lanes:?} {one:?}");
            prop_assert!((lanes.delta.lane(i) - one.delta).abs() <= 5e-4, "lane {i}: {} {}", lanes.delta.lane(i), one.delta);
        }
    }

    #[test]
    fn a_table_serves_while_time_passes_and_borrow_moves(case in case(), age in 0.5..1.0f64, db in -1.0..1.0f64) {
        let pricer = case.pricer(Style::American);
        let mut later = case.clone();
        later.terms.t *= age;
        later.terms.b += db * if db > 0.0 { 3e-3 } else { 2e-4 };
        if !pricer.serves(&later.terms, &later.band()) {
            return Ok(());
        }
        let aged = pricer.at(&later.terms, later.s()).greeks(K, later.sigma);
        let fresh = later.pricer(Style::American).at(&later.terms, later.s()).greeks(K, later.sigma);
        prop_assert!((aged.value - fresh.value).abs() <= 2e-5 * later.s().max(K), "{} {}", aged.value, fresh.value);
        prop_assert!((aged.delta - fresh.delta).abs() <= 5e-4, "delta {} {}", aged.delta, fresh.delta);
    }
}

#[test]
fn outside_the_band_is_missing_in_that_lane_only() {
    let terms = Terms { t: 0.5, r: 0.04, b: 0.0, divs: vec![] };
    let band = Band { k: (80.0, 120.0), sigma: (0.1, 0.9) };
    for style in [Style::American, Style::European] {
        for right in [Right::Call, Right::Put] {
            let pricer = Pricer::new(style, right, &terms, &band, Quality::Full);
            let k = [79.0, 80.0, 100.0, 120.0, 121.0, f64::NAN, 100.0, 100.0];
            let sigma = [0.3, 0.3, 0.1, 0.9, 0.3, 0.3, 0.09, 0.95];
            let g = pricer.at(&terms, 97.0).greeks(Pack::<2>::load(&k), Pack::load(&sigma));
            for i in 0..8 {
                let missing = !matches!(i, 1..=3);
                for v in [g.value, g.delta, g.color, g.vega, g.rho, g.epsilon, g.lambda, g.dual_gamma] {
                    assert_eq!(v.lane(i).is_nan(), missing, "{style:?} {right:?} lane {i}: {g:?}");
                }
            }
        }
    }
}

#[test]
fn a_table_does_not_serve_other_terms() {
    let terms = Terms { t: 0.5, r: 0.04, b: 0.01, divs: vec![] };
    let band = Band { k: (80.0, 120.0), sigma: (0.1, 0.9) };
    let pricer = Pricer::new(Style::American, Right::Put, &terms, &band, Quality::Full);
    assert!(pricer.serves(&terms, &band));
    assert!(pricer.serves(&Terms { t: 0.4, b: 0.0101, ..terms.clone() }, &band));
    for other in [
        Terms { t: 0.2, ..terms.clone() },
        Terms { t: 0.51, ..terms.clone() },
        Terms { r: 0.0403, ..terms.clone() },
        Terms { b: 0.015, ..terms.clone() },
        Terms { r: -0.04, b: 0.0, ..terms.clone() },
    ] {
        assert!(!pricer.serves(&other, &band), "{other:?}");
    }
    assert!(!pricer.serves(&terms, &Band { sigma: (0.1, 1.0), ..band }));
    assert!(!pricer.serves(&terms, &Band { k: (79.0, 120.0), ..band }));
}

#[test]
fn exercise_between_two_boundaries_has_values() {
    let band = Band { k: (80.0, 120.0), sigma: (0.1, 0.9) };
    for (right, r, b) in [(Right::Put, -0.01, -0.04), (Right::Call, -0.04, -0.01)] {
        let terms = Terms { t: 0.5, r, b, divs: vec![] };
        let at = |style| Pricer::new(style, right, &terms, &band, Quality::Full);
        let (american, european) = (at(Style::American), at(Style::European));
        assert!(american.serves(&terms, &band));
        for k in [85.0, 100.0, 115.0] {
            let g = american.at(&terms, 100.0).greeks(k, 0.2);
            assert!(all(&g).iter().all(|v| v.is_finite()), "{g:?}");
            let plain = european.at(&terms, 100.0).greeks(k, 0.2).value;
            assert!(g.value >= plain - 1e-9 && g.value <= plain + 3.0, "{} {plain}", g.value);
            let j = american.at(&terms, 100.0).vol_derivatives(k, 0.2);
            assert!((j.value - g.value).abs() <= 1e-12 && (j.ultima - g.ultima).abs() <= 1e-9 * (1.0 + g.ultima.abs()));
        }
    }
}

#[test]
fn a_boundary_that_settles_early_in_a_long_life_is_still_resolved() {
    let terms = Terms { t: 2.189_084, r: 0.118_339, b: 1.397_359, divs: vec![] };
    let band = Band { k: (90.0, 110.0), sigma: (0.03, 0.05) };
    let of = |scheme| {
        Pricer::new(Style::American, Right::Call, &terms, &band, scheme).at(&terms, 100.0).greeks(K, 0.037_959)
    };
    let (fast, fine) = (of(Quality::Full), of(Quality::Reference));
    assert!(fast.vega > 0.0 && fast.theta <= 1e-6 && fast.delta < 1.0, "{fast:?}");
    assert!((fast.value - fine.value).abs() <= 1e-5 && (fast.delta - fine.delta).abs() <= 1e-3, "{fast:?} {fine:?}");
}
