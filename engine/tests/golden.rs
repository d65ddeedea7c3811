//! The kernel against golden/: is it the right number?
#![allow(clippy::unwrap_used)] // test code

mod rows;
mod tolerances;

use engine::contract::Style;
use engine::kernel::american::{Band, Pricer, Scheme};
use engine::kernel::black76::{Horizon, european};
use engine::kernel::greeks::{Greeks, Market, finish};
use engine::kernel::implied::{Implied, Status, implied};
use rows::Row;
use tolerances::Errors;

/// The values of a row by column name, in the units of golden/: vega, rho, epsilon per 1 %, theta per calendar day.
fn published(g: &Greeks<f64>) -> [(&'static str, f64); 21] {
    [
        ("price", g.value),
        ("delta", g.delta),
        ("gamma", g.gamma),
        ("speed", g.speed),
        ("vega", g.vega / 100.0),
        ("volga", g.volga),
        ("ultima", g.ultima),
        ("vanna", g.vanna),
        ("zomma", g.zomma),
        ("theta", g.theta / 365.0),
        ("charm", g.charm),
        ("color", g.color),
        ("veta", g.veta),
        ("rho", g.rho / 100.0),
        ("vera", g.vera),
        ("epsilon", g.epsilon / 100.0),
        ("lambda", g.lambda),
        ("dual_delta", g.dual_delta),
        ("dual_gamma", g.dual_gamma),
        ("d1", g.d1),
        ("d2", g.d2),
    ]
}

/// The size of a value at the money: what its error is measured against where the value itself is smaller.
fn scale(row: &Row, name: &str) -> f64 {
    let (sigma, t) = (row.sigma.unwrap(), row.terms.t);
    let x = row.s - row.terms.a(0.0);
    let w = sigma * t.sqrt();
    let per_year = row.terms.r.abs() + row.terms.b.abs() + 1.0 / t;
    match name {
        "price" => x,
        "delta" | "dual_delta" => 1.0,
        "gamma" | "dual_gamma" => 1.0 / (x * w),
        "speed" => 1.0 / (x * w).powi(2),
        "vega" => x * t.sqrt() / 100.0,
        "volga" => x * t.sqrt() / sigma,
        "ultima" => x * t.sqrt() / sigma.powi(2),
        "vanna" => 1.0 / sigma,
        "zomma" => 1.0 / (x * w * sigma),
        "theta" => x * w * per_year / 365.0,
        "charm" => per_year,
        "color" => per_year / (x * w),
        "veta" => x * t.sqrt() * per_year,
        "rho" | "epsilon" => x * t / 100.0,
        "vera" => x * t / sigma,
        "lambda" | "d1" | "d2" => 1.0 / w,
        _ => unreachable!("{name}"),
    }
}

#[test]
fn european_values_meet_their_bounds() {
    let mut errors = Errors::default();
    for row in rows::read("european.csv") {
        let market = Market::new(&row.terms, row.s);
        let sigma = row.sigma.unwrap();
        let jet = european(row.right.phi(), &Horizon::from(&row.terms), market.x, row.k, sigma);
        for (name, value) in published(&finish(&jet, &market, sigma)) {
            let golden = row.get(name).unwrap();
            let error = (value - golden).abs() / scale(&row, name).max(golden.abs());
            errors.add(name, error, &row.id);
        }
        let fwd = row.get("fwd").unwrap();
        assert!((row.terms.fwd(row.s) - fwd).abs() <= 1e-15 * fwd, "{} fwd", row.id);
    }
    errors.check("european");
}

/// How far a value of an American row is from golden/, beyond the golden value's own error.
///
/// Price relative to the greater of value and 5 % of the spot; delta and dual_delta absolute; the others relative to
/// the greater of value and 5 % of their size at the money.
fn american_error(row: &Row, name: &str, value: f64) -> Option<f64> {
    let golden = row.get(name)?;
    let own = if matches!(name, "d1" | "d2") { 0.0 } else { 2.0 * row.get(&format!("{name}_err"))? };
    let floor = match name {
        "price" => 0.05 * row.s,
        "delta" | "dual_delta" => 1.0,
        _ => 0.05 * scale(row, name),
    };
    Some(((value - golden).abs() - own).max(0.0) / floor.max(golden.abs()))
}

/// The volatilities that a chain around a contract would ask for.
fn band(row: &Row) -> Band {
    let sigma = row.sigma.unwrap();
    Band { k: (0.5 * row.k, 2.0 * row.k), sigma: (0.6 * sigma, 1.4 * sigma) }
}

fn american_errors(file: &str, scheme: Scheme) -> Errors {
    let mut errors = Errors::default();
    for row in rows::read(file) {
        let pricer = Pricer::new(row.style, row.right, &row.terms, &band(&row), scheme);
        let greeks = pricer.at(&row.terms, row.s).greeks(row.k, row.sigma.unwrap());
        for (name, value) in published(&greeks) {
            if let Some(error) = american_error(&row, name, value) {
                errors.add(name, error, &row.id);
            }
        }
    }
    errors
}

#[test]
fn american_values_without_dividends_meet_their_bounds() {
    american_errors("american_nodiv.csv", Scheme::Fast).check("american_nodiv");
}

#[test]
fn accurate_american_values_without_dividends_meet_their_bounds() {
    american_errors("american_nodiv.csv", Scheme::Accurate).check("american_nodiv_accurate");
}

/// The implied volatility of a row of iv.csv from a start far off, unless its contract has no method yet.
fn implied_of(row: &Row) -> Option<Implied<f64>> {
    let band = Band { k: (row.k, row.k), sigma: (0.01, 6.0) };
    let pricer = Pricer::new(row.style, row.right, &row.terms, &band, Scheme::Fast);
    let at = pricer.at(&row.terms, row.s);
    let served = !at.vol_jet(row.k, 0.3).value.is_nan();
    served.then(|| implied(&at, row.k, row.get("price").unwrap(), 0.3))
}

#[test]
fn implied_volatilities_meet_their_bounds() {
    let mut errors = [Errors::default(), Errors::default(), Errors::default()];
    for row in rows::read("iv.csv").iter().filter(|row| row.text("status") == "ok") {
        let Some(found) = implied_of(row) else { continue };
        assert_eq!(found.status(0), Status::Ok, "{row:?}");
        let difference = (found.sigma - row.get("sigma").unwrap()).abs() - 2.0 * row.get("sigma_err").unwrap();
        let price_error = difference.max(0.0) * 100.0 * row.get("vega").unwrap();
        let american = row.style == Style::American;
        let unit = if american { row.get("price").unwrap().max(0.05 * row.s) } else { row.s };
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
    for row in rows::read("iv.csv") {
        let expected = match row.text("status") {
            "below_min" => Status::BelowMin,
            "above_max" => Status::AboveMax,
            "at_intrinsic" => Status::AtIntrinsic,
            _ => continue,
        };
        let Some(found) = implied_of(&row) else { continue };
        assert_eq!(found.status(0), expected, "{row:?}");
        assert!(found.sigma.is_nan());
        n += 1;
    }
    assert!(n >= 20, "{n} rows");
}
