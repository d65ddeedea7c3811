//! The kernel against golden/: is it the right number?

use kernel::american::{Band, Pricer};
use kernel::black76::{Horizon, european};
use kernel::contract::Style;
use kernel::greeks::{Greek, Greeks, SpotInputs, finish};
use kernel::implied::{Implied, ImpliedStatus, implied};
use kernel::quality::Quality;
use testkit::golden::{GoldenRow as Row, rows};
use testkit::ruler::{PART, golden_error};
use testkit::tolerances::Errors;

#[test]
fn european_values_meet_their_bounds() {
    let mut errors = Errors::default();
    for row in rows("european.csv") {
        let market = SpotInputs::new(&row.terms, row.s);
        let sigma = row.sigma.unwrap();
        let jet = european(row.right.phi(), &Horizon::from(&row.terms), market.x, row.k, sigma);
        let greeks = finish(&jet, &market, sigma);
        for &greek in Greek::ALL {
            errors.add(greek.name(), golden_error(&row, greek, &greeks).unwrap(), &row.id);
        }
        let fwd = row.get("fwd").unwrap();
        assert!((row.terms.fwd(row.s) - fwd).abs() <= 1e-15 * fwd, "{} fwd", row.id);
    }
    errors.check("european");
}

/// Takes in the errors of all Greeks of a row that its file knows.
fn add_errors(errors: &mut Errors, row: &Row, greeks: &Greeks<f64>) {
    for &greek in Greek::ALL {
        if let Some(error) = golden_error(row, greek, greeks) {
            errors.add(greek.name(), error, &row.id);
        }
    }
}

/// The volatilities that a chain around a contract would ask for.
fn band(row: &Row) -> Band {
    let sigma = row.sigma.unwrap();
    Band { k: (0.5 * row.k, 2.0 * row.k), sigma: (0.6 * sigma, 1.4 * sigma) }
}

fn american_errors(file: &str, scheme: Quality) -> Errors {
    let mut errors = Errors::default();
    for row in rows(file) {
        let pricer = Pricer::new(row.style, row.right, &row.terms, &band(&row), scheme);
        add_errors(&mut errors, &row, &pricer.at(&row.terms, row.s).greeks(row.k, row.vol()));
    }
    errors
}

#[test]
fn american_values_without_dividends_meet_their_bounds() {
    american_errors("american_nodiv.csv", Quality::Full).check("american_nodiv");
}

#[test]
fn accurate_american_values_without_dividends_meet_their_bounds() {
    american_errors("american_nodiv.csv", Quality::Reference).check("american_nodiv_accurate");
}

/// The implied volatility of a row of iv.csv from a start far off, unless its contract has no method yet.
fn implied_of(row: &Row) -> Option<Implied<f64>> {
    let band = Band { k: (row.k, row.k), sigma: (0.01, 6.0) };
    let pricer = Pricer::new(row.style, row.right, &row.terms, &band, Quality::Full);
    let at = pricer.at(&row.terms, row.s);
    let served = !at.vol_derivatives(row.k, 0.3).value.is_nan();
    served.then(|| implied(&at, row.k, row.get("price").unwrap(), 0.3))
}

#[test]
fn implied_volatilities_meet_their_bounds() {
    let mut errors = [Errors::default(), Errors::default(), Errors::default()];
    for row in rows("iv.csv").iter().filter(|row| row.text("status") == "ok") {
        let Some(found) = implied_of(row) else { continue };
        assert_eq!(found.status(0), ImpliedStatus::Ok, "{row:?}");
        let difference = (found.sigma - row.get("sigma").unwrap()).abs() - 2.0 * row.get("sigma_err").unwrap();
        let price_error = difference.max(0.0) * 100.0 * row.get("vega").unwrap();
        let american = row.style == Style::American;
        let unit = row.get("price").unwrap().max(PART * row.s);
        errors[usize::from(american) + usize::from(american && !row.terms.divs.is_empty())].add(
            "price",
            price_error / unit,
            &row.id,
        );
    }
    errors[0].check("implied_european");
    errors[1].check("implied_american");
    errors[2].check("implied_dividends");
}

#[test]
fn prices_without_a_volatility_say_why() {
    let mut n = 0;
    for row in rows("iv.csv") {
        let expected = match row.text("status") {
            "below_min" => ImpliedStatus::BelowMin,
            "above_max" => ImpliedStatus::AboveMax,
            "at_intrinsic" => ImpliedStatus::AtIntrinsic,
            _ => continue,
        };
        let Some(found) = implied_of(&row) else { continue };
        assert_eq!(found.status(0), expected, "{row:?}");
        assert!(found.sigma.is_nan());
        n += 1;
    }
    assert!(n >= 20, "{n} rows");
}
