//! American options with cash dividends against golden/american_div.csv: is it the right number?
//!
//! Every contract is read from tables built for a band of strikes and volatilities around it, at a random place
//! inside, as the daemon does: tables never know which contract will be asked.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // test code

mod rows;
mod tolerances;

use engine::contract::Right;
use engine::kernel::american::{Band, Pricer, Scheme};
use engine::kernel::greeks::Greeks;
use rows::Row;
use tolerances::Errors;

/// Numbers in [0, 1) that are the same in every run.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

/// A band of strike ratio 1.2 and volatility ratio 2 with the contract somewhere inside.
fn band_around(row: &Row, draws: &mut Draws) -> Band {
    let low_sigma = row.sigma.unwrap() / 2f64.powf(0.1 + 0.8 * draws.next());
    let low_k = row.k / 1.2f64.powf(0.1 + 0.8 * draws.next());
    Band { k: (low_k, low_k * 1.2), sigma: (low_sigma, low_sigma * 2.0) }
}

/// The values of a row in the published units, and what each is about at the money.
fn values(g: &Greeks<f64>, row: &Row) -> [(&'static str, f64, f64); 19] {
    let (s, k, t, sigma) = (row.s, row.k, row.terms.t, row.sigma.unwrap());
    let width = sigma * t.sqrt();
    let (gamma, vega) = (0.4 / (s * width), 0.4 * s * t.sqrt());
    [
        ("price", g.value, s),
        ("delta", g.delta, 1.0),
        ("gamma", g.gamma, gamma),
        ("speed", g.speed, gamma / (s * width)),
        ("vega", g.vega / 100.0, vega / 100.0),
        ("volga", g.volga, vega / sigma),
        ("ultima", g.ultima, vega / (sigma * sigma)),
        ("vanna", g.vanna, 0.4 / sigma),
        ("zomma", g.zomma, gamma / sigma),
        ("theta", g.theta / 365.0, 0.2 * s * sigma / t.sqrt() / 365.0),
        ("charm", g.charm, 0.2 / t),
        ("color", g.color, gamma / (2.0 * t)),
        ("veta", g.veta, vega / (2.0 * t)),
        ("rho", g.rho / 100.0, k * t / 100.0),
        ("vera", g.vera, k * t * t.sqrt()),
        ("epsilon", g.epsilon / 100.0, s * t / 100.0),
        ("lambda", g.lambda, 1.0),
        ("dual_delta", g.dual_delta, 1.0),
        ("dual_gamma", g.dual_gamma, gamma),
    ]
}

/// Price errors are relative to the greater of V and 5 % of S, delta's and dual_delta's absolute, the others relative
/// to the greater of the value and 5 % of its size at the money; the reference's own error is taken off.
fn error(row: &Row, (name, got, size): (&'static str, f64, f64)) -> Option<f64> {
    let want = row.get(name)?;
    let doubt = row.get(&format!("{name}_err")).unwrap_or(0.0);
    let scale = match name {
        "delta" | "dual_delta" => 1.0,
        _ => want.abs().max(0.05 * size),
    };
    let off = ((got - want).abs() - 2.0 * doubt).max(0.0) / scale;
    Some(if got.is_finite() { off } else { f64::INFINITY })
}

/// Errors of the rows that `chosen` takes.
fn errors(scheme: Scheme, mut chosen: impl FnMut(&Row) -> bool) -> Errors {
    let mut draws = Draws(0);
    let mut errors = Errors::default();
    for row in rows::read("american_div.csv") {
        let band = band_around(&row, &mut draws);
        if !chosen(&row) {
            continue;
        }
        let pricer = Pricer::new(row.style, row.right, &row.terms, &band, scheme);
        let greeks = pricer.at(&row.terms, row.s).greeks(row.k, row.sigma.unwrap());
        for value in values(&greeks, &row) {
            if let Some(off) = error(&row, value) {
                errors.add(value.0, off, &row.id);
            }
        }
    }
    errors
}

#[test]
fn options_with_dividends_meet_their_bounds() {
    errors(Scheme::Fast, |_| true).check("american_div");
}

#[test]
fn calls_with_dividends_meet_their_bounds() {
    errors(Scheme::Fast, |row| row.right == Right::Call && row.terms.b == 0.0).check("american_div_call_b0");
    errors(Scheme::Fast, |row| row.right == Right::Call && row.terms.b != 0.0).check("american_div_call");
}

#[test]
fn puts_with_dividends_meet_their_bounds() {
    errors(Scheme::Fast, |row| row.right == Right::Put && row.terms.b == 0.0).check("american_div_put_b0");
    errors(Scheme::Fast, |row| row.right == Right::Put && row.terms.b != 0.0).check("american_div_put");
}

#[test]
fn the_accurate_scheme_meets_its_bounds() {
    let mut n = 0;
    let one_in_three = |_: &Row| {
        n += 1;
        n % 3 == 0
    };
    errors(Scheme::Accurate, one_in_three).check("american_div_accurate");
}

/// Where a dividend is worth about the interest on the strike a put's boundary falls away to 0 within a few strikes.
#[test]
fn puts_whose_dividend_is_about_the_interest_keep_their_price() {
    let (mut price, mut gamma) = (Vec::new(), Vec::new());
    for row in rows::read("interest.csv") {
        let sigma = row.sigma.unwrap();
        let band = Band { k: (80.0, 120.0), sigma: (0.8 * sigma, 1.25 * sigma) };
        let pricer = Pricer::new(row.style, row.right, &row.terms, &band, Scheme::Fast);
        let got = pricer.at(&row.terms, row.s).greeks(row.k, sigma);
        let wanted = |column| row.get(column).unwrap();
        let size = 0.4 / (row.s * sigma * row.terms.t.sqrt());
        price.push(((got.value - wanted("price")).abs() / wanted("price").max(0.05 * row.s), row.id.clone()));
        gamma.push(((got.gamma - wanted("gamma")).abs() / wanted("gamma").max(0.05 * size), row.id.clone()));
    }
    for (name, errors, [p90, worst]) in [("price", &mut price, [4e-5, 2e-4]), ("gamma", &mut gamma, [3e-4, 1e-3])] {
        errors.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (most, last) = (&errors[errors.len() * 9 / 10], &errors[errors.len() - 1]);
        println!("interest {name}: 90 % up to {:.1e}, worst {:.1e} ({})", most.0, last.0, last.1);
        assert!(most.0 <= p90 && last.0 <= worst, "{name}: 90 % up to {most:?}, worst {last:?}");
    }
}
