//! Options with cash dividends between and beside the golden rows: values move smoothly, agree with their own
//! derivatives, across the borders of tables, later in the day, and after small moves of the rates.

use kernel::american::{Band, Pricer};
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::greeks::Greeks;
use kernel::lanes::{Lanes, Pack};
use kernel::quality::Quality;
use testkit::random::Random;

fn quarterly(t: f64, first: f64, amount: f64, b: f64) -> Terms {
    let dates = (0..).map(|i| first + 0.25 * f64::from(i)).take_while(|&date| date < t);
    Terms { t, r: 0.04, b, divs: dates.map(|t| Dividend { t, amount }).collect() }
}

/// Exercise possible now (put, call with borrow), exercise from an ex-date on (put, call).
fn cases() -> Vec<(&'static str, Right, Terms)> {
    vec![
        ("put now", Right::Put, quarterly(0.8, 0.2, 0.4, 0.003)),
        ("put at ex-date", Right::Put, quarterly(0.8, 0.05, 0.7, 0.0)),
        ("call at ex-date", Right::Call, quarterly(0.8, 0.02, 1.4, 0.0)),
        ("hard-to-borrow call", Right::Call, quarterly(0.8, 0.1, 0.3, 0.12)),
    ]
}

const WIDE: Band = Band { k: (80.0, 125.0), sigma: (0.12, 0.6) };

fn pricer(right: Right, terms: &Terms, band: &Band) -> Pricer {
    Pricer::new(Style::American, right, terms, band, Quality::Full)
}

/// Spots that stay out of the exercise region by more than the steps of the differences.
fn spots(right: Right) -> impl Iterator<Item = f64> {
    let (lo, hi) = if right == Right::Put { (91.0, 130.0) } else { (75.0, 103.0) };
    (0..300).map(move |i| lo + (hi - lo) * f64::from(i) / 299.0)
}

/// The greatest |difference quotient − derivative| over the greatest derivative of a scan.
fn worst(pairs: &[(f64, f64)]) -> f64 {
    let most = pairs.iter().map(|p| p.1.abs()).fold(1e-300, f64::max);
    pairs.iter().map(|p| (p.0 - p.1).abs()).fold(0.0, f64::max) / most
}

#[test]
fn values_differenced_agree_with_their_own_derivatives() {
    for (name, right, terms) in cases() {
        let tables = pricer(right, &terms, &Band { k: (93.0, 108.0), sigma: (0.18, 0.35) });
        let at = |s: f64, sigma: f64| -> Greeks<f64> { tables.at(&terms, s).greeks(100.0, sigma) };
        let (h, hs) = (0.02, 2e-4);
        let mut pairs = vec![Vec::new(); 8];
        for s in spots(right) {
            let (mid, up, down) = (at(s, 0.25), at(s + h, 0.25), at(s - h, 0.25));
            let (more, less) = (at(s, 0.25 + hs), at(s, 0.25 - hs));
            if mid.gamma == 0.0 {
                continue; // exercised now
            }
            let by_s = |f: fn(&Greeks<f64>) -> f64| (f(&up) - f(&down)) / (2.0 * h);
            let by_sigma = |f: fn(&Greeks<f64>) -> f64| (f(&more) - f(&less)) / (2.0 * hs);
            let all = [
                (by_s(|g| g.value), mid.delta),
                (by_s(|g| g.delta), mid.gamma),
                (by_s(|g| g.gamma), mid.speed),
                (by_sigma(|g| g.value), mid.vega),
                (by_sigma(|g| g.vega), mid.volga),
                (by_sigma(|g| g.volga), mid.ultima),
                (by_sigma(|g| g.delta), mid.vanna),
                (by_sigma(|g| g.gamma), mid.zomma),
            ];
            for (pairs, pair) in pairs.iter_mut().zip(all) {
                pairs.push(pair);
            }
        }
        for (i, (pairs, bound)) in pairs.iter().zip([1e-6, 1e-5, 3e-3, 1e-6, 1e-4, 3e-3, 1e-4, 1e-3]).enumerate() {
            let off = worst(pairs);
            assert!(off <= bound, "{name}, derivative {i}: {off:e}");
        }
    }
}

#[test]
fn strikes_and_rates_differenced_agree_with_their_derivatives() {
    for (name, right, terms) in cases() {
        let tables = pricer(right, &terms, &Band { k: (93.0, 108.0), sigma: (0.18, 0.35) });
        let by_rate = |dr: f64, db: f64, s: f64| {
            let moved = Terms { r: terms.r + dr, b: terms.b + db, ..terms.clone() };
            let tables = pricer(right, &moved, &Band { k: (93.0, 108.0), sigma: (0.18, 0.35) });
            tables.at(&moved, s).greeks(100.0, 0.25)
        };
        let mut pairs = vec![Vec::new(); 4];
        for s in spots(right).step_by(60) {
            let at = |k: f64| -> Greeks<f64> { tables.at(&terms, s).greeks(k, 0.25) };
            let (mid, up, down, h) = (at(100.0), at(100.02), at(99.98), 0.02);
            if mid.gamma == 0.0 {
                continue;
            }
            pairs[0].push(((up.value - down.value) / (2.0 * h), mid.dual_delta));
            pairs[1].push(((up.dual_delta - down.dual_delta) / (2.0 * h), mid.dual_gamma));
            let d = 1e-3;
            pairs[2].push(((by_rate(d, 0.0, s).value - by_rate(-d, 0.0, s).value) / (2.0 * d), mid.rho));
            pairs[3].push(((by_rate(0.0, d, s).value - by_rate(0.0, -d, s).value) / (2.0 * d), mid.epsilon));
        }
        for (i, (pairs, bound)) in pairs.iter().zip([1e-6, 1e-5, 5e-3, 5e-3]).enumerate() {
            let off = worst(pairs);
            assert!(off <= bound, "{name}, derivative {i}: {off:e}");
        }
    }
}

#[test]
fn borders_of_tables_do_not_show() {
    for (name, right, terms) in cases() {
        let tables = pricer(right, &terms, &WIDE);
        let at = |k: f64, sigma: f64| -> Greeks<f64> { tables.at(&terms, 100.0).greeks(k, sigma) };
        let (mut by_k, mut by_sigma) = (Vec::new(), Vec::new());
        for i in 0..900 {
            let (k, h) = (81.0 + 43.0 * f64::from(i) / 899.0, 0.025);
            by_k.push(((at(k + h, 0.3).value - at(k - h, 0.3).value) / (2.0 * h), at(k, 0.3).dual_delta));
            let (sigma, h) = (0.13 + 0.46 * f64::from(i) / 899.0, 0.0005);
            let quotient = (at(100.0, sigma + h).value - at(100.0, sigma - h).value) / (2.0 * h);
            by_sigma.push((quotient, at(100.0, sigma).vega));
        }
        // a step in value shows up divided by the width of the difference
        let step =
            |pairs: &[(f64, f64)], width: f64| pairs.iter().map(|p| (p.0 - p.1).abs() * width).fold(0.0, f64::max);
        let (in_k, in_sigma) = (step(&by_k, 0.05), step(&by_sigma, 0.001));
        assert!(in_k < 5e-4 && in_sigma < 5e-4, "{name}: steps of {in_k:e} in strike, {in_sigma:e} in volatility");
    }
}

#[test]
fn tables_serve_the_day_and_small_moves_of_the_rates() {
    let day = 1.0 / 365.0;
    for (name, right, terms) in cases() {
        let band = Band { k: (93.0, 108.0), sigma: (0.18, 0.35) };
        let tables = pricer(right, &terms, &band);
        for (age, dr, db) in [(day, 0.0, 0.0), (0.0, 4e-4, 0.0), (0.0, 0.0, 4e-4), (0.5 * day, -3e-4, 3e-4)] {
            let divs = terms.divs.iter().map(|d| Dividend { t: d.t - age, ..*d }).collect();
            let later = Terms { t: terms.t - age, r: terms.r + dr, b: terms.b + db, divs };
            assert!(tables.serves(&later, &band), "{name}");
            let fresh = pricer(right, &later, &band);
            for s in spots(right).step_by(10) {
                let (old, new) = (tables.at(&later, s).greeks(100.0, 0.25), fresh.at(&later, s).greeks(100.0, 0.25));
                let off = (old.value - new.value).abs();
                assert!(off < 1e-3, "{name} age {age} dr {dr} db {db} s {s}: {} {} {off:e}", old.value, new.value);
                let vol = tables.at(&later, s).vol_derivatives(100.0, 0.25);
                assert!((vol.value - old.value).abs() < 1e-12, "{name}: light value {} {}", vol.value, old.value);
                assert!((vol.ultima - old.ultima).abs() <= 1e-9 * old.ultima.abs().max(1.0), "{name}");
            }
        }
    }
}

#[test]
fn lanes_equal_the_scalar_whatever_tables_they_fall_in() {
    for (name, right, terms) in cases() {
        let tables = pricer(right, &terms, &WIDE);
        let at = tables.at(&terms, 100.0);
        let k: Vec<f64> = (0..8).map(|i| 82.0 + 5.5 * f64::from(i)).collect();
        let sigma: Vec<f64> = (0..8).map(|i| 0.13 + 0.06 * f64::from(i)).collect();
        let lanes = at.greeks(Pack::<2>::load(&k), Pack::<2>::load(&sigma));
        for i in 0..8 {
            let one = at.greeks(k[i], sigma[i]);
            for (lanes, one) in [(lanes.value, one.value), (lanes.ultima, one.ultima), (lanes.epsilon, one.epsilon)] {
                assert_eq!(lanes.lane(i).to_bits(), one.to_bits(), "{name} lane {i}");
            }
        }
    }
}

#[test]
fn what_has_no_value_is_nan() {
    let terms = Terms { t: 0.5, r: 0.04, b: 0.0, divs: vec![Dividend { t: 0.25, amount: 120.0 }] };
    for right in [Right::Put, Right::Call] {
        let tables = pricer(right, &terms, &WIDE);
        assert!(tables.at(&terms, 100.0).greeks(100.0, 0.3).value.is_nan(), "dividends worth more than the spot");
        assert!(tables.at(&terms, 100.0).vol_derivatives(100.0, 0.3).value.is_nan());
        assert!(tables.at(&terms, 200.0).greeks(100.0, 0.3).value.is_finite());
        assert!(tables.at(&terms, 200.0).greeks(70.0, 0.3).value.is_nan(), "outside the band");
        assert!(tables.at(&terms, 200.0).greeks(100.0, 0.9).value.is_nan(), "outside the band");
    }
}

#[test]
fn deep_in_the_money_puts_are_exercised_now() {
    let terms = quarterly(0.8, 0.2, 0.2, 0.0);
    let greeks: Greeks<f64> = pricer(Right::Put, &terms, &WIDE).at(&terms, 40.0).greeks(100.0, 0.25);
    assert_eq!((greeks.value, greeks.delta, greeks.gamma), (60.0, -1.0, 0.0));
}

/// Any signs of the rates, ex-dates an hour away and on the day of expiry, volatilities from 2 % to 200 %.
fn any_terms(draws: &mut Random) -> Terms {
    let t = 0.002 * 1500f64.powf(draws.unit());
    let step = draws.pick(&[0.02, 1.0 / 12.0, 0.25, 1.0]);
    let first = step * draws.unit() * draws.pick(&[0.01, 0.3, 1.0]);
    let amount = 100.0 * step * draws.pick(&[0.0005, 0.002, 0.005, 0.02, 0.1]);
    let mut divs: Vec<Dividend> = (0..)
        .map(|i| first + step * f64::from(i))
        .take_while(|&date| date < t)
        .map(|t| Dividend { t, amount })
        .collect();
    if draws.unit() < 0.1 {
        divs.push(Dividend { t, amount });
    }
    let r = draws.pick(&[-0.01, -0.002, 0.0, 1e-6, 0.001, 0.02, 0.045, 0.1]);
    let b = draws.pick(&[-0.05, -0.01, -0.001, 0.0, 0.0, 0.001, 0.01, 0.05, 0.4]);
    Terms { t, r, b, divs }
}

#[test]
fn no_value_lies_below_european_or_intrinsic_whatever_the_terms() {
    let mut draws = Random::new(7);
    for case in 0..250 {
        let terms = any_terms(&mut draws);
        let (sigma, k) = (0.02 * 100f64.powf(draws.unit()), 100.0 * (2.0 * draws.unit() - 1.0).exp());
        let right = if draws.unit() < 0.5 { Right::Call } else { Right::Put };
        let band = Band { k: (k * 0.95, k * 1.1), sigma: (sigma * 0.8, sigma * 1.5) };
        let american = pricer(right, &terms, &band);
        let european = Pricer::new(Style::European, right, &terms, &band, Quality::Full);
        for s in [30.0, 60.0, 80.0, 95.0, 100.0, 105.0, 120.0, 160.0, 300.0] {
            if s <= 1.5 * terms.a(0.0) {
                continue; // dividends worth most of the spot: see the module
            }
            let (got, plain) = (american.at(&terms, s).greeks(k, sigma), european.at(&terms, s).greeks(k, sigma));
            let context = format!("{case}: {right:?} s {s} k {k} sigma {sigma} {terms:?} {american:?}: {got:?}");
            let floor = plain.value.max(right.phi() * (s - k));
            assert!(got.value >= floor - 1e-4 * floor.max(0.05 * s), "{} under {floor}: {context}", floor - got.value);
            let all = [got.delta, got.gamma, got.speed, got.vega, got.ultima, got.theta, got.color, got.rho, got.vera];
            assert!(all.iter().all(|v| v.is_finite()), "{context}");
            let most = (-terms.b.min(0.0) * terms.t).exp();
            assert!(got.delta.abs() <= most * 1.01, "{context}");
        }
    }
}
