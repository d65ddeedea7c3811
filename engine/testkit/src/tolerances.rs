//! golden/tolerances.csv: the bound of each value by class of contracts, beside the error that was seen when it was
//! set.

use crate::golden::folder;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A bound this many times above the error measured is out of date, and fails like one below it.
const SLACK: f64 = 10.0;
/// Errors below this are rounding: they have no bound of their own to go out of date.
const ROUNDING: f64 = 1e-15;
/// Set, bounds are written again instead of checked: at least twice the error seen.
const UPDATE: &str = "UPDATE_TOLERANCES";

/// The errors of one class of contracts by value.
#[derive(Debug, Default)]
pub struct Errors(BTreeMap<&'static str, Vec<(f64, String)>>);

impl Errors {
    /// Adds the error of one value of one contract.
    ///
    /// # Panics
    /// The error is NaN.
    pub fn add(&mut self, name: &'static str, error: f64, id: &str) {
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

    /// Holds every bound of `class` against these errors.
    ///
    /// # Panics
    /// With a table, if a bound is broken or out of date, or if a value has no bound.
    pub fn check(&self, class: &str) {
        let path = folder().join("tolerances.csv");
        if std::env::var_os(UPDATE).is_some() {
            return self.update(class, &path);
        }
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
                } else if bound > SLACK * error.max(ROUNDING) {
                    failures
                        .push(format!("{class} {name}: {percent} % up to {error:.1e} only, bound {bound:e} is loose"));
                }
            }
            let of = |percent: f64| self.quantile(name, percent);
            let (max, id) = of(100.0);
            let (p50, p90, p99) = (of(50.0).0, of(90.0).0, of(99.0).0);
            table += &format!("{name:>10} {p50:8.1e} {p90:8.1e} {p99:8.1e} {max:8.1e} {id}\n");
        }
        println!("{class}: p50, p90, p99, worst, where\n{table}");
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }

    /// Writes the bounds of `class` again, at the percentages that it has had.
    fn update(&self, class: &str, path: &std::path::Path) {
        static WRITING: Mutex<()> = Mutex::new(());
        let _one_at_a_time = WRITING.lock().unwrap();
        let line = |row: &str| {
            let mut fields = row.split(',');
            let (of, name, percent) = (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
            if of != class || !self.0.contains_key(name) {
                return row.to_owned();
            }
            let (seen, _) = self.quantile(name, percent.parse().unwrap());
            format!("{of},{name},{percent},{:.0e},{seen:.1e}", bound_above(2.0 * seen.max(ROUNDING)))
        };
        let text = std::fs::read_to_string(path).unwrap();
        let new: Vec<String> = text.lines().map(line).collect();
        std::fs::write(path, new.join("\n") + "\n").unwrap();
    }
}

/// The least of 1, 2 and 5 times a power of ten that is not below `x`.
fn bound_above(x: f64) -> f64 {
    let power = 10f64.powf(x.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|b| *b >= x * (1.0 - 1e-12)).unwrap_or(10.0 * power)
}
