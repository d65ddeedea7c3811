//! Errors of American values against references, by class, payer, distance to the exercise boundary and days to the
//! next ex-date, compared with the intended accuracy.
//!
//! ```text
//! cargo run --profile fast -p greeksd-testkit --example early_errors -- [--fast|--accurate] [--worst N] FILE...
//! ```
//!
//! FILE: one of golden/ by name, or a path to a file with its columns, as golden/make/market.py writes them. Each row
//! is read from tables built for a chain around it, as a pass does, and again by the accurate scheme for itself alone.
//! Exit code 1 where an aim is missed by what a pass serves.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, reason = "a report")]

use kernel::american::Numbers;
use kernel::contract::Right;
use kernel::greeks::{Greek, Greeks};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use testkit::aims::{Aim, aim, aim_near};
use testkit::chain::{accurate, served};
use testkit::golden::{GoldenRow, folder, rows};
use testkit::ruler::golden_error;

/// Standard deviations to the boundary, and days to the ex-date, that count as near.
const NEAR_BOUNDARY: f64 = 0.5;
const NEAR_EX_DATE: f64 = 2.0;
/// Errors below this are shown as 0.
const NOTHING: f64 = 1e-12;
/// The Greeks reported: all but Black-76's d1 and d2.
const REPORTED: &[Greek] = Greek::ALL.split_at(Greek::D1 as usize).0;

/// Which values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Fast,
    Accurate,
}

/// A row with its errors.
struct Judged {
    row: GoldenRow,
    /// Standard deviations of ln S to the exercise boundary of now; `None`: exercise is possible nowhere now.
    distance: Option<f64>,
    /// Days to the next ex-date.
    days: Option<f64>,
    errors: Vec<(Greek, f64)>,
    exercised: bool,
    /// True if a contract that is exercised now has exactly the values of that, and others do not.
    exact: bool,
}

impl Judged {
    fn new(row: GoldenRow, way: Way) -> Self {
        let (k, sigma) = (row.k, row.vol());
        let mut pricer = match way {
            Way::Fast => served(row.style, row.right, &row.terms, k, sigma),
            Way::Accurate => accurate(row.style, row.right, &row.terms, k, sigma),
        };
        let at = pricer.prepare(&row.terms, row.s, k, sigma, Numbers::Boundary);
        let greeks: Greeks<f64> = at.greeks(k, sigma);
        let boundary = row.get("boundary").unwrap_or_else(|| at.boundary(k, sigma));
        let deviations = (row.s / boundary).ln().abs() / (sigma * row.terms.t.sqrt());
        let of = |&greek: &Greek| Some((greek, golden_error(&row, greek, &greeks)?));
        let errors = REPORTED.iter().filter_map(of).collect();
        let exercised = row.get("exercise_now") == Some(1.0);
        let exact = exercised == is_intrinsic(&row, &greeks);
        let distance = (boundary > 0.0 && boundary.is_finite()).then_some(deviations);
        let days = row.terms.divs.first().map(|d| d.t * 365.0);
        Self { distance, days, errors, exercised, exact, row }
    }

    fn error(&self, greek: Greek) -> Option<f64> {
        self.errors.iter().find(|(of, _)| *of == greek).map(|(_, error)| *error)
    }

    /// True if the row was drawn for what it is: it does not count among all rows.
    fn aimed(&self) -> bool {
        self.row.text_in("group").is_some_and(|group| group != "market")
    }

    fn near_boundary(&self) -> bool {
        !self.exercised && self.distance.is_some_and(|d| d < NEAR_BOUNDARY)
    }

    fn near_ex_date(&self) -> bool {
        !self.exercised && self.days.is_some_and(|d| d < NEAR_EX_DATE)
    }

    /// The groups that the row belongs to, each of another kind.
    fn groups(&self) -> Vec<(&'static str, String)> {
        let terms = &self.row.terms;
        let right = if self.row.right == Right::Call { "call" } else { "put" };
        let dividends = if terms.divs.is_empty() { "none" } else { "dividends" };
        let sign = match terms.b.total_cmp(&0.0) {
            _ if terms.b == 0.0 => "b=0",
            core::cmp::Ordering::Less => "b<0",
            _ => "b>0",
        };
        let payer = match self.row.text_in("payer").or(self.row.text_in("note")) {
            _ if terms.divs.is_empty() => "none",
            Some(payer) => payer,
            None => "dividends",
        };
        let distance = match self.distance {
            _ if self.exercised => "exercised",
            None => "no boundary now",
            Some(d) if d < 0.04 => "below 0.04",
            Some(d) if d < 0.2 => "0.04 to 0.2",
            Some(d) if d < NEAR_BOUNDARY => "0.2 to 0.5",
            Some(_) => "0.5 and more",
        };
        let days = match self.days {
            None => "no ex-date",
            Some(d) if d < 0.25 => "below 0.25",
            Some(d) if d < NEAR_EX_DATE => "0.25 to 2",
            Some(_) => "2 and more",
        };
        let term = match terms.t * 365.0 {
            t if t < 7.0 => "below 7 days",
            t if t < 60.0 => "7 to 60 days",
            t if t < 365.0 => "60 to 365 days",
            _ => "a year and more",
        };
        let near = format!("{}, {dividends}", if self.near_boundary() { "near" } else { "far" });
        vec![
            ("group", self.row.text_in("group").unwrap_or("golden").to_owned()),
            ("class", format!("{dividends}, {right}, {sign}")),
            ("payer", payer.to_owned()),
            ("term", term.to_owned()),
            ("near", near),
            ("distance", format!("{distance}, {dividends}")),
            ("days", days.to_owned()),
        ]
    }
}

/// True if the values are those of exercising now, to the bit.
#[allow(clippy::float_cmp, reason = "what is exercised has exactly these values")]
fn is_intrinsic(row: &GoldenRow, g: &Greeks<f64>) -> bool {
    let phi = row.right.phi();
    let zeros = [Greek::Gamma, Greek::Speed, Greek::Vega, Greek::Theta, Greek::Charm, Greek::Rho, Greek::Epsilon];
    g.value == phi * (row.s - row.k) && g.delta == phi && zeros.iter().all(|&greek| g.get(greek) == 0.0)
}

/// Errors of one Greek, least first, with their rows.
fn errors<'a>(rows: &[&'a Judged], greek: Greek) -> Vec<(f64, &'a Judged)> {
    let mut found: Vec<_> = rows.iter().filter_map(|row| Some((row.error(greek)?, *row))).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

/// The error that `percent` of the rows do not exceed, as testkit::tolerances counts.
fn quantile(sorted: &[(f64, &Judged)], percent: f64) -> f64 {
    let at = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1)).map_or(f64::NAN, |(error, _)| *error)
}

fn shown(error: f64) -> String {
    if error < NOTHING { "0".to_owned() } else { format!("{error:.0e}") }
}

/// p50, p90, p99, worst and the worst rows of each Greek; true if no aim that is asked for is missed. Aims that follow
/// from others stand in brackets.
fn table(title: &str, rows: &[&Judged], worst: usize, percent: f64, aims: fn(Greek) -> Option<Aim>) -> bool {
    println!("\n### {title}: {} rows", rows.len());
    let mut met = true;
    for &greek in REPORTED {
        let found = errors(rows, greek);
        if found.is_empty() {
            continue;
        }
        let [p50, p90, p99] = [50.0, 90.0, 99.0].map(|percent| quantile(&found, percent));
        let last: Vec<String> =
            found.iter().rev().take(worst).map(|(e, row)| format!("{} {}", row.row.id, shown(*e))).collect();
        let verdict = aims(greek).map(|Aim { error, named }| {
            let seen = quantile(&found, percent);
            met &= seen <= error || !named;
            let factor = if seen <= error { "met".to_owned() } else { format!("MISSED by {:.1}x", seen / error) };
            let aim = if named { format!("{error:.0e}") } else { format!("({error:.0e})") };
            format!("p{percent} {aim} {factor}")
        });
        println!(
            "{:>10} n {:4}  {:>6} {:>6} {:>6} {:>6}  {:28} {}",
            greek.name(),
            found.len(),
            shown(p50),
            shown(p90),
            shown(p99),
            shown(found[found.len() - 1].0),
            verdict.unwrap_or_default(),
            last.join(", ")
        );
    }
    met
}

/// A line a group: quantiles of the Greeks that are aimed at.
fn by_group(rows: &[&Judged]) {
    const COLUMNS: [Greek; 12] = [
        Greek::Value,
        Greek::Delta,
        Greek::Gamma,
        Greek::Vega,
        Greek::Theta,
        Greek::Speed,
        Greek::Color,
        Greek::Ultima,
        Greek::Zomma,
        Greek::Rho,
        Greek::Vera,
        Greek::Epsilon,
    ];
    let mut names: Vec<(&str, String)> = rows.iter().flat_map(|row| row.groups()).collect();
    let kinds =
        |kind: &str| ["group", "class", "payer", "term", "near", "distance", "days"].iter().position(|k| *k == kind);
    names.sort_by_key(|(kind, name)| (kinds(kind), name.clone()));
    names.dedup();
    let columns: Vec<Greek> = COLUMNS.into_iter().filter(|&greek| !errors(rows, greek).is_empty()).collect();
    let heads: Vec<String> = columns.iter().map(|greek| format!("{:^23}", greek.name())).collect();
    println!("\n### by group: p50 p90 p99 worst\n{:40} {}", "", heads.join(" "));
    for (kind, name) in names {
        let own: Vec<&Judged> =
            rows.iter().copied().filter(|row| row.groups().contains(&(kind, name.clone()))).collect();
        let cells: Vec<String> = columns
            .iter()
            .map(|&greek| {
                let found = errors(&own, greek);
                let parts = [50.0, 90.0, 99.0, 100.0].map(|percent| format!("{:>5}", shown(quantile(&found, percent))));
                if found.is_empty() { " ".repeat(23) } else { parts.join(" ") }
            })
            .collect();
        println!("{:40} {}", format!("{kind}: {name} ({})", own.len()), cells.join(" "));
    }
}

/// Contracts that are exercised now, or that the engine takes for such: exact to the bit or not.
fn exercised(rows: &[&Judged]) -> bool {
    let now = rows.iter().filter(|row| row.exercised).count();
    let wrong: Vec<&str> = rows.iter().filter(|row| !row.exact).map(|row| row.row.id.as_str()).collect();
    println!("\n### exercised now: {now} rows; not exactly intrinsic, or intrinsic but not exercised: {wrong:?}");
    wrong.is_empty()
}

/// A file as its argument names it: in golden/, or a path.
fn place(file: &str) -> PathBuf {
    let there = Path::new(file);
    if folder().join(there).exists() { there.to_owned() } else { there.canonicalize().unwrap_or(there.to_owned()) }
}

fn main() -> ExitCode {
    let mut ways = vec![Way::Fast, Way::Accurate];
    let (mut worst, mut files) = (3, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--fast" => ways = vec![Way::Fast],
            "--accurate" => ways = vec![Way::Accurate],
            "--worst" => worst = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(worst),
            file => files.push(place(file)),
        }
    }
    if files.is_empty() {
        eprintln!("early_errors [--fast|--accurate] [--worst N] FILE...");
        return ExitCode::from(2);
    }
    let mut met = true;
    for file in &files {
        for &way in &ways {
            let judged: Vec<Judged> =
                rows(&file.to_string_lossy()).into_iter().map(|row| Judged::new(row, way)).collect();
            println!("\n## {}, {way:?}", file.file_name().unwrap_or_default().to_string_lossy());
            let all: Vec<&Judged> = judged.iter().collect();
            let of = |chosen: fn(&Judged) -> bool| all.iter().copied().filter(|row| chosen(row)).collect::<Vec<_>>();
            let drawn = of(|row| !row.aimed());
            let of_all = |greek| Some(aim(greek));
            let mut whole = table("all rows", &drawn, worst, 99.0, of_all);
            let dividends = of(|row| !row.aimed() && !row.row.terms.divs.is_empty());
            if !dividends.is_empty() && dividends.len() < drawn.len() {
                whole &= table("rows with dividends", &dividends, worst, 99.0, of_all);
            }
            for (title, near) in [
                ("within half a deviation of the boundary", of(Judged::near_boundary)),
                ("within two days of an ex-date", of(Judged::near_ex_date)),
            ] {
                if !near.is_empty() {
                    whole &= table(title, &near, worst, 90.0, aim_near);
                }
            }
            by_group(&all);
            whole &= exercised(&all);
            met &= whole || way == Way::Accurate;
        }
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
