//! Reference values against golden/frozen.csv.gz, which an earlier build wrote (`just freeze`): another way to
//! compute them must agree, class by class. Values by independent programs stay the judge (`golden_dividends.rs`).

use kernel::greeks::Greek;
use std::collections::BTreeMap;
use testkit::chain::accurate;
use testkit::golden::{FROZEN, GoldenRow, rows};
use testkit::ruler::golden_error;

/// Every so many rows are compared where not all are.
const SAMPLE: usize = 20;
/// An error of a price, in its unit, that 99 of 100 rows of a class stay below.
const PRICE: f64 = 1e-7;

/// The class of a row.
fn class(row: &GoldenRow) -> String {
    let sign = match row.terms.b {
        b if b > 0.0 => "b>0",
        b if b < 0.0 => "b<0",
        _ => "b=0",
    };
    format!("{} {:?} {sign}", row.text("group"), row.right).to_lowercase()
}

/// Compares each of some rows; prints errors by class.
fn compare(chosen: impl Iterator<Item = GoldenRow>) {
    let mut classes: BTreeMap<String, Vec<[f64; FROZEN.len()]>> = BTreeMap::new();
    for row in chosen {
        let (k, sigma) = (row.k, row.vol());
        let greeks = accurate(row.style, row.right, &row.terms, k, sigma).at(&row.terms, row.s).greeks::<f64>(k, sigma);
        let off = FROZEN.map(|(greek, _)| golden_error(&row, greek, &greeks).unwrap());
        classes.entry(class(&row)).or_default().push(off);
    }
    let mut all: Vec<[f64; FROZEN.len()]> = classes.values().flatten().copied().collect();
    let quantiles = |errors: &mut Vec<[f64; FROZEN.len()]>, i: usize| {
        errors.sort_by(|a, b| a[i].total_cmp(&b[i]));
        [errors.len() * 9 / 10, errors.len() * 99 / 100, errors.len() - 1].map(|at| errors[at][i])
    };
    let mut missed = Vec::new();
    for (class, errors) in &mut classes {
        let of = |i: usize| quantiles(&mut errors.clone(), i).map(|error| format!("{error:.0e}")).join(" ");
        let row: Vec<String> =
            FROZEN.iter().enumerate().map(|(i, (greek, _))| format!("{} {}", greek.name(), of(i))).collect();
        println!("{class:24} {:5} {}", errors.len(), row.join("  "));
        let [_, most, _] = quantiles(errors, Greek::Value as usize);
        if most > PRICE {
            missed.push(format!("{class}: {most:.1e}"));
        }
    }
    let [p90, p99, worst] = quantiles(&mut all, Greek::Value as usize);
    println!("all {:5} rows, price {p90:.0e} {p99:.0e} {worst:.0e}", all.len());
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn reference_values_are_those_of_an_earlier_build() {
    compare(rows("frozen.csv.gz").into_iter().step_by(SAMPLE));
}

#[test]
#[ignore = "a few minutes: cargo test --release -p greeksd-engine --test kernel frozen -- --ignored --nocapture"]
fn all_reference_values_are_those_of_an_earlier_build() {
    compare(rows("frozen.csv.gz").into_iter());
}
