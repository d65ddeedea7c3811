//! American options with cash dividends against golden/american_div.csv: is it the right number?
//!
//! Every contract is read from tables built for a band of strikes and volatilities around it, at a random place
//! inside, as the daemon does: tables never know which contract will be asked.

use kernel::american::{Band, Numbers, Pricer};
use kernel::contract::Right;
use kernel::greeks::Greek;
use kernel::quality::Quality;
use testkit::chain::served;
use testkit::golden::{GoldenRow as Row, rows};
use testkit::random::Random;
use testkit::ruler::golden_error;
use testkit::tolerances::Errors;

/// A band of strike ratio 1.2 and volatility ratio 2 with the contract somewhere inside.
fn band_around(row: &Row, draws: &mut Random) -> Band {
    let low_sigma = row.sigma.unwrap() / 2f64.powf(0.1 + 0.8 * draws.unit());
    let low_k = row.k / 1.2f64.powf(0.1 + 0.8 * draws.unit());
    Band { k: (low_k, low_k * 1.2), sigma: (low_sigma, low_sigma * 2.0) }
}

/// Errors of the rows that `chosen` takes.
fn errors(quality: Quality, chosen: impl Fn(&Row) -> bool) -> Errors {
    let mut draws = Random::new(0);
    let mut errors = Errors::default();
    for row in rows("american_div.csv") {
        let band = band_around(&row, &mut draws);
        if !chosen(&row) {
            continue;
        }
        let pricer = Pricer::new(row.style, row.right, &row.terms, &band, quality);
        let greeks = pricer.at(&row.terms, row.s).greeks(row.k, row.vol());
        for &greek in Greek::DERIVATIVES {
            if let Some(off) = golden_error(&row, greek, &greeks) {
                errors.add(greek.name(), off, &row.id);
            }
        }
    }
    errors
}

#[test]
fn options_with_dividends_meet_their_bounds() {
    errors(Quality::Full, |_| true).check("american_div");
}

#[test]
fn calls_with_dividends_meet_their_bounds() {
    errors(Quality::Full, |row| row.right == Right::Call && row.terms.b == 0.0).check("american_div_call_b0");
    errors(Quality::Full, |row| row.right == Right::Call && row.terms.b != 0.0).check("american_div_call");
}

#[test]
fn puts_with_dividends_meet_their_bounds() {
    errors(Quality::Full, |row| row.right == Right::Put && row.terms.b == 0.0).check("american_div_put_b0");
    errors(Quality::Full, |row| row.right == Right::Put && row.terms.b != 0.0).check("american_div_put");
}

#[test]
fn the_accurate_scheme_meets_its_bounds() {
    errors(Quality::Reference, |_| true).check("american_div_accurate");
}

/// Where a dividend is worth about the interest on the strike a put's boundary falls away to 0 within a few strikes.
#[test]
fn puts_whose_dividend_is_about_the_interest_keep_their_price() {
    let (mut price, mut gamma) = (Vec::new(), Vec::new());
    for row in rows("interest.csv") {
        let sigma = row.sigma.unwrap();
        let band = Band { k: (80.0, 120.0), sigma: (0.8 * sigma, 1.25 * sigma) };
        let pricer = Pricer::new(row.style, row.right, &row.terms, &band, Quality::Full);
        let got = pricer.at(&row.terms, row.s).greeks(row.k, sigma);
        price.push((golden_error(&row, Greek::Value, &got).unwrap(), row.id.clone()));
        gamma.push((golden_error(&row, Greek::Gamma, &got).unwrap(), row.id.clone()));
    }
    for (name, errors, [p90, worst]) in [("price", &mut price, [4e-5, 2e-4]), ("gamma", &mut gamma, [3e-4, 1e-3])] {
        errors.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (most, last) = (&errors[errors.len() * 9 / 10], &errors[errors.len() - 1]);
        println!("interest {name}: 90 % up to {:.1e}, worst {:.1e} ({})", most.0, last.0, last.1);
        assert!(most.0 <= p90 && last.0 <= worst, "{name}: 90 % up to {most:?}, worst {last:?}");
    }
}

/// Corners at which tables are hard put to it, drawn at random: each contract by itself, and from the tables of a
/// chain. Bounds: price at 99 % and at worst, of the larger of spot and strike, then delta.
#[test]
fn corners_keep_price_and_delta() {
    let classes = [
        // a call deep in the money may be worth exercising at an ex-date for the borrow alone: that is not looked for
        ("deep", [4e-4, 8e-4, 1e-3, 3e-3]),
        ("soon", [5e-7, 3e-6, 4e-6, 3e-5]),
        ("funds", [5e-6, 1.5e-5, 8e-4, 1e-3]),
        ("parity", [4e-5, 3e-4, 4e-3, 6e-3]),
        ("below", [2e-6, 2e-5, 3e-6, 1e-4]),
        ("low_vol", [1e-8, 1e-8, 2e-6, 2e-6]),
    ];
    let rows = rows("corners.csv");
    let mut missed = Vec::new();
    for (class, bounds) in classes {
        let (mut price, mut delta) = (Vec::new(), Vec::new());
        for row in rows.iter().filter(|row| row.id.starts_with(class)) {
            let (k, sigma) = (row.k, row.vol());
            let own = Band { k: (k, k), sigma: (sigma, sigma) };
            let alone = Pricer::new(row.style, row.right, &row.terms, &own, Quality::Full);
            for (way, mut pricer) in [("alone", alone), ("chain", served(row.style, row.right, &row.terms, k, sigma))] {
                let got = pricer.prepare(&row.terms, row.s, k, sigma, Numbers::Greeks).greeks(k, sigma);
                let off = |got: f64, name: &str, size: f64| (got - row.get(name).unwrap()).abs() / size;
                price.push((off(got.value, "price", row.s.max(k)), format!("{} {way}", row.id)));
                delta.push((off(got.delta, "delta", 1.0), format!("{} {way}", row.id)));
            }
        }
        for (name, errors, bounds) in [("price", &mut price, &bounds[..2]), ("delta", &mut delta, &bounds[2..])] {
            errors.sort_by(|a, b| a.0.total_cmp(&b.0));
            let at = [errors.len() * 9 / 10, errors.len() * 99 / 100, errors.len() - 1].map(|i| &errors[i]);
            let [p90, p99, worst] = at;
            println!(
                "{class} {name}: {} rows, 90 % {:.1e}, 99 % {:.1e}, worst {:.1e} ({})",
                errors.len(),
                p90.0,
                p99.0,
                worst.0,
                worst.1
            );
            if p99.0 > bounds[0] || worst.0 > bounds[1] {
                missed.push(format!("{class} {name}: 99 % {p99:?}, worst {worst:?}"));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
