//! Rows of `golden/`, to show accuracy beside speed, by the ruler of the tests.

use crate::naive::Contract;
use kernel::greeks::{AtTheMoney, Greek, Greeks};
use std::collections::HashMap;
use testkit::golden::rows;
use testkit::ruler;

/// One contract with its reference values.
#[derive(Clone, Debug)]
pub struct Row {
    /// The contract.
    pub contract: Contract,
    values: HashMap<String, f64>,
}

impl Row {
    /// A contract and reference values by column name.
    #[must_use]
    pub fn new(contract: Contract, values: HashMap<String, f64>) -> Self {
        Self { contract, values }
    }

    /// A reference value by column name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }
}

/// Every `each`-th row of a file that is not to be exercised now.
///
/// # Panics
/// The file is not there or is no golden file.
#[must_use]
pub fn read(file: &str, each: usize) -> Vec<Row> {
    let waits = |row: &testkit::golden::GoldenRow| row.get("exercise_now") != Some(1.0);
    rows(file).into_iter().filter(waits).step_by(each).map(parse).collect()
}

fn parse(row: testkit::golden::GoldenRow) -> Row {
    let names = Greek::ALL.iter().map(|greek| greek.name()).chain(["boundary"]);
    let values = names.filter_map(|name| Some((name.to_owned(), row.get(name)?))).collect();
    let (style, right, s, k, sigma) = (row.style, row.right, row.s, row.k, row.vol());
    Row { contract: Contract { style, right, s, k, sigma, terms: row.terms }, values }
}

/// The values of a contract in the units of the files: vega, rho and epsilon per 1 %, theta per calendar day.
#[must_use]
pub fn columns(g: &Greeks<f64>) -> Vec<(&'static str, f64)> {
    Greek::ALL.iter().map(|&greek| (greek.name(), g.get(greek) / greek.unit().divisor())).collect()
}

/// How far a Greek is from the reference, if there is one.
#[must_use]
pub fn error(row: &Row, name: &str, got: &Greeks<f64>) -> Option<f64> {
    let (o, want) = (&row.contract, row.value(name)?);
    let &greek = Greek::ALL.iter().find(|greek| greek.name() == name)?;
    let at = AtTheMoney { s: o.s, k: o.k, sigma: o.sigma, t: o.terms.t };
    Some(ruler::error(greek, got.get(greek), want * greek.unit().divisor(), 0.0, &at))
}

/// The error that a part `p` of the rows stays below.
#[must_use]
pub fn quantile(rows: &[Row], p: f64, name: &str, greeks: impl Fn(&Contract) -> Greeks<f64>) -> f64 {
    let errors = rows.iter().filter_map(|row| error(row, name, &greeks(&row.contract)));
    quantile_of(&sorted(errors.collect()), p)
}

/// Errors, least first.
#[must_use]
pub fn sorted(mut errors: Vec<f64>) -> Vec<f64> {
    errors.sort_by(f64::total_cmp);
    errors
}

/// The error that a part `p` of the sorted ones stays below.
#[must_use]
pub fn quantile_of(sorted: &[f64], p: f64) -> f64 {
    sorted.get(((sorted.len().max(1) - 1) as f64 * p) as usize).copied().unwrap_or(f64::NAN)
}
