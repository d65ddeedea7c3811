//! The error map: both schemes against reference values, by class, by distance to the exercise boundary and by time to
//! the next ex-date, as tables (target/maps.md) and plots (docs/plots). `maps contracts` prints the contracts drawn, as
//! the solver of benches/maps/README.md reads them. With the results of `just peers` it also draws error against cost.
#![allow(clippy::print_stdout, reason = "a report")]

use greeksd_benches::drawn::drawn;
use greeksd_benches::golden::{Row, error, quantile_of, read, sorted};
use greeksd_benches::naive::Contract;
use greeksd_benches::plot::{self, Panel, Series};
use greeksd_benches::workload::engine_greeks_with;
use kernel::contract::Right;
use kernel::quality::Quality;
use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

type Outcome<T> = Result<T, Box<dyn Error>>;
/// From this id on a contract is drawn again, with its spot near the exercise boundary.
const NEAR: usize = 10_000;
/// Edges of the bins: standard deviations to the boundary, days to the ex-date.
const DISTANCES: [f64; 7] = [0.0, 0.04, 0.2, 0.5, 1.0, 2.0, f64::INFINITY];
const DAYS: [f64; 6] = [0.0, 0.2, 1.0, 5.0, 30.0, 92.0];
/// Errors below this are not drawn.
const LEAST: f64 = 1e-9;
/// The first values in the tables.
const FIRST: [&str; 6] = ["price", "delta", "gamma", "vega", "theta", "rho"];
const THIRD: [&str; 6] = ["vanna", "charm", "speed", "zomma", "color", "ultima"];

/// A contract with its reference values, and our errors by value: `Fast`, `Accurate`.
struct Judged {
    class: String,
    row: Row,
    errors: [HashMap<&'static str, f64>; 2],
}

impl Judged {
    fn new(class: &str, row: Row) -> Self {
        let errors = [Quality::Full, Quality::Reference].map(|scheme| {
            let got = engine_greeks_with(&row.contract, scheme);
            let of = |name: &'static str| Some((name, error(&row, name, &got)?));
            FIRST.into_iter().chain(THIRD).filter_map(of).collect()
        });
        Self { class: class.to_owned(), row, errors }
    }

    /// How far the spot is from the exercise boundary, in standard deviations of ln S; `None` where there is none now.
    fn distance(&self) -> Option<f64> {
        let o = &self.row.contract;
        let boundary = self.row.value("boundary").filter(|b| *b > 0.0)?;
        Some((o.s / boundary).ln().abs() / (o.sigma * o.terms.t.sqrt()))
    }

    /// Days to the next ex-date; `None` for contracts drawn near the boundary, whose errors say nothing about the date.
    fn days(&self) -> Option<f64> {
        if self.class.starts_with("near") {
            return None;
        }
        self.row.contract.terms.divs.first().map(|d| d.t * 365.0)
    }
}

fn main() -> Outcome<()> {
    if std::env::args().nth(1).as_deref() == Some("contracts") {
        print_contracts();
        return Ok(());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let rows = judged(&root)?;
    let mut text = String::new();
    let classes = in_order(rows.iter().map(|row| row.class.as_str()));
    let of = |class: &str| (class.to_owned(), rows.iter().filter(|row| row.class == class).collect());
    let by_class: Vec<Group<'_>> = classes.into_iter().map(of).collect();
    for (i, scheme) in ["Fast", "Accurate"].into_iter().enumerate() {
        table(&mut text, &format!("{scheme}, by class"), i, &by_class)?;
    }
    let by_distance = bins(&rows, &DISTANCES, Judged::distance);
    table(&mut text, "Fast, by distance to the exercise boundary in standard deviations", 0, &by_distance)?;
    table(&mut text, "Fast, by days to the next ex-date", 0, &bins(&rows, &DAYS, Judged::days))?;
    println!("{text}");
    std::fs::create_dir_all(root.join("target"))?;
    std::fs::write(root.join("target/maps.md"), text)?;
    let plots = root.join("docs/plots");
    std::fs::create_dir_all(&plots)?;
    plot::draw(
        &plots.join("error_boundary.svg"),
        &against(&rows, "standard deviations to the boundary", Judged::distance),
    )?;
    plot::draw(&plots.join("error_exdate.svg"), &against(&rows, "days to the next ex-date", Judged::days))?;
    let curve = root.join("target/peers/curve.csv");
    if curve.exists() { draw_cost(&curve, &plots.join("error_cost.svg")) } else { Ok(()) }
}

/// One line a contract: id, phi, S, K, T, r, b, sigma, number of dividends, times and amounts.
fn print_contracts() {
    for (i, (_, o)) in drawn().iter().enumerate() {
        let phi = if o.right == Right::Call { 1 } else { -1 };
        let divs: String = o.terms.divs.iter().map(|d| format!(" {} {}", d.t, d.amount)).collect();
        let (t, r, b) = (o.terms.t, o.terms.r, o.terms.b);
        println!("{i} {phi} {} {} {t} {r} {b} {} {}{divs}", o.s, o.k, o.sigma, o.terms.divs.len());
    }
}

/// The contracts drawn that the reference has, and golden rows; not those that are exercised now.
fn judged(root: &Path) -> Outcome<Vec<Judged>> {
    let contracts = drawn();
    let mut rows = Vec::new();
    for record in csv::Reader::from_path(root.join("benches/maps/reference.csv"))?.deserialize() {
        let record: HashMap<String, String> = record?;
        let values: HashMap<String, f64> =
            record.iter().filter_map(|(name, v)| Some((name.clone(), v.parse().ok()?))).collect();
        let (id, s) = (*values.get("id").ok_or("a row without id")? as usize, values["s"]);
        let (class, contract) = contracts.get(id % NEAR).ok_or("a contract that is not drawn")?;
        let class = match (id < NEAR, contract.terms.divs.is_empty()) {
            (true, _) => class,
            (false, true) => "near the boundary, no dividends",
            (false, false) => "near the boundary, dividends",
        };
        if values.get("exercise_now") != Some(&1.0) {
            rows.push(Judged::new(class, Row::new(Contract { s, ..contract.clone() }, values)));
        }
    }
    rows.sort_by_key(|row| row.class.starts_with("near"));
    for (class, file) in [("golden, no dividends", "american_nodiv.csv"), ("golden, dividends", "american_div.csv")] {
        rows.extend(read(file, 1).into_iter().map(|row| Judged::new(class, row)));
    }
    Ok(rows)
}

/// Each name once, in the order of appearance.
fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

type Group<'a> = (String, Vec<&'a Judged>);

fn bins<'a>(rows: &'a [Judged], edges: &[f64], of: fn(&Judged) -> Option<f64>) -> Vec<Group<'a>> {
    let within = |lo: f64, hi: f64| rows.iter().filter(|row| of(row).is_some_and(|v| lo <= v && v < hi)).collect();
    let name = |lo: f64, hi: f64| if hi.is_finite() { format!("{lo} to {hi}") } else { format!("above {lo}") };
    edges.windows(2).map(|e| (name(e[0], e[1]), within(e[0], e[1]))).collect()
}

/// Errors of one scheme by group, the orders one below the other.
fn table(text: &mut String, title: &str, scheme: usize, groups: &[Group<'_>]) -> Outcome<()> {
    writeln!(text, "### {title}\n\nmedian / 90 % / 99 % / worst\n")?;
    for names in [FIRST, THIRD] {
        writeln!(text, "| | n | {} |\n|---|---|{}", names.join(" | "), "---|".repeat(names.len()))?;
        for (name, rows) in groups {
            write!(text, "| {name} | {} |", rows.len())?;
            for value in names {
                let errors = sorted(rows.iter().filter_map(|row| row.errors[scheme].get(value).copied()).collect());
                let parts = [0.5, 0.9, 0.99, 1.0].map(|p| format!("{:.0e}", quantile_of(&errors, p)));
                write!(text, " {} |", if errors.is_empty() { String::new() } else { parts.join(" / ") })?;
            }
            writeln!(text)?;
        }
        writeln!(text)?;
    }
    Ok(())
}

/// Errors of `Fast` against something, without and with dividends.
fn against(rows: &[Judged], x: &str, of: fn(&Judged) -> Option<f64>) -> Vec<Panel> {
    let panel = |title: &str, dividends: bool| {
        let chosen: Vec<&Judged> =
            rows.iter().filter(|row| row.row.contract.terms.divs.is_empty() != dividends).collect();
        let series = ["price", "gamma"].map(|name| {
            let at = |row: &&Judged| Some((of(row)?.clamp(5e-3, 1e2), *row.errors[0].get(name)?));
            let at = |row: &&Judged| at(row).filter(|point| point.1 > LEAST);
            Series { name: name.to_owned(), points: chosen.iter().filter_map(at).collect(), ..Series::default() }
        });
        Panel { title: title.to_owned(), x: x.to_owned(), y: "relative error".to_owned(), series: series.into() }
    };
    let both = [panel("American, no dividends", false), panel("American, dividends", true)];
    both.into_iter().filter(|panel| panel.series.iter().any(|s| !s.points.is_empty())).collect()
}

/// Worst price error against cost, from the report of the peers. QdFp's price is the one without Python, if there is
/// one.
fn draw_cost(curve: &Path, svg: &Path) -> Outcome<()> {
    let records: Vec<HashMap<String, String>> =
        csv::Reader::from_path(curve)?.deserialize().collect::<Result<_, _>>()?;
    let compiled = records.iter().any(|row| row["who"].ends_with("C++"));
    let mut panels = Vec::new();
    for (class, title) in [("american", "American, no dividends"), ("dividends", "American, quarterly dividends")] {
        let mut series = ["greeksd, all values", "QuantLib, price", "QuantLib, all values"].map(|name| Series {
            name: name.to_owned(),
            hollow: name.ends_with("price"),
            ..Series::default()
        });
        for row in records.iter().filter(|row| row["class"] == class) {
            let (who, all) = (&row["who"], row["gives"].starts_with("all"));
            let qdfp_in_python = who.contains("QdFp") && !who.ends_with("C++") && !all;
            if qdfp_in_python && compiled {
                continue;
            }
            let into = if who.contains("greeksd") { &mut series[0] } else { &mut series[if all { 2 } else { 1 }] };
            into.points.push((row["ns"].parse::<f64>()? / 1e3, row["worst"].parse()?));
            into.labels.push(short(who));
        }
        let (x, y) = ("µs of processor a contract, tables cached".to_owned(), "worst price error".to_owned());
        panels.push(Panel { title: title.to_owned(), x, y, series: series.into() });
    }
    plot::draw(svg, &panels)
}

/// Short name of a scheme or grid, which distinguishes the points of one program.
fn short(who: &str) -> String {
    let name = who.replace('*', "").replace(", C++", "");
    let last = |after: &str| name.rsplit(after).next().map(str::to_owned);
    let of = [("finite differences ", ""), ("QdFp ", "QdFp "), ("greeksd, ", "")];
    let known = of.iter().find(|(after, _)| name.contains(after));
    known.and_then(|(after, prefix)| Some(format!("{prefix}{}", last(after)?))).unwrap_or_else(|| "fast".to_owned())
}
