//! American options with cash dividends against golden/american_div.csv: is it the right number?
//!
//! Every contract is read from tables built for a band of strikes and volatilities around it, at a random place
//! inside, as the daemon does: tables never know which contract will be asked.

use kernel::american::{Band, Pricer};
use kernel::contract::Right;
use kernel::greeks::Greek;
use kernel::quality::Quality;
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
