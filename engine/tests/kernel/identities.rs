//! Is the mathematics right? Derivatives against differences of our own smooth values, and the identities of
//! docs/model.md.

use kernel::american::{Band, Pricer};
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::greeks::Greeks;
use kernel::quality::Quality;

/// (style, right, s, sigma, terms) of options with strike 100 away from exercise.
fn cases() -> Vec<(Style, Right, f64, f64, Terms)> {
    let terms = |t, r, b| Terms { t, r, b, divs: vec![] };
    let with = |t, r, b| Terms {
        divs: vec![Dividend { t: 0.1, amount: 1.5 }, Dividend { t: 0.35, amount: 1.2 }],
        ..terms(t, r, b)
    };
    let mut cases = Vec::new();
    for style in [Style::European, Style::American] {
        for (s, sigma) in [(95.0, 0.2), (101.0, 0.35), (110.0, 0.6)] {
            for (r, b) in [(0.05, 0.01), (0.05, 0.0), (0.05, -0.02), (0.02, 0.0), (0.04, 0.03)] {
                cases.push((style, Right::Put, s, sigma, terms(0.5, r, b)));
            }
        }
        for (s, sigma) in [(95.0, 0.2), (90.0, 0.35), (80.0, 0.6)] {
            for (r, b) in [(0.05, 0.02), (0.03, 0.08), (0.04, 0.3), (-0.01, 0.02)] {
                cases.push((style, Right::Call, s, sigma, terms(0.5, r, b)));
            }
        }
    }
    for right in [Right::Call, Right::Put] {
        cases.push((Style::European, right, 97.0, 0.3, with(0.5, 0.04, 0.01)));
        cases.push((Style::European, right, 104.0, 0.15, with(0.4, 0.02, 0.05)));
    }
    cases
}

fn greeks(style: Style, right: Right, s: f64, k: f64, sigma: f64, terms: &Terms) -> Greeks<f64> {
    let band = Band { k: (10.0, 1000.0), sigma: (0.9 * sigma, 1.1 * sigma) };
    // finer than the pass, so that a difference sees the model and not the quadrature
    Pricer::new(style, right, terms, &band, Quality::Reference).at(terms, s).greeks(k, sigma)
}

/// The derivative of `f` at 0 by central differences of order 6.
fn slope(h: f64, f: impl Fn(f64) -> f64) -> f64 {
    let pair = |n: f64| f(n * h) - f(-n * h);
    (45.0 * pair(1.0) - 9.0 * pair(2.0) + pair(3.0)) / (60.0 * h)
}

#[test]
fn derivatives_equal_differences_of_values() {
    for (style, right, s, sigma, terms) in cases() {
        let g = greeks(style, right, s, 100.0, sigma, &terms);
        let by_s =
            |f: fn(&Greeks<f64>) -> f64| slope(0.01 * s, |h| f(&greeks(style, right, s + h, 100.0, sigma, &terms)));
        let by_sigma =
            |f: fn(&Greeks<f64>) -> f64| slope(0.02 * sigma, |h| f(&greeks(style, right, s, 100.0, sigma + h, &terms)));
        let by_k = |f: fn(&Greeks<f64>) -> f64| slope(1.0, |h| f(&greeks(style, right, s, 100.0 + h, sigma, &terms)));
        let by_r = |f: fn(&Greeks<f64>) -> f64| {
            slope(1e-3, |h| f(&greeks(style, right, s, 100.0, sigma, &Terms { r: terms.r + h, ..terms.clone() })))
        };
        let by_b = |f: fn(&Greeks<f64>) -> f64| {
            slope(1e-3, |h| f(&greeks(style, right, s, 100.0, sigma, &Terms { b: terms.b + h, ..terms.clone() })))
        };
        let w = sigma * terms.t.sqrt();
        let (vega, t) = (s * terms.t.sqrt() / 100.0, terms.t);
        let mut pairs = vec![
            ("delta", g.delta, by_s(|g| g.value), 0.01),
            ("gamma", g.gamma, by_s(|g| g.delta), 0.01 / (s * w)),
            ("speed", g.speed, by_s(|g| g.gamma), 0.1 / (s * w).powi(2)),
            ("vega", g.vega, by_sigma(|g| g.value), vega),
            ("volga", g.volga, by_sigma(|g| g.vega), vega / sigma),
            ("ultima", g.ultima, by_sigma(|g| g.volga), 10.0 * vega / sigma.powi(2)),
            ("vanna", g.vanna, by_s(|g| g.vega), 0.01 / sigma),
            ("zomma", g.zomma, by_sigma(|g| g.gamma), 0.1 / (s * w * sigma)),
            ("dual_delta", g.dual_delta, by_k(|g| g.value), 0.01),
            ("dual_gamma", g.dual_gamma, by_k(|g| g.dual_delta), 0.01 / (s * w)),
            ("rho", g.rho, by_r(|g| g.value), 0.01 * s * t),
            ("vera", g.vera, by_r(|g| g.vega), 0.1 * s * t),
        ];
        // a central difference across b = 0 or r = b sees both sides of a kink of the boundary at expiry
        let kink = terms.b.abs() < 4e-3 && style == Style::American;
        if !kink {
            pairs.push(("epsilon", g.epsilon, by_b(|g| g.value), 0.01 * s * t));
        }
        for (name, ours, difference, unit) in pairs {
            let error = (ours - difference).abs() / unit;
            assert!(
                error <= 1e-3,
                "{name} of {style:?} {right:?} s {s} sigma {sigma} {terms:?}: {ours}, difference {difference}, {error:.1e} of {unit}"
            );
        }
    }
}

#[test]
fn time_derivatives_satisfy_the_identities_and_the_clock() {
    for (style, right, s, sigma, terms) in cases() {
        let at = |h: f64| {
            let divs = terms.divs.iter().map(|d| Dividend { t: d.t - h, ..*d }).collect();
            greeks(style, right, s, 100.0, sigma, &Terms { t: terms.t - h, divs, ..terms.clone() })
        };
        let g = at(0.0);
        let (t, w) = (terms.t, sigma * terms.t.sqrt());
        let clock = |f: fn(&Greeks<f64>) -> f64| slope(0.01 * t, |h| f(&at(h)));
        for (name, ours, difference, unit) in [
            ("theta", g.theta, clock(|g| g.value), 0.01 * s * w / t),
            ("charm", g.charm, clock(|g| g.delta), 0.01 / t),
            ("color", g.color, clock(|g| g.gamma), 0.1 / (s * w * t)),
            ("veta", g.veta, clock(|g| g.vega), 0.01 * s / t.sqrt()),
        ] {
            let error = (ours - difference).abs() / unit;
            assert!(
                error <= 1e-3,
                "{name} of {style:?} {right:?} s {s} sigma {sigma} {terms:?}: {ours}, difference {difference}, {error:.1e} of {unit}"
            );
        }
    }
}

#[test]
fn american_values_are_homogeneous() {
    for (style, right, s, sigma, terms) in cases().into_iter().filter(|c| c.4.divs.is_empty()) {
        let (one, three) =
            (greeks(style, right, s, 100.0, sigma, &terms), greeks(style, right, 3.0 * s, 300.0, sigma, &terms));
        assert!((3.0 * one.value - three.value).abs() <= 1e-11 * s);
        assert!((one.delta - three.delta).abs() <= 1e-12 && (one.gamma - 3.0 * three.gamma).abs() <= 1e-12);
        assert!((s * one.delta + 100.0 * one.dual_delta - one.value).abs() <= 1e-11 * s);
    }
}

#[test]
fn calls_equal_puts_with_rate_and_borrow_exchanged() {
    for (style, right, s, sigma, terms) in cases().into_iter().filter(|c| c.4.divs.is_empty()) {
        let exchanged = Terms { r: terms.b, b: terms.r, ..terms.clone() };
        let other = if right == Right::Call { Right::Put } else { Right::Call };
        let (one, mirror) =
            (greeks(style, right, s, 100.0, sigma, &terms), greeks(style, other, 100.0, s, sigma, &exchanged));
        assert!(
            (one.value - mirror.value).abs() <= 1e-9 * s,
            "{style:?} {right:?} {terms:?}: {} {}",
            one.value,
            mirror.value
        );
        assert!((one.delta - mirror.dual_delta).abs() <= 1e-8);
        assert!((one.epsilon - mirror.rho).abs() <= 1e-4 * s * terms.t, "{one:?} {mirror:?}");
    }
}
