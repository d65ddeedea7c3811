//! Rows of `golden/`, to show accuracy beside speed.

use crate::naive::Contract;
use engine::contract::{Right, Style};
use engine::kernel::dividends::{Dividend, Terms};
use engine::kernel::greeks::Greeks;
use std::collections::HashMap;
use std::path::Path;

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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden").join(file);
    let mut reader = csv::Reader::from_path(path).expect("a golden file");
    let rows = reader.deserialize::<HashMap<String, String>>().map(|row| parse(&row.expect("a row")));
    rows.filter(|row| row.value("exercise_now") != Some(1.0)).step_by(each).collect()
}

fn parse(text: &HashMap<String, String>) -> Row {
    let values: HashMap<String, f64> =
        text.iter().filter_map(|(name, v)| Some((name.clone(), v.parse().ok()?))).collect();
    let dividend = |entry: &str| {
        let (t, amount) = entry.split_once(':')?;
        Some(Dividend { t: t.parse().ok()?, amount: amount.parse().ok()? })
    };
    let contract = Contract {
        style: if text["style"] == "american" { Style::American } else { Style::European },
        right: if text["right"] == "call" { Right::Call } else { Right::Put },
        s: values["s"],
        k: values["k"],
        sigma: values["sigma"],
        terms: Terms {
            t: values["t_years"],
            r: values["r"],
            b: values["b"],
            divs: text["divs"].split(';').filter_map(dividend).collect(),
        },
    };
    Row { contract, values }
}

/// The values of a contract in the units of the files: vega, rho and epsilon per 1 %, theta per calendar day.
#[must_use]
pub fn columns(g: &Greeks<f64>) -> [(&'static str, f64); 21] {
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

/// The same by name.
#[must_use]
pub fn published(g: &Greeks<f64>) -> HashMap<&'static str, f64> {
    columns(g).into_iter().collect()
}

/// How far a value is from the reference: price relative to the greater of value and 5 % of the spot, delta absolute,
/// the others relative to the greater of value and 5 % of their size at the money.
#[must_use]
pub fn error(row: &Row, name: &str, got: &HashMap<&'static str, f64>) -> Option<f64> {
    let (o, want) = (&row.contract, row.value(name)?);
    let width = o.sigma * o.terms.t.sqrt();
    let (s, t) = (o.s, o.terms.t);
    let (gamma, vega) = (0.4 / (s * width), 0.4 * s * t.sqrt());
    let floor = match name {
        "price" => 0.05 * s,
        "delta" => 1.0,
        "gamma" => 0.05 * gamma,
        "vega" => 0.05 * vega / 100.0,
        "theta" => 0.05 * 0.2 * s * o.sigma / t.sqrt() / 365.0,
        "rho" | "epsilon" => 0.05 * s * t / 100.0,
        "vanna" => 0.05 * 0.4 / o.sigma,
        "charm" => 0.05 * 0.2 / t,
        "speed" => 0.05 * gamma / (s * width),
        "color" => 0.05 * gamma / (2.0 * t),
        "zomma" => 0.05 * gamma / o.sigma,
        "ultima" => 0.05 * vega / (o.sigma * o.sigma),
        _ => return None,
    };
    let off = (got.get(name)? - want).abs() / want.abs().max(floor);
    Some(if off.is_nan() { f64::INFINITY } else { off })
}

/// The error that a part `p` of the rows stays below.
#[must_use]
pub fn quantile(rows: &[Row], p: f64, name: &str, greeks: impl Fn(&Contract) -> Greeks<f64>) -> f64 {
    let errors = rows.iter().filter_map(|row| error(row, name, &published(&greeks(&row.contract))));
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
