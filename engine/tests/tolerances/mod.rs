//! golden/tolerances.csv: the bound of each value by class of contracts, beside the error that was seen.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stdout)] // test code; each test file uses its own part

use std::collections::BTreeMap;
use std::path::Path;

/// A bound this many times above the error measured is out of date, and fails like one below it.
const SLACK: f64 = 10.0;

/// The errors of one class of contracts by value.
#[derive(Debug, Default)]
pub(crate) struct Errors(BTreeMap<&'static str, Vec<(f64, String)>>);

impl Errors {
    /// Takes in the error of one value of one contract.
    pub(crate) fn add(&mut self, name: &'static str, error: f64, id: &str) {
        assert!(!error.is_nan(), "{id}: {name} has no value");
        self.0.entry(name).or_default().push((error, id.to_owned()));
    }

    /// The error that `percent` of the contracts do not exceed, and the contract that has it.
    fn quantile(&self, name: &str, percent: f64) -> (f64, &str) {
        let mut sorted: Vec<&(f64, String)> = self.0[name].iter().collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let last = sorted.len() - 1;
        let (error, id) = sorted[((percent / 100.0 * sorted.len() as f64).ceil() as usize).saturating_sub(1).min(last)];
        (*error, id)
    }

    /// Holds every bound of `class` against these errors. Panics with a table if one is broken or out of date, or if
    /// a value has no bound.
    pub(crate) fn check(&self, class: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/tolerances.csv");
        let text = std::fs::read_to_string(path).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        let mut failures = Vec::new();
        let mut table = String::new();
        for name in self.0.keys() {
            let bounds: Vec<_> = rows.iter().filter(|row| row[0] == class && row[1] == *name).collect();
            if bounds.is_empty() {
                failures.push(format!("{class} {name}: no bound"));
            }
            for row in &bounds {
                let (percent, bound): (f64, f64) = (row[2].parse().unwrap(), row[3].parse().unwrap());
                let (error, id) = self.quantile(name, percent);
                if error > bound {
                    failures.push(format!("{class} {name}: {percent} % up to {error:.1e} ({id}), bound {bound:e}"));
                } else if bound > SLACK * error {
                    failures
                        .push(format!("{class} {name}: {percent} % up to {error:.1e} only, bound {bound:e} is loose"));
                }
            }
            let (p50, p90, p99) =
                (self.quantile(name, 50.0).0, self.quantile(name, 90.0).0, self.quantile(name, 99.0).0);
            let (max, id) = self.quantile(name, 100.0);
            table += &format!("{name:>10} {p50:8.1e} {p90:8.1e} {p99:8.1e} {max:8.1e} {id}\n");
        }
        println!("{class}: p50, p90, p99, worst, where\n{table}");
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}
